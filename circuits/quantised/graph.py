"""The quantised network and its one integer semantics (docs/quantisation.md).

Every tensor is affine, and every sum exact (ZEN, Feng et al., section 4). Integers are int64 and provably
never overflow: the constructor refuses a node in which any weights and inputs of its types could bring an
intermediate value to 2^62.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zenserve.circuits.graphs.encoding import Encoding
from zenserve.circuits.graphs.graph import only_input, only_output
from zenserve.circuits.graphs.node import MOST_ELEMENTS, Again, Mover, QuantNode
from zenserve.circuits.graphs.tensors import as_finite_tensor, by_name, first_index
from zenserve.circuits.graphs.types import Affine, Shape, require
from zenserve.circuits.operators import INTEGERS
from zenserve.circuits.operators.sums import Accumulating
from zenserve.errors import FileFormatError, ModelError, TensorError
from zenserve.prover.backends import Backend
from zenserve.prover.backends.cpu import CPU
from zenserve.relations.integers import IntArray
from zenserve.verifier.description import MOST_SCALE
from zenserve.verifier.preamble import Kind
from zenserve.verifier.schemes import INPUT, called

# What exporters of models of tables call the output that is the label.
LABELS: Final = frozenset({"label", "output_label"})
# What the output of a network of one is called.
OUTPUT = "output"
_ENCODING: Final = Encoding(Kind(b"qnet", 2), INTEGERS)
# Names of nodes are the first part of the names of wires and blocks.
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True)
class Output:
    """The answer of the network: the first index of the largest logit, and the integer logits."""

    label: int
    logits: IntArray = field(repr=False)


# Of one input an array; of several, one for each by its name.
Integers = NDArray[np.integer[Any]] | Mapping[str, NDArray[np.integer[Any]]]


BEYOND: Final = (
    "calibrate with numbers that reach as far, or, in a service, register the model with --saturate"
    " (saturate), which takes a number beyond the range as its nearest end; where the file itself quantises"
    " its input to this range, clip it before"
)


@dataclass(frozen=True)
class QuantInput:
    """An input of a network of integers: a tensor of this type."""

    name: str
    shape: Shape
    type: Affine

    def quantise(
        self,
        x: ArrayLike,
        field: str = "input",
        *,
        saturate: bool = False,
        names: bool = False,
        columns: Sequence[str] = (),
    ) -> IntArray:
        """The integers of the real numbers ``x``, int64[*shape]. ``saturate``: those beyond the type's range
        are its ends, unless they are ``names`` of entries. ``columns``: what entries are called.

        Raises ``TensorError``: ``input.not_numeric``, ``input.shape``, ``input.not_finite``, and
        ``input.out_of_range`` for a value outside the type's range by more than rounding.
        """
        tensor = as_finite_tensor(x, self.shape, field=field)
        low, high = self.type.interval
        bad = first_index((tensor < low) | (tensor > high))
        if bad is not None and (names or not saturate):
            place = f"{field}: column {columns[bad[-1]]!r}" if columns else f"{field}{list(bad)}"
            raise TensorError(
                "input.out_of_range",
                f"{place} lies outside the calibrated range, [{low:.6g}, {high:.6g}]:"
                f" {'it names none of the entries that there are' if names else BEYOND}",
                field=field,
            )
        return self.type.quantise(tensor)


@dataclass(frozen=True, eq=False)
class QuantGraph:
    """Nodes in topological order over ``inputs``. ``outputs``: by their names the tensors that are asked for.
    ``again``: for names of nodes an earlier one's, which each of them is once more, on other inputs: whatever
    else it has, its weights too, is that one's. ``values``: names of outputs of several entries that are no
    scores of classes.

    Sums that no ``rescale`` brings into a type may only be reshaped and transposed on their way to an
    output. Raises ``ModelError`` (``model.quantised``, ``model.range_too_wide``) where the parts do not make
    an exact, overflow-free integer network.
    """

    inputs: tuple[QuantInput, ...]
    nodes: tuple[QuantNode, ...]
    outputs: Mapping[str, str]
    again: Mapping[str, str] = field(default_factory=dict)
    values: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, name: str, shape: Shape, kind: Affine, nodes: tuple[QuantNode, ...], output: str
    ) -> QuantGraph:
        """A network of one input, and one output, the tensor ``output``."""
        return cls((QuantInput(name, shape, kind),), nodes, {OUTPUT: output})

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", self._repeated())
        for name in [*(entry.name for entry in self.inputs), *self.outputs]:
            require(_NAME.fullmatch(name) is not None, f"{name[:80]!r} is no plain name")
        for entry in self.inputs:
            require(all(size > 0 for size in entry.shape), "the input shape must be positive")
        require(len({entry.name for entry in self.inputs}) == len(self.inputs) > 0, "inputs need names")
        require(len(self.outputs) > 0, "there is no output")
        known = [name for name in self.outputs if name in self.values]
        require([*self.values] == known, "values name other outputs, or in another order")
        for tensor in self.outputs.values():
            require(tensor in self.types, f"no node makes the output {tensor[:80]!r}")
        for node in self.nodes:
            types = [self.types[name] for name in node.inputs]
            far = any(kind and not kind.has_zero for kind in (*types, self.types[node.name]))
            require(not far or not node.needs_zero(types), f"node {node.name[:80]!r} has no zero in a type")
            if not node.permutes:
                node.check(self.types_of(node), self.shapes_of(node))

    def _repeated(self) -> tuple[QuantNode, ...]:
        """The nodes, those that are there again made of the first."""
        made: dict[str, QuantNode] = {}
        for node in self.nodes:
            first = self.again.get(node.name)
            if first is not None:
                require(
                    first in made, f"node {node.name[:80]!r} repeats {first[:80]!r}, which is no earlier one"
                )
                what = made[first].operator()
                require(made[first].repeatable, f"node {node.name[:80]!r} repeats a {what}, which none may")
                node = replace(made[first], name=node.name, inputs=node.inputs)
            made[node.name] = node
        return (*made.values(),) if len(made) == len(self.nodes) else self.nodes

    @property
    def input(self) -> QuantInput:
        """The only input. Raises ``ModelError`` (``model.inputs``) where there are others."""
        return only_input(self.inputs)

    @property
    def output(self) -> str:
        """The tensor that is the only output. Raises ``ModelError`` (``model.outputs``) where there are
        others."""
        return only_output(self.outputs)

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The shape of every tensor."""
        shapes = {entry.name: entry.shape for entry in self.inputs}
        for node in self.nodes:
            require(_NAME.fullmatch(node.name) is not None, f"node {node.name[:80]!r} needs a plain name")
            known = all(name in shapes for name in node.inputs) and node.name not in shapes
            require(known, f"node {node.name[:80]!r} is out of order")
            arity = len(node.inputs) if node.arity is None else node.arity
            require(len(node.inputs) == arity >= 1, f"node {node.name[:80]!r} has {len(node.inputs)} inputs")
            try:
                shapes[node.name] = node.shape(*(shapes[name] for name in node.inputs))
            except ModelError as error:
                raise ModelError("model.quantised", error.message) from None
            require(math.prod(shapes[node.name]) <= MOST_ELEMENTS, f"node {node.name[:80]!r} is too large")
        return shapes

    @cached_property
    def types(self) -> dict[str, Affine | None]:
        """The type of every tensor, None for sums without one."""
        types: dict[str, Affine | None] = dict.fromkeys(self.shapes)
        types |= {entry.name: entry.type for entry in self.inputs}
        for node in self.nodes:
            types[node.name] = node.output_type([types[name] for name in node.inputs])
        return types

    @property
    def output_scale(self) -> tuple[float, int] | None:
        """``scale_of`` the only output."""
        return self.scale_of(self.output)

    @cached_property
    def own_label(self) -> str | None:
        """The output that is the label which a model of tables gives itself, beside scores of its classes, as
        exporters call it; None where there is none."""
        for name in LABELS.intersection(self.outputs):
            if self.size(name) == 1 and self.scale_of(self.outputs[name]) == (1.0, 0):
                return name if any(self.size(other) > 1 for other in self.outputs) else None
        return None

    def scale_of(self, tensor: str) -> tuple[float, int] | None:
        """Return the scale and the zero point of an output's integers: ``real = scale (q - zero_point)``.
        None where they are sums without a single scale, or with a scale that is too large for a statement."""
        scale, zero_point = self._scale_of(tensor)
        return (scale, zero_point) if 0 < scale <= MOST_SCALE else None

    def _scale_of(self, tensor: str) -> tuple[float, int]:
        """0 where there is none."""
        if kind := self.types[tensor]:
            return kind.scale, kind.zero_point
        nodes = {node.name: node for node in self.nodes}
        node = nodes[tensor]
        while not isinstance(node, Accumulating):  # what moves integers leaves them as they are
            node = nodes[node.inputs[0]]
        return node.step(self.types_of(node)) or 0.0, 0

    def types_of(self, node: QuantNode) -> list[Affine]:
        """The types of what ``node`` reads. Raises ``ModelError`` where it reads sums without a type."""
        types = [self.types[name] for name in node.inputs]
        require(None not in types, f"node {node.name[:80]!r} reads sums without a type")
        return [kind for kind in types if kind is not None]

    def shapes_of(self, node: QuantNode) -> list[Shape]:
        """The shapes of what ``node`` reads."""
        return [self.shapes[name] for name in node.inputs]

    @cached_property
    def architecture(self) -> QuantGraph:
        """All of the network but its weights and biases: these are 0, and the largest of their types.

        Whoever has it can compile every circuit whose weights are committed.
        """
        nodes = tuple(node.blank() for node in self.nodes)
        return replace(self, nodes=nodes)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of ``to_bytes``."""
        return hashlib.sha256(self.to_bytes()).digest()

    @property
    def classes(self) -> int:
        """The number of outputs."""
        return math.prod(self.shapes[self.output])

    def quantise_input(self, x: ArrayLike, *, saturate: bool = False) -> IntArray:
        """``quantise_entry`` of the only input."""
        return self.quantise_entry(self.input.name, x, saturate=saturate)

    def quantise_inputs(
        self,
        x: ArrayLike | Mapping[str, ArrayLike],
        *,
        saturate: bool = False,
        columns: Sequence[str] = (),
    ) -> dict[str, IntArray]:
        """``quantise_entry`` of each input by its name, of an only one also from the array alone. Raises
        ``TensorError`` (``input.names``), too."""
        given = by_name(x, self.entries, field="input")
        return {
            name: self.quantise_entry(
                name, given[name], called(INPUT, name, self.inputs), saturate=saturate, columns=columns
            )
            for name in self.entries
        }

    def quantise_entry(
        self,
        name: str,
        x: ArrayLike,
        field: str = "input",
        *,
        saturate: bool = False,
        columns: Sequence[str] = (),
    ) -> IntArray:
        """``QuantInput.quantise`` of this input, and ``require_taken``."""
        entry, named = self.entries[name], name in self._taken
        q = entry.quantise(x, field, saturate=saturate, names=named, columns=columns)
        self.require_taken(name, q, field)
        return q

    def require_taken(self, name: str, q: IntArray, field: str = "input") -> None:
        """``TensorError`` (``input.out_of_range``) where integers of this input name entries, as tokens do,
        and one that there is not: int64[*shape], or of several samples."""
        samples = q.reshape(-1, math.prod(self.entries[name].shape))
        for places, taken in self._taken.get(name, ()):
            bad = first_index(~taken[samples[:, places]])
            if bad is not None:
                index = np.unravel_index(places[bad[1]], self.entries[name].shape)
                at = [*([bad[0]] if q.ndim > len(index) else []), *map(int, index)]
                raise TensorError(
                    "input.out_of_range",
                    f"{field}{at} names none of the {np.count_nonzero(taken)} entries that there are",
                    field=field,
                )

    @cached_property
    def _taken(self) -> dict[str, list[tuple[IntArray, NDArray[np.bool_]]]]:
        """Of inputs that name entries: where each node that has these reads them, and what it takes."""
        places, last = dict[str, IntArray](), 0
        for entry in self.inputs:
            size = math.prod(entry.shape)
            places[entry.name] = np.arange(last, last + size).reshape(1, *entry.shape)
            last += size
        firsts, found = {name: int(each.flat[0]) for name, each in places.items()}, dict[str, Any]()
        for node in self.nodes:
            if not all(name in places for name in node.inputs):
                continue
            if isinstance(node, Mover):
                places[node.name] = node.move([places[name] for name in node.inputs], -1)
            elif (taken := node.takes()) is not None:
                read = places[node.inputs[0]].ravel()
                for name, first in firsts.items():
                    own = read[(read >= first) & (read < first + math.prod(self.entries[name].shape))]
                    found.setdefault(name, []).append((own - first, taken))
        return found

    @property
    def entries(self) -> dict[str, QuantInput]:
        """The inputs by their names."""
        return {entry.name: entry for entry in self.inputs}

    def inputs_of(self, output: str) -> list[QuantInput]:
        """Return the inputs from which the output of this name is computed."""
        needed = {self.outputs[output]}
        for node in reversed(self.nodes):
            if node.name in needed:
                needed.update(node.inputs)
        return [entry for entry in self.inputs if entry.name in needed]

    def size(self, output: str) -> int:
        """Return the number of values of the output of this name."""
        return math.prod(self.shapes[self.outputs[output]])

    def named(self, q: Integers) -> dict[str, IntArray]:
        """The inputs by their names, of one input from the array alone. Raises ``TensorError``
        (``input.names``)."""
        return by_name(q, self.entries, field="input")

    def execute(self, q: Integers) -> Output:
        """The only output for one input ``q``, int64[*input shape] with values in [0, 2^bits). Exact."""
        logits = self.run({name: value[np.newaxis] for name, value in self.named(q).items()})[0]
        return Output(int(np.argmax(logits)), logits)

    def run(self, q: Integers) -> IntArray:
        """The only output, int64[n, classes], of inputs int64[n, *input shape]."""
        (value,) = self.run_all(q, {self.output}).values()
        return value.reshape(len(value), -1)

    def run_all(self, q: Integers, names: Collection[str], on: Backend = CPU) -> dict[str, IntArray]:
        """The tensors of these names, int64[n, *shape], of inputs [n, *input shape], integers of their types.

        On a GPU, which makes the same, where it has kernels for all nodes and room.
        """
        given = self.named(q)
        if on.index is not None:
            from zenserve.circuits.quantised.resident import run_all
            from zenserve.prover.backends.gpu import backend

            found = run_all(backend(on.index).device, self, given, names)
            if found is not None:
                return found
        total, at_once = len(next(iter(given.values()))), max(1, MOST_ELEMENTS // self._widest)
        parts = [
            self.tensors({name: value[start : start + at_once] for name, value in given.items()})
            for start in range(0, max(1, total), at_once)
        ]
        made = [{name: value for name, value in part if name in names} for part in parts]
        return {name: np.concatenate([each[name] for each in made]) for name in made[0]}

    @property
    def _widest(self) -> int:
        """Entries of the largest tensor, for one sample."""
        return max(map(math.prod, self.shapes.values()))

    def to_bytes(self) -> bytes:
        """The network in the format of ``zenserve.circuits.graphs.encoding``. Holds the weights."""
        return _ENCODING.write(self._stored)

    @classmethod
    def from_bytes(cls, data: bytes) -> QuantGraph:
        """Raises ``FileFormatError``: the codes of ``Encoding.read``, and ``file.value`` for parts that make
        no exact integer network."""
        try:
            stored: _Stored = _ENCODING.read(_STORED, data)
            network = stored.network
        except ModelError as error:
            raise FileFormatError("file.value", error.message) from error
        if type(network._stored) is not type(stored):
            raise FileFormatError("file.header", "one input and one output have a form of their own")
        return network

    @property
    def _stored(self) -> _Stored:
        again = self.again
        nodes = tuple(
            Again(node.name, node.inputs, again[node.name]) if node.name in again else node
            for node in self.nodes
        )
        if len(self.inputs) == 1 and [*self.outputs] == [OUTPUT]:
            (entry,), output = self.inputs, self.outputs[OUTPUT]
            return StoredQuantGraph(entry.name, entry.shape, entry.type, nodes, output, self.values)
        return StoredQuantNetwork(self.inputs, nodes, tuple(self.outputs.items()), self.values)

    def tensors(self, q: Integers) -> Iterator[tuple[str, IntArray]]:
        """Name and value of every tensor in order, the inputs first; each is let go after its last reader."""
        last_reader = {name: node.name for node in self.nodes for name in node.inputs}
        values = {name: value.astype(np.int64, copy=False) for name, value in self.named(q).items()}
        yield from [*values.items()]
        for node in self.nodes:
            values[node.name] = node.execute(
                [values[name] for name in node.inputs], [self.types[name] for name in node.inputs]
            )
            for name in set(node.inputs):
                if last_reader[name] == node.name:
                    del values[name]
            yield node.name, values[node.name]


@dataclass(frozen=True, eq=False)
class StoredQuantGraph:
    """The stored form of a network of one input and one output."""

    input_name: str
    input_shape: Shape
    input_type: Affine
    nodes: tuple[QuantNode, ...]
    output: str
    values: tuple[str, ...] = ()

    @property
    def network(self) -> QuantGraph:
        entry = QuantInput(self.input_name, self.input_shape, self.input_type)
        return QuantGraph((entry,), self.nodes, {OUTPUT: self.output}, _again(self.nodes), self.values)


@dataclass(frozen=True, eq=False)
class StoredQuantNetwork:
    """The stored form of all other networks. ``outputs``: names, and the tensors that they are of."""

    inputs: tuple[QuantInput, ...]
    nodes: tuple[QuantNode, ...]
    outputs: tuple[tuple[str, str], ...]
    values: tuple[str, ...] = ()

    @property
    def network(self) -> QuantGraph:
        outputs = dict(self.outputs)
        require(len(outputs) == len(self.outputs), "two outputs have one name")
        return QuantGraph(self.inputs, self.nodes, outputs, _again(self.nodes), self.values)


def _again(nodes: Iterable[QuantNode]) -> dict[str, str]:
    return {node.name: node.of for node in nodes if isinstance(node, Again)}


_Stored = StoredQuantGraph | StoredQuantNetwork
_STORED: Final[tuple[type[_Stored], ...]] = (StoredQuantGraph, StoredQuantNetwork)
