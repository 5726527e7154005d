"""Each pass alone: the graph gets the shape it should, and computes what it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from onnx.helper import make_node

from tests.circuits.support import make_model
from zenserve.circuits import load_onnx
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.rewriting import without_dead_nodes
from zenserve.circuits.graphs.types import Declared
from zenserve.circuits.networks.fusion import fuse
from zenserve.circuits.operators.activation import Activation, before_repeats
from zenserve.circuits.operators.add import Add, Sub, Sum, sums_of_sums
from zenserve.circuits.operators.clip import Clip, merge_clips
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.gather import Gather
from zenserve.circuits.operators.matmul import MatMul
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.pad import Pad, pad_into_windows
from zenserve.circuits.operators.reshape import Reshape, merge_reshapes
from zenserve.circuits.operators.scale import (
    Scale,
    merge_scales,
    scale_before_movers,
    scale_into_all_next,
    scale_into_next,
    scale_into_previous,
    scale_to_conv,
)
from zenserve.circuits.operators.transpose import Transpose, merge_transposes

RNG = np.random.default_rng(17)


def conv(name: str, read: str, shape: Sequence[int], **fields: object) -> Conv:
    return Conv(name, (read,), RNG.normal(size=shape), RNG.normal(size=shape[0]), **fields)  # type: ignore[arg-type]


def dense(name: str, read: str, out: int, inner: int) -> Dense:
    return Dense(name, (read,), RNG.normal(size=(out, inner)), RNG.normal(size=out))


def scale(name: str, read: str, channels: int, shift: bool = True) -> Scale:
    return Scale(name, (read,), RNG.normal(size=channels), RNG.normal(size=channels) * shift)


def graph(*nodes: Node, shape: tuple[int, ...] = (4, 7, 6), output: str = "", **declared: Declared) -> Graph:
    return Graph.of("x", shape, nodes, output or nodes[-1].name, declared)


def moved(read: str) -> list[Node]:
    return [Transpose("t", (read,), (1, 0, 2)), Reshape("m", ("t",), (252,))]


# For tensors [6, 7, 6] moved so.
OF_ROWS = np.tile(np.repeat(RNG.normal(size=(2, 6)), 6, axis=1), 7)
INT8 = Declared(np.array(0.5), np.array(3), 8, True)

Case = tuple[Callable[[Graph], Graph], Graph, list[type[Node]]]
CASES: dict[str, Case] = {
    "three scales": (
        merge_scales,
        graph(scale("s", "x", 4), scale("t", "s", 4), scale("u", "t", 4)),
        [Scale],
    ),
    "a scale after a convolution": (
        scale_into_previous,
        graph(
            conv("c", "x", (6, 2, 3, 3), groups=2, padding=(1, 0, 2, 1)),
            scale("s", "c", 6),
            Clip("r", ("s",)),
        ),
        [Conv, Clip],
    ),
    "a scale after a dense layer": (
        scale_into_previous,
        graph(dense("d", "x", 3, 5), scale("s", "d", 3), shape=(5,)),
        [Dense],
    ),
    "a scale of a tensor that another node reads": (
        scale_into_previous,
        graph(conv("c", "x", (6, 4, 1, 1)), scale("s", "c", 6), Add("a", ("c", "s"))),
        [Conv, Scale, Add],
    ),
    "a scale of channels that have moved": (
        scale_before_movers,
        graph(conv("c", "x", (6, 4, 1, 1)), *moved("c"), Scale("s", ("m",), *OF_ROWS)),
        [Conv, Scale, Transpose, Reshape],
    ),
    "a scale of values of a channel that differ": (
        scale_before_movers,
        graph(conv("c", "x", (6, 4, 1, 1)), *moved("c"), Scale("s", ("m",), *RNG.normal(size=(2, 252)))),
        [Conv, Transpose, Reshape, Scale],
    ),
    "a scale of what others read before it moves": (
        scale_before_movers,
        graph(
            *(conv("c", "x", (6, 4, 1, 1)), *moved("c")),
            *(Scale("s", ("m",), *OF_ROWS), Reshape("r", ("s",), (7, 6, 6))),
            *(Transpose("u", ("t",), (0, 1, 2)), Add("a", ("u", "r"))),
        ),
        [Conv, Transpose, Reshape, Scale, Reshape, Transpose, Add],
    ),
    "a sum of sums": (
        sums_of_sums,
        graph(
            *(conv("c", "x", (4, 4, 1, 1)), conv("d", "x", (4, 4, 1, 1)), conv("e", "x", (4, 4, 1, 1))),
            *(Sub("a", ("c", "d")), Sub("b", ("e", "x")), Sub("s", ("a", "b"))),
        ),
        [Conv, Conv, Conv, Sum],
    ),
    "a sum of one that another node reads": (
        sums_of_sums,
        graph(Add("a", ("x", "x")), Sub("b", ("a", "x")), Add("s", ("a", "b"))),
        [Add, Sum],
    ),
    "a factor of a product of matrices": (
        scale_into_previous,
        graph(MatMul("p", ("x", "x")), Scale("s", ("p",), np.full(4, 0.5), np.zeros(4)), shape=(4, 6, 6)),
        [MatMul],
    ),
    "a negative one": (
        scale_into_previous,
        graph(MatMul("p", ("x", "x")), Scale("s", ("p",), np.full(4, -0.5), np.zeros(4)), shape=(4, 6, 6)),
        [MatMul, Scale],
    ),
    "a scale that several layers read": (
        scale_into_all_next,
        graph(
            *(scale("s", "x", 4), Reshape("r", ("s",), (4, 42, 1)), conv("c", "r", (3, 4, 1, 1))),
            *(conv("d", "s", (3, 4, 1, 1)), Reshape("e", ("d",), (3, 42, 1)), Add("a", ("c", "e"))),
        ),
        [Reshape, Conv, Conv, Reshape, Add],
    ),
    "a scale that a layer and another node read": (
        scale_into_all_next,
        graph(scale("s", "x", 4), conv("c", "s", (4, 4, 1, 1)), Add("a", ("c", "s"))),
        [Scale, Conv, Add],
    ),
    "a function of repeated values": (
        before_repeats,
        graph(
            *(Reshape("r", ("x",), (168,)), Gather("g", ("r",), np.arange(336).reshape(2, 168) % 168)),
            Activation("a", ("g",), "exp(x)"),
        ),
        [Reshape, Gather, Activation, Reshape, Gather],
    ),
    "functions of values that are repeated again": (
        before_repeats,
        graph(
            *(Reshape("r", ("x",), (168,)), Gather("g", ("r",), np.arange(336) % 168)),
            *(Activation("a", ("g",), "exp(x)"), Gather("h", ("a",), np.arange(672) % 336)),
            Activation("b", ("h",), "sin(x)"),
        ),
        [Reshape, Gather, *(Activation, Reshape, Gather, Gather), *(Activation, Reshape, Gather, Gather)],
    ),
    "a function of some of the values": (
        before_repeats,
        graph(
            *(Reshape("r", ("x",), (168,)), Gather("g", ("r",), np.arange(9))),
            Activation("a", ("g",), "exp(x)"),
        ),
        [Reshape, Gather, Activation],
    ),
    "a scale of a declared tensor": (
        scale_into_previous,
        graph(conv("c", "x", (6, 4, 1, 1)), scale("s", "c", 6), c=INT8),
        [Conv, Scale],
    ),
    "a scale after declared weights": (
        scale_into_previous,
        graph(conv("c", "x", (6, 4, 1, 1), declared_weight=INT8), scale("s", "c", 6)),
        [Conv, Scale],
    ),
    "a scale of the output": (
        scale_into_previous,
        graph(conv("c", "x", (6, 4, 1, 1)), scale("s", "c", 6), output="c"),
        [Conv, Scale],
    ),
    "a scale before a convolution": (
        scale_into_next,
        graph(scale("s", "x", 4), conv("c", "s", (6, 4, 3, 2), stride=(2, 1))),
        [Conv],
    ),
    "a scale before groups": (
        scale_into_next,
        graph(scale("s", "x", 4), conv("c", "s", (6, 2, 3, 2), groups=2)),
        [Conv],
    ),
    "a factor before a padded convolution": (
        scale_into_next,
        graph(scale("s", "x", 4, shift=False), conv("c", "s", (6, 4, 3, 2), padding=(1, 1, 1, 1))),
        [Conv],
    ),
    "a shift before a padded convolution": (
        scale_into_next,
        graph(scale("s", "x", 4), conv("c", "s", (6, 4, 3, 2), padding=(1, 1, 1, 1))),
        [Scale, Conv],
    ),
    "a scale before a dense layer": (
        scale_into_next,
        graph(scale("s", "x", 5), dense("d", "s", 3, 5), shape=(5,)),
        [Dense],
    ),
    "a scale that stays": (scale_to_conv, graph(Clip("r", ("x",)), scale("s", "r", 4)), [Clip, Conv]),
    "a scale of a vector that stays": (
        scale_to_conv,
        graph(scale("s", "x", 5), Clip("r", ("s",)), shape=(5,)),
        [Reshape, Conv, Reshape, Clip],
    ),
    "a pad before a convolution": (
        pad_into_windows,
        graph(Pad("p", ("x",), ((0, 0), (1, 2), (0, 3))), conv("c", "p", (2, 4, 3, 3), padding=(1, 1, 0, 0))),
        [Conv],
    ),
    "a pad of channels": (
        pad_into_windows,
        graph(Pad("p", ("x",), ((1, 0), (1, 2), (0, 3))), conv("c", "p", (2, 5, 3, 3))),
        [Pad, Conv],
    ),
    "two clips": (merge_clips, graph(Clip("r", ("x",)), Clip("t", ("r",), -2.0, 0.7), t=INT8), [Clip]),
    "clips that share no interval": (
        merge_clips,
        graph(Clip("r", ("x",)), Clip("t", ("r",), -2.0, 0.0)),
        [Clip, Clip],
    ),
    "two declared clips": (
        merge_clips,
        graph(Clip("r", ("x",)), Clip("t", ("r",), -2.0, 0.7), r=INT8, t=INT8),
        [Clip, Clip],
    ),
    "two reshapes": (
        merge_reshapes,
        graph(Reshape("a", ("x",), (2, 84)), Reshape("b", ("a",), (168,)), dense("d", "b", 2, 168)),
        [Reshape, Dense],
    ),
    "what the output does not need": (
        without_dead_nodes,
        graph(Clip("r", ("x",)), MaxPool("m", ("r",), (2, 2), (2, 2)), Clip("t", ("m",)), output="r", t=INT8),
        [Clip],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_pass_keeps_the_function_and_changes_the_nodes_it_should(name: str) -> None:
    rewrite, before, kinds = CASES[name]
    after = rewrite(before)
    assert [type(node) for node in after.nodes] == kinds
    x = RNG.normal(size=(3, *before.input.shape))
    np.testing.assert_allclose(after.run(x), before.run(x), atol=1e-12)
    assert set(after.declared) <= set(after.shapes)


def test_a_layer_keeps_its_name_when_a_scale_folds_into_it() -> None:
    before = graph(conv("c", "x", (6, 4, 1, 1)), scale("s", "c", 6), s=INT8)
    after = scale_into_previous(before)
    assert (after.output, [node.name for node in after.nodes], list(after.declared)) == ("c", ["c"], ["c"])


def test_a_long_chain_fuses_in_linear_time() -> None:
    nodes: list[Node] = [conv("n0", "x", (4, 4, 3, 3))]
    for index in range(1, 4000):
        nodes.append(scale(f"n{index}", f"n{index - 1}", 4, shift=False))
    assert len(fuse(graph(*(nodes[:40]))).nodes) == 1
    with np.errstate(all="ignore"):
        assert len(merge_scales(graph(*nodes)).nodes) == 2


def _after_transpose(size: int) -> bytes:
    """A bias and a factor of each channel behind a Transpose to channels last, as TensorFlow's are."""
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.normal(size=(8, 3, 3, 3)).astype(np.float32),
        "b": rng.normal(size=8).astype(np.float32),
        "m": rng.normal(size=8).astype(np.float32),
    }
    nodes = [
        make_node("Conv", ["x", "w"], ["a"], pads=[1] * 4),
        make_node("Transpose", ["a"], ["t"], perm=[0, 2, 3, 1]),
        make_node("Add", ["t", "b"], ["u"]),
        make_node("Mul", ["u", "m"], ["v"]),
        make_node("Relu", ["v"], ["y"]),
    ]
    return make_model(nodes, weights, (1, 3, size, size))


