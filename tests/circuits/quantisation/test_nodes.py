"""Each integer node against the float node that it stands for, on the same inputs, in random networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from zenserve.circuits import Graph, QuantGraph, quantise
from zenserve.circuits.graphs.types import Affine, FloatArray
from zenserve.circuits.networks.language import Tensor, concat, tensor
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.operators.add import Sum
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.convolution import Conv, QuantConv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.weighted import WeightedSum
from zenserve.circuits.quantisation import METHODS, Method
from zenserve.circuits.quantisation.plan import Step, plan
from zenserve.errors import ModelError

Rng = np.random.Generator
HALF = 0.5 + 1e-9
# What a multiplier may add to the half step of rounding: a quarter of a step.
TOLERANCE = HALF + 0.25


def weight(rng: Rng, *shape: int) -> FloatArray:
    drawn: FloatArray = rng.normal(size=shape) * 10.0 ** rng.uniform(-1, 1)
    return drawn


def clipped(x: Tensor, rng: Rng) -> Tensor:
    low, high = sorted(rng.normal(size=2) * 2)
    return x.clip(low, high + 0.5)


def joined(x: Tensor, rng: Rng) -> Tensor:
    return concat([x, x.conv(weight(rng, 2, x.shape[0], 1, 1))])


def typed(x: Tensor, rng: Rng) -> Tensor:
    return x.quantised(10.0 ** rng.uniform(-2.5, -0.5), int(rng.integers(4)), bits=int(rng.integers(2, 9)))


OPERATORS: list[Callable[[Tensor, Rng], Tensor]] = [
    lambda x, rng: x.conv(weight(rng, 3, x.shape[0], 2, 2), weight(rng, 3), padding=1),
    lambda x, rng: x.conv(weight(rng, 2 * x.shape[0], 1, 1, 1), groups=x.shape[0]).relu(),
    lambda x, rng: x + x.conv(weight(rng, x.shape[0], x.shape[0], 1, 1)),
    lambda x, rng: (x + x.relu()).clip(-1.0, 6.0),
    lambda x, rng: x.relu() + (x + x.conv(weight(rng, x.shape[0], x.shape[0], 1, 1))),
    lambda x, rng: x.average_pool(2, 1),
    lambda x, rng: x.average_pool(3, 1, padding=1),
    lambda x, rng: x.average_pool(3, 1, padding=1).clip(0.0, 1.0),
    lambda x, rng: x.max_pool(2, 1, padding=1),
    lambda x, rng: x.pad((0, 0), (1, 0), (0, 1)),
    lambda x, rng: x.transpose(0, 2, 1),
    lambda x, rng: x.relu(),
    lambda x, rng: x.then(Activation, rng.choice(["tanh(x)", "x * sigmoid(x)", "x * x", "exp(-abs(x))"])),
    lambda x, rng: x.then(Activation, "sin(x)").clip(-0.5, 0.25),
    clipped,
    joined,
    typed,
]


def random_graph(rng: Rng) -> Graph:
    x = tensor("image", 2, 5, 6)
    for _ in range(rng.integers(1, 7)):
        x = OPERATORS[rng.integers(len(OPERATORS))](x, rng)
    x = x.flatten()
    return x.dense(weight(rng, 4, x.shape[0])).graph() if rng.random() < 0.5 else x.graph()


def tolerance(step: Step) -> float:
    """In steps of the output. A sum has a multiplier for each term."""
    return TOLERANCE + 0.25 if isinstance(step.node, Sum) else TOLERANCE


def real_layer(layer: Conv | Dense, node: WeightedSum, read: Affine) -> Conv | Dense:
    """The float layer with the integer one's weights and biases, each within half a step of its own, or cut
    off where the type ends."""
    kind, rows = node.weight_type, (-1, *(1 for _ in node.weight.shape[1:]))
    scale, zero = kind.scale.reshape(rows), kind.zero_point.reshape(rows)
    weight: FloatArray = node.centred_weight * scale
    bias: FloatArray = node.bias * kind.scale * read.scale
    kept = np.clip(layer.weight, -zero * scale, (kind.top - zero) * scale)
    assert (np.abs(weight - kept) <= scale * HALF).all()
    assert (np.abs(bias - layer.bias) <= kind.scale * read.scale * HALF + np.abs(bias) * 1e-12).all()
    return replace(layer, weight=weight, bias=bias)


def check(graph: Graph, qgraph: QuantGraph, x: FloatArray) -> None:
    steps = {step.name: step for step in plan(graph)}
    values = dict(qgraph.tensors(qgraph.input.type.quantise(x)))
    for node in qgraph.nodes:
        output, step = qgraph.types[node.name], steps.get(node.name)
        if output is None or step is None:
            continue
        types = qgraph.types_of(node)
        inputs = [kind.real(values[name]) for kind, name in zip(types, node.inputs, strict=True)]
        source = step.node
        if isinstance(source, Conv | Dense):
            assert isinstance(node, WeightedSum)
            source = real_layer(source, node, types[0])
        exact = source.run(*inputs)
        exact = step.clip.run(exact) if step.clip else exact
        exact = np.clip(exact, *output.real(np.array([0, output.top])))
        error = np.abs(output.real(values[node.name]) - exact).max() / output.scale
        assert error <= tolerance(step), (node, error)


@example(2, 5, 2, "min-max", False)  # a step of a term is beyond the output, and others cancel it
@given(st.integers(0, 2**32), st.integers(2, 16), st.integers(2, 16), st.sampled_from(METHODS), st.booleans())
def test_every_node_does_what_the_float_node_does(
    seed: int, bits: int, weight_bits: int, method: Method, per_channel: bool
) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    x = rng.normal(size=(8, *graph.input.shape))
    try:
        qgraph = quantise(graph, x, bits, weight_bits=weight_bits, method=method, per_channel=per_channel)
    except ModelError as error:
        # Few bits, or a coarse prescribed type, may have no two integers within a narrow clamp; and many
        # steps of one term of a sum may be less than one of another's.
        if "leaves no interval" in error.message or "too far apart" in error.message:
            reject()
        raise
    check(graph, qgraph, x)


@given(st.integers(0, 2**32), st.booleans())
def test_min_max_cuts_no_weight_off(seed: int, per_channel: bool) -> None:
    rng = np.random.default_rng(seed)
    layer = weight(rng, 6, 4, 1, 1) * 4.0 ** -rng.integers(0, 6, (6, 1, 1, 1))
    graph = tensor("image", 4, 3, 3).conv(layer).relu().flatten().graph()
    qgraph = quantise(graph, rng.normal(size=(8, 4, 3, 3)), per_channel=per_channel)
    (conv,) = (node for node in qgraph.nodes if isinstance(node, QuantConv))
    scale = conv.weight_type.scale.reshape(-1, 1, 1, 1)
    # Half a step for the weight, and half for the zero point.
    assert (np.abs(conv.centred_weight * scale - layer) <= scale * 2 * HALF).all()


@pytest.mark.parametrize(("low", "high"), [(2.0, 5.0), (-1.0, 3.0)])
def test_a_clip_of_a_clip_does_both(low: float, high: float) -> None:
    nodes = (Clip("a", ("x",), 0.0, 6.0), Clip("b", ("a",), low, high), Reshape("c", ("b",), (3,)))
    graph = Graph.of("x", (3,), nodes, "c")
    x = np.random.default_rng(0).normal(size=(64, 3)) * 4
    qgraph = quantise(graph, x)
    kind = qgraph.types[qgraph.output]
    assert kind is not None
    found = kind.real(qgraph.run(qgraph.input.type.quantise(x)))
    np.testing.assert_allclose(found, graph.run(x), atol=2 * qgraph.input.type.scale)
