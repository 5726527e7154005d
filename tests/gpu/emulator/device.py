"""The twin of gpu.device where there is no device: arrays of two emulated ones lie in the host's memory."""

from __future__ import annotations

import ctypes
import math
import mmap
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import local
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gpu import times
from zenerrors import ResourceError

HOPPER = "sm_90a"

COUNT = 2
"""Devices, which must not take each other's arrays."""

PATTERN = 0xA5
_LIBC = ctypes.CDLL(None, use_errno=True)
_PROT_NONE = 0


_CURRENT = local()


def recording() -> bool:
    return getattr(_CURRENT, "records", False)


class _Use:
    """Bytes of all devices: in use, and the most since pools were emptied."""

    now = most = 0

    def take(self, count: int) -> None:
        self.now += count
        self.most = max(self.most, self.now)


_USE = _Use()


class Array(np.ndarray[Any, Any]):
    """Sliced and reshaped as numpy's, but computed with only by kernels, as arrays on a device are.

    ``fill`` asks for the device to be current, as CuPy's does.
    """

    index: int

    def __array_finalize__(self, made_of: Any) -> None:
        self.index = getattr(made_of, "index", -1)

    def fill(self, value: Any) -> None:
        assert getattr(_CURRENT, "index", 0) == self.index, "another device is current"
        super().fill(value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *_: Any, **__: Any) -> Any:
        raise TypeError(f"numpy's {ufunc.__name__} of an array on the device")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise TypeError(f"numpy's {func.__name__} of an array on the device")


Secret = Callable[[Any], Any]


def missing(index: int = 0) -> str | None:
    return None if index < COUNT else f"{COUNT} are emulated"


def namespace() -> Any:
    from tests.gpu.emulator import arrays

    return arrays.NAMESPACE


class Device:
    def __init__(self, index: int = 0) -> None:
        self.index = index

    @staticmethod
    def of(array: Array) -> Device:
        return _of(array.index)

    @contextmanager
    def current(self) -> Iterator[None]:
        before = getattr(_CURRENT, "index", 0)
        _CURRENT.index = self.index
        try:
            yield
        finally:
            _CURRENT.index = before

    def stream(self) -> Stream:
        return Stream(self)

    def name(self) -> str:
        return "emulated"

    def architecture(self) -> str:
        return HOPPER

    def processors(self) -> int:
        return 2

    def bus(self) -> str:
        return f"0000:{self.index:02x}:00.0"

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        """Filled with a pattern, and followed by a page that nobody may touch."""
        shape = (shape,) if isinstance(shape, int) else shape
        dtype = np.dtype(dtype)
        size = math.prod(shape) * dtype.itemsize
        aligned = -(-size // 16) * 16  # kernels load 16 bytes at a time
        pages = -(-aligned // mmap.PAGESIZE) * mmap.PAGESIZE
        memory = mmap.mmap(-1, pages + mmap.PAGESIZE)
        _USE.take(size)
        weakref.finalize(memory, _USE.take, -size)
        words = np.frombuffer(memory, dtype=np.uint8)
        words[:pages] = PATTERN
        address = words.ctypes.data + pages
        if _LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), _PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect")
        start = pages - aligned
        array = words[start : start + size].view(dtype).reshape(shape).view(Array)
        array.index = self.index
        return array

    def zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        array = self.empty(shape, dtype)
        self.fill(array, 0)
        return array

    def fill(self, array: Array, value: int) -> None:
        with self.current():
            array.fill(value)

    def upload(self, host: NDArray[Any]) -> Array:
        return self.bring(host)

    def bring(self, host: NDArray[Any]) -> Array:
        assert not recording(), "an array of the host in what is recorded"
        array = self.empty(host.shape, host.dtype)
        array[...] = host
        return array

    def download(self, array: Array) -> NDArray[Any]:
        assert array.index == self.index
        return array.view(np.ndarray).copy()

    def copy(self, source: Array | NDArray[Any], target: Array) -> None:
        assert source.shape == target.shape
        assert source.dtype == target.dtype
        assert target.index == self.index == getattr(source, "index", self.index)
        target.view(np.ndarray)[...] = source.view(np.ndarray)

    def synchronize(self) -> None:
        pass

    def milliseconds(self, call: Callable[[], object]) -> float:
        start = time.perf_counter()
        call()
        return 1000 * (time.perf_counter() - start)

    def mark(self) -> float:
        return time.perf_counter()

    def seconds_between(self, first: float, last: float) -> float:
        return last - first

    def recorded(self, call: Callable[[], object]) -> Callable[[], None]:
        """Made twice, as a device has it; the host sends nothing while it records."""
        with times.recording():
            call()

        def launch() -> None:
            _CURRENT.records = True
            try:
                with times.recording():
                    call()
            finally:
                _CURRENT.records = False

        return lambda: times.launched(self, times.RECORDED, launch)

    def held_bytes(self) -> int:
        return _USE.most

    def release(self) -> None:
        _USE.most = _USE.now

    def free_bytes(self) -> int:
        return 8 << 30

    def require(self, count: int, what: str) -> None:
        if count > self.free_bytes():
            raise ResourceError("resource.gpu_memory", f"{what} takes {count} bytes of GPU memory")


@cache
def _of(index: int) -> Device:
    return Device(index)


class Stream:
    """Work is done when it is given."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def __enter__(self) -> None:
        self._current = self._device.current()
        self._current.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._current.__exit__(None, None, None)
