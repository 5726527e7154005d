"""Rank-1 constraint systems as lists of blocks.

A statement is a relation over the variables ``z = (1 | public | challenges | segments | private)``: row i of
every block demands ``(A_i · z) (B_i · z) = C_i · z`` over Fr. Each segment ends with a blinding variable that
belongs to the proof system and that no row reads. Blocks keep structure: a block yields its rows as sparse
matrices for setup, and computes its share of A·z, B·z, C·z itself, so that a layer with 10^7
coefficients never becomes 10^7 Python objects.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

import kernels
from base.parallel import in_turn, run
from base.randomness import Secrets
from kernels import FrArray
from prover import adaptivity
from zenerrors import StatementError

# Coefficients below this in absolute value are found in a table instead of by sorting.
_SMALL = 1 << 15
# For fewer entries sorting beats a pass over that many.
_FEW = 1 << 12


@dataclass(frozen=True)
class Csr:
    """A sparse matrix in compressed rows, its coefficients drawn from a pool of distinct integers.

    ``offsets``: int64[rows + 1]; ``columns``: uint32[nonzeros], variable indices;
    ``coefficients``: uint32[nonzeros], positions in ``pool``; ``pool``: canonical or signed Python
    integers, read modulo r. Entries that name the same column twice in a row add up.
    """

    offsets: NDArray[np.int64]
    columns: NDArray[np.uint32]
    coefficients: NDArray[np.uint32]
    pool: tuple[int, ...]

    @property
    def rows(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def from_entries(
        cls,
        rows: int,
        row: NDArray[np.int64],
        column: NDArray[np.int64],
        value: NDArray[np.int64],
        exponent: NDArray[np.int64] | None = None,
    ) -> Csr:
        """Build from parallel arrays of entries, in any order. Entries with value 0 are dropped.

        With ``exponent``, int64[entries] and not negative, coefficients are ``value · 2^exponent``.
        """
        keep = value != 0
        if not keep.all():
            row, column, value = row[keep], column[keep], value[keep]
            exponent = None if exponent is None else exponent[keep]
        offsets = np.zeros(rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(row, minlength=rows), out=offsets[1:])
        pool, coefficients = _distinct(value)
        if exponent is not None:
            pool, coefficients = _raised(pool, coefficients, exponent)
        columns = column.astype(np.uint32)
        if (row[1:] < row[:-1]).any():
            order = np.argsort(row, kind="stable")
            columns, coefficients = columns[order], coefficients[order]
        return cls(offsets, columns, coefficients, pool)

    @classmethod
    def selection(cls, columns: NDArray[np.int64]) -> Csr:
        """The matrix whose row i is the single variable ``columns[i]`` with coefficient one."""
        count = len(columns)
        return cls(
            np.arange(count + 1, dtype=np.int64), columns.astype(np.uint32), np.zeros(count, np.uint32), (1,)
        )

    @classmethod
    def empty(cls, rows: int) -> Csr:
        """``rows`` rows that are all zero."""
        return cls(np.zeros(rows + 1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.uint32), ())

    @cached_property
    def pool_mont(self) -> FrArray:
        """``pool`` as uint64[len(pool), 4], Montgomery."""
        return kernels.fr.from_ints(self.pool)

    def multiply(self, z: FrArray, threads: int = 1, *, out: FrArray | None = None) -> FrArray:
        """The product with ``z`` (uint64[variables, 4], Montgomery): uint64[rows, 4], in ``out`` if given."""
        return kernels.csr_multiply(
            self.offsets, self.columns, self.coefficients, self.pool_mont, z, out=out, threads=threads
        )

    def add_transposed(self, y: FrArray, out: FrArray, threads: int = 1) -> None:
        """Add the transpose's product with ``y`` (uint64[rows, 4]) to ``out`` (uint64[variables, 4])."""
        kernels.csr_multiply_transposed(
            self.offsets, self.columns, self.coefficients, self.pool_mont, y, out, threads=threads
        )


RowValues = tuple[FrArray, FrArray, FrArray]
"""A·z, B·z and C·z of a run of rows."""


class Block(Protocol):
    """A run of constraints with a common structure, placed in the statement's global variables."""

    @property
    def name(self) -> str:
        """Where the rows come from, for error messages: ``layer/gadget``."""

    @property
    def rows(self) -> int: ...

    def matrices(self) -> tuple[Csr, Csr, Csr]:
        """A, B and C of these rows, over all variables of the statement."""

    def evaluate(self, z: FrArray, out: RowValues, threads: int = 1) -> None:
        """Write A·z, B·z and C·z of these rows to ``out``, each uint64[rows, 4] in Montgomery form."""


