"""LeakyRelu, and what is straight on either side of zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs import formula, rescaling
from zenserve.circuits.graphs.node import Constants, Named, Node, QuantNode, Written, dims
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, Bounds, FloatArray, Shape, require_narrow
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.activation import table
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.quantise_linear import declared_at, integer, typed
from zenserve.circuits.operators.sums import Accumulating
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import Requantisation
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Pair
from zenserve.relations.relation import Linear, Lookup, Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy

# Beyond these an alpha or its inverse is no slope that 8 bits could show.
_LEAST, _MOST = 2.0**-16, 2.0**16


@dataclass(frozen=True, eq=False)
class LeakyRelu(Node):
    """``y = x`` for x >= 0, else ``alpha x``."""

    called = "leaky"
    adds = True

    alpha: float = 0.01

    def __post_init__(self) -> None:
        if not _LEAST <= abs(self.alpha) <= _MOST:
            raise self.refuse(f"has alpha {self.alpha}; its absolute value must lie in [2^-16, 2^16]")

    def run(self, *inputs: FloatArray) -> FloatArray:
        return np.where(inputs[0] < 0, self.alpha * inputs[0], inputs[0])

    def formula(self, *inputs: str) -> str | None:
        return f"leaky_relu({inputs[0]}, {formula.number(self.alpha)})"

    def quantise(self, site: Site) -> QuantNode:
        """A table; of sums that only the argmax reads ``alpha = m / 2^k``."""
        if not site.unscaled:
            return table(site, f"leaky_relu(x, {formula.number(self.alpha)})")
        (multiplier,), shift = rescaling.approximate(np.array([abs(self.alpha)]), 2.0**-16)
        slopes = int(math.copysign(multiplier, self.alpha)), 1 << shift
        return PiecewiseLinear(site.name, site.inputs, slopes)

    def written(self, constant: Constants) -> Written:
        return Written("LeakyRelu", (), {"alpha": self.alpha})


@dataclass(frozen=True, eq=False)
class PRelu(Node):
    """``y = x`` for x >= 0, else ``slopes · x``: float64 that broadcasts to the tensor's shape."""

    called = "prelu"
    adds = True

    slopes: FloatArray

    def __post_init__(self) -> None:
        if not (np.abs(self.slopes) <= _MOST).all():
            raise self.refuse("has a slope beyond 2^16")

    def shape(self, *shapes: Shape) -> Shape:
        _require_broadcast(self, self.slopes.shape, shapes[0])
        return shapes[0]

    def run(self, *inputs: FloatArray) -> FloatArray:
        return np.where(inputs[0] < 0, self.slopes * inputs[0], inputs[0])

    def quantise(self, site: Site) -> QuantPRelu:
        """Slopes ``m / 2^k``, to a quarter of the output's step over the input's range."""
        incoming = site.incoming()
        error = 2.0**-16
        if not site.unscaled:
            error = site.output().scale / (4 * incoming.scale * max(1, incoming.zero_point))
        shift = next(k for k in range(64) if (np.abs(_rounded(self.slopes, k) - self.slopes) <= error).all())
        slopes = np.ldexp(_rounded(self.slopes, shift), shift).astype(np.int64)
        rescale = None if site.unscaled else site.rescale(np.array([math.ldexp(incoming.scale, -shift)]))
        return QuantPRelu(site.name, site.inputs, slopes, 1 << shift, rescale=rescale)

    def written(self, constant: Constants) -> Written:
        return Written("PRelu", [constant("slope", self.slopes)])


def _rounded(slopes: FloatArray, shift: int) -> FloatArray:
    """To multiples of 2^-shift."""
    return np.ldexp(np.rint(np.ldexp(slopes, shift)), -shift)


