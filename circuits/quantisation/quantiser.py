"""From a float network to a network of integers."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike

from circuits.graphs import rescaling
from circuits.graphs.calibration import METHODS, Interval, Method, interval
from circuits.graphs.graph import Graph
from circuits.graphs.node import QuantNode
from circuits.graphs.rescaling import Clamp
from circuits.graphs.site import Settings, Site
from circuits.graphs.tensors import as_finite_tensor
from circuits.graphs.types import LEAST_BITS, MOST_BITS, Affine, FloatArray
from circuits.operators.clip import Requantise
from circuits.quantisation.groups import Groups
from circuits.quantisation.plan import INPUT, Step, plan, unscaled
from circuits.quantised import QuantGraph
from zenerrors import ModelError


def quantise(
    graph: Graph,
    calibration: ArrayLike,
    bits: int = 8,
    *,
    weight_bits: int | None = None,
    method: Method = "min-max",
    per_channel: bool = False,
) -> QuantGraph:
    """Quantise ``graph`` to ``bits`` (2 to 16) per tensor element, and ``weight_bits`` (``bits``) per weight.

    ``calibration``: float[n, *input_shape], typical inputs: ``method`` takes the range of each tensor from
    them, the input's always by min-max. ``per_channel``: a scale for each output channel of a layer's
    weights, the last layer's aside. What the file declares quantised keeps its scales and zero points.

    Raises ``TensorError`` (``input.*``) for calibration data that do not fit the network, and ``ModelError``
    (``model.*``) for a network that has no exact integer form.
    """
    for field, value in (("bits", bits), ("weight_bits", bits if weight_bits is None else weight_bits)):
        if not LEAST_BITS <= value <= MOST_BITS:
            raise ModelError("model.quantised", f"{field} must be {LEAST_BITS} to {MOST_BITS}", field=field)
    if method not in METHODS:
        raise ModelError("model.quantised", f"method must be one of {', '.join(METHODS)}", field="method")
    x = as_finite_tensor(calibration, (None, *graph.input_shape), field="calibration")
    return _Quantiser(graph, x, Settings(bits, weight_bits or bits, method, per_channel)).run()


class _Quantiser:
    def __init__(self, graph: Graph, x: FloatArray, settings: Settings) -> None:
        self.graph, self.settings = graph, settings
        self.steps = plan(graph)
        self.groups = Groups(graph, self.steps)
        self.last = unscaled(graph, self.steps)
        self.spans = self._spans(x)
        self.fixed = self._fixed()
        self.nodes: list[QuantNode] = []
        # For every float tensor so far the integer one, and its type.
        self.names: dict[str, str] = {}
        self.types: dict[str, Affine | None] = {}

    def run(self) -> QuantGraph:
        kind = self.fixed[self.groups.of(self.graph.input_name)]
        self.names[self.graph.input_name], self.types[self.graph.input_name] = INPUT, kind
        for step in self.steps:
            self._add(step)
        nodes = tuple(self.nodes)
        return QuantGraph(INPUT, self.graph.input_shape, kind, nodes, self.names[self.graph.output])

    def _spans(self, x: FloatArray) -> dict[str, Interval]:
        """The interval of every group that is calibrated: of all tensors in it that are computed."""
        computed = {self.graph.input_name, *(step.tensor for step in self.steps if not step.keeps_type)}
        spans: dict[str, Interval] = {}
        for name, values in self.graph.tensors(x):
            group = self.groups.of(name)
            if self.groups.declared(name) or name not in computed:
                continue
            if not np.isfinite(values).all():
                raise ModelError("model.scale", f"the tensor {name[:80]!r} overflows on the calibration data")
            # Inputs are refused where they would saturate, so their type spans all of them.
            method: Method = "min-max" if name == self.graph.input_name else self.settings.method
            span = interval(values, self.settings.bits, method)
            spans[group] = span.joined(spans[group]) if group in spans else span
        return self._needed(spans)

    def _needed(self, spans: dict[str, Interval]) -> dict[str, Interval]:
        """What matters of the intervals to the nodes that read them. Of the input and the output all does."""
        ends = {self.groups.of(name) for name in (self.graph.input_name, self.graph.output)}
        needed: dict[str, Interval] = {}
        for step in (step for step in self.steps if not step.keeps_type):
            for group in {self.groups.of(name) for name in step.node.inputs} & spans.keys() - ends:
                part = step.node.needed(spans[group], self.settings.bits)
                needed[group] = part.joined(needed[group]) if group in needed else part
        return spans | needed

    def _fixed(self) -> dict[str, Affine]:
        """The types that no multiplier may bend: declared ones, the input's, and those of several tensors."""
        computed = Counter(self.groups.of(step.tensor) for step in self.steps if not step.keeps_type)
        first = self.groups.of(self.graph.input_name)
        fixed = {}
        for group in {self.groups.of(name) for name in self.graph.shapes}:
            declared = self.groups.declared(group)
            if declared:
                fixed[group] = declared.affine
            elif group == first or computed[group] > 1:
                what = "the input" if group == first else f"the tensor {group[:80]!r}"
                fixed[group] = rescaling.affine(self.spans[group], self.settings.bits, what)
        return fixed

    def _add(self, step: Step) -> None:
        node, group = step.node, self.groups.of(step.tensor)
        inputs = tuple(self.names[name] for name in node.inputs)
        types = tuple(self.types[name] for name in node.inputs)
        if node.arity is None:
            inputs, types = self._of_one_type(step, inputs, types)
        site = Site(
            step.name,
            inputs,
            types,
            tuple(self.graph.shapes[name] for name in node.inputs),
            self.graph.shapes[node.name],
            step.clamp,
            step.tensor == self.last,
            self.fixed.get(group),
            self.spans.get(group),
            self.settings,
        )
        made = node.quantise(site)
        self.nodes.append(made)
        self._declare(step, made.name, made.output_type(types))

    def _declare(self, step: Step, name: str, kind: Affine | None) -> None:
        """Where the file prescribes another type than the tensor came with, bring it there."""
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

    def _converted(self, name: str, read: str, kind: Affine, wanted: Affine) -> str:
        rescale = rescaling.given(np.array([kind.scale]), wanted, Clamp())
        self.nodes.append(Requantise(name, (read,), rescale=rescale))
        return name
