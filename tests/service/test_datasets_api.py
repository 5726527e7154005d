"""Datasets and commitments: what is answered, what opens, what is refused, what is forgotten."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import httpx
import numpy as np
import pytest

from tests.refusals import refuses
from tests.service.support import labelled, npy, tiny_calibration, tiny_onnx, work_on, work_on_all
from zenserve.circuits import QuantGraph, compile_accuracy
from zenserve.client import ApiError, Client, Model
from zenserve.prover import registry
from zenserve.prover.groth16 import Revealed, check_opening
from zenserve.prover.size import Size
from zenserve.service import engine, intake
from zenserve.service.batches import even
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.repositories.workers import Workers
from zenserve.verifier.datasets import LabelledData, quantise
from zenserve.verifier.description import Description
from zenserve.verifier.documents import checked
from zenserve.verifier.registry import FIRST
from zenserve.verifier.schemes import Measure

INPUT = [0.1, 0.2, 0.3, 0.4]
SAMPLES, LABELS = labelled()


def post(url: str, model: Model, samples: bytes = SAMPLES, **options: str) -> Any:
    files = {"samples": ("s.npy", samples), "labels": ("l.npy", LABELS)}
    fields = {"model_id": model.id, "privacy": "public", **options}
    return httpx.post(f"{url}/v1/datasets", files=files, data=fields)


def load(data: bytes) -> Any:
    return np.load(io.BytesIO(data))


def meaning(api: Client, model: Model) -> tuple[bytes, Description]:
    """The identity of the basis, and what the model's circuits say of its input."""
    assert model.registration_key_id is not None
    assert model.verification_key_id is not None
    linked = api.get_verification_key(model.registration_key_id)["key"]
    circuit = api.get_verification_key(model.verification_key_id)["circuit"]
    return bytes.fromhex(linked["basis"]), checked(Description, circuit)


def opens(api: Client, model: Model, commitment: str, opening: dict[str, Any], values: list[int]) -> bool:
    identity, _ = meaning(api, model)
    return bool(check_opening(identity, bytes.fromhex(commitment), values, Revealed.from_json(opening)))


@pytest.mark.usefixtures("in_a_child")
@pytest.mark.parametrize("privacy", ["public", "private"])
def test_a_dataset_is_committed_in_shards_that_open_to_it(
    api: Client, with_model: Runtime, model: Model, privacy: Literal["public", "private"]
) -> None:
    dataset = api.create_dataset(model.id, SAMPLES, LABELS, privacy=privacy, name="mine", shard_size=3)
    assert (dataset.state, dataset.size, dataset.shards) == ("queued", 7, None)
    work_on(with_model, dataset.id)
    dataset = api.get_dataset(dataset.id)
    assert (dataset.state, dataset.picked_for, dataset.shard_size) == ("succeeded", model.commitment, 3)
    data = LabelledData.of(load(SAMPLES), load(LABELS))
    assert dataset.sha256 == (data.sha256.hex() if privacy == "public" else None)
    assert dataset.shards is not None
    assert [shard["size"] for shard in dataset.shards] == [3, 3, 1]
    _, circuit = meaning(api, model)
    parts = api.get_dataset_opening(dataset.id)["parts"]
    for shard, part, values in zip(
        dataset.shards, parts, data.shard_values([circuit.quantisation.types["input"]], 3, 3), strict=True
    ):
        assert shard["commitment"] == part["commitment"]
        assert shard["opening"] == (part["opening"] if privacy == "public" else None)
        assert opens(api, model, part["commitment"], part["opening"], values)
        assert not opens(api, model, part["commitment"], part["opening"], [*values[:-1], values[-1] + 1])
        assert (int(part["opening"]["blinding"], 16) == 0) == (privacy == "public")


def test_public_commitments_are_a_function_of_the_content(
    api: Client, with_model: Runtime, model: Model
) -> None:
    seen = []
    for _ in range(2):
        dataset = api.create_dataset(model.id, SAMPLES, LABELS, privacy="public", shard_size=3)
        work_on(with_model, dataset.id)
        seen.append(api.get_dataset(dataset.id).shards)
    assert seen[0] == seen[1]


