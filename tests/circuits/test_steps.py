"""The steps of a witness, run by a second interpreter in plain Python that reads nothing but their fields."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.circuits.quantised import networks
from tests.circuits.support import PRIVACIES, R
from tests.circuits.test_lowering import compiled
from zenserve import kernels
from zenserve.circuits.lowering.sliding import KernelSums, PublicKernel
from zenserve.circuits.r1cs import execution
from zenserve.circuits.r1cs.convolved import Kernel
from zenserve.circuits.r1cs.linear import Combination, Linear, Picked, Weighted
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
)
from zenserve.circuits.r1cs.table import Table
from zenserve.prover.blocks import Csr
from zenserve.relations.functions import Tabulation
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sliding

Z = list[int]


def values(operand: Operand, z: Z, rows: int) -> Z:
    """The values of an operand."""
    match operand:
        case int():
            return [operand] * rows
        case np.ndarray():
            return [z[wire] for wire in operand.tolist()]
        case Csr():
            entries = list(zip(operand.columns.tolist(), operand.coefficients.tolist(), strict=True))
            offsets = itertools.pairwise(operand.offsets.tolist())
            return [sum(operand.pool[k] * z[wire] for wire, k in entries[a:b]) for a, b in offsets]
        case Combination():
            total: Z = operand.constant.tolist()
            for factor, sums in operand.terms:
                factors = np.broadcast_to(factor, operand.rows).tolist()
                total = [t + f * v for t, f, v in zip(total, factors, values(sums, z, rows), strict=True)]
            return total
        case KernelSums():
            return kernel_sums(operand, z)
    return values(operand.whole().matrix(), z, rows)


def kernel_sums(sums: KernelSums, z: Z) -> Z:
    kernel, windows = sums.kernel, sums.kernel.sliding.windows()
    groups = kernel.sliding.groups
    x, weight, bias = sums.x.reshape(kernel.batch, groups, -1), sums.weight, sums.bias
    found = []
    for output, image, (first, last) in itertools.product(
        range(kernel.outputs), range(kernel.batch), itertools.pairwise(windows.offsets.tolist())
    ):
        of_group = x[image, output * groups // kernel.outputs]
        pairs = zip(windows.taps[first:last].tolist(), windows.inputs[first:last].tolist(), strict=True)
        terms = [z[weight[output, tap]] * (z[of_group[i]] - kernel.zero_point) for tap, i in pairs]
        found.append(sum(terms) + z[bias[output]])
    assert len(found) == sums.rows
    return found


def run(step: Step, z: Z, modulus: int | None = None) -> None:
    """Write what the formula of ``step`` says; over the field where there is a ``modulus``."""
    out, rows = step.out, len(step.out)

    def read(operand: Operand, count: int = rows) -> Z:
        return values(operand, z, count)

    match step:
        case Constant():
            written = step.values.ravel().tolist()
        case Sum():
            written = read(step.value)
        case Product():
            factors = zip(read(step.left), read(step.right), read(step.rest), strict=True)
            written = [a * b + c for a, b, c in factors]
        case Quotient():
            pairs = zip(read(step.numerator), read(step.denominator), strict=True)
            written = [
                (a * pow(b, -1, modulus) if modulus else a // b) if (b % modulus if modulus else b) else 0
                for a, b in pairs
            ]
        case Digits():
            places = list(zip(step.shifts.tolist(), step.masks.tolist(), strict=True))
            written = [value >> shift & mask for value in read(step.value) for shift, mask in places]
        case Clip():
            written = [min(max(value >> step.shift, step.low), step.high) for value in read(step.value)]
        case Tabulate():
            quotients = [value >> step.shift for value in read(step.value)]
            entries, lowest = step.function.values.tolist(), step.function.first
            written = [entries[min(max(v - lowest, 0), len(entries) - 1)] for v in quotients]
        case Compare():
            written = [int(v == 0 if step.test == "zero" else v > 0) for v in read(step.value)]
        case Maximum():
            written = [max(group) for group in grouped(read(step.value, -1), rows)]
        case FirstMaximum():
            groups = grouped(read(step.value, -1), rows)
            written = [int(j == group.index(max(group))) for group in groups for j in range(len(group))]
        case BeforeFirstMaximum():
            groups = grouped(read(step.value, -1), rows)
            written = [int(j < group.index(max(group))) for group in groups for j in range(len(group) - 1)]
        case Multiplicities():
            entries = [tuple(row) for row in step.table.columns.tolist()]
            counts = dict.fromkeys(reversed(entries), 0)
            for lookup in step.lookups:
                for row in zip(*(read(value, -1) for value in lookup.values), strict=True):
                    entry = tuple(value // lookup.scale for value in row)
                    if entry in counts:
                        counts[entry] += 1
            # Of equal rows the first has them all.
            written = [counts[entry] if entries.index(entry) == j else 0 for j, entry in enumerate(entries)]
        case Counts():
            counted = read(step.places, -1)
            written = [counted.count(j) for j in range(rows)]
        case Pick():
            entries = read(step.entries, -1)
            written = [entries[min(max(place, 0), len(entries) - 1)] for place in read(step.places)]
        case Choose():
            chosen = step.rule.choose(*(np.array(read(each), object) for each in step.values))
            written = chosen.tolist()
        case CrossProducts():
            count = len(step.slots)
            size = rows * count
            left, right = (grouped(read(each, size), size) for each in (step.left, step.right))
            written = [0] * out.size
            for g, i, j in itertools.product(range(rows), range(count), range(count)):
                if (slot := int(step.slots[i, j])) >= 0:
                    pairs = zip(left[g * count + i], right[g * count + j], strict=True)
                    written[g * out.shape[1] + slot] += sum(a * b for a, b in pairs)
        case _:
            raise AssertionError(step)
    for wire, value in zip(out.ravel().tolist(), written, strict=True):
        z[wire] = value % modulus if modulus else value


def grouped(numbers: Z, count: int) -> list[Z]:
    size = len(numbers) // count
    return [numbers[i : i + size] for i in range(0, len(numbers), size)]


class Backwards(Picked):
    """The rows of ``base`` in reverse."""

    def __init__(self, base: Linear) -> None:
        self.base, self.rows = base, base.rows

    def picks(self, start: int, stop: int) -> IntArray:
        return self.rows - 1 - np.arange(start, stop)


READ = 12
EDGES = st.sampled_from([0, 1, -1, 2, 3, (1 << 30) - 1, -(1 << 30)]) | st.integers(-1000, 1000)
INPUTS = st.lists(EDGES, min_size=READ - 1, max_size=READ - 1)


@st.composite
def operands(draw: st.DrawFn, rows: int) -> Operand:
    """Every form that has ``rows`` rows."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    wires, weights = rng.integers(0, READ, (rows, 3)), rng.choice([1, -1, 5, -(1 << 20)], 3)
    linear = Linear.weighted(wires, weights)
    match draw(st.integers(0, 6)):
        case 0:
            return wires[:, 0]
        case 1:
            return Linear.wires(wires[:, 0]).compact
        case 2:
            return linear
        case 3:
            return linear.compact
        case 4:
            return Weighted(wires, weights)
        case 5:
            return Weighted(wires, weights).scale(np.arange(rows) - 1).shift(7) - linear
        case _:
            return Backwards(linear)


