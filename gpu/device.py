"""A card: its memory, transfers and streams. With ``zenserve.gpu.modules`` the only place that knows CuPy."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache
from threading import local
from typing import Any, Final, TypeVar

import cupy
import numpy as np
from numpy.typing import DTypeLike, NDArray

from zenserve.errors import ResourceError
from zenserve.gpu import times

Array = Any
"""An array on the device, C-contiguous: ``shape``, ``dtype``, ``nbytes``, slices along the first axis,
``reshape`` and ``view`` are as numpy has them, and so is ``fill`` where its device is current."""

One = TypeVar("One")
Other = TypeVar("Other")

Secret = Callable[[Array], Array]
"""Takes note of an array that is to be erased, and hands it back."""

HOPPER: Final = "sm_90a"
"""With what no other card has: products of groups of four warps."""

_REMEDY: Final = "stop other programs on the card, or set ZENSERVE_BACKEND=cpu"

_FOR_LAUNCHES: Final = 1 << 30
"""Registers that kernels spill have room for every thread of the card, outside of any pool."""

_DIRECT_BYTES: Final = 1 << 20
"""The largest copy that bypasses the stages, in bytes."""

_STAGE_BYTES: Final = 1 << 22
_STAGES: Final = 8
_COPIERS: Final = 8
"""Threads that fill stages: one is seven times slower than the bus."""


def missing(index: int = 0) -> str | None:
    """Why there is no device of this index to compute on; None where there is one."""
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return str(error)
    if not count:
        return "CUDA finds no device"
    return None if index < count else f"CUDA finds {count}, which it counts from 0"


def namespace() -> Any:
    """CuPy, which has numpy's functions for arrays of the current device."""
    return cupy


