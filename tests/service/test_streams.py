"""Streams as a resource: a toy bank, frames in order, and the file that anybody judges."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any, Final

import httpx
import numpy as np
import pytest
from sqlalchemy import select

from tests.patience import PATIENCE_SECONDS, until
from tests.service.conftest import open_runtime
from tests.service.streaming import RESTLESS, RULES, add_bank, add_frame, judged, open_stream, profile
from tests.service.support import serving, take_back, tiny_calibration, tiny_onnx, work_on, working
from zenserve.prover.groth16 import system as keys
from zenserve.service import engine
from zenserve.service.jobs.claims import Claims
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.reaper import reap
from zenserve.service.scheduler.retention import forget
from zenserve.service.storage.database import now
from zenserve.service.storage.records.accounts import Tenant
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import VerificationKey
from zenserve.service.storage.records.streams import Stream
from zenserve.service.worker.tasks import steps, streams
from zenserve.verifier.recent import Recent
from zenserve.verifier.stream import StreamVerification
from zenserve.verifier.system import CEREMONY, DEVELOPMENT

LABELS = [0, 1] * 7 + [2, 3] * 4


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A data directory with a bank whose keys are made, to be copied, and its models."""
    folder = tmp_path_factory.mktemp("bank") / "data"
    runtime = open_runtime(folder)
    with serving(runtime) as url, httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as http:
        models = add_bank(runtime, http)
        open_stream(runtime, http, models)
    runtime.close()
    shutil.rmtree(folder / "broker")
    return folder, models


@pytest.fixture
def models(bank: tuple[Path, list[str]]) -> list[str]:
    return bank[1]


@pytest.fixture
def runtime(bank: tuple[Path, list[str]], tmp_path: Path) -> Iterator[Runtime]:
    shutil.copytree(bank[0], tmp_path / "data")
    runtime = open_runtime(tmp_path / "data")
    yield runtime
    runtime.close()


@pytest.fixture
def http(runtime: Runtime) -> Iterator[httpx.Client]:
    with serving(runtime) as url, httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as http:
        yield http


def seen(http: httpx.Client, stream_id: str, part: str = "") -> Any:
    answer = http.get(f"/v1/streams/{stream_id}{part}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def verdict_on(http: httpx.Client, stream_id: str) -> StreamVerification:
    """What anybody says of its file."""
    return judged(seen(http, stream_id, "/file"), lambda key: http.get(f"/v1/verification-keys/{key}").json())


def test_a_stream_is_proven_and_judged(runtime: Runtime, http: httpx.Client, models: list[str]) -> None:
    stream_id = open_stream(runtime, http, models, backlog=len(LABELS), challenge="for Ada")
    assert seen(http, stream_id)["stage"] == "frames"
    assert seen(http, stream_id)["challenge"] == "for Ada"
    for number, label in enumerate(LABELS):
        added(http, stream_id, number, label)
    with working(runtime):
        until(lambda: seen(http, stream_id)["frames_over"] == len(LABELS), "frames to be over")
    verdict = verdict_on(http, stream_id)
    assert verdict.valid, verdict.detail
    assert seen(http, stream_id, "/file")["head"]["challenge"] == "for Ada"
    assert verdict.labels == LABELS
    assert verdict.head == seen(http, stream_id)["head"]
    assert len(verdict.changes) == 1
    assert min(verdict.by_model) > 4
    (first, *_, last) = reversed(seen(http, stream_id, "/frames")["items"])
    assert (first["number"], first["label"], first["model_id"]) == (0, 0, models[0])
    assert last["number"] == len(LABELS) - 1
    assert {each["state"] for each in seen(http, stream_id, "/frames")["items"]} == {"succeeded"}


@pytest.fixture
def stream_id(runtime: Runtime, http: httpx.Client, models: list[str]) -> str:
    """One that takes frames, two at a time."""
    return open_stream(runtime, http, models, backlog=2)


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def added(http: httpx.Client, stream_id: str, number: int, label: int) -> str:
    """The id of the frame's proof."""
    answer = add_frame(http, stream_id, number, label)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["proof_id"])


