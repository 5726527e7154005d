"""Trees as files have them: as onnxruntime reads them, and as exporters write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import zenserve
from tests.circuits.support import answered, first_violation
from tests.refusals import refuses
from zenserve.circuits import Graph, QuantGraph, compile_inference, load_onnx, quantise
from zenserve.circuits.operators.forest import Forest, QuantForest
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.schemes.inference import all_shown

ML = "ai.onnx.ml"
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def model(operator: str, outputs: list[tuple[str, int]], features: int = 3, **said: Any) -> bytes:
    node = helper.make_node(operator, ["x"], [name for name, _ in outputs], domain=ML, **said)
    graph = helper.make_graph(
        [node],
        "trees",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, features])],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
    )
    version = 5 if operator == "TreeEnsemble" else 3
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, version)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())


def trees(
    prefix: str, targets: int, count: int = 4, mode: str = "BRANCH_LEQ", seed: int = 1
) -> dict[str, Any]:
    """Trees of two levels, nodes 0 to 2 and leaves 3 to 6, all of whose leaves count for all targets."""
    rng, inner = np.random.default_rng(seed), 3
    said: dict[str, Any] = {
        "nodes_treeids": np.repeat(np.arange(count), 7),
        "nodes_nodeids": np.tile(np.arange(7), count),
        "nodes_featureids": rng.integers(0, 3, 7 * count),
        "nodes_values": rng.integers(-2, 3, 7 * count).astype(float),
        "nodes_truenodeids": np.tile([1, 3, 5, 0, 0, 0, 0], count),
        "nodes_falsenodeids": np.tile([2, 4, 6, 0, 0, 0, 0], count),
        f"{prefix}_treeids": np.repeat(np.arange(count), 4 * targets),
        f"{prefix}_nodeids": np.tile(np.repeat(np.arange(inner, 7), targets), count),
        f"{prefix}_ids": np.tile(np.arange(targets), 4 * count),
        f"{prefix}_weights": rng.normal(size=4 * targets * count),
    }
    return {"nodes_modes": ([mode] * 3 + ["LEAF"] * 4) * count} | {
        name: v.tolist() for name, v in said.items()
    }


def regressor(targets: int = 2, **said: Any) -> bytes:
    mode, seed = said.pop("mode", "BRANCH_LEQ"), said.pop("seed", 1)
    given = {**trees("target", targets, mode=mode, seed=seed), "n_targets": targets, **said}
    return model("TreeEnsembleRegressor", [("y", TensorProto.FLOAT)], **given)


def classifier(classes: int, *, alone: int | None = None, **said: Any) -> bytes:
    """``alone``: the one class of two that leaves count for."""
    given = trees("class", 1 if alone is not None else classes)
    if alone is not None:
        given["class_ids"] = [alone] * len(given["class_ids"])
    given |= {"classlabels_int64s": [*range(classes)], **said}
    given = {name: value for name, value in given.items() if value is not None}
    return model("TreeEnsembleClassifier", [("l", TensorProto.INT64), ("p", TensorProto.FLOAT)], **given)


def places(**said: Any) -> bytes:
    """As TreeEnsemble has it: two trees, a node that leads to a node and a leaf, and one of two leaves."""
    doubles = {
        "nodes_splits": [0.5, -1.0, 1.0],
        "leaf_weights": [1.5, -2.0, 0.25, 4.0, 3.0],
    }
    given: dict[str, Any] = {
        **{name: helper.make_tensor(name, TensorProto.FLOAT, [len(v)], v) for name, v in doubles.items()},
        "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [3], [0, 1, 2]),
        "tree_roots": [0, 2],
        "nodes_featureids": [0, 1, 2],
        "nodes_truenodeids": [1, 0, 3],
        "nodes_trueleafs": [0, 1, 1],
        "nodes_falsenodeids": [1, 2, 4],
        "nodes_falseleafs": [1, 1, 1],
        "leaf_targetids": [0, 1, 0, 0, 1],
        "n_targets": 2,
        **said,
    }
    # The first node's other leaf, and the second node's own.
    given["nodes_truenodeids"], given["nodes_falsenodeids"] = [1, 0, 3], [2, 1, 4]
    given = {name: value for name, value in given.items() if value is not None}
    return model("TreeEnsemble", [("y", TensorProto.FLOAT)], **given)


def members(modes: list[int], values: list[float]) -> dict[str, Any]:
    """Modes of nodes, and the sets of those that ask for members."""
    return {
        "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [len(modes)], modes),
        "membership_values": helper.make_tensor("v", TensorProto.FLOAT, [len(values)], values),
    }


def inputs(features: int = 3, count: int = 60) -> Any:
    """Of halves, so that many equal a threshold."""
    return np.random.default_rng(2).integers(-6, 7, (count, features)).astype(np.float32) / 2


def agree(data: bytes, x: Any, *, labels: bool = True) -> Graph:
    """The typed graph, whose outputs are onnxruntime's."""
    session = onnxruntime.InferenceSession(data)
    expected = dict(
        zip((each.name for each in session.get_outputs()), session.run(None, {"x": x}), strict=True)
    )
    graph = load_onnx(data)
    made = graph.run_all(x.astype(np.float64), {*graph.outputs.values()})
    for name, tensor in graph.outputs.items():
        if labels or name != "l":
            found = made[tensor].reshape(len(x), -1)
            np.testing.assert_allclose(found, expected[name].reshape(len(x), -1), atol=1e-5)
    return graph


