"""Access tokens of an OpenID provider: which are let in, as whom, and which never."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.service import provider as providers
from tests.service.accounts import add_key, add_tenant, asking_for_keys, bearer, calling
from tests.service.conftest import open_runtime
from tests.service.provider import AUDIENCE, CLIENT, Provider, ec_key, providing, rsa_key
from tests.service.test_log import _Lines, lines  # noqa: F401  the fixture
from zenserve.errors import RequestError
from zenserve.service.access.identities import read_rules
from zenserve.service.access.keys import is_still_good
from zenserve.service.access.principal import Principal
from zenserve.service.app import create_app
from zenserve.service.doctor import examine
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings
from zenserve.service.storage.records.base import LOCAL_TENANT


@pytest.fixture(scope="module")
def shared_provider() -> Iterator[Provider]:
    """For tests that change nothing of it."""
    with providing() as provider:
        yield provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    with providing() as provider:
        yield provider


class Clock(SimpleNamespace):
    seconds: float = 1000.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """That of the cached keys, and of the callers that are known for two seconds: it stands still."""
    clock = Clock()
    monkeypatch.setattr("zenserve.service.access.issuer.time", clock)
    return clock


@pytest.fixture(scope="module")
def http(shared_provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Of a service that trusts it."""
    runtime = open_runtime(tmp_path_factory.mktemp("trusting") / "data")
    with calling(asking_for_keys(runtime, **shared_provider.settings())) as http:
        yield http
    runtime.close()


def whoami(http: httpx.Client, token: str) -> httpx.Response:
    return http.get("/v1/whoami", headers=bearer(token))


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "ok")


def refused(http: httpx.Client, token: str) -> bool:
    return code(whoami(http, token)) == (401, "auth.invalid")


def encoded(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize("key", [rsa_key("rsa"), ec_key("ec")], ids=["RSA", "EC"])
def test_a_token_is_a_caller(http: httpx.Client, shared_provider: Provider, key: providers.Key) -> None:
    answer = whoami(http, shared_provider.token(key=key))
    assert answer.json() == {"tenant_id": LOCAL_TENANT, "actor": "oidc:alice", "scopes": ["read", "prove"]}
    assert "RateLimit" in answer.headers
    assert http.get("/v1/proofs", headers=bearer(shared_provider.token(key=key))).status_code == 200
    assert code(http.get("/v1/audit", headers=bearer(shared_provider.token()))) == (403, "auth.scope")


def test_the_audience_may_be_one_of_several(http: httpx.Client, shared_provider: Provider) -> None:
    assert whoami(http, shared_provider.token(aud=["account", AUDIENCE])).status_code == 200


def test_clocks_may_be_apart_a_little(http: httpx.Client, shared_provider: Provider) -> None:
    now = int(time.time())
    assert whoami(http, shared_provider.token(exp=now - 5, iat=now + 5, nbf=now + 5)).status_code == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"iss": ["URL"]},
        {"iss": "URL/"},
        {"aud": "another"},
        {"aud": CLIENT},
        {"aud": []},
        {"aud": None},
        {"aud": {AUDIENCE: 1}},
        {"exp": 1},
        {"exp": -90},
        {"exp": None},
        {"exp": "9999999999"},
        {"exp": True},
        {"exp": float("nan")},
        {"nbf": +90},
        {"nbf": "now"},
        {"iat": +90},
        {"iat": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "a\nb"},
        {"sub": "a" * 256},
        {"cnf": {"jkt": "bound to a key"}},
    ],
    ids=str,
)
def test_claims_that_are_not_good(
    http: httpx.Client, shared_provider: Provider, claims: dict[str, Any]
) -> None:
    given = json.loads(json.dumps(claims).replace("URL", shared_provider.url))
    for name, value in given.items():
        if name in ("exp", "nbf", "iat") and value in (90, -90):
            given[name] = int(time.time()) + value
    assert refused(http, shared_provider.token(**given))


def _none(provider: Provider, head: dict[str, Any], body: str) -> str:
    return f"{encoded(head | {'alg': 'none'})}.{body}."


def _none_with_a_signature(provider: Provider, head: dict[str, Any], body: str) -> str:
    return f"{encoded(head | {'alg': 'nOnE'})}.{body}.{provider.token().split('.')[2]}"


