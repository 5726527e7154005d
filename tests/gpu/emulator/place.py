"""Puts the emulated device in the place of the real one."""

from __future__ import annotations

import sys
from typing import Final

from tests.gpu.emulator import blas, device, modules
from zenserve import gpu


def _answers() -> bool:
    try:
        import cupy
    except ImportError:
        return False
    try:
        return int(cupy.cuda.runtime.getDeviceCount()) > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


EMULATED: Final = not _answers()
"""Whether tests of ``gpu`` run on the emulated device. To be imported before any module of ``gpu``."""

if EMULATED:
    for name, twin in (("blas", blas), ("device", device), ("modules", modules)):
        sys.modules[f"zenserve.gpu.{name}"] = twin
        setattr(gpu, name, twin)
