"""The protocol's steps, as both ends take them, from the first challenge to what is left to fold.

What is committed to was absorbed before. Each function is a part of docs/tensor.md, in its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from zenserve.verifier.spartan.field import Field
from zenserve.verifier.tensor.hidden import Channel, Counting, Hidden
from zenserve.verifier.tensor.statement import Chunk, Leaves, Lookup, Statement, Table, Tensor


class RefusedError(Exception):
    """A number that no honest prover tells."""


class Functional(NamedTuple):
    """Of a tensor: ``outer``, a number a block, times the outer product of ``axes``, a number a place."""

    tensor: Tensor
    outer: Sequence[int]
    axes: Sequence[Sequence[int]]

    def low_at(self, over: Field, point: Sequence[int]) -> int:
        """The multilinear extension of what the places of a row are weighted by."""
        high, inner = point[: -self.tensor.log_block or None], point[len(point) - self.tensor.log_block :]
        value = over.eq_at(high, bits_of(self.tensor.offset >> self.tensor.log_block, len(high)))
        for axis in self.axes:
            variables = (len(axis) - 1).bit_length()
            value = over.reduce(value * over.dot(axis, over.eq(inner[:variables])))
            inner = inner[variables:]
        return value


@dataclass(frozen=True)
class Claim:
    """A claim that functionals of tensors of one class add up to ``value``."""

    of: int
    functionals: Sequence[Functional]
    value: Hidden


class Keys(NamedTuple):
    """The challenges that compress a row of a table or lookup to one number."""

    pole: int
    tag: int
    further: Sequence[int]

    def denominator(self, table: Table, row: Sequence[int]) -> int:
        """The pole less the key, not reduced: linear in each of the challenges."""
        return self.constant(table) - sum(x * y for x, y in zip((1, *self.further), row, strict=False))

    def constant(self, table: Table) -> int:
        return self.pole - self.tag * table.tag


class LeafClaims(NamedTuple):
    """Of a chunk's leaves at a point: their numerators' and denominators' multilinear extensions."""

    point: Sequence[int]
    numerator: Hidden
    denominator: Hidden


class Combined(NamedTuple):
    """The factors that combined a class's rows: ``low`` and ``rows`` the points of the sum-checks, ``mask``
    the factor of the rows beside the mask, ``product`` the combined row's inner product with eq(low)."""

    low: Sequence[int]
    rows: Sequence[int]
    mask: int
    product: int


class Left(NamedTuple):
    """The claims that remain to be shown: those on each class's combined row, and that the pads' row with its
    mask has the inner product ``value`` with ``coefficients``; ``mask`` is the factor of the pads beside
    their mask."""

    classes: Sequence[Combined]
    coefficients: Sequence[int]
    mask: int
    value: int


def run(statement: Statement, channel: Channel) -> Left:
    """All steps. Raises ``RefusedError`` for numbers that no honest prover tells."""
    return show(statement, channel, ask(statement, channel))


def ask(statement: Statement, channel: Channel) -> list[Claim]:
    """Return the claims about tensors: those of the statement, of unused places, and of the leaves of the
    fractions' trees.
    """
    pole, tag, *further = channel.draw("keys", 2 + statement.further_keys)
    keys = Keys(pole, tag, further)
    claims = [*_public(statement), *_zeros(statement, channel)]
    starts = [_start(channel) for _ in statement.chunks]
    for start in starts:
        _show_start(channel, *start)
    leaves = [
        _tree(channel, start.denominator, statement.log_leaves(chunk))
        for chunk, start in zip(statement.chunks, starts, strict=True)
    ]
    return [*claims, *_of_leaves(statement, channel, keys, leaves)]


def show(statement: Statement, channel: Channel, claims: Sequence[Claim]) -> Left:
    """The claims, all of one class by one row."""
    bound = [_rows(statement, channel, index, claims) for index in range(len(statement.classes))]
    masks = channel.told("masks", len(bound))
    factors = channel.draw("masks", len(bound))
    products = channel.clear("rows", len(bound))
    combined = []
    for each, mask, factor, product in zip(bound, masks, factors, products, strict=True):
        # The combined row's product is the mask's, and factor times that of the rows.
        rest = mask.times(-1).plus(product).times(each.weight)
        channel.require_zero("rows", each.value.times(factor).plus(rest, -1))
        combined.append(Combined(each.low, each.rows, factor, product))
    channel.show_products()
    form = channel.combined(channel.draw("forms", len(channel.zeros)))
    coefficients = [form.pads.get(place, 0) for place in range(channel.count)]
    (masked,) = channel.clear("pads' mask", 1)
    (factor,) = channel.draw("pads' mask", 1)
    value = statement.over.reduce(masked - factor * form.constant)
    return Left(combined, coefficients, factor, value)


def counted(statement: Statement) -> Counting:
    """All steps with zeros: how many numbers are told and pads there are, and which are products."""
    channel = Counting(statement.over)
    run(statement, channel)
    return channel


