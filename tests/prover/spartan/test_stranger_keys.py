"""A stranger's key names the true circuit by its digest, and gives it other sizes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from tests.prover.spartan.test_verifier import SMALL, plain
from tests.prover.statements import CUBIC_Z, csr, cubic_statement
from zenserve.kernels import fr
from zenserve.prover.blocks import ProductBlock, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.spartan.layout import SystemMatrices, sizes_of
from zenserve.prover.spartan.proving import prove
from zenserve.verifier.spartan.code import LOG_BLOWUP, MOST_LOG_DEGREE, Code
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.key import SpartanKey
from zenserve.verifier.spartan.system import SpartanVerifier
from zenserve.verifier.system import Claim


def system(challenges: int, segment: int) -> ConstraintSystem:
    """x = 3, p = y, and x² = p at a challenge c: y is 9. Variables: 1 | y | c | x, p, blinding | c p, c x."""
    one, y, c, x, p, _, t, q = range(8)
    return ConstraintSystem(
        1,
        2,
        (
            ProductBlock("weighted", np.array([c, c]), np.array([p, x]), np.array([t, q])),
            ProductBlock("square", np.array([q]), np.array([x]), np.array([t])),
            SparseBlock("known", csr([{x: 1}, {p: 1}]), csr([{one: 1}, {one: 1}]), csr([{one: 3}, {y: 1}])),
        ),
        challenges=challenges,
        segments=(Segment("s", segment),),
    )


def dropped() -> tuple[SparseBlock | ProductBlock, ...]:
    """The same rows without what reads the challenge. Variables: 1 | y | x, p, blinding | c p, c x."""
    one, y, x, p, _, t, q = range(7)
    return (
        SparseBlock("weighted", csr([{}, {}]), csr([{p: 1}, {x: 1}]), csr([{t: 1}, {q: 1}])),
        ProductBlock("square", np.array([q]), np.array([x]), np.array([t])),
        SparseBlock("known", csr([{x: 1}, {p: 1}]), csr([{one: 1}, {one: 1}]), csr([{one: 3}, {y: 1}])),
    )


def forged(true: ConstraintSystem, fake: ConstraintSystem, z: list[int]) -> tuple[SpartanKey, bytes]:
    key = SpartanKey(true.digest, sizes_of(fake), SMALL.code, None)
    object.__setattr__(fake, "survey", type("S", (), {"digest": true.digest})())
    return SpartanKey.from_json(key.to_json()), prove(fake, key.shape, fr.from_ints(z))


@pytest.mark.parametrize("kernels", [False, True])
def test_a_key_that_makes_a_challenge_a_choice(kernels: bool) -> None:
    true, fake = system(1, 2), system(0, 3)
    # c = 0 is the prover's own: y may be anything.
    z = [1, 1000, 0, 3, 1000, 0, 0, 0]
    if kernels:
        # What is at no place of the key's shape is 0 to them.
        fake, z = ConstraintSystem(1, 2, dropped(), 0, (Segment("s", 2),)), [1, 1000, 3, 1000, 0, 0, 0]
    key, proof = forged(true, fake, z)
    stranger = SpartanVerifier()
    stranger.keep(SystemMatrices(true) if kernels else plain(true))
    assert not stranger.verify(key, Claim([1000], proof, []))


def test_a_key_of_fewer_rows() -> None:
    """No verdict, but ``ValueError``."""
    true = system(1, 2)
    fake = ConstraintSystem(1, 2, true.blocks[:1], true.challenges, true.segments)
    key, proof = forged(true, fake, [1, 1000, 0, 0, 0, 0, 0, 0])
    stranger = SpartanVerifier()
    stranger.keep(plain(true))
    assert not stranger.verify(key, Claim([1000], proof, []))


def test_the_longest_rows_take_little() -> None:
    """A proof does not grow with its rows, and a stranger's key may say that they are long."""
    system = cubic_statement()
    code = Code(FR, MOST_LOG_DEGREE, MOST_LOG_DEGREE + LOG_BLOWUP)
    key = SpartanKey(system.digest, sizes_of(system), code, None)
    proof, public = prove(system, key.shape, fr.from_ints(list(CUBIC_Z))), list(CUBIC_Z[1:3])
    stranger = SpartanVerifier()
    stranger.keep(plain(system))
    tracemalloc.start()
    try:
        assert stranger.verify(key, Claim(public, proof, []))
        assert not stranger.verify(key, Claim(public, bytes(len(proof)), []))
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
