"""Proofs of accuracy: plan, shards and the whole, and each moment at which something can go wrong."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from tests.patience import PATIENCE_SECONDS
from tests.service.support import (
    labelled,
    shards_of,
    take_back,
    tiny_calibration,
    tiny_onnx,
    work_on,
    work_on_all,
)
from zenserve.circuits.schemes import proving
from zenserve.client import ApiError, Client, Dataset, Model
from zenserve.errors import ModelError
from zenserve.service.jobs.claims import Claims
from zenserve.service.jobs.reaping import Reaping
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.reaper import reap
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Shard
from zenserve.service.worker.tasks import accuracy
from zenserve.service.worker.tasks.datasets import open_batches

SAMPLES, LABELS = labelled()


@pytest.fixture
def dataset(api: Client, with_model: Runtime, model: Model) -> Dataset:
    dataset = api.create_dataset(model.id, SAMPLES, LABELS, privacy="public", shard_size=3)
    work_on(with_model, dataset.id)
    return api.get_dataset(dataset.id)


@pytest.fixture
def planned(api: Client, with_model: Runtime, model: Model, dataset: Dataset) -> tuple[str, list[str]]:
    """A proof that waits, and its shards."""
    proof = api.create_proof(model.id, scheme="accuracy", dataset_id=dataset.id, challenge="now")
    work_on(with_model, proof.id)
    return proof.id, shards_of(with_model, proof.id)


def job(runtime: Runtime, job_id: str) -> Job:
    with runtime.database.read() as session:
        return session.get_one(Job, job_id)


def test_from_plan_to_proof(
    api: Client, with_model: Runtime, model: Model, dataset: Dataset, planned: tuple[str, list[str]]
) -> None:
    proof_id, shards = planned
    seen = api.get_proof(proof_id)
    assert (seen.state, seen.stage, seen.values, len(shards)) == ("running", "shards", None, 3)
    with pytest.raises(ApiError) as refusal:
        api.get_proof_document(proof_id)
    assert refusal.value.code == "conflict.proof_not_ready"
    percents = []
    for shard_id in reversed(shards):  # whatever the order
        work_on(with_model, shard_id)
        percents.append(api.get_proof(proof_id).percent)
    assert percents == [33.3, 66.7, 0.0]
    assert api.get_proof(proof_id).state == "queued"
    work_on(with_model, proof_id)
    done = api.get_proof(proof_id)
    assert (done.state, done.attempt, done.failures) == ("succeeded", 1, [])
    assert {"count", "self-check"} <= set(done.timings)
    document = api.get_proof_document(proof_id)
    said = document["statement"]
    assert said["values"] == done.values
    assert (said["values"]["size"], said["challenge"]) == (7, "now")
    assert said["dataset"]["picked_for"] == model.commitment
    assert [shard["dataset"] for shard in said["dataset"]["shards"]] == [
        shard["commitment"] for shard in dataset.shards or []
    ]
    assert len(document["proofs"]) == 3
    assert api.verify(document, expected={"model": str(model.commitment), "challenge": "now"}).valid
    shuffled = document | {"proofs": document["proofs"][::-1]}
    assert not api.verify(shuffled).valid


def test_a_worker_opens_a_dataset_once_for_all_its_shards(
    with_model: Runtime, planned: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def counted(runtime: Runtime, dataset: Any, *arguments: Any) -> Any:
        opened.append(dataset.id)
        return open_batches(runtime, dataset, *arguments)

    monkeypatch.setattr(accuracy, "open_batches", counted)
    proof_id, shards = planned
    for each in shards:
        work_on(with_model, each)
    assert len(opened) == 1
    work_on(with_model, proof_id)
    assert accuracy._at_hand == {}


def test_the_count_of_a_private_dataset_in_one_shard(
    api: Client, with_model: Runtime, model: Model, planned: tuple[str, list[str]]
) -> None:
    """Sharded or whole, public or private: the same samples, the same count."""
    proof_id, shards = planned
    for each in (*shards, proof_id):
        work_on(with_model, each)
    private = api.create_dataset(model.id, SAMPLES, LABELS, privacy="private", shard_size=7)
    work_on(with_model, private.id)
    whole = api.create_proof(model.id, scheme="accuracy", dataset_id=private.id)
    work_on_all(with_model, whole.id)
    assert api.get_proof(whole.id).values == api.get_proof(proof_id).values
    said = api.get_proof_document(whole.id)["statement"]
    assert said["dataset"]["sha256"] is None
    assert [shard["opening"] for shard in said["dataset"]["shards"]] == [None]
    assert api.verify(api.get_proof_document(whole.id)).valid


def test_a_plan_and_its_shards_delivered_again_do_nothing(
    with_model: Runtime, planned: tuple[str, list[str]]
) -> None:
    proof_id, shards = planned
    work_on(with_model, proof_id)
    assert shards_of(with_model, proof_id) == shards
    for _ in range(2):
        work_on(with_model, shards[0])
    assert job(with_model, shards[0]).attempt == 1
    assert job(with_model, proof_id).state == "running"


def test_a_plan_whose_worker_dies_leaves_nothing_and_is_made_anew(
    api: Client, with_model: Runtime, model: Model, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = api.create_proof(model.id, scheme="accuracy", dataset_id=dataset.id)

    def lost(claims: Claims, *arguments: Any) -> bool:
        """Just before the plan is written, its worker is given up for dead, and another takes over."""
        monkeypatch.undo()
        Reaping(claims._session).expire("worker_test")
        take_back(claims._session)
        return claims.wait(*arguments)

    monkeypatch.setattr(Claims, "wait", lost)
    work_on(with_model, proof.id)
    assert (job(with_model, proof.id).state, shards_of(with_model, proof.id)) == ("queued", [])
    work_on_all(with_model, proof.id)
    done = api.get_proof(proof.id)
    assert (done.state, done.attempt, len(done.failures)) == ("succeeded", 2, 1)


def test_a_shard_whose_worker_dies_is_proven_by_the_next(
    api: Client, with_model: Runtime, planned: tuple[str, list[str]]
) -> None:
    proof_id, shards = planned
    with with_model.database.write() as session:
        assert Claims(session).claim(shards[1], "dead", 60.0)
        Reaping(session).expire("dead")
    reap(with_model, pick_up_seconds=0.0)
    assert job(with_model, proof_id).state == "running"
    for each in (*shards, proof_id):
        work_on(with_model, each)
    assert api.get_proof(proof_id).state == "succeeded"
    assert job(with_model, shards[1]).attempt == 2


def test_a_parent_whose_message_was_lost_is_enqueued_again(
    with_model: Runtime, planned: tuple[str, list[str]]
) -> None:
    """The process died between the commit of the last shard and telling the workers."""
    proof_id, shards = planned
    for shard_id in shards:
        work_on(with_model, shard_id)
    messages = with_model.settings.data_dir / "broker" / "zenserve.cpu"
    for message in messages.iterdir():
        message.unlink()
    reap(with_model, pick_up_seconds=0.0)
    (message,) = messages.iterdir()
    assert job(with_model, proof_id).state == "queued"


def test_an_assembly_whose_worker_dies_is_made_again_without_the_shards(
    api: Client, with_model: Runtime, planned: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    proof_id, shards = planned
    for shard_id in shards:
        work_on(with_model, shard_id)
    with with_model.database.write() as session:
        assert Claims(session).claim(proof_id, "dead", 60.0)
        Reaping(session).expire("dead")
    reap(with_model)
    monkeypatch.delattr(proving, "prove")
    work_on(with_model, proof_id)
    done = api.get_proof(proof_id)
    assert (done.state, done.attempt) == ("succeeded", 2)


def test_a_shard_that_fails_fails_the_proof_with_its_cause(
    api: Client, with_model: Runtime, planned: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bytes:
        raise ModelError("model.memory", "too much")

    monkeypatch.setattr(proving, "prove", refuse)
    proof_id, shards = planned
    work_on(with_model, shards[1])
    done = api.get_proof(proof_id)
    assert done.problem is not None
    assert (done.state, done.problem["code"]) == ("failed", "model.memory")
    assert [job(with_model, shard).state for shard in shards] == ["canceled", "failed", "canceled"]


def test_cancel_while_the_shards_are_at_work(
    api: Client, with_model: Runtime, planned: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    proof_id, shards = planned
    started = threading.Event()

    def endless(*arguments: Any) -> bytes:
        started.set()
        while True:
            arguments[-1]("busy", 0.5)
            time.sleep(0.005)

    monkeypatch.setattr(proving, "prove", endless)
    worker = threading.Thread(target=work_on, args=(with_model, shards[0]), daemon=True)
    worker.start()
    assert started.wait(PATIENCE_SECONDS)
    assert api.cancel(proof_id).state == "canceled"
    worker.join(PATIENCE_SECONDS)
    assert not worker.is_alive()
    assert [job(with_model, shard).state for shard in shards] == ["canceled"] * 3
    assert api.cancel(proof_id).state == "canceled"


@pytest.mark.parametrize("end", ["succeeded", "canceled"])
def test_the_shards_counts_are_forgotten_when_the_proof_is_over(
    api: Client, with_model: Runtime, planned: tuple[str, list[str]], end: str
) -> None:
    proof_id, shards = planned

    def kept() -> int:
        with with_model.database.read() as session:
            return sum(session.get_one(Shard, shard_id).opening is not None for shard_id in shards)

    reap(with_model)
    assert kept() == 3
    if end == "canceled":
        api.cancel(proof_id)
    else:
        for each in (*shards, proof_id):
            work_on(with_model, each)
    assert api.get_proof(proof_id).state == end
    reap(with_model)
    assert kept() == 0


def test_the_events_of_a_proof_tell_of_its_shards(
    api: Client, with_model: Runtime, planned: tuple[str, list[str]]
) -> None:
    proof_id, shards = planned
    left, seen = [*shards, proof_id], []
    for proof in api.events(proof_id):
        seen.append((proof.state, proof.stage, proof.percent))
        if left:
            work_on(with_model, left.pop(0))
    assert seen[:3] == [("running", "shards", percent) for percent in (0.0, 33.3, 66.7)]
    assert seen[-1][0] == "succeeded"


def test_a_dataset_that_is_not_ready_or_of_another_model(
    api: Client, with_model: Runtime, model: Model, dataset: Dataset
) -> None:
    def refusal(model_id: str, dataset_id: str) -> str:
        with pytest.raises(ApiError) as error:
            api.create_proof(model_id, scheme="accuracy", dataset_id=dataset_id)
        assert error.value.field == "dataset_id"
        return error.value.code

    unready = api.create_dataset(model.id, SAMPLES, LABELS, privacy="public")
    assert refusal(model.id, unready.id) == "conflict.dataset_not_ready"
    other = api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="public")
    work_on(with_model, other.id)
    assert refusal(other.id, dataset.id) == "request.invalid"
