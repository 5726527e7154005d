"""The costs of a circuit: its constraints by layer and by gadget, its keys, setup and proofs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from zenserve.circuits.schemes.circuit import Circuit
from zenserve.prover.size import Size
from zenserve.prover.system import ProofSystem


def report(circuit: Circuit, system: ProofSystem, threads: int) -> dict[str, Any]:
    """The costs of ``circuit``, JSON-able. Sizes are in bytes; seconds are estimates for this machine.

    ``layers`` and ``gadgets`` share out all constraints and non-zeros, ``layers`` all variables but the
    constant one and those that blind segments.
    """
    constraint_system = circuit.constraint_system
    size = Size.of(constraint_system)
    taken = system.estimate(size, threads)
    return {
        "digest": constraint_system.digest.hex(),
        "constraints": constraint_system.constraints,
        "variables": constraint_system.variables,
        "nonzeros": size.nonzeros,
        "public_inputs": constraint_system.public + constraint_system.folded,
        "segments": [
            {"name": segment.name, "size": segment.size, "linked": segment.linked}
            for segment in constraint_system.segments
        ],
        "layers": _layers(circuit),
        "ways": _ways(circuit),
        "gadgets": _gadgets(circuit),
        "key": {"proving": taken.proving_key_bytes, "verifying": taken.verifying_key_bytes},
        "memory": {"setup": taken.setup_memory, "proving": taken.proof_memory},
        "seconds": {
            "threads": threads,
            "setup": sum(taken.setup_seconds.values()),
            "proving": sum(taken.proof_seconds.values()),
        },
    }


def _layers(circuit: Circuit) -> list[dict[str, Any]]:
    """Constraints, variables and non-zeros of every node, and of what is no node, input and output."""
    constraint_system = circuit.constraint_system
    operators = {node.name: node.operator() for node in circuit.qgraph.nodes}
    constraints, nonzeros, variables = Counter[str](), Counter[str](), Counter[str]()
    for block, entries in zip(
        constraint_system.blocks, constraint_system.survey.nonzeros.sum(axis=1), strict=True
    ):
        layer = layer_of(block.name, operators)
        constraints[layer] += block.rows
        nonzeros[layer] += int(entries)
    for name, wires in constraint_system.layout.items():
        variables[layer_of(name, operators)] += wires.size
    return [
        {
            "name": name,
            "operator": operators.get(name, ""),
            "constraints": constraints[name],
            "variables": variables[name],
            "nonzeros": nonzeros[name],
        }
        for name in dict.fromkeys(["input", *operators, *constraints, *variables])
    ]


def _ways(circuit: Circuit) -> list[dict[str, Any]]:
    """For each node that has sums the ways to prove it, the chosen one first: what the whole circuit would
    have with each, all other nodes as they are."""
    plan = circuit.plan
    return [
        {"name": name, "ways": [{"way": str(way), "constraints": rows} for way, rows in ways]}
        for name, ways in plan.explanation.items()
    ]


def _gadgets(circuit: Circuit) -> list[dict[str, Any]]:
    """Constraints and non-zeros of every kind of gadget, over all layers."""
    constraint_system = circuit.constraint_system
    constraints, nonzeros = Counter[str](), Counter[str]()
    for block, entries in zip(
        constraint_system.blocks, constraint_system.survey.nonzeros.sum(axis=1), strict=True
    ):
        gadget = block.name.rpartition("/")[2]
        constraints[gadget] += block.rows
        nonzeros[gadget] += int(entries)
    return [
        {"name": name, "constraints": constraints[name], "nonzeros": nonzeros[name]} for name in constraints
    ]


def layer_of(name: str, layers: Iterable[str]) -> str:
    """The layer that ``name``, ``layer/gadget/part``, belongs to. Layers' own names may have slashes."""
    parts = name.split("/")
    prefixes = ("/".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((prefix for prefix in prefixes if prefix in layers), parts[0])
