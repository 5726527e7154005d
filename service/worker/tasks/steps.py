"""Steps that several kinds of jobs take: open a model, make the keys of a circuit, prove, check."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from sqlalchemy.orm import Session

from zenserve.base.randomness import Secrets
from zenserve.circuits import Circuit
from zenserve.circuits.schemes import proving
from zenserve.prover import registry
from zenserve.prover.size import Size
from zenserve.prover.system import CommitmentKey, Opening, ProofSystem, Renewable
from zenserve.prover.witness import Witness
from zenserve.service import engine, intake, proving_keys
from zenserve.service.basis import require_basis
from zenserve.service.jobs.claims import Claims
from zenserve.service.keys import none_yet
from zenserve.service.openings import Openings
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records import resources
from zenserve.service.storage.records.resources import Model
from zenserve.service.storage.repositories import Circuits, key_file
from zenserve.service.worker.heartbeat import Hold
from zenserve.verifier.documents import KeyFile, ProofDocument, Statement
from zenserve.verifier.judging import judge
from zenserve.verifier.keys import opened
from zenserve.verifier.system import CEREMONY

_MEASURED_OF: Final = 16
"""Proofs, of which the kernels of one are measured: events beside each of hundreds take a while."""
_PROOFS: Final = count()
"""Of this process."""


@dataclass(frozen=True)
class Keys:
    """The keys of a circuit: the proving key's path, and the verification key as it is handed on."""

    system: ProofSystem
    proving: Path
    file: KeyFile
    digest: str
    """Of the circuit."""
    basis: CommitmentKey | None
    """The basis that the circuit links to, if it links to any."""
    expected: dict[str, float] | None
    """Seconds per stage that its proofs took before, with this backend."""
    fresh: bool
    """Made by this job."""


def model_opening(runtime: Runtime, model: Model) -> dict[str, Opening]:
    """Return the openings that proofs about the model link to, by the name of the segment.

    There are none where weights are public.
    """
    if model.commitment is None or model.blinding is None:
        return {}
    data = runtime.vault.open(model.blinding, f"blinding:{model.id}")
    read = registry.find(model.system).commitments.read_opening
    return {"model": read(bytes.fromhex(model.commitment) + data)}


def require_keys(runtime: Runtime, hold: Hold, circuit: Circuit, model: Model) -> Keys:
    """The keys of a circuit, made where there are none yet, or the store has lost them. Stages: those of the
    system's setup, "store".

    Raises ``ConflictError`` (``conflict.ceremony``) where they are not of a ceremony, and the model takes no
    others.
    """
    system = registry.find(model.system)
    basis = model_basis(runtime, hold, circuit, model) if circuit.commitments else None
    digest, store = engine.circuit_digest(system, circuit, basis), runtime.store
    with runtime.database.read() as session:
        known = Circuits(session).find(digest)
        if model.require_ceremony and not (known and key_file(known.verification_key).setup == CEREMONY):
            raise none_yet()
    if known and (file := proving_keys.find(runtime, known)):
        return _keys(system, known, file, basis, hold.backend, fresh=False)
    proving.require_memory(system, circuit, runtime.settings.threads)
    _expect(runtime, hold, system, circuit, with_setup=True)
    with store.scratch() as scratch:
        key = proving.setup(system, circuit, basis, scratch, runtime.settings.threads, hold.progress)
        hold.progress("store", 0.0)
        size = scratch.stat().st_size
        proving_key = store.adopt(scratch)
    with runtime.database.write() as session:
        circuits, constraints = Circuits(session), circuit.constraint_system.constraints
        if known and circuits.is_still(digest, known.proving_key):
            circuits.replace(digest, proving_key, key, constraints, size)
        kept = circuits.add(digest, proving_key, key, constraints, size)
    keys = _keys(system, kept, store.path(kept.proving_key), basis, hold.backend, fresh=True)
    if kept.proving_key != proving_key:  # another worker was faster
        store.delete(proving_key)
    return keys


