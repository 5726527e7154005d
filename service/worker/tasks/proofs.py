"""Proofs about one input: inference, recognition and robustness."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial

from zenserve.circuits.comparison.differences import Difference, require_near
from zenserve.prover.system import Opening
from zenserve.service import basis as bases
from zenserve.service import documents, encryption, engine, openings
from zenserve.service.encryption import Integers, Secret
from zenserve.service.jobs.claims import Claims
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import now
from zenserve.service.storage.records.resources import Commitment, Proof
from zenserve.service.storage.repositories import Commitments, Proofs
from zenserve.service.worker.heartbeat import Hold
from zenserve.service.worker.tasks import steps
from zenserve.service.worker.tasks.streams import turn_of
from zenserve.verifier.fields import timestamp
from zenserve.verifier.words import make_statement


def make_proof(runtime: Runtime, hold: Hold) -> None:
    """Prove what the model makes of the input; of a frame, the model whose turn it is."""
    hold.progress("load model", 0.0)
    with runtime.database.read() as session:
        proof = Proofs(session).get(hold.claim.id)
    assert proof.input is not None  # noqa: S101  it is there until the job is over
    secrets = encryption.get_secrets(runtime, f"input:{proof.id}", proof.input)
    turn = None if proof.job.parent_id is None else turn_of(runtime, hold, proof, secrets)
    if turn is not None:
        proof, secrets = turn.proof, turn.secrets
    quantised = encryption.open_network(runtime, proof.model)
    task = engine.task(quantised, proof.scheme, proof.model.weight_privacy, proof.request, secrets)
    difference = _difference(runtime, hold, proof, quantised, secrets)
    if difference is not None and turn is None and not _is_accepted(proof):
        require_near([difference])
    keys = steps.require_keys(runtime, hold, task.circuit, proof.model)
    if turn is not None:
        turn.check(keys)
    opened = steps.model_opening(runtime, proof.model)
    read = keys.system.commitments.read_opening
    opened |= {name: read(secret.opening) for name, secret in secrets.items() if secret.opening}
    outputs = _commit(runtime, hold, proof, task)
    opened |= outputs
    statement = make_statement(
        keys.file,
        values=task.values,
        commitments={name: opened[name].commitment.hex() for name in task.circuit.commitments},
        made_at=timestamp(now()),
        challenge=proof.request.get("challenge"),
        saturates=proof.model.saturate,
    )
    witness = partial(task.witness, statement=statement.scalar)
    made = steps.prove(runtime, hold, task.circuit, keys, witness, opened, uncounted=outputs)
    document = steps.checked(runtime, hold, statement, [made], keys.file)
    margins = _margins(runtime, hold, proof, task)
    kept = documents.keep(runtime, document)
    rows = [_held(runtime, proof, name, task.committed[name], outputs[name]) for name in outputs]
    with runtime.database.write() as session:
        timings = hold.timings()
        along = [] if turn is None else turn.others
        succeeded = Claims(session).succeed(hold.claim, timings, hold.rows, along)
        if succeeded:
            steps.learn(session, hold, keys, timings)
            proof = Proofs(session).get(proof.id)
            proof.verification_key_id = keys.file.id
            proof.margins = margins
            proof.difference = None if difference is None else difference.to_json()
            kept.write(proof)
            if turn is not None:
                turn.write(session, document, proof)
            for row, opening in zip(rows, outputs.values(), strict=True):
                Commitments(session).add(row)
                # This proof opened it once, and nobody has seen that before now.
                openings.add(runtime, session, keys.basis, opening.commitment, row.id, spent=1)
    if not succeeded:
        for digest in (kept.stored, *(row.opening for row in rows)):
            if digest is not None:
                runtime.store.delete(digest)


def _difference(
    runtime: Runtime, hold: Hold, proof: Proof, quantised: bytes, secrets: Mapping[str, Secret]
) -> Difference | None:
    """Return the difference between the integers and the floats on this input.

    None for models without floats. Stage: "compare".
    """
    floats = encryption.open_floats(runtime, proof.model)
    if floats is None:
        return None
    hold.progress("compare", 0.0)
    return engine.difference(quantised, floats, proof.scheme, proof.request, secrets)


def _is_accepted(proof: Proof) -> bool:
    """Return whether the owner asked to prove however large the difference."""
    return proof.model.accept_difference or bool(proof.request.get("accept_difference"))


def _commit(runtime: Runtime, hold: Hold, proof: Proof, task: engine.Task) -> dict[str, Opening]:
    """To the outputs of which the proof shows nothing else, by their segments."""
    if not task.committed:
        return {}
    basis, threads = steps.model_basis(runtime, hold, task.circuit, proof.model), runtime.settings.threads
    return {name: bases.commit(basis, values, threads) for name, values in task.committed.items()}


def _margins(runtime: Runtime, hold: Hold, proof: Proof, task: engine.Task) -> bytes | None:
    """Of a certificate, by radius, sealed. Stage: "margins"."""
    if task.course is None:
        return None
    hold.progress("margins", 0.0)
    return runtime.vault.seal(json.dumps(task.course()).encode(), f"margins:{proof.id}")


def _held(runtime: Runtime, proof: Proof, name: str, values: Integers, opening: Opening) -> Commitment:
    """The row of a commitment that the proof made, and in the store what opens it."""
    row_id = proof.request["output_ids"][name]
    secret = Secret(values, opening.to_bytes())
    return Commitment(
        id=row_id,
        tenant_id=proof.job.tenant_id,
        model_id=proof.model_id,
        kind="output",
        commitment=opening.commitment.hex(),
        opening=encryption.put_secrets(runtime, f"commitment:{row_id}", {"value": secret}),
        created_at=now(),
    )
