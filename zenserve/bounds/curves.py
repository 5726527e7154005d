"""Functions that formulas say, between lines: values, slopes and curvatures by interval arithmetic.

Over an interval the function is looked at in ``CELLS`` cells. In a cell of width h it lies at most
``h^2 / 8`` times its largest curvature from the chord (or, where that is infinite, what its slopes or values
leave), so that a line is valid if it is at the ends of all cells, by that margin. A function that is convex
or concave everywhere has a tangent on one side and its chord on the other, without a margin.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple, Self

import numpy as np

from zenserve.bounds.arrays import Array, Interval, Mask, Namespace, fused, namespace
from zenserve.bounds.elementwise import Band, Lines, narrower
from zenserve.circuits.graphs import formula
from zenserve.errors import ModelError

CELLS: Final = 16
ULPS: Final = 8 * 2.0**-52
"""The largest relative error of single operations and of numpy's elementary functions."""

# Below, relative errors say nothing.
_TINY: Final = 1e-300


def _wider(low: Array, high: Array) -> Interval:
    """By what rounding did to both ends; nothing is known where an end is no number."""
    with np.errstate(all="ignore"):
        return Interval(low - abs(low) * ULPS - _TINY, high + abs(high) * ULPS + _TINY).known


def _add(x: Interval, y: Interval) -> Interval:
    return _wider(x.low + y.low, x.high + y.high)


def _negative(x: Interval) -> Interval:
    return Interval(-x.high, -x.low)


def _times(x: Interval, y: Interval) -> Interval:
    xp = namespace(x.low)
    with np.errstate(all="ignore"):
        ends = [a * b for a in x for b in y]
    # An end of zero times an infinite one is zero: the interval ends there.
    ends = [xp.where(xp.isnan(each), 0.0, each) for each in ends]
    return _wider(
        xp.minimum(xp.minimum(ends[0], ends[1]), xp.minimum(ends[2], ends[3])),
        xp.maximum(xp.maximum(ends[0], ends[1]), xp.maximum(ends[2], ends[3])),
    )


def _scaled(x: Interval, factor: float) -> Interval:
    low, high = (x.low * factor, x.high * factor) if factor >= 0 else (x.high * factor, x.low * factor)
    return _wider(low, high)


def _square(x: Interval) -> Interval:
    xp = namespace(x.low)
    low, high = x.low * x.low, x.high * x.high
    least = xp.where((x.low <= 0) & (x.high >= 0), 0.0, xp.minimum(low, high))
    made = _wider(least, xp.maximum(low, high))
    return Interval(xp.maximum(made.low, 0.0), made.high)


def _extremes(x: Interval, of: Callable[[Array], Array], turns: tuple[float, ...]) -> Interval:
    """Of a function that turns at these points alone."""
    xp = namespace(x.low)
    with np.errstate(all="ignore"):
        values = [of(x.low), of(x.high), *(of(x.nearest(turn)) for turn in turns)]
    low = high = values[0]
    for each in values[1:]:
        low, high = xp.minimum(low, each), xp.maximum(high, each)
    return _wider(low, high)


class Jet(NamedTuple):
    """A function's ``value``, ``slope`` and ``curvature`` over an interval."""

    value: Interval
    slope: Interval
    curvature: Interval


# Of an argument: value, slope and curvature of a function.
_Of = Callable[[Interval], Jet]


def _chained(outer: Jet, x: Jet) -> Jet:
    curvature = _add(_times(outer.curvature, _square(x.slope)), _times(outer.slope, x.curvature))
    return Jet(outer.value, _times(outer.slope, x.slope), curvature)


def _product(x: Jet, y: Jet) -> Jet:
    cross = _times(x.slope, y.slope)
    return Jet(
        _times(x.value, y.value),
        _add(_times(x.slope, y.value), _times(x.value, y.slope)),
        _add(_add(_times(x.curvature, y.value), _times(x.value, y.curvature)), _scaled(cross, 2.0)),
    )


def _sum(x: Jet, y: Jet) -> Jet:
    return Jet(*(_add(one, other) for one, other in zip(x, y, strict=True)))


