"""Div and Mod of integers by computed ones: exact, as quotients with a remainder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zenserve.circuits.graphs import formula, rescaling
from zenserve.circuits.graphs.calibration import Interval
from zenserve.circuits.graphs.node import Constants, Node, QuantNode, Written, dims
from zenserve.circuits.graphs.rescaling import Clamp
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import MOST_BITS, Affine, Bounds, FloatArray, Shape
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.activation import TRUNCATED, Activation
from zenserve.circuits.operators.add import subtract
from zenserve.circuits.operators.constants import both_constant
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.moving import together
from zenserve.circuits.operators.multiply import divide, multiply
from zenserve.circuits.operators.parameters import by_formula, modulo
from zenserve.circuits.operators.sums import Accumulating
from zenserve.errors import ModelError
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import Tabulation
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Linear, Quotient, Relation, Tabulated, Tensor, Term
from zenserve.verifier.schemes import Privacy


@dataclass(frozen=True, eq=False)
class WholeQuotient(Node):
    """``floor(x / y)`` of two tensors of whole numbers, of one shape; for y below 1 by 1."""

    arity = 2
    called = "quotient"

    def shape(self, *shapes: Shape) -> Shape:
        return _same(self, shapes)

    def run(self, *inputs: FloatArray) -> FloatArray:
        x, y = inputs
        quotient: FloatArray = np.floor_divide(np.rint(x), np.maximum(np.rint(y), 1.0))
        return quotient

    def quantise(self, site: Site) -> QuantWholeQuotient:
        if {site.incoming(0).scale, site.incoming(1).scale} != {1.0}:
            raise ModelError(
                "model.scale",
                f"{site.name} divides whole numbers that {site.settings.bits} bits do not hold; ask for more",
            )
        output = site.fixed or rescaling.exact(site.span or Interval(0, 1), site.name)
        rescale = rescaling.given(np.array([1.0]), output, Clamp())
        return QuantWholeQuotient(site.name, site.inputs, rescale=rescale)

    def written(self, constant: Constants) -> Written:
        raise ModelError("model.unsupported_operator", "quotients of whole real numbers are no ONNX operator")


@dataclass(frozen=True, eq=False)
class QuantWholeQuotient(Accumulating):
    """``acc = floor((q_1 - z_1) / max(q_2 - z_2, 1))``."""

    arity = 2

    def shape(self, *shapes: Shape) -> Shape:
        return _same(self, shapes)

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        x, y = (q - kind.zero_point for q, kind in zip(inputs, types, strict=True))
        return x // np.maximum(y, 1)

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        low, high = types[0].centred
        return np.array([low]), np.array([high])

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        self._require(types[1].bits <= MOST_BITS, f"divides by integers of more than {MOST_BITS} bits")
        super().check(types, shapes)

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        """The quotient of ``2 x - y / 2`` and ``2 y``, rounded, is the floor of that of x and y."""
        x, y = terms
        (least, most), (_, top) = x.tensor.bound.interval, y.tensor.bound.interval
        function = Tabulation(np.maximum(np.arange(top + 1) - y.zero_point, 1))
        largest = function.bound.interval[1]
        divisor = Tensor(f"{self.name}/divisor", sums.shape, function.bound, largest.bit_length())
        zero = int(x.zero_point)
        bound = Bound.of(2 * (least - zero) - largest, 2 * (most - zero) - 1)
        value = Tensor(f"{self.name}/value", sums.shape, bound)
        rows = np.arange(int(np.prod(sums.shape[1:])))
        return [
            Tabulated(divisor.name, divisor, y.tensor, function),
            Linear(value.name, value, (Term(x.tensor, 2, x.zero_point), Term(divisor, -1))),
            Quotient(self.name, sums, value, divisor, rows, 1, 1),
        ]


def _same(node: Node | QuantNode, shapes: Sequence[Shape]) -> Shape:
    if shapes[0] != shapes[1]:
        raise node.refuse(f"divides shapes [batch, {dims(shapes[0])}] and [batch, {dims(shapes[1])}]")
    return shapes[0]


def _div(step: Step) -> Value:
    """Of integers towards zero."""
    if not step.is_whole(0) or both_constant(step):
        return divide(step)
    if not step.is_data(0):
        return by_formula(step, lambda above: formula.of(TRUNCATED, f"{formula.number(above)} / x"))
    if not step.is_data(1):
        if not step.plain(1).array.all():
            raise step.refuse("tensor_type", "divides integers by zero")
        return by_formula(step, lambda below: formula.of(TRUNCATED, f"x / {formula.number(below)}"))
    x, y = _both(step)
    return _towards_zero(step, x, y)


def _mod(step: Step) -> Value:
    """Read a Mod: the remainder has the divisor's sign, or, with ``fmod``, the dividend's."""
    if not step.is_data(1):
        return modulo(step)
    if not (step.is_data(0) and step.is_whole(0)):
        raise step.refuse(
            "unsupported_operator", "is by a computed tensor; both must be of integers, computed"
        )
    x, y = _both(step)
    if step.attributes.get("fmod", 0):
        quotient = _towards_zero(step, x, y)
    else:
        turned = _product(step, x, _function(step, y, "sign(x)"))
        quotient = _floor(step, turned, _function(step, y, "abs(x)"))
    return subtract(replace(step, inputs=[x, _product(step, y, quotient)]))


def _both(step: Step) -> tuple[Data, Data]:
    left, right, shape = together(step)
    kind = step.value(0).kind
    return Data(left, shape=shape, kind=kind), Data(right, shape=shape, kind=kind)


def _towards_zero(step: Step, x: Data, y: Data) -> Data:
    signs = _product(step, _function(step, x, "sign(x)"), _function(step, y, "sign(x)"))
    return _product(step, signs, _floor(step, _function(step, x, "abs(x)"), _function(step, y, "abs(x)")))


def _floor(step: Step, x: Data, y: Data) -> Data:
    return replace(x, tensor=step.emit(WholeQuotient, (x.tensor, y.tensor)))


def _function(step: Step, data: Data, text: str) -> Data:
    return replace(data, tensor=step.emit(Activation, (data.tensor,), text))


def _product(step: Step, x: Data, y: Data) -> Data:
    made = multiply(replace(step, inputs=[x, y]))
    assert isinstance(made, Data)  # noqa: S101  of computed tensors
    return replace(made, kind=x.kind)


ENTRY = Entry(
    onnx={"Div": Operator(_div, {}, 2, 2), "Mod": Operator(_mod, {"fmod": "i"}, 2, 2)},
    integers=(QuantWholeQuotient,),
)
