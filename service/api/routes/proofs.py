"""Proofs: of what a model makes of an input, or of a dataset."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool

from zenserve.errors import ConflictError
from zenserve.service import documents
from zenserve.service.access.principal import Principal
from zenserve.service.api import openapi, problems
from zenserve.service.api.routes.dependencies import (
    CreatedDep,
    FramesFilter,
    Id,
    IdempotencyKey,
    LabelFilter,
    ModelFilter,
    ModelNameFilter,
    PatienceDep,
    PreferenceDep,
    Prover,
    Reader,
    RuntimeDep,
    SchemeFilter,
    StateFilter,
    WindowDep,
)
from zenserve.service.api.routes.jobs import JobRoutes
from zenserve.service.api.routes.strict import ApiRoute
from zenserve.service.api.schemas import (
    ContractCall,
    ContractCalls,
    Listing,
    ProofView,
    listing,
    proof_summary,
    proof_view,
)
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.resources import Proof
from zenserve.service.storage.repositories import Models, Proofs, VerificationKeys
from zenserve.service.storage.repositories.lists import Lists
from zenserve.service.submissions import proofs
from zenserve.service.submissions.dry_runs import DryRunView, dry_run
from zenserve.service.submissions.requests import ProofRequest
from zenserve.verifier.documents import ProofDocument, read
from zenserve.verifier.onchain.calldata import calls

router = APIRouter(tags=["proofs"], route_class=ApiRoute)


def _ready(proof: Proof) -> Proof:
    """Raises ``ConflictError`` (``conflict.proof_not_ready``)."""
    if proof.job.state != "succeeded":
        raise ConflictError(
            "conflict.proof_not_ready", f"the proof is {proof.job.state}, so there is nothing to fetch"
        )
    return proof


def _view(runtime: Runtime, principal: Principal, proof_id: str) -> ProofView:
    with runtime.database.read() as session:
        return proof_view(Proofs(session, principal.sight).shown(proof_id))


_jobs = JobRoutes(router, "proof", "proofs", ProofView, _view)
_jobs.add_get("A proof, and how far it is.")
_jobs.add_cancel("""\
Cancel a proof: at once while it is queued or waits for shards, which are canceled with it; at its next
stage or progress report while it runs.
Canceling again is no error; canceling what is over is a conflict.""")
_jobs.add_retry("""\
Try a proof that failed once more, while its input is still there; of a proof of accuracy, the shards
that did not succeed.""")
_jobs.add_events("""\
Server-sent events: `progress` with the proof's state whenever it changes, and `end` when it is over;
the `id` of each is the revision.

Every stream begins with the present state. With `Last-Event-ID` it tells first what was missed: each
change of state or stage since that revision, as a `milestone`.""")


@router.post(
    "/proofs",
    status_code=202,
    response_model=ProofView,
    responses=_jobs.asked("The proof is over, within the time of `Prefer`", 507)
    | {
        200: {"model": DryRunView, "description": "A dry run: nothing was made"}
        | openapi.headers("Preference-Applied")
    },
)
async def create_proof(
    runtime: RuntimeDep,
    principal: Prover,
    body: ProofRequest,
    response: Response,
    preference: PreferenceDep,
    patience: PatienceDep,
    idempotency_key: IdempotencyKey = None,
) -> ProofView | JSONResponse:
    """Prove what the model makes of an input, by scheme: its label (`inference`), its distance to a reference
    (`recognition`), that all near it have one label (`robustness`), or how much of a dataset it gets right
    (`accuracy`). The input is checked at once, stored encrypted, and deleted when the proof is done or
    canceled, or too long ago for it to be tried again.

    With `Prefer: wait=N` the answer comes when the proof is done, or after N seconds; the job goes on
    either way. `deadline_seconds` says when it is to be given up. With `Prefer: dry-run` nothing is made: the
    network is executed, the witness held against every constraint, and the answer says what the proof would
    show and take. What would be refused is.
    """
    if preference.dry_run:
        tried = await run_in_threadpool(dry_run, runtime, principal.tenant_id, body)
        return JSONResponse(tried.model_dump(mode="json"), headers={"Preference-Applied": "dry-run"})
    ask = partial(proofs.ask, runtime, principal, body, idempotency_key)
    return await _jobs.answer(runtime, principal, ask, patience, response)


@router.get("/proofs", responses=problems.responses(404))
def list_proofs(
    runtime: RuntimeDep,
    principal: Reader,
    window: WindowDep,
    created: CreatedDep,
    labels: LabelFilter,
    state: StateFilter = None,
    model_id: ModelFilter = None,
    name: ModelNameFilter = None,
    scheme: SchemeFilter = None,
    frames: FramesFilter = False,
) -> Listing[ProofView]:
    """The proofs, newest first; those of frames of streams if they are asked for."""
    filters = replace(created, state=state, name=name, scheme=scheme, frames=frames, labels=labels)
    with runtime.database.read() as session:
        filters = replace(filters, model_id=Models(session, principal.sight).id_of(model_id))
        page = Lists(session, principal.sight).proofs(filters, window)
        return listing(page, lambda row: proof_summary(*row))


@router.get("/proofs/{proof_id}/proof", response_model=ProofDocument, responses=problems.responses(404, 409))
def get_proof_document(runtime: RuntimeDep, principal: Reader, proof_id: Id) -> StreamingResponse:
    """The portable proof: hand it on together with the verification key it names."""
    with runtime.database.read() as session:
        proof = Proofs(session, principal.sight).get(proof_id)
    return StreamingResponse(documents.pieces(runtime, _ready(proof)), media_type="application/json")


@router.get("/proofs/{proof_id}/calldata", responses=problems.responses(404, 409, 422))
def get_calldata(runtime: RuntimeDep, principal: Reader, proof_id: Id) -> ContractCalls:
    """Return the calls to the contract of the proof's key: one for each shard, with its gas.

    The contract is at `/v1/verification-keys/{id}/contract`.
    """
    with runtime.database.read() as session:
        proof = Proofs(session, principal.sight).get(proof_id)
        key = VerificationKeys(session).get(_ready(proof).verification_key_id or "")
    document = read(ProofDocument, b"".join(documents.pieces(runtime, proof)))
    return ContractCalls(calls=[ContractCall(**call._asdict()) for call in calls(document, key)])


@router.delete("/proofs/{proof_id}", status_code=204, responses=problems.responses(404, 409))
def delete_proof(runtime: RuntimeDep, principal: Prover, proof_id: Id) -> None:
    """Forget a proof that is over. Copies that were handed on stay as good as they are."""
    proofs.delete(runtime, principal, proof_id)