def _constant(value: float, like: Array) -> Jet:
    xp = namespace(like)
    nothing = Interval(xp.zeros_like(like), xp.zeros_like(like))
    return Jet(Interval(nothing.low + value, nothing.high + value), nothing, nothing)


def _rising(x: Interval, of: Callable[[Array], Array]) -> Interval:
    with np.errstate(all="ignore"):
        return _wider(of(x.low), of(x.high))


def _exponential(x: Interval) -> Jet:
    value = _rising(x, namespace(x.low).exp)
    value = Interval(namespace(x.low).maximum(value.low, 0.0), value.high)
    return Jet(value, value, value)


def _power(x: Interval, exponent: float) -> Jet:
    """Of numbers of one sign, or a whole exponent of 0 or more; nothing is known of others."""
    return Jet(
        _powered(x, exponent, 1.0),
        _powered(x, exponent - 1, exponent),
        _powered(x, exponent - 2, exponent * (exponent - 1)),
    )


def _powered(x: Interval, exponent: float, factor: float) -> Interval:
    """``factor x^exponent``."""
    xp = namespace(x.low)
    if factor == 0:
        nothing = xp.zeros_like(x.low)
        return Interval(nothing, nothing)
    with np.errstate(all="ignore"):
        ends = [_to_the(x.low, exponent), _to_the(x.high, exponent)]
    whole = exponent == math.floor(exponent)
    across = (x.low <= 0) & (x.high >= 0)
    unknown = (across & (exponent < 0)) | ((x.low < 0) & (not whole))
    low, high = xp.minimum(*ends), xp.maximum(*ends)
    if whole and exponent > 0 and exponent % 2 == 0:
        low = xp.where(across, 0.0, low)
    if exponent == 0:
        low = high = xp.ones_like(x.low)
    low, high = xp.where(unknown, -np.inf, low), xp.where(unknown, np.inf, high)
    return _scaled(_wider(low, high), factor)


def _to_the(x: Array, exponent: float) -> Array:
    """Small whole powers by products, which are as near as powers are and take less."""
    if exponent not in (-3, -2, -1, 1, 2, 3):
        made: Array = namespace(x).float_power(x, exponent)
        return made
    power = x
    for _ in range(int(abs(exponent)) - 1):
        power = power * x
    return power if exponent > 0 else 1 / power


def _logarithm(x: Interval) -> Jet:
    return Jet(
        _rising(x, namespace(x.low).log), _powered(_positive(x), -1, 1.0), _powered(_positive(x), -2, -1.0)
    )


def _positive(x: Interval) -> Interval:
    """Return the part of ``x`` above zero, for functions of positive numbers, whose values elsewhere are
    unknown."""
    xp = namespace(x.low)
    return Interval(xp.where(x.low > 0, x.low, 0.0), x.high)


def _tangent(x: Interval) -> Jet:
    value = _rising(x, namespace(x.low).tanh)
    third = 1 / math.sqrt(3)
    return Jet(
        value,
        _extremes(value, lambda t: 1 - t * t, (0.0,)),
        _extremes(value, lambda t: -2 * t * (1 - t * t), (-third, third)),
    )


def _logistic(x: Array) -> Array:
    xp = namespace(x)
    small = xp.exp(-abs(x))
    made: Array = xp.where(x >= 0, 1 / (1 + small), small / (1 + small))
    return made


def _sigmoid(x: Interval) -> Jet:
    value = _rising(x, _logistic)
    turns = (3 - math.sqrt(3)) / 6, (3 + math.sqrt(3)) / 6
    return Jet(
        value,
        _extremes(value, lambda s: s * (1 - s), (0.5,)),
        _extremes(value, lambda s: s * (1 - s) * (1 - 2 * s), turns),
    )


def _softplus(x: Interval) -> Jet:
    inner = _sigmoid(x)
    xp = namespace(x.low)
    return Jet(_rising(x, lambda t: xp.logaddexp(0.0, t)), inner.value, inner.slope)


