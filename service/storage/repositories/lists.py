"""Lists of what jobs make, in pages, newest first: 100,000 jobs or three, a page takes as long.

Which rows are on the page is read from the index of the jobs alone, or from that of their labels.
Verification keys and documents, whose JSON is large, are left where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select, select, union_all
from sqlalchemy.orm import Session, contains_eager, defer, raiseload

from zenserve.service.storage.paging import Page, Place, Window, page
from zenserve.service.storage.records.ceremonies import Ceremony
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Commitment, Dataset, Model, Proof
from zenserve.service.storage.records.streams import Stream
from zenserve.service.storage.repositories.labelled import Labelled
from zenserve.verifier.schemes import Scheme

Made = TypeVar("Made", Model, Dataset, Proof, Ceremony, Stream)


@dataclass(frozen=True)
class Filters:
    """The filters of a list; None: any value."""

    state: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    model_id: str | None = None
    name: str | None = None
    """Of models and datasets their own, of proofs that of their model, whichever its version."""
    scheme: Scheme | None = None
    frames: bool = False
    """Of streams, too."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """All of them."""


class Lists:
    """``owner``: of this tenant only; None: of all."""

    def __init__(self, session: Session, owner: str | None) -> None:
        self._session = session
        self._owner = owner

    def models(self, filters: Filters, window: Window) -> Page[Model]:
        big = (defer(Model.registration), defer(Model.receipt), raiseload(Model.verification_key))
        rows = self._rows(select(Model), Model, ("model",), filters, window).options(*big)
        return self._page(self._session.scalars(rows).all(), window)

    def datasets(self, filters: Filters, window: Window) -> Page[Dataset]:
        big = (defer(Dataset.shards), raiseload(Dataset.model))
        rows = self._rows(select(Dataset), Dataset, ("dataset",), filters, window).options(*big)
        return self._page(self._session.scalars(rows).all(), window)

    def ceremonies(self, filters: Filters, window: Window) -> Page[Ceremony]:
        rows = self._rows(select(Ceremony), Ceremony, ("ceremony",), filters, window)
        return self._page(self._session.scalars(rows).all(), window)

    def streams(self, filters: Filters, window: Window) -> Page[Stream]:
        rows = self._rows(select(Stream), Stream, ("stream",), filters, window)
        return self._page(self._session.scalars(rows).all(), window)

    def proofs(self, filters: Filters, window: Window) -> Page[tuple[Proof, dict[str, Any] | None]]:
        """Each with the values that its document shows."""
        kinds = {"accuracy": ("accuracy",), None: ("proof", "accuracy")}.get(filters.scheme, ("proof",))
        shown = select(Proof, Proof.document["statement"]["values"])
        rows = self._rows(shown, Proof, kinds, filters, window)
        rows = rows.options(defer(Proof.document), raiseload(Proof.model))
        found = [(proof, values) for proof, values in self._session.execute(rows)]
        return page(found, window, lambda row: Place(row[0].job.created_at, row[0].id))

    def commitments(self, filters: Filters, window: Window) -> Page[Commitment]:
        conditions = _conditions(Commitment, filters, window)
        if self._owner is not None:
            conditions.append(Commitment.tenant_id == self._owner)
        if filters.model_id is not None:
            conditions.append(Commitment.model_id == filters.model_id)
        newest = Commitment.created_at.desc(), Commitment.id.desc()
        rows = select(Commitment).where(*conditions).order_by(*newest).limit(window.limit + 1)
        return page(self._session.scalars(rows).all(), window, lambda row: Place(row.created_at, row.id))

    def _rows(
        self, rows: Select[Any], table: type[Made], kinds: Sequence[str], filters: Filters, window: Window
    ) -> Select[Any]:
        """The rows on the page, and one more. The index is in the order of the page for one kind of job at a
        time: so each kind is asked for as many, and the newest of them are taken.
        """
        labelled = Labelled(self._session, self._owner, filters.labels)
        parts = [
            labelled.newest(self._ids(kind, table, filters, window), window).subquery() for kind in kinds
        ]
        ids = union_all(*(select(part) for part in parts)).subquery()
        newest = select(ids.c.id).order_by(ids.c.created_at.desc(), ids.c.id.desc()).limit(window.limit + 1)
        return (
            rows.join(table.job)
            .where(table.id.in_(newest.scalar_subquery()))
            .options(contains_eager(table.job))
            .order_by(Job.created_at.desc(), Job.id.desc())
        )

    def _ids(self, kind: str, table: type[Made], filters: Filters, window: Window) -> Select[str, datetime]:
        conditions = [Job.kind == kind, *_conditions(Job, filters, window)]
        if not filters.frames:
            conditions.append(Job.parent_id.is_(None))
        if self._owner is not None:
            conditions.append(Job.tenant_id == self._owner)
        if filters.state is not None:
            conditions.append(Job.state == filters.state)
        ids = select(Job.id, Job.created_at).where(*conditions)
        if wanted := _of_rows(table, filters):
            ids = ids.join(table, table.id == Job.id).where(*wanted)
        return ids

    def _page(self, rows: Sequence[Any], window: Window) -> Page[Any]:
        return page(rows, window, lambda row: Place(row.job.created_at, row.id))


def _conditions(
    table: type[Job] | type[Commitment], filters: Filters, window: Window
) -> list[ColumnElement[bool]]:
    conditions = []
    if (after := window.condition(table.created_at, table.id)) is not None:
        conditions.append(after)
    if filters.created_after is not None:
        conditions.append(table.created_at > filters.created_after)
    if filters.created_before is not None:
        conditions.append(table.created_at < filters.created_before)
    return conditions


def _of_rows(table: type[Made], filters: Filters) -> list[ColumnElement[bool]]:
    """Return the conditions on the rows themselves, not on their jobs."""
    conditions: list[ColumnElement[bool]] = []
    if filters.model_id is not None and not issubclass(table, (Model, Stream)):
        conditions.append(table.model_id == filters.model_id)
    if filters.name is not None and issubclass(table, (Model, Dataset)):
        conditions.append(table.name == filters.name)
    if filters.name is not None and issubclass(table, Proof):
        conditions.append(table.model_id.in_(select(Model.id).where(Model.name == filters.name)))
    if filters.scheme in ("inference", "recognition", "robustness") and issubclass(table, Proof):
        conditions.append(table.scheme == filters.scheme)
    return conditions
