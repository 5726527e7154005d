"""Groth16's setup by a single party, for development: whoever runs it could keep the trapdoor."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.base.parallel import in_chunks
from zenserve.base.progress import Progress, part, silent
from zenserve.base.randomness import Secrets, random_elements
from zenserve.errors import StatementError
from zenserve.kernels import FrArray, fr, g1, g2
from zenserve.prover import backends
from zenserve.prover.backends import Backend
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import qap
from zenserve.prover.groth16.commitment import CommitmentKey, blinding_point
from zenserve.prover.groth16.proving_key import MOST_MULTIPLIED, MULTIPLIERS, Points, ProvingKey
from zenserve.verifier.groth16.verifying_key import SegmentKey, VerifyingKey
from zenserve.verifier.system import DEVELOPMENT

_INFINITY = np.zeros((1, *g1.shape), dtype=np.uint64)


class _Logarithms(NamedTuple):
    """Discrete logarithms of the key's points, as secret as the trapdoor: uint64[points, 4].

    ``places``: where ``values`` has those of which points of G1; G2 has the points of "b_g1" once more.
    ``a_columns``, ``b_columns``, ``absent``: as in ``ProvingKey``.
    """

    values: FrArray
    places: Mapping[str, slice]
    a_columns: NDArray[np.uint32]
    b_columns: NDArray[np.uint32]
    absent: NDArray[np.uint32]


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
    system: ConstraintSystem,
    *,
    basis: CommitmentKey | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> ProvingKey:
    """Draw a trapdoor, make the keys of ``system`` from it, erase it.

    ``basis``: what the commitments are made in that linked segments open to; without linked segments None.
    The keys carry the label "development": trusting them means trusting this process.
    Stages: "lagrange", "columns", "key_g2", "key_g1", and "key_links" where segments are linked.

    ``zenserve.prover.groth16.memory.setup`` has the peak of its memory.

    Raises ``StatementError`` where the blocks do not fit the statement, ``statement.basis`` where a basis is
    needed and missing or the reverse, ``statement.basis_length``; and what ``progress`` raises.
    """
    report = progress or silent
    links = sum(segment.linked for segment in system.segments)
    if (basis is not None) != (links > 0):
        raise StatementError(
            "statement.basis",
            "a basis for commitments goes with linked segments, and only with them",
            field="basis",
        )
    with Secrets() as secret:
        count = len(system.segments)
        values = secret(_draw_trapdoor(qap.log_domain_size(system), count + 2 * links))
        trapdoor = _Trapdoor(values, count)
        logarithms = _logarithms(system, trapdoor, secret, threads, report)
        return _key(system, trapdoor, logarithms, basis, threads, report)


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


def _logarithms(
    system: ConstraintSystem, trapdoor: _Trapdoor, keep: Secrets, threads: int, report: Progress
) -> _Logarithms:
    """Return the logarithms of the key's points; their ``values`` are registered with ``keep``."""
    tau, alpha, beta = trapdoor.values[:3]
    log_size, first, end = (qap.log_domain_size(system), system.instance, system.first_private)
    with Secrets() as secret:
        report("lagrange", 0.0)
        by_gamma, by_delta = secret(fr.inverse(trapdoor.values[3:5]))
        quotient = secret(_odd_basis(log_size, tau, by_delta, threads))
        report("lagrange", 0.5)
        with Secrets() as passing:
            rows = passing(_row_basis(log_size, tau, threads))
            report("columns", 0.0)
            a, b, mixed = (secret(column) for column in qap.columns(system, rows, threads))
        _mix(mixed[:end], a[:end], b[:end], alpha, beta, by_gamma, threads)
        _mix(mixed[end:], a[end:], b[end:], alpha, beta, by_delta, threads)
        a_columns, b_columns, present = _support(a), _support(b), _occur(mixed)
        segments = mixed[first:end][present[first:end]]
        counts = [np.count_nonzero(present[variables]) for variables in system.segment_ranges]
        parts = {
            "a": a[a_columns],
            "b_g1": b[b_columns],
            "private": mixed[end:][present[end:]],
            "quotient": quotient,
            "quotient_multiples": _multiples(quotient),
            "segments": segments,
            "knowledge": fr.mul(segments, secret(np.repeat(trapdoor.sigma, counts, axis=0))),
            "links": _inside(system, trapdoor, mixed),
            "ic": mixed[:first],
            "alpha_beta_delta": trapdoor.values[[1, 2, 4]],
        }
        for piece in parts.values():
            secret(piece)
        values = keep(np.concatenate(list(parts.values())))
    ends = itertools.accumulate(map(len, parts.values()), initial=0)
    places = {name: slice(*bounds) for name, bounds in zip(parts, itertools.pairwise(ends), strict=True)}
    return _Logarithms(values, places, a_columns, b_columns, np.flatnonzero(~present).astype(np.uint32))


