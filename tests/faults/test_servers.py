"""What can befall the API, its servers and those it calls; what each scenario pins is in docs/service.md."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import psutil
import pytest
import redis
from sqlalchemy import text

from tests.faults.cluster import INPUT, Cluster
from tests.patience import PATIENCE_SECONDS, until
from tests.servers import free_port
from zenserve.client import Client, Model
from zenserve.client.webhooks import verify

LOST = "resource.worker_lost"
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@pytest.mark.large
def test_postgresql_restarted_during_a_proof(cluster: Cluster, model: Model) -> None:
    with cluster.holding():
        (proof,) = cluster.prove(model)
        cluster.until_held(proof)
        cluster.postgres.kill()
        time.sleep(1.0)  # heartbeats are missed
        cluster.postgres.start()
    cluster.ended_well(proof)


@pytest.mark.large
def test_postgresql_gone_when_a_proof_is_done(cluster: Cluster, model: Model) -> None:
    """The result is lost; the proof is made anew."""
    before = cluster.logged("raised unexpected")  # nor can the failure be written
    with cluster.holding():
        (proof,) = cluster.prove(model)
        cluster.until_held(proof)
        cluster.postgres.kill()
    until(lambda: cluster.logged("raised unexpected") > before, "the worker to find out")
    cluster.postgres.start()
    cluster.let_leases_run_out()
    cluster.ended_well(proof, LOST)


@pytest.mark.large
def test_the_api_without_postgresql(cluster: Cluster, model: Model) -> None:
    """It says so in a problem document, and recovers by itself."""
    log = cluster.folder / "log"
    before = len(log.read_text())
    cluster.postgres.kill()
    try:
        answers = [cluster.ask(model), httpx.get(f"{cluster.settings.url}/v1/models")]
        ready = httpx.get(f"{cluster.settings.url}/readyz")
    finally:
        cluster.postgres.start()
    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (503, "resource.database")
        assert answer.headers["content-type"] == "application/problem+json"
        assert "retry-after" in answer.headers
    assert (ready.status_code, [*ready.json()["failing"]]) == (503, ["database"])
    assert httpx.get(f"{cluster.settings.url}/v1/models").status_code == 200
    written = log.read_text()[before:]
    assert "Traceback" not in written
    assert "request.failed" not in written
    cluster.ended_well(*cluster.prove(model))


def test_a_full_disk_at_the_door(cluster: Cluster, model: Model) -> None:
    api, jobs = cluster.processes["api"], cluster.jobs()
    soft, hard = api.rlimit(psutil.RLIMIT_FSIZE)
    api.rlimit(psutil.RLIMIT_FSIZE, (16, hard))
    try:
        answer = cluster.ask(model)
    finally:
        api.rlimit(psutil.RLIMIT_FSIZE, (soft, hard))
    assert (answer.status_code, answer.json()["code"]) == (507, "resource.storage")
    assert "no room is left" in answer.json()["detail"]
    assert cluster.jobs() == jobs
    cluster.ended_well(*cluster.prove(model))


def test_redis_stopped_flushed_and_started_again(cluster: Cluster, model: Model) -> None:
    with cluster.idle():
        proofs = cluster.prove(model, 2)
        with redis.Redis.from_url(cluster.redis.url) as client:
            client.flushall()
    cluster.redis.kill()
    try:
        proofs += cluster.prove(model, 2)  # the door stays open without the broker
    finally:
        cluster.redis.start()
    for proof in proofs:
        cluster.ended_well(proof)


@pytest.mark.large
@pytest.mark.parametrize("commits", [pytest.param(False, marks=pytest.mark.large), True])
def test_the_api_killed_in_the_middle_of_a_submission(
    cluster: Cluster, model: Model, *, commits: bool
) -> None:
    """Before its commit, or between that and its answer: who asks again with the same key gets one job."""
    jobs, key = cluster.jobs(), f"lunch {commits}"
    with cluster.idle(), ThreadPoolExecutor(1) as pool:
        with redis_deaf(cluster) if commits else table_locked(cluster):
            asked = pool.submit(cluster.ask, model, key)
            until(
                lambda: cluster.jobs() > jobs if commits else cluster.query(WAITING) == [(1,)],
                "the API's wait",
            )
            cluster.kill("api")
        assert isinstance(asked.exception(), httpx.TransportError)
    until(lambda: cluster.jobs() == jobs + commits, "the transaction to be over")
    cluster.start("api")
    cluster.until_ready()
    proof, again = (cluster.ask(model, key).json()["id"] for _ in range(2))
    assert proof == again
    assert cluster.jobs() == jobs + 1
    cluster.ended_well(proof)


@pytest.fixture
def another_api(cluster: Cluster) -> Iterator[str]:
    """One of two processes beside the cluster's; its address."""
    port = free_port()
    cluster.start("api-2", ZENSERVE_PORT=str(port), ZENSERVE_PROCESSES="2")
    url = f"http://127.0.0.1:{port}"
    with Client(url, retry_seconds=PATIENCE_SECONDS) as client:
        until(client.is_ready, "the other API")
    until(lambda: len(_api_processes(cluster)) == 2)
    yield url
    if "api-2" in cluster.processes:
        cluster.kill("api-2")


