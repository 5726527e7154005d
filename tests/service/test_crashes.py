"""The real thing: ``zenserve serve`` with its worker process, real proofs, real kills (docs/service.md)."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import uvicorn
from fastapi import FastAPI

from tests.faults.accident import held_at
from tests.patience import PATIENCE_SECONDS, until
from tests.servers import free_port
from tests.service.conftest import BASIS_POINTS
from tests.service.streaming import RULES, add_bank_over, frame, judged, profile
from tests.service.support import SECRET, labelled, tiny_calibration, tiny_onnx
from zenserve.client import Client, Dataset, Model, Stream
from zenserve.service.serve import _Server, listen

INPUTS, HIDDEN = 8, 5
_ARTIFACTS = """SELECT quantised FROM models UNION SELECT floats FROM models
    UNION SELECT proving_key FROM circuits
    UNION SELECT samples FROM datasets UNION SELECT openings FROM datasets
    UNION SELECT digest FROM artifacts"""
VALUES = [SECRET] + [round(0.1 + 0.01 * index, 6) for index in range(INPUTS - 1)]


class Service:
    """A running ``zenserve serve``, whose worker stays at the witness of its job while a file is there."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.held = folder / "held"
        self.log = folder / "log.txt"
        self.port = free_port()
        self.start()

    def start(self) -> None:
        command = "from zenserve.service.cli import main; main()"
        options = ["serve", "--port", str(self.port), "--data-dir", str(self.data)]
        with self.log.open("a") as log:
            self.process = psutil.Popen(
                [sys.executable, "-c", command, *options],
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ
                | {
                    "ZENSERVE_BASIS_POINTS": str(BASIS_POINTS),
                    "ZENSERVE_THREADS": "1",
                    "ZENSERVE_LEASE_SECONDS": "3600",  # nothing is rescued by its end
                }
                | held_at("witness", self.held),
            )
        self.client = Client(f"http://127.0.0.1:{self.port}")
        until(self.client.is_ready, "the service to be ready")

    def workers(self) -> list[psutil.Process]:
        return [child for child in self.process.children() if "zenserve.service.worker" in child.cmdline()]

    def query(self, sql: str) -> list[tuple[object, ...]]:
        connection = sqlite3.connect(f"file:{self.data}/zenserve.sqlite?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    @contextmanager
    def in_the_middle(self, model: Model, *values: Any, **options: Any) -> Iterator[tuple[str, str]]:
        """A worker is at the witness of a new proof, or of a shard of it. The proof's id, and that one's."""
        self.held.touch()
        proof_id = self.client.create_proof(model.id, *values, **options).id
        sql = f"""SELECT id FROM jobs WHERE '{proof_id}' IN (id, parent_id) AND stage = 'witness'"""  # noqa: S608
        until(lambda: self.query(sql), "the proof to be under way")
        try:
            yield proof_id, str(self.query(sql)[0][0])
        finally:
            self.held.unlink()

    def kill_with_worker(self) -> None:
        """Without a warning. The worker has to notice."""
        (worker,) = self.workers()
        self.client.close()
        self.process.kill()
        self.process.wait()
        until(
            lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, "the worker to leave"
        )

    def stop(self) -> None:
        self.client.close()
        family = [self.process, *self.process.children(recursive=True)]
        self.process.send_signal(signal.SIGTERM)
        _, alive = psutil.wait_procs(family, timeout=120)
        for process in alive:
            process.kill()
        assert not alive, "the service left processes behind"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("service"))
    try:
        yield service
    finally:
        service.stop()


@pytest.fixture(scope="module")
def model(service: Service) -> Model:
    onnx, calibration = tiny_onnx(HIDDEN, INPUTS), tiny_calibration(INPUTS)
    return service.client.wait(
        service.client.create_model(onnx, calibration, name="tiny", weight_privacy="committed")
    )


@pytest.fixture(scope="module")
def dataset(service: Service, model: Model) -> Dataset:
    """Three shards; their circuit's keys are made."""
    files = labelled(6, INPUTS)
    dataset = service.client.wait(
        service.client.create_dataset(model.id, *files, privacy="private", shard_size=2)
    )
    service.client.wait(service.client.create_proof(model.id, scheme="accuracy", dataset_id=dataset.id))
    return dataset


