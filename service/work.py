"""What a job does: prepare a model, or make a proof. Runs in a worker, on a claimed job."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np

from circuits import Inference
from service import engine
from service.heartbeat import Hold
from service.jobs import Jobs
from service.repositories import Models, Proofs, VerificationKeys
from service.runtime import Runtime
from service.tables import Model


def prepare_model(runtime: Runtime, hold: Hold) -> None:
    """Compile the circuit and make its keys."""
    model_id, threads = hold.claim.id, runtime.settings.threads
    with runtime.database.read() as session:
        model = Models(session).get(model_id)
    hold.progress("compile", 0.0)
    circuit = open_circuit(runtime, model)
    engine.require_memory(circuit, threads)
    key_file = runtime.store.scratch()
    try:
        key = engine.setup(circuit, key_file, threads, hold.progress)
        hold.progress("store", 0.0)
        proving_key = runtime.store.adopt(key_file)
    finally:
        key_file.unlink(missing_ok=True)
    with runtime.database.write() as session:
        if Jobs(session).succeed(hold.claim, hold.timings()):
            VerificationKeys(session).add(key.digest.hex(), key.to_json(), circuit.describe())
            model = Models(session).get(model_id)
            model.proving_key = proving_key
            model.verification_key_id = key.digest.hex()
            return
    runtime.store.delete(proving_key)


def make_proof(runtime: Runtime, hold: Hold) -> None:
    """Prove what the model makes of the input."""
    proof_id = hold.claim.id
    hold.progress("load model", 0.0)
    with runtime.database.read() as session:
        proof = Proofs(session).get(proof_id)
    model = proof.model
    assert proof.input is not None  # noqa: S101  it is there until the job is over
    assert model.proving_key is not None  # noqa: S101  proofs are accepted for prepared models only
    values = open_input(runtime, proof_id, proof.input)
    circuit = open_circuit(runtime, model)
    result = engine.prove(
        circuit, runtime.store.path(model.proving_key), values, runtime.settings.threads, hold.progress
    )
    with runtime.database.write() as session:
        if Jobs(session).succeed(hold.claim, hold.timings()):
            proof = Proofs(session).get(proof_id)
            proof.proof = result.proof
            proof.public_inputs = [str(value) for value in result.public_inputs]
            proof.label = result.label


WORK: dict[str, Callable[[Runtime, Hold], None]] = {"model": prepare_model, "proof": make_proof}


def seal_model(runtime: Runtime, model_id: str, quantised: bytes) -> str:
    """Put a quantised network into the store. Its digest there."""
    return runtime.store.put(runtime.vault.seal(quantised, f"model:{model_id}"))


def open_model(runtime: Runtime, model: Model) -> bytes:
    """The quantised network."""
    return runtime.vault.open(runtime.store.get(model.quantised), f"model:{model.id}")


def open_circuit(runtime: Runtime, model: Model) -> Inference:
    return engine.compile_model(open_model(runtime, model), model.input_privacy, model.weight_privacy)


def seal_input(runtime: Runtime, proof_id: str, values: engine.Floats) -> str:
    """Put a proof's input into the store. Its digest there."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return runtime.store.put(runtime.vault.seal(buffer.getvalue(), f"input:{proof_id}"))


def open_input(runtime: Runtime, proof_id: str, digest: str) -> engine.Floats:
    data = runtime.vault.open(runtime.store.get(digest), f"input:{proof_id}")
    values: engine.Floats = np.load(io.BytesIO(data), allow_pickle=False)
    return values
