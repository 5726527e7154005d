"""The papers' networks: their sizes, that they are the same everywhere, and what they are by name."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import onnxruntime
import pytest

import circuits
from circuits import Graph, compile_recognition, load_onnx, quantise, zoo
from circuits.graph import Add, AveragePool, Clip, Conv, Dense
from tests.circuits import real
from zenerrors import ModelError

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
    assert x.shape == (8, *graph.input_shape)
    assert 0 <= x.min() < x.max() < 1
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"image": x.astype(np.float32)})
    exact = graph.run(x)
    scale = np.abs(exact).max()
    np.testing.assert_allclose(expected / scale, exact / scale, atol=1e-4)
    again = load_onnx(data)
    assert [type(node) for node in again.nodes] == [type(node) for node in graph.nodes]
    np.testing.assert_allclose(again.run(x) / scale, exact / scale, atol=1e-4)
    qgraph = quantise(graph, x)
    labels = qgraph.run(qgraph.input_type.quantise(x)).argmax(axis=1)
    assert np.mean(labels == exact.reshape(8, -1).argmax(axis=1)) > 0.7


def test_short_names_and_unknown_ones() -> None:
    assert zoo.resolve("lenet-face-large") == "lenet-face-large-orl"
    assert zoo.resolve("resnet50") == "resnet50-cifar"
    with pytest.raises(ModelError, match="shallownet-mnist") as caught:
        zoo.network("lenet-huge")
    assert caught.value.code == "model.unknown"


def test_trained_networks_know_what_they_were_trained_for() -> None:
    """As the training script reported, on images that it did not train on; and above the papers' figures."""
    papers = {"shallownet-mnist": 0.9513, "lenet-small-cifar": 0.5576, "lenet-face-small-orl": 0.843}
    assert zoo.report().keys() == papers.keys()
    for name, figure in papers.items():
        assert zoo.report()[name]["test_accuracy"] > figure


@pytest.mark.parametrize("name", ["shallownet-mnist", "lenet-small-cifar"])
def test_trained_networks_keep_their_accuracy(name: str) -> None:
    found = real.of(name)
    accuracy = np.mean(zoo.network(name).run(found.images).argmax(axis=1) == found.labels)
    assert accuracy == pytest.approx(zoo.report()[name]["test_accuracy"], abs=0.003)


def test_faces_are_recognised_by_their_embeddings() -> None:
    """Two shots of one person are nearer than shots of two, for nine pairs in ten."""
    found = real.of("lenet-face-small-orl")
    qgraph = quantise(zoo.network(zoo.EMBEDDING), found.calibration)
    circuit = compile_recognition(qgraph)
    faces = qgraph.run(qgraph.input_type.quantise(found.images))
    distances = ((faces[:, None] - faces[None]) ** 2).sum(axis=2)
    same = found.labels[:, None] == found.labels[None]
    apart = ~np.eye(len(faces), dtype=bool)
    threshold = int(np.quantile(distances[same & apart], 0.9))
    assert np.mean(distances[~same] > threshold) > 0.9
    one, two, other = (qgraph.input_type.quantise(found.images[index]) for index in (0, 1, 10))
    reference = circuit.embed(one)
    assert circuit.matches(two, reference, threshold) == (distances[0, 1] <= threshold)
    assert circuit.matches(other, reference, threshold) == (distances[0, 10] <= threshold)
    assert circuits.Recognition is type(circuit)
