"""Labels that are right, and near the samples too: another radius, other labels, more than there are."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from tests.circuits.support import random_network
from tests.client.makers import AccuracyMaker, Part, model_opening, rehashed
from tests.vectors.world import World, renamed
from tests.vectors.writing import Vectors
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import ProofDocument

RADIUS, BATCH = 2, 2
SAMPLES = np.array([[100, 120, 90], [30, 200, 10], [255, 0, 128]])


def write(vectors: Vectors, world: World) -> None:
    graph = random_network(3, (3, 3, 2))
    model = model_opening(graph, world.basis)
    maker = AccuracyMaker(graph, world.basis, model, BATCH, "certified", radius=RADIUS)
    labels = graph.run(SAMPLES).argmax(axis=1)
    # Of the second sample another one.
    data = LabelledData.of(graph.input.type.real(SAMPLES), labels ^ np.array([0, 1, 0]))
    parts = maker.parts(data)
    total, sha256 = sum(maker.totals(parts)), data.sha256
    honest = maker.prove(maker.state(maker.dataset(parts, sha256), total), parts)

    def case(name: str, comment: str, document: Any, reason: str = "ok", **told: Any) -> None:
        vectors.case(f"certified/{name}", comment, document, told.pop("key", key), reason, **told)

    def proven(those: list[Part], total: int, by: AccuracyMaker = maker) -> ProofDocument:
        return maker.prove(by.state(maker.dataset(those, sha256), total), those)

    key, said = maker.maker.key_file, honest.statement
    shown = said.values
    given = {"dataset": data.samples.tolist(), "labels": data.labels.tolist()}
    case("valid", "In shards, the last not full; a label is wrong.", honest)
    case("seen", "The dataset and the model are those.", honest, model=model.commitment.hex(), **given)
    right = given | {"labels": labels.tolist()}
    case("relabelled", "The labels given are others.", honest, "dataset_mismatch", **right)

    further = copy(maker)
    further.radius = RADIUS + 1
    lie = proven(parts, total, further)
    case("further", "A larger radius, and so it is proven.", lie, "pairing_mismatch")
    edited = rehashed(honest, values=shown | {"radius": RADIUS + 1})
    case("further-alone", "Its words are as before.", edited, "words_mismatch")
    mixed = lie.model_copy(update={"proofs": [further.prove(lie.statement, parts).proofs[0], lie.proofs[1]]})
    case("further-shard", "One shard is as far, the other is not.", mixed, "pairing_mismatch")
    beyond = rehashed(honest, values=shown | {"radius": graph.input.type.top + 1})
    case("beyond", "Beyond the input's integers.", beyond, "values_mismatch")
    unbounded = rehashed(honest, values={name: shown[name] for name in shown if name != "radius"})
    case("no-radius", "Within none.", unbounded, "values_mismatch")
    other = rehashed(honest, challenge="Again?")
    case("replayed", "Under another challenge.", other, "pairing_mismatch")

    case("total", "One more than there are.", proven(parts, total + 1), "total_mismatch")
    better = replace(parts[0], counts=[2], correct=maker.maker.commit(np.array([2])))
    document = proven([better, parts[1]], total + 1)
    case("count", "The wrong one counts, too.", document, "correct_mismatch")
    theirs = LabelledData.of(data.samples, labels)
    those = maker.parts(theirs)
    document = maker.prove(maker.state(maker.dataset(those, sha256), total + 1), those)
    case("other-labels", "Others are proven, with the right hash.", document, "dataset_mismatch", **given)
    unsaid = [each for each in said.does_not_say if "not certified" not in each]
    document = maker.prove(rehashed(honest, does_not_say=unsaid).statement, parts)
    case("unsaid", "What it is not about is left out.", document, "words_mismatch")

    groups = key.circuit["public_inputs"]
    for name, comment, changes in (
        ("other-step", "A radius in steps that are not the input's.", {"scale": 2 * graph.input.type.scale}),
        ("further-range", "One beyond the input's integers.", {"maximum": 2 * graph.input.type.top + 1}),
    ):
        circuit = key.circuit | {"public_inputs": [*groups[:-1], groups[-1] | changes]}
        case(f"hostile-{name}", comment, honest, "file.json", key=renamed(key, circuit=circuit))
    for name, comment, fields in (
        ("unmeasured", "A radius of what is not certified.", {"measure": "accuracy"}),
        ("no-radius", "What is certified has none.", {"public_inputs": groups[:-1]}),
    ):
        circuit = key.circuit | fields
        case(f"hostile-{name}", comment, honest, "file.json", key=renamed(key, circuit=circuit))
