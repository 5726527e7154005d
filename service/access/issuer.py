"""The OpenID provider of ``ZENSERVE_OIDC_ISSUER``: its published keys, and the tokens that it signs.

Signatures and claims are joserfc's to check. Every answer of the provider is bounded in time and size, and
only callers who come with its tokens wait for it: API keys go on working while it is down.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

import httpx
from joserfc import jws, jwt
from joserfc.jwk import ECKey, JWKRegistry, RSAKey

from zenserve.errors import ResourceError
from zenserve.service import log
from zenserve.service.access.identities import Identity, read_rules
from zenserve.service.settings import Settings, is_confidential
from zenserve.verifier.document import parse_json

LEEWAY_SECONDS: Final = 30
"""The largest accepted difference, in seconds, between the provider's clock and this host's."""
MAX_TOKEN_BYTES: Final = 1 << 14
_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Public-key signatures alone: never ``none``, nor HMAC, whose secret a public key could be taken for."""
_MIN_RSA_BITS: Final = 2048
_ACCESS_TYPES: Final = ("jwt", "at+jwt", "application/at+jwt")
_ID_TYPES: Final = ("jwt",)
_ANSWER_SECONDS: Final = 5.0
_ANSWER_BYTES: Final = 1 << 18
_FRESH_SECONDS: Final = 600.0
"""The keys are fetched again after as long: a key that the provider took back is refused from then on."""
_STALE_SECONDS: Final = 3600.0
"""So long known keys are good while the provider does not answer."""
_PAUSE_SECONDS: Final = 10.0
"""At least so long lies between fetches, whatever key ids callers make up."""

_Key = RSAKey | ECKey


@dataclass(frozen=True)
class _Published:
    """The keys and endpoints that the provider published, and the time of the fetch (``time.monotonic``)."""

    keys: Mapping[str, _Key]
    authorization_endpoint: str
    token_endpoint: str
    takes_basic: bool
    fetched_at: float