class Device:
    """The card that CUDA gives this index: ``missing`` says whether it is there.

    Its work goes to this thread's current stream on it; what waits for the device says so. Threads may share
    it.
    """

    def __init__(self, index: int = 0) -> None:
        self.index = index
        self._thread = local()

    @staticmethod
    def of(array: Array) -> Device:
        """The one that an array is on: always the same object."""
        return _of(int(array.device.id))

    def current(self) -> AbstractContextManager[object]:
        """In its context CuPy's calls are for this device. One for each use: CuPy's keep their own stack.

        Mostly the device is current already, and to ask is cheaper than to make it so again, at every launch.
        """
        here = cupy.cuda.runtime.getDevice() == self.index
        context: AbstractContextManager[object] = nullcontext() if here else cupy.cuda.Device(self.index)
        return context

    def stream(self) -> Stream:
        return Stream(self)

    def name(self) -> str:
        """The card, and its driver's CUDA version."""
        properties = cupy.cuda.runtime.getDeviceProperties(self.index)
        version = cupy.cuda.runtime.driverGetVersion()
        return f"{properties['name'].decode()}, CUDA {version // 1000}.{version % 1000 // 10}"

    def bus(self) -> str:
        """The card's PCI address, as the driver's tools take it."""
        return str(cupy.cuda.Device(self.index).pci_bus_id)

    def architecture(self) -> str:
        """Return the target of the device's machine code, such as "sm_90"."""
        found = f"sm_{cupy.cuda.Device(self.index).compute_capability}"
        return HOPPER if HOPPER.startswith(found) else found

    def processors(self) -> int:
        """Its multiprocessors."""
        return int(cupy.cuda.Device(self.index).attributes["MultiProcessorCount"])

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        """Not initialised. From a pool, which keeps what is freed.

        Raises ``ResourceError`` (``resource.gpu_memory``), as all that allocates does.
        """
        try:
            with self.current():
                return cupy.empty(shape, dtype)
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise ResourceError(
                "resource.gpu_memory", f"the GPU's memory is full ({error}): {_REMEDY}"
            ) from error

    def zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        array = self.empty(shape, dtype)
        self.fill(array, 0)
        return array

    def fill(self, array: Array, value: int) -> None:
        """Every element becomes ``value``."""
        with self.current():
            array.fill(value)

    def upload(self, host: NDArray[Any]) -> Array:
        """A copy on the device. ``host`` may be changed or erased once the call returns.

        Not by CuPy's pinned memory, which would keep another copy of secrets, and its room, for good.
        """
        array = self.bring(host)
        self.synchronize()
        return array

    def bring(self, host: NDArray[Any]) -> Array:
        """``upload`` without waiting: for the current stream's work alone."""
        array = self.empty(host.shape, host.dtype)
        self.copy(host, array)
        return array

    def download(self, array: Array) -> NDArray[Any]:
        """A copy on the host, after all work on the current stream."""
        with self.current():
            host: NDArray[Any] = cupy.asnumpy(array)
        return host

    def copy(self, source: Array, target: Array) -> None:
        """``target[...] = source``, from the host or this device.

        A host array may be changed or erased afterwards.
        """
        with self.current():
            if not isinstance(source, np.ndarray):
                target[...] = source
            elif source.nbytes <= _DIRECT_BYTES:
                target.set(source, cupy.cuda.get_current_stream())
            else:
                words = np.ascontiguousarray(source).reshape(-1).view(np.uint8)
                self._own_stages().copy(words, target.data.ptr)

    def _own_stages(self) -> _Stages:
        """This thread's."""
        if not hasattr(self._thread, "stages"):
            self._thread.stages = _Stages(self)
        stages: _Stages = self._thread.stages
        return stages

    def synchronize(self) -> None:
        """Wait for all work on the current stream."""
        with self.current():
            cupy.cuda.get_current_stream().synchronize()

    def milliseconds(self, call: Callable[[], object]) -> float:
        """From now until the device has done what ``call`` puts on the current stream. Waits for it."""
        with self.current():
            start, stop = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            call()
            stop.record()
            stop.synchronize()
            return float(cupy.cuda.get_elapsed_time(start, stop))

    def mark(self) -> Any:
        """Record the current stream's position in its work, for ``seconds_between``."""
        with self.current():
            event = cupy.cuda.Event()
            event.record()
            return event

    def seconds_between(self, first: Any, last: Any) -> float:
        """Waits for the last."""
        last.synchronize()
        return float(cupy.cuda.get_elapsed_time(first, last)) / 1000

    def recorded(self, call: Callable[[], object]) -> Callable[[], None]:
        """Record the launches of ``call``, to be launched again at once on the stream that is current then.

        ``call`` runs once to load its modules, and once more to be recorded, when its launches do nothing. It
        may neither wait nor copy anything from or to the host. The arrays that it is given must stay; those
        that it makes stay with the returned function, in a pool of its own.
        """
        self.synchronize()
        with self.current():
            stream, pool = cupy.cuda.Stream(non_blocking=True), cupy.cuda.MemoryPool()
            with times.recording(), _beside(), stream, cupy.cuda.using_allocator(pool.malloc):
                try:
                    call()
                finally:
                    stream.synchronize()
                stream.begin_capture()
                try:
                    call()
                finally:
                    graph = _Graph(stream.end_capture())

        def launch(_held: object = pool) -> None:
            with self.current():
                times.launched(self, times.RECORDED, graph.launch)

        return launch

    def stream_address(self) -> int:
        """CUDA's handle of the current stream."""
        with self.current():
            return int(cupy.cuda.get_current_stream().ptr)

    def load_blas(self) -> None:
        """Have CuPy find and load cuBLAS."""
        with self.current():
            cupy.cuda.device.get_cublas_handle()

    def held_bytes(self) -> int:
        """Return the bytes that the pool took from the card: the most ever in use, in whole blocks."""
        with self.current():
            return int(cupy.get_default_memory_pool().total_bytes())

    def release(self) -> None:
        """Give what the pool keeps free back to the card.

        It is at hand for the stream that freed it alone, and cannot be given back once a part is taken again.
        """
        with self.current():
            cupy.get_default_memory_pool().free_all_blocks()

    def free_bytes(self) -> int:
        """Return the bytes still available: the card's free memory and the pool's, less room for launches."""
        with self.current():
            free, _ = cupy.cuda.runtime.memGetInfo()
            pooled = int(cupy.get_default_memory_pool().free_bytes())
        return max(0, int(free) - _FOR_LAUNCHES) + pooled

    def require(self, count: int, what: str) -> None:
        """Raises ``ResourceError`` (``resource.gpu_memory``) unless ``count`` bytes can be allocated."""
        free = self.free_bytes()
        if count > free:
            raise ResourceError(
                "resource.gpu_memory",
                f"{what} takes {count / 2**20:,.0f} MiB of GPU memory and {free / 2**20:,.0f} MiB are free: "
                + _REMEDY,
            )


