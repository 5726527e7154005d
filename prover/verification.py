"""Verification of proofs, one by one or many under one key, in a single multi-pairing.

    e(A, B) = e(α, β) · e(Σ x_i IC_i + Σ D_s, γ) · e(C, δ)      Groth16 (ePrint 2016/260) with segments
    e(D'_s, 1) = e(D_s, σ_s)                                   the prover knows what each D_s opens to
    e(π_l, 1) = e(D_s, k_1) · e(cm_l, k_2)                     D_s and cm_l open to the same values

The x_i end with the proof's challenges, which the verifier derives. Several equations are added up with
weights of 128 random bits, drawn when the proof is there: a wrong one is noticed but for chance 2^-128.
Written once, for any ``Curve``. By default that is the one that needs Python and the pairing library only;
``prover.native`` passes the native kernels. Everything here is public, so nothing is secret in timing.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

from prover import transcript
from prover.curve import ARKWORKS, G1, G2, Curve
from prover.points import SCALAR_MODULUS
from prover.proof import Points, Proof, ProofError, decoded
from prover.verdict import OK, Verdict
from prover.verifying_key import VerifyingKey

_WEIGHT_BITS = 128


@dataclass(frozen=True)
class Claim:
    """What ``verify`` takes beside the key, for ``verify_batch``."""

    public_inputs: Sequence[int]
    proof: bytes | Proof
    commitments: Sequence[bytes] = ()


class _Decoded(NamedTuple, Generic[G1, G2]):
    inputs: list[int]
    """Public inputs and challenges."""
    points: Points[G1, G2]
    commitments: list[G1]


def verify(
    verifying_key: VerifyingKey,
    public_inputs: Sequence[int],
    proof: bytes | Proof,
    commitments: Sequence[bytes] = (),
    *,
    curve: Curve[Any, Any] = ARKWORKS,
) -> Verdict:
    """Check ``proof`` for ``public_inputs``: canonical integers in the key's order, without the challenges.

    ``commitments``: 48 bytes for each linked segment, in order, which its values must open.
    Never raises for a bad proof or bad inputs: the verdict names the first thing that is wrong.
    """
    claim = _decode(curve, verifying_key, Claim(public_inputs, proof, commitments))
    if isinstance(claim, Verdict):
        return claim
    return Verdict.of(OK if _hold(curve, verifying_key, [claim]) else "pairing_mismatch")


def verify_batch(
    verifying_key: VerifyingKey, claims: Sequence[Claim], *, curve: Curve[Any, Any] = ARKWORKS
) -> list[Verdict]:
    """The verdict on each claim, as ``verify`` gives it, in one multi-pairing if all of them hold.

    A batch with a wrong claim takes as long again as verifying one by one.
    """
    verdicts = [_decode(curve, verifying_key, claim) for claim in claims]
    formed = [claim for claim in verdicts if not isinstance(claim, Verdict)]
    together = _hold(curve, verifying_key, formed)
    return [
        claim
        if isinstance(claim, Verdict)
        else Verdict.of(OK if together or _hold(curve, verifying_key, [claim]) else "pairing_mismatch")
        for claim in verdicts
    ]


def _decode(curve: Curve[G1, G2], key: VerifyingKey, claim: Claim) -> _Decoded[G1, G2] | Verdict:
    """The claim's points and all its inputs, or the first refusal that its form earns."""
    refusal = check_public_inputs(key.public, claim.public_inputs)
    if refusal is not None:
        return refusal
    links = sum(segment.link_g2 is not None for segment in key.segments)
    if not isinstance(claim.commitments, list | tuple) or not all(
        isinstance(data, bytes) for data in claim.commitments
    ):
        return Verdict.of("commitment_type")
    if len(claim.commitments) != links:
        detail = f"The key links to {links} commitments, {len(claim.commitments)} were given."
        return Verdict.of("commitment_count", detail)
    if not isinstance(claim.proof, bytes | Proof):
        return Verdict.of("proof_type")
    try:
        proof = claim.proof if isinstance(claim.proof, Proof) else Proof.split(claim.proof)
        shape = len(proof.segments), len(proof.knowledge), len(proof.links)
        if shape != (len(key.segments), len(key.segments), links):
            return Verdict.of("proof_shape")
        points = proof.decode(curve)
        commitments = [decoded(curve.decode_g1, data, "commitment") for data in claim.commitments]
    except ProofError as fault:
        return Verdict.of(fault.reason)
    challenges = transcript.challenges(
        key.digest, claim.public_inputs, proof.segments, claim.commitments, key.challenges
    )
    return _Decoded([*claim.public_inputs, *challenges], points, commitments)


