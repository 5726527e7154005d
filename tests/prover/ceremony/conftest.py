from __future__ import annotations

import pytest

from tests.prover.ceremony.support import Case, contribute_known, known_powers
from tests.prover.statements import COMMITTED_Z, CUBIC_Z, committed_statement, cubic_statement
from tests.prover.vectors import folded
from zenserve.prover.groth16 import ceremony
from zenserve.prover.groth16.ceremony import State
from zenserve.prover.groth16.powers_of_tau import PowersOfTau


@pytest.fixture(scope="session")
def powers() -> PowersOfTau:
    return known_powers(5)


@pytest.fixture(scope="session", params=["plain", "committed"])
def case(request: pytest.FixtureRequest, powers: PowersOfTau) -> Case:
    """A ceremony of three contributors, whose shares the tests know."""
    if request.param == "plain":
        return three_contributors(Case(cubic_statement(), CUBIC_Z, powers, ()))
    return committed_case(powers)


@pytest.fixture(scope="session")
def committed(powers: PowersOfTau) -> Case:
    return committed_case(powers)


@pytest.fixture(scope="session")
def folding(powers: PowersOfTau) -> Case:
    """A ceremony for a statement three of whose inputs are folded."""
    return three_contributors(Case(folded.statement(), [], powers, ()))


def committed_case(powers: PowersOfTau) -> Case:
    return three_contributors(Case(committed_statement(), COMMITTED_Z, powers, ()))


def three_contributors(case: Case) -> Case:
    states: list[State] = [ceremony.start(case.system, case.powers)]
    for index, name in enumerate(("Ada", "Emmy", "Sofja")):
        states.append(contribute_known(states[-1], name, index))
    return case._replace(states=tuple(states))
