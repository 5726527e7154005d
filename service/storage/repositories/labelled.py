"""Jobs by their labels: a page of those that have them is found among 100,000 jobs as soon as among three."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Select, exists, func, select
from sqlalchemy.orm import Session, aliased

from zenserve.service.storage.paging import Window
from zenserve.service.storage.records.accounts import Tenant
from zenserve.service.storage.records.jobs import Job, JobLabel

_FEW: Final = 10_000
"""Jobs that may be gone through one by one."""


class Labelled:
    """Jobs that have all of these labels. ``owner``: of this tenant only; None: of all."""

    def __init__(self, session: Session, owner: str | None, labels: Mapping[str, str]) -> None:
        self._session = session
        self._owner = owner
        self._labels = labels
        self._rarest = self._rare()

    def newest(self, jobs: Select[str, datetime], window: Window) -> Select[str, datetime]:
        """Of these jobs, ids with times of creation, those on the page and one more, newest first.

        If few jobs have the rarest of the labels, its index is gone through, and of each the rest is asked.
        Else that of the jobs: where many have every label, there soon are enough that have all.
        """
        for name in self._labels.keys() - {self._rarest}:
            label = aliased(JobLabel)
            has = exists().where(
                label.job_id == Job.id, label.name == name, label.value == self._labels[name]
            )
            jobs = jobs.where(has)
        if self._rarest is None:
            return jobs.order_by(Job.created_at.desc(), Job.id.desc()).limit(window.limit + 1)
        # Not a join: SQLite, which does not know that they are few, might begin with the jobs.
        is_one = jobs.where(Job.id == JobLabel.job_id).exists()
        rare = select(JobLabel.job_id.label("id"), JobLabel.created_at).where(self._has(self._rarest), is_one)
        if (after := window.condition(JobLabel.created_at, JobLabel.job_id)) is not None:
            rare = rare.where(after)
        newest = JobLabel.created_at.desc(), JobLabel.job_id.desc()
        return rare.order_by(*newest).limit(window.limit + 1)

    def _rare(self) -> str | None:
        """The name of the label that the fewest have, if those are few."""
        if not self._labels:
            return None
        some = [
            select(JobLabel.job_id).where(self._has(name)).limit(_FEW).subquery() for name in self._labels
        ]
        counts = [select(func.count()).select_from(each).scalar_subquery() for each in some]
        count, name = min(zip(self._session.execute(select(*counts)).one(), self._labels, strict=True))
        return name if count < _FEW else None

    def _has(self, name: str) -> ColumnElement[bool]:
        """In the words of the index."""
        of_owner = (
            JobLabel.tenant_id.in_(select(Tenant.id))
            if self._owner is None
            else JobLabel.tenant_id == self._owner
        )
        return of_owner & (JobLabel.name == name) & (JobLabel.value == self._labels[name])