def _hold(curve: Curve[G1, G2], key: VerifyingKey, claims: Sequence[_Decoded[G1, G2]]) -> bool:
    """Whether all equations of all claims hold: their sum, each with a weight."""
    if not claims:
        return True
    prepared = key.prepared(curve)
    left, right = _Side(curve), _Side(curve)
    totals = [0] * len(prepared.ic)
    for index, (inputs, points, commitments) in enumerate(claims):
        weight = 1 if index == 0 else _weight()
        left.pair(points.a, points.b, weight)
        for position, value in enumerate((1, *inputs)):
            totals[position] += weight * value
        right.add(points.c, prepared.delta, weight)
        for segment in points.segments:
            right.add(segment, prepared.gamma, weight)
        for segment, sigma, knowledge in zip(
            points.segments, prepared.knowledge, points.knowledge, strict=True
        ):
            weight = _weight()
            left.add(knowledge, curve.generator_g2, weight)
            right.add(segment, sigma, weight)
        for (segment_index, k_1, k_2), link, commitment in zip(
            prepared.links, points.links, commitments, strict=True
        ):
            weight = _weight()
            left.add(link, curve.generator_g2, weight)
            right.add(points.segments[segment_index], k_1, weight)
            right.add(commitment, k_2, weight)
    for point, total in zip(prepared.ic, totals, strict=True):
        right.add(point, prepared.gamma, total)
    right.pair(prepared.alpha, prepared.beta, totals[0])
    return curve.products_agree(left.pairs(), right.pairs())


class _Side(Generic[G1, G2]):
    """A sum of weighted pairings; terms with the same point of G2 are added up before they are paired."""

    def __init__(self, curve: Curve[G1, G2]) -> None:
        self._curve = curve
        self._pairs: list[tuple[G1, G2]] = []
        self._shared: dict[int, tuple[G2, list[G1], list[int]]] = {}

    def pair(self, p: G1, q: G2, weight: int) -> None:
        """A term whose ``q`` occurs nowhere else."""
        self._pairs.append((p if weight == 1 else self._curve.weighted_sum([p], [weight]), q))

    def add(self, p: G1, q: G2, weight: int) -> None:
        """A term whose ``q``, this very object, occurs in others."""
        _, points, weights = self._shared.setdefault(id(q), (q, [], []))
        points.append(p)
        weights.append(weight)

    def pairs(self) -> list[tuple[G1, G2]]:
        shared = self._shared.values()
        return self._pairs + [(self._curve.weighted_sum(p, weights), q) for q, p, weights in shared]


def _weight() -> int:
    return secrets.randbits(_WEIGHT_BITS)


def check_public_inputs(count: int, public_inputs: Sequence[int]) -> Verdict | None:
    """The refusal that ``public_inputs`` earn for a key of ``count`` inputs, or None.

    A value x + r would stand for the same field element: accepting it would give every proof several
    public readings.
    """
    if not isinstance(public_inputs, list | tuple):
        return Verdict.of("public_input_type", "The public inputs are not a sequence of integers.")
    if len(public_inputs) != count:
        return Verdict.of(
            "public_input_count", f"The key takes {count} public inputs, {len(public_inputs)} were given."
        )
    for index, value in enumerate(public_inputs):
        if not isinstance(value, int) or isinstance(value, bool):
            return Verdict.of("public_input_type", f"Public input {index} is not an integer.")
        if not 0 <= value < SCALAR_MODULUS:
            return Verdict.of(
                "public_input_not_canonical",
                f"Public input {index} is negative, or not below the group order r.",
            )
    return None
