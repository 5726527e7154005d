"""Queries on models, commitments, datasets, proofs and keys.

``owner``: only this tenant's are there; None: all tenants'.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement, Select, delete, exists, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute, Session, defer, joinedload, lazyload, load_only, raiseload
from sqlalchemy.orm.interfaces import ORMOption

from zenserve.errors import ConflictError, NotFoundError
from zenserve.service.storage.database import clock, is_postgresql
from zenserve.service.storage.records.accounts import Tenant, Upload
from zenserve.service.storage.records.base import Base
from zenserve.service.storage.records.ceremonies import CeremonyCircuit, HandedState
from zenserve.service.storage.records.deployment import Artifact
from zenserve.service.storage.records.jobs import TERMINAL, Job
from zenserve.service.storage.records.openings import Root
from zenserve.service.storage.records.resources import (
    Circuit,
    Commitment,
    Dataset,
    Model,
    ModelName,
    Proof,
    Shard,
    VerificationKey,
)
from zenserve.service.storage.records.streams import Stream, StreamModel
from zenserve.service.storage.repositories.openings import forget
from zenserve.verifier.documents import KeyFile, named
from zenserve.verifier.registry import find
from zenserve.verifier.system import CEREMONY

Row = TypeVar("Row")
_TO_ASK: Final = (
    lazyload(Model.verification_key),
    *(defer(column) for column in (Model.registration, Model.receipt, Model.report, Model.setup)),
)
"""Of a model that something is asked of, what nobody reads is left: most of its row."""
LATEST: Final = "latest"
"""In the place of a version: the newest that is registered."""
_AT_ONCE: Final = 1000
"""So many are cleared away in one round; the next is soon."""


class Models:
    def __init__(self, session: Session, owner: str | None = None) -> None:
        self._session = session
        self._owner = owner

    def get(self, model: str, field: str = "model_id", options: Sequence[ORMOption] = ()) -> Model:
        """By id, or by name: ``NAME@VERSION``, or ``NAME`` or ``NAME@latest`` for the newest that is
        registered. Raises ``NotFoundError``."""
        found = self._session.scalar(self._mine(model).options(*options)) or self._session.scalar(
            self._called(model).options(*options)
        )
        return _found(found, "model", model, field)

    def id_of(self, model: str | None) -> str | None:
        """Of a reference as ``get`` takes it; None of None. Raises ``NotFoundError``."""
        return None if model is None else self.get(model, options=_TO_ASK).id

    def next_version(self, tenant_id: str, name: str) -> int:
        """Of one more model of this name. The name stays locked until the transaction ends."""
        fresh = postgresql.insert(ModelName) if is_postgresql(self._session) else sqlite.insert(ModelName)
        counted = fresh.values(tenant_id=tenant_id, name=name, versions=1).on_conflict_do_update(
            index_elements=[ModelName.tenant_id, ModelName.name], set_={"versions": ModelName.versions + 1}
        )
        return int(self._session.scalars(counted.returning(ModelName.versions)).one())

    def known(self, model_ids: Collection[str]) -> set[str]:
        """Return those of these ids that exist, of any tenant."""
        return set(self._session.scalars(select(Model.id).where(Model.id.in_(model_ids))))

    def ready(self, model_id: str, field: str = "model_id", options: Sequence[ORMOption] = ()) -> Model:
        """A registered model. Raises ``NotFoundError``, ``ConflictError`` (``conflict.model_not_ready``)."""
        model = self.get(model_id, field, options)
        if model.job.state != "succeeded":
            raise ConflictError(
                "conflict.model_not_ready",
                f"the model is {model.job.state}; wait until GET /v1/models/{model.id} says succeeded",
                field=field,
            )
        return model

    def twins(self, model: Model) -> list[Model]:
        """The others of its network that are registered, under other proof systems, the oldest first."""
        first = model.twin_id or model.id
        same = or_(Model.id == first, Model.twin_id == first), Model.system != model.system
        rows = select(Model).join(Job).where(*same, Job.state == "succeeded")
        if self._owner is not None:
            rows = rows.where(Job.tenant_id == self._owner)
        return list(self._session.scalars(rows.order_by(Job.created_at, Model.id)))

    def under(self, model_id: str, system: str | None) -> Model:
        """A registered model, or the newest of its twins under the proof system of this id, if one is named.
        Raises as ``ready``, and ``NotFoundError`` where there is none.
        """
        model = self.ready(model_id, options=_TO_ASK)
        if system in (None, model.system):
            return model
        twins = [each for each in self.twins(model) if each.system == system]
        if not twins:
            reason = f"{model_id} has no twin under {system}: make one with POST /v1/models/{model_id}/twins"
            raise NotFoundError("not_found", reason, field="system")
        return twins[-1]

    def of_architecture(self, network: str) -> Model:
        """A model of anybody's with committed weights, of this architecture. Raises ``NotFoundError``."""
        wanted = select(Model).join(Job).where(Model.network == network, Model.commitment.is_not(None))
        found = self._session.scalar(wanted.where(Job.state == "succeeded").limit(1))
        if found is None:
            raise NotFoundError(
                "not_found",
                f"no model here has the architecture {network} and committed weights: have the file from the"
                " model's owner",
            )
        return found

    def delete(self, model_id: str) -> Model:
        """The row that was. Raises ``NotFoundError``, and ``ConflictError`` (``conflict.in_use``) while there
        is something of it.
        """
        # Locked, so that nothing comes to refer to it after the look.
        locked = self._session.scalar(self._mine(model_id).with_for_update(of=Model))
        model = _found(locked, "model", model_id, "model_id")
        newer = select(Model.id).join(Job).where(Model.parent_id == model_id, Job.state.not_in(TERMINAL))
        users = (
            select(Proof.id).where(Proof.model_id == model_id),
            select(Dataset.id).where(Dataset.model_id == model_id),
            select(Commitment.id).where(Commitment.model_id == model_id),
            select(StreamModel.stream_id).where(StreamModel.model_id == model_id),
            newer,
        )
        _require_over(model.job)
        for query in users:
            if user := self._session.scalar(query.limit(1)):
                raise ConflictError("conflict.in_use", f"{user} is of this model; delete that first")
        self._session.execute(update(Model).where(Model.parent_id == model_id).values(parent_id=None))
        forget(self._session, [model_id])
        self._session.delete(model)
        self._session.flush()
        self._session.delete(model.job)
        return model

    def _mine(self, model_id: str) -> Select[Model]:
        return _of(self._owner, select(Model).where(Model.id == model_id), Model.id)

    def _called(self, reference: str) -> Select[Model]:
        """The newest first; models before their twins."""
        name, version = read_reference(reference)
        rows = select(Model).join(Job).where(Model.name == name)
        rows = rows.where(Job.state == "succeeded" if version is None else Model.version == version)
        if self._owner is not None:
            rows = rows.where(Job.tenant_id == self._owner)
        newest = Model.version.desc(), Model.twin_id.is_not(None), Job.created_at.desc()
        return rows.order_by(*newest).limit(1)


