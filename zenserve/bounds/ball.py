"""The regions of inputs that may replace an input: boxes, balls of a norm, and synonyms of words.

A region belongs to a batch of samples, [n, *shape], each with its own radius. Candidates, such as several
radii or several words of one sentence, are samples beside each other.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from zenserve.bounds.arrays import Array, Interval, Mask, Namespace, dot, down, fused, gamma, namespace, up
from zenserve.bounds.elementwise import Function, banded, reached
from zenserve.bounds.network import Forms
from zenserve.circuits.graphs.types import Shape

Norm = Literal["inf", "2", "1"]


class Region(Protocol):
    @property
    def count(self) -> int:
        """Of samples."""
        ...

    @property
    def independent(self) -> bool:
        """True if every entry may be anywhere in its interval, independently of all others."""
        ...

    @property
    def width(self) -> int:
        """The number of entries of ``delta``."""
        ...

    def interval(self) -> Interval:
        """Of each entry, [n, *shape]."""
        ...

    def least(self, lines: Array) -> Array:
        """[n, s]: no more than ``lines`` [n, s, *shape] times any input, summed up."""
        ...

    def forms(self) -> Forms:
        """The input itself."""
        ...

    def reach(self, forms: Forms, terms: int = 0, known: Interval | None = None) -> tuple[Interval, Array]:
        """Return the intervals of ``forms``, functions of the input's ``delta``, and their ``most``, which
        need not be computed where it is known. Before that, their ``rest`` takes, in place, the rounding
        error of sums of so many ``terms``, and their ``size`` becomes the sum of all terms' absolute values.
        ``known``: an interval within which their values lie, too. Where the intersection of both intervals
        has a radius less than their ``rest``, the forms become constants, in place."""
        ...

    def bend(
        self, forms: Forms, terms: int, known: Interval | None, function: Function, after: int
    ) -> tuple[Interval, Interval, Forms]:
        """On a card, by one kernel: ``reach`` of forms, and of a function of numbers alone what it makes
        within its band, ``after`` so many terms. The ends of both, and the forms of the second."""
        ...

    def nearest(self, x: Array) -> Array:
        """For each sample the point of the region near x[n, *shape]."""
        ...

    def furthest(self, slopes: Array) -> Array:
        """Return the input of each region at which ``slopes`` [n, *shape] times the input is least, [n,
        *shape]."""
        ...

    def drawn(self, rng: np.random.Generator) -> Array:
        """A point for each sample, half of them on the border."""
        ...

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All that bounds over it read: two regions of one ``kind`` differ in these alone."""
        ...

    @property
    def kind(self) -> Hashable:
        """All other properties of the region, including the sizes of ``arrays``."""
        ...

    def part(self, samples: slice) -> Self: ...

    def on(self, xp: Namespace) -> Self: ...


