"""Signing in to the dashboard at an OpenID provider, and what others could try with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlalchemy import func, select, update

from tests.service.accounts import asking_for_keys, calling
from tests.service.conftest import open_runtime
from tests.service.dashboard.site import Site, send
from tests.service.provider import Provider, ec_key, providing
from tests.service.support import serving
from zenserve.service.storage.database import now
from zenserve.service.storage.records.accounts import AuditEntry, IdentityLogin, Tenant
from zenserve.service.storage.records.base import LOCAL_TENANT

START = "/admin/login/issuer"
RULE = f"provers={LOCAL_TENANT}:read+prove"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with providing() as provider:
        yield provider


@contextmanager
def site_of(folder: Path, provider: Provider, rule: str = RULE) -> Iterator[Site]:
    """One whose visitors sign in there."""
    runtime = asking_for_keys(open_runtime(folder), **provider.settings(rule))
    with serving(runtime) as url, ExitStack() as stack:
        yield Site(runtime, url, stack)
    runtime.close()


@pytest.fixture
def trusting(tmp_path: Path, provider: Provider) -> Iterator[Site]:
    with site_of(tmp_path / "data", provider) as trusting:
        yield trusting


def sent_off(browser: httpx.Client, wanted: str = "") -> str:
    """Where the provider sends a browser back to that begins to sign in."""
    answer = browser.get(START, params={"next": wanted} if wanted else {})
    assert answer.status_code == 303, answer.text
    return httpx.get(answer.headers["Location"]).headers["Location"]


def signed_in(site: Site, wanted: str = "") -> httpx.Client:
    browser = site.browser()
    answer = browser.get(sent_off(browser, wanted))
    assert answer.status_code == 303, answer.text
    return browser


def is_in(browser: httpx.Client) -> bool:
    return browser.get("/admin").status_code == 200


def refused(answer: httpx.Response, status: int = 403) -> bool:
    return (
        answer.status_code == status
        and 'role="alert"' in answer.text
        and "zenserve_login" not in answer.cookies
    )


def test_a_visitor_signs_in_and_out(trusting: Site, provider: Provider) -> None:
    browser = trusting.browser()
    page = browser.get("/admin/jobs?state=failed")
    page = browser.get(page.headers["Location"])
    assert f"Sign in with {urlsplit(provider.url).netloc}" in page.text
    assert 'href="/admin/login/issuer?next=%2Fadmin%2Fjobs%3Fstate%3Dfailed"' in page.text
    answer = browser.get(sent_off(browser, "/admin/jobs?state=failed"))
    assert answer.headers["Location"] == "/admin/jobs?state=failed"
    cookies = [cookie.lower() for cookie in answer.headers.get_list("Set-Cookie")]
    assert all("httponly" in cookie and "samesite=lax" in cookie for cookie in cookies[:1])
    jobs = browser.get("/admin/jobs")
    assert "alice@example.com" in jobs.text
    assert "oidc:alice" in jobs.text
    assert browser.get("/admin/tenants").status_code == 403
    assert send(browser, "/admin/logout").status_code == 303
    assert not is_in(browser)
    with trusting.database.read() as session:
        assert session.scalar(select(func.count()).select_from(IdentityLogin)) == 0
        noted = session.execute(select(AuditEntry.actor, AuditEntry.action)).all()
    assert noted == [("oidc:alice", "login.create"), ("oidc:alice", "login.delete")]


def test_a_provider_may_want_the_secret_in_the_form(trusting: Site, provider: Provider) -> None:
    provider.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    assert is_in(signed_in(trusting))


def test_cookies_and_codes_are_not_kept_in_the_clear(trusting: Site) -> None:
    browser = signed_in(trusting)
    secret = browser.cookies["zenserve_login"].encode()
    files = trusting.runtime.settings.data_dir.glob("zenserve.sqlite*")
    assert not any(secret in file.read_bytes() for file in files)


def test_nobody_is_sent_elsewhere(trusting: Site) -> None:
    browser = trusting.browser()
    for elsewhere in ("https://evil.example", "//evil.example", "/admin/\\evil", "/administer", "x" * 3000):
        assert browser.get(sent_off(browser, elsewhere)).headers["Location"] == "/admin"


def test_the_answer_of_another_s_sign_in_is_refused(trusting: Site, provider: Provider) -> None:
    """An attacker signs in, and has somebody else's browser end it: that one would work in their name."""
    attacker, victim, other = trusting.browser(), trusting.browser(), trusting.browser()
    link = sent_off(attacker)
    assert refused(victim.get(link))
    sent_off(other)
    assert refused(other.get(link))
    assert not is_in(victim)
    assert provider.asked["token"] == 0
    assert attacker.get(link).status_code == 303


def test_an_answer_is_good_once(trusting: Site) -> None:
    browser = trusting.browser()
    link = sent_off(browser)
    cookie = browser.cookies["zenserve_sign_in"]
    assert browser.get(link).status_code == 303
    again = trusting.browser()
    assert refused(again.get(link))
    again.cookies.set("zenserve_sign_in", cookie, path=START)
    assert refused(again.get(link))  # the provider gives nothing for a code that was used
    assert not is_in(again)


