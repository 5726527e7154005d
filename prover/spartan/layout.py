"""The places of a constraint system's variables in a proof's matrices, and the matrices at a point."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zenserve import kernels
from zenserve.base.parallel import in_chunks
from zenserve.base.processors import usable_cores
from zenserve.errors import StatementError
from zenserve.kernels import FrArray, SparseForms, fr, multilinear
from zenserve.prover.blocks import Csr
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.verifier.spartan.admission import Commitment, Sizes, shape_of
from zenserve.verifier.spartan.code import LOG_BLOWUP, MOST_LOG_DEGREE, Code
from zenserve.verifier.spartan.commitment import Rows
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.merkle import DIGEST_BYTES
from zenserve.verifier.spartan.shape import Part, Shape

_LEAST_LOG_DEGREE = 10
_HARDLY = 1.05
"""Proofs by so much longer than the shortest are as good: shorter rows take less time."""
# Of rows that commitments are opened in, again and again: so many openings, and more where as many places as
# they need are less than one in so many.
_LEAST_OPENINGS = 10
_LINKED_LOG_DEGREES = range(12, MOST_LOG_DEGREE + 1)
_MOST_VALUES = 1 << 26
_SHARE = 7
_MANY_ENTRIES = 1 << 20
"""Of blocks' matrices, that are worth threads together."""

BlockMatrices = tuple[Csr, Csr, Csr]
"""A, B and C of a block."""


def sizes_of(system: ConstraintSystem) -> Sizes:
    """Raises ``StatementError`` (``statement.system``) for folded inputs: challenges here are all drawn."""
    if system.folded:
        raise StatementError(
            "statement.system",
            "this proof system has no folded inputs: compile the circuit without fold_inputs",
            field="fold_inputs",
        )
    segments = tuple((segment.size, segment.linked) for segment in system.segments)
    return Sizes(system.public, system.challenges, segments, system.private, system.constraints)


def most_values(log_degree: int) -> int:
    """Of a commitment in rows of this length: of more, proofs with longer rows are shorter."""
    return _MOST_VALUES if log_degree == MOST_LOG_DEGREE else 1 << min(2 * log_degree - 9, log_degree + 4)


