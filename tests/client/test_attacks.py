"""Whatever a dishonest prover or messenger hands on is refused, for a reason of its own.

``rehashed`` is what a messenger can do: change the statement and its hash. What only a prover can do makes a
proof anew for the statement that lies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.client.makers import (
    AccuracyMaker,
    Maker,
    Part,
    inference,
    model_opening,
    recognition,
    registration,
    rehashed,
    with_type,
)
from tests.prover.statements import commitment_basis
from zenserve.circuits import QuantGraph, compile_inference, compile_registration, input_values
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.operators.reshape import Reshape
from zenserve.errors import FileFormatError
from zenserve.kernels import fr
from zenserve.prover.groth16 import CommitmentKey, Opening
from zenserve.relations.integers import IntArray
from zenserve.verifier import documents
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import (
    KeyFile,
    OpeningFile,
    OpeningPart,
    ProofDocument,
    checked,
    key_id,
    named,
)
from zenserve.verifier.expected import Expected
from zenserve.verifier.groth16.system import Groth16Verifier
from zenserve.verifier.judging import REASONS, Known, Registration, judge
from zenserve.verifier.keys import opened
from zenserve.verifier.registry import FIRST, SYSTEMS

OTHER_POINT = "b" + "0" * 95
Change = Callable[[dict[str, Any]], dict[str, Any]]


def reason(document: ProofDocument, key: KeyFile, **options: Any) -> str:
    verdict = judge(document, key, **options)
    assert not verdict.valid
    assert verdict.detail
    assert (verdict.statement, verdict.verified, verdict.not_verified) == (None, [], [])
    assert verdict.reason in REASONS or verdict.reason in Groth16Verifier.reasons
    return verdict.reason


def other(statement: dict[str, Any]) -> int:
    """A label that the network did not give."""
    label: int = statement["values"]["label"]
    return (label + 1) % 3


# What a messenger changes in the statement, and what it is refused for with the hash made anew.
CHANGES: dict[str, tuple[Change, str]] = {
    "claim": (lambda s: {"claim": s["claim"] + " All is well."}, "words_mismatch"),
    "does_not_say": (lambda s: {"does_not_say": s["does_not_say"][1:]}, "words_mismatch"),
    "scheme": (lambda s: {"scheme": "recognition"}, "words_mismatch"),
    "network": (lambda s: {"network": "0" * 64}, "network_mismatch"),
    "label alone": (lambda s: {"values": s["values"] | {"label": other(s)}}, "words_mismatch"),
    "label and claim": (
        lambda s: {
            "values": s["values"] | {"label": other(s)},
            "claim": s["claim"].replace(f"label is {s['values']['label']}", f"label is {other(s)}"),
        },
        "pairing_mismatch",
    ),
    "label beyond": (lambda s: {"values": s["values"] | {"label": 3}}, "values_mismatch"),
    "label as a list": (lambda s: {"values": s["values"] | {"label": [0]}}, "values_mismatch"),
    "a logit more": (
        lambda s: {"values": s["values"] | {"logits": [*s["values"]["logits"], 0]}},
        "values_mismatch",
    ),
    "logits beyond": (
        lambda s: {"values": s["values"] | {"logits": [v + (1 << 52) for v in s["values"]["logits"]]}},
        "values_mismatch",
    ),
    "no logits": (lambda s: {"values": {"label": s["values"]["label"]}}, "values_mismatch"),
    "a value more": (lambda s: {"values": s["values"] | {"approved": 1}}, "values_mismatch"),
    "challenge": (lambda s: {"challenge": "What is on image 8?"}, "pairing_mismatch"),
    "no challenge": (lambda s: {"challenge": None}, "pairing_mismatch"),
    "time": (lambda s: {"made_at": "2026-11-22T12:00:00Z"}, "pairing_mismatch"),
    "model": (
        lambda s: {"commitments": s["commitments"] | {"model": s["commitments"]["input"]}},
        "model_mismatch",
    ),
    "input": (
        lambda s: {"commitments": s["commitments"] | {"input": s["commitments"]["model"]}},
        "input_mismatch",
    ),
    "no point": (
        lambda s: {"commitments": s["commitments"] | {"model": OTHER_POINT}},
        "commitment_not_on_curve",
    ),
    "a commitment less": (
        lambda s: {"commitments": {"model": s["commitments"]["model"]}},
        "commitment_count",
    ),
    "a commitment more": (
        lambda s: {"commitments": s["commitments"] | {"reference": s["commitments"]["model"]}},
        "commitment_count",
    ),
    "key": (
        lambda s: {"verification_key": s["verification_key"] | {"id": "0" * 64}},
        "key_mismatch",
    ),
    "setup": (
        lambda s: {"verification_key": s["verification_key"] | {"setup": "ceremony"}},
        "key_mismatch",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_changed_statement(inferrer: Maker, inferred: ProofDocument, case: str) -> None:
    change, expected = CHANGES[case]
    forged = rehashed(inferred, **change(inferred.statement.model_dump()))
    assert reason(forged, inferrer.key_file) == expected
    kept_hash = forged.model_copy(update={"statement_sha256": inferred.statement_sha256})
    assert reason(kept_hash, inferrer.key_file) == "statement_edited"


def test_an_edited_hash(inferrer: Maker, inferred: ProofDocument) -> None:
    edited = inferred.model_copy(update={"statement_sha256": "0" * 64})
    assert reason(edited, inferrer.key_file) == "statement_edited"


def test_words_that_were_proven_are_not_believed_either(
    inferrer: Maker, inputs: IntArray, model: Opening, held_input: Opening, inferred: ProofDocument
) -> None:
    lie = rehashed(inferred, does_not_say=[]).statement
    openings = {"model": model, "input": held_input}
    document = inference(inferrer, inputs[0], openings, state=lie)
    assert reason(document, inferrer.key_file) == "words_mismatch"


def test_what_the_verifier_expects(
    inferrer: Maker, inferred: ProofDocument, shower: Maker, shown: ProofDocument, model: Opening
) -> None:
    key, commitments = inferrer.key_file, inferred.statement.commitments
    for name, other in (("model", "input"), ("input", "model"), ("reference", "model")):
        expected = checked(Expected, {name: commitments[other]})
        assert reason(inferred, key, expected=expected) == f"{name}_mismatch"
    assert reason(inferred, key, expected=Expected(challenge="Another")) == "challenge_mismatch"
    none = Expected(model=model.commitment.hex())
    assert reason(shown, shower.key_file, expected=none) == "model_mismatch"


def test_proofs_of_another_number_or_length(inferrer: Maker, inferred: ProofDocument) -> None:
    (proof,) = inferred.proofs
    for proofs, expected in (
        ([proof, proof], "proof_count"),
        ([proof[:-2]], "proof_length"),
        ([""], "proof_length"),
    ):
        document = inferred.model_copy(update={"proofs": proofs})
        assert reason(document, inferrer.key_file) == expected


def other_network(graph: QuantGraph) -> QuantGraph:
    """One weight changed, the architecture kept."""
    last = graph.nodes[-1]
    assert isinstance(last, QuantDense)
    weight = last.weight.copy()
    weight[0, 0] ^= 1
    return replace(graph, nodes=(*graph.nodes[:-1], replace(last, weight=weight)))


def test_an_inference_with_one_weight_changed(
    graph: QuantGraph, basis: CommitmentKey, inferrer: Maker, inputs: IntArray, model: Opening
) -> None:
    """The registered model's commitment, and a proof by another network of its architecture."""
    circuit = compile_inference(
        other_network(graph), input_privacy="committed", weight_privacy="committed", reveal="logits"
    )
    assert circuit.constraint_system.digest == inferrer.circuit.constraint_system.digest
    forger = Maker(circuit, inferrer.proving_key, basis)
    openings = {"model": model, "input": inferrer.commit(input_values(graph, inputs[0]))}
    document = inference(forger, inputs[0], openings)
    assert reason(document, inferrer.key_file) == "model_mismatch"
    own = openings | {"model": model_opening(circuit.qgraph, basis)}
    honest = inference(forger, inputs[0], own)
    assert judge(honest, inferrer.key_file).valid
    expected = Expected(model=model.commitment.hex())
    assert reason(honest, inferrer.key_file, expected=expected) == "model_mismatch"