def test_channels_last_have_one_bias_each_and_their_clip_is_the_layer_s() -> None:
    graph = load_onnx(_after_transpose(8))
    assert [type(node).__name__ for node in graph.nodes] == ["Conv", "Clip", "Transpose"]
    assert isinstance(graph.nodes[0], Conv)
    assert graph.nodes[0].bias.shape == (8,)
    x = np.random.default_rng(1).normal(size=(1, 3, 8, 8)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(_after_transpose(8)).run(None, {"x": x})
    np.testing.assert_allclose(graph.run(x.astype(np.float64)), expected, atol=1e-4)


def test_weights_are_counted_as_the_file_has_them() -> None:
    """8 channels of 700 by 700 are 3,920,000 entries; five constants of them would be too many weights."""
    graph = load_onnx(_after_transpose(700))
    assert sum(node.weight.size + node.bias.size for node in graph.nodes if isinstance(node, Conv)) == 224


@pytest.mark.parametrize(
    ("shape", "parameters"),
    [((8,), 8), ((1, 4, 1, 1), 4), ((5, 1), 5), ((4, 1, 8), 32), ((5, 8), 40), ((4, 5, 8), 160), ((), 4)],
)
def test_a_constant_keeps_its_size_where_it_is_broadcast(shape: tuple[int, ...], parameters: int) -> None:
    rng = np.random.default_rng(2)
    weights = {name: np.asarray(rng.normal(size=shape), np.float32) for name in ("m", "b")}
    nodes = [make_node("Mul", ["x", "m"], ["u"]), make_node("Add", ["u", "b"], ["y"])]
    data = make_model(nodes, weights, (1, 4, 5, 8))
    graph = load_onnx(data, whole=True)
    assert [node.weight.size for node in graph.nodes if isinstance(node, Conv)] == [parameters]
    x = rng.normal(size=(1, 4, 5, 8)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    np.testing.assert_allclose(graph.run(x.astype(np.float64)).ravel(), expected.ravel(), atol=1e-5)


def test_a_transpose_of_a_transpose_is_one_or_none() -> None:
    turned = Transpose("t", ("x",), (1, 2, 0))
    back, on = Transpose("b", ("t",), (2, 0, 1)), Transpose("o", ("t",), (1, 2, 0))
    graph = Graph.of("x", (2, 3, 4), (turned, back, on, Activation("a", ("b",), "sin(x)")), "a")
    assert [(type(node), node.inputs) for node in merge_transposes(graph).nodes] == [(Activation, ("x",))]
    other = merge_transposes(replace(graph, outputs={"o": "o", "b": "b"}))
    assert [(node.name, node.inputs, node.axes) for node in other.nodes if isinstance(node, Transpose)] == [
        ("b", ("x",), (0, 1, 2)),
        ("o", ("x",), (2, 0, 1)),
    ]
    x = RNG.normal(size=(1, 2, 3, 4))
    np.testing.assert_array_equal(other.run_all(x, {"o"})["o"], graph.run_all(x, {"o"})["o"])
