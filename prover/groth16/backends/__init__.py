"""Where proofs and keys are computed: on the processor, or on a GPU.

``ZENSERVE_BACKEND`` is ``cpu``, ``gpu``, or ``auto`` (the default): the GPU where there is one. Either makes
the same proof, byte for byte, of the same randomness.
"""

from __future__ import annotations

import ctypes
import os
from types import TracebackType
from typing import Protocol, Self

from base.progress import Progress
from kernels import FrArray, Group, WordArray
from kernels import Progress as Fraction
from prover.constraint_system import ConstraintSystem
from prover.groth16.backends.cpu import CPU
from prover.groth16.proving_key import ProvingKey
from zenerrors import ResourceError

VARIABLE = "ZENSERVE_BACKEND"


class Session(Protocol):
    """One proof's sums. A context manager: what it derives from the witness is erased on leaving.

    The witness z stays with the caller, who may still write to it between the calls, as each one says.
    Points are affine, Montgomery: uint64[2, 6] in G1, uint64[2, 2, 6] in G2.
    """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def committed(self, segment: int) -> tuple[WordArray, WordArray]:
        """D and σD of a segment. Its values, the blinding one included, are in z."""

    def linked(self, segment: int, blinding: FrArray) -> WordArray:
        """π of a linked segment whose commitment is blinded by ``blinding``, uint64[4]."""

    def quotient_sum(self) -> WordArray:
        """[h Z / δ]_1 of the witness, now complete.

        Raises ``StatementError`` (``statement.unsatisfied``), which names the first row that does not hold.
        """

    def witness_sum(self, section: str) -> WordArray:
        """The sum over the witness of the key's ``private``, ``a``, ``b_g1`` or ``b_g2``."""


class Backend(Protocol):
    """A machine that computes what takes time in proofs and keys."""

    name: str

    def prove(
        self, key: ProvingKey, statement: ConstraintSystem, z: FrArray, threads: int, report: Progress
    ) -> Session:
        """Raises ``ResourceError`` (``resource.gpu_memory``) where there is not the memory for it."""

    def fixed_base(
        self, group: Group, scalars: FrArray, threads: int, progress: Fraction | None
    ) -> WordArray:
        """scalars[i] times the group's generator: uint64[n, *group.shape]."""

    def multiply(
        self, group: Group, points: WordArray, scalar: FrArray, threads: int, progress: Fraction | None
    ) -> WordArray:
        """scalar · points[i], for one scalar, uint64[4]: uint64[n, *group.shape]."""


def chosen() -> Backend:
    """What ``ZENSERVE_BACKEND`` says now.

    Raises ``ResourceError``: ``resource.backend`` where it says nothing known, ``resource.no_gpu`` where it
    asks for a GPU and there is none.
    """
    name = os.environ.get(VARIABLE, "auto")
    if name not in ("auto", "cpu", "gpu"):
        raise ResourceError("resource.backend", f"{VARIABLE} is {name!r}: set it to auto, cpu or gpu")
    if name == "cpu":
        return CPU
    missing = _missing_gpu()
    if missing is None:
        from prover.groth16.backends.gpu import GPU

        return GPU
    if name == "gpu":
        raise ResourceError(
            "resource.no_gpu",
            f"{VARIABLE} is gpu, and there is none to use ({missing}): set it to auto or cpu",
        )
    return CPU


def _missing_gpu() -> str | None:
    """Why no GPU can be used; None where one can. Where there is no driver, CuPy is not loaded."""
    try:
        ctypes.CDLL("libcuda.so.1")
        from gpu import device, modules
    except OSError:
        return "NVIDIA's driver is not installed"
    except ImportError as error:
        return f"{error}; install zenserve[gpu]"
    return device.missing() or modules.missing()
