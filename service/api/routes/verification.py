"""Verification: public, stateless, without an account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path as FilePath
from typing import Annotated, Any, Final, cast

from fastapi import APIRouter, Depends, Header, Path, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool

from zenserve.errors import FileFormatError, NotFoundError, RequestError
from zenserve.service import encryption, intake
from zenserve.service.api import effort, openapi, problems
from zenserve.service.api.authentication import charge_for
from zenserve.service.api.problems import Problem
from zenserve.service.api.routes import downloads
from zenserve.service.api.routes.dependencies import RuntimeDep
from zenserve.service.api.routes.strict import ApiRoute
from zenserve.service.api.schemas import Listing, VerifyRequest
from zenserve.service.api.verifier import Answer, Verifier
from zenserve.service.storage.repositories import Circuits, Models, VerificationKeys
from zenserve.service.storage.repositories.secrets import Issuers
from zenserve.service.submissions.requests import PRINTABLE
from zenserve.verifier.documents import KeyFile, first_fault
from zenserve.verifier.judging import Verification
from zenserve.verifier.onchain.described import contract
from zenserve.verifier.preamble import PREAMBLE_BYTES, STATEMENT, check_preamble

MOST_ITEMS: Final = 64

router = APIRouter(tags=["verification"], route_class=ApiRoute)


class IssuerView(BaseModel):
    """A signer of receipts, named by its public key."""

    issuer: str = Field(description="Ed25519 public key, 32 bytes in hex.", examples=["5d" * 32])
    is_present: bool = Field(description="Whether new receipts are signed with it.", examples=[True])
    since: datetime | None = Field(
        description="When it first signed one; null: it has not yet.", examples=["2026-11-22T10:00:00Z"]
    )


class VerifyBatchRequest(BaseModel):
    """Proofs to verify, each with what ``/v1/verify`` takes beside it."""

    model_config = ConfigDict(extra="forbid")

    proofs: list[dict[str, Any]] = Field(
        min_length=1,
        max_length=MOST_ITEMS,
        description="What `/v1/verify` takes, for each.",
        json_schema_extra={"items": {"$ref": "#/components/schemas/VerifyRequest"}},
    )


class VerifyBatch(BaseModel):
    """For each item, in order, the verdict, or the problem with which ``/v1/verify`` would have answered."""

    verdicts: list[Verification | Problem] = Field(
        description="As many as there were proofs, in their order."
    )


async def _verifier(request: Request) -> Verifier:
    return cast(Verifier, request.app.state.verifier)


KeyId = Annotated[
    str, Path(max_length=64, pattern=PRINTABLE, description="SHA-256 in hex.", examples=["5d" * 32])
]
VerifierDep = Annotated[Verifier, Depends(_verifier)]


IfNoneMatch = Annotated[
    str | None, Header(description="The `ETag` of the copy that you have.", examples=['"5d1f0c"'])
]
_CACHED: Final = openapi.headers("ETag", "Cache-Control")
_UNCHANGED: Final[dict[int | str, dict[str, Any]]] = {
    304: {"description": "The caller's copy is good"} | _CACHED
}
_BYTES: Final = {"content": {"application/octet-stream": {"example": "…"}}} | _CACHED


def _for_ever(digest: str) -> dict[str, str]:
    """The headers of what this is the digest of."""
    return {"ETag": f'"{digest}"', "Cache-Control": "public, max-age=31536000, immutable"}


def _has_it(headers: Mapping[str, str], if_none_match: str | None) -> bool:
    return if_none_match is not None and (headers["ETag"] in if_none_match or if_none_match.strip() == "*")


@router.head("/verification-keys/{key_id}", include_in_schema=False)
@router.get("/verification-keys/{key_id}", responses=problems.responses(404) | {200: _CACHED} | _UNCHANGED)
def get_verification_key(
    runtime: RuntimeDep, key_id: KeyId, response: Response, if_none_match: IfNoneMatch = None
) -> KeyFile:
    """A verification key and what it proves. The id is the digest of both, so it can be kept for ever."""
    with runtime.database.read() as session:
        key = VerificationKeys(session).get(key_id)
    headers = _for_ever(key.id)
    if _has_it(headers, if_none_match):
        return Response(status_code=304, headers=headers)  # type: ignore[return-value]
    response.headers.update(headers)
    return key


@router.get(
    "/verification-keys/{key_id}/architecture",
    response_class=Response,
    responses=problems.responses(404) | {200: _BYTES} | _UNCHANGED,
)
def get_architecture_of_key(
    runtime: RuntimeDep, key_id: KeyId, if_none_match: IfNoneMatch = None
) -> Response:
    """Return the network from which the circuit of a key with committed weights can be compiled again.

    Weights and biases are blanked. The file's SHA-256 is the key's `network`, so the file needs no trust.
    """
    with runtime.database.read() as session:
        network = VerificationKeys(session).get(key_id).circuit["network"]
        model = Models(session).of_architecture(network)
    headers = _for_ever(network)
    if _has_it(headers, if_none_match):
        return Response(status_code=304, headers=headers)
    content = intake.architecture(encryption.open_network(runtime, model))
    return Response(content, media_type="application/octet-stream", headers=headers)


@router.get(
    "/verification-keys/{key_id}/contract",
    response_class=PlainTextResponse,
    responses=problems.responses(404, 422)
    | {200: {"content": {"text/plain": {"example": "// SPDX-License-Identifier: Apache-2.0"}}}},
)
def get_contract_of_key(runtime: RuntimeDep, key_id: KeyId) -> str:
    """The Solidity source of a contract that verifies proofs under a key, for chains with the precompiles of
    EIP-2537. It says what is proven and what is not. Keys of Groth16 alone have one.
    """
    with runtime.database.read() as session:
        key = VerificationKeys(session).get(key_id)
    return contract(key)


@router.get(
    "/verification-keys/{key_id}/circuit",
    response_class=FileResponse,
    responses=downloads.RESPONSES | {200: _BYTES} | _UNCHANGED,
)
def get_circuit_of_key(
    runtime: RuntimeDep, request: Request, key_id: KeyId, if_none_match: IfNoneMatch = None
) -> Response:
    """Return the circuit, with every equation, by which proofs under a key without a setup are judged.

    The key has the circuit's digest, so the file needs no trust. `Range` is supported.
    """
    with runtime.database.read() as session:
        VerificationKeys(session).get(key_id)
        circuit = Circuits(session).of_key(key_id)
    file = None if circuit is None else runtime.store.path(circuit.proving_key)
    if circuit is None or file is None or not _is_circuit(file):
        raise NotFoundError("not_found", f"the key {key_id} says all: it goes with no circuit's file")
    headers = _for_ever(circuit.proving_key)
    if _has_it(headers, if_none_match):
        return Response(status_code=304, headers=headers)
    return downloads.send_file(request, file, headers)


def _is_circuit(file: FilePath) -> bool:
    with file.open("rb") as opened, suppress(FileFormatError):
        check_preamble(opened.read(PREAMBLE_BYTES), STATEMENT)
        return True
    return False


@router.get("/issuers", responses=problems.responses())
def list_issuers(runtime: RuntimeDep) -> Listing[IssuerView]:
    """The keys that this service signs receipts with, or did, the newest first. A receipt names its own."""
    present = runtime.vault.issuer.hex()
    with runtime.database.read() as session:
        since = {row.id: row.since for row in Issuers(session).all()}
    items = [
        IssuerView(issuer=issuer, is_present=issuer == present, since=since.get(issuer))
        for issuer in dict.fromkeys([present, *since])
    ]
    return Listing(items=items, next_cursor=None)


@router.post("/verify", responses=problems.responses(400, 404, 415, 503))
async def verify_proof(verifier: VerifierDep, request: Request, body: VerifyRequest) -> Verification:
    """Verify a proof: what exactly it proves, in words, and what it does not. An invalid proof is a good
    answer: 200 with `valid: false` and the reason.

    The key is the one given inline or by id, or else the one that the document names. A key that only the
    prover vouches for proves nothing to you: compare its id with the one you trust.
    """
    _check_key(body)
    await _charge(request, verifier, [body], "proof")
    (answer,) = await verifier.judge([body])
    if isinstance(answer, Exception):
        raise answer
    return answer


@router.post("/verify/batch", responses=problems.responses(400, 415, 503))
async def verify_batch(verifier: VerifierDep, request: Request, body: VerifyBatchRequest) -> VerifyBatch:
    """Verify up to 64 proofs, each on its own: one that is wrong or malformed spoils none of the others.
    Proofs under one key take a third of the time that they take one by one.
    """
    requests = await run_in_threadpool(lambda: [*map(_item, body.proofs)])
    good = [request for request in requests if isinstance(request, VerifyRequest)]
    await _charge(request, verifier, good, "proofs")
    answers = iter(await verifier.judge(good) if good else [])
    return VerifyBatch(
        verdicts=[_shown(next(answers) if isinstance(each, VerifyRequest) else each) for each in requests]
    )


def _item(item: dict[str, Any]) -> VerifyRequest | Exception:
    """The request, or the error that it earns: also one that nobody foresaw is for this item alone."""
    try:
        request = VerifyRequest.model_validate(item)
        _check_key(request)
        effort.points(request)
    except ValidationError as error:
        return problems.invalid(*first_fault(error))
    except Exception as error:
        return error
    return request


def _shown(answer: Answer) -> Verification | Problem:
    return problems.problem(problems.told(answer)) if isinstance(answer, Exception) else answer


def _check_key(body: VerifyRequest) -> None:
    if body.verification_key is not None and body.verification_key_id is not None:
        raise RequestError(
            "request.invalid",
            "verification_key_id: give the key by its id or inline, not both",
            field="verification_key_id",
        )
    if body.registration_key is not None and body.registration is None:
        raise RequestError(
            "request.invalid",
            "registration_key: give the registration that it is for, too",
            field="registration_key",
        )


async def _charge(
    request: Request, verifier: Verifier, requests: Sequence[VerifyRequest], field: str
) -> None:
    """Raises ``ResourceError``: they take more time, all together, than a stranger may ask for, in one
    request or in a minute.
    """
    effort.check(requests, field)  # before anything is read
    circuits = await run_in_threadpool(verifier.by_circuits, requests)
    effort.check(requests, field, circuits.judging)
    await charge_for(request, effort.verifications(requests, sum(circuits)))