def read_reference(text: str) -> tuple[str, int | None]:
    """The name and the version of ``NAME@VERSION``; None: the newest, of ``NAME`` or ``NAME@latest``."""
    name, _, version = text.rpartition("@")
    if name and version == LATEST:
        return name, None
    if name and re.fullmatch("[1-9][0-9]{0,8}", version):
        return name, int(version)
    return text, None


class Commitments:
    def __init__(self, session: Session, owner: str | None = None) -> None:
        self._session = session
        self._owner = owner

    def add(self, commitment: Commitment) -> None:
        self._session.add(commitment)

    def get(self, commitment_id: str, field: str = "commitment_id") -> Commitment:
        """Raises ``NotFoundError``."""
        rows = select(Commitment).where(Commitment.id == commitment_id)
        if self._owner is not None:
            rows = rows.where(Commitment.tenant_id == self._owner)
        return _found(self._session.scalar(rows), "commitment", commitment_id, field)

    def of_key(self, idempotency_key: str) -> Commitment | None:
        """Return the commitment that this ``Idempotency-Key``, in its stored form, made before."""
        return self._session.scalar(select(Commitment).where(Commitment.idempotency_key == idempotency_key))

    def delete(self, commitment_id: str) -> Commitment:
        """The row that was. Raises ``NotFoundError``."""
        commitment = self.get(commitment_id)
        forget(self._session, [commitment_id])
        self._session.delete(commitment)
        return commitment


