"""Tables as text, Markdown, CSV and JSON. An empty cell is a dash, in CSV and JSON nothing."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

Cell = str | int | float | None
"""Integers are counts, floats ratios or seconds; None is what nobody has reported or counted."""

_NOTHING = "–"
_WIDTH, _UNLIMITED, _NARROWEST = 110, 1000, 8


@dataclass(frozen=True)
class Table:
    """``note`` says what the columns are. ``chart``: SVG, where a picture helps."""

    name: str
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    chart: str | None = None


def text(table: Table) -> str:
    """For terminals."""
    rows = [list(map(_shown, row)) for row in table.rows]
    drawn = RichTable()
    for index, (column, right) in enumerate(zip(table.columns, _numeric(table), strict=True)):
        # Headings are cut to the width of what stands under them, which is never cut.
        width = max(len(row[index]) for row in rows)
        heading = "\n".join(textwrap.wrap(column, max(_NARROWEST, width), break_long_words=False))
        drawn.add_column(heading, justify="right" if right else "left", no_wrap=True)
    for row in rows:
        drawn.add_row(*row)
    stream = io.StringIO()
    Console(file=stream, width=_UNLIMITED, highlight=False, markup=False).print(drawn)
    return f"{table.name}: {table.title}\n{stream.getvalue()}{textwrap.fill(table.note, _WIDTH)}\n"


def markdown(tables: Iterable[Table], command: str) -> str:
    """A document of all tables; charts are linked as NAME.svg."""
    parts = [f"# The papers' tables\n\nPrinted by `{command}`; what they compare is in docs/papers.md.\n"]
    for table in tables:
        lines = [f"## {table.name}: {table.title}", "", table.note, ""]
        lines.append(_bar(table.columns))
        lines.append(_bar("---:" if right else "---" for right in _numeric(table)))
        lines += [_bar(map(_shown, row)) for row in table.rows]
        if table.chart is not None:
            lines += ["", f"![{table.title}]({table.name}.svg)"]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def comma_separated(table: Table) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(map(_rounded, table.rows))
    return stream.getvalue()


def document(table: Table) -> dict[str, Any]:
    """For JSON: each row as an object with the columns' names."""
    rows = [dict(zip(table.columns, _rounded(row), strict=True)) for row in table.rows]
    return {"name": table.name, "title": table.title, "note": table.note, "rows": rows}


def _numeric(table: Table) -> list[bool]:
    return [not any(isinstance(row[index], str) for row in table.rows) for index in range(len(table.columns))]


def _shown(cell: Cell) -> str:
    if cell is None:
        return _NOTHING
    if isinstance(cell, float):
        return f"{cell:,.0f}" if cell >= 1000 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def _rounded(row: tuple[Cell, ...]) -> list[Cell]:
    return [float(f"{cell:.4g}") if isinstance(cell, float) else cell for cell in row]


def _bar(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
