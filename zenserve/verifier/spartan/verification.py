"""Verification of a proof, in plain Python. Only the matrices are evaluated elsewhere (``Matrices``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from zenserve.verifier.spartan.claims import FORMS, Drawn, Known, combined, forms
from zenserve.verifier.spartan.field import Field
from zenserve.verifier.spartan.folding import Claim, shown
from zenserve.verifier.spartan.proof import Body, MalformedError, Opening, Reader, roots
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.spartan.transcript import Transcript
from zenserve.verifier.verdict import LINK_MISMATCH, OK, Verdict

REASONS: Final = {
    OK: "The proof is valid.",
    "malformed": "These bytes are no proof of this statement.",
    LINK_MISMATCH: "The proof is not about this commitment.",
    "opening": "What the proof opens is not what it committed to, or the proof is of another statement.",
    "proximity": "The rows that the proof combines are no code words, or others.",
    "constraints": "The constraints do not hold.",
}


class Matrices(Protocol):
    """The matrices A, B and C of a constraint system, which a verifier has, and trusts."""

    @property
    def digest(self) -> bytes:
        """Of every coefficient, 32 bytes."""

    def evaluate(
        self, shape: Shape, rows: Sequence[int], places: Sequence[int], weights: Sequence[int]
    ) -> int:
        """The sum of ``weights`` times the multilinear extensions of A, B and C, at the point ``rows`` of
        their rows and ``places`` of the variables' places in ``shape``."""


def begin(shape: Shape, digest: bytes, public: Sequence[int], commitments: Sequence[bytes]) -> Transcript:
    """Return the transcript of what is fixed before a proof: the statement, its public inputs and the
    commitments from outside."""
    code = shape.code
    numbers = [code.log_degree, code.log_length, code.query_bits, shape.log_rows]
    numbers += [shape.public, shape.challenges, len(shape.parts)]
    transcript = Transcript(code.field, b"".join(number.to_bytes(8, "little") for number in numbers) + digest)
    transcript.say("public", public)
    for commitment in commitments:
        transcript.absorb("commitment", commitment)
    return transcript


def verify(
    shape: Shape, matrices: Matrices, public: Sequence[int], commitments: Sequence[bytes], proof: bytes
) -> Verdict:
    """The verdict on a proof for these public inputs, canonical, and a commitment for each linked segment.

    Other counts, and numbers that have another spelling, are ``malformed``. ``shape`` and ``matrices`` the
    caller trusts.
    """
    linked = sum(part.linked for part in shape.parts)
    canonical = all(0 <= value < shape.code.field.modulus for value in public)
    if not canonical or (len(public), len(commitments)) != (shape.public, linked):
        return verdict("malformed")
    reader = Reader(shape.code.field, proof)
    try:
        body = reader.body(shape)
        return _Verifier(shape, matrices, public, commitments, body, reader).verdict()
    except MalformedError:
        return verdict("malformed")


def verdict(reason: str, index: int | None = None) -> Verdict:
    return Verdict(reason == OK, reason, REASONS[reason], index)


