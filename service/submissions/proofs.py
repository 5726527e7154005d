"""Asking for proofs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from zenserve.service import encryption
from zenserve.service.access import audit
from zenserve.service.access.principal import Principal
from zenserve.service.jobs.jobs import Jobs, Terms
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.base import new_id
from zenserve.service.storage.records.resources import Model, Proof
from zenserve.service.storage.repositories import Datasets, Proofs
from zenserve.service.submissions import estimates, jobs, orders
from zenserve.service.submissions.estimates import Estimate
from zenserve.service.submissions.orders import Order
from zenserve.service.submissions.requests import ProofRequest
from zenserve.verifier.schemes import Scheme


def ask(runtime: Runtime, caller: Principal, body: ProofRequest, idempotency_key: str | None = None) -> str:
    """Check the request, then make the proof's rows, or find those that its ``Idempotency-Key`` made. The
    proof's id. Raises ``ZenError``.
    """
    orders.check_fields(body)
    tenant_id = caller.tenant_id
    terms = Terms(
        tenant_id=tenant_id,
        priority=body.priority,
        labels=body.labels,
        idempotency_key=idempotency_key,
        request_macs=orders.fingerprint(runtime, body),
    )
    with runtime.database.read() as session:
        if earlier := Jobs(session).earlier(terms):
            return earlier
        model = orders.model_of(session, tenant_id, body)
        order = orders.order(runtime, session, tenant_id, body, model)
        estimate = _estimate(runtime, session, model, order, body.scheme)
        if body.deadline_seconds is not None or body.expires_in_days is not None:
            terms = _timed(terms, body, clock(session))
    row = Proof(
        id=new_id("prf"),
        model_id=model.id,
        scheme=body.scheme,
        request=order.request,
        dataset_id=order.dataset_id,
        document=None,
        verification_key_id=None,
    )
    if order.secrets:
        packed = encryption.pack(order.secrets)
        row.input = encryption.put(runtime, f"input:{row.id}", packed)
        terms = replace(terms, size=len(packed))

    def prepare(session: Session) -> Estimate | None:
        if order.dataset_id is not None:  # it may have been deleted since
            Datasets(session, tenant_id).ready(order.dataset_id)
        return estimate

    kind = "accuracy" if body.scheme == "accuracy" else "proof"
    return jobs.submit(runtime, caller, kind, row, terms, "proof.create", stored=[row.input], prepare=prepare)


def delete(runtime: Runtime, caller: Principal, proof_id: str) -> None:
    """Raises ``NotFoundError``, ``ConflictError`` (``conflict.in_use``)."""
    with runtime.database.write() as session:
        proof = Proofs(session, caller.tenant_id).delete(proof_id)
        audit.note(session, caller, "proof.delete", proof_id)
    jobs.delete(runtime, [proof.input, proof.proofs])


def _estimate(
    runtime: Runtime, session: Session, model: Model, order: Order, scheme: Scheme
) -> Estimate | None:
    """Of the default proof, which all but certificates are like; of a dataset, of the proof of a shard."""
    if scheme == "robustness":
        return estimates.of_certificate(runtime, model, order.request)
    if order.dataset_id is None:
        return model.estimate
    dataset = Datasets(session, model.job.tenant_id).ready(order.dataset_id)
    assert dataset.shard_size is not None  # noqa: S101  committed datasets have one
    return estimates.of_shard(runtime, model, dataset.shard_size, order.request)


def _timed(terms: Terms, body: ProofRequest, moment: datetime) -> Terms:
    if body.deadline_seconds is not None:
        terms = replace(terms, deadline_at=moment + timedelta(seconds=body.deadline_seconds))
    if body.expires_in_days is not None:
        terms = replace(terms, expires_at=moment + timedelta(days=body.expires_in_days))
    return terms
