"""Files as exporters write them: PyTorch's, recorded by record_exports.py, and onnxruntime's quantiser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper
from onnx.helper import make_node
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from tests.circuits.support import make_model
from tests.refusals import refuses
from zenserve.circuits import load_onnx, quantise
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import Declared, FloatArray
from zenserve.circuits.onnx.export import export_torch
from zenserve.circuits.operators.average_pool import AveragePool
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.scale import Scale
from zenserve.errors import ModelError

FILES = Path(__file__).parent / "onnx_files"
# Trees, of other exporters, are read in a test of their own.
PYTORCHS = sorted(path for path in FILES.glob("*.onnx") if not path.name.startswith("trees_"))


def run(path: Path, x: FloatArray, plainly: bool = False) -> FloatArray:
    """onnxruntime's outputs, centred: a LogSoftmax shifts all classes by one number."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if plainly:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    outputs = onnxruntime.InferenceSession(path, options).run(None, {"x": x.astype(np.float32)})[0]
    return centred(outputs.astype(np.float64))


def centred(outputs: FloatArray) -> FloatArray:
    centre: FloatArray = outputs - outputs.mean(axis=1, keepdims=True)
    return centre


@pytest.mark.parametrize("path", PYTORCHS, ids=lambda path: path.stem)
def test_what_pytorch_exports_is_read(path: Path) -> None:
    graph = load_onnx(path)
    x = np.random.default_rng(0).normal(size=(3, *graph.input.shape))
    np.testing.assert_allclose(centred(graph.run(x)), run(path, x), atol=1e-5)
    assert not any(isinstance(node, Scale) for node in graph.nodes)


@pytest.mark.parametrize("name", ["lenet", "vgg", "resnet"])
def test_the_exporters_agree_on_the_network(name: str) -> None:
    graphs = [load_onnx(FILES / f"{name}_{kind}.onnx") for kind in ("ts", "ts_raw", "dyn")]
    kinds = [[type(node) for node in graph.nodes] for graph in graphs]
    assert kinds[0] == kinds[1] == kinds[2]


def external(folder: Path, **changes: object) -> Path:
    """The LeNet of the dynamo exporter in ``folder``, its first external tensor changed."""
    path = folder / "lenet_dyn.onnx"
    shutil.copy(FILES / "lenet_dyn.onnx.data", folder)
    model = ModelProto.FromString((FILES / "lenet_dyn.onnx").read_bytes())
    tensor = next(
        tensor for tensor in model.graph.initializer if tensor.data_location == TensorProto.EXTERNAL
    )
    entries = {entry.key: entry.value for entry in tensor.external_data} | changes
    del tensor.external_data[:]
    for key, value in entries.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    path.write_bytes(model.SerializeToString())
    return path


def test_tensors_beside_the_model_are_read_from_a_path_alone(tmp_path: Path) -> None:
    path = external(tmp_path)
    load_onnx(path)
    with refuses("model.external_data", match="load the model from its path"):
        load_onnx(path.read_bytes())


@pytest.mark.parametrize(
    "changes",
    [
        {"location": "../secret"},
        {"location": "sub/../../secret"},
        {"location": "link"},
        {"location": "folder/secret"},
        {"location": "pipe"},
        {"location": "."},
        {"location": ""},
        {"location": None},
        {"location": "a\0b"},
        {"location": "x" * 5000},
        {"location": "missing"},
        {"offset": -4},
        {"offset": "four"},
        {"offset": 1 << 70},
        {"length": 1 << 40},
        {"length": 0},
        {"offset": 16_000, "location": "lenet_dyn.onnx.data"},
    ],
)
def test_no_file_outside_the_folder_and_no_bytes_outside_the_file_are_read(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    for secret in (tmp_path / "secret", tmp_path / "more" / "secret"):
        secret.parent.mkdir(exist_ok=True)
        secret.write_bytes(bytes(1 << 16))
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "folder").symlink_to(tmp_path / "more")
    os.mkfifo(folder / "pipe")
    with refuses("model.external_data"):
        load_onnx(external(folder, **changes))
    absolute = external(folder, location=tmp_path / "secret")
    with pytest.raises(ModelError):
        load_onnx(absolute)


class Samples(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, shape: tuple[int, ...]) -> None:
        rng = np.random.default_rng(0)
        self._samples: Iterator[dict[str, Any]] = iter(
            [{"x": rng.normal(size=(1, *shape)).astype(np.float32)} for _ in range(8)]
        )

    def get_next(self) -> dict[str, Any] | None:
        return next(self._samples, None)


