"""From a float network to a network of integers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from zenserve.circuits.graphs import rescaling
from zenserve.circuits.graphs.calibration import (
    METHODS,
    Interval,
    Method,
    Seen,
    fitting_work,
    interval,
    without_outliers,
)
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Mover, Node, QuantNode, Reading, Winning
from zenserve.circuits.graphs.rescaling import Clamp
from zenserve.circuits.graphs.site import Settings, Site
from zenserve.circuits.graphs.tensors import as_samples
from zenserve.circuits.graphs.types import LEAST_BITS, MOST_BITS, MOST_COMPARED_BITS, Affine, FloatArray
from zenserve.circuits.operators.clip import Requantise
from zenserve.circuits.operators.features import QuantFeatures
from zenserve.circuits.operators.largest import ranking
from zenserve.circuits.operators.selection import OneHot
from zenserve.circuits.operators.weighted import Parametric
from zenserve.circuits.quantisation.groups import Groups
from zenserve.circuits.quantisation.levels import Level, columns, in_units, level, leveled
from zenserve.circuits.quantisation.outliers import require_told_apart
from zenserve.circuits.quantisation.plan import Step, input_names, output_names, plan, unscaled
from zenserve.circuits.quantised import QuantGraph, QuantInput
from zenserve.errors import ModelError, TensorError

# Bits, and bits of weights, by the names of integer nodes.
Widths = Mapping[str, tuple[int, int]]
# The least and the largest integer of inputs, by their names.
Ranges = Mapping[str, tuple[int, int]]


def quantise(
    graph: Graph,
    calibration: ArrayLike | Mapping[str, ArrayLike],
    bits: int = 8,
    *,
    weight_bits: int | None = None,
    method: Method = "min-max",
    per_channel: bool = False,
    ranges: Ranges | None = None,
    layers: Widths | None = None,
) -> QuantGraph:
    """Quantise ``graph`` to ``bits`` (1 to 16) per tensor element, and ``weight_bits`` (``bits``) per weight:
    weights of one bit are ±1 times their scale.

    ``calibration``: float[n, *input shape], typical inputs, of several inputs by name: ``method`` takes the
    range of each tensor from them, an input's always by min-max. Integers and booleans are exact, of as many
    bits as their range takes: ``ranges`` has the least and the largest integer of an input, where that is
    more than calibration shows. Those that name entries, as tokens do, may name any. ``per_channel``: a scale
    for each output channel of a layer's weights, the last layer's aside. ``layers``: bits, and bits of
    weights, of nodes that have others, by their names in the quantised network, those of inputs too. What the
    file declares quantised keeps its scales and zero points.

    Raises ``TensorError`` (``input.*``) for calibration data that do not fit the network, and ``ModelError``
    (``model.*``) for a network that has no exact integer form.
    """
    settings = Settings(bits, bits if weight_bits is None else weight_bits, method, per_channel)
    return Calibrated.by(graph, calibration, ranges).quantised(settings, layers or {})


class Slot(NamedTuple):
    """Integer nodes whose tensors share a type, or whose ``weights`` do."""

    names: tuple[str, ...]
    weights: bool = False


@dataclass(frozen=True)
class Calibrated:
    """A network by its ``steps``, its tensors in ``groups``, what was ``seen`` of each that it computes, by
    name, the ``ends`` of each there is, what ``won`` of rows that nodes and outputs rank, by their names, the
    intervals that inputs of ``whole`` numbers have at least, how far each of the ``columns`` of tables
    reaches, how ``near`` to what they are compared with inputs came, by the nodes that compare, and the
    interval of inputs of ``integers``, which need not have zero in it."""

    graph: Graph
    steps: list[Step]
    groups: Groups
    seen: Mapping[str, Seen]
    ends: Mapping[str, Interval]
    won: Mapping[str, Winning | None]
    whole: Mapping[str, Interval]
    columns: Mapping[str, FloatArray]
    near: Mapping[str, float]
    integers: Mapping[str, Interval]

    @classmethod
    def by(
        cls,
        graph: Graph,
        calibration: ArrayLike | Mapping[str, ArrayLike],
        ranges: Ranges | None = None,
    ) -> Self:
        """Parameters and errors as for ``quantise``."""
        x = as_samples(calibration, graph.entries, field="calibration")
        whole = _whole(graph, x, ranges or {})
        steps, seen, wide, near = plan(graph), dict[str, Seen](), set[str](), dict[str, float]()
        ends, won = dict[str, Interval](), dict[str, Winning | None]()
        readers = [step.node for step in steps if step.node.compares]
        rankers = [step.node for step in steps if type(step.node).winning is not Node.winning]
        moved = {step.tensor for step in steps if step.node.permutes}
        for name, values in graph.tensors(x):
            if name in graph.integers and not _fits(values):
                wide.add(name)
            if name not in moved and np.isfinite(values).all():
                seen[name] = Seen.of(values)
            if np.isfinite(values).all():
                ends[name] = Interval.of(values)
                won |= {node.name: node.winning(values) for node in rankers if name == node.inputs[0]}
                rows = values.reshape(len(values), -1)
                won |= {each: Winning.of(rows) for each in graph.ranked if graph.outputs[each] == name}
            near |= {node.name: node.nearest(values) for node in readers if name in node.inputs}
        groups = _grouped(graph, steps, wide)
        computed = [*graph.entries, *(step.tensor for step in steps if not groups.keeps(step))]
        calibrated = [name for name in computed if not groups.declared(name)]
        for name in calibrated:
            if name not in seen:
                raise ModelError("model.scale", f"the tensor {name[:80]!r} overflows on the calibration data")
        kept = {name: seen[name] for name in calibrated}
        integers = _integers(graph, x, ranges or {})
        return cls(graph, steps, groups, kept, ends, won, whole, columns(graph, x), near, integers)

    @property
    def slots(self) -> list[Slot]:
        """All that may have bits of its own, tensors first: not what the file declares, whole numbers, or
        inputs that are compared alone."""
        groups = self.groups
        tensors: dict[str, list[str]] = {}
        for name, tensor in _typed(self.graph, self.steps, groups):
            if not (groups.declared(tensor) or groups.exact(tensor) or groups.compared(tensor)):
                tensors.setdefault(groups.of(tensor), []).append(name)
        weights: dict[str, list[str]] = {}
        for step in self.steps:
            if isinstance(step.node, Parametric):
                weights.setdefault(self.graph.tied.get(step.node.name, step.node.name), []).append(step.name)
        return [
            *(Slot(tuple(names)) for names in tensors.values()),
            *(Slot(tuple(names), weights=True) for names in weights.values()),
        ]

    @cached_property
    def fitting(self) -> int:
        """The work of fitting all intervals by ``mse``, those of weights per channel, in multiplications."""
        weights = [step.node.weight for step in self.steps if isinstance(step.node, Parametric)]
        sizes = [seen.sample.size for seen in self.seen.values()]
        sizes += [channels.size // len(channels) for channels in weights for _ in channels]
        return sum(map(fitting_work, sizes))

    def span(self, name: str, bits: int, method: Method) -> Interval:
        """Return the interval that the integers of a calibrated tensor are to span. Cached."""
        key = name, bits, method
        if key not in self._spans:
            self._spans[key] = interval(self.seen[name], bits, method)
        return self._spans[key]

    @cached_property
    def _spans(self) -> dict[tuple[str, int, Method], Interval]:
        return {}

    def quantised(self, settings: Settings, layers: Widths) -> QuantGraph:
        """By these settings; ``layers`` and errors as for ``quantise``."""
        for field, bits in (
            ("bits", settings.bits),
            ("weight_bits", settings.weight_bits),
            *(("layers", bits) for pair in layers.values() for bits in pair),
        ):
            if not LEAST_BITS <= bits <= MOST_BITS:
                raise ModelError(
                    "model.quantised", f"{field} must be {LEAST_BITS} to {MOST_BITS}", field=field
                )
        if settings.method not in METHODS:
            raise ModelError("model.quantised", f"method must be one of {', '.join(METHODS)}", field="method")
        return _Quantiser(self, settings, layers).run()


def _fits(values: FloatArray) -> bool:
    """Return whether the values are whole numbers that a tensor's type holds."""
    return bool((values == np.rint(values)).all()) and float(np.ptp(values)) < 1 << MOST_BITS


