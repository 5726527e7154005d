"""From a float network to a network of integers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from circuits import quantised
from circuits.graphs.graph import (
    Add,
    AveragePool,
    Clip,
    Concat,
    Conv,
    Declared,
    Dense,
    FloatArray,
    Graph,
    MaxPool,
    Pad,
    Reshape,
    Transpose,
)
from circuits.graphs.tensors import as_finite_tensor
from circuits.quantisation import rescaling
from circuits.quantisation.calibration import METHODS, Interval, Method, interval
from circuits.quantisation.groups import Groups, computes, keeps_type
from circuits.quantisation.plan import INPUT, Step, plan, unscaled
from circuits.quantisation.rescaling import Clamp
from circuits.quantised import LEAST_BITS, MOST_BITS, Affine, QuantGraph, QuantNode, Rescale, WeightType
from relations.integers import IntArray
from zenerrors import ModelError

# Channels whose weights reach less far than this part of the widest channel's share its scale: each halving
# costs a digit in every activation.
_NARROWEST = 1 / 16
# Keeps a product that float64 rounded up from the next integer.
_ROUNDING = 1 - 2**-40


def quantise(
    graph: Graph,
    calibration: ArrayLike,
    bits: int = 8,
    *,
    weight_bits: int | None = None,
    method: Method = "min-max",
    per_channel: bool = False,
) -> QuantGraph:
    """Quantise ``graph`` to ``bits`` (2 to 8) per tensor element, and ``weight_bits`` (``bits``) per weight.

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
    return _Quantiser(graph, x, bits, weight_bits or bits, method, per_channel).run()


