"""ZENinfer: a quantised network to the constraints of one inference, or of a batch of them.

The statement: for these public inputs, the labels or outputs of the network are the public ones. A layer
with public weights costs no product constraints: its accumulators are linear combinations, substituted where
they are read. With private weights a product of a weight and an input is one constraint, or packed with
others into one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

import numpy as np

from zenserve.circuits.lowering import Cost, Level, Lowering, Plan, argmax_cost, arithmetic, best_plan
from zenserve.circuits.quantised import Integers, Output, QuantGraph
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.folding import fold_public_inputs
from zenserve.circuits.schemes.circuit import (
    Circuit,
    Values,
    most_labels,
    public_group,
    require_classes,
    require_few,
    require_known,
)
from zenserve.circuits.schemes.inputs import begin, input_wires, inputs_cost
from zenserve.circuits.schemes.intervals import MOST_BOUNDS, Intervals
from zenserve.circuits.schemes.outputs import CommittedOutput, committed_outputs
from zenserve.errors import StatementError
from zenserve.kernels import FrArray
from zenserve.prover.backends import Backend
from zenserve.prover.backends.cpu import CPU
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import JSON_LIMIT, IntArray
from zenserve.relations.relation import Argmax, Linear, Relation, Relations, Tensor, Term
from zenserve.verifier.fields import MOST_NAMES
from zenserve.verifier.schemes import BOUNDED, Privacy, Reveal, called

Bounds = Mapping[str, Sequence[int]]
"""Of outputs by their names, in increasing order: a threshold is one."""

# Images and embeddings have more values: who has as many classes asks for a label.
_MOST_LIKELY_CLASSES: Final = 2048


@dataclass(frozen=True, eq=False)
class Inference(Circuit):
    """The circuit of one inference. ``reveal``: what it shows of each output, by its name; ``top``: how many
    labels where it shows several; ``bounds``: between how many it shows a range. Of a batch, integers are
    [batch, *shape], and each label is a list.

    Where it shows thresholds or ranges, a proof takes the ``bounds``, integers by the outputs' names
    (``zenserve.circuits.schemes.intervals.integer_bounds``).
    """

    reveal: Mapping[str, Reveal]
    top: int = 1
    bounds: int = 1
    scheme = "inference"

    @property
    def claim(self) -> str:
        several, outputs = len(self.qgraph.inputs) > 1, self.qgraph.outputs
        says = f"The prover knows {'inputs of these types' if several else 'an input of this type'} that "
        if len(outputs) == 1:
            return f"{says}{{network}} maps to {self._says(*self.reveal.values())}.{self._says_batch}"
        shown = [f"of the output {name}, to {self._says(reveal)}" for name, reveal in self.reveal.items()]
        hidden = [
            f"of the output {name}, to what is not shown" for name in outputs if name not in self.reveal
        ]
        return f"{says}{{network}} maps to this: {'; '.join([*shown, *hidden])}.{self._says_batch}"

    @property
    def batch(self) -> int:
        """The number of inferences that a proof covers."""
        return self.typed.batch

    @property
    def _says_batch(self) -> str:
        if self.batch == 1:
            return ""
        return f" So it is for {self.batch} samples: inputs and labels are of one after the other."

    def _says(self, reveal: Reveal) -> str:
        return {
            "label": "the label",
            "logits": "the label and to these logits, integers at the scale of its last layer",
            "top": f"these {self.top} labels, the most likely first",
            "values": "these outputs: all of them are among the values, as integers",
            "threshold": "outputs that are hidden: reached says of each whether it is at least the threshold",
            "range": "outputs that are hidden: interval says of each how many of the bounds it is at least",
            "commitment": "outputs that are hidden: they are what a commitment is to",
        }[reveal]

    @property
    def public_layout(self) -> list[dict[str, Any]]:
        return self._layout(*(group for name in self.reveal for group in self._groups(name)))

    def _groups(self, name: str) -> list[dict[str, Any]]:
        """Return the groups of public inputs for an output."""
        graph, most = self.qgraph, self.qgraph.size(name) - 1
        tensor = graph.outputs[name]
        kind, shape = self.typed.tensors[tensor], graph.shapes[tensor] or (1,)
        last = kind.high if name == graph.own_label else most
        label = public_group(self._called("label", name), self._batched(()), 0, last)
        reveal = self.reveal[name]
        if reveal == "commitment":
            return []
        group = self._called(reveal, name)
        if reveal == "label":
            return [label]
        if reveal == "top":
            return [public_group(group, (self.top,), 0, most)]
        scale = dict(zip(("scale", "zero_point"), graph.scale_of(tensor) or (), strict=False))
        if intervals := self._intervals(name):
            return intervals.groups(shape, scale)
        if reveal == "values":
            return [public_group(group, shape, kind.low, kind.high, scale)]
        return [label, public_group(group, (most + 1,), kind.low, kind.high, scale)]

    def _called(self, kind: str, output: str) -> str:
        return called(kind, output, self.qgraph.outputs)

    def _intervals(self, name: str) -> Intervals | None:
        return _intervals(self.typed, name, self.reveal[name], self.bounds)

    @property
    def committed(self) -> dict[str, CommittedOutput]:
        """The outputs that are committed to, by their names."""
        return committed_outputs(self.typed, self.reveal)

    def describe(self) -> dict[str, Any]:
        """Of several outputs also which tensors they are; of those that are committed to their types; of a
        batch its size; whether inputs are folded, where they are."""
        outputs, reveal = self.qgraph.outputs, self.reveal
        described = super().describe()
        if committed := self.committed.values():
            types = [{"name": each.name, "type": dict(each.described)} for each in committed]
            described["quantisation"] |= {"outputs": types}
        if len(outputs) == 1:
            described |= {"reveal": next(iter(reveal.values())), "top": self.top}
        else:
            described |= {"outputs": dict(outputs), "reveal": dict(reveal), "top": self.top}
        described |= {"batch": self.batch} if self.batch > 1 else {}
        described |= {"fold_inputs": True} if self.constraint_system.folded else {}
        return described | ({"bounds": self.bounds} if "range" in reveal.values() else {})

    def execute(self, q: Integers) -> Output:
        """The network's only output, exact, for one input ``q``. Raises ``TensorError`` as ``checked``."""
        self.checked(q)
        return self.qgraph.execute(q)

    def values(self, q: Integers, bounds: Bounds | None = None) -> Values:
        """Return the public values of a proof for ``q``, by the names of ``public_layout``. Raises
        ``TensorError`` as ``checked``, and ``input.out_of_range`` for bounds that are not the circuit's."""
        shown, bounds = self._shown_inputs(self.checked(q)), bounds or {}
        for name, output in self._outputs(q).items():
            shown |= self._values(name, output, bounds.get(name, ()))
        return shown

    def committed_values(self, q: Integers) -> dict[str, IntArray]:
        """Return the values that the commitments to outputs commit to, by the names of their segments,
        int64[n] each. Raises ``TensorError`` as ``checked``."""
        self.checked(q)
        outputs = self._outputs(q)
        return {each.name: each.values(outputs[name]) for name, each in self.committed.items()}

    def _outputs(self, q: Integers) -> dict[str, IntArray]:
        """Return the outputs of which something is shown, row-major."""
        graph = self.qgraph
        shapes = {name: (self.batch, *entry.shape) for name, entry in graph.entries.items()}
        given = {name: np.asarray(value).reshape(shapes[name]) for name, value in graph.named(q).items()}
        tensors = graph.run_all(given, set(graph.outputs.values()))
        return {name: tensors[graph.outputs[name]].ravel() for name in self.reveal}

    def _values(self, name: str, logits: IntArray, bounds: Sequence[int]) -> Values:
        reveal = self.reveal[name]
        if self.batch > 1:
            rows = logits.reshape(self.batch, -1)
            own = name == self.qgraph.own_label
            return {self._called("label", name): (rows[:, 0] if own else rows.argmax(axis=1)).tolist()}
        if reveal == "commitment":
            return {}
        if intervals := self._intervals(name):
            return intervals.values(logits, bounds)
        group = self._called(reveal, name)
        if name == self.qgraph.own_label:
            return {group: logits.tolist() if reveal == "values" else int(logits[0])}
        order = np.argsort(-logits, kind="stable")[: self.top].tolist()
        if reveal == "top":
            return {group: order}
        label: Values = {} if reveal == "values" else {self._called("label", name): order[0]}
        return label | ({} if reveal == "label" else {group: logits.tolist()})

    def witness(
        self,
        q: Integers,
        bounds: Bounds | None = None,
        *,
        statement: int = 0,
        threads: int = 1,
        on: Backend = CPU,
    ) -> FrArray:
        """The satisfying assignment for the inputs ``q``: uint64[variables, 4], Montgomery.

        It holds the inputs and, where they are private, the weights. Raises ``TensorError`` as ``values``.
        """
        return self._witness(self._given(q, bounds), statement, threads, on)

    def assign(self, q: Integers, bounds: Bounds | None = None) -> IntArray:
        """``witness`` as plain integers, int64[variables], 0 for what does not fit (``Program.assign``)."""
        return self.program.assign(self._given(q, bounds))

    def _given(self, q: Integers, bounds: Bounds | None) -> dict[str, IntArray]:
        given = {group: values.ravel() for group, values in self.checked(q).items()}
        for name in self.reveal:
            if intervals := self._intervals(name):
                given |= intervals.given((bounds or {}).get(name, ()))
        return given

    def public_inputs(self, q: Integers, bounds: Bounds | None = None, *, statement: int = 0) -> list[int]:
        """The statement's public inputs in order, as ``public_layout`` describes them."""
        return self._listed(self.values(q, bounds), statement)