class Datasets:
    def __init__(self, session: Session, owner: str | None = None) -> None:
        self._session = session
        self._owner = owner

    def get(self, dataset_id: str) -> Dataset:
        """Raises ``NotFoundError``."""
        return _found(self._session.scalar(self._mine(dataset_id)), "dataset", dataset_id, "dataset_id")

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
        locked = self._session.scalar(self._mine(dataset_id).with_for_update(of=Dataset))
        dataset = _found(locked, "dataset", dataset_id, "dataset_id")
        proving = select(Proof.id).join(Job).where(Proof.dataset_id == dataset_id, Job.state.not_in(TERMINAL))
        user = self._session.scalar(proving.limit(1)) or (
            None if dataset.job.state in TERMINAL else dataset_id
        )
        if user is not None:
            raise ConflictError("conflict.in_use", f"{user} is not over yet, and takes the dataset")
        forget(self._session, [dataset_id])
        self._session.delete(dataset)
        self._session.flush()
        self._session.delete(dataset.job)
        return dataset

    def _mine(self, dataset_id: str) -> Select[Dataset]:
        return _of(self._owner, select(Dataset).where(Dataset.id == dataset_id), Dataset.id)


class Proofs:
    def __init__(self, session: Session, owner: str | None = None) -> None:
        self._session = session
        self._owner = owner

    def add(self, proof: Proof) -> None:
        self._session.add(proof)

    def get(self, proof_id: str) -> Proof:
        """Raises ``NotFoundError``."""
        return _found(self._session.scalar(self._mine(proof_id)), "proof", proof_id, "proof_id")

    def shown(self, proof_id: str) -> Proof:
        """``get``, with nothing of the model's row but its table: views show no more of it."""
        lean = joinedload(Proof.model).options(load_only(Model.table), raiseload("*"))
        query = self._mine(proof_id).options(lean)
        return _found(self._session.scalar(query), "proof", proof_id, "proof_id")

    def each(self, proof_ids: Sequence[str]) -> Sequence[Proof]:
        """Return those of the proofs that exist, in no order."""
        return self._session.scalars(select(Proof).where(Proof.id.in_(proof_ids))).all()

    def delete(self, proof_id: str) -> Proof:
        """The row that was, with its shards. Raises ``NotFoundError``, and ``ConflictError``
        (``conflict.in_use``) while it is not over.
        """
        locked = self._session.scalar(self._mine(proof_id).with_for_update(of=Proof))
        proof = _found(locked, "proof", proof_id, "proof_id")
        if proof.job.parent_id is not None:
            raise is_frame(proof.job)
        _require_over(proof.job)
        shards = self._session.scalars(select(Shard.id).where(Shard.proof_id == proof_id)).all()
        forget(self._session, [proof_id])
        self._session.execute(delete(Shard).where(Shard.proof_id == proof_id))
        self._session.execute(delete(Job).where(Job.id.in_(shards)))
        self._session.delete(proof)
        self._session.flush()
        self._session.delete(proof.job)
        return proof

    def has_input(self, proof_id: str) -> bool:
        """Return whether the data that the proof is made from are still there.

        An accuracy proof is made from its dataset, which then stays until this transaction is over, and its
        shards' counts.
        """
        # Columns, not rows: a row that this session has may be of before the job was locked.
        columns = select(Proof.scheme, Proof.input, Proof.dataset_id).where(Proof.id == proof_id)
        proof = self._session.execute(columns).one()
        if proof.scheme != "accuracy":
            return proof.input is not None
        dataset = select(Dataset.id).where(Dataset.id == proof.dataset_id).with_for_update(read=True)
        counts = self._session.scalars(select(Shard.opening).where(Shard.proof_id == proof_id)).all()
        return self._session.scalar(dataset) is not None and None not in counts

    def past(self, moment: datetime, retention_days: int | None) -> Sequence[str]:
        """Ids of proofs that are over and to be deleted: at the time that they were given, or so many days
        after their end, by their tenant's rule or else by ``retention_days``.
        """
        alone = select(Proof.id).join(Job).where(Job.parent_id.is_(None))  # frames go with their stream
        return past(self._session, alone, moment, retention_days)

    def _mine(self, proof_id: str) -> Select[Proof]:
        return _of(self._owner, select(Proof).where(Proof.id == proof_id), Proof.id)

    def with_old_input(self, retry_seconds: float) -> Sequence[str]:
        """Ids of proofs whose job is over, and no more to be retried, and whose input is still in the
        store.
        """
        done = exists().where(Job.id == Proof.id, _done_with(self._session, retry_seconds))
        return self._session.scalars(
            select(Proof.id).where(Proof.input.is_not(None), done).limit(_AT_ONCE)
        ).all()

    def old_input(self, proof_id: str, retry_seconds: float) -> Proof | None:
        """This proof, its job locked, if it is still one of those."""
        done = _done_with(self._session, retry_seconds)
        old = select(Proof).join(Job).where(Proof.id == proof_id, Proof.input.is_not(None), done)
        return self._session.scalar(old.with_for_update(of=Job))


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

    def with_old_openings(self, retry_seconds: float) -> Sequence[str]:
        """Ids of proofs that are over, and no more to be retried, with shards whose counts are still kept."""
        done = exists().where(Job.id == Shard.proof_id, _done_with(self._session, retry_seconds))
        kept = select(Shard.proof_id).where(Shard.opening.is_not(None), done)
        return self._session.scalars(kept.distinct().limit(_AT_ONCE)).all()

    def forget_openings(self, proof_ids: Sequence[str], retry_seconds: float) -> None:
        """Of those proofs that are still over for good."""
        old = _done_with(self._session, retry_seconds)
        over = select(Job.id).where(Job.id.in_(proof_ids), old).order_by(Job.id).with_for_update()
        locked = self._session.scalars(over).all()
        self._session.execute(update(Shard).where(Shard.proof_id.in_(locked)).values(opening=None))
        forget(self._session, locked)


