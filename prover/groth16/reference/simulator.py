"""Proofs without a witness, by whoever knows the trapdoor: why proofs reveal nothing, and keys need trust.

ePrint 2016/260, section 3.2, with segments: their commitments are random points, and a link's proof is
k_1 D + k_2 cm whatever the two may open to.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from py_ecc.bls.point_compression import compress_G1, compress_G2, decompress_G1
from py_ecc.bls.typing import G1Compressed
from py_ecc.optimized_bls12_381 import G1, G2, add, curve_order, multiply

from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16.reference.exponents import Trapdoor, key_exponents
from zenserve.prover.groth16.reference.pairing import challenges
from zenserve.verifier.groth16.proof import Proof
from zenserve.verifier.groth16.verifying_key import VerifyingKey


def simulate(
    verifying_key: VerifyingKey,
    system: ConstraintSystem,
    trapdoor: Trapdoor,
    public_inputs: Sequence[int],
    commitments: Sequence[bytes] = (),
) -> Proof:
    """A proof of any public inputs, true or not, linked to any ``commitments``."""
    a, b, *d = (secrets.randbelow(curve_order) for _ in range(2 + len(system.segments)))
    segments = tuple(g1(multiply(G1, value)) for value in d)
    inputs = [1, *public_inputs, *challenges(verifying_key, public_inputs, segments, commitments)]
    public = key_exponents(system, trapdoor)["public"]
    mixed = sum(x * y for x, y in zip(inputs, public, strict=True)) + sum(d)
    c = (a * b - trapdoor.alpha * trapdoor.beta - trapdoor.gamma * mixed) * pow(
        trapdoor.delta, -1, curve_order
    )
    knowledge = (g1(multiply(G1, value * sigma)) for value, sigma in zip(d, trapdoor.sigma, strict=True))
    linked = [value for value, segment in zip(d, system.segments, strict=True) if segment.linked]
    links = (
        g1(add(multiply(G1, k_1 * value), multiply(_read(commitment), k_2)))
        for value, (k_1, k_2), commitment in zip(linked, trapdoor.links, commitments, strict=True)
    )
    c %= curve_order
    return Proof(
        g1(multiply(G1, a)),
        g2(multiply(G2, b)),
        g1(multiply(G1, c)),
        segments,
        tuple(knowledge),
        tuple(links),
    )


def g1(point: Any) -> bytes:
    return int(compress_G1(point)).to_bytes(48, "big")


def g2(point: Any) -> bytes:
    return b"".join(int(word).to_bytes(48, "big") for word in compress_G2(point))


def _read(commitment: bytes) -> Any:
    return decompress_G1(G1Compressed(int.from_bytes(commitment, "big")))
