"""Registering networks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, BinaryIO, Final

from sqlalchemy.orm import Session

from zenserve.circuits.quantisation import page
from zenserve.errors import NotFoundError, RequestError
from zenserve.prover import registry
from zenserve.service import basis, encryption, keys
from zenserve.service.access import audit
from zenserve.service.access.principal import Principal
from zenserve.service.deleted import forget_deleted
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.base import new_id
from zenserve.service.storage.records.resources import Model
from zenserve.service.storage.repositories import Models
from zenserve.service.storage.repositories.resources import LATEST, read_reference
from zenserve.service.submissions import asking, estimates, jobs, sandbox
from zenserve.service.submissions.estimates import Estimate
from zenserve.service.submissions.files import Handed
from zenserve.service.submissions.requests import Precision, TwinRequest
from zenserve.verifier.registry import FIRST

# What a twin has of the model whose network it is of.
_SHARED: Final = (
    *("name", "version", "weight_privacy", "bits"),
    *("saturate", "accept_difference", "report", "table"),
)


def register(
    runtime: Runtime,
    caller: Principal,
    row: Model,
    handed: Sequence[Handed],
    sizes: Mapping[str, int],
    precision: Precision,
    labels: dict[str, str] | None = None,
    idempotency_key: str | None = None,
) -> str:
    """Read, quantise and check the network in the files, and queue the registration of ``row``. The model's
    id, or that which the ``Idempotency-Key`` made. Raises ``ZenError``.

    ``row``: without a ``weight_privacy`` its weights are committed, and public where the network has none.
    ``handed``: the model, its calibration and, if there are any, the calibration's labels. ``sizes``: of
    dimensions that the file only names.
    """
    _check_name(row.name)
    system = registry.find(row.system)
    row.system = system.id
    bits = precision.bits
    options = [row.name, row.weight_privacy or "", bits, row.parent_id or "", *(f.sha256 for f in handed)]
    if precision != Precision(bits=bits):
        options.append(precision.model_dump_json())
    if row.require_ceremony:
        options.append("require_ceremony")
    if row.saturate:
        options.append("saturate")
    if row.system != FIRST:
        options.append(row.system)
    shapes = json.dumps(sizes, sort_keys=True)
    if sizes:
        options.append(shapes)
    if row.require_ceremony:
        keys.check_ceremonies(system)
    terms = jobs.terms(runtime, caller, b"model", options, labels, idempotency_key)
    with runtime.database.read() as session:
        if earlier := Jobs(session).earlier(terms):
            return earlier
        _check_parent(Models(session, caller.tenant_id), row)
        taken = _output_taken(runtime, Models(session, caller.tenant_id), precision.input_from)
    with ExitStack() as opened:
        onnx, samples, *classes = (
            opened.enter_context(file.open(runtime, caller.tenant_id)) for file in handed
        )
        asked = precision.asked(row.weight_privacy, taken)
        parts: tuple[bytes | BinaryIO, ...]
        parts = onnx, samples, asked, *(classes or (b"",)), shapes.encode()
        networks = opened.enter_context(sandbox.run_to_file(caller.tenant_id, "read_model", *parts))
        said: dict[str, Any] = json.loads(networks.readline())
        row.weight_privacy = said["weight_privacy"]
        if row.weight_privacy == "committed":
            basis.basis_length(runtime, system, said["committed"])
        row.id = new_id("mdl")
        row.report = said["report"]
        row.table = said["table"]
        row.bits = max(layer["bits"] or 0 for layer in row.report["tuning"]["layers"])
        row.quantised, size = encryption.put_file(
            runtime, f"model:{row.id}", networks, said["quantised_bytes"]
        )
        row.floats, more = encryption.put_file(runtime, f"floats:{row.id}", networks)
    row.accept_difference = precision.accept_difference
    terms = replace(terms, size=size + more)

    def prepare(session: Session) -> Estimate:
        row.version = Models(session).next_version(caller.tenant_id, row.name)
        return estimates.of_keys(runtime, row.system, said["planned"])

    return jobs.submit(
        runtime,
        caller,
        "model",
        row,
        terms,
        "model.create",
        handed=handed,
        stored=[row.quantised, row.floats],
        prepare=prepare,
    )


def add_twin(
    runtime: Runtime,
    caller: Principal,
    model_id: str,
    body: TwinRequest,
    idempotency_key: str | None = None,
) -> str:
    """Queue the registration of a model's network under another proof system, too. The twin's id, or that
    which the ``Idempotency-Key`` made. Raises ``ZenError``.
    """
    system = registry.find(body.system)
    options = [model_id, system.id]
    terms = jobs.terms(runtime, caller, b"twin", options, body.labels, idempotency_key)
    with runtime.database.read() as session:
        if earlier := Jobs(session).earlier(terms):
            return earlier
        model = Models(session, caller.tenant_id).ready(model_id)
    if model.system == system.id:
        reason = f"system: {model_id} is of {system.id}; twins are of others"
        raise RequestError("request.invalid", reason, field="system")
    quantised = encryption.open_network(runtime, model)
    if model.weight_privacy == "committed":
        count = asking.ask(caller.tenant_id, "committed_count", quantised, model.weight_privacy)
        basis.basis_length(runtime, system, count)
    estimate = estimates.of_registration(
        runtime, caller.tenant_id, system.id, quantised, model.weight_privacy
    )
    row = Model(
        id=new_id("mdl"),
        system=system.id,
        twin_id=model.twin_id or model.id,
        **{name: getattr(model, name) for name in _SHARED},
    )
    row.quantised = encryption.put(runtime, f"model:{row.id}", quantised)
    if floats := encryption.open_floats(runtime, model):
        row.floats = encryption.put(runtime, f"floats:{row.id}", floats)
    terms = replace(terms, size=len(quantised) + len(floats or b""))
    stored = [row.quantised, row.floats]
    return jobs.submit(
        runtime, caller, "model", row, terms, "model.create", stored=stored, prepare=lambda _session: estimate
    )


def report_page(model: Model) -> str:
    """Return the quantisation report as a page of HTML without scripts.

    Raises ``NotFoundError`` where there is none: an earlier version registered the model.
    """
    if not model.report or "outputs" not in model.report:
        reason = f"{model.id} has no report: an earlier version registered it; register it anew"
        raise NotFoundError("not_found", reason, field="model_id")
    return page.html(f"Quantisation of {model.name}", model.report)


def change(runtime: Runtime, caller: Principal, model_id: str, *, require_ceremony: bool) -> None:
    """Raises ``NotFoundError``, and ``RequestError`` where the model's proof system has no ceremonies."""
    with runtime.database.write() as session:
        model = Models(session, caller.tenant_id).get(model_id)
        if require_ceremony:
            keys.check_ceremonies(registry.find(model.system))
        model.require_ceremony = require_ceremony
        audit.note(session, caller, "model.change", model.id)


