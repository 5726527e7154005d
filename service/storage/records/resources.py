"""Tables of what jobs make: models, datasets, proofs; and of the keys of circuits."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    cast,
    false,
    select,
    text,
)
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import Mapped, column_property, mapped_column, relationship

from zenserve.service.storage.records.base import LOCAL_TENANT, Base, where
from zenserve.service.storage.records.jobs import Job
from zenserve.verifier.registry import FIRST
from zenserve.verifier.schemes import Compared, HeldKind, Measure, PublicOrCommitted, PublicOrPrivate, Scheme


class VerificationKey(Base):
    """A verification key; its id is the SHA-256 of the key and of what it means
    (``zenserve.verifier.documents``).
    """

    __tablename__ = "verification_keys"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    document: Mapped[dict[str, Any]]
    """The key in its JSON form."""
    circuit: Mapped[dict[str, Any]]
    """The compiler's description of the key's circuit: it says what the key proves."""
    transcript: Mapped[dict[str, Any] | None]
    """The transcript of the ceremony in which the key's secrets were made."""
    system: Mapped[str] = mapped_column(String(40), server_default=FIRST)
    """The proof system that it is of."""
    created_at: Mapped[datetime]


class Circuit(Base):
    """The keys of a circuit. Models whose circuits are equal, to the last constraint, share them."""

    __tablename__ = "circuits"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of the statement, its description and the basis (``engine.circuit_digest``)."""
    proving_key: Mapped[str] = mapped_column(String(64))
    proving_key_bytes: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    constraints: Mapped[int] = mapped_column(server_default=text("0"))
    uses: Mapped[int] = mapped_column(server_default=text("0"))
    """Proofs made with it."""
    seconds: Mapped[dict[str, Any] | None]
    """Per backend and stage, what proofs took of late."""
    verification_key_id: Mapped[str] = mapped_column(ForeignKey("verification_keys.id"))
    verification_key: Mapped[VerificationKey] = relationship(lazy="joined")
    created_at: Mapped[datetime]


class Model(Base):
    """A registered network."""

    __tablename__ = "models"
    __table_args__ = (
        Index("models_by_twin", "twin_id", **where("twin_id IS NOT NULL")),
        Index("models_by_name", "name", "version"),
    )

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    version: Mapped[int] = mapped_column(server_default=text("1"))
    """Its number among the models that its tenant has registered under this name; a twin has the number of
    the model whose network it is of."""
    system: Mapped[str] = mapped_column(String(40), server_default=FIRST)
    """The proof system that commits to it and proves what it computes."""
    weight_privacy: Mapped[PublicOrCommitted] = mapped_column(String(16))
    bits: Mapped[int]
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("models.id"))
    """The registered model that this is a new version of."""
    twin_id: Mapped[str | None] = mapped_column(String(40))
    """Of one that was made of another's network, for another proof system: the first of these, which may be
    deleted since."""
    quantised: Mapped[str] = mapped_column(String(64))
    """Sealed quantised network. The ONNX file and the calibration are not kept."""
    floats: Mapped[str | None] = mapped_column(String(64))
    """The sealed float network that it was made of, to compare its answers with."""
    network: Mapped[str | None] = mapped_column(String(64))
    """Hex digest: of the network, or of its architecture where the weights are committed."""
    commitment: Mapped[str | None] = mapped_column(String(96))
    """Hex, where the weights are committed."""
    blinding: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Sealed blinding factor of the commitment."""
    registration: Mapped[dict[str, Any] | None]
    """The proof file of the registration, where the weights are committed."""
    receipt: Mapped[dict[str, Any] | None]
    require_ceremony: Mapped[bool] = mapped_column(server_default=false())
    """Only keys of a ceremony make proofs of it."""
    saturate: Mapped[bool] = mapped_column(server_default=false())
    """Inputs beyond the calibration are taken as the ends of its range, not refused."""
    accept_difference: Mapped[bool] = mapped_column(server_default=false())
    """It is proven although its integers differ from its floats beyond ``zenserve.circuits.comparison``
    tolerates.
    """
    table: Mapped[dict[str, Any] | None]
    """The names of its table's columns and classes (``zenserve.verifier.table``), if its file has them."""
    report: Mapped[dict[str, Any] | None]
    """The effects of quantisation, in the form of ``zenserve.circuits.quantisation.Report``."""
    estimate: Mapped[dict[str, Any] | None]
    """Of the default proof: ``constraints``, ``memory`` in bytes, ``cost`` in seconds."""
    verification_key_id: Mapped[str | None] = mapped_column(ForeignKey("verification_keys.id"))
    """Of the label for a private input, the default of proofs."""
    verification_key: Mapped[VerificationKey | None] = relationship(lazy="joined")
    setup: Mapped[str | None] = column_property(
        select(VerificationKey.document["setup"].as_string())
        .where(VerificationKey.id == verification_key_id)
        .scalar_subquery()
    )
    """The setup that made that key, as the key's document names it."""
    job: Mapped[Job] = relationship(lazy="joined")

    @hybrid_property
    def reference(self) -> str:
        """The model's reference beside its id: ``NAME@VERSION``."""
        return f"{self.name}@{self.version}"

    @reference.inplace.expression
    @classmethod
    def _reference(cls) -> ColumnElement[str]:
        return cls.name + "@" + cast(cls.version, String)


