"""Every operator of the installed onnx is read, or refused with advice, and the page says which."""

from __future__ import annotations

import runpy
from pathlib import Path

from onnx import NodeProto
from onnx.helper import make_node

from zenserve.circuits.onnx.advice import ADVICE, unsupported
from zenserve.circuits.onnx.folding import FOLDED
from zenserve.circuits.operators import ONNX

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "operators.py"))


def test_the_page_has_the_list_that_the_command_writes() -> None:
    page = SCRIPT["PAGE"].read_text()
    assert SCRIPT["with_operators"](page) == page, "run: python scripts/operators.py"


def test_each_is_read_or_has_advice() -> None:
    for domain, names in SCRIPT["named"]().items():
        read = {name for name in names if (domain, name) in ONNX}
        assert set(names) - read <= {*ADVICE, *FOLDED}


def test_all_that_has_no_circuit_is_told_at_once_with_counts_and_advice() -> None:
    def nodes(domain: str, *names: str) -> list[NodeProto]:
        return [make_node(name, ["x"], [f"{name}{at}"], domain=domain) for at, name in enumerate(names)]

    made = [
        *nodes("", "NonMaxSuppression", "Det", "Det", "NoSuch"),
        *nodes("com.microsoft", "NhwcMaxPool"),
        *nodes("mine", "Own"),
        *nodes("ai.onnx.ml", "CastMap"),
    ]
    told = str(unsupported(made))
    for words in (
        "NonMaxSuppression, node 'NonMaxSuppression0': how many entries",
        "Det, 2 nodes from 'Det1' on: write it as products",
        "NoSuch, node 'NoSuch3': docs/onnx.md lists",
        "NhwcMaxPool, node 'NhwcMaxPool0': save the model without onnxruntime's graph optimisations",
        "Own, node 'Own0': leave out custom operators",
        "CastMap, node 'CastMap0': it reads text",
    ):
        assert words in told
    many = [make_node(f"Odd{at}", ["x"], [f"y{at}"]) for at in range(25)]
    assert "and 5 operators more" in str(unsupported(many))
