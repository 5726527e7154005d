"""Euclidean norms, whose roots a prover finds, and what proves that they are no smaller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zenserve.circuits.certificates.draft import Draft
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Tensor, Term


def roots(squares: IntArray) -> IntArray:
    """The least integers whose squares are no less, int64, of ``squares`` from 0 to 2^60."""
    found = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    # A double's root is off by less than 1.
    found += found**2 < squares
    smaller: IntArray = found - ((found > 0) & ((found - 1) ** 2 >= squares))
    return smaller


@dataclass(frozen=True)
class Rooting:
    """The rule that finds the root of ``factor`` times the squares of each column of values of ``shape``,
    [n, entries, columns]."""

    shape: tuple[int, int, int]
    factor: int = 1

    def choose(self, *values: IntArray) -> IntArray:
        (value,) = values
        return roots(self.factor * (value.reshape(self.shape) ** 2).sum(axis=1)).ravel()


def no_smaller(draft: Draft, root: Tensor, squares: Term) -> None:
    """Prove that the square of ``root``, which is range-checked, is at least ``squares``."""
    bits = 2 * root.bound.bits
    squared = draft.product(f"{root.name}/squared", root.shape, 1 << bits, Term(root), Term(root))
    draft.within(
        f"{root.name}/enough", root.shape, bits, Term(squared), Term(squares.tensor, -squares.factor)
    )
