"""Models are registered and proofs asked for with the API's checks."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from tests import masked_texts
from tests.circuits.test_several import model as network
from tests.circuits.test_several import samples
from tests.service.dashboard.site import Site, site, token
from tests.service.support import labelled, npy, tiny_calibration, tiny_onnx, work_on
from zenserve.client import Model as ClientModel
from zenserve.service.dashboard.stages import EXPLAINED
from zenserve.service.storage.records.accounts import AuditEntry
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Dataset, Model, Proof


@pytest.fixture(scope="module")
def asking(prepared: tuple[Path, ClientModel], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """With a registered model."""
    folder = tmp_path_factory.mktemp("asking") / "data"
    shutil.copytree(prepared[0], folder)
    with site(folder) as asking:
        yield asking


@pytest.mark.usefixtures("in_a_child")
def test_a_model_is_registered_with_the_apis_checks(asking: Site) -> None:
    client = asking.visitor("read", "register", "prove")
    page = client.get("/admin/models/new").text
    fields = {"token": token(page), "name": "", "weight_privacy": "public", "bits": "8"}
    files = {"model": ("mine.onnx", tiny_onnx()), "calibration": ("a.npy", tiny_calibration())}
    for change, field in (
        ({"bits": "17"}, "bits"),
        ({"weight_privacy": "secret"}, "weight_privacy"),
        ({"name": "a\nb"}, "name"),
        ({"shape": "tokens=x"}, "shape"),
    ):
        answer = client.post("/admin/models", data=fields | change, files=files)
        assert answer.status_code == 422
        assert f'id="{field}-refusal"' in answer.text
        assert (escape(change[field]) in answer.text) or field == "weight_privacy", "what was entered is lost"
    answer = client.post("/admin/models", data=fields, files={"model": files["model"]})
    assert 'id="calibration-refusal"' in answer.text
    answer = client.post("/admin/models", data=fields, files=files | {"calibration": ("a.npy", b"[1, null]")})
    assert 'id="calibration-refusal"' in answer.text
    samples, classes = labelled()
    files |= {"calibration": ("a.npy", samples), "calibration_labels": ("b.npy", classes[:-1])}
    answer = client.post("/admin/models", data=fields, files=files)
    assert 'id="calibration_labels-refusal"' in answer.text
    answer = client.post(
        "/admin/models", data=fields, files=files | {"calibration_labels": ("b.npy", classes)}
    )
    assert answer.status_code == 303
    with asking.database.read() as session:
        model = session.get_one(Model, answer.headers["Location"].rpartition("/")[2])
        assert model.report is not None
        assert model.report["accuracy"] is not None
        assert (model.name, model.weight_privacy, model.bits) == ("mine", "public", 8)
        assert session.scalars(select(AuditEntry.action).where(AuditEntry.target == model.id)).all() == [
            "model.create"
        ]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"input": "[0.1, 0.2]"}, "input"),
        ({"input": "[0.1, 0.2, 0.3, null]"}, "input"),
        ({"input": "no JSON"}, "input"),
        ({}, "input"),
        ({"input": "[0.1, 0.2, 0.3, 0.4]", "reveal": "top"}, "top"),
        ({"input": "[0.1, 0.2, 0.3, 0.4]", "reveal": "top", "top": "99"}, "top"),
        ({"input": "[0.1, 0.2, 0.3, 0.4]", "challenge": "x" * 201}, "challenge"),
        ({"scheme": "accuracy"}, "dataset_id"),
        ({"scheme": "accuracy", "dataset_id": "dst_1"}, "dataset_id"),
        ({"scheme": "accuracy", "dataset_id": "dst_1", "measure": "certified"}, "radius"),
        ({"scheme": "recognition", "input": "[0.1, 0.2, 0.3, 0.4]"}, "reference"),
        ({"scheme": "robustness", "input": "[0.1, 0.2, 0.3, 0.4]"}, "radius"),
        ({"scheme": "robustness", "input": "[0.1, 0.2, 0.3, 0.4]", "radius": "256"}, "radius"),
    ],
)
def test_a_proof_is_refused_beside_the_field(
    asking: Site, model: ClientModel, fields: dict[str, str], wrong: str
) -> None:
    client = asking.visitor("read", "prove")
    form = client.get(f"/admin/models/{model.id}/prove")
    answer = client.post(str(form.url), data={"token": token(form.text), **fields})
    assert answer.status_code in (404, 422)
    assert f'id="{wrong}-refusal"' in answer.text
    if text := fields.get("input"):
        assert f">{text}</textarea>" in answer.text


@pytest.mark.usefixtures("in_a_child")
def test_a_proof_is_asked_for_as_over_the_api(asking: Site, model: ClientModel) -> None:
    client = asking.visitor("read", "prove")
    form = client.get(f"/admin/models/{model.id}/prove")
    said = {"token": token(form.text), "scheme": "inference", "reveal": "logits", "challenge": "lunch"}
    said |= {"input_privacy": "public", "top": "3", "threshold": "7"}  # the last two are of other forms
    for files in (
        {"input_file": ("a.npy", npy([0.1, 0.2, 0.3, 0.4]))},
        {"input_file": ("a.json", b"[0.1, 0.2, 0.3, 0.4]")},
        {"input_file": ("a.csv", b"0.1, 0.2, 0.3, 0.4")},
    ):
        answer = client.post(str(form.url), data=said, files=files)
        assert answer.status_code == 303, answer.text
        with asking.database.read() as session:
            proof = session.get_one(Proof, answer.headers["Location"].rpartition("/")[2])
            assert proof.request["reveal"] == "logits"
            assert (proof.request["input_privacy"], proof.request["challenge"]) == ("public", "lunch")
    work_on(asking.runtime, proof.id)
    assert "<q>lunch</q>" in client.get(f"/admin/jobs/{proof.id}").text
    with asking.database.read() as session:
        stages = {*session.get_one(Job, proof.id).timings, *session.get_one(Job, model.id).timings}
    assert stages <= EXPLAINED.keys()


def test_forms_ask_for_where_outputs_lie_and_for_measures(asking: Site) -> None:
    client = asking.visitor("read", "register", "prove")
    page = client.get("/admin/models/new").text
    fields = {
        "token": token(page),
        "name": "faces",
        "weight_privacy": "public",
        "bits": "8",
        "saturate": "true",
    }
    files = {"model": ("mine.onnx", tiny_onnx(embeds=True)), "calibration": ("a.npy", tiny_calibration())}
    made = client.post("/admin/models", data=fields, files=files).headers["Location"].rpartition("/")[2]
    work_on(asking.runtime, made)
    assert "inputs saturate" in client.get(f"/admin/models/{made}").text
    place = f"/admin/models/{made}/prove"
    own = {"token": token(client.get(place).text), "scheme": "inference", "input": "[0.1, 0.2, 0.3, 77]"}
    ends = {"at_least": "0.001", "bounds": "0.001, 0.002"}
    for reveal, wanted in (("threshold", {"output"}), ("range", {"output"})):
        answer = client.post(place, data=own | ends | {"reveal": reveal})
        assert answer.status_code == 303, answer.text
        with asking.database.read() as session:
            request = session.get_one(Proof, answer.headers["Location"].rpartition("/")[2]).request
        assert request["bounds"].keys() == wanted
        assert len(request["bounds"]["output"]) == (1 if reveal == "threshold" else 2)
    for reveal, changes, field in (
        ("threshold", {"at_least": "1e9"}, "at_least"),
        ("range", {"bounds": "0.002, 0.001"}, "bounds"),
        ("range", {"bounds": "much"}, "bounds"),
    ):
        answer = client.post(place, data=own | {"reveal": reveal} | changes)
        assert answer.status_code == 422
        assert f'id="{field}-refusal"' in answer.text, field
    answer = client.post(place, data={**own, "scheme": "accuracy", "dataset_id": "dst_1", "measure": "much"})
    assert 'id="measure-refusal"' in answer.text


@pytest.fixture(scope="module")
def several(asking: Site) -> str:
    """A model of three inputs and two outputs, registered by the form."""
    client, calibration = asking.visitor("register", "read"), io.BytesIO()
    np.savez(calibration, allow_pickle=False, **samples())
    fields = {"token": token(client.get("/admin/models/new").text), "weight_privacy": "public", "bits": "6"}
    files = {"model": ("masked.onnx", network()), "calibration": ("c.npz", calibration.getvalue())}
    answer = client.post("/admin/models", data=fields | {"range": "token::ids=9:0"}, files=files)
    assert 'id="range-refusal"' in answer.text
    made = client.post("/admin/models", data=fields | {"range": "token::ids=0:10"}, files=files)
    model_id = made.headers["Location"].rpartition("/")[2]
    work_on(asking.runtime, model_id)
    return model_id


def test_each_of_several_inputs_and_outputs_has_its_own_fields(asking: Site, several: str) -> None:
    client = asking.visitor("read", "prove")
    form = client.get(f"/admin/models/{several}/prove")
    assert "of the shape 4, whole numbers from 0 to 1;" in form.text
    assert "of the shape 2, whole numbers from 0 to 15;" in form.text
    assert 'value="recognition"' not in form.text
    said = {
        "token": token(form.text),
        "scheme": "inference",
        "outputs.scores": "label",
        "outputs.shifted": "",
    }
    said |= {"inputs.image": "[0.1, 0.2, 0.3, 0.4]", "inputs.mask.privacy": "public"}
    files = {
        "inputs.mask_file": ("m.npy", npy([[1, 0, 1, 1]])),
        "inputs.token__ids_file": ("t.json", b"[3, 10]"),
    }

    def asked(**changes: str) -> dict[str, Any]:
        answer = client.post(str(form.url), data=said | changes, files=files)
        assert answer.status_code == 303, answer.text
        with asking.database.read() as session:
            return session.get_one(Proof, answer.headers["Location"].rpartition("/")[2]).request

    request = asked()
    assert request["input_privacy"] == {"image": "private", "mask": "public", "token__ids": "private"}
    assert request["reveal"] == {"scores": "label"}
    hidden = {"outputs.scores": "", "outputs.shifted": "threshold", "at_least.shifted": "2"}
    (threshold,) = asked(**hidden)["bounds"]["shifted"]
    both = {"outputs.scores": "top", "top": "2", "outputs.shifted": "range", "bounds.shifted": "2, 5"}
    low, high = asked(**both)["bounds"]["shifted"]
    assert threshold == low < high
    for changes, refusal in (
        ({"inputs.image": ""}, 'id="inputs.image-refusal"'),
        ({"inputs.image": "[0.1]"}, 'id="inputs.image-refusal"'),
        ({"inputs.image": "7"}, 'id="inputs.image-refusal"'),
        ({"inputs.mask.privacy": "secret"}, 'role="alert">privacy:'),
        ({"outputs.scores": ""}, "of one of them at least"),
        ({"outputs.scores": "top"}, 'id="top-refusal"'),
        (hidden | {"at_least.shifted": "much"}, 'id="at_least.shifted-refusal"'),
        (hidden | {"at_least.shifted": ""}, "shifted takes at_least"),
    ):
        answer = client.post(str(form.url), data=said | changes, files=files)
        assert (answer.status_code, refusal in answer.text) == (422, True), changes
    text = client.get(f"/admin/models/{several}/datasets/new").text
    assert "image, n × 4 numbers" in text
    assert "mask, n × 4 numbers from 0 to 1; " in text


@pytest.mark.large
@pytest.mark.usefixtures("in_a_child")
def test_a_dataset_of_several_inputs_is_added_and_measured(asking: Site) -> None:
    client, given = asking.visitor("read", "register", "prove"), masked_texts.texts(16)
    fields = {"token": token(client.get("/admin/models/new").text), "weight_privacy": "public", "bits": "8"}
    files = {
        "model": ("texts.onnx", masked_texts.network()),
        "calibration": ("c.npz", masked_texts.as_npz(**given)),
    }
    made = client.post("/admin/models", data=fields, files=files).headers["Location"].rpartition("/")[2]
    work_on(asking.runtime, made)
    place, labels = f"/admin/models/{made}/datasets", masked_texts.scores(given).argmax(axis=1)
    said = {"token": token(client.get(f"{place}/new").text), "compared": "labels", "privacy": "public"}
    for content, status in (
        (masked_texts.as_npz(labels=labels, ids=given["ids"]), 422),
        (masked_texts.as_npz(labels=labels, **given), 303),
    ):
        answer = client.post(place, data=said | {"shard_size": "8"}, files={"samples": ("t.npz", content)})
        assert (answer.status_code, 'id="samples-refusal"' in answer.text) == (status, status == 422)
    dataset_id = answer.headers["Location"].rpartition("/")[2]
    work_on(asking.runtime, dataset_id)
    with asking.database.read() as session:
        row = session.get_one(Dataset, dataset_id)
        assert (row.size, row.shard_size, row.output) == (16, 8, None)
    assert dataset_id in client.get("/admin/datasets").text
    ask = f"/admin/models/{made}/prove"
    assert 'value="accuracy"' in client.get(ask).text
    wanted = said | {"scheme": "accuracy", "dataset_id": dataset_id}
    assert client.post(ask, data=wanted | {"measure": "f1"}).status_code == 303
    answer = client.post(ask, data=wanted | {"measure": "certified", "radius": "1"})
    assert (answer.status_code, "one input" in answer.text) == (422, True)


def test_a_dataset_with_targets_is_added_and_measured(asking: Site) -> None:
    client = asking.visitor("read", "register", "prove")
    fields = {"token": token(client.get("/admin/models/new").text), "weight_privacy": "public", "bits": "8"}
    files = {"model": ("r.onnx", tiny_onnx(embeds=True)), "calibration": ("a.npy", tiny_calibration())}
    made = client.post("/admin/models", data=fields, files=files).headers["Location"].rpartition("/")[2]
    work_on(asking.runtime, made)
    place = f"/admin/models/{made}/datasets"
    data = npy(np.linspace(0, 0.9, 16).reshape(4, 4))
    said = {"token": token(client.get(f"{place}/new").text), "compared": "targets", "privacy": "public"}
    for changes, sent, field in (
        ({}, {"samples": data}, "targets"),
        ({}, {"samples": npy(np.zeros((4, 3))), "targets": data}, "samples"),
        ({}, {"samples": data, "targets": npy(np.zeros((3, 3)))}, "samples"),
        ({"shard_size": "0"}, {"samples": data, "targets": data}, "shard_size"),
        ({"compared": "labels"}, {"samples": data}, "labels"),
        ({"privacy": "secret"}, {"samples": data, "targets": data}, "privacy"),
        ({"measure": "f1"}, {"samples": data, "targets": npy(np.zeros((4, 3)))}, "measure"),
    ):
        answer = client.post(place, data=said | changes, files={k: ("a.npy", v) for k, v in sent.items()})
        assert (answer.status_code, f'id="{field}-refusal"' in answer.text) == (422, True), (changes, field)
    files = {"samples": ("held-out.npy", data), "targets": ("t.npy", npy(np.full((4, 3), 0.1)))}
    answer = client.post(place, data=said | {"shard_size": "2", "measure": "mae"}, files=files)
    assert answer.status_code == 303, answer.text
    dataset_id = answer.headers["Location"].rpartition("/")[2]
    work_on(asking.runtime, dataset_id)
    with asking.database.read() as session:
        row = session.get_one(Dataset, dataset_id)
        assert (row.name, row.compared, row.privacy, row.size) == ("held-out", "targets", "public", 4)
        assert (row.measure, row.shard_size) == ("mae", 2)
    ask = f"/admin/models/{made}/prove"
    assert "held-out" in client.get(ask).text
    wanted = said | {"scheme": "accuracy", "dataset_id": dataset_id}
    for measure, code in (("r2", 303), ("mae", 303), ("", 303), ("accuracy", 422)):
        answer = client.post(ask, data=wanted | {"measure": measure})
        assert answer.status_code == code, answer.text
    assert 'id="measure-refusal"' in answer.text
