"""The integer semantics spelled out in Python integers, one output at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.node import QuantNode
from zenserve.circuits.graphs.types import Affine, Rescale
from zenserve.circuits.operators.activation import QuantActivation
from zenserve.circuits.operators.add import QuantAdd
from zenserve.circuits.operators.average_pool import WindowSum
from zenserve.circuits.operators.concat import Concat
from zenserve.circuits.operators.convolution import QuantConv
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.operators.filled import QuantFilled
from zenserve.circuits.operators.forest import QuantForest
from zenserve.circuits.operators.gather import Gather
from zenserve.circuits.operators.largest import QuantTopK
from zenserve.circuits.operators.leaky_relu import PiecewiseLinear, QuantPRelu
from zenserve.circuits.operators.matmul import QuantMatMul
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.multiply import QuantMul
from zenserve.circuits.operators.pad import Pad
from zenserve.circuits.operators.recurrent import QuantRecurrent
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.selection import QuantOneHot
from zenserve.circuits.operators.softmax import QuantSoftmax
from zenserve.circuits.operators.sums import Accumulating
from zenserve.circuits.operators.transpose import Transpose
from zenserve.circuits.operators.where import QuantWhere
from zenserve.circuits.operators.whole_quotients import QuantWholeQuotient
from zenserve.circuits.quantised import QuantGraph
from zenserve.relations.integers import IntArray

Objects = NDArray[np.object_]


def tensors(graph: QuantGraph, q: IntArray) -> dict[str, Objects]:
    """Every tensor for the input q[*input_shape], as arrays of Python integers."""
    values: dict[str, Objects] = {graph.input.name: np.array(q.tolist(), dtype=object)}
    for node in graph.nodes:
        inputs = [values[name] for name in node.inputs]
        if isinstance(node, Accumulating):
            values[node.name] = _accumulated(node, inputs, graph)
        else:
            values[node.name] = _moved(node, inputs, graph.types[node.inputs[0]])
    return values


def _accumulated(node: Accumulating, inputs: list[Objects], graph: QuantGraph) -> Objects:
    out: Objects = np.empty(graph.shapes[node.name], dtype=object)
    types = [graph.types[name] for name in node.inputs]
    for index in np.ndindex(out.shape):
        acc = _sum(node, index, inputs, types)
        out[index] = acc if node.rescale is None else _rescaled(acc, index, out.shape, node.rescale)
    return out


def _rescaled(acc: int, index: tuple[int, ...], shape: tuple[int, ...], rescale: Rescale) -> int:
    multiplier = int(np.broadcast_to(rescale.multiplier, shape)[index])
    total = multiplier * acc + (rescale.output.zero_point << rescale.shift)
    if rescale.shift > 0:
        total += 1 << (rescale.shift - 1)
    return min(max(total // (1 << rescale.shift), rescale.low), rescale.high)


def _sum(
    node: Accumulating, index: tuple[int, ...], inputs: list[Objects], types: list[Affine | None]
) -> int:
    zero = types[0].zero_point if types[0] else 0
    x = inputs[0]
    if isinstance(node, QuantRecurrent):
        x = np.concatenate(inputs)
    if isinstance(node, QuantAdd):
        zeros = [kind.zero_point for kind in types if kind]
        scaled = zip(node.factors, inputs, zeros, strict=True)
        return sum(int(factor * (q[index] - zero)) for factor, q, zero in scaled)
    if isinstance(node, QuantWhere):
        zeros = [kind.zero_point for kind in types if kind]
        parts = [f * (q[index] - z) for f, q, z in zip(node.factors, inputs[1:], zeros[1:], strict=True)]
        return int(parts[0] if x[index] else parts[1] if len(parts) > 1 else node.other)
    if isinstance(node, QuantMul):
        assert types[1]
        return int((x[index] - zero) * (inputs[1][index] - types[1].zero_point))
    if isinstance(node, QuantWholeQuotient):
        assert types[1]
        return int((x[index] - zero) // max(1, inputs[1][index] - types[1].zero_point))
    if isinstance(node, QuantMatMul):
        assert types[1]
        (group, row, column), (left, right) = index, inputs
        pairs = zip(left[group, row], right[group, :, column], strict=True)
        return sum(int((a - zero) * (b - types[1].zero_point)) for a, b in pairs)
    if isinstance(node, PiecewiseLinear):
        return int((x[index] - zero) * node.slopes[x[index] > zero])
    if isinstance(node, QuantPRelu):
        below = np.broadcast_to(node.slopes, x.shape)[index]
        return int((x[index] - zero) * (node.above if x[index] > zero else int(below)))
    if isinstance(node, QuantDense):
        row = index[0]
        terms = (_weight(node, row, (column,)) * (x[column] - zero) for column in range(len(x)))
        return int(sum(terms) + node.bias[row])
    if isinstance(node, QuantConv):
        channels = node.weight.shape[1]
        first = index[0] // (len(node.weight) // node.groups) * channels
        total = int(node.bias[index[0]])
        for channel, *tap in np.ndindex(node.weight.shape[1:]):
            value = _pixel(x, first + channel, index, tap, node)
            if value is not None:
                total += _weight(node, index[0], (channel, *tap)) * (value - zero)
        return total
    if isinstance(node, QuantForest):
        return int(node.base[index]) + sum(
            int(node.mix[index[0], column]) * int(added)
            for tree, columns in enumerate(node.targets.tolist())
            for column, added in zip(columns, _leaf(node, tree, x), strict=True)
        )
    if isinstance(node, WindowSum):
        seen = (_pixel(x, index[0], index, tap, node) for tap in np.ndindex(node.kernel))
        return sum(int(value) - zero for value in seen if value is not None)
    return int(x[index]) - zero


def _leaf(node: QuantForest, tree: int, x: Objects) -> IntArray:
    """What the path of a tree adds up to."""
    block, total = tree, np.zeros(node.value.shape[2], np.int64)
    for _ in range(node.steps):
        leaving = 0
        for level in range(node.levels):
            at = block, (1 << level) - 1 + leaving
            leaving = 2 * leaving + int(x[node.feature[at]] > node.threshold[at])
        total = total + node.value[block, leaving]
        block = int(node.following[block, leaving]) if node.steps > 1 else block
    return total


def _weight(node: QuantConv | QuantDense, output: int, tap: tuple[int, ...]) -> int:
    if node.weight_type.bits == 1:
        return 1 if node.weight[(output, *tap)] else -1
    zeros = node.weight_type.zero_point
    return int(node.weight[(output, *tap)]) - int(zeros[output if len(zeros) > 1 else 0])


def _pixel(
    x: Objects,
    channel: int,
    index: tuple[int, ...],
    tap: Sequence[int],
    node: QuantConv | WindowSum | MaxPool,
) -> int | None:
    place = []
    for axis, entry in enumerate(tap):
        step = node.dilation[axis] if node.dilation else 1
        place.append(index[1 + axis] * node.stride[axis] + step * entry - node.padding[axis])
    inside = all(0 <= at < size for at, size in zip(place, x.shape[1:], strict=True))
    return int(x[(channel, *place)]) if inside else None


def _moved(node: QuantNode, inputs: list[Objects], kind: Affine | None) -> Objects:
    x = inputs[0]
    if isinstance(node, Reshape):
        return x.reshape(node.target)
    if isinstance(node, Transpose):
        return x.transpose(node.axes)
    if isinstance(node, QuantActivation):
        entries = node.values.tolist()
        return np.array([entries[value] for value in x.ravel()], dtype=object).reshape(x.shape)
    if isinstance(node, Gather):
        entries = [x[place] for place in node.places.ravel().tolist()]
        return np.array(entries, dtype=object).reshape(node.places.shape)
    if isinstance(node, QuantOneHot):
        hot = [int(node.places[value] == place) for value in x.ravel() for place in range(node.size)]
        return np.array(hot, dtype=object).reshape(*x.shape, node.size)
    if isinstance(node, QuantTopK):
        sign = 1 if node.smallest else -1
        ranked = [sorted((sign * value, place) for place, value in enumerate(row)) for row in x]
        return np.array([[place for _, place in row[: node.count]] for row in ranked], dtype=object)
    if isinstance(node, QuantSoftmax):
        kept = np.ones(x[0].shape) if node.kept is None else node.kept
        rows = zip(x[0].tolist(), kept.tolist(), strict=True)
        return np.array([[_shares(node, *row) for row in rows]], dtype=object)
    if isinstance(node, QuantFilled):
        return np.full(node.sizes, node.value, dtype=object)
    if isinstance(node, Concat):
        return np.concatenate(inputs, axis=node.axis)
    if isinstance(node, Pad):
        assert kind
        shape = [size + sum(pair) for size, pair in zip(x.shape, node.padding, strict=True)]
        out: Objects = np.full(shape, kind.zero_point, dtype=object)
        out[tuple(slice(pair[0], pair[0] + n) for pair, n in zip(node.padding, x.shape, strict=True))] = x
        return out
    assert isinstance(node, MaxPool)
    return _max_pooled(node, x)


def _shares(node: QuantSoftmax, row: list[int], kept: list[int]) -> list[int]:
    """Halves are rounded up."""
    largest = max(value for value, one in zip(row, kept, strict=True) if one)
    powers = [
        int(node.exponentials[largest - value]) if one else 0 for value, one in zip(row, kept, strict=True)
    ]
    exact = [Fraction(node.multiplier * power, sum(powers) << node.shift) for power in powers]
    nearest = [math.floor(share + Fraction(1, 2)) for share in exact]
    return [min(share + node.output.zero_point, node.output.top) for share in nearest]


def _max_pooled(node: MaxPool, x: Objects) -> Objects:
    out: Objects = np.empty(node.shape(x.shape), dtype=object)
    for index in np.ndindex(out.shape):
        seen = (_pixel(x, index[0], index, tap, node) for tap in np.ndindex(node.kernel))
        out[index] = max(value for value in seen if value is not None)
    return out


def label(values: Mapping[str, Objects], output: str) -> int:
    """The first index of the largest logit."""
    logits = values[output].ravel().tolist()
    return next(i for i, value in enumerate(logits) if value == max(logits))
