"""The typed tensor graph (ZENO, section 6.4): what the lowering of a network to constraints reads.

Every tensor and every weight has a shape, the interval of its integers, and a privacy. Lowering looks at
these types alone to choose constraints: it never has to guess from single gates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from circuits.graphs.graph import dims
from circuits.quantised import Accumulating, Affine, Bounds, Conv, Dense, Pad, QuantGraph, QuantNode, Shape
from relations.integers import Interval
from relations.relation import Privacy as Privacy


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
        """How many bits hold the integers; with a sign bit where there are negative ones."""
        if self.low >= 0:
            return max(1, self.high.bit_length())
        return 1 + max(self.high.bit_length(), (-self.low - 1).bit_length())

    def __str__(self) -> str:
        kind = f"{'i' if self.low < 0 else 'u'}{self.bits}"
        scale = f"  scale {self.affine.scale:.6g}, zero {self.affine.zero_point}" if self.affine else ""
        return f"{self.privacy} {kind}[{dims(self.shape)}] in [{self.low}, {self.high}]{scale}"


@dataclass(frozen=True, eq=False)
class TypedGraph:
    """A network with the privacy of its input and of its weights, over ``batch`` inputs. ``print`` shows it.

    Types are those of one input's tensors.
    """

    qgraph: QuantGraph
    input_privacy: Privacy
    weight_privacy: Privacy
    batch: int = 1

    @cached_property
    def tensors(self) -> dict[str, TensorType]:
        """The type of every tensor between the nodes, the input's first."""
        graph = self.qgraph
        first = TensorType(graph.input_shape, 0, graph.input_type.top, self.input_privacy, graph.input_type)
        tensors = {graph.input_name: first}
        for node in graph.nodes:
            low, high = self._interval(node, [tensors[name] for name in node.inputs])
            shape, affine = graph.shapes[node.name], graph.types[node.name]
            tensors[node.name] = TensorType(shape, low, high, "private", affine)
        return tensors

    @cached_property
    def weights(self) -> dict[str, TensorType]:
        """For every node with weights the type of ``q_w - z_w``."""
        types = {}
        for node in self.qgraph.nodes:
            if isinstance(node, Conv | Dense):
                kind = node.weight_type
                low, high = -int(kind.zero_point.max()), kind.top - int(kind.zero_point.min())
                types[node.name] = TensorType(node.weight.shape, low, high, self.weight_privacy)
        return types

    @cached_property
    def biases(self) -> dict[str, TensorType]:
        """For every node with weights the type of its biases."""
        types = {}
        for node in self.qgraph.nodes:
            if isinstance(node, Conv | Dense):
                reach = 1 << node.bias_bits
                types[node.name] = TensorType(node.bias.shape, -reach, reach - 1, self.weight_privacy)
        return types

    def bounds(self, node: Accumulating) -> Bounds:
        """What the node's sums reach: with public weights for exactly these, else for all of their types."""
        graph = self.qgraph
        bounds = node.bounds if self.weight_privacy == "public" else node.type_bounds
        return bounds(graph.types_of(node), graph.shapes_of(node))

    def _interval(self, node: QuantNode, inputs: list[TensorType]) -> Interval:
        if isinstance(node, Accumulating):
            if node.rescale is not None:
                return node.rescale.low, node.rescale.high
            low, high = self.bounds(node)
            return int(low.min()), int(high.max())
        ends = [(kind.low, kind.high) for kind in inputs]
        if isinstance(node, Pad) and inputs[0].affine:
            ends.append((inputs[0].affine.zero_point, inputs[0].affine.zero_point))
        return min(low for low, _ in ends), max(high for _, high in ends)

    def __str__(self) -> str:
        lines = [f"{self.qgraph.input_name}: {self.tensors[self.qgraph.input_name]}"]
        for node in self.qgraph.nodes:
            reads = ", ".join(node.inputs)
            lines.append(f"{node.name} = {type(node).__name__}({reads}): {self.tensors[node.name]}")
            if node.name in self.weights:
                lines.append(f"    weight: {self.weights[node.name]}")
                lines.append(f"    bias: {self.biases[node.name]}")
        return "\n".join(lines)
