"""The search for the way to prove each node that makes the whole circuit smallest.

Every way has an exact cost in rows (``Cost``). Tables, range checks and powers of challenges are shared, so
that the cost of one node's way depends on all others: the search starts from several circuits that are
uniform in their tables and, as long as that helps, gives one node after the other the way that makes the
whole smallest.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from zenserve.circuits.lowering.argmax import argmax_cost, one_hot_cost
from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.lowering.clamps import ByTable, Clamp, Uncut, quotient_bits
from zenserve.circuits.lowering.cost import Cost, Tally
from zenserve.circuits.lowering.encodings import (
    Challenged,
    Checked,
    Encoding,
    Layer,
    Packed,
    Plain,
    Stranded,
    layer_of,
)
from zenserve.circuits.lowering.forests import forest_cost
from zenserve.circuits.lowering.matrices import Matrices, MatrixWay, Slots, matrix_cost, sum_bits
from zenserve.circuits.lowering.parameters import parameters_cost
from zenserve.circuits.lowering.pooling import maxima
from zenserve.circuits.lowering.quotients import quotient_cost
from zenserve.circuits.lowering.sliding import kernel_of
from zenserve.circuits.r1cs.gadgets import decompose_cost
from zenserve.circuits.r1cs.lookups import FOLD
from zenserve.circuits.r1cs.sources import knit_rows
from zenserve.circuits.r1cs.table import Table
from zenserve.relations.integers import Interval
from zenserve.relations.relation import (
    Accumulation,
    Argmax,
    Convolution,
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
    Tabulated,
    WindowSum,
    Within,
)

# Five strands take 14 slots of a field element: more than sums of 8-bit products leave.
_STRANDS = (2, 3, 4)
# Rows of lookups read sums of at most so many wires. Of longer ones they read a wire: what stands in their B
# costs the proving key a point in G2 each.
_SHORT = 16
_ROUNDS = 8


@dataclass(frozen=True)
class Way:
    """A way to prove and rescale a node's sums.

    ``encoding``: of products of private weights or of two matrices, None where there are none. ``scaled``:
    slots hold T, else sums, which then stand on wires of their own. ``clamp``: at level 5.
    """

    encoding: Encoding | Plain | Challenged | None = None
    scaled: bool = False
    clamp: Clamp | None = None

    def __str__(self) -> str:
        parts = [str(part) for part in (self.encoding, self.clamp) if part is not None]
        if isinstance(self.encoding, Encoding):
            parts[0] += f", {'rescaled' if self.scaled else 'sums'} in slots"
        return "; ".join(parts) or "the only way"


class Option(NamedTuple):
    way: Way
    cost: Cost


class _Node(NamedTuple):
    """The ways there are, and which may make a circuit smallest. Nodes of one ``group`` cost the same by
    each."""

    options: list[Option]
    worth: list[int]
    group: int


_Choice = Mapping[str, int]
"""Of each node the place of its way among its options."""


@dataclass(frozen=True)
class Plan:
    """``ways``: of every accumulating node. ``rows``: of the whole circuit. ``explanation``: for every node,
    of nodes that are alike the first, each way, the chosen one first, with the rows that the whole circuit
    would have with it."""

    ways: Mapping[str, Way]
    rows: int
    explanation: Mapping[str, list[tuple[Way, int]]]


class Optimiser:
    """``others``: the cost of what is not the network's: input, argmax and the like."""

    def __init__(self, tools: Arithmetic, network: Relations, level: int, others: Cost) -> None:
        self._tools, self._network, self._level = tools, network, level
        self._capacity = tools.builder.capacity
        weights = parameters_cost(*network.parameters)
        self._others = Cost.sum([others, weights, _cost_of_movers(tools, network)])
        if level == 0:
            self._others += _cost_of_term_signs(network)
        # Where layers could share a table of quotients, the widths of all that some layer needs.
        self._widths = {
            quotient_bits(lookup.function, lookup.function.scaled(sums.bound))
            for sums, lookup in network.lookups.items()
        }
        groups: dict[Hashable, int] = {}
        self._nodes = {
            relation.name: _node([*self._ways(relation)], groups)
            for relation in network.accumulations
            if relation is network.alike[relation][0]
        }

    def plan(self) -> Plan:
        """The best that the search finds. Deterministic."""
        found = min((self._descend(start) for start in self._starts()), key=self._total)
        chosen = {name: self._nodes[name].options[place].way for name, place in found.items()}
        alike = self._network.alike.values()
        ways = {relation.name: chosen[group[0].name] for group in alike for relation in group}
        return Plan(ways, self._total(found), self._explained(found))

    def _explained(self, found: _Choice) -> dict[str, list[tuple[Way, int]]]:
        tally = self._tally(found)
        rows: dict[tuple[int, int], list[int]] = {}
        explanation = {}
        for name, place in found.items():
            options, _, group = self._nodes[name]
            if (group, place) not in rows:
                tally.add(options[place].cost, -1)
                rows[group, place] = [tally.total(option.cost) for option in options]
                tally.add(options[place].cost)
            all_ways = [
                (option.way, total) for option, total in zip(options, rows[group, place], strict=True)
            ]
            chosen = all_ways.pop(place)
            explanation[name] = [chosen, *sorted(all_ways, key=lambda entry: entry[1])]
        return explanation

    def _starts(self) -> Iterator[_Choice]:
        """Each node's cheapest way alone; and with tables of quotients of one width, where it has those."""
        alone = {
            name: [self._rows(option.cost) for option in node.options] for name, node in self._nodes.items()
        }
        cheapest = {name: min(range(len(rows)), key=rows.__getitem__) for name, rows in alone.items()}
        starts = [cheapest]
        for bits in self._widths:
            start = dict(cheapest)
            for name, node in self._nodes.items():
                clamps = [option.way.clamp for option in node.options]
                same = [
                    at for at, each in enumerate(clamps) if isinstance(each, ByTable) and each.bits == bits
                ]
                if same:
                    start[name] = min(same, key=alone[name].__getitem__)
            if start not in starts:
                starts.append(start)
        yield from starts

    def _descend(self, found: _Choice) -> _Choice:
        """Nodes that cost the same are tried once until any changes its way."""
        found, tally, best = dict(found), self._tally(found), self._total(found)
        settled: set[tuple[int, int]] = set()
        for _ in range(_ROUNDS):
            before = best
            for name, (options, worth, group) in self._nodes.items():
                if (group, found[name]) in settled:
                    continue
                tally.add(options[found[name]].cost, -1)
                rows = {place: tally.total(options[place].cost) for place in worth}
                place = min(rows, key=rows.__getitem__)
                if rows[place] < best:
                    found[name], best = place, rows[place]
                    settled.clear()
                tally.add(options[found[name]].cost)
                settled.add((group, found[name]))
            if best == before:
                break
        return found

    def _tally(self, found: _Choice) -> Tally:
        return Tally([self._others, *self._costs(found)], by_digits=self._tools.by_digits)

    def _total(self, found: _Choice) -> int:
        return self._rows(Cost.sum([self._others, *self._costs(found)]))

    def _costs(self, found: _Choice) -> Iterator[Cost]:
        for name, place in found.items():
            yield self._nodes[name].options[place].cost

    def _rows(self, cost: Cost) -> int:
        return cost.total(by_digits=self._tools.by_digits)

    def _ways(self, relation: Accumulation) -> Iterator[Option]:
        lookup = self._network.lookups.get(relation.out)
        cost = Cost(rows=math.prod(relation.out.shape)) if isinstance(relation, Product) else Cost()
        if isinstance(relation, Forest):
            cost = forest_cost(self._tools, relation)
        if isinstance(relation, MatMul | Convolution) and relation.weight.privacy != "public":
            yield from self._private(relation, lookup)
        elif isinstance(relation, MatrixProduct):
            ways: tuple[MatrixWay, ...] = Plain(), Packed(), Challenged()
            slots = Slots.of(Matrices.of(relation), relation.out.bound.interval, self._capacity)
            for encoding in ways[: max(1, self._level - 2)]:
                if isinstance(encoding, Packed) and not slots.fit:
                    continue
                short = not isinstance(encoding, Plain) or is_short(relation)
                cost = matrix_cost(relation, encoding, self._capacity)
                yield from self._rescaled(lookup, short, Way(encoding), cost)
        elif isinstance(relation, Quotient):
            yield from self._rescaled(lookup, is_short(relation), Way(), quotient_cost(relation))
        else:
            yield from self._rescaled(lookup, is_short(relation), Way(), cost)

    def _private(self, relation: MatMul | Convolution, lookup: Lookup | None) -> Iterator[Option]:
        """Of all relations that are alike together."""
        alike = len(self._network.alike[relation])
        sums = layer_of(relation, None, self._capacity, alike)
        assert sums is not None  # noqa: S101  without multipliers there is one
        plain = Cost(rows=sums.kernel.outputs * sums.kernel.pairs)
        for option in self._rescaled(lookup, is_short(relation), Way(Plain()), plain):
            yield option._replace(cost=option.cost.times(alike))
        for encoding in self._encodings(relation):
            yield from self._held_as_sums(sums, lookup, encoding)
            rescaled = None if lookup is None else layer_of(relation, lookup, self._capacity, alike)
            if rescaled is not None and lookup is not None:
                yield from self._held_scaled(rescaled, lookup, encoding)

    def _held_as_sums(self, layer: Layer, lookup: Lookup | None, encoding: Encoding) -> Iterator[Option]:
        low, bits = layer.interval[0], sum_bits(layer.interval)
        other = low, low + (1 << bits) - 1
        if not encoding.fits(layer, other):
            return
        products, held = encoding.cost(layer, other), Cost.range_checks(bits, layer.rows)
        for option in self._rescaled(lookup, True, Way(encoding), held):
            yield option._replace(cost=option.cost.times(layer.alike) + products)

    def _held_scaled(self, layer: Layer, lookup: Lookup, encoding: Encoding) -> Iterator[Option]:
        for clamp, rest in self._clamps(lookup, layer.interval):
            if clamp is not None and clamp.reads_sums:
                continue
            cost, other = self._tools.requantise_cost(
                layer.rows, layer.interval, lookup.function, clamp, readable=False, short=False
            )
            cost = (cost + rest).times(layer.alike)
            assert other is not None  # noqa: S101  no row reads a hidden T
            if encoding.fits(layer, other):
                yield Option(Way(encoding, scaled=True, clamp=clamp), cost + encoding.cost(layer, other))

    def _rescaled(self, lookup: Lookup | None, short: bool, way: Way, sums: Cost) -> Iterator[Option]:
        """``way``, and a rescaling of sums of wires, if any."""
        if lookup is None:
            yield Option(way, sums)
            return
        function, count = lookup.function, math.prod(lookup.out.shape)
        scaled = function.scaled(lookup.value.bound)
        for clamp, rest in self._clamps(lookup, scaled):
            cost, other = self._tools.requantise_cost(
                count, scaled, function, clamp, readable=True, short=short
            )
            cost += rest
            if other is not None:
                cost += Cost(
                    rows=knit_rows(count, scaled, other, self._capacity) if self._level >= 3 else count
                )
            yield Option(Way(way.encoding, clamp=clamp), sums + cost)

    def _clamps(self, lookup: Lookup, scaled: Interval) -> Iterator[tuple[Clamp | None, Cost]]:
        """The ways to rescale, and the cost of the function behind where their tables leave it out."""
        behind = self._network.functions.get(lookup.out)
        rest = Cost() if behind is None else _cost_of_function(self._tools, self._network, behind)
        signed = self._network.signed.get(lookup.out)
        for clamp in self._tools.clamps(lookup.function, scaled, self._widths):
            if signed and isinstance(clamp, Uncut):
                yield replace(clamp, absolute=signed.out.bound.bits), rest
                continue
            yield clamp, rest
            both = clamp.including(behind.function) if clamp and behind else None
            if both is not None:
                yield both, Cost()

    def _encodings(self, relation: MatMul | Convolution) -> Iterator[Encoding]:
        if self._level < 3:
            return
        grouped = relation.sliding.groups > 1
        # Packing holds more sums than strands, and nothing between, where there are as many channels.
        if self._level == 3 or grouped or relation.out.shape[1] < max(_STRANDS):
            yield from map(Stranded, _STRANDS)
        if self._level >= 4 and not grouped:
            yield Packed()
        if self._level >= 5 and not grouped:
            yield Checked()


