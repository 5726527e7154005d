"""The public verifier: each change to a document is refused by name, each malformed request is a problem."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from client import ApiError, Client, Model
from prover import VerifyingKey
from prover.points import SCALAR_MODULUS
from service import engine
from service.routes import verification
from service.runtime import Runtime
from tests.service.support import serving, tiny_calibration, tiny_onnx, work_on

Document = dict[str, Any]
INFINITY_G1 = "c0" + 47 * "00"


@pytest.fixture
def api(shared_url: str) -> Iterator[Client]:
    with Client(shared_url) as client:
        yield client


@pytest.fixture
def key(api: Client, document: Document) -> Document:
    key: Document = api.get_verification_key(document["verification_key"]["id"])["key"]
    return key


def other_label(document: Document) -> str:
    return str((int(document["public_inputs"][0]) + 1) % 3)


REFUSALS: dict[str, tuple[Callable[[Document], Document], str]] = {
    "label": (lambda d: {"public_inputs": [other_label(d)]}, "pairing_mismatch"),
    "label and words": (
        lambda d: {
            "public_inputs": [other_label(d)],
            "statement": d["statement"] | {"claim": f"The label is {other_label(d)}."},
        },
        "pairing_mismatch",
    ),
    "label + r": (
        lambda d: {"public_inputs": [str(int(d["public_inputs"][0]) + SCALAR_MODULUS)]},
        "public_input_not_canonical",
    ),
    "one input too many": (lambda d: {"public_inputs": [*d["public_inputs"], "0"]}, "public_input_count"),
    "no inputs": (lambda d: {"public_inputs": []}, "public_input_count"),
    "truncated": (lambda d: {"proof": d["proof"][:-2]}, "proof_length"),
    "empty proof": (lambda d: {"proof": ""}, "proof_length"),
    "extended": (lambda d: {"proof": d["proof"] + "00"}, "proof_length"),
    "A at infinity": (lambda d: {"proof": INFINITY_G1 + d["proof"][96:]}, "a_at_infinity"),
    "A for C": (lambda d: {"proof": d["proof"][:288] + d["proof"][:96]}, "pairing_mismatch"),
    "claim": (lambda d: {"statement": d["statement"] | {"claim": "All is well."}}, "statement_mismatch"),
    "field": (lambda d: {"statement": d["statement"] | {"fields": []}}, "statement_mismatch"),
    "unsaid": (lambda d: {"statement": d["statement"] | {"does_not_say": []}}, "statement_mismatch"),
    "setup label": (
        lambda d: {"verification_key": d["verification_key"] | {"setup": "ceremony"}},
        "key_mismatch",
    ),
}


def test_a_valid_proof_under_the_key_it_names_by_id_or_inline(
    shared_url: str, api: Client, document: Document, key: Document
) -> None:
    by_name, inline = api.verify(document), api.verify(document, key)
    assert by_name == inline
    assert (by_name.valid, by_name.reason) == (True, "ok")
    assert by_name.verification_key == document["verification_key"]
    assert by_name.statement == document["statement"]
    body = {"proof": document, "verification_key_id": key["digest"]}
    assert httpx.post(f"{shared_url}/v1/verify", json=body).json()["valid"] is True


@pytest.mark.parametrize("case", REFUSALS)
def test_each_change_is_refused_by_name(shared_url: str, document: Document, case: str) -> None:
    change, reason = REFUSALS[case]
    response = httpx.post(
        f"{shared_url}/v1/verify", json={"proof": document | change(copy.deepcopy(document))}
    )
    assert response.status_code == 200
    assert (response.json()["valid"], response.json()["reason"]) == (False, reason)
    assert response.json()["detail"]


def test_a_proof_for_another_key_is_refused(
    url: str, shared_url: str, with_model: Runtime, document: Document
) -> None:
    with Client(url) as own, Client(shared_url) as shared:
        other = own.create_model(tiny_onnx(hidden=4), tiny_calibration())
        work_on(with_model, other.id)
        other = own.get_model(other.id)
        assert other.verification_key_id is not None
        other_key = own.get_verification_key(other.verification_key_id)["key"]
        assert shared.verify(document, other_key).reason == "key_mismatch"
        renamed = document | {"verification_key": {"id": other_key["digest"], "setup": "development"}}
        assert own.verify(renamed).reason == "pairing_mismatch"


def test_a_key_is_read_once_and_never_taken_for_another(
    api: Client, document: Document, key: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert api.verify(document, key).valid
    with pytest.raises(ApiError) as refusal:
        api.verify(document, key | {"statement_digest": "00" * 32})
    assert refusal.value.code == "file.hash"
    monkeypatch.delattr(VerifyingKey, "from_json")
    assert api.verify(document, key).valid


def test_a_key_that_the_service_never_saw_has_no_statement(
    document: Document, key: Document, runtime: Runtime
) -> None:
    with serving(runtime) as empty, Client(empty) as api:
        verdict = api.verify(document, key)
    assert (verdict.valid, verdict.statement) == (True, None)


MALFORMED: dict[str, tuple[Callable[[Document, Document], Document], int, str]] = {
    "no proof": (lambda d, k: {}, 422, "request.invalid"),
    "not hex": (lambda d, k: {"proof": d | {"proof": "xyz"}}, 422, "request.invalid"),
    "odd hex": (lambda d, k: {"proof": d | {"proof": "abc"}}, 422, "request.invalid"),
    "version": (lambda d, k: {"proof": d | {"version": 2}}, 422, "request.invalid"),
    "format": (lambda d, k: {"proof": d | {"format": "other"}}, 422, "request.invalid"),
    "negative input": (lambda d, k: {"proof": d | {"public_inputs": ["-1"]}}, 422, "request.invalid"),
    "padded input": (lambda d, k: {"proof": d | {"public_inputs": ["01"]}}, 422, "request.invalid"),
    "numeric input": (lambda d, k: {"proof": d | {"public_inputs": [1]}}, 422, "request.invalid"),
    "endless input": (lambda d, k: {"proof": d | {"public_inputs": ["1" * 81]}}, 422, "request.invalid"),
    "more": (lambda d, k: {"proof": d | {"more": 1}}, 422, "request.invalid"),
    "more words": (
        lambda d, k: {"proof": d | {"statement": d["statement"] | {"approved": "by all"}}},
        422,
        "request.invalid",
    ),
    "more on the key": (
        lambda d, k: {"proof": d | {"verification_key": d["verification_key"] | {"by": "all"}}},
        422,
        "request.invalid",
    ),
    "nameless": (lambda d, k: {"proof": {n: d[n] for n in d if n != "format"}}, 422, "request.invalid"),
    "two keys": (
        lambda d, k: {"proof": d, "verification_key": k, "verification_key_id": k["digest"]},
        422,
        "request.invalid",
    ),
    "unknown key": (lambda d, k: {"proof": d, "verification_key_id": "0" * 64}, 404, "not_found"),
    "key digest": (lambda d, k: {"proof": d, "verification_key": k | {"digest": "0" * 64}}, 422, "file.hash"),
    "key point": (
        lambda d, k: {"proof": d, "verification_key": k | {"alpha_g1": INFINITY_G1}},
        422,
        "file.point_at_infinity",
    ),
    "key rubbish": (lambda d, k: {"proof": d, "verification_key": {"a": 1}}, 422, "file.json"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_request_is_a_problem_and_no_verdict(
    shared_url: str, document: Document, key: Document, case: str
) -> None:
    change, status, code = MALFORMED[case]
    response = httpx.post(f"{shared_url}/v1/verify", json=change(copy.deepcopy(document), copy.deepcopy(key)))
    assert (response.status_code, response.json()["code"]) == (status, code), response.text
    assert "valid" not in response.json()


def test_an_inline_key_of_too_many_points_is_not_read(
    api: Client, document: Document, key: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "MOST_INLINE_POINTS", len(key["ic"]))
    assert api.verify(document, key).valid
    with pytest.raises(ApiError) as refusal:
        api.verify(document, key | {"ic": [*key["ic"], "rubbish"]})
    assert (refusal.value.status, refusal.value.code) == (422, "resource.key_size")
    assert refusal.value.field == "verification_key.ic"


def test_a_verification_key_can_be_cached_for_ever(shared_url: str, model: Model) -> None:
    response = httpx.get(f"{shared_url}/v1/verification-keys/{model.verification_key_id}")
    assert response.json()["id"] == response.json()["key"]["digest"] == model.verification_key_id
    assert "immutable" in response.headers["Cache-Control"]
    etag = response.headers["ETag"]
    again = httpx.get(response.request.url, headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    paths = httpx.get(f"{shared_url}/openapi.json").json()["paths"]
    assert "304" in paths["/v1/verification-keys/{key_id}"]["get"]["responses"]
    assert httpx.get(response.request.url, headers={"If-None-Match": '"x"'}).status_code == 200
    assert engine.read_key(response.json()["key"]).digest.hex() == model.verification_key_id


def test_an_unknown_verification_key(shared_url: str) -> None:
    response = httpx.get(f"{shared_url}/v1/verification-keys/{'0' * 64}")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")
