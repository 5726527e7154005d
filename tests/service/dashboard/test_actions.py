"""What visitors do: to keys, tenants, jobs and messages, and to nobody else's."""

from __future__ import annotations

import re
from datetime import timedelta

from sqlalchemy import select

from tests.service.busy import fill
from tests.service.dashboard.site import ROOMS, Site, first, send, state
from zenserve.service.access.principal import SCOPES
from zenserve.service.storage.database import now
from zenserve.service.storage.records.accounts import ApiKey, AuditEntry, Tenant
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Proof
from zenserve.service.storage.records.webhooks import Delivery, Webhook


def test_a_tenant_sees_its_own_things_alone(busy: Site) -> None:
    client = busy.visitor("read", "prove", "manage", tenant="tnt_acme")
    foreign = [first(busy, "tnt_north", "succeeded"), first(busy, "tnt_north", "succeeded", "model")]
    with busy.database.read() as session:
        webhook = session.scalars(select(Webhook.id).where(Webhook.tenant_id == "tnt_north")).one()
        delivery = session.scalars(select(Delivery.id).where(Delivery.webhook_id == webhook)).first()
        key = session.scalars(select(ApiKey.id).where(ApiKey.tenant_id == LOCAL_TENANT)).first()
        theirs = {row[:12] for row in session.scalars(select(Job.id).where(Job.tenant_id != "tnt_acme"))}
    for path in (
        *ROOMS,
        "/admin/jobs?tenant=tnt_north",
        "/admin/jobs?kind=shard",
    ):
        page = client.get(path).text
        assert "Northwind" not in page, path
        assert not [job_id for job_id in theirs if job_id in page], path
    assert "data-key" not in client.get(f"/admin/jobs?model={foreign[1]}").text
    for path in (
        *(f"/admin/jobs/{job_id}" for job_id in foreign),
        f"/admin/jobs/{foreign[0]}/proof",
        f"/admin/webhooks/{webhook}",
    ):
        assert client.get(path).status_code == 404
    for path in (
        f"/admin/jobs/{first(busy, 'tnt_x', 'queued')}/cancel",
        f"/admin/jobs/{first(busy, 'tnt_north', 'failed')}/retry",
        f"/admin/webhooks/{webhook}/deliveries/{delivery}/redeliver",
        f"/admin/webhooks/{webhook}/test",
        f"/admin/webhooks/{webhook}/delete",
        f"/admin/keys/{key}/revoke",
    ):
        assert send(client, path).status_code == 404, path


def test_a_tenant_makes_keys_for_itself_with_no_more_than_it_may(empty: Site) -> None:
    with empty.database.write() as session:
        session.add(Tenant(id="tnt_acme", name="Acme", created_at=now()))
    client = empty.visitor("read", "manage", tenant="tnt_acme")
    answer = send(client, "/admin/keys", name="more", scope=["read", "admin"])
    assert (answer.status_code, "scope admin" in answer.text) == (403, True)
    answer = send(client, "/admin/keys", name="theirs", scope=["read"], tenant=LOCAL_TENANT)
    assert answer.status_code == 404
    assert "zen_" in send(client, "/admin/keys", name="ours", scope=["read"]).text
    with empty.database.read() as session:
        kept = session.execute(select(ApiKey.name, ApiKey.tenant_id).where(ApiKey.name != "a key")).all()
    assert kept == [("ours", "tnt_acme")]


def test_a_new_key_is_shown_once_and_works_until_it_is_revoked(empty: Site) -> None:
    client = empty.visitor(*SCOPES)
    page = send(client, "/admin/keys", name="night shift", scope=["read", "prove"], days="7").text
    key = re.search(r"zen_[0-9a-f]{12}_[\w-]{43}", page)
    assert key is not None
    assert key[0] not in client.get("/admin/keys").text
    theirs = empty.browser()
    assert theirs.post("/admin/login", data={"key": key[0]}).status_code == 303
    assert theirs.get("/admin").status_code == 200
    assert send(client, f"/admin/keys/key_{key[0][4:16]}/revoke").status_code == 303
    assert theirs.get("/admin").status_code == 303
    with empty.database.read() as session:
        row = session.get_one(ApiKey, f"key_{key[0][4:16]}")
        assert (row.scopes, (row.expires_at or now()) - row.created_at) == (
            ["read", "prove"],
            timedelta(days=7),
        )
        actions = session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)).all()
    assert actions == ["key.create", "login.create", "key.revoke"]


def test_limits_of_a_tenant_are_set_and_lifted(empty: Site) -> None:
    client = empty.visitor(*SCOPES)
    assert send(client, "/admin/tenants", name="Acme").status_code == 303
    assert send(client, "/admin/tenants", name="Acme").status_code == 409
    with empty.database.read() as session:
        tenant_id = session.scalars(select(Tenant.id).where(Tenant.name == "Acme")).one()
    for given, kept in (("12", 12), ("", None)):
        assert (
            send(client, f"/admin/tenants/{tenant_id}", max_queued=given, max_running="3").status_code == 303
        )
        with empty.database.read() as session:
            tenant = session.get_one(Tenant, tenant_id)
            assert (tenant.max_queued, tenant.max_running, tenant.retention_days) == (kept, 3, None)
    for wrong in ({"max_queued": "-1"}, {"retention_days": "999999"}):  # before the calendar begins
        assert send(client, f"/admin/tenants/{tenant_id}", **wrong).status_code == 422