def _node(options: list[Option], groups: dict[Hashable, int]) -> _Node:
    """``groups``: of the nodes so far, by what they cost."""
    least: dict[Hashable, int] = {}
    for place, (_, cost) in enumerate(options):
        if cost.shared not in least or cost.rows < options[least[cost.shared]].cost.rows:
            least[cost.shared] = place
    key = tuple((cost.rows, cost.shared) for _, cost in options)
    return _Node(options, sorted(least.values()), groups.setdefault(key, len(groups)))


def _cost_of_movers(tools: Arithmetic, network: Relations) -> Cost:
    """Of relations without sums."""
    costs = [Cost()]
    for relation in network.relations:
        if isinstance(relation, Move) and relation.constant is not None:
            costs.append(Cost(rows=1))
        if isinstance(relation, Tabulated) and relation.value not in network.functions:
            costs.append(_cost_of_function(tools, network, relation))
            if relation.value.bits is None and not isinstance(relation.value, Parameter):
                costs.append(Cost(rows=math.prod(relation.value.shape)))
        if isinstance(relation, Maximum):
            batch, bits = relation.out.shape[0], relation.value.bits
            assert bits is not None  # noqa: S101  sums are never pooled
            for count, width in maxima(relation):
                costs.append(tools.largest_cost(batch * count, width, bits))
        if isinstance(relation, Argmax):
            *rows, wanted = relation.out.shape
            count, bounds = math.prod(relation.value.shape) // math.prod(rows), relation.value.bound.interval
            costs.append(argmax_cost(tools, math.prod(rows), count, wanted, bounds))
        if isinstance(relation, Within):
            costs.append(Cost.range_checks(relation.out.bound.bits, math.prod(relation.out.shape)))
        if isinstance(relation, Listed):
            table, width = listed(relation), relation.rows.shape[1]
            rows, powers = math.prod(relation.out.shape) * width, ((FOLD, 1, width),)
            costs.append(Cost(rows, tables=frozenset({table}), powers=powers))
        if isinstance(relation, OneHot):
            costs.append(one_hot_cost(math.prod(relation.place.shape), relation.most))
    return Cost.sum(costs)


