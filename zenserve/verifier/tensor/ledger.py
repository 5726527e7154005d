"""The soundness of a proof: every way in which a false statement can pass, with its probability.
docs/tensor.md derives each term."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.ledger import Term, of_folding
from zenserve.verifier.tensor.statement import Statement


def terms(statement: Statement) -> list[Term]:
    """Of one proof, but for what its linked commitments rest on. Of parallel parts (chunks, classes) the
    worst counts: the first that is false has to pass by itself."""
    field_bits = math.log2(statement.over.order)

    def over_field(name: str, numerators: Sequence[int]) -> list[Term]:
        return [Term(name, field_bits - math.log2(max(numerators)))] if max(numerators, default=0) else []

    logs = [statement.log_leaves(chunk) for chunk in statement.chunks]
    variables = [
        (statement.tensors[each.tensor].blocks - 1).bit_length() + statement.tensors[each.tensor].log_block
        for each in statement.zeros
    ]
    rounds = [2 * (each.code.log_degree + each.row_variables) for each in statement.classes]
    folds = [(each.row_variables + 1) * each.code.length for each in statement.classes]
    codes = {f"class {index}": each.code for index, each in enumerate(statement.classes)}
    codes["the pads"] = statement.pads
    return [
        *over_field("keys", [fractions(statement, index) for index in range(len(logs))]),
        *over_field("places without use", variables),
        *over_field("numerators and denominators joined", logs),
        *over_field("rounds of trees", [log * (log - 1) for log in logs]),
        *over_field("halves joined", logs),
        *over_field("chunks joined", [1] * len(logs)),
        *over_field("claims of a class", [1]),
        *over_field("rounds of claims", rounds),
        *over_field("masks", [1]),
        *over_field("products of pads", [1]),
        *over_field("equations of pads combined", [1]),
        *over_field("the pads' mask", [1]),
        *over_field("proximity of rows", folds),
        *over_field("proximity of the pads", [statement.pads.length]),
        *(Term(f"columns of {name}", missed(code)) for name, code in codes.items()),
        *of_folding(statement.folding),
    ]


def fractions(statement: Statement, chunk: int) -> int:
    """Return a chunk's number of fractions, which is the degree in the keys of the identity that tests it."""
    return sum(1 << each.log_size for each in statement.leaves(statement.chunks[chunk]))


def largest_round(statement: Statement) -> float:
    """-log2 of the largest error of one round, all that is drawn together added: what one hash gains."""
    field_bits = math.log2(statement.over.order)
    keys = max((fractions(statement, i) for i in range(len(statement.chunks))), default=0) + sum(
        (statement.tensors[each.tensor].blocks - 1).bit_length() + statement.tensors[each.tensor].log_block
        for each in statement.zeros
    )
    masks = sum(each.code.length for each in statement.classes)
    columns = sum(2.0 ** -missed(code) for code in statement.codes)
    return -math.log2(max(keys * 2**-field_bits, masks * 2**-field_bits, columns))


def missed(code: Code) -> float:
    """-log2 of the probability that a word further than the radius from the code is right at all places."""
    right = code.length - code.radius - 1
    return sum(math.log2((code.length - i) / (right - i)) for i in range(code.queries))
