"""Writes groth16.json: proofs and refusals that any verifier of Groth16 over BLS12-381 can be run on.

    python tests/prover/vectors/generate.py

Points come from known exponents and py_ecc alone: no code that the vectors are to judge takes part, but for
the bytes of the verifying key.
"""

from __future__ import annotations

import json
import random
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from py_ecc.bls.g2_primitives import subgroup_check
from py_ecc.bls.point_compression import compress_G1, compress_G2, decompress_G1, decompress_G2
from py_ecc.optimized_bls12_381 import G1, G2, curve_order, field_modulus, multiply

from prover import Statement, VerifyingKey
from prover.reference import Trapdoor, key_exponents, proof_exponents
from prover.statement import Csr, ProductBlock, SparseBlock

FILE = Path(__file__).with_name("groth16.json")
SEED = 20261121


def statement() -> Statement:
    """x³ + x + 5 = y and x + 1 = w. Variables: 1 | y, w | x, x², x³."""
    one, y, w, x, x2, x3 = range(6)
    products = ProductBlock("products", np.array([x, x2]), np.array([x, x]), np.array([x2, x3]))
    sums = SparseBlock(
        "sums",
        Csr.from_entries(
            2, np.array([0, 0, 0, 1, 1]), np.array([x3, x, one, x, one]), np.array([1, 1, 5, 1, 1])
        ),
        Csr.selection(np.array([one, one])),
        Csr.selection(np.array([y, w])),
    )
    return Statement(2, 3, (products, sums))


def g1(exponent: int) -> bytes:
    return int(compress_G1(multiply(G1, exponent))).to_bytes(48, "big")


def g2(exponent: int) -> bytes:
    return b"".join(int(word).to_bytes(48, "big") for word in compress_G2(multiply(G2, exponent)))


def document() -> dict[str, Any]:
    draw = random.Random(SEED)
    trapdoor = Trapdoor(*(draw.randrange(1, curve_order) for _ in range(5)))
    exponents = key_exponents(statement(), trapdoor)
    key = VerifyingKey(
        "development",
        statement().digest,
        g1(trapdoor.alpha),
        g2(trapdoor.beta),
        g2(trapdoor.gamma),
        g2(trapdoor.delta),
        tuple(g1(exponent) for exponent in exponents["public"]),
    )
    a, b, c = proof_exponents(
        statement(), trapdoor, [1, 35, 4, 3, 9, 27], draw.randrange(curve_order), draw.randrange(curve_order)
    )
    elements = {"a": g1(a), "b": g2(b), "c": g1(c)}
    honest = b"".join(elements.values())
    cases = [
        case("honest", [35, 4], honest, "ok"),
        case("rescaled", [35, 4], g1(7 * a) + g2(b * pow(7, -1, curve_order)) + g1(c), "ok"),
        case("first input plus one", [36, 4], honest, "pairing_mismatch"),
        case("second input minus one", [35, 3], honest, "pairing_mismatch"),
        case("inputs swapped", [4, 35], honest, "pairing_mismatch"),
        case("input plus r", [35 + curve_order, 4], honest, "public_input_not_canonical"),
        case("input minus r", [35 - curve_order, 4], honest, "public_input_not_canonical"),
        case("input equal to r", [35, curve_order], honest, "public_input_not_canonical"),
        case("one input too many", [35, 4, 0], honest, "public_input_count"),
        case("one input too few", [35], honest, "public_input_count"),
        case("empty proof", [35, 4], b"", "proof_length"),
        case("one byte short", [35, 4], honest[:-1], "proof_length"),
        case("one byte more", [35, 4], honest + b"\0", "proof_length"),
    ]
    for name, element in elements.items():
        generator = g2(1) if name == "b" else g1(1)
        changes = {"pairing_mismatch": generator, **bad_encodings(element)}
        for reason, data in changes.items():
            proof = b"".join({**elements, name: data}.values())
            prefix = "" if reason == "pairing_mismatch" else f"{name}_"
            cases.append(case(f"{name}: {reason}", [35, 4], proof, prefix + reason))
    return {
        "format": "zenserve groth16 vectors",
        "version": 1,
        "generator": f"tests/prover/vectors/generate.py, seed {SEED}",
        "verifying_key": key.to_json(),
        "verifying_key_bytes": key.to_bytes().hex(),
        "cases": cases,
    }


def case(name: str, public_inputs: list[int], proof: bytes, reason: str) -> dict[str, Any]:
    return {
        "name": name,
        "public_inputs": [str(value) for value in public_inputs],
        "proof": proof.hex(),
        "reason": reason,
    }


def bad_encodings(element: bytes) -> dict[str, bytes]:
    """One encoding of the length of ``element`` for each reason to refuse it."""
    length = len(element)
    return {
        "encoding": bytes([element[0] & 0x7F]) + element[1:],
        "not_canonical": bytes([0x80 | field_modulus >> 376])
        + field_modulus.to_bytes(48, "big")[1:]
        + element[48:],
        "not_on_curve": first_x(length, on_curve=False),
        "not_in_subgroup": first_x(length, on_curve=True),
        "at_infinity": b"\xc0" + bytes(length - 1),
    }


def first_x(length: int, *, on_curve: bool) -> bytes:
    """The smallest x that is on the curve, or not, and in no case in the subgroup."""
    for x in count(1):
        try:
            flagged = x + (1 << 383)
            point: Any = decompress_G1(flagged) if length == 48 else decompress_G2((1 << 383, x))  # type: ignore[arg-type]
        except ValueError:
            point = None
        if (point is not None) == on_curve and not (point and subgroup_check(point)):
            return b"\x80" + x.to_bytes(length - 1, "big")
    raise AssertionError


def text() -> str:
    return json.dumps(document(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
