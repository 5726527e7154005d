"""Estimates of the work of a verification, before a point is decoded: for rates, the queue and the limit.

The unit is a quarter of a millisecond of a processor, as proof systems count (``VerifyingSystem.effort``):
about the time for one point of a key or a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from zenserve.errors import ResourceError
from zenserve.service.api.schemas import VerifyRequest
from zenserve.verifier.documents import KeyFile, ProofDocument

POINTS_OF_A_VERIFICATION: Final = 64
"""As many count as one verification. A usual proof has ten, and takes as long as forty if it is wrong."""
MOST_POINTS: Final = 3600
"""In one request: less than a second of a processor, whatever is wrong with it."""
_SHARD_POINTS: Final = 3
"""Two commitments, one of which is added up as well."""
_VALUES_OF_A_POINT: Final = 5
_SUMMANDS_OF_A_POINT: Final = 1 << 8
"""Counts of all shards, which a total has a constraint of."""
_BYTES_OF_A_POINT: Final = 1 << 8
"""Of what opens a total, which may be a proof, and is verified in plain Python."""
_JUDGED_BYTES_OF_A_POINT: Final = 1 << 17
"""Of a circuit, each of whose coefficients is multiplied to judge a proof."""
_LOADED_BYTES_OF_A_POINT: Final = 1 << 14
"""Of one that is loaded: hashed, and looked through for what a prover could choose too late."""


class ByCircuits(NamedTuple):
    """Points, beside those of documents and keys, where systems judge by circuits: for each proof, and once
    for each circuit that is not in memory.
    """

    judging: int
    loading: int


def judging(circuit_bytes: int, proofs: int) -> int:
    return -(-circuit_bytes // _JUDGED_BYTES_OF_A_POINT) * proofs


def loading(circuit_bytes: int) -> int:
    return -(-circuit_bytes // _LOADED_BYTES_OF_A_POINT)


def verifications(requests: Sequence[VerifyRequest], more: int = 0) -> int:
    """As how many verifications they count, with so many points ``more``."""
    each = (*map(points, requests), more)
    return sum(-(-needed // POINTS_OF_A_VERIFICATION) for needed in each)


def check(requests: Sequence[VerifyRequest], field: str, more: int = 0) -> None:
    """Raises ``ResourceError`` (``resource.verification``) where they take more than one request may."""
    needed = sum(map(points, requests)) + more
    if needed > MOST_POINTS:
        raise ResourceError(
            "resource.verification",
            f"to verify this takes as long as {needed} points of keys and proofs, one request may take"
            f" {MOST_POINTS}; send less at once, or use zenserve verify on your own machine",
            field=field,
        )


def points(request: VerifyRequest) -> int:
    """Return an upper bound of the work for a request, in points."""
    registration = request.registration
    given = 0 if registration is None else _points(registration, request.registration_key)
    return given + _points(request.proof, request.verification_key)


def _points(document: ProofDocument, inline: KeyFile | None) -> int:
    shown = sum(len(value) if isinstance(value, list) else 1 for value in document.statement.values.values())
    dataset = document.statement.dataset
    shards, opening = (len(dataset.shards), len(dataset.blinding) // 2) if dataset else (0, 0)
    proofs = document.statement.proof_system.effort([len(proof) // 2 for proof in document.proofs], {}, None)
    key = inline.proof_system.effort([], inline.key, inline.transcript) if inline else 0
    totals = _SHARD_POINTS * shards + shards * shown // _SUMMANDS_OF_A_POINT + opening // _BYTES_OF_A_POINT
    return key + proofs + totals + shown // _VALUES_OF_A_POINT
