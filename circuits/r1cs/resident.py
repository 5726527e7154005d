"""Runs the steps of a witness on a GPU: what ``zenserve.circuits.r1cs.execution`` does on the processor.

What steps read and write is brought there once, as arrays; the values of constants, which may be secret, come
with each witness. Integers are computed step by step; field elements in groups of steps that do not wait for
each other, a group by one product with a sparse matrix, one inversion and one product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, singledispatch
from itertools import accumulate
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from zenserve.base.randomness import Secrets
from zenserve.circuits.r1cs import execution
from zenserve.circuits.r1cs.convolved import Convolved, parted
from zenserve.circuits.r1cs.linear import ONE, LinearCombinations
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
    Maximum,
    Multiplicities,
    Operand,
    Pick,
    Product,
    Quotient,
    Step,
    Steps,
    Sum,
    Tabulate,
)
from zenserve.gpu import integers
from zenserve.gpu.device import Array, Device
from zenserve.gpu.elementwise import ScalarField
from zenserve.gpu.scratch import Scratch
from zenserve.prover.backends.gpu import joined
from zenserve.prover.blocks import Csr
from zenserve.prover.witness import DeviceWitness
from zenserve.relations.integers import IntArray

Take = Callable[[Array], Array]
"""The integers, int64[n], at places, uint32[n]."""


Run = Callable[["_Given"], None]
"""A step on the device."""


class ResidentSteps:
    """``steps`` on ``device``. ``order``: int64[wires], the variable of each wire; ``variables``: of all.
    ``asked``: how many steps the processor is asked in.

    What is launched is the same for all witnesses, and recorded with the first: one launch in place of
    hundreds. So witnesses are made in one place, one at a time, and moved to their own.

    Raises ``ResourceError`` (``resource.gpu_memory``), as its methods do.
    """

    def __init__(self, device: Device, steps: Steps, order: IntArray, variables: int) -> None:
        self._device, self._field = device, ScalarField(device)
        self._shape = variables, 4
        self.asked = sum(isinstance(step, Choose) for step in steps.integer)
        constants = [step for step in steps.integer if isinstance(step, Constant)]
        self._values = np.concatenate([[1], *(step.values.ravel() for step in constants)])
        self._constants = _places(device, np.concatenate([[ONE], *(step.out.ravel() for step in constants)]))
        self._order = _places(device, order)
        operands = _Operands(device)
        self._integer = [_made(step, operands) for step in steps.integer if not isinstance(step, Constant)]
        self._derived, self._challenged = (
            [_Group(device, group, order) for group in execution.independent(phase, len(order))]
            for phase in (steps.field, steps.post_challenge)
        )
        self._alone = Lock()
        device.synchronize()

    def witness(self, wires: IntArray, values: IntArray) -> DeviceWitness:
        """All but what depends on challenges, for the ``values`` of these ``wires``, int64[n] each."""
        device, z = self._device, self._device.empty(self._shape, np.uint64)
        with self._in_turn(), Scratch(device) as scratch:
            derive, _ = self._derive, self._complete  # what has no room has none before a proof begins
            self._integers.place(scratch.brought(self._values), self._constants)
            self._integers.place(scratch.brought(values), device.bring(_indices(wires)))
            derive()
            device.copy(self._z, z)
        return DeviceWitness(device, z)

    def post_challenge(self, z: Array) -> None:
        """Fill in what depends on the challenges, which are there."""
        with self._in_turn():
            complete = self._complete
            self._device.copy(z, self._z)
            complete()
            self._device.copy(self._z, z)

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """For one witness: what it leaves is erased, and the device done with it."""
        with self._alone:
            try:
                yield
            finally:
                for array in (self._integers.z, self._z):
                    self._device.fill(array, 0)
                self._device.synchronize()

    @cached_property
    def _z(self) -> Array:
        return self._device.zeros(self._shape, np.uint64)

    @cached_property
    def _integers(self) -> integers.Assignment:
        return integers.Assignment(self._device, self._device.zeros(len(self._order), np.int64))

    @cached_property
    def _derive(self) -> Callable[[], None]:
        """From inputs and constants among ``_integers`` to ``_z``."""
        z, device = self._z, self._device

        def derive() -> None:
            with Scratch(device) as scratch:
                given = _Given(self._integers, scratch)
                for step in self._integer:
                    step(given)
                self._field.place_int64(given.into.z, self._order, z)
            for group in self._derived:
                group.solve(z)

        return derive if self.asked else device.recorded(derive)

    @cached_property
    def _complete(self) -> Callable[[], None]:
        z = self._z

        def complete() -> None:
            for group in self._challenged:
                group.solve(z)

        return self._device.recorded(complete)


class _Given:
    """The assignment so far, and room for what steps read: what several read is computed once."""

    def __init__(self, into: integers.Assignment, scratch: Scratch) -> None:
        self.into, self.scratch = into, scratch
        self.made: dict[object, Array] = {}

    def take(self, places: Array) -> Array:
        found = self.scratch.integers(len(places))
        integers.take(self.into.device, self.into.z, places, found)
        return found


class _Sums:
    """A ``Convolved`` term on the device; ``order`` says where wires are."""

    def __init__(self, device: Device, term: Convolved, order: IntArray | None = None) -> None:
        def places(wires: IntArray) -> Array:
            return _places(device, wires if order is None else order[wires])

        kernel, sliding = term.kernel, term.kernel.sliding
        self.kernel = integers.Kernel(
            device,
            batch=kernel.batch,
            groups=sliding.groups,
            channels=sliding.image[0],
            outputs=kernel.outputs,
            zero_point=kernel.zero_point,
            image=sliding.image[1:],
            kernel=sliding.kernel,
            positions=sliding.out,
            stride=sliding.stride,
            before=sliding.padding[: len(sliding.kernel)],
            dilation=sliding.dilation or (1,) * len(sliding.kernel),
        )
        self._x, self._wired = places(term.x), term.wired
        own = (term.weight, term.bias)
        self._own = [places(each) if term.wired else device.upload(each.ravel()) for each in own]

    def values(self, take: Take, scratch: Scratch) -> Array:
        weight, bias = map(take, self._own) if self._wired else self._own
        found = scratch.integers(self.kernel.rows)
        self.kernel.slide(take(self._x), weight, bias, found)
        return found


class _Operands:
    """The operands of steps over integers, on ``device``."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._sums: dict[int, _Sums] = {}
        self._values: dict[int, _Values] = {}

    def values(self, operand: Operand, rows: int) -> _Values:
        """``rows``: how many values an integer stands for."""
        if isinstance(operand, int):
            return _Values(self.device, _matrix(operand, rows), [])
        if id(operand) not in self._values:
            rest, convolved = parted(operand) if isinstance(operand, LinearCombinations) else (operand, [])
            terms = [(self._factors(factor), self._sums_of(term)) for factor, term in convolved]
            self._values[id(operand)] = _Values(self.device, None if rest is None else _matrix(rest), terms)
        return self._values[id(operand)]

    def places(self, wires: IntArray) -> Array:
        return _places(self.device, wires)

    def integers(self, values: IntArray) -> Array:
        return self.device.upload(np.ascontiguousarray(values, dtype=np.int64))

    def _factors(self, factor: int | IntArray) -> Array:
        return self.integers(np.atleast_1d(factor))

    def _sums_of(self, term: Convolved) -> _Sums:
        if id(term) not in self._sums:
            self._sums[id(term)] = _Sums(self.device, term)
        return self._sums[id(term)]


