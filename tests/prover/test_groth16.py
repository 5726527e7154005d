"""Setup and prove, judged by the exponents, by both verifiers, and by what they must refuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings

from tests.prover.statements import CUBIC_Z, Example, R, csr, cubic_statement, satisfied
from tests.prover.vectors import folded
from tests.refusals import refuses
from zenserve import kernels
from zenserve.base import parallel
from zenserve.errors import Cancelled, StatementError
from zenserve.kernels import FrArray, fr, g1, g2
from zenserve.prover import groth16
from zenserve.prover.blocks import SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import ProvingKey, proving, proving_key, qap, reference, trusted_setup
from zenserve.prover.groth16.reference import Trapdoor

TRAPDOOR = Trapdoor(tau=0x1234567, alpha=R - 3, beta=2**200 + 1, gamma=77, delta=2**254 - 5)
BLINDING = (2**130 + 9, R - 12345)


def given_randomness(monkeypatch: pytest.MonkeyPatch, module: object, values: Sequence[int]) -> FrArray:
    """Make ``module`` draw ``values``; the array it draws, to see it wiped."""
    drawn = fr.from_ints(values)
    monkeypatch.setattr(module, "random_elements", lambda count: drawn[:count])
    return drawn


def points(group: kernels.Group, exponents: Sequence[int]) -> np.ndarray:
    """The generator's multiples, by plain scalar multiplication."""
    base = np.broadcast_to(group.generator, (len(exponents), *group.shape))
    return group.mul(np.ascontiguousarray(base), fr.from_ints(exponents))


@settings(max_examples=20)
@given(satisfied())
def test_keys_and_proofs_are_what_the_exponents_say(case: tuple[ConstraintSystem, list[int]]) -> None:
    system, z = case
    with pytest.MonkeyPatch.context() as patch:
        given_randomness(patch, trusted_setup, TRAPDOOR[:5])
        key = groth16.setup(system)
        given_randomness(patch, proving, BLINDING)
        proof = groth16.prove(key, system, fr.from_ints(z))
        given_randomness(patch, proving, BLINDING)
        bare = replace(key, quotient_multiples=key.quotient[:0])
        assert groth16.prove(bare, system, fr.from_ints(z)) == proof

    expected = reference.key_exponents(system, TRAPDOOR)
    in_a = [j for j, value in enumerate(expected["a"]) if value]
    in_b = [j for j, value in enumerate(expected["b"]) if value]
    assert key.a_columns.tolist() == in_a
    assert key.b_columns.tolist() == in_b
    assert np.array_equal(key.a, points(g1, [expected["a"][j] for j in in_a]))
    assert np.array_equal(key.b_g1, points(g1, [expected["b"][j] for j in in_b]))
    assert np.array_equal(key.b_g2, points(g2, [expected["b"][j] for j in in_b]))
    assert np.array_equal(key.private, points(g1, [value for value in expected["private"] if value]))
    absent = [j for j, value in enumerate(expected["private"], system.first_private) if not value]
    assert key.absent.tolist() == absent
    assert np.array_equal(key.quotient, points(g1, expected["quotient"]))
    assert np.array_equal(key.quotient_multiples, proving_key.multiples(key.quotient, threads=1))
    assert np.array_equal(key.beta_g1, points(g1, [TRAPDOOR.beta]))
    assert np.array_equal(key.delta_g1, points(g1, [TRAPDOOR.delta]))

    verifying_key = key.verifying_key
    assert verifying_key.alpha_g1 == g1.compress(points(g1, [TRAPDOOR.alpha]))
    assert verifying_key.beta_g2 == g2.compress(points(g2, [TRAPDOOR.beta]))
    assert verifying_key.gamma_g2 == g2.compress(points(g2, [TRAPDOOR.gamma]))
    assert verifying_key.delta_g2 == g2.compress(points(g2, [TRAPDOOR.delta]))
    assert b"".join(verifying_key.ic) == g1.compress(points(g1, expected["public"]))

    a, b, c = reference.proof_exponents(system, TRAPDOOR, z, *BLINDING)
    assert proof.a == g1.compress(points(g1, [a]))
    assert proof.b == g2.compress(points(g2, [b]))
    assert proof.c == g1.compress(points(g1, [c]))


@settings(max_examples=30)
@given(satisfied())
def test_honest_witnesses_always_prove(case: tuple[ConstraintSystem, list[int]]) -> None:
    system, z = case
    key = groth16.setup(system)
    proof = groth16.prove(key, system, fr.from_ints(z))
    assert groth16.verify(key.verifying_key, z[1 : 1 + system.public], proof).reason == "ok"


