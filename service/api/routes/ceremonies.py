"""Ceremonies: keys of a model's circuits that several parties make, so that none of them can forge proofs."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import FileResponse
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from service import basis
from service.access import audit
from service.access.principal import Principal, Scope
from service.api import problems
from service.api.ceremony_schemas import (
    CeremonyRequest,
    CeremonySummary,
    CeremonyView,
    CircuitRequest,
    CloseRequest,
    ContributionRequest,
    ContributionView,
    FinishRequest,
    ceremony_summary,
    ceremony_view,
    contribution_view,
    phase_of,
)
from service.api.routes import submission
from service.api.routes.dependencies import (
    Admin,
    Contributor,
    CreatedDep,
    Id,
    IdempotencyKey,
    RuntimeDep,
    WaitDep,
    WindowDep,
    Witness,
)
from service.api.routes.forms import SHA256
from service.api.routes.jobs import JobRoutes
from service.api.routes.strict import ApiRoute
from service.api.schemas import Listing, listing
from service.jobs.lifecycle import Jobs, Terms, new_id
from service.jobs.scheduling import admit, routed
from service.runtime import Runtime
from service.storage.database import clock
from service.storage.repositories import Ceremonies, Contributions, Models, VerificationKeys
from service.storage.repositories.lists import Lists
from service.storage.repositories.uploads import Uploads
from service.storage.tables import Ceremony, Contribution, HandedState, Model
from verifier.documents import canonical
from zenerrors import ConflictError, NotFoundError, RequestError

router = APIRouter(tags=["ceremonies"], route_class=ApiRoute)

_TAKES: Final = {
    "registration": (),
    "inference": ("input_privacy", "reveal", "top"),
    "recognition": ("input_privacy", "reference_privacy"),
    "accuracy": ("shard_size",),
}
_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "registration": {},
    "inference": {"input_privacy": "private", "reveal": "label", "top": 1},
    "recognition": {"input_privacy": "private", "reference_privacy": "public"},
    "accuracy": {},
}
_RANGE: Final = re.compile("bytes=(?P<first>[0-9]{1,15})-(?P<last>[0-9]{0,15})")
_MEMORY_PER_BYTE: Final = 4
"""Of a state: what verifying the next one, or closing, takes, coarsely."""
_BYTES: Final[dict[str, Any]] = {
    "application/octet-stream": {"schema": {"type": "string", "format": "binary"}, "example": "…"}
}


def _view_ceremony(runtime: Runtime, principal: Principal, ceremony_id: str) -> CeremonyView:
    with runtime.database.read() as session:
        ceremonies = Ceremonies(session, principal.sight)
        return ceremony_view(
            ceremonies.get(ceremony_id),
            ceremonies.circuits(ceremony_id),
            ceremonies.contributions(ceremony_id),
            ceremonies.pending(ceremony_id),
        )


def _view_contribution(runtime: Runtime, principal: Principal, contribution_id: str) -> ContributionView:
    with runtime.database.read() as session:
        return contribution_view(Contributions(session, principal.sight).get(contribution_id))


_SEEN_BY: Final[tuple[Scope, ...]] = ("read", "contribute", "admin")
_ceremonies = JobRoutes(router, "ceremony", "ceremonies", CeremonyView, _view_ceremony, _SEEN_BY)
_ceremonies.add_get("A ceremony: how far it is, its circuits and who contributed.")
_ceremonies.add_cancel("Cancel the opening of a ceremony. One that is open is deleted, or left alone.")
_ceremonies.add_events("Server-sent events of the opening, as those of a proof.")
_contributions = JobRoutes(
    router, "contribution", "contributions", ContributionView, _view_contribution, _SEEN_BY
)
_contributions.add_get("A contribution, and how far its verification is.")
_contributions.add_cancel("""\
Cancel a contribution that is not verified yet, or the end of a ceremony. Contributors cannot: they
would cancel each other's.""")


@router.post(
    "/ceremonies",
    status_code=202,
    responses=_ceremonies.asked("It is open, within the time of `Prefer`"),
)
async def open_ceremony(
    runtime: RuntimeDep,
    principal: Admin,
    body: CeremonyRequest,
    response: Response,
    wait: WaitDep,
    idempotency_key: IdempotencyKey = None,
) -> CeremonyView:
    """Open a ceremony for the keys of a model's circuits, over the powers of tau that the service's basis
    came from. A job computes where each key starts.

    It belongs to the tenant of the model. Opening takes the scope admin, since all models that share a
    circuit, of whichever tenant, take its key in the end.
    """
    submitted = partial(_open, runtime, principal, body, idempotency_key)
    ceremony_id = await run_in_threadpool(submitted)
    return await _ceremonies.answer(runtime, principal, ceremony_id, wait, response)