def test_without_a_shard_size_the_memory_decides(
    api: Client, with_model: Runtime, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = api.create_dataset(model.id, SAMPLES, LABELS, privacy="public")
    work_on(with_model, dataset.id)
    assert api.get_dataset(dataset.id).shard_size == 7
    sizes = []
    system = registry.find(FIRST)
    monkeypatch.setattr(system, "estimate", lambda size, threads: SimpleNamespace(memory=size.private))
    monkeypatch.setattr(engine, "_KEPT_BYTES", 0)
    for free in (1000, 350, 0):  # 39 private variables, and 92 a sample
        monkeypatch.setattr(engine, "free_memory", lambda free=free: free)
        dataset = api.create_dataset(model.id, SAMPLES, LABELS, privacy="public")
        work_on(with_model, dataset.id)
        seen = api.get_dataset(dataset.id)
        sizes.append(seen.shard_size)
    assert sizes == [7, 3, None]
    assert seen.problem is not None
    assert (seen.state, seen.problem["code"]) == ("failed", "model.memory")


def test_shards_fit_what_is_to_be_measured(
    api: Client, with_model: Runtime, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_KEPT_BYTES", 0)
    monkeypatch.setattr(engine, "free_memory", lambda: 2000)
    monkeypatch.setattr(
        registry.find(FIRST), "estimate", lambda size, threads: SimpleNamespace(memory=size.private)
    )
    sizes: dict[Measure | None, int | None] = {}
    measures: tuple[Measure | None, ...] = (None, "certified")
    for measure in measures:
        dataset = api.create_dataset(model.id, SAMPLES, LABELS, privacy="public", measure=measure)
        work_on(with_model, dataset.id)
        seen = api.get_dataset(dataset.id)
        assert seen.measure == measure
        sizes[measure] = seen.shard_size
    assert sizes[None] == 7
    assert 0 < (sizes["certified"] or 0) < 7
    with pytest.raises(ApiError, match="mse is not of labels") as refused:
        api.create_dataset(model.id, SAMPLES, LABELS, privacy="public", measure="mse")
    assert refused.value.field == "measure"


def test_shards_that_no_worker_has_the_memory_to_prove_are_refused_at_the_door(
    api: Client, with_model: Runtime, model: Model
) -> None:
    def offered(memory: int) -> None:
        with with_model.database.write() as session:
            Workers(session).beat("only", 1, {"queues": ["cpu"], "memory": memory})

    dataset = api.create_dataset(model.id, SAMPLES, LABELS, privacy="public", shard_size=7)
    work_on(with_model, dataset.id)
    one = api.dry_run(model.id, INPUT).memory_bytes
    offered(one)
    with pytest.raises(ApiError, match="smaller shard_size") as refused:
        api.create_dataset(model.id, SAMPLES, LABELS, privacy="public", shard_size=7)
    assert refused.value.code == "resource.capacity"
    with pytest.raises(ApiError) as refused:
        api.create_proof(model.id, scheme="accuracy", dataset_id=dataset.id)
    assert refused.value.code == "resource.capacity"
    assert api.create_proof(model.id, INPUT).state == "queued"
    offered(5 * one)
    assert api.create_dataset(model.id, SAMPLES, LABELS, privacy="public", shard_size=7).state == "queued"
    proof = api.create_proof(model.id, scheme="accuracy", dataset_id=dataset.id)
    with with_model.database.read() as session:
        assert one < session.get_one(Job, proof.id).memory < 5 * one


def test_the_estimate_for_a_batch_is_on_the_safe_side() -> None:
    graph = QuantGraph.from_bytes(intake.quantise(tiny_onnx(), tiny_calibration()))
    batches = {n: compile_accuracy(graph, batch=n, weight_privacy="committed") for n in (1, 2, 7, 50)}
    sizes = {n: circuit.constraint_system for n, circuit in batches.items()}
    for n, statement in sizes.items():
        drawn_out = Size.drawn_out(sizes[1], sizes[2], n)
        estimates = [
            registry.find(FIRST).estimate(size, 2).memory for size in (drawn_out, Size.of(statement))
        ]
        assert 1.0 <= estimates[0] / estimates[1] < 1.5


def test_shards_are_of_one_size_as_far_as_they_can() -> None:
    assert [even(100, most) for most in (100, 99, 60, 34, 33, 1)] == [100, 50, 50, 34, 25, 1]


def test_two_equal_shards_are_refused(api: Client, with_model: Runtime, model: Model) -> None:
    """Their commitments would be one, and a verifier would take it for a shard that is counted twice."""
    samples, labels = npy(np.tile(load(SAMPLES)[:2], (2, 1))), npy(np.array([0, 1, 0, 1]))
    dataset = api.create_dataset(model.id, samples, labels, privacy="public", shard_size=2)
    work_on(with_model, dataset.id)
    dataset = api.get_dataset(dataset.id)
    assert dataset.problem is not None
    assert (dataset.state, dataset.problem["code"]) == ("failed", "input.repeated")
    private = api.create_dataset(model.id, samples, labels, privacy="private", shard_size=2)
    work_on(with_model, private.id)
    assert api.get_dataset(private.id).state == "succeeded"


def test_json_does_as_well(api: Client, with_model: Runtime, model: Model) -> None:
    samples, labels = (json.dumps(load(data).tolist()).encode() for data in (SAMPLES, LABELS))
    dataset = api.create_dataset(model.id, samples, labels, privacy="public")
    assert dataset.sha256 == LabelledData.of(load(SAMPLES), load(LABELS)).sha256.hex()


def test_one_file_has_samples_and_labels(api: Client, with_model: Runtime, model: Model) -> None:
    samples, labels = load(SAMPLES), load(LABELS)
    rows = [",".join(map(repr, [*map(float, x), int(y)])) for x, y in zip(samples, labels, strict=True)]
    table = "\n".join(["a,b,c,d,label", *rows]).encode()
    archive = io.BytesIO()
    np.savez(archive, samples=samples, labels=labels)
    for content in (table, archive.getvalue()):
        dataset = api.create_dataset(model.id, content, privacy="public")
        assert dataset.sha256 == LabelledData.of(samples, labels).sha256.hex()


REFUSALS: dict[str, tuple[bytes, bytes, str, str]] = {
    "not numbers": (b"hello", LABELS, "input.unreadable", "samples"),
    "a pickle": (npy(np.array([{}]), allow_pickle=True), LABELS, "input.unreadable", "samples"),
    "no labels": (SAMPLES, b"", "input.unreadable", "labels"),
    "a word in a table": (b"a,b,c,d\n1,2,3,four", LABELS, "input.not_numeric", "samples"),
    "shape": (npy(np.zeros((7, 3))), LABELS, "input.shape", "samples"),
    "a single sample": (npy(np.zeros(4)), LABELS, "input.shape", "samples"),
    "a number": (b"1", LABELS, "input.shape", "samples"),
    "too few samples": (npy(load(SAMPLES)[:6]), LABELS, "input.shape", "samples"),
    "empty": (npy(np.zeros((0, 4))), npy(np.zeros(0, dtype=int)), "input.shape", "labels"),
    "NaN": (npy(np.full((7, 4), np.nan)), LABELS, "input.not_finite", "samples"),
    "range": (npy(np.full((7, 4), 50.0)), LABELS, "input.out_of_range", "samples"),
    "class": (SAMPLES, npy(np.full(7, 3)), "input.out_of_range", "labels"),
    "negative class": (SAMPLES, npy(np.full(7, -1)), "input.out_of_range", "labels"),
    "half a class": (SAMPLES, npy(np.full(7, 0.5)), "input.out_of_range", "labels"),
    "nested labels": (SAMPLES, npy(np.zeros((7, 1), dtype=int)), "input.shape", "labels"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_bad_samples_and_labels_are_refused(case: str) -> None:
    samples, labels, code, field = REFUSALS[case]
    quantised = intake.quantise(tiny_onnx(), tiny_calibration())
    with refuses(code, field) as refusal:
        intake.read_dataset(quantised, b"output", samples, labels)
    if case == "range":
        assert "samples[0]" in refusal.value.message


@pytest.mark.parametrize(
    ("options", "code", "field"),
    [
        ({"privacy": "secret"}, "request.invalid", "privacy"),
        ({"privcy": "private"}, "request.invalid", "privcy"),
        ({"shard_size": "0"}, "request.invalid", "shard_size"),
        ({"shard_size": "100"}, "request.invalid", "shard_size"),  # beyond the basis
        ({"model_id": "mdl_x"}, "not_found", "model_id"),
    ],
)
def test_a_dataset_is_refused_at_the_door_by_field(
    shared_url: str, model: Model, options: dict[str, str], code: str, field: str
) -> None:
    problem = post(shared_url, model, SAMPLES, **options).json()
    assert (problem["code"], problem.get("field")) == (code, field), problem


@pytest.mark.usefixtures("in_a_child")
def test_bad_samples_are_refused_at_the_door(shared_url: str, model: Model) -> None:
    response = post(shared_url, model, npy(np.full((7, 4), 50.0)))
    assert (response.status_code, response.json()["code"]) == (422, "input.out_of_range")


def test_the_samples_are_picked_after_the_model_is_registered(api: Client) -> None:
    late = api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="committed")
    with pytest.raises(ApiError) as refusal:
        api.create_dataset(late.id, SAMPLES, LABELS, privacy="public")
    assert (refusal.value.status, refusal.value.code) == (409, "conflict.model_not_ready")


def test_an_idempotency_key_gives_one_dataset(api: Client, model: Model) -> None:
    first, second = (
        api.create_dataset(model.id, SAMPLES, LABELS, privacy="public", idempotency_key="once")
        for _ in range(2)
    )
    assert first.id == second.id
    with pytest.raises(ApiError) as refusal:
        api.create_dataset(model.id, SAMPLES, LABELS, privacy="private", idempotency_key="once")
    assert refusal.value.code == "conflict.idempotency_key"


def test_a_dataset_is_deleted_with_all_it_holds_but_not_while_a_job_needs_it(
    api: Client, with_model: Runtime, model: Model
) -> None:
    artifacts = Path(with_model.settings.data_dir, "artifacts")
    before = set(artifacts.glob("??/*"))
    dataset = api.create_dataset(model.id, SAMPLES, LABELS, privacy="private", shard_size=4)

    def refused() -> str:
        with pytest.raises(ApiError) as refusal:
            api.delete_dataset(dataset.id)
        assert refusal.value.status == 409
        return refusal.value.code

    assert refused() == "conflict.in_use"
    work_on(with_model, dataset.id)
    proof = api.create_proof(model.id, scheme="accuracy", dataset_id=dataset.id)
    assert refused() == "conflict.in_use"
    work_on_all(with_model, proof.id)
    document = api.get_proof_document(proof.id)
    api.delete_dataset(dataset.id)
    kept = set(artifacts.glob("??/*")) - before
    assert len(kept) == 1  # the circuit's proving key
    with pytest.raises(ApiError) as refusal:
        api.get_dataset(dataset.id)
    assert refusal.value.status == 404
    assert api.get_proof_document(proof.id) == document
    assert api.get_proof(proof.id).dataset_id is None


def test_a_commitment_opens_to_its_input_and_to_nothing_else(
    api: Client, with_model: Runtime, model: Model
) -> None:
    commitment = api.create_commitment(model.id, "input", INPUT)
    assert api.get_commitment(commitment.id) == commitment
    assert api.create_commitment(model.id, "input", INPUT).commitment != commitment.commitment
    opening = api.get_commitment_opening(commitment.id)
    (part,) = opening["parts"]
    assert (opening["kind"], part["commitment"]) == ("input", commitment.commitment)
    _, circuit = meaning(api, model)
    kind = circuit.quantisation.types["input"]
    values = quantise(INPUT, kind)
    assert opens(api, model, part["commitment"], part["opening"], [*kind.limbs, *values])
    for others in (values, [*kind.limbs, *values[::-1]]):
        assert not opens(api, model, part["commitment"], part["opening"], others)
    api.delete_commitment(commitment.id)
    for gone in (api.get_commitment, api.get_commitment_opening, api.delete_commitment):
        with pytest.raises(ApiError) as refusal:
            gone(commitment.id)
        assert (refusal.value.status, refusal.value.field) == (404, "commitment_id")


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"kind": "input", "values": [1.0]}, "input.shape", "values"),
        ({"kind": "input", "values": "x"}, "request.invalid", "values"),
        ({"kind": "weights", "values": INPUT}, "request.invalid", "kind"),
        ({"kind": "input", "values": INPUT, "model_id": "mdl_x"}, "not_found", "model_id"),
        ({"kind": "input"}, "request.invalid", "values"),
    ],
)
def test_a_bad_commitment_is_refused(
    shared_url: str, model: Model, body: dict[str, Any], code: str, field: str
) -> None:
    problem = httpx.post(f"{shared_url}/v1/commitments", json={"model_id": model.id, **body}).json()
    assert (problem["code"], problem["field"]) == (code, field)
