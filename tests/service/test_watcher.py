"""Streams and waits: how many a caller may have, and what all of them cost together."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import anyio.to_thread
import httpx
import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from tests.patience import until
from tests.refusals import refuses
from tests.service.conftest import open_runtime
from tests.service.support import add_job, serving
from zenserve.client import Model
from zenserve.errors import ResourceError
from zenserve.service.access.principal import LOCAL, Principal
from zenserve.service.api.watcher import Seat, Watcher
from zenserve.service.jobs.claims import Claims
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.jobs import Job

JOBS, EACH = 100, 3
STREAMS = 200


@contextmanager
def counting(runtime: Runtime) -> Iterator[list[str]]:
    """The statements that the database is asked within the block."""
    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        asked.append(statement)

    event.listen(runtime.database.engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(runtime.database.engine, "before_cursor_execute", note)


class Followers:
    """Many who wait for the jobs ``job_0``, ``job_1`` and so on, without HTTP."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.watcher = Watcher(runtime)
        self.views: list[str] = []

    def view(self, job_id: str) -> Callable[[], Any]:
        def look() -> Any:
            self.views.append(job_id)
            with self.runtime.database.read() as session:
                return session.get_one(Job, job_id)

        return look

    def wait(self, job_id: str, **how: Any) -> asyncio.Task[Any]:
        """For the next change of a job that nobody has touched."""
        seen: Any = Job(id=job_id, revision=0, state="queued")
        return asyncio.create_task(Seat(self.watcher, LOCAL).changed(seen, self.view(job_id), **how))


def end(runtime: Runtime, job_id: str) -> None:
    with runtime.database.write() as session:
        Jobs(session).cancel(job_id)


def test_a_look_is_one_question_for_all_and_one_for_each_job_that_changed(runtime: Runtime) -> None:
    with runtime.database.write() as session:
        for n in range(JOBS):
            Jobs(session).create(f"job_{n}", "fake")

    async def follow() -> None:
        followers = Followers(runtime)
        tasks = [followers.wait(f"job_{n}") for n in range(JOBS) for _ in range(EACH)]
        looks = 0
        look = followers.watcher._look

        def noted(*args: Any, **options: Any) -> Any:
            nonlocal looks
            looks += 1
            return look(*args, **options)

        followers.watcher._look = noted  # type: ignore[method-assign]
        with counting(runtime) as asked:
            while looks < 5:
                await asyncio.sleep(0.01)
            assert len([one for one in asked if one.startswith("SELECT jobs.")]) <= looks
            assert anyio.to_thread.current_default_thread_limiter().borrowed_tokens <= 1
        end(runtime, "job_7")
        changed = await asyncio.gather(*tasks[7 * EACH : 8 * EACH])
        assert [job.state for job in changed] == ["canceled"] * EACH
        assert followers.views == ["job_7"]
        assert sum(task.done() for task in tasks) == EACH
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        until_done = followers.watcher._looking
        if until_done is not None:
            await until_done
        assert followers.watcher._looking is None

    asyncio.run(follow())


def test_who_waits_for_the_end_is_not_woken_before(runtime: Runtime) -> None:
    add_job(runtime)

    async def follow() -> None:
        followers = Followers(runtime)
        changes, over = followers.wait("job_1"), followers.wait("job_1", until_over=True)
        with runtime.database.write() as session:
            Claims(session).claim("job_1", "worker_1", 60)
        assert (await changes).state == "running"
        assert not over.done()
        with runtime.database.write() as session:
            session.get_one(Job, "job_1").state = "succeeded"
        assert (await over).state == "succeeded"

    asyncio.run(follow())


def test_whoever_waits_is_told_where_the_database_is_away(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_job(runtime)

    def away(*_: Any) -> Any:
        raise OperationalError("", {}, Exception())

    async def follow() -> None:
        followers = Followers(runtime)
        tasks = [followers.wait("job_1") for _ in range(3)]
        monkeypatch.setattr(Jobs, "revisions", away)
        told = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(one) for one in told] == [OperationalError] * 3
        monkeypatch.undo()
        again = followers.wait("job_1")
        end(runtime, "job_1")
        assert (await again).state == "canceled"

    asyncio.run(follow())


def test_keys_and_tenants_have_so_many_seats(runtime: Runtime) -> None:
    most = runtime.settings.max_streams
    hall = Watcher(runtime)
    keys = [Principal("tnt_1", f"key_{n}", frozenset()) for n in range(6)]
    with ExitStack() as stack:
        for key in keys[:4]:
            for _ in range(most):
                stack.enter_context(hall.seat(key))
            with refuses("quota.streams", match="your key"):
                stack.enter_context(hall.seat(key))
        with pytest.raises(ResourceError, match="your tenant"):
            stack.enter_context(hall.seat(keys[4]))
        stack.enter_context(hall.seat(Principal("tnt_2", "key_9", frozenset())))
    assert not hall._seats


def test_streams_and_waits_have_seats_and_give_them_back(with_model: Runtime, model: Model) -> None:
    few = open_runtime(with_model.settings.data_dir, max_streams=2)
    body = {"model_id": model.id, "input": [0.1, 0.2, 0.3, 0.4]}
    with serving(few) as url, httpx.Client(base_url=url) as http, ExitStack() as stack:
        proof = http.post("/v1/proofs", json=body).json()["id"]
        streams = [stack.enter_context(http.stream("GET", f"/v1/proofs/{proof}/events")) for _ in range(2)]
        lines = [stream.iter_lines() for stream in streams]
        assert [next(line) for line in lines] == ["event: progress"] * 2
        before = http.get("/v1/proofs").json()["items"]
        refused = [
            http.get(f"/v1/proofs/{proof}/events"),
            http.post("/v1/proofs", json=body, headers={"Prefer": "wait=60"}),
        ]
        assert [(one.status_code, one.json()["code"]) for one in refused] == [(429, "quota.streams")] * 2
        assert http.get("/v1/proofs").json()["items"] == before, "nothing was made"
        assert http.post("/v1/proofs", json=body).status_code == 202
        streams[0].close()
        until(lambda: _waited(http, body) == 202, "the seat to be free again")
    few.close()


def _waited(http: httpx.Client, body: dict[str, Any]) -> int:
    return http.post("/v1/proofs", json=body, headers={"Prefer": "wait=1"}).status_code


def test_many_streams_leave_the_processor_free(with_model: Runtime, model: Model) -> None:
    """Their clients are in the same process; `python -m bench.service --topics streams` has them apart."""
    many = open_runtime(with_model.settings.data_dir, max_streams=STREAMS)
    with serving(many) as url, ExitStack() as stack:
        with httpx.Client(base_url=url) as http:
            proof = http.post(
                "/v1/proofs", json={"model_id": model.id, "input": [0.1, 0.2, 0.3, 0.4]}
            ).json()["id"]
        limits = httpx.Limits(max_connections=None)
        http = stack.enter_context(httpx.Client(base_url=url, limits=limits))
        for _ in range(STREAMS):
            stream = stack.enter_context(http.stream("GET", f"/v1/proofs/{proof}/events"))
            assert stream.status_code == 200
        threads = threading.active_count()
        with counting(many) as asked:
            started, spent = time.monotonic(), time.process_time()
            while len(asked) < 20:
                time.sleep(0.05)
            spent, lasted = time.process_time() - spent, time.monotonic() - started
        assert spent / lasted < 0.5
        assert threading.active_count() == threads < 60
    many.close()
