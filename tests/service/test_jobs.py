"""The state machine: what each transition allows, and that a stale worker can write nothing."""

from __future__ import annotations

import itertools
import threading
from datetime import datetime, timedelta

import pytest
from sqlalchemy import update

from tests.service import support
from tests.service.support import add_job, load
from zenserve.errors import ConflictError, NotFoundError
from zenserve.service.jobs import events
from zenserve.service.jobs.claims import Claim, Claims
from zenserve.service.jobs.jobs import Jobs, Terms
from zenserve.service.jobs.reaping import LOST_WORKER, Reaping
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import now
from zenserve.service.storage.records.jobs import Job


@pytest.fixture
def runtime(each_runtime: Runtime) -> Runtime:
    return each_runtime


def claim(runtime: Runtime, job_id: str = "job_1", worker: str = "a", lease: float = 60.0) -> Claim | None:
    with runtime.database.write() as session:
        return Claims(session).claim(job_id, worker, lease)


def claimed(runtime: Runtime, lease: float = 60.0) -> Claim:
    taken = claim(runtime, add_job(runtime), lease=lease)
    assert taken is not None
    return taken


def ends_at(runtime: Runtime) -> datetime:
    lease = load(runtime).lease_expires_at
    assert lease is not None
    return lease


def let_lease_expire(runtime: Runtime) -> None:
    with runtime.database.write() as session:
        session.execute(update(Job).values(lease_expires_at=now() - timedelta(seconds=1)))


def take_back(runtime: Runtime, max_attempts: int = 3) -> list[str]:
    with runtime.database.write() as session:
        return support.take_back(session, max_attempts)


