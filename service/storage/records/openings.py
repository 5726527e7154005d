"""Tables of the openings left of commitments, where a proof system bounds their number.

See ``zenserve.service.openings``.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from zenserve.service.storage.records.base import Base


class Ledger(Base):
    """The one row by which a database of earlier, or a copy of the service, is told from this one."""

    __tablename__ = "ledger"

    id: Mapped[int] = mapped_column(primary_key=True)
    epoch: Mapped[str] = mapped_column(String(32))
    """Random. Roots of another epoch are retired."""
    spent: Mapped[int] = mapped_column(BigInteger)
    """Openings in this epoch, those that came to nothing included: it only grows."""
    seen: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    """The most openings that a host told of. More than ``spent``: the database was restored, on all hosts."""
    place: Mapped[str | None] = mapped_column(String(80))
    """The identity of the file of the host's note of ``spent``, where the database lies beside it.

    A copy of the file has another.
    """


class Root(Base):
    """A commitment that is opened in proofs: as it was registered, or what took its place."""

    __tablename__ = "roots"
    __table_args__ = (Index("roots_by_registered", "registered"), Index("roots_by_owner", "owner"))

    root: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Hex."""
    registered: Mapped[str] = mapped_column(String(64))
    """The commitment that documents name: itself, or that which the chain of renewals begins with."""
    owner: Mapped[str] = mapped_column(String(40))
    """The id of what is committed to: it is deleted with that."""
    epoch: Mapped[str] = mapped_column(String(32))
    depth: Mapped[int]
    """The number of renewals from the registered root to this one."""
    proofs: Mapped[int]
    """The number of openings left for proofs: an opening is taken off before it is made."""
    renewals: Mapped[int]
    """The number of openings left for renewals of this root."""
    height: Mapped[int]
    """The number of renewals that may follow the next one."""
    columns: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of columns that each opening shows. 0: counted by a version that did not record it."""
    opening: Mapped[str | None] = mapped_column(String(64))
    """Its opening, with its chain of renewals: sealed, in the store. None: its owner has the opening."""
    renewing_until: Mapped[datetime | None]
    """Of a registered one: whoever renews it ahead of time has until then."""
    created_at: Mapped[datetime]
