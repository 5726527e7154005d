"""``zenserve tables``, as a user meets it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from zenserve.circuits.papers import counts, tables

TINY = tables.Scope(("shallownet-mnist",), ("lenet-small-cifar",), ((8, 1),), (256,))


@pytest.fixture(autouse=True)
def _small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZENSERVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tables, "QUICK", TINY)


@pytest.fixture
def run(run: Any) -> Any:
    """Of ``zenserve tables --quick``."""
    return partial(run, "tables", "--quick")


def test_a_table_is_printed_as_text_csv_or_json(run: Any) -> None:
    code, text, _ = run("zen-5.3")
    assert code == 0
    assert "ZEN, vanilla" in text
    assert "ZenServe, level 2" in text
    found = counts.count("shallownet-mnist", counts.Circuit("private", 2))
    assert f"{found.inference:,}" in text
    _, table, _ = run("zen-5.3", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(table)))
    (row,) = (row for row in rows if row["circuit"] == "ZenServe, level 2")
    assert int(row["total"]) == found.total()
    _, document, _ = run("zen-5.3", "--json")
    (entry,) = json.loads(document)
    assert entry["name"] == "zen-5.3"
    assert [str(row["circuit"]) for row in entry["rows"]] == [row["circuit"] for row in rows]


def test_a_second_time_nothing_is_compiled(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("zen-5.4")
    monkeypatch.setattr(counts, "lower_inference", None)
    assert run("zen-5.4") == first
    with pytest.raises(TypeError):
        run("zen-conv")


def test_files_are_written_for_documents(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "papers" / "tables"
    code, out, err = run("zen-5.3", "zeno-circuit", "--out", folder)
    assert (code, out) == (0, "")
    assert "6 files" in err
    assert sorted(path.name for path in folder.iterdir()) == [
        *("tables.md", "zen-5.3.csv", "zen-5.3.svg", "zen-5.3.txt", "zeno-circuit.csv", "zeno-circuit.txt")
    ]
    ElementTree.fromstring((folder / "zen-5.3.svg").read_text())  # noqa: S314
    document = (folder / "tables.md").read_text()
    assert "`zenserve tables zen-5.3 zeno-circuit --quick --out" in document
    assert "## zeno-circuit" in document


def test_errors_are_one_line_with_a_code(run: Any, tmp_path: Path) -> None:
    code, out, err = run("zen-5.2")
    assert (code, out) == (2, "")
    assert "[request.unknown_table]" in err
    assert "zen-5.3" in err
    assert "Traceback" not in err
    (tmp_path / "file").write_text("")
    assert run("zeno-circuit", "--out", tmp_path / "file")[0] == 2
    assert run("zeno-circuit", "--format", "xml")[0] == 2


def test_other_commands_do_not_wait_for_the_compiler() -> None:
    script = (
        "import sys, zenserve.service.cli;"
        "sys.exit('numpy' in sys.modules or 'zenserve.circuits.papers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
