"""docs/coverage.md, gpu.md, lowbit.md, onchain.md, performance.md and robustness.md: the templates in
bench/templates, with tables of bench/results.

    python -m bench.pages

A template's line ``{{ name }}`` becomes the table of that name in the page's module, ``{{ on FILE }}`` the
hardware of results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bench.pages import aims, coverage, gpu, load, lowbit, onchain, performance, robustness
from bench.pages.tables import RESULTS, ROOT
from bench.report import read

TEMPLATES: Final = ROOT / "bench" / "templates"
TABLES: Final[Mapping[str, Mapping[str, Callable[[], str]]]] = {
    "coverage": coverage.TABLES,
    "gpu": gpu.TABLES,
    "lowbit": lowbit.TABLES | {"what was wanted": aims.aims},
    "onchain": onchain.TABLES,
    "performance": performance.TABLES | load.TABLES,
    "robustness": robustness.TABLES,
}


def page(template: Path) -> str:
    """The page of a template; ``KeyError`` for a table that there is not."""

    def filled(found: re.Match[str]) -> str:
        what = found[1]
        if what.startswith("on "):
            return read(RESULTS / f"{what.removeprefix('on ')}.json")[0]
        return TABLES[template.stem][what]()

    return re.sub(r"\{\{ (.+?) \}\}", filled, template.read_text())


def main() -> None:
    for template in sorted(TEMPLATES.glob("*.md")):
        (ROOT / "docs" / template.name).write_text(page(template))
