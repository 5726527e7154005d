"""CUDA sources to loaded modules: compiled by NVRTC, kept on disk by the hash of all they were made from."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import cupy
from cupy.cuda import nvrtc

from zenserve.errors import ZenError
from zenserve.gpu import times
from zenserve.gpu.device import Device

SOURCES: Final = Path(__file__).parent / "source"

Source = tuple[str, ...]
"""A name, and the defines that it is compiled with: what ``load`` takes."""


def _headers() -> Path:
    """zenserve/kernels/include, wherever the package is installed; the extension itself is not loaded."""
    spec = find_spec("zenserve.kernels")
    places = (spec and spec.submodule_search_locations) or []
    return next(path for path in (Path(place) / "include" for place in places) if path.is_dir())


HEADERS: Final = _headers()
_OPTIONS: Final = ("-std=c++20", "-default-device", "-lineinfo", f"-I{HEADERS}", f"-I{SOURCES}")


def missing() -> str | None:
    """Why there is no compiler to load modules with; None where there is one."""
    try:
        nvrtc.getVersion()
    except (ImportError, OSError, RuntimeError) as error:
        return f"NVRTC cannot be loaded ({error}): pip install cupy-cuda13x 'nvidia-cuda-nvrtc==13.*'"
    return None


class CompileError(ZenError):
    """NVRTC refused a kernel (``gpu.compile``): the message shows each error with its line."""

    def __init__(self, log: str) -> None:
        super().__init__("gpu.compile", log)


class Module:
    """The kernels of one source, on ``device``."""

    def __init__(self, device: Device, loaded: cupy.RawModule) -> None:
        self.device = device
        self._loaded = loaded
        self._function = cache(loaded.get_function)

    def launch(
        self, kernel: str, grid: int | tuple[int, int], threads: int, *arguments: Any, shared_bytes: int = 0
    ) -> None:
        """Run ``kernel`` on ``grid`` blocks of ``threads``, on the current stream; nothing for an empty grid.

        Arguments are arrays, None (a null pointer) and numpy's sized integers.
        """
        blocks = (grid, 1) if isinstance(grid, int) else grid
        if 0 in blocks:
            return
        pointers = tuple(_NULL if argument is None else argument for argument in arguments)
        with self.device.current():
            function = self._function(kernel)
            if shared_bytes > function.max_dynamic_shared_size_bytes:
                function.max_dynamic_shared_size_bytes = shared_bytes
            times.launched(
                self.device,
                kernel,
                lambda: function(blocks, (threads,), pointers, shared_mem=shared_bytes),
            )


_NULL: Final = cupy.uint64(0)


def compile_source(name: str, architecture: str, *defines: str) -> bytes:
    """``source/{name}.cu`` as machine code for an architecture such as "sm_90". Needs no device."""
    path = SOURCES / f"{name}.cu"
    return _compiled(path.read_text(), str(path), architecture, *(f"-D{each}" for each in defines))


def _compiled(text: str, path: str, architecture: str, *options: str) -> bytes:
    program = nvrtc.createProgram(text, path, (), ())
    try:
        nvrtc.compileProgram(program, (*_OPTIONS, f"-arch={architecture}", *options))
        return bytes(nvrtc.getCUBIN(program)) + b"\0"  # CuPy 14 cuts the last byte, which is a zero
    except nvrtc.NVRTCError as error:
        raise CompileError(_with_lines(nvrtc.getProgramLog(program))) from error
    finally:
        nvrtc.destroyProgram(program)


def _with_lines(log: str) -> str:
    """NVRTC's log with the line of source under each error's position, ``path(line): ...``."""
    shown = []
    for line in log.splitlines():
        shown.append(line)
        position = re.match(r"(.+)\((\d+)\): (?:catastrophic )?error", line)
        if position and Path(position[1]).is_file():
            shown.append(f"    > {Path(position[1]).read_text().splitlines()[int(position[2]) - 1].strip()}")
    return "\n".join(shown)


@cache
def load(device: Device, name: str, *defines: str) -> Module:
    """The module of ``source/{name}.cu`` on ``device``, from the cache or newly compiled."""
    path = machine_code(name, device.architecture(), *defines)
    with device.current():
        return Module(device, cupy.RawModule(path=str(path)))


@cache
def made(device: Device, text: str) -> Module:
    """The module of a source that is written by a program: its products and sums are not contracted."""
    architecture = device.architecture()
    digest = hashlib.sha256(text.encode()).hexdigest()[:24]
    path = _kept(
        f"made-{architecture}-{digest}", lambda: _compiled(text, "made.cu", architecture, "-fmad=false")
    )
    with device.current():
        return Module(device, cupy.RawModule(path=str(path)))


def machine_code(name: str, architecture: str, *defines: str) -> Path:
    """The file that has ``compile_source``'s result, made where it is missing."""
    return _kept(
        f"{name}-{architecture}-{_digest(name, defines)}",
        lambda: compile_source(name, architecture, *defines),
    )


def _kept(name: str, compiled: Callable[[], bytes]) -> Path:
    """The file of machine code of this name, made where it is missing."""
    path = _cache_directory() / f"{name}.cubin"
    if not path.exists():
        code = compiled()
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(code)
        os.replace(file.name, path)  # whole or not there, whoever else compiles
    return path


def prepare(device: Device, sources: Iterable[Source]) -> None:
    """Compile those that are not there yet side by side: one takes seconds."""
    architecture = device.architecture()
    with ThreadPoolExecutor() as pool:
        for _ in pool.map(lambda source: machine_code(source[0], architecture, *source[1:]), sources):
            pass


def _cache_directory() -> Path:
    """``$ZENSERVE_CACHE``, or ``~/.cache/zenserve``, made where it is missing."""
    path = Path(os.environ.get("ZENSERVE_CACHE") or Path.home() / ".cache" / "zenserve")
    return _writable(path)


@cache
def _writable(path: Path) -> Path:
    """``path``, or a directory of this process where nothing can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError:
        return Path(tempfile.mkdtemp(prefix="zenserve-"))


def _digest(name: str, defines: tuple[str, ...]) -> str:
    """Of all that the machine code depends on, but for the version of NVRTC: newer ones need no new code."""
    digest = hashlib.sha256(repr(defines).encode())
    headers = sorted([*HEADERS.glob("zen/*.hpp"), *SOURCES.glob("*.hpp")])
    for path in (*headers, SOURCES / f"{name}.cu"):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:24]