@router.get("/ceremonies", responses=problems.responses())
def list_ceremonies(
    runtime: RuntimeDep, principal: Witness, window: WindowDep, created: CreatedDep
) -> Listing[CeremonySummary]:
    """The ceremonies, newest first."""
    with runtime.database.read() as session:
        page = Lists(session, principal.sight).ceremonies(created, window)
        return listing(page, ceremony_summary)


@router.get(
    "/ceremonies/{ceremony_id}/files/{sha256}",
    response_class=FileResponse,
    responses=problems.responses(404, 416)
    | {
        200: {"description": "The file", "content": _BYTES},
        206: {"description": "The part of it that `Range` asks for", "content": _BYTES},
    },
)
def get_ceremony_file(
    runtime: RuntimeDep,
    principal: Witness,
    request: Request,
    ceremony_id: Id,
    sha256: Annotated[str, Path(pattern=SHA256, description="Of the file, in hex.", examples=["5d" * 32])],
) -> FileResponse:
    """A file of a ceremony: the present state of a circuit, its statement, or the powers of tau. `Range` is
    heeded, so that what broke off can be taken up. States of before are not there any more.
    """
    with runtime.database.read() as session:
        ceremonies = Ceremonies(session, principal.sight)
        files = {ceremonies.get(ceremony_id).powers}
        for circuit in ceremonies.circuits(ceremony_id):
            files |= {circuit.statement, circuit.state}
    if sha256 not in files:
        raise NotFoundError(
            "not_found",
            f"{sha256} is no file of this ceremony, or not any more: GET /v1/ceremonies/{ceremony_id} says"
            " which are",
            field="sha256",
        )
    file = runtime.store.path(sha256)
    _require_part(request, file.stat().st_size)
    headers = {"ETag": f'"{sha256}"', "Cache-Control": "private, no-transform"}
    return FileResponse(file, media_type="application/octet-stream", headers=headers)


@router.delete("/ceremonies/{ceremony_id}", status_code=204, responses=problems.responses(404, 409))
def delete_ceremony(runtime: RuntimeDep, principal: Admin, ceremony_id: Id) -> None:
    """Forget a ceremony. Keys that it made stay."""
    with runtime.database.write() as session:
        ceremonies = Ceremonies(session, principal.sight)
        tenant_id = ceremonies.get(ceremony_id).job.tenant_id
        files = ceremonies.delete(ceremony_id)
        audit.note(session, principal, "ceremony.delete", ceremony_id, tenant_id=tenant_id)
    submission.delete(runtime, files)


@router.post(
    "/ceremonies/{ceremony_id}/contributions",
    status_code=202,
    responses=_contributions.asked("It was verified, or refused, within that time"),
)
async def create_contribution(
    runtime: RuntimeDep,
    principal: Contributor,
    body: ContributionRequest,
    response: Response,
    wait: WaitDep,
    ceremony_id: Id,
    idempotency_key: IdempotencyKey = None,
) -> ContributionView:
    """Hand in a contribution: the states that it made of the present ones, which were brought before
    (`PUT /v1/uploads/…`). A job verifies it, and only then it is part of the ceremony. Where another was
    faster, or is being verified, it is refused (`conflict.stale`, `conflict.contribution`): fetch the states
    again.
    """
    submitted = partial(_hand_in, runtime, principal, ceremony_id, body, idempotency_key)
    contribution_id = await run_in_threadpool(submitted)
    return await _contributions.answer(runtime, principal, contribution_id, wait, response)


@router.post("/ceremonies/{ceremony_id}/close", responses=problems.responses(400, 404, 409, 415))
def close_ceremony(
    runtime: RuntimeDep, principal: Admin, body: CloseRequest, ceremony_id: Id
) -> CeremonyView:
    """Announce the public randomness that closes a ceremony: a value that nobody knows yet. From then on no
    contribution is taken, and the announcement stays as it is.
    """
    with runtime.database.write() as session:
        ceremonies = Ceremonies(session, principal.sight)
        ceremony = ceremonies.locked(ceremony_id)
        _require_phase(ceremony, "open")
        _require_idle(ceremonies, ceremony_id)
        if not ceremonies.contributions(ceremony_id):
            raise ConflictError(
                "conflict.ceremony_phase", "nobody has contributed yet: everybody would know its secrets"
            )
        ceremony.closes_with, ceremony.rounds = body.beacon, body.rounds
        ceremony.closing_at = clock(session)
        tenant_id = ceremony.job.tenant_id
        audit.note(session, principal, "ceremony.close", ceremony_id, tenant_id=tenant_id)
    return _view_ceremony(runtime, principal, ceremony_id)


