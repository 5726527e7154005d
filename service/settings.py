"""Everything that can be set from outside, read from ``ZENSERVE_*`` environment variables."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from zenserve.base.processors import usable_cores
from zenserve.errors import RequestError
from zenserve.verifier.documents import said

QueueName = Literal["cpu", "gpu"]
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _listed(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def is_confidential(url: str) -> bool:
    """Return whether requests to this URL can be neither read nor changed on the way.

    That holds with https and for this host itself. False for a URL with credentials.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  raises for one that is no port
    except ValueError:
        return False
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    return safe and bool(parts.hostname) and "@" not in parts.netloc


def _spelled(value: object) -> str:
    """A setting as its variable has it."""
    if isinstance(value, list):
        return ",".join(_spelled(part) for part in value)
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


Listed = BeforeValidator(_listed)


class Settings(BaseSettings):
    """Defaults are the embedded shape: one directory, one worker, this host only.

    Production names a database, a broker and a store; then the secret, too, has to come from outside, since
    several hosts share it.
    """

    model_config = SettingsConfigDict(env_prefix="ZENSERVE_")

    data_dir: Path = Path("zenserve-data")
    """Database, broker and store of the embedded shape; in production, copies of artifacts."""
    database_url: SecretStr | None = None
    """``postgresql://user:password@host/name``; a file in the data directory unless given."""
    broker_url: SecretStr | None = None
    """``redis://:password@host:6379/0``; files in the data directory unless given."""
    store_url: str | None = None
    """``s3://bucket/prefix``; credentials and endpoint as all S3 clients read them (``AWS_*``). Files in the
    data directory unless given: several hosts must then share it.
    """
    store_cache_bytes: int = Field(default=32 << 30, ge=1)
    """The largest number of bytes of a remote store that are kept on this host."""
    secret_key: SecretStr | None = None
    previous_secret_keys: Annotated[list[SecretStr], NoDecode, Listed] = []
    """Earlier secrets, which still open what they sealed until ``zenserve secret rotate`` seals it anew."""

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=1, le=65535)
    processes: int = Field(default=1, ge=1, le=64)
    """Of the API on this host."""
    auth: Literal["keys", "off"] = "keys"
    """``off``: whoever reaches this host's loopback address may do everything, each of its users."""
    oidc_issuer: str | None = None
    """The OpenID provider whose users are let in, ``https://host/path``, spelled as in its tokens."""
    oidc_client_id: str | None = None
    """The dashboard's, at that provider."""
    oidc_client_secret: SecretStr | None = None
    oidc_audience: str | None = None
    """The ``aud`` of access tokens that the API takes; without it, the API takes none."""
    oidc_groups: Annotated[list[str], NoDecode, Listed] = []
    """``group=tenant:scope+scope``. Users in none of these groups are refused."""
    oidc_groups_claim: str = "groups"
    """The claim of both kinds of tokens that names a user's groups."""
    cors_origins: Annotated[list[str], NoDecode, Listed] = []
    """Web sites, ``https://host``, whose pages may ask: with keys of their own, never with cookies."""
    rate_per_minute: int = Field(default=600, ge=1)
    """Requests of one tenant, and of one address that shows no key."""
    verify_per_minute: int = Field(default=6000, ge=1)
    """Verifications of one address."""
    max_connections: int = Field(default=1024, ge=8)
    """Of each process of the API; an eighth of them from one address."""
    max_streams: int = Field(default=250, ge=1)
    """Jobs that one key follows or waits for at once, in each process of the API; a tenant, four times."""
    max_body_bytes: int = Field(default=64 << 20, ge=1)
    max_uploads_bytes: int = Field(default=4 << 30, ge=1)
    """The bytes that one tenant may have uploaded and not yet used."""
    webhook_networks: Annotated[list[ipaddress.IPv4Network | ipaddress.IPv6Network], NoDecode, Listed] = []
    """Private networks that webhooks may be in all the same."""
    max_queued: int = Field(default=10_000, ge=1)
    """Jobs of one tenant that wait or run, unless the tenant has a limit of its own."""
    retention_days: int | None = Field(default=None, ge=1, le=3650)
    """Proofs that are over are deleted after as many days, unless the tenant says otherwise."""
    retry_seconds: float = Field(default=3600.0, ge=0)
    """The seconds for which the input of a failed proof is kept, so that the proof can be retried."""

    backend: Annotated[str, Field(pattern=r"^(auto|cpu|gpu(:[0-9]{1,3})?)$")] = "auto"
    threads: int = Field(default_factory=usable_cores, ge=1)
    queues: Annotated[list[QueueName], NoDecode, Listed] = ["cpu", "gpu"]
    """The queues that workers on this host take jobs from."""
    worker_memory_bytes: int | None = Field(default=None, ge=1)
    """The bytes of memory that a job may take on this host; all that is free unless given."""
    gpu_from_seconds: float = Field(default=1.0, ge=0)
    """Jobs that would take a processor longer go to a GPU, if a worker has one."""
    basis_points: int = Field(default=1 << 19, ge=2)
    max_attempts: int = Field(default=3, ge=1)
    lease_seconds: float = Field(default=15.0, gt=0)
    kill_seconds: float = Field(default=20.0, gt=0)
    """A worker whose job does not stop when it is to is killed after as long."""
    drain_seconds: float = Field(default=0.0, ge=0)
    """The seconds for which a worker that is to stop may go on with its job before it gives the job back."""
    api_drain_seconds: float = Field(default=10.0, ge=1)
    """The seconds for which the API may go on once it is to stop; for a quarter, it still takes requests."""

    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(str.upper)] = "INFO"
    log_format: Literal["text", "json"] = "text"
    commit: str | None = None
    """Of the source that this was built from, for ``/version``."""

    @classmethod
    def read(cls, **given: object) -> Self:
        """The environment's settings, and these in place of them; what is in neither may be a credential of
        systemd's. Raises ``RequestError`` (``request.settings``), which names the variable.
        """
        named: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        try:
            return cls(**named | {"_secrets_dir": os.environ.get("CREDENTIALS_DIRECTORY")})
        except ValidationError as error:
            first = error.errors()[0]
            reason = said(first["msg"])
            if not first["loc"]:
                raise RequestError("request.settings", reason) from None
            name = f"ZENSERVE_{str(first['loc'][0]).upper()}"
            raise RequestError("request.settings", f"{name}: {reason}", field=name) from None

    @property
    def url(self) -> str:
        """The URL at which the API listens."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def environment(self) -> dict[str, str]:
        """Return the environment variables that give another process these settings."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return {
            f"ZENSERVE_{name.upper()}": _spelled(value) for name, value in given.items() if value is not None
        }

    @property
    def is_local(self) -> bool:
        """True if the API listens to this host alone."""
        return self.host in _LOOPBACK

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(("postgresql://", "sqlite:///")):
            raise ValueError("give postgresql://user:password@host:5432/name, or sqlite:///FILE")
        return url

    @field_validator("broker_url")
    @classmethod
    def _known_broker(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(("redis://", "rediss://")):
            raise ValueError("give redis://:password@host:6379/0")
        return url

    @field_validator("store_url")
    @classmethod
    def _known_store(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith("s3://"):
            raise ValueError("give s3://bucket/prefix, and AWS_ENDPOINT_URL for a store that is not Amazon's")
        return url

    @field_validator("oidc_issuer")
    @classmethod
    def _is_issuer(cls, url: str | None) -> str | None:
        if url is not None and (not is_confidential(url) or "?" in url or "#" in url):
            raise ValueError("give https://host/path, as the provider's tokens spell it")
        return url

    @field_validator("oidc_groups")
    @classmethod
    def _are_rules(cls, rules: list[str]) -> list[str]:
        for rule in rules:
            if not re.fullmatch(r".+=tnt_[0-9a-z]+:[a-z]+(\+[a-z]+)*", rule):
                raise ValueError(f"{rule} is no rule: give group=tnt_…:scope+scope")
        return rules

    @field_validator("cors_origins")
    @classmethod
    def _are_origins(cls, origins: list[str]) -> list[str]:
        for origin in origins:
            if not re.fullmatch(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?", origin):
                raise ValueError(f"{origin} is no origin: give https://host or http://host:port")
        return origins

    @model_validator(mode="after")
    def _whole(self) -> Self:
        shared = self.database_url is not None
        if shared != (self.broker_url is not None) or (self.store_url and not shared):
            raise ValueError(
                "set ZENSERVE_DATABASE_URL and ZENSERVE_BROKER_URL together; ZENSERVE_STORE_URL needs both"
            )
        if shared and self.secret_key is None:
            raise ValueError(
                "set ZENSERVE_SECRET_KEY, the same on all hosts:"
                " python3 -c 'import secrets; print(secrets.token_hex(32))'"
            )
        if self.auth == "off" and not self.is_local:
            raise ValueError(
                f"set ZENSERVE_AUTH=keys to listen on {self.host}: with off, whoever reaches it is let in"
            )
        return self

    @model_validator(mode="after")
    def _whole_issuer(self) -> Self:
        client, secret, audience = self.oidc_client_id, self.oidc_client_secret, self.oidc_audience
        if self.oidc_issuer is None:
            if client or secret or audience or self.oidc_groups:
                raise ValueError("set ZENSERVE_OIDC_ISSUER, or none of ZENSERVE_OIDC_*")
            return self
        if self.auth == "off":
            raise ValueError("set ZENSERVE_AUTH=keys with ZENSERVE_OIDC_ISSUER: with off, nobody is asked")
        if not self.oidc_groups:
            raise ValueError("set ZENSERVE_OIDC_GROUPS: without it, ZENSERVE_OIDC_ISSUER lets nobody in")
        if (client is None) != (secret is None) or not (client or audience):
            raise ValueError(
                "set ZENSERVE_OIDC_CLIENT_ID and ZENSERVE_OIDC_CLIENT_SECRET together for the dashboard,"
                " ZENSERVE_OIDC_AUDIENCE for the API, or all three"
            )
        if client == audience:
            raise ValueError(
                "give ZENSERVE_OIDC_AUDIENCE another value than ZENSERVE_OIDC_CLIENT_ID: tokens that the"
                " dashboard gets to know who signs in would open the API"
            )
        return self