class _Values:
    """The values of an operand: a product with a matrix, and factors times sums."""

    def __init__(self, device: Device, matrix: Csr | None, terms: Sequence[tuple[Array, _Sums]]) -> None:
        self._device, self._terms = device, terms
        self._matrix = None
        if matrix is not None:
            pool = np.array(matrix.pool, dtype=np.int64)
            self._matrix = integers.Matrix(device, matrix.offsets, matrix.columns, matrix.coefficients, pool)

    def __call__(self, given: _Given) -> Array:
        if self not in given.made:
            given.made[self] = self._computed(given)
        return given.made[self]

    def _computed(self, given: _Given) -> Array:
        for _, sums in self._terms:
            if sums not in given.made:
                given.made[sums] = sums.values(given.take, given.scratch)
        rows = self._terms[0][1].kernel.rows if self._matrix is None else self._matrix.rows
        total = given.scratch.integers(rows)
        if self._matrix is None:
            self._device.fill(total, 0)
        else:
            self._matrix.multiply(given.into.z, total)
        for factors, sums in self._terms:
            integers.accumulate(self._device, given.made[sums], factors, total)
        return total


@singledispatch
def _made(step: Step, of: _Operands) -> Run:
    """Return the function that runs ``step`` on the device."""
    raise NotImplementedError(f"{step} is no step over integers")


