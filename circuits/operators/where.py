"""The Where operator, which selects entries of one of two tensors. One tensor may be a constant, as huge as
masks are: the constant takes no part of a type, and is replaced by the end of the type beyond which it lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs import formula, rescaling
from zenserve.circuits.graphs.calibration import Interval, without_outliers
from zenserve.circuits.graphs.node import Node, Reading, dims
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, Bounds, FloatArray, Rescale, Shape
from zenserve.circuits.onnx.constants import Constant
from zenserve.circuits.onnx.step import Data, Operator, Step, Value, of_kind
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.operators.compare import negated, with_numbers
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.masks import finite, is_small, masked
from zenserve.circuits.operators.moving import aligned, broadcast
from zenserve.circuits.operators.quantise_linear import declared_at, integer, real, typed
from zenserve.circuits.operators.scale import affine_of
from zenserve.circuits.operators.scatter import mixed
from zenserve.circuits.operators.sums import Accumulating
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Linear, Product, Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy

Ends = tuple[int, int]

# Sums that an output reads have no type: a constant is one of them, if it has fewer bits.
_MOST_BITS: Final = 40


@dataclass(frozen=True, eq=False)
class Where(Node):
    """Of the second tensor what the first, of booleans, says, for the rest ``value``, or, where there are
    three, of the third. All are of one shape."""

    called = "where"
    adds = True
    curved = True

    value: float = 0.0

    @property
    def arity(self) -> int:  # type: ignore[override]
        return 3 if len(self.inputs) == 3 else 2

    def shape(self, *shapes: Shape) -> Shape:
        if len(set(shapes)) > 1:
            said = " and ".join(f"[batch, {dims(shape)}]" for shape in shapes)
            raise self.refuse(f"combines shapes {said}")
        return shapes[0]

    def run(self, *inputs: FloatArray) -> FloatArray:
        condition, one, *other = inputs
        return np.where(condition > 0.5, one, other[0] if other else self.value)

    def formula(self, *inputs: str) -> str | None:
        return f"where({', '.join([*inputs, formula.number(self.value)][:3])})"

    def needed(self, at: int, reading: Reading) -> Interval:
        span = reading.spans[at]
        return without_outliers(span, reading.made) if at and reading.made else span

    def quantise(self, site: Site) -> QuantWhere:
        """All at the output's scale, as terms of a sum are."""
        first, kinds = site.incoming(), [site.incoming(at) for at in range(1, len(site.inputs))]
        scales = np.array([kind.scale for kind in kinds])
        if len(kinds) == 1 or site.unscaled:
            factors, _ = rescaling.approximate(scales / scales.max(), 2.0**-16)
            step = scales.max() / factors.max()
            rescale = None if site.unscaled else site.rescale(np.array([step * first.scale]))
            reach = 2.0**_MOST_BITS if rescale is None else _beyond(rescale) / step
        else:
            output = site.output()
            ratios = scales / output.scale
            reaches = ratios * [max(map(abs, kind.centred)) for kind in kinds]
            factors, shift = rescaling.approximate(ratios, 1 / (2 * np.maximum(reaches, output.top)))
            rescale = Rescale(np.array([1]), shift, output, *site.limits(output))
            step, reach = output.scale / 2.0**shift, 0.0
        other = round(min(max(self.value / step, -reach), reach)) if len(kinds) == 1 else 0
        return QuantWhere(site.name, site.inputs, tuple(factors.tolist()), other, rescale=rescale)


def _beyond(rescale: Rescale) -> float:
    """A real number beyond either end of the output's type."""
    return rescale.output.scale * (rescale.output.top + 2)


