"""The statement that is proven: tensors that are committed to, functionals of them, and lookups in tables.

Tensors of one class of roots are laid out in the rows of one matrix. A row has 2^log_degree places, of which
the last, its tail, are random, and no tensor's. A tensor is a number of blocks of 2^log_block places, one a
row, in consecutive rows, all from the same place on, a multiple of their length.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import NamedTuple

from blake3 import blake3

from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import Field
from zenserve.verifier.spartan.shape import Folding


class StatementError(ValueError):
    """No proof can be made, or believed, of a statement like this."""


@dataclass(frozen=True)
class Root:
    """Of so many rows; ``linked``: a commitment from outside."""

    rows: int
    linked: bool = False


@dataclass(frozen=True)
class RowClass:
    """Roots whose rows follow each other in one matrix, under ``code``, with ``tail`` random places a row.

    ``code`` is over the base field. A mask, one row over the extension, has a root of its own.
    """

    code: Code
    tail: int
    roots: tuple[Root, ...]

    @property
    def rows(self) -> int:
        return sum(root.rows for root in self.roots)

    @property
    def row_variables(self) -> int:
        return (self.rows - 1).bit_length()

    @property
    def width(self) -> int:
        """The places of a row that tensors may have."""
        return self.code.degree - self.tail


@dataclass(frozen=True)
class Tensor:
    """``blocks`` blocks of 2^``log_block`` places of the class ``of``: one a row from row ``first`` on, each
    at the place ``offset``. Entry i is place i mod 2^log_block of block i / 2^log_block."""

    of: int
    first: int
    blocks: int
    offset: int
    log_block: int

    @property
    def entries(self) -> int:
        return self.blocks << self.log_block


class View(NamedTuple):
    """A virtual tensor: ``constant``, and the sum of coefficients times tensors, by their indices."""

    terms: tuple[tuple[int, int], ...]
    constant: int = 0


@dataclass(frozen=True)
class Table:
    """Rows of as many numbers each, a power of two of them. ``tag``: unlike any other table's."""

    rows: tuple[tuple[int, ...], ...]
    tag: int

    @property
    def log_rows(self) -> int:
        return (len(self.rows) - 1).bit_length()


@dataclass(frozen=True)
class Lookup:
    """A lookup: each row of the views, side by side, is one of the table's."""

    views: tuple[View, ...]
    table: int


@dataclass(frozen=True)
class Chunk:
    """Lookups whose fractions are added in one tree. ``multiplicities``: by table, the tensor that says how
    often each of its rows is looked up in this chunk."""

    lookups: tuple[Lookup, ...]
    multiplicities: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Product:
    """A claim that ``value`` is a tensor's inner product with ``outer`` (blocks) times ``inner`` (places)."""

    tensor: int
    outer: tuple[int, ...]
    inner: tuple[int, ...]
    value: int


@dataclass(frozen=True)
class Zeros:
    """A claim that a tensor's blocks are zero from place ``used`` on."""

    tensor: int
    used: int


class Leaves(NamedTuple):
    """2^``log_size`` leaves of a chunk's tree, from ``start`` on, a multiple of that: block ``block`` of the
    lookup ``which``, or the table ``which``."""

    start: int
    log_size: int
    is_table: bool
    which: int
    block: int


