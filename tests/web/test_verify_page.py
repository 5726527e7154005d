"""The page that verifies, as a file: no network, every vector, and what people do with it."""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any, Final

import numpy as np
import pytest

from tests.browsers import wait_until
from tests.streams import proving
from tests.vectors.cases import FOLDER, PINS, Outcome, pin, read_index
from tests.web.conftest import WEB, Node
from zenserve.verifier.documents import ProofDocument
from zenserve.verifier.fields import canonical

FILE: Final = WEB.parent / "service" / "api" / "pages" / "verify.html"
HOSTILE: Final = "<img src=x onerror=\"document.title='owned'\">\u202e"
SHOWN: Final = {"desk": 1280, "phone": 360}
ANSWERED: Final = "#answer .card:not(.wait), #trouble .card"
# The page's own worker, asked for one case after the other; `files` are in base64.
JUDGE: Final = """async ([files, cases]) => {
  const script = document.querySelector("script").textContent;
  const worker = new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const heard = () => new Promise((done) => (worker.onmessage = ({ data }) => done(data)));
  const blob = (name) => new Blob([Uint8Array.from(atob(files[name]), (each) => each.charCodeAt(0))]);
  const answers = [];
  await heard();
  for (const { kind, parts, entered } of cases) {
    const answer = heard();
    worker.postMessage({ kind, parts: parts.map(([role, name]) => [role, blob(name)]), entered });
    answers.push(await answer);
  }
  worker.terminate();
  return answers;
}"""

PARTS: Final = ("dataset", "labels")

Open = Callable[..., Any]


