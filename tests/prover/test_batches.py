"""Verification of many proofs at once, and of many equations in one: nothing cancels."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from py_arkworks_bls12381 import G1Point, Scalar

from tests.prover import verifiers
from tests.prover.segments import compressed, point, prove, reason
from tests.prover.statements import Committed, R
from zenserve import kernels
from zenserve.kernels import fr, g1
from zenserve.prover import groth16
from zenserve.prover.blocks import ProductBlock
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import Claim, Proof, ProvingKey
from zenserve.prover.groth16.commitment import blinding_point
from zenserve.prover.groth16.native import NATIVE
from zenserve.verifier.curve import ARKWORKS
from zenserve.verifier.groth16 import verification


def test_a_batch_is_judged_claim_by_claim(committed: Committed) -> None:
    good = Claim([56], committed.proof, committed.commitments)
    again = Claim([56], prove(committed).to_bytes(), committed.commitments)
    claims = [
        good,
        again,
        Claim([57], committed.proof, committed.commitments),
        Claim([56], committed.proof),
        Claim([56], b"", committed.commitments),
        Claim([56], committed.proof, committed.commitments[::-1]),
        good,
    ]
    verdicts = verifiers.verify_batch(committed.verifying_key, claims)
    expected = ["ok", "ok", "pairing_mismatch", "commitment_count", "proof_length", "link_mismatch", "ok"]
    assert [verdict.reason for verdict in verdicts] == expected
    assert [verdict.reason for verdict in verifiers.verify_batch(committed.verifying_key, [good, again])] == [
        "ok"
    ] * 2
    assert verifiers.verify_batch(committed.verifying_key, []) == []


@pytest.mark.parametrize("curve", [ARKWORKS, NATIVE])
def test_the_first_wrong_claim_of_a_group_is_found_by_halving(
    committed: Committed, monkeypatch: pytest.MonkeyPatch, curve: Any
) -> None:
    good, wrong = (Claim([value], committed.proof, committed.commitments) for value in (56, 57))
    cut = Claim([56], b"", committed.commitments)
    asked: list[None] = []

    def counted(curve: Any, equations: Any) -> bool:
        asked.append(None)
        return hold(curve, equations)

    hold = verification._hold
    monkeypatch.setattr(verification, "_hold", counted)
    groups = [
        [good] * 8,
        [*[good] * 7, wrong],
        [wrong] * 8,
        [good, wrong, good, wrong],
        [good, cut],
        [wrong],
        [],
    ]
    assert verification.verify_groups(committed.verifying_key, [[good]], curve=curve) == [None]
    assert len(asked) == 1
    asked.clear()
    flaws = verification.verify_groups(committed.verifying_key, groups, curve=curve)
    found = [flaw and (flaw.index, flaw.verdict.reason) for flaw in flaws]
    pairing = "pairing_mismatch"
    assert found == [None, (7, pairing), (0, pairing), (1, pairing), (1, "proof_length"), (0, pairing), None]
    # All, each group, three or two halves, and two looks at the one that is left.
    assert len(asked) == 1 + 1 + 2 * (1 + 3 + 2) + (1 + 2 + 2) + 2


def test_a_group_whose_halves_hold_by_accident_is_judged_claim_by_claim(
    committed: Committed, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, wrong = (Claim([value], committed.proof, committed.commitments) for value in (56, 57))
    accidents = iter([False, True])
    hold = verification._hold
    monkeypatch.setattr(verification, "_hold", lambda *given: next(accidents, None) or hold(*given))
    (flaw,) = verification.verify_groups(committed.verifying_key, [[wrong, good]])
    assert flaw is not None
    assert flaw.index == 0


def test_errors_that_cancel_without_weights_are_noticed(
    committed: Committed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """+X in one proof's C and −X in the other's: their plain sum is right."""
    shift = G1Point() * Scalar(31337)
    proofs = [
        replace(committed.proof, c=compressed(point(committed.proof.c) + move)) for move in (shift, -shift)
    ]
    claims = [Claim([56], proof, committed.commitments) for proof in proofs]
    verdicts = verifiers.verify_batch(committed.verifying_key, claims)
    assert [verdict.reason for verdict in verdicts] == ["pairing_mismatch"] * 2
    monkeypatch.setattr(verification, "_weight", lambda: 1)
    assert all(verifiers.verify_batch(committed.verifying_key, claims))


def compensations(key: ProvingKey, proof: Proof) -> dict[str, Proof]:
    """Changes to two equations of one proof that cancel in their plain sum."""
    shift, generator = G1Point() * Scalar(31337), G1Point()
    (k_1, k_2, k_3), (l_1, l_2) = map(point, proof.knowledge), map(point, proof.links)
    # C's pairing with δ is made up for by [δ]_1, paired with the generator.
    c, delta = compressed(point(proof.c) + generator), point(g1.compress(key.delta_g1))
    _, second, third = proof.knowledge
    return {
        "knowledge and link": replace(
            proof,
            knowledge=(compressed(k_1 + shift), second, third),
            links=(compressed(l_1 + -shift), proof.links[1]),
        ),
        "knowledge and knowledge": replace(
            proof, knowledge=(compressed(k_1 + shift), compressed(k_2 + -shift), compressed(k_3))
        ),
        "link and link": replace(proof, links=(compressed(l_1 + shift), compressed(l_2 + -shift))),
        "C and knowledge": replace(proof, c=c, knowledge=(compressed(k_1 + delta), second, third)),
        "C and link": replace(proof, c=c, links=(compressed(l_1 + delta), proof.links[1])),
    }


def test_errors_that_cancel_inside_one_proof_are_noticed(
    committed: Committed, monkeypatch: pytest.MonkeyPatch
) -> None:
    forged = compensations(committed.key, committed.proof)
    for name, proof in forged.items():
        expected = "knowledge_mismatch" if "knowledge" in name else "link_mismatch"
        assert reason(committed, proof) == expected, name
    monkeypatch.setattr(verification, "_weight", lambda: 1)
    for name, proof in forged.items():
        assert reason(committed, proof) == "ok", name


def test_weights_are_fresh_and_have_128_bits(committed: Committed, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def draw(bits: int) -> int:
        asked.append(bits)
        return 2**127 + len(asked)

    monkeypatch.setattr(secrets, "randbits", draw)
    assert reason(committed, committed.proof) == "ok"
    assert asked == [128] * 5 * 2  # three proofs of knowledge and two links, on two curves


def test_a_batch_without_segments() -> None:
    square = ProductBlock("square", np.array([2]), np.array([2]), np.array([1]))
    system = ConstraintSystem(1, 1, (square,))
    key = groth16.setup(system)
    claims = [Claim([n * n], groth16.prove(key, system, fr.from_ints([1, n * n, n]))) for n in range(1, 5)]
    assert all(verifiers.verify_batch(key.verifying_key, claims))
    claims[2] = replace(claims[2], public_inputs=[10])
    assert [bool(verdict) for verdict in verifiers.verify_batch(key.verifying_key, claims)] == [1, 1, 0, 1]


def test_commitments_add_up(committed: Committed) -> None:
    """cm(v; ρ) + cm(w; ρ') = cm(v + w; ρ + ρ'): what totals over shards rest on."""
    v, w = fr.from_ints([3, 5]), fr.from_ints([R - 1, 2**200])
    first, second = committed.basis.commit(v), committed.basis.commit(w)
    scalars = np.concatenate([fr.add(v, w), fr.add(first.blinding, second.blinding)[None]])
    bases = np.concatenate([committed.basis.points[:2], blinding_point()])
    total = compressed(point(first.commitment) + point(second.commitment))
    assert g1.compress(kernels.g1.msm(bases, scalars)[None]) == total
