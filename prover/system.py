"""The interface of a proof system to provers: the verifier's half, with keys, proofs and their costs.

``registry`` has the installed systems. Keys are written to files and read from them, in a format that only
their system knows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from zenserve.base.progress import Progress
from zenserve.kernels import FrArray
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.size import Size
from zenserve.verifier.system import CommitmentScheme, VerifyingKey, VerifyingSystem


class Opening(Protocol):
    """A commitment and what opens it together with the values. As secret as these."""

    @property
    def commitment(self) -> bytes:
        """Public."""

    @property
    def blinding_bytes(self) -> bytes:
        """The rest of ``to_bytes``."""

    def to_bytes(self) -> bytes:
        """The commitment and the blinding: to be sealed before it is stored."""


class Revealed(Protocol):
    """A proof that a commitment is to values, for all who may see the values."""

    def to_json(self) -> dict[str, Any]:
        """As ``CommitmentScheme.check_form`` has it."""


class CommitmentKey(Protocol):
    """The parameters of all commitments of a service. Values are uint64[n, 4], Montgomery."""

    @property
    def identity(self) -> bytes:
        """The bytes by which verifiers identify the commitment key."""

    @property
    def length(self) -> int:
        """To how many values a commitment can be."""

    def commit(self, values: FrArray, *, hiding: bool = True, threads: int = 1) -> Opening:
        """With fresh randomness; without ``hiding`` a function of the values. Raises ``StatementError``."""

    def reveal(self, opening: Any, values: FrArray, *, threads: int = 1) -> Revealed:
        """Raises ``StatementError`` where ``opening`` is not to ``values``."""


class RenewedOpening(Opening, Protocol):
    """The opening of a commitment whose root was replaced by another one."""

    @property
    def root(self) -> bytes:
        """The root that the next proof opens."""


@runtime_checkable
class Renewable(CommitmentKey, Protocol):
    """One whose commitments hold for a few proofs each, and are then to be renewed. Who opens them counts."""

    @property
    def openings(self) -> int:
        """The number of proofs, counting renewals, that can open a root before they reveal its values."""

    @property
    def columns(self) -> int:
        """The number of places of a root that one proof shows: openings by another version may show more."""

    @property
    def renewals(self) -> int:
        """The number of renewals that can follow one another."""

    def renew(self, opening: Any, values: FrArray, *, threads: int = 1) -> RenewedOpening:
        """Have another root take the present one's place: that takes one opening of each. Raises
        ``StatementError``."""


class ProvingKey(Protocol):
    @property
    def verifying_key(self) -> VerifyingKey: ...


@dataclass(frozen=True)
class Estimate:
    """The cost of keys and a proof on this machine: bytes, and seconds by stage, in the order of the work.

    ``setup_memory``, ``proof_memory``: the peak beside the constraint system and the witness.
    """

    proving_key_bytes: int
    verifying_key_bytes: int
    proof_bytes: int
    setup_memory: int
    proof_memory: int
    setup_seconds: Mapping[str, float]
    proof_seconds: Mapping[str, float]

    @property
    def memory(self) -> int:
        """Bytes to have free for either: the formulas hold within a fifth."""
        return max(self.setup_memory, self.proof_memory) * 6 // 5


class Committing(CommitmentScheme):
    """A commitment scheme with the half that commits."""

    @abstractmethod
    def make_key(self, file: Path, values: int, threads: int, progress: Progress | None) -> None:
        """Write a commitment key of a development setup, for vectors of so many values. Stage: "basis"."""

    @abstractmethod
    def load_key(self, file: Path) -> CommitmentKey:
        """Raises ``FileFormatError``, ``StatementError``."""

    @abstractmethod
    def read_opening(self, data: bytes) -> Opening:
        """The inverse of ``Opening.to_bytes``. Raises ``StatementError`` (``statement.openings``)."""

    @abstractmethod
    def open_sum(self, key: Any, openings: Sequence[Any], values: Sequence[Sequence[int]]) -> bytes:
        """Return ``check_sum``'s opening of commitments, under ``key``, to these values, equally many
        each."""


class ProofSystem(VerifyingSystem):
    """Both halves of a proof system. ``takes_devices``: a witness may be on the GPU that it is proven on."""

    commitments: Committing
    takes_devices: ClassVar[bool] = False

    @abstractmethod
    def setup(
        self, constraint_system: ConstraintSystem, file: Path, *, basis: Any, threads: int, progress: Progress
    ) -> VerifyingKey:
        """Make the keys of a constraint system, linked over the commitment key ``basis``, None where
        no segment is; the proving key goes to ``file``. Without secrets it is a function of the system.
        """

    @abstractmethod
    def load_key(self, file: Path) -> ProvingKey:
        """The proving key, to be asked for again and again. Raises ``FileFormatError``."""

    @abstractmethod
    def prove(
        self,
        key: Any,
        constraint_system: ConstraintSystem,
        witness: Any,
        *,
        openings: Sequence[Any],
        post_challenge: Callable[[Any, FrArray], None],
        threads: int,
        progress: Progress,
    ) -> bytes:
        """A proof that ``witness`` (uint64[variables, 4], Montgomery) satisfies the constraints, or a
        ``DeviceWitness`` does where ``takes_devices``.

        ``openings``: for each linked segment, in order; ``post_challenge`` completes the witness once there
        are challenges. Raises ``StatementError``.
        """

    @abstractmethod
    def estimate(self, size: Size, threads: int) -> Estimate:
        """Return the estimated cost of a constraint system of this size."""
