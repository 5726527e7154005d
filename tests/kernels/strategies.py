"""Values that break field code: 0, 1, p-1, p-2, powers of two and their neighbours, words of all ones."""

from __future__ import annotations

import random
from collections.abc import Callable

from hypothesis import strategies as st

from zenserve import kernels

R = kernels.fr.modulus
P = kernels.fp.modulus


def edge_values(modulus: int) -> list[int]:
    powers = [1 << shift for shift in (1, 31, 32, 63, 64, 127, 128, 192, 254, 255, 256, 320, 380)]
    near = [power + offset for power in powers for offset in (-1, 0, 1)]
    radix = 1 << 64 * ((modulus.bit_length() + 63) // 64)
    special = [0, 1, 2, modulus - 1, modulus - 2, modulus // 2, modulus // 2 + 1, radix % modulus]
    return sorted({value % modulus for value in near + special})


def elements(modulus: int) -> st.SearchStrategy[int]:
    return st.one_of(st.sampled_from(edge_values(modulus)), st.integers(0, modulus - 1))


def vectors(modulus: int, size: int) -> st.SearchStrategy[list[int]]:
    return st.lists(elements(modulus), min_size=size, max_size=size)


scalars = elements(R)

KINDS: dict[str, Callable[[random.Random], int]] = {
    "random": lambda rng: rng.randrange(R),
    "bytes": lambda rng: rng.randrange(256),
    "bits": lambda rng: rng.randrange(2),
    "zero": lambda rng: 0,
    "all equal": lambda rng: R // 3,
    "small negatives": lambda rng: -rng.randrange(1 << 20),
    "mixed": lambda rng: rng.choice([0, 1, rng.randrange(256), rng.randrange(R), -rng.randrange(1 << 60)]),
}
"""What scalars of a multi-scalar multiplication may be like."""
