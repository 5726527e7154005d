"""A proof's sums by the processor's kernels."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

import numpy as np

from base.randomness import Secrets
from kernels import FrArray, fr, multilinear
from kernels.cube import Round
from prover.constraint_system import ConstraintSystem
from prover.spartan.commitment import Committed, commit, elements, to_bytes
from prover.spartan.layout import SystemMatrices, witness_table
from prover.spartan.rounds import Rounds, inner_rounds, outer_rounds
from verifier.spartan.shape import Shape
from verifier.spartan.transcript import Transcript


class CpuSession:
    """``prover.spartan.sessions.Session`` on ``threads`` threads."""

    def __init__(self, system: ConstraintSystem, shape: Shape, z: FrArray, threads: int) -> None:
        self._system, self._shape, self._z, self._threads = system, shape, z, threads
        self._parts: list[Committed] = []
        self._secret, self._products = Secrets(), Secrets()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._products.erase()
        self._secret.erase()

    def commit(self, variables: slice, tail: int, seed: bytes, mask: bytes | None = None) -> Committed:
        code, secret, extra = self._shape.code, self._secret, None
        if mask is not None:
            extra = elements(mask, code.degree, secret)[np.newaxis]
        values, threads = self._z[variables], self._threads
        return self.link(commit(values, code, tail, seed, extra=extra, threads=threads, secret=secret))

    def link(self, commitment: Committed) -> Committed:
        self._parts.append(commitment)
        return commitment

    def outer(self, zero: Sequence[int], pads: FrArray, transcript: Transcript) -> Rounds:
        system, threads = self._system, self._threads
        tables = [self._products(each) for each in system.evaluate(self._z, threads, length=1 << len(zero))]
        failing = fr.first_unsatisfied(tables[0], tables[1], tables[2], threads)
        if failing is not None:
            raise system.unsatisfied(failing)
        return outer_rounds(OuterTables(tables, zero, threads), zero, pads, transcript)

    def inner(
        self, outer: Sequence[int], weights: Sequence[int], pads: FrArray, transcript: Transcript
    ) -> Rounds:
        self._products.erase()  # and have their memory
        shape, threads = self._shape, self._threads
        rows = multilinear.eq(fr.from_ints(outer), threads)
        matrices = SystemMatrices(self._system, threads).combined(shape, rows, weights)
        committed = [part.rows[: place.rows] for part, place in zip(self._parts, shape.parts, strict=True)]
        witness = self._secret(witness_table(shape, self._z, committed))
        return inner_rounds(InnerTables([matrices, witness], threads), shape.variables, pads, transcript)

    def open(self, point: Sequence[int]) -> int:
        self._opened = point
        columns = multilinear.eq(fr.from_ints(point[self._shape.row_variables :]), self._threads)
        (value,) = fr.to_ints(multilinear.dot(self._mask, columns, self._threads))
        return value

    def combine(self, factor: int) -> bytes:
        rows = multilinear.eq(fr.from_ints(self._opened[: self._shape.row_variables]))
        weights = fr.mul(rows, fr.from_ints([factor])[0])
        total = self._mask.copy()
        for part, place in zip(self._parts, self._shape.parts, strict=True):
            own = weights[place.first : place.first + place.rows]
            multilinear.combine_rows(part.rows[: place.rows], own, total, self._threads)
        return to_bytes(total, self._threads)

    @property
    def _mask(self) -> FrArray:
        """The private variables' last row."""
        row: FrArray = self._parts[-1].rows[-1]
        return row


class _Tables:
    """Of a sum-check, folded in place."""

    def __init__(self, tables: Sequence[FrArray], threads: int) -> None:
        self._tables, self._threads = list(tables), threads

    def bind(self, r: int) -> None:
        (factor,) = fr.from_ints([r])
        self._tables = [multilinear.fold(table, factor, self._threads) for table in self._tables]

    def values(self) -> list[int]:
        return fr.to_ints(np.concatenate(self._tables))


class OuterTables(_Tables):
    def __init__(self, tables: Sequence[FrArray], zero: Sequence[int], threads: int) -> None:
        super().__init__(tables, threads)
        self._zero = list(zero)

    def round(self) -> tuple[int, int]:
        self._zero.pop(0)
        rest = fr.from_ints(self._zero).reshape(-1, 4)
        half = len(rest) // 2
        outer, inner = (multilinear.eq(part, self._threads) for part in (rest[:half], rest[half:]))
        a, b, c = self._tables
        return _numbers(multilinear.r1cs_round(a, b, c, outer, inner, self._threads))


class InnerTables(_Tables):
    def round(self) -> tuple[int, int]:
        matrices, witness = self._tables
        return _numbers(multilinear.product_round(matrices, witness, self._threads))


def _numbers(found: Round) -> tuple[int, int]:
    constant, leading = fr.to_ints(np.stack(found))
    return constant, leading
