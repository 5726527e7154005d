"""The typed tensor graph (ZENO, section 6.4): what the lowering of a network to constraints reads.

Every tensor and every weight has a shape, the interval of its integers, and a privacy. Lowering looks at
these types alone to choose constraints: it never has to guess from single gates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from zenserve.circuits.graphs.node import dims
from zenserve.circuits.graphs.types import Affine, Shape
from zenserve.circuits.quantised.graph import QuantGraph
from zenserve.errors import StatementError
from zenserve.relations.bounds import Bound
from zenserve.relations.relation import Parameter, Relation, Relations, Tensor, Weighted
from zenserve.verifier.schemes import INPUT, Privacy, called


@dataclass(frozen=True)
class TensorType:
    """``low`` and ``high`` bound the integers; ``affine`` is None where they are sums without a type.

    Public tensors are inputs of the statement or constants of its constraints, private ones the prover's.
    """

    shape: Shape
    low: int
    high: int
    privacy: Privacy
    affine: Affine | None = None

    @property
    def bits(self) -> int:
        """The number of bits that hold the integers, with a sign bit if there are negative ones."""
        if self.low >= 0:
            return max(1, self.high.bit_length())
        return 1 + max(self.high.bit_length(), (-self.low - 1).bit_length())

    def __str__(self) -> str:
        kind = f"{'i' if self.low < 0 else 'u'}{self.bits}"
        scale = f"  scale {self.affine.scale:.6g}, zero {self.affine.zero_point}" if self.affine else ""
        return f"{self.privacy} {kind}[{dims(self.shape)}] in [{self.low}, {self.high}]{scale}"


@dataclass(frozen=True, eq=False)
class TypedGraph:
    """A network with the privacy of its inputs and of its weights, over ``batch`` inputs. ``print`` shows it.

    Types are those of one input's tensors. Raises ``StatementError`` (``statement.no_weights``) where weights
    are committed and there are none, and ``statement.privacy`` for names that no input has.
    ``input_privacy``: of all inputs, or by their names; those that are not named are private.
    """

    qgraph: QuantGraph
    input_privacy: Privacy | Mapping[str, Privacy]
    weight_privacy: Privacy
    batch: int = 1

    def __post_init__(self) -> None:
        named: Iterable[str] = () if isinstance(self.input_privacy, str) else self.input_privacy
        if not set(named) <= set(self.qgraph.entries):
            several = len(self.qgraph.entries) > 1
            known = f"has the inputs {', '.join(self.qgraph.entries)}" if several else "has one: name none"
            raise StatementError("statement.privacy", f"the network {known}", field="input_privacy")
        if self.weight_privacy == "committed" and not self.relations.parameters:
            raise StatementError(
                "statement.no_weights",
                "there is nothing to commit to: the network has no weights, so let them be public",
                field="weight_privacy",
            )

    @classmethod
    def most_private(cls, qgraph: QuantGraph) -> Privacy:
        """Return the default privacy of weights: committed, or public if the network has none."""
        hidden = cls(qgraph, "private", "private")
        return "committed" if hidden.relations.parameters else "public"

    @cached_property
    def privacies(self) -> dict[str, Privacy]:
        """Of each input by its name."""
        if isinstance(self.input_privacy, str):
            return dict.fromkeys(self.qgraph.entries, self.input_privacy)
        return {name: self.input_privacy.get(name, "private") for name in self.qgraph.entries}

    @cached_property
    def relations(self) -> Relations:
        """The relations between the tensors, in the order of the nodes, independent of the proof system."""
        outputs = dict.fromkeys(self.outputs.values())
        return Relations((*self.inputs.values(),), self._related[1], (*outputs,))

    @property
    def inputs(self) -> dict[str, Tensor]:
        """The tensors that are given, by the names of the inputs."""
        return {name: self._related[0][name] for name in self.qgraph.entries}

    @property
    def outputs(self) -> dict[str, Tensor]:
        """The tensors that are asked for, by the names of the outputs."""
        return {name: self._related[0][tensor] for name, tensor in self.qgraph.outputs.items()}

    @property
    def made(self) -> Mapping[str, Tensor]:
        """The tensors by the names that they have in the network."""
        return self._related[0]

    @cached_property
    def _related(self) -> tuple[dict[str, Tensor], tuple[Relation, ...]]:
        """The tensors by the names that they have in the network, and the relations between them."""
        graph, relations = self.qgraph, list[Relation]()
        tensors = {
            entry.name: Tensor(
                called(INPUT, entry.name, graph.inputs),
                (self.batch, *entry.shape),
                Bound.of(0, entry.type.top, "range"),
                entry.type.bits,
            )
            for entry in graph.inputs
        }
        layers = dict[str, Weighted]()
        for node in graph.nodes:
            types = [graph.types[name] for name in node.inputs]
            made = node.relate([tensors[name] for name in node.inputs], types, self.weight_privacy)
            if first := layers.get(graph.again.get(node.name, "")):
                made = [each.sharing(first) if isinstance(each, Weighted) else each for each in made]
            layers.update((node.name, each) for each in made if isinstance(each, Weighted))
            tensors[node.name] = made[-1].out
            relations += made
        return tensors, tuple(relations)

    @cached_property
    def tensors(self) -> dict[str, TensorType]:
        """The type of every tensor between the nodes, the inputs' first."""
        graph, types = self.qgraph, {}
        for name, tensor in self._related[0].items():
            privacy = self.privacies.get(name, "private")
            ends = tensor.bound.interval
            types[name] = TensorType(graph.shapes[name], *ends, privacy, graph.types[name])
        return types

    @cached_property
    def weights(self) -> dict[str, TensorType]:
        """For every node with weights the type of ``q_w - z_w``."""
        return {layer.name: self._parameter(layer.weight) for layer in self.relations.layers}

    @cached_property
    def biases(self) -> dict[str, TensorType]:
        """For every node with weights the type of its biases."""
        return {layer.name: self._parameter(layer.bias) for layer in self.relations.layers}

    def _parameter(self, parameter: Parameter) -> TensorType:
        return TensorType(parameter.shape, *parameter.bound.interval, self.weight_privacy)

    def __str__(self) -> str:
        lines = [f"{name}: {self.tensors[name]}" for name in self.qgraph.entries]
        for node in self.qgraph.nodes:
            reads = ", ".join(node.inputs)
            lines.append(f"{node.name} = {node.operator()}({reads}): {self.tensors[node.name]}")
            if node.name in self.weights:
                lines.append(f"    weight: {self.weights[node.name]}")
                lines.append(f"    bias: {self.biases[node.name]}")
        return "\n".join(lines)
