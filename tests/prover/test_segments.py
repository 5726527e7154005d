"""Committed segments, challenges and links: honest ones prove, and the known wounds are tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from py_arkworks_bls12381 import G1Point, G2Point, Scalar

from tests.prover import verifiers
from tests.prover.segments import (
    INPUT,
    MODEL,
    PRODUCTS,
    TRAPDOOR,
    compressed,
    key_point,
    point,
    prove,
    reason,
    setup_with,
    verdict_on,
)
from tests.prover.statements import (
    COMMITTED_Z,
    Committed,
    R,
    commitment_basis,
    committed_statement,
    complete_committed,
)
from tests.refusals import refuses
from zenserve.errors import StatementError
from zenserve.kernels import FrArray, fr, g1, g2
from zenserve.prover import groth16
from zenserve.prover.blocks import ProductBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.groth16 import (
    CommitmentKey,
    Opening,
    Proof,
    ProvingKey,
    VerifyingKey,
    proving,
    reference,
)
from zenserve.prover.groth16.commitment import blinding_point
from zenserve.verifier.curve import ARKWORKS, Curve
from zenserve.verifier.groth16 import transcript

# Honest proofs


def test_an_honest_proof_is_valid_for_both_verifiers(committed: Committed) -> None:
    for verify in (verifiers.verify, reference.verify):
        assert verify(committed.verifying_key, [56], committed.proof, committed.commitments).reason == "ok"


def test_keys_are_what_the_exponents_say() -> None:
    system, basis = committed_statement(), commitment_basis(3)
    key = setup_with(TRAPDOOR, system, basis)
    expected = reference.key_exponents(system, TRAPDOOR)

    def points(exponents: Sequence[int]) -> np.ndarray:
        return g1.fixed_base(g1.generator, fr.from_ints(exponents))

    assert np.array_equal(key.segments, points(expected["segments"]))
    assert np.array_equal(key.knowledge, points(expected["knowledge"]))
    assert np.array_equal(key.private, points(expected["private"]))
    assert b"".join(key.verifying_key.ic) == g1.compress(points(expected["public"]))
    links = []
    for part, (k_1, k_2), size in ((slice(0, 3), TRAPDOOR.links[0], 2), (slice(3, 5), TRAPDOOR.links[1], 1)):
        *values, blinding = (k_1 * value for value in expected["segments"][part])
        outside = g1.mul(basis.points[:size], fr.from_ints([k_2] * size))
        links += [*g1.add(points(values), outside), *points([blinding])]
        links += [*g1.mul(blinding_point(), fr.from_ints([k_2]))]
    assert np.array_equal(key.links, np.stack(links))
    for segment, sigma in zip(key.verifying_key.segments, TRAPDOOR.sigma, strict=True):
        assert segment.knowledge_g2 == g2.compress(g2.fixed_base(g2.generator, fr.from_ints([sigma])))
    assert key.verifying_key.basis == basis.identity == g1.compress(basis.points[1:2])


def test_proofs_are_what_the_exponents_say() -> None:
    system, basis = committed_statement(), commitment_basis(2)
    key = setup_with(TRAPDOOR, system, basis)
    witness = fr.from_ints(COMMITTED_Z)
    openings = [basis.commit(witness[3:5]), basis.commit(witness[6:7])]
    drawn = iter([11, 12, 13])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            proving, "random_elements", lambda n: fr.from_ints([next(drawn)] if n == 1 else [21, 22])
        )
        proof = groth16.prove(key, system, witness, openings=openings, post_challenge=complete_committed)
    exponents = reference.key_exponents(system, TRAPDOOR)["segments"]
    z = list(COMMITTED_Z)
    z[5], z[7], z[10] = 11, 12, 13
    for index, part in enumerate((MODEL, INPUT, PRODUCTS)):
        bases = exponents[part.start - 3 : part.stop - 3]
        d = sum(x * y for x, y in zip(z[part], bases, strict=True))
        assert proof.segments[index] == compressed(G1Point() * Scalar(d % R))
        assert proof.knowledge[index] == compressed(G1Point() * Scalar(d * TRAPDOOR.sigma[index] % R))
    commitments = [opening.commitment for opening in openings]
    (z[2],) = challenges(key.verifying_key, [56], proof.segments, commitments)
    z[11:] = [z[2] * 5 % R, z[2] * 35 % R]
    a, b, c = reference.proof_exponents(system, TRAPDOOR, z, 21, 22)
    assert proof.a == compressed(G1Point() * Scalar(a))
    assert proof.b == bytes((G2Point() * Scalar(b)).to_compressed_bytes())
    assert proof.c == compressed(G1Point() * Scalar(c))


def challenges(
    key: VerifyingKey, public: Sequence[int], segments: Sequence[bytes], commitments: Sequence[bytes]
) -> list[int]:
    points = ([ARKWORKS.decode_g1(each) for each in part] for part in (segments, commitments))
    return transcript.challenges(key, ARKWORKS, public, *points)


def test_the_callers_witness_is_left_alone(committed: Committed) -> None:
    witness = committed.witness
    prove(committed, witness)
    assert fr.to_ints(witness) == COMMITTED_Z


def test_segments_without_challenges_or_links(committed: Committed) -> None:
    square = ProductBlock("square", np.array([2]), np.array([2]), np.array([1]))
    system = ConstraintSystem(1, 0, (square,), segments=(Segment("root", 1), Segment("nothing", 0)))
    key = groth16.setup(system)
    proof = groth16.prove(key, system, fr.from_ints([1, 49, 7, 0, 0]))
    assert len(proof.to_bytes()) == 210 + 2 * 96
    for verify in (verifiers.verify, reference.verify):
        assert verify(key.verifying_key, [49], proof).reason == "ok"
        assert verify(key.verifying_key, [50], proof).reason == "pairing_mismatch"


def test_two_segments_and_two_links_fit_in_500_bytes() -> None:
    two = Proof(b"a" * 48, b"b" * 96, b"c" * 48, (b"d" * 48,) * 2, (b"e" * 48,) * 2, (b"f" * 48,) * 2)
    assert len(two.to_bytes()) == 498
    assert Proof.split(two.to_bytes()) == two


def test_a_proof_links_to_a_commitment_that_hides_nothing(committed: Committed) -> None:
    """As those to public data do; what the proof itself commits to is blinded all the same."""
    public = committed.basis.commit(committed.witness[3:5], hiding=False)
    openings = [public, committed.openings[1]]
    first, second = (prove(committed, openings=openings) for _ in range(2))
    commitments = [each.commitment for each in openings]
    assert reason(committed, first, commitments) == reason(committed, second, commitments) == "ok"
    assert not {*first.segments, *first.links} & {*second.segments, *second.links}


# Zero knowledge, where it can be checked


def test_two_proofs_of_one_witness_share_no_group_element(committed: Committed) -> None:
    other = prove(committed)
    assert reason(committed, other) == "ok"
    mine = {committed.proof.a, committed.proof.b, committed.proof.c, *committed.proof.segments}
    mine |= {*committed.proof.knowledge, *committed.proof.links}
    theirs = {other.a, other.b, other.c, *other.segments, *other.knowledge, *other.links}
    assert len(mine) == len(theirs) == 3 + 3 + 3 + 2
    assert not mine & theirs


def test_two_commitments_to_the_same_weights_differ(committed: Committed) -> None:
    weights = committed.witness[3:5]
    assert committed.basis.commit(weights).commitment != committed.basis.commit(weights).commitment


def test_a_dictionary_recognises_an_unblinded_commitment_and_not_ours(committed: Committed) -> None:
    """CVE-2024-45040: without blinding, D is a function of the values, and small values can be searched."""
    bases = [key_point(committed.key.segments, index) for index in range(3)]
    candidates = [compressed(bases[0] * Scalar(v) + bases[1] * Scalar(w)) for v in range(8) for w in range(8)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            proving, "random_elements", lambda n: fr.from_ints([0] * n) if n == 1 else fr.from_ints([1, 2])
        )
        unblinded = prove(committed)
    assert candidates.index(unblinded.segments[0]) == 8 * 3 + 5
    assert committed.proof.segments[0] not in candidates
    assert not g1.is_infinity(committed.key.segments[[2, 4, 7]]).any()


@pytest.mark.parametrize("y", [56, 0, 123456])
def test_the_simulator_proves_any_statement(y: int) -> None:
    system, basis = committed_statement(), commitment_basis(2)
    verifying_key = setup_with(TRAPDOOR, system, basis).verifying_key
    commitments = [basis.commit(fr.from_ints([9, 9])).commitment, compressed(G1Point() * Scalar(4242))]
    proof = reference.simulate(verifying_key, system, TRAPDOOR, [y], commitments)
    assert verifiers.verify(verifying_key, [y], proof, commitments).reason == "ok"
    assert verifiers.verify(verifying_key, [y + 1], proof, commitments).reason == "pairing_mismatch"


# Forgeries


@pytest.mark.parametrize("y", [55, 57, 0, 56 + 2**64])
def test_another_public_input_is_refused(committed: Committed, y: int) -> None:
    assert reason(committed, committed.proof, y=y) == "pairing_mismatch"


@pytest.mark.parametrize("y", [R + 56, R, -1])
def test_inputs_that_are_not_canonical_are_refused(committed: Committed, y: int) -> None:
    assert reason(committed, committed.proof, y=y) == "public_input_not_canonical"


@pytest.mark.parametrize(
    ("element", "named"),
    [("segments", "knowledge_mismatch"), ("knowledge", "knowledge_mismatch"), ("links", "link_mismatch")],
)
def test_any_other_point_is_refused(committed: Committed, element: str, named: str) -> None:
    points = getattr(committed.proof, element)
    for index in range(len(points)):
        for other in (compressed(G1Point()), compressed(-point(points[index])), points[index - 1]):
            changes: dict[str, Any] = {element: (*points[:index], other, *points[index + 1 :])}
            verdict = verdict_on(committed, replace(committed.proof, **changes))
            assert (verdict.reason, verdict.index) == (named, index)


def test_a_verdict_names_the_first_equation_with_no_other_to_blame(committed: Committed) -> None:
    proof, (model, of_input) = committed.proof, committed.commitments
    c = compressed(point(proof.c) + G1Point())
    generator = compressed(G1Point())
    cases: list[tuple[str, int | None, Proof, list[bytes]]] = [
        ("ok", None, proof, [model, of_input]),
        ("pairing_mismatch", None, replace(proof, c=c), [model, of_input]),
        ("link_mismatch", 0, proof, [of_input, model]),
        ("link_mismatch", 1, proof, [model, generator]),
        ("link_mismatch", 1, replace(proof, c=c, links=(proof.links[0], generator)), [model, of_input]),
        ("knowledge_mismatch", 2, replace(proof, knowledge=(*proof.knowledge[:2], generator)), [model] * 2),
    ]
    for expected, index, changed, commitments in cases:
        verdict = verdict_on(committed, changed, commitments)
        assert (verdict.reason, verdict.index) == (expected, index)
    for expected, index, changed, commitments in cases[-2:]:
        judged = reference.verify(committed.verifying_key, [56], changed, commitments)
        assert (judged.reason, judged.index) == (expected, index)
    assert (
        "commitment 1 is to the values of its segment 1"
        in verdict_on(committed, proof, [model, generator]).detail
    )


def delta_on_a_segment(key: ProvingKey, y: int, claimed: int, sigma: int | None) -> Proof:
    """A proof of x² = y, its commitment moved so that Σ x_i IC_i + D stays what it was for ``claimed``."""
    system = square_statement()
    proof = groth16.prove(key, system, fr.from_ints([1, y, 7, 0]))
    moved = key_ic(key.verifying_key, 1) * Scalar((y - claimed) % R)
    d = point(proof.segments[0]) + moved
    knowledge = point(proof.knowledge[0]) if sigma is None else d * Scalar(sigma)
    return replace(proof, segments=(compressed(d),), knowledge=(compressed(knowledge),))


def square_statement() -> ConstraintSystem:
    square = ProductBlock("square", np.array([2]), np.array([2]), np.array([1]))
    return ConstraintSystem(1, 0, (square,), segments=(Segment("root", 1),))


def key_ic(key: VerifyingKey, index: int) -> G1Point:
    return point(key.ic[index])


def test_delta_on_a_segment_claims_no_other_public_input() -> None:
    """The Groth16 equation alone accepts it: only the proof of knowledge of D stands against it."""
    trapdoor = TRAPDOOR._replace(sigma=(4711,), links=())
    key = setup_with(trapdoor, square_statement(), None)
    forged = delta_on_a_segment(key, 49, 50, None)
    assert verifiers.verify(key.verifying_key, [50], forged).reason == "knowledge_mismatch"
    with_sigma = delta_on_a_segment(key, 49, 50, 4711)
    assert verifiers.verify(key.verifying_key, [50], with_sigma).reason == "ok"


def mixed_commitments(key: ProvingKey, basis: CommitmentKey) -> tuple[Proof, list[bytes]]:
    """A proof with the true weights, linked to a model whose first weight is greater by one.

    CVE-2024-45039: K of that weight moves from the commitment to the products to that of the model; their
    sum, which alone the Groth16 equation reads, stays.
    """
    system, witness = committed_statement(), fr.from_ints(COMMITTED_Z)
    other = basis.commit(fr.from_ints([4, 5]))
    openings = [other, basis.commit(witness[6:7])]
    shift = key_point(key.segments, 0)
    shift_known = key_point(key.knowledge, 0)
    draw = proving._commit_segments

    def move(*args: Any) -> Any:
        segments, knowledge, links = draw(*args)
        segments[0], segments[2] = (
            compressed(point(segments[0]) + shift),
            compressed(point(segments[2]) + -shift),
        )
        knowledge[0] = compressed(point(knowledge[0]) + shift_known)
        knowledge[2] = compressed(point(knowledge[2]) + -shift_known)
        links[0] = compressed(point(links[0]) + key_point(key.links, 0))
        return segments, knowledge, links

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proving, "_commit_segments", move)
        proof = groth16.prove(key, system, witness, openings=openings, post_challenge=complete_committed)
    return proof, [opening.commitment for opening in openings]


def test_values_do_not_move_between_commitments() -> None:
    basis = commitment_basis(2)
    key = setup_with(TRAPDOOR, committed_statement(), basis)
    proof, commitments = mixed_commitments(key, basis)
    verdict = verifiers.verify(key.verifying_key, [56], proof, commitments)
    assert (verdict.reason, verdict.index) == ("knowledge_mismatch", 2)


def test_values_would_move_between_commitments_under_equal_keys() -> None:
    """So a verifying key with two equal σ must not come to life."""
    basis = commitment_basis(2)
    sigma = TRAPDOOR.sigma[0]
    equal = TRAPDOOR._replace(sigma=(sigma, TRAPDOOR.sigma[1], sigma))
    with refuses("file.unsafe_key"):
        setup_with(equal, committed_statement(), basis)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VerifyingKey, "_refuse_related_points", lambda _: None)
        key = setup_with(equal, committed_statement(), basis)
        proof, commitments = mixed_commitments(key, basis)
    assert verifiers.verify(key.verifying_key, [56], proof, commitments).reason == "ok"


def test_a_link_to_another_model_is_refused(committed: Committed) -> None:
    other = committed.basis.commit(fr.from_ints([4, 5]))
    mine, of_input = committed.openings
    assert reason(committed, committed.proof, [other.commitment, of_input.commitment]) == "link_mismatch"
    for openings in (
        [other, of_input],
        [of_input, mine],
        [Opening(mine.commitment, other.blinding), of_input],
    ):
        with refuses("statement.openings", "openings"):
            prove(committed, openings=openings)
    forged = forced_openings(committed, [other, of_input])
    assert reason(committed, forged, [other.commitment, of_input.commitment]) == "link_mismatch"


def forced_openings(case: Committed, openings: Sequence[Opening]) -> Proof:
    """What a prover gets who goes on with openings that do not open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proving, "_check_links", lambda *_: None)
        return prove(case, openings=openings)


