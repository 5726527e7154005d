"""Sums, means and maxima over axes: the entries that go together are moved into rows, which costs nothing,
and each row is a window. Norms and logarithms of sums have tables before and behind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Constants, Node, QuantNode, Written
from zenserve.circuits.graphs.rewriting import fresh
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.activation import TRUNCATED, Activation
from zenserve.circuits.operators.add import Add, Sub
from zenserve.circuits.operators.average_pool import WindowSum, averaged_whole
from zenserve.circuits.operators.concat import Concat
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.matmul import MatMul
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.moving import picked, rearranged
from zenserve.circuits.operators.multiply import Mul
from zenserve.circuits.operators.reshape import Reshape, shaped
from zenserve.circuits.operators.windows import POOL, Pool, geometry, pool
from zenserve.errors import ModelError
from zenserve.relations import planes
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sizes

_SQUARES: Final = ("x * x", "x ** 2", "x ** 2.0")


@dataclass(frozen=True, eq=False)
class SumPool(Pool):
    """The sum over each window, divided by ``divisor``; beyond the edges are zeros."""

    called = "sum"
    adds = True

    divisor: float = 1

    def times(self, factor: float) -> Node:
        return replace(self, divisor=self.divisor / factor)

    def run(self, *inputs: FloatArray) -> FloatArray:
        seen = planes.slide(inputs[0], self.kernel, self.stride, self.padding, 0, self.dilation)
        sums: FloatArray = seen.sum(axis=tuple(range(-len(self.kernel), 0)))
        return sums / self.divisor

    def quantise(self, site: Site) -> QuantNode:
        rescale = site.rescale(np.array([site.incoming().scale / self.divisor]))
        geometry = (self.kernel, self.stride, self.padding, self.dilation)
        return WindowSum(site.name, site.inputs, *geometry, rescale=rescale)

    def written(self, constant: Constants) -> Written:
        raise ModelError("model.unsupported_operator", "ONNX has no sum over windows")


def sum_squares_by_products(graph: Graph) -> Graph:
    """A sum of squares of rows is the product of each with itself: squares have no type then, which the
    largest would leave the others no steps of."""
    readers, taken = graph.readers, set(graph.shapes)
    made: dict[str, Node] = {}
    for node in graph.nodes:
        made[node.name] = node
        if not isinstance(node, SumPool):
            continue
        chain = _squares(graph, made, node)
        if not chain or any(readers[each.name] > 1 or each.name in graph.declared for each in chain):
            continue
        (channels, count, _), length = graph.shapes[node.name], node.kernel[1]
        for each in (*chain, node):
            del made[each.name]
        shapes = {"rows": (channels * count, 1, length), "columns": (channels * count, length, 1)}
        sides = [
            Reshape(fresh(f"{node.name}.{side}", taken), chain[0].inputs, shape)
            for side, shape in shapes.items()
        ]
        product = MatMul(
            fresh(f"{node.name}.product", taken), tuple(side.name for side in sides), 1 / node.divisor
        )
        back = Reshape(node.name, (product.name,), graph.shapes[node.name])
        made |= {each.name: each for each in (*sides, product, back)}
    return replace(graph, nodes=tuple(made.values()))


def _squares(graph: Graph, made: Mapping[str, Node], node: SumPool) -> list[Node]:
    """The table of squares that the sums of rows read, and the Reshape between."""
    *_, length = graph.shapes[node.inputs[0]]
    if node.kernel != (1, length) or node.stride != node.kernel or any(node.padding):
        return []
    before, chain = made.get(node.inputs[0]), list[Node]()
    if isinstance(before, Reshape):
        chain, before = [before], made.get(before.inputs[0])
    return [before, *chain] if isinstance(before, Activation) and before.function in _SQUARES else []


class Rows:
    """The entries of a tensor that go together along ``axes``: ``image``, the typed tensor [1, count,
    length], has a row of each. What is made of rows is an image, too."""

    def __init__(self, step: Step, data: Data, axes: Sequence[int]) -> None:
        self._step, self._whole = step, data.shape or ()
        self._order = [*(axis for axis in range(len(self._whole)) if axis not in axes), *axes]
        self.length = math.prod(self._whole[axis] for axis in axes)
        self.count = math.prod(self._whole) // self.length
        places = self._places.reshape(1, 1, self.count, self.length)
        step.spend(places.size)
        self.image = picked(step, places, [data]).tensor

    @property
    def _places(self) -> IntArray:
        grid = np.arange(math.prod(self._whole)).reshape(self._whole)
        return grid.transpose(self._order)

    def ordered(self, array: NDArray[Any]) -> NDArray[Any]:
        """A constant of the tensor's shape in rows, [count, length]."""
        return array.transpose(self._order).reshape(self.count, self.length)

    def largest(self, image: str) -> str:
        """The largest entry of each row, [1, count, 1]."""
        return self._step.emit(MaxPool, (image,), *self._kernel) if self.length > 1 else image

    def sums(self, image: str, divisor: int = 1) -> str:
        """The sum of each row, divided by ``divisor``, [1, count, 1]."""
        return (
            self._step.emit(SumPool, (image,), *self._kernel, divisor=divisor) if self.length > 1 else image
        )

    def product(self, image: str) -> str:
        """The product of each row, [1, count, 1]: of pairs, of pairs of these, and so on."""
        length, step = self.length, self._step
        while length > 1:
            grid = np.arange(self.count * length).reshape(1, 1, self.count, length)
            data, half = Data(image, shape=grid.shape), length // 2
            halves = [picked(step, grid[..., at : at + half], [data]).tensor for at in (0, half)]
            image = step.emit(Mul, tuple(halves))
            if length % 2:
                rest = picked(step, grid[..., -1:], [data]).tensor
                image = step.emit(Concat, (image, rest), 2)
            length -= half
        return image

    def spread(self, column: str) -> str:
        """A number of each row for all of its entries."""
        rows = np.repeat(np.arange(self.count), self.length).reshape(1, 1, self.count, self.length)
        return picked(self._step, rows, [Data(column, shape=(1, 1, self.count, 1))]).tensor

    def back(self, image: str) -> Data:
        """The tensor whose rows the image has."""
        places = np.argsort(self._places.ravel()).reshape(self._whole)
        return picked(self._step, places, [Data(image, shape=(1, 1, self.count, self.length))])

    @property
    def _kernel(self) -> tuple[Sizes, Sizes]:
        return (1, self.length), (1, self.length)


