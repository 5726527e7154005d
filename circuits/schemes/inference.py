"""ZENinfer: a quantised network to the constraints of one inference.

The statement: for these public inputs, the labels or outputs of the network are the public ones. A layer
with public weights costs no product constraints: its accumulators are linear combinations, substituted where
they are read. With private weights a product of a weight and an input is one constraint, or packed with
others into one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

import numpy as np

from circuits.lowering import Cost, Level, Lowering, Plan, argmax_cost, arithmetic, best_plan
from circuits.quantised import Integers, Output, QuantGraph
from circuits.quantised.typed import TypedGraph
from circuits.r1cs.builder import Builder
from circuits.schemes.circuit import (
    Circuit,
    Values,
    most_labels,
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
from verifier.documents import MOST_NAMES
from verifier.schemes import Privacy, Reveal, called
from zenerrors import StatementError

# Images and embeddings have more values: who has as many classes asks for a label.
_MOST_LIKELY_CLASSES: Final = 2048


@dataclass(frozen=True, eq=False)
class Inference(Circuit):
    """The circuit of one inference. ``reveal``: what it shows of each output, by its name; ``top``: how many
    labels where it shows several."""

    reveal: Mapping[str, Reveal]
    top: int = 1
    scheme = "inference"

    @property
    def claim(self) -> str:
        several, outputs = len(self.qgraph.inputs) > 1, self.qgraph.outputs
        says = f"The prover knows {'inputs of these types' if several else 'an input of this type'} that "
        if len(outputs) == 1:
            return f"{says}{{network}} maps to {self._says(*self.reveal.values())}."
        shown = [f"of the output {name}, to {self._says(reveal)}" for name, reveal in self.reveal.items()]
        hidden = [
            f"of the output {name}, to what is not shown" for name in outputs if name not in self.reveal
        ]
        return f"{says}{{network}} maps to this: {'; '.join([*shown, *hidden])}."

    def _says(self, reveal: Reveal) -> str:
        return {
            "label": "the label",
            "logits": "the label and to these logits, integers at the scale of its last layer",
            "top": f"these {self.top} labels, the most likely first",
            "values": "these outputs: all of them are among the values, as integers",
        }[reveal]

    @property
    def public_layout(self) -> list[dict[str, Any]]:
        return self._layout(*(group for name in self.reveal for group in self._groups(name)))

    def _groups(self, name: str) -> list[dict[str, Any]]:
        """What is shown of an output."""
        graph, most = self.qgraph, self.qgraph.size(name) - 1
        tensor = graph.outputs[name]
        kind, shape = self.typed.tensors[tensor], graph.shapes[tensor] or (1,)
        label = public_group(self._called("label", name), (), 0, most)
        reveal = self.reveal[name]
        group = self._called(reveal, name)
        if reveal == "label":
            return [label]
        if reveal == "top":
            return [public_group(group, (self.top,), 0, most)]
        scale = dict(zip(("scale", "zero_point"), graph.scale_of(tensor) or (), strict=False))
        if reveal == "values":
            return [public_group(group, shape, kind.low, kind.high, scale)]
        return [label, public_group(group, (most + 1,), kind.low, kind.high, scale)]

    def _called(self, kind: str, output: str) -> str:
        return called(kind, output, self.qgraph.outputs)

    def describe(self) -> dict[str, Any]:
        """Of several outputs also which tensors they are."""
        outputs = self.qgraph.outputs
        if len(outputs) == 1:
            (reveal,) = self.reveal.values()
            return super().describe() | {"reveal": reveal, "top": self.top}
        shown = {"outputs": dict(outputs), "reveal": dict(self.reveal), "top": self.top}
        return super().describe() | shown

    def execute(self, q: Integers) -> Output:
        """The network's only output, exact, for the integers ``q``. Raises ``TensorError`` as ``checked``."""
        self.checked(q)
        return self.qgraph.execute(q)

    def values(self, q: Integers) -> Values:
        """What a proof for ``q`` shows, by the names of ``public_layout``. Raises ``TensorError`` as
        ``checked``."""
        shown, graph = self._shown_inputs(self.checked(q)), self.qgraph
        single = {name: np.asarray(value)[np.newaxis] for name, value in graph.named(q).items()}
        tensors = graph.run_all(single, set(graph.outputs.values()))
        for name in self.reveal:
            shown |= self._values(name, tensors[graph.outputs[name]].ravel())
        return shown

    def _values(self, name: str, logits: IntArray) -> Values:
        reveal = self.reveal[name]
        group = self._called(reveal, name)
        order = np.argsort(-logits, kind="stable")[: self.top].tolist()
        if reveal == "top":
            return {group: order}
        label: Values = {} if reveal == "values" else {self._called("label", name): order[0]}
        return label | ({} if reveal == "label" else {group: logits.tolist()})

    def witness(self, q: Integers, *, statement: int = 0) -> FrArray:
        """The satisfying assignment for the inputs ``q``: uint64[variables, 4], Montgomery.

        It holds the inputs and, where they are private, the weights. Raises ``TensorError`` as ``checked``.
        """
        return self._witness(self._given(q), statement)

    def assign(self, q: Integers) -> IntArray:
        """``witness`` as plain integers, int64[variables], 0 for what does not fit (``Program.assign``)."""
        return self.program.assign(self._given(q))

    def _given(self, q: Integers) -> dict[str, IntArray]:
        return {group: values.ravel() for group, values in self.checked(q).items()}

    def public_inputs(self, q: Integers, *, statement: int = 0) -> list[int]:
        """The statement's public inputs in order, as ``public_layout`` describes them."""
        return self._listed(self.values(q), statement)