def test_jobs_are_canceled_and_retried(empty: Site) -> None:
    fill(empty.runtime, jobs=60)
    client = empty.visitor("read", "prove", tenant="tnt_acme")
    queued, failed = first(empty, "tnt_acme", "queued"), first(empty, "tnt_acme", "failed")
    with empty.database.write() as session:  # its input is still there
        session.get_one(Proof, failed).input = "0" * 64
    assert send(client, f"/admin/jobs/{queued}/cancel").headers["Location"] == f"/admin/jobs/{queued}"
    assert state(empty, queued) == "canceled"
    assert send(client, f"/admin/jobs/{failed}/retry").status_code == 303
    assert state(empty, failed) == "queued"
    refusal = send(client, f"/admin/jobs/{queued}/retry")
    assert (refusal.status_code, "conflict.not_failed" in refusal.text) == (409, True)
    assert 'href="/admin/jobs"' in refusal.text, "there is no way on"
    with empty.database.read() as session:
        noted = session.execute(
            select(AuditEntry.action, AuditEntry.target).order_by(AuditEntry.id.desc()).limit(2)
        )
        assert noted.all() == [("proof.retry", failed), ("proof.cancel", queued)]


def test_who_registers_models_cannot_cancel_proofs(busy: Site) -> None:
    client = busy.visitor("read", "register", tenant="tnt_acme")
    queued = first(busy, "tnt_acme", "queued")
    assert f"/admin/jobs/{queued}/cancel" not in client.get(f"/admin/jobs/{queued}").text
    answer = send(client, f"/admin/jobs/{queued}/cancel")
    assert (answer.status_code, "scope prove or admin" in answer.text) == (403, True)


def test_a_shard_is_a_matter_of_its_proof(busy: Site) -> None:
    with busy.database.read() as session:
        shard = session.scalars(select(Job.id).where(Job.kind == "shard", Job.state == "queued")).first()
    assert send(busy.visitor(*SCOPES), f"/admin/jobs/{shard}/cancel").status_code == 409


def test_a_delivery_is_sent_again(empty: Site) -> None:
    fill(empty.runtime, jobs=5)
    with empty.database.read() as session:
        row = session.scalars(select(Delivery).where(Delivery.state == "given up")).first()
    assert row is not None
    send(empty.visitor(*SCOPES), f"/admin/webhooks/{row.webhook_id}/deliveries/{row.id}/redeliver")
    with empty.database.read() as session:
        assert session.get_one(Delivery, row.id).state == "waiting"


def test_a_webhook_is_added_tried_and_deleted(empty: Site) -> None:
    client = empty.visitor("read", "manage")
    answer = send(client, "/admin/webhooks", url=" https://example.com/told ", event=["proof.failed"])
    found = re.search(r'<code id="fresh-key">(whsec_[^<]+)</code>', answer.text)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert found is not None
    assert found[1] not in client.get("/admin/webhooks").text, "it is shown once"
    with empty.database.read() as session:
        row = session.scalars(select(Webhook)).one()
    assert (row.url, row.events, row.tenant_id) == (
        "https://example.com/told", ["proof.failed"], LOCAL_TENANT
    )  # fmt: skip
    assert empty.runtime.vault.open(row.secret, f"webhook:{row.id}") == found[1].encode()
    path = f"/admin/webhooks/{row.id}"
    assert send(client, f"{path}/test").headers["Location"] == path
    assert "webhook.test" in client.get(path).text
    assert send(client, f"{path}/delete").headers["Location"] == "/admin/webhooks"
    assert client.get(path).status_code == 404
    with empty.database.read() as session:
        noted = session.scalars(select(AuditEntry.action).where(AuditEntry.target == row.id)).all()
    assert [*noted] == ["webhook.create", "webhook.test", "webhook.delete"]


def test_an_address_that_cannot_be_told_is_refused_beside_its_field(empty: Site) -> None:
    client = empty.visitor("manage", "read")
    for url, events, said in (
        (
            "http://example.com/told",
            ["proof.failed"],
            'id="url-refusal">give a URL that begins with https://',
        ),
        ("https://example.com/told", [], 'id="event-refusal">choose at least one'),
    ):
        answer = send(client, "/admin/webhooks", url=url, event=events)
        assert (answer.status_code, said in answer.text) == (422, True), answer.text
        assert f'value="{url}"' in answer.text, "what was entered is lost"
    with empty.database.read() as session:
        assert session.scalars(select(Webhook)).all() == []
