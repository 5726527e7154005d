"""Contracts and calldata by the API, its client and the dashboard."""

from __future__ import annotations

import pytest

from tests.service.support import work_on
from zenserve.client import ApiError, Client, Model
from zenserve.service.runtime import Runtime
from zenserve.verifier.documents import KeyFile, ProofDocument, checked
from zenserve.verifier.onchain.calldata import calls
from zenserve.verifier.onchain.described import contract

INPUT = [0.1, 0.2, 0.3, 0.4]


def test_a_proof_leads_to_its_contract_and_to_what_is_sent_there(
    api: Client, with_model: Runtime, model: Model
) -> None:
    proof = api.create_proof(model.id, INPUT)
    with pytest.raises(ApiError) as refusal:
        api.get_calldata(proof.id)
    assert (refusal.value.status, refusal.value.code) == (409, "conflict.proof_not_ready")
    work_on(with_model, proof.id)
    proof = api.get_proof(proof.id)
    document = checked(ProofDocument, api.get_proof_document(proof.id))
    key = checked(KeyFile, api.get_verification_key(proof.verification_key_id or ""))
    assert api.get_contract_of_key(key.id) == contract(key)
    made = api.get_calldata(proof.id)
    assert [vars(call) for call in made] == [call._asdict() for call in calls(document, key)]
    page = api._http.get(f"admin/jobs/{proof.id}").text
    assert f"/v1/verification-keys/{key.id}/contract" in page
    assert made[0].calldata in page
    assert f"about {made[0].gas:,} gas".replace(",", "\u202f") in page or f"about {made[0].gas:,} gas" in page


def test_keys_that_are_not_there_or_have_no_contract_are_refused(
    api: Client, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ApiError) as refusal:
        api.get_contract_of_key("0" * 64)
    assert refusal.value.status == 404
    monkeypatch.setattr("zenserve.verifier.onchain.contract.MOST_BYTES", 1000)
    with pytest.raises(ApiError) as refusal:
        api.get_contract_of_key(model.verification_key_id or "")
    assert (refusal.value.status, refusal.value.code) == (422, "statement.contract")


def test_a_request_for_folded_inputs_makes_a_key_with_one_point_for_them(
    api: Client, with_model: Runtime, model: Model
) -> None:
    proof = api.create_proof(model.id, INPUT, input_privacy="public", reveal="logits", fold_inputs=True)
    work_on(with_model, proof.id)
    proof = api.get_proof(proof.id)
    key = api.get_verification_key(proof.verification_key_id or "")
    assert (key["key"]["version"], key["circuit"]["fold_inputs"]) == (4, True)
    assert len(key["key"]["ic"]) == 2 + key["key"]["challenges"]
    assert api.verify(api.get_proof_document(proof.id)).valid
    assert "fold(" in api.get_contract_of_key(str(proof.verification_key_id))
    plain = api.create_proof(model.id, INPUT, input_privacy="public", reveal="logits")
    work_on(with_model, plain.id)
    assert (
        "fold_inputs"
        not in api.get_verification_key(api.get_proof(plain.id).verification_key_id or "")["circuit"]
    )


def test_systems_without_folded_inputs_and_other_schemes_refuse_them(
    api: Client, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ApiError) as refusal:
        api.create_proof(model.id, INPUT, scheme="robustness", radius=1, fold_inputs=True)
    assert (refusal.value.code, refusal.value.field) == ("request.invalid", "fold_inputs")
    monkeypatch.setattr(
        "zenserve.verifier.groth16.system.Groth16Verifier.capabilities", frozenset({"challenges", "links"})
    )
    with pytest.raises(ApiError) as refusal:
        api.create_proof(model.id, INPUT, fold_inputs=True)
    assert (refusal.value.code, refusal.value.field) == ("request.invalid", "fold_inputs")
