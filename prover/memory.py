"""How much memory setup and proofs take, by formulas that a test compares with what the system measures.

Beside the statement, the witness and what the process holds anyway; the proving key is counted as far as its
pages have been read, though all processes of a machine share them. n rows (a power of two), v variables;
every element of Fr takes 32 bytes, a point of G1 96, of G2 192.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Final, NamedTuple

from kernels import Group, g1, g2
from prover.cost import Size

_SCALAR, _G1, _G2 = 32, 96, 192
_BLOCK: Final = 12
"""Bytes for each entry of a block's matrices, and for each row of one matrix, rounded up."""


class Stage(NamedTuple):
    """What a stage of a proof works with, and how much of the key it is the first to read, in bytes."""

    working: int
    key: int = 0


def proving(size: Size, threads: int) -> int:
    """Peak bytes of ``prover.prove``, the key's pages included."""
    held = _SCALAR * size.rows  # the transforms' twiddles, kept for the next proof
    if size.segments:
        held += _SCALAR * size.variables  # a copy of the witness
    read = accumulate(stage.key for stage in proving_stages(size, threads))
    stages = zip(proving_stages(size, threads), read, strict=True)
    return held + max(stage.working + key for stage, key in stages)


def proving_stages(size: Size, threads: int) -> Iterator[Stage]:
    """The stages of ``prover.prove``, in order."""
    n, v = size.rows, size.variables
    if size.segments:
        links = _SCALAR * size.linked + multiplication(g1, size.linked, threads)
        answer = _SCALAR * (v + size.committed)  # the circuit's wires, and a copy of what must not change
        working = max(multiplication(g1, size.committed, threads), links, answer)
        yield Stage(working, _G1 * (2 * size.committed + size.linked))
    yield Stage(3 * _SCALAR * n)  # A z, B z, C z, and then the quotient in their place
    yield Stage(_SCALAR * n + multiplication(g1, n, threads), _G1 * n)
    yield Stage(multiplication(g1, size.private, threads), _G1 * size.private)
    yield Stage(_SCALAR * size.in_a + multiplication(g1, size.in_a, threads), _G1 * size.in_a)
    yield Stage(_SCALAR * size.in_b + multiplication(g1, size.in_b, threads), _G1 * size.in_b)
    yield Stage(_SCALAR * size.in_b + multiplication(g2, size.in_b, threads), _G2 * size.in_b)
