"""Runs a network of integers on a GPU, many samples at a time: what ``QuantGraph.tensors`` does on the
processor, from the relations between its tensors (docs/relations.md), and exactly the same integers.

A tensor's bound says which numbers have room for it. Sums are written as what the lookup behind them makes of
them, and the table behind that: nothing else reads them. Nodes whose relations no kernel is for (decision
trees, what is sorted or compared) leave the network to the processor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, singledispatch
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from circuits.graphs.types import Shape
from circuits.quantised.graph import QuantGraph
from circuits.quantised.typed import TypedGraph
from gpu.device import Array, Device
from gpu.layers import (
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
from relations import planes
from relations.bounds import Bound
from relations.integers import INTEGER_LIMIT, IntArray
from relations.relation import (
    Convolution,
    Linear,
    Lookup,
    MatMul,
    MatrixProduct,
    Maximum,
    Move,
    Parameter,
    Product,
    Quotient,
    Relation,
    Relations,
    Tabulated,
    Tensor,
    Term,
    WindowSum,
)
from zenerrors import ResourceError

_ALIGNED: Final = 256
"""Bytes that tensors begin at a multiple of."""
_PART: Final = 4
"""Tensors take so much of the memory that is free, and no more."""
_MOST_ENTRIES: Final = (1 << 31) - 1

Launch = Callable[[int, Sequence[Array], Ending, Array], None]
"""For so many samples, what is read and how sums are written, into the last."""


def run_all(
    device: Device, qgraph: QuantGraph, q: Mapping[str, NDArray[np.integer[Any]]], names: Collection[str]
) -> dict[str, IntArray] | None:
    """``QuantGraph.run_all``, of entries of their types; None where the device has no kernels for a relation,
    or no room."""
    typed, count = TypedGraph(qgraph, "private", "public"), len(next(iter(q.values())))
    if not runs(typed):
        return None
    try:
        with ResidentNetwork(device, typed, names, count) as network:
            return network.run(q)
    except ResourceError:
        return None


def runs(typed: TypedGraph) -> bool:
    """Whether there is a kernel for each of its relations."""
    others = _launch.dispatch(object)
    return all(_launch.dispatch(type(each)) is not others for each in typed.relations.relations)


class ResidentNetwork:
    """A network with public weights and a batch of one on ``device``, which takes up to ``samples`` at a
    time, for the tensors of these ``names``. In its context; on leaving, all that it holds there is erased.

    What is launched is recorded, and replayed for every batch. Raises ``ResourceError``
    (``resource.gpu_memory``) where there is no room for one sample.
    """

    def __init__(self, device: Device, typed: TypedGraph, names: Collection[str], samples: int) -> None:
        self._device, self._inputs = device, typed.inputs
        self._wanted = {name: typed.made[name] for name in names}
        self._steps = [*_steps(device, typed.relations, {*self._wanted.values()})]
        held = [*self._inputs.values(), *self._wanted.values()]
        least = _Memory(self._steps, held, 1).size
        most = max(_entries(each) for step in self._steps for each in (step.out, *step.reads))
        self.samples = max(1, min(samples, device.free_bytes() // _PART // least, _MOST_ENTRIES // most))
        self._memory = _Memory(self._steps, held, self.samples)
        device.require(self._memory.size, "this network")
        self._bytes = device.empty(self._memory.size, np.uint8)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._device.fill(self._bytes, 0)
        for step in self._steps:
            if isinstance(step.launch, Weighted):
                step.launch.erase()
        self._device.synchronize()

    def run(self, q: Mapping[str, NDArray[np.integer[Any]]]) -> dict[str, IntArray]:
        """The tensors, int64[n, *shape], of inputs [n, *input shape]."""
        total = len(next(iter(q.values())))
        found = {name: np.empty((total, *each.shape[1:]), np.int64) for name, each in self._wanted.items()}
        for start in range(0, total, self.samples):
            part = slice(start, min(start + self.samples, total))
            self.bring({name: values[part] for name, values in q.items()})
            self.launch()
            for name, into in found.items():
                into[part] = self.made(name)[: part.stop - start]
        return found

    def bring(self, q: Mapping[str, NDArray[np.integer[Any]]]) -> None:
        """Inputs of up to ``samples``; where they are fewer, whatever is there stands for the others."""
        for name, tensor in self._inputs.items():
            into = self._at(tensor)
            given = q[name].reshape(len(q[name]), -1).astype(into.dtype, copy=False)
            self._device.copy(np.ascontiguousarray(given), into[: len(given)])

    @cached_property
    def launch(self) -> Callable[[], None]:
        """Makes all tensors of what was brought."""
        return self._device.recorded(self._launched)

    def made(self, name: str) -> IntArray:
        """A tensor, int64[samples, *shape]."""
        tensor = self._wanted[name]
        channels, *plane = tensor.shape[1:]
        found = self._device.download(self._at(tensor))
        if tensor not in self._inputs.values():
            found = np.moveaxis(found.reshape(-1, *plane, channels), -1, 1)
        return found.reshape(-1, channels, *plane).astype(np.int64)

    def _launched(self) -> None:
        for step in self._steps:
            read = [self._at(tensor) for tensor in step.reads]
            step.launch(self.samples, read, step.ending, self._at(step.out))

    def _at(self, tensor: Tensor) -> Array:
        """[samples, entries]"""
        kind, first = _kind(tensor), self._memory.places[tensor]
        count = self.samples * _entries(tensor)
        whole = self._bytes[first : first + count * kind.itemsize]
        return whole.view(kind).reshape(self.samples, -1)


class _Step(NamedTuple):
    launch: Launch
    reads: Sequence[Tensor]
    ending: Ending
    out: Tensor


class _Memory:
    """Where tensors lie, by bytes, one in the place of another that nothing reads any more. ``held``: those
    that keep theirs."""

    def __init__(self, steps: Sequence[_Step], held: Sequence[Tensor], samples: int) -> None:
        self.places, self.size = dict[Tensor, int](), 0
        last = {tensor: at for at, step in enumerate(steps) for tensor in (step.out, *step.reads)}
        taken = dict[Tensor, int]()
        for tensor in held:
            self._place(tensor, samples, taken)
        for at, step in enumerate(steps):
            if step.out not in taken:
                self._place(step.out, samples, taken)
            for tensor in {step.out, *step.reads}.difference(held):
                if last[tensor] == at:
                    del taken[tensor]

    def _place(self, tensor: Tensor, samples: int, taken: dict[Tensor, int]) -> None:
        """The first gap that is wide enough among those that are ``taken``, by their ends."""
        wide = -(-samples * _entries(tensor) * _kind(tensor).itemsize // _ALIGNED) * _ALIGNED
        first = 0
        for other in sorted(taken, key=self.places.__getitem__):
            if first + wide <= self.places[other]:
                break
            first = max(first, taken[other])
        self.places[tensor], taken[tensor] = first, first + wide
        self.size = max(self.size, first + wide)


def _steps(device: Device, relations: Relations, wanted: Collection[Tensor]) -> Iterator[_Step]:
    """Lookups and tables behind what makes their values are its endings, unless these are ``wanted``. What is
    in order already is not moved."""
    same, done = dict[Tensor, Tensor](), set[Relation]()
    for given in relations.given:
        turned = same[given] = Tensor(given.name, given.shape, given.bound)
        moved = Moved(device, _order(given.shape).astype(np.uint32), [_entries(given)], None)
        yield _Step(moved, [given], Ending(device, _kind(turned)), turned)
    for relation in relations.relations:
        if relation in done:
            continue
        if isinstance(relation, Move) and relation.out not in wanted and _in_place(relation):
            same[relation.out] = same.get(relation.sources[0], relation.sources[0])
            continue
        lookup = relations.lookups.get(relation.out)
        table = relations.functions.get((lookup or relation).out)
        behind = [each for each in (lookup, table) if each is not None]
        if lookup and lookup.out in wanted:
            behind = [lookup]
        done.update(behind)
        for part in _parts(relation):
            reads = [same.get(tensor, tensor) for tensor in part.reads if not isinstance(tensor, Parameter)]
            launch, last = _launch(part, device), part.out is relation.out
            out = behind[-1].out if last and behind else part.out
            functions = [part, *(behind if last else [])]
            yield _Step(launch, reads, _ending(device, functions, out), out)


def _parts(relation: Relation) -> Iterator[Relation]:
    """Sums of many terms are made of several at a time."""
    while isinstance(relation, Linear) and len(relation.terms) > MOST_TERMS:
        head, rest = relation.terms[:MOST_TERMS], relation.terms[MOST_TERMS:]
        part = Tensor(relation.name, relation.out.shape, Bound.of(-INTEGER_LIMIT, INTEGER_LIMIT))
        yield replace(relation, out=part, terms=head)
        relation = replace(relation, terms=(Term(part), *rest))
    yield relation


def _ending(device: Device, relations: Sequence[Relation], out: Tensor) -> Ending:
    multiplier, rest, table, first = None, (0, 0, 0, 0), None, 0
    for relation in relations:
        if isinstance(relation, Lookup):
            f = relation.function
            multiplier = _repeating(f.multiplier, out.shape)
            rest = f.offset, f.shift, f.low, f.high
        elif isinstance(relation, Tabulated):
            table, first = relation.function.values, relation.function.first
    return Ending(device, _kind(out), multiplier, rest, table, first)


@singledispatch
def _launch(relation: Relation, device: Device) -> Launch:
    """What makes ``relation`` on the device, but for what its ending does."""
    raise NotImplementedError(f"{relation} is the processor's")


@_launch.register(MatMul)
@_launch.register(Convolution)
def _(relation: MatMul | Convolution, device: Device) -> Launch:
    low, high = relation.out.bound.interval
    weight, outputs = relation.weight.values, len(relation.weight.values)
    kernel = weight.reshape(outputs, -1, *relation.sliding.kernel)
    narrow = max(-low - 1, high) < 1 << 31
    sliding = _sliding(relation.sliding, outputs, relation.x.zero)
    kind, bias = _kind(relation.x.tensor), relation.bias.values
    return Weighted(device, sliding, kind, np.moveaxis(kernel, 1, -1), bias, narrow=narrow)


@_launch.register
def _(relation: WindowSum, device: Device) -> Launch:
    sliding = _sliding(relation.sliding, relation.sliding.image[0], relation.x.zero)
    return Windows(device, sliding, largest=False)


@_launch.register
def _(relation: Maximum, device: Device) -> Launch:
    return Windows(device, _sliding(relation.sliding, relation.sliding.image[0], 0), largest=True)


@_launch.register
def _(relation: Linear, device: Device) -> Launch:
    return _combined(relation.terms, device, product=False)


@_launch.register
def _(relation: Product, device: Device) -> Launch:
    return _combined((relation.left, relation.right), device, product=True)


@_launch.register(Lookup)
@_launch.register(Tabulated)
def _(relation: Lookup | Tabulated, device: Device) -> Launch:
    """Of what is no sum, or is read by others, too."""
    return _combined((Term(relation.value),), device, product=False)


@_launch.register
def _(relation: MatrixProduct, device: Device) -> Launch:
    left, right = relation.left, relation.right
    (_, groups, down, depth), across = left.tensor.shape, right.tensor.shape[-1]
    factor = int(left.factor) * int(right.factor)
    return Matrices(device, (groups, down, depth, across), factor, (left.zero, right.zero))


@_launch.register
def _(relation: Move, device: Device) -> Launch:
    sizes = [*map(_entries, relation.sources)]
    return Moved(device, _places(relation), sizes, relation.constant)


@_launch.register
def _(relation: Quotient, device: Device) -> Launch:
    divisors, order = relation.divisor.shape, _order(relation.value.shape)
    places = np.argsort(_order(divisors))[relation.rows.ravel()][order].astype(np.uint32)
    return Quotients(device, places, _entries(relation.divisor), relation.multiplier, relation.shift)


def _combined(terms: Sequence[Term], device: Device, *, product: bool) -> Launch:
    factors, zeros = (
        [_repeating(np.asarray(getattr(term, name)), term.tensor.shape) for term in terms]
        for name in ("factor", "zero_point")
    )
    return Combined(device, [_kind(term.tensor) for term in terms], factors, zeros, product=product)


def _sliding(sliding: planes.Sliding, outputs: int, fill: int) -> Sliding:
    (channels, *image), kernel = sliding.image, sliding.kernel
    before, dilation = sliding.padding[: len(kernel)], sliding.dilation or (1,) * len(kernel)
    around = image, kernel, sliding.out, sliding.stride, before, dilation
    return Sliding(*around, channels, sliding.groups, outputs, fill)


def _order(shape: Shape) -> IntArray:
    """Of a sample's entries, in the order in which they lie, with their channels last: which one each is."""
    entries: IntArray = np.arange(math.prod(shape[1:])).reshape(shape[1:])
    return np.moveaxis(entries, 0, -1).ravel()


