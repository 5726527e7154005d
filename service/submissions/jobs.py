"""Rows that a job of their own completes: asking for it, stopping it, trying it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from zenserve.errors import ConflictError, ZenError
from zenserve.service.access import audit
from zenserve.service.access.principal import Principal, Scope
from zenserve.service.jobs.jobs import Jobs, Terms
from zenserve.service.jobs.scheduling import admit, routed
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.ceremonies import Ceremony, Contribution
from zenserve.service.storage.records.resources import Dataset, Model, Proof
from zenserve.service.storage.records.streams import Stream
from zenserve.service.storage.repositories import Ceremonies, Contributions, Datasets, Models, Proofs, Streams
from zenserve.service.storage.repositories.resources import is_frame
from zenserve.service.submissions import files
from zenserve.service.submissions.estimates import Estimate
from zenserve.service.submissions.files import Handed

Row = Model | Dataset | Proof | Ceremony | Contribution | Stream
_Rows = type[Models] | type[Datasets] | type[Proofs] | type[Ceremonies] | type[Contributions] | type[Streams]
_ROWS: Final[dict[str, _Rows]] = {
    "model": Models,
    "dataset": Datasets,
    "proof": Proofs,
    "ceremony": Ceremonies,
    "contribution": Contributions,
    "stream": Streams,
}
KEEPERS: Final[dict[str, tuple[Scope, ...]]] = {
    "model": ("register", "admin"),
    "dataset": ("prove", "admin"),
    "proof": ("prove", "admin"),
    "ceremony": ("admin",),
    "contribution": ("admin",),
    "stream": ("prove", "admin"),
}
"""The scopes of which a caller needs one to cancel and retry, by kind."""


def terms(
    runtime: Runtime,
    caller: Principal,
    kind: bytes,
    options: Iterable[str],
    labels: dict[str, str] | None,
    idempotency_key: str | None,
) -> Terms:
    """Of a request with these options and labels."""
    told = (*options, *(f"{name}={value}" for name, value in sorted((labels or {}).items())))
    macs = runtime.vault.macs(kind, *(option.encode() for option in told))
    return Terms(caller.tenant_id, labels=labels, idempotency_key=idempotency_key, request_macs=macs)


def submit(
    runtime: Runtime,
    caller: Principal,
    kind: str,
    row: Row,
    terms: Terms,
    action: str,
    *,
    target: str | None = None,
    handed: Sequence[Handed] = (),
    stored: Sequence[str | None] = (),
    prepare: Callable[[Session], Estimate | None] = lambda _session: None,
) -> str:
    """Add the row, queue its job and use up the uploads among the files that were handed in, unless its
    ``Idempotency-Key`` made one meanwhile. The id of the row.

    ``action`` is for the audit log, on ``target`` unless on the row. ``prepare`` looks once more at what may
    have changed, in the same transaction, and has the job's estimate. ``stored`` is the row's in the store.
    """
    used: list[str] = []

    def add(session: Session) -> str:
        estimate = prepare(session)
        row.job = Jobs(session).create(row.id, kind, routed(session, runtime.settings, terms, estimate))
        session.add(row)
        audit.note(session, caller, action, target or row.id, tenant_id=terms.tenant_id)
        used.extend(files.use_up(session, terms.tenant_id, handed))
        admit(session, runtime.settings, terms.tenant_id)
        return row.id

    made = once(runtime, lambda session: Jobs(session).earlier(terms), add, stored)
    if made == row.id:
        delete(runtime, used)
        runtime.queue.send(row.id, row.job.queue)
    return made


def once(
    runtime: Runtime,
    earlier: Callable[[Session], str | None],
    add: Callable[[Session], str],
    stored: Sequence[str | None],
) -> str:
    """The id of what is added, or that which an ``earlier`` request made meanwhile: that there was none
    before, the caller has seen. What was ``stored`` for a row that is not added goes at once, else whoever is
    refused could fill the disk.

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


def cancel(runtime: Runtime, caller: Principal, kind: str, job_id: str) -> None:
    """Raises ``NotFoundError``, ``ConflictError``."""
    with runtime.database.write() as session:
        row = _ROWS[kind](session, caller.sight).get(job_id)
        Jobs(session).cancel(row.id)
        audit.note(session, caller, f"{kind}.cancel", row.id, tenant_id=row.job.tenant_id)


def retry(runtime: Runtime, caller: Principal, kind: str, job_id: str) -> None:
    """Raises ``NotFoundError``, ``ConflictError``."""
    with runtime.database.write() as session:
        job = _ROWS[kind](session, caller.sight).get(job_id).job
        queue, queued = job.queue, queue_again(session, kind, job.id)
        audit.note(session, caller, f"{kind}.retry", job.id, tenant_id=job.tenant_id)
    for queued_id in queued:
        runtime.queue.send(queued_id, queue)


def queue_again(session: Session, kind: str, job_id: str) -> list[str]:
    """The ids to enqueue. Raises ``ConflictError``: ``conflict.not_failed``, and ``conflict.input_deleted``
    where too much time has passed.
    """

    def check() -> None:
        if kind == "proof" and (frame := Proofs(session).get(job_id).job).parent_id is not None:
            raise is_frame(frame)
        if kind == "proof" and not Proofs(session).has_input(job_id):
            raise ConflictError(
                "conflict.input_deleted",
                f"the input of {job_id} has been deleted by now: ask for a new proof",
            )

    return Jobs(session).retry(job_id, check)


def delete(runtime: Runtime, digests: Iterable[str | None]) -> None:
    """Delete from the store, after the commit that deleted the rows."""
    for digest in digests:
        if digest is not None:
            runtime.store.delete(digest)
