"""Verdicts on the recorded proofs, keys, openings and sums (tests/prover/vectors/README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prover.spartan.system import Spartan
from tests.prover.vectors import transparent
from tests.refusals import refuses
from verifier.spartan.key import SpartanKey
from verifier.spartan.system import SpartanVerifier
from verifier.system import Claim, VerifyingSystem

RECORDED: dict[str, Any] = json.loads(Path(transparent.__file__).with_name("transparent.json").read_text())
KEY = SpartanKey.from_json(RECORDED["verifying_key"])
PROOFS, LINKS = (
    {name: bytes.fromhex(data) for name, data in RECORDED[kind].items()} for kind in ("proofs", "links")
)


def named(cases: list[Any]) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in cases]


@pytest.fixture(scope="module", params=[SpartanVerifier, Spartan])
def system(request: pytest.FixtureRequest) -> VerifyingSystem:
    """In plain Python, and with this machine's kernels."""
    made: VerifyingSystem = request.param()
    made.take_circuit(bytes.fromhex(RECORDED["circuit"]))
    return made


def test_the_key_is_what_its_digest_says() -> None:
    assert KEY.digest.hex() == RECORDED["key_digest"]


@pytest.mark.parametrize("case", named(RECORDED["cases"]))
def test_proofs(system: VerifyingSystem, case: Any) -> None:
    commitments = [bytes.fromhex(root) for root in case["commitments"]]
    public = [int(text) for text in case["public_inputs"]]
    claim = Claim(public, transparent.proof_of(case, PROOFS, LINKS), commitments)
    assert system.verify(KEY, claim).reason == case["reason"]


@pytest.mark.parametrize("case", named(RECORDED["keys"]))
def test_keys_that_are_refused(case: Any) -> None:
    with refuses(case["code"]):
        SpartanKey.from_json(case["key"])


@pytest.mark.parametrize("case", named(RECORDED["openings"]))
def test_openings(system: VerifyingSystem, case: Any) -> None:
    basis, commitment = (bytes.fromhex(case[name]) for name in ("basis", "commitment"))
    values = [int(text) for text in case["values"]]
    verdict = system.commitments.check_opening(basis, commitment, values, case["opening"])
    assert verdict.reason == case["reason"]


@pytest.mark.parametrize("case", named(RECORDED["sums"]))
def test_sums(system: VerifyingSystem, case: Any) -> None:
    basis, opening = (bytes.fromhex(case[name]) for name in ("basis", "opening"))
    commitments = [bytes.fromhex(root) for root in case["commitments"]]
    totals = [int(text) for text in case["totals"]]
    assert system.commitments.check_sum(basis, commitments, totals, opening).reason == case["reason"]
