"""Powers of a challenge, shared by all gadgets of a circuit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container

import numpy as np

from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import ONE
from zenserve.circuits.r1cs.steps import Product
from zenserve.relations.integers import IntArray


def missing(known: Container[int], stride: int, count: int) -> dict[int, tuple[int, int]]:
    """The exponents below ``stride · count`` that a progression takes beside ``known`` ones, 0 and 1 among
    them: each as a sum of two that are known or come before it."""
    splits: dict[int, tuple[int, int]] = {}

    def halve(exponent: int) -> None:
        if exponent not in known and exponent not in splits:
            halves = exponent // 2, exponent - exponent // 2
            for half in halves:
                halve(half)
            splits[exponent] = halves

    if count > 1:
        halve(stride)
    for i in range(2, count):
        if stride * i not in known:
            splits.setdefault(stride * i, (stride * (i // 2), stride * (i - i // 2)))
    return splits


class Powers:
    """Wires that hold x^e for the challenge x. Each exponent e > 1 in use costs one row and one wire, once.

    Every power is the product of two others, so that it is determined, and the longest chain of such rows
    grows with the logarithm of what is asked for.
    """

    def __init__(self, builder: Builder, challenge: int) -> None:
        self._builder = builder
        self._challenge = challenge
        self._wires = {0: ONE}
        # The wires (left, right, product) that have no rows yet.
        self._pending: list[tuple[int, int, int]] = []

    def progression(self, stride: int, count: int) -> IntArray:
        """Wires for x^0, x^stride, x^(2 stride) and so on: int64[count]."""
        if count > 1:
            if 1 not in self._wires:
                self._wires[1] = self._builder.challenge(self._challenge)
            self._make(missing(self._wires, stride, count))
        return np.array([self._wires[stride * i] for i in range(count)])

    def _make(self, splits: dict[int, tuple[int, int]]) -> None:
        """A wire for each new exponent, a sum of two that are there or come before it."""
        if not splits:
            return
        if not self._pending:
            self._builder.defer(self._close)
        name = f"powers{self._challenge}/{len(self._wires)}"
        wires = self._builder.private(name, len(splits))
        depths: Counter[int] = Counter()
        levels: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for wire, (exponent, (left, right)) in zip(wires.tolist(), splits.items(), strict=True):
            self._wires[exponent] = wire
            depths[exponent] = 1 + max(depths[left], depths[right])
            product = self._wires[left], self._wires[right], wire
            self._pending.append(product)
            levels[depths[exponent]].append(product)
        # A level has its factors in those before it.
        for of_level in levels.values():
            left, right, out = np.array(of_level).T
            self._builder.post_challenge(Product(name, out, left, right))

    def _close(self) -> None:
        self._builder.product(f"powers{self._challenge}", *np.array(self._pending).T)
        self._pending.clear()