@dataclass(frozen=True)
class SparseBlock:
    """A block without further structure: three sparse matrices."""

    name: str
    a: Csr
    b: Csr
    c: Csr

    def __post_init__(self) -> None:
        if not self.a.rows == self.b.rows == self.c.rows:
            raise StatementError(
                "statement.block_shape", f"block {self.name!r}: A, B and C must have equally many rows"
            )

    @property
    def rows(self) -> int:
        return self.a.rows

    def matrices(self) -> tuple[Csr, Csr, Csr]:
        return self.a, self.b, self.c

    def evaluate(self, z: FrArray, out: RowValues, threads: int = 1) -> None:
        for matrix, values in zip(self.matrices(), out, strict=True):
            matrix.multiply(z, threads, out=values)


@dataclass(frozen=True)
class ProductBlock:
    """Rows ``z[left] · z[right] = z[product]``: three index vectors, int64[rows] each."""

    name: str
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    product: NDArray[np.int64]

    @property
    def rows(self) -> int:
        return len(self.left)

    def matrices(self) -> tuple[Csr, Csr, Csr]:
        return Csr.selection(self.left), Csr.selection(self.right), Csr.selection(self.product)

    def evaluate(self, z: FrArray, out: RowValues, threads: int = 1) -> None:
        for variables, values in zip((self.left, self.right, self.product), out, strict=True):
            # With any other mode numpy gathers into a buffer first, and copies that.
            np.take(z, variables, axis=0, out=values, mode="clip")


