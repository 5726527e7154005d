"""Accuracies of other measures: totals of another class, another sum, another opening; errors and targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.circuits.quantised import networks
from tests.client.makers import AccuracyMaker, Part, model_opening, rehashed
from tests.vectors.world import BATCH, World, renamed
from tests.vectors.writing import Vectors
from zenserve.circuits import QuantGraph
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.description import Description, as_list
from zenserve.verifier.documents import ProofDocument, checked
from zenserve.verifier.fields import Values
from zenserve.verifier.schemes import Measure
from zenserve.verifier.words import claim


def write(vectors: Vectors, world: World) -> None:
    values = networks.embedding(6)
    asked: dict[Measure, tuple[QuantGraph, LabelledData]] = {
        "top-k": (world.graph, world.data),
        "f1": (world.graph, world.data),
        "mse": (values, _measured(values)),
        "mae": (values, _measured(values)),
        "r2": (values, _measured(values)),
    }
    for measure, (graph, data) in asked.items():
        model = world.model if graph is world.graph else model_opening(graph, world.basis)
        maker = AccuracyMaker(graph, world.basis, model, BATCH, measure, 2 if measure == "top-k" else 1)
        _Cases(vectors, maker, data).write()


def _measured(graph: QuantGraph) -> LabelledData:
    """Four samples: the second shard is not full."""
    q = networks.inputs(graph, 4, 7)
    outputs = graph.run(q)
    errors = np.arange(outputs.size).reshape(outputs.shape) % 5 - 2
    assert graph.output_scale
    scale, zero_point = graph.output_scale
    return LabelledData.with_targets(graph.input.type.real(q), scale * (outputs + errors - zero_point))


class _Cases:
    def __init__(self, vectors: Vectors, maker: AccuracyMaker, data: LabelledData) -> None:
        self.vectors, self.maker, self.data = vectors, maker, data
        self.key, self.parts = maker.maker.key_file, maker.parts(data)
        self.totals = maker.totals(self.parts)
        self.dataset = maker.dataset(self.parts, data.sha256)
        self.honest = self.proven(self.totals)
        self.measurement = maker.circuit.measurement
        others = data.labels if data.targets is None else data.targets
        self.given: dict[str, Any] = {"dataset": data.samples.tolist(), "labels": others.tolist()}

    def proven(
        self, totals: Sequence[int], those: Sequence[Part] | None = None, **more: Any
    ) -> ProofDocument:
        parts = self.parts if those is None else those
        dataset = self.maker.dataset(parts, self.data.sha256, **more)
        return self.maker.prove(self.maker.state(dataset, *totals), parts)

    def case(self, name: str, comment: str, document: Any, reason: str = "ok", **told: Any) -> None:
        name = f"measure/{self.measurement.measure}-{name}"
        self.vectors.case(name, comment, document, told.pop("key", self.key), reason, **told)

    def write(self) -> None:
        self.case("valid", "In shards, the last not full.", self.honest)
        self.case("seen", "The dataset is the one given.", self.honest, **self.given)
        for index in range(len(self.totals)):
            other = [total + (place == index) for place, total in enumerate(self.totals)]
            self.case(f"total-{index}", "One more than there is.", self.proven(other), "total_mismatch")
        better = replace(self.parts[0], counts=[self.parts[0].counts[0] - 1, *self.parts[0].counts[1:]])
        better = replace(better, correct=self.maker.maker.commit(np.array(better.counts)))
        those = [better, *self.parts[1:]]
        comment = "A count that is not the shard's, and adds up."
        self.case("count", comment, self.proven(self.maker.totals(those), those), "correct_mismatch")
        twice = [self.parts[0], *self.parts]
        self.case("twice", "A shard twice.", self.proven(self.maker.totals(twice), twice), "shard_repeated")
        match self.measurement.measure:
            case "top-k":
                self._top()
            case "f1":
                self._classes()
            case "mse":
                self._values()
                self._scales()
            case "r2":
                self._openings()

    def _top(self) -> None:
        key = renamed(self.key, circuit=self.key.circuit | {"top": 1})
        lie = self._under(key, self.honest.statement.values)
        self.case("other-top", "Said of one label, by a key that says so.", lie, key=key)
        kept = self._under(key, self.honest.statement.values, claim=self.honest.statement.claim)
        self.case("kept-top", "The claim is of two labels.", kept, "words_mismatch", key=key)
        hostile: dict[str, dict[str, Any]] = {
            "none": {"top": 0},
            "luck": {"measure": "luck"},
            "untold": {"measure": "mse"},
        }
        for name, fields in hostile.items():
            key = renamed(self.key, circuit=self.key.circuit | fields)
            self.case(f"hostile-{name}", "There is no such measure.", self.honest, "file.json", key=key)

    def _classes(self) -> None:
        values, classes = self.honest.statement.values, self.measurement.outputs
        for count in ("true_positives", "predicted", "actual"):
            numbers = values[count]
            assert isinstance(numbers, list)
            other = next(index for index in range(1, classes) if numbers[index] != numbers[0])
            swapped = [*numbers]
            swapped[0], swapped[other] = numbers[other], numbers[0]
            said: Values = {**values, count: swapped}
            totals = [total for each in self.measurement.counts for total in as_list(said[each.name])]
            self.case(f"swapped-{count}", "Of another class.", self.proven(totals), "total_mismatch")
        wrongs: dict[str, Values] = {
            "single": {**values, "predicted": 3},
            "fewer": {**values, "predicted": [3, 5]},
            "below": {**values, "predicted": [-1, 5, 4]},
            "missing": {name: value for name, value in values.items() if name != "predicted"},
        }
        for name, wrong in wrongs.items():
            lie = self.maker.prove(rehashed(self.honest, values=wrong).statement, self.parts)
            self.case(f"values-{name}", "Not such as the circuit has.", lie, "values_mismatch")

    def _values(self) -> None:
        most = self.data.size * self.measurement.counts[0].most
        for name, total in (("beyond", most + 1), ("negative", -1)):
            reason = "total_mismatch" if total > 0 else "values_mismatch"
            said = {"squared_error": total, "size": self.data.size}
            key = self.key.model_dump()
            lie = self._under(key, said)
            self.case(f"sum-{name}", "More than there can be, or less.", lie, reason)
        assert self.data.targets is not None
        moved = self.given | {"labels": (self.data.targets + 0.1).tolist()}
        self.case("other-targets", "Other targets.", self.honest, "dataset_mismatch", **moved)
        theirs = LabelledData.with_targets(self.data.samples, self.data.targets + 0.1)
        dataset = self.maker.dataset(self.parts, theirs.sha256)
        lie = self.maker.prove(self.maker.state(dataset, *self.totals), self.parts)
        self.case("other-targets-hash", "With the right hash.", lie, "dataset_mismatch", **moved)
        for name, targets in (("wide", np.full((4, 3), 1e3)), ("narrow", np.zeros((4, 2)))):
            data = LabelledData.with_targets(self.data.samples, targets)
            dataset = self.maker.dataset(self.parts, data.sha256)
            lie = self.maker.prove(self.maker.state(dataset, *self.totals), self.parts)
            told = self.given | {"labels": targets.tolist()}
            comment = "Targets beyond any type, or too few."
            self.case(f"targets-{name}", comment, lie, "dataset_mismatch", **told)
        last = self.parts[-1]
        assert last.targets is not None
        labels = np.zeros_like(last.labels)
        filled = replace(
            last,
            labels=labels,
            counts=self.maker.circuit.counts(last.samples, labels, last.targets).tolist(),
            dataset=self.maker.maker.commit(
                self.maker.circuit.dataset_values(last.samples, labels, last.targets), hiding=False
            ),
        )
        filled = replace(filled, correct=self.maker.maker.commit(np.array(filled.counts)))
        those = [*self.parts[:-1], filled]
        document = self.proven(self.maker.totals(those), those)
        self.case("padding", "Padding that counts.", document, "pairing_mismatch")
        unsaid = [each for each in self.honest.statement.does_not_say if "rounded" not in each]
        lie = self.maker.prove(rehashed(self.honest, does_not_say=unsaid).statement, self.parts)
        self.case("unsaid", "Nothing of how targets were rounded.", lie, "words_mismatch")

    def _scales(self) -> None:
        """In keys whose ids fit; the words are of doubles."""
        for name, scale in (("tiny", 5e-324), ("third", 1 / 3), ("large", 1e140)):
            lie = self._under(self._scaled(scale=scale), self.honest.statement.values)
            self.case(f"scale-{name}", "Words by this scale.", lie, key=self._scaled(scale=scale))
        hostile: dict[str, dict[str, Any]] = {
            "zero": {"scale": 0.0},
            "large": {"scale": 1.1e140},
            "negative": {"scale": -0.1},
            "text": {"scale": "0.1"},
            "fraction": {"error": 0.5},
            "missing": {"minimum": None},
        }
        for name, fields in hostile.items():
            comment = "There are no words for such targets."
            self.case(f"hostile-{name}", comment, self.honest, "file.json", key=self._scaled(**fields))
        key = renamed(self.key, circuit=self.key.circuit | {"measure": "accuracy"})
        self.case("hostile-labels", "Labels have no targets.", self.honest, "file.json", key=key)
        key = renamed(self.key, circuit=self.key.circuit | {"measure": "r2"})
        self.case("hostile-counts", "The key links to fewer counts.", self.honest, "file.shape", key=key)

    def _openings(self) -> None:
        opened = self.maker.opened(self.parts)
        other = self.maker.opened(self.parts[:1])
        for name, data, reason in (
            ("other", other, "total_mismatch"),
            ("none", b"", "opening_blinding"),
            ("beyond", b"\xff" * 32 + opened[32:], "opening_blinding"),
            ("quotient", opened[:32] + other[32:80] + opened[80:], "total_mismatch"),
            ("basis", opened[:80] + self.key_tau(), "opening_basis"),
        ):
            document = self.proven(self.totals, blinding=data.hex())
            self.case(f"opening-{name}", "It opens nothing.", document, reason)
        flat = {"squared_error": [0, 0, 0], "target_sum": [8, -4, 0], "target_square": [16, 4, 0]}
        lie = self._under(self.key.model_dump(), flat | {"size": self.data.size})
        self.case("constant", "Targets that are all the same: no words of a share.", lie, "total_mismatch")
        low = {"squared_error": [9, 9, 9], "target_sum": [-1, 0, 1], "target_square": [1, 2, 1]}
        lie = self._under(self.key.model_dump(), low | {"size": self.data.size})
        self.case("negative", "Worse than the mean: a share below 0.", lie, "total_mismatch")

    def key_tau(self) -> bytes:
        """A point of G2 that belongs to no basis."""
        return bytes.fromhex(self.key.key["gamma_g2"])

    def _scaled(self, **changes: Any) -> Any:
        targets = self.key.circuit["targets"] | changes
        return renamed(self.key, circuit=self.key.circuit | {"targets": targets})

    def _under(self, key: Any, values: Any, **changes: Any) -> ProofDocument:
        """Said under a key of this id, in its own words; proven, whatever that says."""
        circuit = checked(Description, key["circuit"])
        reference = {"id": key["id"], "setup": key["setup"]}
        fields = {"claim": claim(circuit, values), "values": values, "verification_key": reference} | changes
        return self.maker.prove(rehashed(self.honest, **fields).statement, self.parts)
