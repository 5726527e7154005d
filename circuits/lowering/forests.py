"""Decision trees: of each the path alone is walked, and looked up block by block among all that there are.

An exit of a block is one integer, or a few, packed from slots: its number, which is public; the features and
the thresholds of the decisions that lead to it; the block that follows; its values. All but the number are
wires of the model, and the packed sum of these is linear: the table has a row for an exit and no more. The
prover says what stands in the slots of the exits that the paths take, and looks up the packed sum of that.

Sound: a packed sum is unique where no two of its kind differ by a multiple of r, so each slot is wide enough
for every difference of what the model may hold, which is range-checked when it is registered, and of what the
prover may say: features and entries of the input are looked up together, as places below 2^b and values;
``threshold - entry + 2^w right`` is range-checked to the w bits of entries, with ``right`` 0 or 1, so that a
threshold lies within [-2^w, 2^(w+1)) at first, in the end in the table, and right is [entry > threshold];
blocks and values are range-checked. So whatever stands in the slots is what the model has at that exit, and
the exit's number is the block's and the decisions themselves. Block by block there is one path, for any
parameters whatsoever.

Rows, of T trees that take S blocks of k levels, and entries of w bits:
    S T k (3 + a range check of w bits)       a decision
    S T (1 + V range checks of a value)       an exit
    (S - 1) T range checks of a block         where to go on
    B 2^k + 1 and 2 F + 1                     the tables of exits, of B blocks, and of the F features
An exit that takes c integers costs c rows in place of one, in its table too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.lowering.tables import Tables
from zenserve.circuits.r1cs.linear import Linear
from zenserve.circuits.r1cs.lookups import FOLD
from zenserve.circuits.r1cs.steps import Compare, Pick
from zenserve.errors import StatementError
from zenserve.relations.bounds import Capacity, slot_width
from zenserve.relations.integers import IntArray, Interval
from zenserve.relations.relation import Forest, Parameter


@dataclass(frozen=True)
class _Shape:
    """Of the paths of ``relation``. All of a step, samples times trees, are the last axis of wires."""

    relation: Forest

    @property
    def paths(self) -> int:
        return self.batch * self.relation.trees

    @property
    def batch(self) -> int:
        return self.relation.x.shape[0]

    @property
    def features(self) -> int:
        return math.prod(self.relation.x.shape[1:])

    @property
    def nodes(self) -> int:
        """Of a block."""
        return self.exits - 1

    @property
    def exits(self) -> int:
        """Of a block."""
        return 1 << self.relation.levels

    @property
    def entry_bits(self) -> int:
        """Of the input's entries."""
        bits = self.relation.x.bits
        assert bits is not None  # noqa: S101  trees read no sums
        return bits

    @property
    def block_bits(self) -> int:
        return self.relation.following.bound.bits if self.relation.following else 0

    @cached_property
    def widths(self) -> list[int]:
        """Of the slots of an exit: number, features, thresholds, what follows, values."""
        relation, bits, levels = self.relation, self.entry_bits, self.relation.levels
        inside = relation.feature.bound.interval
        reach = self.batch * self.stride
        said: Interval = (0, reach - 1) if self.batch == 1 else (1 - reach, reach - 1)
        blocks = [] if relation.following is None else [self.block_bits]
        number = max(self.block_bits, (relation.trees - 1).bit_length()) + levels
        feature = slot_width(inside, said)
        threshold = slot_width(relation.threshold.bound.interval, (-(1 << bits), (2 << bits) - 2))
        value = slot_width(*[relation.value.bound.interval] * 2)
        values = [value] * relation.value.shape[2]
        return [number, *[feature] * levels, *[threshold] * levels, *blocks, *values]

    @property
    def stride(self) -> int:
        """From the entries of one sample to those of the next in the table of entries: beyond any feature."""
        return self.relation.feature.bound.interval[1] + 1

    def columns(self, capacity: Capacity) -> list[list[int]]:
        """The slots, by their places, in each of the integers that they take."""
        found: list[list[int]] = [[]]
        left = capacity.bits
        for slot, width in enumerate(self.widths):
            if width > left:
                found, left = [*found, []], capacity.bits
            found[-1].append(slot)
            left -= width
        return found