def delete(runtime: Runtime, caller: Principal, model_id: str) -> None:
    """Raises ``NotFoundError``, ``ConflictError`` (``conflict.in_use``)."""
    with runtime.database.write() as session:
        model = Models(session, caller.tenant_id).delete(model_id)
        audit.note(session, caller, "model.delete", model_id)
    jobs.delete(runtime, [model.quantised, model.floats])
    forget_deleted(runtime)


def _output_taken(runtime: Runtime, models: Models, place: str | None) -> dict[str, Any] | None:
    """The type of the output that is to be the input: ``MODEL``, or ``MODEL/OUTPUT``."""
    if place is None:
        return None
    model_id, _, output = place.partition("/")
    model = models.ready(model_id, "input_from")
    quantised = encryption.open_network(runtime, model)
    taken: dict[str, Any] = asking.ask(
        model.job.tenant_id, "output_type", quantised, model.weight_privacy, output
    )
    return taken


def _check_name(name: str) -> None:
    """Check that the name differs from ids and from versions. Raises ``RequestError``."""
    if name.startswith("mdl_") or name.endswith(f"@{LATEST}") or read_reference(name)[1] is not None:
        reason = f"name: it may neither begin with mdl_ nor end in @NUMBER or @{LATEST}: versions do"
        raise RequestError("request.invalid", reason, field="name")


def _check_parent(models: Models, row: Model) -> None:
    if row.parent_id is None:
        return
    parent = models.ready(row.parent_id, "parent_id")
    row.parent_id = parent.id
    if parent.system != row.system:
        raise RequestError(
            "request.invalid",
            f"parent_id: that model's commitment is of {parent.system}; name its twin of {row.system}, or"
            " register both with one system",
            field="parent_id",
        )
    row.weight_privacy = row.weight_privacy or "committed"
    if row.weight_privacy != "committed" or parent.commitment is None:
        raise RequestError(
            "request.invalid",
            "parent_id: versions are commitments; register both models with weight_privacy committed",
            field="parent_id",
        )
