"""Arrays of any namespace (numpy, or one that has its functions), and how far floats are from what they mean.

Every bound here is of real numbers, computed in float64 and then widened by what rounding can have done:

- a sum of n products, in any order: ``|fl(sum) - sum| <= gamma(n) * sum |products|`` (Higham 2002, 3.1);
- single operations, and numpy's elementary functions, by ``ULPS`` units in the last place (``curves``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from zenserve.prover import backends

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# numpy, or a module that has its functions.
Namespace = Any
One = TypeVar("One")
Other = TypeVar("Other")

UNIT: Final = 2.0**-53
"""Half the distance from 1 to the next float."""

EXACT: Final = 2.0**52
"""Integers and halves below are floats, and so are their sums."""


class Interval(NamedTuple):
    """Each entry lies between its ``low`` and its ``high``, float64[n, *shape]."""

    low: Array
    high: Array

    @property
    def centre(self) -> Array:
        middle: Array = fused(_middle, self.low, self.high)[0]
        return middle

    @property
    def radius(self) -> Array:
        """So much around the computed ``centre``, rounded up."""
        made: Array = fused(_radius, self.low, self.high)[0]
        return made

    @property
    def parts(self) -> tuple[Array, Array, Array]:
        """``centre``, ``radius`` and ``magnitude``."""
        centre, radius, magnitude = fused(_parts, self.low, self.high)
        return centre, radius, magnitude

    @property
    def magnitude(self) -> Array:
        """The largest absolute value."""
        largest: Array = fused(_magnitude, self.low, self.high)[0]
        return largest

    @property
    def known(self) -> Interval:
        """An end that is no number may be anything."""
        return Interval(*fused(_known, *self))

    def nearest(self, point: float) -> Array:
        """The point, or the end that it lies beyond."""
        xp = namespace(self.low)
        found: Array = xp.minimum(xp.maximum(self.low, point), self.high)
        return found

    def within(self, other: Interval) -> Interval:
        """Return the intersection of both intervals. Where rounding leaves it empty, the tighter ends change
        places."""
        return Interval(*fused(_both, *self, *other))


def _middle(low: Array, high: Array) -> tuple[Array]:
    return (low / 2 + high / 2,)


def _radius(low: Array, high: Array) -> tuple[Array]:
    xp, (middle,) = namespace(low), _middle(low, high)
    around = xp.maximum(high - middle, middle - low)
    return (xp.where(around == 0, 0.0, up(around)),)


def _magnitude(low: Array, high: Array) -> tuple[Array]:
    return (namespace(low).maximum(abs(low), abs(high)),)


def _known(low: Array, high: Array) -> tuple[Array, Array]:
    xp = namespace(low)
    return xp.where(xp.isnan(low), -np.inf, low), xp.where(xp.isnan(high), np.inf, high)


def _parts(low: Array, high: Array) -> tuple[Array, Array, Array]:
    return *_middle(low, high), *_radius(low, high), *_magnitude(low, high)


def _both(low: Array, high: Array, least: Array, most: Array) -> tuple[Array, Array]:
    xp = namespace(low)
    low, high = xp.maximum(low, least), xp.minimum(high, most)
    return xp.minimum(low, high), xp.maximum(low, high)


def namespace(array: Array) -> Namespace:
    """numpy, or what has its functions for arrays of a card."""
    own = getattr(array, "__array_namespace__", None)
    return own() if own else _of_cards()


@cache
def _of_cards() -> Namespace:
    from zenserve.gpu import device

    return device.namespace()


@contextmanager
def chosen() -> Iterator[Namespace]:
    """Yield the namespace of arrays on the backend that ``ZENSERVE_BACKEND`` selects, and make its device
    current within the context. Raises as ``zenserve.prover.backends``."""
    index = backends.chosen().index
    if index is None:
        yield np
        return
    from zenserve.gpu import device

    with device.Device(index).current():
        yield device.namespace()


def room(xp: Namespace) -> int:
    """Entries of the widest tensor that are computed together: of 128 MiB, on a card of 2 GiB."""
    return 1 << 24 if xp is np else 1 << 28


def host(array: Array) -> Array:
    """A numpy array of it, wherever it is."""
    brought: Array = array if namespace(array) is np else array.get()  # type: ignore[attr-defined]
    return brought


def times(left: Array, right: Array, onto: Array | None = None) -> Array:
    """``left @ right``, of stacks of matrices: on a card by what may be recorded. In place where it is added
    ``onto`` an array."""
    xp = namespace(left)
    if xp is not np:
        from zenserve.gpu import matrices

        made: Array = matrices.product(xp, left, right, onto)
        return made
    if onto is None:
        return np.matmul(left, right)  # type: ignore[no-any-return]
    onto += np.matmul(left, right)
    return onto


def beside(parts: Sequence[Array], axis: int) -> Array:
    """``concatenate``, whose list of parts a card would be sent, by what may be recorded."""
    xp, (first, *_) = namespace(parts[0]), parts
    if xp is np:
        return np.concatenate(parts, axis=axis)
    ends = [*accumulate(each.shape[axis] for each in parts)]
    made: Array = xp.empty((*first.shape[:axis], ends[-1], *first.shape[axis + 1 :]))
    for end, each in zip(ends, parts, strict=True):
        made[(slice(None),) * axis + (slice(end - each.shape[axis], end),)] = each
    return made


def dot(lines: Array, x: Array, *, absolute: bool = False) -> Array:
    """[n, s] of lines[n, s, *shape], or of their ``absolute`` values, and x[n, *shape], or [1, *shape]."""
    made = Sums(lines)
    made.add(lines, x, absolute=absolute)
    return made.total


class Sums:
    """[n, s]: what is added up of lines[n, s, *any]; several at once on a card, where one takes as long."""

    def __init__(self, like: Array) -> None:
        self._total: Array = namespace(like).zeros(like.shape[:2])
        self._waiting: list[tuple[Array, Array | None, bool]] = []

    def add(self, lines: Array, x: Array | None = None, *, absolute: bool = False) -> None:
        """``dot`` of both; without x the sums of lines."""
        flat = lines.reshape(*lines.shape[:2], -1)
        if x is not None:
            x = x.reshape(len(x), -1)
        if namespace(lines) is not np:
            self._wait(flat, x, absolute)
        elif x is None:
            self._total += flat.sum(axis=-1)
        else:
            self._total += times(abs(flat) if absolute else flat, x[..., np.newaxis])[..., 0]

    @property
    def total(self) -> Array:
        if self._waiting:
            self._weigh()
        return self._total

    def _wait(self, flat: Array, x: Array | None, absolute: bool) -> None:
        from zenserve.gpu import intervals

        self._waiting.append((flat, x, absolute))
        if len(self._waiting) == intervals.PAIRS:
            self._weigh()

    def _weigh(self) -> None:
        from zenserve.gpu import intervals

        # A card's product of so few rows takes several times as long.
        intervals.weigh(namespace(self._total), self._waiting, self._total)
        self._waiting.clear()


def fused(function: Callable[..., tuple[Array, ...]], *arrays: Any, of: tuple[Any, ...] = ()) -> Any:
    """``function(*of, *arrays)``, of each entry alone, arrays that broadcast: on a card one kernel."""
    xp = namespace(arrays[0])
    if xp is np:
        return function(*of, *arrays)
    from zenserve.gpu import fused as kernels

    if isinstance(arrays[0], kernels.Symbol):  # a part of another
        return function(*of, *arrays)
    return kernels.run(function, of, arrays, xp)


def together(main: Callable[[], One], aside: Callable[[], Other], like: Array) -> tuple[One, Other]:
    """Return the results of both functions. If ``like`` is on a card and a pass is recorded, the card runs
    both at the same time. See ``zenserve.gpu.device.together``."""
    if namespace(like) is np:
        return main(), aside()
    from zenserve.gpu import device

    return device.together(main, aside)


def gamma(terms: int) -> float:
    """Twice the relative error of a sum of so many products: the other half is for computing with it."""
    return 2 * terms * UNIT / (1 - terms * UNIT)


def up(x: Array) -> Array:
    """The next float above."""
    above: Array = namespace(x).nextafter(x, np.inf)
    return above


def down(x: Array) -> Array:
    """The next float below."""
    below: Array = namespace(x).nextafter(x, -np.inf)
    return below
