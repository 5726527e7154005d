"""Operators that combine several tensors: one behind the other or around it, or entries of one written over
those of another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from zenserve.circuits.graphs.types import Declared, Shape
from zenserve.circuits.onnx.constants import FLOATS, Constant, Element
from zenserve.circuits.onnx.naming import require_finite, where
from zenserve.circuits.onnx.step import Data, Operator, Step, Value, of_kind
from zenserve.circuits.operators.add import add
from zenserve.circuits.operators.concat import Concat, joined
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.matmul import floats, product, reshaped
from zenserve.circuits.operators.moving import Places, indices, picked, rearranged, within
from zenserve.circuits.operators.multiply import multiply
from zenserve.circuits.operators.pad import LeastPad, Pad
from zenserve.circuits.operators.reduce import MAX, MIN, PRODUCT, SUM, Reduction, Rows, function, over_axes
from zenserve.circuits.operators.reshape import shaped
from zenserve.circuits.operators.scale import affine_of
from zenserve.circuits.operators.selection import flat_places, placed
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import MOST_AXES, windows


def mixed(step: Step, places: Places, *positions: int) -> Value:
    """``rearranged`` of inputs of which some may be constants: these are added to zeros in their places."""
    computed = [step.is_data(position) for position in positions]
    if all(computed) or not any(computed):
        return rearranged(step, places, *positions)
    wholes = [step.whole(position) for position in positions]
    sizes = [math.prod(whole) for whole in wholes]
    ends = np.cumsum(sizes).tolist()
    step.spend(sum(sizes))
    found = places(
        *(
            np.arange(end - size, end).reshape(whole)
            for end, size, whole in zip(ends, sizes, wholes, strict=True)
        )
    )
    step.spend(found.size)
    # The last entry is zero.
    constants, moved, ahead = np.zeros(sum(sizes) + 1), np.full(sum(sizes) + 1, -1), 0
    for position, end, size in zip(positions, ends, sizes, strict=True):
        if step.is_data(position):
            moved[end - size : end] = np.arange(ahead, ahead + size)
            ahead += size
        else:
            constants[end - size : end] = _numbers(step, position)
    kind = step.value(positions[0]).kind
    rest, kept = constants[found], moved[found]
    if (kept < 0).all():
        return Constant(rest if kind in FLOATS else rest.astype(np.int64), kind or Element.FLOAT)
    data = [
        Data(step.floats(position), shape=step.whole(position))
        for position in positions
        if step.is_data(position)
    ]
    made = picked(step, kept, data)
    return of_kind(affine_of(step, made, 1.0, rest) if rest.any() else made, kind)


def _numbers(step: Step, position: int) -> IntArray:
    array = step.plain(position).array
    require_finite(f"the constant of {where(step.node)}", array)
    return array.ravel()


def concat(step: Step) -> Value:
    positions = range(len(step.inputs))
    (axis,) = step.axes([step.attributes.get("axis", 0)], len(step.whole()))
    wholes = [step.whole(position) for position in positions]
    if len({(*whole[:axis], *whole[axis + 1 :], len(whole)) for whole in wholes}) > 1:
        raise step.refuse("shape", f"joins {' and '.join(str([*each]) for each in wholes)} along axis {axis}")
    data = [step.data(position) for position in positions if step.is_data(position)]
    in_front = all(whole[0] == 1 and len(whole) > 1 for whole in wholes)
    if len(positions) == 1:
        return step.value(0)
    if len(data) == len(positions) and in_front and axis:
        data = joined(step, data)
        return Data(step.emit(Concat, tuple(each.tensor for each in data), axis - 1), data[0].integer)
    return mixed(step, lambda *places: np.concatenate(places, axis), *positions)


# ONNX's modes by numpy's names.
_MODES: Final = {b"constant": "constant", b"edge": "edge", b"reflect": "reflect", b"wrap": "wrap"}
# Of these files say minus infinity.
_LEAST: Final = (-math.inf, float(np.finfo(np.float32).min), float(np.finfo(np.float16).min))


def _pad(step: Step) -> Value:
    whole, mode = step.whole(), step.attributes.get("mode", b"constant")
    if mode not in _MODES:
        known = ", ".join(_MODES.values())
        raise step.refuse("unsupported_attribute", f"has mode {mode[:20]!r}; use {known}")
    declared = step.data(0).integer if step.is_data(0) else None
    if declared and mode == b"constant":
        return _pad_integers(step, step.data(0), declared)
    widths = _widths(step, whole, mode)
    grown = [(max(0, before), max(0, after)) for before, after in widths]

    def padded(places: IntArray, number: IntArray | None = None) -> IntArray:
        kept = tuple(
            slice(max(0, -before), size - max(0, -after))
            for (before, after), size in zip(widths, places.shape, strict=True)
        )
        if mode != b"constant":
            return np.pad(places[kept], grown, _MODES[mode])  # type: ignore[call-overload,no-any-return]
        return np.pad(places[kept], grown, constant_values=-1 if number is None else number.item())

    number = _padding(step) if mode == b"constant" else 0.0
    plain = step.is_data(0) and whole[:1] == (1,) and not any(widths[0]) and _grows(widths)
    if mode == b"constant" and plain and number in (0.0, *_LEAST):
        kind = LeastPad if number else Pad
        return Data(step.emit(kind, (step.floats(),), tuple(widths[1:])))
    if number == 0:
        return rearranged(step, padded, 0)
    if number == -math.inf:
        raise step.refuse("unsupported_attribute", "pads a batch with minus infinity; pad with a number")
    both = [step.value(0), number if isinstance(number, Data) else _single(step, number)]
    return mixed(replace(step, inputs=both), padded, 0, 1)


def _widths(step: Step, whole: Shape, mode: bytes) -> list[tuple[int, int]]:
    """Return the numbers of entries to pad before and after each axis; negative numbers crop."""
    pads, given = step.numbers("pads", 1), step.integers("axes", 3)
    axes = step.axes(range(len(whole)) if given is None else given, len(whole))
    if len(pads) != 2 * len(axes):
        raise step.refuse("shape", f"pads {len(axes)} axes by {pads}; it takes two numbers for each")
    around = {axis: (pads[i], pads[i + len(axes)]) for i, axis in enumerate(axes)}
    widths = [around.get(axis, (0, 0)) for axis in range(len(whole))]
    if mode == b"reflect" and any(max(width) >= size for width, size in zip(widths, whole, strict=True)):
        raise step.refuse("shape", f"reflects {widths} of shape {[*whole]}: more than there is")
    if any(sum(max(0, -side) for side in width) > size for size, width in zip(whole, widths, strict=True)):
        raise step.refuse("shape", f"takes {widths} off shape {[*whole]}: more than there is")
    outer = [size + sum(max(0, side) for side in width) for size, width in zip(whole, widths, strict=True)]
    step.spend(math.prod(outer))
    return widths


def _grows(widths: Sequence[tuple[int, int]]) -> bool:
    return min(map(min, widths)) >= 0 and any(map(any, widths))


def _padding(step: Step) -> Data | float:
    """Return the padding value: a computed tensor, or a number."""
    if step.has(2) and step.is_data(2):
        return step.data(2)
    number: float = step.attributes.get("value", step.number(2, 0.0))
    return number


def _pad_integers(step: Step, data: Data, known: Declared) -> Value:
    """Quantised integers, with integers around them: those of the zero point stand for zero."""
    number = _padding(step)
    if isinstance(number, Data) or number != int(known.zero_point):
        numbers = replace(data, tensor=step.floats(0), integer=None)
        return _pad(replace(step, inputs=[numbers, *step.inputs[1:]]))
    rest = [*step.inputs[1:2], None, *step.inputs[3:]]
    said = {name: value for name, value in step.attributes.items() if name != "value"}
    made = _pad(replace(step, inputs=[replace(data, integer=None), *rest], attributes=said))
    return replace(made, integer=known) if isinstance(made, Data) else made


def _single(step: Step, number: float) -> Constant:
    """Of the first input's kind."""
    kind = step.value(0).kind
    dtype = np.float64 if kind is None or kind in FLOATS else np.int64
    return Constant(np.array([number], dtype), kind or Element.FLOAT)