# Abramowitz and Stegun 7.1.26: at most 1.5e-7 from the error function.
_ERF: Final = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_ERROR: Final = 1.6e-7


def _error_function(x: Array) -> Array:
    xp = namespace(x)
    t = 1 / (1 + 0.3275911 * abs(x))
    polynomial = xp.zeros_like(x)
    for coefficient in reversed(_ERF):
        polynomial = (polynomial + coefficient) * t
    made: Array = xp.sign(x) * (1 - polynomial * xp.exp(-x * x))
    return made


def _erf(x: Interval) -> Jet:
    xp, two = namespace(x.low), 2 / math.sqrt(math.pi)
    least, most = (_error_function(end) for end in x)
    half = 1 / math.sqrt(2)
    return Jet(
        Interval(xp.maximum(least - _ERF_ERROR, -1.0), xp.minimum(most + _ERF_ERROR, 1.0)),
        _extremes(x, lambda t: two * xp.exp(-t * t), (0.0,)),
        _extremes(x, lambda t: -2 * two * t * xp.exp(-t * t), (-half, half)),
    )


def _absolute(x: Interval) -> Jet:
    xp = namespace(x.low)
    return _kinked(
        x, _extremes(x, abs, (0.0,)), xp.where(x.low >= 0, 1.0, -1.0), xp.where(x.high > 0, 1.0, -1.0)
    )


def _kinked(x: Interval, value: Interval, least: Array, most: Array) -> Jet:
    """Slopes from ``least`` to ``most``; where they differ there is a corner."""
    xp = namespace(x.low)
    bend = xp.where(least == most, 0.0, np.inf)
    return Jet(value, Interval(xp.minimum(least, most), xp.maximum(least, most)), Interval(-bend, bend))


def _step(x: Interval, of: Callable[[Array], Array]) -> Jet:
    """A rising function that jumps."""
    value = Interval(of(x.low), of(x.high))
    bend = namespace(x.low).where(value.low == value.high, 0.0, np.inf)
    return Jet(value, Interval(-bend, bend), Interval(-bend, bend))


def _larger(x: Jet, y: Jet) -> Jet:
    """The one that is larger, where that is the same all over the interval."""
    xp = namespace(x.value.low)
    first, second = x.value.low >= y.value.high, y.value.low >= x.value.high

    def chosen(one: Interval, other: Interval, both: Interval) -> Interval:
        return Interval(
            *(xp.where(first, a, xp.where(second, b, c)) for a, b, c in zip(one, other, both, strict=True))
        )

    value = Interval(xp.maximum(x.value.low, y.value.low), xp.maximum(x.value.high, y.value.high))
    slopes = Interval(xp.minimum(x.slope.low, y.slope.low), xp.maximum(x.slope.high, y.slope.high))
    endless = xp.full_like(x.value.low, np.inf)
    return Jet(
        value,
        chosen(x.slope, y.slope, slopes),
        chosen(x.curvature, y.curvature, Interval(-endless, endless)),
    )


def _opposite(x: Jet) -> Jet:
    return Jet(*map(_negative, x))


def _gelu(x: Jet) -> Jet:
    like = x.value.low
    inner = _chained(
        _erf(_scaled(x.value, 1 / math.sqrt(2))), Jet(*(_scaled(each, 1 / math.sqrt(2)) for each in x))
    )
    half = Jet(*(_scaled(each, 0.5) for each in _sum(inner, _constant(1.0, like))))
    return _product(x, half)


def _gelu_tanh(x: Jet) -> Jet:
    like, root = x.value.low, math.sqrt(2 / math.pi)
    cube = _chained(_power(x.value, 3.0), x)
    inner = _sum(
        Jet(*(_scaled(each, root) for each in x)), Jet(*(_scaled(each, root * 0.044715) for each in cube))
    )
    half = Jet(
        *(_scaled(each, 0.5) for each in _sum(_chained(_tangent(inner.value), inner), _constant(1.0, like)))
    )
    return _product(x, half)


def _through(of: _Of) -> Callable[..., Jet]:
    return lambda x: _chained(of(x.value), x)