@dataclass(frozen=True, eq=False)
class Bent(Accumulating):
    """``acc = below c`` where ``c = q - z`` is negative, else ``above c``."""

    @property
    def bend(self) -> tuple[NDArray[np.object_], int]:
        """``below``, Python integers that broadcast to the tensor's shape, and ``above``, positive."""
        raise NotImplementedError

    def step(self, types: Sequence[Affine]) -> float | None:
        return types[0].scale / self.bend[1]

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        below, above = self.bend
        centred = inputs[0] - types[0].zero_point
        return np.where(centred < 0, below.astype(np.int64), above) * centred

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        """Return the bounds of ``below c + (above - below) max(c, 0)``, term by term as in ``summed``."""
        (low, high), (below, above) = types[0].centred, self.bend
        rest = (above - below) * high
        least = np.minimum(below * low, below * high) + np.minimum(rest, 0)
        most = np.maximum(below * low, below * high) + np.maximum(rest, 0)
        require_narrow(self.name, max(-least.min(), most.max()))
        return least.astype(np.int64), most.astype(np.int64)

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        """Each term fits alone, too: a steep slope adds up to little where hardly any input is above z."""
        super().check(types, shapes)
        below, above = self.bend
        factor = 1 if self.rescale is None else int(self.rescale.multiplier.max())
        require_narrow(self.name, 2 * factor * max(abs(below).max(), above) * types[0].top)

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        """``max(q, z)`` by a lookup, and what is linear in it and in q."""
        (q,), (slopes, above) = terms, self.bend
        below = int(slopes.item()) if slopes.size == 1 else slopes.astype(np.int64)
        low, high = q.tensor.bound.interval
        if not low < q.zero < high:
            slope = above if low >= q.zero else below
            return [Linear(self.name, sums, (q._replace(factor=slope),))]
        name = f"{self.name}/positive"
        same = Tensor(name, sums.shape, Bound.of(low, high))
        positive = Tensor(name, sums.shape, Bound.of(q.zero, high), q.tensor.bits)
        cut = Requantisation(np.array([1]), 0, 0, q.zero, high)
        parts = q._replace(factor=below), q._replace(tensor=positive, factor=above - below)
        return [
            Linear(name, same, (Term(q.tensor),)),
            Lookup(name, positive, same, cut),
            Linear(self.name, sums, tuple(part for part in parts if np.any(part.factor))),
        ]


@dataclass(frozen=True, eq=False)
class PiecewiseLinear(Bent):
    """With ``slopes`` (below, above)."""

    slopes: Pair

    def __post_init__(self) -> None:
        self._require(self.slopes[1] > 0, "needs a positive slope above zero")

    @property
    def bend(self) -> tuple[NDArray[np.object_], int]:
        return np.array([self.slopes[0]], dtype=object), self.slopes[1]


@dataclass(frozen=True, eq=False)
class QuantPRelu(Bent):
    """With ``slopes`` below zero, int64 that broadcasts to the tensor's shape."""

    slopes: IntArray
    above: int

    def __post_init__(self) -> None:
        self._require(self.above > 0, "needs a positive slope above zero")
        self._require(self.slopes.size > 0, "needs slopes")

    def shape(self, *shapes: Shape) -> Shape:
        _require_broadcast(self, self.slopes.shape, shapes[0])
        return shapes[0]

    @property
    def bend(self) -> tuple[NDArray[np.object_], int]:
        return self.slopes.astype(object), self.above


def _require_broadcast(node: Named, slopes: Shape, shape: Shape) -> None:
    try:
        fits = np.broadcast_shapes(slopes, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise node.refuse(f"has slopes of shape [{dims(slopes)}] for shape [batch, {dims(shape)}]")


def _leaky_relu(step: Step) -> Value:
    return Data(_leaking(step, step.floats()))


def _linear_leaky_relu(step: Step) -> Value:
    return typed(step, _leaking(step, integer(step, 0)), declared_at(step, 3))


def _leaking(step: Step, tensor: str) -> str:
    alpha = step.attributes.get("alpha", 0.01)
    if not _LEAST <= abs(alpha) <= _MOST:
        raise step.refuse(
            "unsupported_attribute", f"has alpha={alpha}, beyond 2^-16 to 2^16; use Relu in place of alpha=0"
        )
    return step.emit(LeakyRelu, (tensor,), alpha)


def _prelu(step: Step) -> Value:
    """With one slope a LeakyRelu, or where that is zero a Relu."""
    tensor, slopes, whole = step.floats(), step.weights(1).array, step.whole()
    slope = float(slopes.flat[0]) if slopes.size else math.nan
    if (slopes != slope).any():
        slopes = slopes.reshape((1,) * (len(whole) - slopes.ndim) + slopes.shape)
        if slopes.ndim > len(step.shape()) and slopes.shape[0] == 1:
            slopes = slopes[0]
        return Data(step.emit(PRelu, (tensor,), slopes))
    return Data(step.emit(LeakyRelu, (tensor,), slope) if slope else step.emit(Clip, (tensor,)))


ENTRY = Entry(
    onnx={
        "LeakyRelu": Operator(_leaky_relu, {"alpha": "f"}, elementwise=True),
        "PRelu": Operator(_prelu, {}, 2, 2, elementwise=True),
    },
    microsoft={"QLinearLeakyRelu": Operator(_linear_leaky_relu, {"alpha": "f"}, 4, 5, elementwise=True)},
    integers=(PiecewiseLinear, QuantPRelu),
)
