"""Keys, proofs and openings with segments: their forms, and what is refused of them."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from py_arkworks_bls12381 import G2Point

from tests.prover import verifiers
from tests.prover.segments import compressed, key_point, point, prove, reason
from tests.prover.statements import Committed, R, commitment_basis, committed_statement, complete_committed
from tests.refusals import refuses
from zenserve.errors import FileFormatError, StatementError
from zenserve.kernels import FrArray, fr, g1
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
    trusted_setup,
)
from zenserve.prover.groth16.commitment import blinding_point


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
        with refuses("file.unsafe_key", field):
            replace(key, segments=segments)


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
        with refuses("file.unsafe_key"):
            replace(key, **changes)


def test_a_key_with_segments_survives_its_forms(committed: Committed, tmp_path: Path) -> None:
    key = replace(committed.verifying_key, contributions=(bytes(range(32)), bytes(32)))
    assert VerifyingKey.from_bytes(key.to_bytes()) == key
    assert VerifyingKey.from_json(key.to_json()) == key
    committed.key.save(tmp_path / "key")
    proof = prove(committed._replace(key=ProvingKey.load(tmp_path / "key")))
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
    with refuses("statement.basis"):
        groth16.setup(committed_statement())
    with refuses("statement.basis"):
        groth16.setup(committed_statement(linked=False), basis=commitment_basis(2))
    longer = ConstraintSystem(1, 0, (), 1, (Segment("model", 3, linked=True),))
    with refuses("statement.basis_length"):
        groth16.setup(longer, basis=commitment_basis(2))
    with refuses("statement.basis_length"):
        commitment_basis(2).commit(fr.from_ints([1, 2, 3]))


def test_openings_are_counted(committed: Committed) -> None:
    for openings in ((), committed.openings[:1], committed.openings * 2):
        with refuses("statement.openings"):
            prove(committed, openings=openings)


def test_a_row_may_not_read_a_blinding_variable() -> None:
    square = ProductBlock("square", np.array([3]), np.array([3]), np.array([1]))
    with refuses("statement.blinding"):
        groth16.setup(ConstraintSystem(1, 0, (square,), segments=(Segment("root", 1),)))


def test_a_link_needs_a_challenge(committed: Committed) -> None:
    """Without, (cm + t H, π + t k_2 H) is another valid link, made by anyone from the proving key."""
    with refuses("statement.link_without_challenge"):
        ConstraintSystem(1, 0, (), segments=(Segment("model", 1, linked=True),))
    with refuses("file.shape", "challenges"):
        replace(committed.verifying_key, challenges=0)

    last_of_link = key_point(committed.key.links, 3)  # k_2 H of the model
    cm = compressed(point(committed.commitments[0]) + point(g1.compress(blinding_point())))
    relinked = replace(
        committed.proof,
        links=(compressed(point(committed.proof.links[0]) + last_of_link), committed.proof.links[1]),
    )
    assert reason(committed, relinked, [cm, committed.commitments[1]]) == "pairing_mismatch"


@pytest.mark.parametrize("tau", [1, -1, 0])
def test_a_basis_of_known_tau_is_refused(committed: Committed, tau: int) -> None:
    with refuses("statement.basis"):
        commitment_basis(3, tau % R)
    with pytest.raises(StatementError):
        CommitmentKey(committed.basis.points[1:], committed.basis.tau_g2)
    with pytest.raises(StatementError):
        CommitmentKey(committed.basis.points[:1], committed.basis.tau_g2)
    with pytest.raises(StatementError):
        CommitmentKey(committed.basis.points, commitment_basis(2, 0x5EEE).tau_g2)
    for other in (g1.compress(g1.generator), committed.verifying_key.alpha_g1):
        with refuses("file.unsafe_key", "basis"):
            replace(committed.verifying_key, basis=other)


def test_equal_points_for_two_public_inputs_are_refused(committed: Committed) -> None:
    one, y, c = committed.verifying_key.ic
    negated = compressed(-point(y))
    for ic in ((one, y, y), (one, y, negated), (one, one, c)):
        with refuses("file.unsafe_key"):
            replace(committed.verifying_key, ic=ic)


def test_what_is_ill_typed_is_refused_as_a_file_is(committed: Committed) -> None:
    key, (first, *_) = committed.verifying_key, committed.verifying_key.segments
    changes: list[dict[str, Any]] = [
        {"ic": list(key.ic)},
        {"alpha_g1": bytearray(key.alpha_g1)},
        {"challenges": True},
        {"segments": list(key.segments)},
        {"segments": key.segments * 86},
        {"basis": None},
        {"basis": b"", "segments": key.segments[2:]},
        {"basis": bytes(48)},
        {"contributions": ["00" * 32]},
        {"contributions": (b"short",)},
        {"setup": None},
    ]
    for change in changes:
        with pytest.raises(FileFormatError):
            replace(key, **change)
    for part in ({"size": -1}, {"size": 1.0}, {"link_g2": (first.knowledge_g2,)}, {"knowledge_g2": None}):
        with pytest.raises(FileFormatError):
            replace(first, **part)
    data = key.to_bytes()
    linked = data.index((2).to_bytes(4, "little") + (1).to_bytes(4, "little"), 500) + 4
    with pytest.raises(FileFormatError):
        VerifyingKey.from_bytes(data[:linked] + b"\7" + data[linked + 1 :])


def test_a_proof_whose_parts_do_not_fit_is_none(committed: Committed) -> None:
    proof = committed.proof
    changes: list[dict[str, Any]] = [
        {"a": None},
        {"b": "00"},
        {"segments": list(proof.segments)},
        {"segments": (), "knowledge": ()},
        {"knowledge": proof.knowledge[:1]},
        {"links": proof.links * 2},
        {"segments": proof.segments * 86, "knowledge": proof.knowledge * 86},
    ]
    for change in changes:
        with refuses("encoding.proof_shape"):
            replace(proof, **change)
    header = proof.to_bytes()[:16]
    plain = header + b"\0\0" + proof.a + proof.b + proof.c
    assert reason(committed, plain) == "proof_length"  # type: ignore[arg-type]


def test_openings_of_another_kind_are_refused(committed: Committed) -> None:
    good, other = committed.openings
    for bad in (
        Opening(good.commitment[:-1], good.blinding),
        Opening(good.commitment, good.blinding[:3]),
        Opening(good.commitment, None),  # type: ignore[arg-type]
    ):
        with refuses("statement.openings"):
            prove(committed, openings=[bad, other])


def test_keys_and_proofs_travel_between_processes(committed: Committed) -> None:
    assert pickle.loads(pickle.dumps(committed.verifying_key)) == committed.verifying_key  # noqa: S301
    assert pickle.loads(pickle.dumps(committed.proof)) == committed.proof  # noqa: S301


def test_challenges_need_a_segment() -> None:
    with refuses("statement.challenge_without_segment"):
        ConstraintSystem(1, 0, (), challenges=1)


def recorded(patch: pytest.MonkeyPatch, owner: object, names: Sequence[str]) -> list[np.ndarray]:
    """Everything that the functions ``names`` of ``owner`` return from now on."""
    arrays: list[np.ndarray] = []

    def record(name: str) -> Any:
        original = getattr(owner, name)

        def call(*args: Any, **options: Any) -> Any:
            result = original(*args, **options)
            arrays.append(result)
            return result

        return call

    for name in names:
        patch.setattr(owner, name, record(name))
    return arrays


def test_setup_leaves_no_part_of_a_link_and_no_secret_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    made = recorded(monkeypatch, g1, ["mul", "fixed_base"])
    drawn = recorded(monkeypatch, trusted_setup, ["random_elements"])
    key = groth16.setup(committed_statement(), basis=commitment_basis(2))
    monkeypatch.undo()
    assert not any(array.any() for array in drawn)
    sections = ("a", "b_g1", "private", "quotient", "segments", "knowledge", "links", "quotient_multiples")
    arrays = [getattr(key, name) for name in sections]
    arrays += [key.beta_g1, key.delta_g1, key.alpha_g1, g1.decompress(b"".join(key.verifying_key.ic))]
    public = {element.tobytes() for array in arrays for element in array}
    public |= {bytes(96), *(element.tobytes() for element in commitment_basis(2).points)}
    assert len(made) >= 4
    assert all(element.tobytes() in public for array in made for element in array)


def test_proving_leaves_no_blinding_behind(committed: Committed, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = recorded(monkeypatch, proving, ["random_elements"])
    prove(committed)
    assert len(drawn) == 4
    assert not any(array.any() for array in drawn)


def test_blinding_and_copies_of_the_witness_are_wiped(
    committed: Committed, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[FrArray] = []

    def complete(z: FrArray, challenges: FrArray) -> None:
        complete_committed(z, challenges)
        seen.append(z)

    prove(committed, post_challenge=complete)
    assert not seen[0].any()
