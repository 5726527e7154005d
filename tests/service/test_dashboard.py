"""The dashboard without a browser: who may see and do what, forms of other sites, names that are markup."""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from client import Model as ClientModel
from service.access.principal import SCOPES, Scope
from service.dashboard.layers import layers
from service.dashboard.pictures import Picture
from service.dashboard.stages import EXPLAINED
from service.dashboard.visitors import COOKIE, LIFETIME
from service.jobs.claims import Claims
from service.jobs.jobs import Jobs
from service.jobs.reaping import Reaping
from service.runtime import Runtime
from service.settings import Settings
from service.storage import schema
from service.storage.database import Database, now
from service.storage.records.accounts import ApiKey, AuditEntry, Login, Tenant
from service.storage.records.base import LOCAL_TENANT, new_id
from service.storage.records.jobs import TERMINAL, Job, JobLabel
from service.storage.records.resources import Model, Proof
from service.storage.records.webhooks import Delivery, Webhook
from service.storage.repositories import overview
from service.storage.repositories.overview import RANGES, Overview, Percentiles
from service.worker.heartbeat import Hold
from service.worker.tasks import TASKS
from tests.service import shown
from tests.service.busy import HOSTILE, fill, key_for
from tests.service.support import (
    add_job,
    labelled,
    npy,
    serving,
    take_back,
    tiny_calibration,
    tiny_onnx,
    work_on,
)
from zenerrors import Cancelled, ModelError, ResourceError, TensorError

