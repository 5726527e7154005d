"""Each function's image and lines hold on many intervals, by interval arithmetic: narrow and wide, a single
number, and as far as 88."""

from __future__ import annotations

import numpy as np
import pytest

from bounds.arrays import Interval
from bounds.convex import Exp, Inverse
from bounds.curves import Formula
from bounds.elementwise import Bend, Clamp, Function, Rescaled, Table
from circuits.graphs.types import Affine, FloatArray, Rescale

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


@pytest.mark.large
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_million_intervals(name: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        holds(FUNCTIONS[name], *intervals(rng, 2_000), points=25)


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


def test_integers() -> None:
    """At every integer of the interval, exactly."""
    rng = np.random.default_rng(6)
    for function in staircases(rng):
        low = rng.integers(-100, 101, 200).astype(np.float64)
        high = np.minimum(low + rng.choice([0, 1, 2, 9, 60], 200), 120)
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
