"""How every benchmark times, compares and reports."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cpuinfo
from rich.console import Console
from rich.table import Table


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


@dataclass
class Timing:
    median: float
    spread: float
    ratio: float | None


def measure(
    ours: Callable[[], object], peer: Callable[[], object] | None = None, *, repetitions: int = 5
) -> Timing:
    """Median and spread after one warm-up; with a peer, both in turn and the median of the paired ratios."""
    ours()
    times, ratios = [], []
    for _ in range(repetitions):
        mine = seconds(ours)
        times.append(mine)
        if peer is not None:
            ratios.append(seconds(peer) / mine)
    median = statistics.median(times)
    spread = (max(times) - min(times)) / median
    return Timing(median, spread, statistics.median(ratios) if ratios else None)


def in_turn(contestants: Mapping[str, Callable[[], float]], *, repetitions: int = 5) -> dict[str, Timing]:
    """Each one's seconds, as it reports them, and the paired ratios of its time to the first one's.

    The first, ours, is warmed up.
    """
    ours = next(iter(contestants))
    contestants[ours]()
    rounds = [{name: run() for name, run in contestants.items()} for _ in range(repetitions)]
    timings = {}
    for name in contestants:
        times = [times[name] for times in rounds]
        median = statistics.median(times)
        ratio = None if name == ours else statistics.median(times[name] / times[ours] for times in rounds)
        timings[name] = Timing(median, (max(times) - min(times)) / median, ratio)
    return timings


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def alone(work: Callable[..., Any], *arguments: object) -> tuple[Any, float]:
    """Run ``work`` in a fresh process: its result and that process' peak resident set in MB."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        result: tuple[Any, float] = pool.apply(_with_peak, (work, arguments))
        return result


def _with_peak(work: Callable[..., Any], arguments: tuple[object, ...]) -> tuple[Any, float]:
    result = work(*arguments)
    # Not getrusage: its maximum is inherited from the process that forked this one.
    status = Path("/proc/self/status").read_text()
    peak_kb = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return result, int(peak_kb) / 1024


def machine() -> str:
    """Processor, usable cores, system: what a figure means little without."""
    model = cpuinfo.get_cpu_info()["brand_raw"]
    return f"{model}, {usable_cores()} cores, {platform.system()} {platform.release()}"


def threads_to_measure() -> tuple[int, ...]:
    """One, and all that this process may use."""
    return tuple(sorted({1, usable_cores()}))


def usable_cores() -> int:
    return len(os.sched_getaffinity(0))


def arguments(description: str | None) -> argparse.Namespace:
    return argument_parser(description).parse_args()


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """What every benchmark takes."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    parser.add_argument("--quick", action="store_true", help="smallest sizes, one repetition: does it run?")
    return parser


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