def quantised(
    name: str, folder: Path, style: str, activations: str = "QInt8", per_channel: bool = False
) -> Path:
    source, path = FILES / f"{name}.onnx", folder / f"{name}.onnx"
    quantize_static(
        source,
        path,
        Samples(load_onnx(source).input.shape),
        quant_format=QuantFormat[style],
        activation_type=QuantType[activations],
        weight_type=QuantType.QInt8,
        per_channel=per_channel,
    )
    return path


def rounded(graph: Graph, x: FloatArray) -> FloatArray:
    """The typed graph with every declared tensor rounded, as onnxruntime does it in float32."""
    values = {graph.input.name: x}

    def settle(name: str) -> None:
        declared = graph.declared.get(name)
        if declared is not None:
            q = np.rint(values[name].astype(np.float32) / np.float32(declared.scale)) + declared.zero_point
            values[name] = declared.scale * (np.clip(q, *declared.integers) - declared.zero_point)

    settle(graph.input.name)
    for node in graph.nodes:
        values[node.name] = node.run(*(values[read] for read in node.inputs))
        settle(node.name)
    return values[graph.output]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "style", "activations", "per_channel"),
    [
        ("lenet_dyn", "QDQ", "QUInt8", True),
        ("lenet_ts", "QOperator", "QInt8", False),
        ("vgg_ts", "QDQ", "QInt8", False),
        ("vgg_dyn", "QOperator", "QInt8", False),
        ("resnet_ts", "QDQ", "QUInt8", True),
        ("resnet_ts", "QOperator", "QInt8", False),
        ("odd_ts", "QDQ", "QInt8", False),
        ("odd_dyn", "QOperator", "QInt8", False),
    ],
)
def test_what_onnxruntime_quantises_is_read_with_its_scales(
    tmp_path: Path, name: str, style: str, activations: str, per_channel: bool
) -> None:
    path = quantised(name, tmp_path, style, activations, per_channel)
    graph = load_onnx(path)
    x = np.random.default_rng(1).normal(size=(4, *graph.input.shape))
    # Without its optimisations onnxruntime computes on rounded floats, and QOperators of int8 exactly.
    expected = run(path, x, plainly=True)
    step = float(graph.declared[graph.output].scale)
    # Averages of four integers end in a half, which float32 rounds either way.
    assert np.abs(centred(rounded(graph, x)) - expected).max() < (2.5 if "lenet" in name else 0.5) * step

    # onnxruntime leaves the Sub that the odd one starts with in floats.
    assert graph.input.name in graph.declared or name.startswith("odd")
    for node in graph.nodes:
        if isinstance(node, Conv | Dense) and node.declared_weight:
            whole = _integers(node.weight, node.declared_weight)
            assert np.abs(whole - np.rint(whole)).max() < 1e-6
            low, high = node.declared_weight.integers
            assert low <= np.rint(whole).min()
            assert np.rint(whole).max() <= high
            assert node.declared_weight.scale.shape in ((), (len(node.weight),))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("style", ["QDQ", "QOperator"])
def test_a_quantised_softmax_at_the_end_is_left_out(tmp_path: Path, style: str) -> None:
    rng = np.random.default_rng(2)
    nodes = [
        make_node("Gemm", ["x", "w"], ["l"], name="fc"),
        make_node("Softmax", ["l"], ["y"], name="softmax"),
    ]
    source = tmp_path / "softmax.onnx"
    source.write_bytes(make_model(nodes, {"w": rng.normal(size=(6, 5)).astype(np.float32)}, ("batch", 6)))
    quantised_path = tmp_path / "quantised.onnx"
    quantize_static(source, quantised_path, Samples((6,)), quant_format=QuantFormat[style])
    graph = load_onnx(quantised_path)
    assert [type(node) for node in graph.nodes] == [Dense, Clip]
    assert graph.output in graph.declared


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("style", ["QDQ", "QOperator"])
def test_quantised_functions_are_read_with_their_scales(tmp_path: Path, style: str) -> None:
    """Also those of two nodes, the type between which is passed over."""
    rng = np.random.default_rng(2)
    weights = {name: rng.normal(size=(6, 6)).astype(np.float32) for name in ("u", "v", "w")}
    nodes = [
        make_node("Gemm", ["x", "u"], ["a"], name="first"),
        make_node("Sigmoid", ["a"], ["b"], name="sigmoid"),
        make_node("Gemm", ["b", "v"], ["c"], name="second"),
        make_node("Sigmoid", ["c"], ["d"], name="factor"),
        make_node("Mul", ["c", "d"], ["e"], name="swish"),
        make_node("Gemm", ["e", "w"], ["y"], name="last"),
    ]
    source, path = tmp_path / "functions.onnx", tmp_path / "quantised.onnx"
    source.write_bytes(make_model(nodes, weights, ("batch", 6)))
    quantize_static(source, path, Samples((6,)), quant_format=QuantFormat[style])
    graph = load_onnx(path)
    assert [node.operator() for node in graph.nodes if node.curved] == ["Activation"] * 2
    x = rng.normal(size=(16, 6))
    expected, step = run(path, x, plainly=True), float(graph.declared[graph.output].scale)
    assert np.abs(centred(rounded(graph, x)) - expected).max() < 2.5 * step
    qgraph = quantise(graph, x)
    made = qgraph.run(qgraph.input.type.quantise(x))
    kind = qgraph.types[qgraph.output]
    assert kind is not None
    assert np.abs(centred(kind.real(made)) - expected).max() < 3.5 * step


