"""The wires that the circuits of all schemes begin with."""

from __future__ import annotations

import math

from circuits.builder import Builder
from circuits.integers import IntArray
from circuits.linear import Weighted
from circuits.lowering import Tally
from circuits.lowering.arithmetic import Arithmetic
from circuits.lowering.parameters import ARCHITECTURE_LIMBS, committed_architecture
from circuits.typed import Privacy, TypedGraph


def begin(builder: Builder, typed: TypedGraph) -> None:
    """The public input for the hash of the statement, and the segment of a committed model."""
    builder.public("statement", 1)
    if typed.weight_privacy == "committed":
        committed_architecture(builder, typed.qgraph.architecture.digest)


def input_wires(tools: Arithmetic, typed: TypedGraph) -> IntArray:
    """Wires for one input, int64[1, *input_shape], proven to be of its type.

    Its range is proven in the circuit even where it is public: the verifying key alone then says what a proof
    means, and no verifier can forget the check.
    """
    graph = typed.qgraph
    wires = given(tools, "input", typed.input_privacy, math.prod(graph.input_shape))
    tools.ranged("input/value", Weighted.wires(wires), graph.input_type.bits)
    return wires.reshape(1, *graph.input_shape)


def given(tools: Arithmetic, name: str, privacy: Privacy, count: int) -> IntArray:
    """Wires [count] for values from outside: public, private, or in a linked segment of their own."""
    match privacy:
        case "public":
            return tools.builder.public(name, count)
        case "private":
            return tools.chosen(name, count)
        case "committed":
            return tools.builder.committed(tools.builder.segment(name, linked=True), name, count)


def inputs_tally(typed: TypedGraph) -> Tally:
    """Of ``begin`` and of the range checks of all inputs."""
    size = typed.batch * math.prod(typed.qgraph.input_shape)
    rows = ARCHITECTURE_LIMBS if typed.weight_privacy == "committed" else 0
    return Tally(rows=rows) + Tally.range_checks(typed.qgraph.input_type.bits, size)
