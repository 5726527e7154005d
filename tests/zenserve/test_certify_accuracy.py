"""``zenserve.certify_accuracy``: from a file and labelled samples to a proof of how many stay right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import zenserve
from tests.refusals import refuses
from tests.service.support import tiny_onnx
from zenserve.verifier.schemes import Norm

SAMPLES = np.random.default_rng(0).uniform(0, 1, (5, 4))
LABELS = np.array([0, 1, 2, 0, 1])


@pytest.mark.parametrize(
    ("system", "weights", "norm"),
    [("groth16-bls12-381", "public", "inf"), ("spartan-bls12-381", "committed", "2")],
)
def test_labels_near_samples_are_proven(system: str, weights: str, norm: Norm, tmp_path: Path) -> None:
    proof = zenserve.certify_accuracy(
        tiny_onnx(),
        SAMPLES,
        LABELS,
        eps=0.01,
        norm=norm,
        weight_privacy=weights,  # type: ignore[arg-type]  # of the parameters
        shard_size=3,
        system=system,
    )
    said = proof.statement
    assert len(proof.document.proofs) == 2
    assert said.values["size"] == 5
    assert said.claim.startswith(
        f"At least {said.values['certified']} of 5 samples are labelled rightly, and"
    )
    assert f"The radius is {proof.shown['radius']}, in steps of" in said.claim
    proof.save(tmp_path)
    seen = zenserve.verify(tmp_path, dataset=(SAMPLES, LABELS))
    assert seen.valid, seen.detail
    assert any("dataset that you gave" in sentence for sentence in seen.verified)
    other = zenserve.verify(tmp_path, dataset=(SAMPLES, LABELS[::-1]))
    assert other.reason == "dataset_mismatch"


def test_what_cannot_be_certified_is_refused() -> None:
    with refuses("input.out_of_range", "radius"):
        zenserve.certify_accuracy(tiny_onnx(), SAMPLES, LABELS, eps=9.0, weight_privacy="public")
    with refuses("model.unsupported_operator", match="no lines through"):
        zenserve.certify_accuracy(tiny_onnx(operator="Softmax"), SAMPLES, LABELS, eps=0.1)
    many = np.repeat(SAMPLES, 2, axis=0)
    with refuses("statement.openings", "shard_size", match="registration included"):
        zenserve.certify_accuracy(
            tiny_onnx(), many, np.repeat(LABELS, 2), eps=0.1, shard_size=1, system="spartan-bls12-381"
        )
    with refuses("input.shape", match="samples"):
        zenserve.certify_accuracy(tiny_onnx(), SAMPLES, LABELS[1:], eps=0.1)