ROOMS = {
    "/admin": "read",
    "/admin/": "read",
    "/admin/jobs": "read",
    "/admin/models": "read",
    "/admin/circuits": "admin",
    "/admin/tenants": "admin",
    "/admin/webhooks": "manage",
    "/admin/keys": "manage",
    "/admin/audit": "manage",
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


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path / "data") as empty:
        yield empty


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Before any work, for tests that change nothing."""
    with site(tmp_path_factory.mktemp("quiet") / "data") as quiet:
        yield quiet


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """After a day's work, for tests that change nothing of it."""
    with site(tmp_path_factory.mktemp("busy") / "data", jobs=150) as busy:
        yield busy


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Nothing is tried again."""
    with site(tmp_path_factory.mktemp("failing") / "data", max_attempts=1) as failing:
        yield failing


Way = Callable[[Site, str], None]
"""How a job fails."""


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


@pytest.mark.parametrize("path", ROOMS)
def test_every_page_of_a_service_that_has_done_nothing_says_what_to_do(quiet: Site, path: str) -> None:
    answer = quiet.visitor(*SCOPES).get(path)
    assert answer.status_code == 200
    assert "<h1" in answer.text


@pytest.mark.parametrize("path", ROOMS)
def test_every_page_of_a_busy_service(busy: Site, path: str) -> None:
    answer = busy.visitor(*SCOPES).get(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "style=" not in answer.text
    assert not re.search(r"<script(?! src=)|<style|\son\w+=\"", answer.text)


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        *(("proof", state) for state in ("queued", "running", "succeeded", "failed", "canceled")),
        ("model", "succeeded"),
        ("model", "failed"),
        ("accuracy", "running"),
        ("accuracy", "succeeded"),
        ("shard", "queued"),
        ("dataset", "succeeded"),
    ],
)
def test_every_kind_of_job_has_its_page(busy: Site, kind: str, state: str) -> None:
    with busy.database.read() as session:
        job_id = session.scalars(select(Job.id).where(Job.kind == kind, Job.state == state)).first()
    answer = busy.visitor(*SCOPES).get(f"/admin/jobs/{job_id}")
    assert answer.status_code == 200
    assert state in answer.text


def proof_of(busy: Site, form: str) -> tuple[str, dict[str, Any]]:
    """A proof of this form, and the values that it shows."""
    with busy.database.read() as session:
        rows = session.scalars(select(Proof).where(Proof.document.is_not(None))).all()
        proof = next(row for row in rows if row.request.items() >= shown.FORMS[form].items())
        return proof.id, (proof.document or {})["statement"]["values"]


def test_a_proof_shows_its_result(busy: Site) -> None:
    client = busy.visitor(*SCOPES)
    job_id, values = proof_of(busy, "logits")
    page = client.get(f"/admin/jobs/{job_id}").text
    assert f">Label {values['label']}</p>" in page
    assert "<q>lunch at twelve</q>" in page
    assert f'href="/verify?proof={job_id}"' in page
    for logit in values["logits"]:
        assert f">{logit:,}</td>" in page
    largest = max(values["logits"])
    weight, image = 0.005631092716665829, 0.14071362061981654  # of the last layer, in the description
    assert f">{largest * weight * image:.4g}</td>" in page
    assert f'src="/admin/jobs/{job_id}/input.png" width="8" height="8"' in page
    job_id, values = proof_of(busy, "top")
    page = client.get(f"/admin/jobs/{job_id}").text
    assert f">Labels {', '.join(map(str, values['top']))}</p>" in page
    assert "input.png" not in page


@pytest.mark.parametrize(
    ("kind", "scheme", "answer"),
    [("proof", "recognition", "A match within 400"), ("accuracy", "accuracy", "971 of 1,000 right, 97.1 %")],
)
def test_the_answer_of_other_schemes(busy: Site, kind: str, scheme: str, answer: str) -> None:
    with busy.database.read() as session:
        query = select(Proof.id).join(Job, Job.id == Proof.id)
        succeeded = query.where(Job.state == "succeeded", Job.kind == kind, Proof.scheme == scheme)
        job_id = session.scalars(succeeded).first()
    assert answer in busy.visitor(*SCOPES).get(f"/admin/jobs/{job_id}").text


def test_a_public_input_is_a_picture_for_who_may_see_the_proof(busy: Site) -> None:
    job_id, values = proof_of(busy, "logits")
    answer = busy.visitor("read").get(f"/admin/jobs/{job_id}/input.png")
    assert answer.headers["Content-Type"] == "image/png"
    pixels = zlib.decompress(answer.content[41:-16])  # between the two other chunks
    assert [pixels[row * 9 + 1 : row * 9 + 9] for row in range(8)] == [
        bytes(values["input"][8 * row : 8 * row + 8]) for row in range(8)
    ]
    assert busy.visitor("read", tenant="tnt_acme").get(answer.url.path).status_code == 404
    secret, _ = proof_of(busy, "top")
    assert busy.visitor("read").get(f"/admin/jobs/{secret}/input.png").status_code == 404


@pytest.mark.parametrize(
    ("shape", "pixels"),
    [
        ((4, 5), bytes(range(20))),
        ((1, 4, 5), bytes(range(20))),
        ((3, 4, 4), bytes(shade for place in range(16) for shade in (place, 16 + place, 32 + place))),
    ],
)
def test_shapes_of_pictures(shape: tuple[int, ...], pixels: bytes) -> None:
    picture = Picture.of(range(math.prod(shape)), shape, 255)
    assert picture is not None
    assert b"".join(picture.rows) == pixels


@pytest.mark.parametrize("shape", [(784,), (2, 8, 8), (8, 3), (2000, 8), (1, 3, 8, 8)])
def test_shapes_of_no_pictures(shape: tuple[int, ...]) -> None:
    assert Picture.of([0] * math.prod(shape), shape, 255) is None


def test_a_failed_job_shows_the_cause_of_every_attempt(busy: Site) -> None:
    with busy.database.read() as session:
        job = session.scalars(select(Job).where(Job.state == "failed", Job.attempt == 3)).first()
    assert job is not None
    assert job.problem is not None
    page = busy.visitor(*SCOPES).get(f"/admin/jobs/{job.id}").text
    assert page.count(job.problem["code"]) == 4
    assert all(f"Attempt {number}" in page for number in (1, 2, 3))


def breaks(error: Exception) -> Way:
    """Work that meets this error, on its only attempt."""

    def work(_runtime: Runtime, _hold: Hold) -> None:
        raise error

    return does(work)


def does(work: Callable[[Runtime, Hold], None]) -> Way:
    def run(site: Site, job_id: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(TASKS, "proof", work)
            work_on(site.runtime, job_id)

    return run


def too_late(_runtime: Runtime, hold: Hold) -> None:
    hold.stop = "deadline"
    raise Cancelled


def late_in_the_queue(site: Site, job_id: str) -> None:
    with site.database.write() as session:
        session.get_one(Job, job_id).deadline_at = now() - timedelta(seconds=1)
        session.flush()
        Reaping(session).end_late()


def loses_its_worker(site: Site, job_id: str) -> None:
    with site.database.write() as session:
        assert Claims(session).claim(job_id, "worker_gone", 60)
        Reaping(session).expire("worker_gone")
        take_back(session, max_attempts=1)


def loses_a_shard(site: Site, job_id: str) -> None:
    with site.database.write() as session:
        parent = Claims(session).claim(job_id, "worker_gone", 60)
        assert parent
        Jobs(session).create_children(job_id, "shard", ["shd_1"])
        assert Claims(session).wait(parent, "shards", {})
    loses_its_worker(site, "shd_1")


@pytest.mark.parametrize(
    ("way", "code"),
    [
        (late_in_the_queue, "resource.deadline"),
        (does(too_late), "resource.deadline"),
        (loses_its_worker, "resource.worker_lost"),
        (loses_a_shard, "resource.worker_lost"),
        (breaks(TensorError("input.shape", "input has another shape", field="input")), "input.shape"),
        (breaks(ModelError("model.memory", "it takes too much")), "model.memory"),
        (breaks(ResourceError("resource.storage", "the disk is full")), "resource.storage"),
        (breaks(MemoryError()), "resource.memory"),
        (breaks(OperationalError("", {}, OSError())), "resource.database"),
        (breaks(RuntimeError("not to be told")), "resource.internal"),
    ],
)
def test_every_kind_of_failure_has_its_page(failing: Site, way: Way, code: str) -> None:
    way(failing, job_id := add_job(failing.runtime, new_id("prf"), "proof"))
    client = failing.visitor(*SCOPES)
    for path in ("/admin", "/admin/jobs", f"/admin/jobs/{job_id}"):
        answer = client.get(path)
        assert (answer.status_code, f">{code}</code>" in answer.text) == (200, True), path


def test_names_that_are_markup_stay_names(busy: Site) -> None:
    client = busy.visitor(*SCOPES)
    for path in ("/admin/jobs", "/admin/models", "/admin/tenants"):
        page = client.get(path).text
        assert HOSTILE not in page
        assert "&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;" in page
        assert "{{ 7 * 7 }}" in page
    assert '"><script>' not in client.get('/admin/jobs?text="><script>').text


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


FILTERS = (
    "state=failed",
    "cause=deadline",
    "model=mdl_1",
    "text=prf",
    "kind=shard&model=mdl_1",
    "kind=dataset&model=m",
)
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
        ("/admin/webhooks/whk_1/deliveries/msg_1/redeliver", ("read", "prove"), "manage"),
        ("/admin/models", ("read", "prove", "admin"), "register"),
        ("/admin/models/mdl_1/prove", ("read", "register", "admin"), "prove"),
        ("/admin/tenants", ("read", "prove", "manage"), "admin"),
        (f"/admin/tenants/{LOCAL_TENANT}", ("read", "prove", "manage"), "admin"),
    ],
)
def test_forms_take_their_scope(quiet: Site, path: str, scopes: tuple[Scope, ...], missing: str) -> None:
    answer = send(quiet.visitor(*scopes), path, name="x", scope="read")
    assert answer.status_code == 403
    assert f"scope {missing}" in answer.text


def test_a_tenant_sees_its_own_things_alone(busy: Site) -> None:
    client = busy.visitor("read", "prove", "manage", tenant="tnt_acme")
    foreign = [first(busy, "tnt_north", "succeeded"), first(busy, "tnt_north", "succeeded", "model")]
    with busy.database.read() as session:
        webhook = session.scalars(select(Webhook.id).where(Webhook.tenant_id == "tnt_north")).one()
        delivery = session.scalars(select(Delivery.id).where(Delivery.webhook_id == webhook)).first()
        key = session.scalars(select(ApiKey.id).where(ApiKey.tenant_id == LOCAL_TENANT)).first()
        theirs = {row[:12] for row in session.scalars(select(Job.id).where(Job.tenant_id != "tnt_acme"))}
    for path in (
        *ROOMS,
        "/admin/jobs?tenant=tnt_north",
        "/admin/jobs?kind=shard",
    ):
        page = client.get(path).text
        assert "Northwind" not in page, path
        assert not [job_id for job_id in theirs if job_id in page], path
    assert "data-key" not in client.get(f"/admin/jobs?model={foreign[1]}").text
    for path in (
        *(f"/admin/jobs/{job_id}" for job_id in foreign),
        f"/admin/jobs/{foreign[0]}/proof",
        f"/admin/webhooks/{webhook}",
    ):
        assert client.get(path).status_code == 404
    for path in (
        f"/admin/jobs/{first(busy, 'tnt_x', 'queued')}/cancel",
        f"/admin/jobs/{first(busy, 'tnt_north', 'failed')}/retry",
        f"/admin/webhooks/{webhook}/deliveries/{delivery}/redeliver",
        f"/admin/keys/{key}/revoke",
    ):
        assert send(client, path).status_code == 404, path


def test_a_tenant_makes_keys_for_itself_with_no_more_than_it_may(empty: Site) -> None:
    with empty.database.write() as session:
        session.add(Tenant(id="tnt_acme", name="Acme", created_at=now()))
    client = empty.visitor("read", "manage", tenant="tnt_acme")
    answer = send(client, "/admin/keys", name="more", scope=["read", "admin"])
    assert (answer.status_code, "scope admin" in answer.text) == (403, True)
    answer = send(client, "/admin/keys", name="theirs", scope=["read"], tenant=LOCAL_TENANT)
    assert answer.status_code == 404
    assert "zen_" in send(client, "/admin/keys", name="ours", scope=["read"]).text
    with empty.database.read() as session:
        kept = session.execute(select(ApiKey.name, ApiKey.tenant_id).where(ApiKey.name != "a key")).all()
    assert kept == [("ours", "tnt_acme")]


def test_a_new_key_is_shown_once_and_works_until_it_is_revoked(empty: Site) -> None:
    client = empty.visitor(*SCOPES)
    page = send(client, "/admin/keys", name="night shift", scope=["read", "prove"], days="7").text
    key = re.search(r"zen_[0-9a-f]{12}_[\w-]{43}", page)
    assert key is not None
    assert key[0] not in client.get("/admin/keys").text
    theirs = empty.browser()
    assert theirs.post("/admin/login", data={"key": key[0]}).status_code == 303
    assert theirs.get("/admin").status_code == 200
    assert send(client, f"/admin/keys/key_{key[0][4:16]}/revoke").status_code == 303
    assert theirs.get("/admin").status_code == 303
    with empty.database.read() as session:
        row = session.get_one(ApiKey, f"key_{key[0][4:16]}")
        assert (row.scopes, (row.expires_at or now()) - row.created_at) == (
            ["read", "prove"],
            timedelta(days=7),
        )
        actions = session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)).all()
    assert actions == ["key.create", "login.create", "key.revoke"]


def test_limits_of_a_tenant_are_set_and_lifted(empty: Site) -> None:
    client = empty.visitor(*SCOPES)
    assert send(client, "/admin/tenants", name="Acme").status_code == 303
    assert send(client, "/admin/tenants", name="Acme").status_code == 409
    with empty.database.read() as session:
        tenant_id = session.scalars(select(Tenant.id).where(Tenant.name == "Acme")).one()
    for given, kept in (("12", 12), ("", None)):
        assert (
            send(client, f"/admin/tenants/{tenant_id}", max_queued=given, max_running="3").status_code == 303
        )
        with empty.database.read() as session:
            tenant = session.get_one(Tenant, tenant_id)
            assert (tenant.max_queued, tenant.max_running, tenant.retention_days) == (kept, 3, None)
    for wrong in ({"max_queued": "-1"}, {"retention_days": "999999"}):  # before the calendar begins
        assert send(client, f"/admin/tenants/{tenant_id}", **wrong).status_code == 422


def test_jobs_are_canceled_and_retried(empty: Site) -> None:
    fill(empty.runtime, jobs=60)
    client = empty.visitor("read", "prove", tenant="tnt_acme")
    queued, failed = first(empty, "tnt_acme", "queued"), first(empty, "tnt_acme", "failed")
    with empty.database.write() as session:  # its input is still there
        session.get_one(Proof, failed).input = "0" * 64
    assert send(client, f"/admin/jobs/{queued}/cancel").headers["Location"] == f"/admin/jobs/{queued}"
    assert state(empty, queued) == "canceled"
    assert send(client, f"/admin/jobs/{failed}/retry").status_code == 303
    assert state(empty, failed) == "queued"
    refusal = send(client, f"/admin/jobs/{queued}/retry")
    assert (refusal.status_code, "conflict.not_failed" in refusal.text) == (409, True)
    assert 'href="/admin/jobs"' in refusal.text, "there is no way on"
    with empty.database.read() as session:
        noted = session.execute(
            select(AuditEntry.action, AuditEntry.target).order_by(AuditEntry.id.desc()).limit(2)
        )
        assert noted.all() == [("proof.retry", failed), ("proof.cancel", queued)]


def test_who_registers_models_cannot_cancel_proofs(busy: Site) -> None:
    client = busy.visitor("read", "register", tenant="tnt_acme")
    queued = first(busy, "tnt_acme", "queued")
    assert f"/admin/jobs/{queued}/cancel" not in client.get(f"/admin/jobs/{queued}").text
    answer = send(client, f"/admin/jobs/{queued}/cancel")
    assert (answer.status_code, "scope prove or admin" in answer.text) == (403, True)


def test_a_shard_is_a_matter_of_its_proof(busy: Site) -> None:
    with busy.database.read() as session:
        shard = session.scalars(select(Job.id).where(Job.kind == "shard", Job.state == "queued")).first()
    assert send(busy.visitor(*SCOPES), f"/admin/jobs/{shard}/cancel").status_code == 409


def test_a_delivery_is_sent_again(empty: Site) -> None:
    fill(empty.runtime, jobs=5)
    with empty.database.read() as session:
        row = session.scalars(select(Delivery).where(Delivery.state == "given up")).first()
    assert row is not None
    send(empty.visitor(*SCOPES), f"/admin/webhooks/{row.webhook_id}/deliveries/{row.id}/redeliver")
    with empty.database.read() as session:
        assert session.get_one(Delivery, row.id).state == "waiting"


def test_pages_of_jobs_show_each_once_and_none_that_was_not_asked_for(busy: Site) -> None:
    client = busy.visitor(*SCOPES)

    def walk(path: str | None) -> list[str]:
        seen: list[str] = []
        while path:
            page = client.get(path).text
            seen += re.findall(r'<tr data-key="(\w+)"', page)
            link = re.search(r'href="([^"]+)" rel="next"', page)
            path = link[1].replace("&amp;", "&") if link else None
        return seen

    with busy.database.read() as session:
        rows = session.scalars(select(Job).order_by(Job.created_at.desc(), Job.id.desc())).all()
        model = session.scalars(select(Model)).first()
    assert model is not None
    assert walk("/admin/jobs") == [job.id for job in rows if job.kind != "shard"]
    assert walk("/admin/jobs?state=succeeded") == [
        j.id for j in rows if j.state == "succeeded" and j.kind != "shard"
    ]
    assert walk("/admin/jobs?kind=shard") == [job.id for job in rows if job.kind == "shard"]
    assert walk("/admin/jobs?tenant=tnt_acme&kind=proof") == [
        job.id for job in rows if job.tenant_id == "tnt_acme" and job.kind == "proof"
    ]
    some = rows[17].id
    assert walk(f"/admin/jobs?text={some[6:20]}") == [some]
    failed = next(job for job in rows if job.state == "failed" and job.kind == "proof")
    assert failed.problem is not None
    assert failed.id in walk(f"/admin/jobs?cause={failed.problem['code']}")
    assert set(walk(f"/admin/jobs?model={model.id}")) > {model.id}
    assert client.get("/admin/jobs?cursor=nonsense").status_code == 422
    with busy.database.read() as session:
        found = session.scalars(select(JobLabel.job_id).where(JobLabel.name == "team")).all()
    assert 0 < len(found) < len(rows)
    assert set(walk("/admin/jobs?label=team%3Dradiology")) == set(found)
    shown = client.get(f"/admin/jobs/{found[0]}").text
    assert '<a href="/admin/jobs?label=team%3Dradiology">team=radiology</a>' in shown
    noted = next(link for link in re.findall(r'href="(/admin/jobs\?label=note[^"]*)"', shown))
    assert set(walk(noted.replace("&amp;", "&"))) == set(found)
    assert walk("/admin/jobs?label=team%3Dother") == []
    assert client.get("/admin/jobs?label=team").status_code == 422


@pytest.mark.parametrize("period", RANGES)
def test_a_range_of_time_counts_what_ended_in_it(busy: Site, period: str) -> None:
    page = busy.visitor(*SCOPES).get(f"/admin?range={period}").text
    slots = RANGES[period].slots(now())
    assert len(slots) == len(re.findall(r"UTC: \d+ succeeded", page))
    with busy.database.read() as session:
        ended = Job.finished_at >= slots[0].start, Job.kind != "shard"
        states = session.scalars(select(Job.state).where(*ended)).all()
    assert [f"{state} {states.count(state)}</li>" in page for state in TERMINAL] == [True] * 3


def test_how_many_waited_is_by_when_they_were_made_and_taken_up(empty: Site) -> None:
    moment = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)
    ago = [moment - timedelta(minutes=minutes) for minutes in range(300)]
    times = [(ago[90], ago[60], ago[50]), (ago[150], None, ago[75]), (ago[15], None, None)]
    with empty.database.write() as session:
        for number, (made, started, finished) in enumerate(times):
            job = Jobs(session).create(f"prf_{number}", "proof")
            job.created_at, job.started_at, job.finished_at = made, started, finished
            job.state = "succeeded" if started else "canceled" if finished else "queued"
    with empty.database.read() as session:
        slots = Overview(session, None).slots(RANGES["day"], moment)
        elsewhere = Overview(session, "tnt_acme").slots(RANGES["day"], moment)
        (pace,) = Overview(session, None).paces(slots[0].start)
    # From 10:00: half an hour of one, all of it; from 11:00 a quarter of one and half of another.
    assert [slot.waiting for slot in slots[-3:]] == pytest.approx([1.0, 0.75, 0.25])
    assert {slot.waiting for slot in elsewhere} == {0.0}
    assert (pace.kind, pace.count, pace.wait.p99, pace.work.p50) == ("proof", 1, 1800.0, 600.0)


def test_percentiles_are_of_what_was_measured() -> None:
    measured = Percentiles.of([float(seconds) for seconds in range(1, 201)])
    assert measured == Percentiles(100.0, 180.0, 198.0)
    assert Percentiles.of([3.0]) == Percentiles(3.0, 3.0, 3.0)


def test_a_busy_month_is_counted_from_its_last_jobs(busy: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "MOST_ENDED", 20)
    monkeypatch.setattr(overview, "MOST_TIMED", 10)
    with busy.database.read() as session:
        slots = Overview(session, None).slots(RANGES["month"], now())
    assert sum(slot.total for slot in slots) <= 20
    assert slots[0].waiting is None, "of what was not looked at, nobody knows whether it waited"


def test_a_model_shows_its_layers_and_what_each_takes(busy: Site) -> None:
    with busy.database.read() as session:
        model = session.scalars(select(Model).where(Model.weight_privacy == "public")).first()
    assert model is not None
    page = busy.visitor(*SCOPES).get(f"/admin/models/{model.id}").text
    for layer in layers(shown.described("label"), None):
        assert f'<th scope="row">{layer.name}</th>' in page
        assert f'<td class="right">{layer.rows or "–"}</td>' in page
    assert "32 × 64" in page
    assert "0 to 16" in page, "the input's range is missing"
    assert busy.visitor("read", tenant="tnt_x").get(f"/admin/models/{model.id}").status_code == 404


@pytest.mark.parametrize("form", shown.FORMS)
def test_the_rows_of_all_layers_are_those_of_the_circuit(form: str) -> None:
    described = shown.described(form)
    found = layers(described, 2.0)
    assert sum(layer.rows for layer in found) == described["constraints"]["total"]
    assert sum(layer.seconds or 0.0 for layer in found) == pytest.approx(2.0)
    assert [layer.name for layer in found][:4] == ["input", "reshape1", "dense1", "dense2"]


@pytest.fixture(scope="module")
def asking(prepared: tuple[Path, ClientModel], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """With a registered model."""
    folder = tmp_path_factory.mktemp("asking") / "data"
    shutil.copytree(prepared[0], folder)
    with site(folder) as asking:
        yield asking


def test_a_model_is_registered_with_the_apis_checks(asking: Site) -> None:
    client = asking.visitor("read", "register", "prove")
    page = client.get("/admin/models/new").text
    fields = {"token": token(page), "name": "", "weight_privacy": "public", "bits": "8"}
    files = {"model": ("mine.onnx", tiny_onnx()), "calibration": ("a.npy", tiny_calibration())}
    for change, field in (
        ({"bits": "9"}, "bits"),
        ({"weight_privacy": "secret"}, "weight_privacy"),
        ({"name": "a\nb"}, "name"),
    ):
        answer = client.post("/admin/models", data=fields | change, files=files)
        assert answer.status_code == 422
        assert f'id="{field}-refusal"' in answer.text
        assert (escape(change[field]) in answer.text) or field == "weight_privacy", "what was entered is lost"
    answer = client.post("/admin/models", data=fields, files={"model": files["model"]})
    assert 'id="calibration-refusal"' in answer.text
    answer = client.post("/admin/models", data=fields, files=files | {"calibration": ("a.npy", b"[1, null]")})
    assert 'id="calibration-refusal"' in answer.text
    samples, classes = labelled()
    files |= {"calibration": ("a.npy", samples), "calibration_labels": ("b.npy", classes[:-1])}
    answer = client.post("/admin/models", data=fields, files=files)
    assert 'id="calibration_labels-refusal"' in answer.text
    answer = client.post(
        "/admin/models", data=fields, files=files | {"calibration_labels": ("b.npy", classes)}
    )
    assert answer.status_code == 303
    with asking.database.read() as session:
        model = session.get_one(Model, answer.headers["Location"].rpartition("/")[2])
        assert model.report is not None
        assert model.report["accuracy"] is not None
        assert (model.name, model.weight_privacy, model.bits) == ("mine", "public", 8)
        assert session.scalars(select(AuditEntry.action).where(AuditEntry.target == model.id)).all() == [
            "model.create"
        ]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"input": "[0.1, 0.2]"}, "input"),
        ({"input": "[0.1, 0.2, 0.3, null]"}, "input"),
        ({"input": "no JSON"}, "input"),
        ({}, "input"),
        ({"input": "[0.1, 0.2, 0.3, 0.4]", "reveal": "top"}, "top"),
        ({"input": "[0.1, 0.2, 0.3, 0.4]", "reveal": "top", "top": "99"}, "top"),
        ({"input": "[0.1, 0.2, 0.3, 0.4]", "challenge": "x" * 201}, "challenge"),
        ({"scheme": "accuracy"}, "dataset_id"),
        ({"scheme": "accuracy", "dataset_id": "dst_1"}, "dataset_id"),
        ({"scheme": "recognition", "input": "[0.1, 0.2, 0.3, 0.4]"}, "reference"),
    ],
)
def test_a_proof_is_refused_beside_the_field(
    asking: Site, model: ClientModel, fields: dict[str, str], wrong: str
) -> None:
    client = asking.visitor("read", "prove")
    form = client.get(f"/admin/models/{model.id}/prove")
    answer = client.post(str(form.url), data={"token": token(form.text), **fields})
    assert answer.status_code in (404, 422)
    assert f'id="{wrong}-refusal"' in answer.text
    if text := fields.get("input"):
        assert f">{text}</textarea>" in answer.text


def test_a_proof_is_asked_for_as_over_the_api(asking: Site, model: ClientModel) -> None:
    client = asking.visitor("read", "prove")
    form = client.get(f"/admin/models/{model.id}/prove")
    said = {"token": token(form.text), "scheme": "inference", "reveal": "logits", "challenge": "lunch"}
    said |= {"input_privacy": "public", "top": "3", "threshold": "7"}  # the last two are of other forms
    for files in (
        {"input_file": ("a.npy", npy([0.1, 0.2, 0.3, 0.4]))},
        {"input_file": ("a.json", b"[0.1, 0.2, 0.3, 0.4]")},
    ):
        answer = client.post(str(form.url), data=said, files=files)
        assert answer.status_code == 303, answer.text
        with asking.database.read() as session:
            proof = session.get_one(Proof, answer.headers["Location"].rpartition("/")[2])
            assert proof.request["reveal"] == "logits"
            assert (proof.request["input_privacy"], proof.request["challenge"]) == ("public", "lunch")
    work_on(asking.runtime, proof.id)
    assert "<q>lunch</q>" in client.get(f"/admin/jobs/{proof.id}").text
    with asking.database.read() as session:
        stages = {*session.get_one(Job, proof.id).timings, *session.get_one(Job, model.id).timings}
    assert stages <= EXPLAINED.keys()


def test_the_overview_counts_what_is_there(busy: Site) -> None:
    page = busy.visitor(*SCOPES).get("/admin").text
    with busy.database.read() as session:
        yesterday = now() - timedelta(days=1)
        failed = session.scalars(select(Job).where(Job.state == "failed", Job.finished_at > yesterday)).all()
    causes = [job.problem["code"] for job in failed if job.problem]
    for code in set(causes):
        row = re.search(rf'cause={re.escape(code)}"><span class="count">(\d+)</span>', page)
        assert row is not None
        assert int(row[1]) == causes.count(code)
    assert "NVIDIA H200" in page
    assert re.search(r"silent for \d+ min", page)


def test_a_proof_is_handed_out_as_a_file(busy: Site) -> None:
    client = busy.visitor("read")
    answer = client.get(f"/admin/jobs/{first(busy, LOCAL_TENANT, 'succeeded')}/proof")
    assert answer.json()["proofs"] == ["…"]
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert (
        client.get(f"/admin/jobs/{first(busy, LOCAL_TENANT, 'succeeded', 'model')}/proof").status_code == 409
    )


def test_both_databases_show_the_same(each_runtime: Runtime) -> None:
    fill(each_runtime, jobs=40)
    with serving(each_runtime) as url, httpx.Client(base_url=url) as client:
        for path in (*ROOMS, *(f"/admin/jobs?{name}" for name in FILTERS)):
            assert client.get(path).status_code == 200, path
        page = client.get("/admin").text
        with each_runtime.database.read() as session:
            ended = session.scalars(select(Job).where(Job.finished_at > now() - timedelta(hours=23))).all()
        failed = sum(job.state == "failed" and job.kind != "shard" for job in ended)
        assert f">{failed} failed</a>" in page
        assert len(set(re.findall(r"<title>(\d\d:00) UTC", page))) == 24
        for period in RANGES:
            assert client.get(f"/admin?range={period}").status_code == 200


def test_a_service_that_asks_for_no_keys_lets_its_host_in(tmp_path: Path) -> None:
    runtime = Runtime.open(Settings(data_dir=tmp_path / "data", auth="off"))
    schema.migrate(runtime.database)
    with serving(runtime) as url, httpx.Client(base_url=url) as client:
        assert client.get("/admin").status_code == 200
        assert "Log out" not in client.get("/admin").text
        assert send(client, "/admin/tenants", name="Acme").status_code == 303
        answer = client.post("/admin/tenants", data={"name": "x"}, headers={"Origin": "https://evil.example"})
        assert answer.status_code == 403
    runtime.close()