def forest_cost(tools: Arithmetic, relation: Forest) -> Cost:
    """Exact. Raises ``StatementError`` (``statement.level``) where there are no lookups."""
    if not isinstance(tools, Tables):
        raise StatementError(
            "statement.level", "decision trees take level 5: lower levels have no lookups", field="level"
        )
    shape = _Shape(relation)
    columns, steps = len(shape.columns(tools.builder.capacity)), relation.steps
    exits, decisions = steps * shape.paths, steps * shape.paths * relation.levels
    blocks = relation.value.shape[0]
    rows = 3 * decisions + columns * (exits + blocks * shape.exits) + 1 + 2 * shape.batch * shape.features + 1
    checks = [Cost.range_checks(shape.entry_bits, decisions)]
    checks.append(Cost.range_checks(relation.value.bound.bits, exits * relation.value.shape[2]))
    if steps > 1:
        checks.append(Cost.range_checks(shape.block_bits, exits - shape.paths))
    return Cost.sum([Cost(rows=rows, powers=((FOLD, 1, 2), (FOLD, 1, columns))), *checks])


def forest(tools: Arithmetic, relation: Forest, x: Linear, parameters: Mapping[Parameter, Linear]) -> Linear:
    """The outputs, a row each. ``x``: the input's entries; ``parameters``: theirs, flattened."""
    assert isinstance(tools, Tables)  # noqa: S101  others have no plan
    paths = _Paths(tools, relation, x, parameters)
    paths.decide()
    paths.exit()
    return paths.sums()


