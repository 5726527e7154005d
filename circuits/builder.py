"""Collects wires, constraint blocks and the steps that fill in a witness, while a circuit is compiled.

Wires are numbered as they are taken, in any order, and ``program`` moves them to where the statement wants
them. A gadget that serves the whole circuit, such as a lookup table, finishes in a step that it defers: so
it sees all its users, and nobody can forget to close it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from circuits.integers import IntArray
from circuits.linear import Linear
from circuits.program import Answer, Fill, Program
from prover.statement import Block, Csr, ProductBlock, Segment, SparseBlock, Statement
from zenerrors import StatementError

_AUXILIARY = "auxiliary"


class Builder:
    """One statement in the making.

    ``layout``: the wires of every group by name. ``degree``: see ``Program``; gadgets add theirs.
    """

    def __init__(self) -> None:
        self.layout: dict[str, IntArray] = {}
        self.degree = 0
        self._blocks: list[ProductBlock | SparseBlock] = []
        self._fills: list[Fill] = []
        self._answers: list[Answer] = []
        self._deferred: list[Callable[[], None]] = []
        self._fixed: list[tuple[str, IntArray]] = []
        self._wires = 1
        self._public: list[IntArray] = []
        self._challenges: list[IntArray] = []
        self._segments: dict[str, list[IntArray]] = {}
        self._linked: set[str] = set()
        self._private: list[IntArray] = []

    def public(self, name: str, *shape: int) -> IntArray:
        """New public wires, int64[shape]."""
        return self._take(self._public, name, shape)

    def private(self, name: str, *shape: int) -> IntArray:
        """New private wires, int64[shape]."""
        return self._take(self._private, name, shape)

    def segment(self, name: str, *, linked: bool = False) -> str:
        """Declare a segment for ``committed``; ``linked`` as in ``prover.statement.Segment``."""
        if name in self._segments:
            raise StatementError("statement.duplicate_segment", f"two segments are called {name!r}")
        self._segments[name] = []
        if linked:
            self._linked.add(name)
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

    def fill(self, step: Fill) -> None:
        """``step`` runs after all earlier ones, in int64, before the challenges are drawn."""
        self._fills.append(step)

    def answer(self, step: Answer) -> None:
        """``step`` runs after all earlier ones, on field elements, when the challenges are known."""
        self._answers.append(step)

    def defer(self, step: Callable[[], None]) -> None:
        """``step`` completes the circuit. The last one deferred runs first, and may use earlier gadgets."""
        self._deferred.append(step)

    def fixed(self, name: str, value: Linear) -> None:
        """``value`` must be fixed before the challenges: by public and committed wires, and by rows without
        challenges. ``program`` refuses the circuit where it is not. A check at a challenge whose operands
        depend on the challenge themselves proves nothing.
        """
        self._fixed.append((name, np.unique(value.column)))

    def boolean(self, name: str, wires: IntArray) -> None:
        """Each wire is 0 or 1. One row each."""
        flat = wires.ravel()
        self._blocks.append(ProductBlock(name, flat, flat, flat))

    def product(self, name: str, left: IntArray, right: IntArray, product: IntArray) -> None:
        """``z[left] · z[right] = z[product]``, one row each."""
        self._blocks.append(ProductBlock(name, left, right, product))

    def multiply(self, name: str, a: Linear, b: Linear, c: Linear) -> None:
        """``a · b = c`` row by row."""
        self._blocks.append(SparseBlock(name, a.csr, b.csr, c.csr))

    def zero(self, name: str, value: Linear) -> None:
        """``value = 0`` row by row, as 0 · 0 = value: long sums then cost nothing in the A and B queries."""
        nothing = Csr.empty(value.rows)
        self._blocks.append(SparseBlock(name, nothing, nothing, value.csr))

    def program(self) -> Program:
        """Complete the circuit. Raises ``StatementError`` as ``Statement`` does."""
        while self._deferred:
            self._deferred.pop()()
        order = self._order()
        statement = Statement(
            public=_count(self._public),
            private=_count(self._private),
            blocks=tuple(_renumbered(block, order) for block in self._blocks),
            challenges=len(self._challenges),
            segments=tuple(
                Segment(name, _count(groups), name in self._linked) for name, groups in self._segments.items()
            ),
            layout={name: order[wires] for name, wires in self.layout.items()},
        )
        self._check_fixed(statement, order)
        return Program(statement, order, tuple(self._fills), tuple(self._answers), self.degree)

    def _check_fixed(self, statement: Statement, order: IntArray) -> None:
        for name, wires in self._fixed:
            variables = order[wires]
            loose = variables[~statement.fixed[variables]]
            if len(loose):
                raise StatementError(
                    "statement.adaptive",
                    f"{name} reads {statement.variable_name(int(loose[0]))}, which is not fixed before the "
                    "challenges: put it into a segment",
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


def _renumbered(block: ProductBlock | SparseBlock, order: IntArray) -> Block:
    if isinstance(block, ProductBlock):
        return ProductBlock(block.name, order[block.left], order[block.right], order[block.product])
    a, b, c = (
        replace(matrix, columns=order[matrix.columns].astype(np.uint32))
        for matrix in (block.a, block.b, block.c)
    )
    return SparseBlock(block.name, a, b, c)
