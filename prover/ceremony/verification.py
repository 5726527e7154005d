"""Whether a state is what its contributions make of a statement and powers of tau. Anyone can tell."""

from __future__ import annotations

import numpy as np

from kernels import WordArray, g1, g2
from prover.ceremony.initial import start
from prover.ceremony.state import CHANGING, FIXED, State
from prover.point_arrays import pairings_cancel, random_weights
from prover.powers_of_tau import PowersOfTau
from prover.progress import Progress, silent
from prover.statement import Statement
from zenerrors import CeremonyError

_ONE_G2 = g2.generator


def verify(
    state: State,
    statement: Statement,
    powers: PowersOfTau,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> None:
    """Check all of ``state``, whose points must be known to be in the subgroup (``State.load``).

    That the powers are powers of one secret, ``PowersOfTau.verify`` tells. Stages: those of ``start``, then
    "contributions", "key". Raises ``CeremonyError``: ``ceremony.statement`` for another statement's state,
    ``ceremony.origin`` for one from other powers, ``ceremony.contribution``, ``ceremony.key`` with the array
    that is wrong as the field; and what ``start`` raises.
    """
    report = progress or silent
    if state.statement_digest != statement.digest:
        raise CeremonyError(
            "ceremony.statement", "the ceremony is about another statement", field="statement"
        )
    initial = start(statement, powers, threads=threads, progress=progress)
    if state.origin != initial.origin:
        raise CeremonyError(
            "ceremony.origin", "the ceremony did not start from these powers of tau", field="powers"
        )
    for name in (*FIXED, "powers_contributions", "challenges", "shapes"):
        _require(name, np.array_equal(getattr(state, name), getattr(initial, name)))
    report("contributions", 0.0)
    secrets_g2, _ = state.chain
    report("key", 0.0)
    _check_key(state, initial, secrets_g2, threads)
    report("key", 1.0)


def _check_key(state: State, initial: State, secrets_g2: WordArray, threads: int) -> None:
    """Each array against the initial one by a random linear combination: both paired must agree."""
    delta, sigma, k = secrets_g2[0], secrets_g2[1 : state.multiplied], secrets_g2[state.multiplied :]

    def multiples(now: WordArray, before: WordArray, now_by: WordArray, before_by: WordArray) -> bool:
        """Whether all logarithms in ``now``, times that of ``now_by``, are those in ``before``, times ..."""
        weights = random_weights(len(now))
        left, right = g1.msm(now, weights, threads=threads), g1.msm(before, weights, threads=threads)
        return pairings_cancel([(left, now_by), (g1.neg(right), before_by)])

    for name in CHANGING:
        _require(name, getattr(state, name).shape == getattr(initial, name).shape)
    _require("delta_g1", multiples(state.delta_g1, initial.delta_g1, _ONE_G2, delta))
    _require("private", multiples(state.private, initial.private, delta, _ONE_G2))
    _require("quotient", multiples(state.quotient, initial.quotient, delta, _ONE_G2))
    for part, secret in zip(state.segment_ranges, sigma, strict=True):
        _require("knowledge", multiples(state.knowledge[part], initial.segments[part], _ONE_G2, secret))
    for link, (k_1, k_2) in zip(initial.iterate_links(), k.reshape(-1, 2, *g2.shape), strict=True):
        weights = random_weights(len(link.inside))
        sums = [g1.msm(points, weights, threads=threads) for points in (state.links[link.part], *link[1:])]
        _require("links", pairings_cancel([(g1.neg(sums[0]), _ONE_G2), (sums[1], k_1), (sums[2], k_2)]))


def _require(field: str, holds: bool) -> None:
    if not holds:
        raise CeremonyError(
            "ceremony.key", f"{field} of the key is not what the contributions make of it", field=field
        )
