"""Committed segments, challenges and links: honest ones prove, and the known wounds are tried."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from py_arkworks_bls12381 import G1Point, G2Point, Scalar

import kernels
import prover
from kernels import FrArray, fr, g1, g2
from prover import (
    Claim,
    CommitmentBasis,
    Opening,
    Proof,
    ProvingKey,
    Segment,
    Statement,
    VerifyingKey,
    proving,
    reference,
    transcript,
    trusted_setup,
    verification,
)
from prover.commitment import blinding_point
from prover.reference import Trapdoor
from prover.statement import ProductBlock
from tests.prover import verifiers
from tests.prover.statements import (
    COMMITTED_Z,
    Committed,
    R,
    answer_committed,
    commitment_basis,
    committed_statement,
)
from zenerrors import FileFormatError, StatementError

TRAPDOOR = Trapdoor(
    tau=0x1234567,
    alpha=R - 3,
    beta=2**200 + 1,
    gamma=77,
    delta=2**254 - 5,
    sigma=(1001, 2**100 + 1, R - 17),
    links=((2**90 + 1, 3**50), (5**60, R - 2**70)),
)
MODEL, INPUT, PRODUCTS = slice(3, 6), slice(6, 8), slice(8, 11)


def flat(trapdoor: Trapdoor) -> list[int]:
    return [*trapdoor[:5], *trapdoor.sigma, *itertools.chain(*trapdoor.links)]


def setup_with(trapdoor: Trapdoor, statement: Statement, basis: CommitmentBasis | None) -> ProvingKey:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trusted_setup, "random_elements", lambda count: fr.from_ints(flat(trapdoor)[:count]))
        return prover.setup(statement, basis=basis)


def point(data: bytes) -> G1Point:
    return G1Point.from_compressed_bytes(data)


def compressed(p: G1Point) -> bytes:
    return bytes(p.to_compressed_bytes())


def key_point(points: np.ndarray, index: int) -> G1Point:
    return point(g1.compress(points[index : index + 1]))


def reason(case: Committed, proof: Proof, commitments: Sequence[bytes] | None = None, y: int = 56) -> str:
    outside = case.commitments if commitments is None else tuple(commitments)
    return verifiers.verify(case.verifying_key, [y], proof, outside).reason


# Honest proofs


def test_an_honest_proof_is_valid_for_both_verifiers(committed: Committed) -> None:
    for verify in (verifiers.verify, reference.verify):
        assert verify(committed.verifying_key, [56], committed.proof, committed.commitments).reason == "ok"


def test_keys_are_what_the_exponents_say() -> None:
    statement, basis = committed_statement(), commitment_basis(3)
    key = setup_with(TRAPDOOR, statement, basis)
    expected = reference.key_exponents(statement, TRAPDOOR)

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
    statement, basis = committed_statement(), commitment_basis(2)
    key = setup_with(TRAPDOOR, statement, basis)
    witness = fr.from_ints(COMMITTED_Z)
    openings = [basis.commit(witness[3:5]), basis.commit(witness[6:7])]
    drawn = iter([11, 12, 13])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            proving, "random_elements", lambda n: fr.from_ints([next(drawn)] if n == 1 else [21, 22])
        )
        proof = prover.prove(key, statement, witness, openings=openings, answer=answer_committed)
    exponents = reference.key_exponents(statement, TRAPDOOR)["segments"]
    z = list(COMMITTED_Z)
    z[5], z[7], z[10] = 11, 12, 13
    for index, part in enumerate((MODEL, INPUT, PRODUCTS)):
        bases = exponents[part.start - 3 : part.stop - 3]
        d = sum(x * y for x, y in zip(z[part], bases, strict=True))
        assert proof.segments[index] == compressed(G1Point() * Scalar(d % R))
        assert proof.knowledge[index] == compressed(G1Point() * Scalar(d * TRAPDOOR.sigma[index] % R))
    commitments = [opening.commitment for opening in openings]
    (z[2],) = transcript.challenges(key.verifying_key.digest, [56], proof.segments, commitments, 1)
    z[11:] = [z[2] * 5 % R, z[2] * 35 % R]
    a, b, c = reference.proof_exponents(statement, TRAPDOOR, z, 21, 22)
    assert proof.a == compressed(G1Point() * Scalar(a))
    assert proof.b == bytes((G2Point() * Scalar(b)).to_compressed_bytes())
    assert proof.c == compressed(G1Point() * Scalar(c))


def test_the_callers_witness_is_left_alone(committed: Committed) -> None:
    witness = committed.witness
    prover.prove(
        committed.key, committed.statement, witness, openings=committed.openings, answer=answer_committed
    )
    assert fr.to_ints(witness) == COMMITTED_Z


def test_segments_without_challenges_or_links(committed: Committed) -> None:
    square = ProductBlock("square", np.array([2]), np.array([2]), np.array([1]))
    statement = Statement(1, 0, (square,), segments=(Segment("root", 1), Segment("nothing", 0)))
    key = prover.setup(statement)
    proof = prover.prove(key, statement, fr.from_ints([1, 49, 7, 0, 0]))
    assert len(proof.to_bytes()) == 210 + 2 * 96
    for verify in (verifiers.verify, reference.verify):
        assert verify(key.verifying_key, [49], proof).reason == "ok"
        assert verify(key.verifying_key, [50], proof).reason == "pairing_mismatch"


def test_two_segments_and_two_links_fit_in_500_bytes() -> None:
    two = Proof(b"a" * 48, b"b" * 96, b"c" * 48, (b"d" * 48,) * 2, (b"e" * 48,) * 2, (b"f" * 48,) * 2)
    assert len(two.to_bytes()) == 498
    assert Proof.split(two.to_bytes()) == two


# Zero knowledge, where it can be checked


def test_two_proofs_of_one_witness_share_no_group_element(committed: Committed) -> None:
    other = prover.prove(
        committed.key,
        committed.statement,
        committed.witness,
        openings=committed.openings,
        answer=answer_committed,
    )
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
        unblinded = prover.prove(
            committed.key,
            committed.statement,
            committed.witness,
            openings=committed.openings,
            answer=answer_committed,
        )
    assert candidates.index(unblinded.segments[0]) == 8 * 3 + 5
    assert committed.proof.segments[0] not in candidates
    assert not g1.is_infinity(committed.key.segments[[2, 4, 7]]).any()


@pytest.mark.parametrize("y", [56, 0, 123456])
def test_the_simulator_proves_any_statement(y: int) -> None:
    statement, basis = committed_statement(), commitment_basis(2)
    verifying_key = setup_with(TRAPDOOR, statement, basis).verifying_key
    commitments = [basis.commit(fr.from_ints([9, 9])).commitment, compressed(G1Point() * Scalar(4242))]
    proof = reference.simulate(verifying_key, statement, TRAPDOOR, [y], commitments)
    assert verifiers.verify(verifying_key, [y], proof, commitments).reason == "ok"
    assert verifiers.verify(verifying_key, [y + 1], proof, commitments).reason == "pairing_mismatch"


# Forgeries


@pytest.mark.parametrize("y", [55, 57, 0, 56 + 2**64])
def test_another_public_input_is_refused(committed: Committed, y: int) -> None:
    assert reason(committed, committed.proof, y=y) == "pairing_mismatch"


@pytest.mark.parametrize("y", [R + 56, R, -1])
def test_inputs_that_are_not_canonical_are_refused(committed: Committed, y: int) -> None:
    assert reason(committed, committed.proof, y=y) == "public_input_not_canonical"


@pytest.mark.parametrize("element", ["segments", "knowledge", "links"])
def test_any_other_point_is_refused(committed: Committed, element: str) -> None:
    points = getattr(committed.proof, element)
    for index in range(len(points)):
        for other in (compressed(G1Point()), compressed(-point(points[index])), points[index - 1]):
            changes: dict[str, Any] = {element: (*points[:index], other, *points[index + 1 :])}
            assert reason(committed, replace(committed.proof, **changes)) == "pairing_mismatch"


def delta_on_a_segment(key: ProvingKey, y: int, claimed: int, sigma: int | None) -> Proof:
    """A proof of x² = y, its commitment moved so that Σ x_i IC_i + D stays what it was for ``claimed``."""
    statement = square_statement()
    proof = prover.prove(key, statement, fr.from_ints([1, y, 7, 0]))
    moved = key_ic(key.verifying_key, 1) * Scalar((y - claimed) % R)
    d = point(proof.segments[0]) + moved
    knowledge = point(proof.knowledge[0]) if sigma is None else d * Scalar(sigma)
    return replace(proof, segments=(compressed(d),), knowledge=(compressed(knowledge),))


def square_statement() -> Statement:
    square = ProductBlock("square", np.array([2]), np.array([2]), np.array([1]))
    return Statement(1, 0, (square,), segments=(Segment("root", 1),))


def key_ic(key: VerifyingKey, index: int) -> G1Point:
    return point(key.ic[index])


def test_delta_on_a_segment_claims_no_other_public_input() -> None:
    """The Groth16 equation alone accepts it: only the proof of knowledge of D stands against it."""
    trapdoor = TRAPDOOR._replace(sigma=(4711,), links=())
    key = setup_with(trapdoor, square_statement(), None)
    forged = delta_on_a_segment(key, 49, 50, None)
    assert verifiers.verify(key.verifying_key, [50], forged).reason == "pairing_mismatch"
    with_sigma = delta_on_a_segment(key, 49, 50, 4711)
    assert verifiers.verify(key.verifying_key, [50], with_sigma).reason == "ok"


def mixed_commitments(key: ProvingKey, basis: CommitmentBasis) -> tuple[Proof, list[bytes]]:
    """A proof with the true weights, linked to a model whose first weight is greater by one.

    CVE-2024-45039: K of that weight moves from the commitment to the products to that of the model; their
    sum, which alone the Groth16 equation reads, stays.
    """
    statement, witness = committed_statement(), fr.from_ints(COMMITTED_Z)
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
        proof = prover.prove(key, statement, witness, openings=openings, answer=answer_committed)
    return proof, [opening.commitment for opening in openings]


def test_values_do_not_move_between_commitments() -> None:
    basis = commitment_basis(2)
    key = setup_with(TRAPDOOR, committed_statement(), basis)
    proof, commitments = mixed_commitments(key, basis)
    assert verifiers.verify(key.verifying_key, [56], proof, commitments).reason == "pairing_mismatch"


def test_values_would_move_between_commitments_under_equal_keys() -> None:
    """So a verifying key with two equal σ must not come to life."""
    basis = commitment_basis(2)
    sigma = TRAPDOOR.sigma[0]
    equal = TRAPDOOR._replace(sigma=(sigma, TRAPDOOR.sigma[1], sigma))
    with pytest.raises(FileFormatError) as error:
        setup_with(equal, committed_statement(), basis)
    assert error.value.code == "file.unsafe_key"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VerifyingKey, "_refuse_related_points", lambda _: None)
        key = setup_with(equal, committed_statement(), basis)
        proof, commitments = mixed_commitments(key, basis)
    assert verifiers.verify(key.verifying_key, [56], proof, commitments).reason == "ok"


def test_a_link_to_another_model_is_refused(committed: Committed) -> None:
    other = committed.basis.commit(fr.from_ints([4, 5]))
    mine, of_input = committed.openings
    assert reason(committed, committed.proof, [other.commitment, of_input.commitment]) == "pairing_mismatch"
    for openings in (
        [other, of_input],
        [of_input, mine],
        [Opening(mine.commitment, other.blinding), of_input],
    ):
        with pytest.raises(StatementError) as error:
            prover.prove(
                committed.key,
                committed.statement,
                committed.witness,
                openings=openings,
                answer=answer_committed,
            )
        assert (error.value.code, error.value.field) == ("statement.openings", "openings")
    forged = forced_openings(committed, [other, of_input])
    assert reason(committed, forged, [other.commitment, of_input.commitment]) == "pairing_mismatch"


def forced_openings(case: Committed, openings: Sequence[Opening]) -> Proof:
    """What a prover gets who goes on with openings that do not open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proving, "_check_links", lambda *_: None)
        return prover.prove(
            case.key, case.statement, case.witness, openings=openings, answer=answer_committed
        )


