"""Verification of proofs, one by one or many under one key, in a single multi-pairing.

    e(A, B) = e(α, β) · e(Σ x_i IC_i + Σ D_s, γ) · e(C, δ)      Groth16 (ePrint 2016/260) with segments
    e(D'_s, 1) = e(D_s, σ_s)                                   the prover knows what each D_s opens to
    e(π_l, 1) = e(D_s, k_1) · e(cm_l, k_2)                     D_s and cm_l open to the same values

The x_i end with the proof's challenges, which the verifier derives; where public inputs are folded, the last
is their fold. Several equations are added up with
weights of 128 random bits, drawn when the proof is there: a wrong one is noticed but for chance 2^-128.
Only where the sum is wrong are the equations checked by themselves, so that the verdict can name one.
Written once, for any ``Curve``. By default that is the one that needs Python and the pairing library only;
``zenserve.prover.groth16.native`` passes the native kernels. All of it is public: nothing is secret in
timing.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Generic, NamedTuple

from zenserve.verifier.curve import ARKWORKS, G1, G2, Curve
from zenserve.verifier.groth16 import transcript
from zenserve.verifier.groth16.proof import Points, Proof, ProofError, decoded
from zenserve.verifier.groth16.verdict import verdict_of
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.points import SCALAR_MODULUS
from zenserve.verifier.system import Claim, Flaw
from zenserve.verifier.verdict import OK, Verdict

_WEIGHT_BITS = 128


class _Decoded(NamedTuple, Generic[G1, G2]):
    inputs: list[int]
    """Public inputs that are not folded, and challenges."""
    points: Points[G1, G2]
    commitments: list[G1]


class _Equation(NamedTuple, Generic[G1, G2]):
    """(P, Q, x) stands for e(P, Q)^x. The products of both sides are to agree; ``otherwise`` is what a proof
    earns whose do not.
    """

    left: list[tuple[G1, G2, int]]
    right: list[tuple[G1, G2, int]]
    otherwise: Verdict


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
    return _judge(curve, _equations(curve, verifying_key, claim))


def verify_batch(
    verifying_key: VerifyingKey, claims: Sequence[Claim], *, curve: Curve[Any, Any] = ARKWORKS
) -> list[Verdict]:
    """The verdict on each claim, as ``verify`` gives it, in one multi-pairing if all of them hold.

    A batch with a wrong claim takes as long again as verifying one by one.
    """
    flaws = verify_groups(verifying_key, [[claim] for claim in claims], curve=curve)
    return [verdict_of(OK) if flaw is None else flaw.verdict for flaw in flaws]


def verify_groups(
    verifying_key: VerifyingKey, groups: Sequence[Sequence[Claim]], *, curve: Curve[Any, Any] = ARKWORKS
) -> list[Flaw | None]:
    """Of each group the first claim that is wrong, None where all hold: in one multi-pairing if all of all
    groups do.

    The wrong one of a group is found by halving: that takes twice as long as the group and one claim alone,
    wherever it is, and however many more there are.
    """
    formed = [_formed(curve, verifying_key, group) for group in groups]
    sound = [group for group in formed if not isinstance(group, Flaw)]
    together = len(sound) > 1 and _hold(curve, chain.from_iterable(chain.from_iterable(sound)))
    return [
        group if isinstance(group, Flaw) else None if together else _first_wrong(curve, group)
        for group in formed
    ]


def _formed(
    curve: Curve[G1, G2], key: VerifyingKey, claims: Sequence[Claim]
) -> list[list[_Equation[G1, G2]]] | Flaw:
    """The equations of each claim, or the first claim whose form is wrong."""
    formed = []
    for index, claim in enumerate(claims):
        decoded = _decode(curve, key, claim)
        if isinstance(decoded, Verdict):
            return Flaw(index, decoded)
        formed.append(_equations(curve, key, decoded))
    return formed


def _first_wrong(curve: Curve[G1, G2], claims: Sequence[Sequence[_Equation[G1, G2]]]) -> Flaw | None:
    if not claims or (len(claims) > 1 and _hold(curve, chain.from_iterable(claims))):
        return None
    start, end = 0, len(claims)
    while end - start > 1:
        middle = (start + end) // 2
        if _hold(curve, chain.from_iterable(claims[start:middle])):
            start = middle
        else:
            end = middle
    # Sums that hold or not by an accident of weights lead to a claim that is right: then all are judged.
    others = (index for index in range(len(claims)) if index != start)
    for index in (start, *others):
        if not (verdict := _judge(curve, claims[index])):
            return Flaw(index, verdict)
    return None


def _decode(curve: Curve[G1, G2], key: VerifyingKey, claim: Claim) -> _Decoded[G1, G2] | Verdict:
    """The claim's points and all its inputs, or the first refusal that its form earns."""
    refusal = check_public_inputs(key.public, claim.public_inputs)
    if refusal is not None:
        return refusal
    links = sum(segment.link_g2 is not None for segment in key.segments)
    if not isinstance(claim.commitments, list | tuple) or not all(
        isinstance(data, bytes) for data in claim.commitments
    ):
        return verdict_of("commitment_type")
    if len(claim.commitments) != links:
        detail = f"The key links to {links} commitments, {len(claim.commitments)} were given."
        return verdict_of("commitment_count", detail)
    if not isinstance(claim.proof, bytes | Proof):
        return verdict_of("proof_type")
    try:
        proof = claim.proof if isinstance(claim.proof, Proof) else Proof.split(claim.proof)
        shape = len(proof.segments), len(proof.knowledge), len(proof.links)
        if shape != (len(key.segments), len(key.segments), links):
            return verdict_of("proof_shape")
        points = proof.decode(curve)
        commitments = [decoded(curve.decode_g1, data, "commitment") for data in claim.commitments]
    except ProofError as fault:
        return verdict_of(fault.reason)
    challenges = transcript.challenges(key, curve, claim.public_inputs, points.segments, commitments)
    shown = claim.public_inputs[: key.public - key.folded]
    return _Decoded([*shown, *challenges], points, commitments)


