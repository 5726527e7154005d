"""Queries on models, proofs and verification keys. Jobs have their own in ``service.jobs``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.jobs import now
from service.tables import TERMINAL, Job, Model, Proof, VerificationKey
from zenerrors import NotFoundError

Row = TypeVar("Row")


class Models:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, model: Model) -> None:
        self._session.add(model)

    def get(self, model_id: str) -> Model:
        """Raises ``NotFoundError``."""
        return _found(self._session.get(Model, model_id), "model", model_id)


class Proofs:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, proof: Proof) -> None:
        self._session.add(proof)

    def get(self, proof_id: str) -> Proof:
        """Raises ``NotFoundError``."""
        return _found(self._session.get(Proof, proof_id), "proof", proof_id)

    def with_old_input(self) -> Sequence[Proof]:
        """Proofs whose job is over and whose input is still in the store."""
        return self._session.scalars(
            select(Proof).join(Job).where(Proof.input.is_not(None), Job.state.in_(TERMINAL))
        ).all()


class VerificationKeys:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, key_id: str, document: dict[str, Any], circuit: dict[str, Any]) -> None:
        if self._session.get(VerificationKey, key_id) is None:
            self._session.add(
                VerificationKey(id=key_id, document=document, circuit=circuit, created_at=now())
            )

    def get(self, key_id: str) -> VerificationKey:
        """Raises ``NotFoundError``."""
        return _found(self.find(key_id), "verification key", key_id)

    def find(self, key_id: str) -> VerificationKey | None:
        return self._session.get(VerificationKey, key_id)


def stored(session: Session) -> set[str]:
    """The digests of all artifacts that a row refers to."""
    columns = (Model.quantised, Model.proving_key, Proof.input)
    return {digest for column in columns for digest in session.scalars(select(column)) if digest}


def _found(row: Row | None, kind: str, row_id: str) -> Row:
    if row is None:
        field = f"{kind.replace(' ', '_')}_id"
        raise NotFoundError("not_found", f"there is no {kind} {row_id!r}", field=field)
    return row
