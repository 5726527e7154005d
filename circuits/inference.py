"""ZENinfer: a quantised network to the constraints of one classification.

The statement: for these public inputs, the network's label is the public label. A layer with public weights
costs no product constraints: its accumulators are linear combinations, substituted where they are read. With
private weights a product of a weight and an input is one constraint, or packed with others into one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from circuits.builder import Builder
from circuits.circuit import Circuit, public_group, require_known
from circuits.integers import IntArray
from circuits.linear import Weighted
from circuits.lowering import Level, Lowering, Plan, Tally, argmax, argmax_tally, arithmetic, best_plan
from circuits.quantised import Output, QuantGraph
from circuits.typed import Privacy, TypedGraph, WeightPrivacy
from kernels import FrArray


class Inference(Circuit):
    """The circuit of one classification."""

    scheme = "inference"

    @property
    def claim(self) -> str:
        return "The prover knows an input of this type that {network} maps to the label."

    @property
    def public_layout(self) -> list[dict[str, Any]]:
        label = public_group("label", self.statement.public - 1, (), self.qgraph.classes - 1)
        return [*self._input_layout(), label]

    def execute(self, q: NDArray[np.integer[Any]]) -> Output:
        """The network's exact output for the integers ``q``. Raises ``TensorError`` as ``checked``."""
        return self.qgraph.execute(self.checked(q))

    def witness(self, q: NDArray[np.integer[Any]]) -> FrArray:
        """The satisfying assignment for the input ``q``: uint64[variables, 4], Montgomery.

        It holds the input and, where they are private, the weights. Raises ``TensorError`` as ``checked``.
        """
        return self.program.witness({"input": self.checked(q).ravel()})

    def assign(self, q: NDArray[np.integer[Any]]) -> IntArray:
        """``witness`` as plain integers, int64[variables], 0 for what does not fit (``Program.assign``)."""
        return self.program.assign({"input": self.checked(q).ravel()})

    def public_inputs(self, q: NDArray[np.integer[Any]], output: Output) -> list[int]:
        """The statement's public inputs in order, as ``public_layout`` describes them."""
        shown = self.checked(q).ravel().tolist() if self.typed.input_privacy == "public" else []
        return [*shown, output.label]


def compile_inference(
    qgraph: QuantGraph,
    *,
    input_privacy: Privacy = "private",
    weight_privacy: WeightPrivacy = "public",
    level: Level = 5,
) -> Inference:
    """The circuit of ``qgraph``. Deterministic; with private weights it depends on their types only.

    Raises ``StatementError``: ``statement.could_wrap`` where the integers leave their bounds, and
    ``statement.privacy`` and ``statement.level`` for what it does not know.
    """
    builder = Builder()
    typed, plan = lower_inference(builder, qgraph, input_privacy, weight_privacy, level)
    return Inference(typed, level, builder.program(), plan)


def lower_inference(
    builder: Builder, qgraph: QuantGraph, input_privacy: Privacy, weight_privacy: WeightPrivacy, level: Level
) -> tuple[TypedGraph, Plan]:
    """Add the constraints of ``compile_inference`` to ``builder``, all but what that defers."""
    require_known(input_privacy, weight_privacy, level)
    typed = TypedGraph(qgraph, input_privacy, weight_privacy)
    plan = _plan(typed, level)
    size = math.prod(qgraph.input_shape)
    # The input's range is proven in the circuit even where it is public: the verifying key alone then says
    # what a proof means, and no verifier can forget the check.
    x = builder.public("input", size) if input_privacy == "public" else None
    label = builder.public("label", 1)
    tools = arithmetic(builder, level)
    x = tools.chosen("input", size) if x is None else x
    tools.ranged("input/value", Weighted.wires(x), qgraph.input_type.bits)
    values, bounds = Lowering(tools, typed, level, plan, x.reshape(qgraph.input_shape)).output()
    argmax(tools, "output/argmax", values, bounds, label)
    return typed, plan


def plan_inference(
    qgraph: QuantGraph,
    *,
    input_privacy: Privacy = "private",
    weight_privacy: WeightPrivacy = "public",
    level: Level = 5,
) -> Plan:
    """How ``compile_inference`` would prove each node, and the rows in all, without building anything.

    Raises as ``compile_inference``.
    """
    require_known(input_privacy, weight_privacy, level)
    return _plan(TypedGraph(qgraph, input_privacy, weight_privacy), level)


def _plan(typed: TypedGraph, level: Level) -> Plan:
    tools, graph = arithmetic(Builder(), level), typed.qgraph
    output = typed.tensors[graph.output]
    others = Tally.range_checks(graph.input_type.bits, math.prod(graph.input_shape))
    others += argmax_tally(tools, graph.classes, (output.low, output.high))
    return best_plan(tools, typed, level, others)
