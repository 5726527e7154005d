"""Proofs that two commitments are to the same values (``verifier.spartan.renewal``)."""

from __future__ import annotations

import secrets

from base.randomness import Secrets, random_elements
from kernels import fr, multilinear
from prover.spartan.commitment import Committed, commit
from verifier.spartan.commitment import SEED_BYTES, Rows
from verifier.spartan.renewal import Renewal, begin, weights


def renew(rows: Rows, old: Committed, new: Committed, *, secret: Secrets, threads: int = 1) -> bytes:
    """The proof, which takes one opening of each. Both are to the same values, over ``rows``."""
    code, size = rows.code, old.commitment.size
    masks = secret(random_elements(2 * code.degree))
    masked = commit(masks, code, 0, secrets.token_bytes(SEED_BYTES), secret=secret, threads=threads)
    transcript = begin(rows, size, old.root, new.root)
    transcript.absorb("mask", masked.root)
    r, s = (fr.from_ints(point).reshape(-1, 4) for point in weights(rows, size, transcript))
    width = code.degree - rows.tail
    by_column = multilinear.eq(s, threads)[:width]
    combined = masks.reshape(2, code.degree, 4).copy()
    ahead, behind = (fr.to_ints(multilinear.dot(row[:width], by_column, threads))[0] for row in combined)
    product = (ahead - behind) % fr.modulus
    transcript.say("product", [product])
    factor = fr.from_ints([transcript.challenge("mask")])[0]
    by_row = fr.mul(multilinear.eq(r, threads)[: len(old.rows)], factor)
    for row, each in zip(combined, (old, new), strict=True):
        multilinear.combine_rows(each.rows, by_row, row, threads)
    said = [fr.to_canonical(row).astype("<u8").tobytes() for row in combined]
    for data in said:
        transcript.absorb("row", data)
    places = transcript.places("places", code.queries, code.log_length)
    openings = [each.open(places) for each in (old, new, masked)]
    return Renewal(masked.root, product, said, openings).to_bytes()
