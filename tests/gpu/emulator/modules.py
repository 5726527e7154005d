"""The twin of zenserve.gpu.modules where there is no device: g++ compiles the sources, after prelude.hpp."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import subprocess
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.gpu.emulator.device import Array, Device, does
from zenserve.errors import ZenError
from zenserve.gpu import times

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "gpu" / "source"
HEADERS = ROOT / "zenserve" / "kernels" / "include"
HERE = Path(__file__).parent
PRELUDE = HERE / "prelude.hpp"
CACHE = ROOT / ".pytest_cache" / "emulator"

# Limbs as on the device. No unique symbols: two modules may hold one name with different defines.
OPTIONS = (
    *(
        "-std=c++20",
        "-O1",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-gnu-unique",
        "-fno-strict-aliasing",
    ),
    *("-U_FORTIFY_SOURCE", "-DZEN_LIMB_BITS=32"),
)
UPPER_HALF = 0xA5A5A5A5 << 32
"""What a parameter of 64 bits reads beside an argument of 32."""
_ONE_LAUNCH = threading.Lock()
"""Of all modules: threads that load one at the same time have two of them, of the same library."""


class CompileError(ZenError):
    """g++ refused a kernel."""

    def __init__(self, log: str) -> None:
        super().__init__("gpu.compile", log)


class LaunchError(Exception):
    """What a device answers with an error, or never: a deadlock, an illegal address, a block it refuses."""


class Module:
    def __init__(self, device: Device, library: Path) -> None:
        self.device = device
        self._library = ctypes.CDLL(str(library))
        self._launch = self._library.zen_launch
        self._launch.restype = ctypes.c_char_p

    def launch(
        self, kernel: str, grid: int | tuple[int, int], threads: int, *arguments: Any, shared_bytes: int = 0
    ) -> None:
        blocks = (grid, 1) if isinstance(grid, int) else grid
        function = ctypes.cast(getattr(self._library, kernel), ctypes.c_void_p)
        does(kernel, *blocks, threads, shared_bytes, *arguments)
        words = (ctypes.c_uint64 * len(arguments))(*map(self._word, arguments))
        dimensions = [ctypes.c_uint(each) for each in (*blocks, threads)]
        size, count = ctypes.c_size_t(shared_bytes), len(arguments)

        def launch() -> None:
            with _ONE_LAUNCH:
                error = self._launch(function, *dimensions, size, count, words)
            if error is not None:
                raise LaunchError(f"{kernel}: {error.decode()}")

        times.launched(self.device, kernel, launch)

    def _word(self, argument: Any) -> int:
        if argument is None:
            return 0
        if isinstance(argument, Array) and argument.flags.c_contiguous:
            if argument.index != self.device.index:
                raise LaunchError(f"device {self.device.index} was given an array of {argument.index}")
            return int(argument.ctypes.data)
        if isinstance(argument, (np.int32, np.uint32)):
            return int(argument) & 0xFFFFFFFF | UPPER_HALF
        if isinstance(argument, (np.int64, np.uint64)):
            return int(argument) & 0xFFFFFFFFFFFFFFFF
        raise TypeError(f"kernels take arrays of the device, None and sized integers, not {argument!r}")


Source = tuple[str, ...]


def prepare(device: Device, sources: Iterable[Source]) -> None:
    """Sources are compiled when they are loaded."""


@cache
def load(device: Device, name: str, *defines: str) -> Module:
    return compiled(device, SOURCES / f"{name}.cu", *defines)


@cache
def made(device: Device, text: str) -> Module:
    CACHE.mkdir(parents=True, exist_ok=True)
    source = CACHE / f"made-{hashlib.sha256(text.encode()).hexdigest()[:24]}.cu"
    if not source.exists():
        source.with_suffix(".part").write_text(text)
        os.replace(source.with_suffix(".part"), source)
    return compiled(device, source)


def compiled(device: Device, source: Path, *defines: str) -> Module:
    """The kernels of any source, from the cache or newly compiled; one process compiles, others wait."""
    CACHE.mkdir(parents=True, exist_ok=True)
    variant = hashlib.sha256(repr((source, defines)).encode()).hexdigest()[:8]
    library = CACHE / f"{source.stem}-{variant}-{_digest(source)}.so"
    with open(CACHE / f"{source.stem}-{variant}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            for outdated in CACHE.glob(f"{source.stem}-{variant}-*"):
                outdated.unlink()
            _compile(source, defines, library)
    return Module(device, library)


def _compile(source: Path, defines: tuple[str, ...], library: Path) -> None:
    # What a program writes runs once over few entries: g++ takes longer than that saves.
    command = [
        "g++",
        *OPTIONS,
        *(["-O0"] if source.parent == CACHE else []),
        *(f"-D{each}" for each in defines),
        *(f"-I{path}" for path in (HEADERS, SOURCES, HERE)),
    ]
    made = library.with_suffix(".tmp")
    result = subprocess.run(
        [*command, "-include", str(PRELUDE), "-x", "c++", str(source), "-o", str(made)],
        capture_output=True,
        text=True,
    )
    if result.returncode:
        raise CompileError(result.stderr)
    os.replace(made, library)


def _digest(source: Path) -> str:
    digest = hashlib.sha256(repr(OPTIONS).encode())
    for path in (*sorted([*HEADERS.glob("zen/*.hpp"), *SOURCES.glob("*.hpp"), *HERE.glob("*.hpp")]), source):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:24]
