"""Contracts in a real EVM give the verdicts of ``zenserve-verify``."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import pytest
from py_arkworks_bls12381 import G1Point, G2Point, Scalar

from tests.onchain.evm import MOST_CALL_GAS, Answer, Step, in_evm
from tests.onchain.mutations import Good, expected, mutated, outcome, outside
from tests.prover.ceremony.support import known_powers
from tests.prover.conftest import committed
from tests.prover.statements import COMMITTED_Z, Committed, committed_statement, complete_committed
from tests.refusals import refuses
from tests.web.conftest import WEB, Node, node
from zenserve import kernels
from zenserve.prover import groth16
from zenserve.prover.groth16 import CommitmentKey, ceremony
from zenserve.verifier.groth16.proof import ProofError
from zenserve.verifier.groth16.verifying_key import SegmentKey, VerifyingKey
from zenserve.verifier.onchain.calldata import Arguments
from zenserve.verifier.onchain.contract import MOST_BYTES, most_bytes, solidity
from zenserve.verifier.onchain.gas import estimated_gas, gas_of_calldata
from zenserve.verifier.onchain.layout import encode_proof
from zenserve.verifier.points import FIELD_MODULUS, PointError
from zenserve.verifier.system import Claim

__all__ = ["committed", "node"]  # fixtures

VECTORS: Final = WEB.parent / "tests" / "prover" / "vectors"
MOST_GAS: Final = {"groth16": 225_000, "segments": 490_000, "folded": 395_000}
"""Of a transaction that verifies, in all. A ceremony's key, whose γ is the generator, takes 40,000 less."""


class Contract:
    """The contract of a key, in an EVM of the hard fork."""

    def __init__(self, node: Node, key: VerifyingKey) -> None:
        self.key = key
        self._node, self._source = node, solidity(key, ["What this proves."])

    def call(
        self,
        calls: Sequence[bytes],
        hardfork: str = "prague",
        *,
        measured: bool = False,
        gas: Sequence[int] | None = None,
    ) -> list[Answer]:
        """The answers of the views; ``gas``: of each what the caller gives."""
        limits = gas or [MOST_CALL_GAS] * len(calls)
        steps = [
            Step("verifier.sol:ZenServeVerifier"),
            *(
                Step(0, call.hex(), measured=measured, gas=limit)
                for call, limit in zip(calls, limits, strict=True)
            ),
        ]
        made, *answers = in_evm(self._node, {"verifier.sol": self._source}, steps, hardfork)
        assert 0 < made.bytes < 24_576
        return answers


@pytest.mark.parametrize("name", ["groth16", "segments", "folded"])
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
    assert len(cases) >= 11
    for case, answer in zip(cases, contract.call(calls), strict=True):
        assert answer.outcome == outcome(case["reason"]), case["name"]
    (measured,) = contract.call(calls[:1], measured=True)
    taken = 21_000 + gas_of_calldata(calls[0]) + measured.gas
    assert taken <= MOST_GAS[name]
    assert estimated_gas(contract.key, calls[0]) == pytest.approx(taken, rel=0.02)


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
        return outside(len(point))


@pytest.fixture(scope="module")
def kinds(committed: Committed) -> dict[str, Good]:
    """A plain key; one that folds its inputs; one with segments and links; and such a one of a ceremony,
    whose γ is the generator."""
    return {
        "plain": of_vectors("groth16"),
        "folded": of_vectors("folded"),
        "committed": Good(committed.verifying_key, honest(committed)),
        "ceremony": of_a_ceremony(),
    }


def of_vectors(name: str) -> Good:
    vectors = json.loads((VECTORS / f"{name}.json").read_text())
    case = vectors["cases"][0]
    claim = Claim([int(text) for text in case["public_inputs"]], bytes.fromhex(case["proof"]))
    return Good(VerifyingKey.from_json(vectors["verifying_key"]), Arguments.of(claim))


