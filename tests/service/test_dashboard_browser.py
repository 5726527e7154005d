"""The dashboard in a browser, at a desk and on a phone: a job moves, one is canceled, a failure is read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from client import Model
from service.jobs.lifecycle import Jobs
from service.runtime import Runtime
from service.storage.repositories.workers import Workers
from service.storage.tables import LOCAL_TENANT, Worker
from tests.service.busy import key_for
from tests.service.conftest import BASIS_POINTS, open_runtime
from tests.service.support import serving, until

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
FLAGS = ("no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking")
WIDTHS = {"desk": 1280, "phone": 375}
CAUSE = {"code": "resource.disk", "detail": "the disk of cpu-2 is full", "field": None}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")


class Site:
    """A service that asks for keys, with a worker process that can be held up."""

    def __init__(self, runtime: Runtime, url: str, worker: psutil.Process, model_id: str) -> None:
        self.runtime, self.url, self.worker, self.model_id = runtime, url, worker, model_id
        self.key = key_for(runtime, LOCAL_TENANT, "read", "prove", "admin", name="on call")

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

    def fail(self, job_id: str) -> None:
        """As a worker whose disk is full, on its last attempt."""
        with self.runtime.database.write() as session:
            claim = Jobs(session).claim(job_id, "worker_gone", 60)
            assert claim is not None
            Jobs(session).fail(claim, CAUSE)


@pytest.fixture(scope="module")
def site(prepared: tuple[Path, Model], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("dashboard") / "data"
    shutil.copytree(prepared[0], folder)
    runtime = open_runtime(folder, auth="keys", rate_per_minute=100_000)
    settings = {"DATA_DIR": str(folder), "THREADS": "1", "BASIS_POINTS": str(BASIS_POINTS), "BACKEND": "cpu"}
    worker = subprocess.Popen(
        [sys.executable, "-m", "service.worker", "worker_000000000001", str(os.getpid())],
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=[f"--{flag}" for flag in FLAGS])
        yield browser
        browser.close()


@pytest.fixture(params=WIDTHS)
def page(request: pytest.FixtureRequest, browser: Any, site: Site) -> Iterator[Any]:
    """Logged in. Whatever the browser complains about, blocked content too, fails."""
    width = WIDTHS[request.param]
    page = browser.new_page(viewport={"width": width, "height": 800}, base_url=site.url)
    page.set_default_timeout(120_000)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.extend([message.text] * (message.type == "error")))
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
    assert "Attempt 1" in page.get_by_role("region", name="Attempts that did not end well").inner_text()
    page.get_by_role("button", name="Retry").click()
    page.wait_for_selector(".verdict .state.queued")
    site.worker.resume()
    page.wait_for_selector(".verdict .state.succeeded")


@pytest.mark.parametrize("page", ["phone"], indirect=True)
def test_a_service_that_does_not_answer_is_told_apart_from_a_quiet_one(page: Any) -> None:
    page.clock.install()
    page.add_init_script("AbortSignal.timeout = () => new AbortController().signal")  # it has another clock
    page.goto("/admin")
    page.get_by_role("link", name="Models").focus()
    with page.expect_response("**/admin"):
        page.clock.fast_forward(2500)
    page.wait_for_function("document.querySelector('.fresh').textContent.includes('updated 0 s ago')")
    assert page.evaluate("document.activeElement.textContent") == "Models"
    assert page.is_hidden(".stale")
    page.evaluate("() => { window.fetch = () => Promise.reject(new Error('unreachable')); }")
    page.clock.fast_forward(2500)
    page.clock.fast_forward(6000)
    page.wait_for_selector(".stale:not([hidden])")
    assert "does not answer" in page.inner_text(".stale")
