"""Jobs: the list, each one's page, and what can be done to it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy.orm import Session

from zenserve.errors import ConflictError, FileFormatError, NotFoundError, StatementError
from zenserve.service import documents
from zenserve.service.api.routes.dependencies import Id, RuntimeDep, WindowDep
from zenserve.service.dashboard.courses import MOST, Course, course_of
from zenserve.service.dashboard.inputs import public_inputs
from zenserve.service.dashboard.pages import PageRoute, page, see
from zenserve.service.dashboard.results import Result, margins, result
from zenserve.service.dashboard.routes.catalogue import CHOICES, STATES
from zenserve.service.dashboard.setups import Key, key_of
from zenserve.service.dashboard.timeline import ranked, timeline
from zenserve.service.dashboard.visitors import Reader, SendingKeeper, SendingProver, Visitor
from zenserve.service.jobs import events, progress
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import now
from zenserve.service.storage.paging import Window
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Model, Proof
from zenserve.service.storage.records.streams import Stream
from zenserve.service.storage.repositories import Streams, VerificationKeys
from zenserve.service.storage.repositories.browsing import KINDS, Browsing, Wanted
from zenserve.service.storage.repositories.webhooks import SUBJECTS
from zenserve.service.submissions import jobs, labels, streams
from zenserve.service.submissions.requests import PRINTABLE
from zenserve.verifier.documents import ProofDocument, checked
from zenserve.verifier.onchain.calldata import Call, calls
from zenserve.verifier.schemes import INPUT
from zenserve.verifier.table import TableSchema

router = APIRouter(prefix="/jobs", route_class=PageRoute)

_KINDS = {kind: kind for kind in KINDS} | {"proof": "inference, recognition, robustness"}

_Text = Annotated[str, Query(max_length=64, pattern=PRINTABLE)]


def _wanted(
    state: _Text = "",
    kind: _Text = "",
    model: _Text = "",
    tenant: _Text = "",
    cause: _Text = "",
    text: _Text = "",
    label: Annotated[str, Query(max_length=164)] = "",
) -> Wanted:
    asked = labels.read([label.strip()] if label.strip() else [])
    return Wanted(state, kind, model, tenant, cause, text.strip(), asked)


@router.get("")
def list_jobs(
    request: Request,
    runtime: RuntimeDep,
    visitor: Reader,
    window: WindowDep,
    wanted: Annotated[Wanted, Depends(_wanted)],
) -> Response:
    moment = now()
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        return page(
            request,
            visitor,
            "jobs.html",
            jobs=browsing.jobs(wanted, window),
            overall=lambda job: progress.overall(job, moment),
            wanted=wanted,
            window=window,
            states=STATES,
            kinds=_KINDS,
            models=browsing.model_names(Window(CHOICES, None)),
            tenants=browsing.tenant_names(),
        )


@router.get("/{job_id}")
def show_job(request: Request, runtime: RuntimeDep, visitor: Reader, job_id: Id) -> Response:
    moment = now()
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        listed, made = browsing.job(job_id), browsing.made_by(job_id)
        shards = browsing.shards(job_id)
        return page(
            request,
            visitor,
            "job.html",
            listed=listed,
            job=listed.job,
            keeps=listed.job.kind in SUBJECTS
            and not visitor.principal.scopes.isdisjoint(jobs.KEEPERS[SUBJECTS[listed.job.kind]]),
            made=made,
            key=_key(session, visitor, made),
            has_table=isinstance(made, Proof) and browsing.table_of(made.model_id) is not None,
            onchain=_call(session, listed.job, made),
            result=_result(browsing, listed.job, made),
            margins=_margins(runtime, visitor, made),
            overall=lambda job: progress.overall(job, moment),
            timeline=timeline(listed.job, events.after(session, job_id), moment),
            stages=ranked(job.timings for job in (listed.job, *shards)),
            kernels=ranked(job.kernels or {} for job in (listed.job, *shards)),
            shards=shards,
            course=_course(browsing, made),
            tenants=browsing.tenant_names(),
        )


@router.get("/{job_id}/proof")
def download_proof(runtime: RuntimeDep, visitor: Reader, job_id: Id) -> Response:
    """Of a stream the whole file."""
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        browsing.job(job_id)
        made, head = browsing.made_by(job_id), Streams(session).head(job_id)
        if isinstance(made, Stream) and head is not None:
            parts = streams.pieces(runtime, made, head)
        else:
            parts = documents.pieces(runtime, _proof(browsing, job_id))
    return StreamingResponse(
        parts,
        media_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{job_id}.json"', "Cache-Control": "no-store"},
    )


@router.get("/{job_id}/table")
def download_table(runtime: RuntimeDep, visitor: Reader, job_id: Id) -> Response:
    """Return the names of the columns and classes of a proof's model, for verifiers."""
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        table = browsing.table_of(_proof(browsing, job_id).model_id)
    if table is None:
        raise NotFoundError("not_found", f"the model of {job_id} is of no table")
    return Response(TableSchema.model_validate(table).to_file(), media_type="application/json")


