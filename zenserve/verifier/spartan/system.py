"""Spartan over Fr, to a verifier: a proof system without a setup (docs/spartan.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final, Protocol

from zenserve.errors import FileFormatError
from zenserve.verifier.points import SCALAR_MODULUS
from zenserve.verifier.recent import Recent
from zenserve.verifier.spartan import chain, ledger, verification
from zenserve.verifier.spartan import circuit as circuits
from zenserve.verifier.spartan.admission import Commitment, Sizes, shape_of
from zenserve.verifier.spartan.circuit_file import read_circuit
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.commitment import Revealed, Rows, commit
from zenserve.verifier.spartan.field import FR, Field
from zenserve.verifier.spartan.key import SpartanKey
from zenserve.verifier.spartan.merkle import DIGEST_BYTES
from zenserve.verifier.spartan.proof import MalformedError
from zenserve.verifier.spartan.shape import Segment, Shape
from zenserve.verifier.spartan.verification import Matrices, verdict, verify
from zenserve.verifier.system import TRANSPARENT, Claim, CommitmentScheme, Flaw, VerifyingSystem
from zenserve.verifier.verdict import LINK_MISMATCH, OK, SUM_MISMATCH, Verdict

_UNKNOWN: Final = "circuit_unknown"
_OPENING: Final = "opening_mismatch"
REASONS: Final = {
    **verification.REASONS,
    _UNKNOWN: "Whoever verifies has not got the circuit that the key names: compile it, or give its file.",
    _OPENING: "The commitment is to other values, or its seed is another.",
    SUM_MISMATCH: "The commitments do not add up to these totals.",
}
_EFFORT_BYTES: Final = 1 << 11
"""Of a proof, that take a quarter of a millisecond to hash and combine."""
_EFFORT_SEGMENTS: Final = 1 << 5
"""Of a key, that are read in that time."""
_MOST_COMMITMENTS: Final = 16
"""Of a statement, in documents."""
_USUAL: Final = Code(FR, 14, 16)


def judged(reason: str) -> Verdict:
    return Verdict(reason == OK, reason, REASONS[reason])


class RowsOverFr(CommitmentScheme):
    """Merkle trees over the columns of Reed-Solomon code words."""

    id = "reed-solomon-blake3-bls12-381"
    commitment_bytes = DIGEST_BYTES

    def check_form(self, opening: Mapping[str, Any]) -> None:
        Revealed.from_json(opening)

    def check_opening(
        self, basis: bytes, commitment: bytes, values: Sequence[int], opening: Mapping[str, Any]
    ) -> Verdict:
        canonical = [value % SCALAR_MODULUS for value in values]
        found = commit(Rows.from_identity(basis), canonical, Revealed.from_json(opening).seed)
        return judged(OK if found == commitment else _OPENING)

    def check_sum(
        self, basis: bytes, commitments: Sequence[bytes], totals: Sequence[int], opening: bytes
    ) -> Verdict:
        """``opening``: a proof, over the code of ``basis``."""
        if not commitments:
            return judged(SUM_MISMATCH)
        rows, circuit = Rows.from_identity(basis), circuits.totals(len(commitments), len(totals))
        linked = [Commitment(root, len(totals), rows.tail) for root in commitments]
        shape = shape_of(circuit.sizes, rows.code, linked)
        public = [total % SCALAR_MODULUS for total in totals]
        return judged(OK if verify(shape, circuit, public, commitments, opening) else SUM_MISMATCH)


class KnownCircuit(Matrices, Protocol):
    """The circuit that a verifier trusts: the matrices, and the variables and rows that they have.
    ``nbytes``: its approximate size in memory.
    """

    @property
    def sizes(self) -> Sizes: ...
    @property
    def nbytes(self) -> int: ...


class SpartanVerifier(VerifyingSystem):
    """It judges by the circuits that it was given, from files or compiled: a key only names its own."""

    id = "spartan-bls12-381"
    commitments = RowsOverFr()
    capabilities = frozenset({"challenges", "links"})
    judges_by_circuits = True
    setups = {  # noqa: RUF012
        TRANSPARENT: "That BLAKE3 is as good as a random oracle: the proof rests on that, and on nobody's"
        " secret."
    }
    reasons = REASONS
    most_proof_bytes = 1 << 26
    field: ClassVar[Field] = FR
    """The field that the system computes in."""
    most_circuit_bytes: ClassVar[int] = 1 << 30
    """Of the circuits that it judges by, those it was last given; the last one stays, whatever it takes."""

    def __init__(self) -> None:
        self._circuits = Recent[bytes, KnownCircuit](self.most_circuit_bytes, lambda circuit: circuit.nbytes)

    def take_circuit(self, file: bytes) -> None:
        self.keep(read_circuit(file))

    def keep(self, circuit: KnownCircuit) -> None:
        """Judge by this circuit, too: the caller trusts its digest to be its own."""
        self._circuits.keep(circuit.digest, circuit)

    def circuit_bytes(self, key: SpartanKey) -> int | None:
        circuit = self._circuits.get(key.circuit)
        return None if circuit is None else circuit.nbytes

    def read_key(self, document: Mapping[str, Any]) -> SpartanKey:
        return SpartanKey.from_json(document)

    def check_transcript(self, document: Mapping[str, Any], key: SpartanKey) -> None:
        raise FileFormatError("file.transcript", "nobody contributes to a key without secrets")

    def verify_groups(self, key: SpartanKey, groups: Sequence[Sequence[Claim]]) -> list[Flaw | None]:
        matrices = self._circuits.get(key.circuit)
        # By other sizes the prover could choose what the circuit draws.
        if matrices is not None and matrices.sizes != key.sizes:
            matrices = None
        return [_first_wrong(self.field, key, matrices, group) for group in groups]

    def effort(
        self, proofs: Sequence[int], key: Mapping[str, Any], transcript: Mapping[str, Any] | None
    ) -> int:
        segments = key.get("segments")
        read = len(segments) // _EFFORT_SEGMENTS if isinstance(segments, list) else 0
        return -(-sum(proofs) // _EFFORT_BYTES) + read

    def errors(self, key: SpartanKey) -> Sequence[tuple[str, float]]:
        return [*ledger.terms(key.shape), *ledger.of_chains(key.shape)]

    def soundness_bits(self, constraints: int, degree: int) -> float:
        """Of a proof over rows of usual length, about as many commitments as a statement can have, and of the
        statement's own challenges."""
        log_rows = max(1, (constraints - 1).bit_length())
        linked = (Segment(constraints, _USUAL.queries),) * _MOST_COMMITMENTS
        code = _USUAL.of_proofs(_MOST_COMMITMENTS)
        shape = Shape(code, 0, 0, linked, constraints, log_rows)
        challenges = ledger.Term("the statement's challenges", -math.log2(max(1, degree) / SCALAR_MODULUS))
        return ledger.bits([*ledger.terms(shape), *ledger.of_chains(shape), challenges])


def _first_wrong(
    field: Field, key: SpartanKey, matrices: Matrices | None, claims: Sequence[Claim]
) -> Flaw | None:
    for index, claim in enumerate(claims):
        found = judged(_UNKNOWN) if matrices is None else _judge(field, key, matrices, claim)
        if not found:
            return Flaw(index, found)
    return None


def _judge(field: Field, key: SpartanKey, matrices: Matrices, claim: Claim) -> Verdict:
    sizes, roots = key.linked_sizes, list[bytes]()
    code = replace(key.code, field=field)
    try:
        chains, proof = chain.split(claim.proof, len(sizes))
    except MalformedError:
        return verdict("malformed")
    if len(claim.commitments) != len(sizes):
        return verdict("malformed")
    for index, (size, commitment, links) in enumerate(zip(sizes, claim.commitments, chains, strict=True)):
        root = chain.end(Rows(code, key.tail or 0), size, commitment, links)
        if root is None:
            return verdict(LINK_MISMATCH, index)
        roots.append(root)
    return verify(key.shape_over(field), matrices, claim.public_inputs, roots, proof)