def test_another_opening_of_the_same_values_is_another_proof(committed: Committed) -> None:
    again = committed.basis.commit(committed.witness[3:5])
    commitments = [again.commitment, committed.openings[1].commitment]
    assert reason(committed, committed.proof, commitments) == "pairing_mismatch"


@pytest.mark.parametrize("without", ["digest", "public_inputs", "segments", "commitments", "index"])
def test_a_challenge_from_a_truncated_transcript_is_refused(
    committed: Committed, without: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = transcript.challenges

    def truncated(
        digest: bytes, public: Sequence[int], segments: Sequence[bytes], outside: Sequence[bytes], count: int
    ) -> list[int]:
        kept = {"digest": digest, "public_inputs": public, "segments": segments, "commitments": outside}
        kept[without] = b"" if without == "digest" else []
        drawn = full(kept["digest"], kept["public_inputs"], kept["segments"], kept["commitments"], count + 1)  # type: ignore[arg-type]
        return drawn[1:] if without == "index" else drawn[:1]

    monkeypatch.setattr(transcript, "challenges", truncated)
    proof = prover.prove(
        committed.key,
        committed.statement,
        committed.witness,
        openings=committed.openings,
        answer=answer_committed,
    )
    assert reason(committed, proof) == "ok"
    monkeypatch.undo()
    assert reason(committed, proof) == "pairing_mismatch"


def test_a_challenge_that_forgets_the_segments_proves_false_products(committed: Committed) -> None:
    """Why the transcript must not be cut: with c known beforehand, p_0 + c p_1 has many solutions."""
    full = transcript.challenges

    def forgetful(
        digest: bytes, public: Sequence[int], _: Any, outside: Sequence[bytes], count: int
    ) -> list[int]:
        return full(digest, public, [], outside, count)

    (c,) = forgetful(committed.verifying_key.digest, [57], (), committed.commitments, 1)
    # p_0 + c p_1 = 21 + 35 c and p_0 + p_1 = 57
    p_1 = (21 + 35 * c - 57) * pow(c - 1, -1, R) % R
    z = list(COMMITTED_Z)
    z[1], z[8], z[9] = 57, (57 - p_1) % R, p_1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcript, "challenges", forgetful)
        forged = prover.prove(
            committed.key,
            committed.statement,
            fr.from_ints(z),
            openings=committed.openings,
            answer=answer_committed,
        )
        assert reason(committed, forged, y=57) == "ok"
    assert reason(committed, forged, y=57) == "pairing_mismatch"
    with pytest.raises(StatementError) as error:
        prover.prove(
            committed.key,
            committed.statement,
            fr.from_ints(z),
            openings=committed.openings,
            answer=answer_committed,
        )
    assert "product[0]" in error.value.message


