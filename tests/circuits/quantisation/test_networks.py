"""Networks of every float node to integers: what their types are, and how near they stay."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import onnxruntime
import pytest

from tests.circuits import real
from tests.circuits.test_onnx_exporters import quantised, run
from tests.refusals import refuses
from zenserve.circuits import Graph, QuantGraph, load_onnx, quantise, zoo
from zenserve.circuits.graphs.types import Affine, FloatArray, Rescale
from zenserve.circuits.networks.language import Tensor, concat, tensor
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.operators.add import QuantAdd
from zenserve.circuits.operators.average_pool import WindowSum
from zenserve.circuits.operators.clip import Requantise
from zenserve.circuits.operators.concat import Concat
from zenserve.circuits.operators.convolution import QuantConv
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.quantisation import METHODS, Method, page, report
from zenserve.errors import ModelError, TensorError

SHAPE = (2, 8, 8)


class Weights:
    """Random weights, drawn one after the other."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> FloatArray:
        drawn: FloatArray = self.rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
        return drawn


def everything(w: Weights) -> Graph:
    x = tensor("image", *SHAPE)
    x = x.conv(w(6, 2, 3, 3), w(6), padding=1).scale(w(6), w(6)).relu().average_pool(2)
    y = x.conv(w(6, 3, 1, 1), groups=2)
    x = (x + y).clip(-1.0, 1.5).max_pool(2)
    z = x.conv(w(4, 6, 2, 2)).relu()
    x = concat([z, x.average_pool((2, 2), 1).conv(w(8, 6, 1, 1))]).transpose(1, 2, 0).flatten()
    mean = w(40, 12) @ np.full(12, 0.2)
    return x.dense(w(40, 12), -mean).relu().dense(w(6, 40)).graph()


def samples(count: int = 64, shape: tuple[int, ...] = SHAPE) -> FloatArray:
    return np.random.default_rng(1).normal(size=(count, *shape))


def agreement(graph: Graph, qgraph: QuantGraph, x: FloatArray) -> float:
    labels = graph.run(x).argmax(axis=1)
    return float(np.mean(qgraph.run(qgraph.input.type.quantise(x)).argmax(axis=1) == labels))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("seed", [0, 5, 7])
def test_eight_bits_stay_near_the_float_network(seed: int, per_channel: bool, method: Method) -> None:
    graph, x = everything(Weights(seed)), samples()
    qgraph = quantise(graph, x, method=method, per_channel=per_channel)
    found = report(graph, qgraph, x, graph.run(x).argmax(axis=1))
    assert found.float_accuracy == 1
    assert found.accuracy == found.agreement
    assert found.agreement is not None
    assert found.agreement > 0.85
    assert min(tensor.snr for tensor in found.tensors) > 12


@pytest.mark.parametrize("weight_bits", [1, 2, 4, 8])
@pytest.mark.parametrize("bits", range(2, 9))
def test_bits_are_the_bits_that_were_asked_for(bits: int, weight_bits: int) -> None:
    graph = everything(Weights(0))
    qgraph = quantise(graph, samples(), bits, weight_bits=weight_bits, method="mse", per_channel=True)
    for name, values in qgraph.tensors(qgraph.input.type.quantise(samples())):
        kind = qgraph.types[name]
        if kind is not None:
            assert kind.bits == bits
            assert 0 <= values.min() <= values.max() < 1 << bits
    for node in qgraph.nodes:
        if isinstance(node, QuantConv | QuantDense):
            assert node.weight_type.bits == weight_bits
            assert node.weight.max() < 1 << weight_bits


def test_more_bits_are_nearer() -> None:
    graph, x = everything(Weights(1)), samples()
    errors = []
    for bits in (2, 4, 6, 8):
        found = report(graph, quantise(graph, x, bits), x, np.zeros(len(x), int))
        errors.append(np.mean([tensor.snr for tensor in found.tensors]))
    assert errors == sorted(errors)


