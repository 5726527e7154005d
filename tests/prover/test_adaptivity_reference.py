"""The guard against values chosen after the challenge, held against what it is for.

Give public inputs and segments any values and the challenges random ones, and solve the rows: where the guard
accepts a statement, all that the rows of a challenge can reach has one solution. The guard looks at shapes
alone; here rows are linear equations over Fr, for Gaussian elimination.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.prover.statements import R
from tests.prover.test_adaptivity import (
    ADAPTIVE,
    ONE,
    PRIVATE,
    PUBLIC,
    SAFE,
    C,
    D,
    Listed,
    Row,
    S,
    T,
    added_up,
    judged,
    listed,
    statements,
)
from zenserve.prover.blocks import SparseBlock

# The first three make factors vanish.
VALUES = (0, 1, -1, 0x5EED)


def valued(rows: Iterable[Listed], known: Mapping[int, int]) -> dict[int, int] | None:
    """``known`` and all variables that the rows leave one value; None where the rows contradict them.

    A row with a factor of known value is a linear equation: these are solved until none follows any more.
    """
    known = {ONE: 1, **known}
    while True:
        equations = []
        for a, b, c in ([reduced(part, known) for part in row] for row in rows):
            factor, other = (a, b) if a.keys() <= {ONE} else (b, a)
            if factor.keys() <= {ONE}:
                k = factor.get(ONE, 0)
                equations.append(
                    {v: (k * other.get(v, 0) - c.get(v, 0)) % R for v in other.keys() | c.keys()}
                )
        found = solved(equations)
        if found is None or not found.keys() - known.keys():
            return found and known
        known |= found


def reduced(part: Sequence[tuple[int, int]], known: Mapping[int, int]) -> dict[int, int]:
    """The sum, what is known of it as a multiple of ``ONE``."""
    sums: dict[int, int] = {}
    for variable, value in part:
        variable, value = (ONE, value * known[variable]) if variable in known else (variable, value)
        sums[variable] = (sums.get(variable, 0) + value) % R
    return {variable: value for variable, value in sums.items() if value}


def solved(equations: Sequence[Mapping[int, int]]) -> dict[int, int] | None:
    """What sums that are zero leave one value, ``ONE`` among it; None where there is no solution."""
    pivots: dict[int, dict[int, int]] = {}
    for equation in equations:
        row = eliminated(equation, pivots)
        variable = next((v for v in row if v != ONE), None)
        if variable is None:
            if row:
                return None
            continue
        inverse = pow(row[variable], -1, R)
        row = {v: value * inverse % R for v, value in row.items()}
        pivots = {v: eliminated(pivot, {variable: row}) for v, pivot in pivots.items()} | {variable: row}
    return {ONE: 1} | {v: -row.get(ONE, 0) % R for v, row in pivots.items() if row.keys() <= {v, ONE}}


def eliminated(row: Mapping[int, int], pivots: Mapping[int, Mapping[int, int]]) -> dict[int, int]:
    left = dict(row)
    for variable, pivot in pivots.items():
        factor = left.get(variable, 0)
        for v, value in pivot.items():
            left[v] = (left.get(v, 0) - factor * value) % R
    return {v: value for v, value in left.items() if value}


def before_challenges(rows: Sequence[Listed], given: Mapping[int, int]) -> dict[int, int] | None:
    """What rows without challenges determine."""
    return valued([row for row in rows if not names(row) & {C, D}], given)


def choosable(rows: Sequence[Listed], given: Mapping[int, int], seed: int = 0) -> set[int]:
    """What the prover may still choose of all that a challenge's rows reach."""
    rng = random.Random(seed)
    before = before_challenges(rows, given)
    after = valued(rows, {**given, C: rng.randrange(R), D: rng.randrange(R)})
    if before is None or after is None:
        return set()
    reached = {C, D}
    for _ in PRIVATE:
        reached |= set().union(*(names(row) - before.keys() for row in rows if names(row) & reached))
    return reached - after.keys()


def names(row: Listed) -> set[int]:
    return set().union(*map(added_up, row))


def assignments() -> Iterable[dict[int, int]]:
    for values in itertools.product(VALUES, repeat=3):
        yield dict(zip((PUBLIC, S, T), values, strict=True))


def as_entries(rows: Sequence[Row]) -> list[Listed]:
    return [(list(a.items()), list(b.items()), list(c.items())) for a, b, c in rows]


# Refused for its shape: values for which that factor vanishes contradict the product.
NEEDLESS = {"a challenge less itself, in two steps"}


@pytest.mark.parametrize("name", sorted(ADAPTIVE.keys() - NEEDLESS))
def test_what_the_guard_refuses_can_be_chosen(name: str) -> None:
    rows, variable = ADAPTIVE[name]
    assert any(variable in choosable(as_entries(rows), given) for given in assignments())


@pytest.mark.parametrize("name", SAFE)
def test_what_it_accepts_cannot(name: str) -> None:
    assert not any(choosable(as_entries(SAFE[name]), given) for given in assignments())


@settings(max_examples=300)
@given(statements, st.tuples(*3 * [st.sampled_from(VALUES)]), st.integers(0, 2**32))
def test_a_statement_that_it_accepts_leaves_nothing_to_choose(
    blocks: list[list[Listed]], values: tuple[int, int, int], seed: int
) -> None:
    rows, known = [row for block in blocks for row in block], dict(zip((PUBLIC, S, T), values, strict=True))
    refused, fixed = judged(SparseBlock("rows", *(listed([row[part] for row in rows]) for part in range(3))))
    free = choosable(rows, known, seed)
    event(f"{'accepted' if refused is None else 'refused'}, {len(free)} can be chosen")
    if refused is None:
        before = before_challenges(rows, known)
        assert before is None or fixed.intersection(PRIVATE) <= before.keys()
        assert not free
