"""Tensors put together, constants among them, and updates at places of the file's or computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from onnx.helper import make_node

from tests.circuits.operators.test_arithmetic import model, prove, same_everywhere
from tests.circuits.operators.test_moving import Case, Rng, floats
from tests.refusals import refuses
from zenserve.circuits import load_onnx
from zenserve.circuits.lowering import Level
from zenserve.verifier.schemes import Privacy


def beside_constants(rng: Rng) -> Case:
    """In front, between and behind; and of zeros alone, which cost nothing."""
    nodes = [
        make_node("Sin", ["x"], ["s"]),
        make_node("Concat", ["a", "s", "a", "x", "z"], ["h"], axis=int(rng.choice([-2, 1]))),
    ]
    return nodes, {"a": floats(rng, 1, 2, 4), "z": np.zeros((1, 3, 4), np.float32)}, (3, 4)


def written(rng: Rng) -> Case:
    """At places of the file's, over what is computed and over constants, of either."""
    nodes = [
        make_node("ScatterElements", ["t", "i", "x"], ["a"], axis=1),
        make_node("ScatterND", ["a", "n", "u"], ["b"]),
        make_node("Sin", ["b"], ["h"]),
    ]
    places = np.stack([rng.permutation(5)[:3] for _ in range(4)], axis=1)[np.newaxis]
    constants: dict[str, Any] = {"t": floats(rng, 1, 5, 4), "i": places, "n": np.array([[0, 1], [0, -1]])}
    return nodes, {**constants, "u": floats(rng, 2, 4)}, (3, 4)


def combined(rng: Rng) -> Case:
    """Several updates at one place."""
    said = str(rng.choice(["add", "max", "min"]))
    elements = make_node("ScatterElements", ["x", "i", "u"], ["a"], axis=2, reduction=said)
    rows = make_node("ScatterND", ["a", "n", "v"], ["h"], reduction=said)
    constants: dict[str, Any] = {
        "i": rng.integers(-4, 4, (1, 2, 5)),
        "u": floats(rng, 1, 2, 5),
        "v": floats(rng, 3, 4),
    }
    return [elements, rows], {**constants, "n": np.array([[0, 1], [0, 1], [0, 2]])}, (3, 4)


def at_the_largest(rng: Rng) -> Case:
    """Where the two largest entries are, no two of which are one."""
    said = str(rng.choice(["none", "add"]))
    nodes = [
        make_node("TopK", ["x", "k"], ["v", "i"], axis=2),
        make_node(
            "ScatterElements", ["t" if rng.random() < 0.5 else "x", "i", "u"], ["a"], axis=2, reduction=said
        ),
        make_node("ScatterElements", ["z", "i", "v"], ["b"], axis=2),
        make_node("Concat", ["a", "b"], ["h"], axis=1),
    ]
    constants = {"k": np.array([2]), "t": floats(rng, 1, 3, 4), "z": np.zeros((1, 4, 4), np.float32)}
    return nodes, {**constants, "u": floats(rng, 1, 3, 2)}, (3, 4)


def tuples(name: str) -> Callable[[Rng], Case]:
    """Of the row and the column where the largest entry is."""

    def case(rng: Rng) -> Case:
        places = [
            make_node("ReduceMax", ["x", "last"], ["m"], keepdims=0),
            make_node("ArgMax", ["m"], ["r"], axis=1),
            make_node("ReduceMax", ["x", "middle"], ["n"], keepdims=0),
            make_node("ArgMax", ["n"], ["c"], axis=1),
            make_node("Concat", ["r", "c"], ["p"], axis=1),
        ]
        constants = {"last": np.array([2]), "middle": np.array([1]), "t": floats(rng, 3, 4, 2)}
        if name == "GatherND":
            return [*places, make_node(name, ["t", "p"], ["h"])], constants, (3, 4)
        constants["u"] = floats(rng, 1, 2)
        return [*places, make_node(name, ["t", "p", "u"], ["h"])], constants, (3, 4)

    case.__name__ = name
    return case


