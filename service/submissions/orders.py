"""Orders of proofs: requests, checked field by field against their scheme, then against the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy.orm import Session

from zenserve.errors import ConflictError, RequestError, StatementError
from zenserve.prover import registry
from zenserve.service import basis as bases
from zenserve.service import encryption, intake, keys, openings
from zenserve.service.encryption import Secret
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.base import new_id
from zenserve.service.storage.records.resources import Commitment, Dataset, Model
from zenserve.service.storage.repositories import Commitments, Datasets, Models
from zenserve.service.submissions import asking
from zenserve.service.submissions.requests import InputRequest, ProofRequest
from zenserve.verifier.fields import canonical
from zenserve.verifier.schemes import CommitmentKind, Norm, Privacy

_INPUT: Final = ("input", "input_privacy", "input_id", "accept_difference")
_ENDS: Final = ("at_least", "at_most", "bounds")
TAKES: Final = {
    "inference": (*_INPUT, "inputs", "reveal", "outputs", "top", "fold_inputs", *_ENDS),
    "recognition": (*_INPUT, "reference", "reference_id", "threshold"),
    "accuracy": ("dataset_id", "measure", "top", "radius", "norm"),
    "robustness": (*_INPUT, "radius", "norm"),
}
_ALL: Final = (
    *("model_id", "system", "scheme", "challenge", "labels"),
    *("priority", "deadline_seconds", "expires_in_days"),
)


@dataclass(frozen=True)
class Order:
    """The data that a job needs.

    ``request``: for the proof's row. ``secrets``: to be sealed. ``dataset_id``: the dataset, if it needs one.
    """

    request: dict[str, Any]
    secrets: dict[str, Secret] = field(default_factory=dict)
    dataset_id: str | None = None


def check_fields(body: ProofRequest) -> None:
    """Raises ``RequestError`` (``request.invalid``) where a field is missing, or not one of the scheme's."""
    given = {name for name in ProofRequest.model_fields if getattr(body, name) is not None}
    takes = TAKES[body.scheme]
    for name in sorted(given.difference(takes, _ALL)):
        raise _invalid(name, f"the scheme {body.scheme} does not take it; it takes {', '.join(takes)}")
    if body.scheme == "accuracy":
        _require_one(given, "dataset_id")
        if (body.measure == "top-k") != ("top" in given):
            raise _invalid("top", 'give it with "measure": "top-k", and only then')
        if (body.measure == "certified") != ("radius" in given):
            raise _invalid("radius", 'give it with "measure": "certified", and only then')
        if "norm" in given and "radius" not in given:
            raise _invalid("norm", "give it with a radius, and only then")
        return
    _require_one(given, "input", "input_id", *(["inputs"] if "inputs" in takes else []))
    if {"input_id", "input_privacy"} <= given:
        raise _invalid("input_privacy", "leave it out: an input that input_id names is committed")
    if {"inputs", "input_privacy"} <= given:
        raise _invalid("input_privacy", "each of inputs has a privacy of its own")
    for name, each in (body.inputs or {}).items():
        if (each.values is None) == (each.id is None) or (each.id and each.privacy):
            raise _invalid(f"inputs.{name}", "give values, with their privacy, or the id of a commitment")
    if {"reveal", "outputs"} <= given:
        raise _invalid("outputs", "give reveal, of all outputs, or outputs, by their names")
    if body.scheme == "robustness":
        _require_one(given, "radius")
    elif body.scheme == "recognition":
        _require_one(given, "reference", "reference_id")
        _require_one(given, "threshold")
    elif ("top" in {body.reveal, *(body.outputs or {}).values()}) != ("top" in given):
        raise _invalid("top", 'give it with "reveal": "top", and only then')


def fingerprint(runtime: Runtime, body: ProofRequest) -> tuple[bytes, ...]:
    """The same for the same request, however its numbers are spelled out."""
    rows = b"" if not isinstance(body.input, dict) else canonical(body.input)
    arrays = [
        intake.numbers(values, name)
        for name in ("input", "reference")
        if (values := getattr(body, name)) is not None and not isinstance(values, dict)
    ]
    inputs = body.inputs or {}
    several = {name: each.values for name, each in inputs.items() if each.values is not None}
    arrays += [intake.numbers(several[name], f"inputs.{name}") for name in sorted(several)]
    named: Any = {"inputs": {name: {"values"} for name in several}} if several else {}
    left_out: Any = dict.fromkeys(("input", "reference"), True) | named
    rest = canonical(body.model_dump(exclude=left_out, exclude_none=True))
    parts = [part for array in arrays for part in (str(array.shape).encode(), array.tobytes())]
    parts += [rows] if rows else []
    return runtime.vault.macs(b"proof", rest, *parts)


