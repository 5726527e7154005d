"""The typed graph built by hand: shapes, what it refuses, and its nodes against slow loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from tests.refusals import refuses
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.types import Declared
from zenserve.circuits.operators.add import Add
from zenserve.circuits.operators.average_pool import AveragePool
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.concat import Concat
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.pad import Pad
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.transpose import Transpose

RNG = np.random.default_rng(23)


CYCLE = (Clip("a", ("b",)), Clip("b", ("a",)))


def one(node: Node, *shape: int) -> Graph:
    return Graph.of("x", shape, (node,), node.name)


def test_a_convolution_is_what_its_definition_says() -> None:
    for _ in range(20):
        groups, stride = int(RNG.integers(1, 3)), (int(RNG.integers(1, 3)), int(RNG.integers(1, 3)))
        weight = RNG.normal(size=(2 * groups, 2, 3, 2))
        padding = (1, 0, 2, 1)
        node = Conv("c", ("x",), weight, RNG.normal(size=2 * groups), stride, padding, groups)
        x = RNG.normal(size=(2, 2 * groups, 5, 4))
        actual = one(node, *x.shape[1:]).run(x)
        padded = np.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)))
        for n, o, i, j in itertools.product(*map(range, actual.shape)):
            total = node.bias[o]
            for c, u, v in itertools.product(range(2), range(3), range(2)):
                total += weight[o, c, u, v] * padded[n, o // 2 * 2 + c, i * stride[0] + u, j * stride[1] + v]
            assert actual[n, o, i, j] == pytest.approx(total)


def test_a_large_batch_is_convolved_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Conv("c", ("x",), RNG.normal(size=(3, 2, 2, 2)), RNG.normal(size=3))
    x = RNG.normal(size=(7, 2, 4, 4))
    whole = node.run(x)
    monkeypatch.setattr("zenserve.relations.planes._UNROLLED", 150)
    np.testing.assert_allclose(node.run(x), whole, atol=1e-12)


def test_windows_over_integers_are_exact() -> None:
    from zenserve.relations import planes

    x, weight = RNG.integers(-(2**30), 2**30, (1, 2, 4, 4)), RNG.integers(-(2**20), 2**20, (3, 2, 2, 2))
    out = planes.convolve(x, weight, np.zeros(3, np.int64), (1, 1), (0, 0, 0, 0), 1)
    assert out.dtype == np.int64
    exact = sum(int(a) * int(b) for a, b in zip(weight[1].ravel(), x[0, :, :2, :2].ravel(), strict=True))
    assert int(out[0, 1, 0, 0]) == exact


def test_pools_leave_the_padding_out_unless_told() -> None:
    x = -np.ones((1, 1, 2, 2))
    assert one(MaxPool("m", ("x",), (2, 2), (2, 2), (1, 1, 1, 1)), 1, 2, 2).run(x).max() == -1
    mean = AveragePool("a", ("x",), (2, 2), (2, 2), (1, 1, 1, 1))
    assert one(mean, 1, 2, 2).run(x).tolist() == [[[[-1, -1], [-1, -1]]]]
    counting = AveragePool("a", ("x",), (2, 2), (2, 2), (1, 1, 1, 1), counts_padding=True)
    assert one(counting, 1, 2, 2).run(x).tolist() == [[[[-0.25, -0.25], [-0.25, -0.25]]]]
    assert mean.counts((2, 2)).tolist() == [[1, 1], [1, 1]]
    assert counting.counts((2, 2)).tolist() == [[4, 4], [4, 4]]


def test_a_branching_graph_has_every_shape_and_value() -> None:
    graph = Graph.of(
        "x",
        (2, 3, 3),
        (
            Clip("r", ("x",), 0.0, 6.0),
            Add("a", ("x", "r")),
            Concat("c", ("a", "r", "x"), 0),
            Pad("p", ("c",), ((0, 0), (1, 0), (0, 0))),
            Transpose("t", ("p",), (1, 2, 0)),
            Reshape("f", ("t",), (72,)),
            Dense("d", ("f",), RNG.normal(size=(4, 72)), np.zeros(4)),
        ),
        "d",
    )
    assert graph.shapes == {
        "x": (2, 3, 3), "r": (2, 3, 3), "a": (2, 3, 3), "c": (6, 3, 3), "p": (6, 4, 3), "t": (4, 3, 6),
        "f": (72,), "d": (4,),
    }  # fmt: skip
    x = RNG.normal(size=(5, 2, 3, 3))
    values = dict(graph.tensors(x))
    assert {name: value.shape[1:] for name, value in values.items()} == graph.shapes
    np.testing.assert_array_equal(values["t"][0, 1, 2, 5], x[0, 1, 0, 2])
    np.testing.assert_array_equal(values["d"], graph.run(x))


ONES = np.ones((2, 2))


@pytest.mark.parametrize(
    ("build", "code", "words"),
    [
        (lambda: one(Clip("x", ("x",)), 2), "graph", "new name"),
        (lambda: one(Clip("r", ("ghost",)), 2), "graph", "'ghost'"),
        (lambda: Graph.of("x", (2,), CYCLE, "b"), "graph", "no earlier node"),
        (lambda: Graph.of("x", (2,), (), "y"), "graph", "'y'"),
        (lambda: one(Add("a", ("x",)), 2), "graph", "1 inputs"),
        (lambda: one(Concat("c", ()), 2), "graph", "0 inputs"),
        (lambda: one(Dense("d", ("x",), ONES, np.ones(3)), 2), "shape", "3 biases for 2"),
        (lambda: one(Dense("d", ("x",), ONES * np.nan, np.ones(2)), 2), "not_finite", "weight"),
        (lambda: one(Dense("d", ("x",), ONES, np.ones(2)), 2, 1), "shape", "Flatten"),
        (lambda: one(Dense("d", ("x",), ONES[0], np.ones(2)), 2), "shape", "2 dimensions"),
        (lambda: one(Clip("r", ("x",), 1.0, 1.0), 2), "shape", "no interval"),
        (lambda: one(Clip("r", ("x",), float("nan"), 1.0), 2), "shape", "no interval"),
        (lambda: one(MaxPool("m", ("x",), (2, 2), (1, 1), (2, 0, 0, 0)), 1, 3, 3), "shape", "whole windows"),
        (lambda: one(MaxPool("m", ("x",), (2, 2), (0, 1)), 1, 3, 3), "shape", "fit"),
        (lambda: one(MaxPool("m", ("x",), (2, 2), (1, 1)), 3, 3), "shape", "a kernel of 2 axes"),
        (lambda: one(Reshape("f", ("x",), (5,)), 2, 2), "shape", "reshapes"),
        (lambda: one(Transpose("t", ("x",), (0, 0)), 2, 2), "shape", "permutes"),
        (lambda: one(Pad("p", ("x",), ((0, -1),)), 2), "shape", "pads"),
        (lambda: one(Pad("p", ("x",), ((0, 1 << 30),)), 2), "too_large", "elements"),
        (lambda: one(Concat("c", ("x", "x"), 2), 2, 2), "shape", "axis 2"),
        (lambda: one(Clip("r", ("x",)), 1 << 40), "too_large", "'x'"),
        (lambda: one(Clip("r", ("x",))), "shape", "'x'"),
    ],
)  # fmt: skip
def test_a_graph_that_does_not_fit_together_is_refused(
    build: Callable[[], Graph], code: str, words: str
) -> None:
    with refuses(f"model.{code}", match=words):
        build()


def test_a_declared_type_knows_its_ends() -> None:
    signed = Declared(np.array(0.5), np.array(-28), 8, True)
    assert (signed.integers, signed.interval) == ((-128, 127), (-50.0, 77.5))
    assert Declared(np.array(1.0), np.array(0), 4, False).integers == (0, 15)
    assert signed.matches(signed)
    assert not signed.matches(Declared(np.array(0.5), np.array(-28), 8, False))
