"""What a worker makes of jobs that go well, go wrong, are canceled, or are taken away from it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from sqlalchemy.exc import OperationalError

from tests.patience import PATIENCE_SECONDS, until
from tests.service.support import add_job, heart, load, run_job, take_back, work_on
from zenserve.base.memory import FREED, About, Kept
from zenserve.errors import TensorError
from zenserve.service.jobs.claims import Claims
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.jobs.reaping import Reaping
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.reaper import reap
from zenserve.service.serve import Supervisor
from zenserve.service.settings import Settings
from zenserve.service.storage.records.jobs import Worker
from zenserve.service.storage.repositories.workers import SILENCE, Workers
from zenserve.service.worker import heartbeat, tasks
from zenserve.service.worker.attempts import run_next
from zenserve.service.worker.heartbeat import Heartbeat, Hold

Work = Callable[[Runtime, Hold], None]
BEATS = {name: getattr(heartbeat, name) for name in ("TICK_SECONDS", "BEAT_SECONDS")}


@pytest.fixture(autouse=True)
def _ticks_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zenserve.service.worker.heartbeat.TICK_SECONDS", 0.02)


@pytest.fixture
def does(monkeypatch: pytest.MonkeyPatch) -> Callable[[Work], None]:
    """Say what jobs of kind ``fake`` do."""
    return lambda fake: monkeypatch.setitem(tasks.TASKS, "fake", fake)


def succeed(runtime: Runtime, hold: Hold) -> None:
    with runtime.database.write() as session:
        assert Claims(session).succeed(hold.claim, hold.timings())


def busy_until_stopped(runtime: Runtime, hold: Hold) -> None:
    """Like a kernel: nothing but progress reports."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        hold.progress("busy", 0.5)
        time.sleep(0.005)
    raise AssertionError("nobody stopped this")


def in_background(runtime: Runtime) -> threading.Thread:
    thread = threading.Thread(target=work_on, args=(runtime, "job_1"))
    thread.start()
    until(lambda: load(runtime).stage == "busy")
    return thread


def test_a_job_that_goes_well(runtime: Runtime, does: Callable[[Work], None]) -> None:
    does(succeed)
    work_on(runtime, add_job(runtime))
    job = load(runtime)
    assert (job.state, job.attempt, job.percent) == ("succeeded", 1, 100.0)
    assert "starting" in job.timings


def test_a_message_delivered_again_does_nothing(runtime: Runtime, does: Callable[[Work], None]) -> None:
    runs = []

    def counted(runtime: Runtime, hold: Hold) -> None:
        runs.append(hold)
        succeed(runtime, hold)

    does(counted)
    add_job(runtime)
    for _ in range(3):
        work_on(runtime, "job_1")
    work_on(runtime, "job_that_never_was")
    assert len(runs) == 1
    assert load(runtime).attempt == 1


def test_bad_input_fails_at_once_with_its_code(runtime: Runtime, does: Callable[[Work], None]) -> None:
    def refuse(runtime: Runtime, hold: Hold) -> None:
        raise TensorError("input.shape", "input has shape [3]", field="input")

    does(refuse)
    work_on(runtime, add_job(runtime))
    job = load(runtime)
    assert (job.state, job.attempt) == ("failed", 1)
    assert job.problem == {"code": "input.shape", "detail": "input has shape [3]", "field": "input"}


def test_an_accident_is_tried_again_and_every_cause_kept(
    runtime: Runtime, does: Callable[[Work], None], capfd: pytest.CaptureFixture[str]
) -> None:
    gone = OperationalError("UPDATE /secret/path", {}, Exception())
    accidents = [MemoryError(), OSError("disk full at /secret/path"), gone, None]
    runtime.settings.max_attempts = len(accidents)

    def stumble(runtime: Runtime, hold: Hold) -> None:
        if accident := accidents[hold.claim.attempt - 1]:
            raise accident
        succeed(runtime, hold)

    does(stumble)
    add_job(runtime)
    for _ in accidents:
        work_on(runtime, "job_1")
    job = load(runtime)
    assert (job.state, job.attempt) == ("succeeded", 4)
    codes = ["resource.memory", "resource.internal", "resource.database"]
    assert [failure["code"] for failure in job.failures] == codes
    assert "OSError" in job.failures[1]["detail"]
    assert "/secret/path" not in str(job.failures) + "".join(capfd.readouterr())


def test_an_accident_on_every_attempt_fails_the_job(runtime: Runtime, does: Callable[[Work], None]) -> None:
    def break_down(runtime: Runtime, hold: Hold) -> None:
        raise OSError

    does(break_down)
    add_job(runtime)
    for _ in range(5):
        work_on(runtime, "job_1")
    job = load(runtime)
    assert (job.state, job.attempt, len(job.failures)) == ("failed", 3, 3)


def test_cancel_stops_running_work(runtime: Runtime, does: Callable[[Work], None]) -> None:
    does(busy_until_stopped)
    add_job(runtime)
    thread = in_background(runtime)
    with runtime.database.write() as session:
        Jobs(session).cancel("job_1")
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    job = load(runtime)
    assert (job.state, job.failures) == ("canceled", [])


