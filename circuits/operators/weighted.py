"""The common parts of nodes with weights: convolutions, dense layers, and the quantisation of their
weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs import rescaling
from zenserve.circuits.graphs.calibration import Interval, Method, Seen, interval, without_outliers
from zenserve.circuits.graphs.node import Node, Reading
from zenserve.circuits.graphs.site import Settings, Site
from zenserve.circuits.graphs.types import (
    MOST_BITS,
    MOST_SHIFT,
    Affine,
    Bounds,
    Declared,
    FloatArray,
    Rescale,
    Shape,
    WeightArray,
    WeightType,
    require_narrow,
)
from zenserve.circuits.onnx.constants import Constant
from zenserve.circuits.operators.sums import Windowed
from zenserve.errors import ModelError
from zenserve.relations.bounds import Bound, Proof
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Parameter
from zenserve.verifier.schemes import Privacy

# Channels whose weights reach less far than this part of the widest channel's share its scale: each halving
# costs a digit in every activation.
_NARROWEST = 1 / 16
# Keeps a product that float64 rounded up from the next integer.
_ROUNDING = 1 - 2**-40
# Biases that are masks are huge.
_MOST_BIAS: Final = 2.0**56
_MOST_REACH: Final = 2.0**10
_MOST_SATURATING: Final = 2.0**40
# Of whole weights: those of one bit are -1 and 1, and whole ones may be 0.
_LEAST_WHOLE = 2
# What proves that parameters are of their types.
PROOFS: Final[dict[Privacy, Proof]] = {
    "public": "relation",
    "private": "range",
    "committed": "registration",
}


@dataclass(frozen=True, eq=False)
class Parametric(Node):
    """With finite float64 parameters: weight[out, ...], in one of ``dimensions``, and bias[out]."""

    dimensions: ClassVar[tuple[int, ...]]

    weight: FloatArray = field(repr=False)
    bias: FloatArray = field(repr=False)

    def __post_init__(self) -> None:
        counts = []
        for attribute, wanted in (("weight", self.dimensions), ("bias", (1,))):
            array = np.ascontiguousarray(getattr(self, attribute), dtype=np.float64)
            if array.ndim not in wanted or array.size == 0:
                counts_wanted = " or ".join(map(str, wanted))
                raise self.refuse(
                    f"needs {attribute} in {counts_wanted} dimensions, not of shape {array.shape}"
                )
            if not np.isfinite(array).all():
                raise ModelError(
                    "model.not_finite", f"node {self.name[:80]!r} has a {attribute} with NaN or infinity"
                )
            object.__setattr__(self, attribute, array)
            counts.append(len(array))
        if counts[0] != counts[1]:
            raise self.refuse(f"has {counts[1]} biases for {counts[0]} outputs")

    def needed(self, at: int, reading: Reading) -> Interval:
        """Of layers that have but a factor and a term for each channel."""
        span, made = reading.spans[at], reading.made
        if made is None or self.weight.size != len(self.weight):
            return span
        factors = self.weight.ravel()
        some = factors != 0
        ends = (np.array([[made.low], [made.high]]) - self.bias[some]) / factors[some]
        part = Interval(float(ends.min(initial=0.0)), float(ends.max(initial=0.0)))
        return without_outliers(span, part)

    def spans(self, settings: Settings, *, by_channel: bool) -> list[Interval]:
        """Return the intervals that the weights' integers are to span: one of all weights, or one of each
        channel. Cached."""
        key = settings.weight_bits, settings.method, by_channel
        if key not in self._spans:
            parts = self.weight if by_channel else (self.weight,)
            self._spans[key] = [_span(part, settings) for part in parts]
        return self._spans[key]

    @cached_property
    def _spans(self) -> dict[tuple[int, Method, bool], list[Interval]]:
        return {}


def _span(weight: FloatArray, settings: Settings) -> Interval:
    """Of one bit the two values ±a nearest to the weights, a the mean of their absolute values."""
    if settings.weight_bits == 1:
        mean = float(np.abs(weight).mean())
        return Interval(-mean, mean)
    return interval(Seen.of(weight), settings.weight_bits, settings.method)


def declared_for_rows(weight: Constant) -> Declared | None:
    """The type that the file gives a weight [out, ...]. None where each input channel has its own: these
    weights are real numbers here, as are those of blocks."""
    by_input = weight.declared and weight.declared.scale.ndim and weight.axis != 0
    return None if by_input else weight.declared


@dataclass(frozen=True, eq=False)
class Integers:
    """The parameters of a layer as integers: those of a ``WeightedSum``."""

    weight: WeightArray
    kind: WeightType
    bias: IntArray
    rescale: Rescale | None


def integers(node: Parametric, declared: Declared | None, site: Site) -> Integers:
    """``declared``: the type that the file prescribes for the weights."""
    incoming = site.incoming()
    kind, rescale = _scales(node, declared, site)
    weight = kind.quantise(node.weight)
    taps = np.abs(kind.centred(weight)).reshape(len(weight), -1).sum(axis=1)
    most = _MOST_BIAS
    if rescale is not None:
        # Beyond the type whatever the inputs are.
        reach = float(taps.max()) * max(map(abs, incoming.centred))
        reach += 2.0**rescale.shift * (rescale.output.top + 2) / float(rescale.multiplier.min())
        most = max(_MOST_SATURATING, 2 * reach)
    bias = _bias(node, kind.scale * incoming.scale, most)
    return Integers(weight, kind, bias, rescale)


def _scales(node: Parametric, declared: Declared | None, site: Site) -> tuple[WeightType, Rescale | None]:
    """The type of the weights, and what brings the sums to the output's type."""
    unscaled, settings = site.unscaled, site.settings
    whole = None if declared else _whole(node, site)
    if declared:
        kind = declared.of_weights
        unscaled = unscaled and len(kind.scale) == 1
    elif whole:
        kind = _weight_type([whole])
    elif not node.weight.any() and settings.weight_bits > 1:
        # In steps that biases have, whatever is read.
        step = (float(np.abs(node.bias).max()) or 1.0) / (1 << MOST_BITS)
        kind = _weight_type([Affine(step / site.incoming().scale, 0, settings.weight_bits)])
    else:
        what = f"the weights of {node.name[:80]!r}"
        if settings.per_channel and not unscaled:
            return _by_channel(node, site, what)
        (span,) = node.spans(settings, by_channel=False)
        kind = _weight_type([_affine(span, settings.weight_bits, what)])
    if unscaled:
        return kind, None
    return kind, site.rescale(_along(kind.scale * site.incoming().scale, site.shape))


