"""Sums that only grow, for ``/metrics``: they outlive the processes that add to them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from service.storage.database import is_postgresql
from service.storage.records.deployment import Total


class Totals:
    """By name and label:

    - ``jobs ended``: ``kind/state``
    - ``stage``: the stage, with the seconds that attempts which succeeded spent there
    - ``requeues``: the code of the cause
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, name: str, label: str, count: int = 1, seconds: float = 0.0) -> None:
        """Add to a sum. The row stays locked until the transaction ends: whoever adds to several adds in
        alphabetical order, so that no two wait for each other.
        """
        insert = postgresql.insert if is_postgresql(self._session) else sqlite.insert
        fresh = insert(Total).values(name=name, label=label[:120], count=count, seconds=seconds)
        self._session.execute(
            fresh.on_conflict_do_update(
                index_elements=[Total.name, Total.label],
                set_={
                    "count": Total.count + fresh.excluded.count,
                    "seconds": Total.seconds + fresh.excluded.seconds,
                },
            )
        )

    def all(self) -> Sequence[Total]:
        """In order of name and label."""
        return self._session.scalars(select(Total).order_by(Total.name, Total.label)).all()
