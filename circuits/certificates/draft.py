"""Relations while they are written down, and the few kinds of them that certificates are made of."""

from __future__ import annotations

import numpy as np

from zenserve.circuits.r1cs.gadgets import require_fit
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import Rule
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Chosen, Linear, Move, Product, Relation, Tensor, Term, Within


class Draft:
    """Of ``batch`` samples. Given are what is ``chosen``, by the prover, and what is ``made``: on wires, and
    what a relation says."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.relations: list[Relation] = []
        self.chosen: list[Tensor] = []
        self.made: list[Tensor] = []

    def choose(self, out: Tensor, values: tuple[Tensor, ...], rule: Rule) -> Tensor:
        """``out`` is whatever the prover likes, within its bound; ``rule`` finds it of ``values``."""
        self.chosen.append(out)
        self.relations.append(Chosen(out.name, out, values, rule))
        return out

    def hold(self, relation: Linear) -> None:
        """On wires of its own."""
        self.made.append(relation.out)
        self.relations.append(relation)

    def sum(
        self, name: str, shape: tuple[int, ...], reach: int, *terms: Term, constant: int | IntArray = 0
    ) -> Tensor:
        require_fit(name, (-reach, reach))
        out = Tensor(name, shape, Bound.of(-reach, reach))
        first, *rest = terms
        if np.any(constant):
            assert first.factor in (1, -1)  # noqa: S101  so that a zero point makes any constant
            first = first._replace(zero_point=first.zero - first.factor * constant)
        self.relations.append(Linear(name, out, (first, *rest)))
        return out

    def within(
        self,
        name: str,
        shape: tuple[int, ...],
        bits: int,
        *terms: Term,
        constant: int | IntArray = 0,
        lowest: int = 0,
    ) -> None:
        """A sum that is at least ``lowest``, and less than that and 2^bits."""
        require_fit(name, (0, 1 << bits))
        value = self.sum(f"{name}/value", shape, 1 << bits, *terms, constant=constant)
        out = Tensor(name, shape, Bound.of(lowest, lowest + (1 << bits) - 1, "range"))
        self.relations.append(Within(name, out, value))

    def product(self, name: str, shape: tuple[int, ...], reach: int, left: Term, right: Term) -> Tensor:
        require_fit(name, (-reach, reach))
        out = Tensor(name, shape, Bound.of(-reach, reach))
        self.relations.append(Product(name, out, left, right))
        return out

    def move(
        self,
        name: str,
        shape: tuple[int, ...],
        source: Tensor | tuple[Tensor, ...],
        places: IntArray,
        bits: int | None = None,
        reach: int | None = None,
        constant: int | None = None,
    ) -> Tensor:
        sources = source if isinstance(source, tuple) else (source,)
        padding = constant if (places < 0).any() else None
        ends = [each.bound.interval for each in sources]
        if padding is not None:
            ends.append((padding, padding))
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        bound = Bound.of(low, high) if reach is None else Bound.of(-reach, reach)
        out = Tensor(name, shape, bound, bits)
        self.relations.append(Move(name, out, sources, places, padding))
        return out
