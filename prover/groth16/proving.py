"""The Groth16 prover (ePrint 2016/260, section 3.2).

Not constant-time in the witness: timings are for the owner of the witness only. Arrays that hold values
derived from it are zeroed before the call returns or raises; the witness itself belongs to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zenserve.base.progress import Progress, silent
from zenserve.base.randomness import Secrets, random_elements
from zenserve.errors import StatementError
from zenserve.kernels import FrArray, Group, fr, g1, g2
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import qap, sessions
from zenserve.prover.groth16.commitment import Opening
from zenserve.prover.groth16.native import NATIVE
from zenserve.prover.groth16.proving_key import WITNESS_SECTIONS, Points, ProvingKey
from zenserve.prover.groth16.sessions import Session
from zenserve.prover.witness import Witness, duplicate, part_of, same
from zenserve.verifier.groth16 import transcript
from zenserve.verifier.groth16.proof import Proof
from zenserve.verifier.groth16.verifying_key import VerifyingKey

PostChallenge = Callable[[Any, FrArray], None]
"""The post-challenge witness: ``post_challenge(z, challenges)`` completes z, uint64[variables, 4], in place,
once the challenges, uint64[challenges, 4], are known. It writes private variables that depend on them, and no
others."""


def prove(
    proving_key: ProvingKey,
    system: ConstraintSystem,
    witness: Witness,
    *,
    openings: Sequence[Opening] = (),
    post_challenge: PostChallenge | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Proof:
    """A proof that ``witness`` (uint64[variables, 4], Montgomery, z[0] = 1) satisfies ``system``.

    The witness holds public inputs, segments, and the private variables that do not depend on challenges;
    ``post_challenge`` computes the others. Challenges and blinding variables are set here, whatever stands in
    their places. ``openings``: for each linked segment, in order, a commitment to its values.

    A witness on a GPU is proven there.

    Every call draws fresh blinding factors: two proofs of one witness share no group element.
    Stages: "load key" where a GPU has not got it yet, "commit" where there are segments, then "constraints",
    "quotient", "msm_quotient", "msm_private", "msm_a", "msm_b_g1", "msm_b_g2".

    Peak memory beside statement and witness, for n rows (a power of two) and v variables, in bytes: 32 n that
    the process keeps for the next proof, and 32 v more with segments, for a copy of the witness; then 96 n up
    to the quotient, or the key with what its last sums take, ``zenserve.prover.groth16.memory.proving`` has
    which.

    Raises ``StatementError``: ``statement.key_mismatch`` where the key was made for another statement,
    ``statement.witness_shape``, ``statement.witness_constant``, ``statement.openings`` where openings are
    missing or open to other values, ``statement.post_challenge`` where that changes more than it may,
    ``statement.unsatisfied`` (the message names the first row that fails); ``ResourceError`` as
    ``sessions.begin`` raises it; and what ``post_challenge`` and ``progress`` raise.
    """
    report = progress or silent
    if not _is_for(proving_key.verifying_key, system):
        raise StatementError(
            "statement.key_mismatch",
            "the proving key was made for another statement: run setup for this one, or load its own key",
            field="proving_key",
        )
    system.check_shape(witness)
    with Secrets() as secret:
        if system.segments:
            witness = duplicate(witness, secret, threads)
        with sessions.begin(proving_key, system, witness, threads, report) as session:
            commit = _NOTHING
            if system.segments:
                commit = _commit(
                    session, proving_key, system, witness, openings, post_challenge, threads, report
                )
            if not np.array_equal(witness[0], qap.element(1)):
                raise StatementError(
                    "statement.witness_constant",
                    "the witness must begin with the constant 1",
                    field="witness",
                )
            session.start()
            if system.segments:
                _check_links(proving_key, commit, openings)
            blinds = _Blinds.drawn(proving_key, secret)
            sum_c = secret(session.quotient_sum())
            sums = {name: secret(session.witness_sum(name)) for name in WITNESS_SECTIONS}
            elements = blinds.hide(sums, secret(g1.add(sum_c, sums["private"])))
    return Proof(*elements, *commit)


def _is_for(key: VerifyingKey, system: ConstraintSystem) -> bool:
    """Whether ``key`` names ``system``, and counts the same inputs, challenges and segments."""
    return (
        key.statement_digest == system.digest
        and (key.public, key.challenges, key.folded)
        == (system.public + system.folded, system.challenges, system.folded)
        and [(each.size, each.link_g2 is not None) for each in key.segments]
        == [(each.size, each.linked) for each in system.segments]
    )


Committed = tuple[tuple[bytes, ...], tuple[bytes, ...], tuple[bytes, ...]]
"""The ``segments``, ``knowledge`` and ``links`` of a proof."""

_NOTHING: Committed = (), (), ()


def _commit(
    session: Session,
    key: ProvingKey,
    system: ConstraintSystem,
    z: Witness,
    openings: Sequence[Opening],
    post_challenge: PostChallenge | None,
    threads: int,
    report: Progress,
) -> Committed:
    """Commit to the segments of ``z``, draw the challenges and complete ``z`` in place."""
    linked = sum(segment.linked for segment in system.segments)
    if len(openings) != linked:
        raise StatementError(
            "statement.openings",
            f"{linked} segments are linked, {len(openings)} openings were given",
            field="openings",
        )
    for opening in openings:
        opening.check()
    segments, knowledge, links = _commit_segments(session, system, z, openings, report)
    public = slice(1, 1 + system.public)
    drawn = transcript.challenges(
        key.verifying_key,
        NATIVE,
        [*fr.to_ints(z[public]), *fr.to_ints(z[system.folded_inputs])],
        [NATIVE.decode_g1(segment) for segment in segments],
        [NATIVE.decode_g1(opening.commitment) for opening in openings],
    )
    z[public.stop : system.instance] = challenges = fr.from_ints(drawn)
    if post_challenge is not None:
        fixed = slice(0, system.first_private)
        with Secrets() as secret:
            before = duplicate(part_of(z, fixed), secret, threads)
            post_challenge(z, challenges)
            unchanged = same(before, part_of(z, fixed), threads)
        if not unchanged:
            raise StatementError(
                "statement.post_challenge",
                "post_challenge changed what was fixed before the challenges: it may write private variables"
                " only",
                field="post_challenge",
            )
    report("commit", 1.0)
    return tuple(segments), tuple(knowledge), tuple(links)


def _commit_segments(
    session: Session, system: ConstraintSystem, z: Witness, openings: Sequence[Opening], report: Progress
) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Draw the blinding variables of ``z`` in place; D and σD of each segment, π of each linked one."""
    segments, knowledge, links = [], [], []
    remaining = iter(openings)
    for index, part in enumerate(system.segment_ranges):
        report("commit", index / len(system.segments))
        with Secrets() as secret:
            z[part.stop - 1] = secret(random_elements(1))[0]
        commitment, known = session.committed(index)
        segments.append(g1.compress(commitment[None]))
        knowledge.append(g1.compress(known[None]))
        if system.segments[index].linked:
            links.append(g1.compress(session.linked(index, next(remaining).blinding)[None]))
    return segments, knowledge, links


