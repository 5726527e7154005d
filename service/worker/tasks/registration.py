"""Registering a model: its commitment, the proof about it, the keys of its proofs, and a signed receipt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from zenserve import circuits
from zenserve.circuits import QuantGraph, Registration
from zenserve.prover import registry
from zenserve.prover.size import Size
from zenserve.prover.system import CommitmentKey, Opening
from zenserve.service import basis as bases
from zenserve.service import encryption, engine, openings
from zenserve.service.jobs.claims import Claims
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import clock, now
from zenserve.service.storage.records.resources import Model
from zenserve.service.storage.repositories import Models
from zenserve.service.storage.repositories.secrets import Issuers
from zenserve.service.worker.heartbeat import Hold
from zenserve.service.worker.tasks import steps
from zenserve.verifier.documents import LISTING, MOST_TWINS, Parent, ProofDocument, Receipt, Twin, named
from zenserve.verifier.fields import timestamp
from zenserve.verifier.receipts import signed_bytes
from zenserve.verifier.words import make_statement


class _Committed(NamedTuple):
    basis: CommitmentKey
    opening: Opening
    registration: ProofDocument


def register_model(runtime: Runtime, hold: Hold) -> None:
    """Commit to the weights, prove that they are what they should be, and make the keys of the default
    proof.
    """
    with runtime.database.read() as session:
        model = Models(session).get(hold.claim.id)
        parent = Models(session).get(model.parent_id) if model.parent_id else None
    quantised = encryption.open_network(runtime, model)
    committed: _Committed | None = None
    if model.weight_privacy == "committed":
        committed = _commit(runtime, hold, quantised, model, parent)
    hold.progress("compile", 0.0)
    circuit = engine.compile_circuit(quantised, "inference", weight_privacy=model.weight_privacy)
    keys = steps.require_keys(runtime, hold, circuit, model)
    with runtime.database.write() as session:
        if Claims(session).succeed(hold.claim, hold.timings(), hold.rows):
            model = Models(session).get(model.id)
            model.network = circuit.network.hex()
            model.estimate = engine.estimate(
                keys.system,
                Size.of(circuit.constraint_system),
                circuit.constraint_system.constraints,
                runtime.settings.threads,
            )
            model.verification_key_id = keys.file.id
            if committed is not None:
                opening = committed.opening
                # Its registration opened it once, and nobody has seen that before now.
                openings.add(runtime, session, committed.basis, opening.commitment, model.id, spent=1)
                model.commitment = opening.commitment.hex()
                model.blinding = runtime.vault.seal(opening.blinding_bytes, f"blinding:{model.id}")
                model.registration = committed.registration.model_dump(mode="json")
            Issuers(session).note(runtime.vault.issuer.hex(), clock(session))
            twins = Models(session).twins(model)
            model.receipt = _receipt(runtime, model, parent, twins).model_dump(mode="json")


def _commit(runtime: Runtime, hold: Hold, quantised: bytes, model: Model, parent: Model | None) -> _Committed:
    """A commitment to the network, and the proof of its registration."""
    parameters = circuits.parameters(QuantGraph.from_bytes(quantised))
    basis = bases.require_basis(runtime, registry.find(model.system), len(parameters), hold.progress)
    hold.progress("commit", 0.0)
    opening = bases.commit(basis, parameters, runtime.settings.threads)
    hold.progress("compile", 0.0)
    circuit = engine.compile_circuit(quantised, "registration")
    assert isinstance(circuit, Registration)  # noqa: S101  narrows the type
    keys = steps.require_keys(runtime, hold, circuit, model)
    statement = make_statement(
        keys.file,
        values={},
        commitments={"model": opening.commitment.hex()},
        made_at=timestamp(now()),
        parent=parent.commitment if parent else None,
    )
    witness = partial(circuit.witness, statement=statement.scalar)
    own = {"model": opening}
    proof = steps.prove(runtime, hold, circuit, keys, witness, own, uncounted=own)
    return _Committed(basis, opening, steps.checked(runtime, hold, statement, [proof], keys.file))


def _receipt(runtime: Runtime, model: Model, parent: Model | None, twins: Sequence[Model]) -> Receipt:
    assert model.network is not None  # noqa: S101  registration sets it
    more: dict[str, Any] = {"saturates": True} if model.saturate else {}
    if twins:
        latest = twins[-MOST_TWINS:]
        listed = [Twin(system=each.system, model_id=each.id, commitment=each.commitment) for each in latest]
        more |= {"version": LISTING, "twins": listed}
    receipt = Receipt(
        **named(registry.find(model.system)) | more,
        model_id=model.id,
        name=model.name,
        commitment=model.commitment,
        network=model.network,
        parent=Parent(model_id=parent.id, commitment=parent.commitment) if parent else None,
        registration=model.registration["statement_sha256"] if model.registration else None,
        registered_at=timestamp(now()),
        issuer=runtime.vault.issuer.hex(),
        signature="0" * 128,
    )
    signature = runtime.vault.sign(signed_bytes(receipt))
    return receipt.model_copy(update={"signature": signature.hex()})
