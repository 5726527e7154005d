"""Accuracies without a setup: shards counted twice, left out, of another size or model, other totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.client import makers
from tests.client.makers import rehashed
from tests.vectors.transparent import BASIS, SYSTEM, Maker
from tests.vectors.world import Json, World
from tests.vectors.writing import Vectors
from zenserve.circuits import QuantGraph, compile_accuracy
from zenserve.verifier.documents import ProofDocument


class Assessor(makers.AccuracyMaker):
    """Proves a dataset shard by shard, and their total, without a setup."""

    maker: Maker

    def __init__(self, graph: QuantGraph, model: Any, batch: int, output: str | None = None) -> None:
        self.circuit = compile_accuracy(graph, batch=batch, weight_privacy="committed", output=output)
        self.maker, self.model, self.radius = Maker.of_circuit(self.circuit), model, None

    def opened(self, parts: Sequence[makers.Part]) -> bytes:
        openings: list[Any] = [part.correct for part in parts]
        return SYSTEM.commitments.open_sum(BASIS, openings, [part.counts for part in parts])


def write(vectors: Vectors, world: World) -> None:
    """Proofs are long: what is refused before they are read goes without."""
    data, model = world.data, makers.model_opening(world.graph, BASIS)
    assessor = Assessor(world.graph, model, batch=4)
    key, file = assessor.maker.key_file, assessor.maker.circuit_file
    parts = assessor.parts(data)
    (total,) = assessor.totals(parts)
    dataset = assessor.dataset(parts, data.sha256)
    honest = assessor.prove(assessor.state(dataset, total), parts)

    def case(name: str, comment: str, document: ProofDocument, reason: str = "ok", **told: Any) -> None:
        vectors.case(f"transparent/accuracy-{name}", comment, document, key, reason, circuit=file, **told)

    def claimed(count: int, proofs: int = 2, **changes: Any) -> ProofDocument:
        unopened = {} if count != total or "blinding" in changes else {"blinding": ""}
        statement = assessor.state(dataset.model_copy(update=unopened | changes), count)
        return ProofDocument.of(statement, [b""] * proofs)

    case("valid", "Eight samples in two shards.", honest)
    seen = {"dataset": data.samples.tolist(), "labels": data.labels.tolist()}
    case("seen", "The dataset is the one given.", honest, **seen)
    case("total", "One more than there are.", claimed(total + 1), "total_mismatch")
    opened = bytes.fromhex(dataset.blinding)
    changed = (opened[:-1] + bytes([opened[-1] ^ 1])).hex()
    case("sum", "The proof of the total was changed.", claimed(total, blinding=changed), "total_mismatch")
    twice = assessor.dataset([parts[0], parts[0]], data.sha256)
    document = ProofDocument.of(assessor.state(twice, 2 * parts[0].counts[0]), [b""] * 2)
    case("twice", "A shard twice, and its count.", document, "shard_repeated")
    case("fewer-proofs", "A proof for two shards.", claimed(total, proofs=1), "shard_missing")
    case("missing", "A shard for eight samples.", claimed(total, shards=dataset.shards[:1]), "shard_missing")
    case("size", "Nine samples, in shards of eight.", claimed(total, size=9), "shard_missing")
    theirs = makers.model_opening(world.graph, BASIS).commitment.hex()
    case("picked", "For another model.", claimed(total, picked_for=theirs), "dataset_mismatch")
    about: Json = {"commitments": {"model": theirs}}
    about |= {"dataset": dataset.model_dump() | {"picked_for": theirs}}
    # Without most of what is opened: what a proof is about stands before that.
    proofs = [bytes.fromhex(proof[: len(proof) // 8 * 2]) for proof in honest.proofs]
    document = ProofDocument.of(rehashed(honest, **about).statement, proofs)
    case("model", "Another model's commitment.", document, "model_mismatch")
