"""Logs: one line per request, ids that lead through it, and nothing that is secret."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.patience import until
from tests.service.support import SECRET, serving
from zenserve.service import intake, log
from zenserve.service.access.keys import make_key
from zenserve.service.runtime import Runtime
from zenserve.service.storage.repositories.accounts import Keys


class _Lines(logging.Handler):
    """What would be written, in both forms."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.json: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != "zenserve" and record.levelno < logging.WARNING:
            return  # as log.configure has it
        self.text.append(log._LineFormatter().format(record))
        self.json.append(json.loads(log._JsonFormatter().format(record)))


@pytest.fixture
def lines() -> Iterator[_Lines]:
    """What a service writes at DEBUG: its own events, and of libraries what is a warning."""
    handler, root, own = _Lines(), logging.getLogger(), logging.getLogger("zenserve")
    before = own.level
    root.addHandler(handler)
    own.setLevel(logging.DEBUG)
    yield handler
    root.removeHandler(handler)
    own.setLevel(before)


def requests(lines: _Lines, count: int) -> list[dict[str, Any]]:
    """The lines of so many requests. They are written just after the answers."""

    def found() -> list[dict[str, Any]]:
        return [line for line in lines.json if line["event"] == "request"]

    until(lambda: len(found()) >= count)
    return found()


def test_json_lines_have_the_fields_of_the_event_and_of_its_context(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    before = root.level
    log.configure("INFO", "json")
    try:
        with log.context(job_id="prf_1"):
            log.event("job.started", attempt=1, note='two "words"\nand a line')
        try:
            raise ValueError(f"quotes {SECRET}")
        except ValueError:
            log.event("job.broke", failed=True)
        log.event("unseen", level=logging.DEBUG)
    finally:
        root.setLevel(before)
        logging.getLogger("zenserve").setLevel(logging.NOTSET)
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert first.pop("time").endswith("Z")
    assert first == {
        "level": "info",
        "event": "job.started",
        "job_id": "prf_1",
        "attempt": 1,
        "note": 'two "words"\nand a line',
    }
    assert second["frames"][-1] == "ValueError"
    assert "job_id" not in second
    assert str(SECRET) not in json.dumps(second)


def test_one_line_says_what_became_of_a_request(shared_url: str, lines: _Lines) -> None:
    httpx.get(
        f"{shared_url}/v1/proofs/prf_of_somebody?token=confidential", headers={"X-Request-ID": "mine-1"}
    )
    httpx.get(f"{shared_url}/nothing/of/the/kind")
    httpx.get(f"{shared_url}/healthz")
    found, nothing, health = requests(lines, 3)
    assert found.pop("ms") >= 0
    assert found.pop("time")
    assert found == {
        "level": "info",
        "event": "request",
        "request_id": "mine-1",
        "method": "GET",
        "route": "/v1/proofs/{proof_id}",
        "status": 422,
        "tenant": "tnt_local",
    }
    assert (nothing["route"], nothing["status"]) == ("none", 404)
    assert (health["route"], health["level"]) == ("/healthz", "debug")
    assert "confidential" not in "".join(lines.text)
    assert "prf_of_somebody" not in "".join(lines.text)


@pytest.mark.parametrize(
    ("given", "kept"),
    [("a-Z_09", True), ("x" * 40, True), ("x" * 41, False), ("a b", False), ("a\u00e9", False), ("", False)],
)
def test_a_callers_request_id_is_taken_if_it_is_harmless(shared_url: str, given: str, kept: bool) -> None:
    answer = httpx.get(f"{shared_url}/v1/proofs/x", headers=[(b"X-Request-ID", given.encode("latin-1"))])
    made = answer.headers["X-Request-ID"]
    assert (made == given) == kept
    assert kept or made.startswith("req_")
    assert answer.json()["request_id"] == made


def test_keys_are_in_no_line(runtime: Runtime, lines: _Lines) -> None:
    runtime.settings.auth = "keys"
    row, key = make_key("tnt_local", "mine", ["read"])
    with runtime.database.write() as session:
        Keys(session).add(row)
    wrong = key[:-6] + "aaaaaa"
    with serving(runtime) as url:
        for shown in (key, wrong, f"x{key}", f"{key} {key}"):
            httpx.get(f"{url}/v1/proofs/x", headers={"Authorization": f"Bearer {shown}"})
        httpx.get(f"{url}/v1/proofs/x?key={key}", headers={"X-Request-ID": key})
    assert [line["tenant"] for line in requests(lines, 5)][:2] == ["tnt_local", None]
    written = "".join(lines.text)
    for secret in (key, wrong):
        assert secret not in written
        assert secret.split("_", 2)[2] not in written  # which may have a "_" in it


def test_a_bug_is_answered_and_logged_with_the_requests_id(
    url: str, model: Any, lines: _Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: object, **__: object) -> None:
        raise RuntimeError(f"quotes {SECRET}")

    monkeypatch.setattr(intake, "read_input", bug)
    body = {"model_id": model.id, "input": [SECRET, 0, 0, 0]}
    answer = httpx.post(f"{url}/v1/proofs", json=body, headers={"X-Request-ID": "bug-7"})
    assert answer.status_code == 500
    assert answer.headers["X-Request-ID"] == answer.json()["request_id"] == "bug-7"
    [failed] = [line for line in lines.json if line["event"] == "request.failed"]
    assert failed["request_id"] == "bug-7"
    assert failed["frames"][-1] == "RuntimeError"
    assert failed["frames"][-2].endswith(" bug")
    assert requests(lines, 1)[-1]["status"] == 500
    assert str(SECRET) not in "".join(lines.text)
