"""Queries on streams and their frames. ``owner``: of this tenant only; None: of all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row, Select, delete, select
from sqlalchemy.orm import Session

from zenserve.errors import ConflictError, NotFoundError
from zenserve.service.storage.records.jobs import TERMINAL, Job
from zenserve.service.storage.records.resources import Proof
from zenserve.service.storage.records.streams import Frame, Stream
from zenserve.service.storage.repositories.openings import forget
from zenserve.service.storage.repositories.resources import past

AT_ONCE: Final = 100
"""Frames, of a stream that may have a million."""


class Streams:
    def __init__(self, session: Session, owner: str | None = None) -> None:
        self._session = session
        self._owner = owner

    def get(self, stream_id: str) -> Stream:
        """Raises ``NotFoundError``."""
        return self._found(self._session.scalar(self._mine(stream_id)), stream_id)

    def locked(self, stream_id: str) -> Stream:
        """One whose frames stay as they are until this transaction is over. Raises ``NotFoundError``."""
        self._session.execute(select(Job.id).where(Job.id == stream_id).with_for_update())
        row = self._session.scalar(self._mine(stream_id).execution_options(populate_existing=True))
        return self._found(row, stream_id)

    def head(self, stream_id: str) -> dict[str, Any] | None:
        """``zenserve.verifier.stream.Head``, once it has begun."""
        return self._session.scalar(select(Stream.head).where(Stream.id == stream_id))

    def frame(self, proof_id: str) -> Frame | None:
        """The place of the proof, if it has one in a stream."""
        return self._session.get(Frame, proof_id)

    def frames(self, stream_id: str, first: int, end: int) -> Sequence[Row[Frame, Job]]:
        """With their jobs, from the one with the number ``first`` on, before ``end``, in order: at most
        ``AT_ONCE``.
        """
        rows = select(Frame, Job).join(Job, Job.id == Frame.id).order_by(Frame.number).limit(AT_ONCE)
        these = Frame.stream_id == stream_id, Frame.number >= first, Frame.number < end
        return self._session.execute(rows.where(*these)).all()

    def links(self, stream_id: str, first: int, end: int) -> Sequence[Row[bytes, int, int, dict[str, Any]]]:
        """Of the same frames what a course goes by, ten times as many: the chain's link after each, the label
        that was seen and its ``batch``, or the problem of one that was missed.
        """
        columns = select(Frame.link, Frame.seen, Frame.batch, Job.problem).join(Job, Job.id == Frame.id)
        these = Frame.stream_id == stream_id, Frame.number >= first, Frame.number < end
        rows = columns.where(*these).order_by(Frame.number).limit(10 * AT_ONCE)
        return self._session.execute(rows).all()

    def batch(self, stream_id: str, first: int, size: int) -> Sequence[Proof]:
        """The proofs of so many frames in a row, whose turn it is together; none where some are over, or are
        not there."""
        rows = select(Proof).join(Frame, Frame.id == Proof.id).join(Job, Job.id == Proof.id)
        these = Frame.stream_id == stream_id, Frame.number >= first, Frame.number < first + size
        found = self._session.scalars(
            rows.where(*these, Job.state.not_in(TERMINAL)).order_by(Frame.number)
        ).all()
        return found if len(found) == size else []

    def newest_frames(self, stream_id: str, before: int, limit: int) -> Sequence[Row[Frame, Job]]:
        """Return at most ``limit`` frames before the number, the last first."""
        rows = select(Frame, Job).join(Job, Job.id == Frame.id).order_by(Frame.number.desc()).limit(limit)
        these = Frame.stream_id == stream_id, Frame.number < before
        return self._session.execute(rows.where(*these)).all()

    def delete(self, stream_id: str) -> list[str | None]:
        """Delete the stream and return the digests, in the store, of its files and its frames'.

        Raises ``NotFoundError``, and ``ConflictError`` (``conflict.in_use``) while a job of it is not over.
        """
        stream = self.locked(stream_id)
        family = (Job.id == stream_id) | (Job.parent_id == stream_id)
        if user := self._session.scalar(select(Job.id).where(family, Job.state.not_in(TERMINAL)).limit(1)):
            raise ConflictError("conflict.in_use", f"{user} is not over yet; end or cancel the stream first")
        frames = select(Frame.id).where(Frame.stream_id == stream_id)
        ids = self._session.scalars(frames).all()
        kept = self._session.execute(select(Proof.input, Proof.proofs).where(Proof.id.in_(frames))).all()
        forget(self._session, ids)
        self._session.execute(delete(Frame).where(Frame.stream_id == stream_id))
        proofs = select(Job.id).where(Job.parent_id == stream_id)
        self._session.execute(delete(Proof).where(Proof.id.in_(proofs)))
        self._session.execute(delete(Job).where(Job.parent_id == stream_id))
        self._session.delete(stream)
        self._session.flush()
        self._session.delete(stream.job)
        return [stream.samples, *(digest for row in kept for digest in row)]

    def past(self, moment: datetime, retention_days: int | None) -> Sequence[str]:
        """Ids of streams that are over and to be deleted, as those of proofs are."""
        return past(self._session, select(Stream.id).join(Job, Job.id == Stream.id), moment, retention_days)

    def _mine(self, stream_id: str) -> Select[Stream]:
        rows = select(Stream).where(Stream.id == stream_id)
        if self._owner is None:
            return rows
        return rows.where(select(Job.id).where(Job.id == Stream.id, Job.tenant_id == self._owner).exists())

    def _found(self, row: Stream | None, stream_id: str) -> Stream:
        if row is None:
            raise NotFoundError("not_found", f"there is no stream {stream_id!r}", field="stream_id")
        return row
