"""Who has no witness, but chooses what the oracle answers, makes proofs that nobody tells from others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from tests.prover.spartan.oracle import foreseen, program, programmed
from tests.prover.spartan.reference import Matrix, Noise, Proof
from tests.prover.spartan.shown import Shown, numbers, of_renewal, together
from tests.prover.spartan.simulator import simulate, simulate_renewal
from tests.prover.spartan.toy import (
    ABOUT,
    ABOUT_MATRICES,
    MATRICES,
    OVER,
    PUBLIC,
    ROOTS,
    SHAPE,
    SIZE,
    proof,
    proof_about,
    renewal,
    root,
)
from zenserve.verifier.spartan import shape as geometry
from zenserve.verifier.spartan.renewal import is_renewed
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.spartan.verification import verify

STATEMENTS = {"unlinked": (SHAPE, MATRICES), "linked": (ABOUT, ABOUT_MATRICES)}


def of_zeros(noise: Noise, name: str = "root") -> Matrix:
    return root([0] * SIZE, noise, name)


def simulated(kind: str, noise: Noise, shape: Shape | None = None) -> tuple[Proof, list[bytes]]:
    """And the commitments that it is about."""
    own, matrices = STATEMENTS[kind]
    linked = [of_zeros(noise)] if kind == "linked" else []
    return simulate(shape or own, matrices, [PUBLIC], linked, noise), [each.root for each in linked]


@pytest.fixture(params=[0, 1], ids=["told", "folded"])
def levels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Of rows that are folded, or told."""
    if request.param:
        monkeypatch.setattr(geometry, "MOST_TOLD", 2)
        monkeypatch.setattr(geometry, "_LEAST_TOLD", 1)
    return int(request.param)


@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_proof_without_a_witness_is_accepted(kind: str, levels: int) -> None:
    shape, matrices = STATEMENTS[kind]
    shape = replace(shape)
    with foreseen() as states:
        made, roots = simulated(kind, Noise(OVER, random=Random(1)), shape)
    assert len(shape.folding.levels) == levels

    def verdict() -> bool:
        return bool(verify(shape, matrices, [PUBLIC], roots, made.data))

    answers = program(states, verdict)
    assert len(answers) == len(states)
    with programmed(answers):
        assert verdict()
    assert not verdict()


def test_a_renewal_without_values_is_accepted(levels: int) -> None:
    noise = Noise(OVER, random=Random(1))
    old, new = of_zeros(noise), of_zeros(noise, "new root")
    with foreseen() as states:
        made, openings = simulate_renewal(ROOTS, SIZE, old, new, noise)
    assert len(openings) == 3 + levels

    def holds() -> bool:
        return is_renewed(ROOTS, SIZE, old.root, new.root, made.to_bytes(OVER))

    answers = program(states, holds)
    with programmed(answers):
        assert holds()
    assert not holds()


Show = Callable[[Noise], dict[str, int]]
SHOWN: dict[str, tuple[Show, Show]] = {
    "unlinked": (
        lambda noise: numbers(OVER, proof(0, noise)),
        lambda noise: numbers(OVER, simulated("unlinked", noise)[0]),
    ),
    "linked": (
        lambda noise: numbers(OVER, proof_about(0, noise)),
        lambda noise: numbers(OVER, simulated("linked", noise)[0]),
    ),
    "renewal": (
        lambda noise: of_renewal(OVER, renewal(0, noise)),
        lambda noise: of_renewal(
            OVER, simulate_renewal(ROOTS, SIZE, of_zeros(noise), of_zeros(noise, "new root"), noise)
        ),
    ),
}
"""What is shown by who knows, and by who simulates."""
EVENTS = (("linked", 0), ("linked", 2), ("renewal", 1))
"""Of which no two open a column both, and whose challenges are others."""


def alike(real: Shown, made: Shown) -> bool:
    """Either is uniform on an affine space, at given challenges: whether these are the same."""
    both = Shown(OVER, real.base, real.moves | {f"made: {name}": move for name, move in made.moves.items()})
    return real.rank == made.rank == both.rank and real.can_be(made.base)


@pytest.mark.parametrize("kind", SHOWN)
def test_what_is_simulated_is_distributed_as_what_is_true(kind: str) -> None:
    with foreseen():
        real, made = (Shown.by(OVER, show) for show in SHOWN[kind])
    assert alike(real, made)
    assert not alike(real, made.without("said" if kind != "renewal" else "rows"))


@pytest.mark.large
def test_so_are_as_many_as_a_commitment_has_openings() -> None:
    each = list[tuple[Shown, Shown]]()
    for kind, seed in EVENTS:
        with foreseen(seed):
            first, second = (Shown.by(OVER, show) for show in SHOWN[kind])
        each.append((first, second))
    for some in (each[:2], each[1:]):
        real, made = (together(shown, "tails of root") for shown in zip(*some, strict=True))
        assert alike(real, made)
    real, made = (together(shown, "tails of root") for shown in zip(*each, strict=True))
    assert not alike(real, made)
