"""Committing a dataset, shard by shard."""

from __future__ import annotations

from zenserve.errors import TensorError
from zenserve.prover import registry
from zenserve.prover.system import CommitmentKey
from zenserve.service import basis as bases
from zenserve.service import encryption, engine, intake, openings
from zenserve.service.batches import Batch, cut, even
from zenserve.service.encryption import Integers
from zenserve.service.jobs.claims import Claims
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.resources import Dataset
from zenserve.service.storage.repositories import Datasets
from zenserve.service.worker.heartbeat import Hold
from zenserve.verifier.documents import OpeningFile, OpeningPart, named


def commit_dataset(runtime: Runtime, hold: Hold) -> None:
    """Cut the dataset into shards and commit to each: in the open, if it is public, so that the commitments
    are a function of the content.
    """
    with runtime.database.read() as session:
        dataset = Datasets(session).get(hold.claim.id)
    quantised = encryption.open_network(runtime, dataset.model)
    system = registry.find(dataset.model.system)
    needed = intake.committed_count(quantised, dataset.model.weight_privacy)
    basis = bases.require_basis(runtime, system, needed, hold.progress)
    hold.progress("size", 0.0)
    batch = dataset.shard_size or _shard_size(runtime, dataset, quantised, basis.length)
    batches = open_batches(runtime, dataset, batch, quantised)
    parts = []
    for index, shard in enumerate(batches):
        hold.progress("commit", index / len(batches))
        values = intake.committed_samples(quantised, dataset.compared, dataset.output, *shard.committed)
        parts.append(_committed(basis, values, runtime.settings.threads, hiding=dataset.privacy == "private"))
    _refuse_equal(parts)
    opened = OpeningFile(**named(system), kind="dataset", parts=parts)
    stored = encryption.put(runtime, f"openings:{dataset.id}", opened.model_dump_json().encode())
    with runtime.database.write() as session:
        if Claims(session).succeed(hold.claim, hold.timings(), hold.rows):
            dataset = Datasets(session).get(dataset.id)
            if dataset.privacy == "private":
                for part in parts:
                    openings.add(runtime, session, basis, bytes.fromhex(part.commitment), dataset.id)
            dataset.shard_size, dataset.openings = batch, stored
            dataset.shards = [
                {"size": shard.size, "commitment": part.commitment}
                for shard, part in zip(batches, parts, strict=True)
            ]
            return
    runtime.store.delete(stored)


def open_batches(runtime: Runtime, dataset: Dataset, batch: int, quantised: bytes) -> list[Batch]:
    """The dataset's shards in the clear."""
    secrets = encryption.get_secrets(runtime, f"dataset:{dataset.id}", dataset.samples)
    fills = intake.fillings(quantised, dataset.model.weight_privacy, dataset.compared, dataset.output)
    return cut(secrets, batch, fills)


def _committed(basis: CommitmentKey, values: Integers, threads: int, *, hiding: bool) -> OpeningPart:
    opening = bases.commit(basis, values, threads, hiding=hiding)
    revealed = bases.reveal(basis, opening, values, threads)
    return OpeningPart(commitment=opening.commitment.hex(), opening=revealed)


def _refuse_equal(parts: list[OpeningPart]) -> None:
    """Verifiers take a commitment that comes twice for a shard that is counted twice."""
    seen: dict[str, int] = {}
    for index, part in enumerate(parts):
        if (earlier := seen.setdefault(part.commitment, index)) != index:
            raise TensorError(
                "input.repeated",
                f"shards {earlier} and {index} hold the same samples in the same order: leave one of them"
                " out, or take another shard_size",
                field="samples",
            )


def _shard_size(runtime: Runtime, dataset: Dataset, quantised: bytes, points: int) -> int:
    """As many samples in one proof as fit the memory and the basis."""
    system, privacy = registry.find(dataset.model.system), dataset.model.weight_privacy
    compared, output = dataset.compared, dataset.output
    most = min(dataset.size, intake.samples_in(quantised, compared, output, points))
    measure, threads = dataset.measure or engine.usual(compared), runtime.settings.threads
    return even(
        dataset.size,
        engine.largest_batch(system, quantised, privacy, measure, output, most, threads),
    )