def _hmac_with_the_public_key(provider: Provider, head: dict[str, Any], body: str) -> str:
    public = rsa_key("rsa").public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    told = f"{encoded(head | {'alg': 'HS256'})}.{body}"
    mac = hmac.new(public, told.encode(), hashlib.sha256).digest()
    return f"{told}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def _signed(**changed: Any) -> Callable[[Provider, dict[str, Any], str], str]:
    """With the provider's own key, and a header as no provider writes it. None takes a part away."""

    def token(provider: Provider, head: dict[str, Any], body: str) -> str:
        header = {name: value for name, value in (head | changed).items() if value is not None}
        told = f"{encoded(header)}.{body}"
        private = rsa_key("rsa").private_key
        assert private is not None
        signature = private.sign(told.encode(), PKCS1v15(), SHA256())
        return f"{told}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"

    return token


def _own_key_in(name: str) -> Callable[[Provider, dict[str, Any], str], str]:
    """Signed with the attacker's key, which the header itself names."""

    def token(provider: Provider, head: dict[str, Any], body: str) -> str:
        own = ec_key("rsa")
        places = {
            "jwk": own.as_dict(private=False),
            "jku": f"{provider.url}/own",
            "x5u": f"{provider.url}/own",
        }
        return provider.token(key=own, header={name: places[name]})

    return token


def _another_signature(provider: Provider, head: dict[str, Any], body: str) -> str:
    return ".".join([*provider.token().split(".")[:2], provider.token(jti="another").split(".")[2]])


def _changed(provider: Provider, head: dict[str, Any], body: str) -> str:
    told = provider.token().split(".")
    claims = json.loads(base64.urlsafe_b64decode(told[1] + "=="))
    return f"{told[0]}.{encoded(claims | {'sub': 'mallory'})}.{told[2]}"


ATTACKS: dict[str, Callable[[Provider, dict[str, Any], str], str]] = {
    "alg none": _none,
    "alg nOnE": _none_with_a_signature,
    "HS256 with the public key": _hmac_with_the_public_key,
    "jwk": _own_key_in("jwk"),
    "jku": _own_key_in("jku"),
    "x5u": _own_key_in("x5u"),
    "another token's signature": _another_signature,
    "other claims": _changed,
    "another's key of this id": lambda p, *_: p.token(key=ec_key("rsa")),
    "another algorithm's key": lambda p, *_: p.token(key=ec_key("ec"), header={"kid": "rsa"}),
    "no key id": _signed(kid=None),
    "a logout token": _signed(typ="logout+jwt"),
    "what must be understood": _signed(crit=["x"], x=1),
    "crit is no list": _signed(crit=7),
    "alg is no text": _signed(alg=["RS256"]),
    "kid is no text": _signed(kid={}),
    "typ is no text": _signed(typ=7),
    "head is no object": lambda p, head, body: f"{encoded(['alg'])}.{body}.AA",
    "head is nested": lambda p, head, body: f"{'W' * 8000}.{body}.AA",
    "nothing": lambda *_: "..",
    "no base64": lambda *_: "é.ü.ß",
    "oversized": lambda p, *_: p.token(padding="x" * 20_000),
}


def test_parts_of_a_header_that_are_not_known_are_passed_over(
    http: httpx.Client, shared_provider: Provider
) -> None:
    """Beside them, those of the attacks above are all that is wrong."""
    whole = shared_provider.token()
    head = json.loads(base64.urlsafe_b64decode(whole.split(".")[0] + "=="))
    token = _signed(x=1, typ="JWT", jku="https://evil.example/keys")(
        shared_provider, head, whole.split(".")[1]
    )
    assert whoami(http, token).status_code == 200


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks(http: httpx.Client, shared_provider: Provider, attack: str) -> None:
    whole = shared_provider.token()
    before = shared_provider.asked.copy()
    head = json.loads(base64.urlsafe_b64decode(whole.split(".")[0] + "=="))
    token = ATTACKS[attack](shared_provider, head, whole.split(".")[1])
    headers = {b"Authorization": b"Bearer " + token.encode()}
    assert code(http.get("/v1/whoami", headers=headers)) == (401, "auth.invalid")
    assert shared_provider.asked["metadata"] - before["metadata"] <= 1  # the keys, and nothing that it names


