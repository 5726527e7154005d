from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

import prover
from prover import REASONS, VerifyingKey, reference

VECTORS = Path(__file__).parent / "vectors"
DOCUMENT: dict[str, Any] = json.loads((VECTORS / "groth16.json").read_text())
CASES = [pytest.param(case, id=case["name"]) for case in DOCUMENT["cases"]]


@pytest.fixture(scope="module")
def key() -> VerifyingKey:
    return VerifyingKey.from_json(DOCUMENT["verifying_key"])


@pytest.mark.parametrize("case", CASES)
def test_verdict(key: VerifyingKey, case: dict[str, Any]) -> None:
    inputs, proof = [int(text) for text in case["public_inputs"]], bytes.fromhex(case["proof"])
    assert prover.verify(key, inputs, proof).reason == case["reason"]
    assert reference.verify(key, inputs, proof).reason == case["reason"]


def test_every_reason_occurs() -> None:
    """All but those that no JSON of bytes and integers can bring about."""
    seen = {case["reason"] for case in DOCUMENT["cases"]}
    assert seen == {reason.code for reason in Reason} - {"proof_type", "public_input_type"}


def test_the_key_in_bytes_is_the_key_in_json(key: VerifyingKey) -> None:
    assert key.to_bytes().hex() == DOCUMENT["verifying_key_bytes"]


def test_the_committed_vectors_are_what_the_generator_writes() -> None:
    generator = runpy.run_path(str(VECTORS / "generate.py"))
    assert (VECTORS / "groth16.json").read_text() == generator["text"]()
