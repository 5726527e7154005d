"""ONNX operators that only move values: they select, reorder and repeat entries, and put zeros between them.

Each operator is a function of places, which gives the source of every entry of its output. It applies to
constants as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from zenserve.circuits.graphs.node import dims
from zenserve.circuits.graphs.types import Shape
from zenserve.circuits.onnx.constants import MOST_DIMENSIONS, Constant, Element
from zenserve.circuits.onnx.naming import where
from zenserve.circuits.onnx.step import Data, Operator, Step, Value, typed_shape
from zenserve.circuits.operators.concat import Concat, joined
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.gather import Gather
from zenserve.circuits.operators.pad import Pad
from zenserve.circuits.operators.reshape import shaped
from zenserve.relations.integers import IntArray

# So many entries that are looked at take as long as one that is kept, and any move as long as so many.
_LOOKED_AT: Final = 8
_LEAST: Final = 1 << 8

Places = Callable[..., IntArray]
"""From arrays with the place of each entry, one for each input, to the places that the output's entries come
from; -1 is zero.
"""


def rearranged(step: Step, places: Places, *positions: int) -> Value:
    """The entries of the inputs at these positions, moved. All of them are computed, or none. Of no entries
    they are a constant."""
    wholes = [step.whole(position) for position in positions]
    step.spend(_LEAST + sum(map(math.prod, wholes)) // _LOOKED_AT)
    ends = np.cumsum([math.prod(whole) for whole in wholes]).tolist()
    found = places(
        *(
            np.arange(end - math.prod(whole), end).reshape(whole)
            for whole, end in zip(wholes, ends, strict=True)
        )
    )
    if not found.size:
        first = step.value(positions[0])
        return step.folded(np.zeros(found.shape), first.kind or Element.FLOAT)
    if any(step.is_data(position) for position in positions):
        step.spend(found.size)
        return picked(step, found, [step.data(position) for position in positions])
    parts = [step.plain(position) for position in positions]
    if len({part.array.dtype for part in parts}) > 1:
        raise step.refuse("tensor_type", "joins constants of different types")
    zero = np.zeros(1, parts[0].array.dtype)
    entries = np.concatenate([*(part.array.ravel() for part in parts), zero])
    made = Constant(np.asarray(entries[found]), parts[0].kind)
    step.allowance.hold(made.array, where(step.node))
    return made


def picked(step: Step, places: IntArray, data: Sequence[Data]) -> Data:
    """The entries of computed tensors at these places among all of them."""
    if not places.size:
        raise step.refuse("shape", f"makes an empty tensor of shape {[*places.shape]}")
    data = joined(step, data, filled=bool(places.min() < 0))
    kind, sizes = data[0].integer, [math.prod(step.building.shapes[each.tensor]) for each in data]
    if len(data) == 1 and np.array_equal(places.ravel(), np.arange(sizes[0])):
        return shaped(step, data[0], places.shape)
    vectors = tuple(shaped(step, each, (1, size)).tensor for each, size in zip(data, sizes, strict=True))
    vector = step.emit(Concat, vectors) if len(vectors) > 1 else vectors[0]
    if places.min() < 0:
        vector = step.emit(Pad, (vector,), ((0, 1),))
        places = np.where(places < 0, sum(sizes), places)
    # A copy: a view of a few places would keep all of them.
    made = step.emit(Gather, (vector,), places.reshape(typed_shape(places.shape)).copy())
    return Data(made, kind, shape=places.shape)


def broadcast(step: Step, data: Data, shape: Shape) -> Data:
    """The tensor, repeated to fill this ONNX shape."""
    whole = data.shape or ()
    if whole == shape:
        return data
    step.spend(math.prod(shape))
    return picked(step, np.broadcast_to(np.arange(math.prod(whole)).reshape(whole), shape), [data])


def aligned(step: Step, data: Sequence[Data]) -> tuple[list[Data], Shape]:
    """Tensors, each repeated to fill the ONNX shape that all broadcast to."""
    wholes = [each.shape or () for each in data]
    try:
        shape = np.broadcast_shapes(*wholes)
    except ValueError:
        said = " and ".join(f"[{dims(whole)}]" for whole in wholes)
        raise step.refuse("shape", f"combines the shapes {said}") from None
    return [broadcast(step, each, shape) for each in data], shape


def together(step: Step) -> tuple[str, str, Shape]:
    """Two computed inputs of floats, each repeated to fill the ONNX shape that both broadcast to."""
    both = [replace(step.data(at), tensor=step.floats(at), shape=step.whole(at)) for at in (0, 1)]
    (left, right), shape = aligned(step, both)
    return left.tensor, right.tensor, shape


def _slice(step: Step) -> Value:
    whole = step.whole()
    starts, ends = step.numbers("starts", 1), step.numbers("ends", 2)
    axes = step.axes(step.integers("axes", 3) or range(len(starts)), len(whole))
    strides = step.integers("steps", 4) or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(strides) or 0 in strides:
        raise step.refuse("shape", "needs one start, end and step for each axis, no step 0")
    taken = [slice(None)] * len(whole)
    for axis, start, end, stride in zip(axes, starts, ends, strides, strict=True):
        # Before the first entry, in ONNX at any number below -size, a start is 0 and an end None to Python.
        start, before = max(start, -whole[axis]), end < -whole[axis] and stride < 0
        taken[axis] = slice(start, None if before else end, stride)
    return rearranged(step, lambda places: places[tuple(taken)], 0)


def gather(step: Step) -> Value:
    """By places that the file holds."""
    whole = step.whole()
    (axis,) = step.axes([step.attributes.get("axis", 0)], len(whole))
    wanted = indices(step, 1, whole[axis])
    step.spend(wanted.size * math.prod(whole) // max(1, whole[axis]))
    return rearranged(step, lambda places: places.take(wanted, axis), 0)


def gather_elements(step: Step) -> Value:
    """By places that the file holds."""
    whole = step.whole()
    (axis,) = step.axes([step.attributes.get("axis", 0)], len(whole))
    wanted = indices(step, 1, whole[axis])
    if wanted.ndim != len(whole) or any(
        wanted.shape[other] > size for other, size in enumerate(whole) if other != axis
    ):
        raise step.refuse("shape", f"takes entries at {[*wanted.shape]} of shape {[*whole]}")
    inside = tuple(slice(None if i == axis else size) for i, size in enumerate(wanted.shape))
    return rearranged(step, lambda places: np.take_along_axis(places[inside], wanted, axis), 0)


def gather_nd(step: Step) -> Value:
    """By places that the file holds."""
    whole, batch = step.whole(), step.attributes.get("batch_dims", 0)
    wanted = step.plain(1).array
    depth = wanted.shape[-1] if wanted.ndim else 0
    if not 0 <= batch < len(whole) or wanted.shape[:batch] != whole[:batch] or batch + depth > len(whole):
        raise step.refuse("shape", f"takes entries at {[*wanted.shape]} of shape {[*whole]}")
    step.spend(math.prod((*wanted.shape[:-1], *whole[batch + depth :])))
    columns = [within(step, wanted[..., i], whole[batch + i]) for i in range(depth)]
    outer = tuple(
        np.arange(size).reshape([size if i == axis else 1 for i in range(wanted.ndim - 1)])
        for axis, size in enumerate(whole[:batch])
    )
    return rearranged(step, lambda places: places[(*outer, *columns)], 0)


def indices(step: Step, position: int, size: int) -> IntArray:
    """A constant of places along an axis of this size, from zero."""
    return within(step, step.plain(position).array, size)


def within(step: Step, wanted: IntArray, size: int) -> IntArray:
    """Constant places along an axis of this size, from zero."""
    if wanted.dtype != np.int64 or not ((wanted >= -size) & (wanted < size)).all():
        raise step.refuse("shape", f"takes entries outside an axis of {size}")
    return np.where(wanted < 0, wanted + size, wanted)


def _split(step: Step) -> Sequence[Value]:
    whole, parts = step.whole(), len(step.node.output)
    (axis,) = step.axes([step.attributes.get("axis", 0)], len(whole))
    size = whole[axis]
    each = -(-size // parts)
    sizes = step.integers("split", 1) or [*[each] * (parts - 1), size - each * (parts - 1)]
    if len(sizes) != parts or min(sizes) < 0 or sum(sizes) != size:
        raise step.refuse("shape", f"splits an axis of {size} into {sizes}, {parts} outputs")
    ends = np.cumsum(sizes).tolist()

    def part(end: int, count: int, places: IntArray) -> IntArray:
        return places.take(range(end - count, end), axis)

    return [rearranged(step, partial(part, end, count), 0) for end, count in zip(ends, sizes, strict=True)]


def _expand(step: Step) -> Value:
    target = step.numbers("shape", 1)
    if len(target) > MOST_DIMENSIONS:
        raise step.refuse("shape", f"expands to {len(target)} dimensions")
    try:
        shape = np.broadcast_shapes(step.whole(), tuple(target))
    except ValueError:
        raise step.refuse("shape", f"expands [{dims(step.whole())}] to another shape") from None
    step.spend(math.prod(shape))
    return rearranged(step, lambda places: np.broadcast_to(places, shape), 0)


def _tile(step: Step) -> Value:
    repeats, whole = step.numbers("repeats", 1), step.whole()
    if len(repeats) != len(whole) or min(repeats, default=1) < 1:
        raise step.refuse("shape", f"repeats {len(whole)} axes {repeats} times")
    step.spend(math.prod(whole) * math.prod(repeats))
    return rearranged(step, lambda places: np.tile(places, repeats), 0)


def _trilu(step: Step) -> Value:
    upper, (given, *_) = step.attributes.get("upper", 1), step.integers("k", 1) or [0]
    if len(step.whole()) < 2:
        raise step.refuse("shape", "takes matrices")

    def triangle(places: IntArray) -> IntArray:
        rows, columns = places.shape[-2:]
        diagonal = min(max(given, -rows), columns)
        kept = np.tri(rows, columns, k=diagonal - 1 if upper else diagonal, dtype=bool)
        return np.where(~kept if upper else kept, places, -1)

    return rearranged(step, triangle, 0)


def _center_crop_pad(step: Step) -> Value:
    """The middle of an axis that is longer, zeros around one that is shorter."""
    whole, wanted = step.whole(), step.numbers("shape", 1)
    axes = step.axes(step.integers("axes") or range(len(whole)), len(whole))
    if len(wanted) != len(axes) or min(wanted, default=1) < 1:
        raise step.refuse("shape", f"makes {wanted} of the axes {axes} of shape {[*whole]}")
    step.spend(math.prod(max(size, *wanted) for size in whole))

    def centred(places: IntArray) -> IntArray:
        for axis, size in zip(axes, wanted, strict=True):
            less, more = max(0, places.shape[axis] - size), max(0, size - places.shape[axis])
            places = places.take(range(less // 2, less // 2 + min(size, places.shape[axis])), axis)
            around = [(0, 0)] * places.ndim
            around[axis] = (more // 2, more - more // 2)
            places = np.pad(places, around, constant_values=-1)
        return places

    return rearranged(step, centred, 0)


def _reverse_sequence(step: Step) -> Value:
    """The first so many entries along the time of each sample."""
    whole, said = step.whole(), step.attributes
    batch, time = said.get("batch_axis", 1), said.get("time_axis", 0)
    if len(whole) < 2 or {batch, time} != {0, 1}:
        raise step.refuse("unsupported_attribute", f"has the axes {batch} and {time}; use 0 and 1")
    lengths = step.plain(1).array
    if lengths.shape != (whole[batch],) or lengths.min(initial=0) < 0 or lengths.max(initial=0) > whole[time]:
        raise step.refuse("shape", f"reverses {[*lengths.shape]} sequences of shape {[*whole]}")
    at, length = np.arange(whole[time])[:, np.newaxis], lengths[np.newaxis]
    turned: IntArray = np.where(at < length, length - 1 - at, at)
    samples = np.arange(whole[batch])[np.newaxis]
    chosen = (samples.T, turned.T) if time else (turned, samples)
    return rearranged(step, lambda places: places[chosen], 0)


def _compress(step: Step) -> Value:
    condition = step.plain(1).array
    if condition.ndim != 1:
        raise step.refuse("shape", "needs a vector of booleans")
    wanted = np.flatnonzero(condition)
    given = step.attributes.get("axis")
    size = (
        math.prod(step.whole()) if given is None else step.whole()[step.axes([given], len(step.whole()))[0]]
    )
    if len(condition) > size:
        raise step.refuse("shape", f"chooses among {len(condition)} of {size} entries")
    return rearranged(step, lambda places: places.take(wanted, given), 0)


def _depth_to_space(step: Step) -> Value:
    (n, channels, height, width), block = _image(step), step.attributes.get("blocksize", 0)
    if block < 1 or channels % block**2:
        raise step.refuse("shape", f"splits {channels} channels into blocks of {block} by {block}")
    inner = channels // block**2
    column_first = step.attributes.get("mode", b"DCR") == b"CRD"

    def spread(places: IntArray) -> IntArray:
        if column_first:
            blocks = places.reshape(n, inner, block, block, height, width).transpose(0, 1, 4, 2, 5, 3)
        else:
            blocks = places.reshape(n, block, block, inner, height, width).transpose(0, 3, 4, 1, 5, 2)
        return blocks.reshape(n, inner, height * block, width * block)

    return rearranged(step, spread, 0)


def _space_to_depth(step: Step) -> Value:
    (n, channels, height, width), block = _image(step), step.attributes.get("blocksize", 0)
    if block < 1 or height % block or width % block:
        raise step.refuse("shape", f"splits {height} by {width} into blocks of {block} by {block}")
    order = (0, 1, 3, 5, 2, 4) if step.attributes.get("mode", b"DCR") == b"CRD" else (0, 3, 5, 1, 2, 4)

    def gathered(places: IntArray) -> IntArray:
        blocks = places.reshape(n, channels, height // block, block, width // block, block)
        return blocks.transpose(order).reshape(n, -1, height // block, width // block)

    return rearranged(step, gathered, 0)


def _image(step: Step) -> Shape:
    if len(step.whole()) != 4:
        raise step.refuse("shape", f"reads shape {[*step.whole()]}, not [batch, channels, height, width]")
    if 0 in step.whole():
        raise step.refuse("shape", "reads nothing")
    return step.whole()


_BLOCKS = {"blocksize": "i", "mode": "s"}
ENTRY = Entry(
    onnx={
        "CenterCropPad": Operator(_center_crop_pad, {"axes": "ints"}, 2, 2),
        "Compress": Operator(_compress, {"axis": "i"}, 2, 2),
        "DepthToSpace": Operator(_depth_to_space, _BLOCKS),
        "Expand": Operator(_expand, {}, 2, 2),
        "ReverseSequence": Operator(_reverse_sequence, {"batch_axis": "i", "time_axis": "i"}, 2, 2),
        "Slice": Operator(_slice, {"axes": "ints", "ends": "ints", "starts": "ints"}, 1, 5),
        "SpaceToDepth": Operator(_space_to_depth, _BLOCKS),
        "Split": Operator(_split, {"axis": "i", "num_outputs": "i", "split": "ints"}, 1, 2),
        "Tile": Operator(_tile, {}, 2, 2),
        "Trilu": Operator(_trilu, {"upper": "i"}, 1, 2),
    },
)
