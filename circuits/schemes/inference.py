"""ZENinfer: a quantised network to the constraints of one classification.

The statement: for these public inputs, the network's labels are the public ones. A layer with public weights
costs no product constraints: its accumulators are linear combinations, substituted where they are read. With
private weights a product of a weight and an input is one constraint, or packed with others into one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from circuits.lowering import Cost, Level, Lowering, Plan, argmax_cost, arithmetic, best_plan
from circuits.quantised import Output, QuantGraph
from circuits.quantised.typed import TypedGraph
from circuits.r1cs.builder import Builder
from circuits.schemes.circuit import Circuit, Values, public_group, require_known
from circuits.schemes.inputs import begin, input_wires, inputs_cost
from kernels import FrArray
from relations.bounds import Bound
from relations.integers import JSON_LIMIT, IntArray
from relations.relation import Argmax, Linear, Relations, Tensor, Term
from verifier.schemes import Privacy, Reveal
from zenerrors import StatementError

_MOST_LABELS: Final = 10


@dataclass(frozen=True, eq=False)
class Inference(Circuit):
    """The circuit of one classification. ``top``: how many labels it shows if it shows several."""

    reveal: Reveal = "label"
    top: int = 1
    scheme = "inference"

    @property
    def claim(self) -> str:
        says = "The prover knows an input of this type that {network} maps to "
        return (
            says
            + {
                "label": "the label.",
                "logits": "the label and to these logits, integers at the scale of its last layer.",
                "top": f"these {self.top} labels, the most likely first.",
            }[self.reveal]
        )

    @property
    def public_layout(self) -> list[dict[str, Any]]:
        most = self.qgraph.classes - 1
        if self.reveal == "top":
            return self._layout(public_group("top", (self.top,), 0, most))
        groups = [public_group("label", (), 0, most)]
        if self.reveal == "logits":
            kind = self.typed.tensors[self.qgraph.output]
            scale = dict(zip(("scale", "zero_point"), self.qgraph.output_scale or (), strict=False))
            groups.append(public_group("logits", (most + 1,), kind.low, kind.high, scale))
        return self._layout(*groups)

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"reveal": self.reveal, "top": self.top}

    def execute(self, q: NDArray[np.integer[Any]]) -> Output:
        """The network's exact output for the integers ``q``. Raises ``TensorError`` as ``checked``."""
        return self.qgraph.execute(self.checked(q))

    def values(self, q: NDArray[np.integer[Any]]) -> Values:
        """What a proof for ``q`` shows, by the names of ``public_layout``."""
        output, shown = self.execute(q), self._shown_input(self.checked(q))
        if self.reveal == "top":
            order = np.argsort(-output.logits, kind="stable")
            return shown | {"top": order[: self.top].tolist()}
        logits: Values = {"logits": output.logits.tolist()} if self.reveal == "logits" else {}
        return shown | {"label": output.label} | logits

    def witness(self, q: NDArray[np.integer[Any]], *, statement: int = 0) -> FrArray:
        """The satisfying assignment for the input ``q``: uint64[variables, 4], Montgomery.

        It holds the input and, where they are private, the weights. Raises ``TensorError`` as ``checked``.
        """
        return self._witness({"input": self.checked(q).ravel()}, statement)

    def assign(self, q: NDArray[np.integer[Any]]) -> IntArray:
        """``witness`` as plain integers, int64[variables], 0 for what does not fit (``Program.assign``)."""
        return self.program.assign({"input": self.checked(q).ravel()})

    def public_inputs(self, q: NDArray[np.integer[Any]], *, statement: int = 0) -> list[int]:
        """The statement's public inputs in order, as ``public_layout`` describes them."""
        return self._listed(self.values(q), statement)


