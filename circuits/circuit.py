"""A compiled circuit: its statement, and what goes in and out of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from circuits.integers import IntArray
from circuits.program import Program
from circuits.quantgraph import Output, QuantGraph
from circuits.tensors import first_index
from kernels import FrArray
from prover.statement import Statement
from zenerrors import TensorError

LEVEL = 2

_SAYS = {
    "public": "The prover knows an input of this type that exactly this network, whose weights are part of "
    "the verifying key, maps to the label.",
    "private": "The prover knows weights in the ranges of this architecture and these scales, and an input "
    "of this type, that give the label. Nothing binds the weights to a particular network: they may differ "
    "from one proof to the next.",
}
_INPUT_IS_PUBLIC = " The input is the one among the public inputs."


@dataclass(frozen=True, eq=False)
class Circuit:
    """A ZENinfer circuit for one network and one choice of privacy."""

    qgraph: QuantGraph
    input_privacy: str
    weight_privacy: str
    program: Program

    @property
    def statement(self) -> Statement:
        return self.program.statement

    @property
    def layout(self) -> Mapping[str, IntArray]:
        """The variable indices of every named group of wires, int64 of the group's shape."""
        return self.statement.layout

    def quantise_input(self, x: ArrayLike) -> IntArray:
        """``QuantGraph.quantise_input``."""
        return self.qgraph.quantise_input(x)

    def execute(self, q: NDArray[np.integer[Any]]) -> Output:
        """The network's exact output for the integers ``q``. Raises ``TensorError`` as ``witness``."""
        return self.qgraph.execute(self._checked(q))

    def witness(self, q: NDArray[np.integer[Any]]) -> FrArray:
        """The satisfying assignment for the input ``q``, integers [*input_shape] in [0, 2^bits).

        uint64[variables, 4], Montgomery. It holds the input and, where they are private, the weights.
        Raises ``TensorError``: ``input.shape``, ``input.not_integer``, ``input.out_of_range``.
        """
        return self.program.witness({"input": self._checked(q).ravel()})

    def assign(self, q: NDArray[np.integer[Any]]) -> IntArray:
        """``witness`` as plain integers, int64[variables]: every wire of an honest prover fits."""
        return self.program.assign({"input": self._checked(q).ravel()})

    def public_inputs(self, q: NDArray[np.integer[Any]], output: Output) -> list[int]:
        """The statement's public inputs in order, as ``public_layout`` describes them."""
        shown = self._checked(q).ravel().tolist() if self.input_privacy == "public" else []
        return [*shown, output.label]

    @property
    def public_layout(self) -> list[dict[str, Any]]:
        """What each public input means, in order: JSON-able groups of ``count`` values from ``first``."""
        groups: list[dict[str, Any]] = []
        if self.input_privacy == "public":
            kind = self.qgraph.input_type
            groups.append(
                {
                    "name": "input",
                    "first": 0,
                    "count": math.prod(self.qgraph.input_shape),
                    "shape": list(self.qgraph.input_shape),
                    "minimum": 0,
                    "maximum": self.qgraph.top,
                    "scale": kind.scale,
                    "zero_point": kind.zero_point,
                }
            )
        groups.append(
            {
                "name": "label",
                "first": self.statement.public - 1,
                "count": 1,
                "shape": [],
                "minimum": 0,
                "maximum": self.qgraph.classes - 1,
            }
        )
        return groups

    def describe(self) -> dict[str, Any]:
        """Architecture, quantisation, privacy, meaning and cost of the circuit, JSON-able. No weights."""
        graph, statement = self.qgraph, self.statement
        meaning = _SAYS[self.weight_privacy] + (_INPUT_IS_PUBLIC if self.input_privacy == "public" else "")
        rows: Counter[str] = Counter()
        gadgets: Counter[str] = Counter()
        for block in statement.blocks:
            rows[block.name.split("/")[0]] += block.rows
            gadgets[block.name] += block.rows
        return {
            "scheme": "inference",
            "level": LEVEL,
            "meaning": meaning,
            "privacy": {"input": self.input_privacy, "weights": self.weight_privacy},
            "architecture": [
                {
                    "name": layer.name,
                    "operator": "dense",
                    "inputs": layer.weight.shape[1],
                    "outputs": layer.weight.shape[0],
                    "clamped": layer.rescale is not None,
                }
                for layer in graph.layers
            ],
            "quantisation": {
                "bits": graph.bits,
                "input": {
                    "shape": list(graph.input_shape),
                    "scale": graph.input_type.scale,
                    "zero_point": graph.input_type.zero_point,
                },
                "layers": [layer.describe() for layer in graph.layers],
            },
            "public_inputs": self.public_layout,
            "variables": {"public": statement.public, "private": statement.private},
            "constraints": {
                "total": statement.constraints,
                "by_layer": dict(rows),
                "by_gadget": dict(gadgets),
            },
        }

    def _checked(self, q: NDArray[np.integer[Any]]) -> IntArray:
        q = np.asarray(q)
        if q.shape != self.qgraph.input_shape:
            raise TensorError(
                "input.shape",
                f"input has shape {list(q.shape)}; the circuit takes {list(self.qgraph.input_shape)}",
                field="input",
            )
        if q.dtype.kind not in "iu":
            raise TensorError(
                "input.not_integer", f"input has type {q.dtype}; quantise it first", field="input"
            )
        bad = first_index((q < 0) | (q > self.qgraph.top))
        if bad is not None:
            raise TensorError(
                "input.out_of_range",
                f"input{list(bad)} lies outside the quantised range, [0, {self.qgraph.top}]",
                field="input",
            )
        return q.astype(np.int64)
