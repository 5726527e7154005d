"""Registered models: what binds them, who signed it, what others can compile from it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import httpx
import onnx
import onnx.parser
import pytest

from tests.service.support import labelled, tiny_calibration, tiny_onnx, work_on, work_on_all
from zenserve.circuits import QuantGraph, compile_inference
from zenserve.client import ApiError, Client, Model
from zenserve.prover.groth16 import CommitmentKey, VerifyingKey
from zenserve.service import encryption
from zenserve.service.powers import import_basis
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.resources import Model as ModelRow
from zenserve.verifier.documents import Receipt, checked
from zenserve.verifier.receipts import is_signed

INPUT = [0.1, 0.2, 0.3, 0.4]


@pytest.fixture
def shared_api(shared_url: str) -> Iterator[Client]:
    with Client(shared_url) as client:
        yield client


def test_a_registration_proves_what_its_commitment_is_to(shared_api: Client, model: Model) -> None:
    document = shared_api.get_registration(model.id)
    said = document["statement"]
    assert (said["scheme"], said["commitments"]) == ("registration", {"model": model.commitment})
    assert (said["network"], said["parent"], said["values"]) == (model.network, None, {})
    assert said["verification_key"]["id"] == model.registration_key_id
    assert shared_api.verify(document, expected={"model": str(model.commitment)}).valid
    refused = shared_api.verify(document, expected={"model": "c0" + 47 * "00"})
    assert (refused.valid, refused.reason) == (False, "model_mismatch")


def test_the_receipt_is_signed_and_names_the_registration(shared_api: Client, model: Model) -> None:
    receipt = checked(Receipt, shared_api.get_receipt(model.id))
    assert is_signed(receipt)
    assert not is_signed(receipt.model_copy(update={"name": "another"}))
    assert (receipt.model_id, receipt.commitment, receipt.network) == (
        model.id,
        model.commitment,
        model.network,
    )
    assert receipt.registration == shared_api.get_registration(model.id)["statement_sha256"]


def test_anyone_compiles_the_circuits_from_the_architecture(shared_api: Client, model: Model) -> None:
    blob = shared_api.get_architecture(model.id)
    assert hashlib.sha256(blob).hexdigest() == model.network
    circuit = compile_inference(QuantGraph.from_bytes(blob), weight_privacy="committed")
    assert model.verification_key_id is not None
    key = shared_api.get_verification_key(model.verification_key_id)
    assert VerifyingKey.from_json(key["key"]).statement_digest == circuit.constraint_system.digest
    assert key["circuit"] == circuit.describe()


def test_a_key_leads_to_the_architecture_of_committed_weights_alone(
    api: Client, with_model: Runtime, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert model.verification_key_id is not None
    assert api.get_architecture_of_key(model.verification_key_id) == api.get_architecture(model.id)
    path, known = f"v1/verification-keys/{model.verification_key_id}/architecture", f'"{model.network}"'
    with monkeypatch.context() as patch:
        patch.setattr(encryption, "open_network", lambda *_: pytest.fail("it was opened"))
        again = api._http.get(path, headers={"If-None-Match": known})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", known)
    assert api._http.get(path, headers={"If-None-Match": '"x"'}).status_code == 200
    with pytest.raises(ApiError) as refusal:
        api.get_architecture_of_key("0" * 64)
    assert refusal.value.status == 404
    shown = api.create_model(tiny_onnx(hidden=6), tiny_calibration(), weight_privacy="public")
    work_on(with_model, shown.id)
    proof = api.create_proof(shown.id, [0.1, 0.2, 0.3, 0.4])
    work_on(with_model, proof.id)
    with pytest.raises(ApiError, match="model's owner") as refusal:
        api.get_architecture_of_key(api.get_proof(proof.id).verification_key_id or "")
    assert refusal.value.status == 404


def test_the_report_on_a_model_is_a_page_that_runs_nothing(shared_api: Client, model: Model) -> None:
    answer = httpx.get(f"{shared_api._http.base_url}/v1/models/{model.id}/report")
    assert answer.headers["Content-Type"].startswith("text/html")
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src")
    assert answer.content == shared_api.get_report(model.id)
    assert f"Quantisation of {model.name}" in answer.text
    assert "<svg" in answer.text
    assert "<script" not in answer.text


def test_a_new_version_names_its_parent(api: Client, with_model: Runtime, model: Model) -> None:
    child = api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="committed", parent_id=model.id)
    work_on(with_model, child.id)
    child = api.get_model(child.id)
    assert (child.state, child.parent_id) == ("succeeded", model.id)
    assert api.get_registration(child.id)["statement"]["parent"] == model.commitment
    assert api.get_receipt(child.id)["parent"] == {"model_id": model.id, "commitment": model.commitment}


def test_a_parent_must_be_registered_and_committed_to(api: Client, with_model: Runtime, model: Model) -> None:
    def refusal(**options: str) -> tuple[int, str, str | None]:
        with pytest.raises(ApiError) as error:
            api.create_model(tiny_onnx(), tiny_calibration(), **options)  # type: ignore[arg-type]
        return error.value.status, error.value.code, error.value.field

    assert refusal(parent_id=model.id, weight_privacy="public") == (422, "request.invalid", "parent_id")
    assert refusal(parent_id="mdl_x", weight_privacy="committed") == (404, "not_found", "parent_id")
    public = api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="public")
    late = {"parent_id": public.id, "weight_privacy": "committed"}
    assert refusal(**late) == (409, "conflict.model_not_ready", "parent_id")
    work_on(with_model, public.id)
    assert refusal(**late) == (422, "request.invalid", "parent_id")


def test_weights_are_committed_unless_public_is_asked_for(api: Client, with_model: Runtime) -> None:
    made = [api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy=how) for how in (None, "public")]
    assert [model.weight_privacy for model in made] == ["committed", "public"]
    weightless = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> f (float[1, 4] x) => (float[1, 4] y) { y = Relu(x) }'
    ).SerializeToString()
    assert api.create_model(weightless, tiny_calibration()).weight_privacy == "public"
    with pytest.raises(ApiError) as refusal:
        api.create_model(weightless, tiny_calibration(), weight_privacy="committed")
    assert (refusal.value.code, refusal.value.field) == ("statement.no_weights", "weight_privacy")
    work_on(with_model, made[0].id)
    assert api.get_model(made[0].id).commitment is not None


def test_public_weights_have_a_receipt_and_nothing_to_register(api: Client, with_model: Runtime) -> None:
    model = api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="public")
    with pytest.raises(ApiError) as refusal:
        api.get_receipt(model.id)
    assert refusal.value.code == "conflict.model_not_ready"
    work_on(with_model, model.id)
    model = api.get_model(model.id)
    assert (model.commitment, model.registration_key_id) == (None, None)
    receipt = checked(Receipt, api.get_receipt(model.id))
    assert is_signed(receipt)
    assert (receipt.commitment, receipt.registration, receipt.network) == (None, None, model.network)
    assert hashlib.sha256(api.get_architecture(model.id)).hexdigest() == model.network
    with pytest.raises(ApiError) as refusal:
        api.get_registration(model.id)
    assert (refusal.value.status, refusal.value.code) == (404, "not_found")


def test_a_network_that_fits_no_basis_has_one_made_and_others_keep_theirs(
    api: Client, with_model: Runtime, model: Model
) -> None:
    """All that is committed to about a model, and every key of it, is over the model's own."""

    def proven(model: Model, *values: Any, **fields: Any) -> str:
        proof = api.create_proof(model.id, *values, **fields)
        (work_on_all if fields.get("scheme") == "accuracy" else work_on)(with_model, proof.id)
        proof = api.get_proof(proof.id)
        assert proof.state == "succeeded", proof.problem
        verdict = api.verify(api.get_proof_document(proof.id), expected={"model": str(model.commitment)})
        assert verdict.valid, verdict.detail
        assert proof.verification_key_id is not None
        return basis_of(proof.verification_key_id)

    def basis_of(key_id: str) -> str:
        found = api.get_verification_key(key_id)["key"]["basis"]
        assert isinstance(found, str)
        return found

    assert model.registration_key_id is not None
    first = basis_of(model.registration_key_id)
    wide = api.create_model(tiny_onnx(hidden=64), tiny_calibration(), weight_privacy="committed")
    work_on(with_model, wide.id)
    wide = api.get_model(wide.id)
    assert wide.state == "succeeded", wide.problem
    assert wide.registration_key_id is not None
    larger = basis_of(wide.registration_key_id)
    assert larger != first
    for each, basis in ((wide, larger), (model, first)):
        committed = api.create_commitment(each.id, "input", INPUT)
        assert proven(each, INPUT) == proven(each, input_id=committed.id) == basis
        assert api.get_commitment_opening(committed.id)["parts"][0]["commitment"] == committed.commitment
        assert api.dry_run(each.id, INPUT).verification_key_id == each.verification_key_id
    dataset = api.create_dataset(wide.id, *labelled(), privacy="public", shard_size=4)
    work_on(with_model, dataset.id)
    assert proven(wide, scheme="accuracy", dataset_id=dataset.id) == larger


def test_where_bases_were_imported_a_larger_network_is_refused_at_the_door(
    api: Client, with_model: Runtime
) -> None:
    import_basis(with_model, CommitmentKey.generate(512))
    wide = tiny_onnx(hidden=128)
    with pytest.raises(ApiError, match=r"powers of tau of 2\^11 .`zenserve basis import`") as refusal:
        api.create_model(wide, tiny_calibration(), weight_privacy="committed")
    assert (refusal.value.status, refusal.value.code, refusal.value.field) == (
        422,
        "model.too_large",
        "model",
    )
    assert (
        api.create_model(wide, tiny_calibration(), weight_privacy="public").state == "queued"
    )  # in the open it needs none


def test_the_commitment_s_blinding_factor_is_sealed(with_model: Runtime, model: Model) -> None:
    with with_model.database.read() as session:
        row = session.get_one(ModelRow, model.id)
        assert row.blinding is not None
    blinding = with_model.vault.open(row.blinding, f"blinding:{model.id}")
    assert len(blinding) == 32
    for file in with_model.settings.data_dir.rglob("*"):
        if file.is_file() and file.name != "secret.key":
            content = file.read_bytes()
            assert blinding not in content
            assert blinding.hex().encode() not in content
