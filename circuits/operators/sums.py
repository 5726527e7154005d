"""Nodes of integers that add up, exactly and in int64.

``rescale`` makes a tensor of the sums; without one the sums themselves are the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from zenserve.circuits.graphs.node import QuantNode
from zenserve.circuits.graphs.types import Affine, Bounds, Rescale, Shape, require, require_narrow
from zenserve.relations import planes
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import slack_factor
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sliding
from zenserve.relations.relation import Linear, Lookup, Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy


@dataclass(frozen=True, eq=False)
class Accumulating(QuantNode):
    """``rescale`` (keyword only) is None where the sums are the output."""

    rescale: Rescale | None = field(default=None, kw_only=True)

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        """The exact sums, int64[n, *shape], of inputs of these types."""
        raise NotImplementedError

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        """Return the bounds of the sums over all inputs of these types and shapes, for exactly these
        weights."""
        raise NotImplementedError

    def type_bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        """The same over all weights and biases of their types too."""
        return self.bounds(types, shapes)

    def step(self, types: Sequence[Affine]) -> float | None:
        """The real number that 1 stands for in the sums; None where they have no one scale."""
        return None

    def execute(self, inputs: Sequence[IntArray], types: Sequence[Affine | None]) -> IntArray:
        acc = self.accumulate(inputs, [kind for kind in types if kind])
        return acc if self.rescale is None else self.rescale.function.apply(acc)

    def output_type(self, types: Sequence[Affine | None]) -> Affine | None:
        return self.rescale.output if self.rescale else None

    def relate(
        self, inputs: Sequence[Tensor], types: Sequence[Affine | None], privacy: Privacy
    ) -> list[Relation]:
        """The relation that makes the sums and, where the node rescales, the lookup behind it."""
        known = [kind for kind in types if kind]
        sums = self._made(inputs, self._sums_bound(inputs, known, privacy), None)
        terms = [Term(tensor, 1, kind.zero_point) for tensor, kind in zip(inputs, known, strict=True)]
        relations = self.summed(sums, terms, privacy)
        if self.rescale is not None:
            out = self._made(inputs, self._rescaled(sums.bound), self.rescale.output.bits)
            relations.append(Lookup(self.name, out, sums, self.rescale.function))
        return relations

    def _sums_bound(self, inputs: Sequence[Tensor], types: Sequence[Affine], privacy: Privacy) -> Bound:
        """Of the sums, by what is known to whoever compiles them."""
        shapes = [tensor.shape[1:] for tensor in inputs]
        return Bound(*(self.bounds if privacy == "public" else self.type_bounds)(types, shapes))

    def _rescaled(self, sums: Bound) -> Bound:
        """Of what such sums are rescaled to: where they reach less than its type, no more than that."""
        assert self.rescale is not None  # noqa: S101  the caller rescales
        function = self.rescale.function
        least, most = (end >> function.shift for end in function.scaled(sums))
        low, high = self.rescale.low, self.rescale.high
        return Bound.of(min(max(low, least), high), max(min(high, most), low))

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        """Return the relations that compute ``sums`` from ``terms``, the inputs less their zero points."""
        return [Linear(self.name, sums, tuple(terms))]

    def scales(self) -> dict[str, Any] | None:
        rescale = self.rescale
        if rescale is None:
            return {"name": self.name}
        shown = {
            "multiplier": rescale.multiplier.tolist(),
            "shift": rescale.shift,
            "output": asdict(rescale.output),
            "low": rescale.low,
            "high": rescale.high,
        }
        return {"name": self.name, "rescale": shown}

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        bounds = self.type_bounds(types, shapes)
        reach = max(-int(bounds[0].min()), int(bounds[1].max()))
        slack = 0
        if self.rescale is not None:
            out = self.shape(*shapes)
            multiplier = self.rescale.multiplier
            try:
                fits = np.broadcast_shapes(multiplier.shape, out) == out
            except ValueError:
                fits = False
            self._require(fits, f"has multipliers of shape {multiplier.shape} for outputs of shape {out}")
            least, most = self.rescale.function.scaled(Bound(*bounds))
            reach = max(-least, most) + (self.rescale.high << self.rescale.shift)
            width = (self.rescale.high - self.rescale.low).bit_length()
            overflow = max(0, (reach >> self.rescale.shift).bit_length() - width)
            slack = slack_factor(overflow) * ((1 << width) - 1)
        # The circuit adds to T a power of two of up to twice its bound, and subtracts accumulators.
        require_narrow(self.name, max(4 * reach, slack))

    def _require(self, condition: bool, message: str) -> None:
        require(condition, f"node {self.name[:80]!r} ({self.operator()}) {message}")


@dataclass(frozen=True, eq=False)
class Windowed(Accumulating):
    """Sums over windows that slide: ``acc = sum_k centred_weight[o, k] (q_k - z) + bias[o]``."""

    def sliding(self, shape: Shape) -> Sliding:
        """Return the sliding of the kernel over an input of this shape, read as an image."""
        raise NotImplementedError

    def kernel_weight(self, shape: Shape) -> IntArray:
        """``q_w - z_w``: int64[outputs, channels / groups, *kernel]."""
        raise NotImplementedError

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        (q,), shape = inputs, inputs[0].shape[1:]
        sliding, weight = self.sliding(shape), self.kernel_weight(shape)
        centred = q.reshape(-1, *sliding.image) - types[0].zero_point
        acc = planes.convolve_integers(
            centred, weight, sliding.stride, sliding.padding, sliding.groups, sliding.dilation
        )
        biases = self.biases(len(weight)).reshape(-1, *(1 for _ in sliding.kernel))
        return (acc + biases).reshape(-1, *self.shape(shape))

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        weight = self.kernel_weight(shapes[0])
        flat = weight.reshape(len(weight), -1)
        low, high = types[0].centred
        # A tap that hangs over the edge adds 0, which lies between the two: low <= 0 <= high.
        least = np.minimum(flat * low, flat * high).sum(axis=1)
        most = np.maximum(flat * low, flat * high).sum(axis=1)
        return self._along(shapes, least), self._along(shapes, most)

    def biases(self, outputs: int) -> IntArray:
        """int64[outputs]."""
        return np.zeros(outputs, dtype=np.int64)

    def _along(self, shapes: Sequence[Shape], values: IntArray) -> IntArray:
        """One value for each output channel, broadcasting to the output's shape."""
        return values.reshape(-1, *(1 for _ in self.shape(*shapes)[1:]))