def test_of_many_workers_one_claims_a_job(runtime: Runtime) -> None:
    add_job(runtime)
    start, claims = threading.Barrier(8), []

    def compete(worker: int) -> None:
        start.wait()
        claims.append(claim(runtime, worker=f"w{worker}"))

    threads = [threading.Thread(target=compete, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken is not None for taken in claims) == 1
    assert load(runtime).attempt == 1


@pytest.mark.parametrize("state", ["running", "succeeded", "failed", "canceled"])
def test_only_a_queued_job_can_be_claimed(runtime: Runtime, state: str) -> None:
    add_job(runtime)
    with runtime.database.write() as session:
        session.execute(update(Job).values(state=state))
    assert claim(runtime) is None


def test_a_lease_lasts_as_long_as_it_is_given_from_each_claim_and_renewal_on(runtime: Runtime) -> None:
    lease = timedelta(seconds=60)
    before = now()
    taken = claimed(runtime, lease.total_seconds())
    assert before + lease <= ends_at(runtime) <= now() + lease
    let_lease_expire(runtime)
    before = now()
    with runtime.database.write() as session:
        assert Claims(session).renew(taken, "work", 0.0, lease.total_seconds()) is None
    assert before + lease <= ends_at(runtime) <= now() + lease


def test_every_write_of_a_worker_that_lost_its_job_is_refused(runtime: Runtime) -> None:
    stale = claimed(runtime)
    let_lease_expire(runtime)
    assert take_back(runtime) == ["job_1"]
    fresh = claim(runtime, worker="b")
    assert fresh is not None
    assert fresh.fence > stale.fence
    with runtime.database.write() as session:
        claims = Claims(session)
        assert claims.renew(stale, "late", 50.0, 60.0) == "lost"
        assert not claims.succeed(stale, {})
        assert not claims.fail(stale, {"code": "x", "detail": "x"})
        assert not claims.canceled(stale)
        assert not claims.give_back(stale, None, 3)
    job = load(runtime)
    assert (job.state, job.worker, job.stage, job.attempt) == ("running", "b", "starting", 2)
    with runtime.database.write() as session:
        assert Claims(session).succeed(fresh, {"work": 1.0})
    assert load(runtime).state == "succeeded"


def test_a_second_end_changes_nothing(runtime: Runtime) -> None:
    taken = claimed(runtime)
    with runtime.database.write() as session:
        assert Claims(session).succeed(taken, {})
        assert not Claims(session).succeed(taken, {})
        assert not Claims(session).fail(taken, {"code": "x", "detail": "x"})
    assert load(runtime).state == "succeeded"


def test_a_lost_job_keeps_the_cause_of_every_attempt_and_fails_after_the_last(runtime: Runtime) -> None:
    add_job(runtime)
    for attempt in (1, 2):
        assert claim(runtime) is not None
        let_lease_expire(runtime)
        assert take_back(runtime, max_attempts=2) == (["job_1"] if attempt == 1 else [])
    job = load(runtime)
    assert job.state == "failed"
    assert [(f["attempt"], f["code"]) for f in job.failures] == [(1, LOST_WORKER), (2, LOST_WORKER)]
    assert job.problem is not None
    assert job.problem["code"] == LOST_WORKER


def test_a_live_lease_is_left_alone(runtime: Runtime) -> None:
    claimed(runtime)
    assert take_back(runtime) == []


def test_a_worker_that_stops_in_good_order_gives_the_job_back_uncounted(runtime: Runtime) -> None:
    taken = claimed(runtime)
    with runtime.database.write() as session:
        assert Claims(session).give_back(taken, None, 1)
    job = load(runtime)
    assert (job.state, job.attempt, job.failures) == ("queued", 0, [])
    assert claim(runtime) is not None


def test_cancel_ends_a_queued_job_at_once(runtime: Runtime) -> None:
    add_job(runtime)
    with runtime.database.write() as session:
        Jobs(session).cancel("job_1")
    assert load(runtime).state == "canceled"
    assert claim(runtime) is None


def test_cancel_reaches_the_worker_with_its_next_heartbeat(runtime: Runtime) -> None:
    taken = claimed(runtime)
    with runtime.database.write() as session:
        assert Claims(session).renew(taken, "msm", 10.0, 60.0) is None
        Jobs(session).cancel("job_1")
        assert Claims(session).renew(taken, "msm", 20.0, 60.0) == "cancel"
    assert load(runtime).state == "running"


def test_a_canceled_job_whose_worker_died_is_not_run_again(runtime: Runtime) -> None:
    claimed(runtime)
    with runtime.database.write() as session:
        Jobs(session).cancel("job_1")
    let_lease_expire(runtime)
    assert take_back(runtime) == []
    assert load(runtime).state == "canceled"


def test_cancel_of_what_is_over(runtime: Runtime) -> None:
    taken = claimed(runtime)
    with runtime.database.write() as session:
        Claims(session).succeed(taken, {})
        with pytest.raises(ConflictError, match="succeeded"):
            Jobs(session).cancel("job_1")
        with pytest.raises(NotFoundError):
            Jobs(session).cancel("job_2")


def test_the_revision_grows_with_what_readers_see_and_only_then(runtime: Runtime) -> None:
    taken = claimed(runtime)
    revisions = [load(runtime).revision]
    for stage, percent in (("a", 10.0), ("a", 10.0), ("a", 20.0), ("b", 20.0)):
        with runtime.database.write() as session:
            Claims(session).renew(taken, stage, percent, 60.0)
        revisions.append(load(runtime).revision)
    steps = [after - before for before, after in itertools.pairwise(revisions)]
    assert steps == [1, 0, 1, 1]


PARENT, CHILDREN = "prf_1", ("shd_0", "shd_1", "shd_2")


@pytest.fixture
def family(runtime: Runtime) -> Claim:
    """A parent that waits for three queued children; the claim with which it began to."""
    parent = claim(runtime, add_job(runtime, PARENT))
    assert parent is not None
    with runtime.database.write() as session:
        assert Claims(session).wait(parent, "shards", {"plan": 1.0})
        Jobs(session).create_children(PARENT, "fake", CHILDREN)
    return parent


def finish(runtime: Runtime, child: str) -> None:
    taken = claim(runtime, child)
    assert taken is not None
    with runtime.database.write() as session:
        assert Claims(session).succeed(taken, {})


def states(runtime: Runtime) -> list[str]:
    return [load(runtime, job).state for job in (PARENT, *CHILDREN)]


def test_a_parent_waits_without_a_worker_until_its_last_child_succeeds(
    runtime: Runtime, family: Claim
) -> None:
    job = load(runtime, PARENT)
    assert (job.state, job.worker, job.lease_expires_at, job.stage) == ("running", None, None, "shards")
    assert claim(runtime, PARENT) is None
    with runtime.database.write() as session:
        assert Claims(session).renew(family, "late", 50.0, 60.0) == "lost"
        assert not Claims(session).succeed(family, {})
        assert not Claims(session).give_back(family, None, 3)
    seen = []
    for child in CHILDREN:
        finish(runtime, child)
        seen.append((load(runtime, PARENT).state, load(runtime, PARENT).percent))
        with runtime.database.read() as session:
            ready = [row.id for row in Claims(session).ready(child)]
            assert ready == ([PARENT] if child == CHILDREN[-1] else [])
    assert seen == [("running", 33.3), ("running", 66.7), ("queued", 0.0)]
    again = claim(runtime, PARENT)
    assert again is not None
    assert again.attempt == family.attempt == 1


def test_no_reaper_takes_a_parent_that_waits(runtime: Runtime, family: Claim) -> None:
    with runtime.database.write() as session:
        Reaping(session).expire("a")
    assert take_back(runtime) == []
    with runtime.database.read() as session:
        assert PARENT not in [row.id for row in Reaping(session).waiting(-1.0)]
    assert states(runtime) == ["running", "queued", "queued", "queued"]


def test_a_child_whose_worker_dies_is_tried_again_while_its_parent_waits(
    runtime: Runtime, family: Claim
) -> None:
    assert claim(runtime, CHILDREN[0]) is not None
    with runtime.database.write() as session:
        Reaping(session).expire("a")
    assert take_back(runtime) == [CHILDREN[0]]
    assert states(runtime) == ["running", "queued", "queued", "queued"]


def test_a_child_that_fails_ends_its_parent_and_its_siblings(runtime: Runtime, family: Claim) -> None:
    finish(runtime, CHILDREN[0])
    second, third = claim(runtime, CHILDREN[1]), claim(runtime, CHILDREN[2], worker="b")
    assert second is not None
    assert third is not None
    with runtime.database.write() as session:
        Reaping(session).expire("a")
    assert take_back(runtime, max_attempts=1) == []
    assert states(runtime) == ["failed", "succeeded", "failed", "running"]
    assert load(runtime, CHILDREN[2]).cancel_requested
    problem = load(runtime, PARENT).problem
    assert problem is not None
    assert problem["code"] == LOST_WORKER
    with runtime.database.write() as session:
        assert Claims(session).succeed(third, {})  # it was done before it heard
    assert states(runtime)[0] == "failed"


def test_cancel_of_a_parent_that_waits_cancels_its_children(runtime: Runtime, family: Claim) -> None:
    finish(runtime, CHILDREN[0])
    taken = claim(runtime, CHILDREN[1])
    assert taken is not None
    with runtime.database.write() as session:
        Jobs(session).cancel(PARENT)
    assert states(runtime) == ["canceled", "succeeded", "running", "canceled"]
    with runtime.database.write() as session:
        assert Claims(session).renew(taken, "msm", 1.0, 60.0) == "cancel"
        assert Claims(session).canceled(taken)
    assert states(runtime)[0] == "canceled"
    with runtime.database.write() as session:
        Jobs(session).cancel(PARENT)


def test_a_parent_that_is_to_be_canceled_or_was_lost_does_not_begin_to_wait(runtime: Runtime) -> None:
    taken = claimed(runtime)
    with runtime.database.write() as session:
        Jobs(session).cancel("job_1")
        assert not Claims(session).wait(taken, "shards", {})
    assert load(runtime).state == "canceled"
    lost = claim(runtime, add_job(runtime, "job_2"))
    assert lost is not None
    let_lease_expire(runtime)
    take_back(runtime)
    with runtime.database.write() as session:
        assert not Claims(session).wait(lost, "shards", {})
    assert load(runtime, "job_2").state == "queued"


def test_milestones_can_be_replayed_from_any_of_them(runtime: Runtime) -> None:
    taken = claimed(runtime)
    for stage, percent in (("msm", 0.0), ("msm", 50.0), ("ntt", 0.0)):
        with runtime.database.write() as session:
            Claims(session).renew(taken, stage, percent, 60.0)
    with runtime.database.write() as session:
        Claims(session).succeed(taken, {"msm": 1.0})
    with runtime.database.read() as session:
        seen = events.after(session, "job_1")
        assert [(event.state, event.stage) for event in seen] == [
            ("queued", None),
            ("running", "starting"),
            ("running", "msm"),
            ("running", "ntt"),
            ("succeeded", "done"),
        ]
        assert seen[-1].revision == load(runtime).revision
        assert events.after(session, "job_1", seen[2].revision) == seen[3:]


def test_what_ends_after_its_deadline_has_failed(runtime: Runtime) -> None:
    """Whether or not a heartbeat was in between."""
    taken = claim(runtime, add_job(runtime, "job_1", terms=Terms(deadline_at=now() - timedelta(seconds=1))))
    in_time = claim(runtime, add_job(runtime, "job_2", terms=Terms(deadline_at=now() + timedelta(hours=1))))
    assert taken is not None
    assert in_time is not None
    with runtime.database.write() as session:
        assert not Claims(session).succeed(taken, {})
        assert Claims(session).succeed(in_time, {})
    assert [load(runtime, job).state for job in ("job_1", "job_2")] == ["failed", "succeeded"]
    assert (load(runtime).problem or {})["code"] == "resource.deadline"


def test_a_deadline_ends_what_waits_and_stops_what_runs(runtime: Runtime) -> None:
    terms = Terms(deadline_at=now() - timedelta(seconds=5))
    add_job(runtime, "job_1", terms=terms)
    taken = claim(runtime, add_job(runtime, "job_2", terms=terms))
    add_job(runtime, "job_3", terms=Terms(deadline_at=now() + timedelta(hours=1)))
    assert taken is not None
    with runtime.database.write() as session:
        Reaping(session).end_late()
        assert Claims(session).renew(taken, "msm", 1.0, 60.0) == "deadline"
    assert [load(runtime, job).state for job in ("job_1", "job_2", "job_3")] == [
        "failed",
        "running",
        "queued",
    ]
    problem = load(runtime).problem
    assert problem is not None
    assert problem["code"] == "resource.deadline"


def test_only_a_failed_job_is_retried_and_as_if_it_were_new(runtime: Runtime) -> None:
    taken = claimed(runtime)
    with runtime.database.write() as session, pytest.raises(ConflictError, match="running"):
        Jobs(session).retry("job_1")
    with runtime.database.write() as session:
        Claims(session).fail(taken, {"code": "x", "detail": "x"})
        assert Jobs(session).retry("job_1") == ["job_1"]
    job = load(runtime)
    assert (job.state, job.attempt, job.problem, job.finished_at) == ("queued", 0, None, None)
    assert len(job.failures) == 1
    assert claim(runtime) is not None


def test_a_retried_parent_proves_only_what_is_missing(runtime: Runtime, family: Claim) -> None:
    finish(runtime, CHILDREN[0])
    taken = claim(runtime, CHILDREN[1])
    assert taken is not None
    with runtime.database.write() as session:
        Claims(session).fail(taken, {"code": "x", "detail": "x"})
    assert states(runtime) == ["failed", "succeeded", "failed", "canceled"]
    with runtime.database.write() as session:
        assert set(Jobs(session).retry(PARENT)) == set(CHILDREN[1:])
    assert states(runtime) == ["running", "succeeded", "queued", "queued"]
    for child in CHILDREN[1:]:
        finish(runtime, child)
    assert states(runtime)[0] == "queued"


def test_the_last_children_that_end_at_once_queue_their_parent_once(runtime: Runtime, family: Claim) -> None:
    """Side by side, each would see the others still running: the parent's lock puts them in a row."""
    claims = [claim(runtime, child, worker=child) for child in CHILDREN]
    start, ended = threading.Barrier(3), []

    def end(taken: Claim) -> None:
        start.wait()
        with runtime.database.write() as session:
            ended.append(Claims(session).succeed(taken, {"msm": 1.0}))

    threads = [threading.Thread(target=end, args=(taken,)) for taken in claims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == [True] * 3
    assert states(runtime)[0] == "queued"


def test_a_cancel_at_the_moment_of_a_claim_is_never_lost(runtime: Runtime) -> None:
    for number in range(20):
        job_id = add_job(runtime, f"job_{number}")
        start = threading.Barrier(2)

        def cancel(job_id: str = job_id, start: threading.Barrier = start) -> None:
            start.wait()
            with runtime.database.write() as session:
                Jobs(session).cancel(job_id)

        thread = threading.Thread(target=cancel)
        thread.start()
        start.wait()
        taken = claim(runtime, job_id)
        thread.join()
        if taken is not None:
            with runtime.database.write() as session:
                assert Claims(session).renew(taken, "msm", 1.0, 60.0) == "cancel"
                Claims(session).give_back(taken, None, 3)
        assert load(runtime, job_id).state == "canceled"
