"""The description of a table beside a proof: names of classes and columns, and rows as CSV to compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import zenserve
from tests.credit import CALIBRATION, ROW, SCHEMA, network
from tests.refusals import refuses
from zenserve.verifier.command import main
from zenserve.verifier.table import TableSchema


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A proof of a public row."""
    folder = tmp_path_factory.mktemp("credit")
    zenserve.prove(
        network(), ROW, calibration=CALIBRATION, input_privacy="public", weight_privacy="public"
    ).save(folder)
    return folder


def run(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    proof, key = (str(folder / name) for name in ("proof.json", "key.json"))
    code = main([proof, "--key", key, *options])
    read = capsys.readouterr()
    return code, read.out + read.err


def test_the_answer_has_names_and_says_that_nothing_proves_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run(folder, capsys, "--table", str(folder / "table.json"))
    assert code == 0
    lines = said.splitlines()
    assert lines[1:3] == ['The label is called "approve".', 'The input is the row age 61.5, city "Hamburg".']
    assert "have it from whom you trust" in said.split("Not verified")[1]
    assert "approve" not in run(folder, capsys)[1]


@pytest.mark.parametrize(
    ("rows", "code", "said"),
    [
        ("age,city\n61.5,Hamburg\n", 0, "The input is the one that you gave"),
        ("city;age\nHamburg;61.5\n", 0, "The input is the one that you gave"),
        ("61.5,Hamburg\n", 2, "there is no row below the line of names"),
        ("age,city\n20,Berlin\n", 1, "[input_mismatch]"),
        ("age,city\n61.5,Hamburg\n20,Berlin\n", 2, "the file has 2 rows; give the one of the proof"),
        ("age,town\n61.5,Hamburg\n", 2, "there is no column 'city'; the model's columns are 'age', 'city'"),
        ("age,city\n61.5,Lagos\n", 2, "row 2, column 'city': it is none of the 3 categories"),
        ("age,city\nold,Hamburg\n", 2, "row 2, column 'age': no number"),
        ("age,city\n61.5\n", 2, "row 2 has 1 cells, those above 2"),
        ("", 2, "it is empty"),
    ],
)
def test_a_row_is_compared_by_the_names_of_its_columns(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str, code: int, said: str
) -> None:
    (tmp_path / "row.csv").write_text(rows)
    options = ("--table", str(folder / "table.json"), "--input", str(tmp_path / "row.csv"))
    answered, text = run(folder, capsys, *options)
    assert (answered, said in text) == (code, True), text
    assert "Lagos" not in text


def test_a_row_of_numbers_needs_no_description(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "row.csv").write_text("older,younger,city\n61.5,61.5,1\n")
    assert run(folder, capsys, "--input", str(tmp_path / "row.csv"))[0] == 0
    (tmp_path / "row.csv").write_text("61.5,1\n")
    code, said = run(folder, capsys, "--input", str(tmp_path / "row.csv"))
    assert (code, "needs its table.json" in said) == (2, True)


def test_a_description_reads_what_it_wrote() -> None:
    assert TableSchema.read_file(SCHEMA.to_file().encode()) == SCHEMA


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"format": "zenserve policy"}, None),
        ({"version": 2}, "version"),
        ({"rows": []}, "rows"),
        ({"columns": [{"name": "age", "kind": "category"}]}, "columns.0"),
    ],
)
def test_what_is_no_description_is_refused(change: dict[str, Any], field: str | None) -> None:
    with refuses("file.json", field):
        TableSchema.read_file(json.dumps(json.loads(SCHEMA.to_file()) | change).encode())
