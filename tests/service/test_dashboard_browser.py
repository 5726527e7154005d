"""The dashboard in a browser, at a desk and on a phone: a job moves, one is canceled, a failure is read, a
model is registered. Every page is looked at, by day and by night; where ``ZENSERVE_SCREENSHOTS`` names a
folder, pictures of them go there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import psutil
import pytest
from sqlalchemy import select

from tests.browsers import wait_until
from tests.patience import until
from tests.service.busy import CEREMONIES, fill, fill_certificate, fill_stream, key_for
from tests.service.conftest import BASIS_POINTS, open_runtime
from tests.service.streaming import add_bank_over, frame, profile
from tests.service.support import serving, tiny_calibration, tiny_onnx
from zenserve.client import Client, Model
from zenserve.codes import MEANINGS
from zenserve.service.access.principal import SCOPES
from zenserve.service.jobs.claims import Claims
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job, Worker
from zenserve.service.storage.records.resources import Proof
from zenserve.service.storage.records.webhooks import Webhook
from zenserve.service.storage.repositories.workers import Workers

WIDTHS = {"desk": 1280, "phone": 375}
MOST_PIXELS = 1000
"""So far down pictures go."""
CAUSE = {"code": "resource.disk", "detail": "the disk of cpu-2 is full", "field": None}


class Site:
    """A service that asks for keys, with a worker process that can be held up."""

    def __init__(self, runtime: Runtime, url: str, worker: psutil.Process, model_id: str) -> None:
        self.runtime, self.url, self.worker, self.model_id = runtime, url, worker, model_id
        self.key = key_for(runtime, LOCAL_TENANT, "read", "prove", "register", "admin", name="on call")

    def suspend(self) -> None:
        """Hold the worker up, and not while it keeps everybody else from writing."""
        with self.runtime.database.write():
            self.worker.suspend()

    def ask_for_a_proof(self) -> str:
        body = {"model_id": self.model_id, "input": [0.1, 0.2, 0.3, 0.4]}
        answer = httpx.post(
            f"{self.url}/v1/proofs", json=body, headers={"Authorization": f"Bearer {self.key}"}
        )
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def fail(self, job_id: str, cause: Mapping[str, str | None] = CAUSE) -> None:
        """As a worker whose disk is full, on its last attempt."""
        with self.runtime.database.write() as session:
            claim = Claims(session).claim(job_id, "worker_gone", 60)
            assert claim is not None
            Claims(session).fail(claim, dict(cause))


@pytest.fixture(scope="module")
def site(prepared: tuple[Path, Model], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("dashboard") / "data"
    shutil.copytree(prepared[0], folder)
    runtime = open_runtime(folder, auth="keys", rate_per_minute=100_000)
    settings = {"DATA_DIR": str(folder), "THREADS": "1", "BASIS_POINTS": str(BASIS_POINTS), "BACKEND": "cpu"}
    worker = subprocess.Popen(
        [sys.executable, "-m", "zenserve.service.worker", "worker_000000000001", str(os.getpid())],
        env=os.environ | {f"ZENSERVE_{name}": value for name, value in settings.items()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with serving(runtime) as url:
        until(lambda: _live(runtime), "the worker")
        yield Site(runtime, url, psutil.Process(worker.pid), prepared[1].id)
    worker.send_signal(9)
    worker.wait()
    runtime.close()


def _live(runtime: Runtime) -> Sequence[Worker]:
    with runtime.database.read() as session:
        return Workers(session).live()


@dataclass(frozen=True)
class View:
    """A page, what it must say, and the pictures that are taken of it."""

    name: str
    path: str
    text: str
    pictures: tuple[str, ...] = ("desk",)


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, list[View]]]:
    """A busy service: its address, a key, and all of its pages."""
    runtime = open_runtime(tmp_path_factory.mktemp("views") / "data", auth="keys", rate_per_minute=100_000)
    fill(runtime, 150)
    stream, certificate = fill_stream(runtime), fill_certificate(runtime)
    key = key_for(runtime, LOCAL_TENANT, *SCOPES, name="on call")
    with runtime.database.read() as session:
        jobs = session.scalars(select(Job).where(Job.tenant_id == LOCAL_TENANT)).all()
        proofs = session.scalars(select(Proof)).all()
        webhook = session.scalars(select(Webhook.id)).first()
    shown = next(proof.id for proof in proofs if proof.request.get("reveal") == "logits")
    model = next(proof.model_id for proof in proofs if proof.id == shown)
    broken = next(job.id for job in jobs if job.state == "failed" and job.attempt == 3)
    sharded = next(proof.id for proof in proofs if proof.scheme == "accuracy")
    with serving(runtime) as url:
        yield (
            url,
            key,
            [
                View("overview", "/admin", "How long jobs wait and take", ("desk", "phone", "night")),
                View("overview-week", "/admin?range=week", "Jobs that wait"),
                View("jobs", "/admin/jobs", "Older", ("night",)),
                View("proof", f"/admin/jobs/{shown}", "lunch at twelve", ("desk", "phone")),
                View("certificate", f"/admin/jobs/{certificate}", "How far the label leads"),
                View("failure", f"/admin/jobs/{broken}", "Why it failed"),
                View("stream", f"/admin/jobs/{stream}", "Which model proves it", ("desk", "phone", "night")),
                View("shards", f"/admin/jobs/{sharded}", "Shards"),
                View("proofs", "/admin/proofs", "Label 7"),
                View("datasets", "/admin/datasets", "holdout 2026-10"),
                View("ceremonies", "/admin/ceremonies", "closing"),
                View("ceremony", f"/admin/ceremonies/{CEREMONIES['open']}", "When everybody has contributed"),
                *(
                    View(phase, f"/admin/ceremonies/{ceremony_id}", "What is next", ())
                    for phase, ceremony_id in CEREMONIES.items()
                ),
                View("health", "/admin/health", "Findings", ("desk", "phone")),
                View("models", "/admin/models", "Register a model"),
                View("model", f"/admin/models/{model}", "dense1", ("desk", "phone")),
                View("new-model", "/admin/models/new", "Calibration"),
                View("new-proof", f"/admin/models/{model}/prove", "Draw here", ("desk", "phone")),
                View("new-dataset", f"/admin/models/{model}/datasets/new", "Samples in one proof"),
                View("circuits", "/admin/circuits", "inference"),
                View("webhooks", "/admin/webhooks", "hooks.acme.example"),
                View("webhook", f"/admin/webhooks/{webhook}", "timed out"),
                View("keys", "/admin/keys", "on call"),
                View("tenants", "/admin/tenants", "Acme Diagnostics"),
                View("audit", "/admin/audit", "opening.reveal"),
            ],
        )
    runtime.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_by_day_and_by_night(width: str, browser: Any, views: tuple[str, str, list[View]]) -> None:
    url, key, pages = views
    page = browser.new_page(viewport={"width": WIDTHS[width], "height": 800}, base_url=url)
    complaints = complaints_of(page)
    page.goto("/admin/login")
    picture(page, "login", width)
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/admin")
    for view in pages:
        page.goto(view.path)
        assert view.text in page.inner_text("main"), view.name
        for light in ("light", "dark"):
            page.emulate_media(color_scheme=light)
            assert page.evaluate("document.documentElement.scrollWidth") == WIDTHS[width], view.name
            picture(page, view.name, width if light == "light" else f"night-{width}", view.pictures)
    page.close()
    assert complaints == []


def picture(page: Any, name: str, kind: str, wanted: tuple[str, ...] = ("desk",)) -> None:
    """Where pictures are asked for, and this kind is one of those of the page."""
    folder, kind = os.environ.get("ZENSERVE_SCREENSHOTS"), {"night-desk": "night"}.get(kind, kind)
    if folder and kind in wanted:
        only = "" if kind == wanted[0] else f"-{kind}"
        width, height = page.viewport_size["width"], page.viewport_size["height"]
        whole = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": width, "height": min(whole, MOST_PIXELS)})
        page.screenshot(path=Path(folder, f"{name}{only}.png"))
        page.set_viewport_size({"width": width, "height": height})


def complaints_of(page: Any) -> list[str]:
    """Whatever the browser complains about, blocked content too; refused forms are answered with 422."""
    complaints: list[str] = []

    def hear(message: Any) -> None:
        if message.type == "error" and "422" not in message.text:
            complaints.append(message.text)

    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", hear)
    return complaints


@pytest.fixture(params=[pytest.param("desk", marks=pytest.mark.large), "phone"])
def page(request: pytest.FixtureRequest, browser: Any, site: Site) -> Iterator[Any]:
    """Logged in. Whatever the browser complains about fails."""
    width = WIDTHS[request.param]
    page = browser.new_page(viewport={"width": width, "height": 800}, base_url=site.url)
    page.set_default_timeout(120_000)
    complaints = complaints_of(page)
    page.goto("/admin/jobs")
    page.get_by_label("API key").fill(site.key)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/admin/jobs")
    yield page
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.close()
    assert complaints == []


def test_a_job_is_watched_from_the_queue_to_its_proof(page: Any, site: Site) -> None:
    site.suspend()
    job_id = site.ask_for_a_proof()
    page.goto(f"/admin/jobs/{job_id}")
    assert page.inner_text(".verdict .state") == "queued"
    page.evaluate("document.body.dataset.same = 'page'")
    site.worker.resume()
    page.wait_for_selector(".verdict .state.succeeded")
    assert page.get_attribute("body", "data-same") == "page", "it was loaded anew"
    assert "is succeeded" in page.inner_text("#announce")
    stages = page.locator(".timeline tbody th").all_inner_texts()
    assert stages[0] == "waiting"
    assert "self-check" in {stage.partition(" ·")[0] for stage in stages}  # a pairing always takes its time
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the proof").click()
    assert '"statement"' in Path(download.value.path()).read_text()
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Verify it").click()
    verifying = popup.value
    verifying.wait_for_selector("#answer .good")
    assert verifying.locator("#files .name").all_inner_texts() == ["proof.json", "key.json"]
    kind = "desk" if page.viewport_size["width"] == WIDTHS["desk"] else "phone"
    picture(verifying, "verify-valid", kind, ("desk", "phone"))
    verifying.close()


@pytest.mark.parametrize("page", ["phone"], indirect=True)
def test_a_stream_is_handed_to_the_page_that_verifies(page: Any, site: Site) -> None:
    with Client(site.url, api_key=site.key) as client:
        given, labels = profile(), [0, 1, 0]
        made = client.create_stream(add_bank_over(client), given["samples"], given["labels"], challenge="me")
        client.begun(made.id)
        for number, label in enumerate(labels):
            client.add_frame(made.id, number, frame(label))
        client.end_stream(made.id)
        assert [each.label for each in client.follow_frames(made.id)] == labels
    page.goto(f"/admin/jobs/{made.id}")
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Verify it").click()
    verifying = popup.value
    verifying.wait_for_selector("#answer .good")
    assert "There are 3 frames in this order, 0 of them without a proof." in verifying.inner_text("#answer")
    assert verifying.locator("#files .role").all_inner_texts() == ["Stream", "Key", "Not used"]
    verifying.close()


def test_a_job_is_canceled(page: Any, site: Site) -> None:
    site.suspend()
    job_id = site.ask_for_a_proof()
    page.goto("/admin/jobs")
    page.locator(f'tr[data-key="{job_id}"] th a').click()
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector(".verdict .state.canceled")
    assert page.get_by_role("button", name="Cancel").count() == 0
    site.worker.resume()


def test_a_failure_is_found_and_read_and_tried_again(page: Any, site: Site) -> None:
    site.suspend()
    page.goto("/admin")
    job_id = site.ask_for_a_proof()
    site.fail(job_id)
    cause = page.get_by_role("link", name=re.compile(CAUSE["code"] or ""))
    cause.click()  # once the page has it: nobody reloads it
    page.locator(f'tr[data-key="{job_id}"] th a').click()
    assert CAUSE["detail"] in page.get_by_role("region", name="Why it failed").inner_text()
    assert "Attempt 1" in page.get_by_role("region", name="Failed attempts").inner_text()
    page.get_by_role("button", name="Retry").click()
    page.wait_for_selector(".verdict .state.queued")
    site.worker.resume()
    page.wait_for_selector(".verdict .state.succeeded")


LONG: Final = "w" * 64
"""Without a place to break a line at, as names of nodes, paths and hashes are."""


@pytest.mark.parametrize("page", ["phone"], indirect=True)
@pytest.mark.parametrize("width", [320, WIDTHS["phone"]])
def test_failures_of_long_words_fit_a_phone(page: Any, site: Site, width: int) -> None:
    site.suspend()
    job_id = site.ask_for_a_proof()
    site.fail(job_id, {"code": max(MEANINGS, key=len), "detail": f"node {LONG}: {LONG}", "field": LONG})
    page.set_viewport_size({"width": width, "height": 800})
    for path in ("/admin", "/admin/jobs", "/admin/jobs?state=failed", f"/admin/jobs/{job_id}"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") == width, path
    page.set_viewport_size({"width": WIDTHS["phone"], "height": 800})
    site.worker.resume()


@pytest.mark.parametrize("page", ["phone"], indirect=True)
def test_a_model_is_registered_and_asked_for_a_proof(page: Any, site: Site) -> None:
    site.suspend()
    page.goto("/admin/models/new")
    file = {"name": "digits.onnx", "mimeType": "application/octet-stream", "buffer": b"no network"}
    page.set_input_files("#model", file)
    page.set_input_files("#calibration", file | {"name": "inputs.npy", "buffer": tiny_calibration()})
    page.fill("#name", "mine")
    page.get_by_role("button", name="Register").click()
    page.wait_for_selector("#model-refusal")
    assert page.evaluate("[...document.querySelector('#calibration').files].map((file) => file.name)") == [
        "inputs.npy"
    ]
    assert page.input_value("#name") == "mine"
    page.set_input_files("#model", file | {"buffer": tiny_onnx()})
    page.get_by_role("button", name="Register").click()
    page.wait_for_url("**/admin/jobs/mdl_*")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector(".verdict .state.canceled")
    page.goto(f"/admin/models/{site.model_id}")
    page.get_by_role("link", name="Ask for a proof").click()
    page.fill("#input", "[0.1, 0.2, 0.3]")
    page.fill("#challenge", "lunch at twelve")
    page.get_by_role("button", name="Prove").click()
    page.wait_for_selector("#input-refusal")
    assert "[4]" in page.inner_text("#input-refusal")
    page.fill("#input", "[0.1, 0.2, 0.3, 0.4]")
    page.get_by_role("button", name="Prove").click()
    page.wait_for_url("**/admin/jobs/prf_*")
    site.worker.resume()
    page.wait_for_selector(".verdict .state.succeeded")
    assert "lunch at twelve" in page.get_by_role("region", name="Result").inner_text()


@pytest.mark.parametrize("page", ["phone"], indirect=True)
def test_phones_have_a_menu(page: Any) -> None:
    """Which needs no script: it is the browser's."""
    page.goto("/admin/jobs")
    rooms = page.get_by_role("navigation", name="Dashboard")
    assert not rooms.is_visible()
    page.get_by_role("button", name="Menu").click()
    assert rooms.get_by_role("link", name="Verify a proof").is_visible()
    picture(page, "menu", "phone", ("phone",))
    page.keyboard.press("Escape")
    assert not rooms.is_visible()
    page.get_by_role("button", name="Menu").click()
    rooms.get_by_role("link", name="Models", exact=True).click()
    page.wait_for_url("**/admin/models")
    page.set_viewport_size({"width": WIDTHS["desk"], "height": 800})
    assert rooms.is_visible()
    assert not page.get_by_role("button", name="Menu").is_visible()
    page.set_viewport_size({"width": WIDTHS["phone"], "height": 800})


