"""Models of tables through the service: rows by the names of columns, in requests, files and the dashboard,
and answers by the names of classes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.credit import SCHEMA, TYPICAL, network
from tests.service.conftest import open_runtime
from tests.service.support import serving, work_on, working
from zenserve.client import ApiError, Client, Model
from zenserve.service.runtime import Runtime
from zenserve.verifier.table import TableSchema


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Runtime, Client, Model]]:
    runtime = open_runtime(tmp_path_factory.mktemp("tables") / "data")
    with serving(runtime) as url, Client(url) as client:
        model = client.create_model(network(), TYPICAL.encode(), name="credit", weight_privacy="committed")
        work_on(runtime, model.id)
        found = client.get_model(model.id)
        assert found.state == "succeeded", found.problem
        yield runtime, client, found
    runtime.close()


def page_of(api: Client, place: str) -> str:
    return httpx.get(f"{str(api._http.base_url).rstrip('/')}/admin/{place}").raise_for_status().text


def test_a_model_tells_its_columns_and_its_accuracy_by_names(
    registered: tuple[Runtime, Client, Model],
) -> None:
    model = registered[2]
    assert model.table == json.loads(SCHEMA.to_json())
    assert model.report is not None
    assert model.report["accuracy"] == 1.0


def test_a_row_has_a_cell_for_each_column_and_the_answer_a_name(
    registered: tuple[Runtime, Client, Model], run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runtime, api, model = registered
    proof = api.create_proof(model.id, {"city": "Hamburg", "age": None}, input_privacy="public")
    work_on(runtime, proof.id)
    proof = api.get_proof(proof.id)
    assert proof.state == "succeeded", proof.problem
    assert (proof.label, proof.class_name, proof.unproven) == (0, "approve", None)
    page = page_of(api, f"jobs/{proof.id}")
    assert '<p class="big answer">approve</p>' in page
    assert "<dt>age</dt><dd>missing</dd>" in page
    assert "<dt>city</dt><dd>Hamburg</dd>" in page
    assert f'data-table="/admin/jobs/{proof.id}/table"' in page
    assert TableSchema.read_file(page_of(api, f"jobs/{proof.id}/table").encode()) == SCHEMA
    monkeypatch.setenv("ZENSERVE_URL", str(api._http.base_url))
    assert "approve" in run("proofs", "show", proof.id)[1]
    (tmp_path / "row.csv").write_text("city;age;note\nHamburg;29;secret\n")
    code, out, _ = run("prove", model.id, str(tmp_path / "row.csv"), "--dry-run", "--json")
    assert code == 0
    assert json.loads(out)["values"] == {"label/label": 1}
    committed = api.create_commitment(model.id, "input", {"city": "Berlin", "age": 40})
    assert api.dry_run(model.id, input_id=committed.id).values == {"label/label": 1}


def test_the_names_are_written_beside_a_proof(
    registered: tuple[Runtime, Client, Model], run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runtime, api, model = registered
    monkeypatch.setenv("ZENSERVE_URL", str(api._http.base_url))
    row, proof, key, table = (str(tmp_path / name) for name in ("row.csv", "proof", "key", "table"))
    Path(row).write_text("age,city\n29,Hamburg\n")
    with working(runtime):
        code, _, said = run("prove", model.id, row, "-o", proof, "--key-out", key, "--table-out", table)
    assert code == 0, said
    code, out, _ = run("verify", proof, "--key", key, "--table", table)
    assert (code, 'The label is called "decline".' in out) == (0, True)


def test_what_a_row_lacks_is_said_by_the_column_and_never_quoted(
    registered: tuple[Runtime, Client, Model],
) -> None:
    api, model = registered[1], registered[2]
    with pytest.raises(ApiError, match="input: column 'city': it is none of the 3 categories: 'Berlin'") as e:
        api.create_proof(model.id, {"city": "Bremen", "age": 1})
    assert "Bremen" not in str(e.value)
    with pytest.raises(ApiError, match="input: column 'age': no number") as e:
        api.create_proof(model.id, {"city": "Berlin", "age": "sixty"})
    assert "sixty" not in str(e.value)
    with pytest.raises(ApiError, match="there is no column 'age'"):
        api.create_proof(model.id, {"city": "Berlin"})
    with pytest.raises(ApiError, match=r"input: column 'age' lies outside .* --saturate"):
        api.create_proof(model.id, {"city": "Berlin", "age": 4000})


def test_datasets_are_tables_too(registered: tuple[Runtime, Client, Model]) -> None:
    runtime, api, model = registered
    rows = b"age,city,label\n40,Berlin,maybe\n30,Berlin,decline\n"
    with pytest.raises(ApiError, match="row 2, column 'label': it is none of the classes 'approve'"):
        api.create_dataset(model.id, rows, privacy="private")
    made = api.create_dataset(model.id, TYPICAL.encode(), privacy="private", shard_size=4)
    work_on(runtime, made.id)
    assert api.get_dataset(made.id).size == 4
    far = TYPICAL.replace("61.5", "6150").replace("44", "4400")
    with pytest.raises(ApiError, match="2 of 4 rows reach beyond the calibration"):
        api.create_dataset(model.id, far.encode(), privacy="private")


def test_the_dashboard_asks_column_by_column(registered: tuple[Runtime, Client, Model]) -> None:
    _, api, model = registered
    page = page_of(api, f"models/{model.id}/prove")
    assert '<option value="1">Hamburg</option>' in page
    assert 'name="column.0"' in page