def test_groups_decide_the_tenant_and_the_scopes(runtime: Runtime, shared_provider: Provider) -> None:
    other = add_tenant(runtime, "other")
    rules = (
        f"readers={LOCAL_TENANT}:read",
        f"cn=provers={LOCAL_TENANT}:prove+reveal",
        f"others={other}:all",
        "nowhere=tnt_gone:read",
    )
    with calling(
        asking_for_keys(runtime, **shared_provider.settings(*rules, oidc_groups_claim="roles"))
    ) as http:
        told = {
            groups: whoami(http, shared_provider.token(roles=list(groups))).json()
            for groups in [("readers",), ("readers", "cn=provers", "x"), ("others",)]
        }
        assert told["readers",]["scopes"] == ["read"]
        assert told["readers", "cn=provers", "x"]["scopes"] == ["read", "prove", "reveal"]
        assert (told["others",]["tenant_id"], "admin" in told["others",]["scopes"]) == (other, True)
        assert whoami(http, shared_provider.token(roles="readers")).status_code == 200
        for bad in (None, [], ["x"], ["readers", "others"], {"readers": 1}, [["readers"]], 7, "reader"):
            assert code(whoami(http, shared_provider.token(roles=bad))) == (403, "auth.groups"), bad
        assert code(whoami(http, shared_provider.token(roles=["nowhere"]))) == (403, "auth.suspended")
        admin = bearer(add_key(runtime, "admin"))
        http.post(f"/v1/tenants/{other}/suspend", headers=admin)
        assert code(whoami(http, shared_provider.token(roles=["others"], jti="2"))) == (403, "auth.suspended")
        noted = http.get("/v1/audit", headers=admin).json()["items"]
        assert {"oidc:alice"} == {item["actor"] for item in noted if item["action"] == "token.refuse"}


def test_the_audit_log_names_the_subject(runtime: Runtime, shared_provider: Provider) -> None:
    rule = f"provers={LOCAL_TENANT}:manage"
    subject = "auth0|" + "5" * 249
    with calling(asking_for_keys(runtime, **shared_provider.settings(rule))) as http:
        headers = bearer(shared_provider.token(sub=subject))
        hook = http.post("/v1/webhooks", json={"url": "https://example.com/hook"}, headers=headers)
        assert hook.status_code == 201
        refused(http, shared_provider.token(aud="another"))
        noted = http.get("/v1/audit", headers=headers | bearer(add_key(runtime, "admin"))).json()["items"]
    assert [(item["actor"], item["action"]) for item in noted] == [
        ("command line", "key.create"),
        ("nobody", "token.refuse"),
        (f"oidc:{subject}", "webhook.create"),
    ]


@pytest.mark.usefixtures("_buckets_stay")
def test_users_of_a_tenant_share_its_rate(runtime: Runtime, shared_provider: Provider) -> None:
    with calling(asking_for_keys(runtime, rate_per_minute=3, **shared_provider.settings())) as http:
        statuses = [whoami(http, shared_provider.token(sub=f"user{n}")).status_code for n in range(4)]
    assert statuses == [200, 200, 200, 429]


def test_keys_are_fetched_once_and_again_when_they_are_old(
    runtime: Runtime, provider: Provider, clock: Clock
) -> None:
    with calling(asking_for_keys(runtime, **provider.settings())) as http:
        for n in range(3):
            assert whoami(http, provider.token(jti=str(n))).status_code == 200
        assert provider.asked == {"metadata": 1, "keys": 1}
        old, provider.keys = provider.token(), [rsa_key("new")]
        clock.seconds += 11
        assert whoami(http, provider.token(jti="4")).status_code == 200  # an unknown key: fetched at once
        assert refused(http, old)
        assert provider.asked["keys"] == 2
        clock.seconds += 601
        assert whoami(http, provider.token(jti="5")).status_code == 200
        assert provider.asked["keys"] == 3


def test_a_key_that_was_taken_back_is_refused_once_the_keys_are_old(
    runtime: Runtime, provider: Provider, clock: Clock
) -> None:
    with calling(asking_for_keys(runtime, **provider.settings())) as http:
        assert whoami(http, provider.token()).status_code == 200
        stolen, provider.keys = provider.token(jti="stolen"), [ec_key("ec")]
        clock.seconds += 601
        assert refused(http, stolen)


def test_unknown_key_ids_make_one_fetch_and_no_more(
    runtime: Runtime, provider: Provider, clock: Clock
) -> None:
    with calling(asking_for_keys(runtime, **provider.settings())) as http:
        assert whoami(http, provider.token()).status_code == 200
        clock.seconds += 11
        for n in range(5):
            assert refused(http, provider.token(header={"kid": f"made up {n}"}))
        assert provider.asked["keys"] == 2
        assert whoami(http, provider.token(jti="1")).status_code == 200


