"""Functions by tables: as onnxruntime has them, to half a step, and proven at every level and privacy."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import NodeProto
from onnx.helper import make_node

from tests.circuits.operators.test_leaky_relu import LEVELS, SETTINGS, weight
from tests.circuits.quantised import networks
from tests.circuits.relation_checker import broken
from tests.circuits.support import answered, challenged, first_violation, forced, forge, held, make_model
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_onnx_operators import NEWEST, agree, classified, floats
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve.circuits import compile_inference, load_onnx, plan_inference, quantise
from zenserve.circuits.graphs import formula
from zenserve.circuits.graphs.calibration import Interval
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Reading
from zenserve.circuits.lowering import Level
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.operators.activation import Activation, QuantActivation
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.gather import Gather
from zenserve.circuits.operators.multiply import Mul
from zenserve.circuits.quantisation import report
from zenserve.circuits.quantised import QuantGraph
from zenserve.circuits.schemes import inference
from zenserve.circuits.schemes.inference import Inference
from zenserve.prover import groth16
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy

Said = Mapping[str, Any]
# The operator, its attributes, and the first operator set that has it.
OPERATORS: list[tuple[str, Said, int]] = [
    *((name, {}, 7) for name in ("Sigmoid", "Tanh", "Softplus", "Softsign", "Exp", "Floor", "Ceil", "Neg")),
    *((name, {}, 7) for name in ("Sin", "Cos", "Tan", "Atan", "Elu", "Selu", "HardSigmoid")),
    *((name, {}, 9) for name in ("Erf", "Sign", "Sinh", "Cosh", "Asinh")),
    *((name, {}, since) for name, since in (("Round", 11), ("Celu", 12), ("HardSwish", 14), ("Mish", 18))),
    ("ThresholdedRelu", {}, 10),
    ("Shrink", {}, 9),
    ("Shrink", {"lambd": 1.0, "bias": 0.25}, 9),
    ("Gelu", {}, 20),
    ("Gelu", {"approximate": "tanh"}, 20),
    ("Gelu", {"approximate": "none"}, 20),
    ("Elu", {"alpha": 0.3}, 7),
    ("Celu", {"alpha": 0.3}, 12),
    ("Selu", {"alpha": 1.5, "gamma": 0.75}, 7),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.25}, 7),
    ("ThresholdedRelu", {"alpha": -0.5}, 10),
]
# Of values between 0 and 1.
POSITIVE = ("Log", "Sqrt", "Reciprocal", "Acos", "Asin", "Atanh")


def the_function(graph: Graph) -> Activation:
    (found,) = (node for node in graph.nodes if isinstance(node, Activation))
    return found


@pytest.mark.parametrize(("name", "said", "since"), OPERATORS)
def test_it_is_read_from_onnx_and_means_the_same(name: str, said: Said, since: int) -> None:
    rng = np.random.default_rng(3)
    for opset in (since, NEWEST):
        agree(classified([make_node(name, ["x"], ["h"], **said)], {}, (2, 9), opset, rng), rng)


@pytest.mark.parametrize("name", POSITIVE)
def test_so_are_functions_of_some_numbers(name: str) -> None:
    rng = np.random.default_rng(3)
    nodes = [make_node("Sigmoid", ["x"], ["p"]), make_node(name, ["p"], ["h"])]
    graph = agree(classified(nodes, {}, (2, 9), 17, rng), rng)
    assert the_function(graph).inputs == ("x",)


@pytest.mark.parametrize(("name", "said"), [("Gelu", {}), ("QuickGelu", {"alpha": 1.5}), ("QuickGelu", {})])
def test_onnxruntime_s_own_are_read(name: str, said: Said) -> None:
    rng = np.random.default_rng(3)
    nodes = [make_node(name, ["x"], ["h"], domain="com.microsoft", **said)]
    the_function(agree(classified(nodes, {}, (2, 9), 17, rng), rng))


def chain(*steps: str) -> list[NodeProto]:
    """Nodes by "operator inputs -> output"."""
    nodes = []
    for step in steps:
        name, *inputs = step.split(" -> ")[0].split()
        said: dict[str, Any] = {"fmod": 1} if name == "Mod" else {}
        nodes.append(make_node(name, inputs, [step.split(" -> ")[1]], **said))
    return nodes


NUMBERS = {
    "half": 0.5, "one": 1.0, "two": 2.0, "three": 3.0, "six": 6.0, "root": 1.4142135, "cube": 0.044715,
    "pi": 0.7978846, "zero": 0.0,
}  # fmt: skip
PATTERNS = {
    "a swish": ["Sigmoid x -> s", "Mul x s -> h"],
    "a gelu": ["Div x root -> a", "Erf a -> b", "Add b one -> c", "Mul x c -> d", "Mul d half -> h"],
    "a gelu by tanh": [
        "Pow x three -> a", "Mul a cube -> b", "Add x b -> c", "Mul pi c -> d", "Tanh d -> e",
        "Add one e -> p",
        "Mul half p -> g", "Mul x g -> h",
    ],
    "a hard swish": ["Add x three -> a", "Clip a zero six -> b", "Mul x b -> c", "Div c six -> h"],
    "a remainder": ["Mod x half -> h"],
    "between two": ["Tanh x -> a", "Max a zero -> b", "Min half b -> h"],
    "a mish": ["Softplus x -> a", "Tanh a -> b", "Mul x b -> h"],
    "a square": ["Mul x x -> h"],
    "a root of squares": ["Mul x x -> a", "Add a one -> b", "Sqrt b -> c", "Div two c -> h"],
    "a quotient": ["Exp x -> a", "Add a one -> b", "Div a b -> h"],
    "powers of two": ["Pow two x -> h"],
    "a difference": ["Tanh x -> a", "Sub x a -> b", "Sub one b -> c", "Abs c -> h"],
    "a bent one": ["LeakyRelu x -> a", "Mul a a -> b", "Neg b -> h"],
}  # fmt: skip


@pytest.mark.parametrize("name", PATTERNS)
def test_whatever_nodes_make_of_one_tensor_is_one_table(name: str) -> None:
    rng = np.random.default_rng(5)
    numbers = {key: np.array(value, np.float32) for key, value in NUMBERS.items()}
    graph = agree(classified(chain(*PATTERNS[name]), numbers, (3, 5), 17, rng), rng)
    function = the_function(graph)
    assert function.inputs == ("x",)
    assert [node for node in graph.nodes if isinstance(node, Clip | Conv | Mul)] == []


def test_a_clamp_of_sums_stays_a_part_of_them() -> None:
    x = tensor("x", 4).dense(weight(4, 4)).relu().then(Activation, "x * tanh(x)").dense(weight(3, 4))
    assert [type(node).__name__ for node in x.graph().nodes] == ["Dense", "Clip", "Activation", "Dense"]


def test_a_tensor_that_others_read_is_a_table_of_its_own() -> None:
    x = tensor("x", 4)
    one = x.then(Activation, "tanh(x)")
    graph = (one.dense(weight(3, 4)) + one.then(Activation, "x * x").dense(weight(3, 4))).graph()
    functions = [node.function for node in graph.nodes if isinstance(node, Activation)]
    assert functions == ["tanh(x)", "tanh(x) * tanh(x)"]
    assert {node.inputs for node in graph.nodes if isinstance(node, Activation)} == {("x",)}


def test_factors_that_differ_by_channel_are_no_part_of_it() -> None:
    rng = np.random.default_rng(3)
    nodes = chain("Mul x each -> a", "Sigmoid a -> b", "Mul b each -> h")
    graph = agree(classified(nodes, {"each": floats(rng, 2, 1, 1)}, (2, 3, 3), 17, rng), rng)
    assert the_function(graph).function == "sigmoid(x)"


def test_a_formula_does_not_grow_without_end() -> None:
    """Each square doubles it."""
    rng = np.random.default_rng(3)
    squares = [f"Mul {name} {name} -> {name}{name}" for name in ("t" * 2**i for i in range(8))]
    nodes = chain("Tanh x -> t", *squares, f"Identity {'t' * 256} -> h")
    graph = agree(classified(nodes, {}, (2, 3), 17, rng), rng)
    functions = [node.function for node in graph.nodes if isinstance(node, Activation)]
    assert len(functions) > 1
    assert max(map(len, functions)) <= formula.LONGEST


@pytest.mark.parametrize("name", ["Sin", "Abs", "Neg", "Tanh"])
def test_nor_does_it_nest_deeper_than_it_is_read(name: str) -> None:
    rng = np.random.default_rng(3)
    names = ["x", "first", *(f"n{index}" for index in range(400)), "h"]
    nodes = chain("Sin x -> first", *(f"{name} {a} -> {b}" for a, b in pairwise(names[1:])))
    graph = agree(classified(nodes, {}, (2, 3), 17, rng), rng)
    assert isinstance(graph.nodes[0], Activation)


def test_what_constants_make_is_a_constant() -> None:
    rng = np.random.default_rng(3)
    nodes = chain("Sqrt w -> a", "Pow a two -> b", "Neg b -> c", "Mul x c -> h")
    w = np.abs(floats(rng, 1))
    graph = agree(classified(nodes, {"w": w, "two": np.array(2, np.float32)}, (4,), 17, rng), rng)
    assert [type(node).__name__ for node in graph.nodes] == ["Dense"]


def test_onnxruntime_s_quantised_one_keeps_its_types() -> None:
    ends = {"s": np.float32(0.05), "z": np.uint8(100), "t": np.float32(1 / 256), "o": np.uint8(0)}
    nodes = [
        make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        make_node("QLinearSigmoid", ["q", "s", "z", "t", "o"], ["r"], domain="com.microsoft"),
        make_node("DequantizeLinear", ["r", "t", "o"], ["h"]),
    ]
    arrays = {name: np.array(end) for name, end in ends.items()}
    graph = load_onnx(classified(nodes, arrays, (4,), 17, np.random.default_rng(3)))
    (node, *_) = quantise(graph, np.random.default_rng(1).normal(size=(9, 4))).nodes
    assert isinstance(node, QuantActivation)
    assert (node.output.scale, node.output.zero_point) == (1 / 256, 0)
    real = 0.05 * (np.arange(256) - 100)
    assert np.abs(node.values - np.minimum(256 / (1 + np.exp(-real)), 255)).max() <= 0.5 + 1e-5


def test_types_that_a_file_declares_on_both_sides_stay() -> None:
    x = tensor("x", 4).quantised(0.02, 128).then(Activation, "tanh(x)").quantised(1 / 128, 128)
    graph = quantise(x.then(Activation, "x * x").dense(weight(3, 4)).graph(), weight(9, 4))
    first, second, _ = graph.nodes
    assert isinstance(first, QuantActivation)
    assert isinstance(second, QuantActivation)
    assert (first.output.scale, first.output.zero_point) == (1 / 128, 128)
    assert second.function == "x * x"


@pytest.mark.parametrize(
    ("said", "words"),
    [({"alpha": float("nan")}, "finite"), ({"alpha": float("inf")}, "finite"), ({"alpha": 1}, "alpha"),
     ({"b": 1.0}, "'b'")],
)  # fmt: skip
def test_other_attributes_are_refused(said: Said, words: str) -> None:
    nodes = [make_node("Elu", ["x"], ["h"], **said), make_node("MatMul", ["h", "w"], ["y"])]
    with refuses("model.unsupported_attribute", match=words):
        load_onnx(make_model(nodes, {"w": np.zeros((4, 2), np.float32)}))


def test_it_is_written_where_onnx_has_it() -> None:
    rng = np.random.default_rng(3)
    graph = tensor("x", 4).then(Activation, "tanh(x)").dense(weight(3, 4)).graph()
    assert the_function(agree(to_onnx(graph), rng)).function == "tanh(x)"
    with refuses("model.unsupported_operator", match="alone"):
        to_onnx(tensor("x", 4).then(Activation, "x * x").dense(weight(3, 4)).graph())


@pytest.mark.parametrize(
    "text",
    ["exp(x, x)", "max(x, x, x)", "max(x)", "celu(x)",
     "y", "x.real", "__import__('os')", "x if x else 1.0", "exp(x=x)", "x[0]", "'x'", "1", "lambda: x", "+x",
     "x" * 2000],
)  # fmt: skip
def test_a_text_that_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="formula"):
        formula.evaluate(text, np.zeros(1))


def tabulated(
    function: str, low: float = -1.0, high: float = 1.0, bits: int = 8, width: int = 2
) -> QuantGraph:
    """Values in [low, high], what the function makes of them, and three classes."""
    graph = tensor("x", width).then(Activation, function).dense(weight(3, width)).graph()
    return quantise(graph, np.linspace(low, high, 8 * width).reshape(8, width), bits)


def node_of(graph: QuantGraph) -> QuantActivation:
    (node,) = (node for node in graph.nodes if isinstance(node, QuantActivation))
    return node


@given(
    st.sampled_from(sorted(f for f in formula.FUNCTIONS if f not in ("max", "min"))),
    st.floats(-8, 8), st.floats(0.01, 8), st.integers(2, 10),
)  # fmt: skip
def test_every_integer_is_brought_to_the_nearest(name: str, low: float, width: float, bits: int) -> None:
    """By Python's own floats: of the real number that it stands for, within the output's type."""
    more = {"celu": ", 0.5", "elu": ", 0.5", "leaky_relu": ", 0.5", "swish": ", 0.5"}
    more |= {
        "equal": ", 1.0",
        "fmod": ", 0.5",
        "less": ", 0.5",
        "shrink": ", 0.25, 0.5",
        "hard_sigmoid": ", 0.2, 0.5",
        "selu": ", 1.6, 1.1",
        "thresholded_relu": ", 0.5",
        "where": ", x, 0.25",
    }
    text = (
        f"{name}(sigmoid(x){more.get(name, '')})"
        if name in ("acosh", "log")
        else f"{name}(x{more.get(name, '')})"
    )
    if name in ("acos", "acosh", "asin", "atanh", "log", "probit", "sqrt"):
        text = f"{name}(1.0 + softplus(x))" if name == "acosh" else f"{name}(sigmoid(x))"
    graph = tabulated(text, low, low + width, bits)
    node, kind = node_of(graph), graph.input.type
    step = 0.0 if kind.scale == 1 else kind.scale
    exact = formula.evaluate(text, kind.real(np.arange(kind.top + 1)), step)
    ends = node.output.real(np.array([0, node.output.top]))
    error = np.abs(node.output.real(node.values) - np.clip(exact, *ends)) / node.output.scale
    assert error.max() <= 0.5 + 1e-6
    # Nothing that was calibrated with is cut off by more than half a step.
    seen = kind.quantise(np.linspace(low, low + width, 16))
    inside = np.clip(exact[seen], *ends)
    assert np.abs(inside - exact[seen]).max() <= np.abs(np.diff(exact)).max(initial=0) + node.output.scale


@pytest.mark.parametrize(
    ("function", "first", "last"),
    [("log(x)", 0, None), ("sqrt(x)", 0, None), ("1.0 / x", 255, None), ("x ** 0.5", 0, None)],
)
def test_where_it_has_no_value_it_is_that_of_the_nearest_that_has(
    function: str, first: int, last: int | None
) -> None:
    """Inputs in [1, 4], whose type begins at 0."""
    node = node_of(tabulated(function, 1.0, 4.0))
    assert node.values[0] == first
    # And below 0, where a type goes there.
    graph = tensor("x", 1).quantised(1 / 16, 128).then(Activation, function).dense(weight(3, 1)).graph()
    values = node_of(quantise(graph, np.linspace(1, 4, 8)[:, np.newaxis])).values
    if function == "1.0 / x":
        assert values[127] == 0
    else:
        assert (values[:128] == values[128]).all()


@pytest.mark.parametrize("name", ["Round", "Floor", "Ceil"])
def test_whole_numbers_and_halves_are_exact_where_they_are_rounded(name: str) -> None:
    rounded = make_model([make_node(name, ["x"], ["y"])], {}, ("batch", 8))
    x = np.array([[-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 1.7]])
    graph = load_onnx(rounded)
    network = quantise(graph, x)
    kind = network.input.type
    np.testing.assert_array_equal(kind.real(kind.quantise(x))[:, :7], x[:, :7])
    made = network.nodes[-1].output_type([kind])
    assert made
    np.testing.assert_allclose(made.real(network.run(kind.quantise(x))), graph.run(x), atol=0.01)


@pytest.mark.parametrize(
    ("function", "low", "high", "bits"),
    [
        ("floor(x)", -3.5, 2.5, 3),
        ("less(x, 0.5)", -1.0, 1.0, 1),
        ("sign(x)", -1.0, 1.0, 2),
        ("floor(x)", 0, 200, 8),
    ],
)
def test_whole_numbers_have_steps_of_one(function: str, low: float, high: float, bits: int) -> None:
    kind = node_of(tabulated(function, low, high)).output
    assert (kind.scale, kind.bits) == (1, bits)


def test_a_function_without_any_value_is_refused() -> None:
    x = tensor("x", 1).quantised(1.0, 7, bits=3).then(Activation, "log(x - 1.0)").quantised(1.0)
    with refuses("model.scale", match="no value"):
        quantise(x.graph(), np.full((2, 1), -2.0))


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [("sigmoid(x)", -6.94, 6.94), ("tanh(x)", -3.47, 3.47), ("gelu(x)", -2.41, 19.98),
     ("exp(-x)", -20.0, 0.0), ("sin(x)", -20.0, 20.0), ("log(x)", -20.0, 20.0), ("sign(x)", 0.0, 0.0)],
)  # fmt: skip
def test_where_it_is_flat_its_argument_need_not_reach(function: str, low: float, high: float) -> None:
    span = Activation("y", ("x",), function).needed(0, Reading([Interval(-20.0, 20.0)], 8))
    np.testing.assert_allclose(span, (low, high), atol=0.02)


@pytest.mark.parametrize("function", ["sigmoid(x)", "tanh(x)", "gelu(x)"])
def test_integers_of_sums_tell_apart_what_matters(function: str) -> None:
    """And saturate beyond: of sums in [-20, 20] at the cost of less than a step."""
    graph = tensor("x", 1).dense(np.ones((1, 1))).then(Activation, function).dense(weight(3, 1)).graph()
    x = np.linspace(-20, 20, 256)[:, np.newaxis]
    qgraph = quantise(graph, x)
    q = qgraph.input.type.quantise(x)
    node, read = node_of(qgraph), qgraph.types["dense1"]
    made = node.output.real(dict(qgraph.tensors(q))[node.name])
    exact = formula.evaluate(function, qgraph.input.type.real(q))
    assert read is not None
    # No slope is above 1.13.
    assert np.abs(made - exact).max() <= 0.75 * node.output.scale + 1.13 * 0.75 * read.scale
    assert read.scale < 0.6 * qgraph.input.type.scale


def test_a_clamp_behind_it_is_a_part_of_it() -> None:
    nodes = chain("Sigmoid x -> s", "Clip s low high -> h")
    numbers = {"low": np.array(0.25, np.float32), "high": np.array(0.5, np.float32)}
    graph = load_onnx(classified(nodes, numbers, (4,), 17, np.random.default_rng(3)))
    qgraph = quantise(graph, np.linspace(-4, 4, 64).reshape(16, 4))
    node = node_of(qgraph)
    assert len(qgraph.nodes) == 2
    np.testing.assert_allclose(node.output.real(node.values[[0, -1]]), [0.25, 0.5], atol=node.output.scale)


def test_the_report_says_how_far_a_table_is_from_its_function() -> None:
    graph = tensor("x", 2).then(Activation, "log(abs(x))").clip(-1.0, 0.5).dense(weight(3, 2)).graph()
    samples = np.linspace(-2, 2, 16).reshape(8, 2)
    qgraph = quantise(graph, samples)
    made = report(graph, qgraph, samples, np.zeros(8, np.int64))
    (entry,) = (each for each in made.tensors if each.function is not None)
    assert entry.function == "min(max(log(abs(x)), -1.0), 0.5)"
    assert entry.rounding is not None
    assert 0.3 < entry.rounding <= 0.5
    assert "is a table of min(max(log(abs(x)), -1.0), 0.5), to 0." in made.text()
    node, last = qgraph.nodes
    assert isinstance(node, QuantActivation)
    wrong = node.values.copy()
    wrong[200] += 3 if wrong[200] < 100 else -3
    other = replace(qgraph, nodes=(replace(node, values=wrong), last))
    (told,) = (each for each in report(graph, other, samples).tensors if each.function is not None)
    assert told.rounding is not None
    assert told.rounding > 2


def test_tables_that_do_not_fit_their_types_are_refused() -> None:
    graph = tabulated("tanh(x)", bits=3)
    node, last = graph.nodes
    assert isinstance(node, QuantActivation)
    assert QuantGraph.from_bytes(graph.to_bytes()).digest == graph.digest
    for wrong in (node.values[:7], np.arange(8) - 1, np.arange(8) + 1, node.values.reshape(2, 4)):
        with refuses("model.quantised", match="activation1"):
            replace(graph, nodes=(replace(node, values=wrong), last))
    for text in ("x" * 901, "x\n", "xx", "", "celu(x)", "exp(x, x)", "(" * 300 + "x" + ")" * 300):
        with refuses("model.quantised", match="formula"):
            replace(graph, nodes=(replace(node, function=text), last))


def test_the_table_is_a_part_of_what_is_proven_and_of_what_is_shown() -> None:
    graph = tabulated("tanh(x)", bits=3)
    node = node_of(graph)
    other = replace(graph, nodes=(replace(node, values=node.values[::-1].copy()), *graph.nodes[1:]))
    assert other.architecture.digest != graph.architecture.digest
    one, two = (compile_inference(each, weight_privacy="committed") for each in (graph, other))
    assert one.constraint_system.digest != two.constraint_system.digest
    (shown, _) = one.describe()["quantisation"]["layers"]
    assert (shown["function"], shown["rescale"]["table"]) == ("tanh(x)", node.values.tolist())


# For 20 values of 8 bits: pinned, as the zoo's counts are.
ROWS = {0: 5_920, 1: 5_920, 2: 920, 3: 920, 4: 920, 5: 297}


def test_its_rows_are_pinned() -> None:
    one = tensor("x", 20).then(Activation, "tanh(x)")
    graphs = [one.dense(weight(3, 20)).graph(), tensor("x", 20).dense(weight(3, 20)).graph()]
    samples = np.random.default_rng(1).normal(size=(50, 20))
    rows = {
        level: [
            plan_inference(quantise(graph, samples), weight_privacy="public", level=level).rows
            for graph in graphs
        ]
        for level in LEVELS
    }
    assert {level: with_it - without for level, (with_it, without) in rows.items()} == ROWS


def test_equal_tables_are_one() -> None:
    """Two rows a value and 257 once."""
    x = tensor("x", 4).quantised(1 / 64, 128)
    one = x.then(Activation, "tanh(x)").quantised(1 / 64, 128)
    two = one.then(Activation, "tanh(x)").quantised(1 / 64, 128)
    samples = np.random.default_rng(1).normal(size=(9, 4))
    rows = [plan_inference(quantise(each.dense(weight(3, 4)).graph(), samples)).rows for each in (one, two)]
    assert rows[1] - rows[0] == 2 * 4


@pytest.mark.parametrize(("level", "weights"), SETTINGS)
def test_it_is_proven_and_every_wire_that_lies_is_refused(level: Level, weights: Privacy) -> None:
    graph = tabulated("sin(4.0 * x)", bits=3)
    circuit = compile_inference(graph, weight_privacy=weights, level=level)
    assert circuit.constraint_system.constraints == circuit.plan.rows
    agree_on(circuit, networks.inputs(graph, 3, 1))


@pytest.mark.parametrize(
    ("weights", "clamped"),
    [
        ("public", False),
        pytest.param("public", True, marks=pytest.mark.large),
        pytest.param("private", False, marks=pytest.mark.large),
        pytest.param("private", True, marks=pytest.mark.large),
    ],
)
def test_sums_that_it_alone_reads_are_looked_up_with_it_or_before(weights: Privacy, clamped: bool) -> None:
    """Every way is sound and costs what the plan says; of many values a lookup of both costs least."""
    sums = tensor("x", 2).dense(weight(3, 2))
    sums = sums.clip(-0.3, 0.4) if clamped else sums
    graph = sums.then(Activation, "sin(4.0 * x)").dense(weight(3, 3)).graph()
    qgraph = quantise(graph, np.linspace(-1, 1, 16).reshape(8, 2), 3)
    ways = compile_inference(qgraph, weight_privacy=weights).plan.explanation["dense1"]
    merged = [way for way, _ in ways if way.clamp and way.clamp.function is not None]
    assert 0 < len(merged) < len(ways)
    assert all("with them" in str(way) for way in merged)
    for way, rows in ways:
        with forced(inference, {"dense1": way}):
            circuit = compile_inference(qgraph, weight_privacy=weights)
        assert circuit.constraint_system.constraints == rows
        assert ("activation1/out" in circuit.layout) == (way not in merged)
        agree_on(circuit, networks.inputs(qgraph, 3, 1))
    wide = (
        tensor("x", 1, 40, 40)
        .conv(weight(4, 1, 1, 1))
        .then(Activation, "tanh(x)")
        .flatten()
        .dense(weight(3, 6400))
    )
    samples = np.random.default_rng(1).normal(size=(4, 1, 40, 40))
    best = plan_inference(quantise(wide.graph(), samples), weight_privacy="public").ways["conv1"].clamp
    assert best is not None
    assert best.function is not None


def agree_on(circuit: Inference, inputs: IntArray) -> None:
    for q in inputs:
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        assert z[circuit.layout["label"][0]] == circuit.execute(q).label
        assert broken(circuit.relations, held(circuit, z)) == []
    refuse_all_lies(circuit, q)


def test_sums_that_others_read_too_are_looked_up_alone() -> None:
    x = tensor("x", 2).dense(weight(3, 2))
    graph = (x + x.then(Activation, "tanh(x)").dense(weight(3, 3))).dense(weight(3, 3)).graph()
    qgraph = quantise(graph, np.linspace(-1, 1, 16).reshape(8, 2), 3)
    circuit = compile_inference(qgraph)
    assert not circuit.relations.functions
    assert "activation1/out" in circuit.layout
    agree_on(circuit, networks.inputs(qgraph, 3, 1))


@pytest.mark.parametrize("level", LEVELS)
def test_no_other_entry_passes_whatever_follows_from_it(level: Level) -> None:
    """The prover insists on an output, or on an input and an output, and computes all else honestly."""
    graph = tabulated("sin(4.0 * x)", bits=3)
    circuit = compile_inference(graph, level=level)
    q, values = np.array([2, 5]), node_of(graph).values.tolist()
    out, read = circuit.layout["activation1/out"][0], circuit.layout["input"].flat[0]
    for claimed in range(-1, 10):
        z = forge(circuit, q, {int(out): claimed})
        accepted = first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        assert accepted == (claimed == values[2])
    for given_, claimed in ((3, values[2]), (8, values[-1]), (-1, values[0])):
        z = forge(circuit, q, {int(read): given_, int(out): claimed})
        accepted = first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        assert accepted == (given_ == 3 and claimed == values[3])


@pytest.mark.parametrize("level", [2, 5])
def test_a_proof_of_it_verifies_and_of_no_other_label(level: Level) -> None:
    circuit = compile_inference(tabulated("tanh(4.0 * x)", bits=4), level=level)
    q = np.array([3, 12])
    key = groth16.setup(circuit.constraint_system)
    witness, public = circuit.witness(q), circuit.public_inputs(q)
    proof = groth16.prove(
        key, circuit.constraint_system, witness, post_challenge=circuit.program.post_challenge
    ).to_bytes()
    for label in range(3):
        expected = label == public[-1]
        assert groth16.verify(key.verifying_key, [*public[:-1], label], proof).valid == expected


def test_outputs_that_are_revealed_have_its_type() -> None:
    graph = quantise(tensor("x", 3).dense(weight(3, 3)).then(Activation, "sigmoid(x)").graph(), weight(9, 3))
    node = node_of(graph)
    assert graph.output_scale == (node.output.scale, node.output.zero_point)
    circuit = compile_inference(graph, reveal="logits")
    q = networks.inputs(graph, 3, 1)[2]
    assert first_violation(circuit.constraint_system, answered(circuit.program, circuit.assign(q))) is None


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("level", LEVELS)
def test_a_pair_of_another_table_of_the_circuit_is_refused(level: Level, first: bool) -> None:
    """Two tables of the same arguments and the same values, one of them the other's reverse, whatever the
    prover makes of multiplicities; then all that was moved and joined behind them has one value."""
    graph = tabulated("x", bits=3)
    (node, last), kind = graph.nodes, graph.input.type
    assert isinstance(node, QuantActivation)
    one = replace(node, name="one", values=np.arange(8), output=kind)
    two = replace(node, name="two", inputs=("one",), values=np.arange(8)[::-1].copy())
    moved = Gather("moved", ("two",), np.array([1, 0]))
    network = replace(graph, nodes=(one, two, moved, replace(last, inputs=("moved",))))
    circuit, q = compile_inference(network, level=level), np.array([2, 5])
    honest = circuit.assign(q)
    name, values = ("one", two.values) if first else ("two", one.values)
    out = circuit.layout[f"{name}/out"]
    lies = [{int(out[0]): int(values[q[0]])}]
    counts = [wires for group, wires in circuit.layout.items() if group.endswith("/multiplicity")]
    counts = [wires for wires in counts if len(wires) == 8]
    for wires, entry in itertools.product(counts, range(8)):
        lies.append(lies[0] | {int(wires[entry]): int(honest[wires[entry]]) + 1})
    for lie in lies:
        z = answered(circuit.program, forge(circuit, q, lie))
        assert first_violation(circuit.constraint_system, z) is not None
    assert_unique(circuit.program, challenged(circuit.program, honest))
