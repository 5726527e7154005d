"""All that is sealed, wherever it is; and the keys that receipts were signed with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import inspect, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute, Session

from zenserve.service.storage.database import is_postgresql
from zenserve.service.storage.records.accounts import Upload
from zenserve.service.storage.records.deployment import Issuer
from zenserve.service.storage.records.openings import Root
from zenserve.service.storage.records.resources import Commitment, Dataset, Model, Proof, Shard
from zenserve.service.storage.records.streams import Stream
from zenserve.service.storage.records.webhooks import Webhook


@dataclass(frozen=True)
class Column:
    """``in_store``: it has the digest of the sealed bytes there, else the bytes themselves."""

    attribute: InstrumentedAttribute[Any]
    kind: str
    in_store: bool

    def place(self, key: Sequence[str]) -> str:
        """Return the place that the value is sealed for, in the row of this key."""
        return ":".join((self.kind, *key))


SEALED: Final = (
    Column(Model.quantised, "model", in_store=True),
    Column(Model.floats, "floats", in_store=True),
    Column(Model.blinding, "blinding", in_store=False),
    Column(Commitment.opening, "commitment", in_store=True),
    Column(Dataset.samples, "dataset", in_store=True),
    Column(Dataset.openings, "openings", in_store=True),
    Column(Proof.input, "input", in_store=True),
    Column(Proof.margins, "margins", in_store=False),
    Column(Stream.samples, "stream", in_store=True),
    Column(Shard.opening, "count", in_store=False),
    Column(Root.opening, "root", in_store=True),
    Column(Upload.content, "upload", in_store=True),
    Column(Webhook.secret, "webhook", in_store=False),
    Column(Webhook.previous_secret, "webhook", in_store=False),
)


class Sealed:
    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, column: Column) -> list[tuple[tuple[str, ...], Any]]:
        """The key of each row that has something there, and what."""
        present = select(*_key(column), column.attribute).where(column.attribute.is_not(None))
        return [(tuple(row[:-1]), row[-1]) for row in self._session.execute(present)]

    def replace(self, column: Column, key: Sequence[str], old: Any, new: Any) -> bool:
        """False where it is another by now, or gone."""
        here = [part == value for part, value in zip(_key(column), key, strict=True)]
        changed = (
            update(column.attribute.class_)
            .where(*here, column.attribute == old)
            .values({column.attribute: new})
            .returning(_key(column)[0])
        )
        return self._session.scalar(changed) is not None


class Issuers:
    def __init__(self, session: Session) -> None:
        self._session = session

    def note(self, issuer: str, moment: datetime) -> None:
        """Unless it is known."""
        insert = postgresql.insert if is_postgresql(self._session) else sqlite.insert
        self._session.execute(insert(Issuer).values(id=issuer, since=moment).on_conflict_do_nothing())

    def all(self) -> Sequence[Issuer]:
        """Newest first."""
        return self._session.scalars(select(Issuer).order_by(Issuer.since.desc(), Issuer.id)).all()


def _key(column: Column) -> Sequence[InstrumentedAttribute[Any]]:
    table = column.attribute.class_
    return [getattr(table, part.key) for part in inspect(table).primary_key]
