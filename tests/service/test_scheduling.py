"""Whose turn it is, and whose job is taken at all."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.service.support import add_job, load
from zenserve.errors import ResourceError
from zenserve.service.jobs.claims import Claim, Claims
from zenserve.service.jobs.jobs import Jobs, Terms
from zenserve.service.jobs.reaping import Reaping
from zenserve.service.jobs.scheduling import claim_next, require_place, routed
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.reaper import reap
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.accounts import Tenant
from zenserve.service.storage.repositories.workers import Workers

GB = 10**9


@pytest.fixture
def runtime(each_runtime: Runtime) -> Runtime:
    with each_runtime.database.write() as session:
        moment = clock(session)
        for name in ("a", "b"):
            session.add(Tenant(id=f"tnt_{name}", name=name, created_at=moment))
    return each_runtime


def add(runtime: Runtime, name: str, **terms: Any) -> str:
    """``a1``: a job of the tenant a."""
    return add_job(runtime, name, "proof", terms=Terms(tenant_id=f"tnt_{name[0]}", **terms))


def take(runtime: Runtime, *, queues: tuple[str, ...] = ("cpu",), memory: int = GB) -> Claim | None:
    with runtime.database.write() as session:
        return claim_next(session, "w", 60.0, queues, memory)  # type: ignore[arg-type]


def order(runtime: Runtime, *, ending: bool) -> list[str]:
    """What is taken, until nothing is left; each ended before the next, if so."""
    taken = []
    while claim := take(runtime):
        taken.append(claim.id)
        if ending:
            with runtime.database.write() as session:
                Claims(session).succeed(claim, {})
    return taken


@pytest.mark.parametrize("ending", [True, False])
def test_tenants_take_turns_however_many_jobs_one_has(runtime: Runtime, ending: bool) -> None:
    for name in ("a1", "a2", "a3", "a4", "b1", "b2"):
        add(runtime, name)
    assert order(runtime, ending=ending) == ["a1", "b1", "a2", "b2", "a3", "a4"]


def test_priority_decides_within_a_tenant_then_age(runtime: Runtime) -> None:
    for name, priority in (("a1", 0), ("a2", 5), ("a3", 5), ("b1", -10)):
        add(runtime, name, priority=priority)
    assert order(runtime, ending=True) == ["a2", "b1", "a3", "a1"]


def test_a_tenant_runs_no_more_than_it_may(runtime: Runtime) -> None:
    with runtime.database.write() as session:
        session.get_one(Tenant, "tnt_a").max_running = 1
    for name in ("a1", "a2"):
        add(runtime, name)
    first = take(runtime)
    assert first is not None
    assert take(runtime) is None
    with runtime.database.write() as session:
        Claims(session).succeed(first, {})
    assert take(runtime) is not None


def test_of_many_workers_at_once_none_exceeds_a_limit_and_none_takes_the_same(runtime: Runtime) -> None:
    with runtime.database.write() as session:
        session.get_one(Tenant, "tnt_a").max_running = 2
    for number in range(6):
        add(runtime, f"a{number}")
    start, claims = threading.Barrier(6), []

    def compete() -> None:
        start.wait()
        claims.append(take(runtime))

    threads = [threading.Thread(target=compete) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = [claim.id for claim in claims if claim]
    assert len(taken) == len(set(taken)) == 2


def test_a_worker_takes_what_fits_it_from_its_queues(runtime: Runtime) -> None:
    add(runtime, "a1", memory=2 * GB)
    add(runtime, "a2", queue="gpu")
    assert take(runtime) is None
    assert (big := take(runtime, memory=2 * GB)) is not None
    assert big.id == "a1"
    assert (gpu := take(runtime, queues=("cpu", "gpu"))) is not None
    assert gpu.id == "a2"


def worker(runtime: Runtime, name: str, queues: list[str], memory: int) -> None:
    with runtime.database.write() as session:
        Workers(session).beat(name, 1, {"queues": queues, "memory": memory, "host": "h"})


def admit(runtime: Runtime, memory: int, cost: float) -> Terms:
    estimate = {"constraints": 1000, "memory": memory, "cost": cost}
    with runtime.database.read() as session:
        return routed(session, runtime.settings, Terms(), estimate)


def test_what_would_take_long_goes_to_a_gpu_that_has_the_memory(runtime: Runtime) -> None:
    assert admit(runtime, GB, 100.0).queue == "cpu"  # there is none
    worker(runtime, "c", ["cpu"], 8 * GB)
    worker(runtime, "g", ["cpu", "gpu"], 4 * GB)
    assert admit(runtime, GB, 100.0).queue == "gpu"
    assert admit(runtime, GB, 0.1).queue == "cpu"
    assert admit(runtime, 5 * GB, 100.0).queue == "cpu"


def test_what_fits_no_worker_is_refused_with_the_estimate(runtime: Runtime) -> None:
    worker(runtime, "c", ["cpu"], 2 * GB)
    assert admit(runtime, GB, 1.0).memory == GB
    with pytest.raises(ResourceError, match=r"3\.0 GB of memory \(1,000 constraints.* has 2\.0 GB"):
        admit(runtime, 3 * GB, 1.0)


def test_what_fit_no_worker_that_ever_lived_is_refused_while_none_lives(runtime: Runtime) -> None:
    assert admit(runtime, 3 * GB, 1.0).memory == 3 * GB  # nobody knows yet
    for name, memory in (("c", 2 * GB), ("d", GB)):
        worker(runtime, name, ["cpu"], memory)
    worker(runtime, "c", ["cpu"], GB)  # which has less now
    with runtime.database.write() as session:
        for name in ("c", "d"):
            Workers(session).remove(name)
    assert admit(runtime, 2 * GB, 1.0).memory == 2 * GB
    with pytest.raises(ResourceError, match=r"3\.0 GB of memory .* has 2\.0 GB") as refusal:
        admit(runtime, 3 * GB, 1.0)
    assert refusal.value.code == "resource.capacity"


def test_what_was_queued_and_fits_no_worker_fails_once_there_are_workers(runtime: Runtime) -> None:
    """With the cause; and a proof whose shards fit none, with them."""
    for name, memory in (("a1", 3 * GB), ("a2", GB), ("b1", 3 * GB)):
        add(runtime, name, memory=memory)
    with runtime.database.write() as session:
        claim = Claims(session).claim("b1", "w", 60.0)
        assert claim is not None
        Claims(session).wait(claim, "shards", {})
        Jobs(session).create_children("b1", "shard", ["b2"])
    reap(runtime)
    assert {load(runtime, name).state for name in ("a1", "a2", "b2")} == {"queued"}, "nobody knows yet"
    worker(runtime, "c", ["cpu"], 2 * GB)
    reap(runtime)
    states = {name: load(runtime, name).state for name in ("a1", "a2", "b1", "b2")}
    assert states == {"a1": "failed", "a2": "queued", "b1": "failed", "b2": "canceled"}
    for name in ("a1", "b1"):
        problem = load(runtime, name).problem or {}
        assert problem["code"] == "resource.capacity"
        assert "3.0 GB of memory, and the largest worker has 2.0 GB" in problem["detail"]
    worker(runtime, "large", ["cpu"], 4 * GB)
    with runtime.database.write() as session:
        Jobs(session).retry("a1", lambda: None)
        Workers(session).remove("large")
    reap(runtime)
    assert load(runtime, "a1").state == "queued", "one as large may come again"


def test_a_tenant_s_queue_has_an_end(runtime: Runtime) -> None:
    with runtime.database.write() as session:
        session.get_one(Tenant, "tnt_a").max_queued = 2
    for name in ("a1", "a2"):
        add(runtime, name)
    with runtime.database.read() as session:
        require_place(session, runtime.settings, "tnt_b", more=1)
        require_place(session, runtime.settings, "tnt_a")
        with pytest.raises(ResourceError, match="wait for some to end") as refusal:
            require_place(session, runtime.settings, "tnt_a", more=1)
    assert refusal.value.code == "quota.queued"


def test_jobs_leave_a_queue_that_nobody_serves(runtime: Runtime) -> None:
    add(runtime, "a1", queue="gpu")
    with runtime.database.write() as session:
        Reaping(session).leave_queue("gpu", "cpu", 60.0)
    assert take(runtime) is None
    with runtime.database.write() as session:
        Reaping(session).leave_queue("gpu", "cpu", -1.0)
    assert take(runtime) is not None