def test_a_proof_under_another_key_or_statement_is_refused(committed: Committed) -> None:
    other_key = prover.setup(committed.statement, basis=committed.basis).verifying_key
    relabelled = replace(committed.verifying_key, statement_digest=bytes(32))
    for key in (other_key, relabelled):
        for verify in (verifiers.verify, reference.verify):
            assert verify(key, [56], committed.proof, committed.commitments).reason == "pairing_mismatch"


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
    assert reason(committed, moved) == "pairing_mismatch"


@pytest.mark.parametrize("variable", [1, 3, 4, 6, 8, 9])
def test_a_wrong_value_anywhere_is_refused(committed: Committed, variable: int) -> None:
    z = list(COMMITTED_Z)
    z[variable] += 1
    witness = fr.from_ints(z)
    openings = [committed.basis.commit(witness[3:5]), committed.basis.commit(witness[6:7])]
    with pytest.raises(StatementError) as error:
        prover.prove(committed.key, committed.statement, witness, openings=openings, answer=answer_committed)
    assert error.value.code == "statement.unsatisfied"


@pytest.mark.parametrize("variable", [1, 2, 3, 5, 9])
def test_an_answer_may_write_private_variables_only(committed: Committed, variable: int) -> None:
    def answer(z: FrArray, challenges: FrArray) -> None:
        answer_committed(z, challenges)
        z[variable] = z[0]

    with pytest.raises(StatementError) as error:
        prover.prove(
            committed.key, committed.statement, committed.witness, openings=committed.openings, answer=answer
        )
    assert (error.value.code, error.value.field) == ("statement.answer", "answer")