@router.post(
    "/ceremonies/{ceremony_id}/finish",
    status_code=202,
    responses=_contributions.asked("Its keys are there, within the time of `Prefer`"),
)
async def finish_ceremony(
    runtime: RuntimeDep,
    principal: Admin,
    body: FinishRequest,
    response: Response,
    wait: WaitDep,
    ceremony_id: Id,
) -> ContributionView:
    """Give the value that was announced. A job adds its contribution, verifies everything from the start on,
    makes the keys, and has proofs of the circuits made with them from then on.
    """
    submitted = partial(_finish, runtime, principal, ceremony_id, body.value)
    contribution_id = await run_in_threadpool(submitted)
    return await _contributions.answer(runtime, principal, contribution_id, wait, response)


def _open(
    runtime: Runtime,
    principal: Principal,
    body: CeremonyRequest,
    idempotency_key: str | None,
) -> str:
    with runtime.database.read() as session:
        model = Models(session, principal.sight).ready(body.model_id)
        asked = [_asked(session, model, each, f"circuits.{at}") for at, each in enumerate(body.circuits)]
    row = Ceremony(
        id=new_id("cer"),
        model_id=model.id,
        name=body.name,
        asked=asked,
        powers=basis.powers_digest(runtime),
    )
    macs = runtime.vault.macs(b"ceremony", canonical(body.model_dump(exclude_none=True)))
    terms = Terms(tenant_id=model.job.tenant_id, idempotency_key=idempotency_key, request_macs=macs)

    def add(session: Session) -> str:
        row.job = Jobs(session).create(row.id, "ceremony", routed(session, runtime.settings, terms, None))
        session.add(row)
        tenant_id = row.job.tenant_id
        audit.note(session, principal, "ceremony.create", row.id, tenant_id=tenant_id)
        admit(session, runtime.settings, tenant_id)
        return row.id

    return _once(runtime, terms, add)


def _hand_in(
    runtime: Runtime,
    principal: Principal,
    ceremony_id: str,
    body: ContributionRequest,
    idempotency_key: str | None,
) -> str:
    macs = runtime.vault.macs(b"contribution", canonical([ceremony_id, body.model_dump()]))
    terms = Terms(tenant_id=principal.tenant_id, idempotency_key=idempotency_key, request_macs=macs)
    row = Contribution(id=new_id("ctb"), ceremony_id=ceremony_id)

    def add(session: Session) -> str:
        ceremonies, uploads = Ceremonies(session, principal.tenant_id), Uploads(session)
        _require_phase(ceremonies.locked(ceremony_id), "open")
        _require_idle(ceremonies, ceremony_id)
        circuits = ceremonies.circuits(ceremony_id)
        if len(body.states) != len(circuits):
            raise RequestError(
                "request.invalid", f"states: give {len(circuits)}, one for each circuit", field="states"
            )
        handed = []
        for at, (circuit, each) in enumerate(zip(circuits, body.states, strict=True)):
            if each.extends != circuit.state:
                raise ConflictError(
                    "conflict.stale",
                    "the ceremony has gone on meanwhile: fetch its states again, and contribute to those",
                    field=f"states.{at}.extends",
                )
            upload = uploads.get(principal.tenant_id, each.sha256, f"states.{at}.sha256")
            if upload.size != circuit.next_size:
                raise RequestError(
                    "request.size",
                    f"states.{at}: a contribution makes a file of {circuit.next_size} bytes, and the upload"
                    f" has {upload.size}",
                    field=f"states.{at}.sha256",
                )
            handed.append(HandedState(position=at, sha256=each.sha256, content=upload.content))
        for state in handed:
            uploads.delete(principal.tenant_id, state.sha256)
        size = sum(each.next_size for each in circuits)
        return _add(session, runtime, principal, row, terms, size, handed)

    return _once(runtime, terms, add)


