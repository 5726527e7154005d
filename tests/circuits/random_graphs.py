"""Random networks in ONNX: layers, pools, functions, reductions, movement, comparisons, choices and norms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto
from onnx.helper import make_node
from onnxruntime.capi.onnxruntime_pybind11_state import (
    Fail,
    InvalidArgument,
    InvalidGraph,
    NotImplemented,  # noqa: A004
    RuntimeException,
)

from tests.circuits.support import make_model

Rng = np.random.Generator
Shape = tuple[int, ...]
Weights = Mapping[str, NDArray[Any]]
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
# What a draw adds to a network: of the tensor of this name and shape.
Kind = Callable[["Drawn", str, Shape], NodeProto | Sequence[NodeProto]]
RUNTIME = (Fail, InvalidArgument, InvalidGraph, NotImplemented, RuntimeException)


class Drawn:
    """A network in the making: its nodes, its constants, and the values of its tensors for one input."""

    def __init__(self, rng: Rng, kinds: Sequence[Kind], shape: Shape, most: int) -> None:
        """``most``: entries of a tensor."""
        self.rng, self.kinds, self.shape, self.most = rng, kinds, shape, most
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
        drawn = self.one_of(*self.kinds)(self, name, self.values[name].shape)
        nodes = [drawn] if isinstance(drawn, NodeProto) else [*drawn]
        made = self.computed(nodes, *nodes[-1].output) if nodes else None
        if made and all(0 < value.size <= self.most and 0 < value.ndim <= 5 for value in made):
            self.nodes += nodes
            self.values |= dict(zip(nodes[-1].output, made, strict=True))

    def computed(self, nodes: Sequence[NodeProto], *outputs: str) -> list[NDArray[Any]] | None:
        """The values of ``outputs``, None where onnxruntime refuses the nodes or they are large."""
        try:
            made = [session(self.model(name, *nodes)).run([name], {"x": self.x})[0] for name in outputs]
        except RUNTIME:
            return None
        return (
            made
            if all(np.isfinite(each).all() and np.abs(each).max(initial=0) < 1e3 for each in made)
            else None
        )

    def model(self, output: str, *more: NodeProto) -> bytes:
        return make_model([*self.nodes, *more], self.weights, (1, *self.shape), output, opset=19)

    def out(self, part: str = "") -> str:
        return f"t{len(self.nodes)}{part}"


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


SIMPLE: list[Kind] = [
    *(function, function, function, with_constant, with_constant, with_number, power, together, together),
    *(transpose, reshape, flatten, unsqueeze, squeeze, some_slice, gather, gather_elements, concat, split),
    *(expand, tile, pad, trilu),
]


def steep(d: Drawn, name: str, shape: Shape) -> NodeProto:
    function = d.one_of("Exp", "Sign", "Round", "Floor", "Selu", "Mish", "HardSigmoid")
    return make_node(function, [name], [d.out()])


def of_positive(d: Drawn, name: str, shape: Shape) -> list[NodeProto]:
    """Of what is no less than a quarter."""
    above, quarter = d.out("a"), d.constant(np.float32(0.25))
    ends = [make_node("Abs", [name], [d.out("b")]), make_node("Add", [d.out("b"), quarter], [above])]
    return [*ends, make_node(d.one_of("Log", "Sqrt", "Reciprocal"), [above], [d.out()])]


def clip(d: Drawn, name: str, shape: Shape) -> NodeProto:
    ends = [d.constant(np.float32(end)) for end in sorted(d.rng.normal(size=2))]
    return make_node("Clip", [name, d.one_of("", ends[0]), ends[1]], [d.out()])


def layer(d: Drawn, name: str, shape: Shape) -> NodeProto:
    return make_node("MatMul", [name, d.floats(shape[-1], d.one_of(2, 3, 5))], [d.out()])


def convolution(d: Drawn, name: str, shape: Shape) -> NodeProto | list[NodeProto]:
    if len(shape) != 4:
        return []
    kernel = [min(2, size) for size in shape[2:]]
    return make_node("Conv", [name, d.floats(d.one_of(2, 3), shape[1], *kernel)], [d.out()])


def pool(d: Drawn, name: str, shape: Shape) -> NodeProto | list[NodeProto]:
    if len(shape) < 3:
        return []
    operator = d.one_of("AveragePool", "MaxPool", "LpPool", "GlobalAveragePool", "GlobalMaxPool")
    if operator.startswith("Global"):
        return make_node(operator, [name], [d.out()])
    kernel = [min(2, size) for size in shape[2:]]
    strides = d.one_of(kernel, [1] * len(kernel))
    return make_node(operator, [name], [d.out()], kernel_shape=kernel, strides=strides)


REDUCTIONS = ("Sum", "Mean", "Max", "Min", "L1", "L2", "SumSquare", "LogSumExp", "Prod")


def reduction(d: Drawn, name: str, shape: Shape) -> NodeProto:
    axes = [int(axis) for axis in d.rng.permutation(len(shape))[: d.one_of(1, 1, 2)] if axis]
    operator, keepdims = f"Reduce{d.one_of(*REDUCTIONS)}", d.one_of(0, 1)
    return make_node(operator, [name, d.integers(*(axes or [len(shape) - 1]))], [d.out()], keepdims=keepdims)


def shares(d: Drawn, name: str, shape: Shape) -> NodeProto:
    operator = d.one_of("Softmax", "Softmax", "LogSoftmax")
    return make_node(operator, [name], [d.out()], axis=int(d.rng.integers(1, max(2, len(shape)))))


def norm(d: Drawn, name: str, shape: Shape) -> NodeProto:
    scale, shift = d.floats(shape[-1]), d.floats(shape[-1])
    return make_node("LayerNormalization", [name, scale, shift], [d.out()], epsilon=1e-2)


def choice(d: Drawn, name: str, shape: Shape) -> list[NodeProto]:
    # What two ways of computing one number make of it is as near as rounding leaves it.
    apart = [
        each
        for each, value in d.values.items()
        if value.shape == shape and np.abs(value - d.values[name]).min() > 1e-3
    ]
    other = d.one_of(d.floats(1), *apart)
    said = d.one_of("Greater", "Less", "GreaterOrEqual", "LessOrEqual")
    parts = [name, d.one_of(other, d.constant(np.float32(d.one_of(0, -3))))]
    return [
        make_node(said, [name, other], [d.out("c")]),
        make_node("Where", [d.out("c"), *parts[:: d.one_of(1, -1)]], [d.out()]),
    ]


def masked(d: Drawn, name: str, shape: Shape) -> list[NodeProto]:
    """What is small is left out, as by a mask."""
    fill = d.constant(np.float32(d.one_of(-np.inf, -1e9, -1e4)))
    behind = d.one_of(
        make_node("Softmax", [d.out("w")], [d.out()], axis=-1),
        make_node("ReduceMax", [d.out("w"), d.integers(len(shape) - 1)], [d.out()]),
        make_node(d.one_of("Sigmoid", "Exp", "HardSigmoid", "Relu"), [d.out("w")], [d.out()]),
    )
    return [
        make_node("ReduceMax", [name, d.integers(len(shape) - 1)], [d.out("m")]),
        make_node("Sub", [d.out("m"), d.constant(np.float32(1.0))], [d.out("l")]),
        make_node("Greater", [name, d.out("l")], [d.out("c")]),
        make_node("Where", [d.out("c"), name, fill], [d.out("w")]),
        behind,
    ]


def not_zero(d: Drawn, name: str, shape: Shape) -> list[NodeProto]:
    """A mask of padding."""
    return [
        make_node("Relu", [name], [d.out("r")]),
        make_node("Equal", [d.out("r"), d.constant(np.float32(0.0))], [d.out("e")]),
        make_node("Not", [d.out("e")], [d.out("n")]),
        make_node("Cast", [d.out("n")], [d.out()], to=TensorProto.FLOAT),
    ]


def largest(d: Drawn, name: str, shape: Shape) -> list[NodeProto]:
    place = make_node("ArgMax", [name], [d.out("p")], axis=len(shape) - 1)
    return [place, make_node("Cast", [d.out("p")], [d.out()], to=TensorProto.FLOAT)]


KINDS: list[Kind] = [
    *SIMPLE,
    *(steep, of_positive, clip, layer, layer, convolution, convolution, pool, pool, pool),
    *(reduction, reduction, reduction, shares, norm, choice, choice, masked, not_zero, largest),
]


def networks(seed: int, count: int, kinds: Sequence[Kind] = SIMPLE) -> Iterator[Drawn]:
    """Of 3 to 8 draws. With all ``KINDS`` inputs are larger."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        own = np.random.default_rng(rng.integers(1 << 60))
        shape = tuple(own.integers(1, 4, own.integers(1, 4)).tolist())
        most = 40
        if kinds is not SIMPLE:
            shape, most = (*shape[:1], *(2 + 2 * size for size in shape[1:])), 300
        drawn, wanted = Drawn(own, kinds, shape, most), int(rng.integers(3, 9))
        for _ in range(4 * wanted):
            if len(drawn.nodes) < wanted:
                drawn.grow()
        if drawn.nodes:
            yield drawn
