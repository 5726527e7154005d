"""Statements over fields so small that all challenges can be counted, and over BabyBear's extension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tests.prover.tensor.reference import counted_in
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import BEAR5, Extension, Field
from zenserve.verifier.tensor.protocol import counted
from zenserve.verifier.tensor.statement import (
    Chunk,
    Lookup,
    Product,
    Root,
    RowClass,
    Statement,
    Table,
    Tensor,
    View,
    Zeros,
)

P: Final = 257
OVER: Final = Field(P, 3, 8)
FIELDS: Final = {
    "12289": Field(12289, 11, 12),
    "12289^2": Extension(12289, 11, 12, 2, 11),  # 11 is no square
    "bear": BEAR5,
}


def with_pads(statement: Statement, query_bits: int) -> Statement:
    """The smallest code that has room for the statement's pads and a tail."""
    count, log = counted(statement).count, 3
    while True:
        code = Code(statement.over.base, log, log + 2, query_bits)
        if code.queries < (1 << log) - count:
            return replace(statement, pads=code)
        log += 1


def tiny() -> tuple[Statement, list[list[int]]]:
    """Over 257 elements: two bits are looked up, and four numbers have a public product."""
    code = Code(OVER, 3, 5, query_bits=2)
    tensors = (Tensor(0, 0, 1, 0, 1), Tensor(0, 0, 1, 2, 1), Tensor(0, 1, 1, 0, 2))
    bits, multiplicities, numbers = range(3)
    statement = Statement(
        OVER,
        (RowClass(code, 4, (Root(2),)),),
        tensors,
        (Table(((0,), (1,)), 1),),
        (Chunk((Lookup((View(((bits, 1),)),), 0),), ((0, multiplicities),)),),
        (Product(numbers, (1,), (3, 1, 4, 1), 3 * 10 + 20 + 4 * 30 + 40),),
        (),
        code,
    )
    return with_pads(statement, 2), [[1, 0], [1, 1], [10, 20, 30, 40]]


def tiny_classes() -> tuple[Statement, list[list[int]], list[list[int]]]:
    """The same in two classes, and two witnesses."""
    statement, first = tiny()
    of = statement.classes[0]
    tensors = (replace(statement.tensors[0], of=1), *statement.tensors[1:])
    classes = (of, RowClass(of.code, of.tail, (Root(1),)))
    second = [[1, 1], [0, 2], [11, 17, 30, 40]]
    return with_pads(replace(statement, classes=classes, tensors=tensors), 2), first, second


X, Y, RANGE, CLAMPED, WEIGHTS, RANGE_AGAIN, SHORT = range(7)


def statement(over: Field, *, linked: bool = True, query_bits: int = 3) -> Statement:
    """Of two classes: x, and y = min(x + 1, 3), which are looked up together, y again by itself; in a second
    chunk the weights, and a tensor of which one place in four is zero. The weights have a public product.
    """
    base = over.base
    fresh, weights = (Code(base, log, log + 2, query_bits) for log in (4, 3))
    tensors = (
        Tensor(0, 0, 3, 0, 2),
        Tensor(0, 0, 3, 4, 2),
        Tensor(0, 3, 1, 0, 2),
        Tensor(0, 4, 1, 0, 3),
        Tensor(1, 0, 3, 0, 1),
        Tensor(0, 3, 1, 4, 2),
        Tensor(0, 5, 1, 0, 2),
    )
    x, y, w, short = (View(((index, 1),)) for index in (X, Y, WEIGHTS, SHORT))
    made = Statement(
        over,
        (RowClass(fresh, 8, (Root(4), Root(2))), RowClass(weights, 5, (Root(3, linked),))),
        tensors,
        (
            Table(tuple((value,) for value in range(4)), 1),
            Table(tuple((value, min(value, 3)) for value in range(8)), 2),
        ),
        (
            Chunk((Lookup((View(x.terms, 1), y), 1), Lookup((y,), 0)), ((0, RANGE), (1, CLAMPED))),
            Chunk((Lookup((w,), 0), Lookup((short,), 0)), ((0, RANGE_AGAIN),)),
        ),
        (
            Product(
                WEIGHTS,
                (1, 2, 3),
                (5, 7),
                sum(a * b for a, b in zip((5, 7, 10, 14, 15, 21), WEIGHT_VALUES, strict=True)),
            ),
        ),
        (Zeros(SHORT, 3),),
        fresh,
    )
    return with_pads(made, query_bits)


WEIGHT_VALUES: Final = (3, 0, 1, 2, 2, 3)


def values(of: Statement, x: Sequence[int] = (0, 1, 2, 3, 4, 5, 6, 6, 5, 1, 0, 2)) -> list[list[int]]:
    found = [[*x], [min(each + 1, 3) for each in x], [], [], [*WEIGHT_VALUES], [], [1, 2, 3, 0]]
    return multiplied(of, found)


def multiplied(of: Statement, found: list[list[int]]) -> list[list[int]]:
    """The values with the multiplicities that belong to them."""
    for chunk in of.chunks:
        for table, tensor in chunk.multiplicities:
            found[tensor] = counted_in(of, chunk, table, found)
    return found