class Circuits:
    """The keys of circuits, with the verification keys."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, digest: str) -> Circuit | None:
        return self._session.get(Circuit, digest)

    def of_key(self, key_id: str) -> Circuit | None:
        """A circuit whose proofs are made with this verification key."""
        return self._session.scalar(select(Circuit).where(Circuit.verification_key_id == key_id).limit(1))

    def add(self, digest: str, proving_key: str, key: KeyFile, constraints: int, size: int) -> Circuit:
        """The keys of this circuit: these, or those that another worker added before. ``size``: bytes of the
        proving key.
        """
        moment = clock(self._session)
        document = {
            "id": key.id,
            "document": key.key,
            "circuit": key.circuit,
            "transcript": key.transcript,
            "system": key.proof_system.id,
            "created_at": moment,
        }
        self._insert(VerificationKey, document)
        row = {
            "digest": digest,
            "proving_key": proving_key,
            "proving_key_bytes": size,
            "constraints": constraints,
            "verification_key_id": key.id,
            "created_at": moment,
        }
        self._insert(Circuit, row)
        return self._session.get_one(Circuit, digest)

    def is_still(self, digest: str, proving_key: str) -> bool:
        """Return whether ``proving_key`` is the circuit's.

        The row is locked: nobody changes it before this transaction ends.
        """
        circuit = self._session.get(Circuit, digest, with_for_update={"of": Circuit}, populate_existing=True)
        return circuit is not None and circuit.proving_key == proving_key

    def replace(self, digest: str, proving_key: str, key: KeyFile, constraints: int, size: int) -> None:
        """Make these the keys of this circuit. Earlier verification keys stay, for their proofs."""
        circuit = self.add(digest, proving_key, key, constraints, size)
        earlier = circuit.verification_key_id
        circuit.proving_key, circuit.proving_key_bytes = proving_key, size
        circuit.verification_key_id = key.id
        models = update(Model).where(Model.verification_key_id == earlier)
        self._session.execute(models.values(verification_key_id=key.id))

    def made_anew(self) -> set[str]:
        """The digests of the proving keys that this service makes anew: not those of ceremonies."""
        rows = self._session.execute(
            select(Circuit.proving_key, VerificationKey.document).join(VerificationKey)
        )
        return {digest for digest, document in rows if document["setup"] != CEREMONY}

    def of_network(self, network: str, system: str) -> Sequence[VerificationKey]:
        """The keys that proofs of this system are made with now, of the circuits of this network."""
        of_it = VerificationKey.circuit["network"].as_string() == network, VerificationKey.system == system
        return self._session.scalars(select(VerificationKey).join(Circuit).where(*of_it)).all()

    def used(self, digest: str, backend: str, timings: Mapping[str, float] | None) -> None:
        """Count a proof, and learn from how long its stages took, if they are given."""
        circuit = self._session.get_one(
            Circuit, digest, with_for_update={"of": Circuit}, populate_existing=True
        )
        circuit.uses += 1
        if timings is not None:
            seconds = circuit.seconds or {}
            circuit.seconds = seconds | {backend: learned(seconds.get(backend), timings)}

    def _insert(self, table: type[Base], row: dict[str, Any]) -> None:
        """Unless it is there: two workers may make the same keys at once."""
        insert = postgresql.insert if is_postgresql(self._session) else sqlite.insert
        self._session.execute(insert(table).values(**row).on_conflict_do_nothing())


class VerificationKeys:
    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, key_id: str) -> KeyFile:
        """Raises ``NotFoundError``."""
        row = self._session.get(VerificationKey, key_id)
        return key_file(_found(row, "verification key", key_id, "verification_key_id"))


def key_file(key: VerificationKey) -> KeyFile:
    """A verification key as it is handed on. Raises ``FileFormatError`` (``file.system``)."""
    return KeyFile(
        **named(find(key.system)),
        id=key.id,
        setup=key.document["setup"],
        key=key.document,
        circuit=key.circuit,
        transcript=key.transcript,
    )


_ARTIFACTS: Final[Sequence[tuple[str, Any, Any]]] = (
    ("the network of", Model.quantised, Model.id),
    ("the network in floats of", Model.floats, Model.id),
    ("the proving key of", Circuit.proving_key, Circuit.verification_key_id),
    ("what opens", Commitment.opening, Commitment.id),
    ("the samples of", Dataset.samples, Dataset.id),
    ("what opens the shards of", Dataset.openings, Dataset.id),
    ("the samples of", Stream.samples, Stream.id),
    ("the input of", Proof.input, Proof.id),
    ("the proofs of", Proof.proofs, Proof.id),
    ("what opens the renewed commitment", Root.opening, Root.root),
    ("the service's", Artifact.digest, Artifact.name),
    ("an upload of", Upload.content, Upload.tenant_id),
    ("a circuit of the ceremony", CeremonyCircuit.statement, CeremonyCircuit.ceremony_id),
    ("a state of the ceremony", CeremonyCircuit.state, CeremonyCircuit.ceremony_id),
    ("a state handed in with", HandedState.content, HandedState.contribution_id),
)


def stored(session: Session) -> set[str]:
    """The digests of all artifacts that a row refers to."""
    return set(described(session))


def described(session: Session) -> dict[str, str]:
    """All artifacts that a row refers to, by their digests: in words, of what they are."""
    return {
        digest: f"{words} {row_id}"
        for words, column, row in _ARTIFACTS
        for digest, row_id in session.execute(select(column, row).where(column.is_not(None)))
        if digest
    }


def past(session: Session, rows: Select[str], moment: datetime, retention_days: int | None) -> Sequence[str]:
    """Return those of the ids that are over and due for deletion: ``Proofs.past``.

    ``rows``: the ids, each joined with its job.
    """
    by_days: defaultdict[int, list[str]] = defaultdict(list)  # a condition for each tenant were too many
    for tenant_id, days in session.execute(select(Tenant.id, Tenant.retention_days)):
        if rule := days or retention_days:
            by_days[rule].append(tenant_id)
    late = [
        Job.tenant_id.in_(tenants) & (Job.finished_at < moment - timedelta(days=days))
        for days, tenants in by_days.items()
    ]
    return session.scalars(rows.where(Job.state.in_(TERMINAL), or_(Job.expires_at < moment, *late))).all()


def _done_with(session: Session, retry_seconds: float) -> ColumnElement[bool]:
    """Jobs that are over for good."""
    since = clock(session) - timedelta(seconds=retry_seconds)
    return Job.state.in_(("succeeded", "canceled")) | ((Job.state == "failed") & (Job.finished_at < since))


def _of(owner: str | None, rows: Select[Row], job_id: InstrumentedAttribute[str]) -> Select[Row]:
    """Only what jobs of this tenant made."""
    if owner is None:
        return rows
    return rows.where(select(Job.id).where(Job.id == job_id, Job.tenant_id == owner).exists())


def is_frame(job: Job) -> ConflictError:
    """Of a proof that is to be deleted or tried again."""
    return ConflictError(
        "conflict.frame", f"{job.id} is a frame of {job.parent_id}, which needs it as it is: delete that"
    )


def _require_over(job: Job) -> None:
    if job.state not in TERMINAL:
        raise ConflictError("conflict.in_use", f"{job.id} is {job.state}; cancel it first")


def _found(row: Row | None, kind: str, row_id: str, field: str) -> Row:
    if row is None:
        raise NotFoundError("not_found", f"there is no {kind} {row_id!r}", field=field)
    return row


_NEWEST: Final = 0.5
"""Weight of the newest proof in what the next one is expected to take."""


def learned(earlier: Mapping[str, float] | None, timings: Mapping[str, float]) -> dict[str, float]:
    """Return the expected seconds of each stage after a proof with these timings.

    They are in the order of the proof's stages.
    """
    known = earlier or {}
    return {
        stage: round(_NEWEST * seconds + (1 - _NEWEST) * known.get(stage, seconds), 4)
        for stage, seconds in timings.items()
    }