@_made.register
def _(step: Sum, of: _Operands) -> Run:
    value, out = of.values(step.value, len(step.out)), of.places(step.out)
    return lambda given: given.into.place(value(given), out)


@_made.register
def _(step: Product, of: _Operands) -> Run:
    left, right, rest = (of.values(each, len(step.out)) for each in (step.left, step.right, step.rest))
    out = of.places(step.out)
    return lambda given: given.into.products(left(given), right(given), rest(given), out)


@_made.register
def _(step: Quotient, of: _Operands) -> Run:
    numerator, denominator = (of.values(each, len(step.out)) for each in (step.numerator, step.denominator))
    out = of.places(step.out)
    return lambda given: given.into.quotients(numerator(given), denominator(given), out)


@_made.register
def _(step: Digits, of: _Operands) -> Run:
    value, out = of.values(step.value, len(step.out)), of.places(step.out)
    shifts, masks = of.integers(step.shifts), of.integers(step.masks)
    return lambda given: given.into.digits(value(given), shifts, masks, out)


@_made.register
def _(step: Clip, of: _Operands) -> Run:
    value, out = of.values(step.value, len(step.out)), of.places(step.out)
    return lambda given: given.into.clip(value(given), step.shift, step.low, step.high, out)


@_made.register
def _(step: Tabulate, of: _Operands) -> Run:
    value, out = of.values(step.value, len(step.out)), of.places(step.out)
    entries = of.integers(step.function.values)
    return lambda given: given.into.pick(entries, value(given), out, step.shift, step.function.first)


@_made.register
def _(step: Compare, of: _Operands) -> Run:
    value, out = of.values(step.value, len(step.out)), of.places(step.out)
    return lambda given: given.into.compare(value(given), out, positive=step.test == "positive")


@_made.register
def _(step: Maximum, of: _Operands) -> Run:
    value, out = of.values(step.value, len(step.out)), of.places(step.out)
    return lambda given: given.into.largest(value(given), out)


@_made.register(FirstMaximum)
@_made.register(BeforeFirstMaximum)
def _(step: FirstMaximum | BeforeFirstMaximum, of: _Operands) -> Run:
    value, out = of.values(step.value, step.out.size), of.places(step.out)
    before, columns = isinstance(step, BeforeFirstMaximum), step.out.shape[1]
    return lambda given: given.into.first_largest(value(given), columns, out, before=before)


@_made.register
def _(step: Multiplicities, of: _Operands) -> Run:
    steps, first = step.table.index
    table = integers.Table(of.device, steps, first, list(step.table.columns.T[len(steps) :]))
    lookups = [([of.values(value, 1) for value in lookup.values], lookup.scale) for lookup in step.lookups]
    out = of.places(step.out)

    def run(given: _Given) -> None:
        counts = given.scratch.integers(len(out))
        of.device.fill(counts, 0)
        for values, scale in lookups:
            found = [value(given) for value in values]
            keys = given.scratch.integers(len(found[0]))
            table.find(found, scale, keys)
            integers.count(of.device, keys, counts)
        given.into.place(counts, out)

    return run


@_made.register
def _(step: Counts, of: _Operands) -> Run:
    value, out = of.values(step.places, 1), of.places(step.out)

    def run(given: _Given) -> None:
        counts = given.scratch.integers(len(out))
        of.device.fill(counts, 0)
        integers.count(of.device, value(given), counts)
        given.into.place(counts, out)

    return run


@_made.register
def _(step: Pick, of: _Operands) -> Run:
    entries, value, out = (
        of.values(step.entries, 1),
        of.values(step.places, len(step.out)),
        of.places(step.out),
    )
    return lambda given: given.into.pick(entries(given), value(given), out)


@_made.register
def _(step: CrossProducts, of: _Operands) -> Run:
    left, right, out = of.values(step.left, 1), of.values(step.right, 1), of.places(step.out)
    slots, columns = of.integers(step.slots), step.out.shape[1]
    return lambda given: given.into.cross_products(left(given), right(given), slots, step.taps, columns, out)