def compile_inference(
    qgraph: QuantGraph,
    *,
    input_privacy: Privacy | Mapping[str, Privacy] = "private",
    weight_privacy: Privacy = "public",
    reveal: Reveal | Mapping[str, Reveal] | None = None,
    top: int = 1,
    bounds: int = 1,
    batch: int = 1,
    level: Level = 5,
    fold_inputs: bool = False,
) -> Inference:
    """The circuit of ``qgraph``. Deterministic; with private weights it depends on their types only.

    ``input_privacy``: of all inputs, or of each by its name. ``reveal``: of all outputs, or by the names of
    those that are shown; as ``shown_by_default`` unless it is given. ``top``: how many labels are shown where
    several are to be revealed; ``bounds``: how many there are of a range; ``batch``: how many inferences it
    proves, of which labels are shown and inputs are not committed to; ``fold_inputs``: as
    ``zenserve.circuits.r1cs.folding``. Linked segments: "model" and
    "input", where they are committed, of several inputs "input/NAME" each, and "output", or "output/NAME",
    of those that are committed to. Raises ``StatementError``: ``statement.could_wrap`` where the integers
    leave their bounds, ``statement.classes`` for labels of a network without classes,
    ``statement.no_weights`` for committed weights where there are none, ``statement.batch`` for what batches
    have not, and ``statement.privacy``, ``statement.level`` and ``statement.reveal`` for what it does not
    know.
    """
    typed = _typed(qgraph, input_privacy, weight_privacy, level, batch)
    shown = all_shown(qgraph, reveal)
    _require_batch(typed, shown, level)
    _require_shown(typed, shown, top, bounds, level)
    builder = Builder()
    plan, lowering = lower_inference(builder, typed, level, shown, top, bounds)
    proven = plan, lowering.relations, lowering.wires
    program = fold_public_inputs(builder.program()) if fold_inputs else builder.program()
    return Inference(typed, level, program, *proven, shown, top, bounds)


