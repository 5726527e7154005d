"""What the tests of segments share: a known trapdoor, and shorthands for the running example."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from py_arkworks_bls12381 import G1Point

from tests.prover import verifiers
from tests.prover.statements import Committed, R, complete_committed
from zenserve.kernels import FrArray, fr, g1
from zenserve.prover import groth16
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import (
    CommitmentKey,
    Opening,
    PostChallenge,
    Proof,
    ProvingKey,
    Verdict,
    trusted_setup,
)
from zenserve.prover.groth16.reference import Trapdoor

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


def setup_with(trapdoor: Trapdoor, system: ConstraintSystem, basis: CommitmentKey | None) -> ProvingKey:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trusted_setup, "random_elements", lambda count: fr.from_ints(flat(trapdoor)[:count]))
        return groth16.setup(system, basis=basis)


def point(data: bytes) -> G1Point:
    return G1Point.from_compressed_bytes(data)


def compressed(p: G1Point) -> bytes:
    return bytes(p.to_compressed_bytes())


def key_point(points: np.ndarray, index: int) -> G1Point:
    return point(g1.compress(points[index : index + 1]))


def prove(
    case: Committed,
    witness: FrArray | None = None,
    openings: Sequence[Opening] | None = None,
    post_challenge: PostChallenge = complete_committed,
) -> Proof:
    return groth16.prove(
        case.key,
        case.system,
        case.witness if witness is None else witness,
        openings=case.openings if openings is None else openings,
        post_challenge=post_challenge,
    )


def verdict_on(
    case: Committed, proof: Proof, commitments: Sequence[bytes] | None = None, y: int = 56
) -> Verdict:
    outside = case.commitments if commitments is None else tuple(commitments)
    return verifiers.verify(case.verifying_key, [y], proof, outside)


def reason(case: Committed, proof: Proof, commitments: Sequence[bytes] | None = None, y: int = 56) -> str:
    return verdict_on(case, proof, commitments, y).reason
