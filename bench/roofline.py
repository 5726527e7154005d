"""How far from the card's limits a kernel is: its products, its bytes, what they take at least, its time.

Times are those of events on the device around a call from Python, so launches count where the device waits
for them; ``replayed`` leaves them out. Needs numpy and CuPy alone.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from bench.measure import in_turn
from gpu.device import Device
from gpu.modules import Module

Field = Literal["fr", "fp", "fp2"]

_COLUMNS = "{:<34} {:>9} {:<8} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>8}"
_HEADINGS = ("", "size", "scalars", "products", "MB", "floor", "time", "spread", "floors", "vs peer")


@dataclass(frozen=True)
class Cost:
    """What an algorithm does: bytes that it reads and writes, and products in one field."""

    bytes: float
    field: Field | None = None
    products: float = 0


@dataclass(frozen=True)
class Row:
    """One measured figure. ``floor_s``: the products or the bytes at the card's measured rates, the longer.

    ``spread`` is (slowest - fastest) / median. A peer has rows of its own, where ``ratio`` is its time over
    ours in the same run, or a published time over ours: above 1, ours is faster. ``stages`` are shares of the
    time as the host sees it, ``kernels`` seconds of each kernel by itself; ``memory_mb`` is what stays on the
    device, ``peak_mb`` the most that this process ever held.
    """

    name: str
    size: int
    median_s: float
    spread: float
    scalars: str | None = None
    field: Field | None = None
    products: float | None = None
    bytes: float | None = None
    floor_s: float | None = None
    peer: str | None = None
    ratio: float | None = None
    stages: dict[str, float] | None = None
    kernels: dict[str, float] | None = None
    memory_mb: float | None = None
    peak_mb: float | None = None


@dataclass
class Roofline:
    """Measures, prints and keeps rows. ``rates``: products a second by field, and "copy", bytes a second."""

    device: Device
    repetitions: int
    rates: dict[str, float] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def topic(self, title: str) -> None:
        print(f"\n{title}\n{_COLUMNS.format(*_HEADINGS)}", flush=True)

    def measure(
        self,
        name: str,
        size: int,
        ours: Callable[[], float],
        *,
        cost: Cost | None = None,
        scalars: str | None = None,
        peers: Mapping[str, Callable[[], float]] | None = None,
        kernels: dict[str, float] | None = None,
    ) -> Row:
        """Medians of the seconds that ``ours`` and the peers return, asked in turn. The row that is ours."""
        timings = in_turn({"": ours, **(peers or {})}, repetitions=self.repetitions)
        row = Row(name, size, timings[""].median, timings[""].spread, scalars, kernels=kernels)
        if cost is not None:
            row = replace(row, bytes=cost.bytes, floor_s=self.floor(cost))
        if cost is not None and cost.field:
            row = replace(row, field=cost.field, products=cost.products)
        self.add(row)
        for peer in peers or {}:
            theirs = Row(f"{peer}_{name}", size, timings[peer].median, timings[peer].spread, scalars)
            self.add(replace(theirs, peer=peer, ratio=timings[peer].ratio))
        return row

    def published(self, ours: Row, peer: str, seconds: float) -> None:
        """A row for what others have written about such a kernel on another card."""
        name, ratio = f"{peer}_{ours.name}", seconds / ours.median_s
        self.add(Row(name, ours.size, seconds, 0, peer=peer, ratio=ratio))

    def floor(self, cost: Cost) -> float:
        computing = cost.products / self.rates[cost.field] if cost.field else 0.0
        return max(computing, cost.bytes / self.rates["copy"])

    def add(self, row: Row) -> None:
        self.rows.append(row)
        cells = (
            row.name,
            str(row.size),
            row.scalars or "",
            _count(row.products),
            _count(row.bytes and row.bytes / 1e6),
            duration(row.floor_s),
            duration(row.median_s),
            f"{row.spread:.0%}",
            f"{row.median_s / row.floor_s:.2f}" if row.floor_s else "",
            f"{row.ratio:.2f}x" if row.ratio else "",
        )
        print(_COLUMNS.format(*cells).rstrip(), flush=True)

    def write(self, path: Path | None) -> None:
        if path is not None:
            rows = [asdict(row) for row in self.rows]
            path.write_text(json.dumps({**machine(self.device), "rows": rows}, indent=1) + "\n")


def machine(device: Device) -> dict[str, str]:
    """What a figure means little without."""
    try:
        cupy = metadata.version("cupy-cuda13x")
    except metadata.PackageNotFoundError:
        cupy = "unknown"
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "card": device.name(),
        "driver": _driver(Path("/proc/driver/nvidia/version")),
        "cupy": cupy,
    }


def _driver(path: Path) -> str:
    found = re.search(r"\s(\d+\.\d+[.\d]*)\s", path.read_text()) if path.exists() else None
    return found[1] if found else "unknown"


def profile(call: Callable[[], object]) -> dict[str, float]:
    """Seconds of each kernel that ``call`` launches, one at a time, the longest first."""
    taken: dict[str, float] = defaultdict(float)
    launch = Module.launch

    def measured(module: Module, kernel: str, *arguments: Any, **options: Any) -> None:
        run = partial(launch, module, kernel, *arguments, **options)
        taken[kernel] += module.device.milliseconds(run) / 1000

    Module.launch = measured  # type: ignore[method-assign, assignment]
    try:
        call()
    finally:
        Module.launch = launch  # type: ignore[method-assign]
    return dict(sorted(taken.items(), key=lambda item: -item[1]))


def listed(kernels: Mapping[str, float]) -> str:
    """The kernels that take the most, for a line."""
    whole, largest = sum(kernels.values()), list(kernels.items())[:8]
    return f"{duration(whole)} in kernels: " + ", ".join(f"{name} {duration(s)}" for name, s in largest)


def on_device(device: Device, call: Callable[[], object], count: int = 1) -> Callable[[], float]:
    """Seconds of one of ``count`` calls, one after the other."""
    return lambda: device.milliseconds(_repeated(call, count)) / 1000 / count


def replayed(device: Device, call: Callable[[], object], count: int) -> Callable[[], float]:
    """The same, where all launches come from one graph: see ``Device.recorded``."""
    replay = device.recorded(_repeated(call, count))
    return lambda: device.milliseconds(replay) / 1000 / count


def _repeated(call: Callable[[], object], count: int) -> Callable[[], None]:
    def calls() -> None:
        for _ in range(count):
            call()

    return calls


def duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds * 1e6:.4g} us"


def _count(number: float | None) -> str:
    if number is None:
        return ""
    for unit, least in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= least:
            return f"{number / least:.3g} {unit}"
    return f"{number:.3g}"