def test_an_input_other_than_the_committed_one(
    inferrer: Maker, inputs: IntArray, model: Opening, held_input: Opening
) -> None:
    document = inference(inferrer, inputs[4], {"model": model, "input": held_input})
    assert reason(document, inferrer.key_file) == "input_mismatch"


def test_an_input_that_is_not_the_one_given(
    inferrer: Maker, inferred: ProofDocument, inputs: IntArray, held_input: Opening, model: Opening
) -> None:
    key, q = inferrer.key_file, inputs[0].ravel()
    revealed = inferrer.basis.reveal(
        held_input, fr.from_int64(input_values(inferrer.circuit.qgraph, q))
    ).to_json()
    part = checked(OpeningPart, {"commitment": held_input.commitment.hex(), "opening": revealed})
    good = OpeningFile(**named(SYSTEMS[FIRST]), kind="input", parts=[part])

    def given(values: list[int], openings: OpeningFile | None) -> Known:
        return Known(input=values, openings=openings)

    assert judge(inferred, key, known=given(q.tolist(), good)).valid
    for values in (q[::-1].tolist(), q[:-1].tolist(), [*q.tolist(), 1]):
        assert reason(inferred, key, known=given(values, good)) == "input_mismatch"
    misplaced = good.model_copy(
        update={"parts": [part.model_copy(update={"commitment": model.commitment.hex()})]}
    )
    for openings in (None, misplaced, good.model_copy(update={"kind": "reference"})):
        assert reason(inferred, key, known=given(q.tolist(), openings)) == "input_mismatch"
    assert reason(inferred, key, known=Known(dataset=LabelledData.of([[0.0]], [0]))) == "dataset_mismatch"


