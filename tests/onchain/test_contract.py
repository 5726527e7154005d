"""Contracts in a real EVM give the verdicts of ``zenserve-verify``."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import pytest
from py_arkworks_bls12381 import G1Point, G2Point, Scalar

from tests.onchain.evm import Answer, Step, in_evm
from tests.prover.bad_points import bad_points
from tests.prover.conftest import committed
from tests.prover.statements import Committed
from tests.refusals import refuses
from tests.web.conftest import WEB, Node, node
from verifier.groth16.proof import Proof, ProofError
from verifier.groth16.verification import verify
from verifier.groth16.verifying_key import VerifyingKey
from verifier.onchain.calldata import Arguments, calldata_gas
from verifier.onchain.contract import MOST_INPUTS, solidity
from verifier.onchain.layout import G1_BYTES, encode_proof
from verifier.points import FIELD_MODULUS, SCALAR_MODULUS, PointError, uncompressed
from verifier.system import Claim

__all__ = ["committed", "node"]  # fixtures

VECTORS: Final = WEB.parent / "tests" / "prover" / "vectors"
FALSE: Final = ("pairing_mismatch", "knowledge_mismatch", "link_mismatch")
"""Reasons that the contract does not tell apart: all equations are one product."""
ERRORS: Final = {
    "public_input_not_canonical": "PublicInputNotCanonical",
    "public_input_count": "PublicInputCount",
    "proof_shape": "ProofLength",
    "commitment_count": "ProofLength",
}
MOST_GAS: Final = {"groth16": 225_000, "segments": 490_000}
"""Of a transaction that verifies, in all. A ceremony's key, whose γ is the generator, takes 40,000 less."""


class Contract:
    """The contract of a key, in an EVM of the hard fork."""

    def __init__(self, node: Node, key: VerifyingKey) -> None:
        self._node, self._source = node, solidity(key, ["What this proves."])

    def call(
        self, calls: Sequence[bytes], hardfork: str = "prague", *, measured: bool = False
    ) -> list[Answer]:
        """The answers of the views."""
        steps = [
            Step("verifier.sol:ZenServeVerifier"),
            *(Step(0, call.hex(), measured=measured) for call in calls),
        ]
        made, *answers = in_evm(self._node, {"verifier.sol": self._source}, steps, hardfork)
        assert 0 < made.bytes < 24_576
        return answers


@pytest.mark.parametrize("name", ["groth16", "segments"])
def test_vectors_have_the_verdicts_that_they_have_everywhere(node: Node, name: str) -> None:
    vectors = json.loads((VECTORS / f"{name}.json").read_text())
    contract = Contract(node, VerifyingKey.from_json(vectors["verifying_key"]))
    cases, calls = [], []
    for case in vectors["cases"]:
        claim = Claim(
            [int(text) for text in case["public_inputs"]],
            bytes.fromhex(case["proof"]),
            [bytes.fromhex(text) for text in case.get("commitments", ())],
        )
        try:
            calls.append(_lenient(Arguments.of(claim)))
        except (ProofError, PointError):  # no points: there is no calldata to send
            continue
        cases.append(case)
    assert len(cases) >= 13
    for case, answer in zip(cases, contract.call(calls), strict=True):
        if case["reason"] == "ok" or case["reason"] in FALSE:
            assert answer.valid is (case["reason"] == "ok"), case["name"]
        else:
            assert answer.error == ERRORS[case["reason"]], case["name"]
    (measured,) = contract.call(calls[:1], measured=True)
    assert 21_000 + calldata_gas(calls[0]) + measured.gas <= MOST_GAS[name]


def _lenient(given: Arguments) -> bytes:
    """Encoded, inputs below zero and above 2^256 as a caller could write them."""
    return given._replace(inputs=[value % (1 << 256) for value in given.inputs]).encode()


@pytest.fixture(scope="module")
def contract(node: Node, committed: Committed) -> Contract:
    """Of a key with three segments, two links and a challenge."""
    return Contract(node, committed.verifying_key)


def honest(case: Committed) -> Arguments:
    return Arguments(encode_proof(case.proof, case.commitments), case.public)


def test_each_point_is_checked_by_itself(contract: Contract, committed: Committed) -> None:
    given = honest(committed)
    count = (len(given.proof) - 512) // 128
    places = [(0, 128), (128, 256), (384, 128), *((512 + 128 * i, 128) for i in range(count))]
    changes = [_Change(place, kind) for place in places for kind in _FAULTS]
    calls = [given._replace(proof=change.made(given.proof)).encode() for change in changes]
    first, *answers = contract.call([given.encode(), *calls])
    assert first.valid
    for change, answer in zip(changes, answers, strict=True):
        assert answer.error == ("PointAtInfinity" if change.kind == "at_infinity" else "PointRefused"), change


