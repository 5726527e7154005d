"""What can be asked for: schemes, privacies of inputs, what is revealed; and each request that is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.service.accounts import calling
from tests.service.conftest import open_runtime
from tests.service.support import labelled, npy, serving, tiny_calibration, tiny_onnx, work_on
from zenserve.circuits import load_onnx
from zenserve.client import ApiError, Client, Commitment, Model
from zenserve.service import intake
from zenserve.service.dashboard.results import result
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.reaper import reap
from zenserve.service.storage.repositories import Proofs
from zenserve.verifier.fields import canonical
from zenserve.verifier.schemes import Norm

INPUT = [0.1, 0.2, 0.3, 0.4]
OTHER = [0.9, 0.1, 0.8, 0.2]
EMBEDS = tiny_onnx(embeds=True)


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Runtime, Client, Model]]:
    """A model with public weights that makes embeddings."""
    runtime = open_runtime(tmp_path_factory.mktemp("faces") / "data")
    with serving(runtime) as url, Client(url) as client:
        model = client.create_model(EMBEDS, tiny_calibration(), weight_privacy="public")
        work_on(runtime, model.id)
        yield runtime, client, client.get_model(model.id)
    runtime.close()


def proven(runtime: Runtime, api: Client, model: Model, *values: Any, **fields: Any) -> dict[str, Any]:
    """The statement of a proof that the service's own verifier holds for valid."""
    proof = api.create_proof(model.id, *values, **fields)
    work_on(runtime, proof.id)
    proof = api.get_proof(proof.id)
    assert proof.state == "succeeded", proof.problem
    document = api.get_proof_document(proof.id)
    verdict = api.verify(document)
    assert verdict.valid, verdict.detail
    assert verdict.statement == document["statement"]
    statement: dict[str, Any] = document["statement"]
    assert statement["values"] == proof.values
    return statement


def test_a_public_input_is_shown_in_its_integers(api: Client, with_model: Runtime, model: Model) -> None:
    said = proven(with_model, api, model, INPUT, input_privacy="public")
    key = api.get_verification_key(said["verification_key"]["id"])
    kind = key["circuit"]["quantisation"]["input"]
    real = [kind["scale"] * (value - kind["zero_point"]) for value in said["values"]["input"]]
    assert real == pytest.approx(INPUT, abs=kind["scale"])


def test_a_proof_shows_what_is_to_be_revealed(api: Client, with_model: Runtime, model: Model) -> None:
    label = proven(with_model, api, model, INPUT)["values"]["label"]
    logits = proven(with_model, api, model, INPUT, reveal="logits")["values"]
    top = proven(with_model, api, model, INPUT, reveal="top", top=2)["values"]
    assert logits.keys() == {"label", "logits"}
    assert logits["label"] == label == max(range(3), key=logits["logits"].__getitem__)
    assert min(logits["logits"]) < 0
    assert top == {"top": sorted(range(3), key=lambda i: -logits["logits"][i])[:2]}
    listed = [proof for proof in api.proofs() if proof.values and "logits" in proof.values]
    real = api.get_proof(listed[0].id).logits
    assert real == pytest.approx(load_onnx(tiny_onnx()).run(np.array([INPUT]))[0], abs=0.05)
    assert api.get_proof(next(api.proofs()).id).logits is None


def test_a_label_is_proven_for_all_inputs_near_one(api: Client, with_model: Runtime, model: Model) -> None:
    said = proven(with_model, api, model, INPUT, scheme="robustness", input_privacy="public", radius=1)
    label = proven(with_model, api, model, INPUT)["values"]["label"]
    assert (said["values"]["radius"], said["values"]["label"]) == (1, label)
    assert said["claim"].startswith(f"The label is {label}. The radius is 0.00")
    (listed,) = api.proofs(scheme="robustness")
    assert listed.scheme == "robustness"
    with with_model.database.read() as session:
        sealed = Proofs(session).get(listed.id).margins
    assert sealed is not None
    course = json.loads(with_model.vault.open(sealed, f"margins:{listed.id}"))
    assert [radius for radius, _ in course] == [0, 1, 2]
    assert 0 < course[1][1] <= course[0][1]
    with calling(with_model) as http:
        answer = http.get(f"/v1/proofs/{listed.id}").text + json.dumps(said)
    assert str(course[1][1]) not in answer
    ball = proven(with_model, api, model, INPUT, scheme="robustness", radius=2, norm="2")
    assert "squared and added up" in ball["claim"]
    assert any("all entries together" in sentence for sentence in ball["does_not_say"])
    beyond = api.create_proof(model.id, INPUT, scheme="robustness", radius=255)
    work_on(with_model, beyond.id)
    problem = api.get_proof(beyond.id).problem
    assert problem is not None
    assert problem["code"] == "statement.not_certified"
    refused: list[tuple[int | None, Norm | None, str]] = [
        (256, None, "input.out_of_range"),
        (512, "2", "input.out_of_range"),
        (None, None, "request.invalid"),
    ]
    for radius, norm, code in refused:
        with pytest.raises(ApiError) as refusal:
            api.create_proof(model.id, INPUT, scheme="robustness", radius=radius, norm=norm)
        assert (refusal.value.code, refusal.value.field) == (code, "radius")