def test_a_public_input_that_is_not_the_one_given(
    shower: Maker, shown: ProofDocument, inputs: IntArray
) -> None:
    known = Known(input=inputs[2].ravel().tolist())
    assert reason(shown, shower.key_file, known=known) == "input_mismatch"


def test_zeros_at_the_end_of_an_input_are_not_nothing(
    inferrer: Maker, inputs: IntArray, model: Opening
) -> None:
    """One commitment opens to all of them: only the input's shape says how many values there are."""
    q = inputs[2].copy()
    q[0, -1, -1] = 0
    graph = inferrer.circuit.qgraph
    held = inferrer.commit(input_values(graph, q))
    document = inference(inferrer, q, {"model": model, "input": held})

    def known(values: list[int]) -> Known:
        whole = input_values(graph, np.array(values))
        revealed = inferrer.basis.reveal(held, fr.from_int64(whole)).to_json()
        part = checked(OpeningPart, {"commitment": held.commitment.hex(), "opening": revealed})
        return Known(input=values, openings=OpeningFile(**named(SYSTEMS[FIRST]), kind="input", parts=[part]))

    values = q.ravel().tolist()
    assert judge(document, inferrer.key_file, known=known(values)).valid
    for wrong in (values[:-1], [*values, 0]):
        assert reason(document, inferrer.key_file, known=known(wrong)) == "input_mismatch"


