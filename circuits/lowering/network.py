"""Relations to rank-1 constraints, one after the other, at six levels. Every level proves the same.

Level 2 decomposes a value into as many digits as its type needs, and so checks quotient and remainder of
every division in one go (ZEN 5.5.2). Level 1 takes no notice of types: signs, divisions and comparisons
decompose all 254 digits of a field element. Level 0 checks, besides, the sign of every term ``q - z`` of
every product on its own (ZEN 5.5.1), which grouping by signs spares (5.5.2).
Levels 3 to 5 choose for every node the way that makes the circuit smallest (``optimiser``): level 3 has
stranded products and knits equations of bounded sums together, level 4 packs products over output channels,
and level 5 looks values up instead of decomposing them and checks products at a challenge.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from zenserve.circuits.lowering.argmax import argmax, one_hot
from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.lowering.digits import Digits
from zenserve.circuits.lowering.encodings import Encoding, Factors, Hidden, Plain, Wires, layer_of
from zenserve.circuits.lowering.forests import forest
from zenserve.circuits.lowering.matrices import MatrixWay, multiplied, sum_bits
from zenserve.circuits.lowering.optimiser import Optimiser, Plan, is_short, listed
from zenserve.circuits.lowering.parameters import hold
from zenserve.circuits.lowering.pooling import max_pool
from zenserve.circuits.lowering.quotients import divided
from zenserve.circuits.lowering.sliding import PrivateKernel, PublicKernel, Slid, kernel_of
from zenserve.circuits.lowering.tables import Tables
from zenserve.circuits.r1cs import linear, steps
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.convolved import Kernel
from zenserve.circuits.r1cs.gadgets import at_least, is_zero
from zenserve.circuits.r1cs.linear import LinearCombinations, Weighted
from zenserve.circuits.r1cs.sources import Known, Source
from zenserve.relations.bounds import slot_width
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import (
    Absolute,
    Argmax,
    AtLeast,
    Chosen,
    Convolution,
    Equal,
    Forest,
    Linear,
    Listed,
    Lookup,
    MatMul,
    MatrixProduct,
    Maximum,
    Move,
    OneHot,
    Parameter,
    Product,
    Quotient,
    Relations,
    Square,
    Summation,
    Tabulated,
    Tensor,
    Term,
    Total,
    WindowSum,
    Within,
)

Level = Literal[0, 1, 2, 3, 4, 5]


def arithmetic(builder: Builder, level: Level) -> Arithmetic:
    """The gadgets of a level."""
    return Tables(builder) if level == 5 else Digits(builder, full=level < 2)


def best_plan(tools: Arithmetic, network: Relations, level: Level, others: Cost) -> Plan:
    """Return the best way to prove each relation. ``others``: the cost of everything outside the network."""
    return Optimiser(tools, network, level, others).plan()


class _Held(NamedTuple):
    """Sums on no wires of their own: ``order``, int64[batch, ..], is the row of each entry."""

    sums: LinearCombinations | Hidden
    order: IntArray
    short: bool


class Lowering:
    """Adds the constraints of relations to ``builder``.

    Tensors are wires, each proven to be within its bound, or sums of wires that nobody needed to hold.
    """

    def __init__(self, tools: Arithmetic, relations: Relations, level: Level, plan: Plan) -> None:
        self._tools, self._builder = tools, tools.builder
        self.relations, self._level, self._plan = relations, level, plan
        self.wires: dict[Tensor, IntArray] = {}
        self._sums: dict[Tensor, _Held] = {}
        self._known: dict[str, Factors] = {}

    def hold(self, tensor: Tensor, wires: IntArray) -> None:
        """``wires`` are those of ``tensor``; where its bound asks for a range check, the caller makes it."""
        self.wires[tensor] = wires.reshape(tensor.shape)

    def lower(self) -> None:
        """Add the constraints of all relations. What is given is held."""
        for relation in self.relations.relations:
            match relation:
                case (
                    Linear() | Product() | MatrixProduct() | WindowSum() | MatMul() | Convolution() | Forest()
                ):
                    self._accumulate(relation)
                case Quotient():
                    self._divide(relation)
                case Lookup():
                    self._look_up(relation)
                case Tabulated():
                    self._tabulate(relation)
                case Maximum():
                    self._maximum(relation)
                case Move():
                    self._move(relation)
                case Argmax():
                    self._argmax(relation)
                case Equal():
                    self._equal(relation)
                case OneHot():
                    self._one_hot(relation)
                case Total():
                    self._total(relation)
                case Square():
                    self._square(relation)
                case Absolute():
                    self._absolute(relation)
                case AtLeast():
                    self._at_least(relation)
                case Within():
                    self._within(relation)
                case Listed():
                    self._list(relation)
                case Chosen():
                    self._choose(relation)
        self._require_all_alike()

    def _require_all_alike(self) -> None:
        """Check that the claims about relations that are alike were all made: the last relation of a group
        checks them."""
        for group in self.relations.alike.values():
            known = self._known.get(group[0].name, [])
            assert len(known) in (0, len(group)), group[0].name  # noqa: S101  the plan is one for all of them

    def values(self, tensor: Tensor) -> linear.Linear:
        """The entries of ``tensor``, flattened."""
        if tensor in self.wires:
            return linear.Linear.wires(self.wires[tensor].ravel())
        held = self._sums[tensor]
        assert isinstance(held.sums, LinearCombinations)  # noqa: S101  no one hides what is read
        rows, order = held.sums.whole(), held.order.ravel()
        return rows if np.array_equal(order, np.arange(rows.rows)) else rows.take(order)

    def _accumulate(self, relation: Summation) -> None:
        short = is_short(relation)
        if isinstance(relation, Linear):
            sums: LinearCombinations | Hidden = self._add(relation)
        elif isinstance(relation, Product):
            sums = self._multiply(relation)
        elif isinstance(relation, MatrixProduct):
            sums, short = self._multiply_matrices(relation)
        elif isinstance(relation, WindowSum):
            sums = self._window_sum(relation)
        elif isinstance(relation, Forest):
            sums = self._forest(relation)
        elif relation.weight.privacy == "public":
            sums = self._constant_weights(relation)
        else:
            sums, short = self._secret_weights(relation)
        if relation.out in self.wires:
            assert isinstance(sums, LinearCombinations)  # noqa: S101  given tensors are sums of wires
            self._require(relation.out, sums.whole())
        else:
            self._sums[relation.out] = _Held(sums, _order(relation), short)

    def _add(self, relation: Linear) -> LinearCombinations:
        first, *rest = (self._term(term) for term in relation.terms)
        for sums in rest:
            first += sums
        return first

    def _multiply(self, relation: Product) -> LinearCombinations:
        """Rows: one for each product, which has a wire."""
        name, left, right = relation.out.name, self._term(relation.left), self._term(relation.right)
        out = self._builder.private(f"{name}/product", left.rows)
        self._builder.multiply(f"{name}/product", left.whole(), right.whole(), linear.Linear.wires(out))
        self._builder.fill(steps.Product(f"{name}/product", out, left, right))
        return Weighted.wires(out)

    def _multiply_matrices(self, relation: MatrixProduct) -> tuple[LinearCombinations, bool]:
        """The entries, and whether they are short."""
        way = self._plan.ways[relation.name].encoding
        assert isinstance(way, MatrixWay)  # noqa: S101  the plan has no other
        left, right = self._term(relation.left).whole(), self._term(relation.right).whole()
        sums = multiplied(self._tools, f"{relation.out.name}/product", left, right, relation, way)
        return sums, not isinstance(way, Plain) or is_short(relation)

    def _term(self, term: Term) -> LinearCombinations:
        held = self.wires.get(term.tensor)
        value = self.values(term.tensor) if held is None else Weighted.wires(held.ravel())
        factor, zero_point = (
            each if isinstance(each, int) else np.broadcast_to(each, term.tensor.shape).ravel()
            for each in (term.factor, term.zero_point)
        )
        return value.scale(factor).shift(-factor * zero_point)

    def _window_sum(self, relation: WindowSum) -> LinearCombinations:
        kernel = kernel_of(relation)
        weight = np.ones((kernel.outputs, np.prod(kernel.sliding.kernel)), np.int64)
        return PublicKernel(self._x(relation), kernel, weight, np.zeros(kernel.outputs, np.int64))

    def _forest(self, relation: Forest) -> LinearCombinations:
        parameters = {each: self._parameter(each) for each in relation.parameters}
        return forest(self._tools, relation, self.values(relation.x), parameters)

    def _parameter(self, parameter: Parameter) -> linear.Linear:
        """Its entries, flattened: constants of the circuit, or wires."""
        if parameter.privacy == "public":
            return linear.Linear.constant(parameter.values.ravel())
        (wires,) = hold(self._tools, parameter)
        self.hold(parameter, wires)
        return linear.Linear.wires(wires.ravel())

    def _constant_weights(self, relation: MatMul | Convolution) -> LinearCombinations:
        x, kernel = self._x(relation), kernel_of(relation)
        self._check_term_signs(relation, x, kernel)
        weight = relation.weight.values.reshape(kernel.outputs, -1)
        return PublicKernel(x, kernel, weight, relation.bias.values)

    def _x(self, relation: WindowSum | MatMul | Convolution) -> IntArray:
        return self.wires[relation.x.tensor]

    def _check_term_signs(self, relation: MatMul | Convolution, x: IntArray, kernel: Kernel) -> None:
        """Check the sign of the term ``q - z`` of each product, at level 0 alone."""
        bits = relation.x.tensor.bits
        if self._level == 0 and bits is not None:
            terms = Slid(x, kernel).terms()
            least = linear.Linear.constant(np.full(len(terms), kernel.zero_point))
            at_least(self._builder, f"{relation.name}/term_sign", Weighted.wires(terms), least, bits)

    def _secret_weights(self, relation: MatMul | Convolution) -> tuple[LinearCombinations | Hidden, bool]:
        """Sums of products, or what hides them, and whether they are short."""
        way = self._plan.ways[relation.name]
        lookup = self.relations.lookups[relation.out] if way.scaled else None
        alike = self.relations.alike[relation]
        layer = layer_of(relation, lookup, self._builder.capacity, len(alike))
        assert layer is not None  # noqa: S101  the plan says that there is one
        self._check_term_signs(relation, self._x(relation), layer.kernel)
        for parameter in (relation.weight, relation.bias):
            if parameter not in self.wires:
                self.hold(parameter, *hold(self._tools, parameter))
        weight, bias = self.wires[relation.weight], self.wires[relation.bias]
        wires = Wires(self._x(relation).ravel(), weight.reshape(len(weight), -1), bias)
        if not isinstance(way.encoding, Encoding):
            return self._products(relation.name, layer.kernel, wires), is_short(relation)
        known = self._known.setdefault(alike[0].name, [])
        hidden = Hidden(self._tools, way.encoding, layer, wires, known)
        return (hidden, False) if way.scaled else (self._held_sums(relation, hidden), True)

    def _held_sums(self, relation: MatMul | Convolution, hidden: Hidden) -> LinearCombinations:
        """Wires for the sums, range-checked to what they can reach."""
        name, reach = f"{relation.name}/sum", relation.out.bound.interval
        sums = self._tools.chosen(f"{name}s", hidden.rows)

        self._builder.fill(steps.Sum(f"{name}s", sums, hidden.values))
        low, bits = reach[0], sum_bits(reach)
        self._tools.ranged(f"{name}s", Weighted.wires(sums), bits, low)
        hidden.equate(name, Weighted.wires(sums), (low, low + (1 << bits) - 1))
        return Weighted.wires(sums)

    def _products(self, name: str, kernel: Kernel, wires: Wires) -> LinearCombinations:
        """One row for each product of a weight and an input."""
        slid = Slid(wires.x, kernel)
        product = self._builder.private(f"{name}/product", kernel.outputs * slid.pairs)
        sums = PrivateKernel(slid, wires.weight, wires.bias, product)

        self._builder.fill(steps.Product(f"{name}/product", product, *sums.factors))
        self._builder.products(f"{name}/product", len(product), sums.products)
        return sums

    def _look_up(self, relation: Lookup) -> None:
        """Sums rescaled and clamped."""
        held, function = self._sums.pop(relation.value), relation.function
        source: Source
        if isinstance(held.sums, Hidden):
            source = held.sums
        else:
            multiplier = np.empty(held.order.size, np.int64)
            multiplier[held.order] = np.broadcast_to(function.multiplier, held.order.shape)
            total = held.sums.scale(multiplier).shift(function.offset)
            scaled = function.scaled(relation.value.bound)
            source = Known(self._builder, total, scaled, knit=self._level >= 3, short=held.short)
        clamp = self._plan.ways[relation.name].clamp
        tabulated = clamp is not None and clamp.function is not None
        out = self.relations.functions[relation.out].out if tabulated else relation.out
        self.wires[out] = self._tools.requantise(relation.name, source, function, clamp)[held.order]

    def _tabulate(self, relation: Tabulated) -> None:
        if relation.value not in self.wires and relation.value not in self._sums:
            return  # the sums' own lookup made it
        value, total = self._on_wires(relation.value).ravel(), self.relations.tabulated[relation.function.key]
        self.hold(relation.out, self._tools.tabulate(relation.name, value, relation.function, total))

    def _divide(self, relation: Quotient) -> None:
        value, divisor = self.values(relation.value), self._on_wires(relation.divisor)
        rescaled = relation.out in self.relations.lookups
        if rescaled:
            wires = self._tools.chosen(f"{relation.name}/division", value.rows)
            order = np.arange(value.rows).reshape(relation.out.shape)
            self._sums[relation.out] = _Held(Weighted.wires(wires), order, is_short(relation))
        else:
            wires = self._out(relation.out).ravel()
        each = divisor.reshape(len(divisor), -1)[:, relation.rows]
        divided(self._tools, relation, value, each.ravel(), wires)

    def _on_wires(self, tensor: Tensor) -> IntArray:
        """A tensor's wires; where it is sums, a row for each."""
        if tensor not in self.wires:
            sums = self.values(tensor)
            wires = self._builder.private(tensor.name, sums.rows)
            self._builder.zero(tensor.name, sums - linear.Linear.wires(wires))
            self._builder.fill(steps.Sum(tensor.name, wires, sums.compact))
            self.hold(tensor, wires)
        return self.wires[tensor]

    def _maximum(self, relation: Maximum) -> None:
        x, bits = self.wires[relation.value], relation.value.bits
        assert bits is not None  # noqa: S101  sums are never pooled

        def largest(name: str, candidates: IntArray) -> IntArray:
            return self._tools.largest(name, candidates, bits)

        # To a pool a sample more is so many channels more.
        wires = max_pool(largest, relation, x.reshape(-1, *x.shape[2:]))
        self.wires[relation.out] = wires.reshape(relation.out.shape)

    def _move(self, relation: Move) -> None:
        """A wire is moved as its integer would be. Sums are moved by their rows; alone, with nothing between
        them, they stay as they are."""
        batch, (first, *others) = relation.out.shape[0], relation.sources
        constant = None if relation.constant is None else self._constant(relation.name, relation.constant)
        if first in self._sums and not others and constant is None:
            held = self._sums[first]
            order = held.order.reshape(batch, -1)[:, relation.places]
            self._sums[relation.out] = held._replace(order=order)
            return
        if any(each in self._sums for each in relation.sources):
            self._move_rows(relation, constant)
            return
        wires = np.concatenate([self.wires[each].reshape(batch, -1) for each in relation.sources], axis=1)
        moved = wires[:, relation.places]
        if constant is not None:
            moved = np.where(relation.places < 0, constant, moved)
        self.wires[relation.out] = moved

    def _move_rows(self, relation: Move, constant: int | None) -> None:
        batch, values = relation.out.shape[0], [self.values(each) for each in relation.sources]
        starts = np.cumsum([0, *(each.rows for each in values)])
        rows = np.concatenate(
            [
                start + np.arange(each.rows).reshape(batch, -1)
                for start, each in zip(starts[:-1], values, strict=True)
            ],
            axis=1,
        )[:, relation.places]
        if constant is not None:
            values.append(linear.Linear.wires(np.array([constant])))
            rows = np.where(relation.places < 0, starts[-1], rows)
        moved = linear.Linear.stacked(values).take(rows.ravel())
        self._sums[relation.out] = _Held(moved, np.arange(rows.size).reshape(rows.shape), short=True)

    def _argmax(self, relation: Argmax) -> None:
        values, bounds = self.values(relation.value), relation.value.bound.interval
        labels = self._out(relation.out)
        argmax(self._tools, relation.name, values, bounds, labels.reshape(-1, labels.shape[-1]))

    def _one_hot(self, relation: OneHot) -> None:
        out = relation.out
        wires = one_hot(self._tools, relation.name, self.values(relation.place), relation.most)
        self.hold(out, wires[:, : out.shape[-1]])

    def _equal(self, relation: Equal) -> None:
        left, right = self.values(relation.left), relation.right
        difference = left.shift(-right) if isinstance(right, int) else left - self.values(right)
        self.hold(relation.out, is_zero(self._builder, relation.out.name, difference.whole()))

    def _total(self, relation: Total) -> None:
        values, columns = self.values(relation.value), math.prod(relation.out.shape)
        sums = values.sums(np.arange(values.rows) % columns, columns)
        if relation.out in self.wires:
            # As sum value = sign (out - constant).
            self._require(relation.out, sums.shift(relation.sign * relation.constant), relation.sign)
        else:
            total = sums.scale(relation.sign).shift(relation.constant)
            self._sums[relation.out] = _Held(total, np.arange(columns), short=False)

    def _square(self, relation: Square) -> None:
        value, out = (
            self.values(relation.value),
            self._builder.private(relation.out.name, *relation.out.shape),
        )
        self._builder.multiply(relation.out.name, value, value, linear.Linear.wires(out.ravel()))
        self._builder.fill(steps.Product(relation.out.name, out.ravel(), value.compact, value.compact))
        self.hold(relation.out, out)

    def _absolute(self, relation: Absolute) -> None:
        """Rows: one each, and its range check: of the two roots of ``out² = value²`` one is not below 0."""
        name, value = relation.out.name, self.values(relation.value)
        wires = self._tools.chosen(name, *relation.out.shape)
        self.hold(relation.out, wires)
        out = linear.Linear.wires(wires.ravel())
        both = value.take(np.repeat(np.arange(value.rows), 2)).scale(np.tile([1, -1], value.rows))
        self._builder.fill(steps.Maximum(name, wires.ravel(), both.compact))
        self._builder.multiply(name, out - value, out + value, linear.Linear.empty(value.rows))
        self._tools.ranged(name, out, relation.out.bound.bits)

    def _at_least(self, relation: AtLeast) -> None:
        left, right = self.values(relation.left), self.values(relation.right)
        bits = slot_width(relation.left.bound.interval, relation.right.bound.interval)
        found = at_least(self._builder, relation.name, left, right, bits, full=self._level < 2)
        if relation.out not in self.wires:
            self.hold(relation.out, found)
            return
        wires, name = self.wires[relation.out].ravel(), relation.out.name
        self._builder.zero(name, linear.Linear.wires(wires) - linear.Linear.wires(found))
        self._builder.fill(steps.Sum(name, wires, found))

    def _within(self, relation: Within) -> None:
        value, bound = self.values(relation.value), relation.out.bound
        self._tools.ranged(relation.name, value, bound.bits, bound.interval[0])
        self._sums[relation.out] = _Held(value, np.arange(value.rows).reshape(relation.out.shape), short=True)

    def _list(self, relation: Listed) -> None:
        assert isinstance(self._tools, Tables)  # noqa: S101  what asks for it is of level 5
        values = [self.values(each) for each in (*relation.values, relation.out)]
        self._tools.look_up(f"{relation.name}/row", listed(relation), values)

    def _choose(self, relation: Chosen) -> None:
        wires, values = self.wires[relation.out].ravel(), (self.wires[each] for each in relation.values)
        self._builder.fill(
            steps.Choose(relation.name, wires, tuple(each.ravel() for each in values), relation.rule)
        )

    def _out(self, tensor: Tensor) -> IntArray:
        """The wires of a tensor that is given, or such that the prover chooses."""
        if tensor not in self.wires:
            self.hold(tensor, self._tools.chosen(tensor.name, math.prod(tensor.shape)))
        return self.wires[tensor]

    def _require(self, tensor: Tensor, sums: linear.Linear, sign: int = 1) -> None:
        """``sums = sign · tensor``, which is given. Rows: one each."""
        wires = self.wires[tensor].ravel()
        self._builder.zero(tensor.name, sums - linear.Linear.wires(wires).scale(sign))
        self._builder.fill(steps.Sum(tensor.name, wires, sums.scale(sign).compact))

    def _constant(self, name: str, value: int) -> int:
        """A wire that holds ``value``. One row."""
        wire = self._builder.private(f"{name}/padding", 1)
        self._builder.zero(f"{name}/padding", linear.Linear.wires(wire).shift(-value))

        self._builder.fill(steps.Constant(f"{name}/padding", wire, np.array([value])))
        return int(wire[0])


def _order(relation: Summation) -> IntArray:
    """Return the row of each entry of the output, int64[batch, ..]. Rows of windows are ordered by output
    channel first (``zenserve.circuits.lowering.sliding``)."""
    batch, *shape = relation.out.shape
    index: IntArray = np.arange(batch * int(np.prod(shape)))
    if not isinstance(relation, Linear | Product | MatrixProduct | Forest):
        index = index.reshape(shape[0], batch, -1).swapaxes(0, 1)
    return index.reshape(batch, *shape)