def test_a_regression_is_proven_from_end_to_end(api: Client, with_model: Runtime) -> None:
    onnx = tiny_onnx(outputs=1)
    model = api.create_model(onnx, tiny_calibration(), weight_privacy="committed")
    work_on(with_model, model.id)
    said = proven(with_model, api, model, INPUT, challenge="the price")
    assert said == proven(with_model, api, model, INPUT, challenge="the price", reveal="values") | {
        "made_at": said["made_at"]
    }
    (exact,) = load_onnx(onnx).run(np.array([INPUT]))[0]
    key = api.get_verification_key(said["verification_key"]["id"])["circuit"]
    group = key["public_inputs"][-1]
    (integer,) = said["values"]["values"]
    output = group["scale"] * (integer - group["zero_point"])
    assert output == pytest.approx(exact, abs=0.05)
    step = canonical(group["scale"]).decode()
    assert said["claim"].startswith(
        f"The network's outputs are {canonical(output).decode()}, in steps of {step}."
    )
    shown = next(api.proofs())
    assert shown.outputs is None
    assert api.get_proof(shown.id).outputs == [output]
    for reveal in ("label", "logits", "top"):
        with pytest.raises(ApiError, match="reveal the values") as refusal:
            api.create_proof(model.id, INPUT, reveal=reveal, **({"top": 1} if reveal == "top" else {}))  # type: ignore[arg-type]
        assert (refusal.value.code, refusal.value.field) == ("statement.classes", "reveal")
    with pytest.raises(ApiError) as refusal:
        api.create_dataset(model.id, *labelled(), privacy="public")
    assert (refusal.value.code, refusal.value.field) == ("statement.classes", "labels")


def test_any_network_may_show_its_values(api: Client, with_model: Runtime, model: Model) -> None:
    said = proven(with_model, api, model, INPUT, reveal="values", input_privacy="public")
    logits = proven(with_model, api, model, INPUT, reveal="logits", input_privacy="public")["values"]
    assert said["values"] == {"input": logits["input"], "values": logits["logits"]}


ENDS: list[tuple[dict[str, Any], str, str]] = [
    ({"reveal": "threshold"}, "statement.reveal", "at_least"),
    ({"reveal": "range"}, "statement.reveal", "bounds"),
    ({"reveal": "threshold", "at_least": 0.0, "at_most": 0.0}, "statement.reveal", "at_most"),
    ({"reveal": "threshold", "bounds": [0.1]}, "statement.reveal", "bounds"),
    ({"reveal": "label", "at_least": 0.1}, "statement.reveal", "at_least"),
    ({"reveal": "threshold", "at_least": {"other": 0.1}}, "statement.reveal", "at_least"),
    ({"reveal": "threshold", "at_least": 1e6}, "input.out_of_range", "at_least"),
    ({"reveal": "range", "bounds": [0.001, 0.0]}, "input.out_of_range", "bounds"),
    ({"reveal": "range", "bounds": []}, "request.invalid", "bounds"),
    ({"reveal": "range", "bounds": [0.01 * i for i in range(33)]}, "request.invalid", "bounds"),
]


@pytest.mark.parametrize(("fields", "code", "field"), ENDS)
def test_what_no_output_is_compared_with_is_refused(
    faces: tuple[Runtime, Client, Model], fields: dict[str, Any], code: str, field: str
) -> None:
    _, api, model = faces
    with pytest.raises(ApiError) as refusal:
        api.create_proof(model.id, INPUT, **fields)
    assert refusal.value.code == code
    assert str(refusal.value.field).split(".")[0] == field