def test_a_registration_that_is_none_of_the_model(
    graph: QuantGraph,
    inferrer: Maker,
    inferred: ProofDocument,
    shower: Maker,
    shown: ProofDocument,
    registrar: Maker,
    registered: ProofDocument,
    model: Opening,
) -> None:
    key = opened(registrar.key_file)
    wrong_proof = registered.model_copy(update={"proofs": inferred.proofs})
    other = model_opening(other_network(graph), registrar.basis)
    theirs = Maker(compile_registration(other_network(graph)), registrar.proving_key, registrar.basis)
    wider = compile_registration(with_type(graph, replace(graph.input.type, scale=9.0)))
    elsewhere = Maker.of(wider, registrar.basis)
    unrelated = Maker.of(registrar.circuit, commitment_basis(300, tau=12345))
    cases = [
        (wrong_proof, key),
        (rehashed(registered, claim="All is well."), key),
        (registered, opened(inferrer.key_file)),
        (inferred, opened(inferrer.key_file)),
        (registration(theirs, other), key),
        (registration(elsewhere, model_opening(wider.qgraph, registrar.basis)), opened(elsewhere.key_file)),
        (
            rehashed(registered, verification_key=unrelated.key_file.reference.model_dump()),
            opened(unrelated.key_file),
        ),
    ]
    for document, own_key in cases:
        known = Known(registration=Registration(document, own_key))
        assert reason(inferred, inferrer.key_file, known=known) == "registration_mismatch"
    known = Known(registration=Registration(registered, key))
    assert judge(inferred, inferrer.key_file, known=known).valid
    assert reason(shown, shower.key_file, known=known) == "registration_mismatch"
    assert reason(registered, registrar.key_file, known=known) == "registration_mismatch"


@pytest.mark.parametrize("change", ["scale", "zero_point", "shape"])
def test_an_input_that_another_network_reads_otherwise(
    graph: QuantGraph, basis: CommitmentKey, inputs: IntArray, held_input: Opening, change: str
) -> None:
    """The integers that were committed to, as another image: brighter, or of other rows."""
    kind = graph.input.type
    if change == "shape":
        flat = Reshape("again", ("image",), graph.input.shape)
        first = replace(graph.nodes[0], inputs=("again",))
        entry = replace(graph.input, name="image", shape=(9, 1, 1))
        other = replace(graph, inputs=(entry,), nodes=(flat, first, *graph.nodes[1:]))
    else:
        types = {"scale": replace(kind, scale=2 * kind.scale), "zero_point": replace(kind, zero_point=3)}
        other = with_type(graph, types[change])
    maker, q = Maker.of(compile_inference(other, input_privacy="committed"), basis), inputs[0]
    q = q.reshape(other.input.shape)
    assert reason(inference(maker, q, {"input": held_input}), maker.key_file) == "input_mismatch"
    own = maker.commit(input_values(other, q))
    assert judge(inference(maker, q, {"input": own}), maker.key_file).valid


def test_a_private_input_cannot_be_compared(recogniser: Maker, inputs: IntArray) -> None:
    reference = np.array([1, 2, 3])
    document = recognition(recogniser, inputs[0], reference, 0, {"reference": recogniser.commit(reference)})
    assert judge(document, recogniser.key_file).valid
    known = Known(input=inputs[0].ravel().tolist())
    assert reason(document, recogniser.key_file, known=known) == "input_mismatch"


def test_a_key_file_with_another_description(inferrer: Maker, inferred: ProofDocument) -> None:
    key = inferrer.key_file
    circuit = key.circuit | {"meaning": "All is well."}
    other = key.model_copy(update={"circuit": circuit})
    with pytest.raises(FileFormatError) as refusal:
        judge(inferred, other)
    assert (refusal.value.code, refusal.value.field) == ("file.hash", "id")
    digest = bytes.fromhex(key.key["digest"])
    renamed = other.model_copy(update={"id": key_id(FIRST, digest, circuit)})
    assert reason(inferred, renamed) == "key_mismatch"
    repointed = rehashed(inferred, verification_key=renamed.reference.model_dump())
    assert reason(repointed, renamed) == "words_mismatch"


