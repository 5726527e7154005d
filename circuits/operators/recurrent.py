"""Products of weights with two vectors at once, as a step of a recurrent layer has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zenserve.circuits.graphs.node import dims
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, FloatArray, Shape
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.weighted import Parametric, integers
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Move, Relation, Tensor
from zenserve.verifier.schemes import Privacy


@dataclass(frozen=True, eq=False)
class Recurrent(Parametric):
    """``y = weight · [x, h] + bias`` for two vectors: weight[out, len(x) + len(h)], bias[out]."""

    arity = 2
    called = "recurrent"
    adds = multiplies = True
    dimensions = (2,)

    def shape(self, *shapes: Shape) -> Shape:
        if any(len(shape) != 1 for shape in shapes) or sum(map(sum, shapes)) != self.weight.shape[1]:
            said = " and ".join(f"[batch, {dims(shape)}]" for shape in shapes)
            raise self.refuse(f"has weights for {self.weight.shape[1]} inputs but reads {said}")
        return (len(self.weight),)

    def run(self, *inputs: FloatArray) -> FloatArray:
        return np.concatenate(inputs, axis=1) @ self.weight.T + self.bias

    def quantise(self, site: Site) -> QuantRecurrent:
        """The sums count ``q - z`` of either vector, z the first one's zero point: weights of the second are
        of its scale, and biases make up for its own zero point."""
        types, size = (site.incoming(0), site.incoming(1)), site.shapes[0][0]
        weight = self.weight.copy()
        weight[:, size:] *= types[1].scale / types[0].scale
        made = integers(replace(self, weight=weight), None, replace(site, types=(_both(types),)))
        node = QuantRecurrent(site.name, site.inputs, made.weight, made.kind, made.bias, rescale=made.rescale)
        return replace(node, bias=node.bias - node.excess(types, size))


@dataclass(frozen=True, eq=False)
class QuantRecurrent(QuantDense):
    """A matrix times two vectors, one after the other: ``acc = weight · ([q_1, q_2] - z_1) + bias``."""

    arity = 2

    def shape(self, *shapes: Shape) -> Shape:
        return super().shape((sum(map(sum, shapes)),))

    def execute(self, inputs: Sequence[IntArray], types: Sequence[Affine | None]) -> IntArray:
        return super().execute([np.concatenate(inputs, axis=1)], [_both(types)])

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        self._require(all(len(shape) == 1 for shape in shapes), f"reads shapes {shapes}, not two vectors")
        super().check([_both(types)], [(sum(map(sum, shapes)),)])

    def relate(
        self, inputs: Sequence[Tensor], types: Sequence[Affine | None], privacy: Privacy
    ) -> list[Relation]:
        ends = [end for tensor in inputs for end in tensor.bound.interval]
        kind, (batch, *_) = _both(types), inputs[0].shape
        shape = batch, self.weight.shape[1]
        both = Tensor(f"{self.name}/both", shape, Bound.of(min(ends), max(ends)), kind.bits)
        move = Move(f"{self.name}/both", both, tuple(inputs), np.arange(shape[1]))
        return [move, *super().relate([both], [kind], privacy)]

    def excess(self, types: Sequence[Affine], size: int) -> IntArray:
        """Return the excess in the sums of reading the second vector, behind ``size`` entries, with the first
        vector's zero point."""
        shift = types[1].zero_point - types[0].zero_point
        added: IntArray = shift * self.centred_weight[:, size:].sum(axis=1)
        return added

    def real(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> tuple[FloatArray, FloatArray]:
        (size,) = shapes[0]
        whole = replace(self, bias=self.bias + self.excess(types, size))
        weight, bias = super(QuantRecurrent, whole).real(types, shapes)
        weight[:, size:] *= types[0].scale / types[1].scale
        return weight, bias


def _both(types: Sequence[Affine | None]) -> Affine:
    """The type of two vectors as one: the integers of both, counted from the first one's zero point."""
    known = [kind for kind in types if kind]
    return replace(known[0], bits=max(kind.bits for kind in known))


ENTRY = Entry(integers=(QuantRecurrent,))
