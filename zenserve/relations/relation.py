"""The relations between a network's tensors of integers. What is proven of a network is that they hold.

A relation says what its output is, entry by entry; shapes have the batch in front. How that is proven is
another's business: ``zenserve.circuits.lowering`` makes rank-1 constraints of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

from zenserve.relations.bounds import Bound
from zenserve.relations.functions import Requantisation, Rule, Tabulation
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sliding
from zenserve.verifier.schemes import Privacy

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Tensor:
    """``shape``: [batch, ..]; ``bits``: of its type, integers in [0, 2^bits), None where it has none."""

    name: str
    shape: Shape
    bound: Bound = field(repr=False)
    bits: int | None = None


@dataclass(frozen=True, eq=False)
class Parameter(Tensor):
    """A layer's weights, less their zero points, or biases. ``values``: int64[shape]. Public ones are part of
    the statement; all others only what their bounds say."""

    values: IntArray = field(repr=False, kw_only=True)
    privacy: Privacy = field(kw_only=True)


class Term(NamedTuple):
    """``factor · (tensor - zero_point)``, both integers or int64 that broadcasts to one sample."""

    tensor: Tensor
    factor: int | IntArray = 1
    zero_point: int | IntArray = 0

    @property
    def zero(self) -> int:
        """The zero point of what has one type."""
        assert isinstance(self.zero_point, int)  # noqa: S101  others are terms of sums alone
        return self.zero_point


@dataclass(frozen=True, eq=False)
class _Relation:
    """``name``: of the node, or of the part of the scheme, that asks for it."""

    name: str
    out: Tensor

    @property
    def reads(self) -> list[Tensor]:
        """The tensors from which ``out`` is computed."""
        values = [getattr(self, each.name) for each in fields(self)[2:]]
        parts = [part for value in values for part in (value if type(value) is tuple else (value,))]
        parts = [part.tensor if isinstance(part, Term) else part for part in parts]
        return [part for part in parts if isinstance(part, Tensor)]

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters of the network that the relation reads."""
        return [part for part in self.reads if isinstance(part, Parameter)]


@dataclass(frozen=True, eq=False)
class Linear(_Relation):
    """``out = sum terms``."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class Product(_Relation):
    """``out = left · right``, entry by entry."""

    left: Term
    right: Term


@dataclass(frozen=True, eq=False)
class MatrixProduct(_Relation):
    """``out = left right`` for left[batch, groups, m, k] and right[batch, groups, k, n], group by group."""

    left: Term
    right: Term


@dataclass(frozen=True, eq=False)
class WindowSum(_Relation):
    """The sum of ``x - zero_point`` over each window of each channel; nothing beyond the edges."""

    x: Term
    sliding: Sliding


@dataclass(frozen=True, eq=False)
class Weighted(_Relation):
    """Of ``x`` and a layer's parameters; relations that share them have the same objects."""

    x: Term
    weight: Parameter
    bias: Parameter

    def sharing(self, first: Weighted) -> Self:
        """The same relation with the parameters of another."""
        return replace(self, weight=first.weight, bias=first.bias)


@dataclass(frozen=True, eq=False)
class MatMul(Weighted):
    """``out = x weight^T + bias`` for x[batch, k], weight[outputs, k], bias[outputs]."""

    @property
    def sliding(self) -> Sliding:
        """As a kernel of one place: each entry of a sample is a channel."""
        return Sliding((self.weight.shape[1], 1, 1), (1, 1))


@dataclass(frozen=True, eq=False)
class Convolution(Weighted):
    """Cross-correlation of x, zero beyond its edges, and the output channel's bias.

    weight: [outputs, channels / groups, *kernel]; bias: [outputs].
    """

    sliding: Sliding


@dataclass(frozen=True, eq=False)
class Forest(_Relation):
    """The sums of the leaves to which decision trees lead each row of x[batch, features]: ``out`` [batch,
    outputs].

    Trees are made of blocks, full binary trees of some levels. Node 2^i - 1 + p of a block is on level i: the
    decisions before it, the first one being the highest bit, make the number p. A decision is 1 where the
    entry ``feature`` of x exceeds ``threshold``, and all decisions in a block make the number of its exit.
    Tree t begins in block t. For each exit, ``following`` has the next block, and ``value`` the numbers that
    the exit adds: its v-th number to column ``targets[t, v]``. After ``steps`` blocks the next block must be
    block ``trees``, where finished trees wait; if ``steps`` is 1, there is no ``following``. ``out = base +
    mix columns``.

    feature, threshold: [blocks, 2^levels - 1]; following: [blocks, 2^levels]; value: [blocks, 2^levels, V];
    base: [outputs]; targets: int64[trees, V]; mix: int64[outputs, columns].
    """

    x: Tensor
    feature: Parameter
    threshold: Parameter
    following: Parameter | None
    value: Parameter
    base: Parameter
    targets: IntArray = field(repr=False)
    mix: IntArray = field(repr=False)
    steps: int

    @property
    def trees(self) -> int:
        return len(self.targets)

    @property
    def levels(self) -> int:
        """Of a block."""
        return self.value.shape[1].bit_length() - 1


