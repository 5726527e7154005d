"""Ceremonies: keys of a model's circuits that several parties make, so that none of them can forge proofs."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import FileResponse

from zenserve.errors import NotFoundError
from zenserve.service.access.principal import Principal, Scope
from zenserve.service.api import problems
from zenserve.service.api.ceremony_schemas import (
    CeremonySummary,
    CeremonyView,
    ContributionView,
    ceremony_summary,
    ceremony_view,
    contribution_view,
)
from zenserve.service.api.routes import downloads
from zenserve.service.api.routes.dependencies import (
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
from zenserve.service.api.routes.forms import SHA256
from zenserve.service.api.routes.jobs import JobRoutes
from zenserve.service.api.routes.strict import ApiRoute
from zenserve.service.api.schemas import Listing, listing
from zenserve.service.runtime import Runtime
from zenserve.service.storage.repositories import Ceremonies, Contributions
from zenserve.service.storage.repositories.lists import Lists
from zenserve.service.submissions import ceremonies
from zenserve.service.submissions.requests import (
    CeremonyRequest,
    CloseRequest,
    ContributionRequest,
    FinishRequest,
)

router = APIRouter(tags=["ceremonies"], route_class=ApiRoute)


def _view_ceremony(runtime: Runtime, principal: Principal, ceremony_id: str) -> CeremonyView:
    with runtime.database.read() as session:
        rows = Ceremonies(session, principal.sight)
        return ceremony_view(
            rows.get(ceremony_id),
            rows.circuits(ceremony_id),
            rows.contributions(ceremony_id),
            rows.pending(ceremony_id),
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
    "/ceremonies", status_code=202, responses=_ceremonies.asked("It is open, within the time of `Prefer`")
)
async def open_ceremony(
    runtime: RuntimeDep,
    principal: Admin,
    body: CeremonyRequest,
    response: Response,
    wait: WaitDep,
    idempotency_key: IdempotencyKey = None,
) -> CeremonyView:
    """Open a ceremony for the keys of a model's circuits, over the powers of tau that the model's basis
    came from. A job computes where each key starts.

    It belongs to the tenant of the model. Opening takes the scope admin, since all models that share a
    circuit, of whichever tenant, take its key in the end.
    """
    ask = partial(ceremonies.start, runtime, principal, body, idempotency_key)
    return await _ceremonies.answer(runtime, principal, ask, wait, response)


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
    responses=downloads.RESPONSES,
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
        rows = Ceremonies(session, principal.sight)
        files = {rows.get(ceremony_id).powers}
        for circuit in rows.circuits(ceremony_id):
            files |= {circuit.statement, circuit.state}
    if sha256 not in files:
        raise NotFoundError(
            "not_found",
            f"{sha256} is no file of this ceremony, or not any more: GET /v1/ceremonies/{ceremony_id} says"
            " which are",
            field="sha256",
        )
    headers = {"ETag": f'"{sha256}"', "Cache-Control": "private, no-transform"}
    return downloads.send_file(request, runtime.store.path(sha256), headers)


@router.delete("/ceremonies/{ceremony_id}", status_code=204, responses=problems.responses(404, 409))
def delete_ceremony(runtime: RuntimeDep, principal: Admin, ceremony_id: Id) -> None:
    """Forget a ceremony. Keys that it made stay."""
    ceremonies.delete(runtime, principal, ceremony_id)


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
    ask = partial(ceremonies.contribute, runtime, principal, ceremony_id, body, idempotency_key)
    return await _contributions.answer(runtime, principal, ask, wait, response)


@router.post("/ceremonies/{ceremony_id}/close", responses=problems.responses(400, 404, 409, 415))
def close_ceremony(
    runtime: RuntimeDep, principal: Admin, body: CloseRequest, ceremony_id: Id
) -> CeremonyView:
    """Announce the public randomness that closes a ceremony: a value that nobody knows yet. From then on no
    contribution is taken, and the announcement stays as it is.
    """
    ceremonies.close(runtime, principal, ceremony_id, body)
    return _view_ceremony(runtime, principal, ceremony_id)


@router.post(
    "/ceremonies/{ceremony_id}/finish",
    status_code=202,
    responses=_contributions.asked("Its keys are there, within the time of `Prefer`", 422),
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

    Where nobody contributed to the powers of tau, the keys would say `development`: the request is refused
    (`ceremony.no_contributions`) unless it says `"development": true`.
    """
    ask = partial(ceremonies.finish, runtime, principal, ceremony_id, body)
    return await _contributions.answer(runtime, principal, ask, wait, response)
