"""The twin of zenserve.gpu.device where there is no device: arrays of two emulated ones lie in the host's
memory.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from threading import local
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from zenserve.errors import ResourceError
from zenserve.gpu import times

HOPPER = "sm_90a"

COUNT = 2
"""Devices, which must not take each other's arrays."""

PATTERN = 0xA5
_LIBC = ctypes.CDLL(None, use_errno=True)
_PROT_NONE = 0


_CURRENT = local()


class _Recording:
    """What a call does on a device: each time the same, to the same arrays, or it is not to be recorded."""

    def __init__(self) -> None:
        self._arrays, self._done = list[Array](), list[object]()
        self._complete = False

    def run(self, call: Callable[[], object]) -> None:
        self._at = self._next = 0
        if not self._complete:
            self._arrays.clear()
            self._done.clear()
        _CURRENT.recording = self
        try:
            with times.recording():
                call()
            assert (self._at, self._next) == (len(self._done), len(self._arrays)), "less than was recorded"
            self._complete = True
        finally:
            _CURRENT.recording = None

    def does(self, *what: object) -> None:
        if not self._complete:
            self._done.append(what)
        assert what in self._done[self._at : self._at + 1], f"{what} is other than what was recorded"
        self._at += 1

    def allocated(self, made: Callable[[], Array]) -> Array:
        """Stays where it was."""
        if not self._complete:
            self._arrays.append(made())
        self._next += 1
        return self._arrays[self._next - 1]


def recording() -> _Recording | None:
    """What is launched again, if anything is: the host neither waits nor sends anything."""
    return getattr(_CURRENT, "recording", None)


def does(*what: object) -> None:
    """Part of what is recorded, if anything is. Arrays are told by where they are."""
    if own := recording():
        own.does(*(_place(each) if isinstance(each, np.ndarray) else each for each in what))


def _place(array: NDArray[Any]) -> object:
    """What is computed by numpy's functions stands anywhere."""
    return (array.ctypes.data if type(array) is Array else None), array.shape, array.dtype


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
        own, made = recording(), partial(self._allocated, shape, dtype)
        array = own.allocated(made) if own else made()
        assert (array.shape, array.dtype) == (shape, np.dtype(dtype)), "another array than was recorded"
        return array

    def _allocated(self, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
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
        does("fill", array, value)
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
        assert not recording(), "the host waits in what is recorded"
        assert array.index == self.index
        return array.view(np.ndarray).copy()

    def copy(self, source: Array | NDArray[Any], target: Array) -> None:
        assert isinstance(source, Array) or not recording(), "an array of the host in what is recorded"
        does("copy", source, target)
        assert source.shape == target.shape
        assert source.dtype == target.dtype
        assert target.index == self.index == getattr(source, "index", self.index)
        target.view(np.ndarray)[...] = source.view(np.ndarray)

    def synchronize(self) -> None:
        assert not recording(), "the host waits in what is recorded"

    def milliseconds(self, call: Callable[[], object]) -> float:
        start = time.perf_counter()
        call()
        return 1000 * (time.perf_counter() - start)

    def mark(self) -> float:
        return time.perf_counter()

    def seconds_between(self, first: float, last: float) -> float:
        return last - first

    def recorded(self, call: Callable[[], object]) -> Callable[[], None]:
        """Made at once, and again each time: then it must do as it did."""
        recording = _Recording()
        with times.recording():
            call()
        return lambda: times.launched(self, times.RECORDED, lambda: recording.run(call))

    def held_bytes(self) -> int:
        return _USE.most

    def release(self) -> None:
        _USE.most = _USE.now

    def free_bytes(self) -> int:
        return 8 << 30

    def require(self, count: int, what: str) -> None:
        if count > self.free_bytes():
            raise ResourceError("resource.gpu_memory", f"{what} takes {count} bytes of GPU memory")


def together(main: Callable[[], Any], aside: Callable[[], Any]) -> tuple[Any, Any]:
    """One after the other: what is done aside first, as neither may read what the other makes."""
    other = aside()
    return main(), other


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
