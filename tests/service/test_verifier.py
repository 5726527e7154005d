"""Many callers at once and batches: each gets their own verdict; keys are kept, verdicts and lies are not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from bench.strangers import widened
from tests.service.support import serving
from tests.service.test_verification_api import REFUSALS
from tests.vectors.cases import FOLDER
from zenserve.client import Client
from zenserve.service.api import body_limit, effort, verifier
from zenserve.service.api.schemas import VerifyRequest
from zenserve.service.runtime import Runtime
from zenserve.service.storage.repositories import Circuits, VerificationKeys
from zenserve.verifier.documents import KeyFile, checked
from zenserve.verifier.judging import judge_each

Document = dict[str, Any]


@pytest.fixture
def key(shared_url: str, document: Document) -> Document:
    with Client(shared_url) as api:
        return api.get_verification_key(document["statement"]["verification_key"]["id"])


def post(url: str, body: Document, path: str = "/v1/verify") -> Document:
    response = httpx.post(f"{url}{path}", json=body)
    return {"status": response.status_code, "retry": response.headers.get("Retry-After"), **response.json()}


def batch(url: str, items: list[Document]) -> list[Document]:
    answer = post(url, {"proofs": items}, "/v1/verify/batch")
    assert answer["status"] == 200, answer
    verdicts: list[Document] = answer["verdicts"]
    return verdicts


# For an item: what makes it bad, and the verdict's reason or the problem's code.
BAD: dict[str, tuple[Callable[[Document, Document], Document], str]] = {
    "another statement": (lambda d, k: {"proof": REFUSALS["another time"][0](d)}, "pairing_mismatch"),
    "edited": (lambda d, k: {"proof": REFUSALS["claim"][0](d)}, "words_mismatch"),
    "no point": (lambda d, k: {"proof": d | {"proofs": [d["proofs"][0][:-96] + 48 * "ff"]}}, "link_encoding"),
    "no proof": (lambda d, k: {"proof": {"a": 1}}, "request.invalid"),
    "no fields": (lambda d, k: {}, "request.invalid"),
    "an unknown key": (lambda d, k: {"proof": d, "verification_key_id": "0" * 64}, "not_found"),
    "a key that lies": (lambda d, k: {"proof": d, "verification_key": lying(k)}, "file.hash"),
    "a key that folds 2^32 inputs": (
        lambda d, k: {
            "proof": d,
            "verification_key": k | {"key": k["key"] | {"version": 4, "folded": (1 << 32) - 1}},
        },
        "file.shape",
    ),
    "two keys": (
        lambda d, k: {"proof": d, "verification_key": k, "verification_key_id": k["id"]},
        "request.invalid",
    ),
}


def lying(key: Document) -> Document:
    """Another meaning under the same id."""
    return key | {"circuit": key["circuit"] | {"meaning": "All is well."}}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_item_in_any_place_spoils_no_other(
    shared_url: str, document: Document, key: Document, bad: str
) -> None:
    make, reason = BAD[bad]
    good = [{"proof": document}, {"proof": document, "verification_key": key}]
    for place in range(3):
        verdicts = batch(shared_url, [*good[:place], make(document, key), *good[place:]])
        wrong = verdicts.pop(place)
        assert wrong.get("reason", wrong.get("code")) == reason
        assert wrong.get("valid", False) is False
        assert [verdict["valid"] for verdict in verdicts] == [True, True]


def test_a_batch_has_limits_that_it_names(
    shared_url: str, document: Document, key: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = {"proof": document}
    assert len(batch(shared_url, [good] * 64)) == 64
    for items in ([], [good] * 65):
        answer = post(shared_url, {"proofs": items}, "/v1/verify/batch")
        assert (answer["status"], answer["code"], answer["field"]) == (422, "request.invalid", "proofs")
    inline = {"proof": document, "verification_key": key}
    alone, with_key = (effort.points(VerifyRequest.model_validate(item)) for item in (good, inline))
    monkeypatch.setattr(effort, "MOST_POINTS", 3 * alone)
    assert all(verdict["valid"] for verdict in batch(shared_url, [good] * 3))
    for items in ([good] * 4, [good, good, inline]):
        many = post(shared_url, {"proofs": items}, "/v1/verify/batch")
        assert (many["status"], many["code"], many["field"]) == (422, "resource.verification", "proofs")
        assert str(3 * alone) in many["detail"]
    shards = post(shared_url, {"proof": document | {"proofs": document["proofs"] * 50}})
    assert (shards["code"], shards["field"]) == ("resource.verification", "proof")
    assert with_key > alone
    beacon = {"contributions": [{"name": "beacon 2^16 " + "00" * 32, "secrets": []}]}
    hashed = inline | {"verification_key": key | {"transcript": beacon}}
    assert effort.points(VerifyRequest.model_validate(hashed)) >= with_key + 100


def test_totals_count_by_their_summands_and_by_what_opens_them() -> None:
    """A stranger's may be a proof of megabytes, of sums that the statement's values and shards make long."""
    document = json.loads((FOLDER / "accuracy" / "private.json").read_bytes())
    statement = document["statement"]
    dataset, values = statement["dataset"], statement["values"]

    def points(**changes: Any) -> int:
        asked = {"proof": document | {"statement": statement | changes}}
        return effort.points(VerifyRequest.model_validate(asked))

    alone = points()
    assert points(dataset=dataset | {"blinding": "00" * (1 << 20)}) >= alone + effort.MOST_POINTS
    many = {"values": values | {"counts": [0] * 2000}}
    assert points(**many) < effort.MOST_POINTS
    assert points(**many, dataset=dataset | {"shards": dataset["shards"][:1] * 500}) >= effort.MOST_POINTS


def test_many_at_once_get_their_own_verdicts(shared_url: str, document: Document, key: Document) -> None:
    """More than are checked together, valid and wrong in all ways mixed."""
    changed = [{"proof": change(copy.deepcopy(document))} for change, _ in REFUSALS.values()]
    reasons = [reason for _, reason in REFUSALS.values()]
    bodies = [body for bad in changed for body in ({"proof": document}, bad)] * 2
    with httpx.Client() as client, ThreadPoolExecutor(16) as callers:

        def ask(body: Document) -> str:
            return str(client.post(f"{shared_url}/v1/verify", json=body).json()["reason"])

        answers = list(callers.map(ask, bodies))
    assert answers == [reason for wrong in reasons for reason in ("ok", wrong)] * 2


def test_no_inline_key_gets_in_under_anothers_id(
    shared_url: str, document: Document, key: Document, runtime: Runtime
) -> None:
    """Neither before the true key is known, nor after."""
    with serving(runtime) as empty:
        assert post(empty, {"proof": document, "verification_key": lying(key)})["code"] == "file.hash"
        assert post(empty, {"proof": document})["code"] == "not_found"
        assert post(empty, {"proof": document, "verification_key": key})["valid"]
        assert post(empty, {"proof": document})["code"] == "not_found", "an inline key was kept for others"
    assert post(shared_url, {"proof": document})["valid"]
    assert post(shared_url, {"proof": document, "verification_key": lying(key)})["code"] == "file.hash"
    assert post(shared_url, {"proof": document})["valid"]


def test_a_key_is_read_once(with_model: Runtime, document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    get = VerificationKeys.get

    def counted(keys: VerificationKeys, key_id: str) -> KeyFile:
        reads.append(key_id)
        return get(keys, key_id)

    monkeypatch.setattr(VerificationKeys, "get", counted)
    with serving(with_model) as url:
        for _ in range(3):
            assert post(url, {"proof": document})["valid"]
        assert len(reads) == 1
        for _ in range(2):
            answer = post(url, {"proof": document, "verification_key_id": "0" * 64})
            assert answer["code"] == "not_found"
        assert len(reads) == 3, "that a key is missing was kept"


def test_whom_nobody_can_serve_in_time_is_sent_away(
    shared_url: str, document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifier, "MOST_WAITING", 0)
    for path, body in (
        ("/v1/verify", {"proof": document}),
        ("/v1/verify/batch", {"proofs": [{"proof": document}]}),
    ):
        answer = post(shared_url, body, path)
        assert (answer["status"], answer["code"], answer["retry"]) == (503, "resource.busy", "1")


@pytest.mark.parametrize("announced", [True, False])
def test_a_stranger_may_send_less(
    shared_url: str, document: Document, monkeypatch: pytest.MonkeyPatch, announced: bool
) -> None:
    body = json.dumps({"proof": document}).encode()
    monkeypatch.setattr(body_limit, "_LIMITS", [("/v1/verify", len(body) - 1)])
    sent: bytes | Iterator[bytes] = body if announced else iter([body[:99], body[99:]])
    headers = {"Content-Type": "application/json"}
    answer = httpx.post(f"{shared_url}/v1/verify", content=sent, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "request.too_large")
    assert f"larger than {len(body) - 1} bytes" in answer.json()["detail"]
    monkeypatch.setattr(body_limit, "_LIMITS", [("/v1/verify", len(body))])
    assert httpx.post(f"{shared_url}/v1/verify", content=body, headers=headers).json()["valid"]


def test_a_bug_that_one_document_finds_is_its_own(
    shared_url: str, document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fragile(cases: Any, **options: Any) -> Any:
        if any(case.expected.challenge == "bug" for case in cases):
            raise RuntimeError
        return judge_each(cases, **options)

    monkeypatch.setattr(verifier, "judge_each", fragile)
    bodies = [{"proof": document, "expected": {"challenge": "bug"}}, *[{"proof": document}] * 7] * 3
    with ThreadPoolExecutor(len(bodies)) as callers:
        answers = list(callers.map(lambda body: post(shared_url, body), bodies))
    assert [answer["status"] for answer in answers] == [500, *[200] * 7] * 3
    together = batch(shared_url, bodies)
    assert [answer.get("valid", answer.get("code")) for answer in together] == ["internal", *[True] * 7] * 3


@pytest.mark.parametrize("module", [verifier, effort])
def test_a_bug_that_one_key_finds_is_its_own(
    shared_url: str, document: Document, key: Document, monkeypatch: pytest.MonkeyPatch, module: Any
) -> None:
    """Where keys are read, and where it is estimated what they take."""
    name = "opened" if module is verifier else "_points"
    read = getattr(module, name)

    def fragile(*given: Any) -> Any:
        if any(isinstance(each, KeyFile) and each.id == "0" * 64 for each in given):
            raise RuntimeError
        return read(*given)

    monkeypatch.setattr(module, name, fragile)
    bad = {"proof": document, "verification_key": key | {"id": "0" * 64}}
    together = batch(shared_url, [{"proof": document}, bad, {"proof": document, "verification_key": key}])
    assert [answer.get("valid", answer.get("code")) for answer in together] == [True, "internal", True]


def test_a_key_of_thousands_of_points(with_model: Runtime, document: Document, key: Document) -> None:
    large, forged = widened(document, key, effort.MOST_POINTS)
    with with_model.database.write() as session:
        Circuits(session).add("0" * 64, "0" * 64, checked(KeyFile, large), constraints=0, size=0)
    with serving(with_model) as url:
        for _ in range(2):
            assert post(url, {"proof": forged})["reason"] == "pairing_mismatch"
