"""Networks written to ONNX: onnxruntime and ``load_onnx`` compute what the graph computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

from tests.refusals import refuses
from zenserve.circuits import load_onnx
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.networks.language import Tensor, concat, tensor
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.operators.average_pool import AveragePool
from zenserve.circuits.operators.scale import Scale

RNG = np.random.default_rng(0)
SHAPE = (2, 6, 5)
NETWORKS: dict[str, Callable[[Tensor], Tensor]] = {
    "conv": lambda x: x.conv(weight(4, 1, 3, 2), weight(4), stride=(2, 1), padding=(1, 0, 2, 1), groups=2),
    "dense": lambda x: x.flatten().dense(weight(3, 60), weight(3)),
    "relu": lambda x: x.relu(),
    "clip": lambda x: x.clip(-0.5, 0.25),
    "max pool": lambda x: x.max_pool((3, 2), 2, padding=(1, 0, 1, 1)),
    "average pool": lambda x: x.average_pool((3, 2), 2, padding=(1, 0, 1, 1)),
    "global average pool": lambda x: x.global_average_pool(),
    "reshape": lambda x: x.reshape(4, 15),
    "transpose": lambda x: x.transpose(2, 0, 1),
    "pad": lambda x: x.pad((1, 0), (0, 2), (1, 1)),
    "scale": lambda x: x.scale(weight(2), weight(2)),
    "add": lambda x: x + x.relu(),
    "concat": lambda x: concat([x, x.relu(), x], axis=1),
}


def weight(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def require_same(graph: Graph) -> None:
    data, x = to_onnx(graph), RNG.normal(size=(3, *graph.input.shape))
    expected = graph.run(x)
    (found,) = onnxruntime.InferenceSession(data).run(None, {graph.input.name: x.astype(np.float32)})
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(load_onnx(data).run(x), expected, atol=1e-5)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_node_means_the_same(name: str) -> None:
    x = NETWORKS[name](tensor("image", *SHAPE)).flatten()
    require_same(x.dense(weight(3, *x.shape)).graph())


def test_an_average_may_count_its_padding() -> None:
    x = tensor("image", *SHAPE).average_pool((3, 2), 1, padding=(1, 0, 1, 1)).flatten()
    graph = x.dense(weight(3, *x.shape)).graph()
    (pool,) = (node for node in graph.nodes if isinstance(node, AveragePool))
    counting = replace(pool, counts_padding=True)
    nodes = tuple(counting if node is pool else node for node in graph.nodes)
    require_same(replace(graph, nodes=nodes))
    assert to_onnx(replace(graph, nodes=nodes)) != to_onnx(graph)


def test_what_onnx_files_of_floats_cannot_say_is_refused() -> None:
    scale = Graph.of("x", (2,), (Scale("scaled", ("x",), np.ones(2), np.ones(2)),), "scaled")
    for graph in (scale, tensor("x", 2).quantised(0.5).relu().graph()):
        with refuses("model.unsupported_operator"):
            to_onnx(graph)