def _grouped(graph: Graph, steps: list[Step], wide: Collection[str]) -> Groups:
    """``wide``: tensors of integers that no type holds, so that all that share theirs are not exact."""
    integers = graph.integers & graph.shapes.keys()
    groups = Groups(graph, steps, integers)
    inexact = {groups.of(name) for name in wide}
    return Groups(graph, steps, {name for name in integers if groups.of(name) not in inexact})


def _typed(graph: Graph, steps: list[Step], groups: Groups) -> list[tuple[str, str]]:
    """The integer nodes that have a type of their own, the inputs first, and the tensors they stand for."""
    entries = [(called, name) for name, called in input_names(graph).items()]
    return entries + [(step.name, step.tensor) for step in steps if not groups.keeps(step)]


def _whole(graph: Graph, x: Mapping[str, FloatArray], ranges: Ranges) -> dict[str, Interval]:
    """The intervals that inputs of whole numbers have at least: those that name entries can name all."""
    given = {entry.name: Interval(*ranges[entry.name]) for entry in graph.inputs if entry.name in ranges}
    for name, size in _named(graph).items():
        given[name] = Interval(0, size - 1).joined(given.get(name, Interval(0, 0)))
    for entry in (entry for entry in graph.inputs if entry.values != "real"):
        if (x[entry.name] != np.rint(x[entry.name])).any():
            reason = f"calibration: the input {entry.name[:80]!r} takes whole numbers, and it has others"
            raise TensorError("input.not_integer", reason, field="calibration")
        if entry.values == "boolean":
            given[entry.name] = Interval(0, 1)
    integers = [entry.name for entry in graph.inputs if entry.values == "integer"]
    if unknown := set(ranges).difference(integers):
        there = f"there are {', '.join(integers)}" if integers else "the network has none"
        raise TensorError(
            "input.names",
            f"there is no input of integers {min(unknown)[:80]!r} to have a range: {there}",
            field="range",
        )
    return given