def test_channels_of_their_own_scale_serve_weights_of_several_sizes() -> None:
    w = Weights(3)
    weight = w(6, 2, 3, 3) * (2.0 ** -np.arange(6))[:, None, None, None]
    image = tensor("image", *SHAPE)
    graph = image.conv(weight).relu().flatten().dense(w(3, 216)).graph()
    worst = {}
    for per_channel in (False, True):
        qgraph = quantise(graph, samples(), 8, weight_bits=4, per_channel=per_channel)
        (conv,) = (node for node in qgraph.nodes if isinstance(node, QuantConv))
        assert len(conv.weight_type.scale) == (6 if per_channel else 1)
        values = dict(qgraph.tensors(qgraph.input.type.quantise(samples())))[conv.name]
        exact = np.maximum(dict(graph.tensors(samples()))["conv1"], 0) if "conv1" in graph.shapes else None
        exact = exact if exact is not None else dict(graph.tensors(samples()))["clip1"]
        assert conv.rescale is not None
        error = conv.rescale.output.real(values) - exact
        worst[per_channel] = float(np.sqrt((error[:, 2:5] ** 2).mean()))
        if per_channel:
            exactly = conv.weight_type.scale * qgraph.input.type.scale / conv.rescale.output.scale
            ratio = conv.rescale.multiplier.ravel() / 2.0**conv.rescale.shift
            np.testing.assert_allclose(ratio, exactly, rtol=1e-12)
    assert worst[True] < worst[False] / 2


def nodes_of(qgraph: QuantGraph, kind: type) -> list:  # type: ignore[type-arg]
    return [node for node in qgraph.nodes if isinstance(node, kind)]


def head(x: Tensor, w: Weights, outputs: int = 3) -> Graph:
    x = x.flatten()
    return x.dense(w(outputs, x.shape[0])).graph()


def test_averages_keep_their_type_and_divide_exactly() -> None:
    w, image = Weights(0), tensor("image", *SHAPE)
    (node,) = nodes_of(quantise(head(image.relu().average_pool(2), w), samples()), WindowSum)
    assert (node.rescale.multiplier.tolist(), node.rescale.shift) == ([[[1]]], 2)
    (node,) = nodes_of(quantise(head(image.average_pool(3), w), samples()), WindowSum)
    assert abs(node.rescale.multiplier.item() / 2**node.rescale.shift * 9 - 1) < 1 / 1000
    # Averages that leave out the padding have several divisors.
    graph = head(image.average_pool(3, 1, padding=1), w)
    qgraph = quantise(graph, samples())
    (node,) = nodes_of(qgraph, WindowSum)
    assert node.rescale.multiplier.shape == (1, 8, 8)
    assert len(np.unique(node.rescale.multiplier)) == 3
    assert node.rescale.output == qgraph.input.type
    found = report(graph, qgraph, samples(), np.zeros(64, int))
    assert max(tensor.worst for tensor in found.tensors) < 1.2


def test_what_is_joined_shares_a_type() -> None:
    w, image = Weights(0), tensor("image", *SHAPE)
    parts = [image.conv(w(2, 2, 1, 1) * size).relu() for size in (1, 3)]
    qgraph = quantise(head(concat(parts), w), samples())
    assert len({node.rescale.output for node in nodes_of(qgraph, QuantConv)}) == 1
    assert not nodes_of(qgraph, Requantise)
    assert nodes_of(qgraph, Concat)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda x, w: x.flatten().dense(w(3, 128)), QuantDense),
        (lambda x, w: x.conv(w(3, 2, 8, 8)).flatten(), QuantConv),
        (lambda x, w: x.conv(w(3, 2, 3, 3)).global_average_pool(), WindowSum),
        (lambda x, w: x.max_pool(4).flatten() + x.average_pool(4).flatten(), QuantAdd),
    ],
)
def test_what_only_the_argmax_reads_stays_unscaled(make: object, kind: type) -> None:
    graph: Graph = make(tensor("image", *SHAPE), Weights(0)).graph()  # type: ignore[operator]
    qgraph = quantise(graph, samples())
    assert qgraph.types[qgraph.output] is None
    assert nodes_of(qgraph, kind)[-1].rescale is None
    assert agreement(graph, qgraph, samples()) > 0.85


def test_a_cap_is_met_to_half_a_step() -> None:
    w, image = Weights(0), tensor("image", *SHAPE)
    graph = head(image.conv(5 * w(4, 2, 3, 3)).clip(0.0, 6.0), w)
    (conv,) = nodes_of(quantise(graph, 3 * samples()), QuantConv)
    rescale: Rescale = conv.rescale
    assert abs(rescale.output.real(np.array([rescale.high]))[0] - 6) <= rescale.output.scale / 2
    assert (rescale.low, rescale.high) == (0, 255)
    negative = head(image.conv(w(4, 2, 3, 3)).clip(-0.5, 0.25), w)
    (conv,) = nodes_of(quantise(negative, 3 * samples()), QuantConv)
    ends = conv.rescale.output.real(np.array([conv.rescale.low, conv.rescale.high]))
    np.testing.assert_allclose(ends, [-0.5, 0.25], atol=conv.rescale.output.scale)


