"""ZENinfer: a quantised network to the constraints of one inference.

The statement: for these public inputs, the labels or outputs of the network are the public ones. A layer
with public weights costs no product constraints: its accumulators are linear combinations, substituted where
they are read. With private weights a product of a weight and an input is one constraint, or packed with
others into one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, get_args

import numpy as np
from numpy.typing import NDArray

from circuits.graphs.types import Shape
from circuits.lowering import Cost, Level, Lowering, Plan, argmax_cost, arithmetic, best_plan
from circuits.quantised import Output, QuantGraph
from circuits.quantised.typed import TypedGraph
from circuits.r1cs.builder import Builder
from circuits.schemes.circuit import (
    Circuit,
    Values,
    public_group,
    require_classes,
    require_few,
    require_known,
)
from circuits.schemes.inputs import begin, input_wires, inputs_cost
from kernels import FrArray
from relations.bounds import Bound
from relations.integers import JSON_LIMIT, IntArray
from relations.relation import Argmax, Linear, Relation, Relations, Tensor, Term
from verifier.schemes import Privacy, Reveal
from zenerrors import StatementError

_MOST_LABELS: Final = 10
# Images and embeddings have more values: who has as many classes asks for a label.
_MOST_LIKELY_CLASSES: Final = 2048


@dataclass(frozen=True, eq=False)
class Inference(Circuit):
    """The circuit of one inference. ``top``: how many labels it shows if it shows several."""

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
                "values": "these outputs: all of them are among the values, as integers.",
            }[self.reveal]
        )

    @property
    def public_layout(self) -> list[dict[str, Any]]:
        most = self.qgraph.classes - 1
        label = public_group("label", (), 0, most)
        match self.reveal:
            case "label":
                return self._layout(label)
            case "logits":
                return self._layout(label, self._outputs("logits", (most + 1,)))
            case "top":
                return self._layout(public_group("top", (self.top,), 0, most))
            case "values":
                return self._layout(self._outputs("values", self.qgraph.shapes[self.qgraph.output] or (1,)))

    def _outputs(self, name: str, shape: Shape) -> dict[str, Any]:
        kind = self.typed.tensors[self.qgraph.output]
        scale = dict(zip(("scale", "zero_point"), self.qgraph.output_scale or (), strict=False))
        return public_group(name, shape, kind.low, kind.high, scale)

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
        if self.reveal == "values":
            return shown | {"values": output.logits.tolist()}
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
    reveal: Reveal | None = None,
    top: int = 1,
    level: Level = 5,
) -> Inference:
    """The circuit of ``qgraph``. Deterministic; with private weights it depends on their types only.

    ``reveal``: as ``shown_by_default`` unless it is given. ``top``: how many labels are shown where several
    are to be revealed. Linked segments: "model" and "input", where they are committed. Raises
    ``StatementError``: ``statement.could_wrap`` where the integers leave their bounds, ``statement.classes``
    for labels of a network without classes, ``statement.no_weights`` for committed weights where there are
    none, and ``statement.privacy``, ``statement.level`` and ``statement.reveal`` for what it does not know.
    """
    typed, reveal = _typed(qgraph, input_privacy, weight_privacy, level), reveal or shown_by_default(qgraph)
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
    shown: dict[str, Tensor] = {}
    relations: list[Relation] = []
    if reveal != "values":
        name = "top" if reveal == "top" else "label"
        shown[name] = Tensor(name, (1, top), Bound.of(0, classes - 1))
        relations.append(Argmax("output/argmax", shown[name], network.output))
    if reveal in ("logits", "values"):
        shown[reveal] = Tensor(f"output/{reveal}", network.output.shape, network.output.bound)
        relations.append(Linear(f"output/{reveal}", shown[reveal], (Term(network.output),)))
    extended = network.extended([*shown.values()], relations)
    begin(builder, typed)
    tools = arithmetic(builder, level)
    lowering = Lowering(tools, extended, level, plan)
    lowering.hold(network.input, input_wires(tools, typed))
    for name, tensor in shown.items():
        lowering.hold(tensor, builder.public(name, math.prod(tensor.shape)))
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
    return _plan(typed, typed.relations, level, shown_by_default(qgraph), 1)


def _typed(qgraph: QuantGraph, input_privacy: Privacy, weight_privacy: Privacy, level: Level) -> TypedGraph:
    require_known(level, input_privacy=input_privacy, weight_privacy=weight_privacy)
    return TypedGraph(qgraph, input_privacy, weight_privacy)


def shown_by_default(qgraph: QuantGraph) -> Reveal:
    """The label, and the values of a network whose outputs are hardly classes: one, or very many."""
    return "label" if 2 <= qgraph.classes <= _MOST_LIKELY_CLASSES else "values"


def require_outputs(qgraph: QuantGraph, reveal: Reveal) -> None:
    """That the network's outputs are such as can be shown so. Raises ``StatementError``:
    ``statement.classes``, ``statement.reveal``.
    """
    if reveal in ("label", "logits", "top"):
        require_classes(qgraph, "reveal", "reveal the values")
    if reveal in ("logits", "values"):
        require_few(qgraph, "reveal")


def most_labels(qgraph: QuantGraph) -> int:
    """How many labels a proof can show: the last one is no news, and each costs as much as the first."""
    return min(_MOST_LABELS, qgraph.classes - 1)


def _require_shown(typed: TypedGraph, reveal: Reveal, top: int) -> None:
    qgraph, output = typed.qgraph, typed.tensors[typed.qgraph.output]
    require_outputs(qgraph, reveal)
    if reveal in ("logits", "values") and max(-output.low, output.high) >= JSON_LIMIT:
        raise StatementError(
            "statement.reveal",
            "the outputs can reach more than 53 bits, which no statement holds: reveal the label",
            field="reveal",
        )
    most = most_labels(qgraph) if reveal == "top" else 1
    known = reveal in get_args(Reveal)
    if not known or not 1 <= top <= most:
        raise StatementError(
            "statement.reveal",
            f"a proof shows the label, the logits, the values, or the top 1 to {most_labels(qgraph)} labels",
            field="top" if known else "reveal",
        )


def _plan(typed: TypedGraph, network: Relations, level: Level, reveal: Reveal, top: int) -> Plan:
    tools, graph = arithmetic(Builder(), level), typed.qgraph
    bounds = network.output.bound.interval
    others = inputs_cost(typed)
    if reveal != "values":
        others += argmax_cost(tools, 1, graph.classes, top, bounds)
    if reveal in ("logits", "values"):
        others += Cost(rows=graph.classes)
    return best_plan(tools, network, level, others)
