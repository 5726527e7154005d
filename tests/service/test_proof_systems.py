"""A proof system that the service has never heard of proves every scheme, and is judged like any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.service.conftest import open_runtime
from tests.service.support import (
    labelled,
    serving,
    shards_of,
    tiny_calibration,
    tiny_onnx,
    work_on,
    work_on_all,
)
from tests.service.toy_system import BYTES, ToySystem, installed
from zenserve.client import ApiError, Client, Model
from zenserve.errors import FileFormatError
from zenserve.service.runtime import Runtime
from zenserve.verifier import receipts
from zenserve.verifier.documents import KeyFile, OpeningFile, ProofDocument, Receipt, checked
from zenserve.verifier.judging import Known, Registration, Verification, judge
from zenserve.verifier.keys import opened
from zenserve.verifier.registry import FIRST, SYSTEMS

INPUT = [0.1, 0.2, 0.3, 0.4]
Json = dict[str, Any]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Runtime, Client]]:
    runtime = open_runtime(tmp_path_factory.mktemp("toy") / "data")
    with installed(), serving(runtime) as url, Client(url) as client:
        yield runtime, client
    runtime.close()


@pytest.fixture(scope="module")
def committed(service: tuple[Runtime, Client]) -> Model:
    return registered(*service, weight_privacy="committed")


def registered(runtime: Runtime, api: Client, onnx: bytes | None = None, **how: Any) -> Model:
    model = api.create_model(
        onnx or tiny_onnx(), tiny_calibration(), system="toy", **({"weight_privacy": "public"} | how)
    )
    work_on(runtime, model.id)
    model = api.get_model(model.id)
    assert (model.state, model.system, model.setup) == ("succeeded", "toy", "transparent"), model.problem
    return model


def judged(api: Client, document: Json, known: Known | None = None) -> Verification:
    key = api.get_verification_key(document["statement"]["verification_key"]["id"])
    assert (key["version"], key["system"], key["commitment_scheme"]) == (3, "toy", "toy-sha256")
    verdict = judge(checked(ProofDocument, document), checked(KeyFile, key), known=known)
    assert api.verify(document).valid == verdict.valid or known
    return verdict


def proven(
    service: tuple[Runtime, Client], model: Model, *values: Any, known: Known | None = None, **fields: Any
) -> Json:
    runtime, api = service
    proof = api.create_proof(model.id, *values, **fields)
    (work_on_all if fields.get("scheme") == "accuracy" else work_on)(runtime, proof.id)
    proof = api.get_proof(proof.id)
    assert (proof.state, proof.system) == ("succeeded", "toy"), proof.problem
    document = api.get_proof_document(proof.id)
    verdict = judged(api, document, known)
    assert verdict.valid, verdict.detail
    assert any("for all to read" in sentence for sentence in verdict.not_verified)
    assert api.verify(document, expected={"require": "ceremony"}).valid
    return document


def test_a_registration_and_its_receipt(service: tuple[Runtime, Client], committed: Model) -> None:
    _, api = service
    document, receipt = api.get_registration(committed.id), api.get_receipt(committed.id)
    assert judged(api, document).valid
    assert len(committed.commitment or "") == 2 * BYTES
    assert (receipt["system"], receipt["commitment_scheme"]) == ("toy", "toy-sha256")
    verdict = receipts.judge(checked(Receipt, receipt))
    assert verdict.valid
    assert f"toy-sha256, is {committed.commitment}" in " ".join(verdict.verified)
    key = opened(checked(KeyFile, api.get_verification_key(committed.registration_key_id or "")))
    known = Known(registration=Registration(checked(ProofDocument, document), key))
    proven(service, committed, INPUT, known=known)


@pytest.mark.parametrize("weights", ["public", "committed"])
def test_inference_with_every_privacy(
    service: tuple[Runtime, Client], committed: Model, weights: str
) -> None:
    runtime, api = service
    model = committed if weights == "committed" else registered(runtime, api)
    proven(service, model, INPUT, input_privacy="public")
    proven(service, model, INPUT, reveal="logits")
    held = api.create_commitment(model.id, "input", INPUT)
    document = proven(service, model, input_id=held.id, reveal="top", top=2, challenge="lunch")
    assert document["statement"]["commitments"]["input"] == held.commitment
    kind = api.get_verification_key(document["statement"]["verification_key"]["id"])["circuit"][
        "quantisation"
    ]
    scale, zero = (kind["input"][name] for name in ("scale", "zero_point"))
    values = [int(value) for value in np.rint(np.array(INPUT) / scale + zero)]
    openings = checked(OpeningFile, api.get_commitment_opening(held.id))
    assert judged(api, document, Known(input=values, openings=openings)).valid
    wrong = judged(api, document, Known(input=values[::-1], openings=openings))
    assert wrong.reason == "input_mismatch"


def test_a_dry_run_says_what_the_proof_takes(service: tuple[Runtime, Client], committed: Model) -> None:
    _, api = service
    tried = api.dry_run(committed.id, INPUT)
    made = proven(service, committed, INPUT)
    links = 1
    assert tried.proof_bytes == len(made["proofs"][0]) // 2 - links * BYTES
    assert tried.verification_key_id == made["statement"]["verification_key"]["id"]


@pytest.mark.parametrize("hidden", [False, True])
def test_recognition(service: tuple[Runtime, Client], hidden: bool) -> None:
    runtime, api = service
    model = registered(runtime, api, tiny_onnx(embeds=True))
    reference: dict[str, Any] = {"reference": INPUT}
    if hidden:
        reference = {"reference_id": api.create_commitment(model.id, "reference", INPUT).id}
    document = proven(service, model, INPUT, scheme="recognition", threshold=10, **reference)
    assert document["statement"]["values"]["match"] == 1


@pytest.mark.parametrize("privacy", ["public", "private"])
def test_accuracy(service: tuple[Runtime, Client], committed: Model, privacy: Any) -> None:
    runtime, api = service
    dataset = api.create_dataset(committed.id, *labelled(5), privacy=privacy, shard_size=3)
    work_on(runtime, dataset.id)
    document = proven(service, committed, scheme="accuracy", dataset_id=dataset.id)
    assert len(document["proofs"]) == len(document["statement"]["dataset"]["shards"]) == 2
    assert shards_of(runtime, next(api.proofs()).id)
    total = document["statement"]["values"]["correct"]
    lie = document["statement"] | {"values": {"correct": total + 1, "size": 5}}
    lie["claim"] = lie["claim"].replace(f"gets {total}", f"gets {total + 1}")
    forged = checked(ProofDocument, document | {"statement": lie})
    forged = forged.model_copy(update={"statement_sha256": forged.statement.sha256.hex()})
    assert judged(api, forged.model_dump(mode="json")).reason == "total_mismatch"


def test_what_is_wrong_is_refused(service: tuple[Runtime, Client], committed: Model) -> None:
    """The toy's own reasons reach the verifier, and a link names what it is to."""
    _, api = service
    document = proven(service, committed, INPUT)
    proof = bytes.fromhex(document["proofs"][0])
    for place, reason in ((1, "model_mismatch"), (BYTES + 1, "not_a_witness"), (len(proof), "not_a_witness")):
        spoilt = bytearray(proof)
        spoilt[-place] ^= 1
        assert judged(api, document | {"proofs": [spoilt.hex()]}).reason == reason
    assert judged(api, document | {"proofs": [proof[:-1].hex()]}).reason == "proof_length"
    claimed = {"system": FIRST, "commitment_scheme": SYSTEMS[FIRST].commitments.id}
    with pytest.raises(FileFormatError, match="has 48 bytes"):
        checked(ProofDocument, document | {"statement": document["statement"] | claimed})


