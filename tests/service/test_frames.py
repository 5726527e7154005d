"""Whose turn it is among frames, on both databases: no model, no proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from sqlalchemy import select

from tests.service.accounts import add_tenant
from tests.service.support import add_job, load
from zenserve.service.jobs.claims import Claim, Claims
from zenserve.service.jobs.frames import advance
from zenserve.service.jobs.jobs import Jobs, Terms
from zenserve.service.jobs.reaping import Reaping
from zenserve.service.jobs.scheduling import claim_next
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.removal import remove_tenants
from zenserve.service.storage.database import now
from zenserve.service.storage.records.accounts import Tenant
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Model, Proof
from zenserve.service.storage.records.streams import Frame, Stream, StreamModel

PROBLEM = {"code": "resource.memory", "detail": "full"}


def open_stream(
    runtime: Runtime, name: str, frames: int, tenant_id: str = LOCAL_TENANT, batch: int | None = None
) -> list[str]:
    """A stream that takes frames, and has these: the ids of their jobs. In batches, if it is to be."""
    with runtime.database.write() as session:
        if session.get(Model, "mdl_1") is None:
            job = Jobs(session).create("mdl_1", "model", Terms(tenant_id))
            job.state = "succeeded"
            session.add(Model(id=job.id, name="m", weight_privacy="public", bits=8, quantised="0" * 64))
        job = Jobs(session).create(name, "stream", Terms(tenant_id))
        job.state = "running"
        row = Stream(id=name, name=name, classes=2, input_privacy="private", backlog=9, rules={})
        row.count, row.begun_at = frames, job.created_at
        if batch:
            row.rules, row.batch_seconds, row.deadline_seconds = {"batch": batch}, 60, 240
        row.models = [StreamModel(place=0, model_id="mdl_1")]
        session.add(row)
        session.flush()
        ids = [f"{name}_{number}" for number in range(frames)]
        for number, proof_id in enumerate(ids):
            Jobs(session).create(proof_id, "proof", Terms(tenant_id, parent_id=name))
            session.add(Proof(id=proof_id, model_id="mdl_1", scheme="inference", request={}))
            session.flush()
            session.add(Frame(id=proof_id, stream_id=name, number=number))
        session.flush()
        advance(session, name)
    return ids


def claim(runtime: Runtime) -> Claim | None:
    with runtime.database.write() as session:
        return claim_next(session, "w", 60.0, ["cpu"], 1 << 40)


def taken(runtime: Runtime) -> Claim:
    found = claim(runtime)
    assert found is not None
    return found


def over(runtime: Runtime, stream_id: str) -> int:
    with runtime.database.read() as session:
        return int(session.scalar(select(Stream.over).where(Stream.id == stream_id)) or 0)


def succeed(runtime: Runtime, claim: Claim) -> None:
    with runtime.database.write() as session:
        assert Claims(session).succeed(claim, {"witness": 0.5})


def test_one_frame_at_a_time_and_in_order(each_runtime: Runtime) -> None:
    runtime, ids = each_runtime, open_stream(each_runtime, "str_1", 3)
    for number, proof_id in enumerate(ids):
        first = taken(runtime)
        assert (first.id, claim(runtime)) == (proof_id, None)
        with runtime.database.write() as session:
            assert Claims(session).succeed(first, {})
            ready = Claims(session).ready(first.id)
        assert [row.id for row in ready] == ids[number + 1 : number + 2]
        assert over(runtime, "str_1") == number + 1
    assert load(runtime, "str_1").state == "running"


@pytest.mark.parametrize(
    "end", ["fail", "cancel", "deadline", "late while in work", "give up", "asked to cancel"]
)
def test_whatever_becomes_of_a_frame_the_next_has_its_turn(each_runtime: Runtime, end: str) -> None:
    runtime, (first, second, _third) = each_runtime, open_stream(each_runtime, "str_1", 3)
    if end == "cancel":
        with runtime.database.write() as session:
            Jobs(session).cancel(first)
    elif end == "deadline":
        expire(runtime, first)
    else:
        held = taken(runtime)
        with runtime.database.write() as session:
            if end == "fail":
                assert Claims(session).fail(held, PROBLEM)
            elif end == "late while in work":
                session.get_one(Job, first).deadline_at = now() - timedelta(seconds=1)
                session.flush()
                assert not Claims(session).succeed(held, {})
            elif end == "give up":
                assert Claims(session).give_back(replace(held, attempt=3), PROBLEM, 3)
            else:
                Jobs(session).cancel(first)
                assert Claims(session).canceled(held)
    assert load(runtime, first).state in ("failed", "canceled")
    assert (over(runtime, "str_1"), load(runtime, "str_1").state) == (1, "running")
    assert taken(runtime).id == second


def expire(runtime: Runtime, *job_ids: str) -> None:
    with runtime.database.write() as session:
        for job_id in job_ids:
            session.get_one(Job, job_id).deadline_at = now() - timedelta(seconds=1)
    with runtime.database.write() as session:
        Reaping(session).end_late()


def test_frames_that_are_late_while_another_is_proven_are_no_gap(each_runtime: Runtime) -> None:
    runtime, ids = each_runtime, open_stream(each_runtime, "str_1", 4)
    held = taken(runtime)
    expire(runtime, *ids[1:3])
    assert [load(runtime, each).state for each in ids] == ["running", "failed", "failed", "queued"]
    assert (over(runtime, "str_1"), claim(runtime)) == (0, None)
    succeed(runtime, held)
    assert over(runtime, "str_1") == 3
    assert taken(runtime).id == ids[3]


def test_streams_and_other_jobs_of_a_tenant_take_turns(each_runtime: Runtime) -> None:
    runtime = each_runtime
    one, other = open_stream(runtime, "str_1", 3), open_stream(runtime, "str_2", 3)
    add_job(runtime, "job_1")
    order = []
    while (held := claim(runtime)) is not None:
        order.append(held.id)
        succeed(runtime, held)
    assert order == [one[0], other[0], "job_1", one[1], other[1], one[2], other[2]]


def test_a_stream_that_takes_no_more_is_over_with_its_last_frame(each_runtime: Runtime) -> None:
    runtime, ids = each_runtime, open_stream(each_runtime, "str_1", 2)
    with runtime.database.write() as session:
        session.get_one(Stream, "str_1").ended_at = now()
    for _ in ids:
        assert load(runtime, "str_1").state == "running"
        succeed(runtime, taken(runtime))
    job = load(runtime, "str_1")
    assert (job.state, job.stage, job.percent) == ("succeeded", "done", 100.0)
    assert job.finished_at is not None


def test_a_tenant_that_goes_takes_its_streams_along(each_runtime: Runtime) -> None:
    runtime, tenant_id = each_runtime, add_tenant(each_runtime, "gone")
    open_stream(runtime, "str_1", 3, tenant_id)
    succeed(runtime, taken(runtime))
    with runtime.database.write() as session:
        session.get_one(Tenant, tenant_id).deleted_at = now()
    for _ in range(9):
        remove_tenants(runtime)
    with runtime.database.read() as session:
        assert session.get(Tenant, tenant_id) is None
        assert session.scalars(select(Job.id).where(Job.tenant_id == tenant_id)).all() == []
        assert session.scalars(select(Frame.id)).all() == []


def test_canceling_a_stream_misses_what_is_not_proven(each_runtime: Runtime) -> None:
    runtime, ids = each_runtime, open_stream(each_runtime, "str_1", 3)
    held = taken(runtime)
    with runtime.database.write() as session:
        Jobs(session).cancel("str_1")
    assert [load(runtime, each).state for each in ids] == ["running", "canceled", "canceled"]
    assert load(runtime, "str_1").state == "canceled"
    with runtime.database.write() as session:
        assert Claims(session).canceled(held)
    assert over(runtime, "str_1") == 3
    assert claim(runtime) is None


@pytest.mark.parametrize("ways", [("succeed", "deadline"), ("cancel", "deadline"), ("succeed", "cancel")])
def test_of_frames_that_end_at_once_none_overlooks_the_other(
    each_runtime: Runtime, ways: Sequence[str]
) -> None:
    runtime, (first, second, third) = each_runtime, open_stream(each_runtime, "str_1", 3)
    held = taken(runtime) if "succeed" in ways else None
    barrier = Barrier(2)

    def end(way: str) -> None:
        if way == "deadline":
            with runtime.database.write() as session:
                session.get_one(Job, second).deadline_at = now() - timedelta(seconds=1)
        barrier.wait()
        with runtime.database.write() as session:
            if way == "succeed":
                assert held is not None
                assert Claims(session).succeed(held, {})
            elif way == "cancel":
                Jobs(session).cancel(second if held else first)
            else:
                Reaping(session).end_late()

    threads = [Thread(target=end, args=(way,)) for way in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with runtime.database.write() as session:
        Reaping(session).end_late()  # whom it left to another, it takes now
    assert over(runtime, "str_1") == 2
    assert taken(runtime).id == third


@pytest.mark.parametrize("frames", [3, 4])
def test_the_first_of_a_batch_takes_the_turn_of_all(each_runtime: Runtime, frames: int) -> None:
    runtime, ids = each_runtime, open_stream(each_runtime, "str_1", frames, batch=3)
    held = taken(runtime)
    assert (held.id, claim(runtime)) == (ids[0], None)
    with runtime.database.write() as session:
        assert Claims(session).succeed(held, {"witness": 0.6}, 7, ids[1:3])
    assert [load(runtime, each).state for each in ids[:3]] == ["succeeded"] * 3
    assert [load(runtime, each).timings for each in ids[:3]] == [{"witness": 0.2}] * 3
    assert load(runtime, ids[2]).started_at == load(runtime, ids[0]).started_at
    assert over(runtime, "str_1") == 3
    assert claim(runtime) is None, "the fourth waits for others"


@pytest.mark.parametrize("why", ["end", "miss", "time", "deadline"])
def test_a_frame_waits_for_its_batch_while_that_may_be_full(each_runtime: Runtime, why: str) -> None:
    runtime, ids = each_runtime, open_stream(each_runtime, "str_1", 2, batch=3)
    assert claim(runtime) is None
    with runtime.database.write() as session:
        stream, first = session.get_one(Stream, "str_1"), session.get_one(Job, ids[0])
        if why == "end":
            stream.ended_at = now()
        elif why == "miss":
            Jobs(session).cancel(ids[1])
        else:
            waited = {"time": 61, "deadline": 31}[why]
            stream.deadline_seconds = {"time": None, "deadline": 60}[why]
            first.created_at = now() - timedelta(seconds=waited)
        session.flush()
        advance(session, "str_1")
    assert taken(runtime).id == ids[0]


def test_the_reaper_wakes_workers_for_a_frame_that_has_waited(each_runtime: Runtime) -> None:
    runtime, (first,) = each_runtime, open_stream(each_runtime, "str_1", 1, batch=3)
    with runtime.database.write() as session:
        assert list(Reaping(session).waiting(3600)) == []
        job = session.get_one(Job, first)
        job.enqueued_at, job.available_at = (now() - timedelta(seconds=each) for each in (70, 10))
    with runtime.database.write() as session:
        assert [row.id for row in Reaping(session).waiting(3600)] == [first]


@pytest.mark.parametrize("way", ["cancel", "deadline"])
def test_a_batch_that_lost_a_frame_meanwhile_is_none(each_runtime: Runtime, way: str) -> None:
    """What was proven of it is thrown away: it would say what was missed."""
    runtime, ids = each_runtime, open_stream(each_runtime, "str_1", 3, batch=3)
    held = taken(runtime)
    if way == "cancel":
        with runtime.database.write() as session:
            Jobs(session).cancel(ids[1])
    else:
        expire(runtime, ids[1])
    with runtime.database.write() as session:
        assert not Claims(session).succeed(held, {}, 7, ids[1:])
    assert [load(runtime, each).state for each in (ids[0], ids[2])] == ["queued"] * 2
    assert (over(runtime, "str_1"), load(runtime, ids[0]).attempt) == (0, 0)
    assert taken(runtime).id == ids[0]


def test_whoever_lost_the_first_ends_no_frame_of_its_batch(each_runtime: Runtime) -> None:
    runtime, ids = each_runtime, open_stream(each_runtime, "str_1", 3, batch=3)
    held = taken(runtime)
    with runtime.database.write() as session:
        assert not Claims(session).succeed(replace(held, fence=held.fence - 1), {}, 7, ids[1:])
    assert [load(runtime, each).state for each in ids] == ["running", "queued", "queued"]