_FAULTS: Final = ("at_infinity", "not_canonical", "not_on_curve", "not_in_subgroup")


class _Change(NamedTuple):
    place: tuple[int, int]
    kind: str

    def made(self, proof: bytes) -> bytes:
        start, length = self.place
        return proof[:start] + self._changed(proof[start : start + length]) + proof[start + length :]

    def _changed(self, point: bytes) -> bytes:
        match self.kind:
            case "at_infinity":
                return bytes(len(point))
            case "not_canonical":
                return (int.from_bytes(point[:64], "big") + FIELD_MODULUS).to_bytes(64, "big") + point[64:]
            case "not_on_curve":
                return point[:-1] + bytes([point[-1] ^ 1])
        group = G1Point if len(point) == G1_BYTES else G2Point
        (outside,) = bad_points(len(point) * 3 // 8)["not_in_subgroup"]
        return uncompressed(bytes(group.from_compressed_bytes_unchecked(outside).to_xy_bytes_be()))


@pytest.mark.large
def test_mutated_proofs_and_inputs_are_refused_as_our_verifier_refuses_them(
    contract: Contract, committed: Committed
) -> None:
    """Points swapped, replaced and doubled, inputs changed."""
    draw, given = random.Random(45), honest(committed)
    claims = [_mutated(draw, committed) for _ in range(8)]
    calls = [Arguments(encode_proof(proof, cms), inputs).encode() for proof, inputs, cms in claims]
    for (proof, inputs, cms), answer in zip(claims, contract.call(calls), strict=True):
        verdict = verify(committed.verifying_key, inputs, proof, cms)
        assert answer.valid is verdict.valid
        assert verdict.valid or verdict.reason in FALSE
    assert given.proof


def _mutated(draw: random.Random, case: Committed) -> tuple[Proof, list[int], list[bytes]]:
    proof, inputs, cms = case.proof, list(case.public), list(case.commitments)
    points = [proof.a, proof.c, *proof.segments, *proof.knowledge, *proof.links, *cms]
    other = draw.choice(points)
    match draw.randrange(7):
        case 0:
            return replace(proof, a=other), inputs, cms
        case 1:
            return replace(proof, c=other), inputs, cms
        case 2:
            return replace(proof, segments=_with(draw, proof.segments, other)), inputs, cms
        case 3:
            return replace(proof, knowledge=_with(draw, proof.knowledge, other)), inputs, cms
        case 4:
            return replace(proof, links=_with(draw, proof.links, other)), inputs, cms
        case 5:
            return proof, [draw.randrange(SCALAR_MODULUS) for _ in inputs], cms
    return proof, inputs, [*_with(draw, tuple(cms), other)]


def _with(draw: random.Random, points: tuple[bytes, ...], other: bytes) -> tuple[bytes, ...]:
    place = draw.randrange(len(points))
    return (*points[:place], other, *points[place + 1 :])


def test_chains_without_the_precompiles_are_told(contract: Contract, committed: Committed) -> None:
    (answer,) = contract.call([honest(committed).encode()], "cancun")
    assert answer.error == "PrecompileMissing"


def test_keys_that_no_contract_can_serve_are_refused(node: Node, committed: Committed) -> None:
    key = committed.verifying_key
    with refuses("statement.contract", "key", match="SHA-512"):
        solidity(replace(key, version=2))
    points = (G1Point() * Scalar(9 ** (index + 3)) for index in range(MOST_INPUTS))
    more = tuple(bytes(point.to_compressed_bytes()) for point in points)
    with refuses("statement.contract", "key", match=f"{MOST_INPUTS - 1} public inputs"):
        solidity(replace(key, ic=(*key.ic, *more)))
    largest = replace(key, ic=(*key.ic, *more[len(key.ic) :]))
    (answer,) = Contract(node, largest).call([honest(committed).encode()])  # deploys
    assert answer.error == "PublicInputCount"


def test_no_name_in_a_key_ends_a_comment_of_the_contract(committed: Committed) -> None:
    """Names in a key's description are free text, and Solidity has several ends of lines."""
    for end in ("\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029"):
        source = solidity(committed.verifying_key, [f"label{end}contract Another {{}}"])
        assert "///         label contract Another {}" in source.split("\n")