def _mix(
    c: FrArray, a: FrArray, b: FrArray, alpha: FrArray, beta: FrArray, factor: FrArray, threads: int
) -> None:
    """Replace ``c`` by (β a + α b + c) · factor, in place."""

    def mix(rows: slice) -> None:
        with Secrets() as secret:
            from_a, from_b = secret(fr.mul(a[rows], beta)), secret(fr.mul(b[rows], alpha))
            total = secret(fr.add(secret(fr.add(from_a, from_b)), c[rows]))
            c[rows] = secret(fr.mul(total, factor))

    in_chunks(mix, len(c), threads)


def _inside(system: ConstraintSystem, trapdoor: _Trapdoor, mixed: FrArray) -> FrArray:
    """The part of the links that is made of segments: k_1 K_i, k_1 K_blind, and nothing in place of H."""
    nothing = np.zeros((1, 4), dtype=np.uint64)
    linked = (
        variables
        for segment, variables in zip(system.segments, system.segment_ranges, strict=True)
        if segment.linked
    )
    with Secrets() as secret:
        pieces = [nothing[:0]]
        for variables, (k_1, _) in zip(linked, trapdoor.links, strict=True):
            pieces += [secret(fr.mul(mixed[variables], k_1)), nothing]
        return np.concatenate(pieces)


def _row_basis(log_size: int, tau: FrArray, threads: int) -> FrArray:
    """The Lagrange polynomials of the n-th roots of unity at τ: (1 − τ^n) / n · x / (x − τ). uint64[n, 4]."""
    one = qap.element(1)
    with Secrets() as secret:
        return qap.lagrange(log_size, one, tau, secret(_scale(log_size, tau, one)), threads)


def _odd_basis(log_size: int, tau: FrArray, factor: FrArray, threads: int) -> FrArray:
    """The Lagrange polynomials at τ of the 2n-th roots of unity that are not n-th roots, times ``factor``.
    uint64[n, 4].

    They are the key's bases for the values of A·B − C = −2 h on the odd coset: with M_i its own Lagrange
    polynomials, M_i(τ) Z(τ) / −2 is the Lagrange polynomial of the same point over the whole double domain.
    """
    first = qap.root_of_unity(log_size + 1)
    with Secrets() as secret:
        return qap.lagrange(log_size, first, tau, secret(_scale(log_size + 1, tau, factor)), threads)


def _scale(log_size: int, tau: FrArray, factor: FrArray) -> FrArray:
    """(1 − τ^n) / n · factor for n = 2^log_size: uint64[4]."""
    with Secrets() as secret:
        by_size = secret(fr.mul(fr.inverse(qap.element(1 << log_size)), factor))
        return fr.mul(secret(_one_minus_power(tau, log_size)), by_size)


