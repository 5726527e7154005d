"""The wires that the circuits of all schemes begin with."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import rfc8785

from zenserve.circuits.lowering import Cost
from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.lowering.parameters import DIGEST_LIMBS, MODEL, committed_constants, digest_limbs
from zenserve.circuits.quantised import QuantGraph, QuantInput
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Weighted
from zenserve.errors import TensorError
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import INPUT, Privacy, called


def described_types(inputs: Sequence[QuantInput]) -> dict[str, Any]:
    """Shape, scale, zero point and bits of the only input, or of each of several with its name, JSON-able."""
    types = [{"shape": list(entry.shape), **asdict(entry.type)} for entry in inputs]
    if len(types) == 1:
        return {"input": types[0]}
    return {"inputs": [{"name": entry.name} | kind for entry, kind in zip(inputs, types, strict=True)]}


def input_values(qgraph: QuantGraph, *parts: IntArray, name: str | None = None) -> IntArray:
    """Return the values that a commitment to an input of the network commits to: the digest of the input's
    type in limbs, then the integers ``parts``, int64, row-major. int64[DIGEST_LIMBS + n].

    ``name``: of the input, where there are several; their digests cover it. Raises ``TensorError``
    (``input.names``).
    """
    types = described_types(qgraph.inputs)
    described = types.get(
        "input", next((each for each in types.get("inputs", []) if each["name"] == name), None)
    )
    if described is None:
        raise TensorError("input.names", f"name one of the inputs {', '.join(qgraph.entries)}", field="name")
    return np.concatenate([type_limbs(described), *(part.ravel() for part in parts)])


def sample_values(inputs: Sequence[QuantInput], *parts: IntArray) -> IntArray:
    """Return the values that a commitment to samples of these inputs, and to their labels, commits to. For
    one input they begin as the ``input_values`` of a network's only input, for several with the digest of all
    their types together."""
    (described,) = described_types(inputs).values()
    return np.concatenate([type_limbs(described), *(part.ravel() for part in parts)])


def type_limbs(described: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> IntArray:
    """Return the first values of a commitment to values of a type, or of several types: the digest of the
    types, int64[DIGEST_LIMBS]."""
    return digest_limbs(hashlib.sha256(rfc8785.dumps(described)).digest())


def committed_type(builder: Builder, segment: str, limbs: IntArray, wires: str = "type") -> None:
    """Begin a linked segment of inputs with their type, in limbs: other shapes or scales would read the same
    integers as another input."""
    committed_constants(builder, segment, wires, limbs)


def begin(builder: Builder, typed: TypedGraph) -> None:
    """The public input for the hash of the statement, and the segment of a committed model."""
    builder.public("statement", 1)
    if typed.weight_privacy == "committed":
        limbs = digest_limbs(typed.qgraph.architecture.digest)
        committed_constants(builder, MODEL, "architecture", limbs)


def input_wires(tools: Arithmetic, typed: TypedGraph, name: str) -> IntArray:
    """Wires for the input ``name``, int64[batch, *shape], proven to be of its type.

    Its range is proven in the circuit even where it is public: the verifying key alone then says what a proof
    means, and no verifier can forget the check.
    """
    graph, privacy = typed.qgraph, typed.privacies[name]
    entry, group = graph.entries[name], called(INPUT, name, graph.inputs)
    count = typed.batch * math.prod(entry.shape)
    if privacy == "committed":
        limbs = input_values(graph, name=name)
        committed_type(tools.builder, group, limbs, called("type", name, graph.inputs))
        wires = tools.builder.committed(group, group, count)
    else:
        wires = given(tools, group, privacy, count)
    tools.ranged(f"{group}/value", Weighted.wires(wires), entry.type.bits)
    return wires.reshape(typed.batch, *entry.shape)


def given(tools: Arithmetic, name: str, privacy: Privacy, count: int) -> IntArray:
    """Wires [count] for values from outside: public, private, or in a linked segment of their own."""
    match privacy:
        case "public":
            return tools.builder.public(name, count)
        case "private":
            return tools.chosen(name, count)
        case "committed":
            return tools.builder.committed(tools.builder.segment(name, linked=True), name, count)


def inputs_cost(typed: TypedGraph) -> Cost:
    """Of ``begin``, of the types of committed inputs, and of the range checks of all."""
    digests = [typed.weight_privacy, *typed.privacies.values()].count("committed")
    return Cost(rows=DIGEST_LIMBS * digests) + _checks_cost(typed, typed.qgraph.inputs)


def samples_cost(typed: TypedGraph, inputs: Sequence[QuantInput]) -> Cost:
    """Of ``begin``, of the types of samples of these inputs, and of their range checks."""
    digests = 1 + [typed.weight_privacy].count("committed")
    return Cost(rows=DIGEST_LIMBS * digests) + _checks_cost(typed, inputs)


def _checks_cost(typed: TypedGraph, inputs: Sequence[QuantInput]) -> Cost:
    sizes = (typed.batch * math.prod(entry.shape) for entry in inputs)
    return Cost.sum(
        Cost.range_checks(entry.type.bits, size) for entry, size in zip(inputs, sizes, strict=True)
    )
