"""What scikit-learn's users export: as onnxruntime has it, and proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node

from tests.circuits.relation_checker import broken
from tests.circuits.support import answered, challenged, first_violation, held
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve.circuits import QuantGraph, compile_inference, load_onnx, quantise, tune
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.lowering import Level
from zenserve.circuits.operators.labels import QuantKeyed
from zenserve.circuits.quantisation import report
from zenserve.verifier.schemes import Privacy

Said = Mapping[str, Any]
FLOAT, INTEGER = TensorProto.FLOAT, TensorProto.INT64
VECTORS: Said = {
    "support_vectors": [0.0, 1.0, 1.0, 1.0, 2.0, 0.5, -1.0, 0.25, 0.5, -1.5],
    "kernel_params": [0.5, 0.25, 3.0],
}
THREE: Said = {
    **VECTORS,
    "vectors_per_class": [2, 1, 2],
    "coefficients": [0.5, 0.6, -1.0, 0.3, -0.2, 0.7, -0.4, 0.9, -0.8, 0.35],
    "rho": [0.1, -0.2, 0.05],
    "classlabels_ints": [3, 1, 8],
}
TWO: Said = {
    **VECTORS,
    "vectors_per_class": [3, 2],
    "coefficients": [0.5, 0.6, -1.0, 0.3, -0.2],
    "rho": [0.1],
    "classlabels_ints": [0, 1],
}
FIVE: Said = {**VECTORS, "coefficients": [0.5, 0.6, -1.0, 0.3, -0.2], "n_supports": 5}
LINEAR: Said = {"coefficients": [0.3, -0.1, 0.2, 0.4, -0.6, 0.1], "intercepts": [0.05, 0.0, -0.1]}
ONE: Said = {"coefficients": [0.3, -0.4], "intercepts": [0.05]}


def model(
    operator: str,
    said: Said,
    width: int = 2,
    outputs: int = 1,
    element: int = FLOAT,
    **constants: NDArray[Any],
) -> bytes:
    """Of one node, which reads "x" [batch, width] and the constants."""
    names = ["label", "scores"][-outputs:]
    node = make_node(operator, ["x", *constants], names, domain="ai.onnx.ml", **said)
    graph = helper.make_graph(
        [node],
        "test",
        [helper.make_tensor_value_info("x", element, ["batch", width])],
        [helper.make_empty_tensor_value_info(name) for name in names],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def agree(data: bytes, x: NDArray[Any]) -> Graph:
    """The typed graph, whose outputs must be onnxruntime's."""
    session = onnxruntime.InferenceSession(data)
    graph = load_onnx(data)
    made = graph.run_all(x.astype(np.float64), {*graph.outputs.values()})
    for name, tensor in graph.outputs.items():
        (expected,) = session.run([name], {"x": x})
        np.testing.assert_allclose(made[tensor].reshape(expected.shape), expected, atol=1e-5, rtol=1e-5)
    return graph


def inputs(width: int = 2, count: int = 64) -> NDArray[np.float32]:
    return np.random.default_rng(24).normal(size=(count, width)).astype(np.float32)


