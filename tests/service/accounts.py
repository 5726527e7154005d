"""Tenants and keys for tests, and a service that asks for keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx

from tests.patience import PATIENCE_SECONDS
from tests.service.support import serving
from zenserve.service.access import accounts
from zenserve.service.access.principal import LOCAL, Scope
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import now
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.repositories.accounts import Keys

OPERATOR = replace(LOCAL, actor="command line")


def asking_for_keys(runtime: Runtime, **settings: Any) -> Runtime:
    """The same service, with other settings."""
    return replace(runtime, settings=runtime.settings.model_copy(update={"auth": "keys", **settings}))


def add_tenant(runtime: Runtime, name: str, **limits: int) -> str:
    with runtime.database.write() as session:
        return accounts.add_tenant(session, OPERATOR, name, {**limits}).id


def add_key(runtime: Runtime, *scopes: Scope, tenant_id: str = LOCAL_TENANT) -> str:
    with runtime.database.write() as session:
        return accounts.add_key(session, OPERATOR, tenant_id, "test", list(scopes), None)[1]


def key_id(key: str) -> str:
    return f"key_{key.split('_')[1]}"


def expire(runtime: Runtime, key: str) -> None:
    with runtime.database.write() as session:
        Keys(session).get(key_id(key)).expires_at = now() - timedelta(seconds=1)


def revoke(runtime: Runtime, key: str) -> None:
    with runtime.database.write() as session:
        accounts.revoke_key(session, OPERATOR, key_id(key))


def bearer(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


@contextmanager
def calling(runtime: Runtime) -> Iterator[httpx.Client]:
    """A client of a server over this runtime."""
    with serving(runtime) as url, httpx.Client(base_url=url, timeout=2 * PATIENCE_SECONDS) as http:
        yield http
