"""Formats of times, sizes and names on the dashboard's pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from markupsafe import Markup, escape

from zenserve.circuits.comparison.differences import sentence

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_SHOWN_HEX = 8


def exact(moment: datetime) -> str:
    """``2026-11-21 14:03:59 UTC``."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def duration(seconds: float | None) -> str:
    """In two units at most: ``0.42 s``, ``7 min 05 s``, ``3 h 20 min``, ``2 d 4 h``."""
    if seconds is None:
        return "–"
    if seconds < 0.001:
        return "0 s" if seconds <= 0 else "< 1 ms"
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.2f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, left = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {left:02} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02} min"
    return f"{hours // 24} d {hours % 24} h"


def estimated(seconds: float) -> str:
    """An estimate, which holds within a factor, with no more digits than that: ``less than a second``,
    ``about 8 s``, ``about 4 min``.
    """
    if seconds < 1:
        return "less than a second"
    if seconds < 60:
        return f"about {float(f'{seconds:.1g}' if seconds < 10 else f'{seconds:.2g}'):.0f} s"
    return f"about {span(round(seconds))}"


def span(seconds: float) -> str:
    """In one unit, for what is long ago or far away: ``12 s``, ``4 min``, ``3 h``, ``5 d``."""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size or (unit != "d" and seconds >= size):
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def relative(moment: datetime, now: datetime) -> str:
    seconds = (now - moment).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"{span(seconds)} ago" if seconds > 0 else f"in {span(-seconds)}"


def size(count: int | None) -> str:
    """``1.5 GiB``."""
    if count is None:
        return "–"
    left = float(count)
    for unit in _UNITS:
        if left < 1024 or unit == _UNITS[-1]:
            return f"{left:.0f} {unit}" if unit == "B" or left >= 100 else f"{left:.1f} {unit}"
        left /= 1024
    raise AssertionError


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:,}"


def short(row_id: str) -> str:
    """As much of an id or a hash as tells it from others on a page."""
    prefix, mark, rest = row_id.rpartition("_")
    return row_id if len(rest) <= _SHOWN_HEX else f"{prefix}{mark}{rest[:_SHOWN_HEX]}…"


def words(name: str) -> str:
    """A stage's name as it is read."""
    return name.replace("_", " ")


def rounded(text: str) -> str:
    """A sentence with no more digits than anybody reads."""
    return re.sub(r"\d+\.\d{5,}(e-?\d+)?", lambda found: f"{float(found[0]):.4g}", text)


def code(text: str) -> Markup:
    """A sentence in which `commands` stand between backticks."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704  escaped before


def told(value: Any) -> str:
    """Return the values of a request as text: those of several inputs or outputs by their names."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {told(each)}" for name, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def difference(value: Mapping[str, Any]) -> str:
    """Return the difference between answers that were compared, as a sentence."""
    return sentence(value)


FILTERS = (
    exact, duration, estimated, span, relative, size, number, short, words, rounded, code, told, difference,
)  # fmt: skip
