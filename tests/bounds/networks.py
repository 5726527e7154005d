"""Small networks of every kind that has bounds, in floats and in integers, and inputs of theirs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from onnx.helper import make_node

from tests.circuits.support import make_model
from zenserve.circuits import load_onnx
from zenserve.circuits.graphs.graph import Graph, Input
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.networks.fusion import fuse
from zenserve.circuits.networks.language import Tensor, tensor
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.leaky_relu import LeakyRelu
from zenserve.circuits.operators.matmul import MatMul
from zenserve.circuits.operators.multiply import Mul
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.softmax import Softmax
from zenserve.circuits.operators.transpose import Transpose
from zenserve.circuits.quantisation.quantiser import quantise
from zenserve.circuits.quantised.graph import QuantGraph


def weights(rng: np.random.Generator, *shape: int) -> FloatArray:
    fan_in = int(np.prod(shape[1:])) or 1
    drawn: FloatArray = rng.standard_normal(shape) * math.sqrt(2 / fan_in)
    return drawn


def dense(rng: np.random.Generator) -> Graph:
    x = tensor("x", 12)
    for size in (16, 14):
        x = x.dense(weights(rng, size, x.shape[0]), rng.standard_normal(size) / 4).relu()
    return x.dense(weights(rng, 5, 14), rng.standard_normal(5) / 4).graph()


def residual(rng: np.random.Generator) -> Graph:
    x = tensor("x", 2, 6, 6)
    x = x.conv(weights(rng, 4, 2, 3, 3), padding=1).relu()
    x = x + x.conv(weights(rng, 4, 4, 3, 3), padding=1).relu()
    x = x.average_pool(2)
    return x.flatten().dense(weights(rng, 4, 36)).graph()


def stream(rng: np.random.Generator) -> Graph:
    """Sums that read sums, through three bends, as residual streams of transformers are."""
    x = tensor("x", 4, 3, 1)
    for _ in range(3):
        inner = x.conv(weights(rng, 8, 4, 1, 1), rng.standard_normal(8) / 4).relu()
        x = (inner.conv(weights(rng, 4, 8, 1, 1)) + x).conv(weights(rng, 4, 4, 1, 1))
    return x.flatten().dense(weights(rng, 3, 12)).graph()


def pooled(rng: np.random.Generator) -> Graph:
    x: Tensor = tensor("x", 1, 7, 7).conv(weights(rng, 3, 1, 3, 3), stride=1).relu().max_pool(2)
    return x.flatten().dense(weights(rng, 8, 12)).clip(-1, 1).dense(weights(rng, 3, 8)).graph()


def curved(function: str) -> Callable[[np.random.Generator], Graph]:
    def made(rng: np.random.Generator) -> Graph:
        nodes: tuple[Node, ...] = (
            Dense("first", ("x",), weights(rng, 10, 8), rng.standard_normal(10) / 4),
            Activation("bent", ("first",), function),
            Dense("last", ("bent",), weights(rng, 4, 10), np.zeros(4)),
        )
        return fuse(Graph.of("x", (8,), nodes, "last"))

    return made


def leaking(rng: np.random.Generator) -> Graph:
    nodes: tuple[Node, ...] = (
        Dense("first", ("x",), weights(rng, 10, 8), rng.standard_normal(10) / 4),
        LeakyRelu("bent", ("first",), 0.2),
        Dense("last", ("bent",), weights(rng, 4, 10), np.zeros(4)),
    )
    return Graph.of("x", (8,), nodes, "last")


def attention(rng: np.random.Generator) -> Graph:
    """One head over four words of six numbers, a gate, and classes."""
    words, size = 4, 6

    def projected(name: str, read: str) -> tuple[Node, ...]:
        """Of every word."""
        matrix: FloatArray = np.kron(np.eye(words), weights(rng, size, size)).astype(np.float64)
        return (
            Reshape(f"{name}.flat", (read,), (words * size,)),
            Dense(f"{name}.dense", (f"{name}.flat",), matrix, np.zeros(words * size)),
            Reshape(name, (f"{name}.dense",), (1, words, size)),
        )

    nodes: tuple[Node, ...] = (
        *projected("query", "x"),
        *projected("key", "x"),
        *projected("value", "x"),
        Transpose("turned", ("key",), (0, 2, 1)),
        MatMul("scores", ("query", "turned"), size**-0.5),
        Softmax("shares", ("scores",)),
        MatMul("mixed", ("shares", "value")),
        *projected("gate", "mixed"),
        Activation("bent", ("gate",), "sigmoid(x)"),
        Mul("gated", ("mixed", "bent")),
        Reshape("flat", ("gated",), (words * size,)),
        Dense("last", ("flat",), weights(rng, 3, words * size), np.zeros(3)),
    )
    return Graph((Input("x", (words, size)),), nodes, {"last": "last"})


def normed(rng: np.random.Generator) -> Graph:
    """Layer norms of four words of six numbers, as a file has them."""
    initial = {
        "inner": weights(rng, 6, 6),
        "factor": rng.uniform(0.5, 1.5, 6),
        "term": rng.standard_normal(6) / 4,
        "last": weights(rng, 3, 24),
    }
    nodes = [
        make_node("MatMul", ["x", "inner"], ["h"]),
        make_node("LayerNormalization", ["h", "factor", "term"], ["n"], epsilon=0.1),
        make_node("Flatten", ["n"], ["f"]),
        make_node("Gemm", ["f", "last"], ["y"], transB=1),
    ]
    floats = {name: array.astype(np.float32) for name, array in initial.items()}
    return load_onnx(make_model(nodes, floats, ("batch", 4, 6)))


class Kind(NamedTuple):
    make: Callable[[np.random.Generator], Graph]
    radius: float


KINDS = {
    "dense": Kind(dense, 0.1),
    "residual": Kind(residual, 0.05),
    "stream": Kind(stream, 0.05),
    "pooled": Kind(pooled, 0.05),
    "leaking": Kind(leaking, 0.1),
    "tanh": Kind(curved("tanh(x)"), 0.1),
    "sigmoid": Kind(curved("sigmoid(x)"), 0.1),
    "gelu": Kind(curved("gelu(x)"), 0.1),
    "swish": Kind(curved("x * sigmoid(x)"), 0.1),
    "attention": Kind(attention, 0.03),
    "layer norm": Kind(normed, 0.03),
}


def integers(graph: Graph, rng: np.random.Generator) -> QuantGraph:
    return quantise(graph, rng.uniform(-1, 1, (64, *graph.input.shape)))
