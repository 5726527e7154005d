"""Numbers that are told behind one-time pads, and what must hold between the pads.

A number that follows from the witness is told as the truth plus a pad of its own, which is committed to
before any challenge. What a verifier computes of such numbers is a linear form in the pads, and what it
checks that a form is zero. A product of two of them takes the product of their pads, committed to as well,
and a triple x, y, x y (Beaver 1991), which shows that it is right: with f = e a + x and g = b + y in the
clear, (f - x) (g - y) is e a b.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from zenserve.verifier.spartan.field import Field


@dataclass(frozen=True)
class Hidden:
    """``constant`` plus, by their indices, the coefficients of ``pads``."""

    over: Field
    constant: int
    pads: Mapping[int, int] = field(default_factory=dict)

    def plus(self, other: Hidden | int, factor: int = 1) -> Hidden:
        """This, and ``factor`` times the other one."""
        reduce = self.over.reduce
        if isinstance(other, int):
            return Hidden(self.over, reduce(self.constant + factor * other), self.pads)
        pads = dict(self.pads)
        for place, coefficient in other.pads.items():
            pads[place] = reduce(pads.get(place, 0) + factor * coefficient)
        return Hidden(self.over, reduce(self.constant + factor * other.constant), pads)

    def times(self, factor: int) -> Hidden:
        return Hidden(self.over, 0).plus(self, factor)

    def at(self, pads: Sequence[int]) -> int:
        """The number itself, by all pads."""
        return self.over.reduce(self.constant + sum(c * pads[place] for place, c in self.pads.items()))


class Triple(NamedTuple):
    """A claim that the product of two forms in the pads, without constants, is a third. The pads from
    ``first`` on are x, y and x y."""

    left: Hidden
    right: Hidden
    product: Hidden
    first: int


class Channel(ABC):
    """A proof's messages and challenges, in order, and what must hold. The prover's end and the verifier's
    take the same steps (``zenserve.verifier.tensor.protocol``), and so number pads alike.
    """

    def __init__(self, over: Field) -> None:
        self.over = over
        self.count = 0
        """Pads so far."""
        self.products = dict[tuple[int, int], int]()
        """By two pads, the lower index first, that which is their product."""
        self.nonzero = set[int]()
        """Pads that are not zero."""
        self.triples = list[Triple]()
        self.zeros = list[tuple[str, Hidden]]()
        """The forms that must be zero, each with its name."""

    @abstractmethod
    def draw(self, label: str, count: int) -> list[int]:
        """Challenges that depend on all that was said before."""

    @abstractmethod
    def clear(self, label: str, count: int) -> list[int]:
        """Numbers that are told as they are."""

    def told(self, label: str, count: int) -> list[Hidden]:
        """Numbers that are told behind pads."""
        pads = [self.pad() for _ in range(count)]
        return [pad.times(-1).plus(said) for pad, said in zip(pads, self._padded(label, pads), strict=True)]

    @abstractmethod
    def _padded(self, label: str, pads: Sequence[Hidden]) -> list[int]:
        """Return the numbers that are sent, masked by these pads."""

    def pad(self, *, nonzero: bool = False) -> Hidden:
        """A random number that is never told."""
        if nonzero:
            self.nonzero.add(self.count)
        self.count += 1
        return Hidden(self.over, 0, {self.count - 1: 1})

    def product(self, a: Hidden, b: Hidden) -> Hidden:
        """a b, shown by a triple."""
        left, right = Hidden(self.over, 0, a.pads), Hidden(self.over, 0, b.pads)
        product = Hidden(self.over, 0)
        for i, x in left.pads.items():
            for j, y in right.pads.items():
                product = product.plus(self._pads_product(i, j), self.over.reduce(x * y))
        self.triples.append(Triple(left, right, product, self.count))
        self.count += 3
        return product.plus(left, b.constant).plus(right, a.constant).plus(a.constant * b.constant)

    def _pads_product(self, i: int, j: int) -> Hidden:
        pair = min(i, j), max(i, j)
        if pair not in self.products:
            self.products[pair] = self.count
            self.count += 1
        return Hidden(self.over, 0, {self.products[pair]: 1})

    def require_zero(self, name: str, form: Hidden) -> None:
        self.zeros.append((name, form))

    def show_products(self) -> None:
        """Of all triples f and g, at one challenge."""
        (challenge,) = self.draw("triples", 1)
        opened = self.clear("opened", 2 * len(self.triples))
        for triple, f, g in zip(self.triples, opened[::2], opened[1::2], strict=True):
            x, y, xy = (Hidden(self.over, 0, {triple.first + i: 1}) for i in range(3))
            self.require_zero("left", triple.left.times(challenge).plus(x).plus(-f))
            self.require_zero("right", triple.right.plus(y).plus(-g))
            product = xy.plus(y, -f).plus(x, -g).plus(f * g)
            self.require_zero("product", product.plus(triple.product, -challenge))

    def combined(self, weights: Sequence[int]) -> Hidden:
        """The sum of all that must be zero, weighted."""
        total = Hidden(self.over, 0)
        for (_, form), weight in zip(self.zeros, weights, strict=True):
            total = total.plus(form, weight)
        return total


class Counting(Channel):
    """A channel on which all numbers drawn and sent are zero: it counts the pads and the numbers sent."""

    def __init__(self, over: Field) -> None:
        super().__init__(over)
        self.numbers = 0

    def draw(self, label: str, count: int) -> list[int]:
        return [0] * count

    def clear(self, label: str, count: int) -> list[int]:
        self.numbers += count
        return [0] * count

    def _padded(self, label: str, pads: Sequence[Hidden]) -> list[int]:
        return self.clear(label, len(pads))
