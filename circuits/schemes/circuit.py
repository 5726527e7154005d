"""A compiled circuit: its statement, and what is common to all schemes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Final, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zenserve.circuits.graphs.node import QuantNode
from zenserve.circuits.graphs.tensors import first_index
from zenserve.circuits.lowering import Level, Plan
from zenserve.circuits.quantised import Integers, QuantGraph, QuantInput
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.r1cs.program import Program
from zenserve.circuits.r1cs.tiles import keep
from zenserve.circuits.schemes.inputs import described_types
from zenserve.errors import StatementError, TensorError
from zenserve.kernels import FrArray, fr
from zenserve.prover.backends import Backend
from zenserve.prover.backends.cpu import CPU
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Relations, Tensor
from zenserve.verifier.schemes import INPUT, Privacy, called

# Each takes 100 bytes of a key's file, and a fifth of a millisecond of whoever reads it.
_MOST_SHOWN: Final = 100_000
_MOST_LABELS: Final = 10

# Public inputs by the names of their groups, as plain integers.
Values = dict[str, int | list[int]]

_SAYS_WEIGHTS = {
    "public": "exactly this network, whose weights are part of the verifying key,",
    "private": "a network of this architecture and these scales, with some weights in their ranges,",
    "committed": "the committed network, of this architecture and these scales,",
}
_BINDING = {
    "public": "",
    "private": " Nothing binds the weights to one network: they may differ from one proof to the next.",
    "committed": " That its weights are of their types is for the proof of its registration to say.",
}
_SAYS_INPUT = {
    "public": " The {input} is the one among the public inputs.",
    "private": "",
    "committed": " The {input} is the one that the commitment is to.",
}


@dataclass(frozen=True, eq=False)
class Circuit(ABC):
    """A network, its privacy, the level (docs/compiler.md) that it was compiled at, and the result.

    ``plan``: how each node is proven, and what else it could have been. ``relations``: what is proven, and
    ``wires`` those of the tensors that have any, by the builder's numbers.
    """

    typed: TypedGraph
    level: Level
    program: Program
    plan: Plan
    relations: Relations
    wires: Mapping[Tensor, IntArray]
    scheme: ClassVar[str]

    @property
    def qgraph(self) -> QuantGraph:
        return self.typed.qgraph

    @property
    def constraint_system(self) -> ConstraintSystem:
        return self.program.constraint_system

    @property
    def layout(self) -> Mapping[str, IntArray]:
        """The variable indices of every named group of wires, int64 of the group's shape."""
        return self.constraint_system.layout

    @property
    @abstractmethod
    def public_layout(self) -> list[dict[str, Any]]:
        """The meaning of each public input, in order: JSON-able groups of ``count`` values from ``first``.

        The first input of every circuit is ``statement``, any element of Fr: no row reads it, but a proof
        holds for one value of it alone. It is for the hash of the claim in words, with all circumstances.
        """

    @property
    def commitments(self) -> list[str]:
        """The names of the linked segments: what ``groth16.prove`` takes openings for, in order."""
        return [segment.name for segment in self.constraint_system.segments if segment.linked]

    @property
    def network(self) -> bytes:
        """The SHA-256 of the network, or of its architecture where weights are no part of the circuit."""
        graph = self.qgraph
        return (graph if self.typed.weight_privacy == "public" else graph.architecture).digest

    @property
    def privacy(self) -> dict[str, Privacy]:
        named = {entry.name: called(INPUT, entry.name, self.inputs) for entry in self.inputs}
        inputs = {called: self.typed.privacies[name] for name, called in named.items()}
        return {**inputs, "weights": self.typed.weight_privacy}

    @property
    def inputs(self) -> Sequence[QuantInput]:
        """The inputs that proofs are about."""
        return self.qgraph.inputs

    @property
    @abstractmethod
    def claim(self) -> str:
        """The network's function, in a sentence with ``{network}`` in it."""

    def quantise_input(self, x: ArrayLike) -> IntArray:
        """``QuantGraph.quantise_input``."""
        return self.qgraph.quantise_input(x)

    def quantise_inputs(self, x: ArrayLike | Mapping[str, ArrayLike]) -> dict[str, IntArray]:
        """``QuantGraph.quantise_inputs``."""
        return self.qgraph.quantise_inputs(x)

    def describe(self) -> dict[str, Any]:
        """Architecture, quantisation, privacy, meaning and cost of the circuit, JSON-able. No weights."""
        graph, system = self.qgraph, self.constraint_system
        rows: Counter[str] = Counter()
        gadgets: Counter[str] = Counter()
        for block in system.blocks:
            # Names of nodes may have slashes themselves: exporters write paths.
            rows[block.name.rpartition("/")[0]] += block.rows
            gadgets[block.name] += block.rows
        return {
            "scheme": self.scheme,
            "level": self.level,
            "meaning": self.meaning,
            "network": self.network.hex(),
            "privacy": self.privacy,
            "architecture": [_architecture(graph, node) for node in graph.nodes],
            "quantisation": {
                **described_types(self.inputs),
                "layers": [scales for node in graph.nodes if (scales := _scales(graph, node)) is not None],
            },
            "public_inputs": self.public_layout,
            "commitments": self.commitments,
            "variables": {"public": system.public + system.folded, "private": system.private},
            "constraints": {
                "total": system.constraints,
                "by_layer": dict(rows),
                "by_gadget": dict(gadgets),
            },
        }

    @property
    def meaning(self) -> str:
        """The meaning of a proof, in words."""
        said = [
            _SAYS_INPUT[privacy].format(input=called(INPUT, name, self.qgraph.inputs).replace("/", " "))
            for name, privacy in self.typed.privacies.items()
        ]
        return self._says_network + "".join(said)

    @property
    def _says_network(self) -> str:
        weights = self.typed.weight_privacy
        return self.claim.format(network=_SAYS_WEIGHTS[weights]) + _BINDING[weights]

    def keep_matrices(self, most_bytes: int) -> None:
        """Keep constraints that would be made anew for every proof, as far as ``most_bytes`` go."""
        keep(self.constraint_system.blocks, most_bytes)

    def checked(self, q: Integers) -> dict[str, IntArray]:
        """``q`` as inputs of the network by what statements call them (``zenserve.verifier.schemes.called``):
        integers [*shape] in [0, 2^bits), int64; of a batch [batch, *shape].

        Raises ``TensorError``: ``input.names``, ``input.shape``, ``input.not_integer``,
        ``input.out_of_range``.
        """
        graph, checked = self.qgraph, {}
        for name, values in graph.named(q).items():
            entry, group = graph.entries[name], called(INPUT, name, graph.inputs)
            checked[group] = checked_integers(values, self._batched(entry.shape), entry.type.top, group)
            graph.require_taken(name, checked[group], group)
        return checked

    def _layout(self, *groups: dict[str, Any]) -> list[dict[str, Any]]:
        """``public_layout``, ``groups`` being what follows the statement and the input."""
        graph = self.qgraph
        first: list[dict[str, Any]] = [{"name": "statement", "count": 1, "shape": []}]
        for entry in graph.inputs:
            if self.typed.privacies[entry.name] == "public":
                name = called(INPUT, entry.name, graph.inputs)
                shape = self._batched(entry.shape)
                first.append(public_group(name, shape, 0, entry.type.top, asdict(entry.type)))
        layout = [*first, *groups]
        for group in layout:
            group["first"] = self.constraint_system.public_index(int(self.layout[group["name"]].flat[0]))
        return layout

    def _batched(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Of one input, or of each of several."""
        return (self.typed.batch, *shape) if self.typed.batch > 1 else shape

    def _shown_inputs(self, checked: Mapping[str, IntArray]) -> Values:
        shown = zip(checked.items(), self.typed.privacies.values(), strict=True)
        return {group: q.ravel().tolist() for (group, q), privacy in shown if privacy == "public"}

    def _listed(self, values: Values, statement: int) -> list[int]:
        """The public inputs in order, canonical."""
        listed = [statement]
        for group in self.public_layout[1:]:
            value = values[group["name"]]
            listed += value if isinstance(value, list) else [value]
        return [value % fr.modulus for value in listed]

    def _witness(
        self, values: Mapping[str, ArrayLike], statement: int, threads: int, on: Backend = CPU
    ) -> FrArray:
        z = self.program.witness(values, threads, on)
        z[int(self.layout["statement"].item())] = fr.from_ints([statement])[0]
        return z


def public_group(
    name: str, shape: tuple[int, ...], minimum: int, maximum: int, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """One group of public inputs; ``first`` is missing."""
    return {
        "name": name,
        "count": math.prod(shape),
        "shape": list(shape),
        "minimum": minimum,
        "maximum": maximum,
        **(more or {}),
    }


def most_labels(outputs: int) -> int:
    """Return the largest number of labels that a proof can show. The last label follows from all others, and
    each costs as much as the first."""
    return min(_MOST_LABELS, outputs - 1)


def require_one(network: QuantGraph, what: str) -> None:
    """Raises ``StatementError`` (``statement.several``) for networks of several inputs or outputs."""
    require_one_input(network, what)
    if len(network.outputs) != 1:
        raise _several(f"{what} is of a network of one output, and this one has {len(network.outputs)}")


def require_one_input(network: QuantGraph, what: str) -> None:
    """Raises ``StatementError`` (``statement.several``) for networks of several inputs."""
    if len(network.inputs) != 1:
        raise _several(f"{what} is of a network of one input, and this one has {len(network.inputs)}")


def _several(reason: str) -> StatementError:
    return StatementError("statement.several", f"{reason}: export one, or prove inferences", field="scheme")


def require_classes(outputs: int, field: str, remedy: str) -> None:
    """Check that so many outputs allow a statement about a label. Raises ``StatementError``
    (``statement.classes``)."""
    if outputs < 2:
        raise StatementError(
            "statement.classes",
            f"a label is one of two classes or more, and the network has one output: {remedy}",
            field=field,
        )


def require_few(outputs: int, field: str) -> None:
    """Check that so many outputs can be public inputs. Raises ``StatementError`` (``statement.reveal``)."""
    if outputs > _MOST_SHOWN:
        raise StatementError(
            "statement.reveal",
            f"the network's outputs are {outputs:,}, and a proof shows {_MOST_SHOWN:,} at most:"
            " each is a point of the verification key, and all are read for every proof",
            field=field,
        )


def checked_integers(q: NDArray[np.integer[Any]], shape: tuple[int, ...], top: int, field: str) -> IntArray:
    """``q`` as int64[*shape] in [0, top]. Raises ``TensorError`` as ``Circuit.checked``."""
    q = np.asarray(q)
    if q.shape != shape:
        raise TensorError(
            "input.shape", f"{field} has shape {list(q.shape)}; the circuit takes {list(shape)}", field=field
        )
    if q.dtype.kind not in "iu":
        raise TensorError("input.not_integer", f"{field} has type {q.dtype}; quantise it first", field=field)
    bad = first_index((q < 0) | (q > top))
    if bad is not None:
        raise TensorError(
            "input.out_of_range",
            f"{field}{list(bad)} lies outside the quantised range, [0, {top}]",
            field=field,
        )
    return q.astype(np.int64)


def require_known(level: Level, **privacies: Privacy) -> None:
    """Raises ``StatementError``: ``statement.privacy``, ``statement.level``."""
    for name, privacy in privacies.items():
        if privacy not in get_args(Privacy):
            known = ", ".join(get_args(Privacy))
            raise StatementError("statement.privacy", f"{name} must be one of {known}", field=name)
        if privacy == "committed" and level != 5:
            raise StatementError(
                "statement.privacy",
                f"a committed {name.partition('_')[0]} takes level 5: lower levels have no segments",
                field=name,
            )
    if level not in get_args(Level):
        levels = ", ".join(map(str, get_args(Level)))
        raise StatementError("statement.level", f"level must be one of {levels}", field="level")


def _scales(graph: QuantGraph, node: QuantNode) -> dict[str, Any] | None:
    """``QuantNode.scales``; of a node that is there again its type alone, and what it is."""
    scales, first = node.scales(), graph.again.get(node.name)
    if scales is None or first is None:
        return scales
    shown = {"name": node.name, "again": first}
    return shown | ({"rescale": {"output": scales["rescale"]["output"]}} if "rescale" in scales else {})


def _architecture(graph: QuantGraph, node: QuantNode) -> dict[str, Any]:
    """The node's geometry, dilations where there are any: no weights, biases or types."""
    shown: dict[str, Any] = {
        "name": node.name,
        "operator": node.operator(),
        "reads": list(node.inputs),
        "shape": list(graph.shapes[node.name]),
    }
    for attribute in fields(node):
        value = getattr(node, attribute.name)
        if attribute.name == "weight":
            shown["weights"] = list(value.shape)
        elif attribute.name not in (*shown, "inputs") and isinstance(value, int | tuple) and value != ():
            shown[attribute.name] = value
    return shown