class _Quantiser:
    def __init__(
        self, graph: Graph, x: FloatArray, bits: int, weight_bits: int, method: Method, per_channel: bool
    ) -> None:
        self.graph, self.bits, self.weight_bits = graph, bits, weight_bits
        self.method, self.per_channel = method, per_channel
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
        computed = {self.graph.input_name, *(step.tensor for step in self.steps if computes(step))}
        spans: dict[str, Interval] = {}
        for name, values in self.graph.tensors(x):
            group = self.groups.of(name)
            if self.groups.declared(name) or name not in computed:
                continue
            if not np.isfinite(values).all():
                raise ModelError("model.scale", f"the tensor {name[:80]!r} overflows on the calibration data")
            # Inputs are refused where they would saturate, so their type spans all of them.
            method: Method = "min-max" if name == self.graph.input_name else self.method
            span = interval(values, self.bits, method)
            spans[group] = span.joined(spans[group]) if group in spans else span
        return spans

    def _fixed(self) -> dict[str, Affine]:
        """The types that no multiplier may bend: declared ones, the input's, and those of several tensors."""
        computed = Counter(self.groups.of(step.tensor) for step in self.steps if computes(step))
        first = self.groups.of(self.graph.input_name)
        fixed = {}
        for group in {self.groups.of(name) for name in self.graph.shapes}:
            declared = self.groups.declared(group)
            if declared:
                fixed[group] = _declared(declared)
            elif group == first or computed[group] > 1:
                what = "the input" if group == first else f"the tensor {group[:80]!r}"
                fixed[group] = rescaling.affine(self.spans[group], self.bits, what)
        return fixed

    def _add(self, step: Step) -> None:
        node = step.node
        inputs = tuple(self.names[name] for name in node.inputs)
        if isinstance(node, Conv | Dense):
            self._weighted(step, node, inputs)
        elif isinstance(node, AveragePool):
            self._average(step, node, inputs)
        elif isinstance(node, Add):
            self._sum(step, inputs)
        elif isinstance(node, Clip):
            step_size = self._input_type(step).scale
            rescale = self._rescale(step, np.array([step_size]), _clamp(node))
            self._make(step, quantised.Requantise(step.name, inputs, rescale=rescale))
        else:
            self._move(step, inputs)

    def _make(self, step: Step, node: QuantNode) -> None:
        self.nodes.append(node)
        self.names[step.tensor] = node.name
        rescale: Rescale | None = getattr(node, "rescale", None)
        self.types[step.tensor] = rescale.output if rescale else None

    def _input_type(self, step: Step, index: int = 0) -> Affine:
        kind = self.types[step.node.inputs[index]]
        assert kind is not None  # noqa: S101  sums go to the output alone
        return kind

    def _weighted(self, step: Step, node: Conv | Dense, inputs: tuple[str, ...]) -> None:
        incoming = self._input_type(step)
        kind, rescale = self._weight_type(step, node, incoming)
        along = kind.scale.reshape(-1, *(1 for _ in node.weight.shape[1:]))
        zero = kind.zero_point.reshape(along.shape)
        weight = np.clip(np.rint(node.weight / along) + zero, 0, kind.top).astype(np.uint8)
        bias = _bias(node, kind.scale * incoming.scale)
        if isinstance(node, Dense):
            made: QuantNode = quantised.Dense(step.name, inputs, weight, kind, bias, rescale=rescale)
        else:
            geometry = (node.stride, node.padding, node.groups)
            made = quantised.Conv(step.name, inputs, weight, kind, bias, *geometry, rescale=rescale)
        self._make(step, made)

    def _weight_type(
        self, step: Step, node: Conv | Dense, incoming: Affine
    ) -> tuple[WeightType, Rescale | None]:
        """The type of the weights, and what brings the sums to the output's type."""
        unscaled = step.tensor == self.last
        if node.declared_weight:
            kind = _declared_weight(node.declared_weight)
            unscaled = unscaled and len(kind.scale) == 1
        else:
            what = f"the weights of {node.name[:80]!r}"
            spans = [interval(node.weight, self.weight_bits, self.method)]
            if self.per_channel and not unscaled:
                return self._by_channel(step, node, incoming, what)
            kind = _weight_type([rescaling.affine(spans[0], self.weight_bits, what)])
        if unscaled:
            return kind, None
        steps = (kind.scale * incoming.scale).reshape(-1, *(1 for _ in self._shape(step)[1:]))
        return kind, self._rescale(step, steps, _clamp(step.clip))

    def _by_channel(
        self, step: Step, node: Conv | Dense, incoming: Affine, what: str
    ) -> tuple[WeightType, Rescale]:
        """Each channel's scale is the one that its multiplier gives exactly."""
        spans = [interval(row, self.weight_bits, self.method) for row in node.weight]
        widest = max(span.high - span.low for span in spans)
        spans = [_widened(span, widest * _NARROWEST) for span in spans]
        kinds = [rescaling.affine(span, self.weight_bits, what) for span in spans]
        scales = np.array([kind.scale for kind in kinds])
        steps = scales * incoming.scale
        rescale = self._rescale(step, np.array([steps.max()]), _clamp(step.clip))
        ratios = steps / rescale.output.scale
        shift = max(rescale.shift, int(np.ceil(np.log2(16 / ratios.min()))))
        multiplier = np.ceil(np.ldexp(ratios, shift) * _ROUNDING).astype(np.int64)
        exact = np.ldexp(multiplier.astype(np.float64), -shift) * rescale.output.scale / incoming.scale
        kinds = [
            Affine(scale, min(round(-span.low / scale), kind.top), kind.bits)
            for scale, span, kind in zip(exact.tolist(), spans, kinds, strict=True)
        ]
        along = multiplier.reshape(-1, *(1 for _ in self._shape(step)[1:]))
        return _weight_type(kinds), replace(rescale, multiplier=along, shift=shift)

    def _average(self, step: Step, node: AveragePool, inputs: tuple[str, ...]) -> None:
        incoming = self._input_type(step)
        counts = node.counts(self.graph.shapes[node.inputs[0]][1:])
        if len(np.unique(counts)) == 1:
            counts = counts[:1, :1]
        uniform = counts.size == 1
        if step.tensor == self.last and uniform:
            rescale = None
        elif keeps_type(step):
            # Rounded down, so that an average of values of the type stays in the type.
            shift = 0
            while (np.floor(2.0**shift / counts) * counts < 2.0**shift * (1 - 1 / (4 * incoming.top))).any():
                shift += 1
            multiplier = np.floor(2.0**shift / counts).astype(np.int64)[np.newaxis]
            rescale = Rescale(multiplier, shift, incoming, 0, incoming.top)
        else:
            rescale = self._rescale(step, incoming.scale / counts[np.newaxis], _clamp(step.clip))
        geometry = (node.kernel, node.stride, node.padding)
        self._make(step, quantised.WindowSum(step.name, inputs, *geometry, rescale=rescale))
        self._declare(step)

    def _sum(self, step: Step, inputs: tuple[str, ...]) -> None:
        """Both terms at the output's scale: ``s_i / s_y = m_i / 2^k``."""
        scales = np.array([self._input_type(step, index).scale for index in (0, 1)])
        if step.tensor == self.last:
            factors, _ = rescaling.approximate(scales / scales.max(), 2.0**-16)
            self._make(step, quantised.Add(step.name, inputs, (int(factors[0]), int(factors[1]))))
            return
        output, clamp = self._output_type(step), _clamp(step.clip)
        factors, shift = rescaling.approximate(scales / output.scale, 1 / (4 * output.top))
        low, high = clamp.within(output)
        rescale = Rescale(np.array([1]), shift, output, low, high)
        self._make(
            step, quantised.Add(step.name, inputs, (int(factors[0]), int(factors[1])), rescale=rescale)
        )

    def _move(self, step: Step, inputs: tuple[str, ...]) -> None:
        node, name = step.node, step.name
        if isinstance(node, Concat):
            inputs = self._of_one_type(step, inputs)
        if isinstance(node, MaxPool):
            made: QuantNode = quantised.MaxPool(name, inputs, node.kernel, node.stride, node.padding)
        elif isinstance(node, Reshape):
            made = quantised.Reshape(name, inputs, node.target)
        elif isinstance(node, Transpose):
            made = quantised.Transpose(name, inputs, node.axes)
        elif isinstance(node, Pad):
            made = quantised.Pad(name, inputs, node.padding)
        else:
            assert isinstance(node, Concat)  # noqa: S101  there are no others
            made = quantised.Concat(name, inputs, node.axis)
        self._make(step, made)
        self.types[step.tensor] = (
            self._joined_type(step) if isinstance(node, Concat) else self.types[node.inputs[0]]
        )
        self._declare(step)

    def _joined_type(self, step: Step) -> Affine:
        """The type of a Concat: what is declared for it, else the one that its inputs share."""
        return self.fixed.get(self.groups.of(step.tensor)) or self._input_type(step)

    def _of_one_type(self, step: Step, inputs: tuple[str, ...]) -> tuple[str, ...]:
        wanted = self._joined_type(step)
        names = []
        for index, name in enumerate(inputs):
            kind = self._input_type(step, index)
            names.append(
                name if kind == wanted else self._converted(f"{step.name}.{index}", name, kind, wanted)
            )
        return tuple(names)

    def _declare(self, step: Step) -> None:
        """Where the file prescribes another type than the tensor came with, bring it there."""
        declared = self.graph.declared.get(step.tensor)
        kind = self.types[step.tensor]
        if declared and kind and kind != _declared(declared):
            wanted = _declared(declared)
            self.names[step.tensor] = self._converted(
                f"{step.name}.type", self.names[step.tensor], kind, wanted
            )
            self.types[step.tensor] = wanted

    def _converted(self, name: str, read: str, kind: Affine, wanted: Affine) -> str:
        rescale = rescaling.given(np.array([kind.scale]), wanted, Clamp())
        self.nodes.append(quantised.Requantise(name, (read,), rescale=rescale))
        return name

    def _rescale(self, step: Step, step_size: FloatArray, clamp: Clamp) -> Rescale:
        """From sums of these real steps to the declared or calibrated type of the step's tensor."""
        group = self.groups.of(step.tensor)
        if group in self.fixed:
            return rescaling.given(step_size, self.fixed[group], clamp)
        rescale = rescaling.free(float(step_size.max()), self.spans[group], self.bits, clamp, step.name)
        return rescale if step_size.size == 1 else rescaling.given(step_size, rescale.output, clamp)

    def _output_type(self, step: Step) -> Affine:
        group = self.groups.of(step.tensor)
        return self.fixed.get(group) or rescaling.affine(self.spans[group], self.bits, step.name)

    def _shape(self, step: Step) -> tuple[int, ...]:
        return self.graph.shapes[step.node.name]


