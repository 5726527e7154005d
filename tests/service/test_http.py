"""What holds for every endpoint: problems, limits, health, and the OpenAPI description."""

from __future__ import annotations

import logging
import re
import socket
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text, update

from tests.service.conftest import MAX_BODY_BYTES
from tests.service.support import serving
from zenserve.service import intake
from zenserve.service.app import create_app
from zenserve.service.runtime import Runtime
from zenserve.service.serve import listen
from zenserve.service.storage.database import now
from zenserve.service.storage.records.jobs import Worker
from zenserve.service.storage.repositories.workers import Workers

NESTED = b'{"model_id": "m", "input": ' + b"[" * 20_000
JSON = {"Content-Type": "application/json"}


def problem(response: httpx.Response) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["status"] == response.status_code
    assert document["type"] == f"urn:zenserve:problem:{document['code']}"
    assert document["title"]
    assert document["detail"]
    return response.status_code, document["code"]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "expected"),
    [
        ("GET", "/v1/nothing", b"", {}, (404, "not_found")),
        ("PUT", "/v1/proofs/x", b"", {}, (405, "request.method")),
        ("DELETE", "/v1/proofs/x", b"", {}, (404, "not_found")),
        ("DELETE", "/v1/models/x", b"", {}, (404, "not_found")),
        ("GET", "/v1/proofs/x/cancel", b"", {}, (405, "request.method")),
        ("POST", "/v1/proofs", b"{", JSON, (400, "request.invalid_json")),
        ("POST", "/v1/proofs", b"\xff\xfe\x00", JSON, (400, "request.invalid_json")),
        (
            "POST",
            "/v1/proofs",
            NESTED,
            JSON,
            (400, "request.invalid_json"),
        ),
        ("POST", "/v1/proofs", b"[]", JSON, (422, "request.invalid")),
        ("POST", "/v1/proofs", b"", JSON, (422, "request.invalid")),
        ("POST", "/v1/proofs", b'{"model_id": 1, "input": [1]}', JSON, (422, "request.invalid")),
        ("POST", "/v1/proofs", b'{"model_id": "m", "input": [1], "x": 1}', JSON, (422, "request.invalid")),
        ("POST", "/v1/proofs", b"a=1", {"Content-Type": "text/plain"}, (415, "request.media_type")),
        ("POST", "/v1/proofs", b"{}", {}, (415, "request.media_type")),
        ("POST", "/v1/models", b"{}", JSON, (415, "request.media_type")),
        ("POST", "/v1/datasets", b"{}", JSON, (415, "request.media_type")),
        ("POST", "/v1/commitments", b"{}", JSON, (422, "request.invalid")),
        ("DELETE", "/v1/commitments/x", b"", {}, (404, "not_found")),
        ("DELETE", "/v1/datasets/x", b"", {}, (404, "not_found")),
        ("POST", "/v1/models", b"x", {"Content-Type": "multipart/form-data"}, (400, "request.malformed")),
        ("POST", "/v1/verify", b"null", JSON, (422, "request.invalid")),
    ],
)
def test_whatever_is_wrong_the_answer_is_a_problem(
    shared_url: str, method: str, path: str, body: bytes, headers: dict[str, str], expected: tuple[int, str]
) -> None:
    assert problem(httpx.request(method, shared_url + path, content=body, headers=headers)) == expected


def test_json_nested_without_end_does_not_kill_the_process(shared_url: str) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)  # as py_ecc does
    try:
        answer = httpx.post(f"{shared_url}/v1/proofs", content=NESTED, headers=JSON)
    finally:
        sys.setrecursionlimit(limit)
    assert problem(answer) == (400, "request.invalid_json")


def test_invalid_json_is_located(shared_url: str) -> None:
    answer = httpx.post(f"{shared_url}/v1/proofs", content=b'{"model_id": "m", "input": [x]}', headers=JSON)
    assert "line 1 column 29" in answer.json()["detail"]


def test_a_long_name_is_not_echoed_at_length(shared_url: str) -> None:
    answer = httpx.post(f"{shared_url}/v1/verify", json={"x" * 100_000: 1})
    assert problem(answer)[0] == 422
    assert len(answer.content) < 2000


def test_answers_on_a_kept_connection_do_not_wait_for_an_acknowledgement() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_wrong_method_names_the_right_ones(shared_url: str) -> None:
    assert httpx.put(f"{shared_url}/v1/proofs/x").headers["Allow"] == "DELETE, GET"


def test_a_refusal_does_not_echo_the_input(shared_url: str) -> None:
    body = {"model_id": "m", "input": {"my secret": [0.7234567]}}
    answer = httpx.post(f"{shared_url}/v1/proofs", json=body)
    assert problem(answer) == (422, "request.invalid")
    assert "secret" not in answer.text
    assert "0.7234567" not in answer.text