@router.get("/{job_id}/input.png")
def show_input(runtime: RuntimeDep, visitor: Reader, job_id: Id, name: _Text = INPUT) -> Response:
    """An input that a proof shows, as a picture."""
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        proof = _proof(browsing, job_id)
        shown = public_inputs(proof.document or {}, browsing.described(str(proof.verification_key_id)))
        pictures = [each.picture for each in shown if each.name == name and each.picture]
    if not pictures:
        raise NotFoundError("not_found", f"the input of {job_id} is no picture, or not public")
    return Response(pictures[0].png(), media_type="image/png", headers={"Cache-Control": "no-store"})


@router.post("/{job_id}/cancel")
def cancel_job(runtime: RuntimeDep, visitor: SendingKeeper, job_id: Id) -> Response:
    kind = _kept(runtime, visitor, job_id)
    jobs.cancel(runtime, visitor.principal, kind, job_id)
    return see(f"/admin/jobs/{job_id}")


@router.post("/{job_id}/retry")
def retry_job(runtime: RuntimeDep, visitor: SendingKeeper, job_id: Id) -> Response:
    kind = _kept(runtime, visitor, job_id)
    jobs.retry(runtime, visitor.principal, kind, job_id)
    return see(f"/admin/jobs/{job_id}")


@router.post("/{job_id}/end")
def end_stream(runtime: RuntimeDep, visitor: SendingProver, job_id: Id) -> Response:
    streams.end(runtime, visitor.principal, job_id)
    return see(f"/admin/jobs/{job_id}")


def _key(session: Session, visitor: Visitor, made: object) -> Key | None:
    if not isinstance(made, (Proof, Model)) or made.verification_key_id is None:
        return None
    return key_of(session, visitor, made.verification_key_id)


def _call(session: Session, job: Job, made: object) -> Call | None:
    """Return the call to the contract of the proof's key.

    None where there is no finished proof, no contract, or several shards.
    """
    if not isinstance(made, Proof) or job.state != "succeeded" or made.proofs is not None:
        return None
    key = VerificationKeys(session).get(made.verification_key_id or "")
    try:
        return calls(checked(ProofDocument, made.document or {}), key)[0]
    except (FileFormatError, StatementError):
        return None


def _proof(browsing: Browsing, job_id: str) -> Proof:
    """Return the proof that the job has made. Raises ``NotFoundError``, ``ConflictError``."""
    job, made = browsing.job(job_id).job, browsing.made_by(job_id)
    if not isinstance(made, Proof) or job.state != "succeeded":
        raise ConflictError(
            "conflict.proof_not_ready", f"{job_id} has made no proof, so there is nothing to fetch"
        )
    return made


def _result(browsing: Browsing, job: Job, made: object) -> Result | None:
    if not isinstance(made, Proof) or made.document is None or job.state != "succeeded":
        return None
    circuit = browsing.described(str(made.verification_key_id))
    return result(made.document, circuit, browsing.table_of(made.model_id))


def _margins(runtime: Runtime, visitor: Visitor, made: object) -> str | None:
    """The chart of a certificate's, for whoever asked for it: others see no more than the statement says,
    operators too."""
    if not isinstance(made, Proof) or made.margins is None:
        return None
    if made.job.tenant_id != visitor.principal.tenant_id:
        return None
    return margins(runtime.vault.open(made.margins, f"margins:{made.id}"), made.request["radius"])


def _course(browsing: Browsing, made: object) -> Course | None:
    if not isinstance(made, Stream):
        return None
    return course_of(browsing.frames(made, MOST), [each.model_id for each in made.models])


def _kept(runtime: Runtime, visitor: Visitor, job_id: str) -> str:
    """Return the kind of the resource that the job makes.

    Raises ``NotFoundError``, ``AccessError`` (``auth.scope``) where the visitor may not cancel or retry the
    job, and ``ConflictError`` for a shard, which is canceled and retried with its proof.
    """
    with runtime.database.read() as session:
        job = Browsing(session, visitor.principal.sight).job(job_id).job
    if job.kind not in SUBJECTS:
        raise ConflictError("conflict.shard", f"{job_id} is a part of {job.parent_id}: cancel or retry that")
    kind = SUBJECTS[job.kind]
    visitor.principal.require(*jobs.KEEPERS[kind])
    return kind