@dataclass(frozen=True)
class Segment:
    """``size`` variables that a proof commits to before its challenges are drawn.

    ``linked``: every proof also shows that a commitment from outside (``groth16.commitment``) opens to them.
    """

    name: str
    size: int
    linked: bool = False


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass over all coefficients finds.

    ``digest``: the system's; ``nonzeros``: int64[blocks, 3], the entries of A, B and C in each block;
    ``in_a``, ``in_b``: how many variables A and B read, those with an anchoring row in A included;
    ``absent``: the variables behind the inputs that occur in no row, ascending.
    """

    digest: bytes
    nonzeros: NDArray[np.int64]
    in_a: int
    in_b: int
    absent: NDArray[np.int64]


@dataclass(frozen=True)
class ConstraintSystem:
    """Constraint blocks over ``1 | public | challenges | segment_1 .. segment_m | private``, in that order.

    A segment takes ``size + 1`` variables, the last one for blinding. ``layout`` names groups of variables,
    for messages. A statement with challenges is refused where a prover could choose, once a challenge is
    known, what a constraint on it reads: ``StatementError`` (``statement.adaptive``, the message names the
    variable; ``prover.adaptivity`` has the rule). ``statement.challenge_without_segment`` where there is
    nothing to draw challenges from; ``statement.link_without_challenge``, since it is the challenge that ties
    a proof to the very commitment it was made for; ``statement.size`` for sizes that are no natural numbers.
    """

    public: int
    private: int
    blocks: tuple[Block, ...]
    challenges: int = 0
    segments: tuple[Segment, ...] = ()
    layout: Mapping[str, NDArray[np.int64]] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        sizes = (self.public, self.private, self.challenges, *(segment.size for segment in self.segments))
        if not all(isinstance(size, int) and size >= 0 for size in sizes):
            raise StatementError("statement.size", "every part's size must be an integer, at least 0")
        if not self.challenges:
            if any(segment.linked for segment in self.segments):
                raise StatementError(
                    "statement.link_without_challenge",
                    "a statement with a linked segment takes a challenge, even if no constraint reads it",
                )
            return
        if not self.segments:
            raise StatementError(
                "statement.challenge_without_segment",
                "challenges are drawn from the commitments to segments: declare a segment",
            )
        adaptive = self._analysis.adaptive
        if adaptive is not None:
            raise StatementError(
                "statement.adaptive",
                f"a constraint on a challenge reads {self.variable_name(adaptive)}, which the prover may "
                "still choose when the challenge is known: put it into a segment",
            )

    @cached_property
    def _analysis(self) -> adaptivity.Analysis:
        return adaptivity.analyse(self)

    @property
    def fixed(self) -> NDArray[np.bool_]:
        """Which variables have their values before the challenges are drawn: bool[variables]."""
        return self._analysis.fixed

    @property
    def instance(self) -> int:
        """How many variables the verifier knows: the constant one, public inputs and challenges."""
        return 1 + self.public + self.challenges

    @property
    def variables(self) -> int:
        return self.first_private + self.private

    @property
    def first_private(self) -> int:
        return self.instance + sum(segment.size + 1 for segment in self.segments)

    @cached_property
    def segment_ranges(self) -> tuple[slice, ...]:
        """The variables of each segment, its blinding variable last."""
        ends = np.cumsum([self.instance, *(segment.size + 1 for segment in self.segments)]).tolist()
        return tuple(slice(start, end) for start, end in itertools.pairwise(ends))

    @cached_property
    def anchored(self) -> NDArray[np.int64]:
        """The variables s that get a row A = z_s, B = C = 0 after the constraints (docs/groth16.md)."""
        blinding = np.array([part.stop - 1 for part in self.segment_ranges], dtype=np.int64)
        return np.concatenate([np.arange(self.instance), blinding])

    @property
    def constraints(self) -> int:
        return sum(block.rows for block in self.blocks)

    @property
    def digest(self) -> bytes:
        """SHA-256 over the sizes and every coefficient: what a key is made for. 32 bytes."""
        return self.survey.digest

    @cached_property
    def survey(self) -> Survey:
        """Raises ``StatementError`` as ``matrices`` does."""
        hasher = hashlib.sha256(b"zenserve r1cs 2")
        sizes = [self.public, self.challenges, self.private, len(self.segments), len(self.blocks)]
        sizes += [value for segment in self.segments for value in (segment.size, segment.linked)]
        _absorb(hasher, (np.array(sizes, dtype="<u8"),))
        nonzeros = np.zeros((len(self.blocks), 3), dtype=np.int64)
        in_a, in_b, in_c = (np.zeros(self.variables, dtype=np.bool_) for _ in range(3))
        in_a[self.anchored] = True
        for index, (_, matrices) in enumerate(self.matrices(threads=os.cpu_count() or 1)):
            for matrix in matrices:
                pool = b"".join((value % kernels.fr.modulus).to_bytes(32, "little") for value in matrix.pool)
                _absorb(
                    hasher,
                    (
                        matrix.offsets.astype("<u8"),
                        matrix.columns.astype("<u4"),
                        matrix.coefficients.astype("<u4"),
                        np.frombuffer(pool, dtype=np.uint8),
                    ),
                )
            nonzeros[index] = [len(matrix.columns) for matrix in matrices]
            for matrix, occurs in zip(matrices, (in_a, in_b, in_c), strict=True):
                occurs[matrix.columns] = True
        absent = np.flatnonzero(~(in_a | in_b | in_c))
        return Survey(hasher.digest(), nonzeros, int(in_a.sum()), int(in_b.sum()), absent)

    def matrices(self, threads: int = 1) -> Iterator[tuple[int, tuple[Csr, Csr, Csr]]]:
        """Each block's first row and its A, B and C, checked against this statement.

        With more ``threads`` as many of the blocks that follow are made while the caller reads one.
        Raises ``StatementError``: ``statement.block_shape`` where the rows differ from what the block says,
        ``statement.column`` where a matrix names a variable that the statement does not have,
        ``statement.blinding`` where it names one that blinds a segment.
        """
        made = in_turn((partial(self._checked, block) for block in self.blocks), threads)
        yield from zip(self._starts, made, strict=True)

    def _checked(self, block: Block) -> tuple[Csr, Csr, Csr]:
        matrices = block.matrices()
        for matrix in matrices:
            if matrix.rows != block.rows:
                raise StatementError(
                    "statement.block_shape",
                    f"block {block.name!r} has {block.rows} rows, one of its matrices {matrix.rows}",
                )
            if len(matrix.columns) and int(matrix.columns.max()) >= self.variables:
                raise StatementError(
                    "statement.column",
                    f"block {block.name!r} uses variable {matrix.columns.max()}, "
                    f"the statement has {self.variables}",
                )
            if np.isin(matrix.columns, self.anchored[self.instance :]).any():
                raise StatementError(
                    "statement.blinding", f"block {block.name!r} uses a variable that blinds a segment"
                )
        return matrices

    def evaluate(self, z: FrArray, threads: int = 1, *, length: int | None = None) -> RowValues:
        """A·z, B·z, C·z over all blocks in order, each uint64[constraints, 4] in Montgomery form.

        With ``length`` they are padded with zero rows to ``length`` rows. ``threads`` share the blocks.
        Raises ``StatementError`` (``statement.witness_shape``) where ``z`` does not fit.
        """
        self.check_shape(z)
        rows = self.constraints if length is None else length
        a, b, c = (np.zeros((rows, 4), dtype=np.uint64) for _ in range(3))
        calls = []
        for block, start, share in zip(self.blocks, self._starts, self._shares(threads), strict=True):
            part = slice(start, start + block.rows)
            calls.append(partial(block.evaluate, z, (a[part], b[part], c[part]), share))
        try:
            run(calls, threads)
        except BaseException:
            for out in (a, b, c):
                out.fill(0)
            raise
        return a, b, c

    def check(self, z: FrArray, threads: int = 1) -> None:
        """Raises ``StatementError`` (``statement.unsatisfied``) where ``z`` fails a row: the first one is
        named.
        """
        with Secrets() as secret:
            a, b, c = (secret(values) for values in self.evaluate(z, threads))
            row = kernels.fr.first_unsatisfied(a, b, c, threads)
        if row is not None:
            raise self.unsatisfied(row)

    @property
    def _starts(self) -> list[int]:
        """Each block's first row."""
        return [0, *itertools.accumulate(block.rows for block in self.blocks)][:-1]

    def _shares(self, threads: int) -> list[int]:
        """How many of ``threads`` each block gets, by its entries: one, but for those with far more."""
        if threads == 1:
            return [1] * len(self.blocks)
        entries = self.survey.nonzeros.sum(axis=1)
        shares = np.rint(threads * entries / max(1, int(entries.sum())))
        return [max(1, int(share)) for share in shares]

    def check_shape(self, z: FrArray) -> None:
        """``StatementError`` (``statement.witness_shape``) unless z is a contiguous uint64[variables, 4]."""
        if z.shape != (self.variables, 4) or z.dtype != np.uint64 or not z.flags.c_contiguous:
            raise StatementError(
                "statement.witness_shape",
                f"the witness is {z.dtype}{list(z.shape)}, "
                f"this statement takes contiguous uint64[{self.variables}, 4]",
                field="witness",
            )

    def unsatisfied(self, row: int) -> StatementError:
        """What to raise where a witness fails this row."""
        return StatementError(
            "statement.unsatisfied",
            f"the witness does not satisfy constraint {self.row_name(row)}",
            field="witness",
        )

    def row_name(self, row: int) -> str:
        """The block and offset of global row ``row``, for error messages. Blocks of one name count on."""
        before: Counter[str] = Counter()
        for block in self.blocks:
            if row < block.rows:
                return f"{block.name}[{before[block.name] + row}]"
            before[block.name] += block.rows
            row -= block.rows
        raise IndexError(row)

    def variable_name(self, index: int) -> str:
        """Where ``layout`` has variable ``index``, or else its part of the statement, for error messages."""
        for name, group in self.layout.items():
            where = np.argwhere(group == index)
            if len(where):
                return f"{name}{where[0].tolist()}"
        parts = {"one": 1, "public": self.public, "challenge": self.challenges}
        parts |= {f"segment {segment.name}": segment.size + 1 for segment in self.segments}
        for name, size in (parts | {"private": self.private}).items():
            if index < size:
                return f"{name}[{index}]"
            index -= size
        raise IndexError(index)


