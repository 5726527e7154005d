"""Average pools: sums over windows, their divisor in the rescaling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.node import Constants, Number, Written, dims, windows
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, FloatArray, Rescale, Shape
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.quantise_linear import declared_at, integer, typed
from zenserve.circuits.operators.reshape import shaped
from zenserve.circuits.operators.sums import Windowed
from zenserve.circuits.operators.windows import POOL, Pool, geometry, pool
from zenserve.relations import planes, relation
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sizes, Sliding
from zenserve.relations.relation import Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy


@dataclass(frozen=True, eq=False)
class AveragePool(Pool):
    """The mean of each window; zeros of the padding count as values only if ``counts_padding``, and of that
    behind each axis the last ones ``beyond``, where windows stick out, never."""

    called = "pool"
    adds = True

    counts_padding: bool = False
    beyond: Sizes = ()

    def run(self, *inputs: FloatArray) -> FloatArray:
        sums: FloatArray = self._seen(inputs[0], 0).sum(axis=self._taps)
        return sums / self.counts(inputs[0].shape[2:])

    def counts(self, plane: Shape) -> IntArray:
        """Return the number of values that each window over ``plane`` averages, int64[*positions]."""
        rank = len(plane)
        beyond = self.beyond or (0,) * rank
        ends = [after - out for after, out in zip(self.padding[rank : 2 * rank], beyond, strict=True)]
        around = [(0, 0), (0, 0), *zip(self.padding[:rank], ends, strict=True)]
        inside = np.pad(np.ones((1, 1, *plane), np.int64), around, constant_values=int(self.counts_padding))
        padding = (*(0 for _ in plane), *beyond)
        seen = planes.slide(inside, self.kernel, self.stride, padding, 0, self.dilation)
        counts: IntArray = seen.sum(axis=self._taps)[0, 0]
        return counts

    def _seen(self, x: NDArray[Number], fill: int) -> NDArray[Number]:
        """The windows over x[n, channels, *plane], the taps of each along ``_taps``."""
        return planes.slide(x, self.kernel, self.stride, self.padding, fill, self.dilation)

    @property
    def _taps(self) -> Sizes:
        return tuple(range(-len(self.kernel), 0))

    def keeps_type(self, clamped: bool) -> bool:
        return not clamped

    def quantise(self, site: Site) -> WindowSum:
        incoming = site.incoming()
        counts = self.counts(site.shapes[0][1:])
        if len(np.unique(counts)) == 1:
            counts = counts.ravel()[:1].reshape((1,) * counts.ndim)
        if site.unscaled and counts.size == 1 and counts.item() == math.prod(self.kernel):
            rescale = None
        elif site.kept and (site.fixed is not None or incoming.bits >= site.settings.bits):
            # Rounded down, so that an average of values of the type stays in the type.
            shift = 0
            while (np.floor(2.0**shift / counts) * counts < 2.0**shift * (1 - 1 / (4 * incoming.top))).any():
                shift += 1
            multiplier = np.floor(2.0**shift / counts).astype(np.int64)[np.newaxis]
            rescale = Rescale(multiplier, shift, incoming, 0, incoming.top)
        else:
            rescale = site.rescale(incoming.scale / counts[np.newaxis])
        taken = (self.kernel, self.stride, self.padding, self.dilation)
        return WindowSum(site.name, site.inputs, *taken, rescale=rescale)

    def written(self, constant: Constants) -> Written:
        operator, _, geometry = super().written(constant)
        said = {**geometry, "count_include_pad": int(self.counts_padding)}
        if self.counts_padding and any(self.beyond):
            less = zip(self.padding, (*(0 for _ in self.beyond), *self.beyond), strict=True)
            said |= {"ceil_mode": 1, "pads": [pad - out for pad, out in less]}
        return Written(operator, (), said)


@dataclass(frozen=True, eq=False)
class WindowSum(Windowed):
    """``acc = sum (q - z)`` over each window of each channel: average pooling, its divisor in ``rescale``.
    Sums that are an output are those of averages over whole windows."""

    kernel: Sizes
    stride: Sizes
    padding: Sizes = (0, 0, 0, 0)
    dilation: Sizes = ()

    def shape(self, *shapes: Shape) -> Shape:
        fitting = windows(self, shapes[0], self.kernel, self.stride, self.padding, self.dilation)
        return shapes[0][0], *fitting

    def sliding(self, shape: Shape) -> Sliding:
        return Sliding(shape, self.kernel, self.stride, self.padding, shape[0], self.dilation)

    def kernel_weight(self, shape: Shape) -> IntArray:
        return np.ones((shape[0], 1, *self.kernel), dtype=np.int64)

    def step(self, types: Sequence[Affine]) -> float | None:
        return types[0].scale / math.prod(self.kernel)

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        (x,) = terms
        return [relation.WindowSum(self.name, sums, x, self.sliding(x.tensor.shape[1:]))]


def _average_pool(step: Step) -> Value:
    return Data(_averaged(step, step.floats()))


def _linear_average_pool(step: Step) -> Value:
    _require_channels_first(step)
    return typed(step, _averaged(step, integer(step, 0)), declared_at(step, 3))


def _averaged(step: Step, tensor: str) -> str:
    kernel = tuple(step.attributes.get("kernel_shape", ()))
    beyond = geometry(step, step.building.shapes[tensor], kernel).beyond
    return pool(step, tensor, AveragePool, bool(step.attributes.get("count_include_pad", 0)), beyond)


def _global_average_pool(step: Step) -> Value:
    whole, tensor = step.whole(), step.floats()
    # Channels of several samples are as many channels of one.
    image = shaped(step, Data(tensor), (1, math.prod(whole[:2]), *whole[2:]))
    return shaped(step, Data(averaged_whole(step, image.tensor)), (*whole[:2], *(1 for _ in whole[2:])))


def _linear_global_average_pool(step: Step) -> Value:
    _require_channels_first(step)
    return typed(step, averaged_whole(step, integer(step, 0)), declared_at(step, 3))


def averaged_whole(step: Step, tensor: str) -> str:
    """The means of an image's channels."""
    shape = step.building.shapes[tensor]
    if not 2 <= len(shape) <= 1 + planes.MOST_AXES:
        raise step.refuse(
            "shape", f"averages shape [batch, {dims(shape)}], not [batch, channels] and one axis to three"
        )
    return step.emit(AveragePool, (tensor,), shape[1:], shape[1:], (0,) * 2 * len(shape[1:]))


def _require_channels_first(step: Step) -> None:
    if step.attributes.get("channels_last", 0):
        raise step.refuse("unsupported_attribute", "has channels_last=1; export it with channels first")


_ATTRIBUTES = {**POOL, "count_include_pad": "i"}
_CHANNELS_LAST = {"channels_last": "i"}

ENTRY = Entry(
    onnx={
        "AveragePool": Operator(_average_pool, _ATTRIBUTES),
        "GlobalAveragePool": Operator(_global_average_pool),
    },
    microsoft={
        "QLinearAveragePool": Operator(_linear_average_pool, {**_ATTRIBUTES, **_CHANNELS_LAST}, 4, 5),
        "QLinearGlobalAveragePool": Operator(_linear_global_average_pool, _CHANNELS_LAST, 5, 5),
    },
    integers=(WindowSum,),
)