def compile_inference(
    qgraph: QuantGraph,
    *,
    input_privacy: Privacy | Mapping[str, Privacy] = "private",
    weight_privacy: Privacy = "public",
    reveal: Reveal | Mapping[str, Reveal] | None = None,
    top: int = 1,
    level: Level = 5,
) -> Inference:
    """The circuit of ``qgraph``. Deterministic; with private weights it depends on their types only.

    ``input_privacy``: of all inputs, or of each by its name. ``reveal``: of all outputs, or by the names of
    those that are shown; as ``shown_by_default`` unless it is given. ``top``: how many labels are shown where
    several are to be revealed. Linked segments: "model" and "input", where they are committed, of several
    inputs "input/NAME" each. Raises ``StatementError``: ``statement.could_wrap`` where the integers leave
    their bounds, ``statement.classes`` for labels of a network without classes, ``statement.no_weights`` for
    committed weights where there are none, and ``statement.privacy``, ``statement.level`` and
    ``statement.reveal`` for what it does not know.
    """
    typed = _typed(qgraph, input_privacy, weight_privacy, level)
    shown = all_shown(qgraph, reveal)
    _require_shown(typed, shown, top)
    builder = Builder()
    plan, lowering = lower_inference(builder, typed, level, shown, top)
    proven = plan, lowering.relations, lowering.wires
    return Inference(typed, level, builder.program(), *proven, shown, top)


def lower_inference(
    builder: Builder, typed: TypedGraph, level: Level, reveal: Mapping[str, Reveal], top: int = 1
) -> tuple[Plan, Lowering]:
    """Add the constraints of ``compile_inference`` to ``builder``, all but what that defers."""
    network = typed.relations
    plan = _plan(typed, network, level, reveal, top)
    shown: dict[str, Tensor] = {}
    relations: list[Relation] = []
    for output, kind in reveal.items():
        tensor, size = typed.outputs[output], typed.qgraph.size(output)
        if kind != "values":
            name = called("top" if kind == "top" else "label", output, typed.outputs)
            shown[name] = Tensor(name, (1, top if kind == "top" else 1), Bound.of(0, size - 1))
            relations.append(Argmax(called("output/argmax", output, typed.outputs), shown[name], tensor))
        if kind in ("logits", "values"):
            name = called(kind, output, typed.outputs)
            shown[name] = Tensor(f"output/{name}", tensor.shape, tensor.bound)
            relations.append(Linear(f"output/{name}", shown[name], (Term(tensor),)))
    extended = network.extended([*shown.values()], relations)
    begin(builder, typed)
    tools = arithmetic(builder, level)
    lowering = Lowering(tools, extended, level, plan)
    for name, tensor in typed.inputs.items():
        lowering.hold(tensor, input_wires(tools, typed, name))
    for name, tensor in shown.items():
        lowering.hold(tensor, builder.public(name, math.prod(tensor.shape)))
    lowering.lower()
    return plan, lowering


