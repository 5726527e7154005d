"""What it takes to verify, estimated before a point is decoded: for rates, the queue and the limit.

In points of G1, those of G2 count as two. Each stands for about a quarter of a millisecond of a processor,
which is what it takes to decode one of a key, twice, and to decode one of a proof and pair it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from service.api.schemas import VerifyRequest
from verifier.beacon import is_reserved
from verifier.documents import KeyFile, ProofDocument
from verifier.points import G1_BYTES
from zenerrors import ResourceError

POINTS_OF_A_VERIFICATION: Final = 64
"""As many count as one verification. A usual proof has ten, and takes as long as forty if it is wrong."""
MOST_POINTS: Final = 3600
"""In one request: less than a second of a processor, whatever is wrong with it."""
_ALONE: Final = 3
"""A proof that is wrong is looked at equation by equation: that takes as many times as long again."""
_SHARD_POINTS: Final = 3
"""Two commitments, one of which is added up as well."""
_VALUES_OF_A_POINT: Final = 5
_POINTS_OF_A_SECRET: Final = 8
"""In a contribution to a ceremony: two points of G2 to decode, and three to multiply."""
_POINTS_OF_A_BEACON: Final = 100
"""Its value is hashed up to 2^16 times."""
_FIXED_POINTS: Final = 8
"""Of every key: α, β, γ, δ and the basis."""


def verifications(requests: Sequence[VerifyRequest]) -> int:
    """As how many verifications they count."""
    return sum(-(-points(request) // POINTS_OF_A_VERIFICATION) for request in requests)


def check(requests: Sequence[VerifyRequest], field: str) -> None:
    """Raises ``ResourceError`` (``resource.verification``) where they take more than one request may."""
    needed = sum(map(points, requests))
    if needed > MOST_POINTS:
        raise ResourceError(
            "resource.verification",
            f"to verify this takes as long as {needed} points of keys and proofs, one request may take"
            f" {MOST_POINTS}; send less at once, or use zenserve verify on your own machine",
            field=field,
        )


def points(request: VerifyRequest) -> int:
    """What it takes, at most, in points."""
    registration = request.registration
    given = 0 if registration is None else _points(registration, request.registration_key)
    return given + _points(request.proof, request.verification_key)


def _points(document: ProofDocument, inline: KeyFile | None) -> int:
    sizes = [len(proof) // (2 * G1_BYTES) for proof in document.proofs]
    shown = sum(len(value) if isinstance(value, list) else 1 for value in document.statement.values.values())
    shards = len(document.statement.dataset.shards) if document.statement.dataset else 0
    key = _points_of_key(inline.key) + _points_of_transcript(inline.transcript or {}) if inline else 0
    return key + sum(sizes) + _ALONE * max(sizes) + _SHARD_POINTS * shards + shown // _VALUES_OF_A_POINT


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
