"""The pages of figures are what their templates and the results make, and results are of the one format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.pages import TABLES, TEMPLATES, page
from bench.pages.tables import RESULTS, ROOT
from bench.report import Report, Row, read

PAGES = sorted(TEMPLATES.glob("*.md"))


@pytest.mark.parametrize("template", PAGES, ids=lambda template: template.stem)
def test_a_page_is_what_its_template_and_the_results_make(template: Path) -> None:
    assert (ROOT / "docs" / template.name).read_text() == page(template), "run python -m bench.pages"


def test_every_table_is_shown() -> None:
    assert list(TABLES) == [template.stem for template in PAGES]
    shown = {template.stem: template.read_text() for template in PAGES}
    names = [(page, name) for page, tables in TABLES.items() for name in tables]
    assert [(page, name) for page, name in names if f"{{{{ {name} }}}}" not in shown[page]] == []


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_file_of_results_is_of_this_version_and_named_where_it_is_shown(path: Path) -> None:
    hardware, rows = read(path)
    assert hardware
    assert rows
    pages = [*(ROOT / "bench" / "pages").glob("*.py"), *(ROOT / "docs").glob("*.md")]
    assert any(path.stem in each.read_text() for each in pages)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    rows = [
        Row("", None, 0.0, more={"path": "/", "status": 200}),
        Row("msm", 8, 1.5e-3, 0.25, threads=2, peer="blst", ratio=4.0, floor=1e-3, peak_mb=12.5),
    ]
    report = Report("some", hardware="a machine")
    report.show("sums", rows)
    report.write(tmp_path / "rows.json")
    hardware, found = read(tmp_path / "rows.json")
    assert hardware == "a machine"
    assert found == report.rows
    assert {row.topic for row in found} == {"sums"}


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    for content in ("[]", json.dumps({"format": "zenserve-bench", "version": 2, "rows": []})):
        path.write_text(content)
        with pytest.raises(ValueError, match="run the benchmark again"):
            read(path)
