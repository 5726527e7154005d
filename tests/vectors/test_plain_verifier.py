"""A verifier of another make, written from the pages alone, agrees on every vector."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.vectors import plain_verifier
from tests.vectors.cases import FOLDER, PINS, Json, read_index

CASES: Final = [case for case in read_index() if not case["name"].startswith("transparent/")]
"""Of the first proof system, the one that it has."""
PROVEN: Final = {
    "registration/valid",
    "inference/valid",
    "inference/plain",
    "registered/valid",
    "accuracy/private",
    "several-accuracy/seen",
    "proof/knowledge-negated",
    "proof/link-negated",
}
"""Cases with equations, which take their time, for each run of the tests."""
QUICK: Final = (
    *("file/", "description/", "key/", "receipt/", "setup/", "expected/malformed", "ceremony/beacon"),
    *("ceremony/name", "inference/canonical", "inference/left-out", "values/", *PROVEN),
    *("measure/r2-opening-quotient", "output/key-", "output/opening-"),
)
LATER: Final = ("values/many", "values/typed", "values/scale-", "values/value-and-claim")
"""Of these, equations that the others have too."""


def is_quick(name: str) -> bool:
    return name.startswith(QUICK) and not name.startswith(LATER)


def is_valid(case: Json) -> bool:
    told = {
        name: value if name in PINS else (FOLDER / value).read_bytes() for name, value in case["told"].items()
    }
    key = None if case["key"] is None else (FOLDER / case["key"]).read_bytes()
    try:
        plain_verifier.verify((FOLDER / case["document"]).read_bytes(), key, **told)
    except plain_verifier.Refused:
        return False
    return True


@pytest.mark.parametrize(
    "case", [case for case in CASES if is_quick(case["name"])], ids=lambda case: case["name"]
)
def test_it_agrees(case: Json) -> None:
    assert is_valid(case) == case["valid"]


@pytest.mark.large
@pytest.mark.parametrize(
    "case", [case for case in CASES if not is_quick(case["name"])], ids=lambda case: case["name"]
)
def test_it_agrees_on_all_others(case: Json) -> None:
    assert is_valid(case) == case["valid"]


def test_it_is_of_another_make() -> None:
    """Python and py_ecc, and no module of this repository."""
    tree = ast.parse(Path(plain_verifier.__file__).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    others = {str(module).split(".")[0] for module in modules} - sys.stdlib_module_names
    assert others == {"py_ecc"}


def test_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    folder = FOLDER / "inference"
    files = str(folder / "plain.json"), str(folder / "plain-key.json")
    assert plain_verifier.main(*files) == 0
    assert capsys.readouterr().out.startswith("valid: The label is ")
    assert plain_verifier.main(*files, "challenge=Mine") == 1
    assert capsys.readouterr().out == "NOT valid: it is about another challenge\n"