class ModelName(Base):
    """The number of models that a tenant registered under a name.

    Versions of deleted models are not reused.
    """

    __tablename__ = "model_names"

    tenant_id: Mapped[str] = mapped_column(ForeignKey("tenants.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    versions: Mapped[int]


class Commitment(Base):
    """A commitment to an input, a reference or, by a proof, an output of a model."""

    __tablename__ = "commitments"
    __table_args__ = (
        Index("commitments_by_tenant", "tenant_id", "created_at", "id"),
        Index("commitments_by_key", "idempotency_key", unique=True),
        Index("commitments_by_model", "model_id"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(40), server_default=LOCAL_TENANT)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"))
    kind: Mapped[HeldKind] = mapped_column(String(16))
    commitment: Mapped[str] = mapped_column(String(96))
    """Hex."""
    opening: Mapped[str] = mapped_column(String(64))
    """Sealed values and blinding factor."""
    idempotency_key: Mapped[str | None] = mapped_column(String(64))
    """As a job's."""
    request_mac: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    created_at: Mapped[datetime]
    model: Mapped[Model] = relationship(lazy="select")


class Dataset(Base):
    """Labelled samples of a model's inputs, committed in shards."""

    __tablename__ = "datasets"
    __table_args__ = (Index("datasets_by_model", "model_id"),)

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"))
    name: Mapped[str] = mapped_column(String(200))
    privacy: Mapped[PublicOrPrivate] = mapped_column(String(16))
    size: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    """Of the samples and labels, or targets, as they were given (``zenserve.verifier.datasets``); not shown
    where they are private.
    """
    compared: Mapped[Compared] = mapped_column(String(16), server_default="labels")
    output: Mapped[str | None] = mapped_column(String(64))
    """The output of the network that the labels or targets are of, where there are several."""
    picked_for: Mapped[str | None] = mapped_column(String(96))
    """The model's commitment, in hex: it was there before the samples were picked."""
    measure: Mapped[Measure | None] = mapped_column(String(16))
    """The measure that shards are made to fit; unless the caller says, the usual one (``engine.usual``)."""
    shard_size: Mapped[int | None]
    """Samples in one proof; where the caller does not say, the job does."""
    samples: Mapped[str] = mapped_column(String(64))
    """Sealed samples, quantised, and labels."""
    shards: Mapped[list[Any] | None]
    """Each shard's size and commitment."""
    openings: Mapped[str | None] = mapped_column(String(64))
    """Sealed openings of the shards' commitments."""
    job: Mapped[Job] = relationship(lazy="joined")
    model: Mapped[Model] = relationship(lazy="joined")


class Proof(Base):
    """A proof, from the request to the result."""

    __tablename__ = "proofs"
    __table_args__ = (
        Index("proofs_by_model", "model_id"),
        Index("proofs_with_input", "id", **where("input IS NOT NULL")),
    )

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"))
    system: Mapped[str] = column_property(
        select(Model.system).where(Model.id == model_id).correlate_except(Model).scalar_subquery()
    )
    """The proof system: its model's."""
    scheme: Mapped[Scheme] = mapped_column(String(16))
    request: Mapped[dict[str, Any]]
    """The fields of the request, without its secrets."""
    input: Mapped[str | None] = mapped_column(String(64))
    """Sealed input and reference with their openings, until the job has ended."""
    dataset_id: Mapped[str | None] = mapped_column(ForeignKey("datasets.id", ondelete="SET NULL"))
    verification_key_id: Mapped[str | None] = mapped_column(ForeignKey("verification_keys.id"))
    document: Mapped[dict[str, Any] | None]
    """The proof file; without its proofs while the shards are at work, and where the store has them."""
    proofs: Mapped[str | None] = mapped_column(String(64))
    """These, as JSON, where they are too long for a row (``zenserve.service.documents``)."""
    margins: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Sealed, of a certificate: the label's lead by radius, which is more than the statement says."""
    difference: Mapped[dict[str, Any] | None]
    """The difference between the integers and the floats on this input.

    In the form of ``zenserve.circuits.comparison.Difference``.
    """
    verification_key: Mapped[VerificationKey | None] = relationship(lazy="select")
    job: Mapped[Job] = relationship(lazy="joined")
    model: Mapped[Model] = relationship(lazy="joined")


class Shard(Base):
    """One shard of a proof of accuracy."""

    __tablename__ = "shards"
    __table_args__ = (Index("shards_with_opening", "proof_id", **where("opening IS NOT NULL")),)

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    proof_id: Mapped[str] = mapped_column(ForeignKey("proofs.id"), index=True)
    position: Mapped[int]
    opening: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Sealed count and blinding factor of its commitment ``correct``, until the proof is over."""
    proof: Mapped[bytes | None] = mapped_column(LargeBinary)
