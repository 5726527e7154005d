"""Queries on what the tables hold. Jobs have their own in ``service.jobs``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from client.documents import KeyFile
from service.jobs import now
from service.tables import (
    TERMINAL,
    Circuit,
    Commitment,
    Dataset,
    Job,
    Model,
    Proof,
    Shard,
    VerificationKey,
)
from zenerrors import ConflictError, NotFoundError

Row = TypeVar("Row")


class Models:
    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, model_id: str, field: str = "model_id") -> Model:
        """Raises ``NotFoundError``."""
        return _found(self._session.get(Model, model_id), "model", model_id, field)

    def ready(self, model_id: str, field: str = "model_id") -> Model:
        """A registered model. Raises ``NotFoundError``, ``ConflictError`` (``conflict.model_not_ready``)."""
        model = self.get(model_id, field)
        if model.job.state != "succeeded":
            raise ConflictError(
                "conflict.model_not_ready",
                f"the model is {model.job.state}; wait until GET /v1/models/{model_id} says succeeded",
                field=field,
            )
        return model


class Commitments:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, commitment: Commitment) -> None:
        self._session.add(commitment)

    def get(self, commitment_id: str, field: str = "commitment_id") -> Commitment:
        """Raises ``NotFoundError``."""
        return _found(self._session.get(Commitment, commitment_id), "commitment", commitment_id, field)

    def delete(self, commitment_id: str) -> Commitment:
        """The row that was. Raises ``NotFoundError``."""
        commitment = self.get(commitment_id)
        self._session.delete(commitment)
        return commitment


class Datasets:
    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, dataset_id: str) -> Dataset:
        """Raises ``NotFoundError``."""
        return _found(self._session.get(Dataset, dataset_id), "dataset", dataset_id, "dataset_id")

    def ready(self, dataset_id: str) -> Dataset:
        """A committed dataset. Raises ``NotFoundError``, ``ConflictError``
        (``conflict.dataset_not_ready``).
        """
        dataset = self.get(dataset_id)
        if dataset.job.state != "succeeded":
            raise ConflictError(
                "conflict.dataset_not_ready",
                f"the dataset is {dataset.job.state}; wait until GET /v1/datasets/{dataset_id} says"
                " succeeded",
                field="dataset_id",
            )
        return dataset

    def delete(self, dataset_id: str) -> Dataset:
        """The row that was. Raises ``NotFoundError``, and ``ConflictError`` (``conflict.in_use``) while a job
        needs it.
        """
        dataset = self.get(dataset_id)
        proving = select(Proof.id).join(Job).where(Proof.dataset_id == dataset_id, Job.state.not_in(TERMINAL))
        user = self._session.scalar(proving.limit(1)) or (
            None if dataset.job.state in TERMINAL else dataset_id
        )
        if user is not None:
            raise ConflictError("conflict.in_use", f"{user} is not over yet, and takes the dataset")
        self._session.delete(dataset)
        self._session.flush()
        self._session.delete(dataset.job)
        return dataset


class Proofs:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, proof: Proof) -> None:
        self._session.add(proof)

    def get(self, proof_id: str) -> Proof:
        """Raises ``NotFoundError``."""
        return _found(self._session.get(Proof, proof_id), "proof", proof_id, "proof_id")

    def with_old_input(self) -> Sequence[Proof]:
        """Proofs whose job is over and whose input is still in the store."""
        return self._session.scalars(
            select(Proof).join(Job).where(Proof.input.is_not(None), Job.state.in_(TERMINAL))
        ).all()


class Shards:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, shard: Shard) -> None:
        self._session.add(shard)

    def get(self, shard_id: str) -> Shard:
        return self._session.get_one(Shard, shard_id)

    def of(self, proof_id: str) -> Sequence[Shard]:
        """In order."""
        return self._session.scalars(
            select(Shard).where(Shard.proof_id == proof_id).order_by(Shard.position)
        ).all()

    def with_old_opening(self) -> Sequence[Shard]:
        """Shards of proofs that are over, whose counts are still kept."""
        return self._session.scalars(
            select(Shard)
            .join(Job, Job.id == Shard.proof_id)
            .where(Shard.opening.is_not(None), Job.state.in_(TERMINAL))
        ).all()


class Circuits:
    """The keys of circuits, with the verification keys."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, digest: str) -> Circuit | None:
        return self._session.get(Circuit, digest)

    def add(self, digest: str, proving_key: str, key: KeyFile) -> Circuit:
        """The keys of this circuit: these, or those that another worker added before."""
        if earlier := self.find(digest):
            return earlier
        self._session.add(VerificationKey(id=key.id, document=key.key, circuit=key.circuit, created_at=now()))
        circuit = Circuit(
            digest=digest, proving_key=proving_key, verification_key_id=key.id, created_at=now()
        )
        self._session.add(circuit)
        self._session.flush()
        return circuit


class VerificationKeys:
    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, key_id: str) -> KeyFile:
        """Raises ``NotFoundError``."""
        row = self._session.get(VerificationKey, key_id)
        return key_file(_found(row, "verification key", key_id, "verification_key_id"))


def key_file(key: VerificationKey) -> KeyFile:
    """A verification key as it is handed on."""
    return KeyFile(id=key.id, setup=key.document["setup"], key=key.document, circuit=key.circuit)


def stored(session: Session) -> set[str]:
    """The digests of all artifacts that a row refers to."""
    columns = (
        Model.quantised,
        Circuit.proving_key,
        Commitment.opening,
        Dataset.samples,
        Dataset.openings,
        Proof.input,
    )
    return {digest for column in columns for digest in session.scalars(select(column)) if digest}


def _found(row: Row | None, kind: str, row_id: str, field: str) -> Row:
    if row is None:
        raise NotFoundError("not_found", f"there is no {kind} {row_id!r}", field=field)
    return row
