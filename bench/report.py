"""Rows of benchmarks, the tables that show them, and the file that keeps them: one shape for all."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

import cpuinfo
from rich.console import Console
from rich.table import Table

from bench.measure import Timing
from zenserve.base.processors import usable_cores

FORMAT: Final = "zenserve-bench"
VERSION: Final = 1


@dataclass(frozen=True)
class Row:
    """One figure: the ``median`` of several in ``unit``, and ``spread``, (largest - smallest) / median.

    ``size``: of what the topic says. ``ratio``: ``peer``'s over ours in the same run, above 1 where ours is
    less; a peer's own row has its name and bears the ratio. ``floor``: what the algorithm takes at least, in
    ``unit``; ``peak_mb``: the peak resident set of a process that did nothing else, in 2^20 bytes. ``more``:
    what else the benchmark says of it, numbers and words; an inner mapping divides the figure.
    """

    name: str
    size: int | None
    median: float
    spread: float = 0.0
    unit: str = "s"
    threads: int | None = None
    peer: str | None = None
    ratio: float | None = None
    floor: float | None = None
    peak_mb: float | None = None
    more: dict[str, Any] = field(default_factory=dict)
    topic: str = ""

    @classmethod
    def of(cls, name: str, size: int | None, timing: Timing, **others: Any) -> Self:
        return cls(name, size, timing.median, timing.spread, ratio=timing.ratio, **others)


def rows_of(figure: Row, timings: dict[str, Timing]) -> list[Row]:
    """``figure`` with each one's time: ours first, then a row for each peer."""
    others = list(timings.items())[1:]
    theirs = [
        replace(figure, name=f"{peer}_{figure.name}", peer=peer, ratio=timing.ratio, floor=None)
        for peer, timing in others
    ]
    return [
        replace(row, median=timing.median, spread=timing.spread)
        for row, timing in zip([figure, *theirs], timings.values(), strict=True)
    ]


Cells = Mapping[str, Callable[[Row], str]]
"""The columns of a table: headings, and what stands beneath them."""

Lines = Sequence[tuple[str, ...]]


def machine() -> str:
    """Processor, usable cores, system: what a figure means little without."""
    model = cpuinfo.get_cpu_info()["brand_raw"]
    return f"{model}, {usable_cores()} cores, {platform.system()} {platform.release()}"


class Report:
    """The rows of one run of ``bench.{name}``, printed as they come."""

    def __init__(self, name: str, note: str = "", hardware: str = "") -> None:
        self.name = name
        self.date = datetime.now(UTC).date().isoformat()
        self.hardware = hardware or machine()
        self.rows: list[Row] = []
        self._console = Console(width=110, highlight=False)
        self.say("; ".join(filter(None, (self.hardware, note))))

    def say(self, line: str) -> None:
        self._console.print(line, markup=False)

    def show(self, topic: str, rows: Iterable[Row], cells: Cells | None = None, others: Lines = ()) -> None:
        """Keep the rows, and print them as a table, with ``others``' lines beneath: by default of all that
        they say."""
        found = [replace(row, topic=topic) for row in rows]
        self.rows += found
        headings, lines = lines_of(found, cells)
        table = Table(title=topic, title_justify="left")
        for heading, cells_below in zip(headings, zip(*lines, strict=True), strict=True):
            table.add_column(heading, justify="right" if numeric(cells_below) else "left")
        for line in [*lines, *others]:
            table.add_row(*line)
        self._console.print(table)
        for row in found:
            for kind, parts in row.more.items():
                if isinstance(parts, dict):
                    divided = ", ".join(f"{name} {value:.3g}" for name, value in parts.items())
                    self.say(f"  {row.name}, {number(row.size)}, {kind}: {divided}")

    def write(self, path: Path | None, others: Sequence[Row] = ()) -> None:
        """All rows that are kept, and ``others``."""
        if path is not None:
            path.write_text(to_json(self.name, self.date, self.hardware, [*self.rows, *others]))


def to_json(name: str, date: str, hardware: str, rows: Iterable[Row]) -> str:
    """A row a line; what a row leaves open is left out."""
    head = {"format": FORMAT, "version": VERSION, "bench": name, "date": date, "hardware": hardware}
    lines = [json.dumps({"name": row.name, "size": row.size} | _said(asdict(row))) for row in rows]
    return json.dumps(head)[:-1] + ', "rows": [\n' + ",\n".join(lines) + "\n]}\n"


def _said(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value not in (None, "", {})}


def read(path: Path) -> tuple[str, list[Row]]:
    """Hardware and rows of a file that ``Report.write`` has written; ``ValueError`` for any other."""
    content = json.loads(path.read_text())
    if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (FORMAT, VERSION):
        raise ValueError(f"{path} is no file of benchmarks of version {VERSION}: run the benchmark again")
    return content["hardware"], [Row(**row) for row in content["rows"]]


def lines_of(rows: Sequence[Row], cells: Cells | None = None) -> tuple[tuple[str, ...], Lines]:
    """Headings and lines; by default all columns in which any row says something."""
    chosen = cells or _all_cells(rows)
    lines = [tuple(cell(row) for cell in chosen.values()) for row in rows]
    if cells is not None:
        return tuple(chosen), lines
    kept = [index for index in range(len(chosen)) if any(line[index] for line in lines)]
    return tuple(list(chosen)[i] for i in kept), [tuple(line[i] for i in kept) for line in lines]


def _all_cells(rows: Sequence[Row]) -> Cells:
    of_more = {key: None for row in rows for key, value in row.more.items() if not isinstance(value, dict)}
    return {
        "name": lambda row: row.name,
        "size": lambda row: number(row.size),
        "threads": lambda row: number(row.threads),
        **{key.replace("_", " "): more(key) for key in of_more},
        "figure": figure,
        "spread": lambda row: f"{row.spread:.0%}" if row.spread else "",
        "beside": lambda row: row.peer or "",
        "ratio": ratio,
        "vs floor": lambda row: f"{row.median / row.floor:.2f}x" if row.floor else "",
        "peak MB": lambda row: number(row.peak_mb and round(row.peak_mb)),
    }


def more(key: str) -> Callable[[Row], str]:
    """A cell of what else a row says."""
    return lambda row: number(row.more.get(key))


def ratio(row: Row) -> str:
    return f"{row.ratio:.2f}x" if row.ratio else ""


def figure(row: Row) -> str:
    return duration(row.median) if row.unit == "s" else f"{number(row.median)} {row.unit}".strip()


def number(value: object) -> str:
    """Three digits of what is measured, all of what is counted, words as they are."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if 1000 <= abs(float(str(value))) < 1e6 else f"{value:.3g}"


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def numeric(cells: Iterable[str]) -> bool:
    """Whether a column is to be read by its digits."""
    return all(not cell or cell[0].isdigit() or cell[0] == "-" for cell in cells)
