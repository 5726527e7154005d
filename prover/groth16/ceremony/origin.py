"""Whether a ceremony started from a statement and powers of tau, told without computing the start again.

The start is linear in the powers: its points times random weights add up to powers times elements of Fr. To
find these takes the products and transforms of ``initial``, in Fr instead of on points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zenserve import kernels
from zenserve.kernels import FrArray, fr, g1, g2
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import qap
from zenserve.prover.groth16.ceremony.initial import basis_length, claims, odd_factors, required_power
from zenserve.prover.groth16.ceremony.state import State
from zenserve.prover.groth16.point_arrays import pairings_cancel, random_weights
from zenserve.prover.groth16.powers_of_tau import PowersOfTau


def starts_from(state: State, system: ConstraintSystem, powers: PowersOfTau, *, threads: int = 1) -> bool:
    """Whether all of ``state`` that no contribution changes is what ``start`` makes of the other two.

    All points must be known to be in the subgroup. Anything else passes with a chance below 2^-126.
    Raises ``CeremonyError`` (``ceremony.powers_too_small``), ``StatementError`` where the blocks do not fit
    the statement.
    """
    powers = powers.first(required_power(system))
    return _is_shaped(state, system, powers) and _is_summed(state, system, powers, threads)


def _is_shaped(state: State, system: ConstraintSystem, powers: PowersOfTau) -> bool:
    """Whether counts, columns, and the points that are the powers' own are right."""
    copied = {
        "alpha_g1": powers.alpha_g1[:1],
        "beta_g1": powers.beta_g1[:1],
        "beta_g2": powers.beta_g2,
        "basis": powers.tau_g1[: basis_length(system)],
    }
    counts = {
        "ic": system.instance,
        "segments": system.first_private - system.instance,
        "first_private": system.variables - system.first_private,
        "first_quotient": 1 << qap.log_domain_size(system),
        "a": len(state.a_columns),
        "b_g1": len(state.b_columns),
        "b_g2": len(state.b_columns),
    }
    return (
        all(getattr(state, name) == value for name, value in claims(system, powers).items())
        and all(np.array_equal(getattr(state, name), points) for name, points in copied.items())
        and all(len(getattr(state, name)) == count for name, count in counts.items())
        and all(_are_columns(some, system.variables) for some in (state.a_columns, state.b_columns))
        and not any(g1.is_infinity(points).any() for points in (state.a, state.b_g1))
    )


def _are_columns(columns: NDArray[np.uint32], variables: int) -> bool:
    """Whether these are different variables, in order."""
    steps = np.diff(columns.astype(np.int64), prepend=-1, append=variables)
    return bool((steps > 0).all())


def _is_summed(state: State, system: ConstraintSystem, powers: PowersOfTau, threads: int) -> bool:
    """Whether Σ w a + x Σ w b + y Σ w (β a + α b + c) + z Σ u q is what the powers say, for random weights.

    a, b and c are the columns of all variables, q the bases of the quotient. And b in G2 has to be b in G1.
    """
    by_variable, by_row = (random_weights(system.variables), random_weights(len(state.first_quotient)))
    x, y, z = random_weights(3)
    by_b = by_variable[state.b_columns]
    mixed = np.concatenate([state.ic, state.segments, state.first_private])
    parts = [
        (state.a, by_variable[state.a_columns]),
        (state.b_g1, by_b),
        (mixed, by_variable),
        (state.first_quotient, by_row),
    ]
    sums = np.stack([g1.msm(*each, threads=threads) for each in parts])
    b_g2 = g2.msm(state.b_g2, by_b, threads=threads)
    if not pairings_cancel([(sums[1], g2.generator), (g1.neg(g1.generator), b_g2)]):
        return False

    n = len(by_row)
    a, b, c = _coefficients(system, by_variable, n, threads)
    by_tau = np.zeros((2 * n - 1, 4), dtype=np.uint64)
    by_tau[:n] = fr.add(fr.add(a, fr.mul(b, x)), fr.mul(c, y))
    kernels.Domain(n.bit_length() - 1).intt(by_row, threads=threads)
    odd = fr.mul(fr.mul(by_row, odd_factors(n)), z)[:-1]
    by_tau[: n - 1] = fr.add(by_tau[: n - 1], odd)
    by_tau[n:] = fr.neg(odd)
    from_powers = g1.msm(
        np.concatenate([powers.tau_g1[: 2 * n - 1], powers.beta_g1[:n], powers.alpha_g1[:n]]),
        np.concatenate([by_tau, fr.mul(a, y), fr.mul(b, y)]),
        threads=threads,
    )
    return np.array_equal(g1.msm(sums, np.stack([qap.element(1), x, y, z])), from_powers)


def _coefficients(
    system: ConstraintSystem, weights: FrArray, n: int, threads: int
) -> tuple[FrArray, FrArray, FrArray]:
    """Of the polynomials whose values on the n rows are A, B and C times ``weights``, each uint64[n, 4]."""
    a, b, c = (np.zeros((n, 4), dtype=np.uint64) for _ in range(3))
    for start, matrices in system.matrices(threads):
        for matrix, out in zip(matrices, (a, b, c), strict=True):
            matrix.multiply(weights, threads, out=out[start : start + matrix.rows])
    a[system.constraints :][: len(system.anchored)] = weights[system.anchored]
    domain = kernels.Domain(n.bit_length() - 1)
    for values in (a, b, c):
        domain.intt(values, threads=threads)
    return a, b, c