@pytest.mark.parametrize("path", ["/v1/models", "/v1/proofs", "/v1/verify"])
def test_a_body_too_large_is_refused_by_its_announced_size(shared_url: str, path: str) -> None:
    answer = httpx.post(shared_url + path, content=b"x" * (MAX_BODY_BYTES + 1), headers=JSON)
    assert problem(answer) == (413, "request.too_large")
    assert str(MAX_BODY_BYTES) in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/proofs", JSON),
        ("/v1/models", {"Content-Type": "multipart/form-data; boundary=b"}),
    ],
)
def test_a_body_too_large_is_refused_by_what_arrives(
    shared_url: str, path: str, headers: dict[str, str]
) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="model"; filename="m"\r\n\r\n'
        for _ in range(30):
            yield b"x" * 10_000

    answer = httpx.post(shared_url + path, content=chunks(), headers=headers)
    assert problem(answer) == (413, "request.too_large")
    assert str(MAX_BODY_BYTES) in answer.json()["detail"]
    assert httpx.get(f"{shared_url}/healthz").status_code == 200


def test_a_body_of_the_largest_size_is_read(shared_url: str) -> None:
    answer = httpx.post(f"{shared_url}/v1/proofs", content=b" " * MAX_BODY_BYTES, headers=JSON)
    assert problem(answer) == (400, "request.invalid_json")


def test_a_bug_is_answered_without_its_details(
    url: str, model: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def bug(*_: object) -> None:
        raise RuntimeError("secret 0.7234567")

    monkeypatch.setattr(intake, "read_input", bug)
    with caplog.at_level(logging.ERROR, "zenserve"):
        answer = httpx.post(f"{url}/v1/proofs", json={"model_id": model.id, "input": [0, 0, 0, 0]})
    assert problem(answer) == (500, "internal")
    assert "secret" not in answer.text
    assert answer.json()["request_id"] in str(caplog.records[0].__dict__["fields"])


def test_healthz_needs_nothing_but_the_process(shared_url: str) -> None:
    assert httpx.get(f"{shared_url}/healthz").json() == {"status": "ok"}


def test_readyz_says_what_fails(url: str, with_model: Runtime) -> None:
    def ready() -> tuple[int, list[str]]:
        answer = httpx.get(f"{url}/readyz")
        return answer.status_code, list(answer.json()["failing"])

    assert ready() == (503, ["worker"])
    with with_model.database.write() as session:
        Workers(session).beat("worker_test", 1, {})
    assert ready() == (200, [])
    with with_model.database.write() as session:
        session.execute(update(Worker).values(heartbeat_at=now() - timedelta(minutes=1)))
    assert ready() == (503, ["worker"])
    with with_model.database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    assert ready() == (503, ["migrations"])


def test_readyz_without_a_database(runtime: Runtime) -> None:
    runtime.database.close()
    for file in Path(runtime.settings.data_dir).glob("zenserve.sqlite*"):
        file.unlink()
    runtime.settings.data_dir.joinpath("zenserve.sqlite").mkdir()
    with serving(runtime) as url:
        assert httpx.get(f"{url}/readyz").json()["failing"].keys() == {"database"}
        assert httpx.get(f"{url}/healthz").status_code == 200


def test_the_interactive_description_loads_nothing_from_elsewhere(shared_url: str) -> None:
    page = httpx.get(f"{shared_url}/docs").text
    assert "//" not in page
    parts = re.findall(r'(?:href|src)="([^"]+)"', page)
    assert len(parts) == 4
    for part in parts:
        assert httpx.get(shared_url + part).status_code == 200


def test_the_openapi_description_is_valid_and_tells_of_errors(runtime: Runtime) -> None:
    schema = create_app(runtime).openapi()
    from openapi_spec_validator import validate  # slow, and of use here only

    validate(schema)
    posts_and_gets = [
        operation
        for path, item in schema["paths"].items()
        for operation in item.values()
        if path.startswith("/v1/")
    ]
    assert posts_and_gets
    for operation in posts_and_gets:
        assert operation["summary"]
        assert operation["description"]
        errors = {status: answer for status, answer in operation["responses"].items() if status >= "400"}
        assert errors.keys() >= {"422", "500"}
        for answer in errors.values():
            assert list(answer["content"]) == ["application/problem+json"]
    assert "HTTPValidationError" not in schema["components"]["schemas"]
    assert schema["components"]["schemas"]["ProofRequest"]["examples"]


@pytest.mark.parametrize("path", ["/v1/verification-keys/%00", "/admin/jobs/%00", "/admin/jobs?text=%00"])
def test_characters_that_no_id_has_are_refused_before_a_database_meets_them(
    each_runtime: Runtime, path: str
) -> None:
    with serving(each_runtime) as url:
        assert httpx.get(url + path).status_code == 422
