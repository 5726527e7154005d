from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from prover import REASONS, VerifyingKey, reference
from tests.prover import verifiers

VECTORS = Path(__file__).parent / "vectors"
DOCUMENTS: dict[str, dict[str, Any]] = {
    name: json.loads((VECTORS / name).read_text()) for name in ("groth16.json", "segments.json")
}
CASES = [
    pytest.param(name, case, id=f"{name}: {case['name']}")
    for name, document in DOCUMENTS.items()
    for case in document["cases"]
]
KEYS = {name: VerifyingKey.from_json(document["verifying_key"]) for name, document in DOCUMENTS.items()}


@pytest.mark.parametrize(("name", "case"), CASES)
def test_verdict(name: str, case: dict[str, Any]) -> None:
    inputs, proof = [int(text) for text in case["public_inputs"]], bytes.fromhex(case["proof"])
    commitments = [bytes.fromhex(text) for text in case.get("commitments", [])]
    assert verifiers.verify(KEYS[name], inputs, proof, commitments).reason == case["reason"]
    assert reference.verify(KEYS[name], inputs, proof, commitments).reason == case["reason"]


def test_every_reason_occurs() -> None:
    """All but those that no JSON of bytes and integers can bring about."""
    seen = {case["reason"] for document in DOCUMENTS.values() for case in document["cases"]}
    assert seen == set(REASONS) - {"proof_type", "public_input_type", "commitment_type"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_key_in_bytes_is_the_key_in_json(name: str) -> None:
    assert KEYS[name].to_bytes().hex() == DOCUMENTS[name]["verifying_key_bytes"]


def test_the_committed_vectors_are_what_the_generator_writes() -> None:
    generator = runpy.run_path(str(VECTORS / "generate.py"))
    for name, text in generator["texts"]().items():
        assert (VECTORS / name).read_text() == text
