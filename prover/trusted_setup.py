"""Groth16's setup by a single party, for development: whoever runs it could keep the trapdoor."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels import FrArray, fr, g1, g2
from prover import qap
from prover.commitment import CommitmentBasis, blinding_point
from prover.progress import Progress, silent
from prover.proving_key import Points, ProvingKey
from prover.randomness import Secrets, random_elements
from prover.statement import Statement
from prover.verifying_key import DEVELOPMENT, SegmentKey, VerifyingKey
from zenerrors import StatementError

_NO_POINTS = np.zeros((0, *g1.shape), dtype=np.uint64)
_INFINITY = np.zeros((1, *g1.shape), dtype=np.uint64)


class _Exponents(NamedTuple):
    """Discrete logarithms of the key's points, uint64[count, 4] each. As secret as the trapdoor."""

    a: FrArray
    b: FrArray
    public: FrArray
    segments: FrArray
    private: FrArray
    quotient: FrArray


class _Trapdoor(NamedTuple):
    """``values``: τ, α, β, γ, δ, σ of each segment, k_1 and k_2 of each link, uint64[count, 4]."""

    values: FrArray
    segments: int

    @property
    def sigma(self) -> FrArray:
        return self.values[5 : 5 + self.segments]

    @property
    def links(self) -> FrArray:
        """uint64[links, 2, 4]."""
        return self.values[5 + self.segments :].reshape(-1, 2, 4)