class Larger:
    """A rule."""

    def choose(self, *values: IntArray) -> IntArray:
        left, right = values
        return np.maximum(left, right)


@st.composite
def integer_steps(draw: st.DrawFn) -> Step:
    rows = draw(st.integers(1, 9))
    each, triples, other, rest = (draw(operands(count)) for count in (rows, 3 * rows, rows, rows))
    out = READ + np.array(draw(st.permutations(range(3 * rows))))
    grid, first = out.reshape(rows, 3), out[:rows]
    quadruples = draw(operands(4 * rows)), draw(operands(4 * rows))
    shift, low = draw(st.integers(0, 40)), draw(st.integers(-9, 0))
    table = Table("t", np.array([[value, value // 2] for value in (-3, 0, 1, 1, 2, 7)]))
    lookups = Lookup((each, other), 1), Lookup((rest, rest), 3)
    steps = [
        Constant("c", grid, np.arange(3 * rows).reshape(rows, 3)),
        Sum("s", first, each),
        Product("p", first, each, draw(st.sampled_from([other, -3])), draw(st.sampled_from([rest, 0, 5]))),
        Quotient("q", first, 0, each),
        Digits("d", grid, each, np.array([0, shift, 62]), np.array([1, 15, -1])),
        Digits.of("d", grid, each, 4),
        Digits.floor("d", first, each, shift),
        Digits.remainder("d", first, each, shift),
        Clip("c", first, each, shift, low, 300),
        Tabulate("t", first, each, Tabulation(np.array([5, -7, 0, 1 << 40]), low), shift),
        Compare("c", first, each, "zero"),
        Compare("c", first, each, "positive"),
        Maximum("m", first, triples),
        FirstMaximum("f", grid, triples),
        BeforeFirstMaximum("b", grid[:, :2], triples),
        Multiplicities("m", READ + np.arange(6), table, lookups),
        Counts("n", first, other),
        Pick("i", first, triples, each),
        Choose("h", first, (each, other), Larger()),
        CrossProducts("x", grid[:, :2], *quadruples, 2, np.array([[-1, 0], [1, 0]])),
    ]  # fmt: skip
    return draw(st.sampled_from(steps))


def both(step: Step, inputs: list[int], threads: int = 1) -> tuple[Z, Z]:
    """The assignment after the step, by either interpreter."""
    z = np.array([1, *inputs, *[0] * 40])
    plain = z.tolist()
    execution.fill([step], z, threads)
    run(step, plain)
    return z.tolist(), plain


@given(integer_steps(), INPUTS, st.sampled_from([1, 4, 1 << 16]), st.sampled_from([1, 3]))
@settings(max_examples=300)
def test_steps_over_integers_do_what_their_formulas_say(
    step: Step, inputs: list[int], at_once: int, threads: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "_AT_ONCE", at_once)
        found, expected = both(step, inputs, threads)
    # Exact modulo 2^64, as all of them are.
    assert [(a - b) % (1 << 64) for a, b in zip(found, expected, strict=True)] == [0] * len(found)


@given(st.data(), INPUTS, st.sampled_from([2, 1 << 16]), st.sampled_from([1, 3]))
@settings(max_examples=150)
def test_steps_over_the_field_do_too(
    data: st.DataObject, inputs: list[int], at_once: int, threads: int
) -> None:
    rows = data.draw(st.integers(1, 9))
    a, b, c = (data.draw(operands(rows)) for _ in range(3))
    out = READ + np.arange(rows)
    steps = (
        Sum("s", out, a),
        Product("p", out, a, data.draw(st.sampled_from([b, -3])), c),
        Product("p", out, a, b),
    )
    quotients = Quotient("q", out, data.draw(st.sampled_from([c, 5])), a)
    step: Step = data.draw(st.sampled_from([*steps, quotients]))
    plain = [value % R for value in [1, *inputs, *[0] * rows]]
    z = kernels.fr.from_ints(plain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "_ELEMENTS_AT_ONCE", at_once)
        # The statement numbers wires as it likes.
        variables = np.array(data.draw(st.permutations(range(len(z)))), dtype=np.uint32)
        assignment = np.empty_like(z)
        assignment[variables] = z
        execution.solve([[step]], assignment, variables, threads)
    run(step, plain, R)
    assert kernels.fr.to_ints(assignment[variables]) == plain


@pytest.mark.parametrize("factor", [1, -3, np.arange(-6, 6)])
def test_sums_of_a_kernel_are_those_of_its_rows_at_a_challenge(factor: int | IntArray) -> None:
    """The challenge in the last wire that is read: sums are made over integers, and added to it."""
    kernel = Kernel(Sliding((1, 3, 3), (2, 2)), 3, 2, 255)
    sums = PublicKernel(np.arange(1, 10), kernel, np.arange(-7, 5).reshape(3, 4), np.array([1 << 40, -9, 0]))
    plain = [1, *(5 * i % 7 << 20 for i in range(9)), R - 12345, *[0] * 12]
    z = kernels.fr.from_ints(plain)
    value = Weighted.wires(np.full(12, 10)) - sums.scale(factor)
    step = Quotient("q", 11 + np.arange(12), 5, value)
    execution.solve([[step]], z, np.arange(len(z), dtype=np.uint32))
    run(step, plain, R)
    assert kernels.fr.to_ints(z) == plain


@pytest.mark.parametrize("divided", [(6, 3), (-6, 3), (6, -3), (0, 5), (0, 0), (7, 0)])
def test_divisions_without_remainder(divided: tuple[int, int]) -> None:
    found, expected = both(
        Quotient("q", np.array([READ]), np.array([1]), np.array([2])), [*divided, *[0] * 9]
    )
    assert found == expected
    assert found[READ] == (divided[0] // divided[1] if divided[1] else 0)


@pytest.mark.parametrize("level", range(6))
@pytest.mark.parametrize("privacy", PRIVACIES)
def test_a_second_interpreter_fills_in_the_same_witness(privacy: Any, level: Any) -> None:
    graph = networks.of_kinds(5, "conv", "max", shape=(1, 3, 3), most_bits=3)
    circuit = compiled(graph, privacy, level)
    system, program = circuit.constraint_system, circuit.program
    (q,) = networks.inputs(graph, 1)
    z, signed = circuit.witness(q, threads=2), circuit.assign(q)[program.order]
    drawn = slice(1 + system.public, system.instance)
    z[drawn] = challenges = kernels.fr.from_ints(range(12345, 12345 + system.challenges))
    program.post_challenge(z, challenges, 2)

    steps = program.steps
    for step in itertools.chain(*steps):
        signed[step.out] = 0
    plain = signed.tolist()
    for step in steps.integer:
        run(step, plain)
    plain = [value % R for value in plain]
    for index, wire in enumerate(np.flatnonzero(np.isin(program.order, np.r_[drawn])).tolist()):
        plain[wire] = 12345 + index
    for step in (*steps.field, *steps.post_challenge):
        run(step, plain, R)
    assert kernels.fr.to_ints(z[program.order]) == plain


def test_terms_that_several_steps_add_up_are_evaluated_once() -> None:
    class Counted(Weighted):
        evaluations = 0

        def evaluate(self, z: IntArray) -> IntArray:
            Counted.evaluations += 1
            return super().evaluate(z)

    sums = Counted.ones(np.array([[1, 2], [3, 4]]))
    steps = [
        Sum("a", np.array([5, 6]), sums),
        Sum("b", np.array([7, 8]), sums.scale(2).shift(1)),
        Sum("c", np.array([9, 10]), sums - Weighted.wires(np.array([5, 7]))),
    ]
    z = np.array([1, 10, 20, 30, 40, *[0] * 6])
    execution.fill(steps, z)
    assert z[5:].tolist() == [30, 70, 61, 141, 0, 9]
    assert Counted.evaluations == 1


def test_steps_are_grouped_by_what_they_wait_for() -> None:
    def step(out: int, *read: int) -> Sum:
        return Sum("s", np.array([out]), Linear.ones(np.array([read])).matrix())

    first, second, chained, made = step(3, 1), step(4, 2), step(5, 3, 1), step(6, 4, 5)
    whole = Sum("w", np.array([7]), Linear.wires(np.array([1])))
    after = Product("p", np.array([8]), np.array([1]), np.array([7]), 3)
    found = execution.independent([first, chained, second, made, whole, after], 9)
    assert found == ((first, second), (chained,), (made,), (whole,), (after,))


def test_what_is_no_step_of_a_phase_is_refused() -> None:
    clip = Clip("c", np.array([1]), 0, 0, 0, 1)
    with pytest.raises(NotImplementedError, match="no step over field elements"):
        execution.solve([[clip]], kernels.fr.from_ints([1, 0]), np.arange(2, dtype=np.uint32))


@given(integer_steps())
def test_a_step_shows_its_name_and_no_values(step: Step) -> None:
    assert repr(step).startswith(f"{type(step).__name__}(name=")
    assert "array" not in repr(step)
    assert "Linear" not in repr(step)
