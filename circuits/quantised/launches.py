"""The GPU launches that compute each relation between tensors of integers (docs/compiler.md), by
``zenserve.gpu.layers``.

Tensors lie on the device with channels last, in the smallest types that hold their integers, by their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.types import Shape
from zenserve.gpu.device import Array, Device, Secret
from zenserve.gpu.layers import (
    KINDS,
    MOST_TERMS,
    Combined,
    Ending,
    Matrices,
    Moved,
    Quotients,
    Sliding,
    Weighted,
    Windows,
)
from zenserve.relations import planes
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import INTEGER_LIMIT, IntArray
from zenserve.relations.relation import (
    Convolution,
    Linear,
    Lookup,
    MatMul,
    MatrixProduct,
    Maximum,
    Move,
    Product,
    Quotient,
    Relation,
    Tabulated,
    Tensor,
    Term,
    WindowSum,
)

Launch = Callable[[int, Sequence[Array], Ending, Array], None]
"""For so many samples, what is read and how sums are written, into the last."""


def known(relation: Relation) -> bool:
    """Return whether there is a kernel for the relation."""
    return launch_of.dispatch(type(relation)) is not launch_of.dispatch(object)


def parts(relation: Relation) -> Iterator[Relation]:
    """Sums of many terms are made of several at a time."""
    while isinstance(relation, Linear) and len(relation.terms) > MOST_TERMS:
        head, rest = relation.terms[:MOST_TERMS], relation.terms[MOST_TERMS:]
        part = Tensor(relation.name, relation.out.shape, Bound.of(-INTEGER_LIMIT, INTEGER_LIMIT))
        yield replace(relation, out=part, terms=head)
        relation = replace(relation, terms=(Term(part), *rest))
    yield relation


def ending_of(device: Device, relations: Sequence[Relation], out: Tensor) -> Ending:
    multiplier, rest, table, first = None, (0, 0, 0, 0), None, 0
    for relation in relations:
        if isinstance(relation, Lookup):
            f = relation.function
            multiplier = _repeating(f.multiplier, out.shape)
            rest = f.offset, f.shift, f.low, f.high
        elif isinstance(relation, Tabulated):
            table, first = relation.function.values, relation.function.first
    return Ending(device, kind_of(out), multiplier, rest, table, first)


@singledispatch
def launch_of(relation: Relation, device: Device, secret: Secret) -> Launch:
    """Return the launch that computes ``relation`` on the device, up to its ending; weights are
    ``secret``."""
    raise NotImplementedError(f"{relation} is the processor's")


@launch_of.register(MatMul)
@launch_of.register(Convolution)
def _(relation: MatMul | Convolution, device: Device, secret: Secret) -> Launch:
    low, high = relation.out.bound.interval
    weight, outputs = relation.weight.values, len(relation.weight.values)
    kernel = weight.reshape(outputs, -1, *relation.sliding.kernel)
    narrow = max(-low - 1, high) < 1 << 31
    sliding = _sliding(relation.sliding, outputs, relation.x.zero)
    kind, bias = kind_of(relation.x.tensor), relation.bias.values
    return Weighted(device, sliding, kind, np.moveaxis(kernel, 1, -1), bias, secret, narrow=narrow)


@launch_of.register
def _(relation: WindowSum, device: Device, secret: Secret) -> Launch:
    sliding = _sliding(relation.sliding, relation.sliding.image[0], relation.x.zero)
    return Windows(device, sliding, largest=False)


@launch_of.register
def _(relation: Maximum, device: Device, secret: Secret) -> Launch:
    return Windows(device, _sliding(relation.sliding, relation.sliding.image[0], 0), largest=True)


@launch_of.register
def _(relation: Linear, device: Device, secret: Secret) -> Launch:
    return _combined(relation.terms, device, product=False)


@launch_of.register
def _(relation: Product, device: Device, secret: Secret) -> Launch:
    return _combined((relation.left, relation.right), device, product=True)


@launch_of.register(Lookup)
@launch_of.register(Tabulated)
def _(relation: Lookup | Tabulated, device: Device, secret: Secret) -> Launch:
    """Of what is no sum, or is read by others, too."""
    return _combined((Term(relation.value),), device, product=False)


@launch_of.register
def _(relation: MatrixProduct, device: Device, secret: Secret) -> Launch:
    left, right = relation.left, relation.right
    (_, groups, down, depth), across = left.tensor.shape, right.tensor.shape[-1]
    factor = int(left.factor) * int(right.factor)
    return Matrices(device, (groups, down, depth, across), factor, (left.zero, right.zero))


@launch_of.register
def _(relation: Move, device: Device, secret: Secret) -> Launch:
    sizes = [*map(entries_of, relation.sources)]
    return Moved(device, _places(relation), sizes, relation.constant)


@launch_of.register
def _(relation: Quotient, device: Device, secret: Secret) -> Launch:
    divisors, lie = relation.divisor.shape, order(relation.value.shape)
    places = np.argsort(order(divisors))[relation.rows.ravel()][lie].astype(np.uint32)
    return Quotients(device, places, entries_of(relation.divisor), relation.multiplier, relation.shift)


def _combined(terms: Sequence[Term], device: Device, *, product: bool) -> Launch:
    factors, zeros = (
        [_repeating(np.asarray(getattr(term, name)), term.tensor.shape) for term in terms]
        for name in ("factor", "zero_point")
    )
    return Combined(device, [kind_of(term.tensor) for term in terms], factors, zeros, product=product)


def _sliding(sliding: planes.Sliding, outputs: int, fill: int) -> Sliding:
    (channels, *image), kernel = sliding.image, sliding.kernel
    before, dilation = sliding.padding[: len(kernel)], sliding.dilation or (1,) * len(kernel)
    around = image, kernel, sliding.out, sliding.stride, before, dilation
    return Sliding(*around, channels, sliding.groups, outputs, fill)


def order(shape: Shape) -> IntArray:
    """Of a sample's entries, in the order in which they lie, with their channels last: which one each is."""
    entries: IntArray = np.arange(math.prod(shape[1:])).reshape(shape[1:])
    return np.moveaxis(entries, 0, -1).ravel()