def of_a_ceremony() -> Good:
    """With three segments, two links and a challenge."""
    system, powers = committed_statement(), known_powers(4)
    key = ceremony.finish(
        ceremony.contribute(ceremony.start(system, powers), "Ada"), system, powers, development=True
    )
    witness, basis = kernels.fr.from_ints(COMMITTED_Z), CommitmentKey.of(powers)
    openings = (basis.commit(witness[3:5]), basis.commit(witness[6:7]))
    proof = groth16.prove(key, system, witness, openings=openings, post_challenge=complete_committed)
    commitments = [opening.commitment for opening in openings]
    return Good(key.verifying_key, Arguments(encode_proof(proof, commitments), COMMITTED_Z[1:2]))


def test_mutated_calls_have_the_verdicts_of_our_verifier(node: Node, kinds: dict[str, Good]) -> None:
    agree_on_mutations(node, kinds["ceremony"], 60)


@pytest.mark.large
@pytest.mark.parametrize(
    ("kind", "count"), [("plain", 4000), ("folded", 1000), ("committed", 3000), ("ceremony", 3000)]
)
def test_ten_thousand_mutated_calls_have_the_verdicts_of_our_verifier(
    node: Node, kinds: dict[str, Good], kind: str, count: int
) -> None:
    agree_on_mutations(node, kinds[kind], count)


def agree_on_mutations(node: Node, good: Good, count: int) -> None:
    draw = random.Random(45)
    calls = [mutated(draw, good) for _ in range(count)]
    answers = Contract(node, good.key).call([call.encode() for call in calls])
    wanted = [expected(good.key, call) for call in calls]
    assert {"true", "false", "PointAtInfinity", "PointRefused"} < set(wanted)
    different = [
        (call, answer.outcome, outcome)
        for call, answer, outcome in zip(calls, answers, wanted, strict=True)
        if answer.outcome != outcome
    ]
    assert not different


def test_chains_without_the_precompiles_are_told(contract: Contract, committed: Committed) -> None:
    (answer,) = contract.call([honest(committed).encode()], "cancun")
    assert answer.error == "PrecompileMissing"


@pytest.mark.large
def test_osaka_gives_the_verdicts_of_prague(contract: Contract, committed: Committed) -> None:
    good = honest(committed)
    wrong = good._replace(inputs=[good.inputs[0] + 1])
    answers = contract.call([good.encode(), wrong.encode()], "osaka")
    assert [answer.outcome for answer in answers] == ["true", "false"]