def test_a_provider_that_is_away_holds_up_nobody_with_an_api_key(
    runtime: Runtime, provider: Provider, clock: Clock
) -> None:
    provider.is_up = False
    key = add_key(runtime, "read")
    with calling(asking_for_keys(runtime, **provider.settings())) as http:
        answer = whoami(http, provider.token())
        assert code(answer) == (503, "resource.issuer")
        assert answer.headers["Retry-After"]
        assert whoami(http, key).status_code == 200
        provider.is_up = True
        assert code(whoami(http, provider.token(jti="1"))) == (503, "resource.issuer")  # not asked so soon
        clock.seconds += 11
        assert whoami(http, provider.token(jti="2")).status_code == 200
        provider.is_up = False
        clock.seconds += 601
        assert whoami(http, provider.token(jti="3")).status_code == 200  # known keys go on for an hour
        clock.seconds += 3600
        assert code(whoami(http, provider.token(jti="4"))) == (503, "resource.issuer")
        assert whoami(http, key).status_code == 200


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"jwks_uri": None},
        {"token_endpoint": None},
        {"jwks_uri": "http://169.254.169.254/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "https://user@host/keys"},
        {"token_endpoint": "http://example.com/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
    ids=str,
)
def test_what_is_published_is_not_trusted(
    runtime: Runtime, provider: Provider, metadata: dict[str, Any]
) -> None:
    provider.metadata |= metadata
    with calling(asking_for_keys(runtime, **provider.settings())) as http:
        assert code(whoami(http, provider.token())) == (503, "resource.issuer")
    assert provider.asked == {"metadata": 1}


def test_what_is_published_is_bounded(runtime: Runtime, provider: Provider) -> None:
    provider.padding = 1 << 18
    with calling(asking_for_keys(runtime, **provider.settings())) as http:
        assert code(whoami(http, provider.token())) == (503, "resource.issuer")


def test_keys_that_are_too_short_are_passed_over(runtime: Runtime, provider: Provider) -> None:
    from joserfc.errors import SecurityWarning
    from joserfc.jwk import RSAKey

    with pytest.warns(SecurityWarning):
        short = RSAKey.generate_key(1024, {"kid": "short"})
    provider.keys.insert(0, short)
    with calling(asking_for_keys(runtime, **provider.settings())) as http:
        assert refused(http, provider.token(key=short))
        assert whoami(http, provider.token(key=rsa_key("rsa"))).status_code == 200


def test_without_an_audience_the_api_takes_no_tokens(runtime: Runtime, shared_provider: Provider) -> None:
    given = shared_provider.settings(oidc_audience=None)
    with calling(asking_for_keys(runtime, **given)) as http:
        assert refused(http, shared_provider.token(aud=""))


def test_whoever_waits_is_good_no_longer_than_the_token(runtime: Runtime) -> None:
    tenant = add_tenant(runtime, "theirs")
    with runtime.database.write() as session:
        user = Principal(tenant, "oidc:alice", frozenset(), None, time.time() + 300)
        assert is_still_good(session, user)
        assert not is_still_good(session, Principal(tenant, "oidc:alice", frozenset(), None, time.time() - 1))
        assert not is_still_good(
            session, Principal("tnt_gone", "oidc:alice", frozenset(), None, time.time() + 300)
        )
        assert not is_still_good(session, Principal(tenant, "oidc:alice", frozenset()))


def test_tokens_are_in_no_line(http: httpx.Client, shared_provider: Provider, lines: _Lines) -> None:  # noqa: F811
    tokens = [shared_provider.token(), shared_provider.token(aud="another"), "a.b.c"]
    for token in tokens:
        whoami(http, token)
    written = "".join(lines.text)
    assert "reason=InvalidClaimError claim=aud" in written
    assert not any(part in written for token in tokens[:2] for part in token.split("."))


def test_the_doctor_asks_it_and_looks_for_its_tenants(runtime: Runtime, provider: Provider) -> None:
    def found(*rules: str) -> tuple[str, str, str | None]:
        trusting = asking_for_keys(runtime, **provider.settings(*rules))
        finding = next(finding for finding in examine(trusting) if finding.name == "issuer")
        return finding.verdict, finding.detail, finding.remedy

    assert found() == ("ok", f"{provider.url}, 2 keys", None)
    verdict, detail, _ = found(f"a={LOCAL_TENANT}:read", "b=tnt_gone:read")
    assert (verdict, "tnt_gone" in detail, LOCAL_TENANT in detail) == ("warn", True, False)
    provider.metadata["issuer"] = "https://another.example"
    verdict, detail, remedy = found()
    assert (verdict, "is not about this issuer" in detail) == ("fail", True)
    assert "ZENSERVE_OIDC_ISSUER" in (remedy or "")


GOOD = {
    "issuer": "https://login.example/realms/one",
    "client_id": "dashboard",
    "client_secret": "of the client",
    "audience": "https://zenserve.example",
    "groups": f"cn=provers={LOCAL_TENANT}:read+prove,admins={LOCAL_TENANT}:all",
}


def read(monkeypatch: pytest.MonkeyPatch, **changed: str | None) -> Settings:
    for name, value in (GOOD | changed).items():
        monkeypatch.delenv(f"ZENSERVE_OIDC_{name.upper()}", raising=False)
        if value is not None:
            monkeypatch.setenv(f"ZENSERVE_OIDC_{name.upper()}", value)
    return Settings.read()


def test_settings_that_are_good(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read(monkeypatch)
    assert settings.oidc_groups == GOOD["groups"].split(",")
    assert settings.environment()["ZENSERVE_OIDC_GROUPS"] == GOOD["groups"]
    assert settings.environment()["ZENSERVE_OIDC_CLIENT_SECRET"] == GOOD["client_secret"]
    assert GOOD["client_secret"] not in repr(settings)
    read(monkeypatch, audience=None)
    read(monkeypatch, client_id=None, client_secret=None)
    read(monkeypatch, issuer="http://127.0.0.1:8080/realms/one")


def test_the_guide_s_example_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    guide = Path(__file__).parents[2] / "docs" / "operations.md"
    given = dict(re.findall(r"^ *export ZENSERVE_OIDC_(\w+)=(\S+)", guide.read_text(), re.MULTILINE))
    settings = read(monkeypatch, **{name.lower(): value for name, value in given.items()})
    assert {rule.tenant_id for rule in read_rules(settings)} == {"tnt_5d1f0c", LOCAL_TENANT}
    assert given.keys() == {name.upper() for name in GOOD}


def test_the_client_s_secret_may_be_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "zenserve_oidc_client_secret").write_text("of a file\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    secret = read(monkeypatch, client_secret=None).oidc_client_secret
    assert secret is not None
    assert secret.get_secret_value() == "of a file"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"issuer": "http://login.example"}, "ZENSERVE_OIDC_ISSUER"),
        ({"issuer": "https://"}, "ZENSERVE_OIDC_ISSUER"),
        ({"issuer": "https://host:port"}, "ZENSERVE_OIDC_ISSUER"),
        ({"issuer": "https://user:password@host"}, "ZENSERVE_OIDC_ISSUER"),
        ({"issuer": "https://host/?a=b"}, "ZENSERVE_OIDC_ISSUER"),
        ({"issuer": None}, "ZENSERVE_OIDC_ISSUER"),
        ({"groups": None}, "ZENSERVE_OIDC_GROUPS"),
        ({"groups": "provers"}, "ZENSERVE_OIDC_GROUPS"),
        ({"groups": "provers=tnt_local"}, "ZENSERVE_OIDC_GROUPS"),
        ({"groups": "provers=tnt_local:"}, "ZENSERVE_OIDC_GROUPS"),
        ({"groups": "=tnt_local:read"}, "ZENSERVE_OIDC_GROUPS"),
        ({"client_secret": None}, "ZENSERVE_OIDC_CLIENT_SECRET"),
        ({"client_id": None}, "ZENSERVE_OIDC_CLIENT_ID"),
        ({"client_id": None, "client_secret": None, "audience": None}, "ZENSERVE_OIDC_AUDIENCE"),
        ({"audience": "dashboard"}, "ZENSERVE_OIDC_AUDIENCE"),
    ],
)
def test_settings_that_are_not(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, str | None], named: str
) -> None:
    with pytest.raises(RequestError, match=named) as refusal:
        read(monkeypatch, **changed)
    assert refusal.value.code == "request.settings"


def test_nobody_is_asked_to_sign_in_where_nobody_is_asked_for_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZENSERVE_AUTH", "off")
    with pytest.raises(RequestError, match="ZENSERVE_AUTH=keys"):
        read(monkeypatch)


def test_scopes_that_there_are_not_stop_the_service(runtime: Runtime, shared_provider: Provider) -> None:
    rule = f"provers={LOCAL_TENANT}:read+write"
    with pytest.raises(RequestError, match="ZENSERVE_OIDC_GROUPS: there is no scope write"):
        create_app(asking_for_keys(runtime, **shared_provider.settings(rule)))


def test_what_is_not_installed_is_named(
    runtime: Runtime, shared_provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zenserve.service.app.find_spec", lambda _: None)
    with pytest.raises(RequestError, match="pip install joserfc"):
        create_app(asking_for_keys(runtime, **shared_provider.settings()))
