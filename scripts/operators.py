"""Writes the list of operators into docs/onnx.md: python scripts/operators.py."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from textwrap import fill
from typing import Final

from onnx.defs import get_all_schemas, onnx_opset_version

from zenserve.circuits.onnx.advice import ADVICE
from zenserve.circuits.onnx.folding import FOLDED
from zenserve.circuits.operators import ONNX

PAGE: Final = Path(__file__).parents[1] / "docs" / "onnx.md"
_FIRST, _LAST = "## Every operator\n", "## What exporters write\n"
_WIDTH: Final = 120
_DOMAINS: Final = {
    "": "ONNX",
    "ai.onnx.ml": "ONNX for other models than networks (ai.onnx.ml)",
    "ai.onnx.preview": "Previews (ai.onnx.preview)",
    "ai.onnx.preview.training": "Training (ai.onnx.preview.training)",
}


def named() -> dict[str, list[str]]:
    """All operators that the installed ``onnx`` has, by their domains."""
    found = defaultdict[str, set[str]](set)
    for schema in get_all_schemas():
        found[schema.domain].add(schema.name)
    return {domain: sorted(found[domain]) for domain in _DOMAINS}


def operators() -> str:
    told = (
        f"All operators up to opset {onnx_opset_version()}, the newest that the installed `onnx` knows, "
        "of onnxruntime and of QONNX. [operators.md](operators.md) has the details of those that are read. "
        "`python scripts/operators.py` writes this list."
    )
    parts = [fill(told, _WIDTH)]
    for domain, names in named().items():
        parts += [f"### {_DOMAINS[domain]}", *_of(domain, names)]
    for title, called in (("onnxruntime", "com.microsoft"), ("QONNX", "qonnx.custom_op.general")):
        own = sorted(name for domain, name in ONNX if domain == called)
        parts += [f"### {title} ({called})", *_list("Read:", own)]
    return "\n\n".join(parts)


def with_operators(page: str) -> str:
    """Return the page with the list as it is to be."""
    before, rest = page.split(_FIRST)
    return f"{before}{_FIRST}{operators()}\n\n{_LAST}{rest.split(_LAST, 1)[1]}"


def _of(domain: str, names: list[str]) -> list[str]:
    read = {name: ONNX[domain, name] for name in names if (domain, name) in ONNX}
    folded = [name for name in names if name in FOLDED and name not in read and domain == ""]
    refused = defaultdict[str, list[str]](list)
    for name in names:
        if name not in read and (name not in folded or name in ADVICE):
            refused[ADVICE[name]].append(name)
    rows = [f"| {', '.join(those)} | {advice} |" for advice, those in refused.items()]
    return [
        *_list("Read:", [name for name in read if not read[name].folds]),
        *_list("Read, and made a constant:", [name for name in read if read[name].folds]),
        *_list("Read of constants alone:", folded),
        *(["\n".join(["| refused | advice |", "|---|---|", *rows])] if rows else []),
    ]


def _list(words: str, names: list[str]) -> list[str]:
    return [fill(f"{words} {', '.join(names)}.", _WIDTH)] if names else []


if __name__ == "__main__":
    PAGE.write_text(with_operators(PAGE.read_text()))
