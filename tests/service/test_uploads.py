"""Files that are brought ahead of the requests that name them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from tests.service.accounts import add_key, add_tenant, asking_for_keys, bearer, calling
from tests.service.support import labelled, tiny_calibration, tiny_onnx
from zenserve.client import Model
from zenserve.service import encryption
from zenserve.service.runtime import Runtime

ROOM = 100_000


@pytest.fixture
def keyed(with_model: Runtime) -> Runtime:
    return asking_for_keys(with_model, max_uploads_bytes=ROOM)


@pytest.fixture
def http(keyed: Runtime) -> Iterator[httpx.Client]:
    with calling(keyed) as http:
        http.headers.update(bearer(add_key(keyed, "read", "prove", "register")))
        yield http


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def put(http: httpx.Client, content: Any, sha256: str | None = None, **options: Any) -> httpx.Response:
    return http.put(f"/v1/uploads/{sha256 or digest(content)}", content=content, **options)


def uploads(runtime: Runtime) -> list[Any]:
    with runtime.database.engine.connect() as connection:
        return list(connection.execute(text("SELECT tenant_id, sha256, content FROM uploads")).all())


def files(runtime: Runtime) -> set[Path]:
    return {path for path in (runtime.settings.data_dir / "artifacts").rglob("*") if path.is_file()}


def test_a_model_of_uploads_is_the_model_of_its_files(http: httpx.Client, keyed: Runtime) -> None:
    onnx, calibration = tiny_onnx(), tiny_calibration()
    key = {"Idempotency-Key": "once"}
    sent = http.post("/v1/models", files={"model": onnx, "calibration": calibration}, headers=key).json()
    for content in (onnx, calibration):
        made = put(http, content)
        assert (made.status_code, made.json()["size"]) == (201, len(content))
        assert http.head(f"/v1/uploads/{digest(content)}").status_code == 200
    named: dict[str, Any] = {
        "model_sha256": (None, digest(onnx)),
        "calibration_sha256": (None, digest(calibration)),
    }
    assert http.post("/v1/models", files=named, headers=key).json()["id"] == sent["id"]
    assert len(uploads(keyed)) == 2
    mixed: dict[str, Any] = {"model_sha256": (None, digest(onnx)), "calibration": calibration}
    other = http.post("/v1/models", files=mixed)
    assert other.status_code == 202
    assert other.json()["id"] != sent["id"]
    assert [row.sha256 for row in uploads(keyed)] == [digest(calibration)]  # what was used is gone
    again = http.post("/v1/models", files=mixed)
    assert (again.status_code, again.json()["field"]) == (404, "model_sha256")


def test_a_dataset_of_uploads(http: httpx.Client, keyed: Runtime, model: Model) -> None:
    samples, labels = labelled()
    for content in (samples, labels):
        put(http, content).raise_for_status()
    form = {"model_id": model.id, "privacy": "private"}
    named = {"samples_sha256": (None, digest(samples)), "labels_sha256": (None, digest(labels))}
    before = files(keyed)
    made = http.post("/v1/datasets", files=named, data=form)
    assert (made.status_code, made.json()["size"]) == (202, 7)
    assert uploads(keyed) == []
    assert len(files(keyed) - before) == 1  # the dataset; the uploads are deleted
    assert len(before - files(keyed)) == 2


def test_an_upload_is_sealed_as_the_vault_seals(http: httpx.Client, keyed: Runtime) -> None:
    content = b"a very particular secret" * 1000
    put(http, content).raise_for_status()
    put(http, content).raise_for_status()
    [row] = uploads(keyed)
    assert encryption.get(keyed, f"upload:{row.tenant_id}:{row.sha256}", row.content) == content
    assert not [path for path in files(keyed) if b"particular" in path.read_bytes()]
    assert len([path for path in files(keyed) if path.stat().st_size == len(content) + 28]) == 1
    http.delete(f"/v1/uploads/{row.sha256}").raise_for_status()
    assert http.head(f"/v1/uploads/{row.sha256}").status_code == 404
    assert row.content not in {path.name for path in files(keyed)}


def test_what_is_not_what_it_was_said_to_be_is_dropped(http: httpx.Client, keyed: Runtime) -> None:
    before = files(keyed)
    refused = put(http, b"one thing", digest(b"another"))
    assert (refused.status_code, refused.json()["code"]) == (422, "request.digest")
    assert "one thing" not in refused.text
    assert put(http, b"x", "nonsense").status_code == 422
    assert uploads(keyed) == []
    assert files(keyed) == before


def test_there_is_room_for_so_much_of_each_tenant(http: httpx.Client, keyed: Runtime) -> None:
    first, second = b"1" * (ROOM - 100), b"2" * 101
    put(http, first).raise_for_status()
    before = files(keyed)

    def unannounced() -> Iterator[bytes]:
        yield second[:60]
        yield second[60:]

    for content in (second, unannounced()):
        refused = put(http, content, digest(second))
        assert (refused.status_code, refused.json()["code"]) == (507, "quota.uploads")
        assert "100 bytes" in refused.json()["detail"]
    assert files(keyed) == before
    put(http, first).raise_for_status()  # takes no room of its own
    other = bearer(add_key(keyed, "prove", tenant_id=add_tenant(keyed, "other")))
    assert put(http, second, headers=other).status_code == 201
    http.delete(f"/v1/uploads/{digest(first)}").raise_for_status()
    assert put(http, second).status_code == 201


def test_uploads_have_the_limit_of_all_bodies(http: httpx.Client, keyed: Runtime) -> None:
    content = b"x" * (keyed.settings.max_body_bytes + 1)
    assert put(http, content).status_code == 413


@pytest.mark.parametrize(
    "given",
    [
        {"calibration": b"1"},
        {"model": b"1", "model_sha256": (None, "0" * 64), "calibration": b"1"},
        {"model_sha256": (None, "nonsense"), "calibration": b"1"},
    ],
)
def test_a_file_is_sent_or_named(http: httpx.Client, given: dict[str, Any]) -> None:
    answer = http.post("/v1/models", files=given)
    assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")
    assert answer.json()["field"] in ("model", "model_sha256")


def test_another_tenant_s_upload_cannot_be_named(http: httpx.Client, keyed: Runtime) -> None:
    put(http, tiny_onnx()).raise_for_status()
    other = bearer(add_key(keyed, "register", tenant_id=add_tenant(keyed, "other")))
    named: dict[str, Any] = {"model_sha256": (None, digest(tiny_onnx())), "calibration": tiny_calibration()}
    answer = http.post("/v1/models", files=named, headers=other)
    assert (answer.status_code, answer.json()["field"]) == (404, "model_sha256")