def test_it_is_built_from_the_sources(node: Node, tmp_path: Path) -> None:
    made = node("build.ts", str(tmp_path))
    assert made.returncode == 0, made.stderr
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (FILE.parent / file.name).read_bytes(), f"{file.name}: make web"


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Opens the file in a browser without a network: whatever it asks for, or complains about, fails."""
    contexts: list[Any] = []
    faults: list[str] = []

    def open_(width: int = SHOWN["phone"], scheme: str = "dark") -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.extend([message.text] * (message.type == "error")))
        page.on("filechooser", lambda _: None)  # asked for late, the browser may open one of its own
        own = (FILE.as_uri(), "data:", "blob:")
        page.on("request", lambda asked: faults.extend([] if asked.url.startswith(own) else [asked.url]))
        page.goto(FILE.as_uri())
        return page

    yield open_
    for page in itertools.chain.from_iterable(context.pages for context in contexts):
        assert page.title() == "Verify a proof · ZenServe"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for context in contexts:
        context.close()
    assert faults == []


def file(name: str, content: bytes | object, shown_as: str | None = None) -> dict[str, Any]:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return {"name": shown_as or name, "mimeType": "", "buffer": data}


def vector(name: str, shown_as: str | None = None) -> dict[str, Any]:
    """A file of the vectors."""
    return file(Path(name).name, (FOLDER / name).read_bytes(), shown_as)


def give(page: Any, *files: dict[str, Any]) -> Any:
    """The card that the page answers with."""
    page.set_input_files("#choose", list(files))
    page.wait_for_selector(ANSWERED)
    return page.locator(ANSWERED)


PROOF: Final = "inference/valid.json"
KEY: Final = "inference/valid-key.json"
STATEMENT: Final = json.loads((FOLDER / PROOF).read_text())["statement"]


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.large)])
def test_every_vector_has_its_verdict_in_the_browser(opened: Open, every: bool) -> None:
    """One of each verdict for each run of the tests: Node judges them all, by the same modules."""
    cases = read_index()
    if not every:
        cases = [*{(case["exit"], case["reason"], bool(case["key"])): case for case in cases}.values()]
    asked = [as_task(case) for case in cases]
    names = {name for task in asked for _, name in task["parts"]}
    files = {name: base64.b64encode((FOLDER / name).read_bytes()).decode() for name in names}
    answers = opened().evaluate(JUDGE, [files, asked])
    for case, answer in zip(cases, answers, strict=True):
        if "verdict" in answer:
            assert Outcome.of(answer["verdict"]) == Outcome.of(case), case["name"]
        else:
            # What is told in words and is malformed is, to the command, no good request.
            codes = {case["reason"], "request.invalid"}
            assert (case["exit"], answer["trouble"]["code"] in codes) == (2, True), case["name"]


def as_task(case: dict[str, Any]) -> dict[str, Any]:
    told = case["told"]
    given = {"document": case["document"], "key": case["key"]}
    roles = {"registration_key": "registrationKey", "registration_circuit": "registrationCircuit"}
    given |= {roles.get(name, name): told[name] for name in told if name not in PINS}
    return {
        "kind": "proof" if case["key"] else "receipt",
        "parts": [[role, name] for role, name in given.items() if name],
        "entered": {PINS[name]: pin(name, text) for name, text in told.items() if name in PINS},
    }


def test_it_asks_for_the_circuits_that_keys_only_name(opened: Open) -> None:
    page = opened()
    files = (
        "valid.json",
        "valid-key.json",
        "registered-registration.json",
        "registered-registration_key.json",
    )
    card = give(page, *(vector(f"transparent/{name}") for name in files))
    assert "This proof’s key names a circuit" in card.inner_text()
    page.set_input_files("#choose", [vector("transparent/valid-circuit.zen")])
    wait_until(page, "() => document.body.innerText.includes('The registration’s key names a circuit')")
    page.set_input_files("#choose", [vector("transparent/registered-registration_circuit.zen")])
    page.wait_for_selector("#answer .good")


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        pytest.param(SHOWN["desk"], "dark", marks=pytest.mark.large),
        (SHOWN["desk"], "light"),
        (SHOWN["phone"], "dark"),
        pytest.param(SHOWN["phone"], "light", marks=pytest.mark.large),
    ],
)
def test_a_valid_proof_is_read_by_keyboard_alone(
    opened: Open, width: int, scheme: str, tmp_path: Path
) -> None:
    page = opened(width, scheme)
    page.bring_to_front()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "choose"
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files([FOLDER / PROOF, FOLDER / KEY])
    page.wait_for_selector("#answer .good")
    assert page.inner_text("#answer h2").split("\n") == ["Valid", "The label is 0."]
    assert f"It answers the challenge, “{STATEMENT['challenge']}”" in page.inner_text("#answer .good")
    assert page.get_attribute("#answer", "role") == "status"
    folded = page.locator("#answer summary").all_inner_texts()
    assert [text.split("\n")[0].rstrip("0123456789 ") for text in folded] == [
        "Also verified",
        "Not verified",
        "What the proof does not say",
        "Particulars",
    ]
    for _ in range(20):  # past what removes files, and what copies the key's id
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").startswith("What the proof"):
            break
    assert not page.is_visible(f"text={STATEMENT['does_not_say'][0]}")
    page.keyboard.press("Enter")
    assert page.is_visible(f"text={STATEMENT['does_not_say'][0]}")
    everything = page.locator("#answer").evaluate("each => each.textContent")
    assert STATEMENT["claim"].partition(". ")[2] in everything
    assert all(value in everything for value in STATEMENT["commitments"].values())
    assert "setup: development" in everything
    assert re.search(r"Verified on this machine in \d+\.\d s\. Nothing was sent\.", everything)


@pytest.mark.large
def test_files_come_in_any_order_and_are_known_by_what_they_are(opened: Open) -> None:
    files = [
        vector(PROOF, "1"),
        vector(KEY, "2"),
        vector("registration/valid.json", "3"),
        vector("registration/valid-key.json", "4"),
        vector("inference/opened-input.json", "5"),
        vector("inference/opened-opening.json", "6"),
        file("7", b"shopping: bread"),
    ]
    roles = dict(zip("1234567", ROLES, strict=True))
    for order in (files, files[::-1], files[3:] + files[:3]):
        page = opened()
        assert "good" in give(page, *order).get_attribute("class")
        assert shown_roles(page) == roles
        assert "The input is the one that you gave" in page.locator("#answer").evaluate(
            "each => each.textContent"
        )
    page = opened()
    for each in files[::-1]:
        give_one(page, each)
    page.wait_for_selector("#answer .good")
    assert shown_roles(page) == roles


ROLES: Final = ("Proof", "Key", "Registration", "Registration’s key", "Input", "Opening", "Not used")


def give_one(page: Any, each: dict[str, Any]) -> None:
    count = page.locator("#files li").count()
    page.set_input_files("#choose", [each])
    wait_until(page, "count => document.querySelectorAll('#files li').length > count", count)


def shown_roles(page: Any) -> dict[str, str]:
    return dict(
        page.locator("#files li").evaluate_all(
            "all => all.map((each) => [each.querySelector('.name').textContent,"
            " (each.querySelector('select')?.selectedOptions[0] ?? each.querySelector('.role')).textContent])"
        )
    )


@pytest.mark.large
def test_a_dataset_is_compared_however_it_comes(opened: Open) -> None:
    page = opened()
    give(page, vector("accuracy/valid.json"), vector("accuracy/valid-key.json"))
    samples, labels = vector("accuracy/seen-dataset.json"), vector("accuracy/seen-labels.json")
    give_one(page, labels)
    give_one(page, samples)
    page.wait_for_selector("text=The network gets")
    assert "the dataset that you gave" in page.locator("#answer").evaluate("each => each.textContent")
    assert shown_roles(page)["seen-labels.json"] == "Labels"
    page.select_option("#files li:has-text('seen-labels') select", "")
    page.wait_for_selector("#trouble .warn")
    assert shown_roles(page)["seen-labels.json"] == "Not used"
    page = opened()
    arrays = {
        name: np.array(json.loads((FOLDER / f"accuracy/seen-{name}.json").read_text())) for name in PARTS
    }
    archive = BytesIO()
    np.savez_compressed(archive, samples=arrays["dataset"], labels=arrays["labels"])
    give(
        page,
        file("data.npz", archive.getvalue()),
        vector("accuracy/valid.json"),
        vector("accuracy/valid-key.json"),
    )
    assert "the dataset that you gave" in page.locator("#answer").evaluate("each => each.textContent")
    assert shown_roles(page)["data.npz"] == "Dataset"
    several = [vector(f"several-accuracy/{name}.json") for name in ("valid", "valid-key", "seen-labels")]
    for name, tone in (("seen", "good"), ("exchanged", "bad")):
        dataset = f"{name}-dataset.json"
        page = opened()
        card = give(page, *several, vector(f"several-accuracy/{dataset}"))
        assert tone in card.get_attribute("class")
        assert shown_roles(page)[dataset] == "Dataset"


def test_the_key_that_is_missing_is_named_and_another_is_none(opened: Open) -> None:
    page = opened()
    card = give(page, vector(PROOF))
    assert "Key needed" in card.inner_text()
    assert STATEMENT["verification_key"]["id"] in card.inner_text()
    assert card.locator("a").count() == 0
    give_one(page, vector("accuracy/valid-key.json"))
    page.wait_for_selector("#answer .bad")
    said = page.inner_text("#answer")
    assert "key_mismatch" in said
    assert "Ids were compared" in said
    assert f"https://SERVICE/v1/verification-keys/{STATEMENT['verification_key']['id']}" in said
    give_one(page, vector(KEY))
    page.wait_for_selector("#answer .good")
    page.click("#files li:nth-child(3) .cross")
    page.wait_for_selector("#answer .bad")


def test_another_proof_takes_the_place_of_the_one_before(opened: Open) -> None:
    page = opened()
    give(page, vector(PROOF), vector(KEY))
    page.set_input_files(
        "#choose", [vector("accuracy/valid.json", "other"), vector("accuracy/valid-key.json", "its key")]
    )
    page.wait_for_selector("text=The network gets")
    assert shown_roles(page) == {"other": "Proof", "its key": "Key"}


def test_a_registration_needs_its_own_key(opened: Open) -> None:
    page = opened()
    card = give(page, vector(PROOF), vector(KEY), vector("registration/valid.json"))
    assert "The registration names a key" in card.inner_text()
    page.set_input_files("#choose", [vector("registration/valid-key.json", "4")])
    page.wait_for_selector("#answer .good")
    shown = page.locator("#answer").evaluate("each => each.textContent")
    assert "The committed weights are of their types" in shown
    assert "That the committed weights are of their types" not in shown


STREAM: Final = json.loads((WEB.parent / "tests/streams/vectors.json").read_text())
BANK: Final = [file(f"{key['id'][:8]}.json", key) for key in STREAM["keys"][:2]]


def stream_file(frames: list[Any], **more: Any) -> dict[str, Any]:
    said = {"format": "zenserve stream", "version": 1, "head": STREAM["head"], "frames": frames}
    return file("stream.json", said | more)


def test_a_stream_is_judged_with_all_its_keys(opened: Open) -> None:
    page, verdict = opened(SHOWN["desk"], "light"), STREAM["verdict"]
    card = give(page, stream_file(STREAM["frames"]), BANK[0], vector(KEY))
    assert "This stream names a key" in card.inner_text()
    assert STREAM["keys"][1]["id"] in card.inner_text()
    give_one(page, BANK[1])
    page.wait_for_selector("#answer .good")
    assert shown_roles(page) == {
        "stream.json": "Stream",
        BANK[0]["name"]: "Key",
        "valid-key.json": "Not used",
        BANK[1]["name"]: "Key",
    }
    shown = page.inner_text("#answer")
    assert verdict["head"] in shown
    assert verdict["link"] in shown
    assert verdict["verified"][0] in shown
    told = page.inner_text(".course figcaption")
    assert f"The classes changed at frame {verdict['changes'][0]}." in told
    assert "There is no proof of frame 9." in told
    counts = page.locator(".course .count").all_inner_texts()
    assert counts == [*(f"{count} frames" for count in verdict["by_model"]), "1 frame"]
    listed = page.locator(".prose ul.no").evaluate("each => each.textContent")
    assert listed == "".join(verdict["not_verified"])
    if folder := os.environ.get("ZENSERVE_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/verify-stream.png", full_page=True)


@pytest.mark.large
def test_a_stream_is_compared_with_what_the_reader_knows(opened: Open) -> None:
    page, verdict = opened(), STREAM["verdict"]
    page.click("#pins summary")
    page.fill("#head", verdict["head"].upper())
    page.fill("#link", verdict["link"])
    page.fill("#model", "00")
    give(page, stream_file(STREAM["frames"]), *BANK)
    page.wait_for_selector("#answer .good")
    assert "What you know of model was not compared: this is a stream." in page.inner_text("#answer")
    assert "Bank and rules are what the file says" not in page.inner_text("#answer")
    page.fill("#link", verdict["head"])
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer .bad")
    assert "chain_mismatch" in page.inner_text("#answer")
    asked = f'The proof answers "{STATEMENT["challenge"]}". Ask for a proof that answers "dinner".'
    assert asked in page.inner_text("#answer")


def test_what_is_wrong_with_a_stream_is_said_of_its_frame(opened: Open) -> None:
    page, frames = opened(), STREAM["frames"]
    give(page, stream_file([*frames[:5], frames[6], frames[5], *frames[7:]]), *BANK)
    assert "Frame 5: " in page.inner_text("#answer .bad")
    forged = frames[7] | {"proofs": frames[6]["proofs"]}
    page.set_input_files("#choose", [stream_file([*frames[:7], forged, *frames[8:]])])  # in its place
    page.wait_for_selector("#answer .bad >> text=Frame 7: ")
    assert [*shown_roles(page).values()] == ["Key", "Key", "Stream"]
    give_one(page, file("later.json", STREAM["keys"][0] | {"setup": "ceremony"}))
    page.wait_for_selector("#trouble >> text=In later.json")
    page.reload()
    give(page, stream_file([{"missed": HOSTILE[:-1]}] * 3, head=STREAM["head"] | {"challenge": HOSTILE[:-1]}))
    assert "There is no proof of frames 0 to 2." in page.inner_text(".course figcaption")


@pytest.mark.large
def test_all_that_a_stream_needs_is_asked_for(opened: Open) -> None:
    page, transparent = opened(), json.loads((FOLDER / "transparent/valid-key.json").read_text())["id"]
    given = [{"statement": {"verification_key": {"id": each}}} for each in (transparent, "5d" * 32)]
    card = give(page, stream_file(given))
    assert "Add the files of all 2." in card.inner_text()
    assert [each in card.inner_text() for each in (transparent, "5d" * 32)] == [True, True]
    page.set_input_files("#choose", [stream_file(given[:1]), vector("transparent/valid-key.json")])
    page.wait_for_selector("#answer >> text=This stream’s key names a circuit, which is not here.")
    give_one(page, vector("transparent/valid-circuit.zen"))
    page.wait_for_selector("#trouble >> text=file.json")  # of what it needs it has all, and is no stream


@pytest.mark.large
def test_frames_beyond_those_that_are_judged_at_once_are_judged(opened: Open, tmp_path: Path) -> None:
    """64 are; a proof of another frame is found in the next part, too."""
    stage = proving.Stage.of(tmp_path)
    made = stage.proven(proving.inputs([0, 1], 33, 0.1)[0])
    keys = [file(f"{place}.json", canonical(model.key)) for place, model in enumerate(stage.models)]
    page = opened()
    card = give(page, file("stream.json", canonical(made)), *keys)
    assert "There are 66 frames in this order, 0 of them without a proof." in card.inner_text()
    last, other = made.frames[-1], made.frames[-2]
    assert isinstance(last, ProofDocument)
    assert isinstance(other, ProofDocument)
    frames = [*made.frames[:-1], last.model_copy(update={"proofs": other.proofs})]
    page.set_input_files(
        "#choose", [file("forged.json", canonical(made.model_copy(update={"frames": frames})))]
    )
    page.wait_for_selector("#answer .bad >> text=Frame 65: ")


def test_what_the_reader_knows_is_compared(opened: Open) -> None:
    page = opened()
    page.click("#pins summary")
    page.fill("#challenge", STATEMENT["challenge"])
    page.fill("#key", STATEMENT["verification_key"]["id"].upper())
    page.fill("#after", STATEMENT["made_at"][:-1])
    give(page, vector(PROOF), vector(KEY))
    page.wait_for_selector("#answer .good")
    assert f"It answers your challenge, “{STATEMENT['challenge']}”" in page.inner_text("#answer .good")
    assert "answers your challenge" in page.locator("#answer").evaluate("each => each.textContent")
    assert page.inner_text("#pinned") == "3"
    page.fill("#challenge", "dinner")
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer .bad")
    assert "challenge_mismatch" in page.inner_text("#answer")
    asked = f'The proof answers "{STATEMENT["challenge"]}". Ask for a proof that answers "dinner".'
    assert asked in page.inner_text("#answer")
    page.fill("#model", "abc")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trouble .warn")
    assert page.get_attribute("#model", "aria-invalid") == "true"
    page.fill("#model", "")
    page.fill("#challenge", STATEMENT["challenge"])
    page.fill("#issuer", "00" * 32)
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer .good")
    assert "issuer was not compared" in page.inner_text("#answer")


WRONG: Final = {
    "challenge": "x",
    "key": "00" * 32,
    "network": "00" * 32,
    "model": "00" * 48,
    "input": "00" * 48,
    "output": "00" * 48,
    "reference": "00" * 48,
    "at_least": "7",
    "at_most": "7",
    "after": "2100-01-01T00:00",
    "before": "1999-01-01t00:00:00z",
}
"""Of each field that a proof is compared with, something else; the other fields are for other documents."""
OTHERS: Final = ("issuer", "head", "link")
SEEN_VALID: Final = """() => {
  window.validSeen = 0;
  const look = () => (window.validSeen += document.querySelectorAll("#answer .good").length);
  new MutationObserver(look).observe(document.querySelector("#answer"), { childList: true });
}"""


def test_what_is_typed_takes_a_verdict_away_at_once(opened: Open) -> None:
    """No field is left: nobody presses Tab or Enter."""
    page = opened()
    page.click("#pins summary")
    give(page, vector(PROOF), vector(KEY))
    page.evaluate(SEEN_VALID)
    names = page.locator("#expected [name]").evaluate_all("all => all.map((each) => each.name)")
    assert {*names} == {*WRONG, *OTHERS, "require"}
    for name, wrong in WRONG.items():
        page.click(f"#{name}")
        page.keyboard.insert_text(wrong)
        assert page.locator("#answer .good").count() == 0
        page.wait_for_selector(ANSWERED)
        assert page.evaluate("window.validSeen") == 0, name
        page.keyboard.press("ControlOrMeta+A")
        page.keyboard.press("Delete")
        page.wait_for_selector("#answer .good")
        page.evaluate("window.validSeen = 0")
    page.click("#require")
    page.wait_for_selector("#answer .bad")
    page.click("#require")
    page.wait_for_selector("#answer .good")
    for name in OTHERS:
        page.click(f"#{name}")
        page.keyboard.insert_text("00" * 32)
        page.wait_for_selector(f"#answer >> text={name}")
        assert "was not compared" in page.inner_text("#answer .card")


def test_files_that_come_take_a_verdict_away_at_once(opened: Open) -> None:
    page = opened()
    give(page, vector(PROOF), vector(KEY))
    slow = """() => {
      const text = File.prototype.text;
      File.prototype.text = async function () {
        await new Promise((done) => (window.goOn = done));
        return text.call(this);
      };
    }"""
    page.evaluate(slow)
    page.set_input_files("#choose", [vector("accuracy/valid-key.json")])
    wait_until(page, "window.goOn !== undefined")
    assert page.locator("#answer .card").count() == 0
    page.evaluate("window.goOn()")
    page.wait_for_selector("#answer .good")


@pytest.mark.large
def test_a_policy_is_compared_or_refused(opened: Open) -> None:
    header = {"format": "zenserve policy", "version": 1}
    for policy, tone, said in (
        ({"model": STATEMENT["commitments"]["model"]}, "good", "Valid"),
        ({"model": "00" * 48}, "bad", "model_mismatch"),
        ({"modle": "00" * 48}, "warn", "no such field, modle"),
        ({"key_file": "keys/digits.json"}, "warn", "names a file"),
        ({"issuer": "00" * 32}, "warn", "says nothing of a proof"),
        ({}, "warn", "compares nothing"),
        ({"at_least": 0.5}, "bad", "output_mismatch"),
        ({"at_least": [0.5]}, "warn", "no such field, at_least"),
    ):
        card = give(opened(), vector(PROOF), vector(KEY), file("policy.json", header | policy))
        assert tone in card.get_attribute("class"), policy
        assert said in card.inner_text()


@pytest.mark.large
def test_several_inputs_are_compared_by_their_names(opened: Open) -> None:
    """Their commitments, in a policy or entered, and what they are, in one file."""
    statement = json.loads((FOLDER / "several/valid.json").read_text())["statement"]
    held, given = (
        statement["commitments"]["input/a"],
        [vector("several/valid.json"), vector("several/valid-key.json")],
    )
    header = {"format": "zenserve policy", "version": 1}
    for inputs, tone, said in (({"a": held}, "good", "Valid"), ({"b": held}, "bad", "input_mismatch")):
        card = give(opened(), *given, file("policy.json", header | {"inputs": inputs}))
        assert tone in card.get_attribute("class")
        assert said in card.inner_text()
    page = opened()
    page.click("#pins summary")
    page.fill("#input", f"a={held.upper()}")
    assert "good" in give(page, *given).get_attribute("class")
    page.fill("#input", "a=00")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trouble .warn")
    assert page.get_attribute("#input", "aria-invalid") == "true"
    page.fill("#input", "")
    page.set_input_files(
        "#choose", [vector("several/inputs-input.json"), vector("several/inputs-opening.json")]
    )
    page.wait_for_selector("#answer .good")
    assert "The input a is the one that you gave" in page.locator("#answer").evaluate(
        "each => each.textContent"
    )


@pytest.mark.large
def test_what_an_output_is_at_least_may_be_entered(opened: Open) -> None:
    page = opened()
    page.click("#pins summary")
    page.fill("#at_least", "-1")
    card = give(page, vector("threshold/reached.json"), vector("threshold/reached-key.json"))
    assert "The network's output is at least -0.895" in card.inner_text()
    page.fill("#at_least", "0.5")
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer .bad")
    assert "output_mismatch" in page.inner_text("#answer")
    page.fill("#at_least", "much")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trouble .warn")
    assert page.get_attribute("#at_least", "aria-invalid") == "true"


def test_an_edited_proof_is_not_valid_and_nothing_of_it_is_shown(opened: Open) -> None:
    page = opened(SHOWN["desk"], "light")
    document = json.loads((FOLDER / PROOF).read_text())
    document["statement"]["claim"] = "All is well."
    card = give(page, file("proof.json", document), vector(KEY))
    assert "statement_edited" in card.inner_text()
    assert "All is well." not in page.inner_text("main")
    if folder := os.environ.get("ZENSERVE_SCREENSHOTS"):
        page.set_viewport_size({"width": SHOWN["desk"], "height": 720})
        page.screenshot(path=f"{folder}/verify-refused.png")


def test_a_receipt(opened: Open) -> None:
    page = opened()
    card = give(page, vector("receipt/valid.json"))
    assert "as its issuer signed it" in card.inner_text()
    receipt = json.loads((FOLDER / "receipt/valid.json").read_text())
    assert receipt["issuer"] in card.inner_text()
    card = give(page, vector("receipt/name.json", "changed.json"))
    page.wait_for_selector("#answer .bad")
    assert shown_roles(page) == {"changed.json": "Receipt"}


def test_what_is_no_document_is_called_what_it_is(opened: Open) -> None:
    page = opened()
    for content, said in (
        (b"not JSON", "neither JSON, an array nor CSV"),
        ({"format": "zenserve dream"}, "a “zenserve dream”"),
        ({"a": 1}, "neither a proof nor a key"),
    ):
        give_one(page, file("odd.json", content))
        assert said in page.locator("#files li").last.evaluate("each => each.textContent")
    page.evaluate(LARGE)
    page.wait_for_selector("text=too large: 65 MiB")
    assert "Proof needed" in page.inner_text("#answer")
    give_one(page, vector(KEY))
    give_one(page, file("cut.json", {"format": "zenserve proof"}))
    page.wait_for_selector("#trouble .warn")
    assert "file.json" in page.inner_text("#trouble")


LARGE: Final = """() => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([new ArrayBuffer(65 << 20)], "large.json"));
  dispatchEvent(new DragEvent("drop", { dataTransfer: transfer }));
}"""


def test_text_from_files_never_becomes_markup(opened: Open) -> None:
    page = opened()
    document = json.loads((FOLDER / PROOF).read_text())
    document["statement"]["verification_key"]["id"] = HOSTILE
    card = give(page, file("p", document, HOSTILE), file("o", {"format": HOSTILE}, "other"))
    assert HOSTILE[:-1] in card.inner_text()
    assert page.locator("#files").inner_text().count(HOSTILE[:-1]) == 2
    assert "\u202e" not in page.inner_text("main")
    key = json.loads((FOLDER / KEY).read_text()) | {"id": HOSTILE}
    give_one(page, file("k", key, HOSTILE))
    page.wait_for_selector("#trouble .warn")
    assert page.locator("main img").count() == 1  # its own


def test_text_from_files_is_shown_in_part_where_it_is_long(opened: Open) -> None:
    page = opened()
    endless = HOSTILE * 10_000
    document = json.loads((FOLDER / PROOF).read_text()) | {endless: 1}
    give(page, file("p", document), vector(KEY), file("o", {"format": endless}))
    assert "file.json" in page.inner_text("#trouble")
    assert len(page.inner_text("main")) < 5_000
    document["statement"]["verification_key"]["id"] = endless
    page.reload()
    give(page, file("p", document))
    assert "Key needed" in page.inner_text("#answer")
    assert len(page.inner_text("main")) < 5_000


@pytest.mark.large
def test_an_entered_id_is_at_fault_and_not_the_file_of_the_same_part(opened: Open) -> None:
    page = opened()
    page.evaluate("document.getElementById('pins').open = true")
    page.fill("#key", "00")
    give(page, vector(PROOF), vector(KEY))
    assert page.locator("#trouble .foot").inner_text() == "request.invalid"
    assert page.locator("#key[aria-invalid]").count() == 1
    page.fill("#key", "")
    other = json.loads((FOLDER / KEY).read_text()) | {"setup": "ceremony"}
    give_one(page, file("other.json", other))
    page.wait_for_selector("text=file.setup_label")
    assert page.locator("#key[aria-invalid]").count() == 0


def test_only_the_latest_choice_is_shown_and_work_can_be_canceled(opened: Open) -> None:
    page = opened()
    page.evaluate("() => { window.Worker = class extends Worker { postMessage() {} } }")  # it never answers
    page.set_input_files("#choose", [vector(PROOF), vector(KEY)])
    page.wait_for_selector("#working:not([hidden])")
    page.click("#cancel")
    assert "Canceled" in page.inner_text("#answer")
    page.evaluate("() => { window.Worker = class { constructor() { throw new Error('none') } } }")
    page.click("#answer button")
    page.wait_for_selector("#answer .good")  # the page did it itself


def test_a_file_takes_files_from_no_other_page(opened: Open) -> None:
    page = opened()
    page.evaluate(
        "() => new Promise((done) => { addEventListener('message', done);"
        " postMessage([new File(['{}'], 'posted.json')], '*') })"
    )
    give_one(page, vector(KEY))
    assert shown_roles(page) == {"valid-key.json": "Key"}


def test_it_may_connect_to_nothing(opened: Open) -> None:
    policy = opened().get_attribute("meta[http-equiv]", "content")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert (
        rules["default-src"] == rules["connect-src"] == rules["form-action"] == rules["base-uri"] == "'none'"
    )
    assert rules["worker-src"] == "blob:"
    assert rules["img-src"] == "data:"
    assert all(
        rules[name].startswith("'sha256-") and " " not in rules[name] for name in ("script-src", "style-src")
    )


# By the page, and by a worker as the page makes it: all that a browser's programs can ask of a network.
CONNECT: Final = """async (url) => {
  new Image().src = `${url}/image`;
  navigator.sendBeacon(`${url}/beacon`, "text");
  const link = Object.assign(document.createElement("link"), { rel: "prefetch", href: `${url}/prefetch` });
  document.head.append(link);
  const script = Object.assign(document.createElement("script"), { src: `${url}/script` });
  document.head.append(script);
  const ask = `fetch("${url}/fetch", { mode: "no-cors" }).catch(() => 0)`;
  await fetch(`${url}/fetch`, { mode: "no-cors" }).catch(() => 0);
  const program = `${ask}.then(() => postMessage("asked"))`;
  const worker = new Worker(URL.createObjectURL(new Blob([program])));
  return new Promise((done) => (worker.onmessage = ({ data }) => done(data)));
}"""


def test_its_policy_stops_whatever_would_connect(browser: Any, tmp_path: Path) -> None:
    """With a network, to a server that listens; the file without its policy is heard there."""
    asked: list[str] = []

    class Listening(BaseHTTPRequestHandler):
        def log_request(self, *_: Any) -> None:
            asked.append(self.path)

        def log_message(self, *_: Any) -> None:
            """Every answer is that there is no such method."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Listening) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        page = browser.new_page()
        page.goto(FILE.as_uri())
        assert page.evaluate(CONNECT, url) == "asked"
        heard = [*asked]
        bare = tmp_path / "bare.html"
        bare.write_text(re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", FILE.read_text()))
        page.goto(bare.as_uri())
        assert page.evaluate(CONNECT, url) == "asked"
        page.close()
        server.shutdown()
    assert heard == []
    assert "/fetch" in asked
