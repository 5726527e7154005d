"""Models of one network under several proof systems: what their receipts say, and proofs of either."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.support import tiny_calibration, tiny_onnx, work_on
from zenserve.client import ApiError, Client, Model
from zenserve.prover.spartan.system import Spartan
from zenserve.service.runtime import Runtime
from zenserve.verifier import receipts
from zenserve.verifier.documents import LISTING, Receipt, checked
from zenserve.verifier.registry import FIRST

INPUT = [0.1, 0.2, 0.3, 0.4]
SAME_WEIGHTS = "That commitments under different systems hold the same weights: nothing proves that."
Json = dict[str, Any]


@pytest.fixture
def twin(api: Client, with_model: Runtime, model: Model) -> Model:
    """Of the model that the service has, under Spartan."""
    made = api.create_twin(model.id, "spartan")
    work_on(with_model, made.id)
    return api.get_model(made.id)


def _document(api: Client, runtime: Runtime, model: Model, **fields: Any) -> tuple[str, Json]:
    proof = api.create_proof(model.id, INPUT, **fields)
    work_on(runtime, proof.id)
    made = api.get_proof(proof.id)
    assert made.state == "succeeded", made.problem
    return made.model_id, api.get_proof_document(proof.id)


def test_a_model_holds_a_commitment_under_each_system(
    api: Client, url: str, model: Model, twin: Model
) -> None:
    assert (twin.state, twin.system, twin.setup) == ("succeeded", Spartan.id, "transparent")
    assert (twin.network, twin.name, twin.bits) == (model.network, model.name, model.bits)
    listed = {"id": model.id, "system": FIRST, "commitment": model.commitment}
    assert twin.twins == [listed]
    assert api.get_model(model.id).twins == [
        {"id": twin.id, "system": Spartan.id, "commitment": twin.commitment}
    ]
    receipt = checked(Receipt, api.get_receipt(twin.id))
    assert receipt.version == LISTING
    assert [each.model_dump() for each in receipt.twins or []] == [
        {"model_id": model.id, "system": FIRST, "commitment": model.commitment}
    ]
    verdict = receipts.judge(receipt)
    assert verdict.valid
    assert any(f"{model.id}, of {FIRST}, is the same network" in each for each in verdict.verified)
    assert SAME_WEIGHTS in verdict.not_verified
    page = httpx.get(f"{url}/admin/models/{model.id}")
    assert page.status_code == 200
    assert all(said in page.text for said in (f"Twin, {Spartan.id}", f"/admin/models/{twin.id}"))
    first = checked(Receipt, api.get_receipt(model.id))
    assert (first.version, first.twins) == (3, None)
    assert SAME_WEIGHTS not in receipts.judge(first).not_verified


def test_proofs_choose_their_system(api: Client, with_model: Runtime, model: Model, twin: Model) -> None:
    for asked, system, expected in (
        (model, None, model),
        (model, "spartan", twin),
        (model, FIRST, model),
        (twin, "groth16", model),
    ):
        about, document = _document(api, with_model, asked, system=system)
        assert (about, document["statement"]["system"]) == (expected.id, expected.system)
        assert document["statement"]["commitments"]["model"] == expected.commitment
    tried = api.dry_run(model.id, INPUT, system="spartan")
    assert (tried.model_id, tried.proof_bytes > 100_000) == (twin.id, True)
    held = api.create_commitment(model.id, "input", INPUT)
    with pytest.raises(ApiError) as refused:  # over another basis
        api.create_proof(model.id, system="spartan", input_id=held.id)
    assert (refused.value.status, refused.value.field) == (422, "input_id")


def test_the_command_line_chooses(
    run: Any, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: Model, twin: Model
) -> None:
    monkeypatch.setenv("ZENSERVE_URL", url)
    (tmp_path / "input.json").write_text(json.dumps(INPUT))
    given = ("prove", model.id, tmp_path / "input.json", "--dry-run", "--field", "model_id")
    assert run(*given)[1].strip() == model.id
    assert run(*given, "--system", "spartan")[1].strip() == twin.id
    code, out, _ = run("models", "twin", model.id, "--system", "spartan", "--no-wait", "--field", "state")
    assert (code, out.strip()) == (0, "queued")


def test_what_is_no_twin(api: Client, with_model: Runtime, model: Model) -> None:
    with pytest.raises(ApiError) as refused:
        api.create_twin(model.id, "groth16")
    assert (refused.value.code, refused.value.field) == ("request.invalid", "system")
    for system, status, code in (("spartan", 404, "not_found"), ("nova", 422, "statement.system")):
        with pytest.raises(ApiError) as refused:
            api.create_proof(model.id, INPUT, system=system)
        assert (refused.value.status, refused.value.code, refused.value.field) == (status, code, "system")
    made = api.create_twin(model.id, "spartan", idempotency_key="once")
    assert api.create_twin(model.id, "spartan", idempotency_key="once").id == made.id
    with pytest.raises(ApiError) as refused:  # it is not registered yet
        api.create_proof(model.id, INPUT, system="spartan")
    assert refused.value.status == 404


def test_a_twin_stays_when_the_first_is_deleted(api: Client, model: Model, twin: Model) -> None:
    api.delete_model(model.id)
    assert api.get_model(twin.id).twins == []
    assert receipts.judge(checked(Receipt, api.get_receipt(twin.id))).valid


def test_public_weights(api: Client, with_model: Runtime) -> None:
    """Their hash says which they are: that of both is one."""
    first = api.create_model(tiny_onnx(), tiny_calibration(), saturate=True, weight_privacy="public")
    work_on(with_model, first.id)
    made = api.create_twin(first.id, "spartan")
    work_on(with_model, made.id)
    receipt = checked(Receipt, api.get_receipt(made.id))
    assert [each.commitment for each in receipt.twins or []] == [None]
    assert (receipt.saturates, receipt.network) == (True, api.get_model(first.id).network)
    assert SAME_WEIGHTS not in receipts.judge(receipt).not_verified
