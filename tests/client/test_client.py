"""The client against answers made up here; tests/service drives it against the real service."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from client import ApiError, Client, JobError, UnreachableError

Answer = Callable[[httpx.Request], httpx.Response]


def proof(state: str = "running", **changes: Any) -> dict[str, Any]:
    fields = {
        "id": "prf_1",
        "state": state,
        "stage": "msm_a",
        "percent": 50.0,
        "attempt": 1,
        "cancel_requested": False,
        "timings": {},
        "problem": None,
        "failures": [],
        "model_id": "mdl_1",
        "scheme": "inference",
        "dataset_id": None,
        "challenge": None,
        "verification_key_id": None,
        "label": None,
        "values": None,
        "a_field_of_a_newer_service": 1,
    }
    return fields | changes


@pytest.fixture
def answering() -> Iterator[Callable[..., Client]]:
    """A client whose service gives these answers, one after the other, the last one for ever."""
    clients = []

    def make(*answers: httpx.Response | Exception) -> Client:
        left = list(answers)

        def answer(request: httpx.Request) -> httpx.Response:
            given = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(given, Exception):
                raise given
            return given

        client = Client("http://service")
        client._http.close()
        client._http = httpx.Client(base_url="http://service", transport=httpx.MockTransport(answer))
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.__exit__(None, None, None)


def stream(*proofs: dict[str, Any]) -> httpx.Response:
    text = ": ping\n\n" + "".join(f"event: x\ndata: {json.dumps(p)}\nid: 1\n\n" for p in proofs)
    return httpx.Response(200, text=text)


def test_a_problem_becomes_an_exception_with_its_code(answering: Callable[..., Client]) -> None:
    document = {"code": "input.shape", "detail": "the input has shape [3]", "field": "input"}
    with pytest.raises(ApiError, match=r"shape \[3\]") as refusal:
        answering(httpx.Response(422, json=document)).get_proof("prf_1")
    assert (refusal.value.status, refusal.value.code, refusal.value.field) == (422, "input.shape", "input")


@pytest.mark.parametrize("content", [b"<html>bad gateway</html>", b"[]", b""])
def test_an_error_that_is_no_problem_document(answering: Callable[..., Client], content: bytes) -> None:
    with pytest.raises(ApiError) as refusal:
        answering(httpx.Response(502, content=content)).get_proof("prf_1")
    assert (refusal.value.status, refusal.value.code) == (502, "unknown")


def test_a_good_answer_of_another_service(answering: Callable[..., Client]) -> None:
    with pytest.raises(ApiError, match="not one of ZenServe"):
        answering(httpx.Response(200, text="<html>It works!</html>")).get_proof("prf_1")


@pytest.mark.parametrize("address", ["nonsense", "ftp://127.0.0.1", "http://a:b", "http://"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(UnreachableError):
        Client(address).get_proof("prf_1")


@pytest.mark.parametrize(
    "error", [httpx.ReadTimeout("timed out"), httpx.ReadError("reset"), httpx.RemoteProtocolError("closed")]
)
def test_a_connection_that_breaks(answering: Callable[..., Client], error: Exception) -> None:
    with pytest.raises(UnreachableError, match=str(error)):
        answering(error).get_proof("prf_1")


def test_no_service_at_the_address() -> None:
    with Client("http://127.0.0.1:1") as client:
        with pytest.raises(UnreachableError, match=r"http://127\.0\.0\.1:1"):
            client.get_proof("prf_1")
        assert not client.is_ready()


def test_events_end_with_the_job(answering: Callable[..., Client]) -> None:
    client = answering(stream(proof(), proof(percent=75.0), proof("succeeded", label=3)))
    assert [(p.state, p.percent) for p in client.events("prf_1")] == [
        ("running", 50.0),
        ("running", 75.0),
        ("succeeded", 50.0),
    ]


@pytest.mark.parametrize("error", [httpx.RemoteProtocolError("peer closed"), httpx.ReadError("reset")])
def test_events_are_picked_up_where_the_stream_broke(
    answering: Callable[..., Client], error: Exception
) -> None:
    client = answering(stream(proof()), error, stream(proof("canceled")))
    assert [p.state for p in client.events("prf_1")] == ["running", "canceled"]


def test_events_of_a_proof_that_does_not_exist(answering: Callable[..., Client]) -> None:
    with pytest.raises(ApiError):
        list(answering(httpx.Response(404, json={"code": "not_found", "detail": "no"})).events("prf_1"))


def test_wait_gives_the_result_or_the_cause(
    answering: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("client.api._POLL_SECONDS", 0.001)
    running = httpx.Response(200, json=proof())
    client = answering(running, running, httpx.Response(200, json=proof("succeeded", label=3)))
    assert client.wait(client.get_proof("prf_1")).label == 3
    cause = {"code": "resource.memory", "detail": "the worker ran out of memory"}
    client = answering(running, httpx.Response(200, json=proof("failed", problem=cause)))
    with pytest.raises(JobError, match="out of memory") as failure:
        client.wait(client.get_proof("prf_1"))
    assert (failure.value.job_id, failure.value.code) == ("prf_1", "resource.memory")
    client = answering(running)
    with pytest.raises(TimeoutError, match="prf_1"):
        client.wait(client.get_proof("prf_1"), timeout=0.01)


def test_the_client_needs_nothing_of_the_service() -> None:
    program = (
        "import sys, client; print([m for m in sys.modules if m.split('.')[0] in"
        " ('service', 'circuits', 'prover', 'kernels', 'fastapi', 'sqlalchemy', 'numpy')])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