def test_types_prescribed_by_hand_are_taken_as_they_are() -> None:
    w, image = Weights(0), tensor("image", *SHAPE)
    x = image.quantised(0.05, 128).conv(w(3, 2, 3, 3)).relu().quantised(0.02, 3, bits=6)
    x = x.max_pool(2).quantised(0.03, 1, bits=5)
    qgraph = quantise(head(x, w), samples())
    assert qgraph.input.type == Affine(0.05, 128, 8)
    (conv,), (pool,) = nodes_of(qgraph, QuantConv), nodes_of(qgraph, MaxPool)
    assert conv.rescale.output == Affine(0.02, 3, 6)
    assert conv.rescale.low == 3
    assert qgraph.types[pool.name] == Affine(0.02, 3, 6)
    assert Affine(0.03, 1, 5) in qgraph.types.values()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "style", "activations", "per_channel"),
    [
        ("lenet_ts", "QOperator", "QInt8", False),
        ("lenet_dyn", "QDQ", "QUInt8", True),
        ("vgg_ts", "QDQ", "QInt8", False),
        ("resnet_ts", "QDQ", "QUInt8", True),
        ("odd_ts", "QDQ", "QInt8", False),
    ],
)
def test_int8_models_keep_their_scales_and_their_answers(
    tmp_path: Path, name: str, style: str, activations: str, per_channel: bool
) -> None:
    path = quantised(name, tmp_path, style, activations, per_channel)
    graph = load_onnx(path)
    x = np.random.default_rng(1).normal(size=(16, *graph.input.shape))
    qgraph = quantise(graph, x)
    declared = graph.declared[graph.output]
    kind = qgraph.types[qgraph.output]
    assert kind is not None
    lift = 128 if declared.signed else 0
    assert (kind.scale, kind.zero_point) == (float(declared.scale), int(declared.zero_point) + lift)
    expected = run(path, x, plainly=True)
    found = kind.real(qgraph.run(qgraph.input.type.quantise(x)))
    found, expected = (values - values.mean(axis=1, keepdims=True) for values in (found, expected))
    # The file rounds to even where integers round up, and its float32 sums may fall on either side.
    assert np.abs(found - expected).mean() < 1.0 * kind.scale
    assert np.mean(found.argmax(axis=1) == expected.argmax(axis=1)) > 0.85


def test_a_report_says_what_was_lost_and_warns() -> None:
    graph, x = everything(Weights(7)), samples()
    labels = graph.run(x).argmax(axis=1)
    fine, coarse = (report(graph, quantise(graph, x, bits), x, labels) for bits in (8, 2))
    assert fine.drop is not None
    assert (fine.warning is None) == (fine.drop <= 0.01)
    assert coarse.warning is not None
    assert "use more bits" in coarse.warning
    assert coarse.text().splitlines()[-1].startswith("warning: accuracy drops by")
    document = coarse.to_json()
    assert document["drop"] == pytest.approx(document["float_accuracy"] - document["accuracy"])
    assert len(document["tensors"]) == len(coarse.tensors)
    assert coarse.plot().startswith("<svg")
    for tensor_report in coarse.tensors:
        assert tensor_report.name in coarse.text()


def test_saturation_is_counted() -> None:
    graph = head(tensor("image", *SHAPE).conv(Weights(0)(2, 2, 1, 1)).relu(), Weights(0))
    qgraph = quantise(graph, samples())
    found = report(graph, qgraph, 10 * samples(), np.zeros(64, int))
    assert found.tensors[0].saturated > 0.5
    counted, greatest = found.tensors[0].histogram, found.tensors[0].greatest
    beyond = [i for i in range(len(counted.floats)) if counted.start + counted.width * i > greatest]
    assert sum(counted.floats[i] for i in beyond) > 0
    assert not any(counted.integers[i] for i in beyond)


def test_histograms_count_every_value_once_in_whole_steps() -> None:
    graph, x = everything(Weights(7)), samples()
    qgraph = quantise(graph, x, 4)
    for found in report(graph, qgraph, x).tensors:
        counted, kind = found.histogram, qgraph.types[found.name]
        assert kind is not None
        assert len(counted.floats) == len(counted.integers) <= 49
        assert sum(counted.floats) == sum(counted.integers) == len(x) * math.prod(qgraph.shapes[found.name])
        assert counted.width / kind.scale == pytest.approx(round(counted.width / kind.scale))
        assert counted.start <= min(found.low, found.least)
        assert counted.start + counted.width * len(counted.floats) >= max(found.high, found.greatest)