@pytest.mark.large
def test_an_api_of_two_processes_told_to_stop_under_load(
    cluster: Cluster, model: Model, another_api: str
) -> None:
    """Callers are answered, or told with 503 when to come back, until nobody listens any more."""
    answers, started = Counter[tuple[int, bool]](), threading.Event()

    def ask() -> None:
        body = {"model_id": model.id, "input": INPUT}
        while True:
            try:
                answer = httpx.post(
                    f"{another_api}/v1/proofs", json=body, headers={"Prefer": "wait=1"}, timeout=60
                )
            except httpx.TransportError:
                return  # the door is closed
            answers[answer.status_code, "retry-after" in answer.headers] += 1
            started.set()

    with ThreadPoolExecutor(8) as pool:
        callers = [pool.submit(ask) for _ in range(8)]
        assert started.wait(PATIENCE_SECONDS)
        cluster.stop("api-2")
        for caller in callers:
            caller.result(PATIENCE_SECONDS)
    wrong = {status for status, told in answers if status >= 500 and not (status == 503 and told)}
    assert not wrong, answers
    assert answers.keys() & {(200, False), (201, False), (202, False)}, answers
    for (proof,) in cluster.query("SELECT id FROM jobs WHERE state IN ('queued', 'running')"):
        cluster.until_over(proof)


@pytest.mark.large
def test_api_processes_end_with_their_supervisor(cluster: Cluster, another_api: str) -> None:
    """One that was left behind would hold the address, and nobody would look after it."""
    processes = _api_processes(cluster)
    cluster.kill("api-2")
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE_SECONDS)
    assert not alive
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{another_api}/healthz")


def _api_processes(cluster: Cluster) -> list[psutil.Process]:
    children: list[psutil.Process] = cluster.processes["api-2"].children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


@pytest.mark.large
def test_a_webhook_that_hangs(cluster: Cluster, model: Model) -> None:
    """Others are told meanwhile."""
    released = threading.Event()
    came: dict[str, list[tuple[dict[str, str], bytes]]] = {"/hangs": [], "/works": []}

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            came[self.path].append(({name.lower(): value for name, value in self.headers.items()}, body))
            if self.path == "/hangs":
                released.wait()
                return
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with listening(Receiver) as url:
        hooks = {path: cluster.client.create_webhook(url + path) for path in came}
        for count in (1, 2):
            (proof,) = cluster.prove(model)
            cluster.ended_well(proof)
            until(lambda count=count: len(came["/works"]) == count, "the message")  # type: ignore[misc]
        released.set()
        assert len({headers["webhook-id"] for headers, _ in came["/hangs"]}) in (1, 2)
    for headers, body in came["/works"]:
        assert verify(hooks["/works"].secret, headers, body).type == "proof.succeeded"
    states = "SELECT state, count(*) FROM deliveries WHERE webhook_id = :id GROUP BY state"
    for path, state in (("/works", "delivered"), ("/hangs", "waiting")):
        hook = hooks[path].id
        until(lambda hook=hook, state=state: cluster.query(states, id=hook) == [(state, 2)], path)  # type: ignore[misc]


@contextmanager
def table_locked(cluster: Cluster) -> Iterator[None]:
    """The API waits to write its job's row."""
    with cluster.runtime.database.write() as session:
        session.execute(text("LOCK TABLE jobs IN EXCLUSIVE MODE"))
        yield


@contextmanager
def redis_deaf(cluster: Cluster) -> Iterator[None]:
    """The API waits to send its job's message, which it does after the commit."""
    cluster.redis.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        cluster.redis.process.send_signal(signal.SIGCONT)


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