def _cost_of_function(tools: Arithmetic, network: Relations, relation: Tabulated) -> Cost:
    total = network.tabulated[relation.function.key]
    return tools.tabulate_cost(math.prod(relation.out.shape), relation.function, total)


def listed(relation: Listed) -> Table:
    """Its rows."""
    return Table(relation.listing, relation.rows)


def _cost_of_term_signs(network: Relations) -> Cost:
    """Of what level 0 alone does: a comparison for each factor of each product."""
    rows = 0
    for relation in network.relations:
        if isinstance(relation, MatMul | Convolution):
            kernel = kernel_of(relation)
            bits = kernel.top.bit_length()
            rows += kernel.outputs * kernel.pairs * decompose_cost(bits + 1, None)
    return Cost(rows=rows)


def is_short(relation: Accumulation) -> bool:
    """Return whether rows of lookups may read sums of wires."""
    match relation:
        case Linear() | Product() | Quotient():
            return True
        case Forest():
            return relation.steps * relation.targets.size <= _SHORT
        case MatrixProduct():
            return relation.left.tensor.shape[-1] <= _SHORT
        case WindowSum():
            return math.prod(relation.sliding.kernel) <= _SHORT
        case MatMul() | Convolution():
            return math.prod(relation.weight.shape[1:]) <= _SHORT