CLASSIFIERS: dict[str, tuple[str, Said]] = {
    **{
        f"linear, {kind}": (
            "LinearClassifier",
            {**LINEAR, "classlabels_ints": [4, 7, 2], "post_transform": kind},
        )
        for kind in ("NONE", "SOFTMAX", "LOGISTIC")
    },
    **{
        f"linear of one score, {kind}": (
            "LinearClassifier",
            {**ONE, "classlabels_ints": [4, 7], "multi_class": 0, "post_transform": kind},
        )
        for kind in ("NONE", "LOGISTIC")
    },
    **{
        f"vectors, {kind}": ("SVMClassifier", {**THREE, "kernel_type": kind})
        for kind in ("LINEAR", "RBF", "POLY", "SIGMOID")
    },
    "vectors of two classes": ("SVMClassifier", {**TWO, "kernel_type": "RBF"}),
    "vectors of two classes, LOGISTIC": (
        "SVMClassifier",
        {**TWO, "kernel_type": "RBF", "post_transform": "LOGISTIC"},
    ),
    "vectors without vectors": (
        "SVMClassifier",
        {
            "coefficients": LINEAR["coefficients"],
            "kernel_params": [0.5, 0.25, 3.0],
            "rho": [0.1],
            "classlabels_ints": [0, 1, 2],
        },
    ),
}
REGRESSORS: dict[str, tuple[str, Said]] = {
    "linear": ("LinearRegressor", {**ONE, "targets": 1}),
    "linear of three": ("LinearRegressor", {**LINEAR, "targets": 3, "post_transform": "LOGISTIC"}),
    **{
        f"vectors, {kind}": (
            "SVMRegressor",
            {**FIVE, "rho": [0.2], "kernel_type": kind},
        )
        for kind in ("LINEAR", "RBF", "POLY", "SIGMOID")
    },
    "one class": (
        "SVMRegressor",
        {**FIVE, "rho": [-0.3], "kernel_type": "RBF", "one_class": 1},
    ),
    "vectors without vectors": (
        "SVMRegressor", {"coefficients": [0.5, 0.6], "kernel_params": [0.5, 0.25, 3.0], "rho": [0.2]},
    ),
}  # fmt: skip
COLUMNS: dict[str, tuple[str, Said]] = {
    "a scaler": ("Scaler", {"offset": [0.5, -1.0, 2.0], "scale": [2.0, 0.5, 3.0]}),
    "a scaler of all": ("Scaler", {"offset": [0.5], "scale": [2.0]}),
    "a binarizer": ("Binarizer", {"threshold": 0.25}),
    "an imputer": (
        "Imputer",
        {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": float("nan")},
    ),
    "L1": ("Normalizer", {"norm": "L1"}),
    "L2": ("Normalizer", {"norm": "L2"}),
    "names": ("ZipMap", {"classlabels_int64s": [1, 2, 3]}),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_says_a_name_and_scores(name: str) -> None:
    operator, said = CLASSIFIERS[name]
    agree(model(operator, said, outputs=2), inputs())


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_says_values(name: str) -> None:
    agree(model(*REGRESSORS[name]), inputs())


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "names"])
def test_columns_become_what_they_do_in_onnxruntime(name: str) -> None:
    agree(model(*COLUMNS[name], width=3), inputs(3))


def test_rows_by_their_largest_entry() -> None:
    agree(model("Normalizer", {"norm": "MAX"}, width=3), np.abs(inputs(3)))


def test_probabilities_of_two_classes_are_platt_s() -> None:
    """onnxruntime stops its iteration a little before."""
    said = {**TWO, "kernel_type": "RBF", "prob_a": [-1.5], "prob_b": [0.2]}
    data, x = model("SVMClassifier", said, outputs=2), inputs()
    label, scores = onnxruntime.InferenceSession(data).run(None, {"x": x})
    graph = load_onnx(data)
    made = graph.run_all(x.astype(np.float64), {*graph.outputs.values()})
    np.testing.assert_array_equal(made[graph.outputs["label"]].ravel(), label)
    np.testing.assert_allclose(made[graph.outputs["scores"]], scores, atol=5e-3)


def test_names_of_classes_may_be_words_which_stay_places() -> None:
    words = model("LinearClassifier", {**LINEAR, "classlabels_strings": ["b", "c", "a"]}, outputs=2)
    numbers = model("LinearClassifier", {**LINEAR, "classlabels_ints": [0, 1, 2]}, outputs=2)
    made = [load_onnx(data) for data in (words, numbers)]
    x = inputs().astype(np.float64)
    places = [graph.run_all(x, {graph.outputs["label"]})[graph.outputs["label"]] for graph in made]
    np.testing.assert_array_equal(places[0], places[1])


def test_zipmap_leaves_scores() -> None:
    graph, x = load_onnx(model(*COLUMNS["names"], width=3)), inputs(3).astype(np.float64)
    np.testing.assert_array_equal(graph.run(x), x)


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ({"values_int64s": [10, -20, 5], "default_int64": 7}, [10, -20, 5]),
        ({"values_floats": [0.5, -2.0, 0.25], "default_float": 7.0}, [0.5, -2.0, 0.25]),
    ],
)  # fmt: skip
def test_whole_numbers_have_others_for_names(said: Said, values: Sequence[float]) -> None:
    x, keys = np.arange(6).reshape(2, 3), [4, 0, 2]
    said = {**said, "keys_int64s": keys}
    graph = agree(labelled := model("LabelEncoder", said, 3, element=INTEGER), x)
    network = quantise(load_onnx(labelled), x)
    made = network.scale_of(network.output)
    assert made is not None
    found = made[0] * (network.run(x) - made[1])
    expected = np.vectorize(lambda key: dict(zip(keys, values, strict=True)).get(key, 7.0))(x)
    np.testing.assert_allclose(found, expected, atol=0.02 if "values_floats" in said else 0)
    assert graph.inputs[0].values == "integer"


