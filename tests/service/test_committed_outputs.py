"""Outputs of which a proof shows a commitment alone: opened, handed on to other models, and refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.service.conftest import open_runtime
from tests.service.support import npy, serving, tiny_calibration, tiny_onnx, work_on
from zenserve.client import ApiError, Client, Model, Proof
from zenserve.service.dashboard.results import result
from zenserve.service.runtime import Runtime
from zenserve.verifier.documents import KeyFile, OpeningFile, ProofDocument, checked
from zenserve.verifier.expected import Expected
from zenserve.verifier.judging import Known, Verification, judge

INPUT = [0.1, 0.2, 0.3, 0.4]


@dataclass
class Handing:
    """A model of hidden weights, one that takes its output, and one that was made for inputs of its own."""

    runtime: Runtime
    api: Client
    first: Model
    second: Model
    other: Model

    def proven(self, model: Model, *values: Any, **fields: Any) -> Proof:
        proof = self.api.create_proof(model.id, *values, **fields)
        work_on(self.runtime, proof.id)
        proof = self.api.get_proof(proof.id)
        assert proof.state == "succeeded", proof.problem
        return proof

    def committed(self) -> str:
        """The id of a commitment to the first model's output."""
        ids = self.proven(self.first, INPUT, reveal="commitment").output_ids
        assert ids is not None
        return ids["output"]

    def judged(self, proof: Proof, known: Known | None = None, **expected: Any) -> Verification:
        document = checked(ProofDocument, self.api.get_proof_document(proof.id))
        key = checked(KeyFile, self.api.get_verification_key(str(proof.verification_key_id)))
        return judge(document, key, known=known, expected=checked(Expected, expected))


def _registered(runtime: Runtime, api: Client, onnx: bytes, calibration: bytes, **fields: Any) -> Model:
    model = api.create_model(onnx, calibration, **({"weight_privacy": "public"} | fields))
    work_on(runtime, model.id)
    model = api.get_model(model.id)
    assert model.state == "succeeded", model.problem
    return model


@pytest.fixture(scope="module")
def handing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handing]:
    runtime = open_runtime(tmp_path_factory.mktemp("handing") / "data")
    sums = npy(np.random.default_rng(3).uniform(-2, 2, (20, 3)))
    with serving(runtime) as url, Client(url) as api:
        first = _registered(runtime, api, tiny_onnx(), tiny_calibration(), weight_privacy="committed")
        head = tiny_onnx(inputs=3)
        second = _registered(runtime, api, head, sums, input_from=first.id)
        other = _registered(runtime, api, head, sums)
        yield Handing(runtime, api, first, second, other)
    runtime.close()


def test_an_output_is_committed_to_and_opened(handing: Handing) -> None:
    api = handing.api
    asked = api.create_proof(handing.first.id, INPUT, reveal="commitment")
    assert asked.output_ids is None
    work_on(handing.runtime, asked.id)
    proof = api.get_proof(asked.id)
    assert (proof.state, proof.values, proof.label, proof.outputs) == ("succeeded", {}, None, None)
    assert proof.output_ids is not None
    held = api.get_commitment(proof.output_ids["output"])
    assert (held.kind, held.model_id) == ("output", handing.first.id)
    opening = checked(OpeningFile, api.get_commitment_opening(held.id))
    verdict = handing.judged(proof, Known(openings=opening), output=held.commitment)
    assert verdict.valid
    key = api.get_verification_key(str(proof.verification_key_id))
    assert result(api.get_proof_document(proof.id), key["circuit"]).answer == "A commitment to the output"
    outputs = handing.proven(handing.first, INPUT, reveal="logits").logits
    assert outputs is not None
    (said,) = (said for said in verdict.verified if "opening shows" in said)
    shown = [float(each) for each in said.split(": ")[1].split(", in steps")[0].split(", ")]
    assert shown == pytest.approx(outputs)
    locally = api.verify_locally(
        api.get_proof_document(proof.id), key, opening=api.get_commitment_opening(held.id)
    )
    assert said in locally.verified
    again = handing.proven(handing.first, INPUT, reveal="commitment")
    assert handing.judged(again, output=held.commitment).reason == "output_mismatch"
    assert handing.judged(again, Known(openings=opening)).reason == "output_mismatch"


def test_an_output_is_handed_on_to_a_model_that_takes_it(handing: Handing) -> None:
    api, held = handing.api, handing.committed()
    tried = api.dry_run(handing.second.id, input_id=held, reveal="logits")
    proof = handing.proven(handing.second, input_id=held, reveal="logits")
    assert proof.values == tried.values
    commitment = api.get_commitment(held).commitment
    assert handing.judged(proof, input=commitment).valid
    shown = handing.proven(handing.first, INPUT, reveal="logits").logits
    assert shown is not None
    exact = handing.proven(handing.second, shown, reveal="logits")
    assert proof.values == exact.values


def test_a_commitment_is_not_handed_on_to_another_type(handing: Handing) -> None:
    held = handing.committed()
    for model, code, field in (
        (handing.other, "conflict.commitment", "input_id"),
        (handing.first, "conflict.commitment", "input_id"),
    ):
        with pytest.raises(ApiError) as error:
            handing.api.create_proof(model.id, input_id=held)
        assert (error.value.code, error.value.field) == (code, field)
        assert "input_from" in str(error.value)


def test_both_models_share_a_basis(tmp_path: Path) -> None:
    """The second has more weights than the first basis has points; and an output may, too."""
    runtime = open_runtime(tmp_path / "data", basis_points=48)
    with serving(runtime) as url, Client(url) as api:
        first = _registered(runtime, api, tiny_onnx(), tiny_calibration(), weight_privacy="committed")
        sums = npy(np.random.default_rng(3).uniform(-2, 2, (20, 3)))
        larger = tiny_onnx(inputs=3, hidden=20)
        second = _registered(runtime, api, larger, sums, input_from=first.id, weight_privacy="committed")
        made = Handing(runtime, api, first, second, second)
        with pytest.raises(ApiError) as error:
            api.create_proof(second.id, input_id=made.committed())
        assert (error.value.code, error.value.field) == ("conflict.basis", "input_id")
        wide = _registered(runtime, api, tiny_onnx(hidden=2, outputs=130), tiny_calibration())
        with pytest.raises(ApiError) as error:
            api.create_proof(wide.id, INPUT, reveal="commitment")
        assert (error.value.code, error.value.field) == ("statement.basis_length", "reveal")
    runtime.close()


def test_what_input_from_names_must_be_an_output_of_this_shape(handing: Handing) -> None:
    for name, field in (
        (f"{handing.first.id}/scores", "input_from"),
        ("mdl_unknown", "input_from"),
        (handing.first.id, "input"),
    ):
        with pytest.raises(ApiError) as error:
            handing.api.create_model(
                tiny_onnx(), tiny_calibration(), input_from=name, weight_privacy="public"
            )
        assert error.value.field == field, error.value


def test_an_output_is_deleted_as_what_else_is_committed_to(handing: Handing) -> None:
    held = handing.committed()
    handing.api.delete_commitment(held)
    with pytest.raises(ApiError) as error:
        handing.api.create_proof(handing.second.id, input_id=held)
    assert error.value.code == "not_found"
