"""Queries on ceremonies, their circuits and contributions. ``owner``: of this tenant only; None: of all."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Select, delete, select
from sqlalchemy.orm import Session

from zenserve.errors import ConflictError, NotFoundError
from zenserve.service.storage.records.ceremonies import Ceremony, CeremonyCircuit, Contribution, HandedState
from zenserve.service.storage.records.jobs import TERMINAL, Job


class Ceremonies:
    def __init__(self, session: Session, owner: str | None = None) -> None:
        self._session = session
        self._owner = owner

    def get(self, ceremony_id: str) -> Ceremony:
        """Raises ``NotFoundError``."""
        return self._found(self._session.scalar(self._mine(ceremony_id)), ceremony_id)

    def locked(self, ceremony_id: str) -> Ceremony:
        """One that no other transaction changes until this one is over. Raises ``NotFoundError``."""
        rows = self._mine(ceremony_id).with_for_update(of=Ceremony)
        return self._found(self._session.scalar(rows.execution_options(populate_existing=True)), ceremony_id)

    def circuits(self, ceremony_id: str) -> Sequence[CeremonyCircuit]:
        """In order."""
        rows = select(CeremonyCircuit).where(CeremonyCircuit.ceremony_id == ceremony_id)
        return self._session.scalars(rows.order_by(CeremonyCircuit.position)).all()

    def contributions(self, ceremony_id: str) -> Sequence[Contribution]:
        """Return the contributions that are part of the ceremony, in order."""
        rows = select(Contribution).where(
            Contribution.ceremony_id == ceremony_id, Contribution.place.is_not(None)
        )
        return self._session.scalars(rows.order_by(Contribution.place)).all()

    def of_key(self, key_id: str) -> str | None:
        """Return the id of the ceremony that made this verification key."""
        made = select(CeremonyCircuit.ceremony_id).where(CeremonyCircuit.verification_key_id == key_id)
        if self._owner is not None:
            mine = Job.id == CeremonyCircuit.ceremony_id, Job.tenant_id == self._owner
            made = made.where(select(Job.id).where(*mine).exists())
        return self._session.scalar(made.limit(1))

    def pending(self, ceremony_id: str) -> str | None:
        """The id of the contribution that is being verified."""
        rows = select(Contribution.id).join(Job, Job.id == Contribution.id)
        mine = Contribution.ceremony_id == ceremony_id
        return self._session.scalar(rows.where(mine, Job.state.not_in(TERMINAL)).limit(1))

    def delete(self, ceremony_id: str) -> list[str]:
        """Delete the ceremony and return the digests, in the store, of what was handed in to it.

        Its states may also belong to another ceremony with the same start, so they are left to the sweep.
        Raises ``NotFoundError``, and ``ConflictError`` (``conflict.in_use``) while a job of it is not over.
        """
        ceremony = self.locked(ceremony_id)
        busy = None if ceremony.job.state in TERMINAL else ceremony_id
        if user := busy or self.pending(ceremony_id):
            raise ConflictError("conflict.in_use", f"{user} is not over yet; cancel it first")
        made = select(Contribution.id).where(Contribution.ceremony_id == ceremony_id)
        contributions = self._session.scalars(made).all()
        files = [file for each in contributions for file in Contributions(self._session).drop_handed(each)]
        for table in (CeremonyCircuit, Contribution):
            self._session.execute(delete(table).where(table.ceremony_id == ceremony_id))
        self._session.execute(delete(Job).where(Job.id.in_(contributions)))
        self._session.delete(ceremony)
        self._session.flush()
        self._session.delete(ceremony.job)
        return files

    def _mine(self, ceremony_id: str) -> Select[Ceremony]:
        rows = select(Ceremony).where(Ceremony.id == ceremony_id)
        if self._owner is None:
            return rows
        return rows.where(select(Job.id).where(Job.id == Ceremony.id, Job.tenant_id == self._owner).exists())

    def _found(self, row: Ceremony | None, ceremony_id: str) -> Ceremony:
        if row is None:
            raise NotFoundError("not_found", f"there is no ceremony {ceremony_id!r}", field="ceremony_id")
        return row


class Contributions:
    def __init__(self, session: Session, owner: str | None = None) -> None:
        self._session = session
        self._owner = owner

    def get(self, contribution_id: str) -> Contribution:
        """Raises ``NotFoundError``."""
        rows = select(Contribution).where(Contribution.id == contribution_id)
        if self._owner is not None:
            mine = Job.id == Contribution.id, Job.tenant_id == self._owner
            rows = rows.where(select(Job.id).where(*mine).exists())
        if row := self._session.scalar(rows):
            return row
        raise NotFoundError(
            "not_found", f"there is no contribution {contribution_id!r}", field="contribution_id"
        )

    def handed(self, contribution_id: str) -> Sequence[HandedState]:
        """In the order of the circuits."""
        rows = select(HandedState).where(HandedState.contribution_id == contribution_id)
        return self._session.scalars(rows.order_by(HandedState.position)).all()

    def drop_handed(self, contribution_id: str) -> list[str]:
        """Delete the states handed in for the contribution and return their digests in the store."""
        gone = delete(HandedState).where(HandedState.contribution_id == contribution_id)
        return list(self._session.scalars(gone.returning(HandedState.content)))

    def over_with_handed(self) -> Sequence[str]:
        """Ids of contributions that are over, whatever became of them, and whose files are still kept."""
        rows = select(HandedState.contribution_id).join(Job, Job.id == HandedState.contribution_id)
        return self._session.scalars(rows.where(Job.state.in_(TERMINAL)).distinct()).all()
