"""Holding ceremonies: opened, contributed to, closed and finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from sqlalchemy.orm import Session

from zenserve.errors import ConflictError, RequestError, StatementError
from zenserve.prover import registry
from zenserve.prover.groth16.ceremony import require_powers
from zenserve.service import encryption, intake, keys, powers
from zenserve.service.access import audit
from zenserve.service.access.principal import Principal
from zenserve.service.jobs.jobs import Jobs, Terms
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.base import new_id
from zenserve.service.storage.records.ceremonies import Ceremony, CeremonyCircuit, Contribution, HandedState
from zenserve.service.storage.records.resources import Model
from zenserve.service.storage.repositories import Ceremonies, Models, VerificationKeys
from zenserve.service.storage.repositories.uploads import Uploads
from zenserve.service.submissions import asking, jobs
from zenserve.service.submissions.estimates import Estimate
from zenserve.service.submissions.requests import (
    CeremonyRequest,
    CircuitRequest,
    CloseRequest,
    ContributionRequest,
    FinishRequest,
    HandedStateRequest,
)
from zenserve.verifier.fields import canonical

Phase = Literal["opening", "open", "closing", "finished"]

_TAKES: Final = {
    "registration": (),
    "inference": ("input_privacy", "reveal", "outputs", "top", "bounds", "batch", "fold_inputs"),
    "recognition": ("input_privacy", "reference_privacy"),
    "accuracy": ("shard_size", "measure", "top", "norm"),
    "robustness": ("input_privacy", "norm"),
}
_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "registration": {},
    "inference": {"input_privacy": "private", "top": 1},
    "recognition": {"input_privacy": "private", "reference_privacy": "public"},
    "accuracy": {"measure": "accuracy", "top": 1},
    "robustness": {"input_privacy": "public"},
}
_MEMORY_PER_BYTE: Final = 4
"""Of a state: what verifying the next one, or closing, takes, coarsely."""


def phase_of(ceremony: Ceremony) -> Phase:
    """Return the present phase of a ceremony."""
    if ceremony.beacon is not None:
        return "finished"
    if ceremony.closing_at is not None:
        return "closing"
    return "open" if ceremony.job.state == "succeeded" else "opening"


def start(
    runtime: Runtime, caller: Principal, body: CeremonyRequest, idempotency_key: str | None = None
) -> str:
    """Queue the opening of a ceremony, which belongs to the tenant of the model. Its id, or that of the one
    which the ``Idempotency-Key`` made. Raises ``ZenError``.
    """
    with runtime.database.read() as session:
        model = Models(session, caller.sight).ready(body.model_id)
        terms = Terms(
            tenant_id=model.job.tenant_id,
            idempotency_key=idempotency_key,
            request_macs=runtime.vault.macs(b"ceremony", canonical(body.model_dump(exclude_none=True))),
        )
        if earlier := Jobs(session).earlier(terms):
            return earlier
        keys.check_ceremonies(registry.find(model.system), "model_id")
        quantised = encryption.open_network(runtime, model)
        asked = [
            _asked(session, model, quantised, each, f"circuits.{at}") for at, each in enumerate(body.circuits)
        ]
    values = asking.ask(caller.tenant_id, "committed_count", quantised, model.weight_privacy)
    digest = powers.powers_digest(runtime, values)
    row = Ceremony(id=new_id("cer"), model_id=model.id, name=body.name, asked=asked, powers=digest)
    return jobs.submit(runtime, caller, "ceremony", row, terms, "ceremony.create")


def contribute(
    runtime: Runtime,
    caller: Principal,
    ceremony_id: str,
    body: ContributionRequest,
    idempotency_key: str | None = None,
) -> str:
    """Queue the verification of a contribution. Its id, or that of the one which the ``Idempotency-Key``
    made. Raises ``ZenError``.
    """
    macs = runtime.vault.macs(b"contribution", canonical([ceremony_id, body.model_dump()]))
    terms = Terms(tenant_id=caller.tenant_id, idempotency_key=idempotency_key, request_macs=macs)
    with runtime.database.read() as session:
        if earlier := Jobs(session).earlier(terms):
            return earlier
    row = Contribution(id=new_id("ctb"), ceremony_id=ceremony_id)

    def prepare(session: Session) -> Estimate:
        ceremonies = Ceremonies(session, caller.tenant_id)
        _require_idle(ceremonies, ceremony_id, "open")
        circuits = ceremonies.circuits(ceremony_id)
        row.handed = _take_states(Uploads(session), caller.tenant_id, circuits, body.states)
        return _estimate(sum(circuit.next_size for circuit in circuits))

    action = "ceremony.contribute"
    return jobs.submit(
        runtime, caller, "contribution", row, terms, action, target=ceremony_id, prepare=prepare
    )


def close(runtime: Runtime, caller: Principal, ceremony_id: str, body: CloseRequest) -> None:
    """Take no more contributions. Raises ``NotFoundError``, ``ConflictError``."""
    with runtime.database.write() as session:
        ceremonies = Ceremonies(session, caller.sight)
        ceremony = _require_idle(ceremonies, ceremony_id, "open")
        if not ceremonies.contributions(ceremony_id):
            raise ConflictError(
                "conflict.ceremony_phase", "nobody has contributed yet: everybody would know its secrets"
            )
        ceremony.closes_with, ceremony.rounds = body.beacon, body.rounds
        ceremony.closing_at = clock(session)
        audit.note(session, caller, "ceremony.close", ceremony_id, tenant_id=ceremony.job.tenant_id)


def finish(runtime: Runtime, caller: Principal, ceremony_id: str, body: FinishRequest) -> str:
    """Queue the contribution of the beacon's value, which makes the keys, and return its id. Raises
    ``NotFoundError``, ``ConflictError``, ``CeremonyError`` (``ceremony.no_contributions``).
    """
    with runtime.database.read() as session:
        tenant_id = Ceremonies(session, caller.sight).get(ceremony_id).job.tenant_id
    row, terms = Contribution(id=new_id("ctb"), ceremony_id=ceremony_id, beacon=body.value), Terms(tenant_id)

    def prepare(session: Session) -> Estimate:
        ceremonies = Ceremonies(session, caller.sight)
        ceremony = _require_idle(ceremonies, ceremony_id, "closing")
        require_powers(ceremony.powers_contributions or 0, development=body.development)
        return _estimate(sum(circuit.size for circuit in ceremonies.circuits(ceremony_id)))

    action = "ceremony.finish"
    return jobs.submit(
        runtime, caller, "contribution", row, terms, action, target=ceremony_id, prepare=prepare
    )


def delete(runtime: Runtime, caller: Principal, ceremony_id: str) -> None:
    """Keys that it made stay. Raises ``NotFoundError``, ``ConflictError`` (``conflict.in_use``)."""
    with runtime.database.write() as session:
        ceremonies = Ceremonies(session, caller.sight)
        tenant_id = ceremonies.get(ceremony_id).job.tenant_id
        states = ceremonies.delete(ceremony_id)
        audit.note(session, caller, "ceremony.delete", ceremony_id, tenant_id=tenant_id)
    jobs.delete(runtime, states)


def _take_states(
    uploads: Uploads,
    tenant_id: str,
    circuits: Sequence[CeremonyCircuit],
    states: Sequence[HandedStateRequest],
) -> list[HandedState]:
    """The uploads, each the state of its circuit after one more contribution: they are that from now on."""
    if len(states) != len(circuits):
        raise RequestError(
            "request.invalid", f"states: give {len(circuits)}, one for each circuit", field="states"
        )
    handed = []
    for at, (circuit, each) in enumerate(zip(circuits, states, strict=True)):
        if each.extends != circuit.state:
            raise ConflictError(
                "conflict.stale",
                "the ceremony has gone on meanwhile: fetch its states again, and contribute to those",
                field=f"states.{at}.extends",
            )
        upload = uploads.get(tenant_id, each.sha256, f"states.{at}.sha256")
        if upload.size != circuit.next_size:
            raise RequestError(
                "request.size",
                f"states.{at}: a contribution makes a file of {circuit.next_size} bytes, and the upload"
                f" has {upload.size}",
                field=f"states.{at}.sha256",
            )
        handed.append(HandedState(position=at, sha256=each.sha256, content=upload.content))
    for state in handed:
        uploads.delete(tenant_id, state.sha256)
    return handed


def _asked(
    session: Session, model: Model, quantised: bytes, body: CircuitRequest, field: str
) -> dict[str, Any]:
    """Return the request for the circuit that the job is to compile.

    Raises ``RequestError``, ``NotFoundError``, ``StatementError``.
    """
    given = body.model_dump(exclude_none=True)
    if key_id := given.pop("verification_key_id", None):
        if given:
            raise _invalid(field, "with a verification_key_id give nothing else")
        key = VerificationKeys(session).get(key_id)
        if key.circuit["network"] != model.network:
            raise _invalid(field, "the key is of another network")
        return {"verification_key_id": key_id}
    scheme = given.pop("scheme", None)
    if scheme is None:
        raise _invalid(field, "give a scheme, or a verification_key_id")
    for name in given:
        if name not in _TAKES[scheme]:
            raise _invalid(f"{field}.{name}", f"the scheme {scheme} does not take it", field)
    if scheme == "registration" and model.commitment is None:
        raise _invalid(field, "the model's weights are public, nothing is registered")
    if scheme == "accuracy" and "shard_size" not in given:
        raise _invalid(field, "give the dataset's shard_size")
    if {"reveal", "outputs"} <= given.keys():
        raise _invalid(f"{field}.outputs", "give reveal, of all outputs, or outputs, by their names", field)
    shown = {given.get("reveal"), *given.get("outputs", {}).values()}
    if ("top" in shown or given.get("measure") == "top-k") != ("top" in given):
        raise _invalid(
            f"{field}.top", 'give it with "reveal": "top" or "measure": "top-k", and only then', field
        )
    if scheme == "accuracy" and "norm" in given and given.get("measure") != "certified":
        raise _invalid(f"{field}.norm", 'give it with "measure": "certified", and only then', field)
    if ("range" in shown) != ("bounds" in given):
        raise _invalid(f"{field}.bounds", 'give it with "reveal": "range", and only then', field)
    asked: dict[str, Any] = {"scheme": scheme} | _DEFAULTS[scheme] | given
    try:
        if "input_privacy" in asked:
            given_privacy = asked["input_privacy"]
            asking.ask(model.job.tenant_id, "check_privacy", quantised, given_privacy, model.weight_privacy)
        if scheme == "inference":
            asked["reveal"] = intake.revealed(quantised, asked.pop("outputs", asked.get("reveal")))
    except StatementError as error:
        error.field = field
        raise
    return asked


def _estimate(size: int) -> Estimate:
    return {"memory": _MEMORY_PER_BYTE * size, "cost": 0.0, "constraints": 0}


def _require_idle(ceremonies: Ceremonies, ceremony_id: str, wanted: Phase) -> Ceremony:
    """The ceremony, locked. Raises ``ConflictError`` unless it is in this phase, and no contribution to it is
    being verified.
    """
    ceremony = ceremonies.locked(ceremony_id)
    phase = phase_of(ceremony)
    if phase != wanted:
        raise ConflictError(
            "conflict.ceremony_phase", f"the ceremony is {phase}, and this is for one that is {wanted}"
        )
    if pending := ceremonies.pending(ceremony_id):
        raise ConflictError(
            "conflict.contribution",
            f"{pending} is being verified: wait for it, then fetch the ceremony again",
        )
    return ceremony


def _invalid(place: str, reason: str, field: str | None = None) -> RequestError:
    return RequestError("request.invalid", f"{place}: {reason}", field=field or place)
