"""The page for third parties, as the service hands it out, and how the dashboard hands it a proof."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browsers import wait_until
from zenserve.service.api import pages
from zenserve.service.api.headers import HEADERS

Document = dict[str, Any]

FILE = Path(pages.__file__).parent / "verify.html"
POLICY = "Content-Security-Policy"


@pytest.fixture
def page(browser: Any, shared_url: str) -> Iterator[Any]:
    """The page as a phone shows it. Whatever the browser complains about, or asks for beside it, fails."""
    page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page.set_default_timeout(20_000)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.extend([message.text] * (message.type == "error")))
    own = (f"{shared_url}/verify", "data:", "blob:")
    page.on("request", lambda asked: faults.extend([] if asked.url.startswith(own) else [asked.url]))
    page.goto(f"{shared_url}/verify")
    yield page
    page.close()
    assert faults == []


def choose(page: Any, *documents: Document) -> None:
    files = [
        {"name": f"{index}.json", "mimeType": "application/json", "buffer": json.dumps(each).encode()}
        for index, each in enumerate(documents)
    ]
    page.set_input_files("#choose", files)


def test_the_key_comes_from_the_service_as_a_file_that_is_dropped_as_it_is(
    page: Any, document: Document, shared_url: str, tmp_path: Path
) -> None:
    choose(page, document)
    page.wait_for_selector("#answer .warn")
    link = page.locator("#answer a").get_attribute("href")
    assert link == f"/v1/verification-keys/{document['statement']['verification_key']['id']}"
    key = tmp_path / "key.json"
    key.write_bytes(httpx.get(shared_url + link).content)
    page.set_input_files("#choose", key)
    page.wait_for_selector("#answer .good")
    assert document["statement"]["claim"].partition(". ")[0] in page.inner_text("#answer h2")


def test_it_is_served_to_the_byte_and_so_it_is_saved(page: Any, shared_url: str) -> None:
    assert httpx.get(f"{shared_url}/verify").content == FILE.read_bytes()
    with page.expect_download() as download:
        page.click("#save")
    assert download.value.suggested_filename == "zenserve-verify.html"
    assert Path(download.value.path()).read_bytes() == FILE.read_bytes()


def test_the_service_allows_it_no_more_than_the_file_does(shared_url: str) -> None:
    answer = httpx.get(f"{shared_url}/verify")
    within = answer.text.partition(f'http-equiv="{POLICY}" content="')[2].partition('"')[0]
    assert answer.headers[POLICY] == f"{within}; frame-ancestors 'none'"
    assert "unsafe" not in within
    assert "Set-Cookie" not in answer.headers
    others = {name: answer.headers[name] for name in HEADERS if name != POLICY}
    assert others == {name: value for name, value in HEADERS.items() if name != POLICY}


HAND = "text => child.postMessage([new File([text], 'proof.json')], '*')"


def opened_by(opener: Any, url: str) -> Any:
    """The page in a window that ``opener`` opened; what that is asked it keeps."""
    opener.evaluate("() => { window.asked = []; onmessage = ({ data }) => asked.push(data) }")
    with opener.context.expect_page() as opened:
        opener.evaluate("url => { window.child = open(url) }", url)
    opened.value.wait_for_load_state()
    return opened.value


def test_whoever_opened_it_hands_it_files_and_nobody_else(
    browser: Any, shared_url: str, document: Document
) -> None:
    opener = browser.new_page()
    opener.goto(f"{shared_url}/openapi.json")
    page = opened_by(opener, f"{shared_url}/verify")
    wait_until(opener, "() => asked.length")
    page.evaluate("text => postMessage([new File([text], 'own.json')])", json.dumps(document))
    opener.evaluate(HAND, json.dumps(document))
    page.wait_for_selector("#answer .warn")
    assert page.locator("#files .name").all_inner_texts() == ["proof.json"]
    opener.context.close()


def test_another_origin_is_neither_asked_nor_heard(browser: Any, shared_url: str, document: Document) -> None:
    opener = browser.new_page()
    opener.goto(f"{shared_url}/openapi.json".replace("127.0.0.1", "localhost"))
    page = opened_by(opener, f"{shared_url}/verify")
    page.evaluate(
        "() => { window.heard = []; addEventListener('message', ({ origin }) => heard.push(origin)) }"
    )
    opener.evaluate(HAND, json.dumps(document))
    wait_until(page, "() => heard.length")
    assert page.locator("#files li").count() == 0
    assert opener.evaluate("asked") == []
    opener.context.close()
