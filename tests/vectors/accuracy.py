"""Accuracies: shards left out, counted twice, relabelled, counted otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.client.makers import Part, rehashed
from tests.vectors.world import World
from tests.vectors.writing import Vectors
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import ProofDocument


def write(vectors: Vectors, world: World) -> None:
    a, data, model = world.assessor, world.data, world.model.commitment.hex()
    key, parts = a.maker.key_file, a.parts(data)
    dataset, total = a.dataset(parts, data.sha256), sum(part.counts[0] for part in parts)
    honest = a.prove(a.state(dataset, total), parts)

    def case(name: str, comment: str, document: Any, reason: str = "ok", **told: Any) -> None:
        vectors.case(f"accuracy/{name}", comment, document, key, reason, **told)

    def proven(those: Sequence[Part], count: int | None = None, **more: Any) -> ProofDocument:
        count = sum(part.counts[0] for part in those) if count is None else count
        return a.prove(a.state(a.dataset(those, data.sha256, **more), count), those)

    def given(other: LabelledData = data) -> dict[str, Any]:
        return {"dataset": other.samples.tolist(), "labels": other.labels.tolist()}

    case("valid", "Eight samples in three shards.", honest)
    case("seen", "The dataset is the one given.", honest, **given())
    told: dict[str, Any] = {"registration": world.registered, "registration_key": world.registrar.key_file}
    case("registered", "With the model's registration.", honest, model=model, **told)
    hidden = a.parts(data, hiding=True)
    private = a.prove(a.state(a.dataset(hidden, None), total), hidden)
    opening = a.opening_file(hidden)
    case("private", "The dataset is private.", private)
    case("opened", "It is the one given.", private, **given(), opening=opening)
    case("unopened", "No opening.", private, "dataset_mismatch", **given(), compared=False)
    fewer = opening.model_copy(update={"parts": opening.parts[1:]})
    case("one-unopened", "One is missing.", private, "dataset_mismatch", **given(), opening=fewer)
    moved = LabelledData.of(data.samples[::-1], data.labels[::-1])
    case("moved", "In another order.", private, "dataset_mismatch", **given(moved), opening=opening)
    told = given()
    vectors.case(
        "inference/no-dataset",
        "It is about none.",
        world.shown,
        world.public.key_file,
        "dataset_mismatch",
        compared=False,
        **told,
    )

    case(
        "swapped-proofs", "Of two shards.", _with(honest, proofs=_swapped(honest.proofs)), "dataset_mismatch"
    )
    fields = honest.statement.model_dump()["dataset"]
    for name in ("dataset", "correct"):
        shards = [dict(shard) for shard in fields["shards"]]
        shards[0][name], shards[1][name] = shards[1][name], shards[0][name]
        lie = rehashed(honest, dataset=fields | {"shards": shards})
        document = a.prove(lie.statement, parts)
        case(f"swapped-{name}", "Proven for the lie.", document, f"{name}_mismatch")
    case("fewer-proofs", "Two for three.", _with(honest, proofs=honest.proofs[1:]), "shard_missing")
    rest = proven(parts[1:])
    case("rest", "The others, proven as if they were all.", rest)
    case("rest-seen", "Who has the dataset can tell.", rest, "shard_missing", **given())

    again = replace(parts[1], correct=a.maker.commit(np.array(parts[1].counts)))
    case("twice", "A shard twice.", proven([parts[1], *parts[1:]]), "shard_repeated")
    case("twice-again", "Its count committed to anew.", proven([again, *parts[1:]]), "shard_repeated")
    values = a.circuit.dataset_values(again.samples, again.labels)
    both = proven([replace(again, dataset=a.maker.commit(values)), *parts[1:]])
    case("twice-hidden", "Both anew: only who has the dataset can tell.", both)
    case("twice-seen", "As here.", both, "dataset_mismatch", **given())
    shared = [replace(part, correct=parts[0].correct) for part in parts]
    case("shared-count", "One commitment for all counts.", proven(shared), "shard_repeated")

    for name, sizes in (("full", (3, 3, 3)), ("hole", (2, 3, 3)), ("large", (3, 4, 1))):
        others = [replace(part, size=size) for part, size in zip(parts, sizes, strict=True)]
        document = proven(others, size=8)
        case(f"sizes-{name}", f"Sizes {sizes}.", document, "shard_missing")
    big = [replace(parts[0], size=4), replace(parts[1], size=3)]
    case("sizes-last", "The last is larger than any.", proven(big[::-1], size=7), "shard_missing")
    last = parts[-1]
    samples, labels = last.samples.copy(), last.labels.copy()
    samples[2], labels[2] = samples[0], labels[0]
    filled = replace(
        last,
        samples=samples,
        labels=labels,
        counts=a.circuit.counts(samples, labels).tolist(),
        dataset=a.maker.commit(a.circuit.dataset_values(samples, labels), hiding=False),
    )
    filled = replace(filled, correct=a.maker.commit(np.array(filled.counts)))
    case("padding", "Padding that counts.", proven([*parts[:-1], filled]), "pairing_mismatch")

    case("total", "One more than there are.", proven(parts, total + 1), "total_mismatch")
    seven = a.state(dataset.model_copy(update={"size": 7}), 7).model_copy(update={"dataset": dataset})
    case("size", "Seven of seven, of a dataset of eight.", a.prove(seven, parts), "total_mismatch")
    case("size-sum", "Nine samples, in shards of eight.", proven(parts, size=9), "shard_missing")
    beyond = replace(parts[0], correct=a.maker.commit(np.array([5])), counts=[5])
    document = a.prove(a.state(a.dataset([beyond, *parts[1:]], data.sha256), 9), [beyond, *parts[1:]])
    case("beyond", "Nine of eight.", document, "total_mismatch")
    case("blinding", "It opens nothing.", proven(parts, blinding="0" * 64), "total_mismatch")
    case("blinding-beyond", "It is above r.", proven(parts, blinding="f" * 64), "opening_blinding")
    better = replace(parts[0], correct=a.maker.commit(np.array([3])), counts=[3])
    case("count", "A count that is not the shard's.", proven([better, *parts[1:]]), "correct_mismatch")

    other = world.held["input"].commitment.hex()
    picked = proven(parts, picked_for=other)
    case("picked", "For another model.", picked, "dataset_mismatch")
    whose = {"commitments": {"model": other}, "dataset": fields | {"picked_for": other}}
    document = a.prove(rehashed(honest, **whose).statement, parts)
    case("model", "Another model's commitment.", document, "model_mismatch")

    labels = data.labels.copy()
    labels[2] = (labels[2] + 2) % 3
    relabelled = LabelledData.of(data.samples, labels)
    case("relabelled", "Another dataset was given.", honest, "dataset_mismatch", **given(relabelled))
    theirs = a.parts(relabelled)
    document = a.prove(a.state(a.dataset(theirs, data.sha256), 8), theirs)
    case("right-hash", "Other labels, the right hash.", document, "dataset_mismatch", **given())
    document = a.prove(a.state(a.dataset(parts, relabelled.sha256), total), parts)
    case("wrong-hash", "The right ones, another hash.", document, "dataset_mismatch", **given())
    opened = [shard | {"opening": fields["shards"][1]["opening"]} for shard in fields["shards"]]
    document = a.prove(rehashed(honest, dataset=fields | {"shards": opened}).statement, parts)
    case("others-opening", "Openings of one shard for all.", document, "dataset_mismatch", **given())
    short = LabelledData.of(data.samples[..., :2], data.labels)
    claimed = a.dataset(parts, short.sha256)
    document = a.prove(a.state(claimed, total), parts)
    case("wrong-shape", "Of another shape, the right hash.", document, "dataset_mismatch", **given(short))


def _with(document: ProofDocument, **changes: Any) -> ProofDocument:
    return document.model_copy(update=changes)


def _swapped(proofs: Sequence[str]) -> list[str]:
    first, second, *others = proofs
    return [second, first, *others]
