"""The wires that the circuits of all schemes begin with."""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict
from typing import Any

import numpy as np
import rfc8785

from circuits.lowering import Cost
from circuits.lowering.arithmetic import Arithmetic
from circuits.lowering.parameters import DIGEST_LIMBS, MODEL, committed_constants, digest_limbs
from circuits.quantised import QuantGraph
from circuits.quantised.typed import TypedGraph
from circuits.r1cs.builder import Builder
from circuits.r1cs.linear import Weighted
from relations.integers import IntArray
from verifier.schemes import Privacy

INPUT = "input"


def described_type(qgraph: QuantGraph) -> dict[str, Any]:
    """Shape, scale, zero point and bits of the network's input, JSON-able."""
    return {"shape": list(qgraph.input.shape), **asdict(qgraph.input.type)}


def input_values(qgraph: QuantGraph, *parts: IntArray) -> IntArray:
    """What a commitment to an input of the network is to, or one to samples and their labels: the digest of
    the input's type in limbs, then the integers ``parts``, int64, row-major. int64[DIGEST_LIMBS + n].
    """
    digest = hashlib.sha256(rfc8785.dumps(described_type(qgraph))).digest()
    return np.concatenate([digest_limbs(digest), *(part.ravel() for part in parts)])


def committed_type(builder: Builder, segment: str, qgraph: QuantGraph) -> None:
    """Begin a linked segment of inputs with their type: other shapes or scales would read the same integers
    as another input."""
    committed_constants(builder, segment, "type", input_values(qgraph))


def begin(builder: Builder, typed: TypedGraph) -> None:
    """The public input for the hash of the statement, and the segment of a committed model."""
    builder.public("statement", 1)
    if typed.weight_privacy == "committed":
        limbs = digest_limbs(typed.qgraph.architecture.digest)
        committed_constants(builder, MODEL, "architecture", limbs)


def input_wires(tools: Arithmetic, typed: TypedGraph) -> IntArray:
    """Wires for one input, int64[1, *input_shape], proven to be of its type.

    Its range is proven in the circuit even where it is public: the verifying key alone then says what a proof
    means, and no verifier can forget the check.
    """
    graph = typed.qgraph
    count = math.prod(graph.input.shape)
    if typed.privacy == "committed":
        committed_type(tools.builder, INPUT, graph)
        wires = tools.builder.committed(INPUT, INPUT, count)
    else:
        wires = given(tools, INPUT, typed.privacy, count)
    tools.ranged("input/value", Weighted.wires(wires), graph.input.type.bits)
    return wires.reshape(1, *graph.input.shape)


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
    """Of ``begin``, of the type of committed inputs, and of the range checks of all."""
    size = typed.batch * math.prod(typed.qgraph.input.shape)
    digests = [typed.weight_privacy, typed.privacy].count("committed")
    return Cost(rows=DIGEST_LIMBS * digests) + Cost.range_checks(typed.qgraph.input.type.bits, size)