@dataclass(frozen=True, eq=False)
class Ball:
    """``|x - centre|_p <= radius``, on the entries that ``where`` marks, and within ``domain``.

    centre: float64[n, *shape]. radius: [n], of boxes also [n, *shape]. where: booleans that broadcast to the
    centre's shape; what it does not mark is fixed. ``rows``: how many axes, from the last, one ball is over,
    0 for all: words with an embedding along the last axis have a ball each where it is 1. ``domain``: what
    entries can be at all, as pixels from 0 to 1; boxes are cut off there. ``whole``: points are integers.
    """

    centre: Array
    radius: Array
    norm: Norm = "inf"
    where: Any = True
    rows: int = 0
    domain: tuple[float, float] = (-math.inf, math.inf)
    whole: bool = False

    @property
    def count(self) -> int:
        return len(self.centre)

    @property
    def width(self) -> int:
        return math.prod(self._changed.shape[1:])

    @property
    def independent(self) -> bool:
        return self.norm == "inf"

    def interval(self) -> Interval:
        radius = self.radius
        if radius.ndim == 1:
            radius = radius.reshape(-1, *(1 for _ in self.centre.shape[1:]))
        return Interval(*fused(_box, self.centre, radius, self._marked, of=(self.whole, *self.domain)))

    def least(self, lines: Array) -> Array:
        axes = tuple(range(2, lines.ndim))
        if self.norm == "inf":
            box = self.interval()
            centre, radius = box.centre, box.radius
            at, size = dot(lines, centre), dot(lines, abs(centre) + radius, absolute=True)
            return at - dot(lines, radius, absolute=True) - gamma(4 * _size(lines)) * size
        (steep,) = fused(_steep, lines, self._marked[:, np.newaxis])
        reach = self.radius.reshape(-1, *(1 for _ in lines.shape[1:]))
        most = reach * self._dual(steep, [axis + 1 for axis in self._own])
        rest = tuple(range(2, most.ndim))
        bound = dot(lines, self.centre) - most.sum(axis=rest)
        size = dot(lines, abs(self.centre), absolute=True) + (
            reach * steep.sum(axis=axes, keepdims=True)
        ).sum(axis=rest)
        return bound - gamma(4 * _size(lines)) * size  # type: ignore[no-any-return]

    def forms(self) -> Forms:
        """``delta`` is of the entries that a sample may change, of each ball beside each other: a box's are
        in radii."""
        xp, box, changed = namespace(self.centre), self.interval(), self._changed
        reach = xp.where(self._marked, box.radius if self.norm == "inf" else 1.0, 0.0).reshape(self.count, -1)
        changed = changed.reshape(self.count, self.width)
        sample, column = xp.arange(self.count)[:, np.newaxis], xp.arange(self.width)
        slope = xp.zeros((self.count, reach.shape[1], self.width))
        slope[sample, changed, column] = reach[sample, changed]
        centre = box.centre if self.norm == "inf" else self.centre
        radius = box.radius
        if self.norm != "inf":
            radius = xp.where(self._marked, self.radius.reshape(-1, *(1 for _ in self.centre.shape[1:])), 0.0)
        slope = slope.reshape(*self.centre.shape, -1)
        return Forms(slope, centre, xp.zeros_like(centre), abs(centre) + radius, radius)

    def reach(self, forms: Forms, terms: int = 0, known: Interval | None = None) -> tuple[Interval, Array]:
        xp, own = namespace(forms.slope), self._changed.shape[-1]
        if xp is not np:
            from zenserve.gpu import intervals

            low, high, most = intervals.reach(xp, forms, self.radius, self.norm, own, terms, known)
            return Interval(low, high), most
        slope, *sums, most = forms
        if most is None:
            most = self._most(abs(slope))
        constant, low, high, most, *made = _bounded(terms, slope.shape[-1], *sums, most, *(known or ()))
        for each, now in zip(sums, made, strict=True):
            each[...] = now
        if known is not None:
            slope[constant] = 0.0
        return Interval(low, high), most

    def bend(
        self, forms: Forms, terms: int, known: Interval | None, function: Function, after: int
    ) -> tuple[Interval, Interval, Forms]:
        xp, (slope, *sums, _) = namespace(forms.slope), forms
        from zenserve.gpu import fused as kernels

        balls = self.radius, self.norm, self._changed.shape[-1]
        of = function, terms, after, slope.shape[-1]
        slope, low, high, *ends, most, offset, rest, size = kernels.run_rows(
            _bent, of, slope, balls, (*sums, *(known or ())), xp
        )
        return Interval(low, high), Interval(*ends), Forms(slope, offset, rest, size, most)

    def _most(self, steep: Array) -> Array:
        """Of absolute values of slopes."""
        if self.norm == "inf":
            return steep.sum(axis=-1)  # type: ignore[no-any-return]
        radius, own = self.radius.reshape(-1, *(1 for _ in steep.shape[2:])), self._changed.shape[-1]
        by_ball = self._dual(steep.reshape(*steep.shape[:-1], -1, own), [-1])[..., 0]
        return radius * by_ball.sum(axis=-1)  # type: ignore[no-any-return]

    def nearest(self, x: Array) -> Array:
        xp, box = namespace(x), self.interval()
        if self.norm == "inf":
            made: Array = xp.clip(x, box.low, box.high)
            return xp.clip(xp.rint(made), xp.ceil(box.low), xp.floor(box.high)) if self.whole else made
        delta = xp.where(self._marked, x - self.centre, 0.0)
        length, radius = self._length(delta), self.radius.reshape(-1, *(1 for _ in self.centre.shape[1:]))
        made = xp.clip(self.centre + delta * xp.minimum(1.0, radius / xp.maximum(length, 1e-300)), *box)
        if not self.whole:
            return made
        # Where the nearest integers are beyond the ball, those towards its centre.
        delta = made - self.centre
        rounded = xp.rint(delta)
        return self.centre + xp.where(self._length(rounded) > radius, xp.trunc(delta), rounded)  # type: ignore[no-any-return]

    def furthest(self, slopes: Array) -> Array:
        xp, box = namespace(slopes), self.interval()
        if self.norm == "inf":
            return xp.where(slopes > 0, box.low, box.high)  # type: ignore[no-any-return]
        slopes = xp.where(self._marked, slopes, 0.0)
        radius = self.radius.reshape(-1, *(1 for _ in self.centre.shape[1:]))
        if self.norm == "2":
            return self.nearest(self.centre - radius * slopes / xp.maximum(self._length(slopes), 1e-300))
        steepest = abs(slopes) == abs(slopes).max(axis=tuple(self._own), keepdims=True)
        return self.nearest(self.centre - xp.where(steepest, xp.sign(slopes) * radius, 0.0))

    def drawn(self, rng: np.random.Generator) -> Array:
        xp, box = namespace(self.centre), self.interval()
        shape = self.centre.shape
        if self.norm == "inf":
            share = xp.asarray(rng.uniform(size=shape))
            corners = xp.asarray(rng.uniform(size=(self.count, *(1 for _ in shape[1:])))) < 0.5
            share = xp.where(corners, xp.rint(share), share)
            return self.nearest(box.low + share * (box.high - box.low))
        delta = xp.where(self._marked, xp.asarray(rng.standard_normal(shape)), 0.0)
        share = xp.asarray(rng.uniform(size=(self.count, *(1 for _ in shape[1:]))))
        delta = xp.where(xp.asarray(rng.uniform(size=shape)) < share**4, delta, 0.0)
        return self.nearest(self.centre + 1e6 * delta)

    @property
    def arrays(self) -> tuple[Array, ...]:
        return self.centre, self.radius, namespace(self.centre).asarray(self.where), self._changed

    @property
    def kind(self) -> Hashable:
        shapes = tuple(each.shape for each in self.arrays)
        return Ball, shapes, self.norm, self.rows, self.domain, self.whole

    def part(self, samples: slice) -> Ball:
        where = self.where
        if getattr(where, "ndim", 0) == self.centre.ndim and len(where) == self.count:
            where = where[samples]
        return replace(self, centre=self.centre[samples], radius=self.radius[samples], where=where)

    def on(self, xp: Namespace) -> Ball:
        centre, radius, where = map(xp.asarray, (self.centre, self.radius, self.where))
        return replace(self, centre=centre, radius=radius, where=where)

    @property
    def _marked(self) -> Any:
        return namespace(self.centre).broadcast_to(self.where, self.centre.shape)

    @property
    def _own(self) -> tuple[int, ...]:
        """The axes that one ball is over."""
        rank = self.centre.ndim
        return tuple(range(rank - self.rows if self.rows else 1, rank))

    @cached_property
    def _changed(self) -> Any:
        """[n, balls, own]: places of entries that a sample may change, by the ball that they are in. As many
        for every sample; others take the places that are left."""
        if namespace(self.centre) is not np:
            return _changed(self._marked, self._own)
        where = np.asarray(self.where, bool)
        return _known_changed(where.tobytes(), where.shape, self.centre.shape, self._own)

    def _dual(self, steep: Array, axes: list[int]) -> Array:
        """The dual norm, over these axes, of what is not negative; they stay, with size 1."""
        xp = namespace(steep)
        if self.norm == "1":
            return steep.max(axis=tuple(axes), keepdims=True)  # type: ignore[no-any-return]
        return xp.sqrt((steep * steep).sum(axis=tuple(axes), keepdims=True))  # type: ignore[no-any-return]

    def _length(self, delta: Array) -> Array:
        xp, axes = namespace(delta), self._own
        if self.norm == "1":
            return abs(delta).sum(axis=axes, keepdims=True)  # type: ignore[no-any-return]
        return xp.sqrt((delta * delta).sum(axis=axes, keepdims=True))  # type: ignore[no-any-return]


