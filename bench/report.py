"""Rows, and the tables that show them."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

import cpuinfo
from rich.console import Console
from rich.table import Table

from bench.measure import usable_cores


@dataclass
class Row:
    """One measured figure. ``ratio`` is the peer's time over ours in the same run: above 1, ours is faster.

    ``spread`` is (slowest - fastest) / median over the repetitions; ``floor_s`` the field products that the
    algorithm must make times what one took in this run, split over the threads; ``peak_mb`` the peak resident
    set of a process that did nothing else, ``formula_mb`` what it should have been; ``stages`` how the time
    divides over the stages that ``prove`` reports.
    """

    name: str
    size: int
    threads: int
    scalars: str | None
    median_s: float
    spread: float
    peer: str | None = None
    ratio: float | None = None
    floor_s: float | None = None
    peak_mb: float | None = None
    formula_mb: float | None = None
    stages: dict[str, float] | None = None


def machine() -> str:
    """Processor, usable cores, system: what a figure means little without."""
    model = cpuinfo.get_cpu_info()["brand_raw"]
    return f"{model}, {usable_cores()} cores, {platform.system()} {platform.release()}"


class Report:
    """Collects rows, printing a table a topic as they come."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._console = Console(width=110)

    def show(self, title: str, rows: list[Row], *, unit: tuple[str, float] = ("ms", 1e3)) -> None:
        peers = {row.peer for row in rows if row.peer}
        table = Table(title=" vs ".join([title, *sorted(peers)]), title_justify="left")
        headings = ("name", "size", "threads", "scalars", unit[0], "spread", "vs peer", "vs floor", "peak MB")
        for heading in headings:
            table.add_column(heading, justify="left" if heading in ("name", "scalars") else "right")
        for row in rows:
            table.add_row(
                row.name,
                str(row.size),
                str(row.threads),
                row.scalars or "",
                f"{row.median_s * unit[1]:.4g}",
                f"{row.spread:.0%}",
                f"{row.ratio:.2f}x" if row.ratio else "",
                f"{row.median_s / row.floor_s:.2f}x" if row.floor_s else "",
                _megabytes(row),
            )
        self._console.print(table)
        self.rows += rows

    def show_stages(self, title: str, rows: list[Row]) -> None:
        """Where the time of rows that were shown goes."""
        names = list(dict.fromkeys(stage for row in rows for stage in row.stages or {}))
        table = Table(title=title, title_justify="left")
        table.add_column("scalars")
        for heading in ("threads", *names):
            table.add_column(heading.replace("_", " "), justify="right")  # so that it breaks
        for row in rows:
            if row.stages is not None:
                shares = [f"{row.stages.get(name, 0):.0%}" for name in names]
                table.add_row(row.scalars or "", str(row.threads), *shares)
        self._console.print(table)

    def write(self, path: Path | None) -> None:
        if path is not None:
            path.write_text(json.dumps([asdict(row) for row in self.rows], indent=1) + "\n")


def _megabytes(row: Row) -> str:
    if row.peak_mb is None:
        return ""
    return f"{row.peak_mb:.0f}" if row.formula_mb is None else f"{row.peak_mb:.0f} ({row.formula_mb:.0f})"