def model_of(session: Session, tenant_id: str, body: ProofRequest) -> Model:
    """The registered model, or its twin of the proof system that is named. Raises ``StatementError``
    (``statement.system``), ``NotFoundError``, ``ConflictError``.
    """
    system = None if body.system is None else registry.find(body.system).id
    return Models(session, tenant_id).under(body.model_id, system)


def order(runtime: Runtime, session: Session, tenant_id: str, body: ProofRequest, model: Model) -> Order:
    """Return the order of the tenant's request for this model, after all checks. No circuit is compiled.

    Raises ``TensorError``, ``StatementError``, ``RequestError``, ``NotFoundError``, ``ConflictError``.
    """
    made = _order(runtime, session, tenant_id, body, model)
    dataset = Datasets(session, tenant_id).ready(made.dataset_id) if made.dataset_id else None
    keys.require_ceremony(session, model, _form(body, made, dataset))
    openings.check(session, _opened(model, made, dataset))
    return made


def _opened(model: Model, made: Order, dataset: Dataset | None) -> list[str]:
    """The commitments that the proof is to be about, in hex."""
    length = registry.find(model.system).commitments.commitment_bytes
    held = [secret.opening[:length].hex() for secret in made.secrets.values() if secret.opening]
    shards = [shard["commitment"] for shard in (dataset.shards or [])] if dataset else []
    return [*([model.commitment] if model.commitment else []), *held, *shards]


def _order(runtime: Runtime, session: Session, tenant_id: str, body: ProofRequest, model: Model) -> Order:
    said: dict[str, Any] = {"challenge": body.challenge} if body.challenge else {}
    said |= {"accept_difference": True} if body.accept_difference else {}
    if body.scheme == "accuracy":
        dataset = Datasets(session, tenant_id).ready(str(body.dataset_id))
        if dataset.model_id != model.id:
            raise _invalid("dataset_id", f"the dataset is for {dataset.model_id}; add it for this model")
        measure = intake.measured(dataset.compared, body.measure)
        if body.top is not None:
            quantised = encryption.open_network(runtime, model)
            output = intake.measured_name(quantised, dataset.compared, dataset.output)
            intake.check_top(quantised, {output: "top"}, body.top)
        if body.radius is not None:
            said |= _ball(tenant_id, encryption.open_network(runtime, model), body)
        if dataset.output is not None:
            said |= {"output": dataset.output}
        return Order(said | {"measure": measure, "top": body.top or 1}, dataset_id=dataset.id)
    quantised = encryption.open_network(runtime, model)
    secrets, privacy = _inputs(runtime, Commitments(session, tenant_id), body, model, quantised)
    request: dict[str, Any] = said | {"input_privacy": privacy, "input_id": body.input_id}
    if body.scheme == "inference":
        request |= _folding(body, model)
        reveal = intake.revealed(quantised, body.outputs or body.reveal)
        if body.top is not None:
            intake.check_top(quantised, reveal, body.top)
        if kept := asking.ask(tenant_id, "outputs_kept", quantised, model.weight_privacy, reveal):
            _require_room(runtime, model, quantised, max(kept.values()))
            request["output_ids"] = {name: new_id("cmt") for name in kept}
        asked = {name: getattr(body, name) for name in _ENDS}
        if bounds := asking.ask(tenant_id, "bounded", quantised, model.weight_privacy, reveal, asked):
            request["bounds"] = bounds
        return Order(request | {"reveal": reveal, "top": body.top or 1}, secrets)
    if body.scheme == "robustness":
        return Order(request | _ball(tenant_id, quantised, body), secrets)
    intake.check_threshold(quantised, int(body.threshold or 0))
    if body.reference_id is not None:
        secrets["reference"] = _committed(
            runtime, Commitments(session, tenant_id), model, "reference", body.reference_id
        )
    else:
        secrets["reference"] = Secret(asking.reference(model, quantised, body.reference, "reference"))
    request |= {
        "reference_privacy": "committed" if body.reference_id else "public",
        "reference_id": body.reference_id,
        "threshold": body.threshold,
    }
    return Order(request, secrets)


def _folding(body: ProofRequest, model: Model) -> dict[str, Any]:
    """Raises ``RequestError`` where the model's proof system folds nothing."""
    if not body.fold_inputs:
        return {}
    if "folded inputs" not in registry.find(model.system).capabilities:
        raise _invalid("fold_inputs", f"the proof system {model.system} has no folded inputs: leave it out")
    return {"fold_inputs": True}


def _inputs(
    runtime: Runtime, commitments: Commitments, body: ProofRequest, model: Model, quantised: bytes
) -> tuple[dict[str, Secret], Privacy | dict[str, Privacy]]:
    """The input and its privacy, or those of several by their names."""
    if body.inputs is None:
        only = InputRequest(values=body.input, id=body.input_id, privacy=body.input_privacy)
        intake.check_inputs(quantised, None)
        return {"input": _input(runtime, commitments, only, model, quantised)}, _privacy(only)
    intake.check_inputs(quantised, body.inputs)
    secrets = {
        f"input/{name}": _input(runtime, commitments, each, model, quantised, name)
        for name, each in body.inputs.items()
    }
    return secrets, {name: _privacy(each) for name, each in body.inputs.items()}


