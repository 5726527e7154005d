"""Writes the table of error codes into docs/api.md: python scripts/error_codes.py."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Final

from zenserve.codes import MEANINGS, Code, status_of

PAGE: Final = Path(__file__).parents[1] / "docs" / "api.md"
_FIRST, _LAST = "| status | codes |\n|---|---|\n", "\n\nA job that fails has"


def _row(code: Code) -> tuple[int, str]:
    """By status, then by family."""
    return status_of(code), code.partition(".")[0]


def table() -> str:
    rows = []
    for (status, _), codes in groupby(sorted(MEANINGS, key=_row), _row):
        cells = (f"`{code}`: {MEANINGS[code]}" for code in codes)
        rows.append(f"| {status} | {'. '.join(cells)} |")
    return "\n".join(rows)


def with_table(page: str) -> str:
    """The page with the table as it is to be."""
    before, rest = page.split(_FIRST)
    return before + _FIRST + table() + _LAST + rest.split(_LAST, 1)[1]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
