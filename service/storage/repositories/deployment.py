"""What ``zenserve doctor`` asks the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from service.settings import QueueName
from service.storage.records.jobs import Job
from service.storage.records.resources import Model


class Deployment:
    def __init__(self, session: Session) -> None:
        self._session = session

    def newest_model(self) -> Model | None:
        return self._session.scalar(
            select(Model).join(Job).order_by(Job.created_at.desc(), Job.id.desc()).limit(1)
        )

    def waiting(self) -> Sequence[Row[QueueName, int, int]]:
        """Of each queue with queued jobs: its name, how many, and the memory that the largest takes."""
        return self._session.execute(
            select(Job.queue, func.count(), func.max(Job.memory))
            .where(Job.state == "queued")
            .group_by(Job.queue)
            .order_by(Job.queue)
        ).all()