def test_no_commitment_is_read_from_what_is_no_proof(contract: Contract, committed: Committed) -> None:
    good = honest(committed)

    def asked(proof: bytes, index: int) -> bytes:
        padded = proof.ljust(-(-len(proof) // 32) * 32, b"\0")
        words = (64, index, len(proof))
        return bytes.fromhex("60a27c12") + b"".join(word.to_bytes(32, "big") for word in words) + padded

    first, second, beyond, longer = contract.call(
        [asked(good.proof, 0), asked(good.proof, 1), asked(good.proof, 2), asked(good.proof + bytes(128), 2)]
    )
    assert first.returned != second.returned
    assert first.error is second.error is None
    assert (beyond.error, longer.error) == ("revert", "ProofLength")


def test_too_little_gas_says_nothing_about_a_proof(contract: Contract, committed: Committed) -> None:
    """Whoever relays a good proof chooses the gas: no amount of it makes the proof seem bad."""
    call = honest(committed).encode()
    (whole,) = contract.call([call])
    limits = [*range(10_000, whole.gas, whole.gas // 29), whole.gas - 1]
    seen = [answer.outcome for answer in contract.call([call] * len(limits), gas=limits)]
    assert set(seen) == {"TooLittleGas", "out of gas"}
    (bad,) = contract.call([honest(committed)._replace(proof=bytes([1]) + call[101:]).encode()])
    assert bad.outcome == "ProofLength"


def test_a_call_may_be_encoded_in_any_way_that_the_abi_allows(
    contract: Contract, committed: Committed
) -> None:
    """The verdict is on the proof and the inputs, wherever they stand in the calldata."""
    good = honest(committed)
    plain = good.encode()
    selector, proof, inputs = plain[:4], plain[4 + 64 : -32 * (1 + len(good.inputs))], plain[-64:]
    padded, away = proof[32:], 1 << 200

    def call(*words: int, tail: bytes) -> bytes:
        return selector + b"".join(word.to_bytes(32, "big") for word in words) + tail

    calls = {
        "inputs first": (call(64 + len(inputs), 64, tail=inputs + proof), "true"),
        "a gap": (call(96, 96 + len(proof), tail=bytes(32) + proof + inputs), "true"),
        "more behind": (plain + bytes(77), "true"),
        "the word that ends the offset": (call(32, 64 + len(proof), tail=proof + inputs), "ProofLength"),
        "inputs in the proof": (call(64, 64 + len(proof) - 32, tail=proof + inputs), None),
        "an end beyond the data": (call(64, 64 + len(proof), tail=proof + inputs[:-1]), None),
        "a start beyond the data": (call(64, away, tail=proof + inputs), None),
        "a length beyond the data": (
            call(64, 64 + len(proof), tail=away.to_bytes(32, "big") + padded + inputs),
            None,
        ),
    }
    for (name, (_, wanted)), answer in zip(
        calls.items(), contract.call([data for data, _ in calls.values()]), strict=True
    ):
        assert answer.outcome != "true" if wanted is None else answer.outcome == wanted, name


def test_keys_that_no_contract_can_serve_are_refused(committed: Committed) -> None:
    key = committed.verifying_key
    with refuses("statement.contract", "key", match="SHA-512"):
        solidity(replace(key, version=2))
    with refuses("statement.contract", "key", match="24,576 bytes"):
        solidity(with_inputs(key, MOST_BYTES // 140))
    with refuses("statement.contract", "key", match="24,576 bytes"):
        solidity(with_segments(key, 40))


@pytest.mark.large
@pytest.mark.parametrize("grown", ["inputs", "segments"])
def test_the_largest_contracts_can_be_deployed(node: Node, committed: Committed, grown: str) -> None:
    key = committed.verifying_key
    grow = with_inputs if grown == "inputs" else with_segments
    largest = next(
        found for count in range(200, 0, -1) if most_bytes(found := grow(key, count)) <= MOST_BYTES
    )
    (answer,) = Contract(node, largest).call([honest(committed).encode()])  # deploys
    assert answer.error == ("PublicInputCount" if grown == "inputs" else "ProofLength")


def with_inputs(key: VerifyingKey, count: int) -> VerifyingKey:
    points = (G1Point() * Scalar(9 ** (index + 3)) for index in range(len(key.ic), count))
    return replace(key, ic=(*key.ic, *(bytes(point.to_compressed_bytes()) for point in points)))


def with_segments(key: VerifyingKey, count: int) -> VerifyingKey:
    """All the new ones linked."""
    draw = random.Random(9)

    def point() -> bytes:
        return bytes((G2Point() * Scalar(draw.randrange(1 << 250))).to_compressed_bytes())

    more = (SegmentKey(1, point(), (point(), point())) for _ in range(len(key.segments), count))
    return replace(key, segments=(*key.segments, *more))


def test_no_name_in_a_key_ends_a_comment_of_the_contract(committed: Committed) -> None:
    """Names in a key's description are free text, and Solidity has several ends of lines."""
    for end in ("\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029"):
        source = solidity(committed.verifying_key, [f"label{end}contract Another {{}}"])
        assert "///         label contract Another {}" in source.split("\n")


def test_no_name_in_a_key_is_a_tag_of_documentation(committed: Committed) -> None:
    """solc refuses comments with tags that it does not know, and shows those that it does."""
    source = solidity(committed.verifying_key, ["label a@b.c, @title Another"])
    assert "///         label a(at)b.c, (at)title Another" in source.split("\n")