def setup(
    statement: Statement,
    *,
    basis: CommitmentBasis | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> ProvingKey:
    """Draw a trapdoor, make the keys of ``statement`` from it, erase it.

    ``basis``: what the commitments are made in that linked segments open to; without linked segments None.
    The keys carry the label "development": trusting them means trusting this process.
    Stages: "lagrange", "columns", "key_a", "key_b_g1", "key_b_g2", "key_private", "key_quotient",
    "key_segments" where there are segments, "key_points".

    Peak memory beside the statement and the matrices of its largest block, for v variables and n rows (a
    power of two), in bytes: 192 n while the bases are computed, 64 n + 288 v with the columns, and
    32 n + 192 v beside the key, which itself takes at most 480 v + 96 n.

    Raises ``StatementError`` where the blocks do not fit the statement, ``statement.basis`` where a basis is
    needed and missing or the reverse, ``statement.basis_length``; and what ``progress`` raises.
    """
    report = progress or silent
    links = sum(segment.linked for segment in statement.segments)
    if (basis is not None) != (links > 0):
        raise StatementError(
            "statement.basis",
            "a basis for commitments goes with linked segments, and only with them",
            field="basis",
        )
    with Secrets() as secret:
        count = len(statement.segments)
        values = secret(_draw_trapdoor(qap.log_domain_size(statement), count + 2 * links))
        trapdoor = _Trapdoor(values, count)
        exponents = _exponents(statement, trapdoor, secret, report)
        return _key(statement, trapdoor, exponents, basis, secret, threads, report)


def _draw_trapdoor(log_size: int, others: int = 0) -> FrArray:
    """τ, α, β, γ, δ and ``others`` more: uint64[5 + others, 4].

    None is zero, and τ is no root of unity of order 2n or less.
    """
    while True:
        trapdoor = random_elements(5 + others)
        with Secrets() as secret:
            vanishing = secret(_one_minus_power(trapdoor[0], log_size + 1))
            if trapdoor.any(axis=1).all() and vanishing.any():
                return trapdoor
        trapdoor.fill(0)


def _one_minus_power(tau: FrArray, log_exponent: int) -> FrArray:
    """1 − τ^(2^log_exponent), uint64[4]."""
    with Secrets() as secret:
        power = tau
        for _ in range(log_exponent):
            power = secret(fr.square(power))
        return fr.sub(qap.element(1), power)


def _exponents(statement: Statement, trapdoor: _Trapdoor, keep: Secrets, report: Progress) -> _Exponents:
    """What the key's points are made of; every array is registered with ``keep``."""
    tau, alpha, beta, gamma, delta = trapdoor.values[:5]
    log_size = qap.log_domain_size(statement)
    with Secrets() as secret:
        report("lagrange", 0.0)
        by_delta = secret(fr.inverse(delta))
        quotient = keep(fr.mul(secret(_odd_basis(log_size, tau)), by_delta))
        report("lagrange", 0.5)
        rows = secret(_row_basis(log_size, tau))

        report("columns", 0.0)
        a, b, c = (keep(column) for column in qap.columns(statement, rows))
        mixed = secret(fr.add(secret(fr.mul(a, beta)), secret(fr.mul(b, alpha))))
        mixed = secret(fr.add(mixed, c))
        by_gamma = secret(fr.inverse(gamma))
        public = keep(fr.mul(mixed[: statement.instance], by_gamma))
        segments = keep(fr.mul(mixed[statement.instance : statement.first_private], by_gamma))
        private = keep(fr.mul(mixed[statement.first_private :], by_delta))
    return _Exponents(a, b, public, segments, private, quotient)


def _row_basis(log_size: int, tau: FrArray) -> FrArray:
    """The Lagrange polynomials of the n-th roots of unity at τ: (τ^n − 1) / n · x / (τ − x). uint64[n, 4]."""
    points = fr.powers(qap.root_of_unity(log_size), 1 << log_size)
    return _basis(points, tau, log_size)


def _odd_basis(log_size: int, tau: FrArray) -> FrArray:
    """Those of the 2n-th roots of unity that are no n-th roots. uint64[n, 4].

    They are the key's bases for the values of A·B − C = −2 h on the odd coset: with M_i its own Lagrange
    polynomials, M_i(τ) Z(τ) / −2 is the Lagrange polynomial of the same point over the whole double domain.
    """
    first = qap.root_of_unity(log_size + 1)
    points = fr.powers(qap.root_of_unity(log_size), 1 << log_size, first=first)
    return _basis(points, tau, log_size + 1)


def _basis(points: FrArray, tau: FrArray, log_size: int) -> FrArray:
    with Secrets() as secret:
        size_inverse = fr.inverse(qap.element(1 << log_size))
        scale = secret(fr.mul(secret(_one_minus_power(tau, log_size)), size_inverse))
        return qap.lagrange(points, tau, scale)


def _key(
    statement: Statement,
    trapdoor: _Trapdoor,
    exponents: _Exponents,
    basis: CommitmentBasis | None,
    secret: Secrets,
    threads: int,
    report: Progress,
) -> ProvingKey:
    def in_g1(scalars: FrArray, stage: str) -> Points:
        return g1.fixed_base(g1.generator, scalars, threads=threads, progress=partial(report, stage))

    def in_g2(scalars: FrArray, stage: str) -> Points:
        return g2.fixed_base(g2.generator, scalars, threads=threads, progress=partial(report, stage))

    a_columns, b_columns = _support(exponents.a), _support(exponents.b)
    a = in_g1(secret(exponents.a[a_columns]), "key_a")
    b_scalars = secret(exponents.b[b_columns])
    b_g1 = in_g1(b_scalars, "key_b_g1")
    b_g2 = in_g2(b_scalars, "key_b_g2")
    private = in_g1(exponents.private, "key_private")
    quotient = in_g1(exponents.quotient, "key_quotient")

    committed = _committed(statement, trapdoor, exponents, basis, secret, threads, report)

    alpha_g1, beta_g1, delta_g1 = in_g1(secret(trapdoor.values[[1, 2, 4]]), "key_points")
    beta_g2, gamma_g2, delta_g2, *others = in_g2(trapdoor.values[2:], "key_points")
    ic = in_g1(exponents.public, "key_points")
    verifying_key = VerifyingKey(
        DEVELOPMENT,
        statement.digest,
        g1.compress(alpha_g1[None]),
        g2.compress(beta_g2[None]),
        g2.compress(gamma_g2[None]),
        g2.compress(delta_g2[None]),
        tuple(g1.compress(point[None]) for point in ic),
        statement.challenges,
        _segment_keys(statement, [g2.compress(point[None]) for point in others]),
        None if basis is None else basis.identity,
    )
    return ProvingKey(
        verifying_key,
        beta_g1[None],
        delta_g1[None],
        a_columns,
        a,
        b_columns,
        b_g1,
        b_g2,
        private,
        quotient,
        *committed,
    )


def _committed(
    statement: Statement,
    trapdoor: _Trapdoor,
    exponents: _Exponents,
    basis: CommitmentBasis | None,
    secret: Secrets,
    threads: int,
    report: Progress,
) -> tuple[Points, Points, Points]:
    """The key's ``segments``, ``knowledge`` and ``links``."""
    stage = partial(report, "key_segments")
    in_g1 = partial(g1.fixed_base, g1.generator, threads=threads, progress=stage)
    segments, knowledge, links = [_NO_POINTS], [_NO_POINTS], [_NO_POINTS]
    pairs = iter(trapdoor.links)
    for segment, part, sigma in zip(
        statement.segments, statement.segment_ranges, trapdoor.sigma, strict=True
    ):
        logarithms = exponents.segments[part.start - statement.instance : part.stop - statement.instance]
        segments.append(in_g1(logarithms))
        knowledge.append(in_g1(secret(fr.mul(logarithms, sigma))))
        if segment.linked and basis is not None:
            k_1, k_2 = next(pairs)
            outside = np.concatenate([basis.first(segment.size), _INFINITY, blinding_point()])
            outside = secret(g1.mul(outside, k_2, threads=threads, progress=stage))
            inside = secret(in_g1(secret(fr.mul(logarithms, k_1))))
            # Only the sum may leave this function: with its parts anyone links unequal vectors.
            links.append(g1.add(secret(np.concatenate([inside, _INFINITY])), outside))
    return np.concatenate(segments), np.concatenate(knowledge), np.concatenate(links)


def _segment_keys(statement: Statement, points: list[bytes]) -> tuple[SegmentKey, ...]:
    """``points``: [σ]_2 of every segment, then [k_1]_2, [k_2]_2 of every link."""
    sigma, k = points[: len(statement.segments)], iter(points[len(statement.segments) :])
    return tuple(
        SegmentKey(segment.size, point, (next(k), next(k)) if segment.linked else None)
        for segment, point in zip(statement.segments, sigma, strict=True)
    )


def _support(scalars: FrArray) -> NDArray[np.uint32]:
    """The variables whose polynomial is not zero: the others would only add the point at infinity."""
    columns: NDArray[np.uint32] = np.flatnonzero(scalars.any(axis=1)).astype(np.uint32)
    return columns
