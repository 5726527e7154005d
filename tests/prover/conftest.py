from __future__ import annotations

import pytest

from tests.prover.statements import (
    COMMITTED_Z,
    CUBIC_Z,
    Committed,
    Example,
    commitment_basis,
    committed_statement,
    complete_committed,
    cubic_statement,
)
from zenserve import kernels
from zenserve.prover import groth16


@pytest.fixture(scope="session")
def example() -> Example:
    system = cubic_statement()
    key = groth16.setup(system)
    proof = groth16.prove(key, system, kernels.fr.from_ints(CUBIC_Z))
    return Example(system, CUBIC_Z, CUBIC_Z[1 : 1 + system.public], key, proof)


@pytest.fixture(scope="session")
def committed() -> Committed:
    system, basis = committed_statement(), commitment_basis(4)
    key = groth16.setup(system, basis=basis)
    witness = kernels.fr.from_ints(COMMITTED_Z)
    openings = (basis.commit(witness[3:5]), basis.commit(witness[6:7]))
    proof = groth16.prove(key, system, witness, openings=openings, post_challenge=complete_committed)
    return Committed(system, COMMITTED_Z, key, basis, openings, proof)
