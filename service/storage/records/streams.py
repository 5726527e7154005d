"""Streams of frames, each proven by a model of a bank."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, String, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from zenserve.service.storage.records.base import Base
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Model
from zenserve.verifier.schemes import PublicOrPrivate


class Stream(Base):
    """A stream, from the request to its last frame. Its job makes the keys of the bank's models, and is the
    parent of its frames' jobs then, for which it waits.
    """

    __tablename__ = "streams"

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    classes: Mapped[int]
    input_privacy: Mapped[PublicOrPrivate] = mapped_column(String(16))
    deadline_seconds: Mapped[int | None]
    """Of each frame, from when it was handed in."""
    backlog: Mapped[int]
    """The number of frames that may wait or be proven at once."""
    batch_seconds: Mapped[int | None]
    """The seconds that a frame waits for the others of its batch, where the rules have batches."""
    challenge: Mapped[str | None] = mapped_column(String(200))
    """Of whoever asked for it; its head has it."""
    rules: Mapped[dict[str, Any]]
    """``zenserve.verifier.stream.Rules``."""
    samples: Mapped[str | None] = mapped_column(String(64))
    """Sealed samples, quantised, and labels, from which the bank is profiled; until that is done."""
    head: Mapped[dict[str, Any] | None] = mapped_column(deferred=True)
    """``zenserve.verifier.stream.Head``, once the keys are there."""
    begins_with: Mapped[str | None] = mapped_column(String(64))
    """The link, in hex, that its chain begins with: of the head."""
    begun_at: Mapped[datetime | None]
    count: Mapped[int] = mapped_column(server_default=text("0"))
    """Frames that were handed in."""
    over: Mapped[int] = mapped_column(server_default=text("0"))
    """Frames before the first that is neither proven nor missed: its number."""
    ended_at: Mapped[datetime | None]
    """No more frames are taken since."""
    job: Mapped[Job] = relationship(lazy="joined")
    models: Mapped[list[StreamModel]] = relationship(
        lazy="selectin", order_by="StreamModel.place", cascade="all, delete-orphan"
    )
    """Its bank, the most accurate one first."""


class StreamModel(Base):
    """A model of a stream's bank."""

    __tablename__ = "stream_models"
    __table_args__ = (Index("stream_models_by_model", "model_id"),)

    stream_id: Mapped[str] = mapped_column(ForeignKey("streams.id", ondelete="CASCADE"), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"))
    model: Mapped[Model] = relationship(lazy="select")


class Frame(Base):
    """The place of a proof in a stream."""

    __tablename__ = "frames"
    __table_args__ = (Index("frames_by_stream", "stream_id", "number", unique=True),)

    id: Mapped[str] = mapped_column(ForeignKey("proofs.id"), primary_key=True)
    stream_id: Mapped[str] = mapped_column(ForeignKey("streams.id"))
    number: Mapped[int]
    """From 0."""
    model: Mapped[int | None]
    """The place of its model in the bank, once it is proven; and what its statement says."""
    seen: Mapped[int | None]
    answer: Mapped[int | None]
    link: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    """The chain's link after it, and all others of its proof."""
    batch: Mapped[int | None]
    """The number of the first frame of its proof, once it is proven with others."""