def _scatter_elements(step: Step) -> Value:
    whole, updates, wanted = step.whole(), step.whole(2), step.whole(1)
    (axis,) = step.axes([step.attributes.get("axis", 0)], len(whole))
    fits = len(updates) == len(whole) and wanted == updates
    if not fits or any(size > whole[i] for i, size in enumerate(updates) if i != axis):
        raise step.refuse("shape", f"writes shape {[*updates]} at {[*wanted]} into {[*whole]}")
    size, count = whole[axis], updates[axis]
    # Lines along the axis: those that are written to, and what is written to them.
    inside = tuple(slice(None if i == axis else each) for i, each in enumerate(wanted))
    lines = np.moveaxis(np.arange(math.prod(whole)).reshape(whole)[inside], axis, -1).reshape(-1, size)
    if not step.is_data(1):
        places = np.moveaxis(indices(step, 1, size), axis, -1).reshape(-1, count)
        reached = np.take_along_axis(lines, places, 1)
        return _written(step, np.moveaxis(reached.reshape(_turned(wanted, axis)), -1, axis))
    step.spend(math.prod(wanted) * size)
    hot = reshaped(
        step,
        placed(step, Data(step.floats(1), shape=wanted), size),
        (*wanted, size),
    )
    ordered = _moved(step, hot, lambda places: np.moveaxis(places, axis, -2).reshape(len(lines), count, size))
    rows = _moved(
        step, floats(step, 2), lambda places: np.moveaxis(places, axis, -1).reshape(len(lines), 1, count)
    )
    return _by_booleans(step, ordered, rows, lines)


