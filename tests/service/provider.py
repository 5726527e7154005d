"""A small OpenID provider: discovery, keys, a sign-in page that lets its user in at once, and tokens."""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import unquote, urlencode

import pytest
import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.patience import until
from tests.service.support import _Server
from zenserve.service.serve import listen
from zenserve.service.storage.records.base import LOCAL_TENANT

pytest.importorskip("joserfc", reason="OpenID Connect needs joserfc")

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

Key = RSAKey | ECKey
CLIENT, SECRET, AUDIENCE = "dashboard", "a secret: 100 % + more", "https://zenserve.example"


@cache
def rsa_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})


@cache
def ec_key(kid: str) -> ECKey:
    return ECKey.generate_key("P-256", {"kid": kid, "use": "sig"})


class Provider:
    """What it publishes and who its user is can be changed at any time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys: list[Key] = [rsa_key("rsa"), ec_key("ec")]
        self.metadata: dict[str, Any] = {
            "issuer": url,
            "jwks_uri": f"{url}/keys",
            "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token",
        }
        self.user: dict[str, Any] = {"sub": "alice", "email": "alice@example.com", "groups": ["provers"]}
        self.id_claims: dict[str, Any] = {}
        """In place of those that an ID token has."""
        self.asked: Counter[str] = Counter()
        self.is_up = True
        self.padding = 0
        """Bytes of white space around what it publishes."""
        self._codes: dict[str, dict[str, str]] = {}

    def settings(self, *rules: str, **others: Any) -> dict[str, Any]:
        """Of a service that trusts it. Unless told else, ``provers`` may read and prove."""
        return {
            "oidc_issuer": self.url,
            "oidc_client_id": CLIENT,
            "oidc_client_secret": SecretStr(SECRET),
            "oidc_audience": AUDIENCE,
            "oidc_groups": list(rules) or [f"provers={LOCAL_TENANT}:read+prove"],
            **others,
        }

    def token(self, *groups: str, key: Key | None = None, header: Any = None, **claims: Any) -> str:
        """An access token of its user; claims that are None are left out."""
        key = key or self.keys[0]
        now = int(time.time())
        usual = {"iss": self.url, "aud": AUDIENCE, "iat": now, "exp": now + 300, "client_id": "script"}
        usual |= self.user | {"groups": list(groups) or self.user["groups"]} | claims
        alg = "RS256" if isinstance(key, RSAKey) else "ES256"
        told = {name: value for name, value in usual.items() if value is not None}
        return jwt.encode(
            {"alg": alg, "kid": key.kid, "typ": "at+jwt"} | (header or {}), told, key, algorithms=[alg]
        )

    def application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", lambda _: self._publish(self.metadata)),
                Route("/keys", lambda _: self._publish(self._key_set())),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
            ]
        )

    def _key_set(self) -> dict[str, Any]:
        return {"keys": [key.as_dict(private=False) for key in self.keys] + [{"kty": "another"}]}

    def _publish(self, content: dict[str, Any]) -> Response:
        self.asked["metadata" if content is self.metadata else "keys"] += 1
        if not self.is_up:
            return Response(status_code=503)
        answer = JSONResponse(content)
        return Response(bytes(answer.body) + b" " * self.padding, media_type="application/json")

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe()
        self._codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": self.url, "session_state": "1"}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(back)}")

    async def _token(self, request: Request) -> Response:
        self.asked["token"] += 1
        form = {name: str(value) for name, value in (await request.form()).items()}
        asked = self._codes.pop(form["code"], None)
        challenge = hashlib.sha256(form["code_verifier"].encode()).digest()
        is_good = (
            asked is not None
            and self._client(request, form) == (CLIENT, SECRET)
            and form["grant_type"] == "authorization_code"
            and form["redirect_uri"] == asked["redirect_uri"]
            and base64.urlsafe_b64encode(challenge).rstrip(b"=").decode() == asked["code_challenge"]
        )
        if asked is None or not is_good:
            return JSONResponse({"error": "invalid_grant"}, 400)
        claims = {"aud": CLIENT, "client_id": None, "nonce": asked["nonce"]} | self.id_claims
        token = self.token(header={"typ": "JWT"}, **claims)
        return JSONResponse({"id_token": token, "access_token": "opaque", "token_type": "Bearer"})

    def _client(self, request: Request, form: dict[str, str]) -> tuple[str, str]:
        if "client_secret" in form:
            return form["client_id"], form["client_secret"]
        shown = base64.b64decode(request.headers["Authorization"].removeprefix("Basic ")).decode()
        name, _, secret = shown.partition(":")
        return unquote(name), unquote(secret)


@contextmanager
def providing() -> Iterator[Provider]:
    """A provider on this host."""
    with listen("127.0.0.1", 0) as listener:
        provider = Provider(f"http://127.0.0.1:{listener.getsockname()[1]}")
        config = uvicorn.Config(provider.application(), log_config=None, timeout_graceful_shutdown=1)
        server = _Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        until(lambda: server.started)
        try:
            yield provider
        finally:
            server.should_exit = True
            thread.join()
