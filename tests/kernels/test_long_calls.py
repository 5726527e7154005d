"""Progress, cancellation, and the interpreter lock."""

from __future__ import annotations

import threading
import time

import pytest

from zenserve.errors import Cancelled
from zenserve.kernels import Kernels, WordArray


def msm_input(k: Kernels, count: int) -> tuple[WordArray, WordArray]:
    scalars = k.fr.powers(k.fr.from_ints([0x123456789ABCDEF << 190])[0], count)
    return k.g1.fixed_base(k.g1.generator, scalars, threads=2), scalars


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_rises_to_one(k: Kernels, threads: int) -> None:
    bases, scalars = msm_input(k, 512)
    for call in (
        lambda progress: k.g1.msm(bases, scalars, threads=threads, progress=progress),
        lambda progress: k.g1.fixed_base(k.g1.generator, scalars, threads=threads, progress=progress),
        lambda progress: k.domain(9).ntt(scalars.copy(), threads=threads, progress=progress),
        lambda progress: k.domain(9).quotient(
            scalars.copy(), scalars.copy(), scalars.copy(), threads=threads, progress=progress
        ),
    ):
        seen: list[float] = []
        call(seen.append)
        assert seen == sorted(seen)
        assert seen[0] > 0
        assert seen[-1] == 1


def test_an_exception_from_progress_stops_the_kernel(k: Kernels) -> None:
    bases, scalars = msm_input(k, 2000)
    calls: list[float] = []

    def stop(fraction: float) -> None:
        calls.append(fraction)
        raise Cancelled

    with pytest.raises(Cancelled):
        k.g1.msm(bases, scalars, threads=1, progress=stop)
    assert len(calls) == 1
    assert calls[0] < 1


def test_other_threads_run_while_a_kernel_works(k: Kernels) -> None:
    """Without the lock released, the counter could not move between the kernel's start and its end."""
    if k.target == "gpu":
        pytest.skip("what the device computes has no thread of Python's")
    bases, scalars = msm_input(k, 1 << 13)
    running = threading.Event()
    ticks = 0

    def count() -> None:
        nonlocal ticks
        while running.is_set():
            ticks += 1
            time.sleep(0.001)

    running.set()
    counter = threading.Thread(target=count)
    counter.start()
    before = ticks
    k.g1.msm(bases, scalars)
    during = ticks - before
    running.clear()
    counter.join()
    assert during >= 5
