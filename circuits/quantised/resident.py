"""Runs a network of integers on a GPU, many samples at a time: what ``QuantGraph.tensors`` does on the
processor, from the relations between its tensors (docs/compiler.md), and exactly the same integers.

Sums are written as what the lookup behind them makes of them, and the table behind that: nothing else reads
them. Tensors lie channels last; between convolutions of few bits they are planes of bits. Nodes whose
relations no kernel is for (decision trees, what is sorted or compared) leave the network to the processor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from zenserve.base.randomness import Secrets
from zenserve.circuits.graphs.types import Shape
from zenserve.circuits.quantised.few_bits import FewBits, Fused, is_planes
from zenserve.circuits.quantised.graph import QuantGraph
from zenserve.circuits.quantised.launches import (
    Launch,
    ending_of,
    entries_of,
    in_place,
    kind_of,
    known,
    launch_of,
    order,
    parts,
)
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.errors import ResourceError
from zenserve.gpu import convolutions
from zenserve.gpu.device import Array, Device, Secret
from zenserve.gpu.layers import KINDS, Combined, Ending, Moved
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Move, Parameter, Relation, Relations, Tensor

_ALIGNED: Final = 256
"""Bytes that tensors begin at a multiple of."""
_PART: Final = 4
"""Tensors take so much of the memory that is free, and no more."""
_MOST_ENTRIES: Final = (1 << 31) - 1


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
    """Return whether there is a kernel for each of the network's relations."""
    return all(map(known, typed.relations.relations))


