"""What browsers are told with every answer, and that the pages still work under it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.service.conftest import MAX_BODY_BYTES
from zenserve.service import intake
from zenserve.service.api.headers import HEADERS

PATHS = (
    *("/docs", "/admin", "/admin/nothing", "/admin/login", "/static/icon.svg"),
    *("/static-offline-docs/swagger-ui.css", "/static-offline-docs/nothing", "/openapi.json", "/healthz"),
    *("/v1/models", "/v1/models?nonsense=1", "/v1/nothing", "/nothing", "/v1/verification-keys/x"),
)


def told(answer: httpx.Response) -> dict[str, str]:
    return {name: answer.headers.get(name, "") for name in HEADERS}


@pytest.mark.parametrize("path", PATHS)
def test_every_page_and_answer_has_them(shared_url: str, path: str) -> None:
    assert told(httpx.get(shared_url + path)) == HEADERS


def test_every_refusal_has_them(shared_url: str) -> None:
    host = {"Host": "elsewhere.example"}
    large = {"content": b"x" * (MAX_BODY_BYTES + 1)}
    for answer, status in (
        (httpx.get(f"{shared_url}/docs", headers=host), 403),
        (httpx.post(f"{shared_url}/v1/verify", **large), 413),  # type: ignore[arg-type]
        (httpx.put(f"{shared_url}/v1/proofs"), 405),
        (httpx.post(f"{shared_url}/v1/verify", json={}), 422),
    ):
        assert (answer.status_code, told(answer)) == (status, HEADERS)


def test_a_bug_has_them_too(url: str, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "read_input", lambda *_: 1 / 0)
    answer = httpx.post(f"{url}/v1/proofs", json={"model_id": model.id, "input": [0, 0, 0, 0]})
    assert (answer.status_code, told(answer)) == (500, HEADERS)


def test_the_policy_names_nobody_else_and_nothing_inline() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "*" not in policy


@pytest.fixture
def desk(browser: Any, shared_url: str) -> Iterator[Any]:
    """Whatever the browser complains about, blocked content too, fails."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, base_url=shared_url)
    page.set_default_timeout(120_000)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.extend([message.text] * (message.type == "error")))
    yield page
    page.close()
    assert complaints == []


@pytest.mark.large
def test_the_interactive_description_works_and_tries_a_request(desk: Any) -> None:
    desk.goto("/docs")
    operation = desk.locator(".opblock").filter(has_text="/healthz")
    operation.locator("button").first.click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    answer = operation.locator(".live-responses-table tbody .response-col_status").first
    answer.wait_for()
    assert "200" in answer.inner_text()
    if folder := os.environ.get("ZENSERVE_SCREENSHOTS"):
        desk.screenshot(path=f"{folder}/docs.png")
