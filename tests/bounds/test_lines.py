"""Each function's image and lines hold on many intervals, by interval arithmetic: narrow and wide, a single
number, and as far as 88."""

from __future__ import annotations

import numpy as np
import pytest

from zenserve.bounds.arrays import Interval
from zenserve.bounds.convex import Exp, Inverse
from zenserve.bounds.curves import ULPS, Formula
from zenserve.bounds.elementwise import Bend, Clamp, Function, Rescaled, Table
from zenserve.bounds.sigmoid import SIGMOID, TANH
from zenserve.circuits.graphs.types import Affine, FloatArray, Rescale

FUNCTIONS: dict[str, Function] = {
    "relu": Clamp(0, np.inf),
    "relu6": Clamp(0, 6),
    "clip": Clamp(-1, 2.5),
    "leaky": Bend(np.array(0.01), np.array(1.0)),
    "abs": Bend(np.array(-1.0), np.array(1.0)),
    **{
        text: Formula(text)
        for text in (
            *("tanh(x)", "sigmoid(x)", "exp(x)", "gelu(x)", "gelu_tanh(x)", "swish(x, 1.0)", "mish(x)"),
            *("softplus(x)", "x * sigmoid(x)", "x * x", "x ** 3.0", "elu(x, 1.0)", "erf(x)", "hard_swish(x)"),
            *(
                "leaky_relu(x, 0.1)",
                "0.5 * x * (1.0 + erf(x / 1.4142135))",
                "max(x, 0.5)",
                "abs(x)",
                "floor(x)",
            ),
        )
    },
}
POSITIVE = ("1.0 / x", "sqrt(x)", "log(x)", "1.0 / sqrt(x + 1e-05)", "x ** -0.5")


def intervals(rng: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray]:
    """A third of them single numbers."""
    middle = rng.choice([0.1, 1.0, 8.0, 88.0], count) * rng.uniform(-1, 1, count)
    width = rng.choice([0.0, 0.0, 1e-9, 1e-3, 0.3, 3.0, 30.0], count) * rng.uniform(0, 1, count)
    low, high = np.clip(middle - width, -88, 88), np.clip(middle + width, -88, 88)
    return low, high


def holds(function: Function, low: FloatArray, high: FloatArray, points: int) -> None:
    x = Interval(low, high)
    lines, band, image = function.lines(x), function.band(x), function.image(x)
    for share in np.linspace(0, 1, points):
        at = np.clip(low * (1 - share) + high * share, low, high)
        value = function.image(Interval(at, at))
        size = 2.0**-50 * (1 + np.abs(lines.low_slope * at) + np.abs(lines.low_offset) + np.abs(value.high))
        assert (lines.low_slope * at + lines.low_offset <= value.high + size).all()
        size = 2.0**-50 * (1 + np.abs(lines.high_slope * at) + np.abs(lines.high_offset) + np.abs(value.low))
        assert (lines.high_slope * at + lines.high_offset >= value.low - size).all()
        size = 2.0**-50 * (1 + np.abs(band.slope * at) + np.abs(band.low) + np.abs(band.high))
        assert (band.slope * at + band.low <= value.high + size).all()
        assert (band.slope * at + band.high >= value.low - size).all()
        assert ((image.low <= value.high) & (image.high >= value.low)).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_anywhere(name: str) -> None:
    low, high = intervals(np.random.default_rng(3), 300)
    holds(FUNCTIONS[name], low, high, points=23)


@pytest.mark.parametrize("text", POSITIVE)
def test_above_zero(text: str) -> None:
    low, high = intervals(np.random.default_rng(4), 300)
    holds(Formula(text), np.abs(low) + 1e-3, np.abs(low) + 1e-3 + (high - low), points=23)


def test_in_closed_form() -> None:
    """As tight as by cells."""
    low, high = intervals(np.random.default_rng(7), 400)
    some = high > low + 1e-3  # beyond what rounding adds
    for function, text, ends in (
        (Exp(), "exp(x)", (low, high)),
        (Inverse(), "1.0 / x", (np.abs(low) + 1e-3, np.abs(low) + 1e-3 + (high - low))),
    ):
        holds(function, *ends, points=23)
        x = Interval(*ends)
        mine, by_cells = function.band(x), Formula(text).band(x)
        left = (mine.high - mine.low) / (by_cells.high - by_cells.low)
        assert (left[some] < 1 + 1e-6).all()
    assert not np.isfinite(Inverse().image(Interval(np.zeros(1), np.ones(1))).high).any()


@pytest.mark.parametrize(("function", "text"), [(TANH, "tanh(x)"), (SIGMOID, "sigmoid(x)")])
def test_sigmoids_in_closed_form(function: Function, text: str) -> None:
    """No looser than by cells, which their values are within."""
    low, high = intervals(np.random.default_rng(9), 2_000)
    holds(function, low, high, points=23)
    x, by_cells, middle = Interval(low, high), Formula(text), low / 2 + high / 2
    mine, other = function.band(x), by_cells.band(x)
    looser = (mine.high - mine.low) - (other.high - other.low)
    assert looser.max() < 1e-12
    assert (looser < -1e-6).mean() > 0.1
    lines, others = function.lines(x), by_cells.lines(x)
    above = (each.high_slope * middle + each.high_offset for each in (lines, others))
    below = (each.low_slope * middle + each.low_offset for each in (others, lines))
    for one, two in (above, below):
        assert (one - two).max() < 1e-12
    points, image = by_cells.image(Interval(middle, middle)), function.image(x)
    assert (mine.slope * middle + mine.low <= points.high).all()
    assert (mine.slope * middle + mine.high >= points.low).all()
    assert ((image.low <= points.high) & (image.high >= points.low)).all()


