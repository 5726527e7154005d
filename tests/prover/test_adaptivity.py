"""The guard against values chosen after the challenge: attacked by hand, and compared with a slow twin."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.prover.statements import R, csr
from tests.refusals import refuses
from zenserve.errors import StatementError
from zenserve.prover.blocks import Csr, ProductBlock, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment

# 1 | public | challenges | segment, blinding | segment, blinding | private
ONE, PUBLIC, C, D, S, _S_BLINDING, T, _T_BLINDING, U, V, W, X, Y = range(13)
SEGMENTS = (Segment("s", 1), Segment("t", 1))
Row = tuple[dict[int, int], dict[int, int], dict[int, int]]
# The same with entries that add up, each a variable and its coefficient.
Entries = Sequence[tuple[int, int]]
Listed = tuple[Entries, Entries, Entries]
# Makes V touched, and W a function of it.
USE_V: Row = ({C: 1}, {V: 1}, {W: 1})


def listed(parts: Sequence[Entries]) -> Csr:
    """A matrix that names a column as often as its rows do."""
    entries = [entry for part in parts for entry in part]
    pool = tuple(sorted({value for _, value in entries}))
    return Csr(
        np.cumsum([0, *map(len, parts)]),
        np.array([variable for variable, _ in entries], dtype=np.uint32),
        np.array([pool.index(value) for _, value in entries], dtype=np.uint32),
        pool,
    )


def refused(*rows: Row) -> int | None:
    """The variable that the guard names."""
    return judged(SparseBlock("rows", *(csr([row[part] for row in rows]) for part in range(3))))[0]


def judged(*blocks: SparseBlock) -> tuple[int | None, set[int]]:
    """The variable that the guard names; else None, and what it finds fixed."""
    try:
        fixed = ConstraintSystem(1, 5, blocks, 2, SEGMENTS).fixed
    except StatementError as error:
        named = re.search(r"reads private\[(\d+)\], which the prover may still choose", error.message)
        return U + int(named[1]) if named else -1, set()
    return None, set(np.flatnonzero(fixed).tolist())


ADAPTIVE: dict[str, tuple[list[Row], int]] = {
    "free": ([USE_V], V),
    "free, read through a sum": ([({C: 1}, {V: 1, S: 1}, {W: 1})], V),
    "two in one check": ([({C: 1}, {V: 1}, {W: 1, S: 3})], V),
    "bits that nothing fixes": ([({V: 1}, {V: 1}, {V: 1}), USE_V], V),
    "a chain from the challenge back": (
        [({ONE: 1}, {V: 1, S: 1}, {X: 1}), ({ONE: 1}, {X: 2}, {Y: 1}), ({C: 1}, {Y: 1}, {W: 1})],
        V,
    ),
    "bits of a value that a check determines": (
        [({C: 1}, {V: 1}, {S: 1}), ({ONE: 1}, {X: 1, Y: 2}, {V: 1}), ({X: 1}, {X: 1}, {X: 1})],
        X,
    ),
    "a root": ([({V: 1}, {V: 1}, {S: 1}), USE_V], V),
    "on both sides": ([({V: 1}, {S: 1}, {V: 1, T: 1}), USE_V], V),
    "a coefficient that is r": ([({ONE: 1}, {S: 1}, {V: R}), USE_V], V),
    "a factor that may be zero": ([({S: 1}, {V: 1}, {PUBLIC: 1}), USE_V], V),
    "a factor that may be zero, product zero": ([({S: 1}, {V: 1}, {}), USE_V], V),
    "a factor that is zero": ([({}, {V: 1}, {S: 1}), USE_V], V),
    "a constant that is r": ([({ONE: R}, {V: 1}, {S: 1}), USE_V], V),
    "a product that is r": ([({S: 1}, {V: 1}, {ONE: R}), USE_V], V),
    "a constant beside a value": ([({S: 1, ONE: 1}, {V: 1}, {T: 1}), USE_V], V),
    "a challenge less itself": ([({C: 1}, {ONE: 1}, {X: 1}), ({C: 1, X: -1}, {V: 1}, {S: 1}), USE_V], V),
    "a challenge less itself, in two steps": (
        [
            ({C: 1}, {S: 1}, {X: 1}),
            ({X: 1}, {T: 1}, {Y: 1}),
            ({C: 1, Y: 1}, {V: 1}, {S: 1}),
            USE_V,
        ],
        V,
    ),
    "two names for one product": (
        [({C: 1}, {D: 1}, {X: 1}), ({D: 1}, {C: 1}, {Y: 1}), ({X: 1, Y: -1}, {V: 1}, {S: 1}), USE_V],
        V,
    ),
    "a factor that depends on a challenge": (
        [({C: 1}, {S: 1}, {X: 1}), ({X: 1}, {V: 1}, {T: 1}), USE_V],
        V,
    ),
    "a circle": ([({ONE: 1}, {V: 1}, {X: 1, S: 1}), ({ONE: 1}, {X: 1}, {V: 1, S: -1}), USE_V], V),
    "a challenge as a product": ([({V: 1}, {X: 1}, {C: 1})], V),
    "determined by what is free": ([({ONE: 1}, {U: 1}, {V: 1}), USE_V], U),
}

SAFE: dict[str, list[Row]] = {
    "no row at all": [],
    "a private value far from the challenge": [({C: 1}, {S: 1}, {W: 1}), ({U: 1}, {U: 1}, {S: 1, X: 1})],
    "a copy of a committed value": [({ONE: 1}, {S: 1}, {V: 1}), USE_V],
    "a copy, scaled": [({ONE: 3}, {V: 5}, {S: 1, PUBLIC: 2}), USE_V],
    "a product of committed values": [({S: 1}, {T: 1}, {V: 1}), USE_V],
    "a chain of products": [({S: 1}, {T: 1}, {X: 1}), ({X: 1, ONE: 4}, {X: 1}, {V: 2, S: 1}), USE_V],
    "an inverse": [({S: 1}, {V: 1}, {ONE: 1}), USE_V],
    "an inverse, the other way": [({V: 1}, {S: 1, T: 1}, {ONE: 7}), USE_V],
    "an inverse at the challenge": [({C: 1, S: -1}, {V: 1}, {ONE: 1})],
    "a quotient at the challenge": [({V: 1}, {C: 1, ONE: -4}, {S: 1})],
    "a quotient at one of two challenges": [
        ({D: 1}, {S: 1}, {X: 1}),
        ({V: 1}, {C: 1, X: -1}, {S: 1}),
    ],
    "the same value determined twice": [({ONE: 1}, {S: 1}, {V: 1}), ({C: 1}, {T: 1}, {V: 1})],
    "a quotient at a challenge, beside what another one determines": [
        ({C: 1}, {S: 1}, {X: 1}),
        ({D: 1}, {S: 1}, {Y: 1}),
        ({V: 1}, {D: 1, X: -1}, {S: 1}),
    ],
    "two challenges that cannot cancel": [({C: 1, D: -1}, {V: 1}, {S: 1})],
    "a value that only a check determines": [({C: 1}, {S: 1}, {V: 1, T: 1})],
}


@pytest.mark.parametrize("name", ADAPTIVE)
def test_what_could_be_chosen_after_the_challenge_is_refused(name: str) -> None:
    rows, variable = ADAPTIVE[name]
    assert refused(*rows) == variable
    mirrored = [(b, a, c) for a, b, c in reversed(rows)]
    assert refused(*mirrored) == variable


@pytest.mark.parametrize("name", SAFE)
def test_what_is_determined_is_accepted(name: str) -> None:
    assert refused(*SAFE[name]) is None
    assert refused(*[(b, a, c) for a, b, c in reversed(SAFE[name])]) is None


@pytest.mark.parametrize("coefficients", [(1, -1), (3, R - 3), (1, 1, R - 2), (R - 1, 1)])
def test_duplicates_that_cancel_determine_nothing(coefficients: tuple[int, ...]) -> None:
    canceling = [(V, value) for value in coefficients]
    cases = [
        # S = V - V + ..., and (C - C) V = S.
        (listed([[(ONE, 1)]]), listed([[(S, 1)]]), listed([canceling])),
        (listed([[(C, value) for value in coefficients]]), listed([[(V, 1)]]), listed([[(S, 1)]])),
        (listed([[(ONE, value) for value in coefficients]]), listed([[(V, 1)]]), listed([[(S, 1)]])),
    ]
    use = SparseBlock("use", *(csr([part]) for part in USE_V))
    for matrices in cases:
        with pytest.raises(StatementError, match=r"reads private\[1\]"):
            ConstraintSystem(1, 5, (SparseBlock("cancels", *matrices), use), 2, SEGMENTS)


def test_duplicates_that_do_not_cancel_count_once() -> None:
    twice = SparseBlock("twice", csr([{ONE: 1}]), csr([{S: 1}]), listed([[(V, 1), (V, 2)]]))
    use = SparseBlock("use", *(csr([part]) for part in USE_V))
    ConstraintSystem(1, 5, (twice, use), 2, SEGMENTS)


def test_of_rows_that_determine_a_variable_at_once_the_first_says_what_it_depends_on() -> None:
    by_c: Row = ({C: 1}, {S: 1}, {X: 1})
    by_d: Row = ({D: 1}, {T: 1}, {X: 1})
    quotient: Row = ({V: 1}, {D: 1, X: -1}, {S: 1})
    assert refused(by_c, by_d, quotient) is None
    assert refused(by_d, by_c, quotient) == V


def test_the_layout_names_the_variable() -> None:
    block = SparseBlock("rows", *(csr([part]) for part in USE_V))
    with refuses("statement.adaptive", match=r"reads weights\[0, 1\], which"):
        ConstraintSystem(1, 5, (block,), 2, SEGMENTS, {"weights": np.array([[U, V], [W, X]])})


def test_more_challenges_than_dependences_are_told_apart() -> None:
    """Beyond 63 they share a bit: refused where in doubt, never accepted."""
    count = 70
    first = 2
    s = first + count
    v, w, x = s + 2, s + 3, s + 4
    product = ({first + 68: 1}, {s: 1}, {x: 1})
    use = ({first: 1}, {v: 1}, {w: 1})

    def build(rows: list[Row]) -> ConstraintSystem:
        block = SparseBlock("rows", *(csr([row[part] for row in rows]) for part in range(3)))
        return ConstraintSystem(1, 3, (block,), count, (Segment("s", 1),))

    for challenge, accepted in ((5, True), (62, True), (68, False), (69, False)):
        rows = [product, ({first + challenge: 1, x: 1}, {v: 1}, {s: 1}), use]
        if accepted:
            build(rows)
        else:
            with pytest.raises(StatementError, match="reads private"):
                build(rows)


def added_up(part: Entries) -> set[int]:
    """The variables whose coefficients do not cancel."""
    sums: Counter[int] = Counter()
    for variable, value in part:
        sums[variable] += value
    return {variable for variable, total in sums.items() if total % R}


def slow_guard(
    rows: Sequence[Listed], challenges: set[int], private: set[int]
) -> tuple[int | None, set[int]]:
    """The rule of ``zenserve.prover.adaptivity`` over sets: what it names, and what is fixed.

    In rounds, since several rows may determine a variable.
    """
    parts = [tuple(added_up(part) for part in row) for row in rows]
    depends: dict[int, set[int]] = {c: {c} for c in challenges}

    def factor_stands(factor: set[int], product: set[int]) -> bool:
        if factor == {ONE} or product == {ONE}:
            return True
        others = set().union(*(depends.get(v, set()) for v in factor - challenges))
        return bool((factor & challenges) - others)

    def determine(known: set[int], usable: list[tuple[set[int], ...]]) -> None:
        while True:
            found: dict[int, set[int]] = {}
            for a, b, c in usable:
                unknown = (a | b | c) - known
                if len(unknown) != 1:
                    continue
                (v,) = unknown
                where = (v in a, v in b, v in c)
                solves = (
                    where == (False, False, True)
                    or (where == (True, False, False) and factor_stands(b, c))
                    or (where == (False, True, False) and factor_stands(a, c))
                )
                if solves and v not in found:
                    found[v] = set().union(*(depends.get(u, set()) for u in a | b | c))
            if not found:
                return
            depends.update(found)
            known.update(found)

    fixed = set(range(U)) - challenges
    determine(fixed, [row for row in parts if not set().union(*row) & challenges])
    touched: set[int] = set()
    while True:
        spread = {
            v
            for row in parts
            if set().union(*row) & (challenges | touched)
            for v in set().union(*row) - fixed - challenges
        }
        if spread <= touched:
            break
        touched |= spread
    known = fixed | challenges
    determine(known, parts)
    assert touched <= private
    return min(touched - known, default=None), fixed


PRIVATE = (U, V, W, X, Y)
NAMES = (ONE, PUBLIC, C, D, S, T, *PRIVATE)
names, hidden = st.sampled_from(NAMES), st.sampled_from(PRIVATE)
coefficients = st.sampled_from([1, -1, 2, R, R - 1])
parts = st.lists(st.tuples(names, coefficients), max_size=3)
# Rows that determine something, so that longer chains come up than by chance: products of what stands
# before the product, or of anything, and quotients.
before = hidden.flatmap(lambda v: st.tuples(*2 * [st.sampled_from(NAMES[: NAMES.index(v)])], st.just(v)))
definitions: st.SearchStrategy[Listed] = st.builds(
    lambda row: ([(row[0], 1)], [(row[1], 1)], [(row[2], 1)]), before | st.tuples(names, names, hidden)
)
quotients = st.builds(lambda a, b, v, c: ([(a, 1), (b, -1)], [(v, 1)], [(c, 1)]), names, names, hidden, names)


@st.composite
def doubled(draw: st.DrawFn, rows: st.SearchStrategy[Listed]) -> Listed:
    """One of ``rows`` with a second term in a variable that it holds, if any: often one that cancels."""
    row, place = draw(rows), draw(st.integers(0, 2))
    more = [(name, draw(st.sampled_from([value, -value, R - value]))) for name, value in row[place][:1]]
    a, b, c = ([*part, *more] if place == index else part for index, part in enumerate(row))
    return a, b, c


some_row: st.SearchStrategy[Listed] = definitions | quotients | st.tuples(parts, parts, parts)
# Blocks of random rows, in random order, and the sides of all products exchanged or not.
statements = st.lists(st.lists(definitions | some_row | doubled(some_row), max_size=4), max_size=4)


@settings(max_examples=300)
@given(statements, st.booleans())
def test_the_fast_guard_is_the_slow_one(blocks: list[list[Listed]], mirrored: bool) -> None:
    if mirrored:
        blocks = [[(b, a, c) for a, b, c in block] for block in blocks]
    rows = [row for block in blocks for row in block]
    expected, fixed = slow_guard(rows, {C, D}, set(PRIVATE))
    touched = any(added_up(part) & {C, D} for row in rows for part in row)
    event(f"{'touched' if touched else 'untouched'}, {'refused' if expected else 'accepted'}")
    event(f"{len(fixed.intersection(PRIVATE))} private fixed")
    made = (
        SparseBlock("rows", *(listed([row[part] for row in block]) for part in range(3))) for block in blocks
    )
    assert judged(*made) == (expected, fixed if expected is None else set())


def test_a_large_statement_is_judged_quickly() -> None:
    """2·10^5 rows: products of committed values, inverses at the challenge, and sums of these."""
    n = 100_000
    values = np.arange(3, 3 + n)
    first = 3 + n + 1
    squares, inverses = np.arange(first, first + n), np.arange(first + n, first + 2 * n)
    row = np.arange(n)
    rows, columns = np.tile(row, 2), np.concatenate([np.full(n, 2), squares])
    factor = Csr.from_entries(n, rows, columns, np.repeat([1, -1], n))
    blocks = (
        ProductBlock("squares", values, values, squares),
        SparseBlock("inverses", Csr.selection(inverses), factor, Csr.selection(np.zeros(n, np.int64))),
    )
    start = time.process_time()
    ConstraintSystem(1, 2 * n, blocks, 1, (Segment("s", n),))
    assert time.process_time() - start < 2, "about a tenth of a second when nothing else runs"
    with pytest.raises(StatementError, match="reads private"):
        ConstraintSystem(1, 2 * n, blocks[1:], 1, (Segment("s", n),))