_THREAD: Final = local()


@contextmanager
def _beside() -> Iterator[None]:
    """In its context ``together`` has another stream, on the current device."""
    _THREAD.beside = cupy.cuda.Stream(non_blocking=True, priority=-1)
    try:
        yield
    finally:
        _THREAD.beside = None


def together(main: Callable[[], One], aside: Callable[[], Other]) -> tuple[One, Other]:
    """Call both functions and return their results.

    While launches are recorded (``Device.recorded``), those of the second are on a stream of its own, so that
    both may run at the same time. Neither may read the other's results. The first may not release an array
    that was made aside before, as its memory would be reused at once.
    """
    beside = getattr(_THREAD, "beside", None)
    here = cupy.cuda.get_current_stream()
    if beside is None or here == beside:
        return main(), aside()
    beside.wait_event(here.record())
    made = main()
    with beside:
        other = aside()
    here.wait_event(beside.record())
    return made, other


_BY_PRIORITY: Final = 8
"""CUDA's flag: each node of a graph has its own priority, that of the stream it was recorded on."""


class _Graph:
    """A recorded graph of launches, launched by CUDA itself, as CuPy leaves priorities out."""

    def __init__(self, recorded: Any) -> None:
        self._recorded, self._made = recorded, _instantiated(recorded.graph)
        self._destroy = cupy.cuda.runtime.graphExecDestroy

    def launch(self) -> None:
        cupy.cuda.runtime.graphLaunch(self._made, cupy.cuda.get_current_stream().ptr)

    def __del__(self) -> None:
        if hasattr(self, "_destroy"):
            self._destroy(self._made)


def _instantiated(graph: int) -> int:
    made, make = ctypes.c_void_p(), ctypes.CDLL("libcuda.so.1").cuGraphInstantiateWithFlags
    status = make(ctypes.byref(made), ctypes.c_void_p(graph), ctypes.c_ulonglong(_BY_PRIORITY))
    if status or made.value is None:
        raise ResourceError("resource.gpu_memory", f"CUDA refused a recording (status {status})")
    return made.value


@cache
def _of(index: int) -> Device:
    return Device(index)


class Stream:
    """A queue of a device's work beside that of other streams: in its context this thread's current one.

    Give it to the next work of its kind: what is freed on a stream is at hand for that stream alone.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        with device.current():
            self._stream = cupy.cuda.Stream(non_blocking=True)
        self._leaving = ExitStack()

    def __enter__(self) -> None:
        self._leaving.enter_context(self._device.current())
        self._leaving.enter_context(self._stream)

    def __exit__(self, *exception: object) -> None:
        self._leaving.close()


class _Stages:
    """Pages of the host that the device reads by itself: what goes through them takes no other copy.

    Made and used where the device is current.
    """

    def __init__(self, device: Device) -> None:
        memory = cupy.cuda.alloc_pinned_memory(_STAGES * _STAGE_BYTES)
        pages = np.frombuffer(memory, np.uint8, _STAGES * _STAGE_BYTES)
        self._stages = pages.reshape(_STAGES, _STAGE_BYTES)
        self._left = [cupy.cuda.Event(disable_timing=True) for _ in self._stages]
        self._zeros = device.zeros(_STAGE_BYTES, np.uint8)
        self._erasing = cupy.cuda.Stream(non_blocking=True)
        device.synchronize()
        choose = cupy.cuda.runtime.setDevice
        self._copiers = ThreadPoolExecutor(_COPIERS, initializer=choose, initargs=(device.index,))

    def copy(self, source: NDArray[np.uint8], target: int) -> None:
        """Bytes to an address on the device, on the current stream; another erases the stages afterwards."""
        filled: deque[tuple[int, int, Future[int]]] = deque()
        for index, start in enumerate(range(0, len(source), _STAGE_BYTES)):
            if len(filled) == _STAGES:
                self._send(target, *filled.popleft())
            piece, stage = source[start : start + _STAGE_BYTES], index % _STAGES
            filled.append((start, stage, self._copiers.submit(self._fill, stage, piece)))
        while filled:
            self._send(target, *filled.popleft())
        with self._erasing:
            for stage in range(min(_STAGES, -(-len(source) // _STAGE_BYTES))):
                self._erasing.wait_event(self._left[stage])
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
