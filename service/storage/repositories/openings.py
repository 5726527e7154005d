"""Queries on what commitments can still be opened by. Who spends openings locks the ledger's row first: they
take turns, and see what the others took.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from zenserve.service.storage.database import clock
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.openings import Ledger, Root
from zenserve.service.storage.records.resources import Commitment

_ONLY = 1


class Known(NamedTuple):
    """A root and its epoch, and what the ledger says."""

    root: str
    root_epoch: str
    epoch: str
    seen: int
    spent: int


class Ledgers:
    """The one row, and turns at it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def held(self) -> Ledger | None:
        """The row, this transaction's alone until it is over; None: nothing was ever to be opened."""
        return self._session.get(Ledger, _ONLY, with_for_update=True, populate_existing=True)

    def peek(self) -> Ledger | None:
        """The row, to be looked at."""
        return self._session.get(Ledger, _ONLY)

    def known(self, roots: Collection[str]) -> Sequence[Known]:
        """Return those of these roots that exist, each beside the ledger's row.

        The list is empty if no root exists.
        """
        if not roots:
            return []
        columns = Root.root, Root.epoch, Ledger.epoch, Ledger.seen, Ledger.spent
        both = select(*columns).join(Ledger, Ledger.id == _ONLY).where(Root.root.in_(roots))
        return [Known(*row) for row in self._session.execute(both.order_by(Root.root))]

    def begin(self) -> Ledger:
        """The row, made unless another was first."""
        try:
            with self._session.begin_nested():
                self._session.add(Ledger(id=_ONLY, epoch=new_epoch(), spent=0, seen=0))
        except IntegrityError:
            pass
        held = self.held()
        assert held is not None  # noqa: S101  it is never deleted
        return held


@dataclass(frozen=True)
class Counts:
    """``retired``: of another epoch; ``renewed``: what took another's place."""

    commitments: int
    renewed: int
    retired: int


class Roots:
    """The roots of one epoch, except where a method's docstring says otherwise."""

    def __init__(self, session: Session, epoch: str) -> None:
        self._session = session
        self.epoch = epoch

    def add(self, root: Root) -> None:
        root.epoch, root.created_at = self.epoch, clock(self._session)
        self._session.add(root)

    def get(self, root: str) -> Root | None:
        """Whatever its epoch."""
        return self._session.get(Root, root, populate_existing=True)

    def known(self, roots: Collection[str]) -> set[str]:
        """Return those of these roots that exist, of any epoch."""
        return set(self._session.scalars(select(Root.root).where(Root.root.in_(roots))))

    def retired(self, roots: Collection[str]) -> str | None:
        """One of these that is of another epoch."""
        return self._session.scalar(
            select(Root.root).where(Root.root.in_(roots), Root.epoch != self.epoch).limit(1)
        )

    def next_for_proof(self, registered: str) -> Root | None:
        """Of those that took its place, itself included, the one with the shortest chain that a proof can
        open."""
        return self._first(registered, Root.proofs > 0, Root.depth.asc())

    def next_to_renew(self, registered: str) -> Root | None:
        """Return the root with the longest chain that can be renewed.

        It is used up before another is begun.
        """
        return self._first(registered, Root.renewals > 0, Root.depth.desc())

    def left(self, registered: str) -> int:
        """Return the number of proofs that can be made before another root has to take its place."""
        left = select(func.sum(Root.proofs)).where(Root.registered == registered, Root.epoch == self.epoch)
        return int(self._session.scalar(left) or 0)

    def claim_renewal(self, registered: str, until: datetime) -> bool:
        """Claim the renewal of the root ``until`` a time. Return False if another has claimed it."""
        free = or_(Root.renewing_until.is_(None), Root.renewing_until < clock(self._session))
        claimed = update(Root).where(Root.root == registered, free).values(renewing_until=until)
        return self._session.scalar(claimed.returning(Root.root)) is not None

    def hold_renewal(self, registered: str, until: datetime | None) -> None:
        """More time, or none, for whoever renews it."""
        self._session.execute(update(Root).where(Root.root == registered).values(renewing_until=until))

    def raise_height(self, registered: str, height: int) -> None:
        """After a renewal of it came to be."""
        lower = Root.root == registered, Root.height < height
        self._session.execute(update(Root).where(*lower).values(height=height))

    def serving(self, registered: str) -> Sequence[Root]:
        """Return the registered root and those that took its place."""
        mine = Root.registered == registered, Root.epoch == self.epoch
        return self._session.scalars(select(Root).where(*mine)).all()

    def left_of_all(self) -> dict[str, int]:
        """Return the number of openings that each root has left, for proofs and renewals."""
        rows = select(Root.root, Root.proofs + Root.renewals).where(Root.epoch == self.epoch)
        return {root: left for root, left in self._session.execute(rows)}  # noqa: C416  rows are no pairs

    def owners(self) -> Sequence[tuple[str, str]]:
        """The ids of what is committed to, each with its tenant's."""
        here = select(Root.owner).where(Root.epoch == self.epoch).distinct()
        of_jobs = select(Job.id, Job.tenant_id).where(Job.id.in_(here))
        others = select(Commitment.id, Commitment.tenant_id).where(Commitment.id.in_(here))
        return [(owner, tenant_id) for owner, tenant_id in self._session.execute(of_jobs.union(others))]

    def counts(self) -> Counts:
        here = Root.epoch == self.epoch
        return Counts(
            commitments=self._count(here & (Root.depth == 0)),
            renewed=self._count(here & (Root.depth > 0)),
            retired=self._count(~here),
        )

    def _count(self, which: ColumnElement[bool]) -> int:
        return self._session.scalar(select(func.count()).select_from(Root).where(which)) or 0

    def _first(self, registered: str, which: ColumnElement[bool], depth: ColumnElement[int]) -> Root | None:
        mine = select(Root).where(Root.registered == registered, Root.epoch == self.epoch, which)
        first = mine.order_by(depth, Root.created_at).limit(1)
        return self._session.scalar(first.execution_options(populate_existing=True))


def forget(session: Session, owners: Sequence[str]) -> None:
    """Of what is deleted: nothing can open it any more."""
    session.execute(delete(Root).where(Root.owner.in_(owners)))


def new_epoch() -> str:
    return secrets.token_hex(16)