class Issuer:
    """One for each event loop."""

    def __init__(self, settings: Settings) -> None:
        assert settings.oidc_issuer is not None  # noqa: S101  narrows the type
        self.url = settings.oidc_issuer
        self.rules = read_rules(settings)
        self._settings = settings
        self._registry = jws.JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
        self._client = httpx.AsyncClient(
            verify=httpx.create_ssl_context(),
            trust_env=False,
            follow_redirects=False,
            timeout=_ANSWER_SECONDS,
            headers={"Accept": "application/json", "Accept-Encoding": "identity"},
        )
        self._published: _Published | None = None
        self._fetching = asyncio.Lock()
        self._next_fetch = 0.0

    @property
    def signs_in(self) -> bool:
        """True if the dashboard is a client of the provider."""
        return self._settings.oidc_client_id is not None

    def accepts(self, shown: str) -> bool:
        """Return whether the credential of an ``Authorization`` may be an access token of the provider."""
        return self._settings.oidc_audience is not None and shown.count(".") == 2

    async def count_keys(self) -> int:
        """Return the number of keys that are published now.

        Raises ``ResourceError`` (``resource.issuer``).
        """
        return len((await self._fetch()).keys)

    async def close(self) -> None:
        await self._client.aclose()

    async def identify(self, token: str) -> Identity | None:
        """The user of an access token for the API; None where the token is not good.

        Raises ``ResourceError`` (``resource.issuer``).
        """
        claims = await self._verify(token, self._settings.oidc_audience or "", _ACCESS_TYPES)
        # A token that is bound to its holder's key (RFC 9449, RFC 8705) is no bearer's.
        return self._identity(claims) if claims and "cnf" not in claims else None

    async def sign_in_url(self, redirect: str, state: str, nonce: str, verifier: str) -> str:
        """Return the URL at which a browser signs in (code flow, PKCE).

        Raises ``ResourceError`` (``resource.issuer``).
        """
        published = await self._current()
        digest = hashlib.sha256(verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self._settings.oidc_client_id,
            "redirect_uri": redirect,
            "scope": "openid profile email",
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        endpoint = published.authorization_endpoint
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    async def redeem(self, code: str, redirect: str, nonce: str, verifier: str) -> Identity | None:
        """The user that a browser's code stands for; None where the provider or a check refuses.

        Raises ``ResourceError`` (``resource.issuer``).
        """
        published = await self._current()
        secret = self._settings.oidc_client_secret
        client = {
            "client_id": self._settings.oidc_client_id or "",
            "client_secret": secret.get_secret_value() if secret else "",
        }
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect}
        form["code_verifier"] = verifier
        basic = httpx.BasicAuth(*(quote(part, safe="") for part in client.values()))
        given: dict[str, Any] = (
            {"data": form, "auth": basic} if published.takes_basic else {"data": form | client}
        )
        status, answer = await self._ask("POST", published.token_endpoint, **given)
        if status != 200 or not isinstance(answer.get("id_token"), str):
            log.event("issuer.refused", level=30, status=status)
            return None
        claims = await self._verify(answer["id_token"], client["client_id"], _ID_TYPES)
        if claims is None or not _is_for_client(claims, client["client_id"], nonce):
            return None
        return self._identity(claims)

    async def _verify(self, token: str, audience: str, types: tuple[str, ...]) -> dict[str, Any] | None:
        """The claims of a token that is this provider's, for this audience, and good now."""
        if len(token) > MAX_TOKEN_BYTES:
            return None
        try:
            header = jws.extract_compact(token.encode(), registry=self._registry).headers()
            if header["alg"] not in _ALGORITHMS or header.get("typ", "jwt").lower() not in types:
                return None
            # One of the provider's own: what jku, x5u and jwk name is never looked at.
            key = (await self._current(header["kid"])).keys[header["kid"]]
            claims = jwt.decode(token, key, registry=self._registry).claims
            self._required(audience).validate(claims)
        except ResourceError:
            raise
        except Exception as error:  # anybody may send anything: what cannot be read is not good
            log.event("token.refused", reason=type(error).__name__, claim=getattr(error, "claim", None))
            return None
        return claims

    def _required(self, audience: str) -> jwt.JWTClaimsRegistry:
        return jwt.JWTClaimsRegistry(
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self.url},
            aud={"essential": True, "value": audience},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
        )

    def _identity(self, claims: Mapping[str, Any]) -> Identity | None:
        return Identity.from_claims(claims, self.rules, self._settings.oidc_groups_claim)

    async def _current(self, key_id: str | None = None) -> _Published:
        """Return the published keys and endpoints, fetched anew if they are old or lack this key.

        Raises ``ResourceError`` (``resource.issuer``) where the provider has not answered for too long.
        """
        known, moment = self._published, time.monotonic()
        lacks = known is None or (key_id is not None and key_id not in known.keys)
        if known is None or lacks or moment > known.fetched_at + _FRESH_SECONDS:
            await self._refresh()
        if self._published is None or moment > self._published.fetched_at + _STALE_SECONDS:
            raise _absent()
        return self._published

    async def _refresh(self) -> None:
        """Fetch what is published, once for all who wait. What was known stays where that fails."""
        async with self._fetching:
            if time.monotonic() < self._next_fetch:
                return
            self._next_fetch = time.monotonic() + _PAUSE_SECONDS
            try:
                self._published = await self._fetch()
            except ResourceError as error:
                log.event("issuer.absent", level=30, reason=error.message)

    async def _fetch(self) -> _Published:
        place = f"{self.url.rstrip('/')}/.well-known/openid-configuration"
        status, metadata = await self._ask("GET", place)
        named = ("jwks_uri", "authorization_endpoint", "token_endpoint")
        keys_at, authorization, token = places = [str(metadata.get(name)) for name in named]
        if status != 200 or metadata.get("issuer") != self.url:
            raise _absent(f"{place} is not about this issuer")
        if not all(map(self._may_ask, places)):
            raise _absent("an endpoint is not https")
        status, published = await self._ask("GET", keys_at)
        listed = published.get("keys")
        if status != 200 or not isinstance(listed, list):
            raise _absent(f"{keys_at} has no keys")
        methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        keys = {each["kid"]: key for each in listed if (key := _read_key(each)) is not None}
        return _Published(keys, authorization, token, "client_secret_basic" in methods, time.monotonic())

    def _may_ask(self, url: str) -> bool:
        """A provider elsewhere cannot name addresses of this host."""
        return is_confidential(url) and (url.startswith("https:") or self.url.startswith("http:"))

    async def _ask(self, method: str, url: str, **given: Any) -> tuple[int, dict[str, Any]]:
        """Status and content of an answer. Raises ``ResourceError`` (``resource.issuer``)."""
        content = b""
        try:
            async with (
                asyncio.timeout(_ANSWER_SECONDS),
                self._client.stream(method, url, **given) as response,
            ):
                async for piece in response.aiter_raw():
                    content += piece
                    if len(content) > _ANSWER_BYTES:
                        raise ValueError("too long")
            answer = parse_json(content)
        except (httpx.HTTPError, TimeoutError, ValueError) as error:
            raise _absent(type(error).__name__) from None
        return response.status_code, answer if isinstance(answer, dict) else {}


def _is_for_client(claims: Mapping[str, Any], client_id: str, nonce: str) -> bool:
    """Return whether an ID token answers this sign-in and was issued to this client.

    See OpenID Connect, 3.1.3.7.
    """
    party = claims.get("azp", client_id if claims["aud"] in (client_id, [client_id]) else None)
    return party == client_id and claims.get("nonce") == nonce


def _read_key(published: Any) -> _Key | None:
    """A key that may sign tokens; None for others."""
    try:
        key = JWKRegistry.import_key(published)
        key.check_use("sig")
    except Exception:  # of a kind that joserfc does not know, or broken: the others are good all the same
        return None
    if not isinstance(key.kid, str) or not isinstance(key, RSAKey | ECKey):
        return None
    return None if isinstance(key, RSAKey) and key.raw_value.key_size < _MIN_RSA_BITS else key


def _absent(reason: str = "no answer") -> ResourceError:
    return ResourceError("resource.issuer", f"the issuer of ZENSERVE_OIDC_ISSUER cannot be asked: {reason}")
