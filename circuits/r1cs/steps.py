"""The steps that fill in a witness, as data: a list of a few vector operations on named groups of wires.

The steps of three phases run one after the other (``zenserve.circuits.r1cs.builder``): on integers, int64; on
field elements before the challenges are drawn; and on field elements after that. A step writes the wires
``out`` of the assignment z from wires that earlier steps have written; ``name`` says which group they are.
``Sum``, ``Product`` and ``Quotient`` mean the same in all phases, the others are steps of the first.

Formulas have an index r for the rows of operands. Nothing here computes anything:
``zenserve.circuits.r1cs.execution`` does so on the processor. Values of a ``Constant`` may be secret: no step
shows its arrays when it is printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Final, Literal, NamedTuple

import numpy as np

from zenserve.circuits.r1cs.linear import LinearCombinations
from zenserve.circuits.r1cs.table import Table
from zenserve.prover.blocks import Csr
from zenserve.relations.functions import Rule, Tabulation
from zenserve.relations.integers import IntArray

# What a step reads, a value for each row: an integer that is the same in all of them, the wires int64[rows],
# or linear combinations of wires. ``LinearCombinations.part`` makes any rows of these as a sparse matrix,
# whatever they are kept as; those that are large are never made as a whole. ``Convolved`` terms are evaluated
# over integers in every phase: of those whose weights are wires there are no such rows.
Operand = int | IntArray | Csr | LinearCombinations


@dataclass(frozen=True, eq=False)
class Step:
    """``out``: the wires that it writes, int64[rows] unless a kind says otherwise. ``name``: of their group,
    or of the tensor that they hold."""

    name: str
    out: IntArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Constant(Step):
    """``z[out] = values``, arrays of one shape."""

    values: IntArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Sum(Step):
    """``z[out[r]] = value[r]``"""

    value: Operand = field(repr=False)


@dataclass(frozen=True, eq=False)
class Product(Step):
    """``z[out[r]] = left[r] · right[r] + rest[r]``"""

    left: Operand = field(repr=False)
    right: Operand = field(repr=False)
    rest: Operand = field(default=0, repr=False)


@dataclass(frozen=True, eq=False)
class Quotient(Step):
    """``z[out[r]] = numerator[r] / denominator[r]``, and 0 where the denominator is 0.

    Among integers, where denominators are not negative, its floor.
    """

    numerator: Operand = field(repr=False)
    denominator: Operand = field(repr=False)


@dataclass(frozen=True, eq=False)
class Digits(Step):
    """``z[out[r, i]] = (value[r] >> shifts[i]) & masks[i]``: binary digits, limbs, remainders, and with the
    mask -1 floors of quotients. ``out``: int64[rows, digits]."""

    value: Operand = field(repr=False)
    shifts: IntArray = field(repr=False)
    masks: IntArray = field(repr=False)

    @classmethod
    def of(cls, name: str, out: IntArray, value: Operand, bits: int = 1) -> Digits:
        """As many digits in base 2^bits as ``out`` has columns, lowest first."""
        count = out.shape[1]
        return cls(name, out, value, bits * np.arange(count), np.full(count, (1 << bits) - 1))

    @classmethod
    def floor(cls, name: str, out: IntArray, value: Operand, shift: int) -> Digits:
        """``z[out[r]] = floor(value[r] / 2^shift)``"""
        return cls(name, out[:, np.newaxis], value, np.array([shift]), np.array([-1]))

    @classmethod
    def remainder(cls, name: str, out: IntArray, value: Operand, bits: int) -> Digits:
        """``z[out[r]] = value[r] mod 2^bits``"""
        return cls.of(name, out[:, np.newaxis], value, bits)


@dataclass(frozen=True, eq=False)
class Clip(Step):
    """``z[out[r]] = clip(value[r] >> shift, low, high)``"""

    value: Operand = field(repr=False)
    shift: int
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class Tabulate(Step):
    """``z[out[r]] = function(value[r] >> shift)``"""

    value: Operand = field(repr=False)
    function: Tabulation = field(repr=False)
    shift: int = 0


@dataclass(frozen=True, eq=False)
class Compare(Step):
    """``z[out[r]] = [value[r] = 0]``, or ``[value[r] > 0]`` where ``test`` is "positive"."""

    value: Operand = field(repr=False)
    test: Literal["zero", "positive"]


@dataclass(frozen=True, eq=False)
class Maximum(Step):
    """``z[out[i]] = max_j value[n i + j]`` over j < n, for the n times as many rows of ``value``."""

    value: Operand = field(repr=False)


@dataclass(frozen=True, eq=False)
class FirstMaximum(Step):
    """``z[out[i, j]] = [j = argmax_j value[n i + j]]``, the first of equals; ``out``: int64[groups, n]."""

    value: Operand = field(repr=False)


@dataclass(frozen=True, eq=False)
class BeforeFirstMaximum(Step):
    """``z[out[i, j]] = [j < argmax_j value[n i + j]]``, likewise; ``out``: int64[groups, n - 1]."""

    value: Operand = field(repr=False)


@dataclass(frozen=True, eq=False)
class Lookup:
    """The tuples ``values`` / ``scale``, row by row; ``scale`` divides them."""

    values: tuple[Operand, ...] = field(repr=False)
    scale: int


@dataclass(frozen=True, eq=False)
class Multiplicities(Step):
    """``z[out[j]] =`` how many of the rows of all lookups are row j of the table."""

    table: Table = field(repr=False)
    lookups: tuple[Lookup, ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Counts(Step):
    """``z[out[j]] =`` how many rows of ``places`` are j."""

    places: Operand = field(repr=False)


@dataclass(frozen=True, eq=False)
class Pick(Step):
    """``z[out[r]] = entries[places[r]]``; beyond either end the entry at that end."""

    entries: Operand = field(repr=False)
    places: Operand = field(repr=False)


@dataclass(frozen=True, eq=False)
class CrossProducts(Step):
    """``z[out[g, s]] = sum_(i, j: slots[i, j] = s) sum_k left[g, i, k] · right[g, j, k]``

    for operands with ``taps`` rows k for each i, in groups g of as many i as ``slots``, int64[n, n], has. A
    pair with the slot -1 is in no sum.
    """

    left: Operand = field(repr=False)
    right: Operand = field(repr=False)
    taps: int
    slots: IntArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Choose(Step):
    """``z[out] = rule.choose(*operands)``, entry by entry."""

    values: tuple[Operand, ...] = field(repr=False)
    rule: Rule = field(repr=False)


_OPERANDS: Final = {"value", "left", "right", "rest", "numerator", "denominator", "entries", "places"}


def operands(step: Step) -> Iterator[Operand]:
    """Yield the operands that a step reads."""
    for each in fields(step):
        if each.name in _OPERANDS:
            yield getattr(step, each.name)
    if isinstance(step, Multiplicities):
        yield from (value for lookup in step.lookups for value in lookup.values)
    if isinstance(step, Choose):
        yield from step.values


class Steps(NamedTuple):
    """The steps of a witness, by phase."""

    integer: tuple[Step, ...]
    field: tuple[Step, ...]
    post_challenge: tuple[Step, ...]