def rows_for(values: int) -> Rows:
    """For commitments to so many values. Raises ``StatementError`` (``statement.too_large``)."""
    for log_degree in _LINKED_LOG_DEGREES:
        if values <= most_values(log_degree):
            code = code_of(log_degree)
            return Rows(code, max(_LEAST_OPENINGS, code.degree // (_SHARE * code.queries)) * code.queries)
    raise StatementError(
        "statement.too_large", f"no commitments to more than {_MOST_VALUES:,} values are made"
    )


def best_code(system: ConstraintSystem) -> Code:
    """Return the code that makes proofs shortest."""
    sizes = sizes_of(system)
    largest = max(_LEAST_LOG_DEGREE, (system.variables - 2).bit_length())

    def shape(code: Code) -> Shape:
        linked = [size for size, is_linked in sizes.segments if is_linked]
        return shape_of(sizes, code, [Commitment(b"", size, code.queries) for size in linked])

    found = shortest(shape(code_of(log)) for log in range(_LEAST_LOG_DEGREE, largest + 1))
    return code_of(found.code.log_degree)


def code_of(log_degree: int) -> Code:
    return Code(FR, log_degree, log_degree + LOG_BLOWUP)


def shortest(shapes: Iterable[Shape]) -> Shape:
    """Of shapes by the length of their rows the first whose proofs are hardly longer than the shortest."""
    taken = [(shape, proof_bytes(shape)) for shape in shapes]
    least = min(found for _, found in taken)
    return next(shape for shape, found in taken if found <= _HARDLY * least)


def proof_bytes(shape: Shape) -> int:
    """Of a proof without chains, in the mean: paths meet here and there."""
    pads, levels, rounds = shape.pads, shape.folding.levels, shape.folding.rounds
    numbers = 2 * (shape.log_rows + shape.variables + sum(rounds)) + 8 + (1 << shape.folding.told)
    columns = zip(shape.opened_rows, shape.salted, strict=True)
    opened = [_opening_bytes(shape.code, rows + salted) for rows, salted in columns]
    opened += [_opening_bytes(level.code, level.rows) for level in levels]
    opened.append(_opening_bytes(pads.code, 3))
    roots = len(shape.parts) + 1 + len(levels)
    return FR.element_bytes * (numbers + pads.code.degree) + DIGEST_BYTES * roots + sum(opened)


def _opening_bytes(code: Code, rows: int) -> int:
    """A salt is as long as a number."""
    known = [(1 << log) * (1 - (1 - 2.0**-log) ** code.queries) for log in range(code.log_length + 1)]
    path = sum(2 * above - below for above, below in itertools.pairwise(known))
    return FR.element_bytes * code.queries * rows + DIGEST_BYTES * round(path)


def places(system: ConstraintSystem, shape: Shape) -> NDArray[np.int64]:
    """Each variable's place, int64[variables]; -1 for those that blind segments, which no row reads."""
    found = np.full(system.variables, -1, dtype=np.int64)
    found[: shape.known] = np.arange(shape.known)
    starts = [part.start for part in system.segment_ranges] + [system.first_private]
    for start, part in zip(starts, shape.parts, strict=True):
        width = shape.code.degree - part.tail
        index = np.arange(part.size)
        row = part.first + index // width
        found[start : start + part.size] = row * shape.code.degree + index % width
    return found


def spread(system: ConstraintSystem, shape: Shape, table: FrArray, used: int) -> None:
    """Move what each variable has, the first of uint64[2^variables, 4], to its place; zeros are elsewhere, as
    they are from ``used`` on.

    From the last variable on: places are never before variables.
    """
    starts = [part.start for part in system.segment_ranges] + [system.first_private]
    end = used
    for start, part in zip(reversed(starts), reversed(shape.parts), strict=True):
        width = shape.code.degree - part.tail
        for row in reversed(range(part.rows)):
            count, variable = min(width, part.size - row * width), start + row * width
            place = (part.first + row) * shape.code.degree
            table[place : place + count] = table[variable : variable + count]
            table[place + count : end] = 0
            end = min(end, place)
    table[shape.known : end] = 0


def rows_of(table: FrArray, shape: Shape, part: Part) -> FrArray:
    """A part's rows in a table of all places: uint64[rows, degree, 4]."""
    return table.reshape(-1, shape.code.degree, 4)[part.first : part.first + part.rows]


class SystemMatrices:
    """A constraint system's A, B and C (``zenserve.verifier.spartan.verification.Matrices``), by kernels."""

    def __init__(self, system: ConstraintSystem, threads: int = 0) -> None:
        self._system, self._threads = system, threads or usable_cores()
        self._sizes = sizes_of(system)

    @property
    def digest(self) -> bytes:
        return self._system.digest

    @property
    def sizes(self) -> Sizes:
        return self._sizes

    @property
    def nbytes(self) -> int:
        """About what the coefficients take."""
        return 8 * (int(self._system.survey.nonzeros.sum()) + 3 * self._system.constraints)

    def evaluate(self, shape: Shape, rows: Sequence[int], at: Sequence[int], weights: Sequence[int]) -> int:
        """``Matrices.evaluate``. Matrices are made when it is first called, and stay."""
        outer, inner = _eq_factors(rows, len(rows) // 2)
        sums = self._forms.at(outer, inner, self._eq_by_variable(shape, at), self._threads)
        terms = zip(itertools.cycle(weights), fr.to_ints(sums), strict=False)
        return sum(weight * value for weight, value in terms) % fr.modulus

    @cached_property
    def _forms(self) -> SparseForms:
        """A, B and C of each block in turn."""
        return _forms(self._system.matrices(self._threads), self._system.variables)

    def _eq_by_variable(self, shape: Shape, at: Sequence[int]) -> FrArray:
        """eq(at, ·) at each variable's place, uint64[variables, 4]; anything at those that no row reads."""
        table = kernels.aligned(self._system.variables)
        rows, columns = _eq_factors(at, shape.row_variables)
        multilinear.products(rows, columns, table[: shape.known], self._threads)
        starts = [part.start for part in self._system.segment_ranges] + [self._system.first_private]
        for start, part in zip(starts, shape.parts, strict=True):
            own = rows[part.first : part.first + part.rows], columns[: shape.code.degree - part.tail]
            multilinear.products(*own, table[start : start + part.size], self._threads)
        return table

    def combine(self, shape: Shape, rows: FrArray, weights: Sequence[int], out: FrArray, used: int) -> None:
        """The combined matrices summed over their rows, each times one of ``rows``, uint64[2^log_rows, 4].

        By place: ``out``, uint64[2^variables, 4], zeros from ``used`` on.
        """
        sums = out[: self._system.variables]
        in_chunks(lambda part: sums[part].fill(0), min(used, len(sums)), self._threads)
        factors = fr.from_ints(weights)
        for group in _together(self._system.matrices(self._threads)):
            _forms(group, self._system.variables).add_transposed(rows, factors, sums, self._threads)
        spread(self._system, shape, out, max(used, len(sums)))


def _forms(blocks: Iterable[tuple[int, BlockMatrices]], variables: int) -> SparseForms:
    """Their A, B and C in turn."""
    placed = ((start, matrix.checked) for start, matrices in blocks for matrix in matrices)
    return kernels.sparse_forms(placed, variables)


def _together(blocks: Iterable[tuple[int, BlockMatrices]]) -> Iterator[list[tuple[int, BlockMatrices]]]:
    """Blocks that follow each other, enough of them to be worth threads."""
    group, entries = list[tuple[int, BlockMatrices]](), 0
    for start, matrices in blocks:
        group.append((start, matrices))
        entries += sum(len(matrix.columns) for matrix in matrices)
        if entries >= _MANY_ENTRIES:
            yield group
            group, entries = [], 0
    if group:
        yield group


def _eq_factors(point: Sequence[int], split: int) -> tuple[FrArray, FrArray]:
    """Of eq(point, ·) in an index's high bits, so many as the first ``split`` variables, and its low ones."""
    high, low = fr.from_ints(point[:split]), fr.from_ints(point[split:])
    return multilinear.eq(high), multilinear.eq(low)


def fill_eq(point: Sequence[int], out: FrArray, threads: int) -> None:
    """eq(point, ·): ``out``, uint64[2^variables, 4]."""
    multilinear.products(*_eq_factors(point, len(point) // 2), out, threads)


def witness_rows(shape: Shape, z: FrArray, parts: Sequence[FrArray]) -> list[FrArray]:
    """The witness by place: 2^row_variables rows, uint64[degree, 4], Montgomery.

    What is known of ``z``, and the rows of ``parts`` with their tails, each uint64[rows, degree, 4]: none is
    copied but the last of what is known.
    """
    degree = shape.code.degree
    zeros = np.zeros((degree, 4), np.uint64)
    rows = [zeros] * (1 << shape.row_variables)
    for index, start in enumerate(range(0, shape.known, degree)):
        own = z[start : min(start + degree, shape.known)]
        rows[index] = np.concatenate([own, zeros[len(own) :]])
    for part, own in zip(shape.parts, parts, strict=True):
        rows[part.first : part.first + part.rows] = list(own)
    return rows
