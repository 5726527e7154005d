"""Queries of the dashboard's lists: jobs with their subjects, models, circuits, webhooks.

The lists are of one tenant or of all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Row, Select, String, cast, exists, func, null, select, union_all
from sqlalchemy.orm import Session, defer, raiseload

from zenserve.errors import NotFoundError
from zenserve.service.storage.paging import Page, Place, Window, page
from zenserve.service.storage.records.accounts import Tenant
from zenserve.service.storage.records.ceremonies import Contribution
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Circuit, Dataset, Model, Proof, Shard, VerificationKey
from zenserve.service.storage.records.streams import Frame, Stream
from zenserve.service.storage.records.webhooks import Delivery, Webhook
from zenserve.service.storage.repositories.labelled import Labelled
from zenserve.service.storage.repositories.lists import Filters, Lists
from zenserve.service.storage.repositories.resources import Models

KINDS = ("proof", "accuracy", "stream", "model", "dataset", "shard", "ceremony", "contribution")

Query = TypeVar("Query", bound=Select[*tuple[Any, ...]])


@dataclass(frozen=True)
class Wanted:
    """The filters of a list of jobs.

    Without a kind, all jobs but shards are listed and, where no other filter is set either, all but streams'
    frames. ``text`` is a part of an id.
    """

    state: str = ""
    kind: str = ""
    model_id: str = ""
    tenant_id: str = ""
    cause: str = ""
    text: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """True if any filter is set."""
        return self != Wanted()


@dataclass(frozen=True)
class Listed:
    """A job with what it is about; ``name`` is that of its model, ``NAME@VERSION``."""

    job: Job
    model_id: str | None
    name: str | None
    scheme: str | None


@dataclass(frozen=True)
class SeenFrame:
    """A frame that is over, as pages show it: ``model`` is its place in the bank, None if it was missed."""

    id: str
    number: int
    model: int | None
    seen: int | None
    answer: int | None
    state: str
    created_at: datetime
    finished_at: datetime | None
    seconds: float
    batch: int | None = None
    """As in ``Frame``."""


@dataclass(frozen=True)
class ListedProof:
    """``name``: of its model, ``NAME@VERSION``. ``values``: what its document shows. ``claim`` and ``setup``
    are None before it is made."""

    proof: Proof
    name: str
    values: Mapping[str, Any] | None
    claim: str | None
    setup: str | None
    table: Mapping[str, Any] | None


@dataclass(frozen=True)
class ListedModel:
    """``circuit``: of the default proof. ``is_latest``: whether its name alone means it."""

    model: Model
    circuit: Circuit | None
    proofs: int
    is_latest: bool


class Browsing:
    """``owner``: of this tenant only; None: of all."""

    def __init__(self, session: Session, owner: str | None) -> None:
        self._session = session
        self._owner = owner

    def jobs(self, wanted: Wanted, window: Window) -> Page[Listed]:
        # One query for each kind: an index gives each in order, and none gives them all.
        kinds = [wanted.kind] if wanted.kind else [kind for kind in KINDS if kind != "shard"]
        labelled = Labelled(self._session, self._owner, wanted.labels)
        pages = [labelled.newest(self._ids(kind, wanted, window), window).subquery() for kind in kinds]
        of_pages = [select(Job).where(Job.id.in_(select(ids.c.id))) for ids in pages]
        rows = [job for query in of_pages for job in self._session.scalars(query)]
        rows.sort(key=lambda job: (job.created_at, job.id), reverse=True)
        found = page(rows, window, _place)
        return Page(self._about(found.rows), found.next_cursor)

    def job(self, job_id: str) -> Listed:
        """Raises ``NotFoundError``, also where it is another tenant's."""
        job = self._session.get(Job, job_id)
        if job is None or self._owner not in (None, job.tenant_id):
            raise NotFoundError("not_found", f"there is no job {job_id!r}")
        return self._about([job])[0]

    def made_by(self, job_id: str) -> Model | Dataset | Proof | Stream | Contribution | None:
        """Return the resource that this job makes; None where there is no row of it."""
        return (
            self._session.get(Proof, job_id, options=(raiseload(Proof.model),))
            or self._session.get(Model, job_id, options=_LEAN_MODEL)
            or self._session.get(Dataset, job_id, options=(raiseload(Dataset.model),))
            or self._session.get(Stream, job_id)
            or self._session.get(Contribution, job_id)
        )

    def frames(self, stream: Stream, most: int) -> Sequence[SeenFrame]:
        """The last frames that are over, in order."""
        columns = (Frame.id, Frame.number, Frame.model, Frame.seen, Frame.answer, Frame.batch)
        rows = select(*columns, Job.state, Job.created_at, Job.finished_at, Job.timings)
        these = Frame.stream_id == stream.id, Frame.number < stream.over
        last = rows.join(Job, Job.id == Frame.id).where(*these).order_by(Frame.number.desc()).limit(most)
        return [
            SeenFrame(
                id=row.id,
                number=row.number,
                model=row.model,
                seen=row.seen,
                answer=row.answer,
                state=row.state,
                created_at=row.created_at,
                finished_at=row.finished_at,
                seconds=sum(row.timings.values()),
                batch=row.batch,
            )
            for row in reversed(self._session.execute(last).all())
        ]

    def described(self, key_id: str) -> Mapping[str, Any]:
        """Return the description of this verification key's circuit."""
        return self._session.get_one(VerificationKey, key_id).circuit

    def table_of(self, model_id: str) -> Mapping[str, Any] | None:
        """Return the names of the columns and classes of the model's table; None where it has no table."""
        return self._session.scalar(select(Model.table).where(Model.id == model_id))

    def shards(self, proof_id: str) -> Sequence[Job]:
        """In the order of the dataset."""
        return self._session.scalars(
            select(Job)
            .join(Shard, Shard.id == Job.id)
            .where(Shard.proof_id == proof_id)
            .order_by(Shard.position)
        ).all()

    def models(self, filters: Filters, window: Window) -> Page[ListedModel]:
        found = Lists(self._session, self._owner).models(filters, window)
        ids = [model.id for model in found.rows]
        keys = [model.verification_key_id for model in found.rows if model.verification_key_id]
        counted = select(Proof.model_id, func.count()).where(Proof.model_id.in_(ids)).group_by(Proof.model_id)
        counts = dict(self._session.execute(counted).all())
        of_keys = select(Circuit).where(Circuit.verification_key_id.in_(keys)).options(_LEAN_CIRCUIT)
        circuits = {circuit.verification_key_id: circuit for circuit in self._session.scalars(of_keys)}
        newest = self._newest({model.name for model in found.rows})
        listed = [
            ListedModel(
                model,
                circuits.get(model.verification_key_id or ""),
                counts.get(model.id, 0),
                _is_latest(model, newest),
            )
            for model in found.rows
        ]
        return Page(listed, found.next_cursor)

    def model(self, model_id: str) -> ListedModel:
        """By id or by name, with its key's description. Raises ``NotFoundError``, also where it is another
        tenant's."""
        model = Models(self._session, self._owner).get(model_id)
        of_key = select(Circuit).where(Circuit.verification_key_id == model.verification_key_id)
        circuit = self._session.scalars(of_key.options(_LEAN_CIRCUIT).limit(1)).first()
        proofs = select(func.count()).where(Proof.model_id == model.id)
        is_latest = _is_latest(model, self._newest({model.name}))
        return ListedModel(model, circuit, self._session.scalars(proofs).one(), is_latest)

    def versions(self, model: Model, most: int) -> Sequence[Model]:
        """The models of its name, itself among them, without twins; the newest first."""
        same = Model.name == model.name, Job.tenant_id == model.job.tenant_id, Model.twin_id.is_(None)
        rows = select(Model).join(Job, Job.id == Model.id).where(*same).options(*_LEAN_MODEL)
        return self._session.scalars(rows.order_by(Model.version.desc()).limit(most)).all()

    def _newest(self, names: Collection[str]) -> dict[tuple[str, str], int]:
        """By tenants and names the newest version that is registered."""
        rows = (
            select(Job.tenant_id, Model.name, func.max(Model.version))
            .join(Model, Model.id == Job.id)
            .where(Model.name.in_(names), Job.state == "succeeded")
            .group_by(Job.tenant_id, Model.name)
        )
        return {(tenant_id, name): version for tenant_id, name, version in self._session.execute(rows)}

    def proofs(self, filters: Filters, window: Window) -> Page[ListedProof]:
        found = Lists(self._session, self._owner).proofs(filters, window)
        said = Proof.document["statement"]["claim"].as_string()
        about = (
            select(
                Proof.id,
                Model.table,
                Model.reference.label("name"),
                said.label("claim"),
                _SETUP.label("setup"),
            )
            .join(Model, Model.id == Proof.model_id)
            .outerjoin(VerificationKey, VerificationKey.id == Proof.verification_key_id)
            .where(Proof.id.in_([proof.id for proof, _ in found.rows]))
        )
        rows = {row.id: row for row in self._session.execute(about)}
        listed = [
            ListedProof(proof, row.name, values, row.claim, row.setup, row.table)
            for proof, values, row in ((*each, rows[each[0].id]) for each in found.rows)
        ]
        return Page(listed, found.next_cursor)

    def datasets(self, filters: Filters, window: Window) -> Page[tuple[Dataset, str]]:
        """Each with its model, ``NAME@VERSION``."""
        found = Lists(self._session, self._owner).datasets(filters, window)
        ids = {dataset.model_id for dataset in found.rows}
        named = select(Model.id, Model.reference).where(Model.id.in_(ids))
        names = dict(self._session.execute(named).all())
        return Page([(dataset, names[dataset.model_id]) for dataset in found.rows], found.next_cursor)

    def setup(self, key_id: str | None) -> str | None:
        """Return the setup that made this verification key; None where there is no key yet."""
        return self._session.scalar(select(_SETUP).where(VerificationKey.id == key_id))

    def circuits(self, window: Window) -> Page[Row[Circuit, str, str]]:
        """Each with its scheme and setup. They are nobody's: models of one architecture share them."""
        query = (
            select(Circuit, VerificationKey.circuit["scheme"].as_string(), _SETUP)
            .join(VerificationKey)
            .options(_LEAN_CIRCUIT)
            .order_by(Circuit.created_at.desc(), Circuit.digest.desc())
        )
        if (after := window.condition(Circuit.created_at, Circuit.digest)) is not None:
            query = query.where(after)
        rows = self._session.execute(query.limit(window.limit + 1)).all()
        return page(rows, window, lambda row: Place(row[0].created_at, row[0].digest))

    def model_names(self, window: Window) -> Sequence[tuple[str, str]]:
        """Ids of models and what they are called, ``NAME@VERSION``, to choose from."""
        query = select(Model.id, Model.reference).join(Job, Job.id == Model.id)
        return self._session.execute(self._window(query, window)).all()

    def dataset_names(self, model_id: str, most: int) -> Sequence[tuple[str, str]]:
        """Ids and names of the datasets that are ready for this model."""
        query = (
            select(Dataset.id, Dataset.name)
            .join(Job, Job.id == Dataset.id)
            .where(Dataset.model_id == model_id, Job.state == "succeeded")
            .order_by(Job.created_at.desc())
        )
        return self._session.execute(query.limit(most)).all()

    def tenant_names(self) -> dict[str, str]:
        query = select(Tenant.id, Tenant.name).order_by(Tenant.name)
        if self._owner is not None:
            query = query.where(Tenant.id == self._owner)
        return dict(self._session.execute(query).all())

    def unfinished(self) -> dict[str, tuple[int, int]]:
        """Return the number of jobs of each tenant that wait, and the number that run."""
        queued, running = (func.count().filter(Job.state == state) for state in ("queued", "running"))
        query = (
            select(Job.tenant_id, queued, running)
            .where(Job.state.in_(("queued", "running")))
            .group_by(Job.tenant_id)
        )
        return {tenant_id: (waits, runs) for tenant_id, waits, runs in self._session.execute(query)}

    def webhooks(self) -> Sequence[tuple[Webhook, int, int]]:
        """Each with how many of its messages wait and how many were given up."""
        waiting, given_up = (
            func.count(Delivery.id).filter(Delivery.state == state) for state in ("waiting", "given up")
        )
        query = (
            select(Webhook, waiting, given_up)
            .outerjoin(Delivery, Delivery.webhook_id == Webhook.id)
            .group_by(Webhook.id)
            .order_by(Webhook.created_at.desc(), Webhook.id)
        )
        if self._owner is not None:
            query = query.where(Webhook.tenant_id == self._owner)
        return self._session.execute(query).all()

    def webhook(self, webhook_id: str) -> Webhook:
        """Raises ``NotFoundError``, also where it is another tenant's."""
        webhook = self._session.get(Webhook, webhook_id)
        if webhook is None or self._owner not in (None, webhook.tenant_id):
            raise NotFoundError("not_found", f"there is no webhook {webhook_id!r}")
        return webhook

    def deliveries(self, webhook_id: str, window: Window) -> Page[Delivery]:
        query = (
            select(Delivery)
            .where(Delivery.webhook_id == webhook_id)
            .order_by(Delivery.created_at.desc(), Delivery.id.desc())
        )
        if (after := window.condition(Delivery.created_at, Delivery.id)) is not None:
            query = query.where(after)
        return page(self._session.scalars(query.limit(window.limit + 1)).all(), window, _place)

    def _ids(self, kind: str, wanted: Wanted, window: Window) -> Select[str, datetime]:
        query = self._after(select(Job.id, Job.created_at).where(Job.kind == kind), window)
        if not wanted.any:
            query = query.where(Job.parent_id.is_(None))
        if wanted.state:
            query = query.where(Job.state == wanted.state)
        if wanted.tenant_id:
            query = query.where(Job.tenant_id == wanted.tenant_id)
        if wanted.cause:
            query = query.where(Job.problem["code"].as_string() == wanted.cause)
        if wanted.text:
            query = query.where(Job.id.contains(wanted.text, autoescape=True))
        if wanted.model_id:
            query = query.where(_is_about(kind, wanted.model_id))
        return query

    def _window(self, query: Query, window: Window) -> Query:
        newest = Job.created_at.desc(), Job.id.desc()
        return self._after(query, window).order_by(*newest).limit(window.limit + 1)

    def _after(self, query: Query, window: Window) -> Query:
        if self._owner is not None:
            query = query.where(Job.tenant_id == self._owner)
        if (after := window.condition(Job.created_at, Job.id)) is not None:
            query = query.where(after)
        return query

    def _about(self, jobs: Sequence[Job]) -> list[Listed]:
        rows = self._session.execute(
            select(_SUBJECTS, Model.reference.label("name"))
            .join(Model, Model.id == _SUBJECTS.c.model_id)
            .where(_SUBJECTS.c.id.in_([job.id for job in jobs]))
        )
        about = {row.id: (row.model_id, row.name, row.scheme) for row in rows}
        return [Listed(job, *about.get(job.id, (None, None, None))) for job in jobs]


