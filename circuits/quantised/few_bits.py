"""The relations between tensors of few bits that ``zenserve.gpu.convolutions`` computes as planes of bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np

from zenserve.gpu.convolutions import MOST_BITS, MaxPool, Rescaling, Shape, Sums
from zenserve.gpu.convolutions import Convolution as Planes
from zenserve.gpu.device import Device, Secret
from zenserve.relations.planes import Sizes, Sliding
from zenserve.relations.relation import (
    Convolution,
    Linear,
    Lookup,
    Maximum,
    Relation,
    Relations,
    Tensor,
    WindowSum,
)

_BYTES: Final = 8


class Fused(NamedTuple):
    """A convolution with its lookup and what alone reads that: the largest of windows, or a sum with
    ``residual``. ``relations``: all that it makes, ``out`` last."""

    launch: Planes
    x: Tensor
    residual: Tensor | None
    relations: Sequence[Relation]

    @property
    def out(self) -> Tensor:
        return self.relations[-1].out


class FewBits:
    """``kept``: tensors that are asked for; ``samples``: about as many at a time; weights are ``secret``.
    Methods give None where other kernels are to make it."""

    def __init__(
        self, device: Device, relations: Relations, kept: Collection[Tensor], samples: int, secret: Secret
    ) -> None:
        self._device, self._relations, self._samples, self._secret = device, relations, samples, secret
        readers = Counter(tensor for relation in relations.relations for tensor in relation.reads)
        self._only = {
            tensor: relation
            for relation in relations.relations
            for tensor in relation.reads
            if readers[tensor] == 1 and tensor not in (*kept, *relations.outputs)
        }

    def convolution(self, relation: Relation, held: Collection[Tensor]) -> Fused | None:
        """``held``: tensors that are there, one of which may be added."""
        lookup = self._relations.lookups.get(relation.out)
        if not isinstance(relation, Convolution) or lookup is None:
            return None
        head, reader = (relation, lookup), self._only.get(lookup.out)
        x = relation.x.tensor
        pooled = isinstance(reader, Maximum) and _window(reader.sliding) == (2, 2, 0)
        if reader and pooled and (made := self._made(relation, lookup, pool=True)):
            return Fused(made, x, None, (*head, reader))
        total = self._relations.lookups.get(reader.out) if isinstance(reader, Linear) else None
        if isinstance(reader, Linear) and total and _is_sum(reader, total):
            (other,) = (term.tensor for term in reader.terms if term.tensor is not lookup.out)
            there = other in held and is_planes(other)
            if there and (made := self._made(relation, lookup, adds=other.bits or 0)):
                return Fused(made, x, other, (*head, reader, total))
        alone = self._made(relation, lookup)
        return None if alone is None else Fused(alone, x, None, head)

    def _made(
        self, relation: Convolution, lookup: Lookup, *, pool: bool = False, adds: int = 0
    ) -> Planes | None:
        x, f, sliding = relation.x, lookup.function, relation.sliding
        bits, made = x.tensor.bits or 0, lookup.out.bits or 0
        if sliding.groups > 1 or sliding.dilation or len(sliding.image) != 3 or len({*sliding.stride}) > 1:
            return None
        whole = f.multiplier.size == 1 and (f.low, f.high) == (0, (1 << made) - 1) and made <= MOST_BITS
        if not whole or x.zero or not (bits <= MOST_BITS or bits == _BYTES):
            return None
        (_, *size), (top, left, bottom, right) = sliding.image, sliding.padding
        rescaling = Rescaling(int(f.multiplier.item()), f.offset, f.shift, made)
        try:
            return Planes(
                self._device,
                relation.weight.values,
                relation.bias.values,
                (size[0], size[1]),
                bits,
                self._secret,
                sliding.stride[0],
                (top, left, bottom, right),
                rescaling,
                pool=pool,
                adds=adds,
                images=self._samples,
            )
        except ValueError:
            return None

    def maximum(self, relation: Relation) -> MaxPool | None:
        if not isinstance(relation, Maximum) or not is_planes(relation.value):
            return None
        window = _window(relation.sliding)
        image = _image(relation.sliding)
        return window and MaxPool(self._device, image, relation.value.bits or 0, *window)

    def total(self, relation: Relation) -> Sums | None:
        """Of whole planes."""
        if not isinstance(relation, WindowSum) or not is_planes(relation.x.tensor) or relation.x.zero:
            return None
        sliding = relation.sliding
        if (*sliding.image[1:], 0) != (*sliding.kernel, max(sliding.padding)):
            return None
        return Sums(self._device, _image(sliding), relation.x.tensor.bits or 0)


def is_planes(tensor: Tensor) -> bool:
    """Return whether the tensor may lie as planes: an image of few bits."""
    return len(tensor.shape) == 4 and 0 < (tensor.bits or 0) <= MOST_BITS and tensor.bound.interval[0] >= 0


def _image(sliding: Sliding) -> Shape:
    channels, height, width = sliding.image
    return channels, height, width


def _window(sliding: Sliding) -> tuple[int, int, int] | None:
    """Kernel, stride and padding of a window that is the same along both axes."""
    sizes: tuple[Sizes, ...] = (sliding.kernel, sliding.stride, sliding.padding)
    if len(sliding.image) != 3 or sliding.dilation or any(len({*each}) > 1 for each in sizes):
        return None
    return sliding.kernel[0], sliding.stride[0], sliding.padding[0]


def _is_sum(reader: Linear, total: Lookup) -> bool:
    """Return whether ``reader`` and its lookup ``total`` just add two tensors: ``total`` cuts nothing off."""
    alone = all(np.all(np.asarray((*term[1:],)) == (1, 0)) for term in reader.terms)
    f, top = total.function, reader.out.bound.interval[1]
    same = (
        f.multiplier.size == 1 and int(f.multiplier.item()) == 1 and (f.offset, f.shift, f.low) == (0, 0, 0)
    )
    return len(reader.terms) == 2 and alone and same and f.high >= top
