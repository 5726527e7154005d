"""The sums of a proof, on the backend that is chosen: where the key's points are.

Either backend makes the same proof, byte for byte, of the same randomness.
"""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

import numpy as np

from zenserve.base.progress import Progress
from zenserve.kernels import FrArray, WordArray
from zenserve.prover import backends
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16.proving_key import ProvingKey
from zenserve.prover.groth16.sessions.cpu import CpuSession
from zenserve.prover.witness import DeviceWitness, Witness


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

    def start(self) -> None:
        """The witness is complete: a GPU computes all sums from now on, the processor each when it is asked
        for. Raises as ``quotient_sum``.
        """

    def quotient_sum(self) -> WordArray:
        """[h Z / δ]_1 of the witness.

        Raises ``StatementError`` (``statement.unsatisfied``), which names the first row that does not hold.
        """

    def witness_sum(self, section: str) -> WordArray:
        """The sum over the witness of the key's ``private``, ``a``, ``b_g1`` or ``b_g2``."""


def begin(key: ProvingKey, system: ConstraintSystem, z: Witness, threads: int, report: Progress) -> Session:
    """A proof's session on the backend that is chosen; on the GPU that ``z`` is on, if it is on one.

    Raises ``ResourceError``: as ``backends.chosen`` does, and ``resource.gpu_memory`` where there is not the
    memory for it.
    """
    index = z.device.index if isinstance(z, DeviceWitness) else backends.chosen().index
    if index is None:
        return CpuSession(key, system, np.asarray(z), threads, report)
    from zenserve.prover.groth16.sessions import gpu

    return gpu.resident_keys(index).begin(key, system, z, threads, report)
