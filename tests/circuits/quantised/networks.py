"""Random integer networks of every kind of node, small enough for the slow executor and for mutations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from zenserve.circuits.graphs.node import QuantNode
from zenserve.circuits.graphs.types import Affine, Rescale, WeightType
from zenserve.circuits.operators.activation import QuantActivation
from zenserve.circuits.operators.add import QuantAdd
from zenserve.circuits.operators.average_pool import WindowSum
from zenserve.circuits.operators.clip import Requantise
from zenserve.circuits.operators.concat import Concat
from zenserve.circuits.operators.convolution import QuantConv
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.operators.leaky_relu import PiecewiseLinear
from zenserve.circuits.operators.matmul import QuantMatMul
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.multiply import QuantMul
from zenserve.circuits.operators.pad import Pad
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.transpose import Transpose
from zenserve.circuits.quantised import QuantGraph
from zenserve.relations.integers import IntArray

KINDS = (
    *(
        "conv",
        "sum",
        "max",
        "add",
        "requantise",
        "pad",
        "concat",
        "transpose",
        "bent",
        "tabulated",
        "product",
        "matrices",
    ),
)


class Maker:
    """Adds random nodes to a network. ``bits`` of every type are drawn from 2 to ``most_bits``, but
    where the input's are given."""

    def __init__(
        self,
        seed: int,
        shape: tuple[int, int, int] = (2, 5, 4),
        most_bits: int = 8,
        input_bits: int | None = None,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.most_bits = most_bits
        self.shape: tuple[int, ...] = shape
        self.input = self.affine(input_bits)
        self.input_shape = shape
        self.nodes: list[QuantNode] = []
        self.kind = self.input

    @property
    def last(self) -> str:
        return self.nodes[-1].name if self.nodes else "x"

    def affine(self, bits: int | None = None) -> Affine:
        bits = bits or int(self.rng.integers(2, self.most_bits + 1))
        return Affine(float(self.rng.uniform(0.01, 1)), int(self.rng.integers(0, 1 << bits)), bits)

    def rescale(self, reach: int, outputs: int, output: Affine | None = None) -> Rescale:
        """One that brings sums up to ``reach`` to about the width of the output, some of them beyond."""
        output = output or self.affine()
        per_channel = outputs > 1 and self.rng.random() < 0.5
        shape = (outputs, 1, 1) if per_channel else (1,)
        multiplier = self.rng.integers(1, 8, shape)
        shift = max(0, (4 * max(1, reach)).bit_length() - output.bits - int(self.rng.integers(0, 3)))
        low, high = 0, output.top
        if self.rng.random() < 0.4:
            low, high = sorted(self.rng.choice(output.top + 1, 2, replace=False).tolist())
        return Rescale(multiplier, shift, output, low, high)

    def weights(self, *shape: int) -> tuple[np.ndarray, WeightType, IntArray]:
        bits = int(self.rng.integers(2, self.most_bits + 1))
        count = shape[0] if self.rng.random() < 0.5 else 1
        scale, zero = self.rng.uniform(0.01, 1, count), self.rng.integers(0, 1 << bits, count)
        kind = WeightType(scale, zero, bits)
        weight = self.rng.integers(0, 1 << bits, shape, dtype=kind.dtype)
        return weight, kind, self.rng.integers(-300, 300, shape[0])

    def add(self, node: QuantNode) -> None:
        self.nodes.append(node)
        self.shape = node.shape(*[self.shape for _ in node.inputs])
        rescale = getattr(node, "rescale", None)
        self.kind = rescale.output if rescale else self.kind

    def name(self, kind: str) -> str:
        return f"{kind}{len(self.nodes)}"

    def conv(self) -> None:
        groups = int(self.rng.choice([g for g in (1, 2, self.shape[0]) if self.shape[0] % g == 0]))
        kernel = tuple(int(self.rng.integers(1, min(3, size) + 1)) for size in self.shape[1:])
        weight, kind, bias = self.weights(
            groups * int(self.rng.integers(1, 3)), self.shape[0] // groups, *kernel
        )
        reach = int(np.prod(weight.shape[1:])) * int(kind.reach.max()) * self.kind.top + 300
        stride = (int(self.rng.integers(1, 3)), int(self.rng.integers(1, 3)))
        padding = tuple(int(self.rng.integers(0, 2)) for _ in range(4))
        rescale = self.rescale(reach, len(weight))
        self.add(
            QuantConv(
                self.name("conv"),
                (self.last,),
                weight,
                kind,
                bias,
                stride,
                (padding[0], padding[1], padding[2], padding[3]),
                groups,
                rescale=rescale,
            )
        )

    def sum(self) -> None:
        kernel = (min(2, self.shape[1]), min(2, self.shape[2]))
        rescale = self.rescale(kernel[0] * kernel[1] * self.kind.top, self.shape[0])
        self.add(
            WindowSum(self.name("sum"), (self.last,), kernel, (1, kernel[1]), (0, 1, 0, 0), rescale=rescale)
        )

    def max(self) -> None:
        kernel = (min(2, self.shape[1]), min(3, self.shape[2]))
        padding = (0, 1, 0, 0) if kernel[1] > 1 else (0, 0, 0, 0)
        self.add(MaxPool(self.name("max"), (self.last,), kernel, (1, 2), padding))

    def branch(self) -> str:
        """A second tensor of the present shape and another type."""
        name, kind = self.name("branch"), self.rescale(self.kind.top, self.shape[0])
        self.nodes.append(Requantise(name, (self.last,), rescale=kind))
        return name

    def residual(self) -> None:
        before, kind = self.last, self.kind
        branch = self.branch()
        rescale = self.rescale(7 * (kind.top + (1 << self.most_bits) - 1), self.shape[0])
        factors = (int(self.rng.integers(1, 8)), int(self.rng.integers(1, 8)))
        self.add(QuantAdd(self.name("add"), (before, branch), factors, rescale=rescale))

    def product(self) -> None:
        before, reach = self.last, self.kind.top * ((1 << self.most_bits) - 1)
        self.add(QuantMul(self.name("product"), (before, self.branch()), rescale=self.rescale(reach, 1)))

    def matrices(self) -> None:
        """A tensor by itself, turned."""
        turned = Transpose(self.name("turned"), (self.last,), (0, 2, 1))
        self.nodes.append(turned)
        reach = self.shape[2] * self.kind.top**2
        rescale = self.rescale(reach, 1)
        made = QuantMatMul(self.name("matrices"), (*turned.inputs, turned.name), rescale=rescale)
        self.nodes.append(made)
        self.shape, self.kind = made.shape(self.shape, turned.shape(self.shape)), rescale.output

    def requantise(self) -> None:
        self.add(Requantise(self.name("requantise"), (self.last,), rescale=self.rescale(self.kind.top, 1)))

    def bent(self) -> None:
        slopes = int(self.rng.integers(-4, 9)), int(self.rng.integers(1, 9))
        rescale = self.rescale(8 * self.kind.top, 1)
        self.add(PiecewiseLinear(self.name("bent"), (self.last,), slopes, rescale=rescale))

    def tabulated(self) -> None:
        output = self.affine()
        values = self.rng.integers(0, output.top + 1, self.kind.top + 1)
        self.add(QuantActivation(self.name("tabulated"), (self.last,), "x", values, output))
        self.kind = output

    def pad(self) -> None:
        self.add(Pad(self.name("pad"), (self.last,), ((0, 0), (1, 0), (0, 1))))

    def concat(self) -> None:
        self.add(Concat(self.name("concat"), (self.last, self.last), int(self.rng.integers(0, 3))))

    def transpose(self) -> None:
        self.add(Transpose(self.name("transpose"), (self.last,), tuple(self.rng.permutation(3).tolist())))

    def finish(self, classes: int = 3) -> QuantGraph:
        flat = int(np.prod(self.shape))
        self.add(Reshape(self.name("flat"), (self.last,), (flat,)))
        weight, kind, bias = self.weights(classes, flat)
        self.nodes.append(QuantDense("logits", (self.last,), weight, kind, bias))
        return QuantGraph.of("x", self.input_shape, self.input, tuple(self.nodes), "logits")


def of_kinds(
    seed: int,
    *kinds: str,
    most_bits: int = 8,
    input_bits: int | None = None,
    shape: tuple[int, int, int] = (2, 5, 4),
    classes: int = 3,
) -> QuantGraph:
    """A network with nodes of these ``KINDS`` in order, then a dense layer with so many classes."""
    maker = Maker(seed, shape, most_bits, input_bits)
    steps = {"add": maker.residual} | {kind: getattr(maker, kind) for kind in KINDS if kind != "add"}
    for kind in kinds:
        steps[kind]()
    return maker.finish(classes)


def embedding(seed: int) -> QuantGraph:
    """A network whose output is a typed vector of three."""
    graph = of_kinds(seed, "conv", shape=(1, 3, 3))
    last = graph.nodes[-1]
    assert isinstance(last, QuantDense)
    typed = replace(last, rescale=Rescale(np.array([3]), 10, Affine(0.1, 2, 4), 0, 15))
    return replace(graph, nodes=(*graph.nodes[:-1], typed))


def inputs(graph: QuantGraph, count: int, seed: int = 0) -> IntArray:
    """Inputs at both ends of their range, and random ones: int64[count, *input_shape]."""
    rng = np.random.default_rng(seed)
    q = rng.integers(0, graph.input.type.top + 1, (count, *graph.input.shape))
    q[0], q[1 % count] = 0, graph.input.type.top
    return q
