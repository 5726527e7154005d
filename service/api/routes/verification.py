"""Verification: public, stateless, without an account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, cast

from fastapi import APIRouter, Depends, Header, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from client.documents import KeyFile
from client.verification import Verification
from service.api import problems
from service.api.door import charge_for
from service.api.problems import Problem
from service.api.routes.dependencies import Id, JsonRoute, RuntimeDep
from service.api.schemas import VerifyRequest
from service.api.verifier import Answer, Verifier, inline_points
from service.storage.repositories import VerificationKeys
from zenerrors import RequestError, ResourceError, ZenError

MOST_ITEMS: Final = 64
MOST_PROOFS: Final = 1024
"""In one request, of all documents: about a second of one processor, or three where they are wrong."""
MOST_INLINE_POINTS: Final = 4096
"""In one request. Each takes about a tenth of a millisecond to decode and check."""

router = APIRouter(tags=["verification"], route_class=JsonRoute)


class VerifyBatchRequest(BaseModel):
    """Proofs to verify, each with what ``/v1/verify`` takes beside it."""

    model_config = ConfigDict(extra="forbid")

    proofs: list[dict[str, Any]] = Field(
        min_length=1,
        max_length=MOST_ITEMS,
        json_schema_extra={"items": {"$ref": "#/components/schemas/VerifyRequest"}},
    )


class VerifyBatch(BaseModel):
    """For each item, in order, the verdict, or the problem with which ``/v1/verify`` would have answered."""

    verdicts: list[Verification | Problem]


async def _verifier(request: Request) -> Verifier:
    return cast(Verifier, request.app.state.verifier)


VerifierDep = Annotated[Verifier, Depends(_verifier)]


@router.head("/verification-keys/{key_id}", include_in_schema=False)
@router.get(
    "/verification-keys/{key_id}",
    responses=problems.responses(404) | {304: {"description": "The caller's copy is good"}},
)
def get_verification_key(
    runtime: RuntimeDep,
    key_id: Id,
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


@router.post("/verify", responses=problems.responses(400, 404, 415, 503))
async def verify(verifier: VerifierDep, request: Request, body: VerifyRequest) -> Verification:
    """Verify a proof: what exactly it proves, in words, and what it does not. An invalid proof is a good
    answer: 200 with `valid: false` and the reason.

    The key is the one given inline or by id, or else the one that the document names. A key that only the
    prover vouches for proves nothing to you: compare its id with the one you trust.
    """
    _check_key(body)
    _check_size(request, [body], "proof.proofs", "verification_key.key.ic")
    (answer,) = await verifier.judge([body])
    if isinstance(answer, ZenError):
        raise answer
    return answer


@router.post("/verify/batch", responses=problems.responses(400, 415, 503))
async def verify_batch(verifier: VerifierDep, request: Request, body: VerifyBatchRequest) -> VerifyBatch:
    """Verify up to 64 proofs, each on its own: one that is wrong or malformed spoils none of the others.
    Proofs under one key take a third of the time that they take one by one.
    """
    requests = [_item(item) for item in body.proofs]
    good = [request for request in requests if isinstance(request, VerifyRequest)]
    _check_size(request, good, "proofs", "proofs")
    answers = iter(await verifier.judge(good) if good else [])
    return VerifyBatch(
        verdicts=[_shown(next(answers) if isinstance(each, VerifyRequest) else each) for each in requests]
    )


def _item(item: dict[str, Any]) -> VerifyRequest | RequestError:
    try:
        request = VerifyRequest.model_validate(item)
        _check_key(request)
    except ValidationError as error:
        return problems.invalid(error.errors())
    except RequestError as error:
        return error
    return request


def _shown(answer: Answer) -> Verification | Problem:
    return problems.problem(answer) if isinstance(answer, ZenError) else answer


def _check_key(body: VerifyRequest) -> None:
    if body.verification_key is not None and body.verification_key_id is not None:
        raise RequestError(
            "request.invalid",
            "verification_key_id: give the key by its id or inline, not both",
            field="verification_key_id",
        )


def _check_size(
    request: Request, requests: Sequence[VerifyRequest], proofs_field: str, points_field: str
) -> None:
    """Raises ``ResourceError``: they take no more time, all together, than a stranger may ask for, in one
    request or in a minute.
    """
    points = sum(map(inline_points, requests))
    if points > MOST_INLINE_POINTS:
        raise ResourceError(
            "resource.key_size",
            f"inline keys may have {MOST_INLINE_POINTS} points in ic, here are {points};"
            " use zenserve verify on your own machine",
            field=points_field,
        )
    proofs = sum(len(request.proof.proofs) for request in requests)
    if proofs > MOST_PROOFS:
        raise ResourceError(
            "resource.proof_count",
            f"one request may have {MOST_PROOFS} proofs, counting each shard's, this one has {proofs};"
            " use zenserve verify on your own machine",
            field=proofs_field,
        )
    charge_for(request, proofs)
