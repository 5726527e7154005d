"""Proofs: of what a model makes of an input, or of a dataset."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from service import encryption as sealed
from service.access import audit
from service.access.principal import Principal
from service.api import openapi, problems, requests
from service.api.dry_runs import dry_run
from service.api.routes import submission
from service.api.routes.dependencies import (
    CreatedDep,
    Id,
    IdempotencyKey,
    LabelFilter,
    ModelFilter,
    PatienceDep,
    PreferenceDep,
    Prover,
    Reader,
    RuntimeDep,
    SchemeFilter,
    StateFilter,
    WindowDep,
)
from service.api.routes.jobs import JobRoutes
from service.api.routes.strict import ApiRoute
from service.api.schemas import (
    DryRunView,
    Listing,
    ProofRequest,
    ProofView,
    listing,
    proof_summary,
    proof_view,
)
from service.jobs.lifecycle import Jobs, Terms, new_id
from service.runtime import Runtime
from service.storage.repositories import Datasets, Models, Proofs
from service.storage.repositories.lists import Lists
from service.storage.tables import Proof
from verifier.documents import ProofDocument
from zenerrors import ConflictError

router = APIRouter(tags=["proofs"], route_class=ApiRoute)


def _view(runtime: Runtime, principal: Principal, proof_id: str) -> ProofView:
    with runtime.database.read() as session:
        return proof_view(Proofs(session, principal.sight).get(proof_id))


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
    (`recognition`), or how much of a dataset it gets right (`accuracy`). The input is checked at once, stored
    encrypted, and deleted when the proof is done or canceled, or too long ago for it to be tried again.

    With `Prefer: wait=N` the answer comes when the proof is done, or after N seconds; the job goes on
    either way. `deadline_seconds` says when it is to be given up. With `Prefer: dry-run` nothing is made: the
    network is executed, the witness held against every constraint, and the answer says what the proof would
    show and take. What would be refused is.
    """
    if preference.dry_run:
        tried = await run_in_threadpool(dry_run, runtime, principal.tenant_id, body)
        return JSONResponse(tried.model_dump(mode="json"), headers={"Preference-Applied": "dry-run"})
    proof_id = await run_in_threadpool(submit, runtime, principal, body, idempotency_key)
    return await _jobs.answer(runtime, principal, proof_id, patience, response)


@router.get("/proofs", responses=problems.responses())
def list_proofs(
    runtime: RuntimeDep,
    principal: Reader,
    window: WindowDep,
    created: CreatedDep,
    labels: LabelFilter,
    state: StateFilter = None,
    model_id: ModelFilter = None,
    scheme: SchemeFilter = None,
) -> Listing[ProofView]:
    """The proofs, newest first."""
    filters = replace(created, state=state, model_id=model_id, scheme=scheme, labels=labels)
    with runtime.database.read() as session:
        page = Lists(session, principal.sight).proofs(filters, window)
        return listing(page, lambda row: proof_summary(*row))


@router.get("/proofs/{proof_id}/proof", responses=problems.responses(404, 409))
def get_proof_document(runtime: RuntimeDep, principal: Reader, proof_id: Id) -> ProofDocument:
    """The portable proof: hand it on together with the verification key it names."""
    with runtime.database.read() as session:
        proof = Proofs(session, principal.sight).get(proof_id)
    if proof.job.state != "succeeded":
        raise ConflictError(
            "conflict.proof_not_ready", f"the proof is {proof.job.state}, so there is nothing to fetch"
        )
    return ProofDocument.model_validate(proof.document)


@router.delete("/proofs/{proof_id}", status_code=204, responses=problems.responses(404, 409))
def delete_proof(runtime: RuntimeDep, principal: Prover, proof_id: Id) -> None:
    """Forget a proof that is over. Copies that were handed on stay as good as they are."""
    with runtime.database.write() as session:
        proof = Proofs(session, principal.tenant_id).delete(proof_id)
        audit.note(session, principal, "proof.delete", proof_id)
    submission.delete(runtime, [proof.input])


def submit(
    runtime: Runtime,
    principal: Principal,
    body: ProofRequest,
    idempotency_key: str | None = None,
) -> str:
    """Check the request, then make the proof's rows, or find those that its ``Idempotency-Key`` made. The
    proof's id. Raises ``ZenError``.
    """
    requests.check_fields(body)
    macs, tenant_id = requests.fingerprint(runtime, body), principal.tenant_id
    terms = Terms(
        tenant_id=tenant_id,
        priority=body.priority,
        labels=body.labels,
        idempotency_key=idempotency_key,
        request_macs=macs,
    )
    with runtime.database.read() as session:
        if earlier := Jobs(session).earlier(terms):
            return earlier
        model = Models(session, tenant_id).ready(body.model_id)
        order = requests.order(runtime, session, tenant_id, body, model)
        terms = _timed(Jobs(session), terms, body)
    row = Proof(
        id=new_id("prf"),
        model_id=model.id,
        scheme=body.scheme,
        request=order.request,
        dataset_id=order.dataset_id,
        document=None,
        verification_key_id=None,
    )
    if order.secrets:
        packed = sealed.pack(order.secrets)
        row.input = sealed.put(runtime, f"input:{row.id}", packed)
        terms = replace(terms, size=len(packed))

    def check(session: Session) -> None:
        if order.dataset_id is not None:  # it may have been deleted since
            Datasets(session, tenant_id).ready(order.dataset_id)

    kind = "accuracy" if body.scheme == "accuracy" else "proof"
    return submission.submit(
        runtime,
        principal,
        kind,
        row,
        terms,
        stored=[row.input],
        estimate=model.estimate,
        check=check,
    )


def _timed(jobs: Jobs, terms: Terms, body: ProofRequest) -> Terms:
    """Counted from now, by the database's clock."""
    if body.deadline_seconds is not None:
        terms = replace(terms, deadline_at=jobs.now() + timedelta(seconds=body.deadline_seconds))
    if body.expires_in_days is not None:
        terms = replace(terms, expires_at=jobs.now() + timedelta(days=body.expires_in_days))
    return terms
