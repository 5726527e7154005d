"""Which value is the largest."""

from __future__ import annotations

import numpy as np

from circuits.gadgets import require_fit
from circuits.integers import IntArray, Interval
from circuits.linear import Linear
from circuits.lowering.arithmetic import Arithmetic
from circuits.lowering.tally import Tally


def argmax(tools: Arithmetic, name: str, values: Linear, bounds: Interval, label: IntArray) -> None:
    """The wire ``label[1]`` is the first index of the largest of the n values.

    ``bounds`` is a proven interval of the values. Rows in all: 2 n + 2, and ``margins`` for n values.
    Sound: selectors e_j are boolean with sum 1 and sum j e_j = label, so e is one-hot at the label. A free
    wire ``max`` gives the margins ``d_j = max - v_j - [j < label]``, with [j < label] = sum_(i>j) e_i. Each
    margin is proven not to be negative, and ``e_j d_j = 0`` makes max the value at the label. So
    v_label >= v_j for all j and v_label > v_j for j < label: numpy.argmax, ties included.
    """
    builder, count, width = tools.builder, values.rows, bounds[1] - bounds[0]
    require_fit(name, (bounds[0] - 1, max(bounds[1], 2 * width)))
    selector = tools.chosen(f"{name}/selector", count)
    largest = tools.chosen(f"{name}/max", 1)
    indices = np.arange(count)
    builder.boolean(f"{name}_one_hot", selector)
    builder.zero(f"{name}_one", Linear.weighted(selector, np.ones(count, dtype=np.int64)).shift(-1))
    builder.zero(f"{name}_label", Linear.weighted(selector, indices) - Linear.wires(label))

    def fill(z: IntArray) -> None:
        logits = values.evaluate(z)
        first = np.argmax(logits)
        z[label], z[largest], z[selector] = first, logits[first], indices == first

    builder.fill(fill)
    later = Linear.weighted(selector, np.triu(np.ones((count, count), dtype=np.int64), 1))
    margin = Linear.wires(np.repeat(largest, count)) - values - later
    attained = tools.margins(f"{name}_margin", margin, _bits(bounds))
    builder.multiply(f"{name}_attained", Linear.wires(selector), attained, Linear.empty(count))


def argmax_tally(tools: Arithmetic, count: int, bounds: Interval) -> Tally:
    return Tally(rows=2 * count + 2) + tools.margins_tally(count, _bits(bounds))


def _bits(bounds: Interval) -> int:
    return max(1, (bounds[1] - bounds[0]).bit_length())