def _number(jet: Jet) -> float:
    """A constant argument."""
    value = float(jet.value.low.flat[0])
    if not (bool((jet.value.low == value).all()) and bool((jet.value.high == value).all())):
        raise ValueError("an argument that varies")
    return value


def _swish(x: Jet, alpha: Jet) -> Jet:
    inner = _product(alpha, x)
    return _product(x, _chained(_sigmoid(inner.value), inner))


def _clipped(x: Jet, low: float, high: float) -> Jet:
    like = x.value.low
    return _opposite(_larger(_opposite(_larger(x, _constant(low, like))), _constant(-high, like)))


def _hard_sigmoid(x: Jet, alpha: Jet, beta: Jet) -> Jet:
    return _clipped(_sum(_product(alpha, x), beta), 0.0, 1.0)


def _leaky(x: Jet, alpha: Jet) -> Jet:
    one, other = x, _product(alpha, x)
    if _number(alpha) <= 1:
        return _larger(one, other)
    return _opposite(_larger(_opposite(one), _opposite(other)))


def _elu(x: Jet, alpha: Jet) -> Jet:
    """``alpha (e^min(x, 0) - 1) + max(x, 0)``."""
    like = x.value.low
    under = _opposite(_larger(_opposite(x), _constant(0.0, like)))
    exponential = _sum(_chained(_exponential(under.value), under), _constant(-1.0, like))
    return _sum(_product(alpha, exponential), _larger(x, _constant(0.0, like)))


def _floor(x: Interval) -> Jet:
    return _step(x, namespace(x.low).floor)


_FUNCTIONS: Final[Mapping[str, Callable[..., Jet]]] = {
    "abs": _through(_absolute),
    "ceil": _through(lambda x: _step(x, namespace(x.low).ceil)),
    "elu": _elu,
    "erf": _through(_erf),
    "exp": _through(_exponential),
    "floor": _through(_floor),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "hard_sigmoid": _hard_sigmoid,
    "hard_swish": lambda x: _product(
        x, _clipped(_sum(Jet(*(_scaled(each, 1 / 6) for each in x)), _constant(0.5, x.value.low)), 0.0, 1.0)
    ),
    "leaky_relu": _leaky,
    "log": _through(_logarithm),
    "max": _larger,
    "min": lambda x, y: _opposite(_larger(_opposite(x), _opposite(y))),
    "mish": lambda x: _product(x, _through(_tangent)(_through(_softplus)(x))),
    "round": _through(lambda x: _step(x, namespace(x.low).rint)),
    "sigmoid": _through(_sigmoid),
    "softplus": _through(_softplus),
    "sqrt": _through(lambda x: _power(x, 0.5)),
    "swish": _swish,
    "tanh": _through(_tangent),
}


def jet(tree: ast.expr, x: Interval) -> Jet:
    """Of a formula, over the interval of its ``x``. Raises ``ValueError`` for one that has no bounds."""
    like = x.low

    def again(part: ast.expr) -> Jet:
        return jet(part, x)

    match tree:
        case ast.Name(id="x"):
            return Jet(x.known, *_constant(1.0, like)[:1], _constant(0.0, like).value)
        case ast.Constant(value=float() as number):
            return _constant(number, like)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _opposite(again(operand))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _sum(again(left), again(right))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _sum(again(left), _opposite(again(right)))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            if ast.dump(left) == ast.dump(right):
                return _chained(_power(again(left).value, 2.0), again(left))
            return _product(again(left), again(right))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            below = again(right)
            return _product(again(left), _chained(_power(below.value, -1.0), below))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base = again(left)
            return _chained(_power(base.value, _number(again(right))), base)
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(again(argument) for argument in arguments))
    raise ValueError(f"robustness bounds are not implemented for {ast.unparse(tree)[:80]}")


class Curve:
    """Of numbers alone, and bent: whatever interval is narrower has tighter lines, down to a point."""

    def straight(self, x: Interval) -> Mask:
        flat: Mask = x.low == x.high
        return flat

    def on(self, xp: Namespace) -> Self:
        return self


