"""The usage of each tenant: sums over the books, which are kept when jobs are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from zenserve.service.storage.records.accounts import Tenant, Usage


class Books:
    """``owner``: of this tenant only; None: of all."""

    def __init__(self, session: Session, owner: str | None) -> None:
        self._session = session
        self._owner = owner

    def between(self, since: datetime, until: datetime) -> Sequence[Row[str, str, int, float, int, int]]:
        """``tenant_id``, ``name`` (None: it is gone), ``jobs``, ``seconds``, ``rows`` and ``bytes`` of each
        tenant whose jobs ended then, by id. Shards count with their proof's seconds and rows, not as jobs.
        """
        sums = (
            func.count().filter(Usage.kind != "shard").label("jobs"),
            func.sum(Usage.seconds).label("seconds"),
            func.sum(Usage.rows).label("rows"),
            func.sum(Usage.bytes).label("bytes"),
        )
        used = (
            select(Usage.tenant_id, Tenant.name, *sums)
            .outerjoin(Tenant, Tenant.id == Usage.tenant_id)
            .where(Usage.ended_at >= since, Usage.ended_at < until)
            .group_by(Usage.tenant_id, Tenant.name)
            .order_by(Usage.tenant_id)
        )
        if self._owner is not None:
            used = used.where(Usage.tenant_id == self._owner)
        return self._session.execute(used).all()
