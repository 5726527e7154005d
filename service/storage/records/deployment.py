"""Tables that concern the whole service: artifacts, totals, issuers."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from zenserve.service.storage.records.base import Base


class Artifact(Base):
    """An artifact of the whole service that goes by a name: the commitment basis."""

    __tablename__ = "artifacts"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64))


class Total(Base):
    """A sum that only grows, whichever process adds to it."""

    __tablename__ = "totals"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    label: Mapped[str] = mapped_column(String(120), primary_key=True)
    count: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float]


class Issuer(Base):
    """A key that this service has signed receipts with."""

    __tablename__ = "issuers"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """The Ed25519 public key, in hex."""
    since: Mapped[datetime]