# Keys and documents are large, and no page shows them.
_LEAN_MODEL = (raiseload(Model.verification_key), defer(Model.registration), defer(Model.receipt))
_LEAN_CIRCUIT = raiseload(Circuit.verification_key)

_SETUP = VerificationKey.document["setup"].as_string()

_SUBJECTS = union_all(
    select(Proof.id, Proof.model_id, Proof.scheme),
    select(Shard.id, Proof.model_id, Proof.scheme).join(Proof),
    select(Dataset.id, Dataset.model_id, cast(null(), String)),
    select(Model.id, Model.id.label("model_id"), cast(null(), String)),
).subquery("subjects")
"""The model that a job is about."""


def _is_latest(model: Model, newest: Mapping[tuple[str, str], int]) -> bool:
    """A twin is not: the name means the model that it is of."""
    return model.twin_id is None and newest.get((model.job.tenant_id, model.name)) == model.version


def _is_about(kind: str, model_id: str) -> ColumnElement[bool]:
    """Asked of one job after the other, newest first: a model may have more proofs than a page waits for."""
    if kind == "model":
        return Job.id == model_id
    if kind == "dataset":
        return exists().where(Dataset.id == Job.id, Dataset.model_id == model_id)
    proof_id = Job.parent_id if kind == "shard" else Job.id
    return exists().where(Proof.id == proof_id, Proof.model_id == model_id)


def _place(row: Any) -> Place:
    return Place(row.created_at, row.id)