class _Paths:
    def __init__(
        self, tools: Tables, relation: Forest, x: Linear, parameters: Mapping[Parameter, Linear]
    ) -> None:
        self._tools, self._builder, self._relation = tools, tools.builder, relation
        self._shape, self._x, self._parameters = _Shape(relation), x, parameters
        name, steps, paths = relation.name, relation.steps, self._shape.paths
        of_decisions = steps, relation.levels, paths
        self._feature = tools.chosen(f"{name}/feature", *of_decisions)
        self._entry = tools.chosen(f"{name}/entry", *of_decisions)
        self._threshold = tools.chosen(f"{name}/threshold", *of_decisions)
        self._right = tools.chosen(f"{name}/right", *of_decisions)
        self._value = tools.chosen(f"{name}/value", steps, paths, relation.value.shape[2])
        if steps > 1:
            self._following = tools.chosen(f"{name}/following", steps - 1, paths)
        self._sample = np.repeat(np.arange(self._shape.batch), relation.trees)
        for step in range(steps):
            self._walk(step)

    def _block(self, step: int) -> Linear:
        """Return the block of each path at ``step``: tree t begins in block t."""
        if step:
            return Linear.wires(self._following[step - 1])
        return Linear.constant(np.tile(np.arange(self._relation.trees), self._shape.batch))

    def _decisions(self, step: int, level: int) -> Linear:
        """Return the decisions before a level as one number, the first decision being its highest bit."""
        if not level:
            return Linear.empty(self._shape.paths)
        return Linear.weighted(self._right[step, :level].T, 1 << np.arange(level)[::-1])

    def _exit(self, step: int) -> Linear:
        """The number of the exit that each path takes."""
        return self._block(step).scale(self._shape.exits) + self._decisions(step, self._relation.levels)

    def _walk(self, step: int) -> None:
        """Fill in the decisions of honest provers, and where they lead."""
        relation, shape, builder = self._relation, self._shape, self._builder
        for level in range(relation.levels):
            node = self._block(step).scale(shape.nodes) + self._decisions(step, level)
            node = node.shift((1 << level) - 1)
            feature, entry, threshold, right = (
                wires[step, level] for wires in (self._feature, self._entry, self._threshold, self._right)
            )
            self._pick("feature", feature, relation.feature, node)
            self._pick("threshold", threshold, relation.threshold, node)
            place = Linear.wires(feature).shift(self._sample * shape.features)
            builder.fill(Pick(f"{relation.name}/entry", entry, self._x.compact, place.compact))
            excess = Linear.wires(entry) - Linear.wires(threshold)
            builder.fill(Compare(f"{relation.name}/right", right, excess.compact, "positive"))
        leaving = self._exit(step)
        if step < relation.steps - 1:
            assert relation.following is not None  # noqa: S101  as there are steps to come
            self._pick("following", self._following[step], relation.following, leaving)
        count = relation.value.shape[2]
        for index in range(count):
            place = leaving.scale(count).shift(index)
            self._pick("value", self._value[step, :, index], relation.value, place)

    def _pick(self, what: str, out: IntArray, parameter: Parameter, place: Linear) -> None:
        entries = self._parameters[parameter].compact
        self._builder.fill(Pick(f"{self._relation.name}/{what}", out, entries, place.compact))

    def decide(self) -> None:
        """Each decision compares the entry of its feature with its threshold."""
        name, shape, bits = self._relation.name, self._shape, self._shape.entry_bits
        self._builder.boolean(f"{name}/right", self._right)
        wires = np.stack([each.ravel() for each in (self._threshold, self._entry, self._right)], axis=1)
        self._tools.ranged(f"{name}/margin", Linear.weighted(wires, np.array([1, -1, 1 << bits])), bits)
        index = np.add.outer(np.arange(shape.batch) * shape.stride, np.arange(shape.features)).ravel()
        repeats = self._feature.size // shape.paths
        feature, sample = Linear.wires(self._feature.ravel()), np.tile(self._sample, repeats)
        self._tools.look_up_among(
            f"{name}/entries",
            [Linear.constant(index), self._x],
            [feature.shift(sample * shape.stride), Linear.wires(self._entry.ravel())],
            feature.shift(sample * shape.features),
        )

    def exit(self) -> None:
        """The exits that the paths take are exits of the model."""
        relation, shape, tools = self._relation, self._shape, self._tools
        low = relation.value.bound.interval[0]
        value = Linear.wires(self._value.ravel())
        tools.ranged(f"{relation.name}/values", value, relation.value.bound.bits, low)
        if relation.steps > 1:
            blocks = Linear.wires(self._following.ravel())
            tools.ranged(f"{relation.name}/blocks", blocks, shape.block_bits)
        steps = [self._said(step) for step in range(relation.steps)]
        said = [_stacked(parts) for parts in zip(*steps, strict=True)]
        number = _stacked([self._exit(step) for step in range(relation.steps)])
        tools.look_up_among(f"{relation.name}/exits", self._packed(self._held()), self._packed(said), number)

    def _said(self, step: int) -> list[Linear]:
        """Return the values in the slots of the exits that paths take at ``step``."""
        relation = self._relation
        slots = [self._exit(step)]
        slots += [Linear.wires(wires) for wires in (*self._feature[step], *self._threshold[step])]
        if relation.following is not None:
            last = Linear.constant(np.full(self._shape.paths, relation.trees))
            slots.append(Linear.wires(self._following[step]) if step < relation.steps - 1 else last)
        return slots + [Linear.wires(wires) for wires in self._value[step].T]

    def _held(self) -> list[Linear]:
        """Return the values in the slots of all exits of the forest."""
        relation, shape, held = self._relation, self._shape, self._parameters
        blocks, count, levels = relation.value.shape[0], relation.value.shape[2], relation.levels
        block, leaving = np.divmod(np.arange(blocks * shape.exits), shape.exits)
        nodes = [
            block * shape.nodes + (1 << level) - 1 + (leaving >> levels - level) for level in range(levels)
        ]
        slots = [Linear.constant(np.arange(blocks * shape.exits))]
        slots += [held[each].take(node) for each in (relation.feature, relation.threshold) for node in nodes]
        slots += [] if relation.following is None else [held[relation.following]]
        every = np.arange(blocks * shape.exits) * count
        return slots + [held[relation.value].take(every + index) for index in range(count)]

    def _packed(self, slots: Sequence[Linear]) -> list[Linear]:
        packed = []
        for column in self._shape.columns(self._builder.capacity):
            widths = [self._shape.widths[slot] for slot in column]
            starts = np.cumsum([0, *widths[:-1]]).tolist()
            rows = np.arange(slots[0].rows)
            parts = [
                slots[slot].knit(rows, np.full(len(rows), start), len(rows))
                for slot, start in zip(column, starts, strict=True)
            ]
            packed.append(Linear.total(parts))
        return packed

    def sums(self) -> Linear:
        """The outputs: what the values add up to in their columns, mixed, and the base."""
        relation, batch = self._relation, self._shape.batch
        outputs = len(relation.mix)
        wires = self._value.reshape(relation.steps, batch, *relation.targets.shape)
        factors = relation.mix[:, relation.targets]
        output, tree, index = np.nonzero(factors)
        rows = np.arange(batch)[:, np.newaxis] * outputs + output
        shape = relation.steps, *rows.shape
        found = Linear(
            batch * outputs,
            np.broadcast_to(rows, shape).ravel(),
            wires[:, :, tree, index].ravel(),
            np.broadcast_to(factors[output, tree, index], shape).ravel(),
        )
        return found + self._parameters[relation.base].take(np.tile(np.arange(outputs), batch))


def _stacked(parts: Sequence[Linear]) -> Linear:
    """Their rows, one after the other."""
    before = np.cumsum([0, *(part.rows for part in parts)])
    return Linear(
        int(before[-1]),
        np.concatenate([part.row + start for part, start in zip(parts, before[:-1], strict=True)]),
        np.concatenate([part.column for part in parts]),
        np.concatenate([part.value for part in parts]),
    )
