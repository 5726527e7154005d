"""The Groth16 prover (ePrint 2016/260, section 3.2).

Not constant-time in the witness: timings are for the owner of the witness only. Arrays that hold values
derived from it are zeroed before the call returns or raises; the witness itself belongs to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kernels import FrArray, Group, fr, g1, g2
from prover import qap, transcript
from prover.commitment import Opening
from prover.native import NATIVE
from prover.progress import Progress, silent
from prover.proof import Proof
from prover.proving_key import Points, ProvingKey
from prover.randomness import Secrets, random_elements
from prover.statement import Statement
from zenerrors import StatementError

Answer = Callable[[FrArray, FrArray], None]
"""``answer(z, challenges)`` completes the witness z, uint64[variables, 4], in place, once the challenges,
uint64[challenges, 4], are known: it writes private variables that depend on them, and no others."""


def prove(
    proving_key: ProvingKey,
    statement: Statement,
    witness: FrArray,
    *,
    openings: Sequence[Opening] = (),
    answer: Answer | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Proof:
    """A proof that ``witness`` (uint64[variables, 4], Montgomery, z[0] = 1) satisfies ``statement``.

    The witness holds public inputs, segments, and the private variables that do not depend on challenges;
    ``answer`` computes the others. Challenges and blinding variables are set here, whatever stands in their
    places. ``openings``: for each linked segment, in order, a commitment to its values.

    Every call draws fresh blinding factors: two proofs of one witness share no group element.
    Stages: "commit" where there are segments, then "constraints", "quotient", "msm_quotient", "msm_private",
    "msm_a", "msm_b_g1", "msm_b_g2".

    Peak memory beside statement and witness, for n rows (a power of two) and v variables, in bytes: 32 n that
    the process keeps for the next proof, and 32 v more with segments, for a copy of the witness; then 96 n up
    to the quotient, or the key with what its last sums take, ``prover.memory.proving`` has which.

    Raises ``StatementError``: ``statement.key_mismatch`` where the key was made for another statement,
    ``statement.witness_shape``, ``statement.witness_constant``, ``statement.openings`` where openings are
    missing or open to other values, ``statement.answer`` where ``answer`` changes more than it may,
    ``statement.unsatisfied`` (the message names the first row that fails);
    and what ``answer`` and ``progress`` raise.
    """
    report = progress or silent
    if proving_key.statement_digest != statement.digest:
        raise StatementError(
            "statement.key_mismatch",
            "the proving key was made for another statement: run setup for this one, or load its own key",
            field="proving_key",
        )
    statement.check_shape(witness)
    with Secrets() as secret:
        commit: Committed = _NOTHING
        if statement.segments:
            witness = secret(witness.copy())
            commit = _commit(proving_key, statement, witness, openings, answer, threads, report)

        def total(group: Group, bases: Points, variables: NDArray[np.integer], stage: str) -> Points:
            with Secrets() as passing:
                scalars = _gather(witness, variables, passing)
                return secret(group.msm(bases, scalars, threads=threads, progress=partial(report, stage)))

        key = proving_key
        private = key.present(slice(statement.first_private, statement.variables))
        sum_c = [
            _quotient_sum(key, statement, witness, secret, threads, report),
            total(g1, key.private, private, "msm_private"),
        ]
        sum_a = total(g1, key.a, key.a_columns, "msm_a")
        sum_b_g1 = total(g1, key.b_g1, key.b_columns, "msm_b_g1")
        sum_b_g2 = total(g2, key.b_g2, key.b_columns, "msm_b_g2")
        elements = _blind(key, sum_a, sum_b_g1, sum_b_g2, secret(g1.add(*sum_c)))
    return Proof(*elements, *commit)


Committed = tuple[tuple[bytes, ...], tuple[bytes, ...], tuple[bytes, ...]]
"""The ``segments``, ``knowledge`` and ``links`` of a proof."""

_NOTHING: Committed = (), (), ()


def _commit(
    key: ProvingKey,
    statement: Statement,
    z: FrArray,
    openings: Sequence[Opening],
    answer: Answer | None,
    threads: int,
    report: Progress,
) -> Committed:
    """Commit to the segments of ``z``, draw the challenges and complete ``z`` in place."""
    linked = sum(segment.linked for segment in statement.segments)
    if len(openings) != linked:
        raise StatementError(
            "statement.openings",
            f"{linked} segments are linked, {len(openings)} openings were given",
            field="openings",
        )
    for opening in openings:
        opening.check()
    segments, knowledge, links = _commit_segments(key, statement, z, openings, threads, report)
    commitments = [opening.commitment for opening in openings]
    _check_links(key, segments, links, commitments)
    public = slice(1, 1 + statement.public)
    drawn = transcript.challenges(
        key.verifying_key.digest, fr.to_ints(z[public]), segments, commitments, statement.challenges
    )
    z[public.stop : statement.instance] = challenges = fr.from_ints(drawn)
    if answer is not None:
        fixed = z[: statement.first_private]
        with Secrets() as secret:
            before = secret(fixed.copy())
            answer(z, challenges)
            unchanged = np.array_equal(before, fixed)
        if not unchanged:
            raise StatementError(
                "statement.answer",
                "answer changed what was fixed before the challenges: it may write private variables only",
                field="answer",
            )
    report("commit", 1.0)
    return tuple(segments), tuple(knowledge), tuple(links)


def _commit_segments(
    key: ProvingKey,
    statement: Statement,
    z: FrArray,
    openings: Sequence[Opening],
    threads: int,
    report: Progress,
) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Draw the blinding variables of ``z`` in place; D and σD of each segment, π of each linked one."""
    segments, knowledge, links = [], [], []
    remaining, link_start = iter(openings), 0
    for index, part in enumerate(statement.segment_ranges):
        report("commit", index / len(statement.segments))
        with Secrets() as secret:
            z[part.stop - 1] = secret(random_elements(1))[0]
        bases = key.committed(part)
        with Secrets() as secret:
            values = _gather(z, key.present(part), secret)
            segments.append(g1.compress(g1.msm(key.segments[bases], values, threads=threads)[None]))
            knowledge.append(g1.compress(g1.msm(key.knowledge[bases], values, threads=threads)[None]))
        if statement.segments[index].linked:
            link_bases = key.links[link_start:][: part.stop - part.start + 1]
            link_start += len(link_bases)
            with Secrets() as secret:
                scalars = secret(np.concatenate([z[part], next(remaining).blinding[None]]))
                links.append(g1.compress(g1.msm(link_bases, scalars, threads=threads)[None]))
    return segments, knowledge, links