def test_another_opening_of_the_same_values_is_another_proof(committed: Committed) -> None:
    again = committed.basis.commit(committed.witness[3:5])
    commitments = [again.commitment, committed.openings[1].commitment]
    assert reason(committed, committed.proof, commitments) == "link_mismatch"


@pytest.mark.parametrize("without", ["digest", "public_inputs", "segments", "commitments", "index"])
def test_a_challenge_from_a_truncated_transcript_is_refused(
    committed: Committed, without: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = transcript.challenges

    def truncated(key: VerifyingKey, curve: Curve[Any, Any], *parts: Sequence[Any]) -> list[int]:
        names = ("public_inputs", "segments", "commitments")
        kept = ([] if name == without else part for name, part in zip(names, parts, strict=True))
        digest = b"" if without == "digest" else key.digest
        two = SimpleNamespace(version=key.version, digest=digest, challenges=2, folded=0)
        first, second = full(cast(VerifyingKey, two), curve, *kept)
        return [second if without == "index" else first]

    monkeypatch.setattr(transcript, "challenges", truncated)
    proof = prove(committed)
    assert reason(committed, proof) == "ok"
    monkeypatch.undo()
    assert reason(committed, proof) == "pairing_mismatch"


def test_a_challenge_that_forgets_the_segments_proves_false_products(committed: Committed) -> None:
    """Why the transcript must not be cut: with c known beforehand, p_0 + c p_1 has many solutions."""
    full = transcript.challenges

    def forgetful(
        key: VerifyingKey, curve: Curve[Any, Any], public: Sequence[int], _: Any, outside: Sequence[Any]
    ) -> list[int]:
        return full(key, curve, public, [], outside)

    (c,) = challenges(committed.verifying_key, [57], [], committed.commitments)
    # p_0 + c p_1 = 21 + 35 c and p_0 + p_1 = 57
    p_1 = (21 + 35 * c - 57) * pow(c - 1, -1, R) % R
    z = list(COMMITTED_Z)
    z[1], z[8], z[9] = 57, (57 - p_1) % R, p_1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcript, "challenges", forgetful)
        forged = prove(committed, fr.from_ints(z))
        assert reason(committed, forged, y=57) == "ok"
    assert reason(committed, forged, y=57) == "pairing_mismatch"
    with pytest.raises(StatementError) as error:
        prove(committed, fr.from_ints(z))
    assert "product[0]" in error.value.message


