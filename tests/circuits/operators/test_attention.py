"""Attention in one node, rotary positions, onnxruntime's joined normalisations: as onnxruntime has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.helper import make_node
from onnx.reference import ReferenceEvaluator

from tests.circuits.support import answered, challenged, first_violation, make_model
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve.circuits import compile_inference, load_onnx, quantise
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.lowering import Level
from zenserve.errors import ModelError

RNG = np.random.default_rng(5)
# The inputs of a node by name, constants where they are arrays, their shapes where they are computed; and the
# node's attributes.
Case = tuple[str, Mapping[str, Any], Mapping[str, Any]]


def floats(*shape: int) -> NDArray[np.float32]:
    return RNG.normal(size=shape).astype(np.float32)


def file(domain: str, case: Case, outputs: int = 1, opset: int = 23) -> bytes:
    name, inputs, said = case
    computed = {key: shape for key, shape in inputs.items() if isinstance(shape, tuple)}
    read = ["" if value is None else key for key, value in inputs.items()]
    whole = TensorProto.INT32 if domain else TensorProto.INT64
    graph = helper.make_graph(
        [helper.make_node(name, read, ["y", *(f"y{i}" for i in range(1, outputs))], domain=domain, **said)],
        "test",
        [
            helper.make_tensor_value_info(key, whole if key == "lengths" else TensorProto.FLOAT, shape)
            for key, shape in computed.items()
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(np.asarray(value), key)
            for key, value in inputs.items()
            if value is not None and key not in computed
        ],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())


def given(data: bytes, count: int = 24) -> dict[str, NDArray[Any]]:
    """Samples of the inputs, lengths from 1 to 3."""
    graph = load_onnx(data)
    return {
        entry.name: RNG.integers(1, 4, (count, *entry.shape)).astype(np.float64)
        if entry.values != "real"
        else RNG.normal(size=(count, *entry.shape))
        for entry in graph.inputs
    }


def agrees(data: bytes, expected: Any, x: Mapping[str, NDArray[Any]]) -> Graph:
    """In floats what ``expected`` computes for one sample, in integers nearly."""
    shapes = {
        each.name: [axis.dim_value for axis in each.type.tensor_type.shape.dim]
        for each in ModelProto.FromString(data).graph.input
    }
    kinds = {name: np.int32 if name == "lengths" else np.float32 for name in shapes}
    shown = [
        expected({name: value[i].reshape(shapes[name]).astype(kinds[name]) for name, value in x.items()})
        for i in range(len(next(iter(x.values()))))
    ]
    wanted = np.array([each.ravel() for each in shown])
    graph = load_onnx(data)
    np.testing.assert_allclose(graph.run(x).reshape(wanted.shape), wanted, atol=2e-5)
    network = quantise(graph, x, 10)
    q = {
        entry: network.entries[entry].type.quantise(value.astype(np.float64))
        for entry, value in _named(network.entries, x).items()
    }
    assert network.output_scale
    scale, zero = network.output_scale
    assert np.abs(scale * (network.run(q) - zero) - wanted).max() < 0.03 * np.ptp(wanted)
    return graph


def _named(entries: Mapping[str, Any], x: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return dict(zip(entries, x.values(), strict=True))


def in_onnxruntime(data: bytes) -> Any:
    session = onnxruntime.InferenceSession(data)
    return lambda one: session.run(["y"], dict(one))[0]


TURNS = np.array([[[0.8, 0.6], [-0.6, 0.8]]], np.float32)
HEADS: dict[str, tuple[int, ...]] = {"q": (1, 4, 3, 4), "k": (1, 2, 5, 4), "v": (1, 2, 5, 6)}
BAND = np.tri(3, 5, 1, dtype=np.bool_)
ONNX: Mapping[str, Case] = {
    "grouped heads": ("Attention", HEADS, {}),
    "causal, of a scale": ("Attention", HEADS, {"is_causal": 1, "scale": 0.25}),
    "a cap and a mask of booleans": ("Attention", {**HEADS, "m": BAND}, {"softcap": 2.0}),
    "a mask of numbers": (
        "Attention",
        {**HEADS, "m": np.where(BAND, floats(3, 5), -np.inf).astype(np.float32)},
        {},
    ),
    "a mask that is computed": ("Attention", {**HEADS, "m": (3, 5)}, {}),
    "joined heads": (
        "Attention",
        {"q": (1, 3, 8), "k": (1, 5, 4), "v": (1, 5, 4)},
        {"q_num_heads": 4, "kv_num_heads": 2},
    ),
    "turned": ("RotaryEmbedding", {"q": (1, 2, 3, 6), "c": floats(1, 3, 3), "s": floats(1, 3, 3)}, {}),
    "turned in part, by places": (
        "RotaryEmbedding",
        {"q": (1, 3, 12), "c": floats(9, 2), "s": floats(9, 2), "p": np.array([[7, 0, 2]])},
        {"interleaved": 1, "num_heads": 2, "rotary_embedding_dim": 4},
    ),
}


@pytest.mark.parametrize("name", ONNX)
def test_onnx_agrees_with_its_reference(name: str) -> None:
    data = file("", ONNX[name])
    agrees(data, in_reference(data), given(data))


def in_reference(data: bytes) -> Any:
    evaluator = ReferenceEvaluator(data)

    def reference(one: dict[str, Any]) -> Any:
        found: Any = evaluator.run(["y"], one)
        return found[0]

    return reference


THREE = {"q": (1, 3, 8), "k": (1, 4, 8), "v": (1, 4, 8)}
PACKED = {"x": (1, 4, 6), "w": floats(6, 24), "b": floats(24)}
CACHES = {"c": floats(8, 8), "s": floats(8, 8)}
MICROSOFT: Mapping[str, Case] = {
    "packed": ("Attention", PACKED, {"num_heads": 2}),
    "packed and causal": ("Attention", PACKED, {"num_heads": 2, "unidirectional": 1}),
    "packed, of a length": ("Attention", {**PACKED, "lengths": (1,)}, {"num_heads": 4}),
    "packed, of a constant mask": (
        "Attention",
        {**PACKED, "m": np.array([[1, 1, 0, 1]], np.int32)},
        {"num_heads": 2},
    ),
    "several heads": ("MultiHeadAttention", {**THREE, "b": floats(24)}, {"num_heads": 2, "scale": 0.5}),
    "several heads and numbers for scores": (
        "MultiHeadAttention",
        {**THREE, "b": None, "m": None, "t": floats(1, 2, 3, 4)},
        {"num_heads": 2},
    ),
    "grouped heads": (
        "GroupQueryAttention",
        {
            "q": (1, 3, 64),
            "k": (1, 3, 32),
            "v": (1, 3, 32),
            "pk": None,
            "pv": None,
            "n": np.array([2], np.int32),
            "t": np.array(3, np.int32),
            **CACHES,
        },
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1},
    ),
    "turned": (
        "RotaryEmbedding",
        {"q": (1, 2, 3, 16), "p": np.array([[5, 1, 0]]), **CACHES},
        {"interleaved": 1},
    ),
    "skipped": (
        "SkipLayerNormalization",
        {"x": (1, 3, 4), "k": (1, 3, 4), "g": floats(4), "b": floats(4), "c": floats(4)},
        {},
    ),
    "skipped, not centred": (
        "SkipSimplifiedLayerNormalization",
        {"x": (1, 3, 4), "k": (1, 3, 4), "g": floats(4)},
        {},
    ),
    "a product, turned": (
        "FusedMatMul",
        {"x": (1, 4, 3), "w": floats(5, 4)},
        {"transA": 1, "transB": 1, "alpha": 0.5},
    ),
    "a gelu with a bias": ("BiasGelu", {"x": (1, 3, 4), "b": floats(4)}, {}),
    "a fast gelu": ("FastGelu", {"x": (1, 3, 4), "b": floats(4)}, {}),
}


@pytest.mark.parametrize("name", MICROSOFT)
def test_onnxruntimes_own_agree_with_it(name: str) -> None:
    case = MICROSOFT[name]
    data = file("com.microsoft", case, outputs=3 if case[0] == "GroupQueryAttention" else 1, opset=17)
    agrees(data, in_onnxruntime(data), given(data))


PROVEN: Mapping[str, tuple[str, Case]] = {
    "heads of one key, causal": (
        "",
        ("Attention", {"q": (1, 2, 2, 1), "k": (1, 1, 2, 1), "v": (1, 1, 2, 1)}, {"is_causal": 1}),
    ),
    "turned": (
        "",
        ("RotaryEmbedding", {"q": (1, 1, 2, 2), "c": TURNS[:, :, :1], "s": TURNS[:, :, 1:]}, {}),
    ),
    "packed, of a length": (
        "com.microsoft",
        (
            "Attention",
            {"x": (1, 2, 1), "w": np.ones((1, 3), np.float32), "b": np.zeros(3, np.float32), "lengths": (1,)},
            {"num_heads": 1},
        ),
    ),
    "a mask that is computed": (
        "",
        ("Attention", {"q": (1, 1, 2, 1), "k": (1, 1, 2, 1), "v": (1, 1, 2, 1), "m": (2, 2)}, {}),
    ),
    "skipped": (
        "com.microsoft",
        (
            "SkipLayerNormalization",
            {"x": (1, 1, 2), "k": (1, 1, 2), "g": np.ones(2, np.float32), "b": np.zeros(2, np.float32)},
            {},
        ),
    ),
}


@pytest.mark.parametrize(
    ("name", "level"),
    [
        pytest.param(name, level, marks=() if level == 5 else pytest.mark.large)
        for name in PROVEN
        for level in (2, 5)
    ],
)
def test_every_wire_is_bound_and_has_one_value(name: str, level: Level) -> None:
    domain, case = PROVEN[name]
    data = file(domain, case, opset=17 if domain else 23)
    x = given(data)
    network = quantise(load_onnx(data), x, 3)
    circuit = compile_inference(network, reveal="values", level=level)
    q = network.quantise_inputs(
        {name: value[1] for name, value in _named(network.entries, x).items()}, saturate=True
    )
    z = circuit.assign(q)
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    refuse_all_lies(circuit, q)
    assert_unique(circuit.program, challenged(circuit.program, z))


def test_rows_of_three_tables_are_added_and_normalised() -> None:
    tables = {"w": floats(7, 4), "p": floats(5, 4), "t": floats(2, 4), "g": floats(4), "b": floats(4)}
    case: Case = (
        "EmbedLayerNormalization",
        {"lengths": (1, 3), "s": np.array([[0, 0, 1]], np.int32), **tables},
        {},
    )
    data = file("com.microsoft", case, outputs=2, opset=17)
    agrees(data, in_onnxruntime(data), given(data))


@pytest.mark.parametrize(
    ("domain", "case", "words"),
    [
        ("", ("Attention", {**HEADS, "m": None, "pk": (1, 2, 1, 5), "pv": (1, 2, 1, 6)}, {}), "behind"),
        (
            "",
            ("Attention", {**HEADS, **dict.fromkeys(("m", "pk", "pv")), "n": np.ones((2, 2), np.int64)}, {}),
            "lengths",
        ),
        ("", ("Attention", {"q": (1, 3, 8), "k": (1, 3, 8), "v": (1, 3, 8)}, {}), "into 0 heads"),
        ("", ("Attention", {**HEADS, "v": (1, 2, 4, 6)}, {}), "attends from"),
        (
            "com.microsoft",
            ("Attention", {**PACKED, "m": np.zeros((1, 4), np.int32)}, {"num_heads": 2}),
            "leaves a query no key",
        ),
        (
            "",
            ("RotaryEmbedding", {"q": (1, 2, 3, 6), "c": floats(2, 3), "s": floats(2, 3)}, {}),
            "3 positions of 2",
        ),
        ("com.microsoft", ("MultiHeadAttention", {"q": (1, 3, 24)}, {"num_heads": 2}), "split them"),
        (
            "com.microsoft",
            ("Attention", {**PACKED, "m": np.ones((1, 3), np.int32)}, {"num_heads": 2}),
            "for 4 keys",
        ),
        (
            "com.microsoft",
            ("FusedMatMul", {"x": (1, 4, 3), "w": floats(3, 4)}, {"transBatchA": 1}),
            "turns a batch",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_has_no_circuit_is_refused(domain: str, case: Case, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        load_onnx(file(domain, case))


@pytest.mark.parametrize("positions", ["of each sample", "in the caches", "of 3 axes"])
@pytest.mark.parametrize("interleaved", [0, 1])
def test_each_sample_of_a_batch_is_turned_by_its_own_positions(positions: str, interleaved: int) -> None:
    rng = np.random.default_rng(3)
    shape = (2, 3, 8) if positions == "of 3 axes" else (2, 2, 3, 4)
    weights: dict[str, Any] = {
        name: rng.normal(size=(2, 3, 2) if positions == "in the caches" else (6, 2)).astype(np.float32)
        for name in ("c", "s")
    }
    if positions != "in the caches":
        weights["p"] = np.array([[0, 1, 2], [3, 5, 4]])
    heads: dict[str, Any] = {"num_heads": 2} if positions == "of 3 axes" else {}
    node = make_node("RotaryEmbedding", ["x", *weights], ["y"], interleaved=interleaved, **heads)
    data = make_model([node], weights, shape, opset=23)
    x = rng.normal(size=shape).astype(np.float32)
    made_there: Any = ReferenceEvaluator(data).run(None, {"x": x})
    made = load_onnx(data, whole=True).run(x.astype(np.float64)[np.newaxis])
    np.testing.assert_allclose(made[0].reshape(shape), made_there[0], atol=1e-5)


def test_positions_of_another_number_of_tokens_are_refused() -> None:
    weights = {"c": np.ones((6, 2), np.float32), "s": np.ones((6, 2), np.float32), "p": np.array([[0, 1]])}
    node = make_node("RotaryEmbedding", ["x", *weights], ["y"])
    with refuses("model.shape", match="2 positions for 2 samples of 3 tokens"):
        load_onnx(make_model([node], weights, (2, 2, 3, 4), opset=23))


LATE = np.random.default_rng(6)
NEWER: Mapping[str, Case] = {
    "a mask that leaves a query no key": ("Attention", {**HEADS, "m": np.tri(3, 5, -1, dtype=np.bool_)}, {}),
    "a mask of the first keys": ("Attention", {**HEADS, "m": BAND[:, :3]}, {}),
    "keys and values of before": (
        "Attention",
        {**HEADS, "m": None, "pk": (1, 2, 2, 4), "pv": LATE.normal(size=(1, 2, 2, 6)).astype(np.float32)},
        {"is_causal": 1},
    ),
    "a window": ("Attention", HEADS, {"left_window_size": 1, "right_window_size": 0}),
    "causal, of a length": (
        "Attention",
        {**HEADS, "m": None, "pk": None, "pv": None, "n": np.array([4])},
        {"is_causal": 1},
    ),
    "causal, of a length that is computed": (
        "Attention",
        {**HEADS, "k": (1, 2, 3, 4), "v": (1, 2, 3, 6), "m": None, "pk": None, "pv": None, "lengths": (1,)},
        {"is_causal": 1},
    ),
    "turned by places that are computed": (
        "RotaryEmbedding",
        {
            "q": (1, 2, 3, 6),
            **{name: LATE.normal(size=(4, 3)).astype(np.float32) for name in "cs"},
            "lengths": (1, 3),
        },
        {},
    ),
}


@pytest.mark.parametrize("name", NEWER)
def test_newer_forms_agree_with_the_reference(name: str) -> None:
    """Of earlier keys, windows, lengths of each sample, and masks that are shorter or keep nothing."""
    windows = "left_window_size" in NEWER[name][2]
    data = file("", NEWER[name], opset=25 if windows else 24 if "of a length" in name else 23)
    agrees(data, in_reference(data), given(data))


@pytest.mark.parametrize("mode", [0, 1, 3])
def test_scores_are_shown(mode: int) -> None:
    case: Case = ("Attention", {**HEADS, "m": BAND}, {"softcap": 2.0, "qk_matmul_output_mode": mode})
    data = file("", case, outputs=4).replace(b"\x02y3", b"\x02y3")
    model = ModelProto.FromString(data)
    model.graph.output[0].name = "y3"
    data = model.SerializeToString()
    x = wide(data)
    given_ = {name: value[0].astype(np.float32) for name, value in x.items()}
    (expected,) = onnxruntime.InferenceSession(data).run(None, given_)
    made = load_onnx(data).run({name: value[:, 0] for name, value in x.items()})
    np.testing.assert_allclose(made.ravel(), expected.ravel(), atol=1e-5)


def test_scores_that_are_infinite_are_not() -> None:
    case: Case = ("Attention", {**HEADS, "m": BAND}, {"qk_matmul_output_mode": 2})
    model = ModelProto.FromString(file("", case, outputs=4))
    model.graph.output[0].name = "y3"
    with refuses("model.unsupported_attribute", match="infinite"):
        load_onnx(model.SerializeToString())


def wide(data: bytes) -> dict[str, NDArray[Any]]:
    """One sample of each input, [1, 1, *shape]."""
    rng = np.random.default_rng(8)
    graph = load_onnx(data)
    return {entry.name: rng.normal(size=(1, 1, *entry.shape)) for entry in graph.inputs}