def test_outputs_stay_hidden_but_for_where_they_lie(faces: tuple[Runtime, Client, Model]) -> None:
    runtime, api, model = faces
    values = proven(runtime, api, model, OTHER, reveal="values")["values"]["values"]
    real = api.get_proof(next(api.proofs()).id).outputs or []
    own = max(real)
    least = proven(runtime, api, model, OTHER, reveal="threshold", at_least=own)
    assert least["values"] == {"threshold": max(values), "reached": [int(each == own) for each in real]}
    most = proven(runtime, api, model, OTHER, reveal="threshold", at_most={"output": own})
    assert most["values"] == {"threshold": max(values) + 1, "reached": [0] * len(values)}
    assert most["verification_key"] == least["verification_key"]
    assert "below" in most["claim"]
    tried = api.dry_run(model.id, OTHER, reveal="range", bounds=[min(real), own])
    said = proven(runtime, api, model, OTHER, reveal="range", bounds=[min(real), own])
    assert said["values"] == tried.values
    assert said["values"]["interval"] == [1 + (each == own) for each in real]
    shown = api.get_proof(next(api.proofs()).id)
    assert shown.claim == said["claim"]
    document = api.get_proof_document(shown.id)
    assert api.verify(document, expected={"at_least": min(real)}).valid
    assert api.verify(document, expected={"at_least": own}).reason == "output_mismatch"
    circuit = api.get_verification_key(said["verification_key"]["id"])["circuit"]
    found = result(document, circuit)
    assert found.answer == f"3 outputs: interval {', '.join(map(str, said['values']['interval']))}"
    assert [place == f"at least {own:.4g}" for place in found.tables[0].places] == [
        each == own for each in real
    ]


def test_inputs_beyond_the_calibration_saturate_where_the_owner_says_so(
    api: Client, with_model: Runtime, model: Model
) -> None:
    beyond = [77.0, *OTHER[1:]]
    with pytest.raises(ApiError) as refusal:
        api.create_proof(model.id, beyond)
    assert (refusal.value.code, refusal.value.field, model.saturate) == ("input.out_of_range", "input", False)
    lenient = api.create_model(EMBEDS, tiny_calibration(), saturate=True, weight_privacy="public")
    work_on(with_model, lenient.id)
    assert api.get_model(lenient.id).saturate
    assert api.get_receipt(lenient.id)["saturates"] is True
    assert "saturates" not in api.get_receipt(model.id)
    said = proven(with_model, api, lenient, beyond, input_privacy="public")
    assert said["saturates"] is True
    assert any("beyond the range" in sentence for sentence in said["does_not_say"])
    shown = said["values"]["input"]
    key = api.get_verification_key(next(api.proofs()).verification_key_id or "")
    kind = key["circuit"]["quantisation"]["input"]
    assert shown[0] == 2 ** kind["bits"] - 1
    held = api.create_commitment(lenient.id, "input", beyond)
    assert proven(with_model, api, lenient, input_id=held.id)["commitments"]["input"] == held.commitment
    reference: dict[str, Any] = {"scheme": "recognition", "threshold": 0, "reference": beyond}
    assert proven(with_model, api, lenient, beyond, **reference)["values"]["match"] == 1
    samples, labels = np.array([beyond, OTHER]), npy(np.array([0, 1]))
    for owner in (lenient.id, model.id):
        if owner == lenient.id:
            assert api.create_dataset(owner, npy(samples), labels, privacy="public").size == 2
            continue
        with pytest.raises(ApiError) as refusal:
            api.create_dataset(owner, npy(samples), labels, privacy="public")
        assert refusal.value.code == "input.out_of_range"


def test_a_network_without_weights_is_public(api: Client, with_model: Runtime) -> None:
    turned = helper.make_graph(
        [helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 1])],
        "turned",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2, 2])],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx = helper.make_model(turned, opset_imports=opset, ir_version=9).SerializeToString()
    calibration = npy(np.random.default_rng(8).uniform(0, 1, size=(8, 2, 2)))
    with pytest.raises(ApiError, match="nothing to commit to") as refusal:
        api.create_model(onnx, calibration, weight_privacy="committed")
    assert (refusal.value.code, refusal.value.field) == ("statement.no_weights", "weight_privacy")
    model = api.create_model(onnx, calibration, weight_privacy="public")
    work_on(with_model, model.id)
    said = proven(with_model, api, model, [[0.1, 0.2], [0.3, 0.4]], reveal="values")
    assert api.get_proof(next(api.proofs()).id).outputs == pytest.approx([0.1, 0.3, 0.2, 0.4], abs=0.01)
    assert len(said["values"]["values"]) == 4


