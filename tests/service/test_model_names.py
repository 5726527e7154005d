"""Models by their names, in versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update

from tests.service.accounts import calling
from tests.service.support import labelled, tiny_calibration, tiny_onnx, work_on
from zenserve.client import ApiError, Client, Model
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import ModelName

INPUT = [0.1, 0.2, 0.3, 0.4]
Register = Callable[..., Model]


@pytest.fixture
def register(api: Client, with_model: Runtime) -> Register:
    """A model that says it is registered, without the work."""

    def make(name: str, state: str = "succeeded", **fields: Any) -> Model:
        model = api.create_model(tiny_onnx(), tiny_calibration(), name=name, **fields)
        with with_model.database.write() as session:
            session.execute(update(Job).where(Job.id == model.id).values(state=state))
        return model

    return make


def test_each_model_of_a_name_is_a_version_of_it(api: Client, register: Register) -> None:
    first, second, other = register("credit"), register("credit"), register("risk")
    assert [each.version for each in (first, second, other)] == [1, 2, 1]
    found = {name: api.get_model(name).id for name in ("credit", "credit@1", "credit@2", "credit@latest")}
    assert found == {"credit": second.id, "credit@1": first.id, "credit@2": second.id} | {
        "credit@latest": second.id
    }
    third = register("credit", state="failed")
    assert api.get_model("credit").id == second.id, "the newest is the newest that is registered"
    assert api.get_model("credit@3").id == third.id
    for name in ("credit@4", "credit@0", "credits", "credit@2@latest"):
        with pytest.raises(ApiError) as refusal:
            api.get_model(name)
        assert refusal.value.code == "not_found"


def test_a_version_is_not_given_twice(api: Client, with_model: Runtime, register: Register) -> None:
    assert [register("credit").version for _ in range(2)] == [1, 2]
    api.delete_model(api.get_model("credit").id)
    assert api.get_model("credit").version == 1
    assert register("credit").version == 3
    with with_model.database.read() as session:
        counted = session.get(ModelName, (LOCAL_TENANT, "credit"))
        assert counted is not None
        assert counted.versions == 3


@pytest.mark.parametrize("name", ["mdl_mine", "credit@2", "credit@latest"])
def test_a_name_is_told_from_ids_and_versions(api: Client, name: str) -> None:
    with pytest.raises(ApiError) as refusal:
        api.create_model(tiny_onnx(), tiny_calibration(), name=name)
    assert (refusal.value.code, refusal.value.field) == ("request.invalid", "name")


def test_what_is_about_a_model_takes_its_name(api: Client, with_model: Runtime, model: Model) -> None:
    name = f"{model.name}@{model.version}"
    proof = api.create_proof(name, INPUT)
    commitment = api.create_commitment(name, "input", INPUT)
    dataset = api.create_dataset(name, *labelled(3), privacy="public")
    child = api.create_model(tiny_onnx(), tiny_calibration(), parent_id=name)
    assert {proof.model_id, commitment.model_id, dataset.model_id, child.parent_id} == {model.id}
    assert api.get_receipt(name)["model_id"] == model.id
    work_on(with_model, proof.id)
    assert api.get_proof(proof.id).state == "succeeded"


def test_a_twin_has_the_version_of_its_model(api: Client, model: Model) -> None:
    twin = api.create_twin(model.name, "spartan")
    assert (twin.name, twin.version) == (model.name, model.version)
    assert api.get_model(model.name).id == model.id


def test_the_command_line_takes_names(
    run: Any, shared_url: str, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZENSERVE_URL", shared_url)
    assert f"{model.name}@{model.version}" in run("models", "show", model.name)[1]
    code, out, _ = run("models", "show", f"{model.name}@latest", "--field", "id")
    assert (code, out.strip()) == (0, model.id)
    assert "[not_found]" in run("models", "show", f"{model.name}@99")[2]


def test_lists_are_of_a_name_or_of_a_version(api: Client, with_model: Runtime, register: Register) -> None:
    first, second, other = register("credit"), register("credit"), register("risk")
    assert [each.id for each in api.models(name="credit")] == [second.id, first.id]
    assert [*api.models(name="cred")] == []
    assert [each.id for each in api.models(name="risk", state="succeeded")] == [other.id]


def test_lists_of_what_is_of_models_take_names(api: Client, with_model: Runtime, model: Model) -> None:
    proof = api.create_proof(model.id, INPUT)
    dataset = api.create_dataset(model.id, *labelled(3), privacy="public", name="june")
    commitment = api.create_commitment(model.id, "input", INPUT)
    for name in (model.id, model.name, f"{model.name}@{model.version}"):
        assert [each.id for each in api.proofs(model_id=name)] == [proof.id]
        assert [each.id for each in api.datasets(model_id=name)] == [dataset.id]
        assert [each.id for each in api.commitments(model_id=name)] == [commitment.id]
    assert [each.id for each in api.proofs(name=model.name)] == [proof.id]
    assert [*api.proofs(name="other")] == []
    assert [*api.datasets(name=model.name)] == []
    assert [each.id for each in api.datasets(name="june")] == [dataset.id]
    for ask in (api.proofs, api.datasets, api.commitments):
        with pytest.raises(ApiError, match="there is no model 'credti'"):
            next(ask(model_id="credti"))


def test_the_dashboard_shows_versions(with_model: Runtime, register: Register) -> None:
    first, _, third = register("credit"), register("credit"), register("credit", state="failed")
    with calling(with_model) as http:
        models, page, none = (
            http.get(f"/admin/models{each}").text for each in ("?name=credit", "/credit@3", "?name=risk")
        )
    assert models.index("credit@3") < models.index("credit@2")
    assert models.index("credit@2") < models.index("latest") < models.index("credit@1")
    versions = page.split('<h2 id="versions">')[1].split("</table>")[0]
    assert f'href="/admin/models/{first.id}">credit@1</a>' in versions
    assert f'href="/admin/models/{third.id}"' not in versions
    assert "No model matches" in none
