"""Migrations, up and down, on data, on each database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text, update

from tests.service.support import add_job
from zenserve.service.jobs.claims import Claims
from zenserve.service.jobs.jobs import Jobs, Terms, scoped
from zenserve.service.runtime import Runtime
from zenserve.service.storage import schema
from zenserve.service.storage.records.accounts import ApiKey, AuditEntry, Tenant, Upload
from zenserve.service.storage.records.base import LOCAL_TENANT, Base
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import (
    Circuit,
    Commitment,
    Dataset,
    Model,
    Proof,
    Shard,
    VerificationKey,
)
from zenserve.service.storage.records.webhooks import Delivery, Webhook
from zenserve.service.storage.repositories import Models
from zenserve.verifier.registry import FIRST

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def runtime(each_runtime: Runtime) -> Runtime:
    """With a row in every table."""
    terms = Terms(tenant_id="tnt_a", idempotency_key="once", request_macs=(bytes(32),))
    with each_runtime.database.write() as session:
        session.add(Tenant(id="tnt_a", name="a", created_at=NOON))
        session.add(VerificationKey(id="key", document={}, circuit={}, created_at=NOON))
    for job_id, kind in (("mdl_1", "model"), ("dst_1", "dataset"), ("prf_1", "accuracy")):
        add_job(
            each_runtime,
            job_id,
            kind,
            terms if kind == "model" else Terms(tenant_id="tnt_a", labels={"a": "1"}),
        )
    with each_runtime.database.write() as session:
        session.add_all(
            [
                Model(
                    id="mdl_1", name="m", weight_privacy="committed", bits=8, quantised="q", commitment="c"
                ),
                Circuit(digest="d", proving_key="p", verification_key_id="key", created_at=NOON),
                ApiKey(id="key_1", tenant_id="tnt_a", name="k", digest=b"", scopes=["read"], created_at=NOON),
                Webhook(id="whk_1", tenant_id="tnt_a", url="u", events=[], secret=b"", created_at=NOON),
                Upload(tenant_id="tnt_a", sha256="s", size=1, content="c", created_at=NOON, expires_at=NOON),
                AuditEntry(at=NOON, tenant_id="tnt_a", actor="key_1", action="a"),
            ]
        )
        session.flush()
        session.add(
            Commitment(id="cmt_1", model_id="mdl_1", kind="input", commitment="", opening="", created_at=NOON)
        )
        session.add(
            Dataset(id="dst_1", model_id="mdl_1", name="d", privacy="public", size=1, sha256="", samples="")
        )
        session.add(
            Delivery(
                id="msg_1", webhook_id="whk_1", job_id="", event="e", body="", next_at=NOON, created_at=NOON
            )
        )
        session.flush()
        session.add(Proof(id="prf_1", model_id="mdl_1", scheme="accuracy", request={}, dataset_id="dst_1"))
        Jobs(session).create_children("prf_1", "shard", ["shd_1"])
        session.flush()
        session.add(Shard(id="shd_1", proof_id="prf_1", position=0))
    return each_runtime


def rows(runtime: Runtime, sql: str) -> list[tuple[object, ...]]:
    with runtime.database.read() as session:
        return [tuple(row) for row in session.execute(text(sql))]


def test_the_migrations_make_the_tables_of_the_code(each_runtime: Runtime) -> None:
    assert schema.at_head(each_runtime.database)
    with each_runtime.database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_a_step_back_keeps_what_the_older_schema_has_a_place_for(runtime: Runtime) -> None:
    schema.migrate(runtime.database, "0002")
    assert not schema.at_head(runtime.database)
    assert rows(runtime, "SELECT id, kind, parent_id FROM jobs ORDER BY id") == [
        ("dst_1", "dataset", None),
        ("mdl_1", "model", None),
        ("prf_1", "accuracy", None),
        ("shd_1", "shard", "prf_1"),
    ]
    assert rows(runtime, "SELECT id, dataset_id FROM proofs") == [("prf_1", "dst_1")]
    schema.migrate(runtime.database)
    assert schema.at_head(runtime.database)
    assert rows(runtime, "SELECT DISTINCT tenant_id FROM jobs") == [(LOCAL_TENANT,)]
    assert rows(runtime, "SELECT id FROM tenants") == [(LOCAL_TENANT,)]
    assert rows(runtime, "SELECT system FROM models") == [(FIRST,)]
    with runtime.database.write() as session:
        assert Claims(session).claim("mdl_1", "w", 60.0)


def test_two_steps_back_leave_models_to_be_registered_anew(runtime: Runtime) -> None:
    schema.migrate(runtime.database, "0001")
    assert rows(runtime, "SELECT id, kind FROM jobs") == [("mdl_1", "model")]
    assert rows(runtime, "SELECT id, weight_privacy, input_privacy FROM models") == [
        ("mdl_1", "private", "private")
    ]
    schema.migrate(runtime.database)
    assert rows(runtime, "SELECT id, weight_privacy FROM models") == [("mdl_1", "committed")]
    with runtime.database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_keys_given_before_there_were_tenants_still_name_their_jobs(each_runtime: Runtime) -> None:
    schema.migrate(each_runtime.database, "0002")
    with each_runtime.database.write() as session:
        session.execute(
            text(
                "INSERT INTO jobs (id, kind, state, revision, attempt, fence, percent, cancel_requested,"
                " timings, failures, created_at, enqueued_at, idempotency_key, request_mac) VALUES ("
                "'prf_0', 'proof', 'queued', 0, 0, 0, 0, false, '{}', '[]', '2026-01-01', '2026-01-01',"
                " 'once', :mac)"
            ),
            {"mac": bytes(32)},
        )
    schema.migrate(each_runtime.database)
    with each_runtime.database.read() as session:
        terms = Terms(idempotency_key="once", request_macs=(bytes(32),))
        assert Jobs(session).earlier(terms) == "prf_0"
        assert Jobs(session).earlier(Terms(tenant_id="tnt_b", idempotency_key="once")) is None
    assert rows(each_runtime, "SELECT idempotency_key FROM jobs") == [(scoped(LOCAL_TENANT, "once"),)]


def test_models_of_before_get_versions_in_the_order_in_which_they_were_made(each_runtime: Runtime) -> None:
    runtime = each_runtime
    models = {
        "mdl_4": ("tnt_b", "credit", None),
        "mdl_1": ("tnt_a", "credit", None),
        "mdl_2": ("tnt_a", "credit", None),
        "mdl_3": ("tnt_a", "credit", "mdl_1"),
        "mdl_5": ("tnt_a", "credit", "mdl_0"),  # the first of its network is gone
        "mdl_6": ("tnt_a", "credit", "mdl_0"),
        "mdl_7": ("tnt_a", "risk", None),
    }
    with runtime.database.write() as session:
        session.add_all(Tenant(id=each, name=each, created_at=NOON) for each in ("tnt_a", "tnt_b"))
    for number, (model_id, (tenant_id, name, twin_id)) in enumerate(models.items()):
        add_job(runtime, model_id, "model", Terms(tenant_id=tenant_id))
        with runtime.database.write() as session:
            made = NOON + timedelta(minutes=number)
            session.execute(update(Job).where(Job.id == model_id).values(created_at=made))
            row = Model(
                id=model_id, name=name, twin_id=twin_id, weight_privacy="public", bits=8, quantised="q"
            )
            session.add(row)
    schema.migrate(runtime.database, "0027")
    schema.migrate(runtime.database)
    assert rows(runtime, "SELECT id, version FROM models ORDER BY id") == [
        *(("mdl_1", 1), ("mdl_2", 2), ("mdl_3", 1), ("mdl_4", 1), ("mdl_5", 3), ("mdl_6", 3), ("mdl_7", 1)),
    ]
    counted = "SELECT tenant_id, name, versions FROM model_names ORDER BY tenant_id, name"
    assert rows(runtime, counted) == [("tnt_a", "credit", 3), ("tnt_a", "risk", 1), ("tnt_b", "credit", 1)]
    with runtime.database.write() as session:
        assert Models(session).next_version("tnt_a", "credit") == 4
        assert Models(session).next_version("tnt_b", "other") == 1
