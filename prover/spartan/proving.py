"""Proofs: two sum-checks with padded messages, and one opening of all that was committed to."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zenserve.base.progress import Progress, silent
from zenserve.base.randomness import Secrets, random_elements
from zenserve.errors import StatementError
from zenserve.kernels import FrArray, fr, multilinear
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.spartan.commitment import Committed, Linked, commit, to_bytes
from zenserve.prover.spartan.folding import Folder
from zenserve.prover.spartan.queries import places
from zenserve.prover.spartan.rounds import say
from zenserve.prover.spartan.sessions import Rows, Session, begin
from zenserve.prover.witness import Witness
from zenserve.verifier.spartan.claims import Drawn, Form, Known, Said, combined, forms
from zenserve.verifier.spartan.commitment import SEED_BYTES
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.proof import Body
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.spartan.verification import begin as begin_transcript

PostChallenge = Callable[[Any, FrArray], None]
"""``post_challenge(z, challenges)`` completes z, uint64[variables, 4], in place."""

_P = FR.modulus


def prove(
    system: ConstraintSystem,
    shape: Shape,
    z: Witness,
    *,
    linked: Sequence[Linked] = (),
    post_challenge: PostChallenge | None = None,
    threads: int = 1,
    progress: Progress = silent,
) -> bytes:
    """A proof that ``z``, uint64[variables, 4], Montgomery, satisfies ``system``.

    ``linked``: the commitments that the linked segments are, in order; stages of ``progress``: "commit",
    "outer", "inner", "open". Raises ``StatementError``:
    ``statement.witness_shape``, ``statement.openings`` where a commitment holds other values,
    ``statement.unsatisfied`` where a row fails. No verifier would accept such proofs, but they would tell by
    how much the witness is wrong.
    """
    system.check_shape(z)
    if len(linked) != (asked := sum(part.linked for part in shape.parts)):
        raise StatementError(
            "statement.openings",
            f"{asked} segments are linked, {len(linked)} commitments were given",
            field="openings",
        )
    with Secrets() as secret, begin(system, shape, z, threads) as session:
        return _Prover(session, system, shape, z, linked, secret, progress).prove(post_challenge)


class _Prover:
    def __init__(
        self,
        session: Session,
        system: ConstraintSystem,
        shape: Shape,
        z: Witness,
        linked: Sequence[Linked],
        secret: Secrets,
        progress: Progress,
    ) -> None:
        self._system, self._shape, self._z, self._secret = system, shape, z, secret
        self._session, self._linked, self._progress = session, linked, progress
        self._public = fr.to_ints(z[1 : 1 + shape.public])
        self._transcript = begin_transcript(
            shape, system.digest, self._public, [each.root for each in linked]
        )

    def prove(self, post_challenge: PostChallenge | None) -> bytes:
        shape, transcript = self._shape, self._transcript
        self._progress("commit", 0.0)
        segments = self._commit_segments()
        known = self._draw_challenges(post_challenge)
        parts = [*segments, self._commit_private()]
        pads, pad_mask = self._commit_pads()
        transcript.absorb("private", parts[-1].root)
        transcript.absorb("pads", pads.root)

        self._progress("outer", 0.0)
        zero = transcript.challenges("zero", shape.log_rows)
        outer = self._session.outer(zero, self._pads, transcript)
        claims = self._say("claims", outer.values, shape.pads.claims)
        self._progress("inner", 0.0)
        weights = transcript.challenges("matrices", 3)
        inner = self._session.inner(outer.point, weights, self._pads[shape.pads.inner :], transcript)
        matrices_at, witness_at = inner.values

        self._progress("open", 0.0)
        mask = self._session.open(inner.point)
        (mask_said,) = self._say("mask", [mask], shape.pads.mask)
        factor = transcript.challenge("mask")
        known_part = _known_part(known, inner.point)
        product = (mask + factor * (witness_at - known_part)) % _P
        transcript.say("product", [product])
        row = Folder(shape.folding, self._session.combine(factor))
        transcript.absorb("row", row.message)
        triple = transcript.challenge("triple")
        opened = self._open_triple(triple)
        at = places(transcript, "columns", shape.code)
        folded = row.fold(transcript, shape.code, at)

        said = Said(outer.said, claims, inner.said, mask_said, opened)
        drawn = Drawn(zero, outer.point, weights, inner.point, factor, triple)
        known_there = Known(matrices_at, known_part, product)
        pad_product, pad_row = self._combine_pads(forms(shape.pads, said, drawn, known_there), pads, pad_mask)
        pads_at = places(transcript, "pad columns", shape.pads.code)
        roots = [each.root for each in [*parts, pads]]
        body = Body(roots, said, product, folded.body, pad_product, pad_row)
        openings = [*(part.open(at) for part in parts), *folded.openings, pads.open(pads_at)]
        return body.to_bytes(FR) + b"".join(openings)

    def _commit_segments(self) -> list[Rows]:
        given, made = iter(self._linked), list[Rows]()
        segments = zip(self._system.segments, self._system.segment_ranges, strict=True)
        for part, (segment, place) in zip(self._shape.parts[:-1], segments, strict=True):
            variables = slice(place.start, place.start + part.size)
            if part.linked:
                made.append(self._session.link(variables, next(given), lasting=segment.lasting))
                continue
            made.append(self._session.commit(variables, part.tail, secrets.token_bytes(SEED_BYTES)))
            self._transcript.absorb("segment", made[-1].root)
        return made

    def _draw_challenges(self, post_challenge: PostChallenge | None) -> list[int]:
        """Completes the witness; all that the verifier knows of it."""
        shape = self._shape
        drawn = self._transcript.challenges("statement", shape.challenges)
        if drawn:
            challenges = fr.from_ints(drawn)
            self._z[1 + shape.public : shape.known] = challenges
            if post_challenge is not None:
                post_challenge(self._z, challenges)
        return [1, *self._public, *drawn]

    def _commit_private(self) -> Rows:
        """With the mask of all rows in one more row. A GPU is at work on it when this returns."""
        variables = slice(self._system.first_private, self._system.variables)
        seed, mask = (secrets.token_bytes(SEED_BYTES) for _ in range(2))
        return self._session.commit(variables, self._shape.parts[-1].tail, seed, mask)

    def _commit_pads(self) -> tuple[Committed, FrArray]:
        """Drawn here: a GPU is at work meanwhile."""
        code = self._shape.pads.code
        self._pads = self._secret(_pads(self._shape))
        mask = self._secret(random_elements(code.degree))
        seed = secrets.token_bytes(SEED_BYTES)
        pads = commit(self._pads, code, code.queries, seed, extra=mask[np.newaxis], secret=self._secret)
        return pads, mask

    def _open_triple(self, challenge: int) -> list[int]:
        """The pads of the claims a and b behind those of the random triple."""
        own = self._shape.pads
        first, second = fr.to_ints(self._pads[own.claims : own.claims + 2])
        x, y = fr.to_ints(self._pads[own.triple : own.triple + 2])
        opened = [(challenge * first + x) % _P, (second + y) % _P]
        self._transcript.say("opened", opened)
        return opened

    def _combine_pads(self, equations: Sequence[Form], pads: Committed, mask: FrArray) -> tuple[int, bytes]:
        """The inner product of the mask and the equations' coefficients, and the pads behind the mask."""
        count = self._shape.pads.count
        weights = self._transcript.challenges("forms", len(equations))
        coefficients, _ = combined(equations, weights, count)
        product = _value(multilinear.dot(fr.from_ints(coefficients), mask[:count]))
        self._transcript.say("pad mask", [product])
        factor = fr.from_ints([self._transcript.challenge("pad mask")])
        row = mask.copy()
        multilinear.combine_rows(pads.rows[:1], factor, row)
        said = to_bytes(row)
        self._transcript.absorb("pad row", said)
        return product, said

    def _say(self, label: str, truth: Sequence[int], place: int) -> list[int]:
        """Numbers that follow from the witness, behind the pads from ``place`` on."""
        return say(self._transcript, label, truth, self._pads[place:])


def _known_part(known: Sequence[int], point: Sequence[int]) -> int:
    """``zenserve.verifier.spartan.verification.known_part``. What is known has the first places: all but the
    last coordinates are weighed at 0."""
    split = len(point) - (len(known) - 1).bit_length()
    weights = multilinear.eq(fr.from_ints(point[split:]).reshape(-1, 4))[: len(known)]
    total = _value(multilinear.dot(fr.from_ints(known), weights))
    for r in point[:split]:
        total = total * (1 - r) % _P
    return total


def _pads(shape: Shape) -> FrArray:
    own, pads = shape.pads, random_elements(shape.pads.count)
    for product, factor in ((own.product, own.claims), (own.triple + 2, own.triple)):
        pads[product] = fr.mul(pads[factor], pads[factor + 1])
    return pads


def _value(element: FrArray) -> int:
    (value,) = fr.to_ints(element)
    return value
