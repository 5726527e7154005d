"""cuBLAS' products of matrices of float64, which may be recorded: CuPy refuses it."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from threading import local
from typing import Any, Final, NamedTuple

from zenserve.errors import ResourceError
from zenserve.gpu.device import Array, Device

_WORKSPACE: Final = 1 << 22
_HELD: Final = local()


class Side(NamedTuple):
    """One matrix for each of a batch, [rows, columns] or, ``turned``, its transpose in memory: ``step``
    entries from a row there to the next, ``apart`` from a matrix to the next, 0 where all are one."""

    array: Array
    turned: bool
    step: int
    apart: int


def multiply(
    left: Side, right: Side, out: Array, sizes: tuple[int, int, int], count: int, *, added: bool
) -> None:
    """``out[count, m, n] = left[m, k] right[k, n]`` of each, or ``+=``, for ``sizes`` m, n, k."""
    m, n, k = sizes
    device = Device.of(out)
    # What it writes to meanwhile is of the same memory as arrays, and so a recording's own.
    workspace = device.empty(_WORKSPACE, "uint8")
    with device.current():
        handle, call = _handle(device), _library()
        _checked(call.cublasSetStream_v2(handle, ctypes.c_void_p(device.stream_address())))
        _checked(call.cublasSetWorkspace_v2(handle, _address(workspace), ctypes.c_size_t(_WORKSPACE)))
        one, kept = (ctypes.byref(ctypes.c_double(each)) for each in (1.0, float(added)))
        # By columns, as it has matrices, this is the product of the transposes.
        _checked(
            call.cublasDgemmStridedBatched(
                handle, right.turned, left.turned, n, m, k,
                one, _address(right.array), right.step, _Long(right.apart),
                _address(left.array), left.step, _Long(left.apart),
                kept, _address(out), n, _Long(m * n), count,
            )
        )  # fmt: skip


_Long = ctypes.c_longlong


def _address(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.data.ptr)


def _checked(status: int) -> None:
    if status:
        raise ResourceError("resource.gpu_memory", f"cuBLAS refused a product (status {status})")


@cache
def _library() -> Any:
    """The one that CuPy has found and loaded."""
    Device().load_blas()
    loaded = (line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines())
    return ctypes.CDLL(next(path for path in loaded if "/libcublas.so" in path))


def _handle(device: Device) -> ctypes.c_void_p:
    """This thread's, of the device, which is current."""
    held: dict[str, _Handle] = _HELD.__dict__
    own = f"device {device.index}"
    if own not in held:
        held[own] = _Handle()
    return held[own].value


class _Handle:
    def __init__(self) -> None:
        self.value, self._destroy = ctypes.c_void_p(), _library().cublasDestroy_v2
        _checked(_library().cublasCreate_v2(ctypes.byref(self.value)))

    def __del__(self) -> None:
        self._destroy(self.value)
