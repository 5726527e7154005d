"""Random networks of functions, movement, sums and constants, as onnxruntime has them: in floats, in integers
and in constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import NodeProto
from onnx.helper import make_node
from onnxruntime.capi.onnxruntime_pybind11_state import (
    Fail,
    InvalidArgument,
    InvalidGraph,
    NotImplemented,  # noqa: A004
    RuntimeException,
)

from circuits import compile_inference, load_onnx, quantise
from circuits.lowering import Level
from tests.circuits.relation_checker import broken
from tests.circuits.support import answered, first_violation, held, make_model
from verifier.schemes import Privacy
from zenerrors import ModelError

Rng = np.random.Generator
Shape = tuple[int, ...]
Weights = Mapping[str, NDArray[Any]]
LEVELS: tuple[Level, ...] = get_args(Level)
WEIGHTS: tuple[Privacy, ...] = ("public", "private")
FUNCTIONS = (
    "Relu",
    "Sigmoid",
    "Tanh",
    "Abs",
    "Neg",
    "LeakyRelu",
    "HardSwish",
    "Softplus",
    "Erf",
    "Sin",
    "Elu",
)
RUNTIME = (Fail, InvalidArgument, InvalidGraph, NotImplemented, RuntimeException)
# What a network may ask for that has no circuit.
NONE = {"model.unsupported_operator", "model.outputs"}


class Drawn:
    """A network in the making: its nodes, its constants, and the values of its tensors for one input."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng
        self.shape = tuple(rng.integers(1, 4, rng.integers(1, 4)).tolist())
        self.x = rng.normal(size=(1, *self.shape)).astype(np.float32)
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, NDArray[Any]] = {}
        self.values = {"x": self.x}

    def one_of(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def constant(self, array: Any) -> str:
        name = f"c{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def floats(self, *shape: int) -> str:
        return self.constant((self.rng.normal(size=shape) + 0.1).astype(np.float32))

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def grow(self) -> None:
        """One node more, of the kinds below, where onnxruntime takes it and makes little of it."""
        name = self.one_of(*self.values, list(self.values)[-1])
        node = self.one_of(*KINDS)(self, name, self.values[name].shape)
        made = node and self.computed(node, *node.output)
        if made and all(0 < value.size <= 40 and 0 < value.ndim <= 5 for value in made):
            self.nodes.append(node)
            self.values |= dict(zip(node.output, made, strict=True))

    def computed(self, node: NodeProto, *outputs: str) -> list[NDArray[Any]] | None:
        """The values of ``outputs``, None where onnxruntime refuses the node or they are large."""
        try:
            made = [session(self.model(name, node)).run([name], {"x": self.x})[0] for name in outputs]
        except RUNTIME:
            return None
        return (
            made
            if all(np.isfinite(each).all() and np.abs(each).max(initial=0) < 1e3 for each in made)
            else None
        )

    def model(self, output: str, *more: NodeProto) -> bytes:
        return make_model([*self.nodes, *more], self.weights, (1, *self.shape), output, opset=19)

    def out(self) -> str:
        return f"t{len(self.nodes)}"


def session(data: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(data, options)


def function(d: Drawn, name: str, shape: Shape) -> NodeProto:
    return make_node(d.one_of(*FUNCTIONS), [name], [d.out()])


def with_constant(d: Drawn, name: str, shape: Shape) -> NodeProto:
    sizes = [d.one_of(1, size) for size in shape][int(d.rng.integers(len(shape) + 1)) :]
    more = d.one_of([], [], [1], [2]) if len(sizes) == len(shape) else []
    inputs = [name, d.floats(*more, *sizes)]
    return make_node(d.one_of("Add", "Sub", "Mul", "Div"), inputs[:: d.one_of(1, -1)], [d.out()])


def with_number(d: Drawn, name: str, shape: Shape) -> NodeProto:
    inputs = [name, d.floats(*[1] * d.one_of(0, 1, len(shape), len(shape) + 1))]
    return make_node(d.one_of("Max", "Min"), inputs[:: d.one_of(1, -1)], [d.out()])


def power(d: Drawn, name: str, shape: Shape) -> NodeProto:
    number = np.full([1] * d.one_of(0, 1, len(shape) + 1), 2, np.float32)
    return make_node("Pow", [name, d.constant(number)], [d.out()])


def together(d: Drawn, name: str, shape: Shape) -> NodeProto:
    return make_node(d.one_of("Add", "Sub", "Mul", "Div"), [name, d.one_of(*d.values)], [d.out()])


def transpose(d: Drawn, name: str, shape: Shape) -> NodeProto:
    said = d.one_of({}, {"perm": d.rng.permutation(len(shape)).tolist()})
    return make_node("Transpose", [name], [d.out()], **said)


def reshape(d: Drawn, name: str, shape: Shape) -> NodeProto:
    size = int(np.prod(shape))
    first = d.one_of(*(n for n in range(1, size + 1) if size % n == 0))
    target = d.one_of((-1,), (first, -1), (1, first, -1), (0, -1), (first, 1, size // first))
    return make_node("Reshape", [name, d.integers(*target)], [d.out()])


def flatten(d: Drawn, name: str, shape: Shape) -> NodeProto:
    return make_node("Flatten", [name], [d.out()], axis=int(d.rng.integers(-len(shape), len(shape) + 1)))


def unsqueeze(d: Drawn, name: str, shape: Shape) -> NodeProto:
    axis = int(d.rng.integers(-len(shape) - 1, len(shape) + 1))
    return make_node("Unsqueeze", [name, d.integers(axis)], [d.out()])


def squeeze(d: Drawn, name: str, shape: Shape) -> NodeProto:
    axes = [axis for axis, size in enumerate(shape) if size == 1]
    chosen = [d.integers(d.one_of(*axes))] if axes and d.rng.random() < 0.7 else []
    return make_node("Squeeze", [name, *chosen], [d.out()])


def some_slice(d: Drawn, name: str, shape: Shape) -> NodeProto:
    axis, start, end = (int(d.rng.integers(-5, 5)) for _ in range(3))
    numbers = (start, end, axis % max(1, len(shape)), d.one_of(1, 1, -1, 2, -2))
    return make_node("Slice", [name, *(d.integers(number) for number in numbers)], [d.out()])


def gather(d: Drawn, name: str, shape: Shape) -> NodeProto:
    axis = int(d.rng.integers(-len(shape), len(shape)))
    wanted = d.rng.integers(-shape[axis], shape[axis], d.one_of((), (1,), (3,), (2, 2)))
    return make_node("Gather", [name, d.constant(wanted)], [d.out()], axis=axis)


def gather_elements(d: Drawn, name: str, shape: Shape) -> NodeProto:
    axis = int(d.rng.integers(len(shape)))
    inner = [int(d.rng.integers(1, size + 1)) for size in shape]
    inner[axis] = int(d.rng.integers(1, 4))
    wanted = d.rng.integers(-shape[axis], shape[axis], inner)
    return make_node("GatherElements", [name, d.constant(wanted)], [d.out()], axis=axis)


def concat(d: Drawn, name: str, shape: Shape) -> NodeProto:
    others = [other for other, value in d.values.items() if value.ndim == len(shape)]
    axis = int(d.rng.integers(-len(shape), len(shape)))
    return make_node(
        "Concat", [name, *(d.one_of(*others) for _ in range(d.one_of(1, 2)))], [d.out()], axis=axis
    )


def split(d: Drawn, name: str, shape: Shape) -> NodeProto:
    axis = int(d.rng.integers(len(shape)))
    outputs = [d.out(), f"{d.out()}b"]
    first = int(d.rng.integers(1, max(2, shape[axis])))
    return make_node("Split", [name, d.integers(first, shape[axis] - first)], outputs, axis=axis)


def expand(d: Drawn, name: str, shape: Shape) -> NodeProto:
    target = [*d.one_of([], [2]), *(size if size > 1 else d.one_of(1, 2, 3) for size in shape)]
    return make_node("Expand", [name, d.integers(*target[d.one_of(0, -1) :])], [d.out()])


def tile(d: Drawn, name: str, shape: Shape) -> NodeProto:
    return make_node("Tile", [name, d.integers(*(d.one_of(1, 1, 2) for _ in shape))], [d.out()])


def pad(d: Drawn, name: str, shape: Shape) -> NodeProto:
    mode = d.one_of("constant", "constant", "edge", "reflect", "wrap")
    pads = [d.one_of(0, 0, 1, 2, -1) for _ in 2 * shape]
    return make_node("Pad", [name, d.integers(*pads)], [d.out()], mode=mode)


def trilu(d: Drawn, name: str, shape: Shape) -> NodeProto:
    numbers = [d.constant(np.array(d.one_of(-2, -1, 0, 1, 2)))] if d.rng.random() < 0.7 else []
    return make_node("Trilu", [name, *numbers], [d.out()], upper=d.one_of(0, 1))


KINDS: list[Callable[[Drawn, str, Shape], NodeProto]] = [
    *(function, function, function, with_constant, with_constant, with_number, power, together, together),
    *(transpose, reshape, flatten, unsqueeze, squeeze, some_slice, gather, gather_elements, concat, split),
    *(expand, tile, pad, trilu),
]


def networks(seed: int, count: int) -> Iterator[Drawn]:
    """Of 3 to 8 nodes."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        drawn, wanted = Drawn(np.random.default_rng(rng.integers(1 << 60))), int(rng.integers(3, 9))
        for _ in range(4 * wanted):
            if len(drawn.nodes) < wanted:
                drawn.grow()
        if drawn.nodes:
            yield drawn


def test_they_agree_with_onnxruntime_and_are_proven() -> None:
    """Every sixth at each level; what has no circuit is refused by name."""
    refused = 0
    for index, drawn in enumerate(networks(20261123, 60)):
        output = drawn.nodes[-1].output[0]
        expected = drawn.values[output]
        try:
            graph = load_onnx(drawn.model(output))
        except ModelError as error:
            if error.code not in NONE and expected.size > 1:
                raise
            refused += 1
            continue
        x = drawn.x.astype(np.float64)
        np.testing.assert_allclose(graph.run(x).ravel(), expected.ravel(), atol=1e-3, rtol=1e-3)
        samples = drawn.rng.normal(size=(16, *graph.input.shape))
        network = quantise(graph, samples)
        level, weights = LEVELS[index % 6], WEIGHTS[index // 6 % 2]
        circuit = compile_inference(network, weight_privacy=weights, level=level)
        assert circuit.constraint_system.constraints == circuit.plan.rows
        for q in network.input.type.quantise(samples[:2]):
            z = circuit.assign(q)
            assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
            if "label" in circuit.reveal.values():
                assert z[circuit.layout["label"][0]] == network.execute(q).label
            assert broken(circuit.relations, held(circuit, z)) == []
    assert refused < 30
