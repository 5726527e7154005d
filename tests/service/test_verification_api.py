"""The public verifier: each change to a document is refused by name, each malformed request is a problem."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from py_arkworks_bls12381 import G1Point

from tests.service.support import serving, tiny_calibration, tiny_onnx, work_on
from zenserve.client import ApiError, Client, Model, Verification
from zenserve.service.api import effort
from zenserve.service.api.schemas import VerifyRequest
from zenserve.service.runtime import Runtime
from zenserve.verifier.documents import KeyFile, Statement, checked, key_id
from zenserve.verifier.registry import FIRST

Document = dict[str, Any]
INFINITY_G1 = "c0" + 47 * "00"
GENERATOR = bytes(G1Point().to_compressed_bytes()).hex()


@pytest.fixture
def api(shared_url: str) -> Iterator[Client]:
    with Client(shared_url) as client:
        yield client


@pytest.fixture
def key(api: Client, document: Document) -> Document:
    return api.get_verification_key(document["statement"]["verification_key"]["id"])


def with_statement(document: Document, **changes: Any) -> Document:
    """The document with a changed statement, its hash made to fit."""
    changed = checked(Statement, document["statement"] | changes)
    return document | {"statement": changed.model_dump(mode="json"), "statement_sha256": changed.sha256.hex()}


def other_label(document: Document) -> Document:
    label = (document["statement"]["values"]["label"] + 1) % 3
    claim = document["statement"]["claim"].partition(".")[2]
    return with_statement(document, values={"label": label}, claim=f"The label is {label}.{claim}")


REFUSALS: dict[str, tuple[Callable[[Document], Document], str]] = {
    "a byte of the statement": (
        lambda d: d | {"statement": d["statement"] | {"made_at": "2026-01-01T00:00:00Z"}},
        "statement_edited",
    ),
    "another time": (lambda d: with_statement(d, made_at="2026-01-01T00:00:00Z"), "pairing_mismatch"),
    "another challenge": (lambda d: with_statement(d, challenge="dinner"), "pairing_mismatch"),
    "another label": (other_label, "pairing_mismatch"),
    "a label that is none": (lambda d: with_statement(d, values={"label": 3}), "values_mismatch"),
    "no values": (lambda d: with_statement(d, values={}), "values_mismatch"),
    "another model": (lambda d: with_statement(d, commitments={"model": GENERATOR}), "model_mismatch"),
    "claim": (lambda d: with_statement(d, claim="All is well."), "words_mismatch"),
    "unsaid": (lambda d: with_statement(d, does_not_say=[]), "words_mismatch"),
    "network": (lambda d: with_statement(d, network="0" * 64), "network_mismatch"),
    "setup": (
        lambda d: with_statement(
            d, verification_key=d["statement"]["verification_key"] | {"setup": "ceremony"}
        ),
        "key_mismatch",
    ),
    "truncated": (lambda d: d | {"proofs": [d["proofs"][0][:-2]]}, "proof_length"),
    "empty proof": (lambda d: d | {"proofs": [""]}, "proof_length"),
    "two proofs": (lambda d: d | {"proofs": d["proofs"] * 2}, "proof_count"),
}


def test_a_valid_proof_under_the_key_it_names_by_id_or_inline(
    shared_url: str, api: Client, document: Document, key: Document
) -> None:
    by_name, inline = api.verify(document), api.verify(document, key)
    assert by_name == inline
    assert (by_name.valid, by_name.reason) == (True, "ok")
    assert by_name.verification_key == document["statement"]["verification_key"]
    assert by_name.statement == document["statement"]
    assert by_name.verified
    assert by_name.not_verified
    body = {"proof": document, "verification_key_id": key["id"]}
    assert httpx.post(f"{shared_url}/v1/verify", json=body).json()["valid"] is True


@pytest.mark.parametrize("case", REFUSALS)
def test_each_change_is_refused_by_name(api: Client, document: Document, case: str) -> None:
    change, reason = REFUSALS[case]
    verdict = api.verify(change(document))
    assert (verdict.valid, verdict.reason, verdict.statement) == (False, reason, None)
    assert verdict.detail
    assert verdict.verified == []


def test_what_the_verifier_expects_is_found_or_refused(api: Client, document: Document, model: Model) -> None:
    assert api.verify(document, expected={"challenge": "lunch", "model": str(model.commitment)}).valid
    for expected, reason in (
        ({"challenge": "dinner"}, "challenge_mismatch"),
        ({"model": GENERATOR}, "model_mismatch"),
        ({"input": GENERATOR}, "input_mismatch"),
        ({"key": "0" * 64}, "key_mismatch"),
        ({"network": "0" * 64}, "network_mismatch"),
        ({"before": "2026-11-01T00:00:00Z"}, "time_mismatch"),
        ({"require": "ceremony"}, "setup_mismatch"),
    ):
        (in_batch,) = api.verify_batch([document], expected=expected)
        assert isinstance(in_batch, Verification)
        assert api.verify(document, expected=expected).reason == in_batch.reason == reason
    with pytest.raises(ApiError) as refusal:
        api.verify(document, expected={"after": "2026-12-01T00:00:00Z", "before": "2026-11-01T00:00:00Z"})
    assert (refusal.value.status, refusal.value.field) == (422, "expected.before")


def test_the_models_registration_beside_the_proof(
    shared_url: str, api: Client, document: Document, key: Document, model: Model
) -> None:
    registration = api.get_registration(model.id)
    registration_key = api.get_verification_key(registration["statement"]["verification_key"]["id"])
    with httpx.Client(base_url=shared_url) as http:

        def ask(**fields: Any) -> Document:
            return dict(http.post("/v1/verify", json={"proof": document} | fields).json())

        alone, named = ask(), ask(registration=registration)
        inline = ask(registration=registration, registration_key=registration_key)
        both = {"proof": document, "registration": registration}
        together = http.post("/v1/verify/batch", json={"proofs": [both, {"proof": document}]}).json()
        assert ask(registration_key=registration_key)["field"] == "registration_key"
        wrong = ask(registration=registration | {"proofs": document["proofs"]})
        other = ask(registration=registration, registration_key=key)
    assert any("was not given" in sentence for sentence in alone["not_verified"])
    assert any("registration that you gave is valid" in sentence for sentence in named["verified"])
    assert [named, alone] == together["verdicts"]
    assert named == inline
    assert wrong["reason"] == other["reason"] == "registration_mismatch"
    assert api.verify(document, registration=registration).verified == named["verified"]
    local = api.verify_locally(document, key, registration=(registration, registration_key))
    assert local.verified == named["verified"]


def test_a_proof_for_another_key_is_refused(
    url: str, with_model: Runtime, api: Client, document: Document
) -> None:
    with Client(url) as own:
        other = own.create_model(tiny_onnx(hidden=4), tiny_calibration(), weight_privacy="committed")
        work_on(with_model, other.id)
        other = own.get_model(other.id)
        assert other.verification_key_id is not None
        other_key = own.get_verification_key(other.verification_key_id)
        assert api.verify(document, other_key).reason == "key_mismatch"
        reference = {"id": other.verification_key_id, "setup": "development"}
        renamed = with_statement(document, verification_key=reference, network=other.network)
        assert own.verify(renamed).reason == "knowledge_mismatch"


def test_a_key_file_that_is_not_what_its_id_says_is_no_key(
    api: Client, document: Document, key: Document
) -> None:
    """The id covers the key and what it means: neither can be changed under it."""
    assert api.verify(document, key).valid
    for changed in (
        key | {"circuit": key["circuit"] | {"meaning": "All is well."}},
        key | {"key": key["key"] | {"statement_digest": "00" * 32}},
        key | {"id": "0" * 64},
    ):
        with pytest.raises(ApiError) as refusal:
            api.verify(document, changed)
        assert refusal.value.code == "file.hash"


def test_a_key_that_the_service_never_saw_does(document: Document, key: Document, runtime: Runtime) -> None:
    with serving(runtime) as empty, Client(empty) as api:
        assert api.verify(document, key).valid


MALFORMED: dict[str, tuple[Callable[[Document, Document], Document], int, str]] = {
    "no proof": (lambda d, k: {}, 422, "request.invalid"),
    "another system": (
        lambda d, k: {"proof": d | {"statement": d["statement"] | {"system": "groth17"}}},
        422,
        "request.invalid",
    ),
    "not hex": (lambda d, k: {"proof": d | {"proofs": ["xyz"]}}, 422, "request.invalid"),
    "odd hex": (lambda d, k: {"proof": d | {"proofs": ["abc"]}}, 422, "request.invalid"),
    "no proofs": (lambda d, k: {"proof": d | {"proofs": []}}, 422, "request.invalid"),
    "version": (lambda d, k: {"proof": d | {"version": 1}}, 422, "request.invalid"),
    "format": (lambda d, k: {"proof": d | {"format": "other"}}, 422, "request.invalid"),
    "more": (lambda d, k: {"proof": d | {"more": 1}}, 422, "request.invalid"),
    "more words": (
        lambda d, k: {"proof": d | {"statement": d["statement"] | {"approved": "by all"}}},
        422,
        "request.invalid",
    ),
    "text for a number": (
        lambda d, k: {"proof": d | {"statement": d["statement"] | {"values": {"label": "1"}}}},
        422,
        "request.invalid",
    ),
    "nameless": (
        lambda d, k: {"proof": {n: d[n] for n in d if n != "statement_sha256"}},
        422,
        "request.invalid",
    ),
    "two keys": (
        lambda d, k: {"proof": d, "verification_key": k, "verification_key_id": k["id"]},
        422,
        "request.invalid",
    ),
    "unknown key": (lambda d, k: {"proof": d, "verification_key_id": "0" * 64}, 404, "not_found"),
    "expected rubbish": (lambda d, k: {"proof": d, "expected": {"model": "x"}}, 422, "request.invalid"),
    "expected more": (lambda d, k: {"proof": d, "expected": {"label": 1}}, 422, "request.invalid"),
    "key point": (
        lambda d, k: {"proof": d, "verification_key": k | {"key": k["key"] | {"alpha_g1": INFINITY_G1}}},
        422,
        "file.point_at_infinity",
    ),
    "key rubbish": (lambda d, k: {"proof": d, "verification_key": k | {"key": {"a": 1}}}, 422, "file.json"),
    "no key": (lambda d, k: {"proof": d, "verification_key": {"a": 1}}, 422, "request.invalid"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_request_is_a_problem_and_no_verdict(
    shared_url: str, document: Document, key: Document, case: str
) -> None:
    change, status, code = MALFORMED[case]
    response = httpx.post(f"{shared_url}/v1/verify", json=change(copy.deepcopy(document), copy.deepcopy(key)))
    assert (response.status_code, response.json()["code"]) == (status, code), response.text
    assert "valid" not in response.json()


OTHER_READINGS = {
    "a field given twice": lambda text: text.replace(b'"challenge":', b'"challenge":null,"challenge":'),
    "twice in the key": lambda text: text.replace(b'"meaning":', b'"meaning":"","meaning":'),
    "the request's own": lambda text: text[:-1] + b',"expected":{},"expected":null}',
    "NaN": lambda text: text[:-1] + b',"expected":NaN}',
    "beyond a double": lambda text: text[:-1] + b',"expected":-1e999}',
    "nested": lambda text: text[:-1] + b',"expected":' + b"[" * 300 + b"]" * 300 + b"}",
}


@pytest.mark.parametrize("path", ["verify", "verify/batch"])
@pytest.mark.parametrize("case", OTHER_READINGS)
def test_a_body_has_one_reading(
    shared_url: str, document: Document, key: Document, path: str, case: str
) -> None:
    """As a file does that is read offline."""
    text = json.dumps({"proof": document, "verification_key": key}, separators=(",", ":")).encode()
    changed = OTHER_READINGS[case](text)
    assert changed != text
    body = changed if path == "verify" else b'{"proofs":[' + changed + b"]}"
    response = httpx.post(
        f"{shared_url}/v1/{path}", content=body, headers={"Content-Type": "application/json"}
    )
    assert (response.status_code, response.json()["code"]) == (400, "request.invalid_json")


def test_an_inline_key_of_too_many_points_is_not_read(
    api: Client, document: Document, key: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = VerifyRequest.model_validate({"proof": document, "verification_key": key})
    monkeypatch.setattr(effort, "MOST_POINTS", effort.points(asked))
    assert api.verify(document, key).valid
    for more in ({"ic": [*key["key"]["ic"], "rubbish"]}, {"segments": [*key["key"]["segments"], {}]}):
        with pytest.raises(ApiError) as refusal:
            api.verify(document, key | {"key": key["key"] | more})
        assert (refusal.value.status, refusal.value.code) == (422, "resource.verification")
        assert refusal.value.field == "proof"


def test_a_verification_key_can_be_cached_for_ever(shared_url: str, model: Model) -> None:
    response = httpx.get(f"{shared_url}/v1/verification-keys/{model.verification_key_id}")
    key = checked(KeyFile, response.json())
    assert key.id == model.verification_key_id
    assert key.id == key_id(FIRST, bytes.fromhex(key.key["digest"]), key.circuit)
    assert "immutable" in response.headers["Cache-Control"]
    etag = response.headers["ETag"]
    again = httpx.get(response.request.url, headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    head = httpx.head(response.request.url)
    assert (head.status_code, head.content, head.headers["ETag"]) == (200, b"", etag)
    assert head.headers["Content-Length"] == response.headers["Content-Length"]
    paths = httpx.get(f"{shared_url}/openapi.json").json()["paths"]
    assert "304" in paths["/v1/verification-keys/{key_id}"]["get"]["responses"]
    assert httpx.get(response.request.url, headers={"If-None-Match": '"x"'}).status_code == 200


def test_an_unknown_verification_key(shared_url: str) -> None:
    response = httpx.get(f"{shared_url}/v1/verification-keys/{'0' * 64}")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")
