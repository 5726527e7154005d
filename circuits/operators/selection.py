"""Entries at places that are computed: a place becomes booleans, one for each place that there is, and these
times the entries are the entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.node import Constants, Node, QuantNode, Written
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, FloatArray, Shape, require
from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.step import Data, Operator, Step, Value, of_kind
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.matmul import floats, product, reshaped, shape_of
from zenserve.circuits.operators.moving import gather, gather_elements, gather_nd, rearranged
from zenserve.circuits.operators.multiply import multiply
from zenserve.circuits.operators.reshape import shaped
from zenserve.circuits.operators.scale import affine_of
from zenserve.errors import ModelError, TensorError
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import Tabulation
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import OneHot as OneHotRelation
from zenserve.relations.relation import Relation, Tabulated, Tensor
from zenserve.verifier.schemes import Privacy

_BOOLEAN = Affine(1.0, 0, 1)
# Of places. A boolean for each of them is a row.
_MOST_BITS: Final = 20
# In place of a place.
_NONE: Final = -1
_REFUSED: Final = -2

Outside = Literal["nearest", "none", "refused"]


@dataclass(frozen=True, eq=False)
class OneHot(Node):
    """The one-hot encoding of places, [.., size]. Where it ``wraps``, negative places count from the end.

    ``outside``: a place beyond either end counts as the nearest one, as none, or is refused.
    """

    called = "place"
    widest = _MOST_BITS

    size: int
    outside: Outside = "nearest"
    wraps: bool = True

    @property
    def tells_apart(self) -> bool:
        return True

    def shape(self, *shapes: Shape) -> Shape:
        return (*shapes[0], self.size)

    def run(self, *inputs: FloatArray) -> FloatArray:
        columns = self._columns(inputs[0])
        _require_taken(self.name, self.size, columns)
        return _booleans(columns, self.size).astype(np.float64)

    def _columns(self, x: FloatArray) -> IntArray:
        """The place of each number, ``_NONE`` and ``_REFUSED`` where there is none."""
        place = np.rint(x)
        place = np.where((place < 0) & self.wraps, place + self.size, place)
        nearest = np.clip(place, 0, self.size - 1)
        columns: IntArray = nearest.astype(np.int64)
        if self.outside != "nearest":
            columns[place != nearest] = _NONE if self.outside == "none" else _REFUSED
        return columns

    def quantise(self, site: Site) -> QuantOneHot:
        kind = site.incoming()
        places = self._columns(kind.real(np.arange(kind.top + 1)))
        return QuantOneHot(site.name, site.inputs, places, self.size)

    def written(self, constant: Constants) -> Written:
        raise ModelError("model.unsupported_operator", "places of real numbers are no ONNX operator")


def _require_taken(name: str, size: int, columns: IntArray) -> None:
    """``TensorError`` where one is refused."""
    if (columns == _REFUSED).any():
        reason = f"node {name[:80]!r} has {size} entries, and an input names another"
        raise TensorError("input.out_of_range", reason, field="input")


def _booleans(columns: IntArray, size: int) -> IntArray:
    booleans: IntArray = (columns[..., np.newaxis] == np.arange(size)).astype(np.int64)
    return booleans


@dataclass(frozen=True, eq=False)
class QuantOneHot(QuantNode):
    """The one-hot encoding [.., size] of ``places[q]``; -1 is none of the places, -2 is refused."""

    places: IntArray = field(repr=False)
    size: int

    def shape(self, *shapes: Shape) -> Shape:
        return (*shapes[0], self.size)

    def execute(self, inputs: Sequence[IntArray], types: Sequence[Affine | None]) -> IntArray:
        columns = self.places[inputs[0]]
        _require_taken(self.name, self.size, columns)
        return _booleans(columns, self.size)

    def takes(self) -> NDArray[np.bool_]:
        taken: NDArray[np.bool_] = self.places != _REFUSED
        return taken

    def output_type(self, types: Sequence[Affine | None]) -> Affine | None:
        return _BOOLEAN

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        name, entries = self.name[:80], types[0].top + 1
        require(self.places.shape == (entries,), f"node {name!r} needs a table of {entries} places")
        inside = (self.places >= _REFUSED) & (self.places < self.size)
        require(self.size >= 1 and bool(inside.all()), f"node {name!r} has places beyond {self.size}")

    def relate(
        self, inputs: Sequence[Tensor], types: Sequence[Affine | None], privacy: Privacy
    ) -> list[Relation]:
        (value,), out = inputs, self._made(inputs, Bound.of(0, 1), _BOOLEAN.bits)
        own = self.places[: np.count_nonzero(self.takes())]
        closed = len(own) < len(self.places)
        if np.array_equal(own, np.arange(len(own))) and not (closed and len(own) < self.size):
            return [OneHotRelation(self.name, out, value, closed)]
        # What is none of them has a place of its own, that nobody sees, and what is refused has none.
        function = Tabulation(np.where(self.places < 0, self.size, self.places))
        place = Tensor(f"{self.name}/place", value.shape, function.bound, self.size.bit_length())
        return [
            Tabulated(f"{self.name}/place", place, value, function),
            OneHotRelation(self.name, out, place, closed),
        ]


def placed(step: Step, index: Data, size: int, *, outside: Outside = "nearest", wraps: bool = True) -> Data:
    """Of ``count`` places in all the booleans [count, size]. ``outside``, ``wraps``: as of ``OneHot``; one
    that inputs name, and nothing computes, is refused where it would be the nearest."""
    count = math.prod(index.shape or ())
    vector = shaped(step, index, (1, count)).tensor
    if outside == "nearest" and step.building.is_given(vector):
        outside = "refused"
    hot = step.emit(OneHot, (vector,), size, outside, wraps)
    return shaped(step, Data(hot, shape=(1, count, size)), (count, size))


def flat_places(step: Step, position: int, sizes: Shape) -> Value:
    """Of computed places, each so many numbers as there are sizes, the booleans [count, all of these]."""
    index, count = _index(step, position), math.prod(step.whole(position)[:-1])
    step.spend(count * math.prod(sizes))
    made: Value = Constant(np.ones((count, 1)), Element.FLOAT)
    for axis, size in enumerate(sizes):
        column = _moved(step, index, partial(np.take, indices=axis, axis=-1))
        assert isinstance(column, Data)  # noqa: S101  what is moved is computed
        if size == 1 and not step.building.is_given(column.tensor):
            continue  # there is but one place, and nothing to refuse
        hot: Value = placed(step, column, size)
        ahead = shape_of(made)[-1]
        if ahead > 1:
            both = [reshaped(step, made, (count, ahead, 1)), reshaped(step, hot, (count, 1, size))]
            hot = reshaped(step, multiply(replace(step, inputs=both)), (count, ahead * size))
        made = hot
    return made


def selected(step: Step) -> Value:
    """Gather by places of either kind."""
    if not step.is_data(1):
        return gather(step)
    whole, wanted = step.whole(0), step.whole(1)
    (axis,) = step.axes([step.attributes.get("axis", 0)], len(whole))
    size, rest = whole[axis], (*whole[:axis], *whole[axis + 1 :])
    entries = reshaped(step, _in_front(step, floats(step, 0), axis), (size, math.prod(rest)))
    made = product(step, placed(step, _index(step, 1), size), entries)
    behind = [*range(len(wanted), len(wanted) + len(rest))]
    order = [*behind[:axis], *range(len(wanted)), *behind[axis:]]
    moved = _moved(step, reshaped(step, made, (*wanted, *rest)), lambda places: places.transpose(order))
    return of_kind(moved, step.value(0).kind)


def _gather_elements(step: Step) -> Value:
    if not step.is_data(1):
        return gather_elements(step)
    whole, wanted = step.whole(0), step.whole(1)
    (axis,) = step.axes([step.attributes.get("axis", 0)], len(whole))
    size, count = whole[axis], math.prod(wanted)
    if len(wanted) != len(whole) or any(
        want > size for i, (want, size) in enumerate(zip(wanted, whole, strict=True)) if i != axis
    ):
        raise step.refuse("shape", f"takes entries at {[*wanted]} of shape {[*whole]}")
    step.spend(count * size)

    def lines(places: IntArray) -> IntArray:
        """The entries along the axis for each place that is wanted."""
        inside = tuple(slice(None if i == axis else want) for i, want in enumerate(wanted))
        along = np.expand_dims(np.moveaxis(places[inside], axis, -1), axis)
        return np.broadcast_to(along, (*wanted, size)).reshape(count, size, 1)

    hot = reshaped(step, placed(step, _index(step, 1), size), (count, 1, size))
    made = product(step, hot, _moved(step, floats(step, 0), lines))
    return of_kind(reshaped(step, made, wanted), step.value(0).kind)


def _gather_nd(step: Step) -> Value:
    if not step.is_data(1):
        return gather_nd(step)
    whole, wanted, batch = step.whole(), step.whole(1), step.attributes.get("batch_dims", 0)
    depth = wanted[-1] if wanted else 0
    if (
        not 0 <= batch < len(wanted)
        or wanted[:batch] != whole[:batch]
        or not 1 <= depth <= len(whole) - batch
    ):
        raise step.refuse("shape", f"takes entries at {[*wanted]} of shape {[*whole]}")
    sizes, rest = whole[batch : batch + depth], whole[batch + depth :]
    groups, each = math.prod(whole[:batch]), math.prod(wanted[batch:-1])
    hot = reshaped(step, flat_places(step, 1, sizes), (groups, each, math.prod(sizes)))
    entries = reshaped(step, floats(step, 0), (groups, math.prod(sizes), math.prod(rest)))
    made = reshaped(step, product(step, hot, entries), (*wanted[:-1], *rest))
    return of_kind(made, step.value(0).kind)


def _one_hot(step: Step) -> Value:
    whole = step.whole(0)
    depth, ends = int(step.number(1, 0)), step.plain(2)
    (axis,) = step.axes([step.attributes.get("axis", -1)], len(whole) + 1)
    if depth < 1 or ends.array.shape != (2,):
        raise step.refuse("shape", f"has {depth} places and {ends.array.size} values for them")
    step.spend(math.prod(whole) * depth)
    off, on = ends.array.tolist()
    if not step.is_data(0):
        node = OneHot("constant", (), depth, "none")
        hot: Value = Constant(node.run(step.plain(0).array.astype(np.float64)) * (on - off) + off, ends.kind)
    else:
        hot = reshaped(step, placed(step, _index(step, 0), depth, outside="none"), (*whole, depth))
        if (off, on) != (0, 1):
            assert isinstance(hot, Data)  # noqa: S101  what is made of a computed tensor is one
            hot = affine_of(step, hot, float(on - off), float(off))
    return of_kind(_moved(step, hot, lambda places: np.moveaxis(places, -1, axis)), ends.kind)


def _in_front(step: Step, value: Value, axis: int) -> Value:
    """With this axis first; a vocabulary has it there, and is long."""
    return _moved(step, value, lambda places: np.moveaxis(places, axis, 0)) if axis else value


def _index(step: Step, position: int) -> Data:
    return Data(step.floats(position), shape=step.whole(position))


def _moved(step: Step, value: Value, places: Callable[[IntArray], IntArray]) -> Value:
    return rearranged(replace(step, inputs=[value]), places, 0)


ENTRY = Entry(
    onnx={
        "Gather": Operator(selected, {"axis": "i"}, 2, 2),
        "GatherElements": Operator(_gather_elements, {"axis": "i"}, 2, 2),
        "GatherND": Operator(_gather_nd, {"batch_dims": "i"}, 2, 2),
        "OneHot": Operator(_one_hot, {"axis": "i"}, 3, 3),
    },
    integers=(QuantOneHot,),
)