def _clamp(clip: Clip | None) -> Clamp:
    return Clamp(clip.low, clip.high) if clip else Clamp()


def _widened(span: Interval, width: float) -> Interval:
    factor = width / max(span.high - span.low, np.finfo(np.float64).tiny)
    return span if factor <= 1 else Interval(span.low, span.low + width)


def _bias(node: Conv | Dense, step: FloatArray) -> IntArray:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        bias = np.rint(node.bias / step)
    if not np.all(np.abs(bias) < 2.0**61):
        raise ModelError(
            "model.range_too_wide",
            f"the biases of {node.name[:80]!r} are out of proportion to its weights and inputs",
        )
    return bias.astype(np.int64)


def _weight_type(kinds: list[Affine]) -> WeightType:
    zero = np.array([kind.zero_point for kind in kinds], dtype=np.int64)
    return WeightType(np.array([kind.scale for kind in kinds]), zero, kinds[0].bits)


def _lift(declared: Declared) -> int:
    """What makes signed integers those of an unsigned type: the same for zero points and values."""
    return 1 << (declared.bits - 1) if declared.signed else 0


def _declared(declared: Declared) -> Affine:
    return Affine(float(declared.scale), int(declared.zero_point) + _lift(declared), declared.bits)


def _declared_weight(declared: Declared) -> WeightType:
    zero = np.atleast_1d(declared.zero_point).astype(np.int64) + _lift(declared)
    return WeightType(np.atleast_1d(declared.scale), zero, declared.bits)
