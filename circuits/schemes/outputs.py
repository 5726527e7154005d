"""Outputs that stay hidden, but for a commitment to each: for a later proof to take, or its owner to open.

A commitment to an output is as one to an input: to the digest of a type, then to integers of that type. An
output that has a type has these; sums that have none are said by what they are above the least that they can
be. So a network whose input is of this type takes the commitment as one to its input.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import MOST_COMPARED_BITS, Declared
from zenserve.circuits.lowering import Cost
from zenserve.circuits.lowering.parameters import DIGEST_LIMBS, committed_constants
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.schemes.inputs import type_limbs
from zenserve.errors import StatementError, TensorError
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Linear, Tensor, Term
from zenserve.verifier.description import MOST_COMMITTED
from zenserve.verifier.schemes import OUTPUT, Reveal, called


@dataclass(frozen=True, eq=False)
class CommittedOutput:
    """``name``: of its linked segment; ``least``: the integer of the network that is committed to as 0;
    ``described``: its type, JSON-able, as that of an input."""

    name: str
    value: Tensor
    least: int
    described: Mapping[str, Any]

    @property
    def wires(self) -> str:
        """The name of the committed values in the circuit."""
        return self._of("committed")

    @property
    def size(self) -> int:
        return math.prod(self.value.shape)

    def values(self, output: IntArray) -> IntArray:
        """Return the values that the commitment commits to, int64[DIGEST_LIMBS + size]. ``output``: the
        network's, row-major."""
        return np.concatenate([type_limbs(self.described), output.ravel() - self.least])

    def integers(self, values: IntArray) -> IntArray:
        """The inverse of ``values``, but of the type's integers: int64 of the output's shape."""
        found: IntArray = values[DIGEST_LIMBS:].reshape(self.described["shape"])
        return found

    def relation(self) -> Linear:
        """Return the relation that defines the committed values. The network's relations keep them in
        range."""
        low, high = self.value.bound.interval
        name, bound = f"output/{self.wires}", Bound.of(low - self.least, high - self.least)
        return Linear(name, Tensor(name, self.value.shape, bound), (Term(self.value, 1, self.least),))

    def take(self, builder: Builder) -> IntArray:
        """The wires of the values, in a linked segment that begins with their type."""
        committed_constants(builder, self.name, self._of("output_type"), type_limbs(self.described))
        return builder.committed(self.name, self.wires, self.size)

    def cost(self) -> Cost:
        return Cost(rows=DIGEST_LIMBS + self.size)

    def _of(self, what: str) -> str:
        return what + self.name.removeprefix(OUTPUT)


def committed_outputs(typed: TypedGraph, shown: Mapping[str, Reveal]) -> dict[str, CommittedOutput]:
    """The outputs that are committed to, by their names. Raises ``StatementError`` (``statement.reveal``) for
    those that have no type, nor sums with one scale that make one.
    """
    return {name: _committed(typed, name) for name, reveal in shown.items() if reveal == "commitment"}


def taking(graph: Graph, described: Mapping[str, Any]) -> Graph:
    """``graph`` with an input of the type of an output that was committed to (``CommittedOutput.described``).

    Raises ``StatementError`` (``statement.several``) for several inputs, of which commitments say which one
    they are to, and ``TensorError`` (``input.shape``).
    """
    if len(graph.inputs) > 1:
        raise StatementError(
            "statement.several",
            f"a network of one input takes another's output, and this one has {len(graph.inputs)}",
            field="input",
        )
    name, given = graph.input.name, described["shape"]
    if list(graph.shapes[name]) != given:
        reason = f"the output has shape {given}; the network takes {list(graph.shapes[name])}"
        raise TensorError("input.shape", reason, field="input")
    scale, zero_point = np.array(described["scale"]), np.array(described["zero_point"], np.int64)
    kind = Declared(scale, zero_point, described["bits"], signed=False)
    return replace(graph, declared={**graph.declared, name: kind})


def _committed(typed: TypedGraph, name: str) -> CommittedOutput:
    graph, value = typed.qgraph, typed.outputs[name]
    tensor = graph.outputs[name]
    least, kind = 0, graph.types[tensor]
    if kind is not None:
        described: dict[str, Any] = asdict(kind)
    else:
        least, most = value.bound.interval
        reads = graph.scale_of(tensor)
        if reads is None:
            raise _no_type("has no one scale")
        bits = max(1, (most - least).bit_length())
        if bits > MOST_COMPARED_BITS:
            raise _no_type(f"can reach {bits} bits, and commitments are to {MOST_COMPARED_BITS} at most")
        described = {"scale": reads[0], "zero_point": reads[1] - least, "bits": bits}
    found = CommittedOutput(
        called(OUTPUT, name, graph.outputs), value, least, {"shape": list(graph.shapes[tensor]), **described}
    )
    if DIGEST_LIMBS + found.size > MOST_COMMITTED:
        raise StatementError(
            "statement.reveal",
            f"the output has {found.size:,} values, and a commitment is to fewer than {MOST_COMMITTED:,}",
            field="reveal",
        )
    return found


def _no_type(why: str) -> StatementError:
    return StatementError(
        "statement.reveal",
        f"the output {why}: to commit to it, end the network in an activation",
        field="reveal",
    )