def _whole(node: Parametric, site: Site) -> Affine | None:
    """The type of steps of one of whole weights that make whole numbers of whole numbers."""
    fixed, weight = site.fixed, node.weight
    if fixed is None or {fixed.scale, site.incoming().scale} != {1.0} or (weight != np.rint(weight)).any():
        return None
    span = Seen.of(weight).ends
    if span.high - span.low >= 1 << MOST_BITS:
        return None
    kind = rescaling.exact(span, node.name)
    return replace(kind, bits=max(kind.bits, _LEAST_WHOLE))


def _by_channel(node: Parametric, site: Site, what: str) -> tuple[WeightType, Rescale]:
    """Each channel's scale is the one that its multiplier gives exactly."""
    bits, incoming = site.settings.weight_bits, site.incoming()
    spans = node.spans(site.settings, by_channel=True)
    widest = max(span.high - span.low for span in spans)
    spans = [_widened(span, widest * _NARROWEST) for span in spans]
    kinds = [_affine(span, bits, what) for span in spans]
    steps = np.array([kind.scale for kind in kinds]) * incoming.scale
    rescale = site.rescale(np.array([steps.max()]))
    ratios = steps / rescale.output.scale
    shift = max(rescale.shift, int(np.ceil(np.log2(16 / ratios.min()))))
    if shift > MOST_SHIFT:
        raise ModelError("model.range_too_wide", f"{what} are out of proportion to its outputs")
    multiplier = np.ceil(np.ldexp(ratios, shift) * _ROUNDING).astype(np.int64)
    exact = np.ldexp(multiplier.astype(np.float64), -shift) * rescale.output.scale / incoming.scale
    kinds = [
        Affine(scale, 0 if bits == 1 else min(round(-span.low / scale), kind.top), bits)
        for scale, span, kind in zip(exact.tolist(), spans, kinds, strict=True)
    ]
    return _weight_type(kinds), replace(rescale, multiplier=_along(multiplier, site.shape), shift=shift)


def _affine(span: Interval, bits: int, what: str) -> Affine:
    """Scale and zero point of the weights that ``span`` holds."""
    if bits > 1:
        return rescaling.affine(span, bits, what)
    scale = (span.high - span.low) / 2
    rescaling.usable(scale, what)
    return Affine(scale, 0, bits)


def _along(values: NDArray[Any], shape: Shape) -> NDArray[Any]:
    """One value for each channel, broadcasting to ``shape``."""
    return values.reshape(-1, *(1 for _ in shape[1:]))