def lower_inference(
    builder: Builder,
    typed: TypedGraph,
    level: Level,
    reveal: Mapping[str, Reveal],
    top: int = 1,
    bounds: int = 1,
) -> tuple[Plan, Lowering]:
    """Add the constraints of ``compile_inference`` to ``builder``, all but what that defers."""
    network = typed.relations
    plan = _plan(typed, network, level, reveal, top, bounds)
    shown: dict[str, Tensor] = {}
    relations: list[Relation] = []
    bounded: list[Intervals] = []
    committed = committed_outputs(typed, reveal)
    kept = {each: each.relation() for each in committed.values()}
    for output, kind in reveal.items():
        tensor, size = typed.outputs[output], typed.qgraph.size(output)
        if output in committed:
            continue
        if intervals := _intervals(typed, output, kind, bounds):
            given, said = intervals.relations(tensor)
            bounded.append(intervals)
            shown |= {each.name: each for each in given}
            relations += said
            continue
        if output == typed.qgraph.own_label and kind == "label":
            name = called("label", output, typed.outputs)
            shown[name] = Tensor(f"output/{name}", tensor.shape, tensor.bound)
            relations.append(Linear(f"output/{name}", shown[name], (Term(tensor),)))
            continue
        if kind != "values":
            name = called("top" if kind == "top" else "label", output, typed.outputs)
            labels = typed.batch, top if kind == "top" else 1
            shown[name] = Tensor(name, labels, Bound.of(0, size - 1))
            relations.append(Argmax(called("output/argmax", output, typed.outputs), shown[name], tensor))
        if kind in ("logits", "values"):
            name = called(kind, output, typed.outputs)
            shown[name] = Tensor(f"output/{name}", tensor.shape, tensor.bound)
            relations.append(Linear(f"output/{name}", shown[name], (Term(tensor),)))
    given = [*shown.values(), *(relation.out for relation in kept.values())]
    extended = network.extended(given, [*relations, *kept.values()])
    begin(builder, typed)
    tools = arithmetic(builder, level)
    lowering = Lowering(tools, extended, level, plan)
    for name, tensor in typed.inputs.items():
        lowering.hold(tensor, input_wires(tools, typed, name))
    for each, relation in kept.items():
        lowering.hold(relation.out, each.take(builder))
    for name, tensor in shown.items():
        lowering.hold(tensor, builder.public(name, math.prod(tensor.shape)))
    for intervals in bounded:
        intervals.check(tools, lowering.values(shown[intervals.bounds]))
    lowering.lower()
    return plan, lowering