def test_models_of_a_system(service: tuple[Runtime, Client], committed: Model) -> None:
    runtime, api = service
    files = tiny_onnx(), tiny_calibration()
    first = api.create_model(*files, weight_privacy="committed")
    assert first.system == FIRST
    for wanted, refusal in (
        ({"system": "groth17"}, ("statement.system", "system")),
        ({"system": "toy", "require_ceremony": True}, ("request.invalid", "require_ceremony")),
        ({"weight_privacy": "committed", "parent_id": committed.id}, ("request.invalid", "parent_id")),
    ):
        with pytest.raises(ApiError) as refused:
            api.create_model(*files, **wanted)
        assert (refused.value.code, refused.value.field) == refusal
    with pytest.raises(ApiError, match="no ceremonies for keys of toy"):
        api.change_model(committed.id, require_ceremony=True)
    once = [
        api.create_model(*files, system="toy", idempotency_key="once", weight_privacy="public").id
        for _ in range(2)
    ]
    assert once[0] == once[1]
    with pytest.raises(ApiError) as refused:
        api.create_model(*files, idempotency_key="once", weight_privacy="public")
    assert refused.value.status == 409
    assert runtime.settings.basis_points


def test_a_system_that_cannot_link_says_so(
    service: tuple[Runtime, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, api = service
    monkeypatch.setattr(ToySystem, "capabilities", frozenset({"challenges"}))
    model = api.create_model(
        tiny_onnx(hidden=4), tiny_calibration(), system="toy", weight_privacy="committed"
    )
    work_on(runtime, model.id)
    problem = api.get_model(model.id).problem
    assert problem is not None
    assert (problem["code"], problem["field"]) == ("statement.system", "system")
    assert "toy has no links" in problem["detail"]


def test_a_proof_that_convinces_too_easily_is_not_made(
    service: tuple[Runtime, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, api = service
    monkeypatch.setattr(ToySystem, "soundness_bits", lambda *_: 127.9)
    model = api.create_model(tiny_onnx(hidden=3), tiny_calibration(), system="toy", weight_privacy="public")
    work_on(runtime, model.id)
    problem = api.get_model(model.id).problem
    assert problem is not None
    assert problem["code"] == "statement.soundness"


def test_what_is_of_a_system_that_is_gone(
    service: tuple[Runtime, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upgrade of several hosts has some that do not know it yet."""
    runtime, api = service
    model = registered(runtime, api, tiny_onnx(hidden=2))
    key_id = model.verification_key_id or ""
    monkeypatch.delitem(SYSTEMS, "toy")
    with pytest.raises(ApiError) as refused:
        api.get_verification_key(key_id)
    assert (refused.value.status, refused.value.code) == (422, "file.system")
