"""Where the second phase of a ceremony starts: the key with δ = γ = σ = 1 and k = 0.

Computed from the powers of tau without any secret, so that everybody who has them gets the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zenserve import kernels
from zenserve.base.progress import Progress, part, silent
from zenserve.kernels import FrArray, Group, WordArray, fr, g1, g2
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import qap
from zenserve.prover.groth16.ceremony.state import Shape, State
from zenserve.prover.groth16.powers_of_tau import PowersOfTau

_A, _B, _C = range(3)


def start(
    system: ConstraintSystem, powers: PowersOfTau, *, threads: int = 1, progress: Progress | None = None
) -> State:
    """The state before any contribution.

    The powers are taken as they are; ``read_ptau`` verifies them.
    Stages: "lagrange", "quotient", "columns". Raises ``CeremonyError`` (``ceremony.powers_too_small``),
    ``StatementError`` where the blocks do not fit the statement.
    """
    report = progress or silent
    powers.first(required_power(system))  # refuses what is too short
    log_size, bases = qap.log_domain_size(system), {}
    for index, (name, group) in enumerate(
        {"tau_g1": g1, "alpha_g1": g1, "beta_g1": g1, "tau_g2": g2}.items()
    ):
        rows = getattr(powers, name)[: 1 << log_size].copy()
        done = part(report, "lagrange", index, 4)
        group.intt(kernels.Domain(log_size), rows, threads=threads, progress=done)
        bases[name] = rows
    quotient = _odd_lagrange(powers.tau_g1, log_size, threads, report)

    def columns(index: int, group: Group, which: int, name: str) -> WordArray:
        return _columns(system, group, which, bases[name], threads, part(report, "columns", index, 6))

    a, b_g1 = columns(0, g1, _A, "tau_g1"), columns(1, g1, _B, "tau_g1")
    b_g2 = columns(2, g2, _B, "tau_g2")
    mixed = g1.add(columns(3, g1, _A, "beta_g1"), columns(4, g1, _B, "alpha_g1"), threads=threads)
    mixed = g1.add(mixed, columns(5, g1, _C, "tau_g1"), threads=threads)

    a_columns, b_columns = _support(a), _support(b_g1)
    segments = mixed[system.instance : system.first_private]
    private = mixed[system.first_private :]
    return State(
        **claims(system, powers),
        alpha_g1=powers.alpha_g1[:1],
        beta_g1=powers.beta_g1[:1],
        beta_g2=powers.beta_g2,
        ic=mixed[: system.instance],
        a_columns=a_columns,
        a=a[a_columns],
        b_columns=b_columns,
        b_g1=b_g1[b_columns],
        b_g2=b_g2[b_columns],
        segments=segments,
        basis=powers.tau_g1[: basis_length(system)],
        first_private=private,
        first_quotient=quotient,
        delta_g1=g1.generator[None],
        private=private,
        quotient=quotient,
        knowledge=segments,
        links=_no_links(system),
    )


def claims(system: ConstraintSystem, powers: PowersOfTau) -> dict[str, Any]:
    """The fields of the start that are not arrays, by their names."""
    return {
        "statement_digest": system.digest,
        "powers_contributions": powers.contributions,
        "challenges": system.challenges,
        "shapes": tuple(Shape(segment.size, segment.linked) for segment in system.segments),
        "folded": system.folded,
    }


def required_power(system: ConstraintSystem) -> int:
    """The least power of two of rows that powers of tau for ``system`` must be made for."""
    longest = basis_length(system)
    return max(qap.log_domain_size(system), (longest // 2).bit_length())


def basis_length(system: ConstraintSystem) -> int:
    """How many U_i the commitments take that segments are linked to: U_1 is always one of them."""
    sizes = [segment.size for segment in system.segments if segment.linked]
    return max(2, *sizes) if sizes else 0


def _odd_lagrange(powers: WordArray, log_size: int, threads: int, report: Progress) -> WordArray:
    """The Lagrange polynomials of the odd elements over the domain of size 2n, modulo X^(n-1) Z(X).

    With g = ω_2n, that of g^(2i+1) is 1/2n Σ_(j<2n) g^(-(2i+1)j) X^j, where g^n = -1 pairs up the powers j
    and j + n: it is the inverse transform, over the n rows, of g^(-j) / 2 (X^j - X^(j+n)) = -g^(-j) / 2
    X^j Z(X). The last, j = n - 1, would take one power of τ more than there is; the quotient's degree is at
    most n - 2, so the polynomials may as well be taken modulo X^(n-1) Z(X), and it is left out.
    """
    n = 1 << log_size
    points = np.zeros((n, *g1.shape), dtype=np.uint64)
    points[:-1] = g1.add(powers[: n - 1], g1.neg(powers[n : 2 * n - 1]), threads=threads)
    points = g1.mul(points, odd_factors(n), threads=threads, progress=part(report, "quotient", 0, 2))
    done = part(report, "quotient", 1, 2)
    g1.intt(kernels.Domain(log_size), points, threads=threads, progress=done)
    return points


def odd_factors(n: int) -> FrArray:
    """g^(-j) / 2 for g = ω_2n and all j < n: uint64[n, 4]."""
    by_root = fr.inverse(qap.root_of_unity(n.bit_length()))
    return fr.powers(by_root, n, first=fr.inverse(qap.element(2)))


def _columns(
    system: ConstraintSystem,
    group: Group,
    which: int,
    basis: WordArray,
    threads: int,
    progress: Callable[[float], None],
) -> WordArray:
    """The columns of A, B or C as combinations of ``basis``: uint64[variables, *group.shape]."""
    out = np.zeros((system.variables, *group.shape), dtype=np.uint64)
    for first_row, matrices in system.matrices():
        matrix, rows = matrices[which], basis[first_row:]
        arrays = matrix.offsets, matrix.columns, matrix.coefficients, matrix.pool_mont
        group.csr_multiply_transposed(*arrays, rows[: matrix.rows], out, threads=threads)
        progress(first_row / len(basis))
    if which == _A:
        anchored = system.anchored
        out[anchored] = group.add(out[anchored], basis[system.constraints :][: len(anchored)])
    return out


def _support(points: WordArray) -> NDArray[np.uint32]:
    """The variables whose polynomial is not zero, as in ``trusted_setup``."""
    columns: NDArray[np.uint32] = np.flatnonzero(~g1.is_infinity(points)).astype(np.uint32)
    return columns


def _no_links(system: ConstraintSystem) -> WordArray:
    count = sum(segment.size + 2 for segment in system.segments if segment.linked)
    return np.zeros((count, *g1.shape), dtype=np.uint64)
