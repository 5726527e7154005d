"""Commitments to inputs and references, which proofs can be about while they stay hidden."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from service import basis as bases
from service import encryption as sealed
from service import intake
from service.access import audit
from service.api import openapi, problems
from service.api.routes import submission
from service.api.routes.dependencies import (
    CreatedDep,
    Id,
    IdempotencyKey,
    ModelFilter,
    Prover,
    Reader,
    Revealer,
    RuntimeDep,
    WindowDep,
)
from service.api.routes.strict import ApiRoute
from service.api.schemas import CommitmentRequest, CommitmentView, Listing, commitment_view, listing
from service.encryption import Secret
from service.jobs.lifecycle import new_id, now, scoped, used_otherwise
from service.runtime import Runtime
from service.storage.repositories import Commitments, Models
from service.storage.repositories.accounts import Tenants
from service.storage.repositories.lists import Lists
from service.storage.tables import Commitment
from verifier.documents import Opening, OpeningFile, OpeningPart

router = APIRouter(tags=["commitments"], route_class=ApiRoute)


@router.post(
    "/commitments",
    status_code=201,
    responses=problems.responses(400, 404, 409, 415, 507) | {201: openapi.headers("Location")},
)
def create_commitment(
    runtime: RuntimeDep,
    principal: Prover,
    body: CommitmentRequest,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> CommitmentView:
    """Commit to an input of a model, or to a reference: the embedding that the model makes of an image.

    The values are kept encrypted, until the commitment is deleted. To commit again makes another commitment,
    which nobody can tell to be to the same values.
    """
    numbers = intake.numbers(body.values, "values")
    said = (body.model_id, body.kind, str(numbers.shape))
    macs = runtime.vault.macs(b"commitment", *(part.encode() for part in said), numbers.tobytes())
    key = idempotency_key and scoped(principal.tenant_id, idempotency_key)

    def earlier(session: Session) -> str | None:
        row = key and Commitments(session).of_key(key)
        if row and row.request_mac not in macs:
            raise used_otherwise()
        return row.id if row else None

    with runtime.database.read() as session:
        commitment_id = earlier(session)
        model = None if commitment_id else Models(session, principal.tenant_id).ready(body.model_id)
    if model is not None:
        row = _commit(runtime, body, sealed.open_network(runtime, model))
        row.tenant_id = principal.tenant_id
        row.idempotency_key, row.request_mac = key, macs[0] if key else None

        def add(session: Session) -> str:
            Tenants(session).hold(principal.tenant_id)  # it may be on its way out
            Commitments(session).add(row)
            audit.note(session, principal, "commitment.create", row.id)
            return row.id

        commitment_id = submission.once(runtime, earlier, add, [row.opening])
    response.headers["Location"] = f"/v1/commitments/{commitment_id}"
    return get_commitment(runtime, principal, str(commitment_id))


@router.get("/commitments", responses=problems.responses())
def list_commitments(
    runtime: RuntimeDep,
    principal: Reader,
    window: WindowDep,
    created: CreatedDep,
    model_id: ModelFilter = None,
) -> Listing[CommitmentView]:
    """The commitments, newest first."""
    with runtime.database.read() as session:
        page = Lists(session, principal.sight).commitments(replace(created, model_id=model_id), window)
        return listing(page, commitment_view)


@router.get("/commitments/{commitment_id}", responses=problems.responses(404))
def get_commitment(runtime: RuntimeDep, principal: Reader, commitment_id: Id) -> CommitmentView:
    """A commitment, without what it is to."""
    with runtime.database.read() as session:
        return commitment_view(Commitments(session, principal.sight).get(commitment_id))


@router.get("/commitments/{commitment_id}/opening", responses=problems.responses(404))
def get_commitment_opening(runtime: RuntimeDep, principal: Revealer, commitment_id: Id) -> OpeningFile:
    """What convinces those who are shown the values that the commitment is to them. As secret as they are:
    with it, guesses can be checked. The audit log notes who fetched it.
    """
    with runtime.database.write() as session:
        row = Commitments(session, principal.tenant_id).get(commitment_id)
        audit.note(session, principal, "commitment.reveal", commitment_id)
    secret = sealed.get_secrets(runtime, f"commitment:{row.id}", row.opening)["value"]
    revealed = bases.reveal(bases.load_basis(runtime), secret, runtime.settings.threads)
    part = OpeningPart(commitment=row.commitment, opening=Opening(**revealed.to_json()))
    return OpeningFile(kind=row.kind, parts=[part])


@router.delete("/commitments/{commitment_id}", status_code=204, responses=problems.responses(404))
def delete_commitment(runtime: RuntimeDep, principal: Prover, commitment_id: Id) -> None:
    """Forget the values and what opens the commitment. Proofs that were asked for before are not
    disturbed.
    """
    with runtime.database.write() as session:
        row = Commitments(session, principal.tenant_id).delete(commitment_id)
        audit.note(session, principal, "commitment.delete", commitment_id)
    submission.delete(runtime, [row.opening])


def _commit(runtime: Runtime, body: CommitmentRequest, quantised: bytes) -> Commitment:
    """The row, and in the store what opens it."""
    if body.kind == "input":
        read = intake.read_input(quantised, body.values, "values")
        values = intake.committed_values(quantised, read)
    else:
        values = intake.read_reference(quantised, body.values, "values")
    basis = bases.require_basis(runtime)
    opening = bases.commit(basis, values, runtime.settings.threads)
    row = Commitment(id=new_id("cmt"), model_id=body.model_id, kind=body.kind, created_at=now())
    row.commitment = opening.commitment.hex()
    row.opening = sealed.put_secrets(runtime, f"commitment:{row.id}", {"value": Secret(values, opening)})
    return row
