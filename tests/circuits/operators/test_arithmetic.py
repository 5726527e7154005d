"""Arithmetic of computed tensors: as onnxruntime has it, in integers to a few steps, and proven."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx.helper import make_node

from tests.circuits.operators.test_activation import chain
from tests.circuits.operators.test_leaky_relu import SETTINGS
from tests.circuits.operators.test_moving import Case, Rng, floats
from tests.circuits.quantised import networks, slow
from tests.circuits.relation_checker import broken
from tests.circuits.support import answered, challenged, first_violation, held, make_model, spread
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve.circuits import compile_inference, load_onnx, plan_inference, quantise
from zenserve.circuits.graphs.types import Affine, FloatArray
from zenserve.circuits.lowering import Level
from zenserve.circuits.operators.multiply import Mul
from zenserve.circuits.operators.whole_quotients import QuantWholeQuotient
from zenserve.circuits.quantised import QuantGraph
from zenserve.verifier.schemes import Privacy


def lines(shape: tuple[int, ...], *steps: str, **constants: Any) -> Case:
    """Nodes by "operator inputs -> output", from "x" to "h"."""
    return chain(*steps), {name: np.asarray(value) for name, value in constants.items()}, shape


def products(rng: Rng) -> Case:
    return lines((3, 4), "Sin x -> a", "Mul a x -> b", "Mul w x -> c", "Mul b c -> h", w=floats(rng, 3, 4))


def broadcast_product(rng: Rng) -> Case:
    steps = ("GlobalAveragePool x -> g", "Mul g x -> p", "Relu p -> h")
    return lines((3, 4, 5), *steps)


def quotient(rng: Rng) -> Case:
    two = np.float32(2)
    return lines(
        (3, 4),
        "Slice x s e a -> b",
        "Exp b -> c",
        "Add c two -> d",
        "Div x d -> h",
        two=two,
        s=[1],
        e=[2],
        a=[2],
    )


def product_of_constants_and_two(rng: Rng) -> Case:
    return lines(
        (4,),
        "Mul x w -> a",
        "Tanh x -> b",
        "Mul b a -> c",
        "Mul c v -> h",
        w=floats(rng, 4),
        v=floats(rng, 1),
    )


def reduced(name: str) -> Callable[[Rng], Case]:
    """Over any axes, kept or not."""

    def case(rng: Rng) -> Case:
        axes = rng.permutation(3)[: rng.integers(1, 4)] + (0 if rng.random() < 0.2 else 1)
        said: dict[str, Any] = {} if rng.random() < 0.2 else {"keepdims": int(rng.integers(0, 2))}
        steps = [make_node("Exp", ["x"], ["e"])] if name == "ReduceLogSum" else []
        node = make_node(name, ["e" if steps else "x", "a"], ["r"], **said)
        # Two at least are what a network ends in.
        tail = [make_node("Flatten", ["r"], ["f"], axis=0), make_node("Concat", ["f", "f"], ["h"], axis=1)]
        return [*steps, node, *tail], {"a": axes}, (2, 3, 4)

    case.__name__ = name
    return case


REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
    *("ReduceSum", "ReduceSumSquare"),
)


def nothing(rng: Rng) -> Case:
    """Times zero, beside what is left."""
    return lines((3,), "Mul x zero -> a", "Sin x -> b", "Add a b -> h", zero=np.zeros((2, 1), np.float32))


def averages(rng: Rng) -> Case:
    """At the end, sums of whole windows, which have a scale; others are rescaled."""
    said: dict[str, Any] = {"pads": [1, 0, 0, 1]} if rng.random() < 0.5 else {}
    return [make_node("AveragePool", ["x"], ["h"], kernel_shape=[2, 2], **said)], {}, (3, 4, 2)


def global_max(rng: Rng) -> Case:
    return [make_node("GlobalMaxPool", ["x"], ["h"])], {}, (3, 4, 2)


def norms_of_windows(rng: Rng) -> Case:
    p = int(rng.integers(1, 4))
    pools = [
        make_node("LpPool", ["x"], ["a"], p=p, kernel_shape=[2, 2], pads=[0, 1, 1, 0], strides=[2, 1]),
        make_node("GlobalLpPool", ["a"], ["h"], p=p),
    ]
    return pools, {}, (3, 4, 5)


def cumulative(rng: Rng) -> Case:
    said: dict[str, Any] = {name: int(rng.integers(0, 2)) for name in ("exclusive", "reverse")}
    axis = np.array(rng.integers(1, 4))
    return [make_node("CumSum", ["x", "a"], ["h"], **said)], {"a": axis}, (2, 3, 4)


def comparisons(rng: Rng) -> Case:
    """Of a column with all, with one number, and with numbers of their own."""
    name, other = rng.choice(["Less", "LessOrEqual", "Greater", "GreaterOrEqual"], 2)
    nodes = [
        *chain("Slice x s e a -> c", f"{name} x c -> d", f"{other} half x -> f", f"{name} x w -> g"),
        *chain("Xor d f -> i", "And i g -> j", "Or d g -> k", "Not k -> l"),
        make_node("Cast", ["j"], ["jf"], to=1),
        make_node("Where", ["l", "x", "jf"], ["h"]),
    ]
    constants = {"half": np.float32(0.5), "w": floats(rng, 4), "s": [1], "e": [2], "a": [2]}
    return nodes, {key: np.asarray(value) for key, value in constants.items()}, (3, 4)


def chosen_by_constants(rng: Rng) -> Case:
    nodes = [
        make_node("Where", ["c", "x", "w"], ["a"]),
        make_node("Where", ["c", "zero", "a"], ["b"]),
        make_node("Where", ["d", "a", "b"], ["h"]),
    ]
    constants = {"c": rng.random((3, 1)) < 0.5, "d": rng.random((1, 4)) < 0.5, "w": floats(rng, 4)}
    return nodes, {**constants, "zero": np.zeros((), np.float32)}, (3, 4)


def whole_numbers(rng: Rng) -> Case:
    nodes = [
        make_node("Cast", ["x"], ["i"], to=7),
        make_node("Equal", ["i", "one"], ["e"]),
        make_node("Cast", ["x"], ["b"], to=9),
        make_node("Where", ["e", "two", "zero"], ["p"]),
        make_node("Cast", ["b"], ["c"], to=1),
        make_node("Add", ["p", "c"], ["h"]),
    ]
    numbers = {"one": np.int64(1), "two": np.float32(2), "zero": np.float32(0)}
    return nodes, {key: np.array(value) for key, value in numbers.items()}, (3, 4)


def difference(rng: Rng) -> Case:
    return lines((3, 4), "Slice x s e a -> c", "Sub c x -> h", s=[1], e=[2], a=[2])


def several(rng: Rng) -> Case:
    """Of shapes that broadcast, with bounds, and of one alone."""
    steps = (
        *("Slice x s e a -> c", "Max x c low -> l", "Min x c -> m", "Sum l m c -> t", "Mean t x m -> n"),
        *("Max n -> o", "Min high o c -> h"),
    )
    ends = {"low": np.float32(-0.5), "high": np.float32(0.75)}
    return lines((3, 4), *steps, s=[1], e=[2], a=[2], **ends)


def between_entries(rng: Rng) -> Case:
    """Of a mode, along two axes, larger or smaller, by scales or to sizes."""
    where = rng.choice(["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"])
    said: dict[str, Any] = {"mode": str(rng.choice(["linear", "cubic"]))}
    said["coordinate_transformation_mode"] = str(where)
    if said["mode"] == "cubic":
        said["exclude_outside"] = int(rng.integers(0, 2))
    if rng.random() < 0.5:
        node = make_node("Resize", ["x", "", "", "z"], ["h"], **said)
        return [node], {"z": np.array([1, 2, *rng.integers(1, 9, 2)])}, (2, 4, 5)
    node = make_node("Resize", ["x", "", "z"], ["h"], **said)
    return [node], {"z": np.array([1, 1, 2.0, 0.6], np.float32)}, (2, 4, 5)


def multiplied(rng: Rng) -> Case:
    """Three numbers and five, the pairs first."""
    axis = np.array([int(rng.integers(1, 3))])
    return [make_node("Sin", ["x"], ["s"]), make_node("ReduceProd", ["s", "a"], ["h"])], {"a": axis}, (3, 5)


def whole_quotients(rng: Rng) -> Case:
    nodes = [
        make_node("Mul", ["x", "ten"], ["t"]),
        make_node("Cast", ["t"], ["i"], to=7),
        make_node("Div", ["i", "three"], ["d"]),
        make_node("Mod", ["i", "three"], ["m"]),
        make_node("Add", ["d", "m"], ["s"]),
        make_node("Cast", ["s"], ["h"], to=1),
    ]
    numbers = {"ten": np.float32(10), "three": np.int64(3)}
    return nodes, {key: np.array(value) for key, value in numbers.items()}, (3, 4)


def written_at_constants(rng: Rng) -> Case:
    """Where a constant is not zero."""
    nodes = [
        make_node("NonZero", ["c"], ["n"]),
        make_node("Transpose", ["n"], ["places"], perm=[1, 0]),
        make_node("Slice", ["x", "from", "to", "axis"], ["s"]),
        make_node("Reshape", ["s", "flat"], ["u"]),
        make_node("ScatterND", ["x", "places", "u"], ["h"]),
    ]
    constants = {"c": np.array([[[0, 1, 0], [1, 0, 1]]]), "from": [0], "to": [1], "axis": [1], "flat": [-1]}
    return nodes, {key: np.array(value) for key, value in constants.items()}, (2, 3)


CASES: list[Callable[[Rng], Case]] = [
    *(products, broadcast_product, quotient, product_of_constants_and_two),
    *map(reduced, REDUCTIONS),
    *(nothing, averages, global_max, norms_of_windows, cumulative),
    *(comparisons, chosen_by_constants, whole_numbers, difference, several),
    *(between_entries, written_at_constants, multiplied),
]


def model(case: Case, opset: int = 19) -> bytes:
    nodes, constants, shape = case
    return make_model(
        [*nodes, make_node("Identity", ["h"], ["y"])], constants, ("batch", *shape), opset=opset
    )


def real(graph: QuantGraph, q: NDArray[np.int64]) -> FloatArray:
    """What the outputs stand for."""
    assert graph.output_scale
    scale, zero = graph.output_scale
    return (graph.run(q) - zero) * np.float64(scale)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_it_agrees_with_onnxruntime(case: Callable[[Rng], Case]) -> None:
    rng = np.random.default_rng(20261123)
    for _ in range(4):
        same_everywhere(case(rng), rng)


def test_whole_quotients_and_remainders_agree() -> None:
    rng = np.random.default_rng(1)
    same_everywhere(whole_quotients(rng), rng, part=0.9)


def computed_quotients(name: str) -> Callable[[Rng], Case]:
    """Of integers by others, of both signs, none of which is 0."""

    def case(rng: Rng) -> Case:
        said: dict[str, Any] = {"fmod": int(rng.integers(0, 2))} if name == "Mod" else {}
        nodes = [
            *chain("Mul x ten -> a", "Slice x s e t -> b", "Abs b -> c", "Add c one -> d", "Sign b -> g"),
            make_node("Mul", ["d", "g"], ["f"]),
            make_node("Cast", ["a"], ["i"], to=7),
            make_node("Cast", ["f"], ["j"], to=7),
            make_node(name, ["i", "j"], ["k"], **said),
            make_node("Cast", ["k"], ["h"], to=1),
        ]
        constants = {"ten": np.float32(10), "one": np.float32(1.1), "s": [1], "e": [2], "t": [2]}
        return nodes, {key: np.asarray(value) for key, value in constants.items()}, (2, 3)

    return case


@pytest.mark.parametrize("name", ["Div", "Mod"])
def test_integers_are_divided_by_computed_ones(name: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(3):
        # What is rounded before it is cast may be the number beside.
        same_everywhere(computed_quotients(name)(rng), rng, part=0.8)


def test_whole_numbers_that_are_not_exact_are_not_divided() -> None:
    rng = np.random.default_rng(1)
    graph = load_onnx(model(computed_quotients("Div")(rng)))
    with refuses("model.scale", match="whole numbers"):
        quantise(graph, 1000 * rng.normal(size=(16, 2, 3)))


def test_a_divisor_whose_table_would_not_fit_is_refused() -> None:
    """A file of some hundred bytes can say so many bits."""
    network = quantise(
        load_onnx(model(computed_quotients("Div")(np.random.default_rng(1)))), np.ones((16, 2, 3))
    )
    (node,) = (node for node in network.nodes if isinstance(node, QuantWholeQuotient))
    narrow, wide = (Affine(1.0, 0, bits) for bits in (16, 27))
    node.check([wide, narrow], [(2,), (2,)])
    with refuses("model.quantised", match="more than 16 bits"):
        node.check([wide, wide], [(2,), (2,)])


def same_everywhere(made: Case, rng: Rng, *, most: float = 0.03, part: float = 0.95) -> None:
    """In floats what onnxruntime computes; in integers for this ``part`` of them nearer than ``most`` of what
    they span, and as the slow executor has them."""
    data, x = model(made), floats(rng, 64, *made[2])
    session = onnxruntime.InferenceSession(data)
    expected = np.concatenate([session.run(None, {"x": each[None]})[0].reshape(1, -1) for each in x])
    graph = load_onnx(data)
    np.testing.assert_allclose(
        graph.run(x.astype(np.float64)).reshape(64, -1), expected, atol=1e-4, rtol=1e-4
    )
    network = quantise(graph, x.astype(np.float64))
    got = real(network, network.input.type.quantise(x.astype(np.float64)))
    error = np.abs(got - expected) / max(1e-9, np.ptp(expected))
    assert np.quantile(error, part) < most
    q = network.input.type.quantise(x[0].astype(np.float64))
    assert network.run(q[None])[0].tolist() == slow.tensors(network, q)[network.output].ravel().tolist()
    assert QuantGraph.from_bytes(network.to_bytes()).digest == network.digest


def test_a_gate_is_a_swish_and_a_product() -> None:
    rng = np.random.default_rng(1)
    w, x = floats(rng, 1, 3), floats(rng, 4, 3).astype(np.float64)
    data = model(([make_node("SwiGLU", ["x", "w"], ["h"], alpha=1.5)], {"w": w}, (3,)), 28)
    np.testing.assert_allclose(load_onnx(data).run(x), w * x / (1 + np.exp(-1.5 * x)), atol=1e-6)


# By the rows that the ONNX shapes leave, a second axis of two or three.
SHAPED: Mapping[str, Case] = {
    "a number is true unless it is 0": (
        [make_node("Cast", ["w"], ["c"], to=9), make_node("Not", ["c"], ["n"]), *chain("Where n x w -> r")],
        {"w": np.array([0.5, 0, -3], np.float32)},
        (2, 3),
    ),
    "integers are divided towards 0": (
        [*chain("Div a b -> s", "Slice x s e t -> r")],
        {"a": np.array([-7]), "b": np.array([4]), "e": np.array([9]), "t": np.array([2])},
        (2, 3),
    ),
    "zeros of more axes": (
        chain("Less x w -> c", "Where c x z -> r"),
        {"w": floats(np.random.default_rng(1), 3), "z": np.zeros((1, 1, 1, 1), np.float32)},
        (2, 3),
    ),
    "channels of two samples": (
        chain("Mul x w -> a", "BatchNormalization a v v v p -> b", "GlobalAveragePool b -> r"),
        {
            "w": floats(np.random.default_rng(1), 2, 1, 1),
            "v": np.array([1, -2], np.float32),
            "p": np.array([1, 3], np.float32),
        },
        (2, 3),
    ),
}


@pytest.mark.parametrize("name", SHAPED)
def test_its_axes_are_those_of_onnxruntime(name: str) -> None:
    nodes, constants, shape = SHAPED[name]
    x = floats(np.random.default_rng(7), 1, *shape)
    nodes = [*nodes, make_node("ReduceSum", ["r", "axis"], ["h"])]
    data = model((nodes, {**constants, "axis": np.array([1])}, shape))
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    made = load_onnx(data).run(x.astype(np.float64))
    np.testing.assert_allclose(made.ravel(), expected.ravel(), atol=1e-5)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_older_files_have_axes_as_an_attribute(name: str) -> None:
    data = model(([make_node(name, ["x"], ["h"], axes=[-1], keepdims=0)], {}, (3, 4)), opset=11)
    x = np.abs(floats(np.random.default_rng(1), 1, 3, 4))
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    np.testing.assert_allclose(load_onnx(data).run(x.astype(np.float64)), expected, atol=1e-5)


def test_without_axes_all_or_none_are_reduced() -> None:
    both = [
        make_node("ReduceSum", ["x"], ["s"]),
        make_node("ReduceSum", ["x"], ["n"], noop_with_empty_axes=1),
    ]
    data = model(([*both, make_node("Sub", ["n", "s"], ["h"])], {}, (3, 4)))
    x = floats(np.random.default_rng(1), 1, 3, 4)
    np.testing.assert_allclose(load_onnx(data).run(x.astype(np.float64)), x - x.sum(), atol=1e-5)


@pytest.mark.parametrize(
    ("nodes", "constants", "code"),
    [
        ([make_node("ReduceSum", ["x", "a"], ["h"])], {"a": np.array([1, 1])}, "shape"),
        ([make_node("ReduceMax", ["x", "a"], ["h"])], {"a": np.array([4])}, "shape"),
        ([make_node("ReduceL1", ["x"], ["h"], noop_with_empty_axes=1)], {}, "unsupported_attribute"),
        ([make_node("Mod", ["x", "x"], ["h"])], {}, "unsupported_operator"),
        ([make_node("Resize", ["x", "", "s"], ["h"], mode="linear")], {"s": np.ones(2, np.float32)}, "shape"),
        (
            [make_node("BitShift", ["x", "k"], ["h"], direction="LEFT")],
            {"k": np.array(1 << 40)},
            "unsupported_attribute",
        ),
        ([make_node("Cast", ["x"], ["i"], to=7), *chain("ReduceMean i -> h")], {}, "tensor_type"),
        ([make_node("CumSum", ["x", "a"], ["h"])], {"a": np.array([1, 2])}, "shape"),
        ([make_node("CumSum", ["x", "a"], ["h"])], {"a": np.array(-4)}, "shape"),
        ([make_node("GlobalLpPool", ["x"], ["h"], p=0)], {}, "unsupported_attribute"),
        ([make_node("LpPool", ["x"], ["h"], kernel_shape=[2, 2])], {}, "shape"),
        (
            [make_node("MaxPool", ["x"], ["h"], kernel_shape=[2], dilations=[2], auto_pad="SAME_UPPER")],
            {},
            "unsupported_attribute",
        ),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(nodes: list[Any], constants: dict[str, Any], code: str) -> None:
    with refuses(f"model.{code}"):
        load_onnx(model((nodes, constants, (2, 3))))


# What proves something new: small, followed by nothing or by a layer.
PROVEN: Mapping[str, Case] = {
    "a quotient of integers": (
        [
            make_node("Cast", ["x"], ["i"], to=7),
            make_node("Slice", ["i", "b", "e", "a"], ["j"]),
            make_node("Div", ["i", "j"], ["h"]),
        ],
        {"b": np.array([1]), "e": np.array([2]), "a": np.array([1])},
        (2,),
    ),
    "a product": lines((3,), "Slice x s e a t -> c", "Mul x c -> h", s=[-1], e=[-9], a=[1], t=[-1]),
    "a rectified product": lines(
        (2, 2), "Slice x s e a -> c", "Mul x c -> p", "Relu p -> h", s=[1], e=[2], a=[2]
    ),
    "a smallest entry": ([make_node("ReduceMin", ["x", "a"], ["h"])], {"a": np.array([1])}, (2, 2)),
    "a norm": ([make_node("ReduceL2", ["x", "a"], ["h"])], {"a": np.array([2])}, (2, 2)),
    "sums so far": ([make_node("CumSum", ["x", "a"], ["h"])], {"a": np.array(1)}, (3,)),
    "the smaller": lines((2,), "Slice x s e a t -> c", "Min x c -> h", s=[-1], e=[-9], a=[1], t=[-1]),
    "a choice": lines(
        (3,), "Slice x s e a -> c", "Greater x c -> d", "Where d x c -> h", s=[1], e=[2], a=[1]
    ),
    "a quotient": lines((3,), "Slice x s e a -> c", "Exp c -> d", "Div x d -> h", s=[1], e=[2], a=[1]),
}


@pytest.mark.parametrize(
    ("name", "level", "weights"), spread(PROVEN, [each for each in SETTINGS if each[1] != "committed"])
)
def test_it_is_proven(name: str, level: Level, weights: Privacy) -> None:
    prove(PROVEN[name], level, weights)


def prove(case: Case, level: Level, weights: Privacy, bits: int = 3) -> None:
    """Rows, relations and the executor agree, and every wire that is moved is refused."""
    rng = np.random.default_rng(7)
    graph = load_onnx(model(case))
    network = quantise(graph, floats(rng, 32, *case[2]).astype(np.float64), bits)
    for reveal in ("label", "logits"):
        circuit = compile_inference(network, level=level, weight_privacy=weights, reveal=reveal)
        for q in networks.inputs(network, 3, 2):
            z = circuit.assign(q)
            assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
            assert broken(circuit.relations, held(circuit, z)) == []
            assert z[circuit.layout["label"][0]] == network.execute(q).label
    refuse_all_lies(circuit, q)


@pytest.mark.parametrize("level", [2, 5])
def test_there_is_one_whole_quotient(level: Level) -> None:
    rng = np.random.default_rng(7)
    graph = load_onnx(model(PROVEN["a quotient of integers"]))
    network = quantise(graph, floats(rng, 32, 2).astype(np.float64), 3)
    circuit = compile_inference(network, level=level)
    assert plan_inference(network, level=level).rows == circuit.constraint_system.constraints
    q = networks.inputs(network, 1, 2)[0]
    assert_unique(circuit.program, challenged(circuit.program, circuit.assign(q)))


def test_a_product_of_itself_is_a_table_and_one_of_two_costs_a_row_each() -> None:
    rng = np.random.default_rng(7)
    graph = load_onnx(model(lines((3,), "Relu x -> a", "Mul a x -> h")))
    assert not any(isinstance(node, Mul) for node in graph.nodes)
    network = quantise(load_onnx(model(PROVEN["a product"])), floats(rng, 9, 3).astype(np.float64))
    blocks = compile_inference(network).constraint_system.blocks
    assert [block.rows for block in blocks if block.name.startswith("mul1")] == [3]


def test_a_divisor_of_both_signs_is_refused() -> None:
    graph = load_onnx(
        model(lines((3,), "Sin x -> s", "Slice s b e a -> c", "Div x c -> h", b=[1], e=[2], a=[1]))
    )
    with refuses("model.scale", match="divides by zero"):
        quantise(graph, np.random.default_rng(1).normal(size=(64, 3)))


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with refuses("model.shape", match="combines the shapes"):
        load_onnx(model(lines((3, 2), "Slice x b e a -> c", "Mul x c -> h", b=[0], e=[2], a=[1])))


def test_comparisons_of_coarse_sums_have_two_sides() -> None:
    rng = np.random.default_rng(7)
    nodes = [*chain("Less x w -> c"), make_node("Cast", ["c"], ["h"], to=1)]
    graph = load_onnx(model((nodes, {"w": floats(rng, 4)}, (3, 4))))
    x = rng.normal(size=(64, 3, 4))
    network = quantise(graph, x, weight_bits=3)
    wrong = real(network, network.input.type.quantise(x)) != graph.run(x).reshape(64, -1)
    assert wrong.mean() < 0.02


@pytest.mark.parametrize("operator", ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"])
@pytest.mark.parametrize("first", [True, False])
def test_beside_infinity_all_computed_numbers_are_alike(operator: str, first: bool) -> None:
    """As an Attention that is written out asks of rows of scores whether all are masked."""
    nodes = [
        make_node(operator, ["x", "i"] if first else ["i", "x"], ["b"]),
        make_node("Cast", ["b"], ["c"], to=1),
        make_node("Add", ["x", "c"], ["y"]),
    ]
    data = make_model(nodes, {"i": np.array([[-np.inf], [np.inf]], np.float32)}, (1, 3))
    x = np.array([[1.0, -2.0, 0.0]], np.float32)
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    made = load_onnx(data, whole=True).run(x.astype(np.float64))
    np.testing.assert_array_equal(made.reshape(expected.shape), expected)