def test_a_proof_under_another_key_or_statement_is_refused(committed: Committed) -> None:
    other_key = groth16.setup(committed.system, basis=committed.basis).verifying_key
    relabelled = replace(committed.verifying_key, statement_digest=bytes(32))
    for key, expected in ((other_key, "knowledge_mismatch"), (relabelled, "pairing_mismatch")):
        for verify in (verifiers.verify, reference.verify):
            assert verify(key, [56], committed.proof, committed.commitments).reason == expected


def test_a_key_with_another_basis_draws_other_challenges(committed: Committed) -> None:
    moved = replace(committed.verifying_key, basis=commitment_basis(2, tau=99).identity)
    assert verifiers.verify(moved, [56], committed.proof, committed.commitments).reason == "pairing_mismatch"


def test_rerandomised_proofs_keep_their_segments(committed: Committed) -> None:
    """A, B, C are as malleable as ever; what the challenge hashes is not."""
    proof, rho = committed.proof, Scalar(987654321)
    b = G2Point.from_compressed_bytes(proof.b) * rho
    rerandomised = replace(
        proof, a=compressed(point(proof.a) * rho.inverse()), b=bytes(b.to_compressed_bytes())
    )
    assert reason(committed, rerandomised) == "ok"
    blinding = key_point(committed.key.segments, 2)
    known = key_point(committed.key.knowledge, 2)
    moved = replace(
        proof,
        segments=(compressed(point(proof.segments[0]) + blinding), *proof.segments[1:]),
        knowledge=(compressed(point(proof.knowledge[0]) + known), *proof.knowledge[1:]),
    )
    assert reason(committed, moved) == "link_mismatch"


@pytest.mark.parametrize("variable", [1, 3, 4, 6, 8, 9])
def test_a_wrong_value_anywhere_is_refused(committed: Committed, variable: int) -> None:
    z = list(COMMITTED_Z)
    z[variable] += 1
    witness = fr.from_ints(z)
    openings = [committed.basis.commit(witness[3:5]), committed.basis.commit(witness[6:7])]
    with refuses("statement.unsatisfied"):
        prove(committed, witness, openings)


@pytest.mark.parametrize("variable", [1, 2, 3, 5, 9])
def test_the_post_challenge_witness_is_private_variables_only(committed: Committed, variable: int) -> None:
    def complete(z: FrArray, challenges: FrArray) -> None:
        complete_committed(z, challenges)
        z[variable] = z[0]

    with refuses("statement.post_challenge", "post_challenge"):
        prove(committed, post_challenge=complete)