def test_categories_become_columns() -> None:
    x = np.arange(8).reshape(4, 2)
    agree(model("OneHotEncoder", {"cats_int64s": [5, 0, 3]}, element=INTEGER), x)


def test_a_whole_number_may_stand_for_what_is_missing() -> None:
    said = {"imputed_value_int64s": [3], "replaced_value_int64": 7}
    graph, x = load_onnx(model("Imputer", said, element=INTEGER)), np.array([[7, 1], [2, 7]])
    np.testing.assert_array_equal(graph.run(x.astype(np.float64)), [[3, 1], [2, 3]])


def test_rows_are_joined_and_columns_taken() -> None:
    node = make_node("FeatureVectorizer", ["x", "x"], ["h"], domain="ai.onnx.ml", inputdimensions=[3, 3])
    taken = make_node("ArrayFeatureExtractor", ["h", "at"], ["scores"], domain="ai.onnx.ml")
    graph = helper.make_graph(
        [node, taken],
        "test",
        [helper.make_tensor_value_info("x", FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info("scores", FLOAT, None)],
        [numpy_helper.from_array(np.array([4, 0, 4]), "at")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    data = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    agree(bytes(data), inputs(3))


PROVEN: dict[str, tuple[str, Said, int]] = {
    "a linear classifier": ("LinearClassifier", {**ONE, "classlabels_ints": [4, 7]}, 2),
    "vectors": ("SVMClassifier", {**THREE, "kernel_type": "POLY"}, 2),
    "distances": ("SVMRegressor", {**REGRESSORS["vectors, RBF"][1]}, 1),
    "norms": ("Normalizer", {"norm": "L1"}, 1),
}


def network_of(name: str, bits: int = 4) -> tuple[QuantGraph, NDArray[Any]]:
    operator, said, outputs = PROVEN[name]
    x = inputs(count=16).astype(np.float64)
    return quantise(load_onnx(model(operator, said, outputs=outputs)), x, bits), x


@pytest.mark.parametrize("name", PROVEN)
@pytest.mark.parametrize(("level", "weights"), [(2, "public"), (5, "public"), (5, "private")])
def test_it_is_proven(name: str, level: Level, weights: Privacy) -> None:
    graph, x = network_of(name)
    circuit = compile_inference(graph, weight_privacy=weights, level=level, reveal="values")
    q = graph.quantise_input(x[3])
    z = answered(circuit.program, circuit.assign(q))
    assert first_violation(circuit.constraint_system, z) is None
    assert broken(circuit.relations, held(circuit, z)) == []
    refuse_all_lies(circuit, q)


def test_labels_are_judged_by_the_scores_beside_the_names() -> None:
    operator, said = CLASSIFIERS["linear, SOFTMAX"]
    graph, x = load_onnx(model(operator, said, outputs=2)), inputs().astype(np.float64)
    scores = graph.run_all(x, {graph.outputs["scores"]})[graph.outputs["scores"]]
    labels = scores.argmax(axis=1)
    labels[:8] = (labels[:8] + 1) % 3
    tuned = tune(graph, x, labels=labels)
    found = report(graph, tuned.qgraph, x, labels)
    assert (tuned.measure, found.float_accuracy) == ("accuracy", 1 - 8 / 64)
    assert found.accuracy is not None
    assert found.float_accuracy is not None
    assert abs(found.accuracy - found.float_accuracy) < 0.05
    assert found.agreement is not None
    with refuses("input.out_of_range", match="0 to 2"):
        report(graph, tuned.qgraph, x, labels + 1)


def test_a_name_is_the_only_one() -> None:
    graph, x = network_of("a linear classifier")
    (node,) = (node for node in graph.nodes if isinstance(node, QuantKeyed))
    assert (node.output.scale, sorted({*node.values.tolist()})) == (1.0, [4, 7])
    assert QuantGraph.from_bytes(graph.to_bytes()).to_bytes() == graph.to_bytes()
    circuit = compile_inference(graph, reveal="values")
    assert_unique(circuit.program, challenged(circuit.program, circuit.assign(graph.quantise_input(x[3]))))


SHAPE, ATTRIBUTE, NOT_FINITE = "shape", "unsupported_attribute", "not_finite"


@pytest.mark.parametrize(
    ("operator", "said", "code"),
    [
        ("LinearClassifier", {**LINEAR, "classlabels_ints": [1, 2]}, SHAPE),
        ("LinearClassifier", LINEAR, ATTRIBUTE),
        ("LinearClassifier", {**LINEAR, "coefficients": [0.5] * 5, "classlabels_ints": [1, 2, 3]}, SHAPE),
        ("LinearClassifier", {**LINEAR, "classlabels_ints": [1, 2, 3], "post_transform": "X"}, ATTRIBUTE),
        ("LinearRegressor", {**LINEAR, "targets": 1 << 40}, SHAPE),
        ("LinearRegressor", {**LINEAR, "targets": -3}, SHAPE),
        ("LinearRegressor", {"coefficients": [float("nan")] * 2}, NOT_FINITE),
        ("SVMClassifier", {**THREE, "vectors_per_class": [2, 3]}, SHAPE),
        ("SVMClassifier", {**THREE, "vectors_per_class": [-2, 3, 4]}, SHAPE),
        ("SVMClassifier", {**THREE, "kernel_type": "OTHER"}, ATTRIBUTE),
        ("SVMClassifier", {**THREE, "kernel_type": "POLY", "kernel_params": [1.0, 0.0, 0.5]}, ATTRIBUTE),
        ("SVMClassifier", {**THREE, "kernel_type": "RBF", "kernel_params": [-1.0, 0.0, 3.0]}, ATTRIBUTE),
        ("SVMClassifier", {**THREE, "prob_a": [1.0] * 3, "prob_b": [1.0] * 3}, ATTRIBUTE),
        ("SVMRegressor", {**VECTORS, "coefficients": [0.5], "n_supports": 7, "rho": [0.2]}, SHAPE),
        ("SVMRegressor", {**VECTORS, "coefficients": [0.5], "n_supports": -1, "rho": [0.2]}, SHAPE),
        ("Scaler", {"offset": [1.0, 2.0, 3.0], "scale": [1.0]}, SHAPE),
        ("Scaler", {"offset": [1.0], "scale": [float("inf")]}, NOT_FINITE),
        ("Normalizer", {"norm": "L3"}, ATTRIBUTE),
        ("Imputer", {"imputed_value_floats": [1.0], "replaced_value_float": -1.0}, ATTRIBUTE),
        ("Binarizer", {"threshold": float("nan")}, ATTRIBUTE),
        ("FeatureVectorizer", {"inputdimensions": [3]}, SHAPE),
        ("OneHotEncoder", {"cats_int64s": [1, 1]}, ATTRIBUTE),
        ("OneHotEncoder", {"cats_strings": ["a"]}, ATTRIBUTE),
        ("OneHotEncoder", {"cats_int64s": [1, 2], "zeros": 0}, ATTRIBUTE),
        ("LabelEncoder", {"keys_int64s": [1, 2], "values_int64s": [1]}, SHAPE),
        ("LabelEncoder", {"keys_int64s": [1, 1], "values_int64s": [1, 2]}, SHAPE),
        ("LabelEncoder", {"keys_floats": [0.5], "values_int64s": [1]}, ATTRIBUTE),
        ("LabelEncoder", {"keys_int64s": [1], "values_floats": [float("nan")]}, ATTRIBUTE),
        ("ZipMap", {"classlabels_int64s": [1, 2, 3]}, SHAPE),
    ],
    ids=str,
)  # fmt: skip
def test_what_makes_no_sense_is_refused(operator: str, said: Said, code: str) -> None:
    outputs = 2 if operator.endswith("Classifier") else 1
    with refuses(f"model.{code}"):
        load_onnx(model(operator, said, outputs=outputs))


@pytest.mark.parametrize("place", [2, -1])
def test_columns_that_are_not_there_are_refused(place: int) -> None:
    with refuses("model.shape", match="outside"):
        load_onnx(model("ArrayFeatureExtractor", {}, at=np.array([place])))
