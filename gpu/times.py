"""What kernels take: events beside each launch, which nobody waits for before the end of what is measured."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock, local
from typing import Any, Final

RECORDED: Final = "recorded"
"""What launches are called that come from a graph, all together."""

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
    """What this thread launches in the context is recorded, or done before that, and is not measured. One
    thread at a time; nothing is collected meanwhile: what is erased when it goes would be by every launch.
    """
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