def compile_inference(
    qgraph: QuantGraph,
    *,
    input_privacy: Privacy = "private",
    weight_privacy: Privacy = "public",
    reveal: Reveal = "label",
    top: int = 1,
    level: Level = 5,
) -> Inference:
    """The circuit of ``qgraph``. Deterministic; with private weights it depends on their types only.

    ``top``: how many labels are shown where several are to be revealed. Linked segments: "model" and "input",
    where they are committed. Raises ``StatementError``: ``statement.could_wrap`` where the integers leave
    their bounds, and ``statement.privacy``, ``statement.level`` and ``statement.reveal`` for what it does not
    know.
    """
    typed = _typed(qgraph, input_privacy, weight_privacy, level)
    _require_shown(typed, reveal, top)
    builder = Builder()
    plan, lowering = lower_inference(builder, typed, level, reveal, top)
    proven = plan, lowering.relations, lowering.wires
    return Inference(typed, level, builder.program(), *proven, reveal, top)


def lower_inference(
    builder: Builder, typed: TypedGraph, level: Level, reveal: Reveal = "label", top: int = 1
) -> tuple[Plan, Lowering]:
    """Add the constraints of ``compile_inference`` to ``builder``, all but what that defers."""
    network, classes = typed.relations, typed.qgraph.classes
    plan = _plan(typed, network, level, reveal, top)
    label = Tensor("top" if reveal == "top" else "label", (1, top), Bound.of(0, classes - 1))
    logits = Tensor("output/logits", network.output.shape, network.output.bound)
    shown = [logits] if reveal == "logits" else []
    relations = network.extended(
        [label, *shown],
        [
            Argmax("output/argmax", label, network.output),
            *(Linear("output/logits", each, (Term(network.output),)) for each in shown),
        ],
    )
    begin(builder, typed)
    tools = arithmetic(builder, level)
    lowering = Lowering(tools, relations, level, plan)
    lowering.hold(network.input, input_wires(tools, typed))
    lowering.hold(label, builder.public(label.name, top))
    for each in shown:
        lowering.hold(each, builder.public("logits", classes))
    lowering.lower()
    return plan, lowering


def plan_inference(
    qgraph: QuantGraph,
    *,
    input_privacy: Privacy = "private",
    weight_privacy: Privacy = "public",
    level: Level = 5,
) -> Plan:
    """How ``compile_inference`` would prove each node, and the rows in all, without building anything.

    Raises as ``compile_inference``.
    """
    typed = _typed(qgraph, input_privacy, weight_privacy, level)
    return _plan(typed, typed.relations, level, "label", 1)


def _typed(qgraph: QuantGraph, input_privacy: Privacy, weight_privacy: Privacy, level: Level) -> TypedGraph:
    require_known(level, input_privacy=input_privacy, weight_privacy=weight_privacy)
    return TypedGraph(qgraph, input_privacy, weight_privacy)


def most_labels(qgraph: QuantGraph) -> int:
    """How many labels a proof can show: the last one is no news, and each costs the square of the classes."""
    return min(_MOST_LABELS, qgraph.classes - 1)


def _require_shown(typed: TypedGraph, reveal: Reveal, top: int) -> None:
    qgraph, output = typed.qgraph, typed.tensors[typed.qgraph.output]
    if reveal == "logits" and max(-output.low, output.high) >= JSON_LIMIT:
        raise StatementError(
            "statement.reveal",
            "the outputs can reach more than 53 bits, which no statement holds: reveal the label",
            field="reveal",
        )
    most = most_labels(qgraph) if reveal == "top" else 1
    if reveal not in ("label", "logits", "top") or not 1 <= top <= most:
        raise StatementError(
            "statement.reveal",
            f"a proof shows the label, the logits, or the top 1 to {most_labels(qgraph)} labels",
            field="top" if reveal in ("label", "logits", "top") else "reveal",
        )


def _plan(typed: TypedGraph, network: Relations, level: Level, reveal: Reveal, top: int) -> Plan:
    tools, graph = arithmetic(Builder(), level), typed.qgraph
    bounds = network.output.bound.interval
    others = inputs_cost(typed) + argmax_cost(tools, 1, graph.classes, top, bounds)
    if reveal == "logits":
        others += Cost(rows=graph.classes)
    return best_plan(tools, network, level, others)
