"""Proofs: of what a model makes of an input, or of a dataset."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import anyio
from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from client.documents import ProofDocument
from service import problems, requests, sealed
from service.jobs import Jobs, new_id
from service.repositories import Datasets, Models, Proofs
from service.routes.dependencies import POLL_SECONDS, IdempotencyKey, JsonRoute, RuntimeDep, WaitDep, settled
from service.runtime import Runtime
from service.schemas import ProofRequest, ProofView, proof_view
from service.tables import TERMINAL, Proof
from zenerrors import ConflictError

router = APIRouter(tags=["proofs"], route_class=JsonRoute)


@router.post(
    "/proofs",
    status_code=202,
    responses=problems.responses(400, 404, 409, 415)
    | {201: {"model": ProofView, "description": "The proof is over, within the time of `Prefer`"}},
)
async def create_proof(
    runtime: RuntimeDep,
    body: ProofRequest,
    response: Response,
    wait: WaitDep,
    idempotency_key: IdempotencyKey = None,
) -> ProofView:
    """Prove what the model makes of an input, by scheme: its label (`inference`), its distance to a reference
    (`recognition`), or how much of a dataset it gets right (`accuracy`). The input is checked at once, stored
    encrypted, and deleted when the proof is done, failed or canceled.

    With `Prefer: wait=N` the answer comes when the proof is done, or after N seconds; the job goes on
    either way.
    """
    proof_id = await run_in_threadpool(_submit, runtime, body, idempotency_key)
    response.headers["Location"] = f"/v1/proofs/{proof_id}"
    if wait:
        response.headers["Preference-Applied"] = f"wait={wait}"
    proof = await settled(lambda: get_proof(runtime, proof_id), wait)
    if proof.state in TERMINAL:
        response.status_code = 201
    return proof


@router.get("/proofs/{proof_id}", responses=problems.responses(404))
def get_proof(runtime: RuntimeDep, proof_id: str) -> ProofView:
    """A proof, and how far it is."""
    with runtime.database.read() as session:
        return proof_view(Proofs(session).get(proof_id))


@router.get("/proofs/{proof_id}/proof", responses=problems.responses(404, 409))
def get_proof_document(runtime: RuntimeDep, proof_id: str) -> ProofDocument:
    """The portable proof: hand it on together with the verification key it names."""
    with runtime.database.read() as session:
        proof = Proofs(session).get(proof_id)
    if proof.job.state != "succeeded":
        raise ConflictError(
            "conflict.proof_not_ready", f"the proof is {proof.job.state}, so there is nothing to fetch"
        )
    return ProofDocument.model_validate(proof.document)


@router.post("/proofs/{proof_id}/cancel", responses=problems.responses(404, 409))
def cancel_proof(runtime: RuntimeDep, proof_id: str) -> ProofView:
    """Cancel a proof: at once while it is queued or waits for shards, which are canceled with it; at its next
    stage or progress report while it runs.
    Canceling again is no error; canceling what is over is a conflict."""
    with runtime.database.write() as session:
        Proofs(session).get(proof_id)
        Jobs(session).cancel(proof_id)
    return get_proof(runtime, proof_id)


@router.get(
    "/proofs/{proof_id}/events", response_class=EventSourceResponse, responses=problems.responses(404)
)
async def proof_events(
    runtime: RuntimeDep,
    seen: Annotated[ProofView, Depends(get_proof)],
    request: Request,
    last_event_id: Annotated[str | None, Header()] = None,
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events: `progress` with the proof's state whenever it changes, and `end` when it is over.

    Every stream begins with the present state, so nothing is missed by connecting late or again.
    """
    while seen.state not in TERMINAL:
        yield ServerSentEvent(event="progress", data=seen, id=str(seen.revision))
        while (now := await run_in_threadpool(get_proof, runtime, seen.id)).revision == seen.revision:
            await anyio.sleep(POLL_SECONDS)
        seen = now
    yield ServerSentEvent(event="end", data=seen, id=str(seen.revision))


def _submit(runtime: Runtime, body: ProofRequest, idempotency_key: str | None) -> str:
    """Check the request, then make the proof's rows, or find those that its ``Idempotency-Key`` made."""
    requests.check_fields(body)
    mac = requests.fingerprint(runtime, body)
    with runtime.database.read() as session:
        if earlier := Jobs(session).earlier(idempotency_key, mac):
            return earlier
        model = Models(session).ready(body.model_id)
        order = requests.order(runtime, session, body, model)
    row = Proof(
        id=new_id("prf"),
        model_id=model.id,
        scheme=body.scheme,
        request=order.request,
        dataset_id=order.dataset_id,
    )
    with runtime.database.write() as session:
        if earlier := Jobs(session).earlier(idempotency_key, mac):
            return earlier
        if order.dataset_id is not None:  # it may have been deleted since
            Datasets(session).ready(order.dataset_id)
        Jobs(session).create(
            row.id, "accuracy" if body.scheme == "accuracy" else "proof", idempotency_key, mac
        )
        if order.secrets:
            row.input = sealed.put_secrets(runtime, f"input:{row.id}", order.secrets)
        Proofs(session).add(row)
    runtime.enqueue(row.id)
    return row.id
