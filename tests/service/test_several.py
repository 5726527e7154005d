"""Models of several inputs and outputs through the service: registered, committed to, proven, refused."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.circuits.test_several import model as network
from tests.circuits.test_several import samples
from tests.service.conftest import open_runtime
from tests.service.support import serving, work_on
from zenserve.client import ApiError, Client, Model
from zenserve.service.dashboard.layers import layers
from zenserve.service.dashboard.results import result
from zenserve.service.encryption import Secret, pack, unpack
from zenserve.service.runtime import Runtime

SAMPLES = samples()
GIVEN: dict[str, Any] = {
    "image": {"values": SAMPLES["image"][0].tolist()},
    "mask": {"values": SAMPLES["mask"][0].tolist(), "privacy": "public"},
    "token__ids": {"values": SAMPLES["token::ids"][0].tolist()},
}


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Runtime, Client, Model]]:
    runtime = open_runtime(tmp_path_factory.mktemp("several") / "data")
    calibration = io.BytesIO()
    np.savez(calibration, allow_pickle=False, **SAMPLES)
    with serving(runtime) as url, Client(url) as client:
        model = client.create_model(
            network(), calibration.getvalue(), ranges={"token::ids": (0, 10)}, weight_privacy="public"
        )
        work_on(runtime, model.id)
        found = client.get_model(model.id)
        assert found.state == "succeeded", found.problem
        yield runtime, client, found
    runtime.close()


def test_the_range_of_an_input_of_integers_is_as_asked(masked: tuple[Runtime, Client, Model]) -> None:
    _, api, model = masked
    assert model.description is not None
    bits = {each["name"]: each["bits"] for each in model.description["quantisation"]["inputs"]}
    assert bits["token__ids"] == 4
    assert SAMPLES["token::ids"].max() < 10
    tried = api.dry_run(model.id, inputs=GIVEN | {"token__ids": {"values": [10, 10], "privacy": "public"}})
    assert tried.values["input/token__ids"] == [10, 10]


def test_labels_say_the_accuracy_of_several_inputs_too(
    masked: tuple[Runtime, Client, Model], run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, api, _ = masked
    calibration = io.BytesIO()
    np.savez(calibration, allow_pickle=False, labels=np.arange(len(SAMPLES["mask"])) % 3, **SAMPLES)
    found = api.create_model(network(scores="scores"), calibration.getvalue(), weight_privacy="public").report
    assert found is not None
    assert 0 <= found["accuracy"] <= 1
    assert (found["tuning"]["measure"], found["images"]) == ("accuracy", len(SAMPLES["mask"]))
    calibration = io.BytesIO()
    np.savez(calibration, allow_pickle=False, labels=SAMPLES["token::ids"] + 1, **SAMPLES)
    regressing = api.create_model(network(shifted="shifted"), calibration.getvalue(), weight_privacy="public")
    monkeypatch.setenv("ZENSERVE_URL", str(api._http.base_url))
    assert "R² 1.0000, beside targets" in run("models", "show", regressing.id)[1]
    with pytest.raises(ApiError) as refused:
        api.create_model(network(), calibration.getvalue(), weight_privacy="public")
    assert (refused.value.code, refused.value.field) == ("input.shape", "calibration_labels")
    assert "scores, shifted" in refused.value.detail


def test_outputs_are_committed_to_by_their_names(masked: tuple[Runtime, Client, Model]) -> None:
    runtime, api, model = masked
    proof = api.create_proof(model.id, inputs=GIVEN, outputs={"scores": "label", "shifted": "commitment"})
    work_on(runtime, proof.id)
    proof = api.get_proof(proof.id)
    assert proof.output_ids is not None, proof.problem
    held = api.get_commitment(proof.output_ids["output/shifted"])
    document = api.get_proof_document(proof.id)
    assert document["statement"]["commitments"] == {"output/shifted": held.commitment}
    assert api.verify(document, expected={"outputs": {"shifted": held.commitment}}).valid
    circuit = api.get_verification_key(document["statement"]["verification_key"]["id"])["circuit"]
    label = document["statement"]["values"]["label/scores"]
    assert result(document, circuit).answer == f"scores: label {label}; shifted: a commitment"
    opening = api.get_commitment_opening(held.id)
    assert len(opening["parts"][0]["values"]) == 2
    with pytest.raises(ApiError) as error:
        api.create_proof(model.id, inputs=GIVEN | {"image": {"id": held.id}})
    assert error.value.code == "statement.several"


def test_a_committed_a_public_and_a_private_input(masked: tuple[Runtime, Client, Model]) -> None:
    runtime, api, model = masked
    image = GIVEN["image"]["values"]
    held = api.create_commitment(model.id, "input", image, name="image")
    inputs = GIVEN | {"image": {"id": held.id}}
    outputs: dict[str, Any] = {"scores": "logits", "shifted": "values"}
    tried = api.dry_run(model.id, inputs=inputs, outputs=outputs)
    proof = api.create_proof(model.id, inputs=inputs, outputs=outputs)
    work_on(runtime, proof.id)
    proof = api.get_proof(proof.id)
    assert proof.state == "succeeded", proof.problem
    document = api.get_proof_document(proof.id)
    assert api.verify(document).valid
    assert proof.values == tried.values == document["statement"]["values"]
    assert [*document["statement"]["values"]] == [
        "input/mask", "label/scores", "logits/scores", "values/shifted",
    ]  # fmt: skip
    assert document["statement"]["commitments"] == {"input/image": held.commitment}
    circuit = api.get_verification_key(document["statement"]["verification_key"]["id"])["circuit"]
    assert circuit["privacy"]["input/token__ids"] == "private"
    assert result(document, circuit).answer == (
        f"scores: label {document['statement']['values']['label/scores']}; shifted: 2 values"
    )
    assert {layer.name for layer in layers(circuit, None)} > {"input/image", "input/mask"}


def test_the_command_takes_an_input_of_each_privacy(
    masked: tuple[Runtime, Client, Model], run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, api, model = masked
    monkeypatch.setenv("ZENSERVE_URL", str(api._http.base_url))
    file = tmp_path / "inputs.json"
    file.write_text(json.dumps({name: each["values"] for name, each in GIVEN.items()}))
    held = api.create_commitment(model.id, "input", GIVEN["image"]["values"], name="image")
    given = (
        "prove",
        model.id,
        file,
        "--dry-run",
        "--json",
        "--outputs",
        "shifted=threshold",
        "--at-least",
        "shifted=2",
    )
    privacy = ("--input", f"image={held.id}", "--input-privacy")
    code, out, err = run(*given, *privacy, "mask=public,token__ids=private")
    assert code == 0, err
    assert {*json.loads(out)["values"]} == {"input/mask", "threshold/shifted", "reached/shifted"}
    assert "input/token__ids" in json.loads(run(*given, "--input-privacy", "public")[1])["values"]
    for wrong in ("mask=shown", "other=public", "image=public", "shown"):
        code, _, err = run(*given, *privacy, wrong)
        assert code == 2
        assert "--input-privacy" in err


def test_thresholds_are_of_outputs_by_their_names(masked: tuple[Runtime, Client, Model]) -> None:
    runtime, api, model = masked
    fields: dict[str, Any] = {"outputs": {"shifted": "threshold"}, "at_least": {"shifted": 2.0}}
    proof = api.create_proof(model.id, inputs=GIVEN, **fields)
    work_on(runtime, proof.id)
    proof = api.get_proof(proof.id)
    wanted = [int(each + 1 >= 2) for each in GIVEN["token__ids"]["values"]]
    assert proof.values
    assert proof.values["reached/shifted"] == wanted
    document = api.get_proof_document(proof.id)
    found = api.verify(document, expected={"at_least": {"shifted": 2.0}})
    assert found.reason == ("ok" if all(wanted) else "output_mismatch")
    circuit = api.get_verification_key(document["statement"]["verification_key"]["id"])["circuit"]
    assert result(document, circuit).answer == f"shifted: reached {wanted[0]}, {wanted[1]}"


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"values": [0.0]}, "input.names", "inputs"),
        ({"inputs": {"image": GIVEN["image"]}}, "input.names", "inputs"),
        ({"inputs": GIVEN | {"other": GIVEN["mask"]}}, "input.names", "inputs"),
        ({"inputs": GIVEN, "input_privacy": "public"}, "request.invalid", "input_privacy"),
        ({"inputs": GIVEN | {"mask": {}}}, "request.invalid", "inputs.mask"),
        (
            {"inputs": GIVEN | {"mask": {"id": "cmt_1", "privacy": "public"}}},
            "request.invalid",
            "inputs.mask",
        ),
        ({"inputs": GIVEN | {"mask": {"values": [2, 0, 0, 0]}}}, "input.out_of_range", "inputs.mask"),
        ({"inputs": GIVEN | {"mask": {"values": [1, 0]}}}, "input.shape", "inputs.mask"),
        ({"inputs": GIVEN, "outputs": {"nothing": "label"}}, "statement.reveal", "reveal"),
        ({"inputs": GIVEN, "outputs": {"scores": "top"}}, "request.invalid", "top"),
        ({"inputs": GIVEN, "outputs": {"scores": "top"}, "top": 4}, "input.out_of_range", "top"),
        ({"inputs": GIVEN, "outputs": {"scores": "label"}, "reveal": "label"}, "request.invalid", "outputs"),
        ({"inputs": GIVEN, "scheme": "recognition"}, "request.invalid", "inputs"),
    ],
)
def test_what_does_not_fit_is_refused(
    masked: tuple[Runtime, Client, Model], fields: dict[str, Any], code: str, field: str
) -> None:
    _, api, model = masked
    with pytest.raises(ApiError) as refused:
        api.create_proof(model.id, **fields)
    assert (refused.value.code, refused.value.field) == (code, field)


def test_a_commitment_to_another_input_is_refused(masked: tuple[Runtime, Client, Model]) -> None:
    _, api, model = masked
    held = api.create_commitment(model.id, "input", GIVEN["mask"]["values"], name="mask")
    with pytest.raises(ApiError) as refused:
        api.create_proof(model.id, inputs=GIVEN | {"image": {"id": held.id}})
    assert (refused.value.code, refused.value.field) == ("conflict.commitment", "inputs.image.id")
    with pytest.raises(ApiError) as refused:
        api.create_commitment(model.id, "input", GIVEN["mask"]["values"])
    assert (refused.value.code, refused.value.field) == ("input.names", "name")
    for output in ("scores", None):
        with pytest.raises(ApiError) as refused:
            api.create_dataset(model.id, b"[[0, 1]]", b"[0]", output=output, privacy="public")
        assert (refused.value.code, refused.value.field) == ("statement.several", "output")


def test_secrets_of_inputs_whose_names_end_as_openings_do() -> None:
    one, other = np.array([1]), np.array([2])
    found = unpack(pack({"input/a": Secret(one, b"x"), "input/a.opening": Secret(other)}))
    assert (found["input/a"].opening, found["input/a.opening"].opening) == (b"x", None)
    assert [found[name].values.tolist() for name in found] == [[1], [2]]
    assert unpack(pack({"value": Secret(one, b"y")}))["value"].opening == b"y"