# Keys, files, shapes


def test_related_points_in_a_key_are_refused(committed: Committed) -> None:
    key = committed.verifying_key
    generator = bytes(G2Point().to_compressed_bytes())
    first, second, third = key.segments
    assert first.link_g2 is not None
    negated = bytes((-G2Point.from_compressed_bytes(second.knowledge_g2)).to_compressed_bytes())
    bad = {
        "segments[0].knowledge_g2": (replace(first, knowledge_g2=generator), second, third),
        "segments[1].knowledge_g2": (first, replace(second, knowledge_g2=key.delta_g2), third),
        "segments[2].knowledge_g2": (first, second, replace(third, knowledge_g2=negated)),
        "segments[0].link_g2[0]": (replace(first, link_g2=(generator, first.link_g2[1])), second, third),
        "segments[0].link_g2[1]": (replace(first, link_g2=(first.link_g2[0],) * 2), second, third),
    }
    for field, segments in bad.items():
        with pytest.raises(FileFormatError) as error:
            replace(key, segments=segments)
        assert (error.value.code, error.value.field) == ("file.unsafe_key", field)


def test_gamma_may_be_the_generator_only_in_keys_from_ceremonies(committed: Committed) -> None:
    key, generator = committed.verifying_key, bytes(G2Point().to_compressed_bytes())
    negated = bytes((-G2Point()).to_compressed_bytes())
    replace(key, gamma_g2=generator, setup="imported")
    replace(key, gamma_g2=generator, contributions=(bytes(32),))
    replace(key, gamma_g2=generator, contributions=(bytes(32),), setup="ceremony")
    for change in (
        {},
        {"setup": "imported", "gamma_g2": negated},
        {"setup": "imported", "delta_g2": generator},
    ):
        changes: dict[str, Any] = {"gamma_g2": generator, **change}
        with pytest.raises(FileFormatError) as error:
            replace(key, **changes)
        assert error.value.code == "file.unsafe_key"