@dataclass(frozen=True, eq=False)
class Lookup(_Relation):
    """``out = function(value)``."""

    value: Tensor
    function: Requantisation


@dataclass(frozen=True, eq=False)
class Tabulated(_Relation):
    """``out = function(value)``, which has an entry for all that the value's bound leaves."""

    value: Tensor
    function: Tabulation


@dataclass(frozen=True, eq=False)
class Maximum(_Relation):
    """The largest entry in each window of each channel. What hangs over the edge never wins."""

    value: Tensor
    sliding: Sliding


@dataclass(frozen=True, eq=False)
class Move(_Relation):
    """``out = entries[places]``, the entries being those of one sample of each source, one after the other.

    ``places``: int64 of the shape of one sample of ``out``; -1 is ``constant``, None where there is none.
    """

    sources: tuple[Tensor, ...]
    places: IntArray = field(repr=False)
    constant: int | None = None

    @property
    def keeps_all(self) -> bool:
        """True if there is one source, each entry of which has a place in the output."""
        first, *others = self.sources
        size = math.prod(first.shape[1:])
        return not others and {*range(size)} <= {*self.places.ravel().tolist()}


@dataclass(frozen=True, eq=False)
class Argmax(_Relation):
    """``out`` [.., k]: where the k largest values of each row are, in order, the first of equals first; there
    are as many rows of values as of ``out``."""

    value: Tensor


@dataclass(frozen=True, eq=False)
class OneHot(_Relation):
    """``out[.., j] = [place = j]``; the bound of ``place`` leaves no negative ones. ``closed``: a place that
    is none of these satisfies nothing."""

    place: Tensor
    closed: bool = False

    @property
    def most(self) -> int:
        """The last place that is one or is asked for."""
        last: int = self.out.shape[-1] - 1
        return last if self.closed else max(self.place.bound.interval[1], last)


@dataclass(frozen=True, eq=False)
class Equal(_Relation):
    """``out = [left = right]``, 1 or 0."""

    left: Tensor
    right: Tensor | int


@dataclass(frozen=True, eq=False)
class Total(_Relation):
    """``out`` [n] is ``constant + sign · sum value``, of each column of value [.., n]; ``sign`` is 1 or
    -1."""

    value: Tensor
    sign: int = 1
    constant: int = 0


@dataclass(frozen=True, eq=False)
class Square(_Relation):
    """``out = value²``."""

    value: Tensor


@dataclass(frozen=True, eq=False)
class Absolute(_Relation):
    """``out = |value|``."""

    value: Tensor


@dataclass(frozen=True, eq=False)
class Within(_Relation):
    """``out = value``, of which a range check says that it keeps the bound of ``out``, 2^n integers."""

    value: Tensor


@dataclass(frozen=True, eq=False)
class Listed(_Relation):
    """Entry by entry ``values`` and ``out``, which is given, are a row of ``rows``: int64[rows, values + 1].
    ``listing``: what rows are called; of different ones no two have the same."""

    values: tuple[Tensor, ...]
    rows: IntArray = field(repr=False)
    listing: str


@dataclass(frozen=True, eq=False)
class Chosen(_Relation):
    """``out``, which is given, is whatever the prover likes: nothing but its bound holds of it. ``rule``
    finds it of ``values``, which are held."""

    values: tuple[Tensor, ...]
    rule: Rule


@dataclass(frozen=True, eq=False)
class AtLeast(_Relation):
    """``out = [left >= right]``, 1 or 0."""

    left: Tensor
    right: Tensor


@dataclass(frozen=True, eq=False)
class Quotient(_Relation):
    """``out = floor((2 multiplier · value + D) / (2 D))`` with ``D = 2^shift · divisor``: the quotient times
    ``multiplier / 2^shift``, rounded, halves up. ``rows``: which entry of ``divisor`` each of ``value`` has,
    of one sample. Bounds leave no divisor below 1."""

    value: Tensor
    divisor: Tensor
    rows: IntArray
    multiplier: int
    shift: int


