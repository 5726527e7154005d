"""Dry runs: what a request for a proof would come to, tried out in the parsers' child process."""

from __future__ import annotations

import json
from typing import Any

from service import basis, engine
from service import encryption as sealed
from service.api import requests, sandbox
from service.api.requests import Order
from service.api.schemas import DryRunView, ProofRequest
from service.jobs.lifecycle import Terms
from service.jobs.scheduling import require_place, routed
from service.runtime import Runtime
from service.storage.repositories import Circuits, Datasets, Models
from service.storage.tables import Dataset, Model
from verifier.documents import canonical


def dry_run(runtime: Runtime, tenant_id: str, body: ProofRequest) -> DryRunView:
    """Raises what asking for the proof would raise, ``StatementError`` (``statement.unsatisfied``), and what
    ``sandbox.run`` raises.
    """
    requests.check_fields(body)
    with runtime.database.read() as session:
        require_place(session, runtime.settings, tenant_id, more=1)
        model = Models(session, tenant_id).ready(body.model_id)
        order = requests.order(runtime, session, tenant_id, body, model)
        dataset = Datasets(session, tenant_id).ready(order.dataset_id) if order.dataset_id else None
    tried = _try(runtime, body, model, order, dataset)
    estimate, count = tried["estimate"], tried["proofs"]
    digest = engine.digest_of(tried["identity"], basis.load_basis(runtime) if tried["commitments"] else None)
    with runtime.database.read() as session:
        terms = routed(session, runtime.settings, Terms(tenant_id=tenant_id), estimate)
        keys = Circuits(session).find(digest)
    before = (keys.seconds or {}).get(terms.queue) if keys else None
    return DryRunView(
        model_id=model.id,
        scheme=body.scheme,
        label=tried["values"].get("label"),
        values=tried["values"],
        constraints=estimate["constraints"],
        proofs=count,
        verification_key_id=keys.verification_key_id if keys else None,
        setup_seconds=0.0 if keys else round(estimate["setup_seconds"], 3),
        proof_seconds=round(count * (sum(before.values()) if before else estimate["proof_seconds"]), 3),
        memory_bytes=estimate["memory"],
        key_bytes=estimate["key_bytes"],
        proof_bytes=count * estimate["proof_bytes"],
        queue=terms.queue,
    )


def _try(
    runtime: Runtime, body: ProofRequest, model: Model, order: Order, dataset: Dataset | None
) -> dict[str, Any]:
    """What ``service.dry_run`` answers."""
    if dataset is None:
        secrets = sealed.pack(order.secrets)
    else:
        secrets = sealed.get(runtime, f"dataset:{dataset.id}", dataset.samples)
    asked = {
        "scheme": body.scheme,
        "weight_privacy": model.weight_privacy,
        "request": order.request,
        "batch": dataset.shard_size if dataset else None,
        "threads": runtime.settings.threads,
    }
    network = sealed.open_network(runtime, model)
    answer = sandbox.run(model.job.tenant_id, "dry_run", canonical(asked), network, secrets)
    tried: dict[str, Any] = json.loads(answer)
    return tried
