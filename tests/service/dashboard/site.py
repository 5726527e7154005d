"""A service with the dashboard, and who visits it, without a browser."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select

from tests.service.busy import fill, key_for
from tests.service.support import serving
from zenserve.service.access.principal import Scope
from zenserve.service.dashboard.visitors import COOKIE, LIFETIME
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings
from zenserve.service.storage import schema
from zenserve.service.storage.database import Database, now
from zenserve.service.storage.records.accounts import Login
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job

ROOMS = {
    "/admin": "read",
    "/admin/": "read",
    "/admin/jobs": "read",
    "/admin/proofs": "read",
    "/admin/models": "read",
    "/admin/datasets": "read",
    "/admin/ceremonies": "read",
    "/admin/circuits": "admin",
    "/admin/tenants": "admin",
    "/admin/webhooks": "manage",
    "/admin/keys": "manage",
    "/admin/audit": "manage",
    "/admin/health": "admin",
}


@dataclass(frozen=True)
class Site:
    """A service that asks for keys, and where it is."""

    runtime: Runtime
    url: str
    open: ExitStack

    @property
    def database(self) -> Database:
        return self.runtime.database

    def browser(self) -> httpx.Client:
        """It keeps cookies, and leaves redirects to be looked at."""
        return self.open.enter_context(httpx.Client(base_url=self.url))

    def visitor(self, *scopes: Scope, tenant: str = LOCAL_TENANT) -> httpx.Client:
        """A browser that is logged in, without an attempt that would count."""
        client, cookie, moment = self.browser(), secrets.token_urlsafe(), now()
        row = Login(
            digest=hashlib.sha256(cookie.encode()).digest(),
            key_id=f"key_{self.key(*scopes, tenant=tenant)[4:16]}",
            created_at=moment,
            expires_at=moment + LIFETIME,
        )
        with self.database.write() as session:
            session.add(row)
        client.cookies.set(COOKIE, cookie, path="/admin")
        return client

    def key(self, *scopes: Scope, tenant: str = LOCAL_TENANT) -> str:
        return key_for(self.runtime, tenant, *scopes)


@contextmanager
def site(folder: Path, jobs: int = 0, **given: Any) -> Iterator[Site]:
    runtime = Runtime.open(Settings.read(data_dir=folder, auth="keys", rate_per_minute=100_000, **given))
    schema.migrate(runtime.database)
    if jobs:
        fill(runtime, jobs)
    with serving(runtime) as url, ExitStack() as stack:
        yield Site(runtime, url, stack)
    runtime.close()


def send(client: httpx.Client, path: str, **form: object) -> httpx.Response:
    """A form of one of the visitor's own pages."""
    pages = client.get("/admin/jobs").text + client.get("/admin/keys").text
    return client.post(path, data={"token": token(pages), **form})


def token(page: str) -> str:
    found = re.search(r'name="token" value="([0-9a-f]{64})"', page)
    assert found is not None
    return found[1]


def first(site: Site, tenant: str, state: str, kind: str = "proof") -> str:
    with site.database.read() as session:
        query = select(Job.id).where(Job.tenant_id == tenant, Job.state == state, Job.kind == kind)
        return session.scalars(query.order_by(Job.created_at)).first() or ""


def state(site: Site, job_id: str) -> str:
    with site.database.read() as session:
        return session.get_one(Job, job_id).state
