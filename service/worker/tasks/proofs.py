"""Proofs about one input: inference and recognition."""

from __future__ import annotations

from functools import partial

from service import encryption, engine
from service.jobs.claims import Claims
from service.runtime import Runtime
from service.storage.database import now
from service.storage.repositories import Proofs
from service.worker.heartbeat import Hold
from service.worker.tasks import steps
from verifier.documents import timestamp
from verifier.words import make_statement


def make_proof(runtime: Runtime, hold: Hold) -> None:
    """Prove what the model makes of the input."""
    hold.progress("load model", 0.0)
    with runtime.database.read() as session:
        proof = Proofs(session).get(hold.claim.id)
    assert proof.input is not None  # noqa: S101  it is there until the job is over
    secrets = encryption.get_secrets(runtime, f"input:{proof.id}", proof.input)
    quantised = encryption.open_network(runtime, proof.model)
    task = engine.task(quantised, proof.scheme, proof.model.weight_privacy, proof.request, secrets)
    keys = steps.require_keys(runtime, hold, task.circuit, proof.model)
    openings = steps.model_opening(runtime, proof.model)
    read = keys.system.commitments.read_opening
    openings |= {name: read(secret.opening) for name, secret in secrets.items() if secret.opening}
    statement = make_statement(
        keys.file,
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
        if Claims(session).succeed(hold.claim, timings, hold.rows):
            steps.learn(session, hold, keys, timings)
            proof = Proofs(session).get(proof.id)
            proof.verification_key_id = keys.file.id
            proof.document = document.model_dump(mode="json")
