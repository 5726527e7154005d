"""A proof's sums by the processor's kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from zenserve import kernels
from zenserve.base.randomness import Secrets
from zenserve.kernels import FrArray, fr, multilinear
from zenserve.kernels.cube import Round
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.size import Size
from zenserve.prover.spartan import cost
from zenserve.prover.spartan.commitment import Committed, Linked, commit, elements, linked_to
from zenserve.prover.spartan.folding import CpuVector
from zenserve.prover.spartan.layout import SystemMatrices, fill_eq, witness_rows
from zenserve.prover.spartan.rounds import Rounds, inner_rounds, outer_rounds
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.spartan.transcript import Transcript


class CpuSession:
    """``zenserve.prover.spartan.sessions.Session`` on ``threads`` threads."""

    def __init__(self, system: ConstraintSystem, shape: Shape, z: FrArray, threads: int) -> None:
        self._system, self._shape, self._z, self._threads = system, shape, z, threads
        self._parts: list[Committed] = []
        self._salts: NDArray[np.uint8] | None = None
        self._secret, self._summed = Secrets(), Secrets()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._summed.erase(self._threads)
        self._secret.erase(self._threads)

    def commit(self, variables: slice, tail: int, seed: bytes, mask: bytes | None = None) -> Committed:
        code, secret, extra = self._shape.code, self._secret, None
        if mask is not None:
            extra = elements(mask, code.degree, secret, self._threads)[np.newaxis]
        made = commit(
            self._z[variables],
            code,
            tail,
            seed,
            extra=extra,
            salts=self._salts,
            threads=self._threads,
            secret=secret,
        )
        self._salts = made.salts
        self._parts.append(made)
        return made

    def link(self, variables: slice, linked: Linked, *, lasting: bool) -> Committed:
        code, part, values = self._shape.code, self._shape.parts[len(self._parts)], self._z[variables]
        beside = cost.memory(Size.of(self._system)) if lasting else None
        make = partial(linked_to, secret=self._secret, threads=self._threads)
        self._parts.append(make(values, code, part.tail, linked, beside=beside))
        return self._parts[-1]

    def outer(self, zero: Sequence[int], pads: FrArray, transcript: Transcript) -> Rounds:
        system, threads, rows = self._system, self._threads, 1 << self._shape.log_rows
        # That of the second sum-check, too: what is new to a process is dearer than what it has.
        places, last = 1 << self._shape.variables, self._shape.parts[-1]
        self._tables = kernels.aligned(max(3 * rows, places + max(places // 2, rows)), zeros=True)
        self._summed(self._tables[: max(3 * rows, (last.first + last.rows) * self._shape.code.degree)])
        self._summed(self._tables[places:])
        a, b, c = (self._tables[i * rows : (i + 1) * rows] for i in range(3))
        system.evaluate(self._z, threads, out=(a, b, c))
        failing = fr.first_unsatisfied(a, b, c, threads)
        if failing is not None:
            raise system.unsatisfied(failing)
        return outer_rounds(OuterTables((a, b, c), zero, threads), zero, pads, transcript)

    def inner(
        self, outer: Sequence[int], weights: Sequence[int], pads: FrArray, transcript: Transcript
    ) -> Rounds:
        shape, threads = self._shape, self._threads
        places, rows = 1 << shape.variables, 1 << shape.log_rows
        matrices, folded = self._tables[:places], self._tables[places : places + places // 2]
        weights_at = self._tables[places : places + rows]  # until the witness is folded
        fill_eq(outer, weights_at, threads)
        SystemMatrices(self._system, threads).combine(shape, weights_at, weights, matrices, 3 * rows)
        committed = [part.rows[: place.rows] for part, place in zip(self._parts, shape.parts, strict=True)]
        tables = InnerTables(matrices, witness_rows(shape, self._z, committed), folded, threads)
        found = inner_rounds(tables, shape.variables, pads, transcript)
        self._combined = self._secret(tables.combined)
        self._summed.erase(threads)
        del self._tables
        return found

    def open(self, point: Sequence[int]) -> int:
        split = self._shape.row_variables
        self._by_row = multilinear.eq(fr.from_ints(point[:split]))
        self._by_column = multilinear.eq(fr.from_ints(point[split:]), self._threads)
        (value,) = fr.to_ints(multilinear.dot(self._mask, self._by_column, self._threads))
        return value

    def combine(self, factor: int) -> CpuVector:
        known, degree = self._z[: self._shape.known], self._shape.code.degree
        total = self._mask.copy()
        multilinear.combine_rows(self._combined[np.newaxis], fr.from_ints([factor]), total, self._threads)
        less = fr.mul(self._by_row, fr.from_ints([-factor])[0])
        for index, start in enumerate(range(0, len(known), degree)):
            own = known[start : start + degree]
            multilinear.combine_rows(own[np.newaxis], less[index : index + 1], total[: len(own)])
        return CpuVector(total, self._by_column, self._threads)

    @property
    def _mask(self) -> FrArray:
        """The private variables' last row."""
        row: FrArray = self._parts[-1].rows[-1]
        return row