def plan_inference(
    qgraph: QuantGraph,
    *,
    input_privacy: Privacy | Mapping[str, Privacy] = "private",
    weight_privacy: Privacy = "public",
    level: Level = 5,
) -> Plan:
    """How ``compile_inference`` would prove each node, and the rows in all, without building anything.

    Raises as ``compile_inference``.
    """
    typed = _typed(qgraph, input_privacy, weight_privacy, level)
    return _plan(typed, typed.relations, level, all_shown(qgraph, None), 1)


def _typed(
    qgraph: QuantGraph,
    input_privacy: Privacy | Mapping[str, Privacy],
    weight_privacy: Privacy,
    level: Level,
) -> TypedGraph:
    given = {input_privacy} if isinstance(input_privacy, str) else {*input_privacy.values()}
    for privacy in given:
        require_known(level, input_privacy=privacy)
    require_known(level, weight_privacy=weight_privacy)
    return TypedGraph(qgraph, input_privacy, weight_privacy)


def all_shown(qgraph: QuantGraph, reveal: Reveal | Mapping[str, Reveal] | None) -> dict[str, Reveal]:
    """What is shown of each output that is, by its name, in the network's order. Raises ``StatementError``
    (``statement.reveal``) for names that no output has, and where nothing is shown.
    """
    outputs = qgraph.outputs
    if reveal is None:
        return {name: shown_by_default(qgraph.size(name)) for name in outputs}
    given = dict.fromkeys(outputs, reveal) if isinstance(reveal, str) else reveal
    if not given or not set(given) <= set(outputs):
        raise StatementError(
            "statement.reveal", f"reveal one of the outputs {', '.join(outputs)}, or more", field="reveal"
        )
    return {name: given[name] for name in outputs if name in given}


def shown_by_default(outputs: int) -> Reveal:
    """The label, and the values of so many outputs that are hardly classes: of one, or of very many."""
    return "label" if 2 <= outputs <= _MOST_LIKELY_CLASSES else "values"


def require_outputs(outputs: int, reveal: Reveal) -> None:
    """That so many outputs can be shown so. Raises ``StatementError``: ``statement.classes``,
    ``statement.reveal``.
    """
    if reveal in ("label", "logits", "top"):
        require_classes(outputs, "reveal", "reveal the values")
    if reveal in ("logits", "values"):
        require_few(outputs, "reveal")


def _require_shown(typed: TypedGraph, shown: Mapping[str, Reveal], top: int) -> None:
    for name, reveal in shown.items():
        _require_output(typed, name, reveal, top)
    if "top" not in shown.values() and top != 1:
        raise StatementError("statement.reveal", "leave top out: nothing shows several labels", field="top")
    public = [name for name, privacy in typed.privacies.items() if privacy == "public"]
    if len(typed.privacies) >= MOST_NAMES or len(public) + 2 * len(shown) > MOST_NAMES:
        raise StatementError(
            "statement.reveal",
            f"a statement has fewer than {MOST_NAMES} inputs, and at most as many values, two of outputs with"
            " logits: show fewer outputs",
            field="reveal",
        )


def _require_output(typed: TypedGraph, name: str, reveal: Reveal, top: int) -> None:
    tensor, size = typed.tensors[typed.qgraph.outputs[name]], typed.qgraph.size(name)
    require_outputs(size, reveal)
    if reveal in ("logits", "values") and max(-tensor.low, tensor.high) >= JSON_LIMIT:
        raise StatementError(
            "statement.reveal",
            "the outputs can reach more than 53 bits, which no statement holds: reveal the label",
            field="reveal",
        )
    known = reveal in get_args(Reveal)
    if not known or (reveal == "top" and not 1 <= top <= most_labels(size)):
        raise StatementError(
            "statement.reveal",
            f"a proof shows the label, the logits, the values, or the top 1 to {most_labels(size)} labels",
            field="top" if known else "reveal",
        )


def _plan(
    typed: TypedGraph, network: Relations, level: Level, reveal: Mapping[str, Reveal], top: int
) -> Plan:
    tools, others = arithmetic(Builder(), level), inputs_cost(typed)
    for name, kind in reveal.items():
        size, wanted = typed.qgraph.size(name), top if kind == "top" else 1
        if kind != "values":
            others += argmax_cost(tools, 1, size, wanted, typed.outputs[name].bound.interval)
        if kind in ("logits", "values"):
            others += Cost(rows=size)
    return best_plan(tools, network, level, others)
