"""Clamps: ReLU, ReLU6 and any other Clip, most of them part of the sums before them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zenserve.circuits.graphs import formula
from zenserve.circuits.graphs.calibration import Interval, without_outliers
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Constants, Node, Reading, Written
from zenserve.circuits.graphs.rescaling import Clamp
from zenserve.circuits.graphs.rewriting import fresh, join, movers_before
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, Bounds, Declared, FloatArray, Shape
from zenserve.circuits.onnx.constants import INTEGERS, Constant
from zenserve.circuits.onnx.step import Data, Measured, Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.sums import Accumulating
from zenserve.relations.integers import IntArray


@dataclass(frozen=True, eq=False)
class Clip(Node):
    """``y = min(max(x, low), high)`` elementwise. ReLU is ``Clip(0, inf)``, and ReLU6 ``Clip(0, 6)``."""

    called = "clamp"

    low: float = 0.0
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise self.refuse(f"has the bounds {self.low} and {self.high}, which leave no interval")

    def run(self, *inputs: FloatArray) -> FloatArray:
        return np.clip(inputs[0], self.low, self.high)

    def formula(self, *inputs: str) -> str | None:
        return formula.clipped(inputs[0], self.low, self.high)

    @property
    def clamp(self) -> Clamp:
        return Clamp(self.low, self.high)

    def needed(self, at: int, reading: Reading) -> Interval:
        return without_outliers(reading.spans[at], Interval(self.low, self.high))

    def quantise(self, site: Site) -> Requantise:
        return Requantise(site.name, site.inputs, rescale=site.rescale(np.array([site.incoming().scale])))

    def written(self, constant: Constants) -> Written:
        if (self.low, self.high) == (0.0, math.inf):
            return Written("Relu")
        ends = (("low", self.low), ("high", self.high))
        return Written("Clip", [constant(name, np.array(end)) for name, end in ends])


@dataclass(frozen=True, eq=False)
class Requantise(Accumulating):
    """``acc = q - z``: a clamp on its own, or a change of type."""

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        return inputs[0] - types[0].zero_point

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        low, high = types[0].centred
        return np.array([low]), np.array([high])


def clips_before_movers(graph: Graph) -> Graph:
    """In front of what only moves values, where a sum is there to take it."""
    taken, readers, made = set(graph.shapes), graph.readers, dict[str, Node]()
    for node in graph.nodes:
        chain = movers_before(graph, made, readers, node.inputs[0]) if isinstance(node, Clip) else []
        source = chain[0].inputs[0] if chain else ""
        if source not in made or not made[source].adds or readers[source] > 1 or source in graph.declared:
            made[node.name] = node
            continue
        for each in chain:
            del made[each.name]
        clip = replace(node, name=fresh(f"{node.name}.sum", taken), inputs=(source,))
        made[clip.name], readers[clip.name] = clip, 1
        chain[0] = replace(chain[0], inputs=(clip.name,))
        made |= {each.name: each for each in (*chain[:-1], replace(chain[-1], name=node.name))}
    return replace(graph, nodes=tuple(made.values()))


def merge_clips(graph: Graph) -> Graph:
    """A Clip of a Clip is one, as ReLU before the clamp of a declared type is."""
    return join(graph, _merged)


def _merged(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, Clip) or not isinstance(node, Clip):
        return None
    low, high = max(before.low, node.low), min(before.high, node.high)
    return Clip(node.name, before.inputs, low, high) if low < high else None


def _relu(step: Step) -> Value:
    return Data(step.emit(Clip, (step.floats(),), 0.0, math.inf))


def between(step: Step) -> Value:
    """A Clip by numbers of the file."""
    low = step.attributes.get("min", step.number(1, -math.inf))
    high = step.attributes.get("max", step.number(2, math.inf))
    value = step.value(0)
    if (low, high) == (-math.inf, math.inf):
        return value
    if isinstance(value, Constant):
        return _clipped_constant(value, low, high)
    if value.integer and not isinstance(value.integer, Measured) and low < high:
        return _narrowed(step, value, low, high)
    return Data(step.emit(Clip, (step.floats(),), low, high))


def _clipped_constant(value: Constant, low: float, high: float) -> Constant:
    """Of quantised integers, as Brevitas writes weights of few bits, the type with the bits that are left."""
    array = np.clip(value.array, low, high).astype(value.array.dtype)
    known = value.declared
    if value.kind in INTEGERS and known is None:
        bits, signed = INTEGERS[value.kind]
        known = Declared(np.array(1.0), np.array(0), bits, signed)
    return replace(value, array=array, declared=known and known.within(low, high))


def _narrowed(step: Step, data: Data, low: float, high: float) -> Data:
    """Quantised integers within others: what Brevitas writes between QuantizeLinear and DequantizeLinear for
    activations of few bits."""
    assert data.integer is not None  # noqa: S101  of what is quantised
    declared = data.integer.within(low, high)
    ends = (declared.scale.item() * (end - int(declared.zero_point)) for end in (low, high))
    tensor = step.emit(Clip, (data.tensor,), *ends)
    step.building.declared[tensor] = declared
    return replace(data, tensor=tensor, integer=declared)


ENTRY = Entry(
    onnx={"Relu": Operator(_relu, elementwise=True)},
    integers=(Requantise,),
    passes=(merge_clips, clips_before_movers),
)
