"""Groth16 in the exponent: every point of a key or proof as its discrete logarithm, from a known trapdoor.

Only tests know a trapdoor. Formulas from ePrint 2016/260, section 3.2; Lagrange polynomials by their
product definition, the quotient never computed: h(τ) Z(τ) is A(τ) B(τ) − C(τ).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from py_ecc.optimized_bls12_381.optimized_curve import curve_order

from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16.reference.constraints import dense_rows

R: Final = curve_order


class Trapdoor(NamedTuple):
    tau: int
    alpha: int
    beta: int
    gamma: int
    delta: int
    sigma: tuple[int, ...] = ()
    """One for each segment."""
    links: tuple[tuple[int, int], ...] = ()
    """k_1 and k_2 for each linked segment."""


def key_exponents(system: ConstraintSystem, trapdoor: Trapdoor) -> dict[str, list[int]]:
    """``a``, ``b`` for every variable; ``public`` (challenges included), ``segments``, ``knowledge``,
    ``private``, ``quotient``: as in ``ProvingKey``."""
    tau, alpha, beta, gamma, delta, sigmas, _ = trapdoor
    a, b, c = _columns(system, tau)
    mixed = [beta * a_j + alpha * b_j + c_j for a_j, b_j, c_j in zip(a, b, c, strict=True)]
    instance, first_private = system.instance, system.first_private
    segments = [value * pow(gamma, -1, R) % R for value in mixed[instance:first_private]]
    of_each = [
        sigma for sigma, part in zip(sigmas, system.segments, strict=True) for _ in range(part.size + 1)
    ]
    odd = lagrange(roots_of_unity(2 * _domain_size(system)), tau)[1::2]
    return {
        "a": a,
        "b": b,
        "public": [value * pow(gamma, -1, R) % R for value in mixed[:instance]],
        "segments": segments,
        "knowledge": [value * sigma % R for value, sigma in zip(segments, of_each, strict=True)],
        "private": [value * pow(delta, -1, R) % R for value in mixed[first_private:]],
        "quotient": [value * pow(delta, -1, R) % R for value in odd],
    }


def proof_exponents(
    system: ConstraintSystem, trapdoor: Trapdoor, z: Sequence[int], r: int, s: int
) -> tuple[int, int, int]:
    """A, B and C of the proof of ``z`` with blinding factors ``r`` and ``s``."""
    tau, alpha, beta, _, delta, *_ = trapdoor
    columns = _columns(system, tau)
    a_z, b_z, c_z = (sum(x * y for x, y in zip(z, column, strict=True)) for column in columns)
    a = alpha + a_z + r * delta
    b = beta + b_z + s * delta
    private = range(system.first_private, system.variables)
    mixed = sum(z[j] * (beta * columns[0][j] + alpha * columns[1][j] + columns[2][j]) for j in private)
    c = (mixed + a_z * b_z - c_z) * pow(delta, -1, R) + s * a + r * b - r * s * delta
    return a % R, b % R, c % R


def roots_of_unity(size: int) -> list[int]:
    omega = pow(5, (R - 1) // size, R)
    return [pow(omega, i, R) for i in range(size)]


def lagrange(points: Sequence[int], tau: int) -> list[int]:
    """L_i(τ) = Π_{k≠i} (τ − x_k) / (x_i − x_k)."""
    values = []
    for i, x in enumerate(points):
        numerator = denominator = 1
        for k, y in enumerate(points):
            if k != i:
                numerator = numerator * (tau - y) % R
                denominator = denominator * (x - y) % R
        values.append(numerator * pow(denominator, -1, R) % R)
    return values


def _domain_size(system: ConstraintSystem) -> int:
    size = 2
    while size < system.constraints + system.instance + len(system.segments):
        size *= 2
    return size


def _columns(system: ConstraintSystem, tau: int) -> tuple[list[int], list[int], list[int]]:
    basis = lagrange(roots_of_unity(_domain_size(system)), tau)
    a, b, c = ([0] * system.variables for _ in range(3))
    for start, matrices in system.matrices():
        for column, matrix in zip((a, b, c), matrices, strict=True):
            for row, entries in enumerate(dense_rows(matrix), start):
                for j, coefficient in entries:
                    column[j] = (column[j] + coefficient * basis[row]) % R
    blinding = [part.stop - 1 for part in system.segment_ranges]
    for row, s in enumerate([*range(system.instance), *blinding], system.constraints):
        a[s] = (a[s] + basis[row]) % R
    return a, b, c
