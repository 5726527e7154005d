"""The places of a constraint system's variables in a proof's matrices, and the matrices at a point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from base.processors import usable_cores
from kernels import FrArray, fr, multilinear
from prover.constraint_system import ConstraintSystem
from prover.spartan.commitment import fill_rows
from verifier.spartan.admission import Commitment, Sizes, shape_of
from verifier.spartan.code import LOG_BLOWUP, Code
from verifier.spartan.commitment import Rows
from verifier.spartan.field import FR
from verifier.spartan.shape import Part, Shape
from zenerrors import StatementError

_LEAST_LOG_DEGREE = 10
# Of rows that commitments are opened in, again and again: so many openings, and more where as many places as
# they need are less than one in so many.
_LEAST_OPENINGS = 10
_LINKED_LOG_DEGREES = range(12, 17)
_SHARE = 5


def sizes_of(system: ConstraintSystem) -> Sizes:
    segments = tuple((segment.size, segment.linked) for segment in system.segments)
    return Sizes(system.public, system.challenges, segments, system.private, system.constraints)


def most_values(log_degree: int) -> int:
    """Of a commitment in rows of this length: of more, proofs with longer rows are shorter."""
    return 1 << (2 * log_degree - 6)


def rows_for(values: int) -> Rows:
    """For commitments to so many values. Raises ``StatementError`` (``statement.too_large``)."""
    for log_degree in _LINKED_LOG_DEGREES:
        if values <= most_values(log_degree):
            code = Code(FR, log_degree, log_degree + LOG_BLOWUP)
            return Rows(code, max(_LEAST_OPENINGS, code.degree // (_SHARE * code.queries)) * code.queries)
    raise StatementError(
        "statement.too_large",
        f"no commitments to more than {most_values(_LINKED_LOG_DEGREES[-1]):,} values are made",
    )


def best_code(system: ConstraintSystem) -> Code:
    """That of the shortest proofs."""
    largest = max(_LEAST_LOG_DEGREE, (system.variables - 1).bit_length())
    codes = [Code(FR, log, log + LOG_BLOWUP) for log in range(_LEAST_LOG_DEGREE, largest + 1)]
    return min(codes, key=lambda code: _opened_bytes(system, code))


def _opened_bytes(system: ConstraintSystem, code: Code) -> int:
    once = [Commitment(b"", segment.size, code.queries) for segment in system.segments if segment.linked]
    rows = sum(part.rows for part in shape_of(sizes_of(system), code, once).parts)
    return (code.queries * rows + code.degree) * FR.element_bytes


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


def by_place(system: ConstraintSystem, shape: Shape, values: FrArray) -> FrArray:
    """What each variable has, uint64[variables, 4], at its place, uint64[2^variables, 4]; zero elsewhere."""
    table = np.zeros((1 << shape.variables, 4), dtype=np.uint64)
    table[: shape.known] = values[: shape.known]
    starts = [part.start for part in system.segment_ranges] + [system.first_private]
    for start, part in zip(starts, shape.parts, strict=True):
        fill_rows(rows_of(table, shape, part), values[start : start + part.size], part.tail)
    return table


def by_variable(system: ConstraintSystem, shape: Shape, table: FrArray) -> FrArray:
    """The inverse of ``by_place``: uint64[variables, 4]."""
    values = np.zeros((system.variables, 4), dtype=np.uint64)
    values[: shape.known] = table[: shape.known]
    starts = [part.start for part in system.segment_ranges] + [system.first_private]
    for start, part in zip(starts, shape.parts, strict=True):
        own = rows_of(table, shape, part)[:, : shape.code.degree - part.tail]
        values[start : start + part.size] = own.reshape(-1, 4)[: part.size]
    return values


def rows_of(table: FrArray, shape: Shape, part: Part) -> FrArray:
    """A part's rows in a table of all places: uint64[rows, degree, 4]."""
    return table.reshape(-1, shape.code.degree, 4)[part.first : part.first + part.rows]


class SystemMatrices:
    """A constraint system's A, B and C (``verifier.spartan.verification.Matrices``), by the kernels."""

    def __init__(self, system: ConstraintSystem, threads: int = 0) -> None:
        self._system, self._threads = system, threads or usable_cores()

    @property
    def digest(self) -> bytes:
        return self._system.digest

    @property
    def sizes(self) -> Sizes:
        return sizes_of(self._system)

    def evaluate(self, shape: Shape, rows: Sequence[int], at: Sequence[int], weights: Sequence[int]) -> int:
        """``Matrices.evaluate``."""
        threads = self._threads
        by_row = multilinear.eq(fr.from_ints(rows), threads)
        columns = by_variable(self._system, shape, multilinear.eq(fr.from_ints(at), threads))
        total = 0
        for start, matrices in self._system.matrices(threads):
            for matrix, weight in zip(matrices, weights, strict=True):
                values = matrix.multiply(columns, threads)
                (value,) = fr.to_ints(multilinear.dot(values, by_row[start : start + matrix.rows], threads))
                total += weight * value
        return total % fr.modulus

    def combined(self, shape: Shape, rows: FrArray, weights: Sequence[int]) -> FrArray:
        """The combined matrices summed over their rows, each times one of ``rows``, uint64[2^log_rows, 4].

        By place: uint64[2^variables, 4].
        """
        sums = np.zeros((self._system.variables, 4), dtype=np.uint64)
        factors = [fr.from_ints([weight])[0] for weight in weights]
        for start, matrices in self._system.matrices(self._threads):
            for matrix, factor in zip(matrices, factors, strict=True):
                part = fr.mul(rows[start : start + matrix.rows], factor)
                matrix.add_transposed(part, sums, self._threads)
        return by_place(self._system, shape, sums)


def witness_table(shape: Shape, z: FrArray, parts: Sequence[FrArray]) -> FrArray:
    """The witness by place, uint64[2^variables, 4], Montgomery: what is known of ``z``, and the rows of
    ``parts`` with their tails, each uint64[rows, degree, 4].
    """
    table = np.zeros((1 << shape.variables, 4), dtype=np.uint64)
    table[: shape.known] = z[: shape.known]
    for part, rows in zip(shape.parts, parts, strict=True):
        rows_of(table, shape, part)[:] = rows
    return table