def test_key_files_that_are_none(inferrer: Maker, inferred: ProofDocument, shower: Maker) -> None:
    key = inferrer.key_file

    def renamed(**changes: Any) -> KeyFile:
        new = key.model_copy(update=changes)
        digest = bytes.fromhex(new.key.get("digest", ""))
        return new.model_copy(update={"id": key_id(FIRST, digest, new.circuit)})

    groups = key.circuit["public_inputs"]
    for broken, code in (
        (renamed(setup="ceremony"), "file.setup_label"),
        (renamed(circuit=shower.key_file.circuit), "file.shape"),
        (renamed(circuit=key.circuit | {"public_inputs": groups[1:]}), "file.json"),
        (renamed(circuit=key.circuit | {"public_inputs": [groups[0], groups[2], groups[1]]}), "file.json"),
        (renamed(circuit=key.circuit | {"commitments": ["model"]}), "file.shape"),
        (renamed(circuit=key.circuit | {"commitments": ["model", "model"]}), "file.json"),
        (renamed(circuit=key.circuit | {"commitments": ["input", "other"]}), "file.json"),
        (renamed(circuit=key.circuit | {"scheme": "accuracy"}), "file.json"),
        (renamed(circuit={}), "file.json"),
        (renamed(key=key.key | {"alpha_g1": key.key["ic"][0]}), "file.unsafe_key"),
        (key.model_copy(update={"key": {}}), "file.json"),
        (key.model_copy(update={"circuit": key.circuit | {"more": "\ud800"}}), "file.json"),
        (key.model_copy(update={"circuit": key.circuit | {"more": float("nan")}}), "file.json"),
    ):
        with pytest.raises(FileFormatError) as refusal:
            judge(inferred, broken)
        assert refusal.value.code == code


@pytest.fixture(scope="module")
def parts(assessor: AccuracyMaker, data: LabelledData) -> list[Part]:
    return assessor.parts(data)