class _Tables:
    """Of a sum-check, folded in place: when the next round reads them."""

    def __init__(self, tables: Sequence[FrArray], threads: int) -> None:
        self._tables, self._threads = list(tables), threads
        self._bound: FrArray | None = None

    def bind(self, r: int) -> None:
        (self._bound,) = fr.from_ints([r])

    def values(self) -> list[int]:
        left = self._tables
        if self._bound is not None:
            left = [multilinear.fold(table, self._bound) for table in left]
        return fr.to_ints(np.concatenate(left))

    def _numbers(self, found: Round) -> tuple[int, int]:
        """Return the numbers of a round, which has folded the tables in place if a variable was bound."""
        if self._bound is not None:
            self._tables = [table[: len(table) // 2] for table in self._tables]
        return self._read(found)

    @staticmethod
    def _read(found: Round) -> tuple[int, int]:
        constant, leading = fr.to_ints(np.stack(found))
        return constant, leading


class OuterTables(_Tables):
    """a, b and c, where a b = c everywhere."""

    def __init__(self, tables: Sequence[FrArray], zero: Sequence[int], threads: int) -> None:
        super().__init__(tables, threads)
        self._zero = list(zero)

    def round(self) -> tuple[int, int]:
        self._zero.pop(0)
        rest = fr.from_ints(self._zero).reshape(-1, 4)
        half = len(rest) // 2
        outer, inner = (multilinear.eq(part, self._threads) for part in (rest[:half], rest[half:]))
        a, b, c = self._tables
        last = None if self._bound is None else c
        return self._numbers(
            multilinear.r1cs_round(a, b, last, outer, inner, self._threads, bound=self._bound)
        )


class InnerTables(_Tables):
    """``rows``: of the second table, whose place is ``folded``, half as long, once a variable is bound.

    ``combined``: what the rows are combined to as the variables are bound that choose one.
    """

    def __init__(self, matrices: FrArray, rows: Sequence[FrArray], folded: FrArray, threads: int) -> None:
        super().__init__([matrices, folded], threads)
        self._rows: Sequence[FrArray] | None = rows
        self.combined = rows[0]

    def round(self) -> tuple[int, int]:
        matrices, witness = self._tables
        if self._rows is None:
            said = self._numbers(
                multilinear.product_round(matrices, witness, self._threads, bound=self._bound)
            )
        else:
            found = multilinear.rows_round(
                matrices, self._rows, self._threads, bound=self._bound, folded=witness
            )
            said = self._read(found)
            if self._bound is not None:
                self._rows, self._tables = None, [matrices[: len(witness)], witness]
        if len(self._tables[1]) == len(self.combined) and self._rows is None:
            self.combined = self._tables[1].copy()
        return said
