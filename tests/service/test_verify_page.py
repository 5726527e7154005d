"""The page for third parties, in a browser: verdicts, troubles, and text that stays text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from client import Client
from service.api import pages

HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
LARGE = """() => {
  const transfer = new DataTransfer(), field = document.querySelector("#proof");
  transfer.items.add(new File([new ArrayBuffer(9 << 20)], "large.json"));
  field.files = transfer.files;
  field.dispatchEvent(new Event("change"));
}"""

Document = dict[str, Any]


@pytest.fixture
def page(browser: Any, shared_url: str) -> Iterator[Any]:
    """The page as a phone shows it. Whatever the browser complains about, blocked content too, fails."""
    page = browser.new_page(viewport={"width": 360, "height": 800}, color_scheme="dark")
    page.set_default_timeout(120_000)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.extend([message.text] * (message.type == "error")))
    page.on("filechooser", lambda _: None)  # asked for this late, the browser may open one of its own
    page.goto(f"{shared_url}/verify")
    yield page
    assert page.title() == "Verify a proof · ZenServe"
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.close()
    # The browser reports answers other than 200 as errors, too: those are meant.
    assert [text for text in complaints if "Failed to load resource" not in text] == []


def choose(page: Any, content: Document | str, field: str = "#proof") -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    page.set_input_files(field, {"name": "a.json", "mimeType": "application/json", "buffer": text.encode()})


def trouble(page: Any) -> str:
    page.wait_for_selector("#trouble:not([hidden])")
    return str(page.inner_text("#trouble"))


def test_a_valid_proof_is_read_by_keyboard_alone(page: Any, document: Document, tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    file.write_text(json.dumps(document))
    page.bring_to_front()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "proof"
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(file)
    page.wait_for_selector(".verdict.good")
    assert page.inner_text("#verdict-title") == "The proof is valid"
    assert page.evaluate("document.activeElement.id") == "verdict-title"
    assert page.inner_text("#claim") == document["statement"]["claim"]
    shown = page.inner_text("#result")
    assert document["statement"]["verification_key"]["id"] in shown
    assert all(sentence in shown for sentence in document["statement"]["does_not_say"])
    assert "setup: development" in shown
    assert "Compare this id" in shown
    assert "lunch" in shown
    assert "it may be an old one" in page.inner_text("#open")


def test_what_the_reader_knows_is_compared(page: Any, shared_url: str, document: Document) -> None:
    with Client(shared_url) as api:
        key = api.get_verification_key(document["statement"]["verification_key"]["id"])
    page.click("summary")
    page.fill("#challenge", "lunch")
    page.fill("#model", document["statement"]["commitments"]["model"])
    choose(page, key, "#key")
    choose(page, document)
    page.wait_for_selector(".verdict.good")
    assert "The statement answers your challenge, lunch." in page.inner_text("#verified")
    assert "This is the key that you gave." in page.inner_text("#facts")
    page.fill("#challenge", "dinner")
    page.click("#again")
    page.wait_for_selector(".verdict.bad")
    assert "challenge_mismatch" in page.inner_text("#verdict")
    page.fill("#model", "abc")
    page.click("#again")
    assert "96 hexadecimal digits" in trouble(page)


def test_an_edited_proof_is_not_valid_and_nothing_of_it_is_shown(page: Any, document: Document) -> None:
    choose(page, document | {"statement": document["statement"] | {"claim": "All is well."}})
    page.wait_for_selector(".verdict.bad")
    assert "The proof is not valid" in page.inner_text("#verdict")
    assert "statement_edited" in page.inner_text("#verdict")
    assert "All is well." not in page.inner_text("main")


def test_a_file_that_is_no_proof_is_called_what_it_is(page: Any, document: Document) -> None:
    files: list[tuple[Document | str, str]] = [
        ("not JSON", "not JSON"),
        ("[1]", "not a proof"),
        ({"format": "zenserve receipt"}, "is a “zenserve receipt”"),
        ({"key": {}, "circuit": {}}, "is a verification key"),
        (document | {"proofs": []}, "not a proof as it should be"),
    ]
    for content, said in files:
        choose(page, content)
        assert said in trouble(page)
        assert not page.is_visible("#result")
    page.evaluate(LARGE)
    assert "too large" in trouble(page)


TROUBLES: dict[str, tuple[Callable[[Any], None], str]] = {
    "no connection": (lambda route: route.abort(), "does not answer"),
    "rate": (lambda route: route.fulfill(status=429, headers={"Retry-After": "7"}, json={}), "in 7 seconds"),
    "busy": (lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}, json={}), "is busy"),
    "size": (lambda route: route.fulfill(status=413, json={"detail": "the body is larger"}), "too large"),
    "key": (lambda route: route.fulfill(status=404, json={}), "Give the key's file"),
    "bug": (
        lambda route: route.fulfill(status=500, json={"detail": HOSTILE, "request_id": "req_1"}),
        "req_1",
    ),
    "no JSON": (lambda route: route.fulfill(status=502, body="<h1>gateway</h1>"), "status 502"),
}


def test_when_the_service_gives_no_verdict_the_page_says_why(page: Any, document: Document) -> None:
    for answer, said in TROUBLES.values():
        page.route("**/v1/verify", answer)
        choose(page, document)
        page.wait_for_function(
            "said => document.querySelector('#trouble').innerText.includes(said)", arg=said
        )
        assert not page.is_visible("#result")
        page.unroute("**/v1/verify")


def test_text_from_a_proof_never_becomes_markup(page: Any, document: Document) -> None:
    hostile = document["statement"] | dict.fromkeys(("claim", "challenge", "scheme", "made_at"), HOSTILE)
    hostile |= {"does_not_say": [HOSTILE], "commitments": {HOSTILE: HOSTILE}, "parent": HOSTILE}
    answer = {
        "valid": True,
        "reason": HOSTILE,
        "detail": HOSTILE,
        "verified": [HOSTILE],
        "not_verified": [HOSTILE, "Else."],
        "verification_key": {"id": HOSTILE, "setup": HOSTILE},
        "statement": hostile,
    }
    page.route("**/v1/verify", lambda route: route.fulfill(json=answer))
    choose(page, document)
    page.wait_for_selector(".verdict.good")
    assert page.inner_text("#result").count(HOSTILE) >= 9
    assert page.locator("#result img").count() == 0


def test_the_page_loads_nothing_from_elsewhere_and_keeps_nothing(shared_url: str) -> None:
    response = httpx.get(f"{shared_url}/verify")
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "Set-Cookie" not in response.headers
    for name in ("zenserve.css", "verify.css", "verify.js", "icon.svg"):
        address = pages.address(name)
        assert address in response.text
        file = httpx.get(f"{shared_url}{address}")
        assert "immutable" in file.headers["Cache-Control"]
        etag = {"If-None-Match": file.headers["ETag"]}
        assert httpx.get(f"{shared_url}{address}", headers=etag).status_code == 304
        assert "immutable" not in httpx.get(f"{shared_url}/static/{name}").headers["Cache-Control"]
        assert httpx.head(f"{shared_url}{address}").content == b""
    for name in ("verify.html", "__init__.py", "..%2Fapp.py"):
        assert httpx.get(f"{shared_url}/static/{name}").status_code == 404
