"""Table lookups by logarithmic derivatives (Haböck, ePrint 2022/1530).

Every value f_i stands in the table t, m_j times as its entry t_j, exactly if

    sum_i 1 / (X - f_i) = sum_j m_j / (X - t_j)

as rational functions: a value outside the table has a pole on the left alone, since fewer than r lookups
cannot cancel it. The circuit checks the identity at a challenge c that is drawn once f and m are committed.
A table of several columns is folded with a second challenge g into t_j = t_j1 + g t_j2 + g² t_j3 ..., values
likewise, and the same holds over the rational functions in g.

Rows: one for a lookup, and one more for each column after the first; one for each row of a table that is
used, and one for its sum. Columns whose values are proven small anyway are cheaper packed into one integer.
A table of wires costs a row more for each column after the first of an entry, too.
Wires: as many as rows, and the multiplicities, which are committed.

Soundness error: cleared of its d columns' n + T denominators the identity has degree below
(n + T) max(1, d - 1), and at the T poles c = t_j an entry's quotient is free: in all at most
(n + 2 T) max(1, d - 1) / r (Schwartz and Zippel). An honest prover fails where c is one of the poles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import ONE, Linear, LinearCombinations, Weighted
from zenserve.circuits.r1cs.powers import Powers
from zenserve.circuits.r1cs.steps import Counts, Lookup, Multiplicities, Operand, Product, Quotient
from zenserve.circuits.r1cs.table import Table
from zenserve.errors import StatementError
from zenserve.relations.integers import IntArray

# The challenges that identities are checked at, and that columns are folded with.
POINT, FOLD = 0, 1


class _Batch(NamedTuple):
    """Lookups, and the wires of their inverses."""

    lookup: Lookup
    inverses: IntArray


class Lookups:
    """All lookups of a circuit. A table's own rows are made once, when the circuit is complete."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._fold = Powers(builder, FOLD)
        self._batches: dict[Table, list[_Batch]] = {}

    def look_up(self, name: str, table: Table, values: Sequence[Linear], scale: int = 1) -> None:
        """Each tuple (values[0], values[1], ..) / scale, row by row, is a row of the table.

        Values and quotient are those of the field: a quotient that is no integer is in no table, and a
        combination of wires is the integer that it looks like where their bounds keep it below r/2. Values
        must be fixed before the challenges (``Builder.fixed``): the circuit is refused where they are not.
        Rows: width.
        """
        if len(values) != table.columns.shape[1]:
            raise StatementError(
                "statement.table_width", f"{name}: {len(values)} columns do not fit the table {table.name}"
            )
        inverses, factor = self._inverses(name, values, scale)
        self._batch(table).append(_Batch(Lookup(tuple(value.compact for value in values), scale), inverses))
        self.builder.post_challenge(Quotient(f"{name}/inverse", inverses, scale, factor.compact))

    def look_up_sums(self, name: str, table: Table, sums: LinearCombinations) -> None:
        """``look_up`` of one column, of combinations of so many wires that they are made in parts, and stand
        in A: what stands in B costs a proving key points of G2."""
        self.builder.fixed(name, sums)
        inverses = self.builder.private(f"{name}/inverse", sums.rows)
        factor = Weighted.wires(self._points(sums.rows)) - sums
        one = Weighted.wires(np.full(sums.rows, ONE))
        self.builder.multiply(f"{name}/lookup", factor, Weighted.wires(inverses), one)
        self._batch(table).append(_Batch(Lookup((sums,), 1), inverses))
        self.builder.post_challenge(Quotient(f"{name}/inverse", inverses, 1, factor))

    def look_up_among(
        self, name: str, entries: Sequence[Linear], values: Sequence[Linear], places: Operand
    ) -> None:
        """Each tuple (values[0], values[1], ..), row by row, is one of the tuples ``entries``: combinations
        of wires like them, a table that the prover fixes before the challenges, for these values alone.

        ``places``: where each value stands, in honest witnesses. Rows: width for a value, width for an entry,
        and one. What bounds make of combinations is as for ``look_up``.
        """
        inverses, factor = self._inverses(name, values, 1)
        for entry in entries:
            self.builder.fixed(name, entry)
        table = self._folded(f"{name}/entry", entries)
        multiplicity = self.builder.auxiliary(f"{name}/multiplicity", table.rows)
        self.builder.fill(Counts(f"{name}/multiplicity", multiplicity, places))
        self.builder.post_challenge(Quotient(f"{name}/inverse", inverses, 1, factor.compact))
        self._balance(name, table, multiplicity, inverses)
        self.builder.degree += (len(inverses) + 2 * table.rows) * max(1, len(entries) - 1)

    def _inverses(self, name: str, values: Sequence[Linear], scale: int) -> tuple[IntArray, Linear]:
        """Wires for ``scale / (scale c - value)``, and what they are the inverses of. Rows: width."""
        for value in values:
            self.builder.fixed(name, value)
        count = values[0].rows
        folded = self._folded(name, values)
        inverses = self.builder.private(f"{name}/inverse", count)
        factor = self._point(count).scale(scale) - folded
        self.builder.multiply(
            f"{name}/lookup", Linear.wires(inverses), factor, Linear.constant(np.full(count, scale))
        )
        return inverses, factor

    def _folded(self, name: str, columns: Sequence[Linear]) -> Linear:
        """``columns[0] + g columns[1] + ..``. Rows: width - 1."""
        folded = columns[0]
        weights = self._fold.progression(1, len(columns))[1:]
        for index, (column, weight) in enumerate(zip(columns[1:], weights, strict=True), 1):
            folded += self._weighted(f"{name}/column{index}", column, weight)
        return folded

    def _weighted(self, name: str, value: Linear, weight: int) -> Linear:
        """``weight · value``, a row and a wire each."""
        name = f"{name}/weighted"
        products = self.builder.private(name, value.rows)
        weights = np.broadcast_to(weight, value.rows)
        self.builder.multiply(name, value, Linear.wires(weights), Linear.wires(products))
        self.builder.post_challenge(Product(name, products, value.compact, weights))
        return Linear.wires(products)

    def _batch(self, table: Table) -> list[_Batch]:
        """The lookups in a table, so far."""
        if table not in self._batches:
            self._batches[table] = []
            self.builder.defer(partial(self._close, table))
        return self._batches[table]

    def _points(self, count: int) -> IntArray:
        return np.full(count, self.builder.challenge(POINT))

    def _point(self, count: int) -> Linear:
        return Linear.wires(self._points(count))

    def _close(self, table: Table) -> None:
        rows, width = table.columns.shape
        # A table that were used again would be closed again, which the names of its wires forbid.
        batches = self._batches.pop(table)
        multiplicity = self.builder.auxiliary(f"{table.name}/multiplicity", rows)
        weights = self._fold.progression(1, width)
        lookups = np.concatenate([batch.inverses for batch in batches])
        self._balance(table.name, Linear.weighted(weights, table.columns), multiplicity, lookups)
        self.builder.degree += (len(lookups) + 2 * rows) * max(1, width - 1)
        looked_up = tuple(batch.lookup for batch in batches)
        self.builder.fill(Multiplicities(f"{table.name}/multiplicity", multiplicity, table, looked_up))

    def _balance(self, name: str, entries: Linear, multiplicity: IntArray, lookups: IntArray) -> None:
        """The inverses ``lookups`` add up to what the entries of a table, each so many times, do."""
        rows = entries.rows
        quotient = self.builder.private(f"{name}/quotient", rows)
        factor = self._point(rows) - entries
        self.builder.multiply(f"{name}/table", Linear.wires(quotient), factor, Linear.wires(multiplicity))
        total = Linear.ones(lookups[np.newaxis]) - Linear.ones(quotient[np.newaxis])
        self.builder.zero(f"{name}/sum", total)
        self.builder.post_challenge(Quotient(f"{name}/quotient", quotient, multiplicity, factor.compact))
