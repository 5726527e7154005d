"""The choice of the device that a prover's expensive work runs on: the processor, or a GPU.

``ZENSERVE_BACKEND`` is ``cpu``, ``gpu``, ``gpu:1`` for the second GPU (``gpu`` is ``gpu:0``) and so on, or
``auto`` (the default): the first GPU if there is one. The results are the same on either, byte for byte.
"""

from __future__ import annotations

import ctypes
import os
import re
from contextlib import AbstractContextManager
from typing import Protocol

from zenserve.errors import ResourceError
from zenserve.kernels import FrArray, Group, Progress, WordArray
from zenserve.prover.backends.cpu import CPU

VARIABLE = "ZENSERVE_BACKEND"


class Backend(Protocol):
    """A machine that multiplies points, which lie on the host: uint64[n, *group.shape], affine, Montgomery.

    ``name`` is "cpu" or "gpu".
    """

    name: str

    @property
    def index(self) -> int | None:
        """The GPU's; None for the processor."""

    def bus(self) -> str | None:
        """The GPU's PCI address, as the driver's tools take it; None for the processor."""

    def kernels(self) -> AbstractContextManager[dict[str, float]]:
        """Seconds of what the GPU runs in the context, by name, once it is left; nothing of the processor."""

    def fixed_base(
        self, group: Group, scalars: FrArray, threads: int, progress: Progress | None
    ) -> WordArray:
        """scalars[i] times the group's generator."""

    def multiply(
        self, group: Group, points: WordArray, scalar: FrArray, threads: int, progress: Progress | None
    ) -> WordArray:
        """scalar · points[i], for one scalar, uint64[4]."""


def chosen() -> Backend:
    """Return the backend that ``ZENSERVE_BACKEND`` selects now.

    Raises ``ResourceError``: ``resource.backend`` if its value is unknown, ``resource.no_gpu`` if it selects
    a GPU that is not available.
    """
    name = os.environ.get(VARIABLE, "auto")
    if name == "cpu":
        return CPU
    if not (asked := re.fullmatch(r"auto|gpu(?::([0-9]{1,3}))?", name)):
        raise ResourceError("resource.backend", f"{VARIABLE} is {name!r}: set it to auto, cpu, gpu or gpu:1")
    index = int(asked[1] or 0)
    missing = _missing_gpu(index)
    if missing is None:
        from zenserve.prover.backends import gpu

        return gpu.backend(index)
    if name == "auto":
        return CPU
    raise ResourceError(
        "resource.no_gpu",
        f"{VARIABLE} is {name}, and there is none to use ({missing}): set it to auto or cpu",
    )


def _missing_gpu(index: int) -> str | None:
    """Why this GPU cannot be used; None where it can. Where there is no driver, CuPy is not loaded."""
    try:
        ctypes.CDLL("libcuda.so.1")
        from zenserve.gpu import device, modules
    except OSError:
        return "NVIDIA's driver is not installed"
    except ImportError as error:
        return f"{error}: pip install cupy-cuda13x 'nvidia-cuda-nvrtc==13.*'"
    return device.missing(index) or modules.missing()