def _places(move: Move) -> NDArray[np.uint32]:
    """Where each entry comes from, both as they lie."""
    starts = np.cumsum([0, *map(_entries, move.sources)])
    lie = [start + np.argsort(_order(each.shape)) for start, each in zip(starts, move.sources, strict=False)]
    found = np.concatenate([*lie, [-1]])[move.places.ravel()]
    return found[_order(move.out.shape)].astype(np.uint32)


def _in_place(move: Move) -> bool:
    """Whether entries lie where they are to be moved."""
    (first, *others), places = move.sources, _places(move)
    return not others and len(places) == _entries(first) and bool((places == np.arange(len(places))).all())


def _repeating(values: IntArray, shape: Shape) -> IntArray:
    """What broadcasts to a sample, as it lies: one, one for each channel, or one for each entry."""
    whole = values.reshape((1,) * (len(shape) - 1 - values.ndim) + values.shape)
    if whole.size > 1 and whole.size != len(whole):
        whole = np.broadcast_to(whole, shape[1:])
    return np.ascontiguousarray(np.moveaxis(whole, 0, -1).ravel(), dtype=np.int64)


def _entries(tensor: Tensor) -> int:
    """Of a sample."""
    return math.prod(tensor.shape[1:])


def _kind(tensor: Tensor) -> np.dtype[Any]:
    """Of the least numbers that have room for its integers."""
    low, high = tensor.bound.interval
    if 0 <= low <= high < 1 << 8:
        return KINDS[0]
    return KINDS[1 if max(-low - 1, high) < 1 << 31 else 2]