def _gather(z: FrArray, variables: NDArray[np.integer], secret: Secrets) -> FrArray:
    """``z[variables]``, for ascending variables: a view where they are a run, else a copy to be erased."""
    if len(variables) == 0 or int(variables[-1]) - int(variables[0]) + 1 == len(variables):
        return z[int(variables[0]) :][: len(variables)] if len(variables) else z[:0]
    return secret(z[variables])


def _check_links(
    key: ProvingKey, segments: Sequence[bytes], links: Sequence[bytes], commitments: Sequence[bytes]
) -> None:
    """e(D, k_1) · e(cm, k_2) = e(π, 1) for each link, so that a wrong opening is named and not proved."""
    read = NATIVE.decode_g1
    for (index, k_1, k_2), link, commitment in zip(
        key.verifying_key.prepared(NATIVE).links, links, commitments, strict=True
    ):
        left = [(read(segments[index]), k_1), (read(commitment), k_2)]
        if not NATIVE.products_agree(left, [(read(link), NATIVE.generator_g2)]):
            raise StatementError(
                "statement.openings",
                f"the opening for segment {index} does not open its commitment to the segment's values",
                field="openings",
            )


def _quotient_sum(
    key: ProvingKey, statement: Statement, witness: FrArray, keep: Secrets, threads: int, report: Progress
) -> Points:
    """[h Z / δ]_1, once every constraint is known to hold; registered with ``keep``."""
    with Secrets() as secret:
        h = _quotient(statement, witness, secret, threads, report)
        return keep(g1.msm(key.quotient, h, threads=threads, progress=partial(report, "msm_quotient")))


def _quotient(
    statement: Statement, witness: FrArray, keep: Secrets, threads: int, report: Progress
) -> FrArray:
    """−2 h on the odd coset, registered with ``keep``, once every constraint is known to hold."""
    log_size = qap.log_domain_size(statement)
    report("constraints", 0.0)
    a, b, c = statement.evaluate(witness, threads, length=1 << log_size)
    keep(a)
    with Secrets() as secret:
        secret(b)
        secret(c)
        _check_satisfied(statement, witness, a, b, c, threads)
        anchored = statement.anchored
        a[statement.constraints :][: len(anchored)] = secret(witness[anchored])
        report("constraints", 1.0)
        qap.quotient(a, b, c, log_size, threads, report)
    return a


def _check_satisfied(
    statement: Statement, witness: FrArray, a: FrArray, b: FrArray, c: FrArray, threads: int
) -> None:
    if not np.array_equal(witness[0], qap.element(1)):
        raise StatementError(
            "statement.witness_constant", "the witness must begin with the constant 1", field="witness"
        )
    row = fr.first_unsatisfied(a, b, c, threads)
    if row is not None:
        raise StatementError(
            "statement.unsatisfied",
            f"the witness does not satisfy constraint {statement.row_name(row)}",
            field="witness",
        )


def _blind(
    key: ProvingKey, sum_a: Points, sum_b_g1: Points, sum_b_g2: Points, sum_c: Points
) -> tuple[bytes, bytes, bytes]:
    """A = α + Σ z_j A_j + rδ, B = β + Σ z_j B_j + sδ, C = Σ private + h + sA + rB − rsδ, r and s fresh."""
    one = qap.element(1)
    with Secrets() as secret:

        def combine(group: Group, points: list[Points], *scalars: FrArray) -> Points:
            return group.msm(secret(np.concatenate(points)), secret(np.stack(scalars)))[None]

        r, s = secret(random_elements(2))
        a = combine(g1, [key.alpha_g1, sum_a[None], key.delta_g1], one, one, r)
        b = combine(g2, [key.beta_g2, sum_b_g2[None], key.delta_g2], one, one, s)
        b_g1 = secret(combine(g1, [key.beta_g1, sum_b_g1[None], key.delta_g1], one, one, s))
        minus_rs = secret(fr.neg(secret(fr.mul(r, s))))
        c = combine(g1, [sum_c[None], a, b_g1, key.delta_g1], one, s, r, minus_rs)
    return g1.compress(a), g2.compress(b), g1.compress(c)
