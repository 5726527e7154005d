"""Random statements and witnesses with a network's shape, and a clock for the stages of proofs.

The statement of n rows has 8 entries a row in each of its products, small weights as a network has. A
witness is "network", 60 % bytes, 20 % bits and 20 % elements of the whole field, or "dense", which fills it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from zenserve.kernels import FrArray, fr
from zenserve.prover.blocks import Csr, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem

PUBLIC = 10
ENTRIES = 8

Shape = Literal["network", "dense"]


def random_statement(log_size: int) -> ConstraintSystem:
    """2^log_size rows, those for the public inputs included.

    A fifth are products of two sums, which define the last fifth of the private variables. The others state
    that a sum is itself, on either side of the product, and so hold for every witness.
    """
    rows = (1 << log_size) - 1 - PUBLIC
    products, draw = rows // 5, np.random.default_rng(1)
    first = 1 + PUBLIC
    chosen = rows - products
    left, right = (_sums(products, first, chosen, draw) for _ in range(2))
    out = Csr.selection(np.arange(first + chosen, first + rows))
    blocks = [SparseBlock("products", left, right, out)]
    for name, count in (("left", chosen // 2), ("right", chosen - chosen // 2)):
        sums, one = _sums(count, first, rows, draw), Csr.selection(np.zeros(count, np.int64))
        blocks.append(SparseBlock(name, *((sums, one, sums) if name == "left" else (one, sums, sums))))
    return ConstraintSystem(PUBLIC, rows, tuple(blocks))


def _sums(rows: int, first: int, variables: int, draw: np.random.Generator) -> Csr:
    """Rows of ENTRIES weights of 8 bits, on any of ``variables`` variables from ``first`` on."""
    columns = draw.integers(first, first + variables, rows * ENTRIES)
    weights = draw.integers(1, 128, rows * ENTRIES) * draw.choice([-1, 1], rows * ENTRIES)
    return Csr.from_entries(rows, np.repeat(np.arange(rows), ENTRIES), columns, weights)


def random_witness(system: ConstraintSystem, shape: Shape) -> FrArray:
    """Not of secrets: reproducible."""
    products = system.blocks[0]
    assert isinstance(products, SparseBlock)
    draw = np.random.default_rng(2)
    z = np.zeros((system.variables, 4), np.uint64)
    z[: 1 + PUBLIC] = fr.from_int64(np.ones(1 + PUBLIC, np.int64))
    chosen = z[1 + PUBLIC : system.variables - products.rows]
    if shape == "dense":
        chosen[:] = draw.integers(0, 2**62, chosen.shape, dtype=np.uint64)
    else:
        chosen[:] = fr.from_int64(_bytes_and_bits(len(chosen), draw))
    z[system.variables - products.rows :] = fr.mul(products.a.multiply(z), products.b.multiply(z))
    return z


def _bytes_and_bits(count: int, draw: np.random.Generator) -> NDArray[np.int64]:
    """Three bytes to a bit."""
    return draw.integers(0, np.where(np.arange(count) % 4 == 0, 2, 256))


class Stages:
    """A ``Progress`` that counts the time since the last report to the stage that reports."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._seconds: dict[str, float] = defaultdict(float)

    def __call__(self, stage: str, fraction: float) -> None:
        now = time.perf_counter()
        self._seconds[stage] += now - self._last
        self._last = now

    def total(self) -> float:
        """Seconds so far; what comes after the last report is "rest"."""
        self("rest", 1.0)
        return self._last - self._start

    def shares(self) -> dict[str, float]:
        whole = self._last - self._start
        return {stage: seconds / whole for stage, seconds in self._seconds.items()}
