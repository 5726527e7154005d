"""Queries on artifacts that go by a name."""

from __future__ import annotations

from sqlalchemy import or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from zenserve.service.storage.records.deployment import Artifact


class Artifacts:
    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, name: str) -> str | None:
        """The digest of the artifact of this name."""
        row = self._session.get(Artifact, name)
        return None if row is None else row.digest

    def named(self, name: str) -> dict[str, str]:
        """The digests of the artifacts of this name, and of those that begin with it and a slash."""
        which = or_(Artifact.name == name, Artifact.name.startswith(f"{name}/", autoescape=True))
        return {row.name: row.digest for row in self._session.scalars(select(Artifact).where(which))}

    def hold(self, name: str) -> None:
        """Wait for others that hold the artifact of this name, until the end of the transaction."""
        self._session.execute(select(Artifact.name).where(Artifact.name == name).with_for_update())

    def add(self, name: str, digest: str) -> str:
        """The digest that goes by this name from now on: this one, or that of whoever was first."""
        try:
            with self._session.begin_nested():
                self._session.add(Artifact(name=name, digest=digest))
        except IntegrityError:
            return self._session.get_one(Artifact, name).digest
        return digest
