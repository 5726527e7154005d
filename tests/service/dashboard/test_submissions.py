"""Models are registered and proofs asked for with the API's checks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest
from sqlalchemy import select

from client import Model as ClientModel
from service.dashboard.stages import EXPLAINED
from service.storage.records.accounts import AuditEntry
from service.storage.records.jobs import Job
from service.storage.records.resources import Model, Proof
from tests.service.dashboard.site import Site, site, token
from tests.service.support import labelled, npy, tiny_calibration, tiny_onnx, work_on


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
        ({"scheme": "recognition", "input": "[0.1, 0.2, 0.3, 0.4]"}, "reference"),
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
