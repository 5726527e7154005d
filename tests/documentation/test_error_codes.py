"""Error codes: raised, named by the type, explained by the table and shown in docs/api.md, all the same."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import get_args

import pytest

from zenserve.codes import MEANINGS, Code, known, status_of

ROOT = Path(__file__).parents[2]
ROOMS = ("base", "circuits", "gpu", "kernels", "prover", "relations", "service", "verifier")


@pytest.fixture(scope="module")
def sources() -> str:
    files = [file for room in ROOMS for file in (ROOT / "zenserve" / room).rglob("*.py")]
    return "\n".join(file.read_text() for file in [*files, ROOT / "zenserve/errors.py"])


def test_the_type_and_the_table_have_the_same_codes() -> None:
    assert list(get_args(Code)) == list(MEANINGS) == sorted(MEANINGS)


def test_every_code_is_one_that_something_raises(sources: str) -> None:
    raised = set(re.findall(r'"([a-z]+\.[a-z_]+|not_found|internal|cancelled)"', sources))
    of_proofs = {f"encoding.{reason}" for reason in re.findall(r'ProofError\(\s*"(\w+)"', sources)}
    assert set(MEANINGS) - raised - of_proofs == set()


def test_what_jobs_fail_with_is_among_them(sources: str) -> None:
    """Their problems are rows of JSON, which no type holds to the codes."""
    assert set(re.findall(r'"code": "([^"]+)"', sources)) <= set(MEANINGS)


def test_statuses_go_by_family() -> None:
    assert {status_of(code) for code in MEANINGS} <= {*range(400, 432), 500, 503, 507}
    assert (status_of("model.shape"), status_of("conflict.stale"), status_of("internal")) == (422, 409, 500)


def test_a_code_from_elsewhere_is_taken_only_if_it_is_one() -> None:
    assert (known("input.shape"), known("input.nonsense")) == ("input.shape", "internal")


def test_the_page_has_the_table_that_the_command_writes() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "error_codes.py"))
    page = script["PAGE"].read_text()
    assert script["with_table"](page) == page, "run: python scripts/error_codes.py"