def _key(
    system: ConstraintSystem,
    trapdoor: _Trapdoor,
    logarithms: _Logarithms,
    basis: CommitmentKey | None,
    threads: int,
    report: Progress,
) -> ProvingKey:
    backend = backends.chosen()
    # One call for all points of a group: the larger its table, the less each of them takes.
    with Secrets() as secret:
        of_b = logarithms.values[logarithms.places["b_g1"]]
        scalars = secret(np.concatenate([of_b, trapdoor.values[2:]]))
        in_g2 = backend.fixed_base(g2, scalars, threads, partial(report, "key_g2"))
    in_g1 = backend.fixed_base(g1, logarithms.values, threads, partial(report, "key_g1"))
    points = {name: in_g1[place] for name, place in logarithms.places.items()}
    b_g2, singles = in_g2[: len(of_b)], in_g2[len(of_b) :]
    if basis is not None:
        _link(system, trapdoor, points["links"], basis, backend, threads, report)

    alpha_g1, beta_g1, delta_g1 = points["alpha_beta_delta"]
    beta_g2, gamma_g2, delta_g2, *others = (g2.compress(point[None]) for point in singles)
    verifying_key = VerifyingKey(
        DEVELOPMENT,
        system.digest,
        g1.compress(alpha_g1[None]),
        beta_g2,
        gamma_g2,
        delta_g2,
        tuple(g1.compress(point[None]) for point in points["ic"]),
        system.challenges,
        _segment_keys(system, others),
        None if basis is None else basis.identity,
        folded=system.folded,
    )
    return ProvingKey(
        verifying_key,
        beta_g1[None],
        delta_g1[None],
        logarithms.a_columns,
        points["a"],
        logarithms.b_columns,
        points["b_g1"],
        b_g2,
        logarithms.absent,
        points["private"],
        points["quotient"],
        points["segments"],
        points["knowledge"],
        points["links"],
        points["quotient_multiples"],
    )


def _link(
    system: ConstraintSystem,
    trapdoor: _Trapdoor,
    links: Points,
    basis: CommitmentKey,
    backend: Backend,
    threads: int,
    report: Progress,
) -> None:
    """Complete ``links``, which are k_1 K_i so far, in place.

    Only the sums may leave setup: with their parts anyone links unequal vectors.
    """
    linked, start = [segment for segment in system.segments if segment.linked], 0
    try:
        for index, (segment, (_, k_2)) in enumerate(zip(linked, trapdoor.links, strict=True)):
            with Secrets() as secret:
                outside = np.concatenate([basis.first(segment.size), _INFINITY, blinding_point()])
                done = part(report, "key_links", index, len(linked))
                outside = secret(backend.multiply(g1, outside, k_2, threads, done))
                here = slice(start, start + len(outside))
                links[here] = g1.add(links[here], outside, threads=threads)
            start = here.stop
    except BaseException:
        links.fill(0)
        raise


def _segment_keys(system: ConstraintSystem, points: list[bytes]) -> tuple[SegmentKey, ...]:
    """``points``: [σ]_2 of every segment, then [k_1]_2, [k_2]_2 of every link."""
    sigma, k = points[: len(system.segments)], iter(points[len(system.segments) :])
    return tuple(
        SegmentKey(segment.size, point, (next(k), next(k)) if segment.linked else None)
        for segment, point in zip(system.segments, sigma, strict=True)
    )


def _multiples(quotient: FrArray) -> FrArray:
    """``proving_key.multiples``, by their logarithms."""
    if len(quotient) > MOST_MULTIPLIED:
        return quotient[:0]
    with Secrets() as secret:
        return np.concatenate([secret(fr.mul(quotient, factor)) for factor in MULTIPLIERS])


def _support(scalars: FrArray) -> NDArray[np.uint32]:
    """The variables whose polynomial is not zero: the others would only add the point at infinity."""
    return np.flatnonzero(_occur(scalars)).astype(np.uint32)


def _occur(scalars: FrArray) -> NDArray[np.bool_]:
    return np.asarray(scalars.any(axis=1))
