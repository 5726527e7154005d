"""The soundness of a proof: every way in which a false statement can pass, with its probability.

The probabilities are per round, against provers of any strength: the gain of one hash query. The Fiat-Shamir
transform costs a factor of the number of queries that a prover makes, and its square over 2^256 for
collisions (BCS16, ePrint 2023/1071). Each term is derived in docs/spartan.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from zenserve.verifier.spartan.code import QUERY_BITS, Code
from zenserve.verifier.spartan.shape import Folding, Shape, renewal_folding

LEAST_BITS: Final = 128
MOST_LINKS: Final = 4
"""Of a chain of renewals, from a commitment as it was registered to the one that a proof opens."""


class Term(NamedTuple):
    """An error with its probability's -log2."""

    name: str
    bits: float


def terms(shape: Shape) -> list[Term]:
    """Of one proof, but for what the statement's own challenges can miss."""
    field_bits = math.log2(shape.code.field.order)

    def over_field(name: str, numerator: int) -> Term:
        return Term(name, field_bits - math.log2(numerator))

    codes = ((shape.code, "rows", shape.row_variables + 1), (shape.pads.code, "pads", 1))
    return [
        over_field("a point at which the constraints vanish", shape.log_rows),
        over_field("rounds of the first sum-check", 2 * shape.log_rows),
        over_field("matrices combined", 1),
        over_field("rounds of the second sum-check", 2 * shape.variables),
        over_field("the mask's inner product", 1),
        over_field("the product of two pads", 1),
        over_field("equations of pads combined", 1),
        over_field("the pads' mask", 1),
        *(over_field(f"proximity of {name}", folds * code.length) for code, name, folds in codes),
        *(Term(f"columns of {name}", _missed(code)) for code, name, _ in codes),
        *of_folding(shape.folding),
    ]


def of_folding(folding: Folding) -> list[Term]:
    """Of a vector that is folded (``zenserve.verifier.spartan.folding``)."""
    field_bits, levels = math.log2(folding.beside.field.order), folding.levels
    found = [
        Term("claims of a row's columns", field_bits - math.log2(len(levels) + 1)),
        Term("rounds of a row's sum-check", field_bits - math.log2(2 * folding.variables)),
    ]
    if levels:
        folds = sum(level.row_variables * level.code.length for level in levels)
        missed = sum(2.0 ** -_missed(level.code) for level in levels)
        found.append(Term("proximity of a row's folds", field_bits - math.log2(folds)))
        found.append(Term("columns of a row's folds", -math.log2(missed)))
    return found


def of_renewal(code: Code, rows: int) -> list[Term]:
    """Of one link of a chain, between commitments of so many rows (``zenserve.verifier.spartan.renewal``)."""
    field_bits, log_rows = math.log2(code.field.order), max(0, (rows - 1).bit_length())
    return [
        Term("a renewal's weights", field_bits - math.log2(log_rows + code.log_degree)),
        Term("a renewal's mask", field_bits),
        Term("proximity of a renewal", field_bits - math.log2(2 * (log_rows + 1) * code.length)),
        Term("columns of a renewal", _missed(code)),
        *(Term(f"{name}, renewed", bits) for name, bits in of_folding(renewal_folding(code))),
    ]


def of_chains(shape: Shape) -> list[Term]:
    """Of as many renewals as the commitments that a proof is about can have had, together."""
    linked = [part.rows for part in shape.parts if part.linked]
    links, code = MOST_LINKS * len(linked), replace(shape.code, query_bits=QUERY_BITS)
    return [
        Term(f"{name}, {links} times", bits - math.log2(links))
        for name, bits in (of_renewal(code, max(linked)) if links else [])
    ]


def bits(terms: Sequence[Term]) -> float:
    """-log2 of the sum of all terms."""
    return -math.log2(sum(2.0**-term.bits for term in terms))


def _missed(code: Code) -> float:
    """A word further than the radius from the code is right at all places that are drawn."""
    right = code.length - code.radius - 1
    return sum(math.log2((code.length - i) / (right - i)) for i in range(code.queries))