@dataclass(frozen=True)
class Formula(Curve):
    """The function of a formula (``zenserve.circuits.graphs.formula``)."""

    # Where a warp has eight rows, cells would take four times as long.
    of_numbers: ClassVar[bool] = False

    text: str

    def __post_init__(self) -> None:
        try:
            jet(_tree(self.text), Interval(np.zeros(1), np.ones(1)))
        except (ValueError, TypeError) as error:
            raise ModelError("model.unsupported_operator", f"of {self.text[:80]!r}: {error}") from None

    def value(self, x: Array) -> Array:
        """On a card by the interval of a point: 1.6e-7 off where an error function is in it."""
        if namespace(x) is np:
            return formula.evaluate(self.text, x)
        made: Array = fused(_value, x, of=(self.text,))[0]
        return made

    def slope(self, x: Array) -> Array:
        made: Array = fused(_slope, x, of=(self.text,))[0]
        return made

    def image(self, x: Interval) -> Interval:
        """By its cells, or where it only rises or falls by its ends."""
        return Interval(*fused(_image, *x, of=(self.text,)))

    def lines(self, x: Interval) -> Lines:
        return Lines(*fused(_lines, *x, of=(self.text,)))

    def band(self, x: Interval) -> Band:
        return Band(*fused(_band, *x, of=(self.text,)))


def _tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _value(text: str, x: Array) -> tuple[Array]:
    return (jet(_tree(text), Interval(x, x)).value.centre,)


def _slope(text: str, x: Array) -> tuple[Array]:
    xp, slope = namespace(x), jet(_tree(text), Interval(x, x)).slope.centre
    return (xp.where(xp.isfinite(slope), slope, 0.0),)


def _image(text: str, low: Array, high: Array) -> Interval:
    return _Cells.of(_tree(text), Interval(low, high)).image


def _lines(text: str, low: Array, high: Array) -> Lines:
    return _Cells.of(_tree(text), Interval(low, high)).lines


def _band(text: str, low: Array, high: Array) -> Band:
    return _Cells.of(_tree(text), Interval(low, high)).band


