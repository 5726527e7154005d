"""Puts the emulated device in the place of the real one."""

from __future__ import annotations

import sys
from typing import Final

import gpu
from tests.gpu.emulator import device, modules


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
    sys.modules["gpu.device"], sys.modules["gpu.modules"] = device, modules
    gpu.device, gpu.modules = device, modules  # type: ignore[attr-defined]
