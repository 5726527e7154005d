"""Tables, between two lines that are looked up by the cells of an interval's ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zenserve.circuits.certificates.between import Between, Box, Line, boxed
from zenserve.circuits.certificates.draft import Draft
from zenserve.circuits.certificates.tables import Cells, Dividing, Looking, Rows
from zenserve.circuits.lowering.clamps import digest
from zenserve.relations.bounds import Bound
from zenserve.relations.relation import Listed, Tensor, Term


@dataclass(frozen=True, eq=False)
class Looked(Between):
    """Up in a table, by the ends of what is ``read``: ``chosen`` are the columns that are no cells."""

    read: Box
    cells: Cells
    chosen: tuple[Tensor, ...]

    @classmethod
    def of(cls, draft: Draft, name: str, out: Tensor, read: Box, cells: Cells) -> Looked:
        rows, ends = cells.rows, (read.least, read.most)
        keys = [
            _cell(draft, f"{name}/{part}", end, cells)
            for part, end in zip(("first", "last"), ends, strict=True)
        ]
        chosen = []
        for part in Rows._fields[2:]:
            column = getattr(rows, part)
            bound = Bound.of(int(column.min()), int(column.max()))
            tensor = Tensor(f"{name}/{part}", out.shape, bound, out.bits if part in Box._fields else None)
            chosen.append(draft.choose(tensor, ends, Looking(cells, part)))
        zeros = "_".join(map(str, cells.zero_points))
        listing = f"lines_{digest(cells.function)}_{zeros}"
        draft.relations.append(
            Listed(name, chosen[-1], (*keys, *chosen[:-1]), np.stack(rows, axis=1), listing)
        )
        return cls(name, boxed(draft, name, *chosen[:2]), cells.zero_points[1], read, cells, tuple(chosen))

    @property
    def scale(self) -> int:
        return self.cells.scale

    @property
    def fine(self) -> int:
        return self.cells.fine

    @property
    def steepest(self) -> int:
        return self.cells.steepest

    @property
    def reach(self) -> int:
        return self.cells.reach

    def lines(self, draft: Draft) -> tuple[Line, Line]:
        low_slope, low_offset, high_slope, high_offset = map(Term, self.chosen[2:])
        return Line((low_slope,), (low_offset,)), Line((high_slope,), (high_offset,))


def _cell(draft: Draft, name: str, end: Tensor, cells: Cells) -> Tensor:
    """The cell that an end is in: as the table has whole numbers alone, it is no fraction."""
    first, width = cells.function.first, cells.width
    if width == 1:
        return draft.sum(name, end.shape, cells.count, Term(end, 1, first))
    cell = draft.choose(Tensor(name, end.shape, Bound.of(0, cells.count - 1)), (end,), Dividing(cells))
    draft.within(f"{name}/within", end.shape, width.bit_length() - 1, Term(end, 1, first), Term(cell, -width))
    return cell
