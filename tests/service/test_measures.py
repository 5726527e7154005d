"""Accuracies of other measures through the service: datasets with targets, what is asked, what is refused."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.service.support import labelled, npy, tiny_calibration, work_on, work_on_all
from zenserve.circuits import QuantGraph, compile_robustness
from zenserve.circuits.schemes.audit import recompile
from zenserve.client import ApiError, Client, Model
from zenserve.service import encryption
from zenserve.service.dashboard.results import result
from zenserve.service.runtime import Runtime
from zenserve.service.storage.repositories import Models
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import KeyFile, OpeningFile, ProofDocument, checked
from zenserve.verifier.judging import Known, judge
from zenserve.verifier.schemes import PublicOrPrivate

SAMPLES, LABELS = labelled()


def network(runtime: Runtime, model: Model) -> QuantGraph:
    with runtime.database.read() as session:
        row = Models(session).get(model.id)
    return QuantGraph.from_bytes(encryption.open_network(runtime, row))


def load(data: bytes) -> Any:
    return np.load(io.BytesIO(data))


def proven(
    api: Client,
    runtime: Runtime,
    model: Model,
    data: LabelledData,
    opening: OpeningFile | None = None,
    **asked: Any,
) -> Any:
    """The statement of a proof, verified against its dataset."""
    proof = api.create_proof(model.id, scheme="accuracy", **asked)
    work_on_all(runtime, proof.id)
    done = api.get_proof(proof.id)
    assert done.state == "succeeded", done.problem
    document, key = api.get_proof_document(proof.id), api.get_verification_key(str(done.verification_key_id))
    known = Known(dataset=data, openings=opening)
    verdict = judge(checked(ProofDocument, document), checked(KeyFile, key), known=known)
    assert verdict.valid, verdict.detail
    assert api.verify(document).valid
    said = document["statement"]
    if "measure" in key["circuit"]:
        assert result(document, key["circuit"]).answer in said["claim"]
    again = recompile(network(runtime, model), key["circuit"]).describe()
    assert json.loads(json.dumps(again)) == key["circuit"]
    return said


def test_classes_and_likeliest_labels_are_counted(api: Client, with_model: Runtime, model: Model) -> None:
    dataset = api.create_dataset(model.id, SAMPLES, LABELS, privacy="public", shard_size=4)
    work_on(with_model, dataset.id)
    assert api.get_dataset(dataset.id).compared == "labels"
    data, graph = LabelledData.of(load(SAMPLES), load(LABELS)), network(with_model, model)
    outputs = graph.run(graph.input.type.quantise(data.samples))
    ranks = np.argsort(-outputs, axis=1, kind="stable")
    asked: dict[str, Any] = {"dataset_id": dataset.id}
    said = proven(api, with_model, model, data, **asked, measure="top-k", top=2)
    assert said["values"] == {"correct": int((ranks[:, :2] == data.labels[:, None]).sum()), "size": 7}
    said = proven(api, with_model, model, data, **asked, measure="f1")
    found = ranks[:, 0]
    classes = range(graph.classes)
    assert said["values"] == {
        "true_positives": [int(((found == c) & (data.labels == c)).sum()) for c in classes],
        "predicted": [int((found == c).sum()) for c in classes],
        "actual": [int((data.labels == c).sum()) for c in classes],
        "size": 7,
    }


@pytest.mark.parametrize("privacy", ["public", "private"])
def test_labels_near_samples_are_certified(
    api: Client, with_model: Runtime, model: Model, privacy: PublicOrPrivate
) -> None:
    dataset = api.create_dataset(model.id, SAMPLES, LABELS, privacy=privacy, shard_size=4)
    work_on(with_model, dataset.id)
    graph = network(with_model, model)
    q, labels = graph.input.type.quantise(load(SAMPLES)), load(LABELS)
    robust, right = compile_robustness(graph), graph.run(q).argmax(axis=1) == labels
    certified = [bool((robust.margins(each, 3) > 0).all()) for each in q] & right
    assert 0 < certified.sum() < len(labels)
    asked: dict[str, Any] = {"dataset_id": dataset.id, "measure": "certified", "radius": 3}
    shown = {"certified": int(certified.sum()), "size": 7, "radius": 3}
    assert api.dry_run(model.id, scheme="accuracy", **asked).values == shown
    balls = api.dry_run(model.id, scheme="accuracy", **asked, norm="2").values
    assert shown["certified"] <= balls["certified"] <= 7
    data = LabelledData.of(load(SAMPLES), labels)
    opening = checked(OpeningFile, api.get_dataset_opening(dataset.id)) if privacy == "private" else None
    said = proven(api, with_model, model, data, opening, **asked)
    assert said["values"] == shown
    assert said["claim"].startswith(f"At least {shown['certified']} of 7 samples are labelled rightly")
    assert any("not certified" in sentence for sentence in said["does_not_say"])


@pytest.mark.usefixtures("in_a_child")
def test_errors_against_targets_are_added_up(api: Client, with_model: Runtime, model: Model) -> None:
    graph, samples = network(with_model, model), load(SAMPLES)
    assert graph.output_scale
    scale, zero_point = graph.output_scale
    outputs = graph.run(graph.input.type.quantise(samples))
    errors = np.arange(outputs.size).reshape(outputs.shape) % 7 - 3
    targets = scale * (outputs + errors - zero_point)
    dataset = api.create_dataset(model.id, SAMPLES, targets=npy(targets), privacy="public", shard_size=4)
    work_on(with_model, dataset.id)
    shown, data = api.get_dataset(dataset.id), LabelledData.with_targets(samples, targets)
    assert (shown.state, shown.compared, shown.sha256) == ("succeeded", "targets", data.sha256.hex())
    asked: dict[str, Any] = {"dataset_id": dataset.id}
    said = proven(api, with_model, model, data, **asked)
    assert said["values"] == {"squared_error": int((errors**2).sum()), "size": 7}
    assert any("rounded to the nearest" in sentence for sentence in said["does_not_say"])
    tried = api.dry_run(model.id, scheme="accuracy", **asked, measure="mae")
    assert tried.values == {"absolute_error": int(np.abs(errors).sum()), "size": 7}
    whole = api.create_dataset(model.id, SAMPLES, targets=npy(targets), privacy="private")
    work_on(with_model, whole.id)
    assert api.get_dataset(whole.id).shard_size == 7


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"measure": "mse"}, "measure"),
        ({"measure": "luck"}, "measure"),
        ({"measure": "top-k"}, "top"),
        ({"measure": "f1", "top": 2}, "top"),
        ({"measure": "top-k", "top": 3}, "top"),
        ({"measure": "certified"}, "radius"),
        ({"measure": "certified", "radius": 256}, "radius"),
        ({"measure": "accuracy", "radius": 1}, "radius"),
        ({"measure": "accuracy", "norm": "2"}, "norm"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    api: Client, with_model: Runtime, model: Model, asked: dict[str, Any], field: str
) -> None:
    dataset = api.create_dataset(model.id, SAMPLES, LABELS, privacy="private", shard_size=7)
    work_on(with_model, dataset.id)
    with pytest.raises(ApiError) as refusal:
        api.create_proof(model.id, scheme="accuracy", dataset_id=dataset.id, **asked)
    assert refusal.value.status == 422
    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("files", "code", "field"),
    [
        ({"targets": npy(np.zeros((6, 3)))}, "input.shape", "samples"),
        ({"targets": npy(np.zeros((7, 2)))}, "input.shape", "targets"),
        ({"targets": npy(np.full((7, 3), 1e9))}, "input.out_of_range", "targets"),
        ({"targets": npy(np.full((7, 3), np.nan))}, "input.not_finite", "targets"),
        ({"targets": npy(np.zeros((7, 3))), "labels": LABELS}, "request.invalid", "targets"),
    ],
)
def test_targets_that_are_none_are_refused(
    api: Client, with_model: Runtime, model: Model, files: dict[str, Any], code: str, field: str
) -> None:
    with pytest.raises(ApiError) as refusal:
        api.create_dataset(model.id, SAMPLES, **files, privacy="public")
    assert (refusal.value.code, refusal.value.field) == (code, field)


def classifier(*outputs: str) -> bytes:
    """``label`` and ``probabilities``, as scikit-learn's exporter writes them, and the ``scores``."""
    random = np.random.default_rng(11)
    weight, bias = random.normal(size=(4, 3)), random.normal(size=3)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0),
        helper.make_node("Softmax", ["scores"], ["probabilities"], axis=1),
    ]
    kinds = {"label": TensorProto.INT64}
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), None) for name in outputs],
        [
            numpy_helper.from_array(value.astype(np.float32), name)
            for name, value in (("w", weight), ("b", bias))
        ],
    )
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def test_labels_are_of_the_only_output_of_classes_or_of_the_one_that_is_named(
    api: Client, with_model: Runtime
) -> None:
    one = api.create_model(
        classifier("label", "probabilities"),
        tiny_calibration(),
        weight_privacy="committed",
        calibration_labels=npy(np.zeros(32, int)),
    )
    work_on(with_model, one.id)
    data = LabelledData.of(load(SAMPLES), load(LABELS))
    dataset = api.create_dataset(one.id, SAMPLES, LABELS, privacy="public", shard_size=4)
    work_on(with_model, dataset.id)
    assert api.get_dataset(dataset.id).output == "probabilities"
    tried = api.dry_run(one.id, scheme="accuracy", dataset_id=dataset.id)
    said = proven(api, with_model, one, data, dataset_id=dataset.id)
    graph = network(with_model, one)
    (label,) = graph.run_all(graph.input.type.quantise(data.samples), {graph.outputs["label"]}).values()
    assert said["values"] == {"correct": int((label.ravel() == data.labels).sum()), "size": 7} == tried.values
    assert "Of the output probabilities: The prover knows" in said["claim"]
    proven(api, with_model, one, data, dataset_id=dataset.id, measure="top-k", top=2)
    several = api.create_model(
        classifier("label", "probabilities", "scores"), tiny_calibration(), weight_privacy="public"
    )
    work_on(with_model, several.id)
    files: dict[str, Any] = {"labels": LABELS, "privacy": "private"}
    for output in (None, "label", "nothing"):
        with pytest.raises(ApiError, match="against labels one of probabilities, scores") as refused:
            api.create_dataset(several.id, SAMPLES, **files, output=output)
        assert (refused.value.code, refused.value.field) == ("statement.several", "output")
    named = api.create_dataset(several.id, SAMPLES, **files, output="scores")
    assert named.output == "scores"
    targets: dict[str, Any] = {"targets": npy(np.full((7, 3), 0.3)), "privacy": "public"}
    with pytest.raises(ApiError, match="against targets one of label, probabilities, scores"):
        api.create_dataset(several.id, SAMPLES, **targets)
    measured = api.create_dataset(several.id, SAMPLES, **targets, output="probabilities", shard_size=7)
    work_on(with_model, measured.id)
    data = LabelledData.with_targets(load(SAMPLES), load(targets["targets"]))
    said = proven(api, with_model, several, data, dataset_id=measured.id)
    assert said["claim"].startswith("The network's mean squared error")
