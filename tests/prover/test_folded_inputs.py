"""Statements with folded inputs: rows bind the fold to what is committed to, and it is not random."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.prover.statements import csr
from tests.refusals import refuses
from zenserve.prover.blocks import SparseBlock
from zenserve.prover.constraint_file import load_statement, save_statement
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.folding import horner

# 1 | public | challenges, fold | inputs, another value, blinding | private
ONE, S, C, D, Y, X1, X2, X3, Z, _BLINDING, P, Q, V, W = range(14)
INPUTS = np.array([X1, X2, X3])
Row = tuple[Mapping[int, int], Mapping[int, int], Mapping[int, int]]
HORNER: tuple[Row, ...] = (({X3: 1}, {C: 1}, {P: 1, X2: -1}), ({P: 1}, {C: 1}, {Y: 1, X1: -1}))


def block(*rows: Row) -> SparseBlock:
    return SparseBlock("rows", *(csr([dict(row[part]) for row in rows]) for part in range(3)))


def statement(
    *blocks: SparseBlock, folded: int = 3, challenges: int = 3, linked: bool = False, size: int = 4
) -> ConstraintSystem:
    return ConstraintSystem(1, 4, blocks, challenges, (Segment("inputs", size, linked),), folded=folded)


def test_the_rows_of_horner_are_enough() -> None:
    by_hand = statement(block(*HORNER))
    made = statement(SparseBlock("rows", *horner(INPUTS, np.array([P]), C, Y)))
    assert by_hand.folded == made.folded == 3
    statement(block(({ONE: 1}, {S: 1}, {Q: 1}), *HORNER))
    statement(block(({ONE: 1}, {S: 1}, {Q: 1})), block(*HORNER))


def changed(row: int, part: int, terms: Mapping[int, int]) -> SparseBlock:
    rows = [list(each) for each in HORNER]
    rows[row][part] = terms
    return block(*((a, b, c) for a, b, c in rows))


WRONG: dict[str, SparseBlock] = {
    "no rows": block(({ONE: 1}, {S: 1}, {Q: 1})),
    "the last row alone": block(HORNER[1]),
    "the first row alone": block(HORNER[0]),
    "not the last rows": block(*HORNER, ({ONE: 1}, {S: 1}, {Q: 1})),
    "in another order": block(*reversed(HORNER)),
    "another input": changed(0, 2, {P: 1, X1: -1}),
    "an input less": changed(0, 2, {P: 1}),
    "a value that is no input": changed(0, 0, {Z: 1}),
    "an input twice": changed(1, 2, {Y: 1, X1: -2}),
    "an input with the other sign": changed(1, 2, {Y: 1, X1: 1}),
    "another sum": changed(1, 0, {Q: 1}),
    "a sum that is nothing": changed(1, 0, {}),
    "two sums": changed(1, 0, {P: 1, Q: 1}),
    "another challenge": changed(1, 1, {D: 1}),
    "the fold for a challenge": changed(1, 1, {Y: 1}),
    "a challenge less one": changed(1, 1, {C: 1, ONE: -1}),
    "another fold": changed(1, 2, {Q: 1, X1: -1}),
    "twice the fold": changed(1, 2, {Y: 2, X1: -1}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_statement_whose_rows_do_not_fold_its_inputs_is_refused(name: str, tmp_path: Path) -> None:
    with refuses("statement.fold"):
        statement(WRONG[name])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ConstraintSystem, "__post_init__", lambda self: None)
        save_statement(tmp_path / "statement", statement(WRONG[name]))
    with refuses("statement.fold"):
        load_statement(tmp_path / "statement")


def test_counts_that_do_not_fit_are_refused() -> None:
    rows = block(*HORNER)
    for wrong in (dict[str, Any](folded=4), dict[str, Any](linked=True), dict[str, Any](size=2)):
        with refuses("statement.fold"):
            statement(rows, **wrong)
    with refuses("statement.fold"):
        ConstraintSystem(1, 4, (rows,), 3, folded=3)
    for challenges in (0, 1):
        with refuses("statement.fold"):
            ConstraintSystem(1, 6, (rows,), challenges, (Segment("inputs", 4),), folded=3)
    one = block(({X1: 1}, {ONE: 1}, {Y: 1}))
    with refuses("statement.fold"):
        statement(one, folded=1)


# Each makes V follow from what is before the challenges, if its first factor cannot vanish.
VANISHING: dict[str, tuple[Row, ...]] = {
    "the fold": (({Y: 1}, {V: 1}, {S: 1}),),
    "the fold, in B": (({V: 1}, {Y: 1}, {S: 1}),),
    "the fold less the challenge that it is at": (({C: 1, Y: -1}, {V: 1}, {S: 1}),),
    "a multiple of the fold": (({Y: 1}, {Z: 1}, {Q: 1}), ({Q: 1}, {V: 1}, {S: 1})),
}
SAFE: dict[str, tuple[Row, ...]] = {
    "a drawn challenge": (({C: 1}, {V: 1}, {S: 1}),),
    "another drawn challenge less the fold": (({D: 1, Y: -1}, {V: 1}, {S: 1}),),
    "a value that the fold determines": (({Y: 1}, {S: 1}, {V: 1}),),
}


@pytest.mark.parametrize("name", VANISHING)
def test_a_fold_is_not_random(name: str) -> None:
    """The prover chooses inputs of which it is zero, or the challenge itself."""
    with refuses("statement.adaptive", match="reads private"):
        statement(block(*VANISHING[name], ({D: 1}, {V: 1}, {W: 1}), *HORNER))


@pytest.mark.parametrize("name", SAFE)
def test_what_random_challenges_determine_is_accepted(name: str) -> None:
    statement(block(*SAFE[name], ({D: 1}, {V: 1}, {W: 1}), *HORNER))