@pytest.mark.parametrize("mode", MODES)
def test_a_node_asks_what_its_mode_says(mode: str) -> None:
    """Of integers, too: of numbers that equal thresholds."""
    x = inputs()
    graph = agree(regressor(mode=mode), x)
    network = quantise(graph, x.astype(np.float64))
    got = network.run(network.input.type.quantise(x.astype(np.float64)))
    assert network.output_scale
    np.testing.assert_allclose(got * network.output_scale[0], graph.run(x.astype(np.float64)), atol=1e-3)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_trees_are_aggregated(aggregate: str) -> None:
    agree(regressor(aggregate_function=aggregate), inputs())
    agree(regressor(aggregate_function=aggregate, base_values=[0.5, -2.0]), inputs())


@pytest.mark.parametrize("kind", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
def test_scores_become_what_the_file_says(kind: str) -> None:
    agree(classifier(3, post_transform=kind), inputs())
    agree(classifier(3, post_transform=kind, base_values=[0.5, -0.5, 0.25]), inputs())
    agree(regressor(post_transform=kind), inputs())


@pytest.mark.parametrize("kind", ["NONE", "LOGISTIC"])
def test_one_score_is_of_two_classes(kind: str) -> None:
    agree(classifier(2, alone=0, post_transform=kind), inputs())
    agree(classifier(2, alone=0, post_transform=kind, base_values=[0.75]), inputs())
    positive = np.abs(trees("class", 1)["class_weights"]) / 4
    agree(classifier(2, alone=0, class_weights=positive.tolist()), inputs())
    # Here onnxruntime's label is not that of the larger score.
    agree(classifier(2, post_transform=kind), inputs(), labels=False)


def test_scores_that_are_zero_stay_zero() -> None:
    """Here those of a class that no leaf counts for, which onnxruntime never takes for the label."""
    graph = agree(
        classifier(3, post_transform="SOFTMAX_ZERO", class_ids=[0, 1, 1] * 16), inputs(), labels=False
    )
    x = inputs().astype(np.float64)
    network, scores = quantise(graph, x), graph.outputs["p"]
    assert not graph.run_all(x, {scores})[scores][:, 2].any()
    tensor = network.outputs["p"]
    scale = network.scale_of(tensor)
    assert scale
    found = network.run_all(network.input.type.quantise(x), {tensor})[tensor]
    assert (found[:, 2] == scale[1]).all()


def test_probabilities_become_quantiles() -> None:
    """onnxruntime's are an approximation."""
    weights = np.random.default_rng(4).uniform(0.05, 0.2, 48).tolist()
    data = classifier(3, post_transform="PROBIT", class_weights=weights)
    expected = onnxruntime.InferenceSession(data).run(["p"], {"x": inputs()})[0]
    graph = load_onnx(data)
    scores = graph.run_all(inputs().astype(np.float64), {graph.outputs["p"]})[graph.outputs["p"]]
    np.testing.assert_allclose(scores, expected, atol=5e-3)
    with refuses("model.unsupported_attribute"):
        load_onnx(classifier(2, alone=0, post_transform="PROBIT"))


def test_classes_have_names() -> None:
    agree(classifier(3, classlabels_int64s=[7, 3, 5]), inputs())
    words = load_onnx(classifier(3, classlabels_strings=["b", "c", "a"], classlabels_int64s=None))
    assert words.shapes[words.outputs["l"]] == (1,)


def test_the_newer_operator_reads_the_same() -> None:
    for aggregate in range(2):
        agree(places(aggregate_function=aggregate), inputs())
    # As ONNX numbers them: onnxruntime 1.32 takes the two for each other.
    x = inputs().astype(np.float64)
    scores, softmax, logistic = (load_onnx(places(post_transform=kind)).run(x) for kind in range(3))
    np.testing.assert_allclose(softmax, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(logistic, 1 / (1 + np.exp(-scores)))


def test_a_node_may_ask_for_one_of_several_numbers() -> None:
    x = inputs().astype(np.float64)
    some = [1.5, -1.0, 0.0]
    graph = load_onnx(places(**members([6, 1, 6], [*some, float("nan"), 2.0])))
    holds, less, other = np.isin(x[:, 0], some), x[:, 1] < -1, x[:, 2] == 2
    first = np.where(holds, np.where(less, 1.5, 0), 0.25) + np.where(other, 4, 0)
    second = np.where(holds & ~less, -2, 0) + np.where(other, 0, 3)
    expected = np.stack([first, second], axis=1)
    np.testing.assert_allclose(graph.run(x), expected)
    network = quantise(graph, x)
    assert network.output_scale
    found = network.run(network.input.type.quantise(x)) * network.output_scale[0]
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_weights_of_some_targets_alone_are_few_numbers() -> None:
    """Of boosted trees each counts for one class."""
    said = trees("class", 1, count=6)
    said["class_ids"] = np.repeat(np.arange(3), 8).tolist()
    graph = agree(
        model(
            "TreeEnsembleClassifier",
            [("l", TensorProto.INT64), ("p", TensorProto.FLOAT)],
            classlabels_int64s=[0, 1, 2],
            **said,
        ),
        inputs(),
    )
    (node,) = (node for node in graph.nodes if isinstance(node, Forest))
    assert node.leaf.shape == (24, 1)
    assert node.targets.ravel().tolist() == [0, 0, 1, 1, 2, 2]


FILES = sorted((Path(__file__).parent.parent / "onnx_files").glob("trees_*.onnx"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_exporters_write_is_read_and_proven(file: Path) -> None:
    """Of scikit-learn, XGBoost, LightGBM and CatBoost, trained on iris."""
    data, rng = file.read_bytes(), np.random.default_rng(3)
    # Off the thresholds: scaled numbers that equal these are on either side, as they are rounded.
    x = (rng.uniform([4, 2, 1, 0], [8, 4.5, 7, 2.5], (80, 4)).round(1) + 0.02).astype(np.float32)
    session = onnxruntime.InferenceSession(data)
    (entry,) = session.get_inputs()
    label, *scores = session.run(None, {entry.name: x})
    graph = load_onnx(data)
    made = graph.run_all(x.astype(np.float64), {*graph.outputs.values()})
    first, *rest = (made[tensor].reshape(len(x), -1) for tensor in graph.outputs.values())
    np.testing.assert_allclose(first, label.reshape(len(x), -1), atol=1e-3, rtol=1e-5)
    for ours, theirs in zip(rest, scores, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    network = quantise(graph, x.astype(np.float64))
    assert any(isinstance(node, QuantForest) for node in network.nodes)
    q = network.input.type.quantise(x.astype(np.float64))
    output, tensor = next(iter(network.outputs.items()))
    scale = network.scale_of(tensor)
    assert scale
    found = (network.run_all(q, {tensor})[tensor].reshape(len(x), -1) - scale[1]) * scale[0]
    np.testing.assert_allclose(found, label.reshape(len(x), -1), atol=2e-3)
    circuit = compile_inference(network, weight_privacy="committed", reveal={output: "values"})
    z = circuit.assign(q[0])
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None


BROKEN: list[tuple[str, dict[str, Any], str]] = [
    ("an unknown mode", {"nodes_modes": ["BRANCH_MEMBER"] * 28}, "unsupported_attribute"),
    ("too few thresholds", {"nodes_values": [0.0]}, "shape"),
    ("a node that is not there", {"nodes_truenodeids": [9] * 28}, "shape"),
    ("a node of an id that is none", {"nodes_truenodeids": [-1] * 28}, "shape"),
    ("an id that wraps", {"nodes_treeids": [1 << 40] * 28}, "shape"),
    ("nodes of one id", {"nodes_nodeids": [0] * 28}, "shape"),
    ("nodes that lead back", {"nodes_truenodeids": [1, 1, 5, 0, 0, 0, 0] * 4}, "shape"),
    ("several roots", {"nodes_truenodeids": [2, 3, 5, 0, 0, 0, 0] * 4}, "shape"),
    ("a feature beyond the last", {"nodes_featureids": [3] * 28}, "shape"),
    ("a threshold that is no number", {"nodes_values": [float("nan")] * 28}, "not_finite"),
    ("a target beyond the last", {"target_ids": [5] * 32}, "shape"),
    ("weights of leaves that are not there", {"target_nodeids": [40] * 32}, "shape"),
    ("no targets", {"n_targets": 0}, "unsupported_attribute"),
    ("an unknown aggregate", {"aggregate_function": "MEDIAN"}, "unsupported_attribute"),
    ("an unknown transform", {"post_transform": "CAUCHY"}, "unsupported_attribute"),
    ("other base values", {"base_values": [1.0] * 3}, "shape"),
    ("an unknown attribute", {"nodes_colours": [1]}, "unsupported_attribute"),
]


@pytest.mark.parametrize(("said", "code"), [each[1:] for each in BROKEN], ids=[each[0] for each in BROKEN])
def test_what_makes_no_sense_is_refused(said: dict[str, Any], code: str) -> None:
    with refuses(f"model.{code}"):
        load_onnx(regressor(**said))


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"tree_roots": [7]}, "shape"),
        ({"tree_roots": None}, "shape"),
        ({"tree_roots": [0, 0]}, "shape"),
        ({"leaf_targetids": [0]}, "shape"),
        ({"nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [3], [7] * 3)}, "unsupported_attribute"),
        ({"nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [3], [6] * 3)}, "shape"),
        (members([6, 0, 1], [0.5, float("nan"), 1.0]), "shape"),
        (members([6, 0, 1], [float("nan")]), "shape"),
        (members([6, 0, 1], [float("inf")]), "not_finite"),
        ({"aggregate_function": 9}, "unsupported_attribute"),
        ({"post_transform": 9}, "unsupported_attribute"),
    ],
    ids=str,
)
def test_so_is_the_newer_operator(said: dict[str, Any], code: str) -> None:
    with refuses(f"model.{code}"):
        load_onnx(places(**said))


def ensemble(mode: int, split: float, members: list[float] | None = None) -> bytes:
    """One node of this mode: 1 where it holds, else 2."""
    said: dict[str, Any] = {
        "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [1], [mode]),
        "nodes_splits": helper.make_tensor("s", TensorProto.FLOAT, [1], [split]),
        "leaf_weights": helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0]),
    }
    if members is not None:
        count = len(members)
        said["membership_values"] = helper.make_tensor("v", TensorProto.FLOAT, [count], members)
    said |= {"tree_roots": [0], "nodes_featureids": [0], "nodes_truenodeids": [0], "nodes_trueleafs": [1]}
    said |= {"nodes_falsenodeids": [1], "nodes_falseleafs": [1], "leaf_targetids": [0, 0], "n_targets": 1}
    return model("TreeEnsemble", [("y", TensorProto.FLOAT)], **said)


@pytest.mark.parametrize("split", [np.inf, -np.inf, 3.4028234663852886e38, -3.4028234663852886e38])
@pytest.mark.parametrize("mode", range(6))
def test_a_split_beyond_all_numbers_is_decided(mode: int, split: float) -> None:
    file, x = ensemble(mode, split), np.array([[-3.0, 0, 0], [0.0, 0, 0], [5.0, 0, 0]], np.float32)
    graph = load_onnx(file)
    (expected,) = onnxruntime.InferenceSession(file).run(None, {"x": x})
    assert graph.run(x.astype(np.float64)).tolist() == expected.tolist()
    network = quantise(graph, x)
    # The type of the input is that of its values: nothing is compared with the end of all floats.
    assert network.input.type.scale < 1e-3


def test_members_are_searched_whatever_the_split_holds() -> None:
    members = [7.0, 1.0, 3.5, 12.0, 9.0, 2.0]
    file = ensemble(6, np.nan, [*members, np.nan])
    x = np.zeros((30, 3))
    x[:, 0] = np.arange(30) / 2
    graph = load_onnx(file)
    assert graph.run(x).ravel().tolist() == np.where(np.isin(x[:, 0], members), 1.0, 2.0).tolist()
    (node,) = graph.nodes
    assert isinstance(node, Forest)
    assert node.depth == 5  # of 6 members, one after the other 12
    network = quantise(graph, x)
    q = network.input.type.quantise(x)
    assert (network.run(q) == network.run(q[:1])).ravel().tolist() == (graph.run(x).ravel() == 2).tolist()


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_a_table_of_three_rows_is_answered_row_by_row(aggregate: str) -> None:
    file = onnx.load_from_string(regressor(aggregate_function=aggregate, base_values=[0.5, -1.0]))
    file.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 3
    x = np.random.default_rng(4).normal(size=(3, 3)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(file.SerializeToString()).run(None, {"x": x})
    graph = load_onnx(file.SerializeToString())
    assert graph.input.shape == (3, 3)
    np.testing.assert_allclose(graph.run(x[np.newaxis].astype(np.float64))[0], expected, atol=1e-5)
    network = quantise(graph, x[np.newaxis], bits=16)
    scale, zero = network.scale_of(network.output) or (1.0, 0)
    made = network.run(network.input.quantise(x)[np.newaxis]).reshape(expected.shape)
    np.testing.assert_allclose(scale * (made - zero), expected, atol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_so_are_classes_of_rows(classes: int) -> None:
    two: dict[str, Any] = {"alone": 0, "post_transform": "LOGISTIC"}
    file = onnx.load_from_string(classifier(classes, **(two if classes == 2 else {})))
    file.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4
    x = np.random.default_rng(4).normal(size=(4, 3)).astype(np.float32)
    expected = onnxruntime.InferenceSession(file.SerializeToString()).run(None, {"x": x})
    graph = load_onnx(file.SerializeToString())
    made = graph.run_all(x[np.newaxis].astype(np.float64), {*graph.outputs.values()})
    for tensor, values in zip(graph.outputs.values(), expected, strict=True):
        np.testing.assert_allclose(made[tensor][0], values, atol=1e-5)


def test_what_equals_a_threshold_as_a_float32_is_equal_to_it() -> None:
    """XGBoost's thresholds are values of the table: 0.1 is less than the float32 next to it."""
    graph = load_onnx(ensemble(1, float(np.float32(0.1))))
    x = np.array([[0.1, 0, 0], [0.0999, 0, 0], [0.1001, 0, 0]])
    assert float(np.float32(0.1)) > 0.1
    assert graph.run(x).ravel().tolist() == [2.0, 1.0, 2.0]
    network = quantise(graph, x)
    made = network.run(network.input.type.quantise(x)).ravel()
    assert (made == made[0]).tolist() == [True, False, True]
    assert network.input.type.bits < 24  # what is equal needs not be told apart


def test_values_of_regressions_are_no_classes() -> None:
    graph = load_onnx(regressor())
    network = quantise(graph, np.random.default_rng(1).normal(size=(16, 3)))
    assert (graph.values, network.values) == (("y",), ("output",))
    assert all_shown(network, None) == {"output": "values"}
    assert all_shown(QuantGraph.from_bytes(network.to_bytes()), None) == {"output": "values"}
    classes = load_onnx(classifier(3))
    shown = all_shown(quantise(classes, np.random.default_rng(1).normal(size=(16, 3))), None)
    assert (classes.values, shown) == ((), {"l": "values", "p": "label"})


def test_trees_are_committed_to_unless_it_is_said() -> None:
    file, x = regressor(), np.random.default_rng(1).normal(size=(16, 3))
    assert TypedGraph.most_private(quantise(load_onnx(file), x)) == "committed"
    proof = zenserve.prove(file, x[0], calibration=x)
    assert "model" in proof.statement.commitments
    assert "the committed network" in proof.statement.claim
    public = zenserve.prove(file, x[0], calibration=x, weight_privacy="public")
    assert public.statement.commitments == {}
    assert "part of the verifying key" in public.statement.claim


@pytest.mark.parametrize("count", [6, 10, 12, 14, 22, 48, 100])
def test_votes_that_tie_are_the_first_class(count: int) -> None:
    """As the forest has it that was exported: three sixths are a half, not a little more. onnxruntime adds
    float32, which with 22 and 48 trees are a little more."""
    every = np.arange(count)
    said: dict[str, Any] = {
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * count,
        "nodes_treeids": np.repeat(every, 3).tolist(),
        "nodes_nodeids": [0, 1, 2] * count,
        "nodes_featureids": np.repeat(every, 3).tolist(),
        "nodes_values": [0.5, 0.0, 0.0] * count,
        "nodes_truenodeids": [1, 0, 0] * count,
        "nodes_falsenodeids": [2, 0, 0] * count,
        "class_treeids": np.repeat(every, 2).tolist(),
        "class_nodeids": [1, 2] * count,
        "class_ids": [0] * 2 * count,
        "class_weights": [0.0, 1 / count] * count,
        "classlabels_int64s": [0, 1],
    }
    outputs: list[tuple[str, int]] = [("l", TensorProto.INT64), ("p", TensorProto.FLOAT)]
    data = model("TreeEnsembleClassifier", outputs, count, **said)
    votes = np.clip(np.arange(count // 2 - 2, count // 2 + 3), 0, count)
    x = (every < votes[:, np.newaxis]).astype(np.float64)
    if count not in (22, 48):
        labels = onnxruntime.InferenceSession(data).run(["l"], {"x": np.float32(x)})[0]
        assert labels.tolist() == [0, 0, 0, 1, 1]
    graph = load_onnx(data, whole=True)
    label = graph.outputs["l"]
    assert graph.run_all({"x": x}, {label})[label].ravel().tolist() == [0, 0, 0, 1, 1]
    network = quantise(load_onnx(data), {"x": x}, 8)
    assert network.outputs.keys() == {"l", "p"}
    q = {name: entry.type.quantise(x) for name, entry in network.entries.items()}
    found = network.run_all(q, {*network.outputs.values()})[network.outputs["l"]]
    assert found.ravel().tolist() == [0, 0, 0, 1, 1]
