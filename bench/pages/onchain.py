"""Tables of docs/onchain.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bench.pages.tables import listed, name, rows
from bench.report import Row, number

ONCHAIN: Final = "onchain-2026-11-30"


def gas() -> str:
    def said(key: str) -> Callable[[Row], str]:
        return lambda row: number(row.more[key]) if row.more.get(key) else ""

    columns = {"contract": name} | {key: said(key) for key in ("inputs", "segments", "links", "folded")}
    taken = ("gas_execution", "gas_calldata", "gas_total", "bytes_contract", "bytes_calldata")
    return listed(rows(ONCHAIN, ""), columns | {key.replace("_", ", "): said(key) for key in taken})


TABLES: Final = {"gas": gas}
