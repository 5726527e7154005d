"""Circuits, what their keys are kept by, and what they take: for jobs and dry runs.

What callers hand in is read in ``zenserve.service.intake``, commitments are made in
``zenserve.service.basis``, and ceremonies run in the command line alone (``zenserve.service.cli.ceremony``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Final

from zenserve import circuits
from zenserve.base.memory import free_memory
from zenserve.circuits import Circuit, Graph, Inference, QuantGraph, Recognition, Robustness
from zenserve.circuits.comparison.differences import Difference
from zenserve.circuits.comparison.integers import compare_integers, labels_shown
from zenserve.circuits.networks.stored import graph_from_bytes
from zenserve.circuits.quantisation.plan import input_names
from zenserve.circuits.schemes.inference import all_shown
from zenserve.errors import ModelError
from zenserve.kernels import FrArray
from zenserve.prover.size import Size
from zenserve.prover.system import CommitmentKey, ProofSystem
from zenserve.service import deleted
from zenserve.service.encryption import Integers, Secret
from zenserve.verifier.fields import Values, canonical
from zenserve.verifier.recent import Recent
from zenserve.verifier.registry import FIRST
from zenserve.verifier.schemes import Compared, Measure, Privacy

# What a circuit may hold to make its proofs faster (docs/performance.md, "Caching and sharing").
_KEPT_BYTES: Final = 256 << 20
# What it holds for an entry of a matrix, its row's share included.
_ENTRY_BYTES: Final = 16
# What it is counted as, however small.
_LEAST_BYTES: Final = 8 << 20

BESIDE_SECONDS: Final = 0.25
"""The seconds that a worker takes beside a proof, however small.

They are for opening and reading the network, comparing its floats, loading the key, writing the statement,
verifying the proof, and the database. A worker that has just proven about the same network takes about a
third of them.
"""

_COMPILERS: Final[Mapping[str, str]] = {
    scheme: f"compile_{scheme}"
    for scheme in ("registration", "inference", "recognition", "accuracy", "robustness")
}


def compile_circuit(quantised: bytes, scheme: str, **options: Any) -> Circuit:
    """The circuit of a quantised network; ``options`` are JSON-able. Those used last are at hand: all images
    of a model share its, and streams go from one model of their banks to another."""
    key = quantised, scheme, canonical(options)
    circuit = _at_hand.get(key)
    if circuit is None:
        circuit = _compiled(*key)
        _at_hand.keep(key, circuit)
    return circuit


def _compiled(quantised: bytes, scheme: str, options: bytes) -> Circuit:
    network = QuantGraph.from_bytes(quantised)
    circuit: Circuit = getattr(circuits, _COMPILERS[scheme])(network, **json.loads(options))
    circuit.keep_matrices(_KEPT_BYTES)
    return circuit


def _held_bytes(circuit: Circuit) -> int:
    entries = _ENTRY_BYTES * Size.of(circuit.constraint_system).nonzeros
    return max(_LEAST_BYTES, min(_KEPT_BYTES, entries))


_at_hand: Final = Recent[tuple[bytes, str, bytes], Circuit](2 * _KEPT_BYTES, _held_bytes, least=2)
deleted.forgets(_at_hand.clear)


@dataclass(frozen=True)
class Task:
    """A circuit with its input: what a proof shows, its witness for a statement's hash, and what the
    commitments to outputs are to that it makes, by their segments. ``course``: of a certificate the label's
    lead by radius, which nobody but its owner is to see."""

    circuit: Inference | Recognition | Robustness
    values: Values
    witness: Callable[..., FrArray]
    committed: Mapping[str, Integers] = field(default_factory=dict)
    course: Callable[[], Sequence[tuple[int, float]]] | None = None


def task(
    quantised: bytes,
    scheme: str,
    weight_privacy: Privacy,
    asked: Mapping[str, Any],
    secrets: Mapping[str, Secret],
) -> Task:
    """Return the task of a proof about one input: its circuit, values, witness and committed values.

    ``asked``: the fields of its request (``submissions.orders``).
    """
    q = _several(secrets) or secrets["input"].values
    if scheme == "inference":
        inference, bounds = inference_of(quantised, weight_privacy, asked), asked.get("bounds")
        return Task(
            inference,
            inference.values(q, bounds),
            partial(inference.witness, q, bounds),
            inference.committed_values(q),
        )
    image = secrets["input"].values
    options = {"weight_privacy": weight_privacy, "input_privacy": asked["input_privacy"]}
    if scheme == "robustness":
        options |= within(asked)
        circuit, radius = compile_circuit(quantised, "robustness", **options), asked["radius"]
        assert isinstance(circuit, Robustness)  # noqa: S101  narrows the type
        return Task(
            circuit,
            circuit.values(image, radius),
            partial(circuit.witness, image, radius),
            course=partial(circuit.course, image, radius),
        )
    reference, threshold = secrets["reference"].values, asked["threshold"]
    options |= {"reference_privacy": asked["reference_privacy"]}
    circuit = compile_circuit(quantised, "recognition", **options)
    assert isinstance(circuit, Recognition)  # noqa: S101  narrows the type
    recognition = circuit
    return Task(
        recognition,
        recognition.values(image, reference, threshold),
        partial(recognition.witness, image, reference, threshold),
    )


def difference(
    quantised: bytes,
    floats: bytes,
    scheme: str,
    asked: Mapping[str, Any],
    secrets: Mapping[str, Secret],
) -> Difference:
    """Return the difference between the integers and the float network.

    The networks are compared on the real numbers that the input's integers stand for. Arguments as for
    ``task``.
    """
    qgraph, graph = _networks(quantised, floats)
    names = input_names(graph)
    q = _several(secrets) or dict.fromkeys(names.values(), secrets["input"].values)
    samples = {
        name: qgraph.entries[called].type.real(q[called].reshape(-1, *qgraph.entries[called].shape))
        for name, called in names.items()
    }
    ranked = None
    if scheme == "inference":
        ranked = labels_shown(all_shown(qgraph, asked["reveal"]), asked["top"])
    elif scheme == "recognition":
        ranked = {}
    return compare_integers(graph, qgraph, samples, ranked, own=True)


def _several(secrets: Mapping[str, Secret]) -> dict[str, Integers]:
    """The inputs by their names, of a network that has several."""
    return {name.partition("/")[2]: each.values for name, each in secrets.items() if "/" in name}


@lru_cache(maxsize=2)
def _networks(quantised: bytes, floats: bytes) -> tuple[QuantGraph, Graph]:
    return QuantGraph.from_bytes(quantised), graph_from_bytes(floats)


deleted.forgets(_networks.cache_clear)


def inference_of(quantised: bytes, weight_privacy: Privacy, asked: Mapping[str, Any]) -> Inference:
    """The circuit of what a request for an inference says."""
    options = {"weight_privacy": weight_privacy, "input_privacy": asked["input_privacy"]}
    options |= {"reveal": asked["reveal"], "top": asked["top"], "bounds": bounds_count(asked)}
    options |= {"batch": asked.get("batch", 1), "fold_inputs": asked.get("fold_inputs", False)}
    circuit = compile_circuit(quantised, "inference", **options)
    assert isinstance(circuit, Inference)  # noqa: S101  narrows the type
    return circuit


def bounds_count(asked: Mapping[str, Any]) -> int:
    """Return the number of bounds of the ranges that an inference shows; a threshold is one."""
    return max(map(len, asked.get("bounds", {}).values()), default=1)


def measuring(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an accuracy's circuit. ``asked``: what the request says, which before there were other
    measures said nothing of them.
    """
    output = {"output": asked["output"]} if "output" in asked else {}
    return {"measure": asked.get("measure", "accuracy"), "top": asked.get("top", 1)} | output | within(asked)


