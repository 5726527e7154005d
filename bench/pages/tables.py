"""What pages' tables are made of: the rows of results, and their cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from bench.report import Cells, Row, figure, lines_of, number, numeric, ratio, read

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = ROOT / "bench" / "results"


def rows(file: str, *topics: str) -> list[Row]:
    """Those of topics that begin so."""
    return [row for row in read(RESULTS / f"{file}.json")[1] if row.topic.startswith(topics)]


def table(lines: Sequence[tuple[str, ...]], headings: Sequence[str]) -> str:
    rules = ["--:" if numeric(cells) else "---" for cells in zip(*lines, strict=True)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, rules, *lines))


def listed(chosen: Sequence[Row], cells: Cells) -> str:
    """A line a row."""
    headings, lines = lines_of(chosen, cells)
    return table(lines, headings)


def grouped(chosen: Iterable[Row], key: Cells, cells: Cells) -> str:
    """A line for all rows of one key, whose other cells are each what one of the rows says."""
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in chosen:
        line = lines.setdefault(tuple(cell(row) for cell in key.values()), {})
        for heading, cell in cells.items():
            line[heading] = line.get(heading) or cell(row)
    return table([(*place, *line.values()) for place, line in lines.items()], [*key, *cells])


def name(row: Row) -> str:
    return row.name


def size(row: Row) -> str:
    return number(row.size)


def power(row: Row) -> str:
    """The size as a power of two."""
    return f"2^{row.size.bit_length() - 1}" if row.size and row.size > 1 else ""


def threads(row: Row) -> str:
    return number(row.threads)


def ours(row: Row) -> str:
    return "" if row.peer else figure(row)


def floors(row: Row) -> str:
    return f"{row.median / row.floor:.2f}x" if row.floor else ""


def megabytes(row: Row) -> str:
    return number(row.peak_mb and round(row.peak_mb))


def beside(peer: str) -> Callable[[Row], str]:
    return lambda row: ratio(row) if row.peer == peer else ""


def ending(suffix: str, cell: Callable[[Row], str]) -> Callable[[Row], str]:
    """The cell, of rows whose name ends so."""
    return lambda row: cell(row) if row.name.endswith(suffix) else ""


def stem(*suffixes: str) -> Callable[[Row], str]:
    """The name without what its rows differ in."""
    pattern = re.compile(f"_({'|'.join(suffixes)})$")
    return lambda row: pattern.sub("", row.name)


def kernel(row: Row) -> str:
    return row.name.removeprefix(f"{row.peer}_").removesuffix("_x86_ifma")


def shown(file: str, topic: str, cells: Cells) -> str:
    """As the benchmark itself shows it."""
    return listed(rows(file, topic), cells)