def test_a_committed_input_serves_several_proofs(api: Client, with_model: Runtime, model: Model) -> None:
    commitment = api.create_commitment(model.id, "input", INPUT)
    first = proven(with_model, api, model, input_id=commitment.id)
    second = proven(with_model, api, model, input_id=commitment.id, reveal="logits")
    for said in (first, second):
        assert said["commitments"] == {"model": model.commitment, "input": commitment.commitment}
        assert "input" not in said["values"]


def test_an_input_that_was_committed_to_without_its_type_is_committed_to_anew(
    api: Client, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(intake, "committed_values", lambda _, q, name: q)
        commitment = api.create_commitment(model.id, "input", INPUT)
    with pytest.raises(ApiError, match="anew") as refusal:
        api.create_proof(model.id, input_id=commitment.id)
    assert (refusal.value.status, refusal.value.code) == (409, "conflict.commitment")


def test_a_committed_input_may_be_deleted_while_a_proof_of_it_is_queued(
    api: Client, with_model: Runtime, model: Model
) -> None:
    commitment = api.create_commitment(model.id, "input", INPUT)
    proof = api.create_proof(model.id, input_id=commitment.id)
    api.delete_commitment(commitment.id)
    work_on(with_model, proof.id)
    assert api.get_proof(proof.id).state == "succeeded"
    with pytest.raises(ApiError) as refusal:
        api.create_proof(model.id, input_id=commitment.id)
    assert (refusal.value.status, refusal.value.field) == (404, "input_id")


@pytest.mark.parametrize("committed", [False, True])
def test_recognition_against_a_reference(faces: tuple[Runtime, Client, Model], committed: bool) -> None:
    runtime, api, model = faces
    reference: dict[str, Any] = {"reference": INPUT}
    if committed:
        reference = {"reference_id": api.create_commitment(model.id, "reference", INPUT).id}
    near = proven(runtime, api, model, INPUT, scheme="recognition", threshold=0, **reference)
    far = proven(runtime, api, model, OTHER, scheme="recognition", threshold=0, **reference)
    assert (near["values"]["match"], far["values"]["match"]) == (1, 0)
    assert ("reference" in near["values"]) != committed
    assert list(near["commitments"]) == (["reference"] if committed else [])


def test_models_of_one_circuit_share_its_keys(api: Client, with_model: Runtime, model: Model) -> None:
    again = api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="committed")
    work_on(with_model, again.id)
    again = api.get_model(again.id)
    assert again.commitment != model.commitment  # of the same weights, which nobody can tell
    assert again.verification_key_id == model.verification_key_id
    assert again.registration_key_id == model.registration_key_id


def test_a_key_is_made_once_and_at_its_first_use(api: Client, with_model: Runtime, model: Model) -> None:
    jobs = [api.create_proof(model.id, INPUT, input_privacy="public") for _ in range(2)]
    for job in jobs:
        work_on(with_model, job.id)
    first, second = (api.get_proof(job.id) for job in jobs)
    assert first.verification_key_id == second.verification_key_id != model.verification_key_id
    assert "key_g1" in first.timings
    assert "key_g1" not in second.timings


def test_nothing_secret_is_kept_once_a_proof_is_over(api: Client, with_model: Runtime, model: Model) -> None:
    commitment = api.create_commitment(model.id, "input", INPUT)
    artifacts = Path(with_model.settings.data_dir, "artifacts")
    before = set(artifacts.glob("??/*"))
    proof = api.create_proof(model.id, input_id=commitment.id)
    (sealed,) = set(artifacts.glob("??/*")) - before
    api.cancel(proof.id)
    reap(with_model)
    assert not sealed.exists()
    api.delete_commitment(commitment.id)
    assert set(artifacts.glob("??/*")) < before


