"""Proofs of accuracy: planned by one job, proven shard by shard by its children, put together by it again.

The plan fixes the statement, with a commitment to the count of each shard, before anything is proven: all
shards prove under the one hash. It is written in the transaction that makes the children, so a plan that was
interrupted is made anew, and one that was written is never made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from zenserve.circuits import Accuracy
from zenserve.circuits.schemes import proving
from zenserve.errors import ConflictError, FileFormatError
from zenserve.prover.registry import SYSTEMS
from zenserve.service import basis as bases
from zenserve.service import deleted, encryption, engine, openings, proving_keys
from zenserve.service import documents as kept_documents
from zenserve.service.basis import open_openings
from zenserve.service.batches import Batch
from zenserve.service.jobs.claims import Claims
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import now
from zenserve.service.storage.records.base import new_id
from zenserve.service.storage.records.resources import Dataset, Proof, Shard
from zenserve.service.storage.repositories import Datasets, Proofs, Shards, VerificationKeys
from zenserve.service.worker.heartbeat import Hold
from zenserve.service.worker.tasks import steps
from zenserve.service.worker.tasks.datasets import open_batches
from zenserve.verifier import documents
from zenserve.verifier.documents import OpeningFile, OpeningPart, Statement, checked
from zenserve.verifier.fields import timestamp
from zenserve.verifier.keys import opened
from zenserve.verifier.words import make_statement


def prove_accuracy(runtime: Runtime, hold: Hold) -> None:
    """Plan the shards and wait for them; or, once they are all proven, put the proof together."""
    with runtime.database.read() as session:
        proof = Proofs(session).get(hold.claim.id)
    if proof.document is None:
        _plan(runtime, hold, proof)
    else:
        _assemble(runtime, hold, proof)


def prove_shard(runtime: Runtime, hold: Hold) -> None:
    """Prove how many samples of one shard the model gets right, without telling."""
    hold.progress("load model", 0.0)
    with runtime.database.read() as session:
        shard = Shards(session).get(hold.claim.id)
        proof = Proofs(session).get(shard.proof_id)
        dataset = _dataset(Datasets(session), proof)
    shared = _shared(runtime, proof, dataset)
    circuit = shared.circuit
    keys = steps.require_keys(runtime, hold, circuit, proof.model)
    if keys.file.id != proof.verification_key_id:
        raise ConflictError(
            "conflict.changed", "the circuit has another key since this proof began: ask for a new proof"
        )
    batch, part = shared.batches[shard.position], shared.openings[shard.position]
    assert shard.opening is not None  # noqa: S101  it is there until the proof is over
    read = keys.system.commitments.read_opening
    held = steps.model_opening(runtime, proof.model) | {
        "dataset": read(bytes.fromhex(part.commitment + part.opening["blinding"])),
        "correct": read(runtime.vault.open(shard.opening, f"count:{shard.id}")),
    }
    radius = proof.request.get("radius")
    witness = partial(circuit.witness, *batch.parts, radius=radius, statement=shared.statement)
    shown = {"dataset"} if dataset.privacy == "public" else set()
    made = steps.prove(runtime, hold, circuit, keys, witness, held, uncounted=shown)
    with runtime.database.write() as session:
        timings = hold.timings()
        if Claims(session).succeed(hold.claim, timings, hold.rows):
            steps.learn(session, hold, keys, timings)
            Shards(session).get(shard.id).proof = made


def _plan(runtime: Runtime, hold: Hold, proof: Proof) -> None:
    hold.progress("load model", 0.0)
    with runtime.database.read() as session:
        dataset = _dataset(Datasets(session), proof)
    circuit, batches = _open(runtime, dataset, proof.request)
    keys = steps.require_keys(runtime, hold, circuit, proof.model)
    basis = steps.model_basis(runtime, hold, circuit, proof.model)
    counts, committed, radius = [], [], proof.request.get("radius")
    threads, place = runtime.settings.threads, proving.where(keys.system)
    hold.progress("count", 0.0)
    given = [batch.parts for batch in batches]
    for counted in circuit.counts_of(given, radius=radius, threads=threads, on=place):
        counts.append(counted)
        committed.append(bases.commit(basis, counted, threads))
        hold.progress("count", len(counts) / len(batches))
    statement = make_statement(
        keys.file,
        values=circuit.totals(counts, dataset.size, radius=radius),
        commitments={"model": proof.model.commitment} if proof.model.commitment else {},
        made_at=timestamp(now()),
        dataset=_described(
            dataset,
            open_openings(runtime, dataset),
            batches,
            [opening.commitment for opening in committed],
            keys.system.commitments.open_sum(basis, committed, [each.tolist() for each in counts]),
        ),
        challenge=proof.request.get("challenge"),
        saturates=proof.model.saturate,
    )
    ids = [new_id("shd") for _ in batches]
    with runtime.database.write() as session:
        if not Claims(session).wait(hold.claim, "shards", hold.timings()):
            return
        proof = Proofs(session).get(proof.id)
        proof.verification_key_id = keys.file.id
        proof.document = {"statement": statement.model_dump(mode="json")}
        Jobs(session).create_children(proof.id, "shard", ids)
        for position, (shard_id, opening) in enumerate(zip(ids, committed, strict=True)):
            # The total opened it once, and nobody has seen that before now.
            openings.add(runtime, session, basis, opening.commitment, proof.id, spent=1)
            secret = runtime.vault.seal(opening.to_bytes(), f"count:{shard_id}")
            Shards(session).add(Shard(id=shard_id, proof_id=proof.id, position=position, opening=secret))
    for shard_id in ids:
        runtime.queue.send(shard_id, proof.job.queue)


def _assemble(runtime: Runtime, hold: Hold, proof: Proof) -> None:
    _at_hand.pop(proof.id, None)
    with runtime.database.read() as session:
        proofs = [shard.proof or b"" for shard in Shards(session).of(proof.id)]
        key = VerificationKeys(session).get(proof.verification_key_id or "")
        dataset = _dataset(Datasets(session), proof)
    try:
        proving_keys.load_circuit(runtime, opened(key, SYSTEMS))
    except FileFormatError:  # the store lost it since the shards were proven
        steps.require_keys(runtime, hold, _compiled(runtime, dataset, proof.request)[0], proof.model)
    kept = kept_documents.keep(runtime, steps.checked(runtime, hold, _statement(proof), proofs, key))
    with runtime.database.write() as session:
        if Claims(session).succeed(hold.claim, proof.job.timings | hold.timings()):
            kept.write(Proofs(session).get(proof.id))
            return
    if kept.stored is not None:
        runtime.store.delete(kept.stored)


@dataclass(frozen=True, eq=False)
class _Shared:
    """The data that all shards of a proof are proven with.

    To open it takes longer than to prove one shard on a GPU.
    """

    circuit: Accuracy
    batches: list[Batch]
    openings: list[OpeningPart]
    statement: int


_at_hand: Final[dict[str, _Shared]] = {}
"""Of the proof that this worker last proved a shard of, by its id: until it takes up another one, or puts
this one together."""
deleted.forgets(_at_hand.clear)


def _shared(runtime: Runtime, proof: Proof, dataset: Dataset) -> _Shared:
    shared = _at_hand.get(proof.id)
    if shared is None:
        _at_hand.clear()
        opened, parts = _open(runtime, dataset, proof.request), open_openings(runtime, dataset).parts
        shared = _at_hand[proof.id] = _Shared(*opened, parts, _statement(proof).scalar)
    return shared


def _open(runtime: Runtime, dataset: Dataset, asked: Mapping[str, Any]) -> tuple[Accuracy, list[Batch]]:
    circuit, quantised = _compiled(runtime, dataset, asked)
    return circuit, open_batches(runtime, dataset, circuit.batch, quantised)


def _compiled(runtime: Runtime, dataset: Dataset, asked: Mapping[str, Any]) -> tuple[Accuracy, bytes]:
    """The circuit of a shard, and the quantised network."""
    quantised, batch = encryption.open_network(runtime, dataset.model), dataset.shard_size
    assert batch is not None  # noqa: S101  committed datasets have one
    options = engine.measuring(asked)
    circuit = engine.compile_circuit(
        quantised, "accuracy", weight_privacy=dataset.model.weight_privacy, batch=batch, **options
    )
    assert isinstance(circuit, Accuracy)  # noqa: S101  narrows the type
    return circuit, quantised


def _described(
    dataset: Dataset, opened: OpeningFile, batches: list[Batch], counts: list[bytes], blinding: bytes
) -> documents.Dataset:
    """Return the statement's description of the dataset.

    It has the openings of the dataset's commitments if the dataset is public. ``counts``: the commitments to
    the counts, whose sum ``blinding`` opens.
    """
    public = dataset.privacy == "public"
    return documents.Dataset(
        sha256=dataset.sha256 if public else None,
        size=dataset.size,
        picked_for=dataset.picked_for,
        shards=[
            documents.Shard(
                size=batch.size,
                dataset=part.commitment,
                correct=count.hex(),
                opening=part.opening if public else None,
            )
            for batch, part, count in zip(batches, opened.parts, counts, strict=True)
        ],
        blinding=blinding.hex(),
    )


def _statement(proof: Proof) -> Statement:
    planned: dict[str, Any] = proof.document or {}
    return checked(Statement, planned["statement"])


def _dataset(datasets: Datasets, proof: Proof) -> Dataset:
    assert proof.dataset_id is not None  # noqa: S101  datasets in use are not deleted
    return datasets.get(proof.dataset_id)