@pytest.mark.parametrize(
    ("rows", "public"),
    [
        (rows, public)
        for rows in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33)
        for public in (0, 1, 3)
        if rows > public
    ],
)
def test_sizes_around_powers_of_two(rows: int, public: int) -> None:
    """``rows`` counts the extra rows of the constant one and the public inputs."""
    constraints = rows - 1 - public
    factors = csr([{1 + public: 1} for _ in range(constraints)])
    nines = csr([{0: 9} for _ in range(constraints)])
    system = ConstraintSystem(public, 1, (SparseBlock("squares", factors, factors, nines),))
    z = [1, *range(10, 10 + public), 3]
    key = groth16.setup(system)
    assert len(key.quotient) == max(2, 1 << (rows - 1).bit_length())
    proof = groth16.prove(key, system, fr.from_ints(z))
    assert groth16.verify(key.verifying_key, z[1:-1], proof).reason == "ok"


def test_one_constraint_without_inputs_or_private_variables() -> None:
    one = csr([{0: 1}])
    system = ConstraintSystem(0, 0, (SparseBlock("trivial", one, one, one),))
    key = groth16.setup(system)
    proof = groth16.prove(key, system, fr.from_ints([1]))
    assert groth16.verify(key.verifying_key, [], proof).reason == "ok"
    assert reference.verify(key.verifying_key, [], proof).reason == "ok"


def test_more_threads_prove_the_same_statement() -> None:
    system = cubic_statement()
    key = groth16.setup(system, threads=2)
    proof = groth16.prove(key, system, fr.from_ints([1, 35, 4, 3, 9, 27]), threads=2)
    assert groth16.verify(key.verifying_key, [35, 4], proof).reason == "ok"


def test_two_proofs_of_one_witness_share_no_group_element(example: Example) -> None:
    other = groth16.prove(example.key, example.system, example.witness)
    assert groth16.verify(example.verifying_key, example.public, other)
    for name in ("a", "b", "c"):
        assert getattr(example.proof, name) != getattr(other, name)


def test_two_setups_share_no_point(example: Example) -> None:
    other = groth16.setup(example.system).verifying_key
    mine = example.verifying_key
    for name in ("alpha_g1", "beta_g2", "gamma_g2", "delta_g2"):
        assert getattr(mine, name) != getattr(other, name)
    assert not set(mine.ic) & set(other.ic)


@pytest.mark.parametrize("variable", range(1, 6))
@pytest.mark.parametrize("change", [1, R - 1])
def test_an_unsatisfied_witness_is_refused_by_row(example: Example, variable: int, change: int) -> None:
    z = list(example.z)
    z[variable] = (z[variable] + change) % R
    row = reference.check(example.system, z)
    assert row is not None
    with refuses("statement.unsatisfied") as error:
        groth16.prove(example.key, example.system, fr.from_ints(z))
    assert row in error.value.message


@pytest.mark.parametrize("constant", [0, 2, R - 1])
def test_the_constant_one_must_be_one(constant: int) -> None:
    """With z[0] free, z[0]·z[0] = z[0]·z[0] would hold for any value and the public inputs would scale."""
    one = csr([{0: 1}])
    system = ConstraintSystem(0, 0, (SparseBlock("trivial", one, one, csr([{0: constant}])),))
    key = groth16.setup(system)
    with refuses("statement.witness_constant"):
        groth16.prove(key, system, fr.from_ints([constant]))


def test_a_key_of_another_statement_is_refused(example: Example) -> None:
    square, cube, sums = example.system.blocks
    other = ConstraintSystem(2, 3, (cube, square, sums))
    with refuses("statement.key_mismatch", "proving_key"):
        groth16.prove(example.key, other, example.witness)


def test_a_key_that_counts_other_inputs_is_refused() -> None:
    """Its digest is what its file says. The statement has folded inputs, and the key shows them."""
    system = folded.statement()
    key = groth16.setup(system)
    other = replace(key, verifying_key=replace(key.verifying_key, folded=0))
    with refuses("statement.key_mismatch", "proving_key"):
        groth16.prove(other, system, fr.from_ints([0] * system.variables))


def test_too_many_rows_are_refused_before_any_work() -> None:
    class Huge:
        name, rows = "huge", 2**30

    with refuses("statement.too_large"):
        groth16.setup(ConstraintSystem(0, 0, (Huge(),)))  # type: ignore[arg-type]


def test_roots_of_unity_are_those_of_the_transforms() -> None:
    for log_size in (1, 2, 10):
        assert np.array_equal(qap.root_of_unity(log_size), kernels.Domain(log_size).omega)


