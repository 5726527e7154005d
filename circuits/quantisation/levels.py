"""Features of a table reach differently far: millimetres here, salaries there. A step that is fine enough for
the narrowest makes the input wide, and layers that read it read each feature at a step of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from zenserve.circuits.graphs import rescaling
from zenserve.circuits.graphs.calibration import Interval
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.types import MOST_BITS, MOST_COMPARED_BITS, Affine, FloatArray, Rescale
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.quantisation.groups import Groups
from zenserve.circuits.quantisation.plan import Step
from zenserve.relations.integers import IntArray

# The narrowest feature spans so little of what all span that its integers would be too few.
_NARROW: Final = 1 / 4
# Features keep their precision so many times as far from their middle as in the calibration.
_MARGIN: Final = 2.0
_PRECISION: Final = 4


@dataclass(frozen=True)
class Level:
    """``given``: the input's type. Features less their ``middle``, int64[features], come by ``rescale`` to a
    type in units of their own: real = ``offsets`` + ``units`` · theirs, float64[features]."""

    given: Affine
    middle: IntArray
    rescale: Rescale
    offsets: FloatArray
    units: FloatArray


def level(ends: FloatArray, span: Interval, bits: int) -> Level:
    """Of features that reach from ``ends[0]`` to ``ends[1]`` and so have ``bits`` each; ``span``: of all."""
    middle, reach = ends.mean(axis=0), _reaches(ends)
    made = rescaling.affine(Interval(-_MARGIN, _MARGIN), min(bits + 1, MOST_BITS), "the features")
    finest = float(reach.min()) * made.scale
    wide = math.ceil(math.log2((span.high - span.low) / finest + 1))
    given = rescaling.affine(span, min(max(wide, made.bits), MOST_COMPARED_BITS), "the input")
    ratios = given.scale / (reach * made.scale)
    shift = max(0, math.ceil(math.log2(2**_PRECISION / float(ratios.min()))))
    multiplier = np.maximum(np.floor(np.ldexp(ratios, shift)), 1).astype(np.int64)
    units = given.scale * np.ldexp(1.0, shift) / (multiplier * made.scale)
    q = given.quantise(middle)
    return Level(given, q, Rescale(multiplier, shift, made, 0, made.top), given.real(q), units)


def _reaches(ends: FloatArray) -> FloatArray:
    """Return half the width of each feature's range; for a constant feature that of the narrowest feature."""
    reach: FloatArray = (ends[1] - ends[0]) / 2
    return np.where(reach > 0, reach, reach[reach > 0].min(initial=np.inf))


def leveled(graph: Graph, steps: list[Step], groups: Groups, name: str, ends: FloatArray) -> bool:
    """Return whether layers alone read the input of features with these ends, and the narrowest feature spans
    little of the whole range."""
    reach, whole = _reaches(ends), max(0.0, float(ends[1].max())) - min(0.0, float(ends[0].min()))
    if not np.isfinite(reach).all() or 2 * reach.min() > _NARROW * whole:
        return False
    group = groups.of(name)
    if group in {groups.of(tensor) for tensor in graph.outputs.values()} or groups.declared(name):
        return False
    readers = [step for step in steps if group in {groups.of(tensor) for tensor in step.node.inputs}]
    moved = all(isinstance(step.node, Reshape) for step in readers if groups.keeps(step))
    layers = [step.node for step in readers if not groups.keeps(step)]
    zeros = np.zeros(len(reach))
    return moved and bool(layers) and all(in_units(node, zeros, zeros) is not None for node in layers)


def in_units(node: Node, offsets: FloatArray, units: FloatArray) -> Node | None:
    """The layer, given each feature in a unit of its own and less an offset; None of other nodes."""
    if isinstance(node, Dense) and not node.declared_weight:
        return replace(node, weight=node.weight * units, bias=node.bias + node.weight @ offsets)
    if isinstance(node, Conv) and not node.declared_weight and node.weight.size == node.groups == len(units):
        along, factor = units.reshape(-1, 1, 1, 1), node.weight.ravel()
        return replace(node, weight=node.weight * along, bias=node.bias + factor * offsets)
    return None


def columns(graph: Graph, x: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the range of each feature of inputs that are tables: float64[2, features], least and largest
    values."""
    return {
        entry.name: np.stack([x[entry.name].min(axis=0), x[entry.name].max(axis=0)])
        for entry in graph.inputs
        if entry.features
    }