def in_each_group(rng: Rng) -> Case:
    nodes = [
        make_node("Sin", ["x"], ["s"]),
        make_node("TopK", ["x", "k"], ["v", "i"], axis=2),
        make_node("Unsqueeze", ["i", "behind"], ["p"]),
        make_node("GatherND", ["s", "p"], ["h"], batch_dims=2),
    ]
    return nodes, {"k": np.array([2]), "behind": np.array([3])}, (3, 4)


def blocks(rng: Rng) -> Case:
    """Blocks that overlap, with gaps, over the edge."""
    said: dict[str, Any] = {"strides": [1, 2], "pads": [1, 0, 0, 1], "dilations": [1, 2]}
    node = make_node("Col2Im", ["x", "image", "block"], ["h"], **said)
    return [node], {"image": np.array([3, 5]), "block": np.array([2, 2])}, (8, 6)


CASES: list[Callable[[Rng], Case]] = [
    *(beside_constants, written, combined, at_the_largest, in_each_group, blocks),
    *(tuples("GatherND"), tuples("ScatterND")),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_it_agrees_with_onnxruntime(case: Callable[[Rng], Case]) -> None:
    rng = np.random.default_rng(20261123)
    for _ in range(3):
        # A pair of near entries may change its order.
        same_everywhere(case(rng), rng, part=0.9)


def test_constants_joined_with_zeros_cost_nothing() -> None:
    rng = np.random.default_rng(1)
    zeros = {"z": np.zeros((1, 3), np.float32)}
    graph = load_onnx(model(([make_node("Concat", ["z", "x"], ["h"], axis=1)], zeros, (2,))))
    assert {type(node).__name__ for node in graph.nodes} == {"Pad", "Gather"}
    x = floats(rng, 1, 2).astype(np.float64)
    np.testing.assert_array_equal(graph.run(x)[0], [0, 0, 0, *x[0]])


PROVEN: Mapping[str, Case] = {
    "beside a constant": (
        [make_node("Concat", ["c", "x"], ["h"], axis=1)],
        {"c": np.array([[1.5]], np.float32)},
        (2,),
    ),
    "at a place": (
        [
            make_node("ArgMax", ["x"], ["i"], axis=1),
            make_node("ScatterElements", ["x", "i", "u"], ["h"], axis=1),
        ],
        {"u": np.array([[2.0]], np.float32)},
        (2,),
    ),
}


@pytest.mark.parametrize("name", PROVEN)
@pytest.mark.parametrize(("level", "weights"), [(2, "public"), (5, "public"), (5, "private")])
def test_it_is_proven(name: str, level: Level, weights: Privacy) -> None:
    prove(PROVEN[name], level, weights)


def _scattered(kind: str, wanted: tuple[int, ...], **said: Any) -> Case:
    places = np.zeros(wanted, np.int64)
    return [make_node(kind, ["x", "i", "u"], ["h"], **said)], {"i": places, "u": np.zeros((1, 2))}, (3,)


@pytest.mark.parametrize(
    ("case", "code"),
    [
        (_scattered("ScatterElements", (1, 3)), "shape"),
        (_scattered("ScatterElements", (1, 2), axis=2), "shape"),
        (_scattered("ScatterElements", (1, 2), axis=1, reduction="mean"), "unsupported_attribute"),
        (_scattered("ScatterND", (1, 2, 3)), "shape"),
        (_scattered("ScatterND", ()), "shape"),
        (([make_node("Concat", ["c", "x"], ["h"], axis=1)], {"c": np.zeros((2, 1))}, (3,)), "shape"),
        (
            ([make_node("Concat", ["c", "x"], ["h"], axis=1)], {"c": np.full((1, 1), np.nan)}, (3,)),
            "not_finite",
        ),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(case: Case, code: str) -> None:
    with refuses(f"model.{code}"):
        load_onnx(model(case))
