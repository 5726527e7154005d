"""Sums that only grow, for ``/metrics``: they outlive the processes that add to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from zenserve.service.storage.database import is_postgresql
from zenserve.service.storage.records.deployment import Total


class Totals:
    """By name and label:

    - ``jobs ended``: ``kind/state``
    - ``largest worker``: by queue the most bytes that a job could ever take of one; the largest, no sum
    - ``kernel``: a GPU's, with the seconds that it took in proofs that were measured
    - ``stage``: the stage, with the seconds that attempts which succeeded spent there
    - ``requeues``: the code of the cause
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, name: str, label: str, count: int = 1) -> None:
        """Add to a sum. The row stays locked until the transaction ends: whoever adds to several adds in
        alphabetical order, so that no two wait for each other.
        """
        self._add([{"name": name, "label": label[:120], "count": count, "seconds": 0.0}])

    def add_seconds(self, name: str, seconds: Mapping[str, float]) -> None:
        """Of an attempt that succeeded, by labels, at once: a proof of a small network takes no longer than
        so many statements. Whoever adds those of kernels, too, has added those of stages before."""
        labels = {label[:120]: seconds[label] for label in sorted(seconds)}
        self._add([{"name": name, "label": label, "count": 1, "seconds": labels[label]} for label in labels])

    def raise_to(self, name: str, label: str, count: int) -> None:
        """Keep the larger one."""
        fresh = postgresql.insert(Total) if is_postgresql(self._session) else sqlite.insert(Total)
        raised = fresh.on_conflict_do_update(
            index_elements=[Total.name, Total.label],
            set_={"count": fresh.excluded.count},
            where=Total.count < fresh.excluded.count,
        )
        row = {"name": name, "label": label, "count": count, "seconds": 0.0}
        self._session.execute(raised, [row])

    def counts(self, name: str) -> dict[str, int]:
        """By label."""
        rows = self._session.execute(select(Total.label, Total.count).where(Total.name == name))
        return {label: count for label, count in rows}  # noqa: C416  rows are no pairs

    def _add(self, rows: list[dict[str, Any]]) -> None:
        fresh = postgresql.insert(Total) if is_postgresql(self._session) else sqlite.insert(Total)
        summed = fresh.on_conflict_do_update(
            index_elements=[Total.name, Total.label],
            set_={
                "count": Total.count + fresh.excluded.count,
                "seconds": Total.seconds + fresh.excluded.seconds,
            },
        )
        if rows:
            self._session.execute(summed, rows)

    def all(self) -> Sequence[Total]:
        """In order of name and label."""
        return self._session.scalars(select(Total).order_by(Total.name, Total.label)).all()
