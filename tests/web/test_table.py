"""Descriptions of tables in TypeScript: the words and refusals of Python's, and what the page shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zenserve
from tests.credit import CALIBRATION, ROW, network
from tests.web.conftest import Node
from tests.web.test_verify_page import FILE, give
from zenserve.errors import ZenError
from zenserve.verifier.datasets import load_inputs
from zenserve.verifier.description import Description
from zenserve.verifier.documents import KeyFile, ProofDocument, checked, read
from zenserve.verifier.judging import Known, judge
from zenserve.verifier.table import TableSchema

ROWS = (
    *("age,city\n61.5,Hamburg\n", "\ufeffcity;age\r\nHamburg;61.5\r\n", 'age\tcity\n 61.5 \t"Hamburg"'),
    *("age,city\n6.15e1, Hamburg \n", "age,city,other\n61.5,Hamburg,7\n", "\nage,city\n\n61.5,Hamburg\n,\n"),
    *("age,city\n,\n", "age,city\nNA,none\n", "age,city\nnan,NULL\n", "age,city\n20,Berlin\n"),
    *("age,city\ninf,Berlin\n", "age,city\nold,Berlin\n", "age,city\n20,Lagos\n", "age,city\ntrue,Berlin\n"),
    *(
        "61.5,Hamburg\n",
        "61.5,61.5,1\n",
        "age,town\n1,2\n",
        "age,city\n1\n",
        "age,city\n1,Berlin\n2,Berlin\n",
    ),
    *('age,city\n"61.5,Hamburg\n', 'age,city\n"61.5"x,Hamburg\n', 'age,"ci""ty"\n1,Berlin\n', "", "\n", "x"),
    *("age,city\n1,Ber\x00lin\n", "[61.5, 61.5, 1]", "[[61.5, 61.5, 1]]", "[1]", "{", "[oops]"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("credit")
    public: dict[str, Any] = {"input_privacy": "public", "weight_privacy": "public"}
    zenserve.prove(network(), ROW, calibration=CALIBRATION, **public).save(folder)
    return folder


def said_by_python(folder: Path, row: Path) -> list[Any]:
    proof, key = (folder / name for name in ("proof.json", "key.json"))
    table = TableSchema.read_file((folder / "table.json").read_bytes())
    key_file = read(KeyFile, key.read_bytes())
    kinds = checked(Description, key_file.circuit).quantisation
    try:
        known = Known(input=load_inputs(row, kinds, table), table=table)
        verdict = judge(read(ProofDocument, proof.read_bytes()), key_file, known=known)
    except ZenError as error:
        return [error.code, str(error)]
    return [verdict.reason, verdict.named, verdict.not_verified]


def test_rows_are_read_as_python_reads_them(node: Node, folder: Path, tmp_path: Path) -> None:
    told = node("tests/rows.ts", str(folder), given=json.dumps(ROWS))
    assert told.returncode == 0, told.stderr
    for number, (row, answer) in enumerate(zip(ROWS, json.loads(told.stdout), strict=True)):
        (tmp_path / "row").write_bytes(row.encode())
        expected = said_by_python(folder, tmp_path / "row")
        if expected[0] == "input.unreadable":  # the libraries' own words
            expected, answer = expected[:1], answer[:1]
        assert answer == expected, (number, row)


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(FILE.as_uri())
    yield page
    context.close()


def test_the_page_shows_names_and_compares_rows(page: Any, folder: Path) -> None:
    def files(row: bytes) -> list[dict[str, Any]]:
        names = ("proof.json", "key.json", "table.json")
        return [
            {"name": name, "mimeType": "", "buffer": content}
            for name, content in [*((name, (folder / name).read_bytes()) for name in names), ("row.csv", row)]
        ]

    card = give(page, *files(b"age,city\n61.5,Hamburg\n"))
    assert card.locator("h2").inner_text().split("\n") == ["Valid", 'The label is called "approve".']
    assert 'The input is the row age 61.5, city "Hamburg".' in card.inner_text()
    assert "Nothing proves them" in card.inner_text()
    page.click('[aria-label="Remove row.csv"]')
    page.wait_for_selector("#answer .good")
    card = give(page, *files(b"age,city\n20,Berlin\n")[-1:])
    assert "input_mismatch" in card.inner_text()
    page.click('[aria-label="Remove row.csv"]')
    page.wait_for_selector("#answer .good")
    card = give(page, *files(b"age,town\n20,Berlin\n")[-1:])
    assert "there is no column 'city'" in card.inner_text()
