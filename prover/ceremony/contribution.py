"""One party's turn: draw shares, work them into the key, prove that they are known, erase them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from kernels import FrArray, fr, g1
from prover.ceremony import chain
from prover.ceremony.state import State
from prover.ceremony.verification import check
from prover.progress import Progress, silent
from prover.randomness import Secrets, random_elements
from prover.setup_transcript import check_name


def contribute(state: State, name: str, *, threads: int = 1, progress: Progress | None = None) -> State:
    """``state`` after the contribution of ``name``: its secrets are unknown to all if this party is honest.

    Its points must be known to be in the subgroup, as ``State.load`` makes sure; all else is checked before
    any share is drawn. Stages: "check", "private", "quotient", "segments".
    Raises ``CeremonyError`` (``ceremony.name``, and what ``verification.check`` raises).
    """
    report = progress or silent
    check_name(name)
    report("check", 0.0)
    check(state, threads=threads)
    secrets_g2, hashes = state.chain
    segments, multiplied = len(state.shapes), state.multiplied
    with Secrets() as secret:
        shares = secret(_draw(multiplied + state.added))
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
        contribution = chain.extend(
            hashes[-1] if hashes else state.origin, secrets_g2, multiplied, name, shares
        )
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