def _bounded(
    terms: int, width: int, offset: Array, rest: Array, size: Array, most: Array, *known: Array
) -> tuple[Mask, Array, Array, Array, Array, Array, Array]:
    """Of ``reach``: where functions become constants; ends of what they are; ``most``, offset, rest, size."""
    xp = namespace(offset)
    rest = rest + gamma(terms) * size
    size = abs(offset) + rest + most
    around = rest + most + gamma(2 * width + 8) * size
    found = Interval(offset - around, offset + around)
    if not known:
        return xp.zeros_like(offset) > 0, *found, most, offset, rest, size
    found = Interval(*known).within(found)
    centre, radius, _ = found.parts
    constant = radius < rest
    offset, rest = xp.where(constant, centre, offset), xp.where(constant, radius, rest)
    return constant, *found, xp.where(constant, 0.0, most), offset, rest, size


def _bent(
    function: Function,
    terms: int,
    after: int,
    width: int,
    offset: Array,
    rest: Array,
    size: Array,
    *of: Array,
) -> tuple[Array, ...]:
    """Return the factors of the slopes; the ends of the function's arguments, then of its values; and
    ``most``, offset, rest and size of its values."""
    *known, most = of
    xp, ends = namespace(offset), _bounded(terms, width, offset, rest, size, most, *known)
    x = Interval(*ends[1:3])
    # What rounding did to sums is in the rest, and their sizes are as they were.
    band, image, (_, _, _, most, offset, rest, _) = function.band(x), function.image(x), ends
    scaled = banded(offset, rest, size, *band), reached(most, band.slope)
    constant, low, high, *made = _bounded(after, width, *scaled[0], *scaled[1], *image)
    return xp.where(constant, 0.0, band.slope), *x, low, high, *made


