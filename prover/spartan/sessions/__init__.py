"""The expensive part of a proof, on its device: commitments, sum-checks and openings of one witness."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from zenserve.kernels import FrArray
from zenserve.prover import backends
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.spartan.commitment import Linked
from zenserve.prover.spartan.folding import Vector
from zenserve.prover.spartan.queries import Places
from zenserve.prover.spartan.rounds import Rounds
from zenserve.prover.spartan.sessions.cpu import CpuSession
from zenserve.prover.witness import DeviceWitness, Witness
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.spartan.transcript import Transcript


class Rows(Protocol):
    """A matrix that was committed to. Secret, but for its root and what is opened."""

    @property
    def root(self) -> bytes: ...

    def open(self, at: Places) -> bytes:
        """The columns there, as proofs have them."""


class Session(Protocol):
    """One proof's arrays. A context manager: what is derived from the witness is erased on leaving.

    The witness z, uint64[variables, 4], Montgomery, stays with the caller, who may write to variables that
    nothing was asked of yet.
    """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def commit(self, variables: slice, tail: int, seed: bytes, mask: bytes | None = None) -> Rows:
        """The next part of the shape: these variables, tails by ``seed``, and the salts of all parts that are
        made here, which the first one's openings have, by the first one's; and, of the last part,
        the mask as the last row, which follows from a seed of its own. Seeds have 32 bytes."""

    def link(self, variables: slice, linked: Linked, *, lasting: bool) -> Rows:
        """The next part of the shape, these variables, is what this commitment is to. Of ``lasting`` ones
        code words and tree are kept for other proofs, while there is memory. Raises ``StatementError``
        (``statement.openings``) where it is to other values, now or when it is opened."""

    def outer(self, zero: Sequence[int], pads: FrArray, transcript: Transcript) -> Rounds:
        """The sum over x of eq(zero, x) (A z(x) B z(x) - C z(x)), of the complete witness: what is said of
        its rounds, behind ``pads``, uint64[3 rounds, 4], Montgomery. Its tables are A z, B z and C z.

        Raises ``StatementError`` (``statement.unsatisfied``), which names the first row that does not hold.
        """

    def inner(
        self, outer: Sequence[int], weights: Sequence[int], pads: FrArray, transcript: Transcript
    ) -> Rounds:
        """The sum over y of M(y) z(y), M the sum of the matrices at the point ``outer`` of their rows, times
        ``weights``, two ``pads`` a round. Its tables are M and z by place, tails included."""

    def open(self, point: Sequence[int]) -> int:
        """Of the witness at ``point``: the inner product of the mask with eq at the columns' coordinates."""

    def combine(self, factor: int) -> Vector:
        """The mask, and ``factor`` times all rows, weighted by eq at the rows' coordinates of that point.
        Public; its weights are eq at the columns' coordinates."""


def begin(system: ConstraintSystem, shape: Shape, z: Witness, threads: int) -> Session:
    """A proof's session on the backend that is chosen; on the GPU that ``z`` is on, if it is on one.

    Raises ``ResourceError``: as ``backends.chosen`` does, and ``resource.gpu_memory`` where there is not the
    memory for it.
    """
    index = z.device.index if isinstance(z, DeviceWitness) else backends.chosen().index
    if index is None:
        return CpuSession(system, shape, np.asarray(z), threads)
    from zenserve.prover.spartan.sessions import gpu

    return gpu.resident_systems(index).begin(system, shape, z, threads)