def _public(statement: Statement) -> list[Claim]:
    found = []
    for product in statement.products:
        tensor = statement.tensors[product.tensor]
        functional = Functional(tensor, product.outer, [product.inner])
        found.append(Claim(tensor.of, [functional], Hidden(statement.over, product.value)))
    return found


def _zeros(statement: Statement, channel: Channel) -> list[Claim]:
    """Of each tensor's unused places the value at a random point, were all others zero."""
    found = []
    for zeros in statement.zeros:
        tensor, over = statement.tensors[zeros.tensor], statement.over
        variables = (tensor.blocks - 1).bit_length()
        point = channel.draw("zeros", variables + tensor.log_block)
        outer, inner = over.eq(point[:variables])[: tensor.blocks], over.eq(point[variables:])
        unused = [0] * zeros.used + list(inner[zeros.used :])
        found.append(Claim(tensor.of, [Functional(tensor, outer, [unused])], Hidden(over, 0)))
    return found


class _Start(NamedTuple):
    denominator: Hidden
    factor: Hidden
    told: int


def _start(channel: Channel) -> _Start:
    """A tree's root: its denominator; in the clear that times a committed number, uniform and not zero."""
    (denominator,) = channel.told("denominator", 1)
    factor = channel.pad(nonzero=True)
    (told,) = channel.clear("scaled", 1)
    return _Start(denominator, factor, told)


def _show_start(channel: Channel, denominator: Hidden, factor: Hidden, told: int) -> None:
    if not told and not isinstance(channel, Counting):
        raise RefusedError("a sum of fractions has the denominator zero")
    channel.require_zero("root", channel.product(denominator, factor).plus(-told))


def _tree(channel: Channel, denominator: Hidden, log_leaves: int) -> LeafClaims:
    """From the root, whose numerator is zero, down to the leaves. A node's children are those of its index in
    either half of the layer below."""
    over, point = channel.over, list[int]()
    numerator = Hidden(over, 0)
    for variables in range(log_leaves):
        (join,) = channel.draw("layer", 1)
        claim = numerator.plus(denominator, join)
        at = []
        for variable in range(variables):
            claim, r = _zero_round(channel, claim, point[variable])
            at.append(r)
        n0, n1, d0, d1 = channel.told("halves", 4)
        joined = channel.product(n0.plus(d0, join), d1).plus(channel.product(n1, d0))
        channel.require_zero("layer", claim.plus(joined, -1))
        (half,) = channel.draw("half", 1)
        numerator, denominator = n0.plus(n1.plus(n0, -1), half), d0.plus(d1.plus(d0, -1), half)
        point = [half, *at]
    return LeafClaims(point, numerator, denominator)


def _zero_round(channel: Channel, claim: Hidden, weight: int) -> tuple[Hidden, int]:
    """A round of sum_x eq(point, x) g(x), eq left out (Gruen, ePrint 2024/108): of t = constant + linear X +
    square X^2 the last two are told; (1 - w) t(0) + w t(1) is the claim, w the point's coordinate."""
    linear, square = channel.told("tree", 2)
    (r,) = channel.draw("round", 1)
    return claim.plus(linear, r - weight).plus(square, channel.over.reduce(r * r) - weight), r


def _of_leaves(
    statement: Statement, channel: Channel, keys: Keys, leaves: Sequence[LeafClaims]
) -> list[Claim]:
    """One claim a chunk about multiplicities; all denominators together, weighted by chunk, and told apart by
    class."""
    found, by_class = list[Claim](), dict[int, list[Functional]]()
    total = Hidden(statement.over, 0)
    weights = channel.draw("chunks", len(leaves))
    for chunk, weight, claims in zip(statement.chunks, weights, leaves, strict=True):
        view = LeafView(statement, keys, chunk, claims.point)
        functionals, constant = view.numerators()
        of = functionals[0].tensor.of
        found.append(Claim(of, functionals, claims.numerator.plus(-constant)))
        functionals, constant = view.denominators(weight)
        total = total.plus(claims.denominator.plus(-constant), weight)
        for functional in functionals:
            by_class.setdefault(functional.tensor.of, []).append(functional)
    classes = sorted(by_class)
    for of, part in zip(classes[1:], channel.told("parts", len(classes[1:])), strict=True):
        found.append(Claim(of, by_class[of], part))
        total = total.plus(part, -1)
    return [*found, *(Claim(of, by_class[of], total) for of in classes[:1])]