Summation = Linear | Product | MatrixProduct | WindowSum | MatMul | Convolution | Forest
Accumulation = Summation | Quotient
"""A relation whose result has no type: if a ``Lookup`` reads the result, nothing else does, and the sums need
not be held."""
Comparison = Argmax | OneHot | Equal | AtLeast
Relation = (
    Accumulation
    | Lookup
    | Tabulated
    | Maximum
    | Move
    | Comparison
    | Total
    | Square
    | Absolute
    | Within
    | Listed
    | Chosen
)


@dataclass(frozen=True, eq=False)
class Relations:
    """The relations that must hold, each after the relations that make the tensors it reads.

    ``given``: tensors from outside, inputs first; a relation whose output is among them constrains that
    tensor. A bound that is proven by a range check must hold as well. ``outputs``: the network's.
    """

    given: tuple[Tensor, ...]
    relations: tuple[Relation, ...]
    outputs: tuple[Tensor, ...]

    @property
    def input(self) -> Tensor:
        """The first input, of one the only one."""
        return self.given[0]

    @property
    def output(self) -> Tensor:
        """The first output, of one the only one."""
        return self.outputs[0]

    @property
    def accumulations(self) -> list[Accumulation]:
        return [relation for relation in self.relations if isinstance(relation, Accumulation)]

    @property
    def layers(self) -> list[MatMul | Convolution]:
        return [relation for relation in self.relations if isinstance(relation, MatMul | Convolution)]

    @property
    def parameters(self) -> list[Parameter]:
        """The network's parameters, in order; a parameter that several relations share appears once."""
        return [*dict.fromkeys(each for relation in self.relations for each in relation.parameters)]

    @cached_property
    def lookups(self) -> dict[Tensor, Lookup]:
        """For sums that are looked up, the lookup: nothing else reads them."""
        return {relation.value: relation for relation in self.relations if isinstance(relation, Lookup)}

    @cached_property
    def alike(self) -> dict[Accumulation, tuple[Accumulation, ...]]:
        """For each relation those of the same parameters whose sums go the same way from there, in order; of
        one without parameters it alone. They are proven in one way: sums that absolute values bound are alike
        no others."""
        found: dict[Any, list[Accumulation]] = {}
        for relation in self.accumulations:
            key: Any = relation
            if isinstance(relation, Weighted):
                lookup = self.lookups.get(relation.out)
                behind = self.functions.get(lookup.out) if lookup else None
                signed = self.signed.get(lookup.out) if lookup else None
                functions = lookup and lookup.function.key, behind and behind.function.key
                bounded = signed and signed.out.bound.bits
                key = relation.weight, relation.x.zero_point, relation.x.tensor.bits, functions, bounded
            found.setdefault(key, []).append(relation)
        return {relation: tuple(group) for group in found.values() for relation in group}

    @cached_property
    def tabulated(self) -> Counter[tuple[bytes, int]]:
        """The number of values that are looked up in each function, by the function's key."""
        found = Counter[tuple[bytes, int]]()
        for relation in self.relations:
            if isinstance(relation, Tabulated):
                found[relation.function.key] += math.prod(relation.out.shape)
        return found

    @cached_property
    def functions(self) -> dict[Tensor, Tabulated]:
        """For rescaled sums that only a function reads, the function."""
        readers = Counter(tensor for relation in self.relations for tensor in relation.reads)
        rescaled = {lookup.out for lookup in self.lookups.values()} - {*self.outputs, *self.given}
        return {
            relation.value: relation
            for relation in self.relations
            if isinstance(relation, Tabulated) and relation.value in rescaled and readers[relation.value] == 1
        }

    @cached_property
    def signed(self) -> dict[Tensor, Absolute]:
        """For rescaled sums whose absolute values are range-checked, maybe once they have moved, these: that
        bounds the sums, too."""
        rescaled = {lookup.out for lookup in self.lookups.values()}
        moves = {relation.out: relation for relation in self.relations if isinstance(relation, Move)}
        found = dict[Tensor, Absolute]()
        for relation in self.relations:
            if isinstance(relation, Absolute):
                value = relation.value
                while value in moves and moves[value].keeps_all:
                    (value,) = moves[value].sources
                if value in rescaled:
                    found[value] = relation
        return found

    def extended(self, given: Iterable[Tensor], relations: Iterable[Relation]) -> Relations:
        """These and more."""
        return Relations((*self.given, *given), (*self.relations, *relations), self.outputs)

    def behind(self, output: Tensor) -> Relations:
        """Return the relations that compute ``output``, with the tensors that they read from outside."""
        needed, made = {output}, list[Relation]()
        for relation in reversed(self.relations):
            if relation.out in needed:
                needed.update(relation.reads)
                made.append(relation)
        given = tuple(tensor for tensor in self.given if tensor in needed)
        return Relations(given, (*reversed(made),), (output,))
