"""One party's turn: draw shares, work them into the key, prove that they are known, erase them.

And a beacon's, whose shares everybody knows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from zenserve.base.progress import Progress, silent
from zenserve.base.randomness import Secrets, random_elements
from zenserve.errors import CeremonyError
from zenserve.kernels import FrArray, WordArray, fr, g1
from zenserve.prover.groth16.ceremony import chain
from zenserve.prover.groth16.ceremony.state import State
from zenserve.prover.groth16.ceremony.verification import check
from zenserve.verifier.beacon import Beacon, is_reserved
from zenserve.verifier.groth16.setup_transcript import check_name, people_and_beacon


def contribute(state: State, name: str, *, threads: int = 1, progress: Progress | None = None) -> State:
    """``state`` after the contribution of ``name``: its secrets are unknown to all if this party is honest.

    Its points must be known to be in the subgroup, as ``State.load`` makes sure; all else is checked before
    any share is drawn. Stages: "check", "private", "quotient", "segments".
    Raises ``CeremonyError`` (``ceremony.name``, ``ceremony.beacon`` for a beacon's name or after one, and
    what ``verification.check`` raises).
    """
    report = progress or silent
    check_name(name)
    if is_reserved(name):
        raise CeremonyError("ceremony.beacon", "that name is for beacons: take another", field="name")
    people_and_beacon([*(each.name for each in state.contributions), name])
    previous, secrets_g2 = _open(state, threads, report)
    with Secrets() as secret:
        shares = secret(_draw(len(secrets_g2)))
        contribution = chain.extend(previous, secrets_g2, state.multiplied, name, shares)
        return _with(state, shares, contribution, threads, report)


def add_beacon(state: State, beacon: Beacon, *, threads: int = 1, progress: Progress | None = None) -> State:
    """``state`` after the contribution of a beacon, its last: the same for all who compute it.

    Of ``state`` the same must be known as for ``contribute``. Stages: those of ``contribute``. Raises
    ``CeremonyError`` (``ceremony.beacon`` after a beacon, and what ``verification.check`` raises).
    """
    report = progress or silent
    previous, secrets_g2 = _open(state, threads, report)
    shares, contribution = chain.drawn(beacon, previous, secrets_g2, state.multiplied)
    return _with(state, shares, contribution, threads, report)


def _open(state: State, threads: int, report: Progress) -> tuple[bytes, WordArray]:
    """The last hash and [secret]_2 of a state that may be contributed to."""
    report("check", 0.0)
    check(state, threads=threads)
    if state.beacon is not None:
        raise CeremonyError(
            "ceremony.beacon", "a beacon has closed this ceremony: nobody can contribute", field="beacon"
        )
    secrets_g2, hashes = state.chain
    return hashes[-1] if hashes else state.origin, secrets_g2


def _with(
    state: State, shares: FrArray, contribution: chain.Contribution, threads: int, report: Progress
) -> State:
    """``state`` times ``shares``, which ``contribution`` proves."""
    segments, multiplied = len(state.shapes), state.multiplied
    with Secrets() as secret:
        delta, sigma, k = shares[0], shares[1:multiplied], shares[multiplied:].reshape(-1, 2, 4)
        by_delta = secret(fr.inverse(delta))
        private = g1.mul(state.private, by_delta, threads=threads, progress=partial(report, "private"))
        quotient = g1.mul(state.quotient, by_delta, threads=threads, progress=partial(report, "quotient"))
        knowledge, links = state.knowledge.copy(), state.links.copy()
        for index, (part, share) in enumerate(zip(state.segment_ranges, sigma, strict=True)):
            report("segments", index / segments)
            knowledge[part] = g1.mul(knowledge[part], share, threads=threads)
        for link, (k_1, k_2) in zip(state.iterate_links(), k, strict=True):
            inside = g1.mul(link.inside, k_1, threads=threads)
            outside = g1.mul(link.outside, k_2, threads=threads)
            # Only the sum may leave this function: with its parts anyone links unequal vectors.
            links[link.part] = g1.add(links[link.part], g1.add(secret(inside), secret(outside)))
        report("segments", 1.0)
        return replace(
            state,
            delta_g1=g1.mul(state.delta_g1, delta),
            private=private,
            quotient=quotient,
            knowledge=knowledge,
            links=links,
            contributions=(*state.contributions, contribution),
        )


def _draw(count: int) -> FrArray:
    """Shares, none of them zero: uint64[count, 4]."""
    while True:
        shares = random_elements(count)
        if np.all(shares.any(axis=1)):
            return shares
        shares.fill(0)
