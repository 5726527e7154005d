"""Places that are computed: where the largest entries are, and what is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx.helper import make_node

from tests.circuits.operators.test_arithmetic import model, prove, real, same_everywhere
from tests.circuits.operators.test_leaky_relu import SETTINGS
from tests.circuits.operators.test_moving import Case, Rng, floats
from tests.circuits.support import insisting, refused, spread
from tests.refusals import refuses
from zenserve.circuits import QuantGraph, compile_inference, load_onnx, plan_inference, quantise
from zenserve.circuits.graphs.types import Affine
from zenserve.circuits.lowering import Level
from zenserve.circuits.operators.largest import QuantTopK
from zenserve.circuits.operators.selection import QuantOneHot
from zenserve.verifier.schemes import Privacy


def with_place(rng: Rng, node: str, inputs: list[str], said: Mapping[str, Any], shape: Any) -> Case:
    """``node`` reads "i", places from -2 to 2, which are what is left of x when it is cut."""
    first = [
        make_node("Clip", ["x", "least", "most"], ["c"]),
        make_node("Cast", ["c"], ["i"], to=7),
        make_node("Reshape", ["i", "shape"], ["p"]),
    ]
    constants = {"least": np.float32(-2), "most": np.float32(2.0), "shape": np.array(shape)}
    weights = {name: np.asarray(value) for name, value in constants.items()}
    return [*first, make_node(node, inputs, ["h"], **said)], weights, (4,)


def gathered(rng: Rng) -> Case:
    axis = int(rng.integers(-2, 2))
    nodes, constants, shape = with_place(rng, "Gather", ["t", "p"], {"axis": axis}, [2, 2])
    return nodes, {**constants, "t": floats(rng, 3, 3)}, shape


def gathered_from_computed(rng: Rng) -> Case:
    nodes, constants, shape = with_place(rng, "Gather", ["s", "p"], {"axis": 1}, [2, 2])
    return [make_node("Sin", ["x"], ["s"]), *nodes], constants, shape


def elements(rng: Rng) -> Case:
    axis = int(rng.integers(0, 2))
    nodes, constants, shape = with_place(rng, "GatherElements", ["t", "p"], {"axis": axis}, [2, 2])
    return nodes, {**constants, "t": floats(rng, 3, 3)}, shape


def elements_of_computed(rng: Rng) -> Case:
    nodes, constants, shape = with_place(rng, "GatherElements", ["s", "p"], {"axis": 1}, [1, 4])
    return [make_node("Sin", ["x"], ["s"]), *nodes], constants, shape


def one_hot_by_comparison(rng: Rng) -> Case:
    """As JAX writes it, repeated before it is compared, or not; a place before the first is none."""
    repeated = [make_node("Expand", ["p", "all"], ["e"])] if rng.random() < 0.5 else []
    nodes, constants, shape = with_place(rng, "Equal", ["e" if repeated else "p", "places"], {}, [2, 2, 1])
    *first, equal = nodes
    equal.output[0] = "b"
    last = make_node("Cast", ["b"], ["h"], to=1)
    made = {**constants, "places": np.arange(3)[None, None], "all": np.array([2, 2, 3])}
    return [*first, *repeated, equal, last], made, shape


def one_hot(rng: Rng) -> Case:
    """A place beyond the last is none."""
    said = {"axis": int(rng.integers(-3, 3))}
    nodes, constants, shape = with_place(rng, "OneHot", ["p", "depth", "values"], said, [2, 2])
    return nodes, {**constants, "depth": np.array(2), "values": floats(rng, 2)}, shape


def largest(name: str) -> Callable[[Rng], Case]:
    def case(rng: Rng) -> Case:
        said: dict[str, Any] = {each: int(rng.integers(0, 2)) for each in ("keepdims", "select_last_index")}
        # Ties between numbers that are rounded.
        nodes = [
            make_node("Cast", ["x"], ["r"], to=7),
            make_node("Cast", ["r"], ["f"], to=1),
            make_node(name, ["f"], ["i"], axis=int(rng.integers(1, 4)), **said),
            make_node("Cast", ["i"], ["h"], to=1),
        ]
        return nodes, {}, (2, 3, 4)

    case.__name__ = name
    return case


def top(rng: Rng) -> Case:
    axis, most = int(rng.integers(1, 3)), int(rng.integers(0, 2))
    nodes = [
        make_node("TopK", ["x", "k"], ["v", "i"], axis=axis, largest=most),
        make_node("Cast", ["i"], ["f"], to=1),
        make_node("Concat", ["v", "f"], ["h"], axis=1),
    ]
    return nodes, {"k": np.array([2])}, (3, 4)


def hardmax(rng: Rng) -> Case:
    return [make_node("Hardmax", ["x"], ["h"], axis=int(rng.integers(1, 3)))], {}, (3, 4)


CASES: list[Callable[[Rng], Case]] = [
    gathered,
    gathered_from_computed,
    elements,
    elements_of_computed,
    one_hot,
    one_hot_by_comparison,
    top,
    hardmax,
]
CASES += [largest("ArgMax"), largest("ArgMin")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_it_agrees_with_onnxruntime(case: Callable[[Rng], Case]) -> None:
    rng = np.random.default_rng(20261123)
    for _ in range(3):
        # Places are those of integers, and a pair of near entries may change its order.
        same_everywhere(case(rng), rng, part=0.9)


PROVEN: Mapping[str, Case] = {
    "the first of equals": ([make_node("ArgMax", ["x"], ["h"], axis=2)], {}, (2, 3)),
    "the least": ([make_node("ArgMin", ["x"], ["h"], axis=2)], {}, (2, 3)),
    "the two largest": ([make_node("TopK", ["x", "k"], ["h", "i"])], {"k": np.array([2])}, (3,)),
    "a place": (
        [make_node("Cast", ["x"], ["i"], to=7), make_node("OneHot", ["i", "d", "v"], ["h"])],
        {"d": np.array(2), "v": np.array([0, 1])},
        (2,),
    ),
    "a place that few of the integers have": (
        [
            make_node("Cast", ["x"], ["b"], to=9),
            make_node("Cast", ["b"], ["i"], to=7),
            make_node("OneHot", ["i", "d", "v"], ["h"]),
        ],
        {"d": np.array(4), "v": np.array([0, 1])},
        (2,),
    ),
    "an entry": (
        [make_node("ArgMax", ["x"], ["i"], axis=1), make_node("Gather", ["t", "i"], ["h"])],
        {"t": np.array([[1.0, 2.0], [0.5, -1.0]], np.float32)},
        (2,),
    ),
}


@pytest.mark.parametrize(
    ("name", "level", "weights"), spread(PROVEN, [each for each in SETTINGS if each[1] != "committed"])
)
def test_it_is_proven(name: str, level: Level, weights: Privacy) -> None:
    prove(PROVEN[name], level, weights)


def test_places_that_are_computed_of_places_are_exact() -> None:
    """As libraries write trees: two levels, of which four bits would tell few leaves apart."""
    rng, trees = np.random.default_rng(5), 20
    nodes = [
        make_node("Greater", ["x", "threshold"], ["right"]),
        make_node("Cast", ["right"], ["one"], to=7),
        make_node("Add", ["one", "first"], ["child"]),
        make_node("Mul", ["child", "two"], ["double"]),
        make_node("Gather", ["jump", "child"], ["more"]),
        make_node("Add", ["double", "more"], ["leaf"]),
        make_node("Cast", ["leaf"], ["h"], to=1),
    ]
    constants: dict[str, Any] = {
        "threshold": floats(rng, trees),
        "first": 2 * np.arange(trees),
        "two": np.array(2),
        "jump": rng.integers(0, 2, 2 * trees),
    }
    graph = load_onnx(model((nodes, constants, (trees,))))
    x = floats(rng, 64, trees).astype(np.float64)
    network = quantise(graph, x, bits=4, method="mse")
    q = network.input.type.quantise(x)
    exact = graph.run(network.input.type.real(q))
    # An entry may lie on its threshold.
    assert np.mean(real(network, q) == exact) > 0.99
    assert {kind.scale for kind in network.types.values() if kind and kind.bits > 4} == {1.0}


def test_what_it_costs() -> None:
    """Of an index among n a boolean for each and two rows; of n entries that and a margin each."""
    network = quantise(load_onnx(model(PROVEN["a place"])), np.array([[-2.0, 2.0]]))
    blocks = compile_inference(network).constraint_system.blocks
    rows = {block.name: block.rows for block in blocks if block.name.startswith("place1")}
    # Three choices: 0, 1, and none of them.
    assert {name: rows[f"place1_{name}"] for name in ("one_hot", "one", "label")} == {
        "one_hot": 6,
        "one": 2,
        "label": 2,
    }
    ranked = quantise(load_onnx(model(PROVEN["the first of equals"])), np.ones((2, 2, 3)))
    assert plan_inference(ranked).rows == compile_inference(ranked).constraint_system.constraints


@pytest.mark.parametrize(
    ("nodes", "constants", "code"),
    [
        ([make_node("TopK", ["x", "k"], ["h", "i"])], {"k": np.array([4])}, "shape"),
        ([make_node("TopK", ["x", "k"], ["h", "i"])], {"k": np.array([0])}, "shape"),
        ([make_node("ArgMax", ["x"], ["h"], axis=3)], {}, "shape"),
        ([make_node("OneHot", ["x", "d", "v"], ["h"])], {"d": np.array(0), "v": np.zeros(2)}, "shape"),
        ([make_node("OneHot", ["x", "d", "v"], ["h"])], {"d": np.array(2), "v": np.zeros(3)}, "shape"),
        (
            [make_node("OneHot", ["x", "d", "v"], ["h"])],
            {"d": np.array(1 << 40), "v": np.zeros(2)},
            "too_large",
        ),
        ([make_node("GatherElements", ["t", "x"], ["h"])], {"t": np.zeros((1, 1), np.float32)}, "shape"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(nodes: list[Any], constants: dict[str, Any], code: str) -> None:
    with refuses(f"model.{code}"):
        load_onnx(model((nodes, constants, (3,))))


def test_integers_beyond_their_tables_are_refused() -> None:
    network = quantise(load_onnx(model(PROVEN["a place"])), np.array([[-2.0, 2.0]]))
    (hot,) = (node for node in network.nodes if isinstance(node, QuantOneHot))
    for places in (hot.places[1:], hot.places + 2, hot.places - 2):
        nodes = tuple(replace(hot, places=places) if node is hot else node for node in network.nodes)
        with refuses("model.quantised"):
            replace(network, nodes=nodes)
    ranked = quantise(load_onnx(model(PROVEN["the first of equals"])), np.ones((2, 2, 3)))
    (top,) = (node for node in ranked.nodes if isinstance(node, QuantTopK))
    for output in (Affine(1.0, 0, 1), Affine(0.5, 0, 2), Affine(1.0, 1, 2)):
        nodes = tuple(replace(top, output=output) if node is top else node for node in ranked.nodes)
        with refuses("model.quantised"):
            replace(ranked, nodes=nodes)


@pytest.mark.parametrize("level", [2, 5])
def test_a_place_that_the_table_refuses_has_no_proof(level: Level) -> None:
    """Not even where the boolean that it would be is there."""
    hot = QuantOneHot("h", ("x",), np.array([0, -2, -2, -2]), 2)
    network = QuantGraph.of("x", (1,), Affine(1.0, 0, 2), (hot,), "h")
    circuit = compile_inference(network, reveal="values", level=level)
    assert refused(circuit, insisting(circuit, {"input": np.array([0])}, {})) is None
    for place in (1, 2, 3):
        assert refused(circuit, insisting(circuit, {"input": np.array([place])}, {}))