def test_a_key_with_segments_survives_its_forms(committed: Committed, tmp_path: Path) -> None:
    key = replace(committed.verifying_key, contributions=(bytes(range(32)), bytes(32)))
    assert VerifyingKey.from_bytes(key.to_bytes()) == key
    assert VerifyingKey.from_json(key.to_json()) == key
    committed.key.save(tmp_path / "key")
    loaded = ProvingKey.load(tmp_path / "key")
    proof = prover.prove(
        loaded, committed.statement, committed.witness, openings=committed.openings, answer=answer_committed
    )
    assert reason(committed, proof) == "ok"
    assert Proof.from_bytes(proof.to_bytes()) == proof == Proof.from_json(proof.to_json())


def test_every_other_length_of_a_key_or_proof_is_refused(committed: Committed) -> None:
    data = committed.verifying_key.to_bytes()
    for length in range(0, len(data) + 60, 7):
        if length != len(data):
            with pytest.raises(FileFormatError):
                VerifyingKey.from_bytes((data * 2)[:length])
    whole = committed.proof.to_bytes()
    for length in set(range(len(whole) + 60)) - {len(whole), 192}:
        verdict = verifiers.verify(committed.verifying_key, [56], (whole * 2)[:length], committed.commitments)
        assert verdict.reason in ("proof_length", "proof_shape")


def test_a_flipped_bit_anywhere_is_refused(committed: Committed) -> None:
    data = committed.proof.to_bytes()
    for position in range(0, len(data), 5):
        changed = bytearray(data)
        changed[position] ^= 1 << position % 8
        verdict = verifiers.verify(committed.verifying_key, [56], bytes(changed), committed.commitments)
        assert not verdict.valid


