"""Proofs and renewals by who knows no values, but all challenges before (``tests.prover.spartan.oracle``).

What is committed to are zeros, with tails. All that is told is drawn, and masks are what the verifier's
equations then ask for: docs/spartan.md, "Why a proof shows nothing".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.prover.spartan.reference import (
    Folder,
    Matrix,
    Noise,
    Proof,
    combine,
    rows_of,
    weigh_columns,
    weigh_compared,
)
from zenserve.verifier.spartan.claims import Drawn, Known, Said, combined, forms
from zenserve.verifier.spartan.commitment import Rows
from zenserve.verifier.spartan.proof import Body, Opening
from zenserve.verifier.spartan.renewal import Renewal
from zenserve.verifier.spartan.renewal import begin as begin_renewal
from zenserve.verifier.spartan.renewal import weights as weights_of
from zenserve.verifier.spartan.shape import Shape, renewal_folding
from zenserve.verifier.spartan.verification import Matrices, begin, known_part


def simulate(
    shape: Shape, matrices: Matrices, public: Sequence[int], linked: Sequence[Matrix], noise: Noise
) -> Proof:
    """``reference.prove`` without a witness. ``linked``: commitments to zeros."""
    code, over, pads = shape.code, shape.code.field, shape.pads
    transcript = begin(shape, matrices.digest, public, [each.root for each in linked])
    known = [1, *public, *transcript.challenges("statement", shape.challenges)]
    zero = transcript.challenges("zero", shape.log_rows)
    outer = [transcript.challenge("round") for _ in range(shape.log_rows)]
    weights = transcript.challenges("matrices", 3)
    inner = [transcript.challenge("round") for _ in range(shape.variables)]
    factor, triple = transcript.challenge("mask"), transcript.challenge("triple")
    places = transcript.places("columns", code.queries, code.log_length)

    said = _said(shape, iter(noise.elements("said", pads.product + 2)))
    row, by_row = noise.elements("row", code.degree), over.eq(inner[: shape.row_variables])
    by_column = over.eq(inner[shape.row_variables :])
    product, folder = over.dot(row, by_column), Folder(shape.folding, list(row))
    folded, levels = folder.fold(transcript, len(places), weigh_columns(code, by_column, places))
    at = matrices.evaluate(shape, outer, inner, weights)
    there = Known(at, known_part(over, known, by_row, by_column), product)
    equations = forms(pads, said, Drawn(zero, outer, weights, inner, factor, triple), there)
    functional, value = combined(equations, transcript.challenges("forms", len(equations)), pads.count)
    pad_factor = transcript.challenge("pad mask")
    pad_places = transcript.places("pad columns", pads.code.queries, pads.code.log_length)
    pad_row = noise.elements("pad row", pads.code.degree)
    pad_product = (over.dot(functional, pad_row[: pads.count]) - pad_factor * value) % over.modulus

    parts = _parts(shape, linked, row, [-factor * weight for weight in by_row], noise)
    pad_rows = rows_of(pads.code, [0] * pads.count, pads.code.queries, noise, "pads")
    pad_rows.append(combine(over, pad_row, [-pad_factor], pad_rows))
    salts = noise.salts("pads", pads.code.length)
    own = Matrix(pads.code, pad_rows, pads.count, pads.code.queries, salts)
    roots = [*(part.root for part in parts), own.root]
    body = Body(roots, said, product, folded, pad_product, over.to_bytes(pad_row))
    return Proof.of(over, body, [*(part.open(places) for part in parts), *levels, own.open(pad_places)])


def _said(shape: Shape, numbers: Iterator[int]) -> Said:
    def some(count: int) -> list[int]:
        return [next(numbers) for _ in range(count)]

    outer, claims = [some(2) for _ in range(shape.log_rows)], some(3)
    inner = [some(2) for _ in range(shape.variables)]
    return Said(outer, claims, inner, next(numbers), some(2))


def _parts(
    shape: Shape, linked: Sequence[Matrix], row: list[int], weights: Sequence[int], noise: Noise
) -> list[Matrix]:
    """The last one has the mask: ``row``, and all rows ``weights`` times."""
    code, given, rows = shape.code, iter(linked), list[list[list[int]]]()
    for index, part in enumerate(shape.parts):
        zeros = [0] * part.size
        made = None if part.linked else rows_of(code, zeros, part.tail, noise, f"part {index}")
        rows.append(next(given).rows if made is None else made)
    every = [each for own in rows for each in own]
    rows[-1].append(combine(code.field, row, weights[shape.parts[0].first :], every))
    given, salts = iter(linked), noise.salts("parts", code.length)
    return [
        next(given) if part.linked else Matrix(code, own, part.size, part.tail, salts, salted=salted)
        for part, own, salted in zip(shape.parts, rows, shape.salted, strict=True)
    ]


def simulate_renewal(
    rows: Rows, size: int, old: Matrix, new: Matrix, noise: Noise
) -> tuple[Renewal, list[Opening]]:
    """``reference.renew``. Both are commitments to zeros."""
    code, over = rows.code, rows.code.field
    transcript = begin_renewal(rows, size, old.root, new.root)
    r, s = weights_of(rows, size, transcript)
    factor, compared = transcript.challenge("mask"), over.eq(s)[: code.degree - rows.tail]
    places = transcript.places("places", code.queries, code.log_length)
    told = noise.elements("rows", 2 * code.degree)
    halves = [told[: code.degree], told[code.degree :]]
    ahead, behind = (over.dot(compared, half[: len(compared)]) for half in halves)
    weigh = weigh_compared(rows, compared, places)
    folded, levels = Folder(renewal_folding(code), list(told)).fold(transcript, 2 * len(places), weigh)
    by_row = [-factor * weight for weight in over.eq(r)]
    masks = [combine(over, half, by_row, each.rows) for half, each in zip(halves, (old, new), strict=True)]
    masked = Matrix(code, masks, len(told), 0, noise.salts("masks", code.length))
    openings = [*(each.open(places) for each in (old, new, masked)), *levels]
    opened = [each.to_bytes() for each in openings]
    return Renewal(masked.root, (ahead - behind) % over.modulus, folded, opened), openings
