"""A constraint system as whoever verifies has it: every coefficient, in plain Python, found by its digest."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from zenserve.verifier.spartan.admission import Sizes
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.shape import Shape


@dataclass(frozen=True)
class Matrix:
    """Compressed rows: row i has the entries ``offsets[i]`` to ``offsets[i + 1]``; ``columns`` are variables,
    ``coefficients`` places in ``pool``, whose integers are canonical.
    """

    offsets: Sequence[int]
    columns: Sequence[int]
    coefficients: Sequence[int]
    pool: Sequence[int]

    @property
    def rows(self) -> int:
        return len(self.offsets) - 1

    def at(self, rows: Sequence[int], columns: Sequence[int]) -> int:
        """The sum of all entries, each times its row's and its column's weight, not reduced."""
        total = 0
        for row, (start, end) in zip(rows, itertools.pairwise(self.offsets), strict=True):
            entries = zip(self.columns[start:end], self.coefficients[start:end], strict=True)
            inner = sum(self.pool[coefficient] * columns[column] for column, coefficient in entries)
            total += row * (inner % FR.modulus)
        return total


@dataclass(frozen=True)
class Circuit:
    """``zenserve.verifier.spartan.verification.Matrices``: blocks of rows of A, B and C over the variables
    ``1 | public | challenges | segments | private``, each segment with one variable more, which no row reads.
    """

    public: int
    challenges: int
    segments: tuple[tuple[int, bool], ...]
    private: int
    blocks: tuple[tuple[Matrix, Matrix, Matrix], ...]

    @property
    def sizes(self) -> Sizes:
        rows = sum(a.rows for a, _, _ in self.blocks)
        return Sizes(self.public, self.challenges, self.segments, self.private, rows)

    @property
    def nbytes(self) -> int:
        """About what the coefficients take as they stand in a file."""
        return sum(
            8 * len(matrix.offsets) + 8 * len(matrix.columns) + FR.element_bytes * len(matrix.pool)
            for matrix in itertools.chain(*self.blocks)
        )

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 over the sizes and every coefficient (docs/formats.md), 32 bytes."""
        hasher = hashlib.sha256(b"zenserve r1cs 2")
        sizes = [self.public, self.challenges, self.private, len(self.segments), len(self.blocks)]
        sizes += [int(value) for segment in self.segments for value in segment]
        hasher.update(_absorbed(sizes, 8))
        for matrix in itertools.chain(*self.blocks):
            hasher.update(_absorbed(matrix.offsets, 8))
            hasher.update(_absorbed(matrix.columns, 4))
            hasher.update(_absorbed(matrix.coefficients, 4))
            pool = FR.to_bytes(matrix.pool)
            hasher.update(len(pool).to_bytes(8, "little") + pool)
        return hasher.digest()

    def evaluate(
        self, shape: Shape, rows: Sequence[int], places: Sequence[int], weights: Sequence[int]
    ) -> int:
        """``Matrices.evaluate``."""
        # Strangers say how long rows are: not a table of all places, most of which may be no variable's.
        high, low = (FR.eq(part) for part in (places[: shape.row_variables], places[shape.row_variables :]))
        parts = (divmod(place, shape.code.degree) for place in self._places(shape))
        columns, by_row = [high[row] * low[column] % FR.modulus for row, column in parts], FR.eq(rows)
        total, start = 0, 0
        for block in self.blocks:
            here = by_row[start : start + block[0].rows]
            start += block[0].rows
            total += sum(
                weight * matrix.at(here, columns) for weight, matrix in zip(weights, block, strict=True)
            )
        return total % FR.modulus

    def _places(self, shape: Shape) -> Iterator[int]:
        """Of each variable; those that no row reads have any."""
        yield from range(shape.known)
        for index, part in enumerate(shape.parts):
            width = shape.code.degree - part.tail
            for i in range(part.size):
                yield (part.first + i // width) * shape.code.degree + i % width
            if index < len(self.segments):
                yield 0


def totals(commitments: int, values: int) -> Circuit:
    """Return the circuit that shows that ``commitments`` vectors of ``values`` values add up, value by value,
    to the public inputs."""
    first = 2 + values  # behind the constant one, the totals and a challenge that no row reads
    columns = [first + vector * (values + 1) + i for i in range(values) for vector in range(commitments)]
    sums = Matrix(range(0, len(columns) + 1, commitments), columns, [0] * len(columns), (1,))
    one, claimed = (
        Matrix(range(values + 1), places, [0] * values, (1,))
        for places in ([0] * values, range(1, values + 1))
    )
    return Circuit(values, 1, ((values, True),) * commitments, 0, ((sums, one, claimed),))


def _absorbed(numbers: Sequence[int], width: int) -> bytes:
    """Their count and the numbers, little-endian."""
    return len(numbers).to_bytes(8, "little") + b"".join(n.to_bytes(width, "little") for n in numbers)
