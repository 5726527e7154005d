"""Vectors of a key that folds public inputs."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from py_ecc.optimized_bls12_381 import curve_order

from tests.prover.vectors.points import g1, g2
from zenserve.prover.blocks import Csr, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.groth16 import Proof, SegmentKey, VerifyingKey
from zenserve.prover.groth16.reference import Trapdoor, key_exponents, proof_exponents
from zenserve.prover.groth16.reference.pairing import challenges

INPUTS = [11, 6, 7, 42]
"""The statement, and three that are folded."""

_TOO_MANY: Final = "2^32 folded inputs"


def statement() -> ConstraintSystem:
    """x_1 x_2 = x_3, where all three are public.

    Variables: 1 | s | c, y | inputs: x_1, x_2, x_3, blinding | t = x_3 c + x_2.
    """
    c, y, x1, x2, x3, t = 2, 3, 4, 5, 6, 8
    block = SparseBlock(
        "all",
        Csr.selection(np.array([x1, x3, t])),
        Csr.selection(np.array([x2, c, c])),
        Csr.from_entries(
            3, np.array([0, 1, 1, 2, 2]), np.array([x3, t, x2, y, x1]), np.array([1, 1, -1, 1, -1])
        ),
    )
    return ConstraintSystem(1, 1, (block,), 2, (Segment("inputs", 3),), folded=3)


def document(seed: int) -> dict[str, Any]:
    draw = random.Random(seed)

    def fresh() -> int:
        return draw.randrange(1, curve_order)

    relation = statement()
    trapdoor = Trapdoor(fresh(), fresh(), fresh(), fresh(), fresh(), (fresh(),))
    exponents = key_exponents(relation, trapdoor)
    key = VerifyingKey(
        "development",
        relation.digest,
        g1(trapdoor.alpha),
        g2(trapdoor.beta),
        g2(trapdoor.gamma),
        g2(trapdoor.delta),
        tuple(g1(exponent) for exponent in exponents["public"]),
        2,
        (SegmentKey(3, g2(trapdoor.sigma[0])),),
        folded=3,
    )

    def proof(told: Sequence[int]) -> tuple[bytes, list[int]]:
        """Of the honest values, the challenge drawn as if others were ``told``; and what was drawn."""
        values, blinding = INPUTS[1:], fresh()
        d = sum(x * y for x, y in zip([*values, blinding], exponents["segments"], strict=True)) % curve_order
        drawn = challenges(key, told, [g1(d)], [])
        c = drawn[0]
        t = (values[2] * c + values[1]) % curve_order
        z = [1, INPUTS[0], c, (t * c + values[0]) % curve_order, *values, blinding, t]
        a, b, c_ = proof_exponents(relation, trapdoor, z, fresh(), fresh())
        known = d * trapdoor.sigma[0] % curve_order
        return Proof(g1(a), g2(b), g1(c_), (g1(d),), (g1(known),)).to_bytes(), drawn

    honest, drawn = proof(INPUTS)
    s, x1, x2, x3 = INPUTS
    c, _ = drawn
    same_fold = [s, (x1 - c) % curve_order, x2 + 1, x3]
    others = [s, x1, x2 + 1, x3]
    cases = [
        ("honest", INPUTS, honest, "ok"),
        ("the statement plus one", [s + 1, x1, x2, x3], honest, "pairing_mismatch"),
        *(
            (
                f"folded input {i} plus one",
                [v + (i == j) for j, v in enumerate(INPUTS)],
                honest,
                "pairing_mismatch",
            )
            for i in (1, 2, 3)
        ),
        ("folded inputs swapped", [s, x2, x1, x3], honest, "pairing_mismatch"),
        ("other inputs with the same fold at the challenge", same_fold, honest, "pairing_mismatch"),
        ("a challenge that was drawn for other inputs", others, proof(others)[0], "pairing_mismatch"),
        ("the honest inputs, drawn for others", INPUTS, proof(others)[0], "pairing_mismatch"),
        ("a folded input plus r", [s, x1, x2 + curve_order, x3], honest, "public_input_not_canonical"),
        ("a folded input minus r", [s, x1, x2 - curve_order, x3], honest, "public_input_not_canonical"),
        ("without the last input", INPUTS[:3], honest, "public_input_count"),
        ("a zero behind the inputs", [*INPUTS, 0], honest, "public_input_count"),
        ("the fold for the inputs", [s, drawn[1]], honest, "public_input_count"),
    ]
    return {
        "format": "zenserve folded vectors",
        "version": 1,
        "generator": f"tests/prover/vectors/generate.py, seed {seed}",
        "verifying_key": key.to_json(),
        "verifying_key_bytes": key.to_bytes().hex(),
        "challenges": [str(value) for value in drawn],
        "cases": [
            {
                "name": name,
                "public_inputs": [str(value) for value in inputs],
                "commitments": [],
                "proof": data.hex(),
                "reason": reason,
            }
            for name, inputs, data, reason in cases
        ],
        "keys": refused_keys(key),
        "changes": refused_changes(key),
    }


def refused_keys(key: VerifyingKey) -> list[dict[str, str]]:
    """Binary keys that a reader must refuse, each with one fault."""
    data, counts, folded = key.to_bytes(), 64, 80
    segment = len(data) - 104

    def at(offset: int, *numbers: int) -> bytes:
        new = b"".join(number.to_bytes(4, "little") for number in numbers)
        return data[:offset] + new + data[offset + len(new) :]

    cases = {
        "nothing is folded": at(folded, 0),
        "more is folded than there is": at(folded, 5),
        "folded without a challenge to fold at": at(counts, 5, 1),
        "more is folded than the last segment has": at(segment, 2),
        "the folded inputs are of a linked segment": at(segment + 4, 1) + g2(2) + g2(3) + g1(2),
    }
    return [{"name": name, "key": changed.hex(), "code": "file.shape"} for name, changed in cases.items()]


def refused_changes(key: VerifyingKey) -> list[dict[str, Any]]:
    """Fields for ``verifying_key`` with which a reader must refuse it. The digest is that of the changed key
    where its counts have 32 bits."""
    binary = {case["name"]: bytes.fromhex(case["key"]) for case in refused_keys(key)}
    (segment,) = key.to_json()["segments"]

    def fields(name: str, size: int, **others: Any) -> dict[str, Any]:
        digest = hashlib.sha256(binary[name]).hexdigest()
        return {"segments": [{**segment, "size": size, **others}], "digest": digest}

    short, linked = "more is folded than the last segment has", "the folded inputs are of a linked segment"
    most = (1 << 32) - 1
    cases = {
        short: fields(short, 2),
        linked: {**fields(linked, 3, link_g2=[g2(2).hex(), g2(3).hex()]), "basis": g1(2).hex()},
        "2^32 - 1 folded inputs": {"folded": most},
        _TOO_MANY: {"folded": most + 1},
        "2^32 inputs, and a segment for all that are folded": {
            "folded": most,
            "segments": [{**segment, "size": most}],
        },
    }
    return [
        {"name": name, "fields": changed, "code": "file.json" if name == _TOO_MANY else "file.shape"}
        for name, changed in cases.items()
    ]
