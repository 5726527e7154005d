"""Who may see what, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import func, select

from tests.service.dashboard.site import ROOMS, Site, send
from zenserve.service.access.principal import Scope
from zenserve.service.storage.database import now
from zenserve.service.storage.records.accounts import ApiKey, AuditEntry, Login


@pytest.mark.parametrize("scopes", [("read",), ("read", "manage"), ("read", "manage", "admin")])
def test_pages_take_their_scope(busy: Site, scopes: tuple[Scope, ...]) -> None:
    client = busy.visitor(*scopes)
    for path, scope in ROOMS.items():
        answer = client.get(path)
        assert answer.status_code == (200 if scope in scopes else 403), path
        assert (f'href="{path}"' in client.get("/admin/jobs").text) == (scope in scopes) or path == "/admin/"


def test_who_is_not_logged_in_comes_to_log_in(busy: Site) -> None:
    client = busy.browser()
    for path in (*ROOMS, "/admin/jobs/prf_1", "/admin/jobs/prf_1/proof"):
        answer = client.get(path)
        assert answer.status_code == 303
        assert answer.headers["Location"].startswith("/admin/login")
    asked = client.get("/admin/jobs?state=failed").headers["Location"]
    assert client.post(asked, data={"key": "zen_1", "next": "/admin/jobs"}).status_code == 403
    key = busy.key("read")
    answer = client.post("/admin/login", data={"key": key, "next": "/admin/jobs?state=failed"})
    assert answer.headers["Location"] == "/admin/jobs?state=failed"
    for elsewhere in ("https://evil.example", "//evil.example", "/admin/\\evil", "/administer"):
        answer = client.post("/admin/login", data={"key": key, "next": elsewhere})
        assert answer.headers["Location"] == "/admin"


def test_the_cookie_is_for_these_pages_alone_and_kept_as_a_digest(empty: Site) -> None:
    client = empty.browser()
    answer = client.post("/admin/login", data={"key": empty.key("read")})
    cookie = answer.headers["Set-Cookie"].lower()
    assert all(part in cookie for part in ("zenserve_login=", "httponly", "samesite=lax", "path=/admin"))
    secret = client.cookies["zenserve_login"].encode()
    assert not any(
        secret in file.read_bytes() for file in empty.runtime.settings.data_dir.glob("zenserve.sqlite*")
    )
    behind_tls = {"X-Forwarded-Proto": "https"}
    answer = empty.browser().post("/admin/login", data={"key": empty.key("read")}, headers=behind_tls)
    assert "secure" in answer.headers["Set-Cookie"].lower()


def test_a_key_without_read_cannot_log_in(quiet: Site) -> None:
    answer = quiet.browser().post("/admin/login", data={"key": quiet.key("prove")})
    assert answer.status_code == 403
    assert "scope read" in answer.text


@pytest.mark.usefixtures("_buckets_stay")
def test_refused_logins_are_counted_and_noted(empty: Site) -> None:
    client = empty.browser()
    answers = [client.post("/admin/login", data={"key": f"zen_{n:012x}_{'a' * 43}"}) for n in range(12)]
    assert [answer.status_code for answer in answers] == [403] * 10 + [429] * 2
    with empty.database.read() as session:
        assert session.scalars(select(AuditEntry.action)).all() == ["key.refuse"] * 10


def _log_out(site: Site, client: httpx.Client) -> None:
    assert send(client, "/admin/logout").status_code == 303


def _revoke(site: Site, client: httpx.Client) -> None:
    with site.database.write() as session:
        session.scalars(select(ApiKey)).one().revoked_at = now()


def _expire_key(site: Site, client: httpx.Client) -> None:
    with site.database.write() as session:
        session.scalars(select(ApiKey)).one().expires_at = now()


def _expire_login(site: Site, client: httpx.Client) -> None:
    with site.database.write() as session:
        session.scalars(select(Login)).one().expires_at = now() - timedelta(seconds=1)


@pytest.mark.parametrize("end", [_log_out, _revoke, _expire_key, _expire_login])
def test_a_visit_ends_with_its_login_and_with_its_key(
    empty: Site, end: Callable[[Site, httpx.Client], None]
) -> None:
    client = empty.visitor("read")
    cookie = client.cookies["zenserve_login"]
    assert client.get("/admin").status_code == 200
    end(empty, client)
    again = empty.browser()
    again.cookies.set("zenserve_login", cookie, path="/admin")
    assert again.get("/admin").status_code == 303


def test_logging_out_forgets_the_login(empty: Site) -> None:
    client = empty.visitor("read")
    send(client, "/admin/logout")
    with empty.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Login)) == 0