def _turned(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :], shape[axis])


def _scatter_nd(step: Step) -> Value:
    whole, updates, wanted = step.whole(), step.whole(2), step.whole(1)
    depth = wanted[-1] if wanted else 0
    if not 1 <= depth <= len(whole) or updates != (*wanted[:-1], *whole[depth:]):
        raise step.refuse("shape", f"writes shape {[*updates]} at {[*wanted]} into {[*whole]}")
    count, size, behind = math.prod(wanted[:-1]), math.prod(whole[:depth]), math.prod(whole[depth:])
    entries = np.arange(size * behind).reshape(whole)
    if not step.is_data(1):
        array = step.plain(1).array
        reached = entries[tuple(within(step, array[..., i], whole[i]) for i in range(depth))]
        return _written(step, reached)
    hot = reshaped(step, flat_places(step, 1, whole[:depth]), (1, count, size))
    rows = _moved(step, floats(step, 2), lambda places: places.reshape(count, behind).T.copy())
    return _by_booleans(step, hot, reshaped(step, rows, (behind, 1, count)), entries.reshape(size, behind).T)


_REDUCTIONS: Final[dict[bytes, Reduction]] = {b"add": SUM, b"max": MAX, b"min": MIN, b"mul": PRODUCT}


def _reduction(step: Step, *known: bytes) -> bytes:
    said: bytes = step.attributes.get("reduction", b"none")
    if said != b"none" and said not in known:
        raise step.refuse(
            "unsupported_attribute",
            f"combines what it writes with what is there by {said.decode(errors='replace')[:20]!r}; use none "
            f"or {' or '.join(each.decode() for each in known)}",
        )
    return said


def _written(step: Step, reached: IntArray) -> Value:
    """Updates at constant places: ``reached`` is where each goes among the entries of the first input."""
    said = _reduction(step, *_REDUCTIONS)
    whole, flat = step.whole(), reached.ravel()
    if said == b"none":

        def written(places: IntArray, others: IntArray) -> IntArray:
            made = places.ravel().copy()
            made[flat] = others.ravel()
            return made.reshape(whole)

        return mixed(step, written, 0, 2)
    # A row for each entry: what is there, and all that is written to it; beside fewer stands what changes
    # nothing: zeros, ones, or what is there once more.
    piled, most = _piled(step, flat, math.prod(whole))
    one = Constant(np.ones(1), Element.FLOAT)

    def rows(places: IntArray, others: IntArray, ones: IntArray | None = None) -> IntArray:
        made = np.full((math.prod(whole), 1 + most), -1 if ones is None else ones.item())
        if said in (b"max", b"min"):
            made[:] = places.reshape(-1, 1)
        made[:, 0] = places.ravel()
        made[flat, 1 + piled] = others.ravel()
        return made

    parts = [step.value(0), step.value(2), *([one] if said == b"mul" else [])]
    found = mixed(replace(step, inputs=parts), rows, *range(len(parts)))
    if not isinstance(found, Data):
        raise step.refuse("unsupported_operator", "combines constants; have the exporter fold them")
    combined = over_axes(replace(step, inputs=[found]), [1], False, _REDUCTIONS[said])
    return of_kind(shaped(step, combined, whole), step.value(0).kind)


def _piled(step: Step, flat: IntArray, size: int) -> tuple[IntArray, int]:
    """Of places below ``size`` how many that are the same stand before each, and how many do at most."""
    order, counts = np.argsort(flat, kind="stable"), np.bincount(flat, minlength=size)
    most = int(counts.max(initial=0))
    step.spend(size * (1 + most))
    piled = np.empty_like(flat)
    piled[order] = np.arange(flat.size) - (np.cumsum(counts) - counts)[flat[order]]
    return piled, most


