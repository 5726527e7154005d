"""Each single change to a valid proof is refused, by name, by both verifiers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from py_arkworks_bls12381 import G1Point, G2Point, Scalar

from tests.prover import verifiers
from tests.prover.bad_points import bad_points, flip
from tests.prover.statements import Example, R
from tests.refusals import refuses
from zenserve.prover import groth16
from zenserve.prover.groth16 import REASONS, Proof, Verdict, VerifyingKey, reference
from zenserve.prover.groth16.native import NATIVE
from zenserve.verifier.curve import ARKWORKS

Verifier = Callable[[VerifyingKey, Sequence[int], Any], Verdict]

both = pytest.mark.parametrize(
    "verify", [verifiers.verify, reference.verify], ids=["both curves", "reference"]
)

VECTORS = json.loads((Path(__file__).parent / "vectors" / "groth16.json").read_text())
VECTOR_KEY = VerifyingKey.from_json(VECTORS["verifying_key"])

ELEMENTS = {"a": slice(0, 48), "b": slice(48, 144), "c": slice(144, 192)}
BAD_ENCODINGS = [
    pytest.param(element, data, fault, id=f"{element}_{fault}_{index}")
    for element, part in ELEMENTS.items()
    for fault, encodings in bad_points(part.stop - part.start).items()
    for index, data in enumerate(encodings)
]


def with_element(proof: Proof, element: str, data: bytes) -> bytes:
    part = ELEMENTS[element]
    whole = proof.to_bytes()
    return whole[: part.start] + data + whole[part.stop :]


def decoded(proof: Proof) -> tuple[G1Point, G2Point, G1Point]:
    return (
        G1Point.from_compressed_bytes(proof.a),
        G2Point.from_compressed_bytes(proof.b),
        G1Point.from_compressed_bytes(proof.c),
    )


def encoded(a: G1Point, b: G2Point, c: G1Point) -> Proof:
    return Proof(a.to_compressed_bytes(), b.to_compressed_bytes(), c.to_compressed_bytes())


@both
def test_an_honest_proof_is_valid(example: Example, verify: Verifier) -> None:
    assert len(example.proof.to_bytes()) == 192
    for proof in (example.proof, example.proof.to_bytes()):
        verdict = verify(example.verifying_key, example.public, proof)
        assert verdict == Verdict(True, "ok", REASONS["ok"])
        assert verdict


@both
@pytest.mark.parametrize("element", ELEMENTS)
def test_another_valid_point_is_refused(example: Example, verify: Verifier, element: str) -> None:
    point = G2Point() if element == "b" else G1Point()
    changed = with_element(example.proof, element, (point * Scalar(12345)).to_compressed_bytes())
    verdict = verify(example.verifying_key, example.public, changed)
    assert verdict == Verdict(False, "pairing_mismatch", REASONS["pairing_mismatch"])
    assert not verdict


@both
@pytest.mark.parametrize("element", ELEMENTS)
def test_a_negated_element_is_refused(example: Example, verify: Verifier, element: str) -> None:
    point = decoded(example.proof)["abc".index(element)]
    changed = with_element(example.proof, element, (-point).to_compressed_bytes())
    assert verify(example.verifying_key, example.public, changed).reason == "pairing_mismatch"


def test_a_flipped_bit_anywhere_is_refused(example: Example) -> None:
    data = example.proof.to_bytes()
    for position in range(len(data)):
        changed = flip(data, position, 1 << position % 8)
        assert not verifiers.verify(example.verifying_key, example.public, changed).valid


@given(st.binary(max_size=400) | st.binary(min_size=192, max_size=192))
def test_no_bytes_make_the_verifier_raise(data: bytes) -> None:
    assert not verifiers.verify(VECTOR_KEY, [35, 4], data).valid


@both
@pytest.mark.parametrize(("element", "data", "fault"), BAD_ENCODINGS)
def test_bad_encodings_are_refused_by_name(
    example: Example, verify: Verifier, element: str, data: bytes, fault: str
) -> None:
    changed = with_element(example.proof, element, data)
    assert verify(example.verifying_key, example.public, changed).reason == f"{element}_{fault}"
    with refuses(f"encoding.{element}_{fault}"):
        Proof.from_bytes(changed)


@both
@pytest.mark.parametrize("length", [0, 1, 47, 48, 143, 144, 191, 193, 240, 384])
def test_truncated_and_extended_proofs_are_refused(example: Example, verify: Verifier, length: int) -> None:
    data = (example.proof.to_bytes() * 2)[:length]
    assert verify(example.verifying_key, example.public, data).reason == "proof_length"
    with refuses("encoding.proof_length"):
        Proof.from_bytes(data)


def test_a_proof_object_of_wrong_lengths_is_refused(example: Example) -> None:
    proof = replace(example.proof, a=b"")
    assert verifiers.verify(example.verifying_key, example.public, proof).reason == "a_encoding"


@both
@pytest.mark.parametrize("proof", [None, "00" * 192, [0] * 192, 192])
def test_a_proof_of_another_type_is_refused(example: Example, verify: Verifier, proof: object) -> None:
    assert verify(example.verifying_key, example.public, proof).reason == "proof_type"


@both
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda x: [x[0] + 1, x[1]], "pairing_mismatch"),
        (lambda x: [x[0], x[1] - 1], "pairing_mismatch"),
        (lambda x: [x[1], x[0]], "pairing_mismatch"),
        (lambda x: [x[0], 0], "pairing_mismatch"),
        (lambda x: [x[0] + R, x[1]], "public_input_not_canonical"),
        (lambda x: [x[0], x[1] + R], "public_input_not_canonical"),
        (lambda x: [R, x[1]], "public_input_not_canonical"),
        (lambda x: [x[0] - R, x[1]], "public_input_not_canonical"),
        (lambda x: [-1, x[1]], "public_input_not_canonical"),
        (lambda x: [2**255, x[1]], "public_input_not_canonical"),
        (lambda x: [2**5000, x[1]], "public_input_not_canonical"),
        (lambda x: [*x, 0], "public_input_count"),
        (lambda x: [1, *x], "public_input_count"),
        (lambda x: x[:1], "public_input_count"),
        (lambda x: [], "public_input_count"),
        (lambda x: [x[0], True], "public_input_type"),
        (lambda x: [float(x[0]), x[1]], "public_input_type"),
        (lambda x: [np.int64(x[0]), x[1]], "public_input_type"),
        (lambda x: [x[0], str(x[1])], "public_input_type"),
        (lambda x: [None, x[1]], "public_input_type"),
        (lambda x: [x[0], [x[1]]], "public_input_type"),
        (lambda x: None, "public_input_type"),
        (lambda x: "ab", "public_input_type"),
        (lambda x: bytes(2), "public_input_type"),
        (lambda x: {x[0], x[1]}, "public_input_type"),
    ],
)
def test_public_inputs_are_refused_by_name(
    example: Example, verify: Verifier, change: Callable[[list[int]], Any], reason: str
) -> None:
    assert verify(example.verifying_key, change(list(example.public)), example.proof).reason == reason


def test_inputs_are_judged_before_any_cryptography(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("a point was decoded")

    monkeypatch.setattr(Proof, "decode", forbidden)
    assert (
        verifiers.verify(example.verifying_key, [R, 4], example.proof).reason == "public_input_not_canonical"
    )


@pytest.mark.parametrize("field", ["alpha_g1", "beta_g2", "gamma_g2", "delta_g2", "ic0", "ic1", "ic2"])
def test_a_key_changed_in_any_element_refuses(example: Example, field: str) -> None:
    point = G2Point() if field.endswith("g2") else G1Point()
    other = (point * Scalar(54321)).to_compressed_bytes()
    key = example.verifying_key
    if field.startswith("ic"):
        ic = list(key.ic)
        ic[int(field[2:])] = other
        changed = replace(key, ic=tuple(ic))
    else:
        changes: dict[str, Any] = {field: other}
        changed = replace(key, **changes)
    assert verifiers.verify(changed, example.public, example.proof).reason == "pairing_mismatch"


def test_a_key_with_swapped_inputs_refuses(example: Example) -> None:
    one, first, second = example.verifying_key.ic
    changed = replace(example.verifying_key, ic=(one, second, first))
    assert verifiers.verify(changed, example.public, example.proof).reason == "pairing_mismatch"
    assert verifiers.verify(changed, example.public[::-1], example.proof).reason == "ok"


@both
def test_a_proof_under_another_key_of_the_same_statement_is_refused(
    example: Example, verify: Verifier
) -> None:
    other = groth16.setup(example.system).verifying_key
    assert verify(other, example.public, example.proof).reason == "pairing_mismatch"


def test_a_proof_of_another_statement_is_refused(example: Example) -> None:
    square, cube, sums = example.system.blocks
    other = groth16.setup(replace(example.system, blocks=(cube, square, sums))).verifying_key
    assert verifiers.verify(other, example.public, example.proof).reason == "pairing_mismatch"


def test_proofs_are_malleable(example: Example) -> None:
    """Anyone can turn a proof into another of the same inputs: a proof must never serve as an identifier."""
    a, b, c = decoded(example.proof)
    delta = G2Point.from_compressed_bytes(example.verifying_key.delta_g2)
    rho, eta = Scalar(987654321), Scalar(123456789)
    negated = encoded(-a, -b, c)
    scaled = encoded(a * rho.inverse(), b * rho, c)
    rerandomised = encoded(a * rho.inverse(), b * rho + delta * (rho * eta), c + a * eta)
    for proof in (negated, scaled, rerandomised):
        assert proof.to_bytes() != example.proof.to_bytes()
        assert verifiers.verify(example.verifying_key, example.public, proof).reason == "ok"
    assert reference.verify(example.verifying_key, example.public, rerandomised).reason == "ok"
    assert not {rerandomised.a, rerandomised.c} & {example.proof.a, example.proof.c}
    inputs = [example.public[0] + 1, example.public[1]]
    assert verifiers.verify(example.verifying_key, inputs, rerandomised).reason == "pairing_mismatch"


def test_the_key_is_prepared_once_for_each_curve(example: Example) -> None:
    key = example.verifying_key
    assert key.prepared(ARKWORKS) is key.prepared(ARKWORKS)
    assert key.prepared(NATIVE) is key.prepared(NATIVE)


def test_reasons_are_distinct_sentences() -> None:
    assert len(set(REASONS.values())) == len(REASONS)
    assert all(sentence.endswith(".") for sentence in REASONS.values())


def test_proofs_survive_their_bytes(example: Example) -> None:
    assert Proof.from_bytes(example.proof.to_bytes()) == example.proof


WITHOUT_KERNELS = """
import json, sys
sys.modules.update(dict.fromkeys(["zenserve.kernels", "numpy"]))
from zenserve.verifier.groth16.verification import verify
from zenserve.verifier.groth16.verifying_key import VerifyingKey
key = VerifyingKey.from_json(json.loads(sys.argv[1]))
print(verify(key, json.loads(sys.argv[2]), bytes.fromhex(sys.argv[3])).reason)
"""


def test_a_verifier_needs_neither_kernels_nor_numpy(example: Example) -> None:

    key, inputs = json.dumps(example.verifying_key.to_json()), json.dumps(example.public)
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_KERNELS, key, inputs, example.proof.to_bytes().hex()],
        cwd=Path(groth16.__file__).parent.parent.parent,
        env={**os.environ, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "ok\n"
