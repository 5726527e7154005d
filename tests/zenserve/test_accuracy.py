"""``zenserve.accuracy``: from a model and labelled samples to a proof of how well it does on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import zenserve
from tests import masked_texts
from tests.refusals import refuses
from tests.service.support import tiny_onnx
from zenserve.circuits import load_onnx
from zenserve.verifier.schemes import Measure

SAMPLES = np.random.default_rng(0).uniform(0, 1, (5, 4))
SCORES = load_onnx(tiny_onnx()).run(SAMPLES)
LABELS = SCORES.argmax(axis=1)
LABELS[0] = (LABELS[0] + 1) % SCORES.shape[1]


def test_an_accuracy_is_one_call(tmp_path: Path) -> None:
    proof = zenserve.accuracy(tiny_onnx(), SAMPLES, LABELS, shard_size=3, challenge="asked")
    assert proof.statement.claim.startswith("The network gets 4 of 5 labels right.")
    assert (proof.shown["correct"], proof.statement.challenge) == (4, "asked")
    assert proof.registration is not None
    proof.save(tmp_path)
    assert zenserve.verify(tmp_path, dataset=(SAMPLES, LABELS)).valid
    assert zenserve.verify(tmp_path, dataset=(SAMPLES, LABELS[::-1])).reason == "dataset_mismatch"


@pytest.mark.parametrize(
    ("measure", "truth", "claim"),
    [("top-k", LABELS, "likeliest"), ("mse", SCORES, "mean squared error"), ("r2", SCORES, "R²")],
)
def test_measures_take_labels_or_targets(measure: Measure, truth: np.ndarray, claim: str) -> None:
    top = 2 if measure == "top-k" else 1
    proof = zenserve.accuracy(tiny_onnx(), SAMPLES, truth, measure=measure, top=top, weight_privacy="public")
    assert claim in proof.statement.claim
    assert zenserve.verify(proof, dataset=(SAMPLES, truth)).valid


def test_private_samples_open_to_nobody() -> None:
    proof = zenserve.accuracy(
        tiny_onnx(), SAMPLES, LABELS, data_privacy="private", weight_privacy="public", bits=6
    )
    assert proof.statement.dataset is not None
    assert proof.statement.dataset.sha256 is None
    assert zenserve.verify(proof).valid
    assert zenserve.verify(proof, dataset=(SAMPLES, LABELS)).reason == "dataset_mismatch"


def test_what_does_not_fit_is_refused() -> None:
    with refuses("input.shape", "labels"):
        zenserve.accuracy(tiny_onnx(), SAMPLES, LABELS[1:])
    with refuses("input.not_numeric", "labels"):
        zenserve.accuracy(tiny_onnx(), SAMPLES, SCORES[:, 0])


def test_samples_of_several_inputs_go_by_their_names_or_in_order(tmp_path: Path) -> None:
    file, given = masked_texts.network(), masked_texts.texts(5)
    labels = masked_texts.scores(given).argmax(axis=1)
    labels[0] = (labels[0] + 1) % masked_texts.CLASSES
    proof = zenserve.accuracy(file, {"mask": given["mask"], "ids": given["ids"]}, labels, shard_size=2)
    assert proof.statement.claim.startswith("The network gets 4 of 5 labels right.")
    proof.save(tmp_path)
    for held in (given, {"more": labels, **given}):
        assert zenserve.verify(tmp_path, dataset=(held, labels)).valid
    turned = {"ids": given["mask"], "mask": given["ids"]}
    others = {**given, "mask": given["mask"] ^ np.eye(5, 6, dtype=int)}, {"ids": given["ids"]}, given["ids"]
    for other in (turned, *others):
        assert zenserve.verify(tmp_path, dataset=(other, labels)).reason == "dataset_mismatch"
    for missing in ({"ids": given["ids"]}, given["ids"]):
        with refuses("input.names", "input"):
            zenserve.accuracy(file, missing, labels)
    with refuses("input.shape", "labels"):
        zenserve.accuracy(file, given, labels[1:])


def test_errors_on_private_samples_of_several_inputs_without_a_setup() -> None:
    given = masked_texts.texts(4)
    proof = zenserve.accuracy(
        masked_texts.network(),
        (given["ids"], given["mask"]),
        masked_texts.scores(given),
        measure="mse",
        data_privacy="private",
        weight_privacy="public",
        system="spartan-bls12-381",
    )
    assert "mean squared error" in proof.statement.claim
    assert proof.statement.dataset is not None
    assert proof.statement.dataset.sha256 is None
    assert zenserve.verify(proof).valid
