"""Registering models: what is answered, and each way in which it is refused."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.refusals import refuses
from tests.service.support import named_onnx, npy, tiny_calibration, tiny_onnx, work_on
from zenserve.circuits import load_onnx
from zenserve.circuits.schemes import proving
from zenserve.client import ApiError, Client, Model
from zenserve.errors import ModelError, ResourceError
from zenserve.service.jobs.scheduling import claim_next
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.repositories.workers import Workers
from zenserve.service.submissions import sandbox
from zenserve.service.submissions.sandbox import CPU_SECONDS
from zenserve.service.submissions.turns import Turns


def post(url: str, onnx: bytes, calibration: bytes, **options: str) -> httpx.Response:
    files = {"model": ("m.onnx", onnx), "calibration": ("c.npy", calibration)}
    return httpx.post(f"{url}/v1/models", files=files, data=options)


def test_a_model_is_prepared_by_a_job(api: Client, with_model: Runtime) -> None:
    calibration = json.dumps(np.full((3, 4), 0.5).tolist()).encode()
    model = api.create_model(tiny_onnx(), calibration, name="mine", weight_privacy="committed", bits=6)
    assert (model.state, model.name, model.bits, model.weight_privacy) == ("queued", "mine", 6, "committed")
    assert (model.commitment, model.verification_key_id, model.description) == (None, None, None)
    work_on(with_model, model.id)
    model = api.get_model(model.id)
    assert (model.state, model.setup) == ("succeeded", "development")
    assert model.description is not None
    assert model.description["privacy"] == {"input": "private", "weights": "committed"}
    assert model.description["constraints"]["total"] > 0
    assert model.verification_key_id is not None
    assert api.get_verification_key(model.verification_key_id)["key"]["setup"] == "development"
    assert model.timings["compile"] >= 0


def test_what_quantisation_did_is_reported_with_labels_to_the_accuracy(api: Client) -> None:
    samples = np.load(io.BytesIO(tiny_calibration()))
    labels = load_onnx(tiny_onnx()).run(samples).argmax(axis=1)
    plain = api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="public").report
    labelled = api.create_model(
        tiny_onnx(), tiny_calibration(), calibration_labels=npy(labels), weight_privacy="public"
    ).report
    assert plain is not None
    assert labelled is not None
    assert (plain["images"], plain["accuracy"], plain["float_accuracy"]) == (32, None, None)
    assert (labelled["float_accuracy"], labelled["accuracy"] > 0.8) == (1.0, True)
    assert labelled["agreement"] == labelled["accuracy"] == plain["agreement"]
    assert plain["tensors"] == labelled["tensors"]
    assert min(tensor["snr"] for tensor in plain["tensors"]) > 20
    assert sum(map(sum, plain["outputs"][0]["confusion"])) == 32
    first = plain["tensors"][0]
    assert (first["low"], first["high"]) == (samples.min(), samples.max())
    assert first["greatest"] == pytest.approx(first["high"], rel=0.01)


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        (np.zeros(31, int), "input.shape"),
        (np.full(32, 3), "input.out_of_range"),
        (np.full(32, 0.5), "input.out_of_range"),
    ],
)
def test_labels_that_do_not_fit_the_calibration(api: Client, labels: Any, code: str) -> None:
    with pytest.raises(ApiError) as refused:
        api.create_model(
            tiny_onnx(), tiny_calibration(), calibration_labels=npy(labels), weight_privacy="public"
        )
    assert (refused.value.code, refused.value.field) == (code, "calibration_labels")


def test_a_calibration_of_batches_of_one_fits(api: Client) -> None:
    calibration = np.load(io.BytesIO(tiny_calibration()))[:, np.newaxis]
    assert api.create_model(tiny_onnx(), npy(calibration), weight_privacy="public").state == "queued"


def test_a_model_too_large_for_the_memory_fails_at_once_with_the_estimate(
    api: Client, with_model: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proving, "free_memory", lambda: 1000)
    model = api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="public")
    work_on(with_model, model.id)
    model = api.get_model(model.id)
    assert model.state == "failed"
    assert model.problem is not None
    assert model.problem["code"] == "model.memory"
    assert "0.0 GB are free" in model.problem["detail"]
    assert model.attempt == 1


def test_a_model_too_large_for_every_worker_is_refused_at_the_door(
    api: Client, with_model: Runtime, model: Model
) -> None:
    def stored() -> list[Path]:
        return [file for file in (with_model.settings.data_dir / "artifacts").rglob("*") if file.is_file()]

    before = stored()
    with with_model.database.write() as session:
        Workers(session).beat("small", 1, {"queues": ["cpu"], "memory": 100_000})
    with pytest.raises(ApiError, match=r"0\.0 GB of memory \(\d+ constraints\).* larger one") as refused:
        api.create_model(tiny_onnx(hidden=9), tiny_calibration(), weight_privacy="committed")
    assert (refused.value.status, refused.value.code) == (422, "resource.capacity")
    assert stored() == before
    # A larger one takes it, and so does whoever comes, where nobody is.
    with with_model.database.write() as session:
        Workers(session).beat("large", 1, {"queues": ["cpu"], "memory": 10**9})
    queued = [api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="committed").id]
    with with_model.database.write() as session:
        for name in ("small", "large"):
            Workers(session).remove(name)
    queued.append(api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="public").id)
    with with_model.database.read() as session:
        committed, public = (session.get_one(Job, model_id).memory for model_id in queued)
        assert claim_next(session, "small", 60.0, ["cpu"], 100_000) is None
    assert committed > public > 100_000


def test_the_answer_to_a_new_model_says_where_it_is(url: str) -> None:
    response = post(url, tiny_onnx(), tiny_calibration())
    assert response.status_code == 202
    assert response.headers["Location"] == f"/v1/models/{response.json()['id']}"


@pytest.mark.parametrize(
    ("fields", "field", "remedy"),
    [
        ([("weight_privcy", (None, "committed"))], "weight_privcy", "weight_privacy"),
        ([("weight_privacy", (None, ""))], "weight_privacy", "empty"),
        ([("model", ("m.onnx", b""))], "model", "twice"),
        ([("bits", (None, "8")), ("bits", (None, "4"))], "bits", "twice"),
        ([("name", (None, "\x1b[31m"))], "name", "pattern"),
    ],
)
def test_a_field_that_would_be_passed_over_is_refused(
    shared_url: str, fields: list[Any], field: str, remedy: str
) -> None:
    files = [("model", ("m.onnx", tiny_onnx())), ("calibration", ("c.npy", tiny_calibration())), *fields]
    response = httpx.post(f"{shared_url}/v1/models", files=files)
    assert (response.status_code, response.json()["code"]) == (422, "request.invalid")
    assert response.json()["field"] == field
    assert remedy in response.json()["detail"]


def test_text_in_place_of_a_file_is_refused_with_the_remedy(shared_url: str) -> None:
    fields: dict[str, Any] = {"model": (None, "m.onnx"), "calibration": ("c.npy", tiny_calibration())}
    response = httpx.post(f"{shared_url}/v1/models", files=fields)
    assert (response.status_code, response.json()["field"]) == (422, "model")
    assert "@FILE" in response.json()["detail"]


REFUSALS = {
    "not ONNX": (b"hello", tiny_calibration(), {}, "model.not_onnx", "model"),
    "empty": (b"", tiny_calibration(), {}, "model.not_onnx", "model"),
    "operator": (
        tiny_onnx(operator="Bernoulli"),
        tiny_calibration(),
        {},
        "model.unsupported_operator",
        "model",
    ),
    "NaN weight": (tiny_onnx(poison=float("nan")), tiny_calibration(), {}, "model.not_finite", "model"),
    "infinite weight": (tiny_onnx(poison=float("inf")), tiny_calibration(), {}, "model.not_finite", "model"),
    "no size": (named_onnx(), tiny_calibration(), {}, "model.dynamic_shape", "shape"),
    "a size of nothing": (
        named_onnx(),
        tiny_calibration(),
        {"shape": "token=4"},
        "model.dynamic_shape",
        "shape",
    ),
    "a size of a word": (
        named_onnx(),
        tiny_calibration(),
        {"shape": "tokens=four"},
        "request.invalid",
        "shape",
    ),
    "a range of numbers": (
        tiny_onnx(),
        tiny_calibration(),
        {"range": "input=0:3"},
        "input.names",
        "range",
    ),
    "a range of one end": (tiny_onnx(), tiny_calibration(), {"range": "x=3"}, "request.invalid", "range"),
    "a range backwards": (tiny_onnx(), tiny_calibration(), {"range": "x=3:0"}, "request.invalid", "range"),
    "calibration shape": (tiny_onnx(), tiny_calibration(5), {}, "input.shape", "calibration"),
    "calibration NaN": (
        tiny_onnx(),
        npy(np.array([[0, 1, np.nan, 0]])),
        {},
        "input.not_finite",
        "calibration",
    ),
    "calibration pickle": (
        tiny_onnx(),
        npy(np.array([{}], dtype=object), allow_pickle=True),
        {},
        "input.unreadable",
        "calibration",
    ),
    "calibration text": (tiny_onnx(), b"x, y", {}, "input.unreadable", "calibration"),
    "calibration columns": (tiny_onnx(), b"0.1, 0.2", {}, "input.shape", "calibration"),
    "calibration words": (tiny_onnx(), b'["a", "b"]', {}, "input.not_numeric", "calibration"),
    "calibration ragged": (tiny_onnx(), b"[[1], [1, 2]]", {}, "input.not_numeric", "calibration"),
    "bits": (tiny_onnx(), tiny_calibration(), {"bits": "17"}, "request.invalid", "bits"),
    "privacy": (
        tiny_onnx(),
        tiny_calibration(),
        {"weight_privacy": "private"},
        "request.invalid",
        "weight_privacy",
    ),
    "name": (tiny_onnx(), tiny_calibration(), {"name": "x" * 201}, "request.invalid", "name"),
}


@pytest.mark.usefixtures("in_a_child")
def test_sizes_of_dimensions_that_the_file_only_names(api: Client) -> None:
    given = partial(api.create_model, named_onnx(), tiny_calibration())
    model = given(sizes={"tokens": 4}, idempotency_key="one")
    assert model.report is not None
    with pytest.raises(ApiError, match="Idempotency-Key"):
        given(sizes={"tokens": 3}, idempotency_key="one")


@pytest.mark.parametrize("case", REFUSALS)
def test_a_bad_model_is_refused_at_the_door(shared_url: str, case: str) -> None:
    onnx, calibration, options, code, field = REFUSALS[case]
    response = post(shared_url, onnx, calibration, **options)
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert (response.status_code, problem["code"], problem.get("field")) == (422, code, field)
    if case == "operator":
        assert "Bernoulli" in problem["detail"]
        assert "activation" in problem["detail"]
    if case == "NaN weight":
        assert "1, 2" in problem["detail"]
    if case == "calibration NaN":
        assert "[0, 2]" in problem["detail"]


@pytest.mark.usefixtures("in_a_child")
def test_what_the_child_refuses_the_service_refuses(shared_url: str) -> None:
    response = post(shared_url, tiny_onnx(), npy(np.array([[0, 1, np.nan, 0]])))
    problem = response.json()
    assert (response.status_code, problem["code"]) == (422, "input.not_finite")
    assert (problem["field"], "[0, 2]" in problem["detail"]) == ("calibration", True)


def test_a_forgotten_file_is_named(shared_url: str) -> None:
    response = httpx.post(f"{shared_url}/v1/models", files={"model": ("m.onnx", tiny_onnx())})
    assert (response.status_code, response.json()["field"]) == (422, "calibration")


HOG = """
from zenserve.service import intake
from zenserve.service.submissions import sandbox
intake.UNTRUSTED["hog"] = lambda: bytes(2 * sandbox.MEMORY_BYTES)
sandbox._main("hog")
"""


def test_a_parser_that_takes_too_much_says_so() -> None:
    done = subprocess.run([sys.executable, "-c", HOG], input=sandbox._pack(()), capture_output=True)
    error, result = sandbox._unpack(done.stdout)
    assert (json.loads(error)["kind"], json.loads(error)["code"]) == (
        "ResourceError",
        "resource.model_memory",
    )
    assert ("GiB" in json.loads(error)["message"], result) == (True, b"")


@pytest.mark.usefixtures("in_a_child")
def test_a_parser_that_takes_too_long_or_crashes_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "WALL_SECONDS", 0.001)
    with pytest.raises(ResourceError, match=r"more than 0\.001 seconds;"):
        sandbox.run("t", "read_model", tiny_onnx(), tiny_calibration(), b"{}", b"", b"{}")
    monkeypatch.undo()
    monkeypatch.setattr(sandbox, "_in_child", lambda *_: (-24, io.BytesIO()))
    with pytest.raises(ResourceError, match=f"more than {CPU_SECONDS} seconds of a processor;"):
        sandbox.run("t", "read_model")
    monkeypatch.undo()
    with pytest.raises(ModelError, match="broke down"):
        sandbox.run("t", "no such operation")


def test_whom_nobody_can_serve_soon_is_sent_away_and_keeps_no_thread(
    monkeypatch: pytest.MonkeyPatch, api: Client
) -> None:
    monkeypatch.setattr(sandbox, "_turns", Turns(places=1, most_waiting=0))
    with sandbox._turns.turn("t"), refuses("resource.busy"):
        sandbox.run("t", "read_model")
    assert (
        api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="public").state == "queued"
    )  # the place is free again
    assert api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="public").state == "queued"


@pytest.mark.usefixtures("in_a_child")
def test_the_sandbox_does_not_see_the_service_s_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}
    for name in ("ZENSERVE_SECRET_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x" * 32)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, env, **__: seen.update(env) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sandbox.run("t", "read_model")
    assert not [name for name in seen if name.startswith(("ZENSERVE_", "AWS_"))]


def test_an_unknown_model(shared_url: str, model: Model) -> None:
    response = httpx.get(f"{shared_url}/v1/models/mdl_nope")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")
    assert httpx.get(f"{shared_url}/v1/models/{model.id}").status_code == 200


def test_a_network_whose_integers_give_other_answers_is_refused_unless_that_is_accepted(api: Client) -> None:
    with pytest.raises(ApiError) as refused:
        api.create_model(tiny_onnx(), tiny_calibration(), bits=1, weight_privacy="public")
    assert (refused.value.status, refused.value.code) == (422, "model.differs")
    assert "they part at" in str(refused.value)
    model = api.create_model(
        tiny_onnx(), tiny_calibration(), bits=1, accept_difference=True, weight_privacy="public"
    )
    assert model.report is not None
    stages = {each["stage"]: each for each in model.report["differences"]}
    assert stages["import"]["node"] is None
    assert stages["quantisation"]["node"] is not None
    assert api.get_model(model.id).accept_difference
    assert not api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="public").accept_difference
