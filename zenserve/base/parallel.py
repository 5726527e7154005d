"""Work on several threads: the kernels that Python calls release the interpreter's lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Lock, Thread
from typing import Final, TypeVar

import numpy as np

from zenserve.kernels import FrArray

T = TypeVar("T")

CHUNK_ROWS: Final = 1 << 14
"""So many elements of Fr fill 512 KiB: temporaries stay small beside the arrays themselves, and in cache."""


def in_turn(calls: Iterable[Callable[[], T]], threads: int) -> Iterator[T]:
    """The results of ``calls`` in order; with more than one of ``threads`` the next ones are under way."""
    if threads <= 1:
        yield from (call() for call in calls)
        return
    with ThreadPoolExecutor(threads) as pool:
        under_way: deque[Future[T]] = deque()
        for call in calls:
            under_way.append(pool.submit(call))
            if len(under_way) > threads:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def run(calls: Iterable[Callable[[], object]], threads: int) -> None:
    """All of ``calls``, on ``threads`` threads, the caller's among them. What one raises ends the others."""
    left, turn, raised = iter(calls), Lock(), list[BaseException]()

    def work() -> None:
        try:
            while not raised:
                with turn:
                    call = next(left, None)
                if call is None:
                    return
                call()
        except BaseException as error:
            raised.append(error)

    helpers = [Thread(target=work) for _ in range(threads - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    if raised:
        raise raised[0]


def copied(array: FrArray, threads: int) -> FrArray:
    """A copy of ``array``."""
    out = np.empty_like(array)
    in_chunks(lambda rows: np.copyto(out[rows], array[rows]), len(array), threads)
    return out


def equal(a: FrArray, b: FrArray, threads: int) -> bool:
    """Return whether two arrays of one shape are equal."""
    starts = range(0, len(a), CHUNK_ROWS)
    calls = (partial(np.array_equal, a[i : i + CHUNK_ROWS], b[i : i + CHUNK_ROWS]) for i in starts)
    return all(in_turn(calls, threads))


def in_chunks(work: Callable[[slice], object], rows: int, threads: int) -> None:
    """``work`` on slices that make up ``rows`` rows."""
    parts = [slice(start, min(start + CHUNK_ROWS, rows)) for start in range(0, rows, CHUNK_ROWS)]
    run((partial(work, part) for part in parts), min(threads, len(parts)))
