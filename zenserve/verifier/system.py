"""The interface of a proof system to a verifier: an object that documents and keys name by its id.

``registry`` has those that are installed. The prover's half is ``zenserve.prover.system``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, Protocol

from zenserve.errors import FileFormatError
from zenserve.verifier.verdict import OK, Verdict

Capability = Literal["challenges", "links", "lookups", "folded inputs"]
"""``challenges``: values drawn once segments are committed to; ``links``: segments that open commitments from
outside; ``lookups``: tables, which the compiler else makes of challenges; ``folded inputs``: public ones that
the verifier reads as one number.
"""

DEVELOPMENT: Final = "development"
"""Somewhere on the way to the key a single party drew secrets, and says that it erased them."""
CEREMONY: Final = "ceremony"
"""Each phase had contributors, as the transcripts show; the secrets are gone if one of them in each was
honest."""
IMPORTED: Final = "imported"
"""The key comes from another program's file, which alone can say how it was made."""
TRANSPARENT: Final = "transparent"
"""Nobody drew secrets: everybody can make the key."""


@dataclass(frozen=True)
class Claim:
    """One proof, as its system writes it, and what it is held against.

    ``public_inputs``: canonical integers in the key's order; ``commitments``: one for each linked segment.
    """

    public_inputs: Sequence[int]
    proof: Any
    commitments: Sequence[bytes] = ()


@dataclass(frozen=True)
class Flaw:
    """The claim at ``index`` is wrong."""

    index: int
    verdict: Verdict


class VerifyingKey(Hashable, Protocol):
    """A key of any system, found to be one."""

    @property
    def setup(self) -> str:
        """The origin of the key: one of the labels above."""

    @property
    def digest(self) -> bytes:
        """32 bytes, of all that verification reads of it."""

    @property
    def statement_digest(self) -> bytes:
        """Of the constraint system that it claims to be for, 32 bytes."""

    @property
    def public(self) -> int:
        """The number of public inputs."""

    @property
    def linked_sizes(self) -> Sequence[int]:
        """The number of values of each linked segment, in order."""

    @property
    def basis(self) -> bytes | None:
        """The identity of the commitment key that segments are linked over, None where none is."""

    def to_json(self) -> dict[str, Any]:
        """A JSON-able form, ``setup`` among its fields."""


class CommitmentScheme(ABC):
    """A scheme of commitments to vectors, independent of any circuit."""

    id: ClassVar[str]
    commitment_bytes: ClassVar[int]

    @abstractmethod
    def check_form(self, opening: Mapping[str, Any]) -> None:
        """Check that it is an opening in its canonical form, its ``blinding`` in hex. Raises
        ``FileFormatError`` (``file.json``).
        """

    @abstractmethod
    def check_opening(
        self, basis: bytes, commitment: bytes, values: Sequence[int], opening: Mapping[str, Any]
    ) -> Verdict:
        """Judge whether ``commitment`` is to ``values``, under the commitment key with the identity
        ``basis``, which the caller trusts. The caller checks the number of values. Never raises for data of
        this form.
        """

    @abstractmethod
    def check_sum(
        self, basis: bytes, commitments: Sequence[bytes], totals: Sequence[int], opening: bytes
    ) -> Verdict:
        """Judge whether ``commitments``, each to as many values as there are ``totals``, add up to the
        totals, value by value, under the commitment key ``basis``: else ``sum_mismatch``, or the fault of the
        data. The caller checks that no commitment is counted twice. Never raises.
        """


class VerifyingSystem(ABC):
    """The verifier's half of a proof system.

    ``setups``: who can have made its keys, and of each what a proof does not say for that; ``reasons``: each
    that a verdict can have, with a sentence; ``most_proof_bytes``: longer proofs are not read.
    """

    id: ClassVar[str]
    commitments: CommitmentScheme
    capabilities: ClassVar[frozenset[Capability]]
    judges_by_circuits: ClassVar[bool] = False
    """True if keys only name their circuits, which a verifier must then have."""
    setups: ClassVar[Mapping[str, str]]
    reasons: ClassVar[Mapping[str, str]]
    most_proof_bytes: ClassVar[int]

    @abstractmethod
    def read_key(self, document: Mapping[str, Any]) -> VerifyingKey:
        """The inverse of the key's ``to_json``, with every check. Raises ``FileFormatError``."""

    @abstractmethod
    def check_transcript(self, document: Mapping[str, Any], key: Any) -> None:
        """Check that the transcript shows how the secrets of ``key`` were made. Raises ``ZenError``."""

    @abstractmethod
    def verify_groups(self, key: Any, groups: Sequence[Sequence[Claim]]) -> list[Flaw | None]:
        """Of each group the first claim that is wrong, None where all hold. Never raises for bad claims. A
        commitment that a proof is not about is a ``link_mismatch`` with its place.
        """

    @abstractmethod
    def effort(
        self, proofs: Sequence[int], key: Mapping[str, Any], transcript: Mapping[str, Any] | None
    ) -> int:
        """Return an upper bound of the work to verify proofs of the given sizes in bytes, and to read a key
        and its transcript, neither checked yet (empty where it is known): in quarters of a millisecond of a
        processor.
        """

    @abstractmethod
    def soundness_bits(self, constraints: int, degree: int) -> float:
        """-log2 of the probability that one transcript proves a false statement of so many constraints, with
        identities of this degree, in sum, that are checked at challenges.
        """

    def errors(self, key: Any) -> Sequence[tuple[str, float]]:
        """Each way in which a false statement can pass, with -log2 of its probability, but for what the
        statement's own challenges can miss. None where a proof rests on assumptions alone.
        """
        return ()

    def take_circuit(self, file: bytes) -> None:
        """Have the circuit that this is the file of, to judge by, where keys only name theirs. Raises
        ``FileFormatError``: ``file.system`` where keys say all.
        """
        raise FileFormatError("file.system", f"keys of {self.id} take no file of a circuit", field="circuit")

    def circuit_bytes(self, key: Any) -> int | None:
        """About how many bytes of a circuit each proof under ``key`` is judged by, beside the key. None:
        nothing can be judged before ``take_circuit``.
        """
        return 0

    def verify_batch(self, key: Any, claims: Sequence[Claim]) -> list[Verdict]:
        """The verdict on each claim."""
        flaws = self.verify_groups(key, [[claim] for claim in claims])
        return [Verdict(True, OK, self.reasons[OK]) if flaw is None else flaw.verdict for flaw in flaws]

    def verify(self, key: Any, claim: Claim) -> Verdict:
        (verdict,) = self.verify_batch(key, [claim])
        return verdict