def test_a_sign_in_takes_no_longer_than_it_may(trusting: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = trusting.browser()
    monkeypatch.setattr("zenserve.service.dashboard.sign_in.SECONDS", -1)
    link = sent_off(browser)
    assert refused(browser.get(link))


def test_answers_that_were_changed(trusting: Site) -> None:
    browser = trusting.browser()
    changes: list[dict[str, str | None]] = [
        {"state": "made-up"},
        {"state": "é"},
        {"state": None},
        {"code": "made-up"},
        {"code": None},
        {"iss": "https://evil.example"},
    ]
    for changed in changes:
        url = httpx.URL(sent_off(browser))
        query = {name: value for name, value in (dict(url.params) | changed).items() if value is not None}
        assert refused(browser.get(url.copy_with(params=query))), changed
        assert not is_in(browser)


def test_cookies_that_were_made_up(trusting: Site) -> None:
    link = sent_off(trusting.browser())
    for cookie in ("", "x", "AAAA", "A" * 2000, "%"):
        browser = trusting.browser()
        browser.cookies.set("zenserve_sign_in", cookie, path=START)
        assert refused(browser.get(link)), cookie


def test_id_tokens_that_are_not_good(trusting: Site, provider: Provider) -> None:
    browser = trusting.browser()
    for claims in (
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": ["dashboard", "another"]},
        {"azp": "another"},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"key": ec_key("rsa")},
    ):
        provider.id_claims = claims
        assert refused(browser.get(sent_off(browser))), claims
        assert not is_in(browser)


def test_a_token_for_several_is_good_if_this_client_asked_for_it(trusting: Site, provider: Provider) -> None:
    provider.id_claims = {"aud": ["dashboard", "another"], "azp": "dashboard"}
    assert is_in(signed_in(trusting))


def test_an_id_token_opens_no_api(trusting: Site, provider: Provider) -> None:
    token = provider.token(aud="dashboard", header={"typ": "JWT"})
    answer = trusting.browser().get("/v1/whoami", headers={"Authorization": f"Bearer {token}"})
    assert answer.json()["code"] == "auth.invalid"


def test_users_in_no_group_are_refused(trusting: Site, provider: Provider) -> None:
    browser = trusting.browser()
    for groups in ([], None, ["others"]):
        provider.id_claims = {"groups": groups}
        answer = browser.get(sent_off(browser))
        assert refused(answer)
        assert "none of your groups is let in" in answer.text


def test_a_user_may_have_any_name(trusting: Site, provider: Provider) -> None:
    provider.id_claims = {"preferred_username": 7, "email": "\1\0", "name": "<b>\0Ada</b>\n" + "x" * 300}
    page = signed_in(trusting).get("/admin").text
    assert f"&lt;b&gt;Ada&lt;/b&gt;{'x' * 190}<" in page


def test_users_who_may_not_read_are_refused(tmp_path: Path, provider: Provider) -> None:
    with site_of(tmp_path / "data", provider, f"provers={LOCAL_TENANT}:prove") as trusting:
        browser = trusting.browser()
        assert refused(browser.get(sent_off(browser)))


def test_a_provider_that_is_away_leaves_keys(trusting: Site, provider: Provider) -> None:
    provider.is_up = False
    browser = trusting.browser()
    assert refused(browser.get(START), 503)
    answer = browser.post("/admin/login", data={"key": trusting.key("read")})
    assert answer.headers["Location"] == "/admin"


@pytest.mark.usefixtures("_buckets_stay")
def test_answers_are_counted(trusting: Site, provider: Provider) -> None:
    browser = trusting.browser()
    statuses = []
    for _ in range(12):
        url = httpx.URL(sent_off(browser))
        statuses.append(browser.get(url.copy_merge_params({"code": "made-up"})).status_code)
    assert statuses == [403] * 10 + [429] * 2
    assert provider.asked["token"] == 10


def test_a_visit_ends_with_its_login_its_tenant_and_its_rule(trusting: Site, provider: Provider) -> None:
    browser = signed_in(trusting)
    cookie = browser.cookies["zenserve_login"]
    with trusting.database.write() as session:
        session.execute(update(Tenant).values(suspended_at=now()))
    assert not is_in(browser)
    with trusting.database.write() as session:
        session.execute(update(Tenant).values(suspended_at=None))
    assert is_in(browser)
    for others in (
        provider.settings(f"others={LOCAL_TENANT}:read"),
        provider.settings(RULE, oidc_issuer="https://another.example"),
        {"oidc_issuer": None},
    ):
        settings = trusting.runtime.settings
        _restarted(trusting, cookie, settings.model_copy(update=others))
    with trusting.database.write() as session:
        session.execute(update(IdentityLogin).values(expires_at=now() - timedelta(seconds=1)))
    assert not is_in(browser)


def _restarted(trusting: Site, cookie: str, settings: Any) -> None:
    with calling(replace(trusting.runtime, settings=settings)) as http:
        http.cookies.set("zenserve_login", cookie, path="/admin")
        assert not is_in(http)


def test_without_a_provider_there_is_nothing_to_sign_in_at(quiet: Site) -> None:
    browser = quiet.browser()
    assert "Sign in with" not in browser.get("/admin/login").text
    for path in (START, f"{START}/callback?state=a&code=b"):
        assert browser.get(path).status_code == 404


def test_the_provider_is_asked_as_openid_connect_has_it(trusting: Site, provider: Provider) -> None:
    browser = trusting.browser()
    place = urlsplit(browser.get(START).headers["Location"])
    asked = {name: values[0] for name, values in parse_qs(place.query).items()}
    assert f"{place.scheme}://{place.netloc}{place.path}" == provider.metadata["authorization_endpoint"]
    assert asked["redirect_uri"] == f"{trusting.url}/admin/login/issuer/callback"
    assert len({asked[name] for name in ("state", "nonce", "code_challenge")}) == 3
    assert "code_verifier" not in asked
    behind_tls = {"X-Forwarded-Proto": "https"}
    answer = trusting.browser().get(START, headers=behind_tls)
    assert "redirect_uri=https%3A%2F%2F127.0.0.1" in answer.headers["Location"]
    cookie = answer.headers["Set-Cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=lax", "secure", "path=/admin/login/issuer"))
