"""Commitments to inputs and references, which proofs can be about while they stay hidden."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Response

from zenserve.service.api import openapi, problems
from zenserve.service.api.routes.dependencies import (
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
from zenserve.service.api.routes.strict import ApiRoute
from zenserve.service.api.schemas import CommitmentView, Listing, commitment_view, listing
from zenserve.service.storage.repositories import Commitments, Models
from zenserve.service.storage.repositories.lists import Lists
from zenserve.service.submissions import commitments
from zenserve.service.submissions.requests import CommitmentRequest
from zenserve.verifier.documents import OpeningFile

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
    commitment_id = commitments.commit(runtime, principal, body, idempotency_key)
    response.headers["Location"] = f"/v1/commitments/{commitment_id}"
    return get_commitment(runtime, principal, commitment_id)


@router.get("/commitments", responses=problems.responses(404))
def list_commitments(
    runtime: RuntimeDep,
    principal: Reader,
    window: WindowDep,
    created: CreatedDep,
    model_id: ModelFilter = None,
) -> Listing[CommitmentView]:
    """The commitments, newest first."""
    with runtime.database.read() as session:
        filters = replace(created, model_id=Models(session, principal.sight).id_of(model_id))
        page = Lists(session, principal.sight).commitments(filters, window)
        return listing(page, commitment_view)


@router.get("/commitments/{commitment_id}", responses=problems.responses(404))
def get_commitment(runtime: RuntimeDep, principal: Reader, commitment_id: Id) -> CommitmentView:
    """A commitment, without what it is to."""
    with runtime.database.read() as session:
        return commitment_view(Commitments(session, principal.sight).get(commitment_id))


@router.get("/commitments/{commitment_id}/opening", responses=problems.responses(404))
def get_commitment_opening(runtime: RuntimeDep, principal: Revealer, commitment_id: Id) -> OpeningFile:
    """Return the opening of the commitment.

    The opening proves the committed values to those who are shown them. It is as secret as the values: with
    it, guesses can be checked. The audit log notes who fetched it.
    """
    return commitments.reveal(runtime, principal, commitment_id)


@router.delete("/commitments/{commitment_id}", status_code=204, responses=problems.responses(404))
def delete_commitment(runtime: RuntimeDep, principal: Prover, commitment_id: Id) -> None:
    """Forget the values and what opens the commitment. Proofs that are out stay valid; those without a setup
    that were asked for and not begun fail (`conflict.changed`).
    """
    commitments.delete(runtime, principal, commitment_id)