@dataclass(frozen=True)
class Reduction:
    """Formulas of each entry ``before`` a row becomes one value, and of that, ``behind``. The value is the
    ``largest`` entry, the ``product`` or the sum, with ``mean`` the mean."""

    before: str = "x"
    behind: str = "x"
    largest: bool = False
    mean: bool = False
    product: bool = False


def _reduce(step: Step, reduction: Reduction) -> Value:
    """Over the axes that the node names, or over all."""
    whole, given = step.whole(), step.integers("axes", 1)
    if not given and step.attributes.get("noop_with_empty_axes", 0):
        if (reduction.before, reduction.behind) != ("x", "x"):
            raise step.refuse("unsupported_attribute", "has noop_with_empty_axes=1 and no axes")
        return step.value(0)
    axes = sorted(step.axes(given or range(len(whole)), len(whole)))
    kept = bool(step.attributes.get("keepdims", 1))
    made = over_axes(step, axes, kept, reduction)
    if step.is_whole(0) and reduction.behind in ("sqrt(x)", "log(x)"):
        return replace(made, tensor=function(step, made.tensor, TRUNCATED))
    return made


def over_axes(step: Step, axes: Sequence[int], kept: bool, reduction: Reduction) -> Data:
    """Of the first input, which is computed; the axes are in order."""
    tensor, whole = step.floats(), step.whole()
    if reduction.mean and step.is_whole(0):
        raise step.refuse("tensor_type", "divides computed integers, dropping the rest; cast them to floats")
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(whole) if kept or axis not in axes)
    if reduction == Reduction(mean=True) and len(whole) == 4 and whole[0] == 1 and [*axes] == [2, 3]:
        return shaped(step, Data(averaged_whole(step, tensor)), shape)
    rows = Rows(step, Data(tensor, shape=whole), axes)
    if reduction == _LOG_SUM_EXP:
        return shaped(step, Data(_log_sum_exp(step, rows)), shape)
    made = function(step, rows.image, reduction.before)
    divisor = rows.length if reduction.mean else 1
    if reduction.product:
        made = rows.product(made)
    else:
        made = rows.largest(made) if reduction.largest else rows.sums(made, divisor)
    return shaped(step, Data(function(step, made, reduction.behind)), shape)


def _log_sum_exp(step: Step, rows: Rows) -> str:
    """Less the largest, exponentials are 1 at most and their sums no less."""
    largest = rows.largest(rows.image)
    less = step.emit(Sub, (rows.image, rows.spread(largest)))
    sums = rows.sums(function(step, less, "exp(x)"))
    return step.emit(Add, (function(step, sums, "log(x)"), largest))


def function(step: Step, tensor: str, text: str) -> str:
    """The function of this formula of a typed tensor."""
    return tensor if text == "x" else step.emit(Activation, (tensor,), text)


def _global(step: Step, reduction: Reduction) -> Value:
    """Over all axes but the batch and the channels."""
    rank = len(step.whole())
    if rank < 3:
        raise step.refuse("shape", f"pools shape {[*step.whole()]}, not [batch, channels, ..]")
    return over_axes(step, range(2, rank), True, reduction)


def _global_lp_pool(step: Step) -> Value:
    power, whole = _power(step), step.whole()
    if power in _NORMS:
        return _global(step, _NORMS[power])
    rows = Rows(step, Data(step.floats(), shape=whole), range(2, len(whole)))
    return shaped(step, Data(_high_norm(step, rows, power)), (*whole[:2], *(1 for _ in whole[2:])))