def test_a_switch_loads_nothing(
    runtime: Runtime, http: httpx.Client, models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once each model of the bank was used, the keys and circuits of all are at hand."""
    used, compiled = list[str](), list[int]()
    compile_ = engine._compiled

    def counted(*key: Any) -> Any:
        compiled.append(len(used))
        return compile_(*key)

    monkeypatch.setattr(engine, "_compiled", counted)
    stream_id = open_stream(runtime, http, models, rules=RESTLESS)
    engine._at_hand.clear()
    keys._load_key.cache_clear()
    loads = []
    for number, label in enumerate([0, 1, 0, 2, 3, 2, 0, 1]):
        proof_id = added(http, stream_id, number, label)
        work_on(runtime, proof_id)
        used.append(http.get(f"/v1/proofs/{proof_id}").json()["model_id"])
        loads.append(keys._load_key.cache_info().misses)
    first = used.index(models[1])
    assert sum(a != b for a, b in pairwise(used[first:])) >= 3
    assert loads == [1] * first + [2] * (len(used) - first)
    assert max(compiled) <= first


def test_a_frame_has_one_number_and_is_made_once(http: httpx.Client, stream_id: str) -> None:
    first = added(http, stream_id, 0, 1)
    assert added(http, stream_id, 0, 1) == first
    assert refusal(add_frame(http, stream_id, 0, 2)) == (409, "conflict.frame_number")
    assert refusal(add_frame(http, stream_id, 2, 1)) == (409, "conflict.frame_number")
    body = {"number": 1, "input": [0.5, 1.0]}
    assert refusal(http.post(f"/v1/streams/{stream_id}/frames", json=body)) == (422, "input.shape")
    assert seen(http, stream_id)["frames"] == 1


def test_a_full_backlog_takes_no_more_until_a_frame_is_over(http: httpx.Client, stream_id: str) -> None:
    first = added(http, stream_id, 0, 1)
    added(http, stream_id, 1, 1)
    full = add_frame(http, stream_id, 2, 1)
    assert refusal(full) == (429, "quota.frames")
    assert int(full.headers["Retry-After"]) > 0
    assert http.post(f"/v1/proofs/{first}/cancel").status_code == 200
    added(http, stream_id, 2, 1)
    assert refusal(add_frame(http, stream_id, 3, 1)) == (429, "quota.frames")


BATCHES: Final = {"rules": RULES | {"batch": 4}, "batch_seconds": 60, "backlog": 30}


def open_batched(runtime: Runtime, http: httpx.Client, models: list[str]) -> str:
    return open_stream(runtime, http, models, **BATCHES)


def test_frames_in_a_row_have_one_proof(runtime: Runtime, http: httpx.Client, models: list[str]) -> None:
    stream_id = open_batched(runtime, http, models)
    ids = [added(http, stream_id, number, label) for number, label in enumerate(LABELS)]
    assert (seen(http, stream_id)["batch"], seen(http, stream_id)["batch_seconds"]) == (4, 60)
    with working(runtime):
        until(lambda: seen(http, stream_id)["frames_over"] == 20, "full batches to be over")
        assert {http.get(f"/v1/proofs/{each}").json()["state"] for each in ids[20:]} == {"queued"}
        http.post(f"/v1/streams/{stream_id}/end")
        until(lambda: seen(http, stream_id)["state"] == "succeeded", "the last two to be proven")
    verdict = verdict_on(http, stream_id)
    assert verdict.valid, verdict.detail
    assert verdict.proofs == [*(number - number % 4 for number in range(20)), 20, 21]
    assert (verdict.labels, len(verdict.changes)) == (LABELS, 1)
    assert min(verdict.by_model) >= 4
    frames = seen(http, stream_id, "/frames")["items"][::-1]
    assert [each["batch"] for each in frames] == [*verdict.proofs[:20], None, None]
    assert len(seen(http, stream_id, "/file")["frames"]) == 7
    first, second = (http.get(f"/v1/proofs/{each}/proof").json() for each in ids[:2])
    assert first == second
    assert first["statement"]["values"]["label/answer"] == LABELS[:4]
    jobs = [http.get(f"/v1/proofs/{each}").json() for each in ids[:2]]
    assert [each["verification_key_id"] for each in jobs] == [
        first["statement"]["verification_key"]["id"]
    ] * 2
    assert frames[0]["seconds"] == frames[1]["seconds"] > 0
    assert [name for name, _ in events(http, stream_id)] == ["frame"] * len(LABELS) + ["end"]
    assert http.delete(f"/v1/streams/{stream_id}").status_code == 204


def test_another_worker_goes_on_with_a_batch(
    runtime: Runtime, http: httpx.Client, models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_id = open_batched(runtime, http, models)
    for start in range(0, 12, 4):
        ids = [added(http, stream_id, start + each, each % 2) for each in range(4)]
        with runtime.database.write() as session:  # one that dies of it, and is found out
            assert Claims(session).claim(ids[0], "gone", 0.0)
        with runtime.database.write() as session:
            assert take_back(session) == ids[:1]
            session.get_one(Job, ids[0]).available_at = None
        monkeypatch.setattr(streams, "_places", Recent(16))
        work_on(runtime, ids[0])
        assert http.get(f"/v1/proofs/{ids[0]}").json()["attempt"] == 2
    verdict = verdict_on(http, stream_id)
    assert verdict.valid, verdict.detail
    assert (verdict.by_model, verdict.proofs) == ([8, 4], [number - number % 4 for number in range(12)])


def test_the_last_attempt_is_at_the_first_frame_alone(
    runtime: Runtime, http: httpx.Client, models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_id = open_batched(runtime, http, models)
    ids = [added(http, stream_id, number, number % 2) for number in range(5)]
    prove, sizes = steps.prove, []

    def full(*args: Any, **options: Any) -> Any:
        sizes.append(args[2].batch)
        if sizes == [4] or sizes == [4, 4]:
            raise MemoryError
        return prove(*args, **options)

    monkeypatch.setattr(steps, "prove", full)
    for _ in range(3):
        with runtime.database.write() as session:
            session.get_one(Job, ids[0]).available_at = None
        work_on(runtime, ids[0])
    work_on(runtime, ids[1])
    assert sizes == [4, 4, 1, 4]
    first, second = (http.get(f"/v1/proofs/{each}").json() for each in ids[:2])
    assert [each["code"] for each in first["failures"]] == ["resource.memory"] * 2
    assert (first["attempt"], second["attempt"]) == (3, 1)
    verdict = verdict_on(http, stream_id)
    assert verdict.valid, verdict.detail
    assert verdict.proofs == [0, 1, 1, 1, 1]


def test_what_is_missed_while_its_batch_is_proven_is_in_none(
    runtime: Runtime, http: httpx.Client, models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_id = open_batched(runtime, http, models)
    ids = [added(http, stream_id, number, number % 2) for number in range(5)]
    checked = steps.checked

    def canceled_before(*args: Any) -> Any:
        monkeypatch.setattr(steps, "checked", checked)
        assert http.post(f"/v1/proofs/{ids[2]}/cancel").status_code == 200
        return checked(*args)

    monkeypatch.setattr(steps, "checked", canceled_before)
    work_on(runtime, ids[0])
    assert http.get(f"/v1/proofs/{ids[0]}").json()["state"] == "queued"
    http.post(f"/v1/streams/{stream_id}/end")
    with working(runtime):
        until(lambda: seen(http, stream_id)["state"] == "succeeded", "the others to be proven")
    verdict = verdict_on(http, stream_id)
    assert verdict.valid, verdict.detail
    assert (verdict.missed, verdict.proofs) == ([2], [0, 1, None, 3, 4])


def test_batches_that_cannot_be_are_refused(http: httpx.Client, models: list[str]) -> None:
    def asked(**options: Any) -> tuple[str, str]:
        answer = http.post("/v1/streams", json={"models": models, "profile": profile()} | options).json()
        return answer["code"], answer["field"]

    assert asked(rules={"batch": 8}, backlog=7) == ("request.invalid", "backlog")
    assert asked(batch_seconds=5) == ("request.invalid", "batch_seconds")
    assert asked(rules={"batch": 1})[1] == "rules.batch"


def test_a_ceremony_is_for_frames_or_for_batches_of_so_many(
    runtime: Runtime, http: httpx.Client, models: list[str]
) -> None:
    open_batched(runtime, http, models)
    for model in models:
        assert http.patch(f"/v1/models/{model}", json={"require_ceremony": True}).status_code == 200

    def refusal_for(ceremony_of: int | None, **options: Any) -> str:
        """Its detail, where the keys of batches of so many, or of frames alone, are of a ceremony."""
        with runtime.database.write() as session:
            for key in session.scalars(select(VerificationKey)):
                ours = key.circuit.get("batch") == ceremony_of
                key.document = key.document | {"setup": CEREMONY if ours else DEVELOPMENT}
        body = {"models": models, "profile": profile(), **options}
        answer = http.post("/v1/streams", json=body)
        assert answer.status_code == 202 or answer.json()["code"] == "conflict.ceremony"
        return str(answer.json().get("detail"))

    assert refusal_for(None) == "None"
    assert "batches of 4 frames" in refusal_for(None, **BATCHES)
    assert "this form of proof" in refusal_for(4)


def test_missed_frames_stand_in_the_chain(runtime: Runtime, http: httpx.Client, stream_id: str) -> None:
    work_on(runtime, added(http, stream_id, 0, 1))
    late = added(http, stream_id, 1, 1)
    with runtime.database.write() as session:
        session.get_one(Job, late).deadline_at = now() - timedelta(seconds=1)
    reap(runtime)
    canceled = added(http, stream_id, 2, 1)
    assert http.post(f"/v1/proofs/{canceled}/cancel").status_code == 200
    last = added(http, stream_id, 3, 0)
    work_on(runtime, last)
    verdict = verdict_on(http, stream_id)
    assert verdict.valid, verdict.detail
    assert (verdict.missed, verdict.labels) == ([1, 2], [1, None, None, 0])
    missed = [each["missed"] for each in seen(http, stream_id, "/frames")["items"]]
    assert missed == [None, "canceled", "deadline", None]
    # Its place is its own, whatever became of it.
    assert refusal(http.post(f"/v1/proofs/{late}/retry")) == (409, "conflict.frame")
    assert refusal(http.delete(f"/v1/proofs/{last}")) == (409, "conflict.frame")


def test_a_proof_that_ends_after_its_deadline_is_of_a_missed_frame(
    runtime: Runtime, http: httpx.Client, stream_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = added(http, stream_id, 0, 1)
    checked = steps.checked

    def slowly(*args: Any) -> Any:
        monkeypatch.setattr(steps, "checked", checked)
        with runtime.database.write() as session:  # no heartbeat is between this and the end
            session.get_one(Job, late).deadline_at = now() - timedelta(seconds=0.1)
        return checked(*args)

    monkeypatch.setattr(steps, "checked", slowly)
    work_on(runtime, late)
    assert http.get(f"/v1/proofs/{late}").json()["problem"]["code"] == "resource.deadline"
    work_on(runtime, added(http, stream_id, 1, 0))
    verdict = verdict_on(http, stream_id)
    assert verdict.valid, verdict.detail
    assert (verdict.missed, verdict.labels) == ([0], [None, 0])
    assert seen(http, stream_id, "/file")["frames"][0] == {"missed": "deadline"}


def test_a_key_that_is_not_the_bank_s_proves_no_frame(
    runtime: Runtime, http: httpx.Client, stream_id: str
) -> None:
    with runtime.database.write() as session:
        row = session.get_one(Stream, stream_id)
        head = json.loads(json.dumps(row.head))
        head["bank"]["models"][0]["verification_key"] = "00" * 32
        row.head = head
    proof_id = added(http, stream_id, 0, 1)
    work_on(runtime, proof_id)
    assert http.get(f"/v1/proofs/{proof_id}").json()["problem"]["code"] == "conflict.changed"
    assert seen(http, stream_id, "/file")["frames"] == [{"missed": "conflict.changed"}]


def test_deadlines_are_counted_from_when_a_frame_was_handed_in(
    runtime: Runtime, http: httpx.Client, models: list[str]
) -> None:
    stream_id = open_stream(runtime, http, models, deadline_seconds=60)
    job = http.get(f"/v1/proofs/{added(http, stream_id, 0, 1)}").json()
    took = datetime.fromisoformat(job["deadline_at"]) - datetime.fromisoformat(job["created_at"])
    assert timedelta(seconds=55) < took <= timedelta(seconds=60)


def test_another_worker_goes_on_where_the_chain_is(
    runtime: Runtime, http: httpx.Client, stream_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        proof_id = added(http, stream_id, number, number % 2)
        with runtime.database.write() as session:  # one that dies of it, and is found out
            assert Claims(session).claim(proof_id, "gone", 0.0)
        with runtime.database.write() as session:
            assert take_back(session) == [proof_id]
            session.get_one(Job, proof_id).available_at = None
        monkeypatch.setattr(streams, "_places", Recent(1))
        work_on(runtime, proof_id)
    verdict = verdict_on(http, stream_id)
    assert verdict.valid, verdict.detail
    assert verdict.labels == [0, 1] * 6
    assert verdict.by_model[1] > 0, "the course went on to the second model"
    assert http.get(f"/v1/proofs/{proof_id}").json()["attempt"] == 2


def test_events_go_on_after_the_frame_that_was_seen_last(
    runtime: Runtime, http: httpx.Client, stream_id: str
) -> None:
    for number in range(3):
        work_on(runtime, added(http, stream_id, number, 1))
    assert http.post(f"/v1/streams/{stream_id}/end").json()["state"] == "succeeded"
    assert events(http, stream_id) == [("frame", "0"), ("frame", "1"), ("frame", "2"), ("end", "")]
    assert events(http, stream_id, "1") == [("frame", "2"), ("end", "")]
    assert events(http, stream_id, "7") == [("end", "")]


def events(http: httpx.Client, stream_id: str, last: str | None = None) -> list[tuple[str, str]]:
    """Name and id of each, of a stream that is over."""
    headers = {"Last-Event-ID": last} if last else {}
    text = http.get(f"/v1/streams/{stream_id}/events", headers=headers).text
    blocks = [dict(line.split(": ", 1) for line in each.splitlines()) for each in text.split("\n\n") if each]
    return [(block["event"], block.get("id", "")) for block in blocks if "event" in block]


def test_whoever_follows_hears_of_each_frame_once(
    runtime: Runtime, http: httpx.Client, stream_id: str
) -> None:
    heard: list[str] = []

    def follow() -> None:
        with http.stream("GET", f"/v1/streams/{stream_id}/events") as answer:
            heard.extend(line for line in answer.iter_lines() if line.startswith("id: "))

    listener = Thread(target=follow)
    listener.start()
    for number in range(3):
        work_on(runtime, added(http, stream_id, number, 1))
    http.post(f"/v1/streams/{stream_id}/end")
    listener.join(PATIENCE_SECONDS)
    assert heard == ["id: 0", "id: 1", "id: 2"]


def test_a_stream_that_has_ended_takes_no_frames(
    runtime: Runtime, http: httpx.Client, stream_id: str
) -> None:
    proof_id = added(http, stream_id, 0, 1)
    assert http.post(f"/v1/streams/{stream_id}/end").json()["state"] == "running"
    assert refusal(add_frame(http, stream_id, 1, 1)) == (409, "conflict.stream")
    assert refusal(http.delete(f"/v1/streams/{stream_id}")) == (409, "conflict.in_use")
    work_on(runtime, proof_id)
    assert seen(http, stream_id)["state"] == "succeeded"
    assert http.post(f"/v1/streams/{stream_id}/end").status_code == 200


def test_a_stream_is_deleted_with_its_frames(
    runtime: Runtime, http: httpx.Client, stream_id: str, models: list[str]
) -> None:
    others = {each["id"] for each in http.get("/v1/proofs").json()["items"]}
    before = {path for path in (runtime.settings.data_dir / "artifacts").rglob("*") if path.is_file()}
    for number in range(2):
        work_on(runtime, added(http, stream_id, number, 1))
    canceled = added(http, stream_id, 2, 1)
    assert refusal(http.delete(f"/v1/models/{models[1]}")) == (409, "conflict.in_use")
    assert http.post(f"/v1/streams/{stream_id}/cancel").json()["state"] == "canceled"
    assert http.get(f"/v1/proofs/{canceled}").json()["state"] == "canceled"
    assert http.delete(f"/v1/streams/{stream_id}").status_code == 204
    assert http.get(f"/v1/streams/{stream_id}").status_code == 404
    assert {each["id"] for each in http.get("/v1/proofs").json()["items"]} == others
    after = {path for path in (runtime.settings.data_dir / "artifacts").rglob("*") if path.is_file()}
    assert after <= before


def test_streams_go_by_the_rule_for_proofs(runtime: Runtime, http: httpx.Client, stream_id: str) -> None:
    proof_id = added(http, stream_id, 0, 1)
    work_on(runtime, proof_id)
    old = datetime(2020, 1, 1, tzinfo=UTC)
    with runtime.database.write() as session:
        session.get_one(Tenant, LOCAL_TENANT).retention_days = 7
        session.get_one(Job, proof_id).finished_at = old
    forget(runtime)
    assert http.get(f"/v1/proofs/{proof_id}").status_code == 200, "its stream goes on"
    http.post(f"/v1/streams/{stream_id}/end")
    with runtime.database.write() as session:
        session.get_one(Job, stream_id).finished_at = old
    forget(runtime)
    assert http.get(f"/v1/proofs/{proof_id}").status_code == 404
    assert http.get(f"/v1/streams/{stream_id}").status_code == 404


def test_what_is_no_bank_is_refused(runtime: Runtime, http: httpx.Client, models: list[str]) -> None:
    plain = http.post(
        "/v1/models",
        files={"model": tiny_onnx(), "calibration": tiny_calibration()},
        data={"weight_privacy": "public"},
    ).json()["id"]
    work_on(runtime, plain)

    def asked(**body: Any) -> tuple[int, str]:
        return refusal(http.post("/v1/streams", json={"models": models, "profile": profile()} | body))

    few = profile()
    assert asked(models=[plain]) == (422, "model.bank")
    assert asked(models=["mdl_x"]) == (404, "not_found")
    assert asked(profile=few | {"labels": [*few["labels"][:-1], 0]}) == (422, "request.invalid")
    assert asked(profile=few | {"labels": few["labels"][:-4]}) == (422, "input.shape")
    without = {"samples": few["samples"][:4], "labels": [0, 1, 0, 1]}
    assert asked(profile=without) == (422, "request.invalid")
    assert asked(profile=few | {"labels": [9] * len(few["labels"])}) == (422, "input.out_of_range")
    backwards = http.post("/v1/streams", json={"models": models[::-1], "profile": profile()}).json()["id"]
    assert refusal(add_frame(http, backwards, 0, 1)) == (409, "conflict.stream")
    work_on(runtime, backwards)
    failed = seen(http, backwards)
    assert (failed["state"], failed["problem"]["code"]) == ("failed", "model.bank")
    assert "cheaper" in failed["problem"]["detail"]
    assert http.get(f"/v1/streams/{backwards}/file").status_code == 409
    assert http.post(f"/v1/streams/{backwards}/retry").json()["state"] == "queued"


def archive(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def brought(http: httpx.Client, content: bytes) -> str:
    sha256 = hashlib.sha256(content).hexdigest()
    assert http.put(f"/v1/uploads/{sha256}", content=content).status_code == 201
    return sha256


def test_a_profile_may_be_an_upload(runtime: Runtime, http: httpx.Client, models: list[str]) -> None:
    told = profile()
    with_labels = {"samples_sha256": brought(http, archive(**told))}
    alone = {"samples_sha256": brought(http, archive(x=told["samples"])), "labels": told["labels"]}
    streams = [
        open_stream(runtime, http, models, profile=each, challenge=None)
        for each in (told, with_labels, alone)
    ]
    banks = [seen(http, stream_id, "/file")["head"]["bank"] for stream_id in streams]
    assert banks[0] == banks[1] == banks[2]
    body = {"models": models, "profile": with_labels}
    assert refusal(http.post("/v1/streams", json=body)) == (404, "not_found"), "it is used up"


def test_what_is_no_profile_is_refused(
    http: httpx.Client, models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(given: dict[str, Any]) -> tuple[str, str, str]:
        answer = http.post("/v1/streams", json={"models": models, "profile": given}).json()
        return answer["code"], answer["field"], answer["detail"]

    def asked_of(content: bytes, **more: Any) -> tuple[str, str, str]:
        return asked({"samples_sha256": brought(http, content)} | more)

    told = profile()
    samples, labels = np.array(told["samples"]), told["labels"]
    for given in {"labels": labels}, told | {"samples_sha256": "00" * 32}:
        assert asked(given)[:2] == ("request.invalid", "profile.samples")
    assert asked({"samples": told["samples"]})[:2] == ("request.invalid", "profile.labels")
    assert asked({"samples_sha256": "00" * 32})[:2] == ("not_found", "profile.samples_sha256")
    assert asked_of(b"no file")[:2] == ("input.unreadable", "profile.samples")
    assert asked_of(archive(x=samples))[:2] == ("input.unreadable", "profile.labels")
    assert asked_of(archive(x=samples[:, :2]), labels=labels)[:2] == ("input.shape", "profile.samples")
    assert asked_of(archive(x=samples[:-1]), labels=labels)[:2] == ("input.shape", "profile.samples")
    code, field, detail = asked_of(archive(x=np.vstack([samples[:7], 1e9 + samples[7:]])), labels=labels)
    assert (code, field) == ("input.out_of_range", "profile.samples")
    assert "profile.samples[7]" in detail
    monkeypatch.setattr("zenserve.service.intake.MOST_OUTPUTS", 2 * len(labels) * 4 - 1)
    code, field, detail = asked_of(archive(**told))
    assert (code, field) == ("request.invalid", "profile.labels")
    assert "give 39 at most" in detail


def test_circuits_stay_at_hand_as_far_as_they_hold_little(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {b"large": 250 << 20, b"larger": 256 << 20}
    made: list[bytes] = []

    def compiled(quantised: bytes, _scheme: str, _options: bytes) -> bytes:
        made.append(quantised)
        return quantised

    at_hand = Recent[Any, Any](512 << 20, lambda circuit: sizes.get(circuit, 8 << 20), least=2)
    monkeypatch.setattr(engine, "_at_hand", at_hand)
    monkeypatch.setattr(engine, "_compiled", compiled)
    for name in 2 * [b"one", b"two", b"three", b"large"]:
        engine.compile_circuit(name, "inference")
    assert made == [b"one", b"two", b"three", b"large"]
    engine.compile_circuit(b"larger", "inference")
    engine.compile_circuit(b"large", "inference")
    assert made[4:] == [b"larger"]
    engine.compile_circuit(b"three", "inference")
    assert made[5:] == [b"three"]


def test_the_same_key_opens_one_stream(http: httpx.Client, models: list[str]) -> None:
    body = {"models": models, "profile": profile()}
    headers = {"Idempotency-Key": "once"}
    first = http.post("/v1/streams", json=body, headers=headers).json()["id"]
    assert http.post("/v1/streams", json=body, headers=headers).json()["id"] == first
    answer = http.post("/v1/streams", json=body | {"backlog": 3}, headers=headers)
    assert refusal(answer) == (409, "conflict.idempotency_key")
    assert first in {each["id"] for each in http.get("/v1/streams").json()["items"]}