def _distinct(values: NDArray[np.int64]) -> tuple[tuple[int, ...], NDArray[np.uint32]]:
    """The distinct values, none of them 0, ascending, and each one's position. Fast where most are small."""
    if len(values) < _FEW:
        distinct, inverse = np.unique(values, return_inverse=True)
        return tuple(distinct.tolist()), inverse.astype(np.uint32)
    large = np.flatnonzero(np.abs(values) >= _SMALL)
    beyond, inverse = np.unique(values[large], return_inverse=True)
    below = int(np.searchsorted(beyond, 0))
    place = values + _SMALL
    place[large] = _SMALL  # that of 0, which no other value has
    seen = np.zeros(2 * _SMALL, dtype=np.bool_)
    seen[place] = True
    seen[_SMALL] = False
    position = (np.cumsum(seen) + (below - 1)).astype(np.uint32)
    found = position[place]
    found[large] = inverse + np.where(inverse < below, 0, int(seen.sum()))
    pool = np.concatenate([beyond[:below], np.flatnonzero(seen) - _SMALL, beyond[below:]])
    return tuple(pool.tolist()), found


def _raised(
    pool: tuple[int, ...], coefficients: NDArray[np.uint32], exponent: NDArray[np.int64]
) -> tuple[tuple[int, ...], NDArray[np.uint32]]:
    """The distinct ``pool[coefficients] · 2^exponent``, and each one's position."""
    steps = int(exponent.max(initial=0)) + 1
    pairs = coefficients.astype(np.int64) * steps + exponent
    seen = np.zeros(len(pool) * steps, dtype=np.bool_)
    seen[pairs] = True
    position = (np.cumsum(seen) - 1).astype(np.uint32)
    factors = (divmod(pair, steps) for pair in np.flatnonzero(seen).tolist())
    return tuple(pool[index] << power for index, power in factors), position[pairs]


def _absorb(hasher: hashlib._Hash, arrays: Iterable[NDArray[np.generic]]) -> None:
    for array in arrays:
        hasher.update(len(array).to_bytes(8, "little"))
        hasher.update(np.ascontiguousarray(array).data)