class ResidentNetwork:
    """A network with public weights and a batch of one on ``device``, which takes up to ``samples`` at a
    time, for the tensors of these ``names``. In its context; all that it holds there is erased on leaving,
    and where it cannot be made.

    What is launched is recorded, and replayed for every batch. Raises ``ResourceError``
    (``resource.gpu_memory``) where there is no room for one sample.
    """

    def __init__(self, device: Device, typed: TypedGraph, names: Collection[str], samples: int) -> None:
        self._device, self._names, self._secret = device, names, Secrets()
        with ExitStack() as failing:
            failing.callback(self._erase)
            self._make(typed, samples)
            failing.pop_all()

    def _make(self, typed: TypedGraph, samples: int) -> None:
        device = self._device
        self._wanted = {name: typed.made[name] for name in self._names if name not in typed.inputs}
        made = _Making(device, typed.relations, {*self._wanted.values()}, samples, self._secret)
        self._steps, self._given = made.steps, {name: made.given[each] for name, each in typed.inputs.items()}
        self._found = {name: made.numbers(tensor) for name, tensor in self._wanted.items()}
        held = [*self._given.values(), *self._found.values()]
        least = _Memory(self._steps, held, 1).size
        most = max(math.prod(each.shape) for step in self._steps for each in (step.out, *step.reads))
        self.samples = max(1, min(samples, device.free_bytes() // _PART // least, _MOST_ENTRIES // most))
        self._memory = _Memory(self._steps, held, self.samples)
        device.require(self._memory.size, "this network")
        self._bytes = self._secret(device.empty(self._memory.size, np.uint8))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._erase()

    def _erase(self) -> None:
        with self._device.current():
            self._secret.erase()
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
        return found | {name: values.astype(np.int64) for name, values in q.items() if name in self._names}

    def bring(self, q: Mapping[str, NDArray[np.integer[Any]]]) -> None:
        """Inputs of up to ``samples``; where they are fewer, whatever is there stands for the others."""
        for name, lying in self._given.items():
            given = np.ascontiguousarray(q[name], lying.kind).reshape(len(q[name]), -1)
            self._device.copy(given, self._at(lying)[: len(given)])

    @cached_property
    def launch(self) -> Callable[[], None]:
        """Makes all tensors of what was brought."""
        return self._device.recorded(self._launched)

    def made(self, name: str) -> IntArray:
        """A tensor, int64[samples, *shape]."""
        channels, *plane = self._wanted[name].shape[1:]
        found = self._device.download(self._at(self._found[name])).reshape(-1, *plane, channels)
        return np.moveaxis(found, -1, 1).astype(np.int64)

    def _launched(self) -> None:
        for step in self._steps:
            step.launch(self.samples, [*map(self._at, step.reads)], self._at(step.out))

    def _at(self, lying: _Lying) -> Array:
        """[samples, *shape]"""
        first = self._memory.places[lying]
        whole = self._bytes[first : first + self.samples * lying.bytes_each]
        return whole.view(lying.kind).reshape(self.samples, *lying.shape)


@dataclass(frozen=True, eq=False)
class _Lying:
    """Numbers of a ``kind`` on the device; ``shape``: of a sample's."""

    kind: np.dtype[Any]
    shape: Shape

    @property
    def bytes_each(self) -> int:
        return math.prod(self.shape) * self.kind.itemsize


class _Step(NamedTuple):
    launch: Callable[[int, Sequence[Array], Array], None]
    reads: Sequence[_Lying]
    out: _Lying


class _Memory:
    """The places of tensors in memory, in bytes. A tensor takes the place of one that no later step reads.
    ``held``: tensors that keep their places."""

    def __init__(self, steps: Sequence[_Step], held: Sequence[_Lying], samples: int) -> None:
        self.places, self.size = dict[_Lying, int](), 0
        last = {lying: at for at, step in enumerate(steps) for lying in (step.out, *step.reads)}
        taken = dict[_Lying, int]()
        for lying in held:
            self._place(lying, samples, taken)
        for at, step in enumerate(steps):
            if step.out not in taken:
                self._place(step.out, samples, taken)
            for lying in {step.out, *step.reads}.difference(held):
                if last[lying] == at:
                    del taken[lying]

    def _place(self, lying: _Lying, samples: int, taken: dict[_Lying, int]) -> None:
        """The first gap that is wide enough among those that are ``taken``, by their ends."""
        wide = -(-samples * lying.bytes_each // _ALIGNED) * _ALIGNED
        first = 0
        for other in sorted(taken, key=self.places.__getitem__):
            if first + wide <= self.places[other]:
                break
            first = max(first, taken[other])
        self.places[lying], taken[lying] = first, first + wide
        self.size = max(self.size, first + wide)


class _Making:
    """The steps that make ``wanted``, of about as many ``samples`` at a time, with ``secret`` weights.
    ``given``: inputs as they are on the host."""

    def __init__(
        self, device: Device, relations: Relations, wanted: Collection[Tensor], samples: int, secret: Secret
    ) -> None:
        self._device, self._relations, self._wanted, self._secret = device, relations, wanted, secret
        self._few = FewBits(device, relations, wanted, samples, secret)
        self._numbers, self._planes = dict[Tensor, _Lying](), dict[Tensor, _Lying]()
        self._same, self._done = dict[Tensor, Tensor](), set[Relation]()
        self.steps = list[_Step]()
        self.given = {tensor: _Lying(kind_of(tensor), (entries_of(tensor),)) for tensor in relations.given}
        for tensor, lying in self.given.items():
            moved = Moved(device, order(tensor.shape).astype(np.uint32), [entries_of(tensor)], None)
            self._emit(moved, Ending(device, lying.kind), [lying], self._lie(tensor))
        for relation in relations.relations:
            if relation not in self._done:
                self._make(relation)

    def numbers(self, tensor: Tensor) -> _Lying:
        """Return the tensor in its layout with channels last, unpacked from planes if necessary."""
        tensor = self._same.get(tensor, tensor)
        if tensor not in self._numbers:
            planes, out = self._planes[tensor], self._lie(tensor)
            self.steps.append(
                _Step(lambda _, x, to: convolutions.unpack(self._device, x[0], to), [planes], out)
            )
        return self._numbers[tensor]

    def _as_planes(self, tensor: Tensor) -> _Lying:
        if tensor not in self._planes:
            numbers, out = self.numbers(tensor), self._lie_as_planes(tensor, tensor.bits or 0)
            channels, *plane = tensor.shape[1:]

            def pack(samples: int, xs: Sequence[Array], to: Array) -> None:
                convolutions.pack(self._device, xs[0].reshape(samples, *plane, channels), to)

            self.steps.append(_Step(pack, [numbers], out))
        return self._planes[tensor]

    def _make(self, relation: Relation) -> None:
        """With what is behind it alone; what is in order already is not moved."""
        if isinstance(relation, Move) and in_place(relation):
            (source,) = relation.sources
            self._same[relation.out] = self._same.get(source, source)
        elif fused := self._few.convolution(relation, {*self._numbers, *self._planes}):
            self._fuse(fused)
        elif (pool := self._few.maximum(relation)) and relation.reads[0] in self._planes:
            read, out = self._planes[relation.reads[0]], self._lie_as_planes(relation.out, pool.bits)
            self.steps.append(_Step(lambda _, xs, to: pool.run(xs[0], to), [read], out))
        elif (total := self._few.total(relation)) and relation.reads[0] in self._planes:
            read, sums = self._planes[relation.reads[0]], _Lying(KINDS[1], relation.out.shape[1:2])
            self.steps.append(_Step(lambda _, xs, to: total.run(xs[0], to), [read], sums))
            one, nothing = np.ones(1, np.int64), np.zeros(1, np.int64)
            self._end(relation, Combined(self._device, [sums.kind], [one], [nothing]), [sums])
        else:
            *heads, last = parts(relation)
            for part in heads:
                self._emit(
                    self._launch_of(part),
                    ending_of(self._device, [], part.out),
                    self._reads(part),
                    self._lie(part.out),
                )
            self._end(last, self._launch_of(last), self._reads(last))

    def _launch_of(self, relation: Relation) -> Launch:
        return launch_of(relation, self._device, self._secret)

    def _fuse(self, fused: Fused) -> None:
        few, x = fused.launch, fused.x
        reads = [self._as_planes(x) if is_planes(x) else self.numbers(x)]
        if fused.residual is not None:
            reads.append(self._as_planes(fused.residual))
        out = self._lie_as_planes(fused.out, few.bits)
        self.steps.append(_Step(lambda _, xs, to: few.run(xs[0], to, *xs[1:]), reads, out))
        self._done.update(fused.relations)

    def _end(self, relation: Relation, launch: Launch, reads: Sequence[_Lying]) -> None:
        """With the lookup and the table that alone read what it makes."""
        lookup = self._relations.lookups.get(relation.out)
        table = (
            self._relations.functions.get(lookup.out) if lookup and lookup.out not in self._wanted else None
        )
        behind = [each for each in (lookup, table) if each is not None]
        self._done.update(behind)
        out = behind[-1].out if behind else relation.out
        self._emit(launch, ending_of(self._device, [relation, *behind], out), reads, self._lie(out))

    def _reads(self, relation: Relation) -> list[_Lying]:
        return [self.numbers(tensor) for tensor in relation.reads if not isinstance(tensor, Parameter)]

    def _emit(self, launch: Launch, ending: Ending, reads: Sequence[_Lying], out: _Lying) -> None:
        def launched(samples: int, xs: Sequence[Array], to: Array) -> None:
            launch(samples, xs, ending, to)

        self.steps.append(_Step(launched, reads, out))

    def _lie(self, tensor: Tensor) -> _Lying:
        channels, *plane = tensor.shape[1:]
        made = self._numbers[tensor] = _Lying(kind_of(tensor), (*plane, channels))
        return made

    def _lie_as_planes(self, tensor: Tensor, bits: int) -> _Lying:
        channels, *plane = tensor.shape[1:]
        made = self._planes[tensor] = _Lying(KINDS[0], (*plane, bits, convolutions.room(channels)))
        return made
