"""Tests that the service's guide names are there, and it names all that disturb real servers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
GUIDE = (TESTS.parent / "docs" / "service.md").read_text()
TABLE = GUIDE.partition("## What happens when something dies\n")[2].partition("\n\n")[0]
NAMED = sorted(set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", TABLE)))


def test_every_row_names_a_test() -> None:
    rows = TABLE.splitlines()[2:]
    assert len(rows) > 30
    assert [row for row in rows if "`test_" not in row] == []
    assert "…" not in TABLE


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_the_guide_names_is_there(file: str, name: str) -> None:
    assert any(f"def {name}(" in path.read_text() for path in TESTS.rglob(file))


def test_every_fault_is_in_the_guide() -> None:
    there = {
        (path.name, name)
        for path in (TESTS / "faults").glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE)
    }
    assert there - set(NAMED) == {("test_workers.py", "test_nothing_was_left_running")}
