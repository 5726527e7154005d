"""``zenserve serve`` is for whoever started it: no other user of the host gets in by reaching its port."""

from __future__ import annotations

import secrets
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.patience import until
from tests.service.accounts import add_key, bearer
from tests.service.conftest import open_runtime
from tests.service.support import serving
from zenserve.client import ApiError, Client, local
from zenserve.service.access import keys, local_token
from zenserve.service.access.principal import SCOPES
from zenserve.service.cli import serving as commands
from zenserve.service.cli.answers import err
from zenserve.service.runtime import Runtime

_EVERYTHING = sorted(SCOPES)


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    runtime = open_runtime(tmp_path / "data", auth="keys")
    yield runtime
    runtime.close()


@contextmanager
def started(runtime: Runtime) -> Iterator[tuple[str, str]]:
    """As ``zenserve serve`` does it: the address and the token."""
    with serving(runtime) as url, local_token.shown(runtime, urlsplit(url).port or 0) as token:
        assert token is not None
        yield url, token


@pytest.fixture
def other_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """From when this is called, programs are another user's."""
    return lambda: monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "others"))


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_the_users_own_programs_find_the_token_wherever_they_run(
    run: Any, runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    look_up = socket.getaddrinfo
    # Not every host knows its own name.
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest: look_up("127.0.0.1" if host == "localhost" else host, *rest),
    )
    with started(runtime) as (url, token):
        for name in (url, url.replace("127.0.0.1", "localhost")):
            with Client(name) as client:
                assert sorted(client.whoami().scopes) == _EVERYTHING
        assert run("token", "--url", url) == (0, f"{token}\n", "")


def test_other_users_of_the_host_get_nowhere(runtime: Runtime, other_user: Any) -> None:
    with started(runtime) as (url, _), httpx.Client(base_url=url) as http:
        other_user()
        with Client(url) as client, pytest.raises(ApiError, match="zenserve token") as refused:
            client.whoami()
        assert refused.value.status == 401
        for path in ("/v1/models", "/v1/keys", "/v1/audit"):
            assert http.get(path).status_code == 401
        assert http.post("/v1/tenants", json={"name": "x"}).status_code == 401
        assert http.get("/admin").headers["Location"].startswith("/admin/login")
        assert (
            http.get("/v1/models", headers=bearer(f"zen_{'0' * 12}_{secrets.token_urlsafe(32)}")).status_code
            == 401
        )
        for path in ("/healthz", "/verify", "/version", "/docs"):
            assert http.get(path).status_code == 200


def test_the_token_is_for_its_owner_alone_and_goes_with_the_service(runtime: Runtime) -> None:
    with started(runtime) as (url, token):
        file, link = runtime.settings.data_dir / "token", local.link(urlsplit(url).port or 0)
        assert mode(file) == 0o600
        assert mode(link.parent) == 0o700
        assert file.read_text() == link.read_text() == token
    assert not file.exists()
    assert not link.is_symlink()
    with serving(runtime) as url:
        assert httpx.get(f"{url}/v1/models", headers=bearer(token)).status_code == 401


def test_a_service_that_starts_again_lets_nobody_in_with_what_was_learned_before(runtime: Runtime) -> None:
    port = 1
    with local_token.shown(runtime, port) as first:
        pass
    # It was killed: nothing was tidied up.
    killed = local_token.shown(runtime, port)
    second = killed.__enter__()
    with serving(runtime) as url, httpx.Client(base_url=url) as browser:
        assert browser.get("/admin/login", params={"token": second}).status_code == 303
        assert browser.get("/admin").status_code == 200
        with started(runtime) as (_, third):
            assert len({first, second, third}) == 3
            assert browser.get("/admin").status_code == 303
            until(lambda: httpx.get(f"{url}/v1/models", headers=bearer(second)).status_code == 401)
            assert httpx.get(f"{url}/v1/models", headers=bearer(third)).status_code == 200


def test_a_client_goes_on_with_the_token_of_a_service_that_started_again(runtime: Runtime) -> None:
    with serving(runtime) as url, Client(url) as client:
        port = urlsplit(url).port or 0
        for _ in range(2):
            with local_token.shown(runtime, port):
                assert client.whoami().tenant_id == "tnt_local"


def test_a_request_to_a_service_that_is_just_starting_is_made_again(runtime: Runtime) -> None:
    with serving(runtime) as url:
        shown = local_token.shown(runtime, urlsplit(url).port or 0)
        asked: list[str | None] = []

        def answer(request: httpx.Request) -> httpx.Response:
            asked.append(request.headers.get("Authorization"))
            if len(asked) == 1:
                shown.__enter__()
            return httpx.post(request.url, headers=request.headers, content=request.content)

        transport = httpx.MockTransport(answer)
        with httpx.Client(transport=transport, auth=local.Token(), base_url=url) as client:
            assert client.post("/v1/tenants", json={"name": "Acme"}).status_code == 201
        assert asked[0] is None
        assert len(asked) == 2


def test_the_link_to_the_dashboard_logs_in_and_leaves_no_token_in_the_address(runtime: Runtime) -> None:
    with started(runtime) as (url, token), httpx.Client(base_url=url) as browser:
        answer = browser.get("/admin/login", params={"token": token, "next": "/admin/jobs"})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/admin/jobs")
        assert token not in answer.text
        assert "HttpOnly" in answer.headers["Set-Cookie"]
        assert browser.get("/admin/jobs").status_code == 200
    with started(runtime) as (url, token):
        other = token[:-1] + ("E" if token.endswith("A") else "A")
        answer = httpx.get(f"{url}/admin/login", params={"token": other})
        assert answer.status_code == 403
        assert "Set-Cookie" not in answer.headers


def test_a_link_with_somebodys_key_logs_nobody_in_as_them(runtime: Runtime) -> None:
    key = add_key(runtime, "read", "admin")
    with started(runtime) as (url, _):
        answer = httpx.get(f"{url}/admin/login", params={"token": key})
        assert answer.status_code == 200
        assert "Set-Cookie" not in answer.headers
        assert key not in answer.text


def test_the_owner_is_not_counted_and_others_are(runtime: Runtime) -> None:
    runtime.settings.rate_per_minute = 2
    key = add_key(runtime, "read")
    with started(runtime) as (url, token):
        for shown, last in ((token, 200), (key, 429)):
            answers = [httpx.get(f"{url}/v1/models", headers=bearer(shown)) for _ in range(4)]
            assert answers[-1].status_code == last


def test_a_service_that_asks_nobody_makes_no_token(runtime: Runtime) -> None:
    runtime.settings.auth = "off"
    with local_token.shown(runtime, 1) as token:
        assert token is None
        assert not (runtime.settings.data_dir / "token").exists()


def test_a_user_without_a_home_is_served_all_the_same(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with started(runtime) as (url, token), Client(url, api_key=token) as client:
        assert client.whoami().actor == keys.LOCAL_KEY


def test_a_token_is_shown_on_a_terminal_and_in_no_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands._announce("http://127.0.0.1:8000", "zen_secret")
    assert "zen_secret" not in capsys.readouterr().err
    monkeypatch.setattr(err, "_force_terminal", True)
    commands._announce("http://127.0.0.1:8000", "zen_secret")
    assert "http://127.0.0.1:8000/admin/login?token=zen_secret" in capsys.readouterr().err
