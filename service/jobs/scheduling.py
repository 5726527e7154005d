"""Scheduling of jobs: the choice of the next, the choice of its queue, and its admission."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from zenserve.errors import ResourceError
from zenserve.service.jobs.claims import Claim, Claims, too_large
from zenserve.service.jobs.jobs import Terms
from zenserve.service.jobs.lifecycle import rested
from zenserve.service.settings import QueueName, Settings
from zenserve.service.storage.database import clock, is_postgresql
from zenserve.service.storage.records.accounts import Tenant
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.repositories.accounts import suspended
from zenserve.service.storage.repositories.webhooks import SUBJECTS
from zenserve.service.storage.repositories.workers import Workers

_CLAIM_LOCK: Final = 0x5A454E02
_ADMISSION_LOCK: Final = 0x5A454E03


def claim_next(
    session: Session, worker: str, lease_seconds: float, queues: Collection[QueueName], memory: int
) -> Claim | None:
    """The next job that this worker can take, if there is one.

    Tenants take turns: first come those with the fewest jobs running, then those that were served longest
    ago; within a tenant priority decides, then age, of a frame since its turn came. So nobody's thousand jobs
    keep another's only one waiting. Those of suspended tenants wait until these are not.
    """
    if is_postgresql(session):  # turns are taken one at a time, else two workers would serve one tenant twice
        session.execute(select(func.pg_advisory_xact_lock(_CLAIM_LOCK)))
    held = (
        select(Job.tenant_id, func.count().label("count"))
        .where(Job.state == "running", Job.worker.is_not(None))
        .group_by(Job.tenant_id)
        .subquery()
    )
    running = func.coalesce(held.c.count, 0)
    since = func.coalesce(Job.available_at, Job.created_at)
    row = session.execute(
        select(Job.id, Job.tenant_id)
        .outerjoin(Tenant, Tenant.id == Job.tenant_id)
        .outerjoin(held, held.c.tenant_id == Job.tenant_id)
        .where(
            Job.state == "queued",
            Job.queue.in_(queues),
            Job.memory <= memory,
            rested(session),
            Tenant.suspended_at.is_(None),
            or_(Tenant.max_running.is_(None), running < Tenant.max_running),
        )
        .order_by(running, Tenant.served_at.asc().nulls_first(), Job.priority.desc(), since, Job.id)
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    session.execute(update(Tenant).where(Tenant.id == row.tenant_id).values(served_at=clock(session)))
    return Claims(session).claim(row.id, worker, lease_seconds)


def routed(session: Session, settings: Settings, terms: Terms, estimate: dict[str, Any] | None) -> Terms:
    """The terms with queue, memory and cost by this ``estimate``, if there is one.

    Raises ``ResourceError`` (``resource.capacity``) where the job takes more memory than any live worker has,
    or, where none lives, than any that ever did.
    """
    if estimate is None:
        return terms
    memory, cost = int(estimate["memory"]), float(estimate["cost"])
    most = Workers(session).memory()
    queue: QueueName = "cpu"
    if cost >= settings.gpu_from_seconds and most.get("gpu", 0) >= memory:
        queue = "gpu"
    largest = most[queue] if queue in most else Workers(session).largest_ever().get(queue, memory)
    if memory > largest:
        raise ResourceError("resource.capacity", too_large(memory, largest, estimate["constraints"]))
    return replace(terms, queue=queue, memory=memory, cost=cost)


def admit(session: Session, settings: Settings, tenant_id: str) -> None:
    """Let the tenant have the job that this transaction adds. Its other submissions wait until this one is
    over, and count the job: so this comes last. Raises as ``require_place``.
    """
    session.flush()
    hold_admissions(session, tenant_id)
    require_place(session, settings, tenant_id)


def hold_admissions(session: Session, tenant_id: str) -> None:
    """Let no job of this tenant be admitted elsewhere until this transaction is over: its last act, then.
    SQLite's writers wait for each other anyway.
    """
    if is_postgresql(session):
        session.execute(select(func.pg_advisory_xact_lock(_ADMISSION_LOCK, func.hashtext(tenant_id))))


def require_place(session: Session, settings: Settings, tenant_id: str, *, more: int = 0) -> None:
    """Check that the tenant may have its present jobs, and so many ``more``.

    Raises ``ResourceError`` (``quota.queued``) where more would wait or run than its limit, and
    ``AccessError`` (``auth.suspended``).
    """
    waiting = select(func.count()).where(
        # As the index has them: this is asked at every submission. Shards are not counted.
        Job.tenant_id == tenant_id,
        Job.kind.in_(SUBJECTS),
        Job.state.in_(("queued", "running")),
    )
    tenant = session.execute(
        select(waiting.scalar_subquery().label("unfinished"), Tenant.max_queued, Tenant.suspended_at).where(
            Tenant.id == tenant_id
        )
    ).one_or_none()
    if tenant is None or tenant.suspended_at is not None:
        raise suspended()
    most = tenant.max_queued or settings.max_queued
    if tenant.unfinished + more > most:
        raise ResourceError(
            "quota.queued", f"{most} jobs are waiting or running, which is the most: wait for some to end"
        )
