"""How every benchmark times and compares. Needs the standard library alone."""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from zenserve.base.processors import usable_cores

Answer = TypeVar("Answer")

Contestants = dict[str, Callable[[], float]]
"""Ours, without a name, and the peers; each gives its seconds."""


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


def in_turn(contestants: Contestants, *, repetitions: int = 5) -> dict[str, Timing]:
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
    return timed(call)[1]


def timed(call: Callable[[], Answer]) -> tuple[Answer, float]:
    start = time.perf_counter()
    answer = call()
    return answer, time.perf_counter() - start


def alone(work: Callable[..., Any], *arguments: object) -> tuple[Any, float]:
    """Run ``work`` in a fresh process: its result and that process' peak resident set in MB."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        result: tuple[Any, float] = pool.apply(_with_peak, (work, arguments))
        return result


def _with_peak(work: Callable[..., Any], arguments: tuple[object, ...]) -> tuple[Any, float]:
    result = work(*arguments)
    return result, peak_mb()


def peak_mb() -> float:
    """This process' peak resident set, in 2^20 bytes."""
    # Not getrusage: its maximum is inherited from the process that forked this one.
    return _status_mb("VmHWM")


def forget_peak() -> float:
    """Have the peak begin with what is resident now: that, in 2^20 bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status_mb("VmRSS")


def _status_mb(name: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith(name))) / 1024


def threads_to_measure() -> tuple[int, ...]:
    """One, and all that this process may use."""
    return tuple(sorted({1, usable_cores()}))


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