class TestAccuracy:
    """Shards: swapped, left out, counted twice, relabelled, counted otherwise."""

    @pytest.fixture
    def key(self, assessor: AccuracyMaker) -> KeyFile:
        return assessor.maker.key_file

    def test_proofs_swapped(self, key: KeyFile, assessed: ProofDocument) -> None:
        first, second, third = assessed.proofs
        swapped = assessed.model_copy(update={"proofs": [second, first, third]})
        assert reason(swapped, key) == "dataset_mismatch"

    @pytest.mark.parametrize(
        ("name", "expected"), [("dataset", "dataset_mismatch"), ("correct", "correct_mismatch")]
    )
    def test_commitments_swapped(
        self, key: KeyFile, assessed: ProofDocument, name: str, expected: str
    ) -> None:
        dataset = assessed.statement.model_dump()["dataset"]
        first, second, _ = dataset["shards"]
        first[name], second[name] = second[name], first[name]
        assert reason(rehashed(assessed, dataset=dataset), key) == expected

    def test_a_shard_left_out(
        self,
        assessor: AccuracyMaker,
        key: KeyFile,
        data: LabelledData,
        parts: list[Part],
        assessed: ProofDocument,
    ) -> None:
        dataset = assessed.statement.model_dump()["dataset"]
        short = dataset | {"shards": dataset["shards"][1:]}
        assert reason(rehashed(assessed, dataset=short), key) == "shard_missing"
        fewer = assessed.model_copy(update={"proofs": assessed.proofs[1:]})
        assert reason(fewer, key) == "shard_missing"
        # Proven as if the rest were all: only who has the dataset can tell.
        rest = parts[1:]
        claimed = assessor.state(assessor.dataset(rest, data.sha256), sum(part.counts[0] for part in rest))
        document = assessor.prove(claimed, rest)
        assert judge(document, key).valid
        assert reason(document, key, known=Known(dataset=data)) == "shard_missing"

    def test_a_shard_counted_twice(
        self, assessor: AccuracyMaker, key: KeyFile, data: LabelledData, parts: list[Part]
    ) -> None:
        twice = [parts[1], *parts[1:]]
        assert parts[1].counts[0] > parts[0].counts[0]
        claimed = assessor.state(assessor.dataset(twice, data.sha256), sum(part.counts[0] for part in twice))
        assert reason(assessor.prove(claimed, twice), key) == "shard_repeated"
        # With a commitment to the count of its own, and then with all its commitments anew.
        again = replace(parts[1], correct=assessor.maker.commit(np.array(parts[1].counts)))
        twice = [again, *parts[1:]]
        claimed = assessor.state(assessor.dataset(twice, data.sha256), sum(part.counts[0] for part in twice))
        assert reason(assessor.prove(claimed, twice), key) == "shard_repeated"
        values = assessor.circuit.dataset_values(again.samples, again.labels)
        hidden = replace(again, dataset=assessor.maker.commit(values))
        twice = [hidden, *parts[1:]]
        claimed = assessor.state(assessor.dataset(twice, data.sha256), sum(part.counts[0] for part in twice))
        document = assessor.prove(claimed, twice)
        assert reason(document, key, known=Known(dataset=data)) == "dataset_mismatch"

    def test_samples_that_are_committed_to_again(
        self, assessor: AccuracyMaker, key: KeyFile, data: LabelledData, parts: list[Part]
    ) -> None:
        """Three samples as nine of a private dataset: nobody can tell who has not seen them, so nothing is
        said of samples."""
        circuit, part = assessor.circuit, parts[0]
        values = circuit.dataset_values(part.samples, part.labels)
        thrice = [
            replace(
                part,
                dataset=assessor.maker.commit(values),
                correct=assessor.maker.commit(np.array(part.counts)),
            )
            for _ in range(3)
        ]
        claimed = assessor.state(assessor.dataset(thrice, None), 3 * part.counts[0])
        document = assessor.prove(claimed, thrice)
        verdict = judge(document, key)
        assert verdict.valid
        assert not any("each proven once" in sentence for sentence in verdict.verified)
        assert any("no sample is counted twice" in sentence for sentence in verdict.not_verified)
        once = data.samples[: circuit.batch], data.labels[: circuit.batch]
        known = Known(dataset=LabelledData.of(*once), openings=assessor.opening_file(thrice))
        assert reason(document, key, known=known) == "shard_missing"
        # Who has the dataset and its openings sees that it repeats samples; then it may be said.
        same = LabelledData.of(*(np.concatenate([part] * 3) for part in once))
        seen = judge(document, key, known=replace(known, dataset=same))
        assert any("each proven once" in sentence for sentence in seen.verified)
        assert not any("no sample is counted twice" in sentence for sentence in seen.not_verified)

    def test_a_relabelled_dataset(
        self, assessor: AccuracyMaker, key: KeyFile, data: LabelledData, assessed: ProofDocument
    ) -> None:
        labels = data.labels.copy()
        labels[2] = (labels[2] + 2) % 3
        other = LabelledData.of(data.samples, labels)
        better = assessor.document(other)
        assert better.statement.values["correct"] == 8
        assert reason(better, key, known=Known(dataset=data)) == "dataset_mismatch"
        assert reason(assessed, key, known=Known(dataset=other)) == "dataset_mismatch"
        # The right samples under the hash of others.
        parts = assessor.parts(data)
        document = assessor.prove(assessor.state(assessor.dataset(parts, other.sha256), 7), parts)
        assert reason(document, key, known=Known(dataset=data)) == "dataset_mismatch"
        # Others under the right hash.
        parts = assessor.parts(other)
        claimed = assessor.state(assessor.dataset(parts, data.sha256), 8)
        document = assessor.prove(claimed, parts)
        assert reason(document, key, known=Known(dataset=data)) == "dataset_mismatch"

    def test_other_samples_of_a_private_dataset(
        self, assessor: AccuracyMaker, key: KeyFile, data: LabelledData
    ) -> None:
        parts = assessor.parts(data, hiding=True)
        document = assessor.prove(assessor.state(assessor.dataset(parts, None), 7), parts)
        openings = assessor.opening_file(parts)
        moved = LabelledData.of(data.samples[::-1], data.labels[::-1])
        assert judge(document, key, known=Known(dataset=data, openings=openings)).valid
        for known in (
            Known(dataset=moved, openings=openings),
            Known(dataset=data),
            Known(dataset=data, openings=openings.model_copy(update={"parts": openings.parts[1:]})),
        ):
            assert reason(document, key, known=known) == "dataset_mismatch"

    def test_other_totals(
        self, assessor: AccuracyMaker, key: KeyFile, data: LabelledData, parts: list[Part]
    ) -> None:
        dataset = assessor.dataset(parts, data.sha256)
        for total in (8, 6, 0, 9):
            document = assessor.prove(assessor.state(dataset, total), parts)
            assert reason(document, key) == "total_mismatch"
        fewer = assessor.state(dataset.model_copy(update={"size": 7}), 7)
        assert "7 of 7" in fewer.claim
        lie = fewer.model_copy(update={"dataset": dataset})
        assert reason(assessor.prove(lie, parts), key) == "total_mismatch"
        blinded = assessor.dataset(parts, data.sha256, blinding="0" * 64)
        assert reason(assessor.prove(assessor.state(blinded, 7), parts), key) == "total_mismatch"
        beyond = assessor.dataset(parts, data.sha256, blinding="f" * 64)
        assert reason(assessor.prove(assessor.state(beyond, 7), parts), key) == "opening_blinding"

    def test_a_count_that_is_not_the_shards(
        self, assessor: AccuracyMaker, key: KeyFile, data: LabelledData, parts: list[Part]
    ) -> None:
        better = replace(parts[0], correct=assessor.maker.commit(np.array([3])), counts=[3])
        shards = [better, *parts[1:]]
        document = assessor.prove(assessor.state(assessor.dataset(shards, data.sha256), 8), shards)
        assert reason(document, key) == "correct_mismatch"

    @pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 3, 3), (3, 4, 1), (4, 4)])
    def test_sizes_other_than_the_shards(
        self,
        assessor: AccuracyMaker,
        key: KeyFile,
        data: LabelledData,
        parts: list[Part],
        sizes: tuple[int, ...],
    ) -> None:
        """A shard of fewer samples than its circuit takes could hide some that count."""
        shards = [replace(part, size=size) for part, size in zip(parts, sizes, strict=False)]
        dataset = assessor.dataset(shards, data.sha256, size=8)
        total = sum(part.counts[0] for part in shards)
        assert reason(assessor.prove(assessor.state(dataset, total), shards), key) == "shard_missing"

    def test_padding_that_counts(
        self, assessor: AccuracyMaker, key: KeyFile, data: LabelledData, parts: list[Part]
    ) -> None:
        """The last shard holds a third sample in place of padding, or of one in three says that it is
        padding: seen by all, the dataset public or hidden."""
        last = parts[-1]
        samples, labels = last.samples.copy(), last.labels.copy()
        samples[2], labels[2] = samples[0], labels[0]
        values = assessor.circuit.dataset_values(samples, labels)
        counts = assessor.circuit.counts(samples, labels)
        filled = replace(
            last,
            samples=samples,
            labels=labels,
            counts=counts.tolist(),
            dataset=assessor.maker.commit(values, hiding=False),
            correct=assessor.maker.commit(counts),
        )
        shards = [*parts[:-1], filled]
        fewer = [replace(parts[0], size=2)]
        for those, hash_ in ((shards, data.sha256), (shards, None), (fewer, None)):
            total = sum(part.counts[0] for part in those)
            document = assessor.prove(assessor.state(assessor.dataset(those, hash_), total), those)
            assert reason(document, key) == "pairing_mismatch"

    def test_openings_of_others(
        self, assessor: AccuracyMaker, key: KeyFile, data: LabelledData, parts: list[Part]
    ) -> None:
        dataset = assessor.dataset(parts, data.sha256)
        shards = [shard.model_dump() for shard in dataset.shards]
        shards[0]["opening"], shards[1]["opening"] = shards[1]["opening"], shards[0]["opening"]
        swapped = checked(documents.Dataset, dataset.model_dump() | {"shards": shards})
        document = assessor.prove(assessor.state(swapped, 7), parts)
        assert reason(document, key, known=Known(dataset=data)) == "dataset_mismatch"

    def test_the_model_of_another(
        self, assessor: AccuracyMaker, key: KeyFile, assessed: ProofDocument, held_input: Opening
    ) -> None:
        other = held_input.commitment.hex()
        assert assessed.statement.dataset is not None
        dataset = assessed.statement.dataset.model_dump() | {"picked_for": other}
        forged = rehashed(assessed, commitments={"model": other}, dataset=dataset)
        assert reason(forged, key) == "model_mismatch"
        assert reason(rehashed(assessed, commitments={"model": other}), key) == "dataset_mismatch"
        assert reason(rehashed(assessed, dataset=dataset), key) == "dataset_mismatch"