REFUSALS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no input": ({}, "request.invalid", "input"),
    "two inputs": ({"input": INPUT, "input_id": "cmt_1"}, "request.invalid", "input"),
    "privacy of a committed input": (
        {"input_id": "cmt_1", "input_privacy": "public"},
        "request.invalid",
        "input_privacy",
    ),
    "privacy": ({"input": INPUT, "input_privacy": "committed"}, "request.invalid", "input_privacy"),
    "unknown commitment": ({"input_id": "cmt_1"}, "not_found", "input_id"),
    "threshold of an inference": ({"input": INPUT, "threshold": 1}, "request.invalid", "threshold"),
    "dataset of an inference": ({"input": INPUT, "dataset_id": "dst_1"}, "request.invalid", "dataset_id"),
    "top without reveal": ({"input": INPUT, "top": 2}, "request.invalid", "top"),
    "reveal top without top": ({"input": INPUT, "reveal": "top"}, "request.invalid", "top"),
    "top of none": ({"input": INPUT, "reveal": "top", "top": 0}, "request.invalid", "top"),
    "top of all": ({"input": INPUT, "reveal": "top", "top": 3}, "input.out_of_range", "top"),
    "reveal": ({"input": INPUT, "reveal": "weights"}, "request.invalid", "reveal"),
    "scheme": ({"input": INPUT, "scheme": "magic"}, "request.invalid", "scheme"),
    "control codes": ({"input": INPUT, "challenge": "\x1b[31m"}, "request.invalid", "challenge"),
    "long challenge": ({"input": INPUT, "challenge": "x" * 201}, "request.invalid", "challenge"),
    "no reference": (
        {"input": INPUT, "scheme": "recognition", "threshold": 1},
        "request.invalid",
        "reference",
    ),
    "no threshold": (
        {"input": INPUT, "scheme": "recognition", "reference": INPUT},
        "request.invalid",
        "threshold",
    ),
    "negative threshold": (
        {"input": INPUT, "scheme": "recognition", "reference": INPUT, "threshold": -1},
        "request.invalid",
        "threshold",
    ),
    "threshold beyond all": (
        {"input": INPUT, "scheme": "recognition", "reference": INPUT, "threshold": 10**9},
        "input.out_of_range",
        "threshold",
    ),
    "reference out of range": (
        {"input": INPUT, "scheme": "recognition", "reference": [0, 0, 0, 77], "threshold": 1},
        "input.out_of_range",
        "reference",
    ),
    "reveal of a recognition": (
        {"input": INPUT, "scheme": "recognition", "reference": INPUT, "threshold": 1, "reveal": "label"},
        "request.invalid",
        "reveal",
    ),
    "no dataset": ({"scheme": "accuracy"}, "request.invalid", "dataset_id"),
    "input of an accuracy": (
        {"scheme": "accuracy", "dataset_id": "dst_1", "input": INPUT},
        "request.invalid",
        "input",
    ),
    "unknown dataset": ({"scheme": "accuracy", "dataset_id": "dst_1"}, "not_found", "dataset_id"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_request_that_does_not_fit_its_scheme_is_refused_by_field(
    faces: tuple[Runtime, Client, Model], case: str
) -> None:
    _, api, model = faces
    fields, code, field = REFUSALS[case]
    response = httpx.post(f"{api._http.base_url}/v1/proofs", json={"model_id": model.id, **fields})
    problem = response.json()
    assert (problem["code"], problem["field"]) == (code, field)
    assert problem["detail"]


def test_a_commitment_of_another_kind_or_model_is_refused(
    api: Client, with_model: Runtime, model: Model, faces: tuple[Runtime, Client, Model]
) -> None:
    other = api.create_model(EMBEDS, tiny_calibration(), weight_privacy="public")
    work_on(with_model, other.id)
    mine, reference = (
        api.create_commitment(model.id, "input", INPUT),
        api.create_commitment(other.id, "reference", INPUT),
    )

    def complaint(model_id: str, commitment: Commitment) -> str:
        with pytest.raises(ApiError) as refusal:
            api.create_proof(model_id, input_id=commitment.id)
        assert (refusal.value.code, refusal.value.field) == ("request.invalid", "input_id")
        return refusal.value.detail

    assert model.id in complaint(other.id, mine)
    assert "reference" in complaint(other.id, reference)


def test_recognition_takes_a_network_that_makes_embeddings(api: Client, model: Model) -> None:
    with pytest.raises(ApiError) as refusal:
        api.create_proof(model.id, INPUT, scheme="recognition", reference=INPUT, threshold=1)
    assert (refusal.value.status, refusal.value.code) == (422, "statement.embedding")
    with pytest.raises(ApiError) as refusal:
        api.create_commitment(model.id, "reference", INPUT)
    assert refusal.value.code == "statement.embedding"
