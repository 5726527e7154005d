"""The places of the largest and the smallest entries: ArgMax, ArgMin, TopK and Hardmax. At the end of a
network, over its classes, these nodes are left out: the label is the same without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.calibration import Interval, without_outliers
from zenserve.circuits.graphs.node import Node, Number, QuantNode, Reading, Winning, dims
from zenserve.circuits.graphs.rescaling import exact
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, FloatArray, Shape, require
from zenserve.circuits.onnx.constants import Element
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.matmul import product
from zenserve.circuits.operators.moving import rearranged
from zenserve.circuits.operators.reshape import shaped
from zenserve.circuits.operators.scale import affine_of
from zenserve.circuits.operators.selection import placed
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Argmax, Linear, Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy

# Between the least entry of calibration and what is less than all, in reaches of these.
_ROOM: Final = 1 / 8


@dataclass(frozen=True, eq=False)
class TopK(Node):
    """Of each row of [rows, n] the places of the ``count`` largest entries, or smallest, in order, the first
    of equals first: [rows, count]."""

    called = "top"

    count: int
    smallest: bool

    def shape(self, *shapes: Shape) -> Shape:
        return _shape(self, shapes[0], self.count)

    def run(self, *inputs: FloatArray) -> FloatArray:
        return _places(inputs[0], self.count, self.smallest).astype(np.float64)

    def winning(self, x: FloatArray) -> Winning | None:
        return Winning.of(-x if self.smallest else x, self.count)

    def needed(self, at: int, reading: Reading) -> Interval:
        return ranking(reading.spans[at], reading.winning, smallest=self.smallest)

    def quantise(self, site: Site) -> QuantTopK:
        output = exact(Interval(0, site.shapes[0][1] - 1), site.name)
        return QuantTopK(site.name, site.inputs, self.count, self.smallest, output)


def ranking(span: Interval, winning: Winning | None, *, smallest: bool = False) -> Interval:
    """Return the part of ``span`` that decides which entries of rows are largest, or smallest. Outliers less
    than all other entries, such as masked ones, lose in any case."""
    if winning is None:
        return span
    room = (winning.high - winning.least) * _ROOM or 1.0
    part = Interval(winning.least - room, winning.high + room)
    return without_outliers(span, Interval(-part.high, -part.low) if smallest else part)


@dataclass(frozen=True, eq=False)
class QuantTopK(QuantNode):
    """The same of integers. ``output``: a type of scale 1 that has a place for each."""

    count: int
    smallest: bool
    output: Affine

    def shape(self, *shapes: Shape) -> Shape:
        return _shape(self, shapes[0], self.count)

    def execute(self, inputs: Sequence[IntArray], types: Sequence[Affine | None]) -> IntArray:
        return _places(inputs[0], self.count, self.smallest)

    def output_type(self, types: Sequence[Affine | None]) -> Affine | None:
        return self.output

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        plain = (self.output.scale, self.output.zero_point) == (1, 0) and shapes[0][1] - 1 <= self.output.top
        require(plain, f"node {self.name[:80]!r} needs a type of the places below {shapes[0][1]}")

    def relate(
        self, inputs: Sequence[Tensor], types: Sequence[Affine | None], privacy: Privacy
    ) -> list[Relation]:
        (value,), relations = inputs, list[Relation]()
        if self.smallest:
            low, high = value.bound.interval
            value = Tensor(f"{self.name}/opposite", value.shape, Bound.of(-high, -low))
            relations.append(Linear(value.name, value, (Term(inputs[0], -1),)))
        out = self._made(inputs, Bound.of(0, value.shape[-1] - 1), self.output.bits)
        return [*relations, Argmax(self.name, out, value)]


def _shape(node: Node | QuantNode, shape: Shape, count: int) -> Shape:
    if len(shape) != 2 or not 1 <= count <= shape[1]:
        raise node.refuse(f"takes the {count} first of each row of shape [batch, {dims(shape)}]")
    return shape[0], count


def _places(x: NDArray[Number], count: int, smallest: bool) -> IntArray:
    order: IntArray = np.argsort(x if smallest else -x, axis=-1, kind="stable")
    return order[..., :count]


class _Ranked:
    """The lines of a tensor along an axis, ranked."""

    def __init__(self, step: Step, axis: int, *, backwards: bool = False) -> None:
        self._step, whole = step, step.whole()
        (self.axis,) = step.axes([axis], len(whole))
        self.whole, self.size = whole, whole[self.axis]
        self.rest = (*whole[: self.axis], *whole[self.axis + 1 :])
        turn = -1 if backwards else 1

        def lines(places: IntArray) -> IntArray:
            return np.moveaxis(places, self.axis, -1).reshape(-1, self.size)[:, ::turn]

        data = Data(step.floats(), shape=whole)
        moved = rearranged(replace(step, inputs=[data]), lines, 0)
        assert isinstance(moved, Data)  # noqa: S101  what is moved is computed
        self.lines, (self.count, _) = moved, moved.shape or (0, 0)

    def places(self, count: int, smallest: bool) -> Data:
        """[lines, count]"""
        if not 1 <= count <= self.size:
            raise self._step.refuse("shape", f"takes {count} of {self.size} entries")
        read = shaped(self._step, self.lines, (1, self.count, self.size)).tensor
        made = Data(self._step.emit(TopK, (read,), count, smallest), shape=(1, self.count, count))
        return shaped(self._step, made, (self.count, count))

    def back(self, data: Data, kind: int | None) -> Data:
        """Move the entries [lines, count] of ``data`` back along the axis."""
        moved = shaped(self._step, data, (*self.rest, (data.shape or ())[-1]))
        made = rearranged(
            replace(self._step, inputs=[moved]), lambda places: np.moveaxis(places, -1, self.axis), 0
        )
        assert isinstance(made, Data)  # noqa: S101  what is moved is computed
        return replace(made, kind=kind)


def _extreme(step: Step, smallest: bool) -> Value:
    """ArgMax and ArgMin."""
    last = bool(step.attributes.get("select_last_index", 0))
    ranked = _Ranked(step, step.attributes.get("axis", 0), backwards=last)
    shape = list(ranked.whole)
    shape[ranked.axis : ranked.axis + 1] = [1] if step.attributes.get("keepdims", 1) else []
    if ranked.size == 1:
        return step.folded(np.zeros(shape), Element.INT64)
    places = ranked.places(1, smallest)
    if last:
        places = affine_of(step, places, -1.0, float(ranked.size - 1))
    made = replace(shaped(step, ranked.back(places, Element.INT64), tuple(shape)), kind=Element.INT64)
    if not smallest and not last:
        ranks(step, made.tensor, ranked.axis)
    return made


def largest(step: Step, scores: Data) -> Data:
    """The places [rows] of the largest of scores [rows, n], the first of equals."""
    read = replace(step, inputs=[scores])
    ranked = _Ranked(read, 1)
    if ranked.size == 1:
        raise step.refuse("shape", "compares the scores of one class")
    made = shaped(step, ranked.places(1, False), (ranked.count,))
    ranks(read, made.tensor, 1)
    return replace(made, kind=Element.INT64)


def ranks(step: Step, tensor: str, axis: int) -> None:
    """``tensor`` says of classes which is the largest, as those that the node reads do."""
    read, building = step.data().tensor, step.building
    if len(building.shapes[read]) == 1 and axis == len(step.whole()) - 1 == 1:
        building.ranked[tensor] = building.ranked.get(read, read)


def _top(step: Step) -> Sequence[Value]:
    ranked = _Ranked(step, step.attributes.get("axis", -1))
    (count,) = (step.integers("k", 1) or [0])[:1]
    places = ranked.places(count, not step.attributes.get("largest", 1))
    hot = shaped(step, placed(step, places, ranked.size), (ranked.count, count, ranked.size))
    values = product(step, hot, shaped(step, ranked.lines, (ranked.count, ranked.size, 1)))
    assert isinstance(values, Data)  # noqa: S101  of computed tensors
    values = shaped(step, values, (ranked.count, count))
    return ranked.back(values, step.value(0).kind), ranked.back(places, Element.INT64)


def _hard_max(step: Step) -> Value:
    whole = step.whole()
    ranked = _Ranked(step, step.attributes.get("axis", -1 if step.opset >= 13 else 1))
    if step.opset < 13 and ranked.axis < len(whole) - 1:
        raise step.refuse("unsupported_attribute", "runs over several axes; export it with opset 13 or more")
    hot = placed(step, ranked.places(1, False), ranked.size)
    return ranked.back(hot, step.value(0).kind)


_EXTREME = {"axis": "i", "keepdims": "i", "select_last_index": "i"}

ENTRY = Entry(
    onnx={
        "ArgMax": Operator(partial(_extreme, smallest=False), _EXTREME),
        "ArgMin": Operator(partial(_extreme, smallest=True), _EXTREME),
        "Hardmax": Operator(_hard_max, {"axis": "i"}),
        "TopK": Operator(_top, {"axis": "i", "k": "i", "largest": "i", "sorted": "i"}, 1, 2),
    },
    integers=(QuantTopK,),
)
