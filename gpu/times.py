"""The times of kernels: events beside each launch, which are waited for only when the measurement ends."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock, local
from typing import Any, Final

RECORDED: Final = "recorded"
"""The common name of all launches of recorded graphs."""

_Marks = list[tuple[str, Any, Any, Any]]
_thread, _turn = local(), RLock()
_measured: list[_Marks] = []
"""The one that takes note, if any."""


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Seconds of each kernel that this process launches in the context, by its name, once it is left. Nothing
    where other work is measured at the time."""
    marks, seconds = _Marks(), defaultdict[str, float](float)
    if _measured:
        yield seconds
        return
    _measured.append(marks)
    try:
        yield seconds
    finally:
        _measured.remove(marks)
    for name, device, first, last in marks:
        seconds[name] += device.seconds_between(first, last)


@contextmanager
def recording() -> Iterator[None]:
    """Exclude this thread's launches in the context from measurement: they are recorded, or done before a
    recording. One thread at a time. Garbage collection is off meanwhile: a collected object's erasure would
    be recorded, too, and repeated by every launch."""
    with _turn:
        collects = gc.isenabled()
        gc.disable()
        _thread.records = True
        try:
            yield
        finally:
            _thread.records = False
            if collects:
                gc.enable()


def launched(device: Any, name: str, launch: Callable[[], object]) -> None:
    """``launch``, beside events of ``device`` if it is measured."""
    marks = next(iter(_measured), None)  # asked once: another thread may end what it measures
    if marks is None or getattr(_thread, "records", False):
        launch()
        return
    first = device.mark()
    launch()
    marks.append((name, device, first, device.mark()))