def known_part(
    field: Field, values: Sequence[int], row_weights: Sequence[int], column_weights: Sequence[int]
) -> int:
    """The value of the witness's polynomial where all that the verifier does not know is zero."""
    degree, total = len(column_weights), 0
    for row in range(-(-len(values) // degree)):
        part = values[row * degree : (row + 1) * degree]
        total += row_weights[row] * field.dot(column_weights[: len(part)], part)
    return total % field.modulus


class _Verifier:
    def __init__(
        self,
        shape: Shape,
        matrices: Matrices,
        public: Sequence[int],
        commitments: Sequence[bytes],
        body: Body,
        reader: Reader,
    ) -> None:
        self._shape, self._matrices, self._body, self._reader = shape, matrices, body, reader
        self._field = shape.code.field
        self._transcript = begin(shape, matrices.digest, public, commitments)
        *self._roots, self._pads_root = body.roots
        self._commitments = commitments
        for part, said in zip(shape.parts[:-1], self._roots, strict=False):
            if not part.linked:
                self._transcript.absorb("segment", said)
        self._known = [1, *public, *self._transcript.challenges("statement", shape.challenges)]

    def verdict(self) -> Verdict:
        shape, transcript = self._shape, self._transcript
        linked = [said for part, said in zip(shape.parts, self._roots, strict=True) if part.linked]
        for index, (said, given) in enumerate(zip(linked, self._commitments, strict=True)):
            if said != given:
                return verdict(LINK_MISMATCH, index)
        transcript.absorb("private", self._roots[-1])
        transcript.absorb("pads", self._pads_root)
        drawn = self._draw()
        places = transcript.places("columns", shape.code.queries, shape.code.log_length)
        openings = self._openings(places)
        sizes = [(part.size, part.tail) for part in shape.parts]
        if roots(shape.code, places, openings, sizes) != self._roots:
            return verdict("opening")
        weights = self._field.eq(drawn.inner[: shape.row_variables])
        claim = self._claim(drawn, places, self._entries(weights, drawn.mask, openings))
        reason = shown(shape.folding, claim, self._body.row, transcript, self._reader)
        return verdict(reason) if reason != OK else self._judge_pads(drawn, weights)

    def _draw(self) -> Drawn:
        shape, transcript, said = self._shape, self._transcript, self._body.said
        zero = transcript.challenges("zero", shape.log_rows)
        outer = [self._round(values) for values in said.outer]
        transcript.say("claims", said.claims)
        matrices = transcript.challenges("matrices", 3)
        inner = [self._round(values) for values in said.inner]
        transcript.say("mask", [said.mask])
        mask = transcript.challenge("mask")
        transcript.say("product", [self._body.product])
        transcript.absorb("row", self._body.row.messages[0])
        triple = transcript.challenge("triple")
        transcript.say("opened", said.opened)
        return Drawn(zero, outer, matrices, inner, mask, triple)

    def _round(self, values: Sequence[int]) -> int:
        self._transcript.say("round", values)
        return self._transcript.challenge("round")

    def _openings(self, places: Sequence[int]) -> list[Opening]:
        """Of all parts, each with its salts."""
        shape = self._shape
        read = self._reader.openings(shape.opened_rows, places, shape.code.log_length, shape.salted)
        made = [opening for part, opening in zip(shape.parts, read, strict=True) if not part.linked]
        return [opening if opening.salted else replace(opening, salts=made[0].salts) for opening in read]

    def _entries(self, weights: Sequence[int], factor: int, openings: Sequence[Opening]) -> list[int]:
        """Of the row's code word, at the opened places: the mask, and ``factor`` times the weighted rows."""
        parts = self._shape.parts
        own = weights[parts[0].first : parts[-1].first + parts[-1].rows]
        columns = map(b"".join, zip(*(opening.columns for opening in openings), strict=True))
        return self._field.combine([*(factor * weight for weight in own), 1], [*columns])

    def _claim(self, drawn: Drawn, places: Sequence[int], entries: Sequence[int]) -> Claim:
        """Of the row: its product with eq at the columns' coordinates, and its code word's entries."""
        shape = self._shape
        columns, field, length = drawn.inner[shape.row_variables :], self._field, shape.code.log_length

        def at(weights: Sequence[int], point: Sequence[int]) -> int:
            return field.eq_at(columns, point) + field.words_at(length, places, weights, point)

        return Claim(self._body.product, entries, at)

    def _judge_pads(self, drawn: Drawn, weights: Sequence[int]) -> Verdict:
        """The matrices are evaluated last: the dearest, and nothing that is drawn depends on them."""
        transcript, body, pads = self._transcript, self._body, self._shape.pads
        field = self._field
        combiners = transcript.challenges("forms", FORMS)
        transcript.say("pad mask", [body.pad_mask])
        factor = transcript.challenge("pad mask")
        transcript.absorb("pad row", body.pad_row)
        places = transcript.places("pad columns", pads.code.queries, pads.code.log_length)
        (opening,) = self._reader.openings([2], places, pads.code.log_length, [True])
        self._reader.finish()
        if roots(pads.code, places, [opening], [(pads.count, pads.code.queries)]) != [self._pads_root]:
            return verdict("opening")
        pad_row = field.from_bytes(body.pad_row)
        encoded = field.encode(pad_row, pads.code.log_length)
        if field.combine([factor, 1], opening.columns) != [encoded[place] for place in places]:
            return verdict("proximity")
        equations = forms(pads, body.said, drawn, self._compute(drawn, weights))
        functional, value = combined(equations, combiners, pads.count)
        if (field.dot(functional, pad_row[: pads.count]) - body.pad_mask - factor * value) % field.modulus:
            return verdict("constraints")
        return verdict(OK)

    def _compute(self, drawn: Drawn, weights: Sequence[int]) -> Known:
        shape, field = self._shape, self._field
        most = min(len(self._known), shape.code.degree)
        column_weights = field.eq_first(drawn.inner[shape.row_variables :], most)
        return Known(
            self._matrices.evaluate(shape, drawn.outer, drawn.inner, drawn.matrices),
            known_part(field, self._known, weights, column_weights),
            self._body.product,
        )
