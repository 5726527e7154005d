"""Queries of ``zenserve doctor`` and of the dashboard's page of the deployment."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Row, func, select, text
from sqlalchemy.orm import Session

from zenserve.service.settings import QueueName
from zenserve.service.storage.database import is_postgresql
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Model


class Deployment:
    def __init__(self, session: Session) -> None:
        self._session = session

    def newest_model(self) -> Model | None:
        return self._session.scalar(
            select(Model).join(Job).order_by(Job.created_at.desc(), Job.id.desc()).limit(1)
        )

    def database_bytes(self) -> int:
        """Return how large the database is."""
        pages = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        size = "SELECT pg_database_size(current_database())" if is_postgresql(self._session) else pages
        return int(self._session.execute(text(size)).scalar_one())

    def waiting(self) -> Sequence[Row[QueueName, int, int]]:
        """Of each queue with queued jobs: its name, how many, and the memory that the largest takes."""
        return self._session.execute(
            select(Job.queue, func.count(), func.max(Job.memory))
            .where(Job.state == "queued")
            .group_by(Job.queue)
            .order_by(Job.queue)
        ).all()
