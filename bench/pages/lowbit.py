"""Tables of docs/lowbit.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bench.pages.tables import ending, grouped, listed, megabytes, name, rows, size
from bench.report import Cells, Row, more, number

LOWBIT: Final = "lowbit-2026-11-23-epyc"
LOWBIT_224: Final = "lowbit-224-2026-11-23-epyc"


def low_bits_accuracy() -> str:
    cells: Cells = {"images": size, "floats": lambda row: f"{row.more['floats']:.1f} %"}
    by_bits = _by_bits(lambda row: f"{row.median:.1f} %", "w4a4", "w2a2", "w1a2")
    return grouped(rows(LOWBIT, "Accuracy"), {"network": _architecture}, {**cells, **by_bits})


def low_bits_constraints() -> str:
    """Each with its part of the 8-bit network's."""

    def part(row: Row) -> str:
        return f"{number(row.size)} ({1 / row.ratio:.2f})" if row.ratio else number(row.size)

    key = {"network": _architecture, "weights": more("weights")}
    return grouped(rows(LOWBIT, "Constraints"), key, _by_bits(part, "w8a8", "w4a4", "w2a2", "w1a2"))


def _architecture(row: Row) -> str:
    return row.name.rpartition("-")[0]


def _by_bits(cell: Callable[[Row], str], *names: str) -> Cells:
    return {bits: ending(f"-{bits}", cell) for bits in names}


def low_bits_proofs() -> str:
    cells: Cells = {
        "": name,
        "system": more("system"),
        "rows": size,
        "setup s": more("setup_s"),
        "prove s": lambda row: number(row.median),
        "verify s": more("verify_s"),
        "proof bytes": more("proof_bytes"),
        "peak MB": megabytes,
    }
    return listed(rows(LOWBIT, "Proofs"), cells)


def low_bits_witnesses() -> str:
    cells: Cells = {
        "": name,
        "rows": size,
        "execute s": more("execute_s"),
        "compile s": more("compile_s"),
        "witness s": lambda row: number(row.median),
        "check s": more("check_s"),
        "peak MB": megabytes,
    }
    return listed(rows(LOWBIT_224, "At 224"), cells)


TABLES: Final[dict[str, Callable[[], str]]] = {
    "low bits' accuracy": low_bits_accuracy,
    "low bits' constraints": low_bits_constraints,
    "low bits' proofs": low_bits_proofs,
    "low bits' witnesses": low_bits_witnesses,
}
