"""Ceremonies and what is handed in to them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from zenserve.service.storage.records.base import Base
from zenserve.service.storage.records.jobs import Job


class Ceremony(Base):
    """Keys of several circuits that several parties make; its own job is the one that opens it."""

    __tablename__ = "ceremonies"
    __table_args__ = (Index("ceremonies_by_model", "model_id"),)

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    model_id: Mapped[str | None] = mapped_column(ForeignKey("models.id", ondelete="SET NULL"))
    name: Mapped[str] = mapped_column(String(200))
    asked: Mapped[list[Any]]
    """The circuits, as the request for it says."""
    powers: Mapped[str] = mapped_column(String(64))
    """The powers of tau, in the store."""
    powers_contributions: Mapped[int | None]
    """The number of contributors to the powers."""
    closes_with: Mapped[str | None] = mapped_column(String(200))
    """The source of the beacon's value, from the announcement on."""
    rounds: Mapped[int | None]
    closing_at: Mapped[datetime | None]
    beacon: Mapped[str | None] = mapped_column(String(64))
    """The value in hex, once it has made the keys."""
    job: Mapped[Job] = relationship(lazy="joined")


class CeremonyCircuit(Base):
    """One of a ceremony's circuits, and how far its key is."""

    __tablename__ = "ceremony_circuits"

    ceremony_id: Mapped[str] = mapped_column(
        ForeignKey("ceremonies.id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    circuit: Mapped[str] = mapped_column(String(64))
    """Its digest, by which the service has its keys."""
    form: Mapped[dict[str, Any]]
    """The fields of its description that tell it from others: scheme, privacy, what is revealed."""
    constraints: Mapped[int]
    statement: Mapped[str] = mapped_column(String(64))
    """With its description, in the store."""
    start: Mapped[str] = mapped_column(String(64))
    """Hash of where its key began."""
    state: Mapped[str] = mapped_column(String(64))
    """Its key so far, in the store."""
    size: Mapped[int] = mapped_column(BigInteger)
    next_size: Mapped[int] = mapped_column(BigInteger)
    """Bytes of the state that one more contribution makes of it."""
    verification_key_id: Mapped[str | None] = mapped_column(ForeignKey("verification_keys.id"))


class Contribution(Base):
    """A contribution of one party, or of a beacon, to a ceremony. Its job verifies it."""

    __tablename__ = "contributions"
    __table_args__ = (Index("contributions_by_ceremony", "ceremony_id"),)

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    ceremony_id: Mapped[str] = mapped_column(ForeignKey("ceremonies.id", ondelete="CASCADE"))
    beacon: Mapped[str | None] = mapped_column(String(64))
    """The value in hex, of a beacon's."""
    place: Mapped[int | None]
    """In the chain, from 1, once it is verified."""
    name: Mapped[str | None] = mapped_column(String(80))
    hashes: Mapped[list[Any] | None]
    """The hashes that its contributor publishes: one for each circuit."""
    job: Mapped[Job] = relationship(lazy="joined")
    handed: Mapped[list[HandedState]] = relationship(lazy="raise", passive_deletes="all")


class HandedState(Base):
    """A state that a contributor handed in, until it is verified."""

    __tablename__ = "handed_states"

    contribution_id: Mapped[str] = mapped_column(
        ForeignKey("contributions.id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sha256: Mapped[str] = mapped_column(String(64))
    content: Mapped[str] = mapped_column(String(64))
    """The upload that it was, sealed, in the store."""