@_made.register
def _(step: Choose, of: _Operands) -> Run:
    """The rule is Python's: the processor asks it."""
    values = [of.values(value, step.out.size) for value in step.values]
    out = of.places(step.out)

    def run(given: _Given) -> None:
        with Secrets() as secret:
            asked = [secret(of.device.download(value(given))) for value in values]
            chosen = secret(np.ascontiguousarray(step.rule.choose(*asked), dtype=np.int64))
            given.into.place(given.scratch.brought(chosen.ravel()), out)

    return run


class _Group:
    """Steps over field elements that do not wait for each other. ``order``: of wires among the variables."""

    def __init__(self, device: Device, steps: Sequence[Step], order: IntArray) -> None:
        self._device, self._field = device, ScalarField(device)
        quotients: list[Step] = [step for step in steps if isinstance(step, Quotient)]
        products: list[Step] = [_as_product(step) for step in steps if not isinstance(step, Quotient)]
        self._quotients = sum(len(step.out) for step in quotients)
        self._products = sum(len(step.out) for step in products)
        # One under the other: denominators and numerators, left and right sides, and what is added.
        sides = [(quotients, "denominator"), (quotients, "numerator")]
        sides += [(products, side) for side in ("left", "right", "rest")]
        read = [(getattr(step, side), len(step.out)) for each, side in sides for step in each]
        starts = accumulate((rows for _, rows in read), initial=0)
        parts: list[Csr] = []
        self._sums: list[tuple[int, Array, _Sums]] = []
        for (operand, rows), start in zip(read, starts, strict=False):
            rest, convolved = parted(operand) if isinstance(operand, LinearCombinations) else (operand, [])
            matrix = Csr.empty(rows) if rest is None else _matrix(rest, rows)
            parts.append(replace(matrix, columns=order[matrix.columns].astype(np.uint32)))
            for factor, term in convolved:
                factors = device.upload(np.atleast_1d(np.asarray(factor, dtype=np.int64)))
                self._sums.append((start, factors, _Sums(device, term, order)))
        self._matrix = joined(device, parts)
        self._out = _places(device, order[np.concatenate([step.out for step in (*quotients, *products)])])

    def solve(self, z: Array) -> None:
        """Write what the steps say into ``z``, uint64[variables, 4]."""
        with Scratch(self._device) as scratch:
            self._solve(z, scratch)

    def _solve(self, z: Array, scratch: Scratch) -> None:
        def take(places: Array) -> Array:
            found = scratch.integers(len(places))
            field.take_int64(z, places, found)
            return found

        field, q, p = self._field, self._quotients, self._products
        read = scratch.elements(self._matrix.rows)
        self._matrix.multiply(z, read)
        for start, factors, sums in self._sums:
            own = sums.values(take, scratch)
            field.add_int64(own, factors, read[start : start + len(own)])
        found = scratch.elements(q + p)
        quotients, products = found[:q], found[q:]
        field.inverse(read[:q], quotients)
        field.mul(quotients, read[q : 2 * q], quotients)
        left, right, rest = (read[2 * q + i * p : 2 * q + (i + 1) * p] for i in range(3))
        field.mul(left, right, products)
        field.add(products, rest, products)
        field.place(found, self._out, z)


def _as_product(step: Step) -> Product:
    if isinstance(step, Sum):
        return Product(step.name, step.out, step.value, 1)
    if not isinstance(step, Product):
        raise NotImplementedError(f"{step} is no step over field elements")
    return step


def _matrix(operand: Operand, rows: int = 0) -> Csr:
    """The rows of an operand without ``Convolved`` terms, ``rows`` of them where it is an integer."""
    if isinstance(operand, int):
        every = np.zeros(rows, dtype=np.uint32)
        constant = Csr(np.arange(rows + 1), every + np.uint32(ONE), every, (operand,))
        return constant if operand else Csr.empty(rows)
    if isinstance(operand, np.ndarray):
        return Csr.selection(operand)
    return operand if isinstance(operand, Csr) else operand.whole().matrix()


def _places(device: Device, places: IntArray) -> Array:
    return device.upload(_indices(places))


def _indices(places: IntArray) -> NDArray[np.uint32]:
    return places.ravel().astype(np.uint32)