def _check_links(key: ProvingKey, made: Committed, openings: Sequence[Opening]) -> None:
    """e(D, k_1) · e(cm, k_2) = e(π, 1) for each link, so that a wrong opening is named and not proved."""
    read, (segments, _, links) = NATIVE.decode_g1, made
    for (index, k_1, k_2), link, opening in zip(
        key.verifying_key.prepared(NATIVE).links, links, openings, strict=True
    ):
        left = [(read(segments[index]), k_1), (read(opening.commitment), k_2)]
        if not NATIVE.products_agree(left, [(read(link), NATIVE.generator_g2)]):
            raise StatementError(
                "statement.openings",
                f"the opening for segment {index} does not open its commitment to the segment's values",
                field="openings",
            )


@dataclass(frozen=True, eq=False)
class _Blinds:
    """r and s, uint64[4], and what they add to a proof: α + rδ, β + sδ in both groups, and −rsδ."""

    r: FrArray
    s: FrArray
    a: Points
    b: Points
    b_g1: Points
    c: Points

    @classmethod
    def drawn(cls, key: ProvingKey, secret: Secrets) -> _Blinds:
        """Fresh ones, registered with ``secret``."""
        r, s = secret(random_elements(2))
        minus_rs = secret(fr.neg(secret(fr.mul(r, s))))
        delta, delta_g2 = key.delta_g1, key.delta_g2

        def times(group: Group, point: Points, scalar: FrArray) -> Points:
            return secret(group.mul(point, scalar[None]))

        return cls(
            r,
            s,
            secret(g1.add(key.alpha_g1, times(g1, delta, r))),
            secret(g2.add(key.beta_g2, times(g2, delta_g2, s))),
            secret(g1.add(key.beta_g1, times(g1, delta, s))),
            times(g1, delta, minus_rs),
        )

    def hide(self, sums: Mapping[str, Points], sum_c: Points) -> tuple[bytes, bytes, bytes]:
        """A = α + Σ z_j A_j + rδ, B = β + Σ z_j B_j + sδ, C = Σ private + h + sA + rB − rsδ."""
        with Secrets() as secret:
            a = g1.add(self.a, sums["a"][None])
            b = g2.add(self.b, sums["b_g2"][None])
            b_g1 = secret(g1.add(self.b_g1, sums["b_g1"][None]))
            points = secret(np.concatenate([sum_c[None], self.c, a, b_g1]))
            one = qap.element(1)
            c = g1.msm(points, secret(np.stack([one, one, self.s, self.r])))[None]
        return g1.compress(a), g2.compress(b), g1.compress(c)
