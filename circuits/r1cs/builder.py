"""Collects wires, constraint blocks and the steps that fill in a witness, while a circuit is compiled.

Wires are numbered as they are taken, in any order, and ``program`` moves them to where the statement wants
them. A gadget that serves the whole circuit, such as a lookup table, finishes in a step that it defers: so
it sees all its users, and nobody can forget to close it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from zenserve.circuits.r1cs.linear import Linear, LinearCombinations
from zenserve.circuits.r1cs.program import Program
from zenserve.circuits.r1cs.steps import Step, Steps
from zenserve.circuits.r1cs.tiles import Made, Products, Tile
from zenserve.errors import StatementError
from zenserve.kernels import fr
from zenserve.prover.blocks import Block, ProductBlock, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.relations.bounds import Capacity
from zenserve.relations.integers import IntArray

_AUXILIARY = "auxiliary"
# About how many entries a block has in memory at a time.
_TILE = 1 << 17
# So few entries are kept from the start.
_KEPT = 1 << 16


FR: Final = Capacity(fr.modulus)
"""The scalars of BLS12-381."""

_Block = Made | Tile


class Builder:
    """One statement in the making, over a field of this ``capacity``.

    ``layout``: the wires of every group by name. ``degree``: see ``Program``; gadgets add theirs.
    """

    def __init__(self, capacity: Capacity = FR) -> None:
        self.capacity = capacity
        self.layout: dict[str, IntArray] = {}
        self.degree = 0
        self._blocks: list[_Block] = []
        self._integer: list[Step] = []
        self._field: list[Step] = []
        self._post_challenge: list[Step] = []
        self._deferred: list[Callable[[], None]] = []
        self._fixed: list[tuple[str, IntArray]] = []
        self._wires = 1
        self._public: list[IntArray] = []
        self._challenges: list[IntArray] = []
        self._segments: dict[str, list[IntArray]] = {}
        self._linked: set[str] = set()
        self._lasting: set[str] = set()
        self._private: list[IntArray] = []

    def public(self, name: str, *shape: int) -> IntArray:
        """New public wires, int64[shape]."""
        return self._take(self._public, name, shape)

    def private(self, name: str, *shape: int) -> IntArray:
        """New private wires, int64[shape]."""
        return self._take(self._private, name, shape)

    def segment(self, name: str, *, linked: bool = False, lasting: bool = False) -> str:
        """Declare a segment for ``committed``, as ``zenserve.prover.constraint_system.Segment`` has it."""
        if name in self._segments:
            raise StatementError("statement.duplicate_segment", f"two segments are called {name!r}")
        self._segments[name] = []
        if linked:
            self._linked.add(name)
        if lasting:
            self._lasting.add(name)
        return name

    def committed(self, segment: str, name: str, *shape: int) -> IntArray:
        """New wires in a segment that was declared, int64[shape]: fixed before the challenges are drawn."""
        return self._take(self._segments[segment], name, shape)

    def auxiliary(self, name: str, *shape: int) -> IntArray:
        """New wires in the segment where gadgets commit to what they need before the challenges."""
        if _AUXILIARY not in self._segments:
            self.segment(_AUXILIARY)
        return self.committed(_AUXILIARY, name, *shape)

    def challenge(self, index: int) -> int:
        """The wire of the challenge ``index``. All gadgets share them: their error probabilities add up."""
        while len(self._challenges) <= index:
            self._take(self._challenges, f"challenge{len(self._challenges)}", (1,))
        return int(self._challenges[index][0])

    def fill(self, step: Step) -> None:
        """``step`` runs after all earlier ones, in int64, before the challenges are drawn."""
        self._integer.append(step)

    def derive(self, step: Step) -> None:
        """``step`` runs after all ``fill`` steps, on field elements, before the challenges are drawn: for
        wires that do not fit into 64 bits."""
        self._field.append(step)

    def post_challenge(self, step: Step) -> None:
        """``step`` runs after all earlier ones, on field elements, when the challenges are known."""
        self._post_challenge.append(step)

    def defer(self, step: Callable[[], None]) -> None:
        """``step`` completes the circuit. The last one deferred runs first, and may use earlier gadgets."""
        self._deferred.append(step)

    def fixed(self, name: str, value: LinearCombinations) -> None:
        """``value`` must be fixed before the challenges: by public and committed wires, and by rows without
        challenges. ``program`` refuses the circuit where it is not. A check at a challenge whose operands
        depend on the challenge themselves proves nothing.
        """
        self._fixed.append((name, value.columns))

    def boolean(self, name: str, wires: IntArray) -> None:
        """Each wire is 0 or 1. One row each."""
        flat = wires.ravel()
        self.product(name, flat, flat, flat)

    def product(self, name: str, left: IntArray, right: IntArray, product: IntArray) -> None:
        """``z[left] · z[right] = z[product]``, one row each."""
        for start in range(0, max(1, len(product)), _TILE):
            part = slice(start, start + _TILE)
            factor = left[part]
            one = left is right is product
            others = (factor, factor) if one else (right[part], product[part])
            self._blocks.append(ProductBlock(name, factor, *others))

    def products(self, name: str, rows: int, make: Callable[[int, int], Products]) -> None:
        """The same for very many rows: ``make`` gives left, right and product of a range of them."""
        for start in range(0, rows, _TILE):
            stop = min(start + _TILE, rows)
            self._blocks.append(Tile(name, stop - start, partial(_multiplied, name, make, start, stop)))

    def multiply(
        self, name: str, a: LinearCombinations, b: LinearCombinations, c: LinearCombinations
    ) -> None:
        """``a · b = c`` row by row. Many rows become blocks that are made when they are read."""
        width = max(1, a.width + b.width + c.width)
        if c.rows * width <= _KEPT or all(isinstance(sums, Linear) for sums in (a, b, c)):
            self._blocks.append(_made(name, (a, b, c), 0, c.rows))
            return
        step = max(1, _TILE // width)
        for start in range(0, c.rows, step):
            stop = min(start + step, c.rows)
            self._blocks.append(Tile(name, stop - start, partial(_made, name, (a, b, c), start, stop)))

    def zero(self, name: str, value: LinearCombinations) -> None:
        """``value = 0`` row by row, as 0 · 0 = value: long sums then cost nothing in the A and B queries."""
        nothing = Linear.empty(value.rows)
        self.multiply(name, nothing, nothing, value)

    def program(self) -> Program:
        """Complete the circuit. Raises ``StatementError`` as ``ConstraintSystem`` does."""
        while self._deferred:
            self._deferred.pop()()
        if self._linked:
            # It is the challenge that ties a proof to the commitment, even if no row reads it.
            self.challenge(0)
        order = self._order()
        constraint_system = ConstraintSystem(
            public=_count(self._public),
            private=_count(self._private),
            blocks=tuple(renumbered(block, order) for block in self._blocks),
            challenges=len(self._challenges),
            segments=tuple(
                Segment(name, _count(groups), name in self._linked, name in self._lasting)
                for name, groups in self._segments.items()
            ),
            layout={name: order[wires] for name, wires in self.layout.items()},
        )
        self._check_fixed(constraint_system, order)
        steps = Steps(tuple(self._integer), tuple(self._field), tuple(self._post_challenge))
        return Program(constraint_system, order, steps, self.degree)

    def _check_fixed(self, constraint_system: ConstraintSystem, order: IntArray) -> None:
        for name, wires in self._fixed:
            variables = order[wires]
            loose = variables[~constraint_system.fixed[variables]]
            if len(loose):
                raise StatementError(
                    "statement.adaptive",
                    f"{name} reads {constraint_system.variable_name(int(loose[0]))}, which is not fixed "
                    "before the challenges: put it into a segment",
                )

    def _order(self) -> IntArray:
        """The statement's variable for each wire. The variable after each segment is its blinding."""
        order = np.zeros(self._wires, dtype=np.int64)
        following = 1
        parts = [(self._public, 0), (self._challenges, 0)]
        parts += [(groups, 1) for groups in self._segments.values()]
        for groups, blinding in [*parts, (self._private, 0)]:
            for wires in groups:
                order[wires.ravel()] = np.arange(following, following + wires.size)
                following += wires.size
            following += blinding
        return order

    def _take(self, part: list[IntArray], name: str, shape: tuple[int, ...]) -> IntArray:
        if name in self.layout:
            raise StatementError("statement.duplicate_wires", f"two groups of wires are called {name!r}")
        count = int(np.prod(shape))
        wires = np.arange(self._wires, self._wires + count).reshape(shape)
        self._wires += count
        self.layout[name] = wires
        part.append(wires)
        return wires