def _lp_pool(step: Step) -> Value:
    power = _power(step)
    if power in _NORMS:
        powers = function(step, step.floats(), _NORMS[power].before)
        return Data(function(step, pool(step, powers, SumPool), _NORMS[power].behind))
    kernel = tuple(step.attributes.get("kernel_shape", ()))
    shape = step.shape()
    stride, padding, dilation, _ = geometry(step, shape, kernel)
    # Of each window its entries, zeros where it hangs over the edge.
    places = planes.slide(
        np.arange(math.prod(shape)).reshape(1, *shape), kernel, stride, padding, -1, dilation
    )
    step.spend(places.size)
    around = picked(step, places.reshape(*places.shape[: len(shape) + 1], -1), [step.data()])
    rows = Rows(step, around, [len(shape) + 1])
    return shaped(step, Data(_high_norm(step, rows, power)), places.shape[: len(shape) + 1])


def _high_norm(step: Step, rows: Rows, power: int) -> str:
    """Of each row, [1, rows, 1]: high powers of its entries are summed as parts of the largest, since a type
    would have all of its steps for the largest row's."""
    sizes = function(step, rows.image, "abs(x)")
    largest = rows.largest(sizes)
    # Divided twice by its root, which reaches less far than it.
    inverse = rows.spread(function(step, largest, "sign(x) / sqrt(max(x, 1e-38))"))
    parts = step.emit(Mul, (step.emit(Mul, (sizes, inverse)), inverse))
    sums = rows.sums(function(step, parts, f"x ** {float(power)}"))
    return step.emit(Mul, (largest, function(step, sums, f"x ** {1 / power!r}")))


def _power(step: Step) -> int:
    power: int = step.attributes.get("p", 2)
    if not 1 <= power <= _MOST_POWER:
        raise step.refuse("unsupported_attribute", f"has p={power}; use 1 to {_MOST_POWER}")
    return power


def _cumulative_sum(step: Step) -> Value:
    """Each sum is over a window as long as the axis, that hangs over its edge."""
    whole = step.whole()
    axes = step.axes(step.numbers("axis", 1), len(whole))
    if len(axes) != 1:
        raise step.refuse("shape", f"adds up along the axes {axes}; it takes one")
    axis, size = axes[0], whole[axes[0]]
    exclusive, reverse = (bool(step.attributes.get(name, 0)) for name in ("exclusive", "reverse"))
    if not step.is_data(0):
        raise step.refuse("unsupported_operator", "adds up constants; have the exporter fold them")
    step.floats()
    step.spend(math.prod(whole) * size)

    def rows(places: IntArray) -> IntArray:
        lines = np.moveaxis(places, axis, -1).reshape(-1, size)
        if exclusive:
            nothing = np.full((len(lines), 1), -1)
            lines = np.hstack([lines[:, 1:], nothing] if reverse else [nothing, lines[:, :-1]])
        return lines[np.newaxis, np.newaxis]

    moved = rearranged(step, rows, 0)
    assert isinstance(moved, Data)  # noqa: S101  what is moved is computed
    padding = (0, 0, 0, size - 1) if reverse else (0, size - 1, 0, 0)
    sums = step.emit(SumPool, (moved.tensor,), (1, size), (1, 1), padding) if size > 1 else moved.tensor
    ahead = tuple(length for other, length in enumerate(whole) if other != axis)
    made = shaped(step, Data(sums), (*ahead, size))
    return rearranged(replace(step, inputs=[made]), lambda places: np.moveaxis(places, -1, axis), 0)


_MOST_POWER = 8
SUM, _MEAN, MAX = Reduction(), Reduction(mean=True), Reduction(largest=True)
PRODUCT, _LOG_SUM_EXP = Reduction(product=True), Reduction("exp(x)", "log(x)")
# The largest of their opposites, and its opposite.
MIN = Reduction("-x", "-x", largest=True)
_L1, _L2 = Reduction("abs(x)"), Reduction("x * x", "sqrt(x)")
# Higher ones by ``_high_norm``.
_NORMS: Final = {1: _L1, 2: _L2}
_ATTRIBUTES = {"axes": "ints", "keepdims": "i", "noop_with_empty_axes": "i"}
_REDUCTIONS: Final = {
    "ReduceL1": _L1,
    "ReduceL2": _L2,
    "ReduceLogSum": Reduction(behind="log(x)"),
    "ReduceLogSumExp": _LOG_SUM_EXP,
    "ReduceMax": MAX,
    "ReduceMean": _MEAN,
    "ReduceMin": MIN,
    "ReduceProd": PRODUCT,
    "ReduceSum": SUM,
    "ReduceSumSquare": Reduction("x * x"),
}

ENTRY = Entry(
    onnx={
        **{
            name: Operator(partial(_reduce, reduction=reduction), _ATTRIBUTES, 1, 2)
            for name, reduction in _REDUCTIONS.items()
        },
        "CumSum": Operator(_cumulative_sum, {"exclusive": "i", "reverse": "i"}, 2, 2),
        "GlobalLpPool": Operator(_global_lp_pool, {"p": "i"}),
        "GlobalMaxPool": Operator(partial(_global, reduction=MAX)),
        "LpPool": Operator(_lp_pool, {**POOL, "p": "i"}),
    },
    passes=(sum_squares_by_products,),
)
