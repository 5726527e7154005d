"""Commitments to inputs and references, which proofs can be about while they stay hidden."""

from __future__ import annotations

from fastapi import APIRouter, Response

from client.documents import Opening, OpeningFile, OpeningPart
from service import basis as bases
from service import intake, problems, sealed
from service.jobs import new_id, now
from service.repositories import Commitments, Models
from service.routes.dependencies import JsonRoute, RuntimeDep
from service.schemas import CommitmentRequest, CommitmentView, commitment_view
from service.sealed import Secret
from service.tables import Commitment
from service.tasks.steps import open_network

router = APIRouter(tags=["commitments"], route_class=JsonRoute)


@router.post("/commitments", status_code=201, responses=problems.responses(400, 404, 409, 415))
def create_commitment(runtime: RuntimeDep, body: CommitmentRequest, response: Response) -> CommitmentView:
    """Commit to an input of a model, or to a reference: the embedding that the model makes of an image.

    The values are kept encrypted, until the commitment is deleted. To commit again makes another commitment,
    which nobody can tell to be to the same values.
    """
    with runtime.database.read() as session:
        model = Models(session).ready(body.model_id)
    read = intake.read_input if body.kind == "input" else intake.read_reference
    values = read(open_network(runtime, model), body.values, "values")
    basis = bases.require_basis(runtime.settings)
    opening = bases.commit(basis, values, runtime.settings.threads)
    row = Commitment(id=new_id("cmt"), model_id=model.id, kind=body.kind, created_at=now())
    row.commitment = opening.commitment.hex()
    row.opening = sealed.put_secrets(runtime, f"commitment:{row.id}", {"value": Secret(values, opening)})
    with runtime.database.write() as session:
        Commitments(session).add(row)
    response.headers["Location"] = f"/v1/commitments/{row.id}"
    return commitment_view(row)


@router.get("/commitments/{commitment_id}", responses=problems.responses(404))
def get_commitment(runtime: RuntimeDep, commitment_id: str) -> CommitmentView:
    """A commitment, without what it is to."""
    with runtime.database.read() as session:
        return commitment_view(Commitments(session).get(commitment_id))


@router.get("/commitments/{commitment_id}/opening", responses=problems.responses(404))
def get_opening(runtime: RuntimeDep, commitment_id: str) -> OpeningFile:
    """What convinces those who are shown the values that the commitment is to them. As secret as they are:
    with it, guesses can be checked.
    """
    with runtime.database.read() as session:
        row = Commitments(session).get(commitment_id)
    secret = sealed.get_secrets(runtime, f"commitment:{row.id}", row.opening)["value"]
    revealed = bases.reveal(bases.load_basis(runtime.settings), secret, runtime.settings.threads)
    part = OpeningPart(commitment=row.commitment, opening=Opening(**revealed.to_json()))
    return OpeningFile(kind=row.kind, parts=[part])


@router.delete("/commitments/{commitment_id}", status_code=204, responses=problems.responses(404))
def delete_commitment(runtime: RuntimeDep, commitment_id: str) -> None:
    """Forget the values and what opens the commitment. Proofs that were asked for before are not
    disturbed.
    """
    with runtime.database.write() as session:
        row = Commitments(session).delete(commitment_id)
    runtime.store.delete(row.opening)
