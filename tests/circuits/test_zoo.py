"""The papers' networks: their sizes, that they are the same everywhere, and what they are by name."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import onnxruntime
import pytest

from examples.zoo import evaluate
from tests.circuits import real
from tests.refusals import refuses
from zenserve.circuits import Graph, compile_recognition, load_onnx, quantise, zoo
from zenserve.circuits.operators.add import Add
from zenserve.circuits.operators.average_pool import AveragePool
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense

# Weights (ZEN, table 5.1), or millions of multiplications (ZENO, without the shortcuts).
SIZES = {
    "shallownet-mnist": (101_632, None),
    "lenet-small-cifar": (74_730, None),
    "lenet-medium-cifar": (448_096, None),
    "lenet-face-small-orl": (439_830, None),
    "lenet-face-medium-orl": (1_629_984, None),
    "lenet-face-large-orl": (6_508_096, None),
    "vgg16-cifar": (None, 19.92),
    "resnet18-cifar": (None, 32.3),
    "resnet50-cifar": (None, 69),
}


def layers(graph: Graph) -> list[Conv | Dense]:
    return [node for node in graph.nodes if isinstance(node, Conv | Dense)]


@pytest.fixture(scope="module")
def networks() -> dict[str, Graph]:
    return {name: zoo.network(name) for name in zoo.NAMES}


@pytest.mark.parametrize("name", zoo.NAMES)
def test_the_networks_are_the_papers(networks: dict[str, Graph], name: str) -> None:
    graph, (weights, products) = networks[name], SIZES[name]
    if weights is not None:
        assert sum(layer.weight.size for layer in layers(graph)) == weights
    if products is not None:
        made = [layer for layer in layers(graph) if not _is_shortcut(graph, layer)]
        total = sum(math.prod(layer.weight.shape[1:]) * math.prod(graph.shapes[layer.name]) for layer in made)
        assert total / 1e6 == pytest.approx(products, rel=0.005)
    assert not any(layer.bias.any() for layer in layers(graph))


def _is_shortcut(graph: Graph, layer: Conv | Dense) -> bool:
    """A convolution whose ReLU is the second term of an addition."""
    clips = {node.inputs[0]: node.name for node in graph.nodes if isinstance(node, Clip)}
    return clips.get(layer.name) in {node.inputs[1] for node in graph.nodes if isinstance(node, Add)}


def test_they_have_the_layers_that_zoo_md_lists(networks: dict[str, Graph]) -> None:
    def shapes(name: str, kind: type) -> list[tuple[int, ...]]:
        graph = networks[name]
        return [graph.shapes[node.name] for node in graph.nodes if isinstance(node, kind)]

    assert shapes("lenet-small-cifar", Conv) == [(6, 28, 28), (16, 10, 10), (120, 2, 2)]
    assert shapes("lenet-face-large-orl", Conv) == [(64, 52, 42), (128, 22, 17), (512, 8, 5)]
    assert shapes("lenet-face-large-orl", AveragePool) == [(64, 26, 21), (128, 11, 8)]
    assert shapes("vgg16-cifar", AveragePool)[-1] == (128, 1, 1)
    assert len(shapes("vgg16-cifar", Conv)) == 13
    assert len(shapes("resnet18-cifar", Conv)) == 16 + 4
    assert len(shapes("resnet18-cifar", Add)) == 8
    assert len(shapes("resnet50-cifar", Conv)) == 3 * 16 + 4
    assert shapes("resnet50-cifar", Add)[-1] == (512, 4, 4)


def test_weights_are_the_same_everywhere() -> None:
    hasher = hashlib.sha256()
    for layer in layers(zoo.network("lenet-medium-cifar")):
        hasher.update(layer.weight.astype("<f8").tobytes())
    assert hasher.hexdigest()[:16] == "65b2b99356c93350"
    assert np.array_equal(zoo.calibration("vgg16"), zoo.calibration("vgg16-cifar"))
    first, second = (layers(zoo.network(name))[0].weight for name in ("vgg16", "resnet18"))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("name", [*zoo.NAMES, zoo.EMBEDDING])
def test_a_name_stands_for_its_file(name: str) -> None:
    data, graph, x = zoo.onnx(name), zoo.network(name), zoo.calibration(name)
    assert x.shape == (8, *graph.input.shape)
    assert 0 <= x.min() < x.max() < 1
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"image": x.astype(np.float32)})
    exact = graph.run(x)
    scale = np.abs(exact).max()
    np.testing.assert_allclose(expected / scale, exact / scale, atol=1e-4)
    again = load_onnx(data)
    assert [type(node) for node in again.nodes] == [type(node) for node in graph.nodes]
    np.testing.assert_allclose(again.run(x) / scale, exact / scale, atol=1e-4)
    qgraph = quantise(graph, x)
    labels = qgraph.run(qgraph.input.type.quantise(x)).argmax(axis=1)
    assert np.mean(labels == exact.reshape(8, -1).argmax(axis=1)) > 0.7


def test_short_names_and_unknown_ones() -> None:
    assert zoo.resolve("lenet-face-large") == "lenet-face-large-orl"
    assert zoo.resolve("resnet50") == "resnet50-cifar"
    with refuses("model.unknown", match="shallownet-mnist"):
        zoo.network("lenet-huge")


def test_trained_networks_know_what_they_were_trained_for() -> None:
    """As was measured on images that no training saw: above what ZEN reports, and as good in integers."""
    for name in evaluate.ZEN:
        found = zoo.report()[name]
        assert found["test_accuracy"] > found["zen_accuracy"]
        assert abs(found["quantised_accuracy"] - found["test_accuracy"]) <= 0.01


@pytest.mark.parametrize("name", evaluate.ZEN)
def test_the_report_is_what_the_networks_do(name: str) -> None:
    found = real.of(name)
    accuracy = np.mean(zoo.network(name).run(found.images).argmax(axis=1) == found.labels)
    assert accuracy == pytest.approx(zoo.report()[name]["test_accuracy"], abs=0.001)


def test_faces_are_recognised_by_their_embeddings() -> None:
    """Held-out faces against the others of each person: as reported, and as the circuit decides."""
    split = real.split("lenet-face-small-orl")
    found = evaluate.recognition(split)
    for rate in ("accepted_of_same", "refused_of_others"):
        assert found[rate] == pytest.approx(zoo.report()[zoo.EMBEDDING][rate], abs=0.03)
    assert found["accepted_of_same"] >= 0.9
    assert found["refused_of_others"] > 0.95
    circuit = compile_recognition(evaluate.quantised(zoo.EMBEDDING, split))
    q = circuit.qgraph.input.type.quantise(evaluate.reals(split.seen)[[0, 1, 9]])
    reference, *others = circuit.qgraph.run(q)
    near, far = (int(((other - reference) ** 2).sum()) for other in others)
    assert near < far
    assert circuit.embed(q[0]).tolist() == reference.tolist()
    for face, distance in ((q[1], near), (q[2], far)):
        assert circuit.matches(face, reference, distance)
        assert not circuit.matches(face, reference, distance - 1)
