"""Which values are the largest."""

from __future__ import annotations

import numpy as np

from circuits.lowering.arithmetic import Arithmetic
from circuits.lowering.cost import Cost
from circuits.r1cs.gadgets import require_fit
from circuits.r1cs.linear import Linear, Weighted
from circuits.r1cs.steps import FirstMaximum, Maximum, Sum
from relations.integers import IntArray, Interval


def argmax(tools: Arithmetic, name: str, values: Linear, bounds: Interval, labels: IntArray) -> None:
    """The wires labels[batch, k] are, for each batch of n values, the indices of the k largest in order.

    ``values``: n rows for each batch; ``bounds``: a proven interval of them. Of equal values the first
    is taken for the largest: numpy.argmax. Rows: ``argmax_cost``.
    """
    chosen: list[IntArray] = []
    for rank, label in enumerate(labels.T):
        own_name = f"{name}{rank + 1}" if rank else name
        chosen.append(_largest_of_rest(tools, own_name, values, bounds, label, tuple(chosen)))


def argmax_cost(tools: Arithmetic, batch: int, count: int, wanted: int, bounds: Interval) -> Cost:
    """Of ``argmax`` of the ``wanted`` largest of ``count`` values."""
    first = Cost(rows=batch * (2 * count + 2)) + tools.margins_cost(batch * count, _bits(bounds, 0))
    following = Cost(rows=batch * (3 * count + 2)) + tools.margins_cost(batch * count, _bits(bounds, 1))
    return Cost.sum([first, *[following] * (wanted - 1)])


def _largest_of_rest(
    tools: Arithmetic,
    name: str,
    values: Linear,
    bounds: Interval,
    label: IntArray,
    earlier: tuple[IntArray, ...],
) -> IntArray:
    """``label`` [batch]: the index of the largest value that no selector of ``earlier`` has chosen. Its own
    selectors, wires [batch, n].

    Sound: selectors e_j are boolean with sum 1 and sum j e_j = label, so e is one-hot at the label. A free
    wire ``max`` gives the margins ``d_j = max - v_j - [j < label]``, with [j < label] = sum_(i>j) e_i. Each
    margin is proven not to be negative, and ``e_j d_j = 0`` makes max the value at the label. So
    v_label >= v_j for all j and v_label > v_j for j < label. What was chosen earlier is not chosen again,
    and its margins are raised by more than values differ: they say nothing.
    """
    builder, batch, width = tools.builder, len(label), bounds[1] - bounds[0]
    count, raised = values.rows // batch, width + 1 if earlier else 0
    require_fit(name, (bounds[0] - 1, max(bounds[1], 2 * width + raised)))
    flat = tools.chosen(f"{name}/selector", values.rows)
    selector, largest = flat.reshape(batch, count), tools.chosen(f"{name}/max", batch)
    indices = np.arange(count)
    builder.boolean(f"{name}_one_hot", flat)
    builder.zero(f"{name}_one", Linear.ones(selector).shift(-1))
    builder.zero(f"{name}_label", Linear.weighted(selector, indices) - Linear.wires(label))
    rest = values
    if earlier:
        taken = Linear.ones(np.stack([wires.ravel() for wires in earlier], axis=1))
        rest -= taken.scale(raised)
    builder.fill(FirstMaximum(f"{name}/selector", selector, rest))
    builder.fill(Maximum(f"{name}/max", largest, rest))
    builder.fill(Sum("label", label, Weighted(selector, indices)))
    later = np.tile(np.triu(np.ones((count, count), dtype=np.int64), 1), (batch, 1))
    margin = Linear.wires(np.repeat(largest, count)) - values
    margin -= Linear.weighted(np.repeat(selector, count, axis=0), later)
    if earlier:
        builder.multiply(f"{name}_again", Linear.wires(flat), taken, Linear.empty(values.rows))
        margin += taken.scale(raised)
    attained = tools.margins(f"{name}_margin", margin, _bits(bounds, len(earlier)))
    builder.multiply(f"{name}_attained", Linear.wires(flat), attained, Linear.empty(values.rows))
    return selector


def _bits(bounds: Interval, rank: int) -> int:
    width = bounds[1] - bounds[0]
    return max(1, (width + 1 if rank else width).bit_length())
