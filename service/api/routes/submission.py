"""Rows that a job of their own completes: asking for it, stopping it, trying it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.access import audit
from service.access.principal import Principal, Scope
from service.api import uploads
from service.api.uploads import Handed
from service.jobs.lifecycle import Jobs, Terms
from service.jobs.scheduling import admit, routed
from service.runtime import Runtime
from service.settings import QueueName
from service.storage.repositories import Ceremonies, Contributions, Datasets, Models, Proofs
from service.storage.tables import Dataset, Model, Proof
from zenerrors import ConflictError, ZenError

Added = TypeVar("Added")
_Rows = type[Models] | type[Datasets] | type[Proofs] | type[Ceremonies] | type[Contributions]
_ROWS: Final[dict[str, _Rows]] = {
    "model": Models,
    "dataset": Datasets,
    "proof": Proofs,
    "ceremony": Ceremonies,
    "contribution": Contributions,
}
KEEPERS: Final[dict[str, tuple[Scope, ...]]] = {
    "model": ("register", "admin"),
    "dataset": ("prove", "admin"),
    "proof": ("prove", "admin"),
    "ceremony": ("admin",),
    "contribution": ("admin",),
}
"""Who may cancel and retry, by kind."""


def terms(
    runtime: Runtime,
    principal: Principal,
    kind: bytes,
    options: Iterable[str],
    labels: dict[str, str],
    idempotency_key: str | None,
) -> Terms:
    """Of what a form asks for, with these options."""
    told = (*options, *(f"{name}={value}" for name, value in sorted(labels.items())))
    macs = runtime.vault.macs(kind, *(option.encode() for option in told))
    return Terms(
        tenant_id=principal.tenant_id, labels=labels, idempotency_key=idempotency_key, request_macs=macs
    )


def submit(
    runtime: Runtime,
    principal: Principal,
    kind: str,
    row: Model | Dataset | Proof,
    terms: Terms,
    *,
    files: Sequence[Handed] = (),
    stored: Sequence[str | None],
    estimate: dict[str, Any] | None = None,
    check: Callable[[Session], None] = lambda _session: None,
) -> str:
    """Add the row, queue its job and use up the uploads among its files, unless its ``Idempotency-Key`` made
    one meanwhile. The id of the row.

    ``check`` is for what may have changed since it was looked at; ``stored`` is the row's in the store.
    """

    def add(session: Session) -> tuple[QueueName, list[str]]:
        check(session)
        row.job = Jobs(session).create(row.id, kind, routed(session, runtime.settings, terms, estimate))
        session.add(row)
        audit.note(session, principal, f"{type(row).__name__.lower()}.create", row.id)
        used = uploads.use_up(session, terms.tenant_id, files)
        admit(session, runtime.settings, terms.tenant_id)
        return row.job.queue, used

    added = once(runtime, lambda session: Jobs(session).earlier(terms), add, stored)
    if isinstance(added, str):
        return added
    queue, used = added
    delete(runtime, used)
    runtime.queue.send(row.id, queue)
    return row.id


def once(
    runtime: Runtime,
    earlier: Callable[[Session], str | None],
    add: Callable[[Session], Added],
    stored: Sequence[str | None],
) -> Added | str:
    """What ``add`` answers, or the id that an ``earlier`` request made meanwhile: that there was none before,
    the caller has seen. What was ``stored`` for a row that is not added goes at once, else whoever is refused
    could fill the disk.

    Raises ``ConflictError`` (``conflict.changed``) where what the row refers to was deleted in the meantime.
    """
    try:
        with runtime.database.write() as session:
            return add(session)
    except ZenError:
        delete(runtime, stored)
        raise
    except IntegrityError as error:
        delete(runtime, stored)
        with runtime.database.read() as session:
            if found := earlier(session):
                return found
        raise ConflictError(
            "conflict.changed", "what the request names was deleted in the meantime"
        ) from error


def cancel(runtime: Runtime, principal: Principal, kind: str, job_id: str) -> None:
    """Raises ``NotFoundError``, ``ConflictError``."""
    with runtime.database.write() as session:
        row = _ROWS[kind](session, principal.sight).get(job_id)
        Jobs(session).cancel(job_id)
        audit.note(session, principal, f"{kind}.cancel", job_id, tenant_id=row.job.tenant_id)


def retry(runtime: Runtime, principal: Principal, kind: str, job_id: str) -> None:
    """Raises ``NotFoundError``, ``ConflictError``."""
    with runtime.database.write() as session:
        row = _ROWS[kind](session, principal.sight).get(job_id)
        queue, queued = row.job.queue, Jobs(session).retry(job_id)
        audit.note(session, principal, f"{kind}.retry", job_id, tenant_id=row.job.tenant_id)
    for queued_id in queued:
        runtime.queue.send(queued_id, queue)


def delete(runtime: Runtime, digests: Iterable[str | None]) -> None:
    """Delete from the store, after the commit that deleted the rows."""
    for digest in digests:
        if digest is not None:
            runtime.store.delete(digest)
