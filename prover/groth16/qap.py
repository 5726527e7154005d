"""From constraints to polynomials: the quadratic arithmetic program of Groth16 (ePrint 2016/260, 2.3).

Rows live on the subgroup {ω^i} of n elements, n a power of two: first the constraints, then, as arkworks
and snarkjs have it, one row A = z_s, B = C = 0 for the constant one and each public input s, which makes the
polynomials of the public inputs linearly independent. Challenges are public inputs; the variable that blinds
a segment gets such a row too, so that its point is never infinity. The quotient h = (A·B − C) / Z,
Z = X^n − 1, is handled by its values on the odd coset {g ω^i} of the domain of size 2n, where g = ω_2n and
so Z = g^n − 1 = −2 throughout.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from zenserve import kernels
from zenserve.base.parallel import in_chunks
from zenserve.base.progress import Progress
from zenserve.base.randomness import Secrets
from zenserve.errors import StatementError
from zenserve.kernels import FrArray, fr
from zenserve.prover.constraint_system import ConstraintSystem

_MANY: Final = 1 << 15


def log_domain_size(system: ConstraintSystem) -> int:
    """log2 of the number n of rows, padding included. At least 1.

    Raises ``StatementError`` (``statement.too_large``) beyond what the transforms can handle.
    """
    rows = system.constraints + len(system.anchored)
    log_size = max(1, (rows - 1).bit_length())
    if log_size > kernels.MAX_LOG_SIZE:
        raise StatementError(
            "statement.too_large", f"{rows} rows exceed the limit of 2^{kernels.MAX_LOG_SIZE}"
        )
    return log_size


def root_of_unity(log_size: int) -> FrArray:
    """The generator of the domain of size 2^log_size, as ``zenserve.kernels.Domain`` has it. uint64[4],
    Montgomery.
    """
    return element(pow(5, (fr.modulus - 1) >> log_size, fr.modulus))


def element(value: int) -> FrArray:
    """A single element of Fr: uint64[4], Montgomery. For public constants only."""
    return fr.from_ints([value]).reshape(4)


def lagrange(log_size: int, first: FrArray, tau: FrArray, scale: FrArray, threads: int) -> FrArray:
    """scale · x_i / (x_i − τ) for x_i = first · ω^i, ω of order n = 2^log_size: uint64[n, 4].

    With first = 1 and scale = (1 − τ^n) / n these are the Lagrange polynomials of the roots of unity at τ.
    """
    omega = root_of_unity(log_size)
    (root,) = fr.to_ints(omega)
    out = np.empty((1 << log_size, 4), dtype=np.uint64)

    def fill(rows: slice) -> None:
        with Secrets() as secret:
            start = fr.mul(element(pow(root, rows.start, fr.modulus)), first)
            points = fr.powers(omega, rows.stop - rows.start, first=start)
            inverse = secret(fr.inverse(secret(fr.sub(points, tau))))
            out[rows] = secret(fr.mul(secret(fr.mul(points, scale)), inverse))

    in_chunks(fill, len(out), threads)
    return out


def columns(system: ConstraintSystem, basis: FrArray, threads: int) -> tuple[FrArray, FrArray, FrArray]:
    """A_j(τ), B_j(τ) and C_j(τ) of every variable j, each uint64[variables, 4].

    ``basis``: the Lagrange polynomials of the rows at τ, uint64[n, 4].
    """
    a, b, c = (np.zeros((system.variables, 4), dtype=np.uint64) for _ in range(3))
    for start, matrices in system.matrices(threads):
        for matrix, out in zip(matrices, (a, b, c), strict=True):
            # To start threads takes as long as a thousand entries, and longer where they wait for processors.
            share = threads if len(matrix.columns) > _MANY else 1
            matrix.add_transposed(basis[start : start + matrix.rows], out, share)
    anchored = system.anchored
    a[anchored] = fr.add(a[anchored], basis[system.constraints :][: len(anchored)])
    return a, b, c


def quotient(a: FrArray, b: FrArray, c: FrArray, log_size: int, threads: int, report: Progress) -> None:
    """Replace ``a`` by the values of A·B − C = −2·h on the odd coset, in place; ``b`` and ``c`` are used up.

    All uint64[n, 4]: values of A, B and C on the rows. The key's bases absorb the −2.
    """
    kernels.Domain(log_size).quotient(a, b, c, threads=threads, progress=partial(report, "quotient"))
