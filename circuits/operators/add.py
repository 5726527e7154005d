"""Sums and differences of tensors; with a constant they are a ``Scale``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from zenserve.circuits.graphs import rescaling
from zenserve.circuits.graphs.calibration import Interval, without_outliers
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Constants, Node, Reading, Written, dims
from zenserve.circuits.graphs.retyping import Shift
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import (
    MOST_COMPARED_BITS,
    Affine,
    Bounds,
    FloatArray,
    Rescale,
    Shape,
    require_narrow,
)
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.activation import wrapping
from zenserve.circuits.operators.constants import both_constant, folded
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.masks import finite, of_sum
from zenserve.circuits.operators.moving import together
from zenserve.circuits.operators.quantise_linear import declared_at, operands, typed
from zenserve.circuits.operators.scale import affine
from zenserve.circuits.operators.sums import Accumulating
from zenserve.errors import ModelError
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Linear, Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy

# Numbers nearer to zero are added.
_FAR: Final = 1 << 15
# Terms of a sum: rows of lookups read as many wires.
_MOST: Final = 16
# Beyond what the integers of any other term reach.
_FURTHEST: Final = 2.0**24


@dataclass(frozen=True, eq=False)
class Sum(Node):
    """The sum of tensors of one shape, each times its one of ``signs``, 1 or -1."""

    called = "add"
    adds = True
    widest = MOST_COMPARED_BITS

    signs: tuple[int, ...]

    @property
    def arity(self) -> int:  # type: ignore[override]
        return len(self.signs)

    def shape(self, *shapes: Shape) -> Shape:
        if len(set(shapes)) > 1:
            raise self.refuse(f"adds shapes {' and '.join(f'[batch, {dims(shape)}]' for shape in shapes)}")
        return shapes[0]

    def run(self, *inputs: FloatArray) -> FloatArray:
        total = self.signs[0] * inputs[0]
        for sign, x in zip(self.signs[1:], inputs[1:], strict=True):
            total = total + sign * x
        return total

    def needed(self, at: int, reading: Reading) -> Interval:
        """Return the interval of an input that can bring the sum to where it matters, whatever the other
        inputs are."""
        span, made = reading.spans[at], reading.made
        if made is None:
            return span
        signed = [
            each if sign > 0 else Interval(-each.high, -each.low)
            for each, sign in zip(reading.spans, self.signs, strict=True)
        ]
        rest = [each for other, each in enumerate(signed) if other != at]
        low = made.low - sum(each.high for each in rest)
        high = made.high - sum(each.low for each in rest)
        part = Interval(low, high) if self.signs[at] > 0 else Interval(-high, -low)
        return without_outliers(span, part)

    def quantise(self, site: Site) -> QuantAdd:
        """All terms at the output's scale: ``s_i / s_y = m_i / 2^k``, and together within half a step as far
        as each and the output reach: terms that cancel may be wider than their sum."""
        types = [site.incoming(index) for index in range(len(self.inputs))]
        scales, rescale = np.array([kind.scale for kind in types]), None
        if site.unscaled:
            scales = np.minimum(scales, scales.min() * _FURTHEST)
            factors, _ = rescaling.approximate(scales / scales.max(), 2.0**-16)
        else:
            output = site.output()
            ratios = _saturating(scales / output.scale, types, output)
            reach = ratios * [max(map(abs, kind.centred)) for kind in types]
            error = 1 / (2 * len(types) * np.maximum(reach, output.top))
            factors, shift = rescaling.approximate(ratios, error)
            rescale = Rescale(np.array([1]), shift, output, *site.limits(output))
        terms = tuple((factors * self.signs).tolist())
        return QuantAdd(site.name, site.inputs, terms, rescale=rescale)

    def written(self, constant: Constants) -> Written:
        if type(self) is Sum and min(self.signs) < 0:
            raise ModelError("model.unsupported_operator", "ONNX's Sum has no signs")
        return super().written(constant)


def _saturating(ratios: FloatArray, types: Sequence[Affine], output: Affine) -> FloatArray:
    """Terms of which each step is beyond what all smaller ones and the output reach together, as masks are,
    are so by fewer digits."""
    steps = [max(map(abs, kind.centred)) for kind in types]

    def enough(of: FloatArray, ratio: float) -> float:
        return 2.0 * (output.top + float((of * steps)[ratios < ratio].sum()))

    huge = list[float]()
    for ratio in sorted({*ratios.tolist()}, reverse=True):
        if ratio <= enough(ratios, ratio):
            break
        huge.insert(0, ratio)
    made = ratios.copy()
    for ratio in huge:
        made[ratios == ratio] = enough(made, ratio)
    return made


@dataclass(frozen=True, eq=False)
class Add(Sum):
    """The sum of two."""

    signs: tuple[int, ...] = (1, 1)

    def formula(self, *inputs: str) -> str | None:
        return f"({inputs[0]}) + ({inputs[1]})"


@dataclass(frozen=True, eq=False)
class Sub(Add):
    """The difference of two."""

    signs: tuple[int, ...] = (1, -1)

    def formula(self, *inputs: str) -> str | None:
        return f"({inputs[0]}) - ({inputs[1]})"


def sums_of_sums(graph: Graph) -> Graph:
    """A sum of sums that nothing else reads is one: it rounds once."""
    readers, made = graph.readers, dict[str, Node]()
    for node in graph.nodes:
        made[node.name] = node
        if not isinstance(node, Sum):
            continue
        terms, room = list[tuple[str, int]](), _MOST - len(node.inputs)
        for name, sign in zip(node.inputs, node.signs, strict=True):
            before = made.get(name)
            more = len(before.inputs) - 1 if isinstance(before, Sum) else 0
            if not isinstance(before, Sum) or readers[name] > 1 or name in graph.declared or more > room:
                terms.append((name, sign))
                continue
            terms += [(each, sign * own) for each, own in zip(before.inputs, before.signs, strict=True)]
            room -= more
            del made[name]
        if len(terms) > len(node.inputs):
            inputs, signs = zip(*terms, strict=True)
            made[node.name] = Sum(node.name, inputs, signs)
    return replace(graph, nodes=tuple(made.values()))


@dataclass(frozen=True, eq=False)
class QuantAdd(Accumulating):
    """``acc = sum_i m_i (q_i - z_i)`` for tensors of one shape and ``factors`` m_i."""

    factors: tuple[int, ...]
    arity = None

    def __post_init__(self) -> None:
        self._require(0 not in self.factors, "needs factors that are not zero")
        self._require(1 < len(self.factors) == len(self.inputs) <= _MOST, "needs a factor for each input")

    def shape(self, *shapes: Shape) -> Shape:
        if len(set(shapes)) > 1:
            raise self.refuse(f"adds shapes {shapes}")
        return shapes[0]

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        first, *others = (
            factor * (q - kind.zero_point)
            for factor, q, kind in zip(self.factors, inputs, types, strict=True)
        )
        for term in others:
            first = first + term
        return first

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        low, high = self._within([kind.centred for kind in types])
        require_narrow(self.name, max(-low, high))
        return np.array([low]), np.array([high])

    def _sums_bound(self, inputs: Sequence[Tensor], types: Sequence[Affine], privacy: Privacy) -> Bound:
        """Terms may be known to reach less than their types."""
        centred = [
            (tensor.bound.interval[0] - kind.zero_point, tensor.bound.interval[1] - kind.zero_point)
            for tensor, kind in zip(inputs, types, strict=True)
        ]
        return Bound.of(*self._within(centred))

    def _within(self, centred: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Of sums of terms within these, zero points taken off."""
        ends = [
            sorted(factor * end for end in each) for factor, each in zip(self.factors, centred, strict=True)
        ]
        low, high = (sum(end) for end in zip(*ends, strict=True))
        return low, high

    def step(self, types: Sequence[Affine]) -> float | None:
        """Of all to 2^-16: the factors' ratios are those of the scales."""
        return types[0].scale / abs(self.factors[0])

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        scaled = zip(terms, self.factors, strict=True)
        return [Linear(self.name, sums, tuple(term._replace(factor=factor) for term, factor in scaled))]


