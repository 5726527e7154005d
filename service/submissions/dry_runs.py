"""Dry runs: what a request for a proof would come to, tried out in the parsers' child process."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, Field

from zenserve.prover import registry
from zenserve.prover.size import Size
from zenserve.service import basis, encryption, engine
from zenserve.service.jobs.jobs import Terms
from zenserve.service.jobs.scheduling import require_place, routed
from zenserve.service.runtime import Runtime
from zenserve.service.settings import QueueName
from zenserve.service.storage.records.resources import Dataset, Model
from zenserve.service.storage.repositories import Circuits, Datasets
from zenserve.service.submissions import orders, sandbox
from zenserve.service.submissions.orders import Order
from zenserve.service.submissions.requests import ProofRequest
from zenserve.verifier.fields import canonical
from zenserve.verifier.schemes import Scheme


class DryRunView(BaseModel):
    """The values that a proof would show, and its cost.

    Every constraint holds; nothing was made, and nothing was kept.
    """

    model_id: str = Field(description="The model that it would be about.", examples=["mdl_5d1f0c"])
    scheme: Scheme = Field(description="What it would prove.", examples=["inference"])
    label: int | None = Field(description="The class that the network chose.", examples=[7])
    values: dict[str, int | list[int]] = Field(
        description="All that the proof would show, by name.", examples=[{"label": 7}]
    )
    constraints: int = Field(
        description="Rows that the witness was held against; of a dataset, those of its first shard.",
        examples=[14702],
    )
    proofs: int = Field(description="How many there would be: one, or one for each shard.", examples=[1])
    verification_key_id: str | None = Field(
        description="The key that it would verify with; null: there is none yet, its setup is due.",
        examples=["5d" * 32],
    )
    setup_seconds: float = Field(
        description="About how long its keys take to make; 0 where they are there.", examples=[0.0]
    )
    proof_seconds: float = Field(
        description="About how long the proof takes, once there are keys and a worker is free.",
        examples=[0.25],
    )
    memory_bytes: int = Field(description="What a worker needs for it.", examples=[190_000_000])
    key_bytes: int = Field(description="Of the proving key, which the service keeps.", examples=[41_800_000])
    proof_bytes: int = Field(description="Of the proof, without its statement.", examples=[450])
    queue: QueueName = Field(description="Which workers may take it.", examples=["cpu"])


def dry_run(runtime: Runtime, tenant_id: str, body: ProofRequest) -> DryRunView:
    """Raises what asking for the proof would raise, ``StatementError`` (``statement.unsatisfied``), and what
    ``sandbox.run`` raises.
    """
    orders.check_fields(body)
    with runtime.database.read() as session:
        require_place(session, runtime.settings, tenant_id, more=1)
        model = orders.model_of(session, tenant_id, body)
        order = orders.order(runtime, session, tenant_id, body, model)
        dataset = Datasets(session, tenant_id).ready(order.dataset_id) if order.dataset_id else None
    tried = _try(runtime, body, model, order, dataset)
    system, threads, count = registry.find(model.system), runtime.settings.threads, tried["proofs"]
    estimate = engine.estimate(system, Size(**tried["size"]), tried["constraints"], threads)
    estimate["proof_seconds"] += tried["witness_seconds"]
    over = None
    if tried["commitments"] and basis.find_basis(runtime, system, tried["committed"]):  # else: no keys yet
        over = basis.load_basis(runtime, system, tried["committed"])
    digest = engine.digest_of(model.system, bytes.fromhex(tried["statement"]), tried["circuit"], over)
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
    """Return the answer of ``zenserve.service.dry_run``."""
    if dataset is None:
        secrets = encryption.pack(order.secrets)
    else:
        secrets = encryption.get(runtime, f"dataset:{dataset.id}", dataset.samples)
    asked = {
        "scheme": body.scheme,
        "weight_privacy": model.weight_privacy,
        "request": order.request,
        "batch": dataset.shard_size if dataset else None,
    }
    network = encryption.open_network(runtime, model)
    answer = sandbox.run(model.job.tenant_id, "dry_run", canonical(asked), network, secrets)
    tried: dict[str, Any] = json.loads(answer)
    return tried
