"""Softmax and LogSoftmax, made of largest entries, exponentials and their sums. At the end of a network, over
its classes, they are left out: the label is the same without.

The integers of a Softmax are quotients, rounded once: exponentials come from a table, of whole differences,
with more bits than tensors have, and their sum is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial, reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs import rescaling
from zenserve.circuits.graphs.calibration import Interval, without_outliers
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Constants, Node, QuantNode, Reading, Winning, Written, dims
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import (
    MOST_BITS,
    MOST_SHIFT,
    Affine,
    FloatArray,
    Shape,
    require,
    require_narrow,
)
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.add import Sub
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.largest import ranks
from zenserve.circuits.operators.masks import Only
from zenserve.circuits.operators.moving import broadcast, picked
from zenserve.circuits.operators.multiply import Div
from zenserve.circuits.operators.quantise_linear import declared_at, integer, typed
from zenserve.circuits.operators.reduce import Rows, function
from zenserve.circuits.operators.reshape import shaped
from zenserve.errors import ModelError
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import Requantisation, Tabulation
from zenserve.relations.integers import JSON_LIMIT, IntArray
from zenserve.relations.planes import Sliding
from zenserve.relations.relation import (
    Linear,
    Lookup,
    Maximum,
    Move,
    Quotient,
    Relation,
    Tabulated,
    Tensor,
    Term,
    WindowSum,
)
from zenserve.verifier.schemes import Privacy

# Bits that an exponential has beyond those of the shares.
_FINER: Final = 6


@dataclass(frozen=True, eq=False)
class Softmax(Node):
    """Of each row of [1, rows, n] the exponentials, divided by their sum. ``kept`` [rows, n]: whether an
    entry is one of these, 1 or 0, else its share is 0; None for all."""

    called = "softmax"

    kept: IntArray | None = field(default=None, repr=False)

    def shape(self, *shapes: Shape) -> Shape:
        return _rows(self, shapes[0], self.kept)

    def run(self, *inputs: FloatArray) -> FloatArray:
        (x,) = inputs
        if self.kept is not None:
            x = np.where(self.kept, x, -np.inf)
        exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
        shares: FloatArray = exponentials / exponentials.sum(axis=-1, keepdims=True)
        return shares

    def winning(self, x: FloatArray) -> Winning | None:
        if self.kept is not None:
            x = np.where(self.kept, x, x.min())
        return Winning.of(x)

    def needed(self, at: int, reading: Reading) -> Interval:
        """Return the part of the input's interval that matters: below it, a share of its row is less than
        half a step and becomes 0."""
        span, won = reading.spans[at], reading.winning
        if won is None:
            return span
        least = won.low - math.log(2) * (reading.bits + 1)
        return without_outliers(span, Interval(min(won.least, least), won.high))

    def quantise(self, site: Site) -> QuantSoftmax:
        """Quantise the node. If a share may reach a half, and the type is not fixed, the output has a type
        for all shares from 0 to 1."""
        kind, output = site.incoming(), site.output()
        if site.fixed is None and 2 * output.scale * output.top > 1:
            output = rescaling.affine(Interval(0, 1), site.settings.bits, site.name)
        exact = np.exp(-kind.scale * np.arange(kind.top + 1))
        exponentials = np.rint(exact * ((1 << output.bits + _FINER) - 1)).astype(np.int64)
        ratio = np.array([1 / output.scale])
        multiplier, shift = rescaling.approximate(ratio, 1 / (8 * output.top))
        return QuantSoftmax(
            site.name, site.inputs, exponentials, self.kept, int(multiplier[0]), shift, output
        )

    def written(self, constant: Constants) -> Written:
        if self.kept is not None:
            raise ModelError("model.unsupported_operator", "ONNX has no Softmax of some entries alone")
        return Written("Softmax", (), {"axis": -1})


def declared_shares(graph: Graph) -> Graph:
    """Shares have the type that the file declares of them behind what moves them: they are rounded once. A
    Softmax saturates to its type itself, so that the Clip of the type is nothing more."""
    readers, makers = graph.readers, dict[str, Node]()
    declared, renamed = dict(graph.declared), dict[str, str]()
    for node in graph.nodes:
        node = replace(node, inputs=tuple(renamed.get(name, name) for name in node.inputs))
        chain = [node.inputs[0]]
        while (maker := makers.get(chain[-1])) and maker.permutes:
            chain.append(maker.inputs[0])
        alone = all(readers[name] == 1 and name not in declared for name in chain)
        if isinstance(node, Clip) and node.name in declared and isinstance(maker, Softmax) and alone:
            declared |= dict.fromkeys(chain, declared.pop(node.name))
            renamed[node.name] = chain[0]
        else:
            makers[node.name] = node
    if not renamed:
        return graph
    return replace(
        graph,
        nodes=tuple(makers.values()),
        outputs={name: renamed.get(tensor, tensor) for name, tensor in graph.outputs.items()},
        declared=declared,
        tied={renamed.get(one, one): renamed.get(other, other) for one, other in graph.tied.items()},
    )


@dataclass(frozen=True, eq=False)
class QuantSoftmax(QuantNode):
    """``round(multiplier / 2^shift · e / sum e)`` with ``e = exponentials[largest - q]``, 0 where an entry is
    not ``kept``, clamped to the type ``output``."""

    exponentials: IntArray = field(repr=False)
    kept: IntArray | None = field(repr=False)
    multiplier: int
    shift: int
    output: Affine

    def shape(self, *shapes: Shape) -> Shape:
        return _rows(self, shapes[0], self.kept)

    def execute(self, inputs: Sequence[IntArray], types: Sequence[Affine | None]) -> IntArray:
        kept = 1 if self.kept is None else self.kept
        less = (inputs[0] * kept).max(axis=-1, keepdims=True) - inputs[0]
        exponentials = self.exponentials[np.maximum(less, 0)] * kept
        divisor = exponentials.sum(axis=-1, keepdims=True) << self.shift
        shares = (2 * self.multiplier * exponentials + divisor) // (2 * divisor)
        made: IntArray = np.minimum(shares + self.output.zero_point, self.output.top)
        return made

    def output_type(self, types: Sequence[Affine | None]) -> Affine | None:
        return self.output

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        name, entries = self.name[:80], types[0].top + 1
        require(self.exponentials.shape == (entries,), f"node {name!r} needs a table of {entries} integers")
        first, least = int(self.exponentials[0]), int(self.exponentials.min())
        fits = first > 0 <= least and self._most < 1 << MOST_BITS + _FINER
        require(fits, f"node {name!r} has exponentials beyond {MOST_BITS + _FINER} bits, or none of 1")
        fits = 0 < self.multiplier < JSON_LIMIT and 0 <= self.shift <= MOST_SHIFT
        require(fits, f"node {name!r} has a multiplier or a shift beyond its limits")
        divisor = shapes[0][-1] * self._most << self.shift + 1
        require_narrow(self.name, divisor << self._largest.bit_length() + 2)

    @property
    def _most(self) -> int:
        return int(self.exponentials.max())

    @property
    def _largest(self) -> int:
        """A share of all, before the zero point."""
        return (2 * self.multiplier + (1 << self.shift)) // (2 << self.shift)

    def relate(
        self, inputs: Sequence[Tensor], types: Sequence[Affine | None], privacy: Privacy
    ) -> list[Relation]:
        (value,), (*ahead, length) = inputs, inputs[0].shape
        row, bits, (least, most) = (*ahead, 1), value.bits, value.bound.interval
        sliding = Sliding(value.shape[1:], (1, length), (1, length), (0, 0, 0, 0), value.shape[1])
        left = np.ones(value.shape[2:], np.bool_) if self.kept is None else self.kept != 0
        rows, index = np.nonzero(left)[0], np.arange(left.size).reshape(value.shape[1:])
        # Of a row with gaps the first entry fills them where the largest is taken, and zeros in its sum.
        at = np.where(left, left.cumsum().reshape(left.shape) - 1, -1)[np.newaxis]
        first = index[0, np.arange(len(left)), left.argmax(axis=1)][:, np.newaxis]
        entries, relations = value, list[Relation]()
        if self.kept is not None:
            filled = self._part("filled", value.shape, value.bound, bits)
            entries = self._part("entries", (value.shape[0], 1, 1, len(rows)), value.bound, bits)
            relations.append(Move(filled.name, filled, (value,), np.where(left, index, first)))
            relations.append(Move(entries.name, entries, (value,), index[:, left][np.newaxis]))
            value = filled
        shape = entries.shape
        largest = self._part("largest", row, Bound.of(least, most), bits)
        spread = self._part("spread", shape, largest.bound, bits)
        less = self._part("less", shape, Bound.of(0, most - least))
        powers = self._part("exponentials", shape, Bound.of(0, self._most), self._most.bit_length())
        relations += [
            Maximum(largest.name, largest, value, sliding),
            Move(spread.name, spread, (largest,), rows.reshape(shape[1:])),
            Linear(less.name, less, (Term(spread), Term(entries, -1))),
            Tabulated(powers.name, powers, less, Tabulation(self.exponentials)),
        ]
        summed = powers
        if self.kept is not None:
            summed = self._part("summed", value.shape, powers.bound, powers.bits)
            relations.append(Move(summed.name, summed, (powers,), at, 0))
        sums = self._part("sum", row, Bound.of(int(self.exponentials[0]), length * self._most))
        relations.append(WindowSum(sums.name, sums, Term(summed), sliding))
        relations += self._divided(powers, sums, rows)
        if self.kept is not None:
            shares, zero = relations[-1].out, self.output.zero_point
            out = self._made(inputs, shares.bound, shares.bits)
            relations.append(Move(f"{self.name}/back", out, (shares,), at, zero))
        return relations

    def _divided(self, powers: Tensor, sums: Tensor, rows: IntArray) -> list[Relation]:
        """Clamped where some shares are beyond the type."""
        zero, top, bound = self.output.zero_point, self.output.top, Bound.of(0, self._largest)
        plain = zero == 0 and self._largest <= top
        shares = self._part("shares", powers.shape, bound, self.output.bits if plain else None)
        quotient = Quotient(self.name, shares, powers, sums, rows, self.multiplier, self.shift)
        if plain:
            return [quotient]
        typed = self._part("typed", powers.shape, Bound.of(zero, top), self.output.bits)
        return [quotient, Lookup(self.name, typed, shares, Requantisation(np.array([1]), zero, 0, zero, top))]

    def _part(self, part: str, shape: Shape, bound: Bound, bits: int | None = None) -> Tensor:
        return Tensor(f"{self.name}/{part}", shape, bound, bits)

    def scales(self) -> dict[str, Any] | None:
        shown = {
            "exponentials": self.exponentials.tolist(),
            "multiplier": self.multiplier,
            "shift": self.shift,
            "output": asdict(self.output),
        }
        return {"name": self.name, "rescale": shown}


def _rows(node: Node | QuantNode, shape: Shape, kept: IntArray | None) -> Shape:
    if len(shape) != 3 or shape[0] != 1:
        raise node.refuse(f"takes rows [batch, 1, rows, n], not [batch, {dims(shape)}]")
    if kept is not None and (
        kept.shape != shape[1:] or not np.isin(kept, (0, 1)).all() or not kept.any(1).all()
    ):
        raise node.refuse(f"leaves out other entries than those of [{dims(shape[1:])}], or whole rows")
    return shape


def _softmax(step: Step, logarithm: bool) -> Value:
    """Before opset 13 it runs over all axes from ``axis`` on."""
    rank = len(step.whole())
    (axis,) = step.axes([step.attributes.get("axis", -1 if step.opset >= 13 else 1)], rank)
    axes = [axis] if step.opset >= 13 else [*range(axis, rank)]
    made = softmax(step, Data(step.floats(), shape=step.whole()), axes, logarithm=logarithm)
    ranks(step, made.tensor, axis)
    return made


def softmax(
    step: Step, data: Data, axes: Sequence[int], *, logarithm: bool = False, masks: Sequence[Data] = ()
) -> Data:
    """Over these axes together, of what masks leave, these and what is added before; they leave all to
    logarithms."""
    whole, known = data.shape or (), step.building.masked.get(data.tensor)
    if known is not None and isinstance(known.before, Data) and not logarithm:
        before, *added = (
            shaped(step, broadcast(step, each, known.shape), whole)
            for each in (known.before, *known.kept)
            if isinstance(each, Data)
        )
        kept = np.ones(known.shape, np.bool_)
        for each in known.kept:
            kept &= each if not isinstance(each, Data) else True
        kept = kept.reshape(whole)
        if kept.any(axis=tuple(axes)).all():
            return _over(step, before, axes, kept=kept, masks=[*added, *masks])
    return _over(step, data, axes, logarithm=logarithm, masks=masks)


def _over(
    step: Step,
    data: Data,
    axes: Sequence[int],
    *,
    logarithm: bool = False,
    kept: NDArray[np.bool_] | None = None,
    masks: Sequence[Data] = (),
) -> Data:
    """Less the largest, exponentials are 1 at most and their sums no less. What is not ``kept`` is 0, and of
    it nothing is computed; what the masks leave out becomes the least score there is, then 0."""
    rows = Rows(step, data, axes)
    if rows.length == 1 and not logarithm:
        return rows.back(function(step, rows.image, "0.0 * x + 1.0"))
    if not logarithm and not masks:
        some = None if kept is None or kept.all() else rows.ordered(kept).astype(np.int64)
        return rows.back(step.emit(Softmax, (rows.image,), some))
    left = np.ones((rows.count, rows.length), np.bool_) if kept is None else rows.ordered(kept)
    row, _ = np.nonzero(left)
    shape = left.shape if left.all() else (1, len(row))
    at = np.full(left.shape, -1)
    at[left] = np.arange(len(row))

    def taken(places: IntArray, image: str, of: Shape) -> str:
        return picked(step, places[np.newaxis, np.newaxis], [Data(image, shape=(1, 1, *of))]).tensor

    def spread(column: str) -> str:
        return taken(row.reshape(shape), column, (rows.count, 1))

    def gathered(image: str, places: IntArray) -> str:
        return taken(places, image, shape)

    chosen, whole = np.flatnonzero(left).reshape(shape), left.shape
    only = [taken(chosen, Rows(step, mask, axes).image, whole) for mask in masks]
    scores = reduce(partial(_only, step), only, taken(chosen, rows.image, whole))
    first = at[np.arange(rows.count), left.argmax(axis=1)]
    largest = rows.largest(gathered(scores, np.where(left, at, first[:, np.newaxis])))
    less = step.emit(Sub, (scores, spread(largest)))
    exponentials = reduce(partial(_only, step), only, function(step, less, "exp(x)"))
    sums = rows.sums(gathered(exponentials, at))
    if logarithm:
        made = step.emit(Sub, (less, spread(function(step, sums, "log(x)"))))
    else:
        # The largest is 1, unless masks leave nothing of a row: its shares are 0.
        made = step.emit(Div, (exponentials, spread(function(step, sums, "max(x, 0.5)"))))
    return rows.back(gathered(made, at))


def _only(step: Step, image: str, mask: str) -> str:
    return step.emit(Only, (image, mask))


def _linear_softmax(step: Step) -> Value:
    data = Data(integer(step, 0), shape=step.whole())
    (axis,) = step.axes([step.attributes.get("axis", -1)], len(step.whole()))
    if step.attributes.get("opset", 13) < 13 and axis < len(step.whole()) - 1:
        raise step.refuse("unsupported_attribute", "runs over several axes; export it with opset 13 or more")
    made = typed(step, softmax(step, data, [axis]).tensor, declared_at(step, 3))
    ranks(step, made.tensor, axis)
    return made


_AXIS = {"axis": "i"}

ENTRY = Entry(
    onnx={
        "LogSoftmax": Operator(partial(_softmax, logarithm=True), _AXIS),
        "Softmax": Operator(partial(_softmax, logarithm=False), _AXIS),
    },
    integers=(QuantSoftmax,),
    passes=(declared_shares,),
    microsoft={"QLinearSoftmax": Operator(_linear_softmax, {"axis": "i", "opset": "i"}, 5, 5)},
)
