"""Forms: of other sites, of other visits, and of whom they are taken."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import select

from tests.service.dashboard.site import Site, send
from zenserve.service.access.principal import SCOPES, Scope
from zenserve.service.storage.records.accounts import AuditEntry
from zenserve.service.storage.records.base import LOCAL_TENANT

FORMS = (
    "/admin/logout",
    "/admin/jobs/prf_1/cancel",
    "/admin/jobs/prf_1/retry",
    "/admin/tenants",
    f"/admin/tenants/{LOCAL_TENANT}",
    "/admin/keys",
    "/admin/keys/key_1/revoke",
    "/admin/models",
    "/admin/models/mdl_1/prove",
    "/admin/models/mdl_1/datasets",
    "/admin/webhooks",
    "/admin/webhooks/whk_1/test",
    "/admin/webhooks/whk_1/delete",
    "/admin/webhooks/whk_1/deliveries/msg_1/redeliver",
)


@pytest.mark.parametrize("path", FORMS)
def test_forms_of_other_sites_and_of_other_visits_are_refused(quiet: Site, path: str) -> None:
    client, other = quiet.visitor(*SCOPES), quiet.visitor(*SCOPES)
    assert "auth.form" in client.post(path).text
    stolen = re.search(r'name="token" value="(\w+)"', other.get("/admin/tenants").text)
    assert stolen is not None
    answer = client.post(path, data={"token": stolen[1], "name": "x", "scope": "read"})
    assert (answer.status_code, "auth.form" in answer.text) == (403, True)
    for origin in ("https://evil.example", "null"):
        answer = client.post(path, headers={"Origin": origin})
        assert (answer.status_code, "auth.origin" in answer.text) == (403, True)
    with quiet.database.read() as session:
        assert session.scalars(select(AuditEntry.action)).all() == []  # nothing was changed


def test_another_site_cannot_log_anybody_in(quiet: Site) -> None:
    key = quiet.key("read")
    answer = quiet.browser().post(
        "/admin/login", data={"key": key}, headers={"Origin": "https://evil.example"}
    )
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    ("path", "scopes", "missing"),
    [
        ("/admin/jobs/prf_1/cancel", ("read", "manage"), "prove"),
        ("/admin/jobs/prf_1/retry", ("read", "manage"), "prove"),
        ("/admin/keys", ("read", "prove"), "manage"),
        ("/admin/keys/key_1/revoke", ("read", "prove"), "manage"),
        ("/admin/webhooks", ("read", "prove"), "manage"),
        ("/admin/webhooks/whk_1/test", ("read", "prove"), "manage"),
        ("/admin/webhooks/whk_1/delete", ("read", "prove"), "manage"),
        ("/admin/webhooks/whk_1/deliveries/msg_1/redeliver", ("read", "prove"), "manage"),
        ("/admin/models", ("read", "prove", "admin"), "register"),
        ("/admin/models/mdl_1/prove", ("read", "register", "admin"), "prove"),
        ("/admin/models/mdl_1/datasets", ("read", "register", "admin"), "prove"),
        ("/admin/tenants", ("read", "prove", "manage"), "admin"),
        (f"/admin/tenants/{LOCAL_TENANT}", ("read", "prove", "manage"), "admin"),
    ],
)
def test_forms_take_their_scope(quiet: Site, path: str, scopes: tuple[Scope, ...], missing: str) -> None:
    answer = send(quiet.visitor(*scopes), path, name="x", scope="read")
    assert answer.status_code == 403
    assert f"scope {missing}" in answer.text
