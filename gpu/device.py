"""Memory of the device, and transfers: with ``gpu.modules`` the only place that knows CuPy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import local
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import DTypeLike, NDArray

from zenerrors import ResourceError

Array = Any
"""An array on the device, C-contiguous: ``shape``, ``dtype``, ``nbytes``, slices along the first axis,
``reshape``, ``view`` and ``fill`` are as numpy has them."""


_REMEDY: Final = "stop other programs on the card, or set ZENSERVE_BACKEND=cpu"


class Stream:
    """A queue of work beside that of other streams. In its context it is this thread's current stream.

    Give it to the next work of its kind: what is freed on a stream is at hand for that stream alone.
    """

    def __init__(self) -> None:
        self._stream = cupy.cuda.Stream(non_blocking=True)

    def __enter__(self) -> None:
        self._stream.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._stream.__exit__(*exception)


def missing() -> str | None:
    """Why there is no device to compute on; None where there is one."""
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return str(error)
    return None if count else "CUDA finds no device"


def name() -> str:
    """The card, and its driver's CUDA version."""
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    version = cupy.cuda.runtime.driverGetVersion()
    return f"{properties['name'].decode()}, CUDA {version // 1000}.{version % 1000 // 10}"


def empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
    """Not initialised. From a pool, which keeps what is freed.

    Raises ``ResourceError`` (``resource.gpu_memory``), as all that allocates does.
    """
    try:
        return cupy.empty(shape, dtype)
    except cupy.cuda.memory.OutOfMemoryError as error:
        raise ResourceError(
            "resource.gpu_memory", f"the GPU's memory is full ({error}): {_REMEDY}"
        ) from error


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
    array = empty(shape, dtype)
    array.fill(0)
    return array


def upload(host: NDArray[Any]) -> Array:
    """A copy on the device. ``host`` may be changed or erased once the call returns.

    Not by CuPy's pinned memory, which would keep another copy of secrets, and its room, for good.
    """
    array = empty(host.shape, host.dtype)
    copy(host, array)
    synchronize()
    return array


def download(array: Array) -> NDArray[Any]:
    """A copy on the host, after all work on the current stream."""
    host: NDArray[Any] = cupy.asnumpy(array)
    return host


def copy(source: Array, target: Array) -> None:
    """``target[...] = source``, from host or device. A host array may be changed or erased afterwards."""
    if not isinstance(source, np.ndarray):
        target[...] = source
    elif source.nbytes <= _STAGE_BYTES:
        target.set(source, cupy.cuda.get_current_stream())
    else:
        _own_stages().copy(np.ascontiguousarray(source).reshape(-1).view(np.uint8), target.data.ptr)


_FOR_LAUNCHES: Final = 1 << 30
"""Registers that kernels spill have room for every thread of the card, outside of any pool."""

_STAGE_BYTES: Final = 1 << 20
_STAGES: Final = 16
_COPIERS: Final = 4
"""Threads that fill stages: one is seven times slower than the bus."""


class _Stages:
    """Pages of the host that the device reads by itself: what goes through them takes no other copy."""

    def __init__(self) -> None:
        memory = cupy.cuda.alloc_pinned_memory(_STAGES * _STAGE_BYTES)
        pages = np.frombuffer(memory, np.uint8, _STAGES * _STAGE_BYTES)
        self._stages = pages.reshape(_STAGES, _STAGE_BYTES)
        self._left = [cupy.cuda.Event(disable_timing=True) for _ in self._stages]
        self._zeros = cupy.zeros(_STAGE_BYTES, cupy.uint8)
        synchronize()
        self._copiers = ThreadPoolExecutor(_COPIERS)

    def copy(self, source: NDArray[np.uint8], target: int) -> None:
        """Bytes to an address on the device, on the current stream, which erases the stages afterwards."""
        filled: deque[tuple[int, int, Future[int]]] = deque()
        for index, start in enumerate(range(0, len(source), _STAGE_BYTES)):
            if len(filled) == _STAGES:
                self._send(target, *filled.popleft())
            piece, stage = source[start : start + _STAGE_BYTES], index % _STAGES
            filled.append((start, stage, self._copiers.submit(self._fill, stage, piece)))
        while filled:
            self._send(target, *filled.popleft())
        for stage in range(_STAGES):
            self._transfer(self._stages[stage].ctypes.data, self._zeros.data.ptr, _STAGE_BYTES, stage)

    def _send(self, target: int, start: int, stage: int, filled: Future[int]) -> None:
        self._transfer(target + start, self._stages[stage].ctypes.data, filled.result(), stage)

    def _transfer(self, target: int, source: int, count: int, stage: int) -> None:
        stream, runtime = cupy.cuda.get_current_stream(), cupy.cuda.runtime
        runtime.memcpyAsync(target, source, count, runtime.memcpyDefault, stream.ptr)
        self._left[stage].record(stream)

    def _fill(self, stage: int, piece: NDArray[np.uint8]) -> int:
        self._left[stage].synchronize()
        np.copyto(self._stages[stage, : len(piece)], piece)
        return len(piece)


_THREAD = local()


def _own_stages() -> _Stages:
    """This thread's."""
    if not hasattr(_THREAD, "stages"):
        _THREAD.stages = _Stages()
    stages: _Stages = _THREAD.stages
    return stages


def synchronize() -> None:
    """Wait for all work on the current stream."""
    cupy.cuda.get_current_stream().synchronize()


def milliseconds(call: Callable[[], object]) -> float:
    """From now until the device has done what ``call`` puts on the current stream. Waits for it."""
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    call()
    stop.record()
    stop.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, stop))


def recorded(call: Callable[[], object]) -> Callable[[], None]:
    """What ``call`` launches, to be launched again at once on the stream that is current then.

    ``call`` is made twice: its modules must be loaded before they are recorded. It may neither wait nor move
    anything from or to the host. The arrays that it is given must stay; those that it makes do not.
    """
    synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        call()
        stream.synchronize()
        stream.begin_capture()
        call()
        graph = stream.end_capture()
    launch: Callable[[], None] = graph.launch
    return launch


def held_bytes() -> int:
    """What the pool has taken from the card: the most that was ever in use, in whole blocks."""
    return int(cupy.get_default_memory_pool().total_bytes())


def release() -> None:
    """Give what the pool keeps free back to the card.

    It is at hand for the stream that freed it alone, and cannot be given back once a part is taken again.
    """
    cupy.get_default_memory_pool().free_all_blocks()


def free_bytes() -> int:
    """What can still be allocated: the card's free memory and the pool's, but for what launches take."""
    free, _ = cupy.cuda.runtime.memGetInfo()
    return max(0, int(free) - _FOR_LAUNCHES) + int(cupy.get_default_memory_pool().free_bytes())


def require(count: int, what: str) -> None:
    """Raises ``ResourceError`` (``resource.gpu_memory``) unless ``count`` bytes can be allocated."""
    free = free_bytes()
    if count > free:
        raise ResourceError(
            "resource.gpu_memory",
            f"{what} takes {count / 2**20:,.0f} MiB of GPU memory and {free / 2**20:,.0f} MiB are free: "
            + _REMEDY,
        )