def _input(
    runtime: Runtime,
    commitments: Commitments,
    given: InputRequest,
    model: Model,
    quantised: bytes,
    name: str | None = None,
) -> Secret:
    if given.id is not None:
        row = commitments.get(given.id, "input_id")
        if row.kind == "output":
            return _handed_on(runtime, row, model, quantised)
        held = _committed(runtime, commitments, model, "input", given.id)
        return Secret(intake.committed_input(quantised, held.values, name), held.opening)
    field = "input" if name is None else f"inputs.{name}"
    saturate, table = model.saturate, model.table
    return Secret(intake.read_input(quantised, given.values, field, name, saturate=saturate, table=table))


def _ball(tenant_id: str, quantised: bytes, body: ProofRequest) -> dict[str, Any]:
    """Check the radius of the inputs' distance and return it with its norm."""
    norm: Norm = body.norm or "inf"
    asking.ask(tenant_id, "check_radius", quantised, int(body.radius or 0), norm)
    return {"radius": body.radius, "norm": norm}


def _privacy(given: InputRequest) -> Privacy:
    return "committed" if given.id else given.privacy or "private"


def _form(body: ProofRequest, order: Order, dataset: Dataset | None) -> dict[str, Any]:
    """Return the fields that tell the order's circuit from others of its network (``keys.form_of``)."""
    asked = order.request
    if dataset is not None:
        return {"scheme": body.scheme, "batch": dataset.shard_size} | keys.measuring(asked)
    given = asked["input_privacy"]
    several = given if isinstance(given, dict) else {}
    privacy = {f"input/{name}": each for name, each in several.items()} or {"input": given}
    if body.scheme == "recognition":
        return {"scheme": body.scheme, "privacy": privacy | {"reference": asked["reference_privacy"]}}
    if body.scheme == "robustness":
        return {"scheme": body.scheme, "privacy": privacy} | keys.within(asked)
    form = {"scheme": body.scheme, "privacy": privacy, "reveal": asked["reveal"], "top": asked["top"]}
    return form | keys.bounding(asked) | ({"fold_inputs": True} if "fold_inputs" in asked else {})


def _committed(
    runtime: Runtime, commitments: Commitments, model: Model, kind: CommitmentKind, commitment_id: str
) -> Secret:
    name = f"{kind}_id"
    row = commitments.get(commitment_id, name)
    if row.kind != kind:
        raise _invalid(name, f"the commitment is to a value of kind {row.kind}, not {kind}")
    if row.model_id != model.id:
        raise _invalid(name, f"the commitment is for {row.model_id}; make one for this model")
    return encryption.get_secrets(runtime, f"commitment:{row.id}", row.opening)["value"]


def _handed_on(runtime: Runtime, row: Commitment, model: Model, quantised: bytes) -> Secret:
    """An output that a proof about another model, or this one, committed to. Raises ``ConflictError``
    (``conflict.basis``) where both do not share a basis."""
    held = encryption.get_secrets(runtime, f"commitment:{row.id}", row.opening)["value"]
    taken = intake.taken_output(quantised, held.values)
    made = encryption.open_network(runtime, row.model)
    over = [
        bases.find_basis(
            runtime,
            registry.find(each.system),
            asking.ask(model.job.tenant_id, "committed_count", network, each.weight_privacy),
        )
        for each, network in ((row.model, made), (model, quantised))
    ]
    if row.model.system != model.system or over[0] != over[1]:
        raise ConflictError(
            "conflict.basis",
            f"what is committed to about {row.model_id}, of {row.model.system}, is over another basis than"
            " about this model: register both with one system, at a service whose first basis"
            " (ZENSERVE_BASIS_POINTS) has points enough for both",
            field="input_id",
        )
    return Secret(taken, held.opening)


def _require_room(runtime: Runtime, model: Model, quantised: bytes, values: int) -> None:
    """Check that the basis of commitments about the model is long enough for so many values.

    Raises ``StatementError`` (``statement.basis_length``).
    """
    needed = asking.ask(model.job.tenant_id, "committed_count", quantised, model.weight_privacy)
    points = bases.basis_length(runtime, registry.find(model.system), needed)
    if values > points:
        raise StatementError(
            "statement.basis_length",
            f"commitments about this model are to {points:,} values at most, and one to this output is to"
            f" {values:,}",
            field="reveal",
        )


def _require_one(given: set[str], *names: str) -> None:
    if len(given.intersection(names)) != 1:
        raise _invalid(names[0], f"give {' or '.join(names)}, one of them" if names[1:] else "give it")


def _invalid(name: str, reason: str) -> RequestError:
    return RequestError("request.invalid", f"{name}: {reason}", field=name)
