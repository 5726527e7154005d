"""Verification: public, stateless, without an account."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response

from service import engine, problems, statements
from service.repositories import VerificationKeys
from service.routes.dependencies import JsonRoute, RuntimeDep
from service.schemas import KeyView, Verification, VerifyRequest

router = APIRouter(tags=["verification"], route_class=JsonRoute)


@router.get("/verification-keys/{key_id}", responses=problems.responses(404))
def get_verification_key(
    runtime: RuntimeDep,
    key_id: str,
    response: Response,
    if_none_match: Annotated[str | None, Header()] = None,
) -> KeyView:
    """A verification key and what it proves. The id is the digest of the key, so it can be kept for ever."""
    with runtime.database.read() as session:
        key = VerificationKeys(session).get(key_id)
    etag = f'"{key.id}"'
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    if if_none_match is not None and (etag in if_none_match or if_none_match.strip() == "*"):
        return Response(status_code=304, headers=dict(response.headers))  # type: ignore[return-value]
    return statements.key_view(key.document, key.circuit)


@router.post("/verify", responses=problems.responses(400, 404, 415))
def verify(runtime: RuntimeDep, body: VerifyRequest) -> Verification:
    """Verify a proof. An invalid proof is a good answer: 200 with `valid: false` and the reason.

    The key is the one given inline or by id, or else the one that the document names. A key that only the
    prover vouches for proves nothing to you: compare its id with the one you trust.
    """
    with runtime.database.read() as session:
        keys = VerificationKeys(session)
        if body.verification_key is not None:
            engine.check_key(body.verification_key)
            known = keys.find(body.verification_key["digest"])
            return statements.judge(body.proof, body.verification_key, known.circuit if known else None)
        key = keys.get(body.verification_key_id or body.proof.verification_key.id)
        return statements.judge(body.proof, key.document, key.circuit)