@dataclass(frozen=True, eq=False)
class Synonyms:
    """Sentences in which each word may be one of a few: float64[n, words, choices, *rest], the input being
    [n, words, *rest]. A word with fewer choices has one of them several times."""

    choices: Array
    whole: bool = False

    @property
    def count(self) -> int:
        return len(self.choices)

    independent = False

    @property
    def width(self) -> int:
        return self._box.width

    def interval(self) -> Interval:
        return Interval(self.choices.min(axis=2), self.choices.max(axis=2))

    def least(self, lines: Array) -> Array:
        n, words, choices = self.choices.shape[:3]
        flat = self.choices.reshape(n, words, choices, -1)
        xp, by_word = namespace(lines), lines.reshape(*lines.shape[:2], words, -1)
        each = xp.einsum("nswr,nwcr->nswc", by_word, flat)
        size = xp.einsum("nswr,nwr->ns", abs(by_word), abs(flat).max(axis=2))
        return each.min(axis=-1).sum(axis=-1) - gamma(2 * _size(lines)) * size  # type: ignore[no-any-return]

    def forms(self) -> Forms:
        """Of the box around the choices."""
        return self._box.forms()

    def reach(self, forms: Forms, terms: int = 0, known: Interval | None = None) -> tuple[Interval, Array]:
        return self._box.reach(forms, terms, known)

    def bend(
        self, forms: Forms, terms: int, known: Interval | None, function: Function, after: int
    ) -> tuple[Interval, Interval, Forms]:
        return self._box.bend(forms, terms, known, function, after)

    def nearest(self, x: Array) -> Array:
        xp = namespace(x)
        axes = tuple(range(3, self.choices.ndim))
        away = ((self.choices - x[:, :, np.newaxis]) ** 2).sum(axis=axes)
        return self._chosen(xp, away.argmin(axis=2))

    def furthest(self, slopes: Array) -> Array:
        axes = tuple(range(3, self.choices.ndim))
        return self._chosen(
            namespace(slopes), (self.choices * slopes[:, :, np.newaxis]).sum(axis=axes).argmin(axis=2)
        )

    def drawn(self, rng: np.random.Generator) -> Array:
        xp, (n, words, choices) = namespace(self.choices), self.choices.shape[:3]
        return self._chosen(xp, xp.asarray(rng.integers(0, choices, size=(n, words))))

    @property
    def arrays(self) -> tuple[Array, ...]:
        return self.choices, *self._box.arrays

    @property
    def kind(self) -> Hashable:
        return Synonyms, self.choices.shape, self._box.kind, self.whole

    def part(self, samples: slice) -> Synonyms:
        return replace(self, choices=self.choices[samples])

    def on(self, xp: Namespace) -> Synonyms:
        return replace(self, choices=xp.asarray(self.choices))

    def _chosen(self, xp: Namespace, index: Any) -> Array:
        n, words = index.shape
        made: Array = self.choices[xp.arange(n)[:, np.newaxis], xp.arange(words), index]
        return made

    @cached_property
    def _box(self) -> Ball:
        return Ball(self.interval().centre, self.interval().radius)