def test_without_labels_a_report_compares_answers_and_values() -> None:
    graph, x = everything(Weights(7)), samples()
    qgraph = quantise(graph, x, 6)
    found = report(graph, qgraph, x)
    (output,) = found.outputs
    said, meant = qgraph.run(qgraph.input.type.quantise(x)).argmax(axis=1), graph.run(x).argmax(axis=1)
    assert (found.accuracy, found.drop) == (None, None)
    assert found.agreement == output.agreement == np.mean(said == meant)
    assert output.confusion is not None
    assert np.array(output.confusion).sum() == len(x)
    for row, column in zip(meant, said, strict=True):
        assert output.confusion[row][column] > 0


def test_values_are_compared_with_targets() -> None:
    graph = head(tensor("image", *SHAPE).conv(Weights(0)(2, 2, 1, 1)).relu(), Weights(0), 1)
    x = samples()
    qgraph, exact = quantise(graph, x), graph.run(x).reshape(-1, 1)
    targets = exact + np.random.default_rng(0).normal(0, exact.std(), exact.shape)
    found = report(graph, qgraph, x, targets.ravel())
    (output,) = found.outputs
    assert (output.agreement, output.confusion, found.accuracy) == (None, None, None)
    assert output.float_loss is not None
    assert output.loss is not None
    assert output.errors is not None
    error = exact - targets
    assert output.float_loss.mse == pytest.approx(np.mean(error**2))
    assert output.float_loss.mae == pytest.approx(np.abs(error).mean())
    assert output.float_loss.r2 == pytest.approx(1 - np.mean(error**2) / targets.var())
    assert output.errors.r2 is not None
    assert output.errors.r2 > 0.99
    assert np.abs(np.diff(output.points)).max() < 0.1 * np.ptp(exact)
    with refuses("input.shape", "labels"):
        report(graph, qgraph, x, targets[:-1])


def test_a_report_is_a_page_that_asks_nothing_of_anybody() -> None:
    graph, x = everything(Weights(7)), samples()
    document = report(graph, quantise(graph, x, 2), x, graph.run(x).argmax(axis=1)).to_json()
    text = page.html("<mine>", json.loads(json.dumps(document, allow_nan=False)))
    assert "<h1>&lt;mine&gt;</h1>" in text
    assert "Accuracy drops by" in text
    assert text.count("<svg") == 1 + bool(document["outputs"][0]["points"]) + len(document["tensors"])
    assert not re.search(r"(src|href)=|url\(|@import|<script", text)
    for chart in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(chart)  # noqa: S314  made here


@pytest.mark.parametrize(
    ("options", "field"),
    [({"bits": 0}, "bits"), ({"weight_bits": 17}, "weight_bits"), ({"method": "max"}, "method")],
)
def test_unknown_options_are_refused(options: dict[str, object], field: str) -> None:
    with pytest.raises(ModelError) as caught:
        quantise(everything(Weights(0)), samples(), **options)  # type: ignore[arg-type]
    assert caught.value.field == field


@pytest.mark.parametrize("name", ["shallownet-mnist", "lenet-small-cifar", "lenet-face-small-orl"])
@pytest.mark.parametrize("per_channel", [pytest.param(False, marks=pytest.mark.large), True])
def test_on_real_images_accuracy_is_within_one_percent_of_onnxruntime(name: str, per_channel: bool) -> None:
    found = real.of(name)
    graph = zoo.network(name)
    session = onnxruntime.InferenceSession(to_onnx(graph))
    images, labels = found.images[:2000], found.labels[:2000]
    (logits,) = session.run(None, {"image": images.astype(np.float32)})
    exact = float(np.mean(logits.argmax(axis=1) == labels))
    qgraph = quantise(graph, found.calibration, per_channel=per_channel)
    result = report(graph, qgraph, images, labels)
    assert result.float_accuracy == pytest.approx(exact, abs=0.001)
    assert result.accuracy is not None
    assert abs(result.accuracy - exact) <= 0.01
    assert result.warning is None


def test_inputs_beyond_calibration_saturate_where_that_is_asked_for() -> None:
    qgraph = quantise(tensor("x", 2).relu().graph(), np.array([[-1.0, 1.0]]))
    with pytest.raises(TensorError, match=r"input\[1\] lies outside"):
        qgraph.quantise_input([0.0, 3.0])
    assert qgraph.quantise_input([-9.0, 3.0], saturate=True).tolist() == [0, 255]
    assert qgraph.quantise_inputs([-9.0, 3.0], saturate=True)["x"].tolist() == [0, 255]
    with pytest.raises(TensorError, match="finite"):
        qgraph.quantise_input([0.0, np.inf], saturate=True)
