"""Blocks whose rows are made when they are read, and forgotten again, or kept where memory allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from zenserve.kernels import FrArray
from zenserve.prover.blocks import Block, Csr, ProductBlock, RowValues, Shorts, SparseBlock
from zenserve.relations.integers import IntArray

# Left factor, right factor and product of each row: int64[rows], variables.
Products = tuple[IntArray, IntArray, IntArray]
Made = SparseBlock | ProductBlock


@dataclass(frozen=True)
class Tile:
    """``rows`` constraints; ``make`` gives them, the same every time."""

    name: str
    rows: int
    make: Callable[[], Made]
    _kept: list[Made] = field(default_factory=list, init=False, repr=False, compare=False)

    def matrices(self) -> tuple[Csr, Csr, Csr]:
        return self._block().matrices()

    def evaluate(self, z: FrArray, out: RowValues, threads: int = 1, *, shorts: Shorts | None = None) -> None:
        self._block().evaluate(z, out, threads, shorts=shorts)

    def _block(self) -> Made:
        return self._kept[0] if self._kept else self.make()


def keep(blocks: Iterable[Block], most_bytes: int) -> None:
    """Keep the rows of as many tiles as fit into ``most_bytes``, the first ones first."""
    for block in blocks:
        if isinstance(block, Tile):
            made = block.make()
            most_bytes -= held_bytes(made)
            if most_bytes < 0:
                return
            block._kept[:] = [made]


def held_bytes(block: Block) -> int:
    """The memory of a block's rows, their coefficients in Montgomery form included."""
    if isinstance(block, ProductBlock):
        return block.left.nbytes + block.right.nbytes + block.product.nbytes
    return sum(
        matrix.offsets.nbytes + matrix.columns.nbytes + matrix.coefficients.nbytes + 32 * len(matrix.pool)
        for matrix in block.matrices()
    )
