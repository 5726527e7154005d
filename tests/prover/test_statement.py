from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.prover.statements import CUBIC_Z, R, csr, cubic_statement, satisfied
from tests.refusals import refuses
from zenserve import kernels
from zenserve.errors import StatementError
from zenserve.prover.blocks import Csr, ProductBlock, RowValues, Shorts, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import reference


@given(satisfied())
def test_evaluation_agrees_with_integers(case: tuple[ConstraintSystem, list[int]]) -> None:
    system, z = case
    assert reference.check(system, z) is None
    a, b, c = (kernels.fr.to_ints(part) for part in system.evaluate(kernels.fr.from_ints(z)))
    assert [x * y % R for x, y in zip(a, b, strict=True)] == c


@given(satisfied(), st.data())
def test_a_wrong_value_is_found_by_both_or_by_neither(
    case: tuple[ConstraintSystem, list[int]], data: st.DataObject
) -> None:
    system, z = case
    index = data.draw(st.integers(0, len(z) - 1))
    z[index] = (z[index] + (index > 0)) % R
    a, b, c = (kernels.fr.to_ints(part) for part in system.evaluate(kernels.fr.from_ints(z)))
    wrong = [row for row in range(len(a)) if a[row] * b[row] % R != c[row]]
    assert reference.check(system, z) == (system.row_name(wrong[0]) if wrong else None)


def test_evaluation_pads_with_zero_rows() -> None:
    system = cubic_statement()
    z = kernels.fr.from_ints(CUBIC_Z)
    a, b, c = np.ones((3, 8, 4), np.uint64)
    for plain, padded in zip(system.evaluate(z), system.evaluate(z, out=(a, b, c)), strict=True):
        assert np.array_equal(padded[:4], plain)
        assert not padded[4:].any()


def test_entries_of_one_column_add_up_and_zeros_vanish() -> None:
    row, column, value = (np.array(x) for x in ([1, 0, 1, 1], [2, 1, 2, 0], [5, 7, -2, 0]))
    matrix = Csr.from_entries(2, row, column, value)
    assert len(matrix.columns) == 3
    z = kernels.fr.from_ints([1, 10, 100])
    assert kernels.fr.to_ints(matrix.multiply(z)) == [70, 300]


@pytest.mark.parametrize("entries", [40, 40_000])
def test_the_pool_holds_each_coefficient_once_in_order(entries: int) -> None:
    """Few coefficients are found otherwise than many, and small ones otherwise than large ones."""
    around = [sign * ((1 << 15) + i) for sign in (1, -1) for i in (-1, 0, 1)]
    kinds = np.array([1, -1, 7, -300, *around, -1 << 40])
    value = np.random.default_rng(1).choice(kinds, entries)
    matrix = Csr.from_entries(1, np.zeros(entries, np.int64), np.arange(entries), value)
    assert matrix.pool == tuple(sorted(set(value.tolist())))
    assert np.array_equal(np.array(matrix.pool)[matrix.coefficients], value)


def test_product_block_says_what_its_matrices_say() -> None:
    block = ProductBlock("p", np.array([1, 0]), np.array([2, 1]), np.array([3, 1]))
    z = kernels.fr.from_ints([1, 6, 7, 42])
    a, b, c = (np.zeros((2, 4), dtype=np.uint64) for _ in range(3))
    block.evaluate(z, (a, b, c))
    for values, matrix in zip((a, b, c), block.matrices(), strict=True):
        assert np.array_equal(values, matrix.multiply(z))


@given(st.lists(st.integers(0, 40), max_size=12), st.integers(0, 40))
def test_threads_share_blocks_and_change_nothing(sizes: list[int], heavy: int) -> None:
    """One block may have most of the entries, and get several threads."""
    variables = 50
    draw = np.random.default_rng(len(sizes))

    def sparse(rows: int, width: int) -> Csr:
        columns = draw.integers(0, variables, rows * width)
        return Csr.from_entries(rows, np.repeat(np.arange(rows), width), columns, 1 + columns)

    blocks = [SparseBlock(f"{rows}", *(sparse(rows, 2) for _ in range(3))) for rows in sizes]
    blocks.append(SparseBlock("heavy", *(sparse(heavy, 100) for _ in range(3))))
    system = ConstraintSystem(0, variables - 1, tuple(blocks))
    z = kernels.fr.from_int64(draw.integers(-100, 100, variables))
    alone = system.evaluate(z)
    for threads in (2, 7):
        assert all(map(np.array_equal, system.evaluate(z, threads), alone))


