"""Proofs over HTTP: the whole way, waiting, events, cancellation, and each bad input."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import pytest

from tests.patience import PATIENCE_SECONDS
from tests.service.support import take_back, tiny_calibration, tiny_onnx, work_on
from zenserve.circuits import load_onnx
from zenserve.circuits.networks.stored import graph_to_bytes
from zenserve.circuits.schemes import proving
from zenserve.client import ApiError, Client, Model, Proof
from zenserve.prover.groth16 import VerifyingKey, reference
from zenserve.service import encryption
from zenserve.service.api.routes.dependencies import Preference
from zenserve.service.jobs.claims import Claims
from zenserve.service.jobs.reaping import Reaping
from zenserve.service.runtime import Runtime
from zenserve.service.storage.repositories import Models

INPUT = [0.1, 0.2, 0.3, 0.4]


def read_events(lines: list[str]) -> list[tuple[str, dict[str, Any]]]:
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    return list(zip(names, data, strict=True))


def test_a_proof_from_request_to_document(api: Client, with_model: Runtime, model: Model) -> None:
    proof = api.create_proof(model.id, INPUT, challenge="for Ada, 21 November")
    assert (proof.state, proof.scheme, proof.label, proof.values) == ("queued", "inference", None, None)
    work_on(with_model, proof.id)
    proof = api.get_proof(proof.id)
    assert (proof.state, proof.attempt, proof.percent) == ("succeeded", 1, 100.0)
    assert {"load model", "witness", "self-check"} <= set(proof.timings)
    assert proof.values == {"label": proof.label}
    document = api.get_proof_document(proof.id)
    said = document["statement"]
    assert (document["format"], document["version"], len(document["proofs"])) == ("zenserve proof", 3, 1)
    assert said["verification_key"] == {"id": model.verification_key_id, "setup": "development"}
    assert (said["challenge"], said["commitments"]) == ("for Ada, 21 November", {"model": model.commitment})
    assert (said["network"], said["values"]) == (model.network, {"label": proof.label})
    assert said["claim"].startswith(f"The label is {proof.label}.")
    assert any("development setup" in line for line in said["does_not_say"])
    assert "timings" not in document
    key = api.get_verification_key(said["verification_key"]["id"])
    assert proof.label is not None
    scalar = int.from_bytes(bytes.fromhex(document["statement_sha256"])[:31], "big")
    assert reference.verify(
        VerifyingKey.from_json(key["key"]),
        [scalar, proof.label],
        bytes.fromhex(document["proofs"][0]),
        [bytes.fromhex(said["commitments"]["model"])],
    ).valid


def test_prefer_wait_answers_when_the_proof_is_done(url: str, with_model: Runtime, model: Model) -> None:
    body = {"model_id": model.id, "input": INPUT}
    headers = {"Prefer": "wait=60", "Idempotency-Key": "k"}
    created = httpx.post(f"{url}/v1/proofs", json=body, headers={"Idempotency-Key": "k"}).json()
    worker = threading.Timer(0.1, work_on, (with_model, created["id"]))
    worker.start()
    response = httpx.post(f"{url}/v1/proofs", json=body, headers=headers, timeout=2 * PATIENCE_SECONDS)
    worker.join()
    assert (response.status_code, response.json()["id"]) == (201, created["id"])
    assert response.json()["state"] == "succeeded"
    assert response.headers["Preference-Applied"] == "wait=60"


def test_prefer_wait_is_not_a_deadline(url: str, model: Model) -> None:
    body = {"model_id": model.id, "input": INPUT}
    response = httpx.post(f"{url}/v1/proofs", json=body, headers={"Prefer": "wait=1"})
    assert (response.status_code, response.json()["state"]) == (202, "queued")
    assert response.headers["Location"] == f"/v1/proofs/{response.json()['id']}"


def test_the_longest_wait_is_a_minute() -> None:
    for text, wait in (
        *(("wait=5", 5), ("respond-async, wait=61", 60), (f"wait={'9' * 5000}", 60)),
        *((None, 0), ("wait", 0), ("wait=x", 0), ("wait=-1", 0)),
    ):
        assert Preference.of(text).wait == wait


def test_a_dry_run_is_asked_for_by_its_name() -> None:
    for wish in ("dry-run", "wait=5, dry-run", "dry-run; why=not", "dry-run,wait=1"):
        assert Preference.of(wish).dry_run
    for other in (None, "", "dry-running", "no-dry-run", "wait=1"):
        assert not Preference.of(other).dry_run


def test_checking_an_input_compiles_no_circuit(
    api: Client, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("circuits.compile_inference")
    assert api.create_proof(model.id, INPUT).state == "queued"


def test_an_idempotency_key_is_not_empty(url: str, model: Model) -> None:
    body = {"model_id": model.id, "input": INPUT}
    response = httpx.post(f"{url}/v1/proofs", json=body, headers={"Idempotency-Key": ""})
    assert (response.status_code, response.json()["field"]) == (422, "Idempotency-Key")


def test_an_idempotency_key_gives_one_proof_for_one_request(api: Client, model: Model) -> None:
    first = api.create_proof(model.id, INPUT, idempotency_key="once")
    assert api.create_proof(model.id, INPUT, idempotency_key="once").id == first.id
    assert api.create_proof(model.id, INPUT).id != first.id
    with pytest.raises(ApiError) as refusal:
        api.create_proof(model.id, [0.1, 0.2, 0.3, 0.5], idempotency_key="once")
    assert (refusal.value.status, refusal.value.code) == (409, "conflict.idempotency_key")


def test_events_tell_the_whole_story_and_end(
    url: str, api: Client, with_model: Runtime, model: Model
) -> None:
    proof = api.create_proof(model.id, INPUT)
    with httpx.stream("GET", f"{url}/v1/proofs/{proof.id}/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.iter_lines()
        first = next(lines)
        work_on(with_model, proof.id)
        events = read_events([first, *lines])
    assert events[0][0] == "progress"
    assert events[0][1]["state"] == "queued"
    assert [name for name, _ in events].index("end") == len(events) - 1
    assert events[-1][1]["state"] == "succeeded"
    revisions = [data["revision"] for _, data in events]
    assert revisions == sorted(set(revisions))


def test_events_of_a_proof_that_is_over_are_its_end(url: str, api: Client, model: Model) -> None:
    proof = api.create_proof(model.id, INPUT)
    api.cancel(proof.id)
    for headers in ({}, {"Last-Event-ID": "7"}, {"Last-Event-ID": "rubbish"}):
        answer = httpx.get(f"{url}/v1/proofs/{proof.id}/events", headers=headers)
        assert [(name, data["state"]) for name, data in read_events(answer.text.splitlines())] == [
            ("end", "canceled")
        ]


def test_a_quiet_event_stream_carries_heartbeats(
    url: str, api: Client, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastapi.routing._PING_INTERVAL", 0.02)
    proof = api.create_proof(model.id, INPUT)
    with httpx.stream("GET", f"{url}/v1/proofs/{proof.id}/events") as response:
        pings = (line for line in response.iter_lines() if line == ": ping")
        assert [next(pings), next(pings)] == [": ping"] * 2


def test_cancel(api: Client, with_model: Runtime, model: Model) -> None:
    proof = api.create_proof(model.id, INPUT)
    assert api.cancel(proof.id).state == "canceled"
    assert api.cancel(proof.id).state == "canceled"
    work_on(with_model, proof.id)
    assert api.get_proof(proof.id).attempt == 0
    with pytest.raises(ApiError) as refusal:
        api.get_proof_document(proof.id)
    assert (refusal.value.status, refusal.value.code) == (409, "conflict.proof_not_ready")


def test_cancel_of_a_finished_proof_is_a_conflict(api: Client, with_model: Runtime, model: Model) -> None:
    proof = api.create_proof(model.id, INPUT)
    work_on(with_model, proof.id)
    with pytest.raises(ApiError) as refusal:
        api.cancel(proof.id)
    assert (refusal.value.status, refusal.value.code) == (409, "conflict.finished")
    assert api.get_proof_document(proof.id)["proofs"]


def test_cancel_of_a_running_proof_waits_for_its_worker(
    api: Client, with_model: Runtime, model: Model
) -> None:
    proof = api.create_proof(model.id, INPUT)
    with with_model.database.write() as session:
        assert Claims(session).claim(proof.id, "w", 60.0)
    asked = api.cancel(proof.id)
    assert (asked.state, asked.cancel_requested) == ("running", True)


INPUTS = {
    "shape": ([0.1, 0.2, 0.3], "input.shape", "[3]"),
    "nesting": ([[INPUT]], "input.shape", "[1, 1, 4]"),
    "a batch of two": ([INPUT, INPUT], "input.shape", "[2, 4]"),
    "ragged": ([[0.1], 0.2], "input.not_numeric", "rectangular"),
    "words": (["a", "b", "c", "d"], "input.not_numeric", "numbers"),
    "numbers in quotes": (["1", "0", "0", "0"], "input.not_numeric", "numbers"),
    "null": ([None, 0, 0, 0], "input.not_numeric", "numbers"),
    "empty": ([], "input.shape", "[0]"),
    "beyond floats": ([0.1, 10**400, 0.2, 0.4], "input.not_numeric", "numbers"),
    "out of range": ([0.1, 0.2, 0.3, 55.0], "input.out_of_range", "[3]"),
}


@pytest.mark.parametrize("case", INPUTS)
def test_a_bad_input_is_refused_at_the_door(shared_url: str, model: Model, case: str) -> None:
    values, code, hint = INPUTS[case]
    response = httpx.post(
        f"{shared_url}/v1/proofs",
        content=json.dumps({"model_id": model.id, "input": values}),
        headers={"Content-Type": "application/json"},
    )
    problem = response.json()
    assert (response.status_code, problem["code"], problem["field"]) == (422, code, "input")
    assert hint in problem["detail"]


@pytest.mark.parametrize("number", [float("nan"), float("-inf")])
def test_what_is_no_number_of_json_is_named(shared_url: str, model: Model, number: float) -> None:
    body = json.dumps({"model_id": model.id, "input": [0.1, number, 0.2, 0.4]})
    headers = {"Content-Type": "application/json"}
    response = httpx.post(f"{shared_url}/v1/proofs", content=body, headers=headers)
    problem = response.json()
    assert (response.status_code, problem["code"], problem["field"]) == (400, "request.invalid_json", "body")
    assert "line 1 column" in problem["detail"]


def test_a_batch_of_one_is_the_input_in_it(api: Client, model: Model) -> None:
    assert api.create_proof(model.id, [INPUT]).state == "queued"
    assert api.create_commitment(model.id, "input", [INPUT]).kind == "input"


def test_a_model_that_is_not_ready_or_not_there(api: Client) -> None:
    unready = api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="public")
    with pytest.raises(ApiError) as refusal:
        api.create_proof(unready.id, INPUT)
    assert (refusal.value.status, refusal.value.code) == (409, "conflict.model_not_ready")
    with pytest.raises(ApiError) as refusal:
        api.create_proof("mdl_nope", INPUT)
    assert (refusal.value.status, refusal.value.code) == (404, "not_found")


@pytest.mark.parametrize("path", ["", "/proof", "/events"])
def test_an_unknown_proof(shared_url: str, path: str) -> None:
    response = httpx.get(f"{shared_url}/v1/proofs/prf_nope{path}")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")
    response = httpx.post(f"{shared_url}/v1/proofs/prf_nope/cancel")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_two_workers_make_one_proof(api: Client, with_model: Runtime, model: Model) -> None:
    proof = api.create_proof(model.id, INPUT)
    threads = [threading.Thread(target=work_on, args=(with_model, proof.id)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = api.get_proof(proof.id)
    assert (done.state, done.attempt, done.failures) == ("succeeded", 1, [])


def test_a_worker_that_comes_too_late_cannot_publish(
    api: Client, with_model: Runtime, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease is lost between the proving and the writing: the first worker's proof is thrown away."""
    prove, proofs = proving.prove, []

    def slow(*arguments: Any) -> bytes:
        proofs.append(prove(*arguments))
        mine = proofs[-1]
        if len(proofs) == 1:
            with with_model.database.write() as session:
                Reaping(session).expire("worker_test")
                take_back(session)
            work_on(with_model, proof.id)
        return mine

    monkeypatch.setattr(proving, "prove", slow)
    proof = api.create_proof(model.id, INPUT)
    work_on(with_model, proof.id)
    assert len(proofs) == 2
    done = api.get_proof(proof.id)
    assert (done.state, done.attempt) == ("succeeded", 2)
    assert api.get_proof_document(proof.id)["proofs"] == [proofs[1].hex()]


def test_each_answer_is_compared_with_the_float_networks(
    api: Client, with_model: Runtime, model: Model
) -> None:
    def outcome(**fields: Any) -> Proof:
        proof = api.create_proof(model.id, INPUT, **fields)
        work_on(with_model, proof.id)
        return api.get_proof(proof.id)

    near = outcome()
    assert near.difference is not None
    assert (near.difference["reference"], near.difference["differing"]) == ("the float network", 0.0)
    with with_model.database.write() as session:
        other = load_onnx(tiny_onnx(operator="Neg"))
        row = Models(session).get(model.id)
        row.floats = encryption.put(with_model, f"floats:{row.id}", graph_to_bytes(other))
    far = outcome()
    assert far.state == "failed"
    assert far.problem is not None
    assert far.problem["code"] == "model.differs"
    assert outcome(accept_difference=True).difference["differing"] == 1.0  # type: ignore[index]
    with with_model.database.write() as session:
        Models(session).get(model.id).floats = None
    assert outcome().difference is None
