from __future__ import annotations

import itertools
import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zenserve.circuits.svg import bar_chart, descent, line_chart

SVG = "{http://www.w3.org/2000/svg}"
values = st.floats(0, 1e9, allow_subnormal=False)


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314  made here


@given(st.lists(st.tuples(values, values), min_size=1, max_size=8), st.booleans())
def test_every_point_lies_on_the_page(points: list[tuple[float, float]], logarithmic: bool) -> None:
    if logarithmic:
        points = [(x + 1e-3, y + 1e-3) for x, y in points]
    chart = parsed(line_chart("t", "x", "y", {"a": points, "b": points[:1]}, logarithmic=logarithmic))
    marks = chart.findall(f"{SVG}circle")
    assert len(marks) == len(points) + 1
    for mark in marks:
        assert 0 <= float(mark.attrib["cx"]) <= 720
        assert 0 <= float(mark.attrib["cy"]) <= 420


@given(st.lists(values, max_size=30))
def test_bars_are_as_high_as_their_values(heights: list[float]) -> None:
    chart = parsed(bar_chart("t", "y", [f"layer {i}" for i in range(len(heights))], {"a": heights}))
    bars = [bar for bar in chart.findall(f"{SVG}rect") if "x" in bar.attrib][: len(heights)]
    drawn = [float(bar.attrib["height"]) for bar in bars]
    assert len(drawn) == len(heights)
    largest = max(zip(heights, drawn, strict=True), default=(0.0, 0.0))
    for value, height in zip(heights, drawn, strict=True):
        assert height >= 0
        assert math.isclose(height, largest[1] * value / (largest[0] or 1), abs_tol=0.11)


def test_linear_growth_has_slope_one_on_logarithmic_axes() -> None:
    chart = parsed(line_chart("t", "x", "y", {"a": [(10**k, 10**k) for k in range(4)]}, logarithmic=True))
    places = [(float(m.attrib["cx"]), float(m.attrib["cy"])) for m in chart.findall(f"{SVG}circle")]
    slopes = {round((b[1] - a[1]) / (b[0] - a[0]), 2) for a, b in itertools.pairwise(places)}
    assert len(slopes) == 1


def test_what_is_no_longer_above_zero_is_red() -> None:
    chart = parsed(descent("x", "y", [[(0, 4.0), (1, 1.0), (2, -3.0)], [(0, 2.0)]], 1))
    marks = chart.findall(f"{SVG}circle")
    colours = [mark.attrib["fill"] for mark in marks]
    assert colours[0] == colours[1] == colours[3] != colours[2]
    zero, radius = (line.attrib["d"] for line in chart.findall(f"{SVG}path"))
    assert (
        float(marks[1].attrib["cy"]) < float(zero.split()[1].partition("H")[0]) < float(marks[2].attrib["cy"])
    )
    assert radius.startswith(f"M{marks[1].attrib['cx']} ")


@pytest.mark.parametrize("text", ["<script>", "a & b", '"quoted"'])
def test_names_are_escaped(text: str) -> None:
    chart = parsed(line_chart(text, text, text, {text: [(1, 2), (2, 3)]}))
    assert text in [element.text for element in chart.iter(f"{SVG}text")]
    assert chart.find(f".//{SVG}script") is None


def test_bars_on_a_logarithmic_axis_are_as_high_as_their_powers_of_ten() -> None:
    chart = parsed(bar_chart("t", "y", ["a"], {"x": [100.0], "y": [10_000.0]}, logarithmic=True))
    low, high = [float(bar.attrib["height"]) for bar in chart.findall(f"{SVG}rect") if "x" in bar.attrib][:2]
    assert low == 0 < high
    assert {"100", "1000", "10000"} <= {text.text for text in chart.iter(f"{SVG}text")}


def test_legends_and_long_names_stay_on_the_page() -> None:
    names = [f"a rather long name of a network, {index}" for index in range(6)]
    chart = parsed(bar_chart("t", "y", names, {f"level {index} of many": [1.0] * 6 for index in range(10)}))
    _, _, width, height = map(float, chart.attrib["viewBox"].split())
    squares = [bar for bar in chart.findall(f"{SVG}rect") if bar.attrib.get("width") == "10"]
    assert len(squares) == 10
    assert len({square.attrib["y"] for square in squares}) > 1
    for square in squares:
        assert float(square.attrib["x"]) < width
        assert float(square.attrib["y"]) + 10 <= height
    assert sum("rotate" in text.attrib.get("transform", "") for text in chart.iter(f"{SVG}text")) == 6