def _finish(runtime: Runtime, principal: Principal, ceremony_id: str, value: str) -> str:
    with runtime.database.read() as session:
        tenant_id = Ceremonies(session, principal.sight).get(ceremony_id).job.tenant_id
    row, terms = Contribution(id=new_id("ctb"), ceremony_id=ceremony_id, beacon=value), Terms(tenant_id)

    def add(session: Session) -> str:
        ceremonies = Ceremonies(session, principal.sight)
        _require_phase(ceremonies.locked(ceremony_id), "closing")
        _require_idle(ceremonies, ceremony_id)
        size = sum(each.size for each in ceremonies.circuits(ceremony_id))
        return _add(session, runtime, principal, row, terms, size, [])

    return _once(runtime, terms, add)


def _add(
    session: Session,
    runtime: Runtime,
    principal: Principal,
    row: Contribution,
    terms: Terms,
    size: int,
    handed: list[HandedState],
) -> str:
    estimate = {"memory": _MEMORY_PER_BYTE * size, "cost": 0.0, "constraints": 0}
    job = Jobs(session).create(row.id, "contribution", routed(session, runtime.settings, terms, estimate))
    row.job = job
    session.add(row)
    session.flush()
    for each in handed:
        each.contribution_id = row.id
    session.add_all(handed)
    action = "ceremony.finish" if row.beacon else "ceremony.contribute"
    audit.note(session, principal, action, row.ceremony_id, tenant_id=job.tenant_id)
    admit(session, runtime.settings, terms.tenant_id)
    return row.id


def _once(runtime: Runtime, terms: Terms, add: Any) -> str:
    """The id of what ``add`` adds, its job sent to the workers, or of what the ``Idempotency-Key`` made."""
    with runtime.database.read() as session:
        if earlier := Jobs(session).earlier(terms):
            return earlier
    row_id: str = submission.once(runtime, lambda session: Jobs(session).earlier(terms), add, stored=())
    runtime.queue.send(row_id)
    return row_id


def _asked(session: Session, model: Model, body: CircuitRequest, field: str) -> dict[str, Any]:
    """What the job is to compile. Raises ``RequestError``, ``NotFoundError``."""
    given = body.model_dump(exclude_none=True)
    if key_id := given.pop("verification_key_id", None):
        if given:
            raise RequestError(
                "request.invalid", f"{field}: with a verification_key_id give nothing else", field=field
            )
        key = VerificationKeys(session).get(key_id)
        if key.circuit["network"] != model.network:
            raise RequestError("request.invalid", f"{field}: the key is of another network", field=field)
        return {"verification_key_id": key_id}
    scheme = given.pop("scheme", None)
    if scheme is None:
        raise RequestError(
            "request.invalid", f"{field}: give a scheme, or a verification_key_id", field=field
        )
    for name in given:
        if name not in _TAKES[scheme]:
            raise RequestError(
                "request.invalid", f"{field}.{name}: the scheme {scheme} does not take it", field=field
            )
    if scheme == "registration" and model.commitment is None:
        raise RequestError(
            "request.invalid", f"{field}: the model's weights are public, nothing is registered", field=field
        )
    if scheme == "accuracy" and "shard_size" not in given:
        raise RequestError("request.invalid", f"{field}: give the dataset's shard_size", field=field)
    if (given.get("reveal") == "top") != ("top" in given):
        raise RequestError(
            "request.invalid", f'{field}.top: give it with "reveal": "top", and only then', field=field
        )
    return {"scheme": scheme} | _DEFAULTS[scheme] | given


def _require_part(request: Request, size: int) -> None:
    asked = request.headers.get("Range")
    if asked is None:
        return
    part = _RANGE.fullmatch(asked)
    if part is None or int(part["first"]) >= size or int(part["last"] or size) < int(part["first"]):
        raise RequestError(
            "request.range", f"Range: ask for one part of these {size} bytes, as bytes=4096-", field="Range"
        )


def _require_phase(ceremony: Ceremony, wanted: str) -> None:
    phase = phase_of(ceremony)
    if phase != wanted:
        raise ConflictError(
            "conflict.ceremony_phase", f"the ceremony is {phase}, and this is for one that is {wanted}"
        )


def _require_idle(ceremonies: Ceremonies, ceremony_id: str) -> None:
    if pending := ceremonies.pending(ceremony_id):
        raise ConflictError(
            "conflict.contribution",
            f"{pending} is being verified: wait for it, then fetch the ceremony again",
        )
