"""Charts as SVG text, for reports: lines over numbers, bars over names, and, in the colours of the page that
they stand on, histograms, pairs, tables of counts and pictures of numbers. Nothing but strings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 20, 44, 64
_COLOURS = (
    *("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f"),
    *("#bcbd22", "#e377c2"),
)
_LEGEND_LINE = 16
_LETTER = 6.6
# Of charts in the colours of a page, light or dark.
_WIDE, _HIGH, _SIDE = 240, 48, 400
_FLOATS, _INTEGERS, _CUT = "#98a09c", "#1f8a9e", "#d1495b"
_DOT = f'fill="{_INTEGERS}" fill-opacity="0.6"'
# How far names go down that are turned by 35 degrees.
_SLOPE = 0.57


def line_chart(title: str, x: str, y: str, series: Mapping[str, Points], *, logarithmic: bool = False) -> str:
    """A line for each of ``series``, a mark at each point; ``x`` and ``y`` say what the axes mean.

    ``logarithmic``: both axes. Then all values must be positive, and a line of slope one is linear growth.
    """
    points = [point for line in series.values() for point in line]
    across = _Axis([point[0] for point in points], _LEFT, _WIDTH - _RIGHT, logarithmic)
    up = _Axis([point[1] for point in points], _HEIGHT - _BOTTOM, _TOP, logarithmic)
    parts = [*_grid(across, up), *_labels(title, x, y)]
    for colour, line in zip(_colours(len(series)), series.values(), strict=True):
        places = [(across.place(a), up.place(b)) for a, b in line]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"/>' for a, b in places]
    return _svg(parts, list(series))


def bar_chart(
    title: str,
    y: str,
    names: Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    logarithmic: bool = False,
) -> str:
    """Over each of ``names`` a bar for each of ``series``, whose values are at least 0.

    ``logarithmic``: the upward axis. Then all values must be positive, and bars stand on a power of ten.
    """
    heights = [value for values in series.values() for value in values]
    lowest = [] if logarithmic else [0.0]
    up = _Axis([*lowest, *heights], _HEIGHT - _BOTTOM, _TOP, logarithmic)
    floor = up.place(up.ticks[0])
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(names))
    width = 0.8 * step / max(1, len(series))
    parts = [*_grid(None, up), *_labels(title, "", y)]
    for index, (colour, values) in enumerate(zip(_colours(len(series)), series.values(), strict=True)):
        for place, value in enumerate(values):
            left, top = _LEFT + step * (place + 0.1) + width * index, up.place(value)
            size = f'width="{width:.1f}" height="{floor - top:.1f}"'
            parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" {size} fill="{colour}"/>')
    longest = max((_LETTER * len(name) for name in names), default=0.0)
    turned = longest > step
    for place, name in enumerate(names):
        parts.append(_text(_LEFT + step * (place + 0.5), _HEIGHT - _BOTTOM + 14, name, turned=turned))
    return _svg(parts, list(series), below=int(_SLOPE * longest) if turned else 0)


def histograms(
    start: float, width: float, floats: Sequence[int], integers: Sequence[int], ends: tuple[float, float]
) -> str:
    """Return a chart of the number of values in each bin from ``start`` on: of floats as bars, of integers as
    a line. Values beyond the ``ends`` of the integers are red. Heights are logarithms."""
    most = math.log1p(max((*floats, *integers, 1)))
    step = _WIDE / max(1, len(floats))

    def height(count: int) -> float:
        return _HIGH * math.log1p(count) / most

    parts = []
    for index, count in enumerate(floats):
        middle = start + width * (index + 0.5)
        cut = count > 0 and not ends[0] - width / 2 <= middle <= ends[1] + width / 2
        parts.append(
            f'<rect x="{step * index:.1f}" y="{_HIGH - height(count):.1f}" width="{step:.1f}" '
            f'height="{height(count):.1f}" fill="{_CUT if cut else _FLOATS}"/>'
        )
    tops = [(index, _HIGH - height(count)) for index, count in enumerate(integers)]
    places = [(step * (index + side), top) for index, top in tops for side in (0, 1)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{_INTEGERS}" stroke-width="1.5"/>')
    parts.append(f'<path d="M0 {_HIGH}H{_WIDE}" stroke="currentColor" stroke-opacity="0.4"/>')
    return _plain(parts, _WIDE, _HIGH + 1)


def scatter(x: str, y: str, points: Points) -> str:
    """A mark for each pair, and the line on which both are the same."""
    values = [value for point in points for value in point]
    across, up = _square(values, values)
    parts = [*_faint_grid(across, up, x, y)]
    low, high = up.ticks[0], up.ticks[-1]
    parts.append(_faint(across.place(low), up.place(low), across.place(high), up.place(high)))
    parts += [
        f'<circle cx="{across.place(a):.1f}" cy="{up.place(b):.1f}" r="2.5" {_DOT}/>' for a, b in points
    ]
    return _plain(parts, _SIDE, _SIDE)


def descent(x: str, y: str, lines: Sequence[Points], at: float) -> str:
    """Lines of ascending points, each with a mark; zero, and what is ``at`` across, are dashed. Marks of what
    is not above zero are red."""
    points = [point for line in lines for point in line]
    across, up = _square([*(a for a, _ in points), at], [b for _, b in points])
    left, right, bottom, top = _LEFT, _SIDE - _RIGHT, _SIDE - _BOTTOM, _RIGHT
    parts = [*_faint_grid(across, up, x, y)]
    for ends in (f"M{left} {up.place(0):.1f}H{right}", f"M{across.place(at):.1f} {bottom}V{top}"):
        parts.append(f'<path d="{ends}" stroke="currentColor" stroke-opacity="0.6" stroke-dasharray="5 4"/>')
    for line in lines:
        path = " ".join(f"{across.place(a):.1f},{up.place(b):.1f}" for a, b in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{_INTEGERS}" stroke-width="1.5"/>')
    for a, b in points:
        place, colour = f'cx="{across.place(a):.1f}" cy="{up.place(b):.1f}"', _INTEGERS if b > 0 else _CUT
        parts.append(f'<circle {place} r="3" fill="{colour}"/>')
    return _plain(parts, _SIDE, _SIDE)


def _square(x: Sequence[float], y: Sequence[float]) -> tuple[_Axis, _Axis]:
    return _Axis(x, _LEFT, _SIDE - _RIGHT), _Axis(y, _SIDE - _BOTTOM, _RIGHT)


def _faint_grid(across: _Axis, up: _Axis, x: str, y: str) -> Iterable[str]:
    """Of a square chart, with what its axes mean."""
    for tick in up.ticks:
        height = up.place(tick)
        yield _faint(_LEFT, height, _SIDE - _RIGHT, height)
        yield _text(_LEFT - 8, height + 4, _number(tick), anchor="end")
    for tick in across.ticks:
        place = across.place(tick)
        yield _faint(place, _RIGHT, place, _SIDE - _BOTTOM)
        yield _text(place, _SIDE - _BOTTOM + 16, _number(tick))
    yield _text((_LEFT + _SIDE - _RIGHT) / 2, _SIDE - 18, x)
    turned = f"translate(14 {(_SIDE - _BOTTOM) / 2}) rotate(-90)"
    yield f'<g transform="{turned}">{_text(0, 0, y)}</g>'


def matrix(rows_are: str, columns_are: str, rows: Sequence[Sequence[int]]) -> str:
    """A table of counts, each shaded by its share of its row."""
    size = (_SIDE - _LEFT - _RIGHT) / max(1, len(rows))
    parts = []
    for down, row in enumerate(rows):
        for right, count in enumerate(row):
            x, y = _LEFT + size * right, _RIGHT + size * down
            opacity = 0.2 + 0.6 * count / sum(row) if count else 0
            colour = _INTEGERS if down == right else _CUT
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{size:.1f}" height="{size:.1f}" fill="{colour}" '
                f'fill-opacity="{opacity:.2f}" stroke="currentColor" stroke-opacity="0.15"/>'
            )
            if count and size > 18:
                parts.append(_text(x + size / 2, y + size / 2 + 4, str(count), size=11))
        middle = size * (down + 0.5)
        if size > 11 or down % 5 == 0:
            parts.append(_text(_LEFT - 8, _RIGHT + middle + 4, str(down), anchor="end"))
            parts.append(_text(_LEFT + middle, _SIDE - _LEFT + 16, str(down)))
    parts.append(_text((_LEFT + _SIDE - _RIGHT) / 2, _SIDE - _LEFT + 38, columns_are))
    parts.append(
        f'<g transform="translate(14 {(_SIDE - _LEFT) / 2}) rotate(-90)">{_text(0, 0, rows_are)}</g>'
    )
    return _plain(parts, _SIDE, _SIDE - _LEFT + 46)


def heat(rows: Sequence[Sequence[float]]) -> str:
    """A picture of numbers of at least 0: the darker, the larger."""
    wide = max(map(len, rows), default=1)
    size, most = _SIDE / max(wide, len(rows), 1), max((max(row) for row in rows), default=0.0) or 1.0
    parts = [
        f'<rect x="{size * right:.2f}" y="{size * down:.2f}" width="{size:.2f}" height="{size:.2f}" '
        f'fill="{_CUT}" fill-opacity="{value / most:.2f}"/>'
        for down, row in enumerate(rows)
        for right, value in enumerate(row)
        if value >= most / 200
    ]
    frame = (
        f'<rect width="{size * wide:.2f}" height="{size * len(rows):.2f}" fill="none" stroke="currentColor"/>'
    )
    return _plain([*parts, frame], size * wide, size * len(rows))


class _Axis:
    """The scale of an axis, which places its values from ``start`` to ``end`` on the page, and its ticks."""

    def __init__(self, values: Sequence[float], start: float, end: float, logarithmic: bool = False) -> None:
        self._start, self._end, self._logarithmic = start, end, logarithmic
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        self.ticks = _powers(low, high) if logarithmic else _steps(min(0.0, low), high)
        self._low, self._high = self._scaled(self.ticks[0]), self._scaled(self.ticks[-1])

    def place(self, value: float) -> float:
        share = (self._scaled(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self._logarithmic else value


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten around the values."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def _steps(low: float, high: float) -> list[float]:
    """About five round numbers around the values."""
    span = (high - low) or 1.0
    unit = 10.0 ** math.floor(math.log10(span / 5))
    step = next(unit * factor for factor in (1, 2, 5, 10) if span / (unit * factor) <= 5)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [step * index for index in range(first, max(last, first + 1) + 1)]


def _grid(across: _Axis | None, up: _Axis) -> Iterable[str]:
    for tick in up.ticks:
        height = up.place(tick)
        yield _line(_LEFT, height, _WIDTH - _RIGHT, height)
        yield _text(_LEFT - 8, height + 4, _number(tick), anchor="end")
    for tick in across.ticks if across else ():
        place = across.place(tick) if across else 0.0
        yield _line(place, _TOP, place, _HEIGHT - _BOTTOM)
        yield _text(place, _HEIGHT - _BOTTOM + 16, _number(tick))


def _labels(title: str, x: str, y: str) -> Iterable[str]:
    yield _text(_WIDTH / 2, 20, title, size=15)
    yield _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 26, x)
    yield f'<g transform="translate(16 {_HEIGHT / 2}) rotate(-90)">{_text(0, 0, y)}</g>'


def _legend(names: Sequence[str], top: int) -> tuple[list[str], int]:
    """Names and colours side by side, on as many lines as they need from ``top``, and where they end."""
    parts, left = [], float(_LEFT)
    for colour, name in zip(_colours(len(names)), names, strict=True):
        width = 34 + _LETTER * len(name)
        if left > _LEFT and left + width > _WIDTH:
            left, top = float(_LEFT), top + _LEGEND_LINE
        parts.append(f'<rect x="{left:.1f}" y="{top}" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(left + 14, top + 9, name, anchor="start"))
        left += width
    return parts, top + _LEGEND_LINE


def _colours(count: int) -> list[str]:
    return [_COLOURS[index % len(_COLOURS)] for index in range(count)]


def _number(value: float) -> str:
    return f"{value:.6g}" if 1e-4 <= abs(value) < 1e6 or value == 0 else f"{value:.0e}"


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _text(
    x: float, y: float, text: str, *, anchor: str = "middle", size: int = 12, turned: bool = False
) -> str:
    turn = f' transform="rotate(-35 {x:.1f} {y:.1f})"' if turned else ""
    anchor = "end" if turned else anchor
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{turn}>{escape(text)}</text>'
    )


def _svg(parts: Iterable[str], names: Sequence[str], below: int = 0) -> str:
    """``below``: what the axis needs beyond its own height."""
    legend, height = _legend(names, _HEIGHT - _LEGEND_LINE + below)
    page = f'viewBox="0 0 {_WIDTH} {height}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {page} font-family="sans-serif">'
    background = f'<rect width="{_WIDTH}" height="{height}" fill="white"/>'
    return "\n".join([opening, background, *parts, *legend, "</svg>"]) + "\n"


def _faint(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" '
        'stroke-opacity="0.18"/>'
    )


def _plain(parts: Iterable[str], width: float, height: float) -> str:
    """A chart without a background, whose text has the colour of the text around it."""
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        'font-family="sans-serif" fill="currentColor">'
    )
    return "\n".join([opening, *parts, "</svg>"]) + "\n"
