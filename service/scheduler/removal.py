"""Tenants whose end was asked for: all that they have is deleted, thing by thing, and last the tenant itself.

Each thing goes in a transaction of its own, and its files after that. Whatever comes in between, the next
round goes on with what is left; files that lost their row are swept. What the tenant used stays on the books,
and what was done in the audit log.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from sqlalchemy.orm import Session

from zenserve.errors import ConflictError, NotFoundError
from zenserve.service import log
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.jobs.scheduling import hold_admissions
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import clock
from zenserve.service.storage.repositories import Ceremonies, Commitments, Datasets, Models, Proofs, Streams
from zenserve.service.storage.repositories.remains import Kind, Remains
from zenserve.service.storage.repositories.uploads import Uploads

_AT_ONCE: Final = 100
"""In one round: the scheduler has other duties."""


def remove_tenants(runtime: Runtime) -> None:
    """One round, for each of them."""
    with runtime.database.read() as session:
        tenants = Remains(session).tenants()
    for tenant_id in tenants:
        _remove(runtime, tenant_id)


def _remove(runtime: Runtime, tenant_id: str) -> None:
    with runtime.database.read() as session:
        found = Remains(session).some(tenant_id, _AT_ONCE)
    for kind, row_id in found:
        # Deleted meanwhile, or needed by a job that has yet to end: that is for a later round.
        with suppress(NotFoundError, ConflictError):
            with runtime.database.write() as session:
                files = _delete(session, tenant_id, kind, row_id)
            for digest in files:
                if digest is not None:
                    runtime.store.delete(digest)
    if not found:
        _end(runtime, tenant_id)


def _delete(session: Session, tenant_id: str, kind: Kind, row_id: str) -> list[str | None]:
    """Delete the row, or cancel the job, and return the digests of its files in the store."""
    match kind:
        case "job":
            Jobs(session).cancel(row_id)
        case "upload":
            return [Uploads(session).delete(tenant_id, row_id)]
        case "proof":
            proof = Proofs(session).delete(row_id)
            return [proof.input, proof.proofs]
        case "stream":
            return Streams(session).delete(row_id)
        case "dataset":
            dataset = Datasets(session).delete(row_id)
            return [dataset.samples, dataset.openings]
        case "commitment":
            return [Commitments(session).delete(row_id).opening]
        case "ceremony":
            return [*Ceremonies(session).delete(row_id)]
        case "model":
            model = Models(session).delete(row_id)
            return [model.quantised, model.floats]
        case _:
            Remains(session).delete_row(kind, row_id)
    return []


def _end(runtime: Runtime, tenant_id: str) -> None:
    with runtime.database.write() as session:
        hold_admissions(
            session, tenant_id
        )  # a submission that was let in before is seen, a later one refused
        gone = Remains(session).end(tenant_id, clock(session))
    if gone:
        log.event("tenant.gone", id=tenant_id)
