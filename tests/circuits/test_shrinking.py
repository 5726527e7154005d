"""Networks made smaller, and banks made of them."""

from __future__ import annotations

import builtins
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.refusals import refuses
from zenserve.circuits import banks, load_onnx, tune
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.operators.weighted import Parametric
from zenserve.circuits.shrinking.channels import narrower
from zenserve.circuits.shrinking.fitting import fitted
from zenserve.circuits.shrinking.making import make_bank
from zenserve.circuits.shrinking.smaller import coarser, shallower
from zenserve.verifier.datasets import by_class, load

CLASSES, SIDE = 3, 8


def residual(seed: int = 0, side: int = SIDE) -> Graph:
    """Convolutions, one around which values also go, and a dense layer behind all pixels."""
    draw = np.random.default_rng(seed).normal
    image = tensor("image", 1, side, side)
    x = image.conv(draw(size=(6, 1, 3, 3)), draw(size=6), padding=1).relu().average_pool(2)
    inner = x.conv(draw(size=(4, 6, 3, 3)), draw(size=4), padding=1).relu()
    x = (inner.conv(draw(size=(6, 4, 3, 3)), draw(size=6), padding=1) + x).relu()
    return x.flatten().dense(draw(size=(CLASSES, 6 * (side // 2) ** 2)), draw(size=CLASSES)).graph()


def images(count: int = 40) -> Any:
    return np.random.default_rng(1).normal(size=(count, 1, SIDE, SIDE))


def all_of(graph: Graph, x: Any) -> Any:
    return dict(graph.tensors(x))


def with_unread(graph: Graph, layer: str, channels: list[int], reader: str) -> Graph:
    """Where nothing of these channels reaches ``reader``."""
    nodes = []
    for node in graph.nodes:
        if node.name == reader and isinstance(node, Parametric):
            weight = node.weight.copy()
            weight[:, channels] = 0
            node = replace(node, weight=weight)
        nodes.append(node)
    assert layer in graph.shapes
    return replace(graph, nodes=tuple(nodes))


def test_channels_that_nothing_reads_go_and_nothing_changes() -> None:
    graph, x = residual(), images()
    layers = [node.name for node in graph.nodes if isinstance(node, Parametric)]
    graph = with_unread(graph, layers[1], [0, 2], layers[2])
    small, kept = narrower(graph, 0.5, all_of(graph, x))
    assert {name: len(each) for name, each in kept.items()} == dict(
        zip(layers, (3, 2, 3, CLASSES), strict=True)
    )
    assert kept[layers[1]].tolist() == [1, 3]
    assert kept[layers[0]].tolist() == kept[layers[2]].tolist()  # they are added
    assert small.shapes[small.output] == graph.shapes[graph.output]
    assert narrower(graph, 1.0, all_of(graph, x))[0].run(x).tolist() == graph.run(x).tolist()


def test_a_coarser_image_is_the_mean_of_its_squares() -> None:
    draw = np.random.default_rng(0).normal
    first, last = draw(size=(4, 1, 3, 3)), draw(size=(CLASSES, 4))

    def network(side: int) -> Graph:
        x = tensor("image", 1, side, side).conv(first, padding=1).relu()
        return x.average_pool(side).flatten().dense(last).graph()

    x = images()
    small = coarser(network(SIDE), 2)
    assert small is not None
    means = x.reshape(len(x), 1, SIDE // 2, 2, SIDE // 2, 2).mean(axis=(3, 5))
    np.testing.assert_allclose(small.run(x), network(SIDE // 2).run(means), atol=1e-9)
    assert coarser(network(SIDE), 3) is None
    assert coarser(tensor("x", 4).dense(draw(size=(3, 4))).graph(), 2) is None


def test_a_coarser_dense_layer_reads_what_is_left() -> None:
    graph = residual()
    small = coarser(graph, 2)
    assert small is not None
    assert small.shapes[small.output] == (CLASSES,)
    assert small.shapes[small.nodes[0].name] == (6, SIDE // 2, SIDE // 2)


def test_layers_that_keep_a_shape_go() -> None:
    graph = residual()
    small = shallower(graph)
    assert sum(isinstance(node, Parametric) for node in small.nodes) == 2
    assert small.run(images()).shape == (40, CLASSES)


def test_least_squares_finds_the_weights_that_there_were() -> None:
    graph, x = residual(), images(400)
    values = all_of(graph, x)
    lost = replace(
        graph,
        nodes=tuple(
            replace(node, weight=np.zeros_like(node.weight)) if isinstance(node, Parametric) else node
            for node in graph.nodes
        ),
    )
    kept = {node.name: np.arange(len(node.weight)) for node in graph.nodes if isinstance(node, Parametric)}
    found = fitted(lost, kept, x, values).run(x)
    assert np.corrcoef(found.ravel(), graph.run(x).ravel())[0, 1] > 0.99


def digits() -> tuple[bytes, Any, Any]:
    data = np.load("examples/digits/held_out.npz")
    return Path("examples/digits/digits.onnx").read_bytes(), data["images"], data["labels"]


def test_a_bank_says_of_each_network_what_a_service_will_find(tmp_path: Path) -> None:
    network, x, labels = digits()
    made = make_bank(network, x, labels)
    costs = [model.constraints for model in made.models]
    accuracies = [model.accuracy for model in made.models[1:]]
    assert len(costs) >= 3
    assert costs == sorted(costs, reverse=True)
    assert accuracies == sorted(accuracies, reverse=True)
    assert made.models[1].accuracy > 0.9
    made.save(tmp_path)
    said = json.loads((tmp_path / "bank.json").read_text())
    profile = load(tmp_path / "profile.npz")
    assert len({each.size for each in by_class(profile)}) == 1
    for entry in said["models"]:
        calibration = np.load(tmp_path / f"{entry['name']}.npz")
        graph = load_onnx((tmp_path / f"{entry['name']}.onnx").read_bytes())
        qgraph = tune(graph, {name: calibration[name] for name in calibration}, bits=entry["bits"]).qgraph
        own = qgraph.entries[banks.form_of(qgraph).input].type.quantise(profile.samples)
        right = (banks.profile(qgraph, own).argmax(axis=1) == profile.labels).mean()
        assert round(float(right), 4) == entry["accuracy"]
        assert entry["name"] in (tmp_path / "report.html").read_text()


def test_what_stands_in_the_way_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    network, x, labels = digits()
    with refuses("input.shape", "data", match="the network takes"):
        make_bank(network, x[:, :4], labels)
    with refuses("input.out_of_range", "labels", match="0 to 9"):
        make_bank(network, x, labels + 1)
    with refuses("input.shape", "data", match="one of four is held out"):
        make_bank(network, x[:20], labels[:20])
    with refuses("model.shape"):
        make_bank(to_onnx(tensor("x", 4).dense(np.ones((1, 4))).graph()), np.ones((8, 4)), [0] * 8)
    found = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name == "torch":
            raise ImportError
        return found(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with refuses("model.no_pytorch", "epochs", match="closed form"):
        make_bank(network, x, labels, epochs=1)


def test_training_starts_where_the_network_is_and_learns() -> None:
    pytest.importorskip("torch")
    from zenserve.circuits.shrinking.training import trained

    graph, x = residual(), images(256).astype(np.float32)
    logits = graph.run(x)
    labels = logits.argmax(axis=1)
    said: list[float] = []
    lost = replace(
        graph,
        nodes=tuple(
            replace(node, weight=node.weight * 0.3) if isinstance(node, Parametric) else node
            for node in graph.nodes
        ),
    )
    learnt = trained(lost, x, labels, logits, 12, lambda _, done: said.append(done))
    assert (learnt.run(x).argmax(axis=1) == labels).mean() > 0.85
    assert said == sorted(said)
