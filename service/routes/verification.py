"""Verification: public, stateless, without an account."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response

from client.documents import KeyFile
from client.verification import Verification, judge
from prover.native import NATIVE
from service import problems
from service.repositories import VerificationKeys
from service.routes.dependencies import JsonRoute, RuntimeDep
from service.schemas import VerifyRequest
from zenerrors import RequestError, ResourceError

# Each takes about a tenth of a millisecond to decode and check, for a caller whom nobody knows.
MOST_INLINE_POINTS = 4096

router = APIRouter(tags=["verification"], route_class=JsonRoute)


@router.get(
    "/verification-keys/{key_id}",
    responses=problems.responses(404) | {304: {"description": "The caller's copy is good"}},
)
def get_verification_key(
    runtime: RuntimeDep,
    key_id: str,
    response: Response,
    if_none_match: Annotated[str | None, Header()] = None,
) -> KeyFile:
    """A verification key and what it proves. The id is the digest of both, so it can be kept for ever."""
    with runtime.database.read() as session:
        key = VerificationKeys(session).get(key_id)
    etag = f'"{key.id}"'
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    if if_none_match is not None and (etag in if_none_match or if_none_match.strip() == "*"):
        return Response(status_code=304, headers=dict(response.headers))  # type: ignore[return-value]
    return key


@router.post("/verify", responses=problems.responses(400, 404, 415))
def verify(runtime: RuntimeDep, body: VerifyRequest) -> Verification:
    """Verify a proof: what exactly it proves, in words, and what it does not. An invalid proof is a good
    answer: 200 with `valid: false` and the reason.

    The key is the one given inline or by id, or else the one that the document names. A key that only the
    prover vouches for proves nothing to you: compare its id with the one you trust.
    """
    if body.verification_key is not None:
        key = _inline_key(body, body.verification_key)
    else:
        key_id = body.verification_key_id or body.proof.statement.verification_key.id
        with runtime.database.read() as session:
            key = VerificationKeys(session).get(key_id)
    return judge(body.proof, key, expected=body.expected, curve=NATIVE)


def _inline_key(body: VerifyRequest, key: KeyFile) -> KeyFile:
    if body.verification_key_id is not None:
        raise RequestError(
            "request.invalid",
            "verification_key_id: give the key by its id or inline, not both",
            field="verification_key_id",
        )
    points = key.key.get("ic")
    if isinstance(points, list) and len(points) > MOST_INLINE_POINTS:
        raise ResourceError(
            "resource.key_size",
            f"an inline key may have {MOST_INLINE_POINTS} points in ic, this one has {len(points)};"
            " use zenserve verify on your own machine",
            field="verification_key.key.ic",
        )
    return key