def _box(
    whole: bool, least: float, most: float, centre: Array, radius: Array, marked: Mask
) -> tuple[Array, Array]:
    xp = namespace(centre)
    around = xp.where(marked, radius, 0.0)
    low, high = centre - around, centre + around
    if not whole:
        low, high = (xp.where(around == 0, centre, each) for each in (down(low), up(high)))
    # A centre beyond the domain stays where it is.
    return xp.minimum(xp.clip(low, least, most), centre), xp.maximum(xp.clip(high, least, most), centre)


@lru_cache(maxsize=16)
def _known_changed(where: bytes, own: Shape, shape: Shape, axes: tuple[int, ...]) -> NDArray[np.int64]:
    """Regions that a search asks about differ in their radii."""
    marked = np.broadcast_to(np.frombuffer(where, bool).reshape(own), shape)
    places: NDArray[np.int64] = _changed(marked, axes)
    places.flags.writeable = False
    return places


def _changed(marked: Any, own: tuple[int, ...]) -> Any:
    """Of what is ``marked`` [n, *shape], balls being over the axes ``own``: see ``Ball._changed``."""
    xp, shape = namespace(marked), marked.shape
    order = [*(axis for axis in range(1, len(shape)) if axis not in own), *own]
    size = math.prod(shape[axis] for axis in own)
    places = xp.arange(math.prod(shape[1:])).reshape(shape[1:]).transpose([axis - 1 for axis in order])
    places = places.reshape(-1, size)
    marked = marked.reshape(len(marked), -1)[:, places]
    counts = marked.sum(axis=-1)
    balls, most = int((counts > 0).sum(axis=1).max()), int(counts.max())
    if int(counts.sum()) == len(marked) * balls * most:  # as many of each: no sample has places that are left
        ball, inside = xp.nonzero(marked)[1:]
        return places[ball, inside].reshape(len(marked), balls, most)
    some = xp.argsort(counts == 0, axis=1, kind="stable")[:, :balls]
    inside = xp.argsort(~xp.take_along_axis(marked, some[..., np.newaxis], axis=1), axis=2, kind="stable")
    return places[some[..., np.newaxis], inside[..., :most]]


def _steep(lines: Array, marked: Mask) -> tuple[Array]:
    """Absolute values of what may change."""
    return (namespace(lines).where(marked, abs(lines), 0.0),)


def _size(lines: Array) -> int:
    return math.prod(lines.shape[2:])
