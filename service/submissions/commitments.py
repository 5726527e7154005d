"""Committing to inputs and references."""

from __future__ import annotations

from sqlalchemy.orm import Session

from zenserve.prover import registry
from zenserve.prover.system import CommitmentKey
from zenserve.service import basis as bases
from zenserve.service import encryption, intake, openings
from zenserve.service.access import audit
from zenserve.service.access.principal import Principal
from zenserve.service.encryption import Secret
from zenserve.service.jobs.jobs import scoped, used_otherwise
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import now
from zenserve.service.storage.records.base import new_id
from zenserve.service.storage.records.resources import Commitment, Model
from zenserve.service.storage.repositories import Commitments, Models
from zenserve.service.storage.repositories.accounts import Tenants
from zenserve.service.submissions import asking, jobs
from zenserve.service.submissions.requests import CommitmentRequest
from zenserve.verifier.documents import OpeningFile, OpeningPart, named
from zenserve.verifier.fields import canonical


def commit(
    runtime: Runtime, caller: Principal, body: CommitmentRequest, idempotency_key: str | None = None
) -> str:
    """The commitment's id, or that of the one which the ``Idempotency-Key`` made. Raises ``ZenError``."""
    shape, content = "row", b""
    if isinstance(body.values, dict):
        content = canonical(body.values)
    else:
        numbers = intake.numbers(body.values, "values")
        shape, content = str(numbers.shape), numbers.tobytes()
    said = (body.model_id, body.kind, shape, *([body.name] if body.name else []))
    macs = runtime.vault.macs(b"commitment", *(part.encode() for part in said), content)
    key = idempotency_key and scoped(caller.tenant_id, idempotency_key)

    def earlier(session: Session) -> str | None:
        row = key and Commitments(session).of_key(key)
        if row and row.request_mac not in macs:
            raise used_otherwise()
        return row.id if row else None

    with runtime.database.read() as session:
        if found := earlier(session):
            return found
        model = Models(session, caller.tenant_id).ready(body.model_id)
    quantised = encryption.open_network(runtime, model)
    needed = asking.ask(caller.tenant_id, "committed_count", quantised, model.weight_privacy)
    basis = bases.require_basis(runtime, registry.find(model.system), needed)
    row = _commit(runtime, body, model, quantised, basis)
    row.tenant_id = caller.tenant_id
    row.idempotency_key, row.request_mac = key, macs[0] if key else None

    def add(session: Session) -> str:
        Tenants(session).hold(caller.tenant_id)  # it may be on its way out
        Commitments(session).add(row)
        openings.add(runtime, session, basis, bytes.fromhex(row.commitment), row.id)
        audit.note(session, caller, "commitment.create", row.id)
        return row.id

    return jobs.once(runtime, earlier, add, [row.opening])


def reveal(runtime: Runtime, caller: Principal, commitment_id: str) -> OpeningFile:
    """Return the opening that shows the values of the caller's commitment.

    The audit log notes who fetched it. Raises ``NotFoundError``.
    """
    with runtime.database.write() as session:
        row = Commitments(session, caller.tenant_id).get(commitment_id)
        model = Models(session, caller.tenant_id).get(row.model_id)
        audit.note(session, caller, "commitment.reveal", commitment_id)
    secret = encryption.get_secrets(runtime, f"commitment:{row.id}", row.opening)["value"]
    assert secret.opening is not None  # noqa: S101  there is one for whatever was committed
    system = registry.find(model.system)
    opening = system.commitments.read_opening(secret.opening)
    quantised = encryption.open_network(runtime, model)
    values = asking.ask(caller.tenant_id, "committed_count", quantised, model.weight_privacy)
    basis, threads = bases.load_basis(runtime, system, values), runtime.settings.threads
    revealed = bases.reveal(basis, opening, secret.values, threads)
    shown = intake.output_integers(secret.values) if row.kind == "output" else None
    part = OpeningPart(commitment=row.commitment, opening=revealed, values=shown)
    return OpeningFile(**named(system), kind=row.kind, parts=[part])


def delete(runtime: Runtime, caller: Principal, commitment_id: str) -> None:
    """Raises ``NotFoundError``."""
    with runtime.database.write() as session:
        row = Commitments(session, caller.tenant_id).delete(commitment_id)
        audit.note(session, caller, "commitment.delete", commitment_id)
    jobs.delete(runtime, [row.opening])


def _commit(
    runtime: Runtime, body: CommitmentRequest, model: Model, quantised: bytes, basis: CommitmentKey
) -> Commitment:
    """The row, and in the store what opens it."""
    if body.kind == "input":
        read = intake.read_input(
            quantised, body.values, "values", body.name, saturate=model.saturate, table=model.table
        )
        values = intake.committed_values(quantised, read, name=body.name)
    else:
        values = asking.reference(model, quantised, body.values, "values")
    opening = bases.commit(basis, values, runtime.settings.threads)
    row = Commitment(id=new_id("cmt"), model_id=model.id, kind=body.kind, created_at=now())
    row.commitment = opening.commitment.hex()
    secret = Secret(values, opening.to_bytes())
    row.opening = encryption.put_secrets(runtime, f"commitment:{row.id}", {"value": secret})
    return row