SETUP_STAGES = ["lagrange", "columns", "key_g2", "key_g1"]
PROVE_STAGES = ["constraints", "quotient", "msm_quotient", "msm_private", "msm_a", "msm_b_g1", "msm_b_g2"]


class Listener:
    """Records progress; raises ``Cancelled`` when the stage ``stop_at`` reports."""

    def __init__(self, stop_at: str | None = None) -> None:
        self.reports: list[tuple[str, float]] = []
        self.stop_at = stop_at

    def __call__(self, stage: str, fraction: float) -> None:
        self.reports.append((stage, fraction))
        if stage == self.stop_at:
            raise Cancelled

    @property
    def stages(self) -> list[str]:
        return list(dict.fromkeys(stage for stage, _ in self.reports))


def test_progress_names_every_stage_and_never_runs_back(example: Example) -> None:
    setup_listener, prove_listener = Listener(), Listener()
    key = groth16.setup(example.system, progress=setup_listener)
    groth16.prove(key, example.system, example.witness, progress=prove_listener)
    assert setup_listener.stages == SETUP_STAGES
    assert prove_listener.stages == PROVE_STAGES
    for stage in PROVE_STAGES:
        fractions = [fraction for name, fraction in prove_listener.reports if name == stage]
        assert fractions == sorted(fractions)
        assert 0 <= fractions[0] <= fractions[-1] <= 1


def test_keys_and_proofs_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "CHUNK_ROWS", 3)
    system, made = cubic_statement(), []
    for threads in (1, 2, 7):
        given_randomness(monkeypatch, trusted_setup, TRAPDOOR[:5])
        key = groth16.setup(system, threads=threads)
        given_randomness(monkeypatch, proving, BLINDING)
        proof = groth16.prove(key, system, fr.from_ints(CUBIC_Z), threads=threads)
        arrays = [getattr(key, field.name).tobytes() for field in fields(ProvingKey)[1:]]
        made.append((key.verifying_key, arrays, proof))
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("stage", SETUP_STAGES)
def test_setup_stops_where_it_is_told_and_wipes(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trapdoor = given_randomness(monkeypatch, trusted_setup, TRAPDOOR[:5])
    listener = Listener(stop_at=stage)
    with pytest.raises(Cancelled):
        groth16.setup(cubic_statement(), progress=listener)
    assert listener.stages == SETUP_STAGES[: SETUP_STAGES.index(stage) + 1]
    assert not trapdoor.any()


@pytest.mark.parametrize("stage", PROVE_STAGES)
def test_proving_stops_where_it_is_told(example: Example, stage: str) -> None:
    listener = Listener(stop_at=stage)
    with pytest.raises(Cancelled):
        groth16.prove(example.key, example.system, example.witness, progress=listener)
    assert listener.stages == PROVE_STAGES[: PROVE_STAGES.index(stage) + 1]


def test_toxic_waste_and_blinding_are_wiped(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    trapdoor = given_randomness(monkeypatch, trusted_setup, TRAPDOOR[:5])
    groth16.setup(example.system)
    assert not trapdoor.any()
    blinding = given_randomness(monkeypatch, proving, BLINDING)
    groth16.prove(example.key, example.system, example.witness)
    assert not blinding.any()


@pytest.mark.parametrize("satisfied_row", [True, False])
def test_what_derives_from_the_witness_is_wiped(
    example: Example, satisfied_row: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch: list[FrArray] = []
    evaluate = ConstraintSystem.evaluate

    def spy(*args: object, **options: object) -> tuple[FrArray, FrArray, FrArray]:
        arrays = evaluate(*args, **options)  # type: ignore[arg-type]
        scratch.extend(arrays)
        return arrays

    monkeypatch.setattr(ConstraintSystem, "evaluate", spy)
    witness = example.witness
    if satisfied_row:
        groth16.prove(example.key, example.system, witness)
    else:
        witness[-1] = witness[0]
        with pytest.raises(StatementError):
            groth16.prove(example.key, example.system, witness)
    assert len(scratch) == 3
    assert not any(array.any() for array in scratch)
    assert witness.any(axis=1).all()


def test_a_trapdoor_that_would_break_the_setup_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    root = reference.exponents.roots_of_unity(16)[3]
    bad = [[root, 2, 3, 4, 5], [1, 2, 3, 4, 5], *([7 * (i != k) for i in range(5)] for k in range(5))]
    draws: Iterator[FrArray] = iter([*(fr.from_ints(values) for values in bad), fr.from_ints(TRAPDOOR[:5])])
    monkeypatch.setattr(trusted_setup, "random_elements", lambda _: next(draws))
    assert fr.to_ints(trusted_setup._draw_trapdoor(3)) == list(TRAPDOOR[:5])
    assert next(draws, None) is None