def _widened(span: Interval, width: float) -> Interval:
    factor = width / max(span.high - span.low, np.finfo(np.float64).tiny)
    return span if factor <= 1 else Interval(span.low, span.low + width)


def _bias(node: Parametric, step: FloatArray, most: float) -> IntArray:
    """``most``: as much as makes those beyond masks, if others are not."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        bias = np.rint(node.bias / step)
        if (np.abs(bias) < most / _MOST_REACH).any():
            bias = np.clip(bias, -most, most)
    if not np.all(np.abs(bias) < 2.0**61):
        raise ModelError(
            "model.range_too_wide",
            f"the biases of {node.name[:80]!r} are out of proportion to its weights and inputs",
        )
    return bias.astype(np.int64)


def _weight_type(kinds: list[Affine]) -> WeightType:
    zero = np.array([kind.zero_point for kind in kinds], dtype=np.int64)
    return WeightType(np.array([kind.scale for kind in kinds]), zero, kinds[0].bits)


@dataclass(frozen=True, eq=False)
class WeightedSum(Windowed):
    """Sums of products of weights and inputs. weight: the integers q_w, uint8[out, ...] or,
    for more than 8 bits, uint16[out, ...]; bias: int64[out]."""

    weight: WeightArray = field(repr=False)
    weight_type: WeightType = field(repr=False)
    bias: IntArray = field(repr=False)

    def __post_init__(self) -> None:
        outputs = len(self.weight)
        self._require(self.weight.size > 0, "has no weights")
        self._require(self.weight.dtype == self.weight_type.dtype, f"has weights of {self.weight.dtype}")
        self._require(int(self.weight.max()) <= self.weight_type.top, "has a weight beyond its type")
        self._require(self.bias.shape == (outputs,), "has biases that do not fit its weights")
        for values in (self.weight_type.scale, self.weight_type.zero_point):
            self._require(len(values) in (1, outputs), "has types that do not fit its weights")
        require_narrow(self.name, 1 << self.bias_bits)

    @cached_property
    def centred_weight(self) -> IntArray:
        """``q_w - z_w``, or ±1: int64 of the weights' shape."""
        return self.weight_type.centred(self.weight)

    @property
    def bias_bits(self) -> int:
        """The biases' type: a b >= 1 with -2^b <= bias < 2^b for every entry."""
        return max(1, int(self.bias.min()).bit_length(), int(self.bias.max()).bit_length())

    def blank(self) -> Self:
        """The same node with weights 0, and biases that say no more than ``bias_bits``."""
        largest = np.full_like(self.bias, (1 << self.bias_bits) - 1)
        return replace(self, weight=np.zeros_like(self.weight), bias=largest)

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        least, most = super().bounds(types, shapes)
        bias = self._along(shapes, self.bias)
        return least + bias, most + bias

    def type_bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        low, high = types[0].centred
        terms = math.prod(self.weight.shape[1:])
        reach = terms * self.weight_type.reach * max(-low, high) + (1 << self.bias_bits)
        along = self._along(shapes, reach)
        return -along, along

    def biases(self, outputs: int) -> IntArray:
        return self.bias

    def step(self, types: Sequence[Affine]) -> float | None:
        scale = self.weight_type.scale
        return float(scale[0]) * types[0].scale if len(scale) == 1 else None

    def real(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> tuple[FloatArray, FloatArray]:
        """The weights and biases that the integers stand for, float64 of their shapes, for inputs of these
        types and shapes."""
        scale = self.weight_type.scale
        along = scale.reshape(-1, *(1 for _ in self.weight.shape[1:]))
        return along * self.centred_weight, self.bias * scale * types[0].scale

    def parameters(self, privacy: Privacy) -> tuple[Parameter, Parameter]:
        """The weights, less their zero points, and biases."""
        proof = PROOFS[privacy]
        bound = self.weight_type.bound(self.weight, proof)
        reach = 1 << self.bias_bits
        return (
            Parameter(
                f"{self.name}/weight", self.weight.shape, bound, values=self.centred_weight, privacy=privacy
            ),
            Parameter(
                f"{self.name}/bias",
                self.bias.shape,
                Bound.of(-reach, reach - 1, proof),
                values=self.bias,
                privacy=privacy,
            ),
        )

    def scales(self) -> dict[str, Any] | None:
        kind, shown = self.weight_type, super().scales() or {}
        weight = {"scale": kind.scale.tolist(), "zero_point": kind.zero_point.tolist(), "bits": kind.bits}
        return {"name": self.name, "weight": weight, "bias_bits": self.bias_bits} | shown