def test_work_whose_job_was_taken_away_stops_and_writes_nothing(
    runtime: Runtime, does: Callable[[Work], None]
) -> None:
    does(busy_until_stopped)
    add_job(runtime)
    thread = in_background(runtime)
    with runtime.database.write() as session:
        Reaping(session).expire("worker_test")
        take_back(session)
        assert Claims(session).claim("job_1", "other", 60.0)
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    job = load(runtime)
    assert (job.state, job.worker, job.attempt) == ("running", "other", 2)


def test_a_worker_told_to_stop_gives_its_job_back(runtime: Runtime, does: Callable[[Work], None]) -> None:
    add_job(runtime)
    with heart(runtime) as heartbeat:

        def told(runtime: Runtime, hold: Hold) -> None:
            heartbeat.shut_down()
            busy_until_stopped(runtime, hold)

        does(told)
        run_job(runtime, heartbeat, "job_1")
    job = load(runtime)
    assert (job.state, job.attempt, job.worker) == ("queued", 0, None)


def test_telling_a_worker_to_stop_again_gives_it_no_more_time(
    runtime: Runtime, does: Callable[[Work], None]
) -> None:
    settings = runtime.settings.model_copy(update={"drain_seconds": 0.5})
    runtime = replace(runtime, settings=settings)
    does(busy_until_stopped)
    add_job(runtime)
    with heart(runtime) as heartbeat:
        given_back = threading.Event()

        def insist() -> None:
            while not given_back.wait(0.05):
                heartbeat.shut_down()

        signals = threading.Thread(target=insist)
        signals.start()
        run_job(runtime, heartbeat, "job_1")
        given_back.set()
        signals.join()
    job = load(runtime)
    assert (job.state, job.failures) == ("queued", [])


def test_the_heartbeat_outlasts_work_that_reports_nothing(
    runtime: Runtime, does: Callable[[Work], None]
) -> None:
    def silent(runtime: Runtime, hold: Hold) -> None:
        leases: set[datetime | None] = set()

        def is_renewed() -> bool:
            leases.add(load(runtime).lease_expires_at)
            return len(leases) > 3

        until(is_renewed)
        reap(runtime)
        succeed(runtime, hold)

    does(silent)
    work_on(runtime, add_job(runtime))
    assert (load(runtime).state, load(runtime).attempt) == ("succeeded", 1)


def test_what_is_deleted_is_forgotten_before_the_next_job_and_while_there_is_none(runtime: Runtime) -> None:
    """Code words of weights, that is: here of a commitment that there is not."""
    kept = Kept(1 << 20, lambda: 1 << 20)

    def keep() -> None:
        kept.keep(About(bytes(32)), np.zeros(8), lambda: None)

    keep()
    run_next(runtime, Heartbeat(runtime, "worker_test"))
    assert not kept.taken
    keep()
    with heart(runtime):
        until(lambda: not kept.taken)


def test_what_work_has_freed_goes_back_when_there_is_no_more(
    runtime: Runtime, does: Callable[[Work], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    given_back = list[bool]()
    monkeypatch.setattr(FREED, "give_back", lambda: given_back.append(True))

    def work(runtime: Runtime, hold: Hold) -> None:
        leases: set[datetime | None] = set()

        def is_renewed() -> bool:
            leases.add(load(runtime).lease_expires_at)
            if len(leases) < 3:  # the first beat may have begun before
                given_back.clear()
            return len(leases) > 3

        until(is_renewed)
        assert not given_back
        succeed(runtime, hold)

    does(work)
    job_id = add_job(runtime)
    with heart(runtime) as heartbeat:
        run_job(runtime, heartbeat, job_id)
        assert load(runtime).state == "succeeded"
        until(lambda: bool(given_back))


def test_many_beats_fit_into_a_lease() -> None:
    """Of the periods that the tests here do not have."""
    assert BEATS["TICK_SECONDS"] <= 0.5
    assert 8 * BEATS["TICK_SECONDS"] <= Settings.model_fields["lease_seconds"].default
    assert BEATS["BEAT_SECONDS"] <= SILENCE.total_seconds() / 4


def test_a_worker_shows_life_while_it_has_nothing_to_do_and_leaves_no_trace(runtime: Runtime) -> None:
    with heart(runtime, "idle") as heartbeat:
        heartbeat.tick()
        with runtime.database.read() as session:
            assert session.get(Worker, "idle") is not None
    with runtime.database.read() as session:
        assert session.get(Worker, "idle") is None


def test_a_worker_that_was_killed_leaves_no_trace_where_its_supervisor_lives(runtime: Runtime) -> None:
    add_job(runtime, "prf_1")
    with runtime.database.write() as session:
        for name in ("worker_1", "worker_2"):
            Workers(session).beat(name, 1, {"queues": ["cpu"]})
        assert Claims(session).claim("prf_1", "worker_1", 60)
    Supervisor(runtime)._clear_away("worker_1")
    with runtime.database.write() as session:
        assert [worker.id for worker in Workers(session).live()] == ["worker_2"]
        assert [claim.id for claim in Reaping(session).lost()] == ["prf_1"]


def test_a_heart_that_misses_beats_goes_on(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it was: a worker whose heart has stopped would lose every job that it takes."""
    beats = 0

    def tick(_: Heartbeat) -> None:
        nonlocal beats
        beats += 1
        raise MemoryError

    monkeypatch.setattr("zenserve.service.worker.heartbeat.TICK_SECONDS", 0.005)
    monkeypatch.setattr(Heartbeat, "tick", tick)
    with heart(runtime):
        until(lambda: beats >= 3)