def plan_inference(
    qgraph: QuantGraph,
    *,
    input_privacy: Privacy | Mapping[str, Privacy] = "private",
    weight_privacy: Privacy = "public",
    batch: int = 1,
    level: Level = 5,
) -> Plan:
    """Plan the way in which ``compile_inference`` proves each node, and count all rows, without building
    anything.

    Raises as ``compile_inference``.
    """
    typed = _typed(qgraph, input_privacy, weight_privacy, level, batch)
    shown = all_shown(qgraph, None)
    _require_batch(typed, shown, level)
    return _plan(typed, typed.relations, level, shown, 1, 1)


def _typed(
    qgraph: QuantGraph,
    input_privacy: Privacy | Mapping[str, Privacy],
    weight_privacy: Privacy,
    level: Level,
    batch: int,
) -> TypedGraph:
    given = {input_privacy} if isinstance(input_privacy, str) else {*input_privacy.values()}
    for privacy in given:
        require_known(level, input_privacy=privacy)
    require_known(level, weight_privacy=weight_privacy)
    return TypedGraph(qgraph, input_privacy, weight_privacy, batch)


def all_shown(qgraph: QuantGraph, reveal: Reveal | Mapping[str, Reveal] | None) -> dict[str, Reveal]:
    """Return the way in which each output that is shown is revealed, by its name, in the network's order. If
    the model has an output for its own label, the label is that one. Raises ``StatementError``
    (``statement.reveal``) for names that no output has, and where nothing is shown."""
    outputs = qgraph.outputs
    if reveal in (None, "label") and (own := qgraph.own_label):
        return {own: "label"}
    if reveal is None:
        return {name: shown_by_default(qgraph.size(name), values=name in qgraph.values) for name in outputs}
    given = dict.fromkeys(outputs, reveal) if isinstance(reveal, str) else reveal
    if not given or not set(given) <= set(outputs):
        raise StatementError(
            "statement.reveal", f"reveal one of the outputs {', '.join(outputs)}, or more", field="reveal"
        )
    return {name: given[name] for name in outputs if name in given}


def shown_by_default(outputs: int, *, values: bool = False) -> Reveal:
    """The label; the values where so many outputs are hardly classes, one or many, or known as values."""
    return "label" if 2 <= outputs <= _MOST_LIKELY_CLASSES and not values else "values"


def require_outputs(qgraph: QuantGraph, name: str, reveal: Reveal) -> None:
    """Check that an output can be revealed in this way. Raises ``StatementError``: ``statement.classes``,
    ``statement.reveal``."""
    outputs = qgraph.size(name)
    if reveal in ("label", "logits", "top") and (name != qgraph.own_label or reveal != "label"):
        require_classes(outputs, "reveal", "reveal the values")
    if reveal in ("logits", "values", *BOUNDED):
        require_few(outputs, "reveal")