def _col2im(step: Step) -> Value:
    """Sums of blocks that overlap: [n, channels · block, blocks]."""
    whole, said = step.whole(), step.attributes
    image, block = step.numbers("image_shape", 1), step.numbers("block_shape", 2)
    rank = len(image)
    stride, dilation = said.get("strides", [1] * rank), said.get("dilations", [1] * rank)
    pads = said.get("pads", [0] * 2 * rank)
    known = 1 <= rank <= MOST_AXES and len(block) == rank and min(*image, *block) > 0
    fitting = known and windows(image, tuple(block), tuple(stride), tuple(pads), tuple(dilation))
    if not fitting or len(whole) != 3 or whole[1] % math.prod(block) or whole[2] != math.prod(fitting):
        raise step.refuse("shape", f"puts blocks {block} of shape {[*whole]} into {image}")
    # The place in the image of each entry of each block.
    axes = [
        np.add.outer(by * np.arange(size), step_ * np.arange(count)) - before
        for size, by, count, step_, before in zip(block, dilation, fitting, stride, pads, strict=False)
    ]
    shape = (*block, *fitting)
    step.spend(math.prod(shape))
    grids = [
        np.broadcast_to(np.expand_dims(each, _others(axis, rank)), shape) for axis, each in enumerate(axes)
    ]
    inside = np.all([(grid >= 0) & (grid < size) for grid, size in zip(grids, image, strict=True)], axis=0)
    size, flat = math.prod(image), np.ravel_multi_index([grid[inside] for grid in grids], image)
    piled, most = _piled(step, flat, size)
    outer = whole[0] * whole[1] // math.prod(block)

    def rows(places: IntArray) -> IntArray:
        made = np.full((outer, size, most), -1)
        made[:, flat, piled] = places.reshape(outer, -1)[:, inside.ravel()]
        return made

    found = rearranged(step, rows, 0)
    if not isinstance(found, Data):
        raise step.refuse("unsupported_operator", "adds up constants; have the exporter fold them")
    sums = over_axes(replace(step, inputs=[found]), [2], False, SUM)
    return shaped(step, sums, (whole[0], whole[1] // math.prod(block), *image))


def _others(axis: int, rank: int) -> tuple[int, ...]:
    """The axes of all blocks and windows but those of this axis of the image."""
    return tuple(at for at in range(2 * rank) if at % rank != axis)


def _by_booleans(step: Step, hot: Value, rows: Value, lines: IntArray) -> Value:
    """Updates at computed places, no two of which may be one: ``rows`` [lines, 1, updates] are written where
    ``hot`` [lines or 1, updates, size] is 1, to the entries ``lines`` [lines, size] of the first input."""
    said, whole = _reduction(step, b"add"), step.whole()
    made = reshaped(step, product(step, rows, hot), lines.shape)
    before = _moved(step, floats(step, 0), lambda places: places.ravel()[lines])
    if said == b"none" and not _is_zero(before):
        before = multiply(replace(step, inputs=[before, _untouched(step, hot)]))
    made = made if _is_zero(before) else add(replace(step, inputs=[before, made]))

    def back(places: IntArray, others: IntArray) -> IntArray:
        found = places.ravel().copy()
        found[lines] = others
        return found.reshape(whole)

    return of_kind(mixed(replace(step, inputs=[floats(step, 0), made]), back, 0, 1), step.value(0).kind)


def _untouched(step: Step, hot: Value) -> Data:
    """Return booleans for the places to which nothing is written, [lines or 1, size]."""
    assert isinstance(hot, Data)  # noqa: S101  places are computed
    shape = hot.shape or ()
    rows = Rows(step, hot, [1])
    none = Data(function(step, rows.sums(rows.image), "less(x, 0.5)"))
    return shaped(step, none, (shape[0], shape[2]))


def _is_zero(value: Value) -> bool:
    return isinstance(value, Constant) and not value.array.any()


def _moved(step: Step, value: Value, places: Places) -> Value:
    return rearranged(replace(step, inputs=[value]), places, 0)


def _attributes(*names: str) -> dict[str, str]:
    return {**dict.fromkeys(names, "i"), "reduction": "s"}


ENTRY = Entry(
    onnx={
        "Col2Im": Operator(_col2im, {"dilations": "ints", "pads": "ints", "strides": "ints"}, 3, 3),
        "Concat": Operator(concat, {"axis": "i"}, 1, 1 << 10),
        "Pad": Operator(_pad, {"mode": "s", "pads": "ints", "value": "f"}, 1, 4),
        "Scatter": Operator(_scatter_elements, {"axis": "i"}, 3, 3),
        "ScatterElements": Operator(_scatter_elements, _attributes("axis"), 3, 3),
        "ScatterND": Operator(_scatter_nd, _attributes(), 3, 3),
    }
)
