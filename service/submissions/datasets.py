"""Adding labelled samples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import BinaryIO

from zenserve.errors import RequestError
from zenserve.prover import registry
from zenserve.service import basis, encryption, engine, intake
from zenserve.service.access import audit
from zenserve.service.access.principal import Principal
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.jobs.scheduling import routed
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.base import new_id
from zenserve.service.storage.records.resources import Dataset, Model
from zenserve.service.storage.repositories import Datasets, Models
from zenserve.service.submissions import asking, estimates, jobs, sandbox
from zenserve.service.submissions.files import Handed
from zenserve.verifier.documents import OpeningFile
from zenserve.verifier.measures import takes_targets

_HASH_BYTES = 32


def add(
    runtime: Runtime,
    caller: Principal,
    row: Dataset,
    handed: Sequence[Handed],
    labels: dict[str, str] | None = None,
    idempotency_key: str | None = None,
) -> str:
    """Read and quantise the samples and their classes or targets, and queue the commitment to ``row``. The
    dataset's id, or that which the ``Idempotency-Key`` made. Raises ``ZenError``.

    ``handed``: the samples and, unless their file has them, their labels; or targets. ``row.output`` becomes
    the output that they are of, where there are several.
    """
    measured = ("targets",) * (row.compared == "targets")
    files = (file.sha256 for file in handed)
    options = [row.model_id, row.privacy, row.name, str(row.shard_size), *files, *measured]
    options += [f"{name}={value}" for name in ("output", "measure") if (value := getattr(row, name))]
    terms = jobs.terms(runtime, caller, b"dataset", options, labels, idempotency_key)
    with runtime.database.read() as session:
        if earlier := Jobs(session).earlier(terms):
            return earlier
        model = Models(session, caller.tenant_id).ready(row.model_id)
    row.model_id = model.id
    quantised = encryption.open_network(runtime, model)
    named = intake.measured_name(quantised, row.compared, row.output)
    row.output = named if len(intake.output_names(quantised)) > 1 else None
    _check_measure(row)
    _check_shard_size(runtime, model, quantised, row)
    if row.shard_size:  # else the worker takes as many samples as fit its memory
        measuring = {"measure": row.measure or engine.usual(row.compared), "output": named}
        estimate = estimates.of_shard(runtime, model, row.shard_size, measuring)
        with runtime.database.read() as session:
            routed(session, runtime.settings, terms, estimate)
    with ExitStack() as opened:
        content, *others = [opened.enter_context(file.open(runtime, caller.tenant_id)) for file in handed]
        about = (quantised, named.encode())
        reading = (
            b"saturate" if model.saturate else b"",
            json.dumps(model.table).encode() if model.table else b"",
        )
        parts: tuple[bytes | BinaryIO, ...]
        if row.compared == "labels":
            kind, parts = "read_dataset", (*about, content, *(others or (b"",)), *reading)
        else:
            kind, parts = "read_measured", (*about, model.weight_privacy.encode(), content, *others, *reading)
        read = opened.enter_context(sandbox.run_to_file(caller.tenant_id, kind, *parts))
        row.id = new_id("dst")
        row.picked_for = model.commitment
        row.sha256 = read.read(_HASH_BYTES).hex()
        row.size = int.from_bytes(read.read(intake.COUNT_BYTES), "little")
        row.samples, size = encryption.put_file(runtime, f"dataset:{row.id}", read)
    terms = replace(terms, size=size)
    return jobs.submit(
        runtime, caller, "dataset", row, terms, "dataset.create", handed=handed, stored=[row.samples]
    )


def reveal(runtime: Runtime, caller: Principal, dataset_id: str) -> OpeningFile:
    """Return the openings that show that the shards' commitments are to the caller's dataset.

    The audit log notes who fetched them. Raises ``NotFoundError``, ``ConflictError``
    (``conflict.dataset_not_ready``).
    """
    with runtime.database.write() as session:
        dataset = Datasets(session, caller.tenant_id).ready(dataset_id)
        audit.note(session, caller, "dataset.reveal", dataset_id)
    return basis.open_openings(runtime, dataset)


def delete(runtime: Runtime, caller: Principal, dataset_id: str) -> None:
    """Raises ``NotFoundError``, ``ConflictError`` (``conflict.in_use``)."""
    with runtime.database.write() as session:
        dataset = Datasets(session, caller.tenant_id).delete(dataset_id)
        audit.note(session, caller, "dataset.delete", dataset_id)
    jobs.delete(runtime, [dataset.samples, dataset.openings])


def _check_measure(dataset: Dataset) -> None:
    if dataset.measure and takes_targets(dataset.measure) != (dataset.compared == "targets"):
        raise RequestError(
            "request.invalid", f"measure: {dataset.measure} is not of {dataset.compared}", field="measure"
        )


def _check_shard_size(runtime: Runtime, model: Model, quantised: bytes, dataset: Dataset) -> None:
    values = asking.ask(model.job.tenant_id, "committed_count", quantised, model.weight_privacy)
    points = basis.basis_length(runtime, registry.find(model.system), values)
    most = intake.samples_in(quantised, dataset.compared, dataset.output, points)
    if most < (dataset.shard_size or 1):
        raise RequestError(
            "request.invalid",
            f"shard_size: the basis that commitments about this model are over has points for {most} of its"
            " samples: cut the dataset into more shards",
            field="shard_size",
        )
