"""Runs the steps of a witness on the processor: ``fill`` over integers, ``solve`` over field elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import singledispatch
from typing import Final

import numpy as np

from circuits.r1cs.linear import LinearCombinations, Picked, evaluate
from circuits.r1cs.steps import (
    BeforeFirstMaximum,
    Clip,
    Compare,
    Constant,
    Counts,
    CrossProducts,
    Digits,
    FirstMaximum,
    Maximum,
    Multiplicities,
    Operand,
    Pick,
    Product,
    Quotient,
    Step,
    Sum,
    Tabulate,
)
from kernels import FrArray, fr
from prover.blocks import Csr
from relations.integers import IntArray

# So many values are made at a time where operands or results would be large as a whole.
_AT_ONCE: Final = 1 << 16


def fill(steps: Iterable[Step], z: IntArray) -> None:
    """Write the wires of ``steps`` into the assignment ``z``, int64[wires], one step after the other."""
    for step in steps:
        _fill(step, z)


def solve(steps: Iterable[Step], z: FrArray, threads: int = 1) -> None:
    """The same over field elements, ``z`` uint64[wires, 4], Montgomery."""
    for step in steps:
        _solve(step, z, threads)


@singledispatch
def _fill(step: Step, z: IntArray) -> None:
    raise NotImplementedError(f"{step} is no step over integers")


@_fill.register
def _(step: Constant, z: IntArray) -> None:
    z[step.out] = step.values


@_fill.register
def _(step: Sum, z: IntArray) -> None:
    z[step.out] = _integers(step.value, z)


@_fill.register
def _(step: Product, z: IntArray) -> None:
    left, right, rest = (_integer_rows(operand, z) for operand in (step.left, step.right, step.rest))
    for rows in _in_parts(len(step.out)):
        z[step.out[rows]] = left(rows) * right(rows) + rest(rows)


@_fill.register
def _(step: Quotient, z: IntArray) -> None:
    numerator, denominator = _integers(step.numerator, z), _integers(step.denominator, z)
    z[step.out] = np.where(denominator == 0, 0, numerator) // np.where(denominator == 0, 1, denominator)


@_fill.register
def _(step: Digits, z: IntArray) -> None:
    values = _integers(step.value, z)
    for rows in _in_parts(len(step.out), len(step.shifts)):
        z[step.out[rows]] = (values[rows, np.newaxis] >> step.shifts) & step.masks


@_fill.register
def _(step: Clip, z: IntArray) -> None:
    z[step.out] = np.clip(_integers(step.value, z) >> step.shift, step.low, step.high)


@_fill.register
def _(step: Tabulate, z: IntArray) -> None:
    z[step.out] = step.function.apply(_integers(step.value, z) >> step.shift)


@_fill.register
def _(step: Compare, z: IntArray) -> None:
    values = _integers(step.value, z)
    z[step.out] = values == 0 if step.test == "zero" else values > 0


@_fill.register
def _(step: Maximum, z: IntArray) -> None:
    z[step.out] = _integers(step.value, z).reshape(len(step.out), -1).max(axis=1)


@_fill.register
def _(step: FirstMaximum, z: IntArray) -> None:
    first = _integers(step.value, z).reshape(len(step.out), -1).argmax(axis=1)
    z[step.out] = np.arange(step.out.shape[1]) == first[:, np.newaxis]


@_fill.register
def _(step: BeforeFirstMaximum, z: IntArray) -> None:
    first = _integers(step.value, z).reshape(len(step.out), -1).argmax(axis=1)
    z[step.out] = np.arange(step.out.shape[1]) < first[:, np.newaxis]


@_fill.register
def _(step: Multiplicities, z: IntArray) -> None:
    counts = np.zeros(len(step.out), dtype=np.int64)
    for lookup in step.lookups:
        rows = step.table.find([_integers(value, z) // lookup.scale for value in lookup.values])
        counts += np.bincount(rows[rows >= 0], minlength=len(counts))
    z[step.out] = counts


@_fill.register
def _(step: Counts, z: IntArray) -> None:
    places = _integers(step.places, z)
    inside = (places >= 0) & (places < len(step.out))
    z[step.out] = np.bincount(places[inside], minlength=len(step.out))


@_fill.register
def _(step: Pick, z: IntArray) -> None:
    z[step.out] = _integers(step.entries, z).take(_integers(step.places, z), mode="clip")


@_fill.register
def _(step: CrossProducts, z: IntArray) -> None:
    left, right = _integer_rows(step.left, z), _integer_rows(step.right, z)
    count = len(step.slots)
    size = count * step.taps
    for groups in _in_parts(len(step.out), size):
        rows = slice(groups.start * size, groups.stop * size)
        a, b = (each(rows).reshape(-1, count, step.taps) for each in (left, right))
        sums = np.zeros(step.out[groups].shape, dtype=np.int64)
        for (i, j), slot in np.ndenumerate(step.slots):
            if slot >= 0:
                sums[:, slot] += (a[:, i] * b[:, j]).sum(axis=1)
        z[step.out[groups]] = sums


@singledispatch
def _solve(step: Step, z: FrArray, threads: int) -> None:
    raise NotImplementedError(f"{step} is no step over field elements")


@_solve.register
def _(step: Sum, z: FrArray, threads: int) -> None:
    z[step.out] = _element_rows(step.value, z, threads)(slice(0, len(step.out)))


@_solve.register
def _(step: Product, z: FrArray, threads: int) -> None:
    operands = step.left, step.right, step.rest
    left, right, rest = (_element_rows(operand, z, threads) for operand in operands)
    made = any(isinstance(operand, LinearCombinations) for operand in operands)
    for rows in _in_parts(len(step.out)) if made else [slice(0, len(step.out))]:
        product = fr.mul(left(rows), right(rows), threads)
        z[step.out[rows]] = product if _is_zero(step.rest) else fr.add(product, rest(rows), threads)


@_solve.register
def _(step: Quotient, z: FrArray, threads: int) -> None:
    rows = slice(0, len(step.out))
    inverse = fr.inverse(_element_rows(step.denominator, z, threads)(rows), threads)
    z[step.out] = fr.mul(inverse, _element_rows(step.numerator, z, threads)(rows), threads)


def _is_zero(operand: Operand) -> bool:
    return isinstance(operand, int) and operand == 0


# Some rows of an operand's values.
Integers = Callable[[slice], IntArray]
Elements = Callable[[slice], FrArray]


def _integers(operand: Operand, z: IntArray) -> IntArray:
    """All of its values; of a constant, the one."""
    if isinstance(operand, int):
        return np.array(operand)
    if isinstance(operand, np.ndarray):
        return z[operand]
    return evaluate(operand, z) if isinstance(operand, Csr) else operand.evaluate(z)


def _integer_rows(operand: Operand, z: IntArray) -> Integers:
    if isinstance(operand, np.ndarray):
        return lambda rows: z[operand[rows]]
    if isinstance(operand, Picked):
        base = _integers(operand.base.compact, z)
        return lambda rows: base[operand.picks(rows.start, rows.stop)]
    values = _integers(operand, z)
    return lambda rows: values[rows] if values.ndim else values


def _element_rows(operand: Operand, z: FrArray, threads: int) -> Elements:
    if isinstance(operand, int):
        (element,) = fr.from_ints([operand])
        return lambda rows: element
    if isinstance(operand, np.ndarray):
        return lambda rows: z[operand[rows]]
    if isinstance(operand, Csr):
        values = operand.multiply(z, threads)
        return lambda rows: values[rows]
    if isinstance(operand, Picked):
        base = _element_rows(operand.base.compact, z, threads)(slice(0, operand.base.rows))
        return lambda rows: base[operand.picks(rows.start, rows.stop)]
    return lambda rows: operand.part(rows.start, rows.stop).matrix().multiply(z, threads)


def _in_parts(rows: int, width: int = 1) -> Iterator[slice]:
    """``rows`` of so many values each, a part after the other."""
    at_once = max(1, _AT_ONCE // max(1, width))
    return (slice(start, min(start + at_once, rows)) for start in range(0, rows, at_once))