def add(step: Step) -> Value:
    """The sum of two inputs."""
    if both_constant(step):
        return folded(step, np.add)
    step = replace(step, inputs=[finite(step.value(at)) for at in (0, 1)])
    if step.is_data(0) and step.is_data(1):
        return of_sum(step, _combined(step, Add), add)
    data = 0 if step.is_data(0) else 1
    array = step.weights(1 - data).array
    return _shifted(step, data, array) or of_sum(step, affine(step, data, 1.0, array), add)


def _shifted(step: Step, position: int, term: FloatArray) -> Data | None:
    """An input of whole numbers and a number far from zero, as timestamps have it."""
    given = step.data(position)
    far = term.size == 1 and abs(term.item()) >= _FAR and term.ndim <= len(step.whole(position))
    if not far or not step.is_whole(position) or not step.building.is_given(given.tensor):
        return None
    return Data(step.emit(Shift, (given.tensor,), -int(term.item())), shape=step.whole(position))


def subtract(step: Step) -> Value:
    """The difference of two inputs."""
    if both_constant(step):
        return folded(step, np.subtract)
    if not step.is_data(1):
        return _shifted(step, 0, -step.weights(1).array) or affine(step, 0, 1.0, -step.weights(1).array)
    if not step.is_data(0):
        return affine(step, 1, -1.0, step.weights(0).array)
    return _combined(step, Sub)


def _combined(step: Step, kind: type[Add]) -> Data:
    left, right, shape = together(step)
    return Data(step.emit(kind, (left, right)), shape=shape)


def _linear_add(step: Step) -> Value:
    total = add(replace(step, inputs=operands(step)))
    assert isinstance(total, Data)  # noqa: S101  one of the operands is computed
    return replace(typed(step, total.tensor, declared_at(step, 6)), shape=total.shape)


ENTRY = Entry(
    onnx={"Add": Operator(wrapping(add), {}, 2, 2), "Sub": Operator(wrapping(subtract), {}, 2, 2)},
    microsoft={"QLinearAdd": Operator(_linear_add, {}, 7, 8)},
    integers=(QuantAdd,),
    passes=(sums_of_sums,),
)
