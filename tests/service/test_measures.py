"""Accuracies of other measures through the service: datasets with targets, what is asked, what is refused."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from circuits import QuantGraph
from client import ApiError, Client, Model
from service import encryption
from service.dashboard.results import result
from service.runtime import Runtime
from service.storage.repositories import Models
from tests.service.support import labelled, npy, work_on, work_on_all
from verifier.datasets import LabelledData
from verifier.documents import KeyFile, ProofDocument, checked
from verifier.judging import Known, judge

SAMPLES, LABELS = labelled()


def network(runtime: Runtime, model: Model) -> QuantGraph:
    with runtime.database.read() as session:
        row = Models(session).get(model.id)
    return QuantGraph.from_bytes(encryption.open_network(runtime, row))


def load(data: bytes) -> Any:
    return np.load(io.BytesIO(data))


def proven(api: Client, runtime: Runtime, model: Model, data: LabelledData, **asked: Any) -> Any:
    """The statement of a proof, verified against its dataset."""
    proof = api.create_proof(model.id, scheme="accuracy", **asked)
    work_on_all(runtime, proof.id)
    done = api.get_proof(proof.id)
    assert done.state == "succeeded", done.problem
    document, key = api.get_proof_document(proof.id), api.get_verification_key(str(done.verification_key_id))
    verdict = judge(checked(ProofDocument, document), checked(KeyFile, key), known=Known(dataset=data))
    assert verdict.valid, verdict.detail
    assert api.verify(document).valid
    said = document["statement"]
    assert result(document, key["circuit"]).answer in said["claim"]
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