@dataclass(frozen=True, eq=False)
class QuantWhere(Accumulating):
    """``acc = f_1 (q_1 - z_1)`` where the condition is 1, else ``other``, or with a third tensor
    ``f_2 (q_2 - z_2)``. ``factors``: f_1, and f_2 if there is one."""

    factors: tuple[int, ...]
    other: int
    arity = None

    def __post_init__(self) -> None:
        self._require(len(self.factors) in (1, 2) and min(self.factors) > 0, "needs one or two factors")
        self._require(len(self.factors) == 2 or self.factors == (1,), "needs a factor of 1 beside a constant")
        self._require(
            len(self.inputs) == 1 + len(self.factors), "needs a condition and a tensor for each factor"
        )

    def shape(self, *shapes: Shape) -> Shape:
        if len(set(shapes)) > 1:
            raise self.refuse(f"combines shapes {shapes}")
        return shapes[0]

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        self._require((types[0].scale, types[0].zero_point) == (1.0, 0), "needs a condition that is 0 or 1")
        super().check(types, shapes)

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        one, *others = (
            factor * (q - kind.zero_point)
            for factor, q, kind in zip(self.factors, inputs[1:], types[1:], strict=True)
        )
        other = others[0] if others else np.int64(self.other)
        made: IntArray = inputs[0] * (one - other) + other
        return made

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        low, high = self._within([kind.centred for kind in types])
        return np.array([low]), np.array([high])

    def _within(self, centred: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Of sums of inputs within these, zero points taken off."""
        condition, *parts = centred
        one, *others = (
            (factor * low, factor * high) for factor, (low, high) in zip(self.factors, parts, strict=True)
        )
        other = others[0] if others else (self.other, self.other)
        if condition[0] >= 0 and condition[1] <= 1:
            return min(one[0], other[0]), max(one[1], other[1])
        apart = one[0] - other[1], one[1] - other[0]
        ends = [each * end for each in condition for end in apart]
        return min(ends) + other[0], max(ends) + other[1]

    def step(self, types: Sequence[Affine]) -> float | None:
        """Of all to 2^-16: the factors' ratios are those of the scales."""
        return types[1].scale / self.factors[0]

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        condition, *parts = terms
        one, *others = (
            term._replace(factor=factor) for term, factor in zip(parts, self.factors, strict=True)
        )
        if others:
            parts = [one, others[0]._replace(factor=-self.factors[1])]
            difference = self._part("difference", sums, _reach(parts))
            relations: list[Relation] = [Linear(difference.name, difference, tuple(parts))]
            apart, rest = Term(difference), [others[0]]
        else:
            # All else is the constant: q - z - other, and this added again.
            apart, rest, relations = one._replace(zero_point=one.zero + self.other), [], []
        chosen = self._part("chosen", sums, _product(_reach([apart]), _reach([condition])))
        constant = 0 if others else -self.other
        return [
            *relations,
            Product(chosen.name, chosen, apart, condition),
            Linear(self.name, sums, (Term(chosen, 1, constant), *rest)),
        ]

    def _part(self, part: str, sums: Tensor, reach: Ends) -> Tensor:
        return Tensor(f"{self.name}/{part}", sums.shape, Bound.of(*reach))


def _reach(terms: Sequence[Term]) -> Ends:
    """Of the terms' sum."""
    ends = [
        sorted(int(term.factor) * (end - term.zero) for end in term.tensor.bound.interval) for term in terms
    ]
    low, high = (sum(end) for end in zip(*ends, strict=True))
    return low, high


def _product(left: Ends, right: Ends) -> Ends:
    ends = [one * other for one in left for other in right]
    return min(ends), max(ends)


def where(step: Step) -> Value:
    """Read a Where. A constant that is so small that a softmax gives it no share masks the other tensor."""
    step = replace(step, inputs=[step.value(0), *(finite(step.value(at)) for at in (1, 2))])
    made = of_kind(_either(step) if step.is_data(0) else _chosen(step), step.value(1).kind)
    for at in (1, 2):
        constant, other, condition = step.value(at), step.value(3 - at), step.value(0)
        if isinstance(constant, Constant) and isinstance(other, Data) and is_small(constant.array):
            if isinstance(condition, Data):
                kept = negated(step) if at == 1 else condition
                return masked(step, made, other, kept) if isinstance(kept, Data) else made
            return masked(step, made, other, (condition.array != 0) == (at == 2))
    return made


def _either(step: Step) -> Value:
    """By a computed condition."""
    step = with_numbers(step)
    condition, one, other = (step.value(at) for at in range(3))
    wholes = [part.array.shape for part in (one, other) if isinstance(part, Constant)]
    first, value = _number(one), _number(other)
    if first is not None and value is not None:
        text = f"where(x, {formula.number(first)}, {formula.number(value)})"
        return _shaped(step, Data(step.emit(Activation, (step.floats(),), text), shape=step.whole()), wholes)
    if first is not None:
        condition, one, other, value = negated(step), other, one, first
    parts = [condition, one] if value is not None else [condition, one, other]
    data, shape = aligned(step, [_computed(step, part) for part in parts])
    made = step.emit(Where, tuple(each.tensor for each in data), value or 0.0)
    return _shaped(step, Data(made, shape=shape), wholes)


def _number(value: Value | None) -> float | None:
    """Of a constant the number that all of it is."""
    if not isinstance(value, Constant) or not value.array.size:
        return None
    first = value.array.flat[0]
    return float(first) if (value.array == first).all() else None


def _computed(step: Step, value: Value) -> Data:
    """A constant of several numbers as a tensor."""
    if isinstance(value, Constant):
        return affine_of(step, replace(step.data(), shape=step.whole()), 0.0, value.array)
    return replace(value, tensor=replace(step, inputs=[value]).floats())


def _shaped(step: Step, data: Data, wholes: Sequence[Shape]) -> Data:
    """Repeated to the shape that constants of these shapes broadcast it to."""
    shape = np.broadcast_shapes(data.shape or (), *wholes)
    return broadcast(step, data, shape)


def _linear_where(step: Step) -> Value:
    """Integers, each with its scale and zero point behind it."""
    parts: list[Value] = [
        Data(integer(step, at), shape=step.whole(at))
        if step.is_data(at)
        else replace(real(step, at, at + 1, 0), declared=None)
        for at in (1, 4)
    ]
    made = where(replace(step, inputs=[step.value(0), *parts]))
    if not isinstance(made, Data):
        raise step.refuse("unsupported_operator", "chooses between constants; have the exporter fold them")
    return replace(typed(step, made.tensor, declared_at(step, 7)), shape=made.shape, kind=step.value(1).kind)


def _chosen(step: Step) -> Value:
    """By a constant values move."""
    condition: NDArray[np.bool_] = step.plain(0).array != 0
    wholes = [step.whole(position) for position in (1, 2)]
    try:
        shape = np.broadcast_shapes(condition.shape, *wholes)
    except ValueError:
        raise step.refuse("shape", f"chooses between the shapes {[*map(list, wholes)]}") from None
    step.spend(int(np.prod(shape)))

    def either(one: IntArray, other: IntArray) -> IntArray:
        return np.where(condition, one, other)

    return mixed(step, either, 1, 2)


ENTRY = Entry(
    onnx={"Where": Operator(where, {}, 3, 3)},
    microsoft={"QLinearWhere": Operator(_linear_where, {}, 9, 9)},
    integers=(QuantWhere,),
)
