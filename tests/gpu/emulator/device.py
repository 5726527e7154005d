"""The twin of gpu.device where there is no device: its arrays lie in the host's memory."""

from __future__ import annotations

import ctypes
import math
import mmap
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from zenerrors import ResourceError

PATTERN = 0xA5
_LIBC = ctypes.CDLL(None, use_errno=True)
_PROT_NONE = 0


class Array(np.ndarray[Any, Any]):
    """Sliced and reshaped as numpy's, but computed with only by kernels, as arrays on a device are."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *_: Any, **__: Any) -> Any:
        raise TypeError(f"numpy's {ufunc.__name__} of an array on the device")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise TypeError(f"numpy's {func.__name__} of an array on the device")


def missing() -> str | None:
    return None


def name() -> str:
    return "emulated"


def empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
    """Filled with a pattern, and followed by a page that nobody may touch."""
    shape = (shape,) if isinstance(shape, int) else shape
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    aligned = -(-size // 16) * 16  # kernels load 16 bytes at a time
    pages = -(-aligned // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, pages + mmap.PAGESIZE)
    words = np.frombuffer(memory, dtype=np.uint8)
    words[:pages] = PATTERN
    address = words.ctypes.data + pages
    if _LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), _PROT_NONE):
        raise OSError(ctypes.get_errno(), "mprotect")
    start = pages - aligned
    return words[start : start + size].view(dtype).reshape(shape).view(Array)


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
    array = empty(shape, dtype)
    array.fill(0)
    return array


def upload(host: NDArray[Any]) -> Array:
    array = empty(host.shape, host.dtype)
    array[...] = host
    return array


def download(array: Array) -> NDArray[Any]:
    assert isinstance(array, Array)
    return array.view(np.ndarray).copy()


def copy(source: Array | NDArray[Any], target: Array) -> None:
    assert source.shape == target.shape
    assert source.dtype == target.dtype
    target[...] = source


class Stream(nullcontext[None]):
    """Work is done when it is given."""


def synchronize() -> None:
    pass


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def recorded(call: Callable[[], object]) -> Callable[[], None]:
    return lambda: (call(), None)[1]


def held_bytes() -> int:
    return 0


def release() -> None:
    pass


def free_bytes() -> int:
    return 8 << 30


def require(count: int, what: str) -> None:
    if count > free_bytes():
        raise ResourceError("resource.gpu_memory", f"{what} takes {count} bytes of GPU memory")