def test_weights_of_four_bits_are_read() -> None:
    q = np.arange(-8, 7).reshape(5, 3)
    tensor = helper.make_tensor("q", TensorProto.INT4, q.shape, q.ravel())
    nodes = [
        make_node("DequantizeLinear", ["q", "s", "z"], ["w"], axis=1),
        make_node("MatMul", ["x", "w"], ["y"]),
    ]
    scales = np.array([0.5, 0.25, 2.0], np.float32)
    model = ModelProto.FromString(make_model(nodes, {"s": scales}, ("batch", 5), opset=21))
    zeros = helper.make_tensor("z", TensorProto.INT4, [3], [0, -2, 3])
    model.graph.initializer.extend([tensor, zeros])
    (node,) = load_onnx(bytes(model.SerializeToString())).nodes
    assert isinstance(node, Dense)
    np.testing.assert_array_equal(node.weight, ((q - [0, -2, 3]) * scales).T)
    assert node.declared_weight is not None
    assert (node.declared_weight.bits, node.declared_weight.signed) == (4, True)
    assert node.declared_weight.zero_point.tolist() == [0, -2, 3]


def contradiction(*nodes: Any, **weights: Any) -> bytes:
    scales = {"s": np.float32(0.1), "t": np.float32(0.2), "z": np.uint8(3), "w": np.ones((4, 3), np.float32)}
    weights = {name: np.asarray(value) for name, value in {**scales, **weights}.items()}
    return make_model([*nodes, make_node("MatMul", ["h", "w"], ["y"])], weights)


QUANTISE = make_node("QuantizeLinear", ["x", "s", "z"], ["q"])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (contradiction(make_node("DequantizeLinear", ["x", "s", "z"], ["h"])), "reads floats"),
        (
            contradiction(make_node("QuantizeLinear", ["x", "s", "z"], ["h"]), z=np.int32(1)),
            "16, 8, 4 or 2 bits",
        ),
        (contradiction(make_node("QuantizeLinear", ["x", "s", "z"], ["h"]), s=np.float32(0)), "not positive"),
        (
            contradiction(make_node("QuantizeLinear", ["x", "s", "z"], ["h"]), s=np.ones(3, np.float32)),
            "3 scales for 4 channels",
        ),
        (
            contradiction(make_node("QuantizeLinear", ["x", "s", "u"], ["h"]), u=np.zeros(2, np.uint8)),
            "2 zero points for 1 scales",
        ),
    ],
)
def test_contradictory_quantisation_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        load_onnx(data)
    assert caught.value.code in ("model.quantisation", "model.tensor_type")


def _integers(weight: FloatArray, declared: Declared) -> FloatArray:
    rows = (-1,) + (1,) * (weight.ndim - 1) if declared.scale.ndim else ()
    q: FloatArray = weight / declared.scale.reshape(rows) + declared.zero_point.reshape(rows)
    return q


@pytest.mark.filterwarnings("ignore")
def test_every_layer_of_a_quantised_file_has_a_declared_weight_and_output(tmp_path: Path) -> None:
    graph = load_onnx(quantised("resnet_ts", tmp_path, "QDQ", per_channel=True))
    read_by = {node.inputs[0]: node for node in graph.nodes if len(node.inputs) == 1}
    for node in graph.nodes:
        if isinstance(node, Conv | Dense):
            assert node.declared_weight is not None
        if isinstance(node, Conv | Dense | AveragePool):
            clip = read_by[node.name]
            assert isinstance(clip, Clip)
            assert clip.name in graph.declared


def test_export_torch_says_what_to_install() -> None:
    try:
        import torch
    except ImportError:
        with refuses("model.no_pytorch", match="pip install"):
            export_torch(object(), object())
        return
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 3))
    graph = load_onnx(export_torch(module, torch.zeros(1, 2, 2)))
    assert module.training
    assert [type(node) for node in graph.nodes][-1] is Dense
