"""``zenserve.certify``: from a file and an input to a proof about all inputs near it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import zenserve
from tests.refusals import refuses
from tests.service.support import tiny_onnx
from zenserve.verifier.schemes import Norm

X = np.array([0.1, 0.2, 0.3, 0.4])
NEAR = np.random.default_rng(0).uniform(0, 1, (50, 4))


@pytest.mark.parametrize(
    ("system", "weights", "operator", "norm"),
    [
        ("groth16-bls12-381", "committed", "Relu", "inf"),
        ("spartan-bls12-381", "public", "Relu", "2"),
        ("spartan-bls12-381", "public", "Tanh", "inf"),
    ],
)
def test_a_label_is_proven_for_all_that_is_near(
    system: str, weights: str, operator: str, norm: Norm, tmp_path: Path
) -> None:
    proof = zenserve.certify(
        tiny_onnx(operator=operator),
        X,
        eps=0.01,
        norm=norm,
        calibration=NEAR,
        weight_privacy=weights,  # type: ignore[arg-type]  # of the parameters
        system=system,
    )
    said = proof.statement
    step = proof.shown["radius"]
    assert isinstance(step, float)
    assert 0.01 - step < 0.004
    assert said.claim.startswith(f"The label is {said.values['label']}. The radius is {step}, in steps of ")
    assert (proof.registration is None) == (weights == "public")
    away = {"inf": "any one entry", "2": "all entries together"}[norm]
    assert any(f"further away in {away}" in sentence for sentence in said.does_not_say)
    proof.save(tmp_path)
    assert zenserve.verify(tmp_path).valid


def test_what_no_certificate_reaches_is_refused() -> None:
    with refuses("statement.not_certified", "radius", match="smaller radius"):
        zenserve.certify(tiny_onnx(), X, eps=0.9, calibration=NEAR, weight_privacy="public")
    with refuses("input.out_of_range", "radius"):
        zenserve.certify(tiny_onnx(), X, eps=9.0, calibration=NEAR, weight_privacy="public")
    with refuses("model.unsupported_operator", match="no lines through"):
        network = tiny_onnx(operator="Softmax")
        zenserve.certify(network, X, eps=0.1, calibration=NEAR, weight_privacy="public")
