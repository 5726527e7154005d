"""How far from the card's limits a kernel is: its products, its bytes, what they take at least, its time.

Times are those of events on the device around a call from Python, so launches count where the device waits
for them; ``replayed`` leaves them out.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from bench.measure import argument_parser, in_turn
from bench.report import Report, Row
from zenserve.gpu.device import Device
from zenserve.gpu.modules import Module

Field = Literal["fr", "fp", "fp2", "hash"]
"""Of which products are counted; of a hash its compressions of 64 bytes."""


@dataclass(frozen=True)
class Cost:
    """What an algorithm does: bytes that it reads and writes, and products in one field."""

    bytes: float
    field: Field | None = None
    products: float = 0


@dataclass
class Roofline:
    """Measures rows for a report. ``rates``: products a second by field, and "copy", bytes a second.

    What a row says of a kernel: its "products" in a "field", its "bytes", and as its floor what these take at
    the card's measured rates, the longer; "stages" are shares of the time as the host sees it, "kernels"
    seconds of each kernel by itself; "memory_mb" is what stays on the device, "device_mb" the most that this
    process ever held there.
    """

    device: Device
    repetitions: int
    report: Report
    rates: dict[str, float] = field(default_factory=dict)

    def measure(
        self,
        name: str,
        size: int,
        ours: Callable[[], float],
        *,
        cost: Cost | None = None,
        peers: Mapping[str, Callable[[], float]] | None = None,
        **more: object,
    ) -> list[Row]:
        """Medians of the seconds that ``ours`` and the peers return, asked in turn: our row, then theirs."""
        timings = in_turn({"": ours, **(peers or {})}, repetitions=self.repetitions)
        said = more if cost is None else {**more, "bytes": cost.bytes}
        if cost is not None and cost.field:
            said |= {"field": cost.field, "products": cost.products}
        rows = [Row.of(name, size, timings[""], floor=cost and self.floor(cost), more=said)]
        same = {"scalars": more["scalars"]} if "scalars" in more else {}
        for peer in peers or {}:
            rows.append(Row.of(f"{peer}_{name}", size, timings[peer], peer=peer, more=same))
        return rows

    def floor(self, cost: Cost) -> float:
        computing = cost.products / self.rates[cost.field] if cost.field else 0.0
        return max(computing, cost.bytes / self.rates["copy"])


def published(ours: Row, peer: str, seconds: float) -> Row:
    """What others have written about such a kernel on another card."""
    ratio = seconds / ours.median
    return Row(f"{peer}_{ours.name}", ours.size, seconds, peer=peer, ratio=ratio)


def card_argument_parser(description: str | None) -> argparse.ArgumentParser:
    """What every benchmark of a card takes."""
    parser = argument_parser(description)
    parser.add_argument("--device", type=int, default=0, help="which GPU, as CUDA counts them")
    return parser


def machine(device: Device) -> str:
    """What a figure means little without."""
    try:
        cupy = metadata.version("cupy-cuda13x")
    except metadata.PackageNotFoundError:
        cupy = "unknown"
    return f"{device.name()}, driver {_driver(Path('/proc/driver/nvidia/version'))}, cupy {cupy}"


def _driver(path: Path) -> str:
    found = re.search(r"\s(\d+\.\d+[.\d]*)\s", path.read_text()) if path.exists() else None
    return found[1] if found else "unknown"


def profile(call: Callable[[], object]) -> dict[str, float]:
    """Seconds of each kernel that ``call`` launches, one at a time and not recorded from now on, the longest
    first."""
    taken: dict[str, float] = defaultdict(float)
    launch, recorded = Module.launch, Device.recorded

    def measured(module: Module, kernel: str, *arguments: Any, **options: Any) -> None:
        run = partial(launch, module, kernel, *arguments, **options)
        taken[kernel] += module.device.milliseconds(run) / 1000

    Module.launch = measured  # type: ignore[method-assign, assignment]
    Device.recorded = _launched_one_by_one  # type: ignore[method-assign, assignment]
    try:
        call()
    finally:
        Module.launch, Device.recorded = launch, recorded  # type: ignore[method-assign]
    return dict(sorted(taken.items(), key=lambda item: -item[1]))


def _launched_one_by_one(_: Device, call: Callable[[], object]) -> Callable[[], None]:
    """``Device.recorded``, which makes the call as well."""
    call()
    return _repeated(call, 1)


def on_device(device: Device, call: Callable[[], object], count: int = 1) -> Callable[[], float]:
    """Seconds of one of ``count`` calls, one after the other."""
    return lambda: device.milliseconds(_repeated(call, count)) / 1000 / count


def replayed(device: Device, call: Callable[[], object], count: int) -> Callable[[], float]:
    """The same, where all launches come from one graph: see ``Device.recorded``."""
    replay = device.recorded(_repeated(call, count))
    return lambda: device.milliseconds(replay) / 1000 / count


def captured(call: Callable[[], object], count: int) -> Callable[[], float]:
    """Seconds of one of ``count`` calls of PyTorch, launched from one graph."""
    import torch

    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        _repeated(call, count)()

    def run() -> float:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        return float(start.elapsed_time(stop)) / 1000 / count

    return run


def _repeated(call: Callable[[], object], count: int) -> Callable[[], None]:
    def calls() -> None:
        for _ in range(count):
            call()

    return calls