def test_what_was_computed_before_a_failure_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[kernels.FrArray] = []

    def fail(_: SparseBlock, z: kernels.FrArray, out: RowValues, threads: int, *, shorts: Shorts) -> None:
        written.extend(array.base for array in out if array.base is not None)
        assert any(array.any() for array in written)
        raise KeyboardInterrupt

    monkeypatch.setattr(SparseBlock, "evaluate", fail)
    with pytest.raises(KeyboardInterrupt):
        cubic_statement().evaluate(kernels.fr.from_ints(CUBIC_Z))
    assert len(written) == 3
    assert not any(array.any() for array in written)


def test_rows_are_named_by_block_and_offset() -> None:
    system = cubic_statement()
    assert [system.row_name(row) for row in range(4)] == ["square[0]", "cube[0]", "sums[0]", "sums[1]"]
    with pytest.raises(IndexError):
        system.row_name(4)


def test_the_digest_is_that_of_the_whole_statement() -> None:
    base = cubic_statement()
    square, cube, sums = base.blocks
    others = [
        replace(base, public=1, private=4),
        replace(base, private=4),
        replace(base, blocks=(cube, square, sums)),
        replace(base, blocks=(square, cube)),
        replace(
            base, blocks=(square, SparseBlock("cube", csr([{4: 2}]), csr([{3: 1}]), csr([{5: 1}])), sums)
        ),
        replace(
            base, blocks=(square, SparseBlock("cube", csr([{3: 1}]), csr([{3: 1}]), csr([{5: 1}])), sums)
        ),
        replace(base, blocks=(square, SparseBlock("cube", csr([{4: 1}]), csr([{3: 1}]), csr([{}])), sums)),
    ]
    digests = {system.digest for system in [base, *others]}
    assert len(digests) == 1 + len(others)
    assert cubic_statement().digest == base.digest


def test_the_digest_reads_coefficients_modulo_r() -> None:
    def with_coefficient(value: int) -> ConstraintSystem:
        return ConstraintSystem(0, 1, (SparseBlock("b", csr([{0: value}]), csr([{0: 1}]), csr([{1: 1}])),))

    assert with_coefficient(-1).digest == with_coefficient(R - 1).digest != with_coefficient(1).digest


@pytest.mark.parametrize(
    "witness",
    [
        np.zeros((5, 4), dtype=np.uint64),
        np.zeros((7, 4), dtype=np.uint64),
        np.zeros((6, 6), dtype=np.uint64),
        np.zeros((6, 4), dtype=np.int64),
        np.zeros((4, 6), dtype=np.uint64).T,
    ],
    ids=["short", "long", "wide", "dtype", "order"],
)
def test_a_witness_of_another_shape_is_refused(witness: np.ndarray) -> None:
    with refuses("statement.witness_shape", "witness"):
        cubic_statement().evaluate(witness)


def test_a_variable_out_of_range_is_refused_by_name() -> None:
    system = ConstraintSystem(0, 1, (ProductBlock("bad", np.array([0]), np.array([0]), np.array([2])),))
    with refuses("statement.column", match="'bad' uses variable 2"):
        _ = system.digest


def test_matrices_of_unequal_height_are_refused() -> None:
    with refuses("statement.block_shape"):
        SparseBlock("bad", csr([{}]), csr([{}]), csr([{}, {}]))


def test_a_block_that_misstates_its_rows_is_refused() -> None:
    block = ProductBlock("bad", np.array([0, 0]), np.array([0]), np.array([0, 0]))
    with refuses("statement.block_shape"):
        _ = ConstraintSystem(0, 0, (block,)).digest


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_blocks_come_in_order_however_many_threads_make_them(threads: int) -> None:
    sizes = [3, 1, 4, 1, 5, 9, 2, 6]
    wires = np.arange(max(sizes))
    blocks = tuple(ProductBlock(str(size), wires[:size], wires[:size], wires[:size]) for size in sizes)
    system = ConstraintSystem(0, max(sizes), blocks)
    found = [(start, a.rows) for start, (a, _, _) in system.matrices(threads)]
    assert found == list(zip(np.cumsum([0, *sizes[:-1]]).tolist(), sizes, strict=True))
    broken = ConstraintSystem(0, 1, (*blocks[1:2], *blocks))
    with pytest.raises(StatementError, match="uses variable"):
        list(broken.matrices(threads))
