"""Which way to prove each node makes the whole circuit smallest.

Every way has an exact cost in rows (``Cost``). Tables, range checks and powers of challenges are shared, so
that the cost of one node's way depends on all others: the search starts from several circuits that are
uniform in their tables and, as long as that helps, gives one node after the other the way that makes the
whole smallest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from circuits.lowering.arithmetic import Arithmetic
from circuits.lowering.clamps import ByTable, Clamp, quotient_bits
from circuits.lowering.cost import Cost
from circuits.lowering.encodings import Checked, Encoding, Layer, Packed, Plain, Stranded, layer_of
from circuits.lowering.parameters import parameters_cost
from circuits.lowering.pooling import maxima
from circuits.quantised import Accumulating, Conv, Dense, MaxPool, Pad, WindowSum
from circuits.quantised.typed import TypedGraph
from circuits.r1cs.gadgets import decompose_cost
from circuits.r1cs.sources import knit_rows
from relations.integers import Interval

# Five strands take 14 slots of a field element: more than sums of 8-bit products leave.
_STRANDS = (2, 3, 4)
# Rows of lookups read sums of at most so many wires. Of longer ones they read a wire: what stands in their B
# costs the proving key a point in G2 each.
_SHORT = 16
_ROUNDS = 8


@dataclass(frozen=True)
class Way:
    """How a node's sums are proven and rescaled.

    ``encoding``: of products of private weights, None where there are none. ``scaled``: slots hold T, else
    sums, which then stand on wires of their own. ``clamp``: at level 5.
    """

    encoding: Encoding | Plain | None = None
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


@dataclass(frozen=True)
class Plan:
    """``ways``: of every accumulating node. ``rows``: of the whole circuit. ``explanation``: for every node
    each way, the chosen one first, with the rows that the whole circuit would have with it."""

    ways: Mapping[str, Way]
    rows: int
    explanation: Mapping[str, list[tuple[Way, int]]]


class Optimiser:
    """``others``: the cost of what is no node: input, argmax and the like."""

    def __init__(self, tools: Arithmetic, typed: TypedGraph, level: int, others: Cost) -> None:
        self._tools, self._typed, self._level = tools, typed, level
        self._others = Cost.sum([others, _cost_of_weights(typed), _cost_of_movers(tools, typed)])
        if level == 0:
            self._others += _cost_of_term_signs(typed)
        graph = typed.qgraph
        self._nodes = [node for node in graph.nodes if isinstance(node, Accumulating)]
        # Where layers could share a table of quotients, the widths of all that some layer needs.
        self._widths = {
            quotient_bits(node.rescale, node.rescale.scaled(typed.bounds(node)))
            for node in self._nodes
            if node.rescale is not None
        }
        self._options = {node.name: list(self._ways(node)) for node in self._nodes}

    def plan(self) -> Plan:
        """The best that the search finds. Deterministic."""
        found = min((self._descend(start) for start in self._starts()), key=self._total)
        explanation = {
            name: sorted(
                ((option.way, self._total(found | {name: option})) for option in options),
                key=lambda entry: (entry[0] is not found[name].way, entry[1]),
            )
            for name, options in self._options.items()
        }
        ways = {name: option.way for name, option in found.items()}
        return Plan(ways, self._total(found), explanation)

    def _starts(self) -> Iterator[dict[str, Option]]:
        """Each node's cheapest way alone; and with tables of quotients of one width, where it has those."""
        cheapest = {
            name: min(options, key=lambda option: self._rows(option.cost))
            for name, options in self._options.items()
        }
        yield cheapest
        for bits in self._widths:
            start = dict(cheapest)
            for name, options in self._options.items():
                same = [o for o in options if isinstance(o.way.clamp, ByTable) and o.way.clamp.bits == bits]
                if same:
                    start[name] = min(same, key=lambda option: self._rows(option.cost))
            yield start

    def _descend(self, found: dict[str, Option]) -> dict[str, Option]:
        best = self._total(found)
        for _ in range(_ROUNDS):
            before = best
            for name, options in self._options.items():
                rest = Cost.sum(
                    [self._others, *(option.cost for other, option in found.items() if other != name)]
                )
                for option in options:
                    rows = self._rows(rest + option.cost)
                    if rows < best:
                        found, best = found | {name: option}, rows
            if best == before:
                break
        return found

    def _total(self, options: Mapping[str, Option]) -> int:
        return self._rows(Cost.sum([self._others, *(option.cost for option in options.values())]))

    def _rows(self, cost: Cost) -> int:
        return cost.total(by_digits=self._tools.by_digits)

    def _ways(self, node: Accumulating) -> Iterator[Option]:
        if isinstance(node, Conv | Dense) and self._typed.weight_privacy != "public":
            yield from self._private(node)
        elif node.rescale is None:
            yield Option(Way(), Cost())
        else:
            scaled = node.rescale.scaled(self._typed.bounds(node))
            yield from self._rescaled(node, scaled, is_short(node), Way(), Cost())

    def _private(self, node: Conv | Dense) -> Iterator[Option]:
        sums, rescaled = (layer_of(node, self._typed, rescale) for rescale in (None, node.rescale))
        assert sums is not None  # noqa: S101  without multipliers there is one
        plain = Cost(rows=sums.kernel.outputs * sums.kernel.pairs)
        if node.rescale is None:
            yield Option(Way(Plain()), plain)
        else:
            scaled = node.rescale.scaled(self._typed.bounds(node))
            yield from self._rescaled(node, scaled, is_short(node), Way(Plain()), plain)
        for encoding in self._encodings(node):
            yield from self._held_as_sums(node, sums, encoding)
            if rescaled is not None and node.rescale is not None:
                yield from self._held_scaled(node, rescaled, encoding)

    def _held_as_sums(self, node: Conv | Dense, layer: Layer, encoding: Encoding) -> Iterator[Option]:
        low, bits = layer.interval[0], sum_bits(layer.interval)
        other = low, low + (1 << bits) - 1
        if not encoding.fits(layer, other):
            return
        cost = encoding.cost(layer, other) + Cost.range_checks(bits, layer.rows)
        if node.rescale is None:
            yield Option(Way(encoding), cost)
            return
        scaled = node.rescale.scaled(self._typed.bounds(node))
        yield from self._rescaled(node, scaled, True, Way(encoding), cost)

    def _held_scaled(self, node: Conv | Dense, layer: Layer, encoding: Encoding) -> Iterator[Option]:
        rescale = node.rescale
        assert rescale is not None  # noqa: S101  the caller asks
        for clamp in self._tools.clamps(rescale, layer.interval, self._widths):
            cost, other = self._tools.requantise_cost(
                layer.rows, layer.interval, rescale, clamp, readable=False, short=False
            )
            assert other is not None  # noqa: S101  no row reads a hidden T
            if encoding.fits(layer, other):
                yield Option(Way(encoding, scaled=True, clamp=clamp), cost + encoding.cost(layer, other))

    def _rescaled(
        self, node: Accumulating, scaled: Interval, short: bool, way: Way, sums: Cost
    ) -> Iterator[Option]:
        """``way``, and a rescaling of sums of wires."""
        rescale = node.rescale
        assert rescale is not None  # noqa: S101  the caller asks
        count = self._typed.batch * int(np.prod(self._typed.qgraph.shapes[node.name]))
        for clamp in self._tools.clamps(rescale, scaled, self._widths):
            cost, other = self._tools.requantise_cost(
                count, scaled, rescale, clamp, readable=True, short=short
            )
            if other is not None:
                cost += Cost(rows=knit_rows(count, scaled, other) if self._level >= 3 else count)
            yield Option(Way(way.encoding, clamp=clamp), sums + cost)

    def _encodings(self, node: Conv | Dense) -> Iterator[Encoding]:
        if self._level < 3:
            return
        grouped = isinstance(node, Conv) and node.groups > 1
        # Packing holds more sums than strands, and nothing between, where there are as many channels.
        if self._level == 3 or grouped or len(node.weight) < max(_STRANDS):
            yield from map(Stranded, _STRANDS)
        if self._level >= 4 and not grouped:
            yield Packed()
        if self._level >= 5 and not grouped:
            yield Checked()


