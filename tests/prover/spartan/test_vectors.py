"""Verdicts on the recorded proofs, keys, openings and sums (tests/prover/vectors/README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.prover.vectors import transparent
from tests.refusals import refuses
from zenserve.errors import ZenError
from zenserve.prover.spartan.system import Spartan
from zenserve.verifier.spartan.key import SpartanKey
from zenserve.verifier.spartan.system import SpartanVerifier
from zenserve.verifier.system import Claim, VerifyingSystem

RECORDED: dict[str, Any] = json.loads(Path(transparent.__file__).with_name("transparent.json").read_text())
LONG = RECORDED["long"]
KEY = SpartanKey.from_json(RECORDED["verifying_key"])


def named(cases: list[Any]) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in cases]


@pytest.fixture(scope="module", params=[SpartanVerifier, Spartan])
def system(request: pytest.FixtureRequest) -> VerifyingSystem:
    """In plain Python, and with this machine's kernels."""
    made: VerifyingSystem = request.param()
    for each in (RECORDED, LONG):
        made.take_circuit(bytes.fromhex(each["circuit"]))
    return made


def test_the_key_is_what_its_digest_says() -> None:
    assert KEY.digest.hex() == RECORDED["key_digest"]


def test_the_page_shows_this_key() -> None:
    page = Path(__file__).parents[3] / "docs" / "formats.md"
    _, _, behind = page.read_text().partition("### Key, commitments and circuit\n```json\n")
    assert json.loads(behind.partition("```")[0]) == KEY.to_json() | {"circuit": "<hex>"}


@pytest.mark.parametrize("case", named(RECORDED["cases"]))
def test_proofs(system: VerifyingSystem, case: Any) -> None:
    judge(system, RECORDED, case)


@pytest.mark.parametrize("case", named(LONG["cases"]))
def test_proofs_of_long_rows(system: VerifyingSystem, case: Any) -> None:
    judge(system, LONG, case)


@pytest.mark.parametrize("case", named(RECORDED["renewed"]["cases"]))
def test_links_of_long_rows(system: VerifyingSystem, case: Any) -> None:
    judge(system, RECORDED["renewed"], case)


def judge(system: VerifyingSystem, recorded: Any, case: Any) -> None:
    proofs, links = (
        {name: bytes.fromhex(data) for name, data in recorded[kind].items()} for kind in ("proofs", "links")
    )
    commitments = [bytes.fromhex(root) for root in case["commitments"]]
    public = [int(text) for text in case["public_inputs"]]
    claim = Claim(public, transparent.proof_of(case, proofs, links), commitments)
    key = SpartanKey.from_json(recorded["verifying_key"])
    assert system.verify(key, claim).reason == case["reason"]


@pytest.mark.parametrize("case", named(RECORDED["circuits"]))
def test_circuits_that_are_refused(case: Any) -> None:
    system, file = SpartanVerifier(), bytes.fromhex(case["circuit"])
    if case["code"] == "circuit_unknown":
        system.take_circuit(file)
        assert system.verify(KEY, Claim([], b"", [])).reason == "circuit_unknown"
    else:
        with refuses(case["code"]):
            system.take_circuit(file)


@pytest.mark.parametrize("case", named(RECORDED["circuits"]))
def test_kernels_refuse_the_same_circuits(case: Any) -> None:
    """By the constraint system's own codes, where it has one."""
    if case["code"] != "circuit_unknown":
        with pytest.raises(ZenError):
            Spartan().take_circuit(bytes.fromhex(case["circuit"]))


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
