"""Estimates of the cost of jobs, by the plans of their circuits: known before anything is queued or built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zenserve.circuits.schemes.planned import Planned
from zenserve.prover import registry
from zenserve.prover.size import Size
from zenserve.service import encryption, engine
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.resources import Model
from zenserve.service.submissions import asking
from zenserve.verifier.schemes import Privacy

Estimate = dict[str, Any]
"""The estimated cost of a job.

``memory`` in bytes, ``cost`` in seconds of one processor, ``constraints``.
"""


def of_keys(runtime: Runtime, system: str, circuits: Iterable[Mapping[str, Any]]) -> Estimate:
    """Of making the keys of one circuit after the other, and their proofs: of the largest. ``circuits``: each
    a ``Planned`` as JSON. Any worker may do it, whatever it takes: no cost.
    """
    return _largest(runtime, system, map(_read, circuits))


def of_registration(
    runtime: Runtime, tenant_id: str, system: str, quantised: bytes, weight_privacy: Privacy
) -> Estimate:
    """Of making the keys that the registration of a network makes."""
    return of_keys(runtime, system, asking.ask(tenant_id, "plan_registered", quantised, weight_privacy))


def of_shard(runtime: Runtime, model: Model, batch: int, asked: Mapping[str, Any]) -> Estimate:
    """Of the proof of an accuracy on so many samples. ``asked``: what the request says (``orders``)."""
    return _planned(runtime, model, "plan_accuracy", batch, **engine.measuring(asked))


def of_batch(runtime: Runtime, model: Model, batch: int) -> Estimate:
    """Of the proof of so many frames."""
    return _planned(runtime, model, "plan_inference", batch)


def of_certificate(runtime: Runtime, model: Model, asked: Mapping[str, Any]) -> Estimate:
    """Of the proof of a robustness: many times what an inference's takes. ``asked``: what the request
    says."""
    return _planned(runtime, model, "plan_robustness", **engine.within(asked))


def _planned(runtime: Runtime, model: Model, plan: str, *arguments: Any, **options: Any) -> Estimate:
    quantised = encryption.open_network(runtime, model)
    found = asking.ask(model.job.tenant_id, plan, quantised, model.weight_privacy, *arguments, **options)
    return _of(runtime, model.system, _read(found))


def _read(found: Mapping[str, Any]) -> Planned:
    return Planned(found["constraints"], Size(**found["size"]))


def _largest(runtime: Runtime, system: str, circuits: Iterable[Planned]) -> Estimate:
    found = (_of(runtime, system, each) for each in circuits)
    return max(found, key=lambda each: each["memory"]) | {"cost": 0.0}


def _of(runtime: Runtime, system: str, circuit: Planned) -> Estimate:
    proves = registry.find(system)
    return {
        "memory": proves.estimate(circuit.size, runtime.settings.threads).memory,
        "cost": engine.cost(proves, circuit.size),
        "constraints": circuit.constraints,
    }