@pytest.mark.parametrize("page", ["phone"], indirect=True)
def test_what_a_stage_is_can_be_read_with_the_keyboard(page: Any, site: Site) -> None:
    page.goto(f"/admin/jobs/{site.model_id}")
    term = page.locator(".timeline .term").first
    assert not term.locator(".tip").is_visible()
    term.focus()
    assert term.locator(".tip").is_visible()


@pytest.mark.parametrize("page", ["phone"], indirect=True)
def test_a_service_that_does_not_answer_is_told_apart_from_a_quiet_one(page: Any) -> None:
    page.clock.install()
    page.add_init_script("AbortSignal.timeout = () => new AbortController().signal")  # it has another clock
    page.goto("/admin")
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Models").focus()
    with page.expect_response("**/admin"):
        page.clock.fast_forward(2500)
    wait_until(page, "document.querySelector('.fresh').textContent.includes('updated 0 s ago')")
    assert page.evaluate("document.activeElement.textContent") == "Models"
    assert page.is_hidden(".stale")
    page.evaluate("() => { window.fetch = () => Promise.reject(new Error('unreachable')); }")
    page.clock.fast_forward(2500)
    page.clock.fast_forward(6000)
    page.wait_for_selector(".stale:not([hidden])")
    assert "does not answer" in page.inner_text(".stale")
