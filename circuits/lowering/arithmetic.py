"""The choices of a level (docs/compiler.md): how values are held, compared and rescaled, and at what cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from zenserve.circuits.lowering.clamps import Clamp
from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Linear, LinearCombinations
from zenserve.circuits.r1cs.products import Products
from zenserve.circuits.r1cs.sources import Source
from zenserve.relations.functions import Requantisation, Tabulation
from zenserve.relations.integers import IntArray, Interval


class Arithmetic(ABC):
    """Gadgets over the wires of ``builder``. ``by_digits``: range checks are by binary digits."""

    by_digits: ClassVar[bool]

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.products = Products(builder)

    @abstractmethod
    def chosen(self, name: str, *shape: int) -> IntArray:
        """Wires for values that the prover chooses and nothing determines, int64[shape]."""

    @abstractmethod
    def ranged(self, name: str, value: LinearCombinations, bits: int, lowest: int = 0) -> None:
        """``lowest <= value < lowest + 2^bits`` in each row. Costs ``Cost.range_checks``."""

    def attain(self, name: str, chosen: Linear, margin: Linear, bits: int) -> None:
        """No margin d_j is negative, and of ``chosen`` e_j, whose sum is 1, one is 1 and the others are 0:
        where it is 1 the margin is 0. Margins of an honest witness are below 2^bits. Costs ``attain_cost``.

        Sound: 0 <= d_j < 2^bits and ``e_j (e_j - 1 - d_j) = 0`` leave integers that are 0 or 1 + d_j. None is
        negative, and their sum is far from the modulus, so that it is 1 only if one of them is and no other
        is there.
        """
        proven, nothing = self.margins(f"{name}_margin", margin, bits), Linear.empty(chosen.rows)
        self.builder.multiply(f"{name}_attained", chosen, chosen.shift(-1) - proven, nothing)

    def attain_cost(self, count: int, bits: int) -> Cost:
        return Cost(rows=count) + self.margins_cost(count, bits)

    @abstractmethod
    def margins(self, name: str, value: Linear, bits: int) -> Linear:
        """The values, proven to lie in [0, 2^bits), as whatever rows read most cheaply."""

    @abstractmethod
    def margins_cost(self, count: int, bits: int) -> Cost: ...

    @abstractmethod
    def clamps(
        self, function: Requantisation, scaled: Interval, widths: Iterable[int]
    ) -> Sequence[Clamp | None]:
        """The ways to rescale that there are. ``widths``: as for
        ``zenserve.circuits.lowering.clamps.clamps``.
        """

    @abstractmethod
    def requantise(
        self, layer: str, source: Source, function: Requantisation, clamp: Clamp | None
    ) -> IntArray:
        """``clamp(floor(T / 2^k), low, high)`` of each T of ``source``: wires [n]."""

    @abstractmethod
    def requantise_cost(
        self,
        count: int,
        scaled: Interval,
        function: Requantisation,
        clamp: Clamp | None,
        *,
        readable: bool,
        short: bool,
    ) -> tuple[Cost, Interval | None]:
        """Its cost, less that of ``Source.equate``, and the interval of what that is asked for; None where it
        is not. ``readable``, ``short``: as for a ``Source``."""

    @abstractmethod
    def tabulate(self, layer: str, value: IntArray, function: Tabulation, total: int = 0) -> IntArray:
        """``function`` of each ``value``, wires that are proven to hold one of its arguments: wires [n].
        ``total``: how many values have the function in the whole circuit, where others have it too."""

    @abstractmethod
    def tabulate_cost(self, count: int, function: Tabulation, total: int = 0) -> Cost: ...

    @abstractmethod
    def largest(self, name: str, wires: IntArray, bits: int) -> IntArray:
        """The largest value in each row of wires[n, k], which are in [0, 2^bits): wires [n]."""

    @abstractmethod
    def largest_cost(self, count: int, width: int, bits: int) -> Cost: ...
