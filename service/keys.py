"""Keys of ceremonies: put in the place of the service's own, and asked for where a model takes no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy.orm import Session

from zenserve.circuits.r1cs.folding import FEWEST_FOLDED
from zenserve.errors import ConflictError, RequestError
from zenserve.prover import registry
from zenserve.prover.system import CommitmentKey, ProofSystem
from zenserve.service import basis as bases
from zenserve.service import engine
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.resources import Model
from zenserve.service.storage.repositories import Circuits
from zenserve.verifier.documents import KeyFile
from zenserve.verifier.keys import opened
from zenserve.verifier.system import CEREMONY, VerifyingKey

_UNSAID: Final = ("batch", "measure", "norm", "fold_inputs")
"""The fields that descriptions leave out where they have their default."""
_FORM: Final = ("scheme", "privacy", "reveal", "top", "bounds", "output", *_UNSAID)


def circuit_of(runtime: Runtime, key: KeyFile) -> str:
    """The digest of the circuit whose key this is. Raises ``ConflictError`` (``conflict.basis``) where it
    links to no basis of the service.
    """
    read = opened(key)
    system, verifying = registry.find(read.system.id), read.verifying
    over = _same_basis(runtime, system, verifying)
    return engine.digest_of(system.id, verifying.statement_digest, key.circuit, over)


def install(session: Session, circuit: str, stored: str, size: int, key: KeyFile) -> None:
    """Have proofs of this circuit made with the proving key in the store, of ``size`` bytes, from now on."""
    Circuits(session).replace(circuit, stored, key, key.circuit["constraints"]["total"], size)


def measuring(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a description for a measure.

    There are none for accuracy, and ``top`` alone for ``top-k``. ``output`` and the norm of a radius are
    added where the request has them.
    """
    names = {"accuracy": (), "top-k": ("measure", "top")}.get(asked["measure"], ("measure",))
    return {name: asked[name] for name in (*names, *(["output"] if "output" in asked else []))} | within(
        asked
    )


def within(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The same of the norm of a radius: of the largest change nothing."""
    return {name: norm for name, norm in engine.within(asked).items() if norm != "inf"}


def bounding(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The same of ranges: how many bounds."""
    reveal = asked["reveal"]
    shown = [reveal] if isinstance(reveal, str) else reveal.values()
    return {"bounds": engine.bounds_count(asked)} if "range" in shown else {}


def form_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``Circuit.describe`` that tell a circuit from others of the same network."""
    return {name: description[name] for name in _FORM if name in description}


def require_ceremony(session: Session, model: Model, wanted: Mapping[str, Any]) -> None:
    """Raises ``ConflictError`` (``conflict.ceremony``) where the model takes keys of ceremonies alone, and
    there is none for the form that is ``wanted``: as ``form_of`` has it, at least in part.
    """
    if not model.require_ceremony:
        return
    for key in Circuits(session).of_network(model.network or "", model.system):
        form = form_of(key.circuit)
        if "fold_inputs" in wanted and _too_few_to_fold(key.circuit):
            form |= {"fold_inputs": wanted["fold_inputs"]}
        privacy = form["privacy"] | wanted.get("privacy", {}) == form["privacy"]
        rest = form | {name: wanted[name] for name in wanted if name != "privacy"} == form
        unsaid = all(form.get(name) == wanted.get(name) for name in _UNSAID)
        if privacy and rest and unsaid and key.document["setup"] == CEREMONY:
            return
    frames = wanted.get("batch") if wanted["scheme"] == "inference" else None
    raise none_yet(f"batches of {frames} frames" if frames else "this form of proof")


def _too_few_to_fold(description: Mapping[str, Any]) -> bool:
    """Whether the circuit is the same with its inputs folded and without."""
    return sum(int(group["count"]) for group in description["public_inputs"]) < FEWEST_FOLDED


def check_ceremonies(system: ProofSystem, field: str = "require_ceremony") -> None:
    """Raises ``RequestError`` where there are no ceremonies for keys of this proof system."""
    if CEREMONY not in system.setups:
        raise RequestError(
            "request.invalid", f"{field}: there are no ceremonies for keys of {system.id}", field=field
        )


def none_yet(form: str = "this form of proof") -> ConflictError:
    return ConflictError(
        "conflict.ceremony",
        f"the model requires keys of a ceremony, and for {form} there is none: open a ceremony for"
        " it (POST /v1/ceremonies, `zenserve ceremonies open`), or set require_ceremony to false"
        " (PATCH /v1/models/{id})",
        field="require_ceremony",
    )


def _same_basis(runtime: Runtime, system: ProofSystem, key: VerifyingKey) -> CommitmentKey | None:
    """The basis of the service that the key links to, if it links to one."""
    if key.basis is None:
        return None
    for basis in bases.load_bases(runtime, system):
        if basis.identity == key.basis:
            return basis
    raise ConflictError(
        "conflict.basis",
        "the key links to commitments over another basis than this service has: hold the ceremony over"
        " the powers of tau that `zenserve basis import` gave the service",
    )