def _places(move: Move) -> NDArray[np.uint32]:
    """Return the index of the source entry of each entry, both in the layout of the device."""
    starts = np.cumsum([0, *map(entries_of, move.sources)])
    lie = [start + np.argsort(order(each.shape)) for start, each in zip(starts, move.sources, strict=False)]
    found = np.concatenate([*lie, [-1]])[move.places.ravel()]
    return found[order(move.out.shape)].astype(np.uint32)


def in_place(move: Move) -> bool:
    """Return whether the entries already lie where the relation moves them."""
    (first, *others), places = move.sources, _places(move)
    return not others and len(places) == entries_of(first) and bool((places == np.arange(len(places))).all())


def _repeating(values: IntArray, shape: Shape) -> IntArray:
    """Return the values that broadcast to a sample in the layout of the device: one, one for each channel, or
    one for each entry."""
    whole = values.reshape((1,) * (len(shape) - 1 - values.ndim) + values.shape)
    if whole.size > 1 and whole.size != len(whole):
        whole = np.broadcast_to(whole, shape[1:])
    return np.ascontiguousarray(np.moveaxis(whole, 0, -1).ravel(), dtype=np.int64)


def entries_of(tensor: Tensor) -> int:
    """Of a sample."""
    return math.prod(tensor.shape[1:])


def kind_of(tensor: Tensor) -> np.dtype[Any]:
    """Of the least numbers that have room for its integers."""
    low, high = tensor.bound.interval
    if 0 <= low <= high < 1 << 8:
        return KINDS[0]
    return KINDS[1 if max(-low - 1, high) < 1 << 31 else 2]