def _equations(curve: Curve[G1, G2], key: VerifyingKey, claim: _Decoded[G1, G2]) -> list[_Equation[G1, G2]]:
    """Groth16's own, then those of the segments, then those of the links: all that the claim must satisfy."""
    prepared, (inputs, points, commitments) = key.prepared(curve), claim
    one, gamma = curve.generator_g2, prepared.gamma
    right = [
        (prepared.alpha, prepared.beta, 1),
        *((ic, gamma, value) for ic, value in zip(prepared.ic, (1, *inputs), strict=True)),
        *((segment, gamma, 1) for segment in points.segments),
        (points.c, prepared.delta, 1),
    ]
    equations = [_Equation([(points.a, points.b, 1)], right, verdict_of("pairing_mismatch"))]
    for index, (segment, sigma, knowledge) in enumerate(
        zip(points.segments, prepared.knowledge, points.knowledge, strict=True)
    ):
        detail = (
            f"Under this key, the proof's commitment to segment {index} and its proof of knowledge do not "
            "belong together."
        )
        otherwise = verdict_of("knowledge_mismatch", detail, index)
        equations.append(_Equation([(knowledge, one, 1)], [(segment, sigma, 1)], otherwise))
    for index, ((place, k_1, k_2), link, commitment) in enumerate(
        zip(prepared.links, points.links, commitments, strict=True)
    ):
        detail = f"The proof does not show that commitment {index} is to the values of its segment {place}."
        otherwise = verdict_of("link_mismatch", detail, index)
        both = [(points.segments[place], k_1, 1), (commitment, k_2, 1)]
        equations.append(_Equation([(link, one, 1)], both, otherwise))
    return equations


def _judge(curve: Curve[G1, G2], equations: Sequence[_Equation[G1, G2]]) -> Verdict:
    """The verdict on one claim.

    Where several equations are wrong, it names the first that has no other to blame: a link says nothing
    about a segment whose opening nobody knows, and Groth16's challenges depend on what is linked to.
    """
    if _hold(curve, equations):
        return verdict_of(OK)
    groth16, *others = equations
    if not others or _hold(curve, others):
        return groth16.otherwise
    return next(each.otherwise for each in others if not _hold(curve, [each]))


def _hold(curve: Curve[G1, G2], equations: Iterable[_Equation[G1, G2]]) -> bool:
    """Whether all of them hold: their sum, each with a weight."""
    left, right = _Side(curve), _Side(curve)
    for index, equation in enumerate(equations):
        weight = 1 if index == 0 else _weight()
        left.add(equation.left, weight)
        right.add(equation.right, weight)
    return curve.products_agree(left.pairs(), right.pairs())


class _Side(Generic[G1, G2]):
    """A sum of weighted pairings. Terms with the same ``q``, this very object, are added up before they are
    paired; in these the scalars of the same ``p`` are, so that a batch takes each point of the key once.
    """

    def __init__(self, curve: Curve[G1, G2]) -> None:
        self._curve = curve
        self._sums: dict[int, tuple[G2, dict[int, tuple[G1, int]]]] = {}

    def add(self, terms: Iterable[tuple[G1, G2, int]], weight: int) -> None:
        for p, q, scalar in terms:
            _, multiples = self._sums.setdefault(id(q), (q, {}))
            _, known = multiples.get(id(p), (p, 0))
            multiples[id(p)] = p, known + weight * scalar

    def pairs(self) -> list[tuple[G1, G2]]:
        return [(self._sum([*multiples.values()]), q) for q, multiples in self._sums.values()]

    def _sum(self, multiples: Sequence[tuple[G1, int]]) -> G1:
        points, scalars = zip(*multiples, strict=True)
        return points[0] if scalars == (1,) else self._curve.weighted_sum(points, scalars)


def _weight() -> int:
    return secrets.randbits(_WEIGHT_BITS)


def check_public_inputs(count: int, public_inputs: Sequence[int]) -> Verdict | None:
    """The refusal that ``public_inputs`` earn for a key of ``count`` inputs, or None.

    A value x + r would stand for the same field element: accepting it would give every proof several
    public readings.
    """
    if not isinstance(public_inputs, list | tuple):
        return verdict_of("public_input_type", "The public inputs are not a sequence of integers.")
    if len(public_inputs) != count:
        return verdict_of(
            "public_input_count", f"The key takes {count} public inputs, {len(public_inputs)} were given."
        )
    for index, value in enumerate(public_inputs):
        if not isinstance(value, int) or isinstance(value, bool):
            return verdict_of("public_input_type", f"Public input {index} is not an integer.")
        if not 0 <= value < SCALAR_MODULUS:
            return verdict_of(
                "public_input_not_canonical",
                f"Public input {index} is negative, or not below the group order r.",
            )
    return None
