"""Groth16 over BLS12-381 with committed segments, and commitments over powers of tau, to a verifier."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from zenserve.errors import FileFormatError
from zenserve.verifier import system
from zenserve.verifier.beacon import is_reserved
from zenserve.verifier.curve import ARKWORKS, Curve
from zenserve.verifier.groth16 import setup_transcript
from zenserve.verifier.groth16.opening import SCALAR_BYTES, Revealed, check_opening, check_sum, check_sums
from zenserve.verifier.groth16.verdict import REASONS
from zenserve.verifier.groth16.verification import verify_groups
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.points import G1_BYTES, G2_BYTES, SCALAR_MODULUS
from zenserve.verifier.system import (
    CEREMONY,
    DEVELOPMENT,
    IMPORTED,
    Claim,
    CommitmentScheme,
    Flaw,
    VerifyingSystem,
)
from zenserve.verifier.verdict import Verdict

_OPENING_BYTES: Final = (SCALAR_BYTES, G1_BYTES, G2_BYTES)
_ALONE: Final = 3
"""A proof that is wrong is looked at equation by equation: that takes as many times as long again."""
_POINTS_OF_A_SECRET: Final = 8
"""In a contribution to a ceremony: two points of G2 to decode, and three to multiply."""
_POINTS_OF_A_BEACON: Final = 100
"""Its value is hashed up to 2^16 times."""
_FIXED_POINTS: Final = 8
"""Of every key: α, β, γ, δ and the basis."""


class PedersenOverPowersOfTau(CommitmentScheme):
    """cm = Σ w_i [τ^i]_1 + ρ H, opened in public as Kate, Zaverucha and Goldberg do (docs/groth16.md)."""

    id = "pedersen-tau-bls12-381"
    commitment_bytes = G1_BYTES

    def check_form(self, opening: Mapping[str, Any]) -> None:
        revealed = Revealed.from_json(opening)
        lengths = (len(revealed.blinding), len(revealed.quotient), len(revealed.tau_g2))
        if revealed.to_json() != opening or lengths != _OPENING_BYTES:
            raise FileFormatError("file.json", "opening: a field is unknown, missing or too long")

    def check_opening(
        self, basis: bytes, commitment: bytes, values: Sequence[int], opening: Mapping[str, Any]
    ) -> Verdict:
        return check_opening(basis, commitment, values, Revealed.from_json(opening))

    def check_sum(
        self, basis: bytes, commitments: Sequence[bytes], totals: Sequence[int], opening: bytes
    ) -> Verdict:
        if len(totals) == 1:
            return check_sum(commitments, totals[0], opening)
        return check_sums(basis, commitments, totals, Revealed.from_bytes(opening))


class Groth16Verifier(VerifyingSystem):
    """``curve``: what computes. Effort is counted in points of G1, those of G2 as two: about a quarter of a
    millisecond is what it takes to decode one of a key, twice, and to decode one of a proof and pair it.
    """

    id = "groth16-bls12-381"
    commitments = PedersenOverPowersOfTau()
    capabilities = frozenset({"challenges", "links", "folded inputs"})
    setups = {  # noqa: RUF012
        DEVELOPMENT: "Anything, to someone who distrusts whoever made the keys: this is a development setup"
        " by a single party, and a party that kept its secret numbers can forge proofs.",
        CEREMONY: "Anything, if all contributors to one phase of the key's ceremony kept their secret"
        " numbers: they together can forge proofs. The key names their contributions.",
        IMPORTED: "Anything, to someone who does not know how the key was made: another program made it, and"
        " whoever kept its secret numbers can forge proofs.",
    }
    reasons = REASONS
    most_proof_bytes = 2048

    def __init__(self, curve: Curve[Any, Any] = ARKWORKS) -> None:
        self._curve = curve

    def read_key(self, document: Mapping[str, Any]) -> VerifyingKey:
        return VerifyingKey.from_json(document)

    def check_transcript(self, document: Mapping[str, Any], key: VerifyingKey) -> None:
        setup_transcript.check(document, key)

    def verify_groups(self, key: VerifyingKey, groups: Sequence[Sequence[Claim]]) -> list[Flaw | None]:
        return verify_groups(key, groups, curve=self._curve)

    def effort(
        self, proofs: Sequence[int], key: Mapping[str, Any], transcript: Mapping[str, Any] | None
    ) -> int:
        sizes = [length // G1_BYTES for length in proofs]
        given = _points_of_key(key) if key else 0
        return given + _points_of_transcript(transcript or {}) + sum(sizes) + _ALONE * max(sizes, default=0)

    def soundness_bits(self, constraints: int, degree: int) -> float:
        """Of the challenges (docs/security.md, theorem 2); the rest rests on assumptions about the curve."""
        return math.log2(SCALAR_MODULUS) - math.log2(max(1, degree))


def groth16_key(key: system.VerifyingKey) -> VerifyingKey:
    """It, where it is of this system. Raises ``FileFormatError`` (``file.system``)."""
    if not isinstance(key, VerifyingKey):
        raise FileFormatError(
            "file.system",
            f"this takes a key of {Groth16Verifier.id}, not of another proof system",
            field="system",
        )
    return key


def _points_of_key(key: Mapping[str, Any]) -> int:
    segments = _listed(key.get("segments"))
    linked = sum(isinstance(segment, dict) and segment.get("link_g2") is not None for segment in segments)
    return _FIXED_POINTS + len(_listed(key.get("ic"))) + 2 * len(segments) + 4 * linked


def _points_of_transcript(transcript: Mapping[str, Any]) -> int:
    contributions = _listed(transcript.get("contributions"))
    named = [each for each in contributions if isinstance(each, dict)]
    secrets = sum(len(_listed(each.get("secrets"))) for each in named)
    beacon = any(is_reserved(str(each.get("name"))) for each in named)
    return _POINTS_OF_A_SECRET * secrets + _POINTS_OF_A_BEACON * beacon


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