@pytest.mark.parametrize(
    ("commitments", "expected"),
    [
        (None, "commitment_type"),
        ("ab", "commitment_type"),
        (["00", "00"], "commitment_type"),
        ([], "commitment_count"),
        ([b"", b""], "commitment_encoding"),
        ([b"\xc0" + bytes(47)] * 2, "commitment_at_infinity"),
    ],
)
def test_commitments_are_refused_by_name(committed: Committed, commitments: Any, expected: str) -> None:
    for verify in (verifiers.verify, reference.verify):
        assert verify(committed.verifying_key, [56], committed.proof, commitments).reason == expected


def test_a_basis_goes_with_linked_segments() -> None:
    with pytest.raises(StatementError) as error:
        prover.setup(committed_statement())
    assert error.value.code == "statement.basis"
    with pytest.raises(StatementError) as error:
        prover.setup(committed_statement(linked=False), basis=commitment_basis(2))
    assert error.value.code == "statement.basis"
    with pytest.raises(StatementError) as error:
        prover.setup(committed_statement(), basis=commitment_basis(1 + 0))
    assert error.value.code == "statement.basis_length"
    with pytest.raises(StatementError) as error:
        commitment_basis(2).commit(fr.from_ints([1, 2, 3]))
    assert error.value.code == "statement.basis_length"


def test_openings_are_counted(committed: Committed) -> None:
    for openings in ((), committed.openings[:1], committed.openings * 2):
        with pytest.raises(StatementError) as error:
            prover.prove(
                committed.key,
                committed.statement,
                committed.witness,
                openings=openings,
                answer=answer_committed,
            )
        assert error.value.code == "statement.openings"


def test_a_row_may_not_read_a_blinding_variable() -> None:
    square = ProductBlock("square", np.array([3]), np.array([3]), np.array([1]))
    with pytest.raises(StatementError) as error:
        prover.setup(Statement(1, 0, (square,), segments=(Segment("root", 1),)))
    assert error.value.code == "statement.blinding"


def test_challenges_need_a_segment() -> None:
    with pytest.raises(StatementError) as error:
        Statement(1, 0, (), challenges=1)
    assert error.value.code == "statement.challenge_without_segment"


def test_blinding_and_copies_of_the_witness_are_wiped(
    committed: Committed, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[FrArray] = []

    def answer(z: FrArray, challenges: FrArray) -> None:
        answer_committed(z, challenges)
        seen.append(z)

    prover.prove(
        committed.key, committed.statement, committed.witness, openings=committed.openings, answer=answer
    )
    assert not seen[0].any()


# Batches


def test_a_batch_is_judged_claim_by_claim(committed: Committed) -> None:
    good = Claim([56], committed.proof, committed.commitments)
    again = Claim(
        [56],
        prover.prove(
            committed.key,
            committed.statement,
            committed.witness,
            openings=committed.openings,
            answer=answer_committed,
        ).to_bytes(),
        committed.commitments,
    )
    claims = [
        good,
        again,
        Claim([57], committed.proof, committed.commitments),
        Claim([56], committed.proof),
        Claim([56], b"", committed.commitments),
        good,
    ]
    verdicts = verifiers.verify_batch(committed.verifying_key, claims)
    expected = ["ok", "ok", "pairing_mismatch", "commitment_count", "proof_length", "ok"]
    assert [verdict.reason for verdict in verdicts] == expected
    assert [verdict.reason for verdict in verifiers.verify_batch(committed.verifying_key, [good, again])] == [
        "ok"
    ] * 2
    assert verifiers.verify_batch(committed.verifying_key, []) == []


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


def test_a_batch_without_segments() -> None:
    square = ProductBlock("square", np.array([2]), np.array([2]), np.array([1]))
    statement = Statement(1, 1, (square,))
    key = prover.setup(statement)
    claims = [Claim([n * n], prover.prove(key, statement, fr.from_ints([1, n * n, n]))) for n in range(1, 5)]
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