@pytest.mark.large
def test_kill_of_the_worker_in_the_middle_of_a_proof(service: Service, model: Model) -> None:
    with service.in_the_middle(model, VALUES) as (proof_id, _):
        (worker,) = service.workers()
        worker.send_signal(signal.SIGKILL)
        states = []
        for seen in service.client.events(proof_id):
            states.append((seen.state, seen.attempt))
            if (seen.stage, seen.attempt) == ("witness", 2):
                break
    service.client.wait(service.client.get_proof(proof_id))
    done = service.client.get_proof(proof_id)
    assert (done.state, done.attempt) == ("succeeded", 2)
    assert [failure["code"] for failure in done.failures] == ["resource.worker_lost"]
    assert ("queued", 1) in states
    assert ("running", 2) in states
    assert service.query("SELECT count(*) FROM proofs WHERE document IS NOT NULL") == [(1,)]
    assert service.client.verify(service.client.get_proof_document(proof_id)).valid
    until(lambda: len(service.workers()) == 1, "one new worker")
    assert service.workers()[0].pid != worker.pid


@pytest.mark.large
def test_stop_in_the_middle_of_a_proof_gives_it_back_and_a_restart_finishes_it(
    service: Service, model: Model
) -> None:
    with service.in_the_middle(model, VALUES) as (proof_id, _):
        service.stop()
    state = service.query(f"SELECT state, attempt, worker FROM jobs WHERE id = '{proof_id}'")  # noqa: S608
    assert state == [("queued", 0, None)]
    service.start()
    done = service.client.wait(service.client.get_proof(proof_id))
    assert (done.state, done.attempt, done.failures) == ("succeeded", 1, [])


def test_cancel_in_the_middle_of_a_proof(service: Service, model: Model) -> None:
    with service.in_the_middle(model, VALUES) as (proof_id, _):
        service.client.cancel(proof_id)
        until(lambda: service.client.get_proof(proof_id).is_over, "the proof to be over")
    assert service.client.get_proof(proof_id).state == "canceled"


def test_kill_of_the_whole_service_leaves_no_orphan_and_loses_no_proof(
    service: Service, model: Model
) -> None:
    with service.in_the_middle(model, VALUES) as (proof_id, _):
        service.kill_with_worker()
    service.start()
    assert service.client.wait(service.client.get_proof(proof_id)).state == "succeeded"


@pytest.mark.large
def test_kill_of_the_worker_in_the_middle_of_a_shard(
    service: Service, model: Model, dataset: Dataset
) -> None:
    with service.in_the_middle(model, scheme="accuracy", dataset_id=dataset.id) as (proof_id, shard_id):
        assert service.client.get_proof(proof_id).stage == "shards"
        (worker,) = service.workers()
        worker.send_signal(signal.SIGKILL)
    done = service.client.wait(service.client.get_proof(proof_id))
    assert (done.attempt, done.failures) == (1, [])
    attempts = f"SELECT id, attempt FROM jobs WHERE parent_id = '{proof_id}' AND attempt > 1"  # noqa: S608
    assert service.query(attempts) == [(shard_id, 2)]
    assert service.client.verify(service.client.get_proof_document(proof_id)).valid


@pytest.mark.large
def test_kill_of_the_whole_service_while_a_proof_waits_for_its_shards(
    service: Service, model: Model, dataset: Dataset
) -> None:
    with service.in_the_middle(model, scheme="accuracy", dataset_id=dataset.id) as (proof_id, _):
        service.kill_with_worker()
        row = f"SELECT state, worker, lease_expires_at FROM jobs WHERE id = '{proof_id}'"  # noqa: S608
        assert service.query(row) == [("running", None, None)]
    service.start()
    done = service.client.wait(service.client.get_proof(proof_id))
    assert (done.state, done.attempt) == ("succeeded", 1)
    assert service.client.verify(service.client.get_proof_document(proof_id)).valid


@pytest.fixture(scope="module")
def bank(service: Service) -> list[str]:
    return add_bank_over(service.client)


@pytest.fixture
def stream(service: Service, bank: list[str]) -> Stream:
    """One that takes frames."""
    samples = profile()
    made = service.client.create_stream(bank, samples["samples"], samples["labels"], rules=RULES)
    return service.client.begun(made.id)