def model_basis(runtime: Runtime, hold: Hold, circuit: Circuit, model: Model) -> CommitmentKey:
    """Return the basis of commitments about the model.

    ``circuit`` is one of its network. The basis is made if nothing was committed about the model yet. Stage:
    "basis".
    """
    values = intake.count_of(circuit.qgraph, model.weight_privacy)
    return require_basis(runtime, registry.find(model.system), values, hold.progress)


def prove(
    runtime: Runtime,
    hold: Hold,
    circuit: Circuit,
    keys: Keys,
    witness: Callable[..., Witness],
    openings: Mapping[str, Opening],
    *,
    uncounted: Collection[str] = (),
) -> bytes:
    """One proof. Before it opens a commitment, that is counted where it has to be, but for ``uncounted``
    ones: whose values are public, or that nobody knows yet.
    """
    if keys.expected:
        with runtime.database.write() as session:
            Claims(session).expect(hold.claim, keys.expected)
    elif not keys.fresh:
        _expect(runtime, hold, keys.system, circuit, with_setup=False)
    counted = {name: openings[name] for name in circuit.commitments if name not in uncounted}

    def spent(z: Witness) -> Mapping[str, Opening]:
        if not (counted and isinstance(keys.basis, Renewable)):
            return openings
        counting, secret = Openings(runtime, keys.system.commitments, keys.basis), Secrets()
        values = {name: secret(proving.committed_values(circuit, z, name).copy()) for name in counted}
        hold.afterwards += partial(counting.renew_ahead, counted, values), secret.erase
        return {**openings, **counting.spend(counted, values, hold.progress)}

    measured = next(_PROOFS) % _MEASURED_OF == 0
    with proving.where(keys.system).kernels() if measured else nullcontext({}) as kernels:
        proof = proving.prove(
            keys.system, circuit, keys.proving, witness, spent, runtime.settings.threads, hold.progress
        )
    hold.kernels |= kernels
    hold.rows += circuit.constraint_system.constraints
    return proof


def _expect(runtime: Runtime, hold: Hold, system: ProofSystem, circuit: Circuit, *, with_setup: bool) -> None:
    """Foretell the stages of a circuit that was never proven: on processors, since what they take on a GPU
    nobody can tell, and of jobs that make one proof under one key.
    """
    if hold.backend == "cpu" and hold.claim.kind in ("proof", "shard"):
        found = system.estimate(Size.of(circuit.constraint_system), runtime.settings.threads)
        setup, proof = (dict(stages) for stages in (found.setup_seconds, found.proof_seconds))
        with runtime.database.write() as session:
            Claims(session).expect(hold.claim, hold.timings() | (setup if with_setup else {}) | proof)


def learn(session: Session, hold: Hold, keys: Keys, timings: dict[str, float]) -> None:
    """Note with the circuit that a proof succeeded, and how long it took, but for one that made its keys; and
    what kernels took, if that was measured."""
    if hold.kernels:
        Claims(session).took(hold.claim, hold.kernels)
    Circuits(session).used(keys.digest, hold.backend, None if keys.fresh else timings)


def _keys(
    system: ProofSystem,
    circuit: resources.Circuit,
    proving: Path,
    basis: CommitmentKey | None,
    backend: str,
    *,
    fresh: bool,
) -> Keys:
    return Keys(
        system=system,
        proving=proving,
        file=key_file(circuit.verification_key),
        digest=circuit.digest,
        basis=basis,
        expected=(circuit.seconds or {}).get(backend),
        fresh=fresh,
    )


def checked(
    runtime: Runtime, hold: Hold, statement: Statement, proofs: list[bytes], key: KeyFile
) -> ProofDocument:
    """The proof file, judged as any verifier would: what does not convince is not handed out."""
    hold.progress("self-check", 0.0)
    proving_keys.load_circuit(runtime, opened(key, registry.SYSTEMS))
    document = ProofDocument.of(statement, proofs)
    verdict = judge(document, key, systems=registry.SYSTEMS)
    if not verdict.valid:
        raise RuntimeError(f"the fresh proof does not verify: {verdict.reason}")
    return document
