"""Steps that several kinds of jobs take: open a model, make the keys of a circuit, prove, check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from circuits import Circuit
from client.documents import KeyFile, ProofDocument, Statement
from client.verification import judge
from kernels import FrArray
from prover import Opening
from service import engine, sealed
from service.basis import load_basis
from service.heartbeat import Hold
from service.repositories import Circuits, key_file
from service.runtime import Runtime
from service.tables import Model


@dataclass(frozen=True)
class Keys:
    """The keys of a circuit: the proving key's path, and the verification key as it is handed on."""

    proving: Path
    file: KeyFile


def open_network(runtime: Runtime, model: Model) -> bytes:
    """The quantised network."""
    return sealed.get(runtime, f"model:{model.id}", model.quantised)


def model_opening(runtime: Runtime, model: Model) -> dict[str, Opening]:
    """What proofs about the model link to, by the name of the segment: nothing where weights are public."""
    if model.commitment is None or model.blinding is None:
        return {}
    data = runtime.vault.open(model.blinding, f"blinding:{model.id}")
    return {"model": Opening.from_bytes(bytes.fromhex(model.commitment) + data)}


def require_keys(runtime: Runtime, hold: Hold, circuit: Circuit) -> Keys:
    """The keys of a circuit, made where there are none yet. Stages: those of ``prover.setup``, "store"."""
    # What the circuit links to was committed over the basis: so it is there.
    basis = load_basis(runtime.settings) if circuit.commitments else None
    digest, store = engine.circuit_digest(circuit, basis), runtime.store
    with runtime.database.read() as session:
        if known := Circuits(session).find(digest):
            return Keys(store.path(known.proving_key), key_file(known.verification_key))
    engine.require_memory(circuit, runtime.settings.threads)
    scratch = store.scratch()
    try:
        key = engine.setup(circuit, basis, scratch, runtime.settings.threads, hold.progress)
        hold.progress("store", 0.0)
        proving_key = store.adopt(scratch)
    finally:
        scratch.unlink(missing_ok=True)
    with runtime.database.write() as session:
        kept = Circuits(session).add(digest, proving_key, key)
        keys = Keys(store.path(kept.proving_key), key_file(kept.verification_key))
    if kept.proving_key != proving_key:  # another worker was faster
        store.delete(proving_key)
    return keys


def prove(
    runtime: Runtime,
    hold: Hold,
    circuit: Circuit,
    keys: Keys,
    witness: Callable[[], FrArray],
    openings: Mapping[str, Opening],
) -> bytes:
    """One proof."""
    return engine.prove(circuit, keys.proving, witness, openings, runtime.settings.threads, hold.progress)


def checked(hold: Hold, statement: Statement, proofs: list[bytes], key: KeyFile) -> ProofDocument:
    """The proof file, judged as any verifier would: what does not convince is not handed out."""
    hold.progress("self-check", 0.0)
    document = ProofDocument.of(statement, proofs)
    verdict = judge(document, key)
    if not verdict.valid:
        raise RuntimeError(f"the fresh proof does not verify: {verdict.reason}")
    return document
