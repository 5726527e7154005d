"""Numbers of strangers that make no shape."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zenserve.errors import StatementError
from zenserve.verifier.spartan.admission import Commitment, Sizes, shape_of
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import FR, Field

CODE = Code(FR, 9, 11)
SIZES = Sizes(public=1, challenges=1, segments=((700, True), (5, False)), private=9, rows=20)
MODEL = Commitment(bytes(32), 700, 2 * CODE.queries)


def test_a_shape_is_the_circuit_s_and_the_commitments() -> None:
    shape = shape_of(SIZES, CODE, [MODEL])
    assert shape.code.queries < CODE.queries
    assert [(part.size, part.tail, part.linked) for part in shape.parts] == [
        (700, 2 * CODE.queries, True),
        (5, shape.code.queries, False),
        (9, shape.code.queries, False),
    ]
    assert shape.salted == (True, True, False)
    assert MODEL.openings(CODE) == 2


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda s, c, m: (s, c, []), "statement.openings"),
        (lambda s, c, m: (s, c, [m, m]), "statement.openings"),
        (lambda s, c, m: (s, c, [replace(m, size=701)]), "statement.openings"),
        (lambda s, c, m: (s, c, [replace(m, tail=c.queries - 1)]), "statement.soundness"),
        (lambda s, c, m: (s, c, [replace(m, tail=c.degree)]), "statement.soundness"),
        (lambda s, c, m: (s, c, [replace(m, tail=-1)]), "statement.soundness"),
        (lambda s, c, m: (s, replace(c, query_bits=100), [m]), "statement.soundness"),
        (lambda s, c, m: (s, replace(c, field=Field(0x78000001, 31, 27)), [m]), "statement.soundness"),
        (lambda s, c, m: (s, replace(c, log_length=33), [m]), "statement.too_large"),
        (lambda s, c, m: (s, replace(c, log_length=9), [m]), "statement.too_large"),
        (lambda s, c, m: (s, replace(c, log_degree=-1), [m]), "statement.too_large"),
        (lambda s, c, m: (replace(s, segments=()), Code(FR, 7, 9), []), "statement.too_large"),
        (lambda s, c, m: (replace(s, segments=()), Code(FR, 17, 19), []), "statement.too_large"),
        (lambda s, c, m: (replace(s, private=1 << 60), c, [m]), "statement.too_large"),
        (lambda s, c, m: (replace(s, rows=1 << 60), c, [m]), "statement.too_large"),
    ],
)  # fmt: skip
def test_numbers_that_make_no_proof_are_refused(change, code: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(StatementError) as caught:
        shape_of(*change(SIZES, CODE, MODEL))
    assert caught.value.code == code