def _integers(graph: Graph, x: Mapping[str, FloatArray], ranges: Ranges) -> dict[str, Interval]:
    """The least and the largest of inputs of whole numbers."""
    found = {}
    for entry in (entry for entry in graph.inputs if entry.values == "integer"):
        span = Interval(float(x[entry.name].min()), float(x[entry.name].max()))
        found[entry.name] = span.joined(Interval(*ranges[entry.name])) if entry.name in ranges else span
    return found


def _named(graph: Graph) -> dict[str, int]:
    """Of inputs that name entries, as tokens do, how many there are."""
    makers, found = {node.name: node for node in graph.nodes}, dict[str, int]()
    for node in graph.nodes:
        if isinstance(node, OneHot) and node.outside == "refused":
            read = [*node.inputs]
            while read:
                name = read.pop()
                if name in makers:
                    read += makers[name].inputs
                else:
                    found[name] = max(found.get(name, 0), node.size)
    return found


class _Quantiser:
    def __init__(self, calibrated: Calibrated, settings: Settings, layers: Widths) -> None:
        self.graph = graph = calibrated.graph
        self.default, self.layers = settings, layers
        self.steps, self.groups = calibrated.steps, calibrated.groups
        self.entries = {entry.name for entry in graph.inputs}
        unknown = layers.keys() - {*input_names(graph).values(), *(step.name for step in self.steps)}
        if unknown:
            raise ModelError(
                "model.quantised", f"layers: the network has no {min(unknown)[:80]!r}", field="layers"
            )
        self.sums = unscaled(graph, self.steps)
        self.bits = self._bits()
        self.spans = self._spans(calibrated)
        self._tell_apart(calibrated.near)
        self.levels = self._levels(calibrated)
        self.integers = calibrated.integers
        self.fixed = self._fixed()
        self.nodes: list[QuantNode] = []
        # For every float tensor so far the integer one, and its type.
        self.names: dict[str, str] = {}
        self.types: dict[str, Affine | None] = {}
        # What was made of float nodes, and where, by their names.
        self.made: dict[str, tuple[Node, Site, QuantNode]] = {}
        self.again: dict[str, str] = {}

    def run(self) -> QuantGraph:
        names, inputs = input_names(self.graph), list[QuantInput]()
        for entry in self.graph.inputs:
            name, kind = names[entry.name], self.fixed[self.groups.of(entry.name)]
            self.names[entry.name], self.types[entry.name] = name, kind
            inputs.append(QuantInput(name, entry.shape, kind))
        for step in self.steps:
            self._add(step)
        called = output_names(self.graph)
        outputs = {called[name]: self.names[tensor] for name, tensor in self.graph.outputs.items()}
        values = tuple(called[name] for name in self.graph.outputs if name in self.graph.values)
        return QuantGraph(tuple(inputs), tuple(self.nodes), outputs, self.again, values)

    def _bits(self) -> dict[str, int]:
        """Of the tensors of each group: the most that is asked for any."""
        asked: dict[str, int] = {}
        least = {step.name: step.node.least_bits for step in self.steps if step.name not in self.layers}
        compared = {
            self.groups.of(name) for step in self.steps if step.node.compares for name in step.node.inputs
        }
        for name, tensor in _typed(self.graph, self.steps, self.groups):
            group, wanted = self.groups.of(tensor), self._settings(name).bits
            if group in compared and name not in self.layers:
                wanted = max(wanted, MOST_BITS)
            asked[group] = max(asked.get(group, 0), least.get(name, 0), wanted)
        return asked

    def _settings(self, name: str) -> Settings:
        """Of the integer node of that name."""
        if name not in self.layers:
            return self.default
        bits, weight_bits = self.layers[name]
        return replace(self.default, bits=bits, weight_bits=weight_bits)

    def _spans(self, calibrated: Calibrated) -> dict[str, Interval]:
        """The interval of every group that is calibrated: of all tensors in it that are computed."""
        spans = {
            self.groups.of(name): Interval(min(0, low), max(0, high))
            for name, (low, high) in calibrated.whole.items()
        }
        for name in calibrated.seen:
            group = self.groups.of(name)
            # Inputs are refused where they would saturate, so their type spans all of them.
            whole = name in self.entries or self.groups.exact(name)
            method: Method = "min-max" if whole else self.default.method
            span = calibrated.span(name, self.bits[group], method)
            spans[group] = span.joined(spans[group]) if group in spans else span
        needed = self._needed(spans, calibrated)
        names = {step.tensor for step in self.steps if step.node.names}
        for name, seen in calibrated.seen.items():
            group = self.groups.of(name)
            if name not in self.sums | names and not self.groups.exact(group):
                require_told_apart(name, seen, needed[group], self.bits[group])
        return needed

    def _needed(self, spans: dict[str, Interval], calibrated: Calibrated) -> dict[str, Interval]:
        """Return the part of each interval that matters to the nodes that read it. All of it matters for
        inputs, outputs that are not ranked, whole numbers, and values that are averaged."""
        needed, hot = dict[str, Interval](), self._hot()
        for name, tensor in self.graph.outputs.items():
            group, part = self.groups.of(tensor), self._own(tensor, spans, calibrated)
            if name in self.graph.ranked:
                part = ranking(part, calibrated.won.get(name))
            needed[group] = part.joined(needed[group]) if group in needed else part
        ends = {self.groups.of(name) for name in self.entries}
        ends |= {group for group in spans if self.groups.exact(group)}
        readers = [step for step in self.steps if not isinstance(step.node, Mover)]
        left = Counter(self.groups.of(name) for step in readers for name in step.node.inputs)
        for step in reversed(readers):
            group, node = self.groups.of(step.tensor), step.node
            made = spans.get(group)
            if made and group in needed and not left[group]:
                made = without_outliers(made, needed[group])
            own = [self._own(name, spans, calibrated) for name in node.inputs]
            reading = Reading(own, self.bits.get(group, MOST_BITS), made, calibrated.won.get(node.name))
            for at, read in enumerate(map(self.groups.of, node.inputs)):
                left[read] -= 1
                if read in spans:
                    part = node.needed(at, reading)
                    if made and hot.intersection(node.inputs):
                        part = without_outliers(part, self._own(step.tensor, spans, calibrated))
                    needed[read] = part.joined(needed[read]) if read in needed else part
        return spans | {group: part for group, part in needed.items() if group in spans and group not in ends}

    def _hot(self) -> set[str]:
        """Booleans of which one of each row is 1: products with these are entries, and what no boolean names
        does not matter."""
        found = set[str]()
        for step in self.steps:
            moved = isinstance(step.node, Mover) and found.intersection(step.node.inputs)
            if isinstance(step.node, OneHot) or moved:
                found.add(step.tensor)
        return found

    def _own(self, name: str, spans: Mapping[str, Interval], calibrated: Calibrated) -> Interval:
        """Return the interval of a tensor: that of its group, or a smaller one where other tensors of the
        group have outliers."""
        ends = calibrated.ends.get(name, Interval(0.0, 0.0))
        whole = spans.get(self.groups.of(name))
        return without_outliers(whole, ends) if whole else ends

    def _tell_apart(self, near: Mapping[str, float]) -> None:
        """Inputs that are compared alone have the bits that tell apart what they are compared with, and from
        it what calibration has."""
        names = input_names(self.graph)
        for entry in self.entries:
            group = self.groups.of(entry)
            if names[entry] in self.layers or self.groups.exact(entry) or not self.groups.compared(entry):
                continue
            readers = [step.node for step in self.steps if step.node.compares]
            for node in (node for node in readers if self.groups.of(node.inputs[0]) == group):
                span, step = node.compared(self.spans[group])
                step = min(step, near[node.name] / 2)
                self.spans[group] = span
                wanted = math.ceil(math.log2((span.high - span.low) / step + 1)) if step < math.inf else 0
                self.bits[group] = min(max(self.bits[group], wanted), MOST_COMPARED_BITS)

    def _levels(self, calibrated: Calibrated) -> dict[str, Level]:
        """Of groups of tensors that are rows of tables and nothing but layers read."""
        found = {}
        for name, ends in calibrated.columns.items():
            if leveled(self.graph, self.steps, self.groups, name, ends):
                group = self.groups.of(name)
                found[group] = level(ends, self.spans[group], self.bits[group])
        return found

    def _fixed(self) -> dict[str, Affine]:
        """The types that no multiplier may bend: declared ones, the inputs', and those of several tensors.
        Those of tensors that were zero wherever they were seen span what they are made of."""
        computed = Counter(self.groups.of(step.tensor) for step in self.steps if not self.groups.keeps(step))
        entries = {self.groups.of(name) for name in self.entries}
        apart = {self.groups.of(name) for name in self.groups.apart}
        rounded = {
            self.groups.of(name) for step in self.steps if step.node.rounds for name in step.node.inputs
        }
        fixed = {}
        for group in {self.groups.of(name) for name in self.graph.shapes}:
            declared = self.groups.declared(group)
            if declared:
                fixed[group] = declared.affine
            elif group in self.levels:
                fixed[group] = self.levels[group].given
            elif self.groups.exact(group):
                most = MOST_COMPARED_BITS if group in entries else MOST_BITS
                fixed[group] = rescaling.exact(self._whole_span(group), group, most)
            elif group in entries | apart or computed[group] > 1:
                what = "the input" if group in entries else f"the tensor {group[:80]!r}"
                halves = group in rounded
                span = self.spans[group]
                if span.low == span.high and group not in entries:
                    span = self._made_of(group)
                fixed[group] = rescaling.affine(span, self.bits[group], what, halves=halves)
        return fixed

    def _whole_span(self, group: str) -> Interval:
        """Of whole numbers. Where all that read inputs shift them, zero is nothing to these, and what they
        shift by is."""
        origins = self.groups.origins(group)
        if not origins:
            return self.spans[group]
        inputs = [name for name in self.integers if self.groups.of(name) == group]
        spans = [self.integers[name] for name in inputs]
        spans += [Interval(origin, origin) for origin in origins]
        return reduce(Interval.joined, spans)

    def _made_of(self, group: str) -> Interval:
        """Of the least that the tensors reach of which a group is made."""
        made = [step for step in self.steps if self.groups.of(step.tensor) == group]
        read = {self.groups.of(name) for step in made for name in step.node.inputs} & self.spans.keys()
        reaches = [max(-low, high) for low, high in (self.spans[each] for each in read) if low < high]
        return Interval(-min(reaches), min(reaches)) if reaches else Interval(0.0, 0.0)

    def _add(self, step: Step) -> None:
        node, group = step.node, self.groups.of(step.tensor)
        inputs = tuple(self.names[name] for name in node.inputs)
        types = tuple(self.types[name] for name in node.inputs)
        if node.arity is None:
            inputs, types = self._of_one_type(step, inputs, types)
        inputs, types = self._of_few_bits(step, inputs, types)
        source = self.levels.get(self.groups.of(node.inputs[0]))
        if source and (layer := in_units(node, source.offsets, source.units)):
            node, inputs, types = layer, (self._leveled(step, source),), (source.rescale.output,)
        site = Site(
            step.name,
            inputs,
            types,
            tuple(self.graph.shapes[name] for name in node.inputs),
            self.graph.shapes[node.name],
            step.clamp,
            step.tensor in self.sums,
            self.fixed.get(group),
            self.spans.get(group),
            replace(self._settings(step.name), bits=self.bits.get(group, self.default.bits)),
            self.groups.keeps(step),
        )
        made = self._quantised(node, site)
        self.nodes.append(made)
        self._declare(step, made.name, made.output_type(types))

    def _quantised(self, node: Node, site: Site) -> QuantNode:
        """Of the float node; where it is tied to one that does the same, that one's once more."""
        if before := self.made.get(self.graph.tied.get(node.name, "")):
            first, at, made = before
            if at == replace(site, name=made.name, inputs=made.inputs) and first.twin(node):
                self.again[site.name] = made.name
                return replace(made, name=site.name, inputs=site.inputs)
        made = node.quantise(site)
        self.made[node.name] = node, site, made
        return made

    def _declare(self, step: Step, name: str, kind: Affine | None) -> None:
        """Record the tensor's node and type, and convert it first if the file prescribes another type."""
        declared = self.graph.declared.get(step.tensor)
        if declared and kind and kind != declared.affine:
            name, kind = self._converted(f"{step.name}.type", name, kind, declared.affine), declared.affine
        self.names[step.tensor], self.types[step.tensor] = name, kind

    def _of_one_type(
        self, step: Step, inputs: tuple[str, ...], types: tuple[Affine | None, ...]
    ) -> tuple[tuple[str, ...], tuple[Affine | None, ...]]:
        """For tensors that are joined: brought to what is declared for them together, else to the type that
        they share."""
        wanted = self.fixed.get(self.groups.of(step.tensor)) or types[0]
        names = [
            name
            if not kind or not wanted or kind == wanted
            else self._converted(f"{step.name}.{index}", name, kind, wanted)
            for index, (name, kind) in enumerate(zip(inputs, types, strict=True))
        ]
        return tuple(names), (wanted,) * len(types)

    def _of_few_bits(
        self, step: Step, inputs: tuple[str, ...], types: tuple[Affine | None, ...]
    ) -> tuple[tuple[str, ...], tuple[Affine | None, ...]]:
        """Whole numbers of more bits than the node takes as real numbers, if these do."""
        node, names, kinds = step.node, [*inputs], [*types]
        for index, kind in enumerate(types):
            if kind is None or kind.bits <= node.widest:
                continue
            group = self.groups.of(node.inputs[index])
            if node.tells_apart:
                low, high = (kind.scale * end for end in kind.centred)
                raise ModelError(
                    "model.quantised",
                    f"node {node.name[:80]!r} ({node.operator()}) tells whole numbers from {low:.0f} to "
                    f"{high:.0f} apart, {kind.bits} bits, and it takes {node.widest} at most: have the "
                    "network subtract a constant near them first, or give it smaller numbers",
                )
            wanted = rescaling.affine(self.spans[group], self.bits[group], f"the tensor {group[:80]!r}")
            names[index] = self._converted(f"{step.name}.{index}", inputs[index], kind, wanted)
            kinds[index] = wanted
        return tuple(names), tuple(kinds)

    def _leveled(self, step: Step, source: Level) -> str:
        """The features that a step reads, in units of their own."""
        (read,), rescale = step.node.inputs, source.rescale
        shape = self.graph.shapes[read]
        along = replace(rescale, multiplier=rescale.multiplier.reshape(shape))
        name, middle = f"{step.name}.level", source.middle.reshape(shape)
        self.nodes.append(QuantFeatures(name, (self.names[read],), middle, rescale=along))
        return name

    def _converted(self, name: str, read: str, kind: Affine, wanted: Affine) -> str:
        rescale = rescaling.given(np.array([kind.scale]), wanted, Clamp())
        self.nodes.append(Requantise(name, (read,), rescale=rescale))
        return name
