"""Runs the steps of a witness on the processor: ``fill`` over integers, ``solve`` over field elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial, singledispatch
from typing import Final

import numpy as np
from numpy.typing import NDArray

from zenserve.base.parallel import in_turn, run
from zenserve.circuits.r1cs.convolved import parted
from zenserve.circuits.r1cs.linear import Combination, LinearCombinations, Picked, evaluate
from zenserve.circuits.r1cs.steps import (
    BeforeFirstMaximum,
    Choose,
    Clip,
    Compare,
    Constant,
    Counts,
    CrossProducts,
    Digits,
    FirstMaximum,
    Lookup,
    Maximum,
    Multiplicities,
    Operand,
    Pick,
    Product,
    Quotient,
    Step,
    Sum,
    Tabulate,
    operands,
)
from zenserve.kernels import FrArray, csr_multiply, fr
from zenserve.prover.blocks import Csr, Entries
from zenserve.relations.integers import IntArray

# So many integers or elements are made at a time, 512 KiB or half of it, by one thread.
_AT_ONCE: Final = 1 << 16
_ELEMENTS_AT_ONCE: Final = 1 << 13

Variables = NDArray[np.uint32]
_LOWEST_WORD: Final = np.uint64(fr.modulus & (1 << 64) - 1)


def fill(steps: Sequence[Step], z: IntArray, threads: int = 1) -> None:
    """Write the wires of ``steps`` into the assignment ``z``, int64[wires], one step after the other."""
    given = _Integers(z, steps, threads)
    for step in steps:
        _fill(step, given)


def independent(steps: Iterable[Step], wires: int) -> tuple[tuple[Step, ...], ...]:
    """The steps in groups, those of a group in any order: each reads what earlier groups write."""
    groups: list[list[Step]] = []
    # How many groups a wire waits for.
    after = np.zeros(wires, dtype=np.int64)
    for step in steps:
        index = max((_waits(operand, after, len(groups)) for operand in operands(step)), default=0)
        if index == len(groups):
            groups.append([])
        groups[index].append(step)
        after[step.out] = index + 1
    return tuple(map(tuple, groups))


def _waits(operand: Operand, after: IntArray, groups: int) -> int:
    if isinstance(operand, int):
        return 0
    if isinstance(operand, LinearCombinations):
        return groups  # all: it would have to be made to tell what it reads
    read = operand.columns if isinstance(operand, Csr) else operand
    return int(after[read].max(initial=0))


def solve(groups: Iterable[Sequence[Step]], z: FrArray, variables: Variables, threads: int = 1) -> None:
    """The same over field elements: ``z`` uint64[n, 4], Montgomery, the steps in ``independent`` groups.

    ``variables``: uint32[wires], where each wire stands in ``z``.
    """
    for group in groups:
        solved = [(step, _solved(step, partial(_elements, z, variables))) for step in group]
        calls = [
            partial(_write, step, values, z, variables, rows)
            for step, values in solved
            for rows in _in_parts(len(step.out), _ELEMENTS_AT_ONCE)
        ]
        run(calls, min(threads, len(calls)))


class _Integers:
    """An assignment as steps read and write it. Terms that several steps add up are evaluated once."""

    def __init__(self, z: IntArray, steps: Iterable[Step], threads: int) -> None:
        self.z, self.threads = z, threads
        self._readers = Counter(
            id(term) for step in steps for operand in operands(step) for term in _terms(operand)
        )
        self._made: dict[int, IntArray] = {}

    def all(self, operand: Operand) -> IntArray:
        """All of its values; of a constant, the one."""
        if isinstance(operand, int):
            return np.array(operand)
        if isinstance(operand, np.ndarray):
            return self.z[operand]
        if isinstance(operand, Csr):
            return evaluate(operand, self.z)
        return operand.add_up(self._term) if isinstance(operand, Combination) else self._term(operand)

    def rows(self, operand: Operand) -> Integers:
        if isinstance(operand, np.ndarray):
            return lambda rows: self.z[operand[rows]]
        if isinstance(operand, Csr):
            return lambda rows: evaluate(operand, self.z, rows)
        if isinstance(operand, Picked):
            base = self.all(operand.base.compact)
            return lambda rows: base[operand.picks(rows.start, rows.stop)]
        values = self.all(operand)
        return lambda rows: values[rows] if values.ndim else values

    def write(self, step: Step, values: Integers, width: int = 1) -> None:
        """``values`` of each run of its rows, which take ``width`` integers each."""

        def write(rows: slice) -> None:
            self.z[step.out[rows]] = values(rows)

        parts = _in_parts(len(step.out), _AT_ONCE // max(1, width))
        run((partial(write, rows) for rows in parts), min(self.threads, len(parts)))

    def _term(self, term: LinearCombinations) -> IntArray:
        made = self._made.pop(id(term), None)
        if made is None:
            made = term.evaluate(self.z)
        self._readers[id(term)] -= 1
        if self._readers[id(term)] > 0:
            self._made[id(term)] = made
        return made


def _terms(operand: Operand) -> list[LinearCombinations]:
    if isinstance(operand, Combination):
        return [term for _, term in operand.terms]
    return [operand] if isinstance(operand, LinearCombinations) else []


# Some rows of an operand's values.
Integers = Callable[[slice], IntArray]
Elements = Callable[[slice], FrArray]


@singledispatch
def _fill(step: Step, given: _Integers) -> None:
    raise NotImplementedError(f"{step} is no step over integers")


@_fill.register
def _(step: Constant, given: _Integers) -> None:
    given.z[step.out] = step.values


@_fill.register
def _(step: Sum, given: _Integers) -> None:
    given.write(step, given.rows(step.value))


@_fill.register
def _(step: Product, given: _Integers) -> None:
    left, right, rest = (given.rows(operand) for operand in (step.left, step.right, step.rest))
    given.write(step, lambda rows: left(rows) * right(rows) + rest(rows))


@_fill.register
def _(step: Quotient, given: _Integers) -> None:
    numerator, denominator = given.all(step.numerator), given.all(step.denominator)
    given.z[step.out] = np.where(denominator == 0, 0, numerator) // np.where(denominator == 0, 1, denominator)


@_fill.register
def _(step: Digits, given: _Integers) -> None:
    values = given.rows(step.value)
    given.write(
        step, lambda rows: (values(rows)[:, np.newaxis] >> step.shifts) & step.masks, len(step.shifts)
    )


@_fill.register
def _(step: Clip, given: _Integers) -> None:
    values = given.rows(step.value)
    given.write(step, lambda rows: np.clip(values(rows) >> step.shift, step.low, step.high))


@_fill.register
def _(step: Tabulate, given: _Integers) -> None:
    values = given.rows(step.value)
    given.write(step, lambda rows: step.function.apply(values(rows) >> step.shift))


@_fill.register
def _(step: Compare, given: _Integers) -> None:
    values = given.all(step.value)
    given.z[step.out] = values == 0 if step.test == "zero" else values > 0


@_fill.register
def _(step: Maximum, given: _Integers) -> None:
    given.z[step.out] = given.all(step.value).reshape(len(step.out), -1).max(axis=1)


@_fill.register
def _(step: FirstMaximum, given: _Integers) -> None:
    first = given.all(step.value).reshape(len(step.out), -1).argmax(axis=1)
    given.z[step.out] = np.arange(step.out.shape[1]) == first[:, np.newaxis]


@_fill.register
def _(step: BeforeFirstMaximum, given: _Integers) -> None:
    first = given.all(step.value).reshape(len(step.out), -1).argmax(axis=1)
    given.z[step.out] = np.arange(step.out.shape[1]) < first[:, np.newaxis]


@_fill.register
def _(step: Multiplicities, given: _Integers) -> None:
    def found(lookup: Lookup, values: Sequence[Integers], rows: slice) -> IntArray:
        entries = step.table.find([value(rows) // lookup.scale for value in values])
        return entries[entries >= 0]

    calls = [
        partial(found, lookup, [given.rows(value) for value in lookup.values], rows)
        for lookup in step.lookups
        for rows in _in_parts(_count(lookup.values[0]), _AT_ONCE)
    ]
    entries = np.concatenate(list(in_turn(calls, min(given.threads, len(calls)))))
    given.z[step.out] = np.bincount(entries, minlength=len(step.out))


@_fill.register
def _(step: Counts, given: _Integers) -> None:
    places = given.all(step.places)
    inside = (places >= 0) & (places < len(step.out))
    given.z[step.out] = np.bincount(places[inside], minlength=len(step.out))


@_fill.register
def _(step: Pick, given: _Integers) -> None:
    given.z[step.out] = given.all(step.entries).take(given.all(step.places), mode="clip")


@_fill.register
def _(step: Choose, given: _Integers) -> None:
    given.z[step.out] = step.rule.choose(*map(given.all, step.values))


@_fill.register
def _(step: CrossProducts, given: _Integers) -> None:
    left, right = given.rows(step.left), given.rows(step.right)
    count = len(step.slots)
    size = count * step.taps

    def sums(groups: slice) -> IntArray:
        rows = slice(groups.start * size, groups.stop * size)
        a, b = (each(rows).reshape(-1, count, step.taps) for each in (left, right))
        sums = np.zeros(step.out[groups].shape, dtype=np.int64)
        for (i, j), slot in np.ndenumerate(step.slots):
            if slot >= 0:
                sums[:, slot] += (a[:, i] * b[:, j]).sum(axis=1)
        return sums

    given.write(step, sums, size)


def _count(operand: Operand) -> int:
    assert not isinstance(operand, int)  # noqa: S101  narrows the type
    return len(operand) if isinstance(operand, np.ndarray) else operand.rows


@singledispatch
def _solved(step: Step, read: Callable[[Operand], Elements]) -> Elements:
    raise NotImplementedError(f"{step} is no step over field elements")


@_solved.register
def _(step: Sum, read: Callable[[Operand], Elements]) -> Elements:
    return read(step.value)


@_solved.register
def _(step: Product, read: Callable[[Operand], Elements]) -> Elements:
    left, right, rest = read(step.left), read(step.right), read(step.rest)

    def values(rows: slice) -> FrArray:
        product = fr.mul(left(rows), right(rows))
        return product if _is(step.rest, 0) else fr.add(product, rest(rows))

    return values


@_solved.register
def _(step: Quotient, read: Callable[[Operand], Elements]) -> Elements:
    numerator, denominator = read(step.numerator), read(step.denominator)

    def values(rows: slice) -> FrArray:
        inverse = fr.inverse(denominator(rows))
        return inverse if _is(step.numerator, 1) else fr.mul(inverse, numerator(rows))

    return values


def _is(operand: Operand, value: int) -> bool:
    return isinstance(operand, int) and operand == value


def _elements(z: FrArray, variables: Variables, operand: Operand) -> Elements:
    if isinstance(operand, int):
        (element,) = fr.from_ints([operand])
        return lambda rows: element
    if isinstance(operand, np.ndarray):
        return lambda rows: _taken(z, variables[operand[rows]])
    if isinstance(operand, Csr):
        pool = operand.pool_mont
        return lambda rows: _multiply(operand.entries(rows), pool, z, variables)
    if isinstance(operand, Picked):
        base = _elements(z, variables, operand.base.compact)(slice(0, operand.base.rows))
        return lambda rows: base[operand.picks(rows.start, rows.stop)]

    rest, convolved = parted(operand)
    known = [(factor, term.convolve(partial(_integers, z, variables))) for factor, term in convolved]

    def part(start: int, stop: int) -> FrArray:
        total = np.zeros((stop - start, 4), dtype=np.uint64)
        if rest is not None:
            matrix = rest.part(start, stop).matrix()
            total = _multiply(matrix.entries(slice(0, matrix.rows)), matrix.pool_mont, z, variables)
        for factor, sums in known:
            factors = factor if isinstance(factor, int) else factor[start:stop]
            total = fr.add(total, fr.from_int64(factors * sums[start:stop]))
        return total

    def values(rows: slice) -> FrArray:
        width = 1 if rest is None else max(1, rest.width)
        parts = _in_parts(rows.stop - rows.start, _AT_ONCE // width)
        return np.concatenate([part(rows.start + each.start, rows.start + each.stop) for each in parts])

    return values


def _integers(z: FrArray, variables: Variables, wires: IntArray) -> IntArray:
    """Return the values of these wires, which must be less than 2^63 from zero, int64."""
    words = fr.to_canonical(z.take(variables[wires], axis=0))
    negative = words[..., 1:].any(axis=-1)
    integers: IntArray = np.where(negative, words[..., 0] - _LOWEST_WORD, words[..., 0]).view(np.int64)
    return integers


def _multiply(entries: Entries, pool: FrArray, z: FrArray, variables: Variables) -> FrArray:
    offsets, columns, coefficients = entries
    return csr_multiply(offsets, variables.take(columns), coefficients, pool, z)


def _taken(z: FrArray, places: Variables) -> FrArray:
    found = _adjacent(places)
    # Indexing rows by numbers is far slower than ``take``.
    return z[found] if isinstance(found, slice) else z.take(places, axis=0)


def _write(step: Step, values: Elements, z: FrArray, variables: Variables, rows: slice) -> None:
    z[_adjacent(variables[step.out[rows]])] = values(rows)


def _adjacent(places: Variables) -> slice | Variables:
    """The same places as a slice where they follow each other."""
    first, stop = int(places[0]), int(places[-1]) + 1
    together = stop - first == len(places) and (places[1:] == places[:-1] + 1).all()
    return slice(first, stop) if together else places


def _in_parts(rows: int, at_once: int) -> list[slice]:
    at_once = max(1, at_once)
    return [slice(start, min(start + at_once, rows)) for start in range(0, rows, at_once)]
