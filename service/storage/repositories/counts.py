"""Counts of all that the database has, for ``/metrics``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from zenserve.service.storage.records.jobs import Job, Worker
from zenserve.service.storage.records.webhooks import Delivery


class Counts:
    def __init__(self, session: Session) -> None:
        self._session = session

    def jobs(self) -> list[tuple[str, str, str, int]]:
        """Jobs that wait or run, by queue, kind and state."""
        rows = self._session.execute(
            select(Job.queue, Job.kind, Job.state, func.count())
            .where(Job.state.in_(("queued", "running")))
            .group_by(Job.queue, Job.kind, Job.state)
        )
        return [(queue, kind, state, count) for queue, kind, state, count in rows]

    def oldest(self) -> dict[str, datetime]:
        """By queue, when the queued job that has waited longest could first be taken."""
        since = func.min(func.coalesce(Job.available_at, Job.created_at))
        query = select(Job.queue, since).where(Job.state == "queued").group_by(Job.queue)
        return {str(queue): moment for queue, moment in self._session.execute(query)}

    def workers(self) -> Sequence[Worker]:
        return self._session.scalars(select(Worker).order_by(Worker.id)).all()

    def deliveries(self) -> list[tuple[str, int]]:
        """Messages to webhooks by state."""
        rows = self._session.execute(select(Delivery.state, func.count()).group_by(Delivery.state))
        return [(state, count) for state, count in rows]
