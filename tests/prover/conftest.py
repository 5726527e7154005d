from __future__ import annotations

import pytest

import kernels
import prover
from tests.prover.statements import CUBIC_Z, Example, cubic_statement


@pytest.fixture(scope="session")
def example() -> Example:
    statement = cubic_statement()
    key = prover.setup(statement)
    proof = prover.prove(key, statement, kernels.fr.from_ints(CUBIC_Z))
    return Example(statement, CUBIC_Z, CUBIC_Z[1 : 1 + statement.public], key, proof)