@pytest.mark.large
def test_a_thousand_frames_with_workers_killed_at_random(service: Service, stream: Stream) -> None:
    rng, done, kills = random.Random(1), threading.Event(), list[int]()
    client = Client(f"http://127.0.0.1:{service.port}", retry_seconds=600)

    def kill() -> None:
        while not done.wait(rng.uniform(10, 20)):
            for worker in service.workers():
                worker.send_signal(signal.SIGKILL)
                kills.append(worker.pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for number in range(1000):
            client.add_frame(stream.id, number, frame(number // 100 % 2 * 2 + number % 2))
        client.end_stream(stream.id)
        frames = list(client.follow_frames(stream.id))
    finally:
        done.set()
        killer.join()
        client.close()
    assert len(kills) > 2
    assert [(each.number, each.missed) for each in frames] == [(number, None) for number in range(1000)]
    proven = f"SELECT count(*) FROM proofs WHERE id IN (SELECT id FROM jobs WHERE parent_id = '{stream.id}')"  # noqa: S608
    assert service.query(proven) == [(1000,)]
    verdict = judged(service.client.get_stream_file(stream.id), service.client.get_verification_key)
    assert (verdict.valid, verdict.frames) == (True, 1000)


@pytest.mark.large
def test_kill_of_the_worker_in_the_middle_of_a_stream(service: Service, stream: Stream) -> None:
    client, labels = service.client, [0, 1] * 5
    for number, label in enumerate(labels):
        if number == 6:
            service.held.touch()
        client.add_frame(stream.id, number, frame(label))
    sql = f"SELECT id FROM jobs WHERE parent_id = '{stream.id}' AND stage = 'witness'"  # noqa: S608
    until(lambda: service.query(sql), "a frame to be under way")
    (worker,) = service.workers()
    worker.send_signal(signal.SIGKILL)
    until(lambda: service.query(f"{sql} AND attempt = 2"), "another worker to take it up")
    service.held.unlink()
    client.end_stream(stream.id)
    frames = list(client.follow_frames(stream.id))
    assert [(each.number, each.label) for each in frames] == list(enumerate(labels))
    assert client.get_stream(stream.id).state == "succeeded"
    verdict = judged(client.get_stream_file(stream.id), client.get_verification_key)
    assert verdict.valid, verdict.detail
    assert (verdict.frames, verdict.missed) == (len(labels), [])


def test_nothing_secret_is_left_in_the_clear(service: Service, model: Model, dataset: Dataset) -> None:
    """After everything above: no input in any file, and none sealed either, once its proof is over."""
    proof = service.client.wait(service.client.create_proof(model.id, VALUES))
    assert proof.state == "succeeded"
    until(lambda: service.query("SELECT count(*) FROM proofs WHERE input IS NOT NULL") == [(0,)], "deletion")
    until(
        lambda: service.query("SELECT count(*) FROM shards WHERE opening IS NOT NULL") == [(0,)], "deletion"
    )
    samples = np.load(io.BytesIO(labelled(6, INPUTS)[0]))
    weights = np.random.default_rng(7).normal(size=(HIDDEN, INPUTS)).astype(np.float32)
    opening = service.client.get_dataset_opening(dataset.id)["parts"][0]["opening"]
    blinding: str = opening["blinding"]
    secrets = {
        "input as text": str(SECRET).encode(),
        "input in JSON": json.dumps(VALUES[1:5])[1:-1].encode(),
        "input as doubles": np.array(VALUES[:2]).tobytes(),
        "input as floats": np.array(VALUES[:2], dtype=np.float32).tobytes(),
        "weights as floats": weights[0, :4].tobytes(),
        "samples as doubles": samples[0, :2].tobytes(),
        "opening of the dataset": bytes.fromhex(blinding),
        "opening of the dataset as text": blinding.encode(),
    }
    files = [path for path in service.data.rglob("*") if path.is_file()] + [service.log]
    assert len(files) > 5
    for file in files:
        content = file.read_bytes()
        for name, secret in secrets.items():
            assert secret not in content, f"{name} in {file}"
    stored = {row[0] for row in service.query(_ARTIFACTS)}
    assert {path.name for path in (service.data / "artifacts").glob("??/*")} == stored


def test_a_second_service_on_the_same_data_is_refused(service: Service) -> None:
    command = [
        "-c",
        "from zenserve.service.cli import main; main()",
        "serve",
        "--data-dir",
        str(service.data),
    ]
    second = subprocess.run(
        [sys.executable, *command, "--port", "1"],
        capture_output=True,
        timeout=120,
        check=False,
        text=True,
        env=os.environ,
    )
    assert second.returncode == 2
    assert "conflict" in second.stderr or "another zenserve serve" in second.stderr
    assert service.client.is_ready()


def test_an_api_that_was_told_to_stop_before_it_listens_to_signals_stops() -> None:
    stopped = threading.Event()
    stopped.set()
    with listen("127.0.0.1", 0) as listener:
        server = _Server(uvicorn.Config(FastAPI(), log_config=None), stopped)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
