"""A verifier of another make agrees on every proof without a setup, key, opening and sum."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.vectors import plain_transparent

Json = dict[str, Any]
FILE: Final = Path(__file__).parents[1] / "prover" / "vectors" / "transparent.json"
VECTORS: Final = json.loads(FILE.read_text())


def named(case: Json) -> str:
    return str(case["name"])


def proof_of(recorded: Json, case: Json) -> bytes:
    links = [recorded["links"][part[1:]] if part[:1] == "@" else part for part in case["chains"]]
    data = bytearray.fromhex("".join(links) + recorded["proofs"][case["proof"]])
    del data[len(data) if case["keep"] is None else case["keep"] :]
    for place, added in case["change"].items():
        for at, byte in enumerate(bytes.fromhex(added), int(place)):
            data[at] ^= byte
    return bytes(data) + bytes.fromhex(case["more"])


def judged(recorded: Json, case: Json, circuit: str) -> str:
    public = [int(value) for value in case["public_inputs"]]
    commitments = [bytes.fromhex(commitment) for commitment in case["commitments"]]
    key, proof = recorded["verifying_key"], proof_of(recorded, case)
    return plain_transparent.verify(key, bytes.fromhex(circuit), public, commitments, proof)


@pytest.mark.parametrize("case", VECTORS["cases"], ids=named)
def test_it_agrees_on_proofs(case: Json) -> None:
    assert judged(VECTORS, case, VECTORS["circuit"]) == case["reason"]


@pytest.mark.parametrize("case", VECTORS["long"]["cases"], ids=named)
def test_it_agrees_on_proofs_of_long_rows(case: Json) -> None:
    assert judged(VECTORS["long"], case, VECTORS["long"]["circuit"]) == case["reason"]


@pytest.mark.parametrize("case", VECTORS["renewed"]["cases"], ids=named)
def test_it_agrees_on_links_of_long_rows(case: Json) -> None:
    assert judged(VECTORS["renewed"], case, VECTORS["renewed"]["circuit"]) == case["reason"]


@pytest.mark.parametrize("case", VECTORS["circuits"], ids=named)
def test_it_refuses_the_same_circuits(case: Json) -> None:
    assert judged(VECTORS, VECTORS["cases"][0], case["circuit"]) == case["code"]


def test_it_knows_the_key_and_judges_by_its_circuit_alone() -> None:
    key = VECTORS["verifying_key"]
    assert plain_transparent.key_digest(key) == VECTORS["key_digest"]
    other = {**key, "circuit": "00" * 32}
    assert (
        plain_transparent.verify(other, bytes.fromhex(VECTORS["circuit"]), [], [], b"") == "circuit_unknown"
    )


@pytest.mark.parametrize("case", VECTORS["keys"], ids=named)
def test_it_refuses_the_same_keys(case: Json) -> None:
    with pytest.raises(plain_transparent.Refused):
        plain_transparent.read_key(case["key"])


@pytest.mark.parametrize("case", VECTORS["openings"], ids=named)
def test_it_agrees_on_openings(case: Json) -> None:
    found = plain_transparent.check_opening(
        bytes.fromhex(case["basis"]),
        bytes.fromhex(case["commitment"]),
        [int(value) for value in case["values"]],
        case["opening"],
    )
    assert found == case["reason"]


@pytest.mark.parametrize("case", VECTORS["sums"], ids=named)
def test_it_agrees_on_sums(case: Json) -> None:
    found = plain_transparent.check_sum(
        bytes.fromhex(case["basis"]),
        [bytes.fromhex(commitment) for commitment in case["commitments"]],
        [int(total) for total in case["totals"]],
        bytes.fromhex(case["opening"]),
    )
    assert found == case["reason"]


def test_it_is_of_another_make() -> None:
    """Python and blake3, and no module of this repository."""
    tree = ast.parse(Path(plain_transparent.__file__).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    others = {str(module).split(".")[0] for module in modules} - sys.stdlib_module_names
    assert others == {"blake3"}