@dataclass(frozen=True)
class Statement:
    """``over``: where challenges are from, an extension of the field of all tensors. ``pads``: the code, over
    ``over.base`` as well, of the row of pads. ``architecture``: a digest of what is not said here."""

    over: Field
    classes: tuple[RowClass, ...]
    tensors: tuple[Tensor, ...]
    tables: tuple[Table, ...]
    chunks: tuple[Chunk, ...]
    products: tuple[Product, ...]
    zeros: tuple[Zeros, ...]
    pads: Code
    architecture: bytes = bytes(32)

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise StatementError(problem)

    @cached_property
    def digest(self) -> bytes:
        """Of all numbers above, 32 bytes."""
        text = json.dumps(asdict(self), sort_keys=True, default=bytes.hex, separators=(",", ":"))
        return blake3(text.encode(), derive_key_context="zenserve tensor 1: statement").digest()

    @cached_property
    def further_keys(self) -> int:
        """The number of challenges that combine the numbers of a table's row after the first."""
        return max((len(table.rows[0]) - 1 for table in self.tables), default=0)

    @cached_property
    def codes(self) -> tuple[Code, ...]:
        """Of the vectors that are folded as one: of each class, and of the pads."""
        return (*(each.code for each in self.classes), self.pads)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The start of each of these vectors, a multiple of its length: longer vectors come first."""
        order = sorted(range(len(self.codes)), key=lambda index: -self.codes[index].log_degree)
        found, at = [0] * len(order), 0
        for index in order:
            found[index], at = at, at + self.codes[index].degree
        return tuple(found)

    @cached_property
    def folding(self) -> Folding:
        """Of them all, one behind the other."""
        code = max(self.codes, key=lambda each: each.log_degree)
        beside = Code(self.over, code.log_degree, code.log_length, code.query_bits)
        return Folding(beside, (sum(each.degree for each in self.codes) - 1).bit_length())

    def leaves(self, chunk: Chunk) -> list[Leaves]:
        """Of the chunk's tree, larger blocks first: each is aligned, and none between them is free."""
        found = [
            (self.tensors[lookup.views[0].terms[0][0]].log_block, False, index, block)
            for index, lookup in enumerate(chunk.lookups)
            for block in range(self.tensors[lookup.views[0].terms[0][0]].blocks)
        ]
        found += [(self.tables[table].log_rows, True, table, 0) for table, _ in chunk.multiplicities]
        placed, start = list[Leaves](), 0
        for log_size, is_table, index, block in sorted(found, key=lambda each: -each[0]):
            placed.append(Leaves(start, log_size, is_table, index, block))
            start += 1 << log_size
        return placed

    def log_leaves(self, chunk: Chunk) -> int:
        last = self.leaves(chunk)[-1]
        return (last.start + (1 << last.log_size) - 1).bit_length()

    def lookups(self, chunk: Chunk) -> int:
        """Return the number of rows that the chunk looks up."""
        return sum(1 << each.log_size for each in self.leaves(chunk) if not each.is_table)

    def _problems(self) -> Iterator[str]:
        for each in self.classes:
            if not each.code.queries <= each.tail < each.code.degree or not each.roots:
                yield "a class has tails shorter than what an opening shows, or no root"
            if min(root.rows for root in each.roots) < 1:
                yield "a root has no rows"
        if {code.field for code in self.codes} != {self.over.base}:
            yield "a code is of another field"
        for tensor in self.tensors:
            block, of = 1 << tensor.log_block, self.classes[tensor.of]
            if tensor.offset % block or tensor.offset + block > of.width:
                yield "a tensor reaches into the tail, or is not aligned"
            if not 0 <= tensor.first < tensor.first + tensor.blocks <= of.rows:
                yield "a tensor has rows that there are not"
        if any(_overlap(a, b) for i, a in enumerate(self.tensors) for b in self.tensors[:i]):
            yield "two tensors share places"
        yield from self._problems_of_tables()
        for product in self.products:
            tensor = self.tensors[product.tensor]
            if (len(product.outer), len(product.inner)) != (tensor.blocks, 1 << tensor.log_block):
                yield "a functional is of another shape than its tensor"

    def _problems_of_tables(self) -> Iterator[str]:
        p = self.over.modulus
        tags = [table.tag for table in self.tables]
        if len(set(tags)) < len(tags) or not all(0 < tag < p for tag in tags):
            yield "tables need tags of their own"
        for each in self.tables:
            if len(each.rows) != 1 << each.log_rows or len({len(row) for row in each.rows}) != 1:
                yield "a table has a power of two of rows, all equally long"
        for chunk in self.chunks:
            if self.lookups(chunk) >= p:
                yield "multiplicities wrap: a chunk has as many lookups as the field has elements"
            told = [table for table, _ in chunk.multiplicities]
            if told != sorted({lookup.table for lookup in chunk.lookups}):
                yield "a chunk has multiplicities of exactly the tables that it looks up in, in order"
            if len({self.tensors[tensor].of for _, tensor in chunk.multiplicities}) != 1:
                yield "a chunk's multiplicities are of one class, and there are some"
            for table, tensor in chunk.multiplicities:
                if (self.tensors[tensor].blocks, self.tensors[tensor].log_block) != (
                    1,
                    self.tables[table].log_rows,
                ):
                    yield "multiplicities are as many as the table has rows"
            for lookup in chunk.lookups:
                if len(lookup.views) != len(self.tables[lookup.table].rows[0]):
                    yield "a lookup has as many numbers as the table's rows"
                shapes = {
                    (self.tensors[index].blocks, self.tensors[index].log_block)
                    for view in lookup.views
                    for index, _ in view.terms
                }
                if len(shapes) != 1 or not lookup.views[0].terms:
                    yield "what is looked up side by side has one shape"


def _overlap(a: Tensor, b: Tensor) -> bool:
    rows = a.of == b.of and a.first < b.first + b.blocks and b.first < a.first + a.blocks
    return rows and a.offset < b.offset + (1 << b.log_block) and b.offset < a.offset + (1 << a.log_block)
