"""Masks of a softmax: the entries that it leaves out.

A mask makes scores so small that their exponentials are 0. As a number in the tensor it would take all of the
type's range and leave none to the scores. So a masked tensor is represented by the tensor without the mask,
and by the entries that are kept (``Masked``): a softmax reads these two, and the masked tensor itself is
removed unless other nodes read it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs import formula, rescaling
from zenserve.circuits.graphs.node import Node, QuantNode, dims
from zenserve.circuits.graphs.rescaling import Clamp
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, Bounds, FloatArray, Shape
from zenserve.circuits.onnx.constants import Constant
from zenserve.circuits.onnx.step import Data, Kept, Masked, Step, Value
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.sums import Accumulating
from zenserve.errors import TensorError
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Product, Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy

# What stands for minus infinity.
_LOWEST: Final = float(np.finfo(np.float32).min)
# No score that counts is as small.
_LEAST: Final = -1e3
# A mask is made of its input in fewer nodes.
_MOST_NODES: Final = 64
_LONGEST: Final = formula.LONGEST // 2
# An input of integers or booleans, a function of each of its entries, and what moves that.
_Function = tuple[str, str, tuple[Node, ...]]


@dataclass(frozen=True, eq=False)
class Only(Node):
    """``(x - least) mask`` for the least number of x's type: what the mask leaves out is the least."""

    arity = 2
    called = "only"
    adds = True

    def shape(self, *shapes: Shape) -> Shape:
        if shapes[0] != shapes[1]:
            raise self.refuse(f"masks shape [batch, {dims(shapes[0])}] by [batch, {dims(shapes[1])}]")
        return shapes[0]

    def run(self, *inputs: FloatArray) -> FloatArray:
        x, mask = inputs
        _require_some(self.name, mask != 0)
        return (x - min(0.0, float(x.min()))) * mask

    def quantise(self, site: Site) -> QuantNode:
        kind = site.incoming()
        step = np.array([kind.scale * site.incoming(1).scale])
        rescale = rescaling.given(step, replace(kind, zero_point=0), Clamp())
        return QuantOnly(site.name, site.inputs, rescale=rescale)


@dataclass(frozen=True, eq=False)
class QuantOnly(Accumulating):
    """``acc = q_1 (q_2 - z_2)`` for two tensors of one shape."""

    arity = 2

    def shape(self, *shapes: Shape) -> Shape:
        if shapes[0] != shapes[1]:
            raise self.refuse(f"masks shapes {shapes}")
        return shapes[0]

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        mask = inputs[1] - types[1].zero_point
        _require_some(self.name, mask != 0)
        return inputs[0] * mask

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        low, high = types[1].centred
        return np.array([types[0].top * low]), np.array([types[0].top * high])

    def step(self, types: Sequence[Affine]) -> float | None:
        return types[0].scale * types[1].scale

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        return [Product(self.name, sums, terms[0]._replace(zero_point=0), terms[1])]


def _require_some(name: str, kept: NDArray[np.bool_]) -> None:
    """``TensorError`` for a sample that masks all of [n, *shape]: its shares have no meaning."""
    if not kept.reshape(len(kept), -1).any(axis=1).all():
        raise TensorError(
            "input.out_of_range", f"node {name[:80]!r}: a mask among the inputs keeps nothing", field="input"
        )


def finite(value: Value) -> Value:
    """A constant without infinities, which a mask may have."""
    if not isinstance(value, Constant) or not np.isinf(value.array).any():
        return value
    return replace(value, array=np.clip(value.array, _LOWEST, -_LOWEST))


def is_small(array: NDArray[Any]) -> bool:
    """Return whether all of these are so small that a softmax gives them no share."""
    return bool((array <= _LEAST).all())


def masked(step: Step, made: Value, before: Data, kept: Kept) -> Value:
    """``made``, which is ``before`` but small where it is not ``kept``."""
    if isinstance(made, Data):
        known = step.building.masked.get(before.tensor, Masked(before, ()))
        shape = made.shape or before.shape or ()
        step.building.masked[made.tensor] = Masked(known.before, (*known.kept, kept), shape)
    return made


def hide(step: Step, data: Data, kept: Sequence[Kept]) -> None:
    """A softmax that reads ``data`` sees it where it is ``kept`` alone."""
    if kept:
        known = step.building.masked.get(data.tensor, Masked(data, ()))
        shape = data.shape or ()
        step.building.masked[data.tensor] = Masked(known.before, (*known.kept, *kept), shape)


def of_sum(step: Step, made: Value, add: Callable[[Step], Value]) -> Value:
    """``made``, the sum of two inputs, by what of these is masked or a mask."""
    parts = [_part(step, step.value(at)) for at in (0, 1)]
    kept = tuple(each for part in parts for each in part.kept)
    if kept and isinstance(made, Data):
        bases = [part.before for part in parts if part.before is not None]
        before = add(replace(step, inputs=bases)) if len(bases) == 2 else next(iter(bases), None)
        step.building.masked[made.tensor] = Masked(before, kept, made.shape or ())
    return made


def _part(step: Step, value: Value) -> Masked:
    """A term without what is masked of it, and where that is kept."""
    if isinstance(value, Data):
        mask = _mask(step, value)
        return mask or step.building.masked.get(value.tensor, Masked(value, ()))
    small = value.array <= _LEAST
    rest = np.where(small, 0.0, value.array)
    before = replace(value, array=rest) if rest.any() else None
    return Masked(before, (~small,)) if small.any() else Masked(value, ())


def _mask(step: Step, data: Data) -> Masked | None:
    """Return the tensor as a mask if it is a function of one boolean input that is 0 for one of its two
    values and small for the other; else None."""
    found = _function(step, data.tensor, [_MOST_NODES])
    if found is None:
        return None
    source, text, chain = found
    kept = formula.evaluate(text, np.array([0.0, 1.0]))
    if kept.max() != 0 or kept.min() > _LEAST:
        return None
    tensor = step.emit(Activation, (source,), f"less({formula.number(_LEAST)}, {text})")
    for node in chain:
        tensor = step.building.add(replace(node, name=step.building.fresh(node.name), inputs=(tensor,)))
    return Masked(None, (replace(data, tensor=tensor),))


def _function(step: Step, name: str, left: list[int]) -> _Function | None:
    """The tensor as a function of one input of integers or booleans."""
    left[0] -= 1
    if any(entry.name == name and entry.values != "real" for entry in step.building.inputs):
        return name, "x", ()
    node = step.building.makers.get(name)
    if node is None or left[0] < 0:
        return None
    parts = [_function(step, each, left) for each in node.inputs]
    if parts[0] is None or any(part is None or part[::2] != parts[0][::2] for part in parts):
        return None
    source, text, chain = parts[0]
    if node.permutes:
        return source, text, (*chain, node)
    made = node.formula(*(part[1] for part in parts if part))
    return None if made is None or len(made) > _LONGEST else (source, made, chain)


ENTRY = Entry(integers=(QuantOnly,))