MANY: dict[str, Function] = {
    **FUNCTIONS,
    **{text: Formula(text) for text in POSITIVE},
    "exp in closed form": Exp(),
    "inverse in closed form": Inverse(),
    "tanh in closed form": TANH,
    "sigmoid in closed form": SIGMOID,
}


@pytest.mark.large
@pytest.mark.parametrize("name", MANY)
def test_a_million_intervals(name: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        low, high = intervals(rng, 50_000)
        if name in POSITIVE or name.startswith("inverse"):
            low, high = np.abs(low) + 1e-3, np.abs(low) + 1e-3 + (high - low)
        holds(MANY[name], low, high, points=5)


ELEMENTARY = ("exp", "log", "log1p", "tanh", "sqrt", "float_power")


@pytest.mark.parametrize("name", ELEMENTARY)
def test_numpy_s_functions_are_as_near_as_is_taken(name: str) -> None:
    """Within 8 units in the last place of what they mean, by exact arithmetic."""
    mpmath = pytest.importorskip("mpmath")
    rng, of = np.random.default_rng(8), getattr(np, name)
    x = np.exp(rng.uniform(-40, 4.4, 1_000)) * (rng.choice([-1, 1], 1_000) if name in ("exp", "tanh") else 1)
    exponents = rng.choice([-2.5, -0.5, 0.5, 1.5, 7.25], 1_000)
    found = of(x, exponents) if name == "float_power" else of(x)
    with mpmath.workdps(60):
        exactly = getattr(mpmath, name, mpmath.power)
        for at, exponent, value in zip(x.tolist(), exponents.tolist(), found.tolist(), strict=True):
            given = (at, exponent) if name == "float_power" else (at,)
            meant = exactly(*map(mpmath.mpf, given))
            assert abs(mpmath.mpf(value) - meant) <= ULPS * abs(meant), given


def staircases(rng: np.random.Generator) -> list[Function]:
    kind = Affine(1.0, 100, 8)
    made: list[Function] = [
        Rescaled(np.array([multiplier]), Rescale(np.array([multiplier]), shift, kind, low, high))
        for multiplier, shift, low, high in (
            (3, 5, 0, 255),
            (77, 9, 100, 255),
            (1, 0, 0, 255),
            (9, 2, 90, 110),
        )
    ]
    made += [Table(rng.integers(-9, 10, 256).astype(np.float64), 100)]
    made += [Table(np.rint(100 * np.tanh(np.arange(-128, 128) / 40)), 128)]
    return made


@pytest.mark.parametrize("count", [200, pytest.param(170_000, marks=pytest.mark.large)])
def test_integers(count: int) -> None:
    """At every integer of the interval, exactly; of the six together a million intervals."""
    rng = np.random.default_rng(6)
    for function in staircases(rng):
        low = rng.integers(-100, 101, count).astype(np.float64)
        high = np.minimum(low + rng.choice([0, 1, 2, 9, 60], count), 120)
        x = Interval(np.minimum(low, high), high)
        lines, band, image = function.lines(x), function.band(x), function.image(x)
        for step in range(61):
            at = np.minimum(x.low + step, x.high)
            value = function.value(at)
            assert (lines.low_slope * at + lines.low_offset <= value).all()
            assert (lines.high_slope * at + lines.high_offset >= value).all()
            assert (band.slope * at + band.low <= value).all()
            assert (band.slope * at + band.high >= value).all()
            assert ((image.low <= value) & (value <= image.high)).all()
        single = x.low == x.high
        np.testing.assert_array_equal(image.low[single], function.value(x.low)[single])


def test_a_relu_has_its_own_lines() -> None:
    """The chord above; below the slope that leaves less: none where it is mostly off, else one."""
    lines = Clamp(0, np.inf).lines(
        Interval(np.array([-1.0, -3.0, 1.0, -2.0]), np.array([3.0, 1.0, 2.0, -1.0]))
    )
    np.testing.assert_allclose(lines.high_slope, [0.75, 0.25, 1, 0])
    np.testing.assert_allclose(lines.high_offset, [0.75, 0.75, 0, 0], atol=1e-12)
    np.testing.assert_allclose(lines.low_slope, [1, 0, 1, 0])
    np.testing.assert_allclose(lines.low_offset, [0, 0, 0, 0], atol=1e-12)


def test_a_relu_has_its_own_band() -> None:
    """The chord, and beside it through zero."""
    x = Interval(np.array([-1.0, -3.0, 1.0, -2.0]), np.array([3.0, 1.0, 2.0, -1.0]))
    band = Clamp(0, np.inf).band(x)
    np.testing.assert_allclose(band.slope, [0.75, 0.25, 1, 0])
    np.testing.assert_allclose(band.low, [0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(band.high, [0.75, 0.75, 0, 0], atol=1e-12)
