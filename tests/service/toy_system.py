"""A toy proof system: its proofs *are* the witness. It hides nothing.

It is here to show that a proof system needs a file of its own and nothing else. Its commitments are salted
hashes, its keys have no secrets, and whoever verifies has the constraint system, as if they had compiled it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from zenserve.base.progress import Progress
from zenserve.errors import FileFormatError, StatementError
from zenserve.kernels import FrArray, fr
from zenserve.prover import registry
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.size import Size
from zenserve.prover.system import Committing, Estimate, ProofSystem
from zenserve.verifier import registry as verifiers
from zenserve.verifier.document import from_hex
from zenserve.verifier.system import TRANSPARENT, Claim, Flaw
from zenserve.verifier.verdict import LINK_MISMATCH, OK, SUM_MISMATCH, Verdict

BYTES: Final = 32
COMPILED: Final[dict[str, ConstraintSystem]] = {}
"""What this verifier has compiled, by digest."""
REASONS: Final = {
    OK: "The witness satisfies every constraint.",
    LINK_MISMATCH: "A commitment is to other values than the witness has.",
    SUM_MISMATCH: "The commitments do not add up to the total.",
    "proof_length": "The proof has not the length of a witness of this circuit.",
    "not_a_witness": "The witness is another's, or none.",
    "opening_mismatch": "The commitment is to other values.",
}


@dataclass(frozen=True)
class Salted:
    """A commitment and its salt: also how it is opened in public."""

    commitment: bytes
    blinding_bytes: bytes

    def to_bytes(self) -> bytes:
        return self.commitment + self.blinding_bytes

    def to_json(self) -> dict[str, Any]:
        return {"format": "toy opening", "blinding": self.blinding_bytes.hex()}


def hashed(salt: bytes, values: Sequence[int]) -> bytes:
    return hashlib.sha256(b"toy" + salt + b"".join(value.to_bytes(BYTES, "big") for value in values)).digest()


class ToyCommitmentKey:
    identity = b"toy"
    length = 1 << 16

    def commit(self, values: FrArray, *, hiding: bool = True, threads: int = 1) -> Salted:
        salt = secrets.token_bytes(BYTES) if hiding else bytes(BYTES)
        return Salted(hashed(salt, fr.to_ints(values)), salt)

    def reveal(self, opening: Salted, values: FrArray, *, threads: int = 1) -> Salted:
        if opening.commitment != hashed(opening.blinding_bytes, fr.to_ints(values)):
            raise StatementError("statement.openings", "the commitment is not to these values")
        return opening


class SaltedHashes(Committing):
    id = "toy-sha256"
    commitment_bytes = BYTES

    def make_key(self, file: Path, values: int, threads: int, progress: Progress | None) -> None:
        file.write_bytes(b"toy")

    def load_key(self, file: Path) -> ToyCommitmentKey:
        return ToyCommitmentKey()

    def read_opening(self, data: bytes) -> Salted:
        return Salted(data[:BYTES], data[BYTES:])

    def open_sum(self, key: Any, openings: Sequence[Salted], values: Sequence[Sequence[int]]) -> bytes:
        """It shows every value."""
        return b"".join(
            opening.blinding_bytes + b"".join((value % fr.modulus).to_bytes(BYTES, "big") for value in own)
            for opening, own in zip(openings, values, strict=True)
        )

    def check_form(self, opening: Mapping[str, Any]) -> None:
        salt = from_hex(opening.get("blinding"), "blinding")
        if opening != Salted(b"", salt).to_json():
            raise FileFormatError("file.json", "it is no opening of the toy")

    def check_opening(
        self, basis: bytes, commitment: bytes, values: Sequence[int], opening: Mapping[str, Any]
    ) -> Verdict:
        salt, integers = bytes.fromhex(opening["blinding"]), [value % fr.modulus for value in values]
        return said(OK if commitment == hashed(salt, integers) else "opening_mismatch")

    def check_sum(
        self, basis: bytes, commitments: Sequence[bytes], totals: Sequence[int], opening: bytes
    ) -> Verdict:
        words = [opening[start : start + BYTES] for start in range(0, len(opening), BYTES)]
        size = 1 + len(totals)
        parts = [words[start : start + size] for start in range(0, len(words), size)]
        values = [[int.from_bytes(word, "big") for word in part[1:]] for part in parts]
        opened = [hashed(part[0], own) for part, own in zip(parts, values, strict=True)]
        found = [sum(column) % fr.modulus for column in zip(*values, strict=True)]
        same = (opened, found) == ([*commitments], [total % fr.modulus for total in totals])
        return said(OK if same else SUM_MISMATCH)


@dataclass(frozen=True)
class ToyKey:
    """Which circuit it is, and nothing else: proving takes no more."""

    statement: str
    public: int
    linked_sizes: tuple[int, ...]
    setup = TRANSPARENT

    @classmethod
    def of(cls, statement: ConstraintSystem) -> ToyKey:
        sizes = tuple(segment.size for segment in statement.segments if segment.linked)
        return cls(statement.digest.hex(), statement.public, sizes)

    @property
    def verifying_key(self) -> ToyKey:
        return self

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(json.dumps(asdict(self)).encode()).digest()

    @property
    def statement_digest(self) -> bytes:
        return bytes.fromhex(self.statement)

    @property
    def basis(self) -> bytes | None:
        return ToyCommitmentKey.identity if self.linked_sizes else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"linked_sizes": list(self.linked_sizes), "setup": self.setup}


class ToySystem(ProofSystem):
    id = "toy"
    commitments = SaltedHashes()
    capabilities = frozenset({"challenges", "links"})
    setups = {TRANSPARENT: "That anything is hidden: the proof is the witness, for all to read."}  # noqa: RUF012
    reasons = REASONS
    most_proof_bytes = 1 << 20

    def setup(
        self, statement: ConstraintSystem, file: Path, *, basis: Any, threads: int, progress: Progress
    ) -> ToyKey:
        key = ToyKey.of(statement)
        COMPILED[key.statement] = statement
        file.write_text(json.dumps(key.to_json()))
        return key

    def load_key(self, file: Path) -> ToyKey:
        return self.read_key(json.loads(file.read_text()))

    def read_key(self, document: Mapping[str, Any]) -> ToyKey:
        statement = COMPILED.get(str(document.get("statement")))
        if statement is None:
            raise FileFormatError("file.json", "this circuit was not compiled here", field="key")
        return ToyKey.of(statement)

    def check_transcript(self, document: Mapping[str, Any], key: ToyKey) -> None:
        raise FileFormatError("file.transcript", "nobody contributes to keys without secrets")

    def prove(
        self,
        key: ToyKey,
        statement: ConstraintSystem,
        witness: FrArray,
        *,
        openings: Sequence[Salted],
        post_challenge: Callable[[FrArray, FrArray], None],
        threads: int,
        progress: Progress,
    ) -> bytes:
        progress("reveal", 0.0)
        z = witness.copy()
        drawn = fr.from_ints(challenges(key, statement, z, [opening.commitment for opening in openings]))
        z[1 + statement.public : statement.instance] = drawn
        post_challenge(z, drawn)
        statement.check(z)
        values = b"".join(value.to_bytes(BYTES, "big") for value in fr.to_ints(z))
        return values + b"".join(opening.blinding_bytes for opening in openings)

    def verify_groups(self, key: ToyKey, groups: Sequence[Sequence[Claim]]) -> list[Flaw | None]:
        return [self._first_wrong(key, group) for group in groups]

    def _first_wrong(self, key: ToyKey, claims: Sequence[Claim]) -> Flaw | None:
        verdicts = (self._verdict(key, COMPILED[key.statement], claim) for claim in claims)
        return next((Flaw(at, verdict) for at, verdict in enumerate(verdicts) if not verdict), None)

    def _verdict(self, key: ToyKey, statement: ConstraintSystem, claim: Claim) -> Verdict:
        links = len(key.linked_sizes)
        if len(claim.proof) != BYTES * (statement.variables + links) or len(claim.commitments) != links:
            return said("proof_length")
        words = [claim.proof[start : start + BYTES] for start in range(0, len(claim.proof), BYTES)]
        numbers = [int.from_bytes(word, "big") for word in words[: statement.variables]]
        if numbers[: 1 + statement.public] != [1, *claim.public_inputs] or max(numbers) >= fr.modulus:
            return said("not_a_witness")
        linked = zip(statement.segments, statement.segment_ranges, strict=True)
        parts = [numbers[part.start : part.stop - 1] for segment, part in linked if segment.linked]
        for index, (part, salt) in enumerate(zip(parts, words[statement.variables :], strict=True)):
            if claim.commitments[index] != hashed(salt, part):
                return said(LINK_MISMATCH, index)
        z = fr.from_ints(numbers)
        if numbers[1 + statement.public : statement.instance] != challenges(
            key, statement, z, claim.commitments
        ):
            return said("not_a_witness")
        try:
            statement.check(z)
        except StatementError:
            return said("not_a_witness")
        return said(OK)

    def effort(
        self, proofs: Sequence[int], key: Mapping[str, Any], transcript: Mapping[str, Any] | None
    ) -> int:
        return sum(proofs) // 4096

    def soundness_bits(self, constraints: int, degree: int) -> float:
        return 250.0

    def estimate(self, size: Size, threads: int) -> Estimate:
        witness = BYTES * size.variables
        return Estimate(100, 100, witness, witness, witness, {"setup": 0.0}, {"reveal": 0.0})


def challenges(
    key: ToyKey, statement: ConstraintSystem, z: FrArray, commitments: Sequence[bytes]
) -> list[int]:
    """Of all that is fixed before: public inputs, segments, commitments."""
    fixed = np.concatenate([z[: 1 + statement.public], z[statement.instance : statement.first_private]])
    seed = hashed(key.digest + b"".join(commitments), fr.to_ints(fixed))
    drawn = (hashlib.sha512(seed + bytes([index])).digest() for index in range(statement.challenges))
    return [int.from_bytes(digest, "big") % fr.modulus for digest in drawn]


def said(reason: str, index: int | None = None) -> Verdict:
    return Verdict(reason == OK, reason, REASONS[reason], index)


@contextmanager
def installed() -> Iterator[ToySystem]:
    """The toy, for as long as a test takes."""
    toy = ToySystem()
    registry.register(toy)
    try:
        yield toy
    finally:
        del registry.SYSTEMS[toy.id], verifiers.SYSTEMS[toy.id]