class LeafView:
    """A chunk's leaves at a point, as functionals of tensors and what the verifier knows."""

    def __init__(self, statement: Statement, keys: Keys, chunk: Chunk, point: Sequence[int]) -> None:
        self._statement, self._over, self._keys = statement, statement.over, keys
        self._chunk, self._point = chunk, point
        self._leaves = statement.leaves(chunk)
        self._multiplicities = dict(chunk.multiplicities)

    def numerators(self) -> tuple[list[Functional], int]:
        """Return the multiplicities' functionals, all of one class, and the constant: one for each lookup."""
        functionals, constant = list[Functional](), 0
        for leaves in self._leaves:
            if leaves.is_table:
                tensor = self._statement.tensors[self._multiplicities[leaves.which]]
                functionals.append(Functional(tensor, [-self._mass(leaves)], self._axes(leaves)))
            else:
                constant += self._mass(leaves)
        return functionals, self._over.reduce(constant)

    def denominators(self, weight: int) -> tuple[list[Functional], int]:
        """``weight`` times what is of tensors; and what is known, not weighted: of tables, poles and tags,
        and one where there is no leaf."""
        over, functionals, constant, mass = self._over, list[Functional](), 0, 0
        outers = dict[tuple[int, int], list[int]]()
        for leaves in self._leaves:
            here = self._mass(leaves)
            mass += here
            if leaves.is_table:
                table = self._statement.tables[leaves.which]
                keys = [over.reduce(self._keys.denominator(table, row)) for row in table.rows]
                constant += here * over.dot(over.eq(self._low(leaves)), keys)
                continue
            lookup = self._chunk.lookups[leaves.which]
            constant += here * over.reduce(self._keys.constant(self._statement.tables[lookup.table]))
            for factor, view in zip((1, *self._keys.further), lookup.views, strict=False):
                constant -= here * over.reduce(factor * view.constant)
            outers.setdefault((leaves.which, leaves.log_size), []).append(here)
        for (index, log_size), outer in outers.items():
            axes = self._axes(Leaves(0, log_size, False, index, 0))
            for tensor, coefficient in self._coefficients(self._chunk.lookups[index]).items():
                factor = over.reduce(-weight * coefficient)
                weighted = [over.reduce(factor * each) for each in outer]
                functionals.append(Functional(self._statement.tensors[tensor], weighted, axes))
        return functionals, over.reduce(constant + 1 - mass)

    def _coefficients(self, lookup: Lookup) -> dict[int, int]:
        found = dict[int, int]()
        for factor, view in zip((1, *self._keys.further), lookup.views, strict=False):
            for tensor, coefficient in view.terms:
                found[tensor] = self._over.reduce(found.get(tensor, 0) + factor * coefficient)
        return found

    def _mass(self, leaves: Leaves) -> int:
        """eq(point, ·) summed over these leaves."""
        high = self._point[: len(self._point) - leaves.log_size]
        return self._over.eq_at(high, bits_of(leaves.start >> leaves.log_size, len(high)))

    def _low(self, leaves: Leaves) -> Sequence[int]:
        return self._point[len(self._point) - leaves.log_size :]

    def _axes(self, leaves: Leaves) -> list[list[int]]:
        return [[self._over.reduce(1 - r), r] for r in self._low(leaves)]


class _Bound(NamedTuple):
    """A class' claims, weighted: ``value`` is ``weight`` times the inner product of eq(low) with the rows
    combined by eq(rows)."""

    low: Sequence[int]
    rows: Sequence[int]
    weight: int
    value: Hidden


def _rows(statement: Statement, channel: Channel, index: int, claims: Sequence[Claim]) -> _Bound:
    """The claims about one class become one, of one row: places are bound first, then rows."""
    over, of = statement.over, statement.classes[index]
    own = [claim for claim in claims if claim.of == index]
    weights = channel.draw("claims", len(own))
    value = Hidden(over, 0)
    for claim, weight in zip(own, weights, strict=True):
        value = value.plus(claim.value, weight)
    value, low = _product_rounds(channel, "low", value, of.code.log_degree)
    by_row = [0] * of.rows
    for claim, weight in zip(own, weights, strict=True):
        for functional in claim.functionals:
            factor = over.reduce(weight * functional.low_at(over, low))
            for block, outer in enumerate(functional.outer):
                row = functional.tensor.first + block
                by_row[row] = over.reduce(by_row[row] + factor * outer)
    value, rows = _product_rounds(channel, "high", value, of.row_variables)
    return _Bound(low, rows, over.dot(by_row, over.eq(rows)[: of.rows]), value)


def _product_rounds(channel: Channel, label: str, claim: Hidden, variables: int) -> tuple[Hidden, list[int]]:
    """Rounds of a sum of products: of each quadratic the coefficients of 1 and X^2 are told, and its values
    at 0 and 1 add up to the claim."""
    over, point = channel.over, list[int]()
    for _ in range(variables):
        constant, square = channel.told(label, 2)
        (r,) = channel.draw("round", 1)
        claim = claim.times(r).plus(constant, 1 - 2 * r).plus(square, over.reduce(r * r) - r)
        point.append(r)
    return claim, point


def bits_of(number: int, count: int) -> list[int]:
    """The highest first."""
    return [number >> (count - 1 - i) & 1 for i in range(count)]