def within(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The norm of a radius, where the request says of which."""
    return {"norm": asked["norm"]} if "norm" in asked else {}


def usual(compared: Compared) -> Measure:
    """By what a dataset is measured, unless a request says otherwise; of targets by what takes the most."""
    return "r2" if compared == "targets" else "accuracy"


def circuit_digest(system: ProofSystem, circuit: Circuit, basis: CommitmentKey | None) -> str:
    """Return the digest that keys are stored by.

    It is the SHA-256, in hex, of the proof system, the constraints, their meaning, and the basis they link
    to, if they link to any.
    """
    return digest_of(system.id, circuit.constraint_system.digest, circuit.describe(), basis)


def digest_of(
    system: str, statement: bytes, description: Mapping[str, Any], basis: CommitmentKey | None
) -> str:
    """``circuit_digest`` of the circuit of this description, whose constraints have the digest ``statement``.
    Keys from before there were other systems are found by what they were kept by.
    """
    parts = {
        "statement": statement.hex(),
        "circuit": description,
        "basis": basis.identity.hex() if basis else None,
        **({} if system == FIRST else {"system": system}),
    }
    return hashlib.sha256(canonical(parts)).hexdigest()


def cost(system: ProofSystem, size: Size) -> float:
    """Seconds that a job with one proof takes on one processor, by this host's speed. What proofs took is
    kept with their circuit."""
    return round(BESIDE_SECONDS + sum(system.estimate(size, 1).proof_seconds.values()), 3)


def estimate(system: ProofSystem, size: Size, constraints: int, threads: int) -> dict[str, Any]:
    """Estimate the cost of a proof about a circuit of this size.

    ``constraints``: their number. ``memory``: bytes. ``cost``: seconds on one processor. At this machine's
    speed, ``setup_seconds``: of its keys, and ``proof_seconds``: of a job, once the witness is there.
    ``key_bytes``: of the proving key. ``proof_bytes``: of the proof.
    """
    found = system.estimate(size, threads)
    return {
        "constraints": constraints,
        "memory": found.memory,
        "cost": cost(system, size),
        "setup_seconds": sum(found.setup_seconds.values()),
        "proof_seconds": BESIDE_SECONDS + sum(found.proof_seconds.values()),
        "key_bytes": found.proving_key_bytes,
        "proof_bytes": found.proof_bytes,
    }


def largest_batch(
    system: ProofSystem,
    quantised: bytes,
    weight_privacy: Privacy,
    measure: Measure,
    output: str | None,
    most: int,
    threads: int,
) -> int:
    """Return the number of samples, up to ``most``, that one proof of accuracy takes in the free memory.

    The estimate extrapolates linearly from circuits of one and of two samples. Raises ``ModelError``
    (``model.memory``) where a single sample is too much.
    """
    graph = QuantGraph.from_bytes(quantised)
    one, two = (
        circuits.compile_accuracy(
            graph, batch=batch, weight_privacy=weight_privacy, measure=measure, output=output
        ).constraint_system
        for batch in (1, 2)
    )
    free = free_memory()
    low, high = 0, most
    while low < high:
        batch = (low + high + 1) // 2
        size = Size.drawn_out(one, two, batch)
        if system.estimate(size, threads).memory + min(_KEPT_BYTES, _ENTRY_BYTES * size.nonzeros) <= free:
            low = batch
        else:
            high = batch - 1
    if low == 0:
        raise ModelError(
            "model.memory",
            f"a proof about a single sample takes more than the {free / 1e9:.1f} GB of memory that are free:"
            " register a smaller network, or one with fewer bits",
        )
    return low
