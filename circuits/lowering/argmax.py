"""The indices of the largest values."""

from __future__ import annotations

from typing import Final

import numpy as np

from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.gadgets import require_fit
from zenserve.circuits.r1cs.linear import Linear, Weighted
from zenserve.circuits.r1cs.steps import BeforeFirstMaximum, Compare, FirstMaximum, Maximum, Sum
from zenserve.relations.integers import IntArray, Interval

# A selector for each value makes coefficients for all pairs: beyond as many values, steps, which make none.
_MOST_SELECTED: Final = 2048


def argmax(tools: Arithmetic, name: str, values: Linear, bounds: Interval, labels: IntArray) -> None:
    """The wires labels[batch, k] are, for each batch of n values, the indices of the k largest in order.

    ``values``: n rows for each batch; ``bounds``: a proven interval of them. Of equal values the first
    is taken for the largest: numpy.argmax. Rows: ``argmax_cost``.
    """
    chosen: list[Linear] = []
    for rank, label in enumerate(labels.T):
        own_name = f"{name}{rank + 1}" if rank else name
        chosen.append(_largest_of_rest(tools, own_name, values, bounds, label, chosen))


def argmax_cost(tools: Arithmetic, batch: int, count: int, wanted: int, bounds: Interval) -> Cost:
    """Of ``argmax`` of the ``wanted`` largest of ``count`` values."""
    labels = 2 if count <= _MOST_SELECTED else 1
    attained = [tools.attain_cost(batch * count, _bits(bounds, rank)) for rank in range(wanted)]
    return Cost.sum([Cost(rows=batch * wanted * labels), *attained])


def _largest_of_rest(
    tools: Arithmetic, name: str, values: Linear, bounds: Interval, label: IntArray, earlier: list[Linear]
) -> Linear:
    """``label`` [batch]: the index of the largest value that none of ``earlier`` has chosen. What it chooses
    itself, ``e_j = [j = label]``, is returned, batch * n rows.

    Sound: for wires e_j with sum 1 and sum j e_j = label, and a free wire ``max``, the margins are
    ``d_j = max - v_j - sum_(i>j) e_i``. By ``Arithmetic.attain`` e is one-hot, at the label, so that the last
    sum is [j < label]; and max is the value there. So v_label >= v_j for all j and v_label > v_j for
    j < label. The margins of what was chosen earlier are raised by more than values differ: they say nothing
    of the label, and it is at none of them, as the margins of the others would be negative.
    """
    builder, batch, width = tools.builder, len(label), bounds[1] - bounds[0]
    count, raised = values.rows // batch, width + 1 if earlier else 0
    require_fit(name, (bounds[0] - 1, max(bounds[1], 2 * width + raised)))
    rest = values
    if earlier:
        taken = Linear.total(earlier)
        rest -= taken.scale(raised)
    one_hot = _selected if count <= _MOST_SELECTED else _stepped
    chosen, before = one_hot(tools, name, rest, label)
    largest = tools.chosen(f"{name}/max", batch)
    builder.fill(Maximum(f"{name}/max", largest, rest))
    margin = Linear.wires(np.repeat(largest, count)) - values - before
    if earlier:
        margin += taken.scale(raised)
    tools.attain(name, chosen, margin, _bits(bounds, len(earlier)))
    return chosen


def _selected(tools: Arithmetic, name: str, values: Linear, label: IntArray) -> tuple[Linear, Linear]:
    """``e_j`` and ``sum_(i>j) e_i``, batch * n rows each, of wires e_j with sum 1 and sum j e_j = label."""
    builder, batch = tools.builder, len(label)
    count = values.rows // batch
    flat = tools.chosen(f"{name}/selector", values.rows)
    selector, indices = flat.reshape(batch, count), np.arange(count)
    _require_place(builder, name, selector, Linear.wires(label))
    builder.fill(FirstMaximum(f"{name}/selector", selector, values))
    builder.fill(Sum("label", label, Weighted(selector, indices)))
    later = np.tile(np.triu(np.ones((count, count), dtype=np.int64), 1), (batch, 1))
    return Linear.wires(flat), Linear.weighted(np.repeat(selector, count, axis=0), later)


def one_hot(tools: Arithmetic, name: str, place: Linear, most: int) -> IntArray:
    """Wires [n, most + 1] that are [j = place], for places in [0, most]. Rows: ``one_hot_cost``.

    Sound: for booleans with sum 1 and sum j e_j = place there is one choice, and for other places none.
    """
    builder, count = tools.builder, most + 1
    selector = tools.chosen(f"{name}/selector", place.rows, count)
    builder.boolean(f"{name}_one_hot", selector.ravel())
    _require_place(builder, name, selector, place)
    each = place.take(np.repeat(np.arange(place.rows), count)).shift(-np.tile(np.arange(count), place.rows))
    builder.fill(Compare(f"{name}/selector", selector.ravel(), each, "zero"))
    return selector


def one_hot_cost(rows: int, most: int) -> Cost:
    return Cost(rows=rows * (most + 3))


def _require_place(builder: Builder, name: str, selector: IntArray, place: Linear) -> None:
    """Of each row of ``selector`` [.., n] the sum is 1, and the sum of each times its index ``place``."""
    builder.zero(f"{name}_one", Linear.ones(selector).shift(-1))
    builder.zero(f"{name}_label", Linear.weighted(selector, np.arange(selector.shape[1])) - place)


def _stepped(tools: Arithmetic, name: str, values: Linear, label: IntArray) -> tuple[Linear, Linear]:
    """The same of wires b_j = sum_(i>j) e_i for j < n - 1: with b_-1 = 1 and b_(n-1) = 0 they make
    e_j = b_(j-1) - b_j, whose sum is 1, and sum j e_j = sum b_j.
    """
    builder, batch = tools.builder, len(label)
    count = values.rows // batch
    before = tools.chosen(f"{name}/before", batch * (count - 1)).reshape(batch, count - 1)
    grid = np.arange(values.rows).reshape(batch, count)
    wires, ones = before.ravel(), np.ones(before.size, dtype=np.int64)
    ends = Linear(values.rows, grid[:, :-1].ravel(), wires, ones)
    starts = Linear(values.rows, grid[:, 1:].ravel(), wires, ones)
    chosen = (starts - ends).shift((grid == grid[:, :1]).ravel().astype(np.int64))
    builder.zero(f"{name}_label", Linear.ones(before) - Linear.wires(label))
    builder.fill(BeforeFirstMaximum(f"{name}/before", before, values))
    builder.fill(Sum("label", label, Weighted.ones(before)))
    return chosen, ends


def _bits(bounds: Interval, rank: int) -> int:
    width = bounds[1] - bounds[0]
    return max(1, (width + 1 if rank else width).bit_length())
