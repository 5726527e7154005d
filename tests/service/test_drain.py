"""A process of the API that is told to stop: what becomes of requests under way, and of later ones."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
import psutil
import pytest

from tests.patience import PATIENCE_SECONDS, until
from zenserve.client import Model
from zenserve.errors import ResourceError
from zenserve.service.runtime import Runtime
from zenserve.service.submissions import sandbox
from zenserve.service.submissions.turns import Turns

_PROGRAM = """
import asyncio, sys, threading
from pathlib import Path
from zenserve.service import serve
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings

application = serve._application

def with_slow(runtime, notice):
    app = application(runtime, notice)

    async def slow(request):
        await asyncio.Event().wait()

    app.router.add_route("/slow", slow)
    return app

serve._application = with_slow
settings = Settings(data_dir=Path(sys.argv[1]), auth="off", backend="cpu", api_drain_seconds=sys.argv[2])
with serve._process(settings) as (runtime, stopped), serve.listen("127.0.0.1", 0) as listener:
    print(listener.getsockname()[1], flush=True)
    serve.run_api(runtime, listener, stopped, serve._notice(settings))
"""


@dataclass
class Api:
    process: subprocess.Popen[str]
    url: str

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        until(lambda: "stopping" in httpx.get(f"{self.url}/readyz").json()["failing"])


@pytest.fixture
def api(with_model: Runtime, request: pytest.FixtureRequest) -> Iterator[Api]:
    """A process of its own, on data with a model."""
    seconds = str(getattr(request, "param", 60))
    command = [sys.executable, "-c", _PROGRAM, str(with_model.settings.data_dir), seconds]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        until(lambda: _answers(url))
        yield Api(process, url)
        process.kill()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz").is_success
    except httpx.TransportError:
        return False


@pytest.fixture
def queued(api: Api, model: Model) -> str:
    """A proof that no worker takes."""
    return str(httpx.post(f"{api.url}/v1/proofs", json=asked(model)).json()["id"])


def asked(model: Model) -> dict[str, object]:
    return {"model_id": model.id, "input": [0.1, 0.2, 0.3, 0.4]}


def test_it_is_not_ready_and_takes_requests_still(api: Api, queued: str) -> None:
    with httpx.Client(base_url=api.url, timeout=PATIENCE_SECONDS) as client:
        assert "connection" not in client.get(f"/v1/proofs/{queued}").headers
        api.stop()
        for path, status in (("/readyz", 503), (f"/v1/proofs/{queued}", 200), ("/healthz", 200)):
            answer = client.get(path)
            assert (answer.status_code, answer.headers["connection"]) == (status, "close")


def test_who_waits_or_follows_is_answered_at_once(api: Api, model: Model, queued: str) -> None:
    """And whoever would wait from then on, too."""
    lines, listening = list[str](), threading.Event()

    def follow() -> None:
        events = f"{api.url}/v1/proofs/{queued}/events"
        with httpx.stream("GET", events, timeout=PATIENCE_SECONDS) as answer:
            for line in answer.iter_lines():
                lines.append(line)
                listening.set()

    def wait() -> httpx.Response:
        headers = {"Prefer": "wait=60"}
        return httpx.post(
            f"{api.url}/v1/proofs", json=asked(model), headers=headers, timeout=PATIENCE_SECONDS
        )

    with ThreadPoolExecutor(9) as pool:
        followed, waits = pool.submit(follow), [pool.submit(wait) for _ in range(8)]
        assert listening.wait(PATIENCE_SECONDS)
        until(lambda: len(httpx.get(f"{api.url}/v1/proofs").json()["items"]) == 9)
        api.stop()
        followed.result(PATIENCE_SECONDS)
        for answer in [*(each.result(PATIENCE_SECONDS) for each in waits), wait()]:
            assert (answer.status_code, answer.json()["state"]) == (202, "queued")
            assert answer.headers["location"] == f"/v1/proofs/{answer.json()['id']}"
    assert lines[-2:] == ["retry: 1000", ""]
    late = httpx.get(f"{api.url}/v1/proofs/{queued}/events", timeout=PATIENCE_SECONDS)
    assert late.text.endswith("retry: 1000\n\n")


@pytest.mark.parametrize("api", [4], indirect=True)
def test_what_is_under_way_when_the_time_is_up_is_answered_with_503(api: Api) -> None:
    with ThreadPoolExecutor(8) as pool:
        slow = [pool.submit(httpx.get, f"{api.url}/slow", timeout=PATIENCE_SECONDS) for _ in range(8)]
        until(lambda: len(psutil.Process(api.process.pid).net_connections()) > 8)
        api.process.send_signal(signal.SIGTERM)
        for answer in (each.result(PATIENCE_SECONDS) for each in slow):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.json()["code"] == "resource.busy"
    assert api.process.wait(PATIENCE_SECONDS) in (0, -signal.SIGTERM)


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_stopped", threading.Event())


def test_files_that_are_read_when_the_time_is_up_are_told_to_come_again(
    with_model: Runtime, in_a_child: None, stopped: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their threads are not cancelled: the child is, and whoever has waited behind it is told, too."""
    monkeypatch.setattr(sandbox, "_turns", Turns(1, 8))

    def read() -> str:
        with pytest.raises(ResourceError) as refused:
            sandbox.run("tnt_local", "read_model", b"", b"", b"{}", b"", b"{}")
        return refused.value.code

    with ThreadPoolExecutor(2) as pool:
        reads = [pool.submit(read) for _ in range(2)]
        until(lambda: bool(sandbox._children()))
        sandbox.stop()
        assert [each.result(PATIENCE_SECONDS) for each in reads] == ["resource.busy"] * 2
    assert not sandbox._children()