class _Cells(NamedTuple):
    """``points`` [cells + 1, n, *shape], the function there, and its jets over the cells between them."""

    points: Array
    at: Jet
    over: Jet

    @classmethod
    def of(cls, tree: ast.expr, x: Interval) -> _Cells:
        xp = namespace(x.low)
        share = [cell / CELLS for cell in range(CELLS + 1)]
        points = xp.stack([xp.clip(x.low * (1 - each) + x.high * each, x.low, x.high) for each in share])
        points[0], points[-1] = x.low, x.high
        # Rounding may turn two points of a narrow interval around.
        cells = Interval(xp.minimum(points[:-1], points[1:]), xp.maximum(points[:-1], points[1:]))
        return cls(points, jet(tree, Interval(points, points)), jet(tree, cells))

    @property
    def image(self) -> Interval:
        """No further from the ends of a cell than its slopes and curvature allow."""
        xp, value = namespace(self.points), self.at.value
        low = xp.minimum(value.low[:-1], value.low[1:]) - self._margin(-1)
        high = xp.maximum(value.high[:-1], value.high[1:]) + self._margin(1)
        # Nor beyond what the cells are known to be.
        whole = Interval(low.min(axis=0), high.max(axis=0))
        slope = self.over.slope
        rises, falls = (slope.low >= 0).all(axis=0), (slope.high <= 0).all(axis=0)
        low = xp.where(rises, value.low[0], xp.where(falls, value.low[-1], whole.low))
        high = xp.where(rises, value.high[-1], xp.where(falls, value.high[0], whole.high))
        return Interval(low, high).within(
            Interval(self.over.value.low.min(axis=0), self.over.value.high.max(axis=0))
        )

    def _margin(self, side: int) -> Array:
        """Return the largest distance of the function above (1) or below (-1) the chords of its cells."""
        xp, width = namespace(self.points), abs(self.points[1:] - self.points[:-1])
        curvature, slope, value = self.over.curvature, self.over.slope, self.over.value
        with np.errstate(all="ignore"):
            bent = xp.maximum(-curvature.low if side > 0 else curvature.high, 0.0) * width**2 / 8
            steep = (slope.high - slope.low) * width / 4
            ends = self.at.value
            if side > 0:
                left = value.high - xp.minimum(ends.low[:-1], ends.low[1:])
            else:
                left = xp.maximum(ends.high[:-1], ends.high[1:]) - value.low
        bent, steep = (xp.where(xp.isnan(each), np.inf, each) for each in (bent, steep))
        margin: Array = xp.minimum(xp.minimum(bent, steep), xp.maximum(left, 0.0)) * (1 + 8 * ULPS)
        return margin

    @property
    def lines(self) -> Lines:
        low, high = self._best(-1), self._best(1)
        return Lines(*low, *high)

    @property
    def band(self) -> Band:
        """Of a few slopes the narrowest."""
        best = Band(namespace(self.points).zeros_like(self.points[0]), *map(self._flat, (-1, 1)))
        for tried in self._slopes():
            best = narrower(best, Band(tried[0], self._offset(-1, *tried), self._offset(1, *tried)))
        return best

    def _best(self, side: int) -> tuple[Array, Array]:
        """Of a few slopes the line that is tightest in the middle."""
        xp, middle = namespace(self.points), self.points[CELLS // 2]
        slope, offset = xp.zeros_like(middle), self._flat(side)
        for steep, touch in self._slopes():
            over = self._offset(side, steep, touch)
            better = side * (steep * middle + over) < side * (slope * middle + offset)
            slope, offset = xp.where(better, steep, slope), xp.where(better, over, offset)
        return slope, offset

    def _flat(self, side: int) -> Array:
        """The largest number that is there, or the least."""
        xp, value = namespace(self.points), self._ends(side)
        pick = xp.maximum if side > 0 else xp.minimum
        ends = pick(value[:-1], value[1:]) + side * self._margin(side)
        flat: Array = (
            xp.minimum(ends.max(axis=0), self.image.high)
            if side > 0
            else xp.maximum(ends.min(axis=0), self.image.low)
        )
        return flat

    def _ends(self, side: int) -> Array:
        return self.at.value.high if side > 0 else self.at.value.low

    def _offset(self, side: int, steep: Array, touch: int | None) -> Array:
        """Of the line of this slope above the function, or below it."""
        xp, points, value = namespace(self.points), self.points, self._ends(side)
        pick = xp.maximum if side > 0 else xp.minimum
        over = pick(value[:-1] - steep * points[:-1], value[1:] - steep * points[1:])
        over = over + side * self._margin(side)
        over = over.max(axis=0) if side > 0 else over.min(axis=0)
        if touch is not None:
            # A tangent, whose slope is known to a little.
            curvature = self.over.curvature
            bows = ((curvature.high <= 0) if side > 0 else (curvature.low >= 0)).all(axis=0)
            own = Interval(self.at.slope.low[touch], self.at.slope.high[touch])
            away = xp.maximum(own.high - steep, steep - own.low) * (points[-1] - points[0])
            tangent = value[touch] - steep * points[touch] + side * away
            over = xp.where(bows & xp.isfinite(tangent), tangent, over)
        reach = xp.maximum(abs(points[0]), abs(points[-1]))
        error = ULPS * (abs(steep) * reach + abs(value).max(axis=0))
        made: Array = over + side * error
        return made

    def _slopes(self) -> list[tuple[Array, int | None]]:
        """The chord, and tangents at both ends, in the middle and between."""
        xp, points, value = namespace(self.points), self.points, self.at.value.centre
        tried = list[tuple[Array, int | None]]()
        with np.errstate(all="ignore"):
            for first, last in ((0, CELLS), (0, CELLS // 2), (CELLS // 2, CELLS)):
                width = points[last] - points[first]
                tried.append((xp.where(width > 0, (value[last] - value[first]) / width, 0.0), None))
            for touch in range(0, CELLS + 1, 2):
                tried.append((self.at.slope.centre[touch], touch))
        return [(xp.where(xp.isfinite(slope), slope, 0.0), touch) for slope, touch in tried]
