"""Proofs that two commitments are to the same values (``zenserve.verifier.spartan.renewal``)."""

from __future__ import annotations

import secrets

import numpy as np

from zenserve.base.randomness import Secrets, random_elements
from zenserve.kernels import fr, multilinear
from zenserve.prover.spartan.commitment import Committed, commit
from zenserve.prover.spartan.folding import CpuVector, Folder
from zenserve.prover.spartan.queries import places
from zenserve.verifier.spartan.commitment import SEED_BYTES, Rows
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.renewal import Renewal, begin, weights
from zenserve.verifier.spartan.shape import renewal_folding


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
    compared = np.zeros_like(combined)
    compared[0, :width], compared[1, :width] = by_column, fr.neg(by_column)
    folder = Folder(
        renewal_folding(code), CpuVector(combined.reshape(-1, 4), compared.reshape(-1, 4), threads)
    )
    transcript.absorb("row", folder.message)
    at = places(transcript, "places", code)
    folded = folder.fold(transcript, code, at)
    openings = [*(each.open(at) for each in (old, new, masked)), *folded.openings]
    return Renewal(masked.root, product, folded.body, openings).to_bytes(FR)