def _intervals(typed: TypedGraph, name: str, reveal: Reveal, bounds: int) -> Intervals | None:
    """Of an output that is shown to lie somewhere; else None."""
    if reveal not in BOUNDED:
        return None
    ends, found = (called(each, name, typed.outputs) for each in BOUNDED[reveal])
    reach = typed.outputs[name].bound.interval
    return Intervals(ends, found, bounds if reveal == "range" else 0, typed.qgraph.size(name), reach)


def _require_batch(typed: TypedGraph, shown: Mapping[str, Reveal], level: Level) -> None:
    if typed.batch < 1:
        raise StatementError("statement.batch", "a batch has at least one sample", field="batch")
    labels, committed = {*shown.values()} == {"label"}, "committed" in typed.privacies.values()
    if typed.batch > 1 and (not labels or committed or level != 5):
        raise StatementError(
            "statement.batch",
            "of a batch the labels are shown, its inputs are public or private, and the level is 5: for"
            " anything else prove one inference at a time",
            field="batch",
        )


def _require_shown(
    typed: TypedGraph, shown: Mapping[str, Reveal], top: int, bounds: int, level: Level
) -> None:
    for name, reveal in shown.items():
        _require_output(typed, name, reveal, top)
    committed = committed_outputs(typed, shown)
    if committed and level != 5:
        reason = "a commitment to an output takes level 5: lower levels have no segments"
        raise StatementError("statement.reveal", reason, field="reveal")
    if "top" not in shown.values() and top != 1:
        raise StatementError("statement.reveal", "leave top out: nothing shows several labels", field="top")
    if not 1 <= bounds <= (MOST_BOUNDS if "range" in shown.values() else 1):
        reason = f"a range has 1 to {MOST_BOUNDS} bounds, and nothing else has any"
        raise StatementError("statement.reveal", reason, field="bounds")
    public = [name for name, privacy in typed.privacies.items() if privacy == "public"]
    named = len(public) + 2 * (len(shown) - len(committed))
    if len(typed.privacies) + len(committed) >= MOST_NAMES or named > MOST_NAMES:
        raise StatementError(
            "statement.reveal",
            f"a statement has fewer than {MOST_NAMES} inputs and committed outputs, and at most as many"
            " values, two of outputs with logits: show fewer outputs",
            field="reveal",
        )


def _require_output(typed: TypedGraph, name: str, reveal: Reveal, top: int) -> None:
    tensor, size = typed.tensors[typed.qgraph.outputs[name]], typed.qgraph.size(name)
    require_outputs(typed.qgraph, name, reveal)
    if reveal in ("logits", "values", *BOUNDED) and max(-tensor.low, tensor.high + 1) >= JSON_LIMIT:
        raise StatementError(
            "statement.reveal",
            "the outputs can reach more than 53 bits, which no statement holds: reveal the label",
            field="reveal",
        )
    known = reveal in get_args(Reveal)
    if not known or (reveal == "top" and not 1 <= top <= most_labels(size)):
        raise StatementError(
            "statement.reveal",
            f"a proof shows the label, the logits, the values, the top 1 to {most_labels(size)} labels, a"
            " threshold or range of values, or a commitment",
            field="top" if known else "reveal",
        )


def _plan(
    typed: TypedGraph, network: Relations, level: Level, reveal: Mapping[str, Reveal], top: int, bounds: int
) -> Plan:
    tools, others = arithmetic(Builder(), level), inputs_cost(typed)
    committed = committed_outputs(typed, reveal)
    for name, kind in reveal.items():
        if name in committed:
            others += committed[name].cost()
            continue
        if intervals := _intervals(typed, name, kind, bounds):
            others += intervals.cost(level)
            continue
        size, wanted = typed.qgraph.size(name), top if kind == "top" else 1
        if name == typed.qgraph.own_label:
            others += Cost(rows=size)
            continue
        if kind != "values":
            others += argmax_cost(tools, typed.batch, size, wanted, typed.outputs[name].bound.interval)
        if kind in ("logits", "values"):
            others += Cost(rows=size)
    return best_plan(tools, network, level, others)
