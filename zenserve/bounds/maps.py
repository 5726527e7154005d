"""Linear maps between tensors, and back: matrices, kernels that slide, values that move, factors.

Arrays have any batch in front, and columns behind that a map takes alike: [m, *shape, t]. ``back`` is the
transposed map, which lines go through from a network's outputs to its inputs: [m, *shape].
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from zenserve.bounds.arrays import Array, Namespace, beside, namespace, room, times
from zenserve.bounds.chains import Product
from zenserve.circuits.graphs.types import Shape
from zenserve.relations.planes import Sliding

# Columns are unrolled for so many values at a time: 2 MiB, which stay in a core's cache.
_UNROLLED = 1 << 18


class Map(Protocol):
    """``terms``: of the longest sum in it, either way. ``whole``: all of its numbers are integers."""

    def product(self, channels: int) -> Product | None:
        """Return the matrix [out, in], or factors [channels], if the map treats all places behind the first
        axis alike; else None."""
        ...

    @property
    def terms(self) -> int: ...

    @property
    def whole(self) -> bool: ...

    def apply(self, x: Array) -> Array:
        """[m, *out, t] of x[m, *in, t]."""
        ...

    def absolute(self, x: Array) -> Array:
        """``apply`` of the map that has the absolute values."""
        ...

    def sized(self, x: Array) -> Array:
        """By what the absolute values of all terms come to that its numbers are made of."""
        ...

    def back(self, lines: Array) -> Array:
        """[m, *in] of lines[m, *out]."""
        ...

    def on(self, xp: Namespace) -> Self:
        """The same with its arrays in another namespace."""
        ...


@dataclass(frozen=True, eq=False)
class Matrix:
    """weight[out, in] times the channels of each place. Where it is a product of others ``sizes`` [out, in]
    are what the absolute values of all that was added up come to, of ``made`` terms."""

    weight: Array = field(repr=False)
    sizes: Array | None = field(default=None, repr=False)
    made: int = 1

    @property
    def terms(self) -> int:
        """Entries of a product are off by as many terms as they are made of: of centre and radius, twice."""
        return int(max(self.weight.shape)) + 4 * (self.made - 1)

    @property
    def whole(self) -> bool:
        return bool((self.weight == namespace(self.weight).rint(self.weight)).all())

    def product(self, channels: int) -> Product:
        return Product(self.weight, self._absolute if self.sizes is None else self.sizes, self.made)

    def apply(self, x: Array, onto: Array | None = None) -> Array:
        return _times(self.weight, x, onto)

    def absolute(self, x: Array) -> Array:
        return _times(self._absolute, x)

    def sized(self, x: Array) -> Array:
        return _times(self._absolute if self.sizes is None else self.sizes, x)

    def back(self, lines: Array) -> Array:
        if lines.ndim == 2:
            return times(lines, self.weight)
        columns = lines.reshape(*lines.shape[:2], -1)
        return times(self.weight.T, columns).reshape(len(lines), -1, *lines.shape[2:])

    def on(self, xp: Namespace) -> Self:
        sizes = self.sizes if self.sizes is None else xp.asarray(self.sizes)
        return replace(self, weight=xp.asarray(self.weight), sizes=sizes)

    @cached_property
    def _absolute(self) -> Array:
        return abs(self.weight)


def _times(weight: Array, x: Array, onto: Array | None = None) -> Array:
    """[m, out, *places, t] of weight[out, in] and x[m, in, *places, t], or that added ``onto`` an array: one
    column of many samples as one product."""
    columns = x.reshape(*x.shape[:2], -1)
    shape = (len(x), len(weight), *x.shape[2:])
    if columns.shape[-1] == 1:
        flat = onto if onto is None else onto.reshape(shape[:2])
        return times(columns[..., 0], weight.T, flat).reshape(shape)
    return times(weight, columns, onto if onto is None else onto.reshape(*shape[:2], -1)).reshape(shape)


@dataclass(frozen=True, eq=False)
class Kernel:
    """weight[out, channels / groups, *kernel] that slides over images; what hangs over the edge is zero."""

    weight: Array = field(repr=False)
    sliding: Sliding

    @property
    def terms(self) -> int:
        outputs = len(self.weight) // self.sliding.groups
        return max(math.prod(self.weight.shape[1:]), outputs * math.prod(self.sliding.kernel))

    @property
    def whole(self) -> bool:
        return bool((self.weight == namespace(self.weight).rint(self.weight)).all())

    def product(self, channels: int) -> Product | None:
        alike = self._points and self.sliding.groups == 1
        return Product.of(self.weight.reshape(channels, -1)) if alike else None

    def apply(self, x: Array) -> Array:
        return self._parts(x, self._along, self.weight)

    def absolute(self, x: Array) -> Array:
        return self._parts(x, self._along, self._absolute)

    sized = absolute

    def back(self, lines: Array) -> Array:
        return self._parts(lines[..., np.newaxis], self._across, self.weight)[..., 0]

    def on(self, xp: Namespace) -> Self:
        return replace(self, weight=xp.asarray(self.weight))

    @cached_property
    def _absolute(self) -> Array:
        return abs(self.weight)

    def _parts(self, x: Array, made: _Made, weight: Array) -> Array:
        """``made`` of a few samples at a time."""
        if self._points or (self._once and made == self._along):
            return made(x, weight)
        columns = self.sliding.image[0] * math.prod((*self.sliding.kernel, *self.sliding.out)) * x.shape[-1]
        at_once = max(1, (_UNROLLED if namespace(x) is np else room(namespace(x))) // columns)
        parts = [made(x[start : start + at_once], weight) for start in range(0, len(x), at_once)]
        return parts[0] if len(parts) == 1 else beside(parts, 0)

    def _along(self, x: Array, weight: Array) -> Array:
        xp, sliding = namespace(x), self.sliding
        rank, groups = len(sliding.kernel), sliding.groups
        columns = x
        if not (self._points or self._once):
            pads = zip(sliding.padding[:rank], sliding.padding[rank:], strict=True)
            padded = xp.pad(x, ((0, 0), (0, 0), *pads, (0, 0)))
            columns = beside([padded[:, :, np.newaxis, *at] for at in self._taps], 2)
        columns = columns.reshape(len(x), groups, -1, math.prod(self._out) * x.shape[-1])
        matrix = weight.reshape(groups, len(weight) // groups, -1)
        made: Array = times(matrix, columns).reshape(len(x), len(weight), *self._out, x.shape[-1])
        return made

    def _across(self, lines: Array, weight: Array) -> Array:
        xp, sliding = namespace(lines), self.sliding
        rank, groups, (channels, *plane) = len(sliding.kernel), sliding.groups, sliding.image
        matrix = weight.reshape(groups, len(weight) // groups, -1).swapaxes(1, 2)
        columns = times(matrix, lines.reshape(len(lines), groups, len(weight) // groups, -1))
        if self._points or self._once:
            return columns.reshape(len(lines), channels, *plane, 1)
        columns = columns.reshape(len(lines), channels, -1, *sliding.out)
        befores, afters = sliding.padding[:rank], sliding.padding[rank:]
        padded = [size + sum(around) for size, *around in zip(plane, befores, afters, strict=True)]
        made = xp.zeros((len(lines), channels, *padded))
        for index, at in enumerate(self._taps):
            made[:, :, *at] += columns[:, :, index]
        inside = (slice(before, before + size) for before, size in zip(befores, plane, strict=True))
        cut: Array = made[:, :, *inside][..., np.newaxis]
        return cut

    @cached_property
    def _out(self) -> tuple[int, ...]:
        return tuple(self.sliding.out)

    @cached_property
    def _points(self) -> bool:
        """True if each output reads one place of the image, its own."""
        sliding = self.sliding
        return {*sliding.kernel, *sliding.stride} == {1} and not any(sliding.padding)

    @cached_property
    def _once(self) -> bool:
        """True if there is one output, which reads all of the image."""
        sliding = self.sliding
        return sliding.kernel == tuple(sliding.image[1:]) and not any(sliding.padding)

    @cached_property
    def _taps(self) -> list[tuple[slice, ...]]:
        """The slices of the padded image that each tap of the kernel reads."""
        sliding = self.sliding
        dilation = sliding.dilation or (1,) * len(sliding.kernel)
        return [
            tuple(
                slice(step * at, step * at + by * (count - 1) + 1, by)
                for at, step, by, count in zip(tap, dilation, sliding.stride, sliding.out, strict=True)
            )
            for tap in itertools.product(*map(range, sliding.kernel))
        ]


class _Made(Protocol):
    def __call__(self, x: Array, weight: Array, /) -> Array: ...


@dataclass(frozen=True, eq=False)
class Moved:
    """The entries at ``places``, int64[*out], of a tensor of shape ``shape``, flat; -1 is zero."""

    places: NDArray[np.int64] = field(repr=False)
    shape: Shape

    @property
    def terms(self) -> int:
        return len(self._turns)

    whole = True

    def product(self, channels: int) -> None:
        return None

    @property
    def permutes(self) -> bool:
        """True if no entry of the input appears twice."""
        return len(self._turns) == 1

    def apply(self, x: Array) -> Array:
        xp = namespace(x)
        if self._repeated is not None:
            ends = len(x), x.shape[-1]
            spread: Array = xp.broadcast_to(
                x.reshape(ends[0], *self._repeated, ends[1]), (ends[0], *self.places.shape, ends[1])
            )
            return spread
        flat = x.reshape(len(x), -1, x.shape[-1])
        if xp is not np and x.shape[-1] > 1:
            from zenserve.gpu import intervals

            moved: Array = intervals.move(xp, flat, self.places)
            return moved
        moved = xp.take(flat, self.places, axis=1)
        if self._zeros:
            moved = xp.where((self.places < 0)[..., np.newaxis], 0.0, moved)
        return moved

    absolute = sized = apply

    def back(self, lines: Array) -> Array:
        if self.same:
            return lines.reshape(len(lines), *self.shape)
        if self._repeated is not None:
            spread = tuple(axis + 1 for axis, extent in enumerate(self._repeated) if extent == 1)
            sums: Array = lines.reshape(len(lines), *self.places.shape).sum(axis=spread)
            return sums.reshape(len(lines), *self.shape)
        flat = lines.reshape(len(lines), -1)
        if self._turned is not None:
            return namespace(lines).take(flat, self._turned, axis=1).reshape(len(lines), *self.shape)  # type: ignore[no-any-return]
        made: Array = namespace(lines).zeros((len(lines), math.prod(self.shape)))
        for there, here in self._turns:
            made[:, there] += flat[:, here]
        return made.reshape(len(lines), *self.shape)

    def on(self, xp: Namespace) -> Self:
        return replace(self, places=xp.asarray(self.places))

    @cached_property
    def same(self) -> bool:
        """True if all entries stay in order."""
        flat = self.places.ravel()
        return len(flat) == math.prod(self.shape) and bool((flat == namespace(flat).arange(len(flat))).all())  # type: ignore[arg-type]

    @cached_property
    def _repeated(self) -> tuple[int, ...] | None:
        """The shape that broadcasts to the entries, where they stay in order and are repeated along axes."""
        xp, places = namespace(self.places), self.places  # type: ignore[arg-type]
        own = tuple(
            1 if bool((places == xp.take(places, xp.arange(1), axis=axis)).all()) else extent
            for axis, extent in enumerate(places.shape)
        )
        if math.prod(own) != math.prod(self.shape):
            return None
        return own if bool((xp.arange(math.prod(own)).reshape(own) == places).all()) else None

    @cached_property
    def _turned(self) -> NDArray[np.int64] | None:
        """The place to which each entry of the input went, if each went to exactly one place; else None."""
        if len(self._turns) > 1 or len(self._turns[0][0]) < math.prod(self.shape):
            return None
        ((_, here),) = self._turns
        return here

    @cached_property
    def _zeros(self) -> bool:
        return bool((self.places < 0).any())

    @cached_property
    def _turns(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Entries of the input, and of the output that are these; in each turn an entry is there once."""
        xp = namespace(self.places)  # type: ignore[arg-type]
        flat = self.places.ravel()
        order = xp.argsort(flat, kind="stable")
        order = order[flat[order] >= 0]
        ordered = flat[order]
        first = xp.searchsorted(ordered, ordered, side="left")
        turn = xp.arange(len(ordered)) - first
        turns = range(int(turn.max()) + 1 if len(turn) else 1)
        return [(ordered[turn == each], order[turn == each]) for each in turns]


@dataclass(frozen=True, eq=False)
class Scaled:
    """Each entry times its ``factor``, which broadcasts to the tensor's shape."""

    factor: Array = field(repr=False)
    terms = 1

    @property
    def whole(self) -> bool:
        return bool((self.factor == namespace(self.factor).rint(self.factor)).all())

    def product(self, channels: int) -> Product | None:
        if self.factor.size == 1:
            return Product.of(namespace(self.factor).full(channels, float(self.factor.ravel()[0])))
        alike = self.factor.size == len(self.factor) == channels
        return Product.of(self.factor.ravel()) if alike else None

    def apply(self, x: Array) -> Array:
        return x * self.factor[..., np.newaxis]

    def absolute(self, x: Array) -> Array:
        return x * self.positive[..., np.newaxis]

    sized = absolute

    @cached_property
    def positive(self) -> Array:
        return abs(self.factor)

    def back(self, lines: Array) -> Array:
        return lines if self._one else lines * self.factor

    @cached_property
    def _one(self) -> bool:
        return bool((self.factor == 1).all())

    def on(self, xp: Namespace) -> Self:
        return replace(self, factor=xp.asarray(self.factor))
