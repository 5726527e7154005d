"""The memory that setup and proofs need, by formulas that tests compare with the system's measurements.

In bytes, beside the statement, the witness and the process's earlier memory. The proving key counts as far as
its pages have been read, though all processes of a machine share them. An element of Fr takes 32 bytes, a
point of G1 96, one of G2 192. The allocator keeps freed arrays of up to 32 MiB, and is assumed to keep all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Final, NamedTuple

from zenserve import kernels
from zenserve.kernels import Group, g1, g2
from zenserve.prover.groth16 import cost
from zenserve.prover.groth16.cost import fixed_base_windows, in_g1
from zenserve.prover.size import Size

_SCALAR: Final = 32
_G1: Final = 96
_G2: Final = 192


class Stage(NamedTuple):
    """The bytes of a stage: ``working`` memory, and the part of the ``key`` that it makes or first reads."""

    working: int
    key: int = 0


def proving(size: Size, threads: int) -> int:
    """The peak of ``groth16.prove``, the key included."""
    twiddles = _SCALAR * size.rows
    copy = _SCALAR * size.variables if size.segments else 0
    return twiddles + copy + _peak(proving_stages(size, threads))


def setup(size: Size, threads: int) -> int:
    """The peak of ``groth16.setup``, the key that it returns included."""
    return _peak(setup_stages(size, threads))


def _peak(stages: Iterator[Stage]) -> int:
    working, key = zip(*stages, strict=True)
    return max(map(sum, zip(working, accumulate(key), strict=True)))


def proving_stages(size: Size, threads: int) -> Iterator[Stage]:
    """The stages of a proof, beside the transforms' twiddles and, with segments, a copy of the witness."""
    n, v = size.rows, size.variables
    if size.segments:
        completing = _SCALAR * (v + size.committed)  # the circuit's wires, and a copy of what is fixed
        links = _SCALAR * size.linked + multiplication(g1, size.linked, threads)
        working = max(completing, links, multiplication(g1, size.committed, threads))
        yield Stage(working, _G1 * (2 * size.committed + size.linked))
    # A z, B z and C z; the quotient takes their place.
    yield Stage(3 * _SCALAR * n + kernels.scratch_bytes(n.bit_length() - 1, threads))
    multiples = cost.multiples(size)
    sums = g1.msm_memory(n, multiples=multiples > 0, threads=threads)
    yield Stage(_SCALAR * n + sums, _G1 * (n + multiples))
    yield Stage(multiplication(g1, size.private, threads), _G1 * size.private)
    yield Stage(_SCALAR * size.in_a + multiplication(g1, size.in_a, threads), _G1 * size.in_a)
    for group, point in ((g1, _G1), (g2, _G2)):
        yield Stage(_SCALAR * size.in_b + multiplication(group, size.in_b, threads), point * size.in_b)


def setup_stages(size: Size, threads: int) -> Iterator[Stage]:
    """The stages of setup."""
    n, v = size.rows, size.variables
    # Two bases and three columns; the matrices of the blocks that are being read, 16 bytes an entry.
    matrices = 16 * min(size.nonzeros, (threads + 1) * size.largest)
    yield Stage(_SCALAR * (2 * n + 3 * v) + matrices)
    left = _SCALAR * (3 * v + 2 * in_g1(size))  # the columns, their parts, and these in one array
    yield Stage(left + _SCALAR * size.in_b + table(g2, size.in_b), _G2 * size.in_b)
    yield Stage(left + table(g1, in_g1(size)), _G1 * in_g1(size))
    yield Stage(left + 3 * _G1 * size.linked)


def multiplication(group: Group, count: int, threads: int) -> int:
    """Return the working memory of a sum over the witness. A third of its scalars are assumed to fill the
    field: between the share in networks and the worst case."""
    return group.msm_memory(count // 3, threads=threads)


def table(group: Group, count: int) -> int:
    """Return the size of the table in which ``Group.fixed_base`` looks up multiples (docs/kernels.md)."""
    windows, width = fixed_base_windows(count)
    return (_G1 if group.name == "g1" else _G2) * windows << (width - 1)
