"""Proofs about one input: inference and recognition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from circuits import Inference, Recognition
from client.documents import Values, timestamp
from client.words import make_statement
from kernels import FrArray
from service import sealed
from service.jobs.lifecycle import Jobs, now
from service.runtime import Runtime
from service.sealed import Secret
from service.storage.repositories import Proofs
from service.storage.tables import Proof
from service.worker import engine
from service.worker.heartbeat import Hold
from service.worker.tasks import steps


@dataclass(frozen=True)
class Task:
    """A circuit with its input: what a proof shows, and its witness for a statement's hash."""

    circuit: Inference | Recognition
    values: Values
    witness: Callable[[int], FrArray]


def make_proof(runtime: Runtime, hold: Hold) -> None:
    """Prove what the model makes of the input."""
    hold.progress("load model", 0.0)
    with runtime.database.read() as session:
        proof = Proofs(session).get(hold.claim.id)
    assert proof.input is not None  # noqa: S101  it is there until the job is over
    secrets = sealed.get_secrets(runtime, f"input:{proof.id}", proof.input)
    task = _task(proof, sealed.open_network(runtime, proof.model), secrets)
    keys = steps.require_keys(runtime, hold, task.circuit)
    openings = steps.model_opening(runtime, proof.model)
    openings |= {name: secret.opening for name, secret in secrets.items() if secret.opening}
    statement = make_statement(
        keys.file.circuit,
        keys.file.reference,
        values=task.values,
        commitments={name: openings[name].commitment.hex() for name in task.circuit.commitments},
        made_at=timestamp(now()),
        challenge=proof.request.get("challenge"),
    )
    witness = partial(task.witness, statement.scalar)
    made = steps.prove(runtime, hold, task.circuit, keys, witness, openings)
    document = steps.checked(hold, statement, [made], keys.file)
    with runtime.database.write() as session:
        timings = hold.timings()
        if Jobs(session).succeed(hold.claim, timings):
            steps.learn(session, hold, keys, timings)
            proof = Proofs(session).get(proof.id)
            proof.verification_key_id = keys.file.id
            proof.document = document.model_dump(mode="json")


def _task(proof: Proof, quantised: bytes, secrets: dict[str, Secret]) -> Task:
    asked, q = proof.request, secrets["input"].values
    options = {"weight_privacy": proof.model.weight_privacy, "input_privacy": asked["input_privacy"]}
    if proof.scheme == "inference":
        options |= {"reveal": asked["reveal"], "top": asked["top"]}
        circuit = engine.compile_circuit(quantised, "inference", **options)
        assert isinstance(circuit, Inference)  # noqa: S101  narrows the type
        inference = circuit
        return Task(inference, inference.values(q), lambda hash_: inference.witness(q, statement=hash_))
    reference, threshold = secrets["reference"].values, asked["threshold"]
    options |= {"reference_privacy": asked["reference_privacy"]}
    circuit = engine.compile_circuit(quantised, "recognition", **options)
    assert isinstance(circuit, Recognition)  # noqa: S101  narrows the type
    recognition = circuit
    return Task(
        recognition,
        recognition.values(q, reference, threshold),
        lambda hash_: recognition.witness(q, reference, threshold, statement=hash_),
    )
