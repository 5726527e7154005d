"""Every way in which a job fails has its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from sqlalchemy.exc import OperationalError

from tests.service.dashboard.site import Site, site
from tests.service.support import add_job, take_back, work_on
from zenserve.errors import Cancelled, ModelError, ResourceError, TensorError
from zenserve.service.access.principal import SCOPES
from zenserve.service.jobs.claims import Claims
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.jobs.reaping import Reaping
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import now
from zenserve.service.storage.records.base import new_id
from zenserve.service.storage.records.jobs import Job
from zenserve.service.worker.heartbeat import Hold
from zenserve.service.worker.tasks import TASKS


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Nothing is tried again."""
    with site(tmp_path_factory.mktemp("failing") / "data", max_attempts=1) as failing:
        yield failing


Way = Callable[[Site, str], None]
"""How a job fails."""


def breaks(error: Exception) -> Way:
    """Work that meets this error, on its only attempt."""

    def work(_runtime: Runtime, _hold: Hold) -> None:
        raise error

    return does(work)


def does(work: Callable[[Runtime, Hold], None]) -> Way:
    def run(site: Site, job_id: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(TASKS, "proof", work)
            work_on(site.runtime, job_id)

    return run


def too_late(_runtime: Runtime, hold: Hold) -> None:
    hold.stop = "deadline"
    raise Cancelled


def late_in_the_queue(site: Site, job_id: str) -> None:
    with site.database.write() as session:
        session.get_one(Job, job_id).deadline_at = now() - timedelta(seconds=1)
        session.flush()
        Reaping(session).end_late()


def loses_its_worker(site: Site, job_id: str) -> None:
    with site.database.write() as session:
        assert Claims(session).claim(job_id, "worker_gone", 60)
        Reaping(session).expire("worker_gone")
        take_back(session, max_attempts=1)


def loses_a_shard(site: Site, job_id: str) -> None:
    with site.database.write() as session:
        parent = Claims(session).claim(job_id, "worker_gone", 60)
        assert parent
        Jobs(session).create_children(job_id, "shard", ["shd_1"])
        assert Claims(session).wait(parent, "shards", {})
    loses_its_worker(site, "shd_1")


@pytest.mark.parametrize(
    ("way", "code"),
    [
        (late_in_the_queue, "resource.deadline"),
        (does(too_late), "resource.deadline"),
        (loses_its_worker, "resource.worker_lost"),
        (loses_a_shard, "resource.worker_lost"),
        (breaks(TensorError("input.shape", "input has another shape", field="input")), "input.shape"),
        (breaks(ModelError("model.memory", "it takes too much")), "model.memory"),
        (breaks(ResourceError("resource.storage", "the disk is full")), "resource.storage"),
        (breaks(MemoryError()), "resource.memory"),
        (breaks(OperationalError("", {}, OSError())), "resource.database"),
        (breaks(RuntimeError("not to be told")), "resource.internal"),
    ],
)
def test_every_kind_of_failure_has_its_page(failing: Site, way: Way, code: str) -> None:
    way(failing, job_id := add_job(failing.runtime, new_id("prf"), "proof"))
    client = failing.visitor(*SCOPES)
    for path in ("/admin", "/admin/jobs", f"/admin/jobs/{job_id}"):
        answer = client.get(path)
        assert (answer.status_code, f">{code}</code>" in answer.text) == (200, True), path
