"""What is deleted by its age, and what can no longer be tried again because of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, event, insert, update

from tests.refusals import refuses
from tests.service.support import add_job
from zenserve.errors import ConflictError
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.retention import forget
from zenserve.service.storage.records.accounts import Tenant, Upload
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Dataset, Model, Proof, Shard
from zenserve.service.storage.repositories import Proofs, Shards
from zenserve.service.storage.repositories.uploads import Uploads
from zenserve.service.submissions.jobs import queue_again

NOW = datetime.now(UTC)
LONG_AGO = NOW - timedelta(days=2)


@pytest.fixture
def runtime(each_runtime: Runtime) -> Runtime:
    return each_runtime


def add_proof(runtime: Runtime, proof_id: str = "prf_1", scheme: str = "inference", **columns: Any) -> None:
    """A proof that failed, with its model and dataset."""
    with runtime.database.write() as session:
        for job_id, kind in (("mdl_1", "model"), ("dst_1", "dataset")):
            if session.get(Job, job_id) is None:
                Jobs(session).create(job_id, kind)
        model = Model(id="mdl_1", name="x", weight_privacy="public", bits=8, quantised="0" * 64)
        session.merge(model)
        session.flush()
        session.merge(
            Dataset(id="dst_1", model_id="mdl_1", name="x", privacy="private", size=1, sha256="", samples="")
        )
        Jobs(session).create(proof_id, "accuracy" if scheme == "accuracy" else "proof")
        session.execute(update(Job).where(Job.id == proof_id).values(state="failed", finished_at=LONG_AGO))
        session.add(Proof(id=proof_id, model_id="mdl_1", scheme=scheme, request={}, **columns))


def retry(runtime: Runtime) -> None:
    with runtime.database.write() as session:
        queue_again(session, "proof", "prf_1")


def test_a_retry_looks_for_the_input_once_nobody_can_delete_it(runtime: Runtime) -> None:
    add_proof(runtime, input="0" * 64)
    with runtime.database.write() as session:
        assert Proofs(session).get("prf_1").input is not None
        gone = update(Proof).values(input=None).execution_options(synchronize_session=False)
        session.execute(gone)  # as the reaper's transaction does, between that look and the lock
        with pytest.raises(ConflictError) as refusal:
            queue_again(session, "proof", "prf_1")
    assert refusal.value.code == "conflict.input_deleted"


def test_a_proof_of_accuracy_is_not_tried_again_without_its_dataset(runtime: Runtime) -> None:
    add_proof(runtime, scheme="accuracy", dataset_id="dst_1")
    with runtime.database.write() as session:
        session.execute(delete(Dataset))
    with refuses("conflict.input_deleted"):
        retry(runtime)


def test_counts_go_with_the_time_to_retry_and_nothing_else_is_locked(runtime: Runtime) -> None:
    add_proof(runtime, scheme="accuracy", dataset_id="dst_1")
    add_proof(runtime, "prf_2", input="0" * 64)
    add_job(runtime, "shd_1", "shard")
    with runtime.database.write() as session:
        session.add(Shard(id="shd_1", proof_id="prf_1", position=0, opening=b"sealed"))
    locked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "FOR UPDATE" in statement and "shards" not in statement:
            locked.append(statement)

    with runtime.database.write() as session:
        Shards(session).forget_openings(["prf_1"], 1e6)
        assert session.get_one(Shard, "shd_1").opening == b"sealed"
    event.listen(runtime.database.engine, "before_cursor_execute", note)
    with runtime.database.write() as session:
        Shards(session).forget_openings(["prf_1"], 60.0)
    assert all("jobs.id IN" in statement for statement in locked)
    with runtime.database.read() as session:
        assert session.get_one(Shard, "shd_1").opening is None


def test_proofs_go_by_the_rule_of_their_tenant_however_many_there_are(runtime: Runtime) -> None:
    add_proof(runtime)
    add_proof(runtime, "prf_2")
    with runtime.database.write() as session:
        session.execute(insert(Tenant), [_tenant(number) for number in range(1200)])
        session.execute(update(Job).where(Job.id == "prf_2").values(tenant_id="tnt_7"))
        session.execute(update(Tenant).where(Tenant.id == "tnt_7").values(retention_days=30))
    with runtime.database.read() as session:
        assert Proofs(session).past(NOW, None) == []
        assert Proofs(session).past(NOW, 1) == ["prf_1"]
        assert set(Proofs(session).past(NOW + timedelta(days=40), 1)) == {"prf_1", "prf_2"}


def _tenant(number: int) -> dict[str, Any]:
    return {"id": f"tnt_{number}", "name": f"{number}", "created_at": NOW}


def test_an_upload_that_is_brought_again_in_time_stays(runtime: Runtime) -> None:
    with runtime.database.write() as session:
        session.add(
            Upload(tenant_id=LOCAL_TENANT, sha256="s", size=1, content="c", created_at=NOW, expires_at=NOW)
        )
    with runtime.database.write() as session:
        assert Uploads(session).delete_expired(LOCAL_TENANT, "s", NOW) is None
        assert Uploads(session).delete_expired(LOCAL_TENANT, "s", NOW + timedelta(seconds=1)) == "c"
    forget(runtime)