def _count(groups: list[IntArray]) -> int:
    return sum(wires.size for wires in groups)


def _made(
    name: str, sums: tuple[LinearCombinations, LinearCombinations, LinearCombinations], start: int, stop: int
) -> SparseBlock:
    # Made anew: a part that is kept would otherwise keep its matrix too.
    return SparseBlock(name, *(part.part(start, stop).matrix() for part in sums))


def _multiplied(name: str, make: Callable[[int, int], Products], start: int, stop: int) -> ProductBlock:
    return ProductBlock(name, *make(start, stop))


def _made_and_moved(make: Callable[[], Made], order: IntArray) -> Made:
    return _moved(make(), order)


def renumbered(block: Block, order: IntArray) -> Block:
    """The block over other variables, ``order[i]`` in the place of i."""
    if isinstance(block, Tile):
        return replace(block, make=partial(_made_and_moved, block.make, order))
    return _moved(block, order)


def _moved(block: Block, order: IntArray) -> Made:
    if isinstance(block, ProductBlock):
        left = order[block.left]
        if block.left is block.right is block.product:
            return ProductBlock(block.name, left, left, left)
        return ProductBlock(block.name, left, order[block.right], order[block.product])
    a, b, c = (
        replace(matrix, columns=order[matrix.columns].astype(np.uint32)) for matrix in block.matrices()
    )
    return SparseBlock(block.name, a, b, c)
