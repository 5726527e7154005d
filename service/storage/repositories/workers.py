"""Signs of life of the worker processes, and what they can take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, cast

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from zenserve.service.settings import QueueName
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.jobs import Worker
from zenserve.service.storage.repositories.totals import Totals

SILENCE: Final = timedelta(seconds=10)
"""A worker that has said nothing for as long is taken for dead."""
_LARGEST: Final = "largest worker"


class Workers:
    def __init__(self, session: Session) -> None:
        self._session = session

    def beat(self, worker: str, pid: int, abilities: Mapping[str, Any]) -> None:
        """Note that a worker lives, and its columns ``abilities``."""
        moment = clock(self._session)
        row = self._session.get(Worker, worker)
        if row is None:
            row = Worker(id=worker, pid=pid, started_at=moment)
            self._session.add(row)
        row.heartbeat_at = moment
        for name, value in abilities.items():
            setattr(row, name, value)
        totals, largest = Totals(self._session), self.largest_ever()
        for queue in row.queues or ():
            if (row.memory or 0) > largest.get(queue, 0):
                totals.raise_to(_LARGEST, queue, row.memory)

    def remove(self, worker: str) -> None:
        if row := self._session.get(Worker, worker):
            self._session.delete(row)

    def last_heartbeat(self) -> datetime | None:
        return self._session.scalar(select(func.max(Worker.heartbeat_at)))

    def live(self) -> Sequence[Worker]:
        """Return the workers with a recent heartbeat."""
        return self._session.scalars(
            select(Worker).where(self._lives()).order_by(Worker.started_at, Worker.id)
        ).all()

    def memory(self) -> dict[QueueName, int]:
        """By queue, what a job may take of the live worker that has the most."""
        most: dict[QueueName, int] = {}
        columns = select(Worker.queues, Worker.memory).where(self._lives())
        for queues, memory in self._session.execute(columns):
            for queue in queues or ():
                most[queue] = max(most.get(queue, 0), memory)
        return most

    def largest_ever(self) -> dict[QueueName, int]:
        """By queue, what a job could take of the largest worker that ever lived."""
        return cast("dict[QueueName, int]", Totals(self._session).counts(_LARGEST))

    def _lives(self) -> ColumnElement[bool]:
        return Worker.heartbeat_at >= clock(self._session) - SILENCE

    def forget(self, seconds: float) -> None:
        """Delete the rows of those that were killed."""
        long_ago = clock(self._session) - timedelta(seconds=seconds)
        for row in self._session.scalars(select(Worker).where(Worker.heartbeat_at < long_ago)):
            self._session.delete(row)
