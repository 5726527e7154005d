"""Accuracies over samples of several inputs: inputs, names or a row's parts in each other's place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.circuits.test_accuracy_inputs import KIND, network, scores
from tests.client.makers import AccuracyMaker, Part, model_opening, rehashed
from tests.vectors import transparent
from tests.vectors.transparent_accuracy import Assessor
from tests.vectors.world import World, renamed
from tests.vectors.writing import Vectors
from zenserve.circuits import QuantGraph
from zenserve.kernels import fr
from zenserve.relations.integers import IntArray
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.description import Description
from zenserve.verifier.documents import KeyFile, ProofDocument, checked
from zenserve.verifier.words import claim

Json = dict[str, Any]
BATCH, SIZE = 3, 5
OUTPUT = "scores"


def write(vectors: Vectors, world: World) -> None:
    graph, q = network(), samples()
    maker = AccuracyMaker(graph, world.basis, model_opening(graph, world.basis), BATCH, output=OUTPUT)
    labels = _scores(graph, q).argmax(axis=1)
    labels[1] = (labels[1] + 1) % 3
    data = LabelledData.of(real(q), labels)
    _Cases(vectors, maker, q, data).write()
    _measured(vectors, world, graph, q)
    _transparent(vectors, graph, data)


def samples() -> dict[str, IntArray]:
    """Five: the second shard is not full."""
    rng = np.random.default_rng(8)
    return {name: rng.integers(0, KIND.top + 1, (SIZE, 2)) for name in ("a", "b")}


def exchanged(q: Mapping[str, IntArray], rows: slice = slice(None)) -> dict[str, IntArray]:
    """The two inputs in each other's place, in these rows."""
    a, b = q["a"].copy(), q["b"].copy()
    a[rows], b[rows] = q["b"][rows], q["a"][rows]
    return {"a": a, "b": b}


def real(q: Mapping[str, IntArray]) -> dict[str, Any]:
    return {name: KIND.real(each) for name, each in q.items()}


def given(q: Mapping[str, IntArray]) -> Json:
    """As a file has them."""
    return {name: each.tolist() for name, each in real(q).items()}


def _scores(graph: QuantGraph, q: Mapping[str, IntArray]) -> IntArray:
    """Shard by shard, as the network is run in its tests."""
    padded = {name: np.concatenate([each, each[:1]]) for name, each in q.items()}
    parts = ({name: each[at : at + BATCH] for name, each in padded.items()} for at in (0, BATCH))
    return np.concatenate([scores(graph, part) for part in parts])[:SIZE]