def _cost_of_weights(typed: TypedGraph) -> Cost:
    """Of the range checks of private weights, whatever the way."""
    costs = [Cost()]
    for node in typed.qgraph.nodes:
        if isinstance(node, Conv | Dense) and typed.weight_privacy == "private":
            costs.append(parameters_cost(node))
    return Cost.sum(costs)


def _cost_of_movers(tools: Arithmetic, typed: TypedGraph) -> Cost:
    """Of the nodes without sums."""
    graph, costs = typed.qgraph, [Cost()]
    for node in graph.nodes:
        if isinstance(node, Pad):
            costs.append(Cost(rows=1))
        if isinstance(node, MaxPool):
            kind, (shape,) = graph.types[node.name], graph.shapes_of(node)
            assert kind is not None  # noqa: S101  sums are never pooled
            for width, count in maxima(node, shape).items():
                costs.append(tools.largest_cost(typed.batch * count, width, kind.bits))
    return Cost.sum(costs)


def _cost_of_term_signs(typed: TypedGraph) -> Cost:
    """Of what level 0 alone does: a comparison for each factor of each product."""
    graph, rows = typed.qgraph, 0
    for node in graph.nodes:
        if isinstance(node, Conv | Dense):
            (kind,), (shape,) = graph.types_of(node), graph.shapes_of(node)
            pairs = typed.batch * len(node.weight) * node.sliding(shape).pairs
            rows += pairs * decompose_cost(kind.bits + 1, full=False)
    return Cost(rows=rows)


def sum_bits(reach: Interval) -> int:
    """Of the wires that hold sums in ``reach``."""
    return max(1, (reach[1] - reach[0]).bit_length())


def is_short(node: Accumulating) -> bool:
    """Whether rows of lookups may read a node's sums of wires."""
    if isinstance(node, Conv | Dense):
        return int(node.weight[0].size) <= _SHORT
    return not isinstance(node, WindowSum) or node.kernel[0] * node.kernel[1] <= _SHORT
