"""Whether a state is what its contributions make of a statement and powers of tau. Anyone can tell."""

from __future__ import annotations

from zenserve.base.progress import Progress, silent
from zenserve.errors import CeremonyError
from zenserve.kernels import WordArray, g1, g2
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16.ceremony.initial import start
from zenserve.prover.groth16.ceremony.origin import starts_from
from zenserve.prover.groth16.ceremony.state import State
from zenserve.prover.groth16.point_arrays import pairings_cancel, random_weights
from zenserve.prover.groth16.powers_of_tau import PowersOfTau

_ONE_G2 = g2.generator


def verify(
    state: State,
    system: ConstraintSystem,
    powers: PowersOfTau,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> None:
    """Check all of ``state``, whose points must be known to be in the subgroup (``State.load``).

    That the powers are powers of one secret, ``PowersOfTau.verify`` tells. Stages: "origin", "contributions",
    and those of ``start`` where the origin is wrong. Raises ``CeremonyError``: ``ceremony.statement`` for
    another statement's state, ``ceremony.origin`` where its start is not that of these powers, the part that
    differs as the field; what ``start`` and ``check`` raise.
    """
    report = progress or silent
    if state.statement_digest != system.digest:
        raise CeremonyError(
            "ceremony.statement", "the ceremony is about another statement", field="statement"
        )
    report("origin", 0.0)
    if not starts_from(state, system, powers, threads=threads):
        part = state.difference(start(system, powers, threads=threads, progress=progress))
        raise CeremonyError(
            "ceremony.origin",
            f"the ceremony did not start from these powers of tau: {part or 'its start'} differs",
            field=part,
        )
    report("contributions", 0.0)
    check(state, threads=threads)
    report("contributions", 1.0)


def check(state: State, *, threads: int = 1) -> None:
    """Whether ``state`` is what its contributions make of its own start: enough to contribute safely.

    A contributor's shares multiply the arrays. Were they anything else, a contribution could be turned into
    one to the true state, with multiples of other points left over: k_1 K_i alone, or a public input's point
    over δ. To another start, its proofs of shares do not fit. Each array is compared with the first one by a
    random linear combination and a pairing. Raises ``CeremonyError``: ``ceremony.contribution``,
    ``ceremony.name``, ``ceremony.key`` with the array that is wrong as the field.
    """
    secrets_g2, _ = state.chain
    delta, sigma, k = secrets_g2[0], secrets_g2[1 : state.multiplied], secrets_g2[state.multiplied :]

    def agree(name: str, now: WordArray, first: WordArray, now_by: WordArray, first_by: WordArray) -> None:
        """All logarithms in ``now``, times that of ``now_by``, must be those of the ``first`` two."""
        _require(name, now.shape == first.shape)
        weights = random_weights(len(now))
        left, right = (g1.msm(points, weights, threads=threads) for points in (now, first))
        _require(name, pairings_cancel([(left, now_by), (g1.neg(right), first_by)]))

    agree("delta_g1", state.delta_g1, g1.generator[None], _ONE_G2, delta)
    agree("private", state.private, state.first_private, delta, _ONE_G2)
    agree("quotient", state.quotient, state.first_quotient, delta, _ONE_G2)
    _require("knowledge", state.knowledge.shape == state.segments.shape)
    for part, secret in zip(state.segment_ranges, sigma, strict=True):
        agree("knowledge", state.knowledge[part], state.segments[part], _ONE_G2, secret)
    _check_links(state, k.reshape(-1, 2, *g2.shape), threads)


def _check_links(state: State, k: WordArray, threads: int) -> None:
    end = 0
    for link, (k_1, k_2) in zip(state.iterate_links(), k, strict=True):
        links, end = state.links[link.part], link.part.stop
        _require("links", len(links) == len(link.inside))
        weights = random_weights(len(links))
        now, inside, outside = (
            g1.msm(points, weights, threads=threads) for points in (links, link.inside, link.outside)
        )
        _require("links", pairings_cancel([(g1.neg(now), _ONE_G2), (inside, k_1), (outside, k_2)]))
    _require("links", len(state.links) == end)


def _require(field: str, holds: bool) -> None:
    if not holds:
        raise CeremonyError(
            "ceremony.key", f"{field} of the key is not what the contributions make of it", field=field
        )
