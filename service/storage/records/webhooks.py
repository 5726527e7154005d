"""Webhooks, and what they are told."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from zenserve.service.storage.records.base import Base


class Webhook(Base):
    """An address that is told when jobs are over."""

    __tablename__ = "webhooks"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(ForeignKey("tenants.id"), index=True)
    url: Mapped[str] = mapped_column(String(2000))
    events: Mapped[list[Any]]
    secret: Mapped[bytes] = mapped_column(LargeBinary)
    """Sealed."""
    previous_secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Sealed: messages are signed with it too, until then."""
    previous_until: Mapped[datetime | None]
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]


class Delivery(Base):
    """A message to a webhook, until it arrives or is given up; then its log."""

    __tablename__ = "deliveries"
    __table_args__ = (
        Index("deliveries_by_webhook", "webhook_id", "created_at", "id"),
        Index("deliveries_by_time", "state", "next_at"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    webhook_id: Mapped[str] = mapped_column(ForeignKey("webhooks.id", ondelete="CASCADE"))
    job_id: Mapped[str] = mapped_column(String(40))
    event: Mapped[str] = mapped_column(String(40))
    body: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(16), default="waiting")
    """``waiting``, ``delivered`` or ``given up``."""
    attempts: Mapped[list[Any]] = mapped_column(default=list)
    """Of each: ``at``, ``status`` or ``error``, ``seconds``."""
    next_at: Mapped[datetime]
    created_at: Mapped[datetime]
    webhook: Mapped[Webhook] = relationship(lazy="joined")