class _Cases:
    def __init__(
        self, vectors: Vectors, maker: AccuracyMaker, q: dict[str, IntArray], data: LabelledData
    ) -> None:
        self.vectors, self.maker, self.q, self.data = vectors, maker, q, data
        self.key, self.parts = maker.maker.key_file, maker.parts(data)
        (self.total,) = maker.totals(self.parts)
        self.honest = self.proven(self.parts)
        self.truth = data.labels.tolist()

    def case(self, name: str, comment: str, document: Any, reason: str = "ok", **told: Any) -> None:
        key = told.pop("key", self.key)
        self.vectors.case(f"several-accuracy/{name}", comment, document, key, reason, **told)

    def proven(self, parts: Sequence[Part], sha256: bytes | None = None, **more: Any) -> ProofDocument:
        dataset = self.maker.dataset(parts, sha256 or self.data.sha256)
        state = self.maker.state(dataset, *self.maker.totals(parts), **more)
        return self.maker.prove(state, parts)

    def told(self, q: Mapping[str, IntArray] | None = None) -> Json:
        return {"dataset": given(self.q if q is None else q), "labels": self.truth}

    def write(self) -> None:
        self._given()
        self._private()
        self._lies()
        self._keys()

    def _given(self) -> None:
        honest, whole = self.honest, given(self.q)
        self.case("valid", "Five samples of two inputs, in two shards.", honest)
        self.case("seen", "The dataset is the one given.", honest, **self.told())
        turned: Json = {"dataset": {"b": whole["b"], "c": whole["a"], "a": whole["a"]}, "labels": self.truth}
        self.case("seen-more", "In another order, beside what is no input of it.", honest, **turned)
        row = self.told(exchanged(self.q, slice(3, 4)))
        wrong: dict[str, tuple[str, Json]] = {
            "exchanged": ("Each input is the other.", self.told(exchanged(self.q))),
            "row-exchanged": ("A row's parts are in each other's place.", row),
            "labels": ("Other labels.", self.told() | {"labels": self.truth[::-1]}),
            "shape": ("Of another shape.", self.told() | {"dataset": whole | {"b": [[0]] * SIZE}}),
        }
        for name, (comment, told) in wrong.items():
            self.case(name, comment, honest, "dataset_mismatch", **told)
        unread: dict[str, tuple[str, Any, str]] = {
            "renamed": ("There is no such input.", {"a": whole["a"], "d": whole["b"]}, "input.unreadable"),
            "unnamed": ("Inputs have names.", whole["a"], "input.unreadable"),
            "fewer": ("A sample less of one.", whole | {"b": whole["b"][1:]}, "input.shape"),
        }
        for name, (comment, dataset, reason) in unread.items():
            self.case(name, comment, honest, reason, dataset=dataset, labels=self.truth)

    def _private(self) -> None:
        maker, parts = self.maker, self.maker.parts(self.data, hiding=True)
        state = maker.state(maker.dataset(parts, None), self.total)
        private, opening = maker.prove(state, parts), maker.opening_file(parts)
        self.case(
            "opened", "Of a private dataset, which is the one given.", private, **self.told(), opening=opening
        )
        for name, comment, q in (
            ("opened-exchanged", "Each input is the other.", exchanged(self.q)),
            ("opened-row-exchanged", "A row's parts are in each other's place.", exchanged(self.q, slice(1))),
        ):
            told = self.told(q) | {"opening": opening}
            self.case(name, comment, private, "dataset_mismatch", **told)

    def _lies(self) -> None:
        """Each proven for the lie."""
        theirs = LabelledData.of(real(exchanged(self.q)), self.data.labels)
        renamed_data = LabelledData.of({"b": real(self.q)["a"], "a": real(self.q)["b"]}, self.data.labels)
        flat = np.concatenate([*real(self.q).values()], axis=1)
        hashes = {
            "hash": ("The hash of another dataset, whose inputs are exchanged.", theirs.sha256),
            "hash-order": ("Of the inputs in another order.", renamed_data.sha256),
            "hash-flat": ("Of one input that has both.", LabelledData.of(flat, self.data.labels).sha256),
        }
        for name, (comment, sha256) in hashes.items():
            lie = self.proven(self.parts, sha256)
            self.case(name, f"{comment} Only who has the dataset can tell.", lie)
            self.case(f"{name}-seen", "As here.", lie, "dataset_mismatch", **self.told())
        lie = self.proven(self.parts, theirs.sha256)
        self.case(
            "hash-theirs", "Nor is it about that.", lie, "dataset_mismatch", **self.told(exchanged(self.q))
        )
        first, last = self.parts
        own = self.maker.circuit.dataset_values(*first.given)
        one, *_ = self.maker.circuit.shard_values(theirs)
        swapped = {"a": first.samples["a"].copy(), "b": first.samples["b"].copy()}
        swapped["a"][0], swapped["b"][0] = first.samples["b"][0], first.samples["a"][0]
        values: dict[str, tuple[str, IntArray]] = {
            "exchanged": ("A shard is committed to with its inputs exchanged.", one),
            "row": (
                "A shard is committed to with a row's parts exchanged.",
                self.maker.circuit.dataset_values(swapped, first.labels),
            ),
            "names": ("A shard is committed to under the inputs' names exchanged.", self._renamed(first)),
            "untyped": (
                "A shard is committed to without its inputs' types.",
                np.append(np.zeros(5, int), own[5:]),
            ),
        }
        for name, (comment, held) in values.items():
            other = replace(first, dataset=self.maker.maker.commit(held, hiding=False))
            lie = self._claimed([other, last], [held, self.maker.circuit.dataset_values(*last.given)])
            self.case(f"lie-{name}", comment, lie, "dataset_mismatch")
        for name, total in (("more", self.total + 1), ("fewer", self.total - 1)):
            lie = self.maker.prove(
                self.maker.state(self.maker.dataset(self.parts, self.data.sha256), total), self.parts
            )
            self.case(f"total-{name}", "Another total.", lie, "total_mismatch")

    def _renamed(self, part: Part) -> IntArray:
        """What a commitment to these samples is to whose inputs are called by each other's names."""
        kinds = [*checked(Description, self.key.circuit).quantisation.types.values()]
        a, b = (kind.model_copy(update={"name": name}) for kind, name in zip(kinds, ("b", "a"), strict=True))
        data = LabelledData.of(
            {"b": KIND.real(part.samples["a"]), "a": KIND.real(part.samples["b"])}, part.labels
        )
        (values,) = data.shard_values([a, b], BATCH, 3)
        return np.array(values)

    def _claimed(self, parts: Sequence[Part], values: Sequence[IntArray]) -> ProofDocument:
        """Said, with what opens the commitments to these values, and proven for the samples of the parts."""
        dataset, basis = self.maker.dataset(self.parts, self.data.sha256), self.maker.maker.basis
        shards = [
            shard.model_copy(
                update={
                    "dataset": part.dataset.commitment.hex(),
                    "opening": basis.reveal(part.dataset, fr.from_ints(held.tolist())).to_json(),
                }
            )
            for shard, part, held in zip(dataset.shards, parts, values, strict=True)
        ]
        state = self.maker.state(dataset.model_copy(update={"shards": shards}), self.total)
        return self.maker.prove(state, parts)

    def _keys(self) -> None:
        circuit = self.key.circuit
        kinds = circuit["quantisation"]["inputs"]
        turned = self._under({"quantisation": {"inputs": kinds[::-1]}})
        self.case("reordered", "A key that names the inputs in another order.", turned[1], key=turned[0])
        told = self.told() | {"key": turned[0]}
        self.case("reordered-seen", "The dataset is another then.", turned[1], "dataset_mismatch", **told)
        radius = {"name": "radius", "first": 2, "count": 1, "shape": [], "minimum": 0, "maximum": KIND.top}
        radius |= {"scale": KIND.scale, "zero_point": 0}
        hostile: dict[str, tuple[str, Json]] = {
            "twice": ("Two inputs of one name.", {"quantisation": {"inputs": [kinds[0], kinds[0]]}}),
            "certified": (
                "What is certified is of one input.",
                {"measure": "certified", "public_inputs": [*circuit["public_inputs"], radius]},
            ),
            "large": ("A shard of too many values.", {"batch": 1 << 23}),
            "other": ("A shard has more values than the key.", {"batch": BATCH + 1}),
        }
        for name, (comment, changes) in hostile.items():
            other = renamed(self.key, circuit=circuit | changes)
            self.case(
                f"key-{name}",
                comment,
                self.honest,
                "file.json" if name != "other" else "file.shape",
                key=other,
            )

    def _under(self, changes: Json) -> tuple[Any, ProofDocument]:
        """A key of this description, and what is said under it, and proven."""
        key = renamed(self.key, circuit=self.key.circuit | changes)
        values, reference = self.honest.statement.values, {"id": key["id"], "setup": key["setup"]}
        said = claim(checked(Description, key["circuit"]), values)
        lie = rehashed(self.honest, claim=said, verification_key=reference)
        return key, self.maker.prove(lie.statement, self.parts)


