"""Answers that are compared before anything is proven (``zenserve.circuits.comparison``)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

from zenserve.circuits import Graph, load_onnx, quantise
from zenserve.circuits.comparison import gaps
from zenserve.circuits.comparison.differences import Difference, require_near, sentence
from zenserve.circuits.comparison.files import compare_file, compare_model
from zenserve.circuits.comparison.integers import compare_integers, labels_shown
from zenserve.circuits.networks.stored import graph_from_bytes, graph_to_bytes
from zenserve.circuits.onnx import runtime
from zenserve.circuits.operators import ONNX
from zenserve.circuits.operators.activation import applied
from zenserve.errors import ModelError

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
BODY = "h = MatMul (x, w) t = Tanh (h) y = Softmax <axis = 1> (t)"
WEIGHTS = "float[4,3] w = {1, -2, 3, 0.5, 1, -1, 2, 0, 1, -1, 0.5, 2}"
SAMPLES = np.random.default_rng(0).normal(size=(24, 4))


def file(body: str = BODY, out: str = "float[1,3] y") -> bytes:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[1,4] x) => ({out}) <{WEIGHTS}> {{ {body} }}'
    model: bytes = onnx.parser.parse_model(text).SerializeToString()
    return model


def compared(data: bytes, *, own: bool = False) -> Difference:
    graph = load_onnx(data, whole=True)
    found = compare_file(graph, data, {}, gaps.chosen(graph, {"x": SAMPLES}), own=own)
    assert found is not None
    return found


def misread(monkeypatch: pytest.MonkeyPatch, operator: str, formula: str) -> None:
    """The operator as another function."""
    reads = replace(ONNX["", operator], read=lambda step: applied(step, formula))
    monkeypatch.setitem(ONNX, ("", operator), reads)


def test_a_file_that_is_read_right_is_near_and_says_beside_whom() -> None:
    found = compared(file())
    assert (found.stage, found.output, found.node, found.differing) == ("import", "y", None, 0.0)
    assert found.reference.startswith("onnxruntime ")
    assert found.samples == gaps.MAX_SAMPLES - 1
    assert 0 <= found.error < 1e-6
    require_near([found])


def test_a_node_that_is_read_as_another_function_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    misread(monkeypatch, "Tanh", "sigmoid(x)")
    found = compared(file())
    assert found.node == "node 't' (Tanh)"
    assert found.differing == 1.0
    with pytest.raises(ModelError, match=r"node 't' \(Tanh\).*--accept-difference") as refusal:
        require_near([found])
    assert (refusal.value.code, refusal.value.field) == ("model.differs", "accept_difference")


def test_where_programs_differ_either_may_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(data: Any) -> Any:
        return lambda fed, names: [np.zeros((1, 3)) for _ in names]

    monkeypatch.setitem(runtime._SESSIONS, "onnxruntime", other)
    found = compared(file())
    assert found.reference.startswith("onnx ")
    assert found.node is None


def test_a_program_that_is_absent_or_refuses_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(data: Any) -> Any:
        raise ImportError

    monkeypatch.setitem(runtime._SESSIONS, "onnxruntime", absent)
    assert compared(file()).reference.startswith("onnx ")
    monkeypatch.setitem(runtime._SESSIONS, "onnx", absent)
    assert compare_file(load_onnx(file()), file(), {}, {"x": SAMPLES}, own=False) is None


def test_one_to_be_proven_counts_as_all(monkeypatch: pytest.MonkeyPatch) -> None:
    data = file("h = MatMul (x, w) y = Relu (h)")
    misread(monkeypatch, "Relu", "max(x, 0.0) + less(3.9, x)")
    graph = load_onnx(data)
    far = np.zeros(4)
    far[0] = 2.0
    few = {"x": np.concatenate([far[np.newaxis], np.zeros((99, 4))])}
    assert compare_file(graph, data, {}, few, own=True).differing == 1.0  # type: ignore[union-attr]
    one = compare_file(graph, data, {}, few, own=False)
    assert one is not None
    assert (one.differing, one.node) == (0.01, None)
    assert [*gaps.chosen(graph, {"x": np.zeros((3, 4))}, {"x": far})["x"][:, 0]] == [2, 0, 0, 0]


def test_whole_numbers_are_the_same_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    data = file("h = MatMul (x, w) y = ArgMax <axis = 1> (h)", "int64[1,1] y")
    assert compared(data).error == 0
    graph = load_onnx(data, whole=True)
    right = graph.run(SAMPLES)
    wrong = np.where(np.arange(len(right))[:, np.newaxis] == 5, right + 1, right)
    found = compare_model("the model", {"y": wrong}, graph, {"x": SAMPLES}, own=False)
    assert found is not None
    assert (found.stage, found.differing, found.node) == ("export", 1 / 24, "y")
    assert compare_model("the model", {"other": wrong}, graph, {"x": SAMPLES}, own=False) is None


@pytest.mark.parametrize(("bits", "near"), [(8, True), (2, False)])
def test_integers_are_near_or_the_first_that_are_not_are_named(bits: int, near: bool) -> None:
    graph = load_onnx(file("h = MatMul (x, w) y = Tanh (h)"))
    qgraph = quantise(graph, SAMPLES, bits=bits)
    found = compare_integers(graph, qgraph, {"x": SAMPLES}, {}, own=False)
    assert (found.stage, found.measure, found.reference) == ("quantisation", "value", "the float network")
    assert (found.node is None) == near
    if not near:
        assert found.node is not None
        assert found.node.startswith("'dense1' (Dense")


def test_outputs_are_compared_by_as_many_labels_as_are_shown() -> None:
    graph = load_onnx(file("y = MatMul (x, w)"))
    qgraph = quantise(graph, SAMPLES, bits=8)
    close = np.array([[1.0, 0, 0, 0]])  # logits 1, -2, 3
    for ranked in (None, {"output": 1}, {"output": 3}):
        found = compare_integers(graph, qgraph, {"x": close}, ranked, own=True)
        assert (found.measure, found.differing) == ("label", 0.0)
    first, second = np.array([[3.0, 2, 1]]), np.array([[3.0, 1, 2]])
    assert not gaps.by_labels(first, second, 1).differs.any()
    assert gaps.by_labels(first, second, 2).differs.all()
    assert labels_shown({"a": "label", "b": "top", "c": "values"}, 4) == {"a": 1, "b": 4}


@pytest.mark.parametrize(
    ("expected", "found", "differs"),
    [
        ([np.nan, 1.0], [np.nan, 1.0], False),
        ([np.inf, 1.0], [np.inf, 1.0], False),
        ([np.inf, 1.0], [5.0, 1.0], True),
        ([0.0, 1.0], [np.nan, 1.0], True),
        ([100.0, 100.2], [100.1, 100.1], False),
        ([0.0, 0.0], [0.0, 1e-3], True),
        ([-np.inf, 1.0], [-3.4e38, 1.0], False),
    ],
)
def test_values_are_held_to_their_range_zero_included(
    expected: list[float], found: list[float], differs: bool
) -> None:
    gap = gaps.by_values(np.array([expected]), np.array([found]), 0.002)
    assert gap.differs.tolist() == [differs]
    made = Difference("import", "x", 1, "y", "value", gap.error, float(differs))
    json.dumps(made.to_json(), allow_nan=False)


def test_other_shapes_differ() -> None:
    assert gaps.by_values(np.zeros((2, 3)), np.zeros((2, 4)), 0.1).differs.all()


def test_refusals_quote_no_value() -> None:
    graph = load_onnx(file("h = MatMul (x, w) y = Tanh (h)"))
    qgraph = quantise(graph, SAMPLES, bits=1)
    with pytest.raises(ModelError) as refusal:
        require_near([compare_integers(graph, qgraph, {"x": SAMPLES[:1]}, {}, own=True)])
    for value in SAMPLES[0]:
        assert f"{value:.3f}" not in refusal.value.message


def test_words_are_the_places_of_classes() -> None:
    labels = np.array([["b"], ["a"]], dtype=object)
    assert runtime._numbers(labels, {"a": 0, "b": 1}).tolist() == [1, 0]
    assert runtime._numbers([{"a": 0.25, "b": 0.75}], {}).tolist() == [0.25, 0.75]


def test_words_of_a_difference() -> None:
    of_values = Difference("import", "onnxruntime 1", 1, "y", "value", 0.0123, 0.0).to_json()
    assert sentence(of_values) == (
        "beside onnxruntime 1, on one sample: values differ by at most 1.230% of their range"
    )
    of_labels = Difference("quantisation", "the float network", 16, "y", "label", 0.0625, 0.0).to_json()
    assert sentence(of_labels) == ("beside the float network, on 16 samples: another label for 6.25%")


def _digits() -> tuple[Graph, np.ndarray[Any, np.dtype[Any]]]:
    return load_onnx(DIGITS / "digits.onnx"), np.load(DIGITS / "calibration.npy")[:3]


def _formulas() -> tuple[Graph, np.ndarray[Any, np.dtype[Any]]]:
    return load_onnx(file(), whole=True), SAMPLES


@pytest.mark.parametrize("made", [_digits, _formulas])
def test_float_networks_are_themselves_again_from_bytes(made: Callable[[], Any]) -> None:
    graph, x = made()
    again = graph_from_bytes(graph_to_bytes(graph))
    assert graph_to_bytes(again) == graph_to_bytes(graph)
    np.testing.assert_array_equal(again.run(x), graph.run(x))
    assert (again.inputs, dict(again.outputs), again.integers) == (
        graph.inputs,
        dict(graph.outputs),
        graph.integers,
    )


def _of_words(*nodes: str) -> bytes:
    outs = "string[1] m" if len(nodes) == 2 else "string[1] m, string[1] n"
    text = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>'
    text += f" g (float[1,4] x) => ({outs}) {{ {' '.join(nodes)} }}"
    model: bytes = onnx.parser.parse_model(text).SerializeToString()
    return model


def _encoder(name: str, of: str, said: str) -> str:
    return f"{name} = ai.onnx.ml.LabelEncoder <{said}> ({of})"


LARGEST = "i = ArgMax <axis = 1, keepdims = 0> (x)"
KEYS = "keys_int64s = [0, 1, 2, 3]"
WORDED = {
    "a word for what has no key": _of_words(
        LARGEST, _encoder("m", "i", 'keys_int64s = [0, 1], values_strings = ["u", "v"]')
    ),
    "a word of its own for it": _of_words(
        LARGEST, _encoder("m", "i", 'keys_int64s = [0, 1], values_strings = ["u", "v"], default_string = "w"')
    ),
    "a word twice": _of_words(LARGEST, _encoder("m", "i", f'{KEYS}, values_strings = ["u", "v", "u", "w"]')),
    "two outputs of other words": _of_words(
        LARGEST,
        _encoder("m", "i", f'{KEYS}, values_strings = ["a", "b", "c", "d"]'),
        "j = ArgMin <axis = 1, keepdims = 0> (x)",
        _encoder("n", "j", f'{KEYS}, values_strings = ["d", "e", "f", "a"]'),
    ),
}


@pytest.mark.parametrize("name", WORDED)
def test_words_of_each_output_are_its_own(name: str) -> None:
    found = compared(WORDED[name])
    assert (found.reference.split()[0], found.error, found.node) == ("onnxruntime", 0.0, None)


def test_words_that_are_no_text_break_nothing() -> None:
    model = onnx.load_model_from_string(WORDED["a word twice"])
    (words,) = (each for each in model.graph.node[1].attribute if each.name == "values_strings")
    words.strings[0] = b"\xff"
    data = model.SerializeToString()
    compare_file(load_onnx(data, whole=True), data, {}, {"x": SAMPLES}, own=False)


@pytest.mark.parametrize("place", ["initializer", "branch", "constant", "function"])
def test_no_program_looks_for_tensors_of_bytes_in_other_files(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """onnxruntime takes them from the folder that it runs in, and the error would tell what they hold."""
    (tmp_path / "secret").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    monkeypatch.chdir(tmp_path)
    away = onnx.TensorProto(name="away", dims=[4], data_type=1, data_location=onnx.TensorProto.EXTERNAL)
    away.external_data.add(key="location", value="secret")
    model = onnx.load_model_from_string(file("y = MatMul (x, w)"))
    constant = onnx.helper.make_node("Constant", [], ["away"], value=away)
    if place == "initializer":
        model.graph.initializer.append(away)
    elif place == "constant":
        model.graph.node.append(constant)
    elif place == "branch":
        branch = onnx.helper.make_graph([], "b", [], [], [away])
        model.graph.node.append(onnx.helper.make_node("If", ["c"], ["z"], then_branch=branch))
    else:
        opsets = [onnx.helper.make_opsetid("", 17)]
        model.functions.append(onnx.helper.make_function("own", "f", [], ["away"], [constant], opsets))
    data, graph = model.SerializeToString(), load_onnx(file("y = MatMul (x, w)"))
    with pytest.raises(ModelError) as refusal:
        compare_file(graph, data, {}, {"x": SAMPLES}, own=False)
    assert refusal.value.code == "model.external_data"


def test_one_value_of_many_that_is_always_another_differs() -> None:
    """Of a hundred, one that is always the largest; rounding moves one here and another there."""
    right = np.random.default_rng(0).normal(size=(16, 100))
    wrong, moved = right.copy(), right.copy()
    wrong[:, 3] = 99
    moved[np.arange(16), 5 * np.arange(16)] = 99
    assert gaps.by_values(right, wrong, 0.002, strict=True).differs.all()
    assert not gaps.by_values(right, moved, 0.002, strict=True).differs.any()
    assert not gaps.by_values(right, wrong, 0.002).differs.any()
    assert not gaps.by_values(right[:1], wrong[:1], 0.002, strict=True).differs.any()


def test_an_export_of_many_outputs_of_which_one_is_another_is_refused() -> None:
    weights = np.random.default_rng(1).normal(size=(4, 100)).astype(np.float32)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [1, 4])],
        [onnx.helper.make_tensor_value_info("y", 1, [1, 100])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    opsets = [onnx.helper.make_opsetid("", 17)]
    read = load_onnx(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
    answers = read.run(SAMPLES).reshape(len(SAMPLES), 100)
    answers[:, 7] = 20
    found = compare_model("the model", {"y": answers}, read, {"x": SAMPLES}, own=False)
    with pytest.raises(ModelError, match=r"part at y"):
        require_near([each for each in [found] if each])


def test_nodes_that_nothing_reads_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnxruntime runs a loop of 2^40 steps that no output needs."""
    seen = list[bytes]()

    def session(data: Any) -> Any:
        seen.append(data)
        return lambda fed, names: [np.zeros((1, 3)) for _ in names]

    monkeypatch.setitem(runtime._SESSIONS, "onnxruntime", session)
    live, dead = file(), file(f"{BODY} z = Sin (h)")
    for data in (live, dead):
        [*runtime.answers(data, {"x": SAMPLES}, {}, ["y"], ["onnxruntime"])]
    assert seen[0] == live
    kept = onnx.load_model_from_string(seen[1])
    assert [node.op_type for node in kept.graph.node] == ["MatMul", "Tanh", "Softmax"]