def _measured(vectors: Vectors, world: World, graph: QuantGraph, q: Mapping[str, IntArray]) -> None:
    """Errors against targets."""
    model = model_opening(graph, world.basis)
    maker = AccuracyMaker(graph, world.basis, model, BATCH, "mse", output=OUTPUT)
    kind = maker.circuit.measurement.targets
    assert kind
    targets = kind.scale * (_scores(graph, q) + np.arange(3) - kind.zero_point)
    data = LabelledData.with_targets(real(q), targets)
    document, key = maker.document(data), maker.maker.key_file
    told: Json = {"dataset": given(q), "labels": targets.tolist()}
    vectors.case("several-accuracy/targets", "Of targets.", document, key, **told)
    wrong = told | {"dataset": given(exchanged(q))}
    comment = "Each input is the other."
    vectors.case("several-accuracy/targets-exchanged", comment, document, key, "dataset_mismatch", **wrong)


def _transparent(vectors: Vectors, graph: QuantGraph, data: LabelledData) -> None:
    assessor = Assessor(graph, model_opening(graph, transparent.BASIS), BATCH, output=OUTPUT)
    key: KeyFile = assessor.maker.key_file
    document, q = assessor.document(data), samples()
    for name, comment, reason, those in (
        ("valid", "Samples of two inputs.", "ok", q),
        ("exchanged", "Each input is the other.", "dataset_mismatch", exchanged(q)),
    ):
        told: Json = {"dataset": given(those), "labels": data.labels.tolist()}
        told["circuit"] = assessor.maker.circuit_file
        vectors.case(f"transparent/several-accuracy-{name}", comment, document, key, reason, **told)
