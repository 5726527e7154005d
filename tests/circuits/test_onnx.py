"""The importer against onnxruntime on what it takes, and code by code on what it refuses."""

from __future__ import annotations

import builtins
import io
import os
import pickle
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.helper import make_node

from tests.circuits.conftest import Digits
from tests.circuits.support import make_model
from tests.refusals import refuses
from zenserve.circuits import Graph, load_onnx, quantise
from zenserve.circuits.operators.dense import Dense
from zenserve.errors import ModelError

RNG = np.random.default_rng(3)


def floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


def listed_inputs(data: bytes) -> bytes:
    """Every weight also listed as an input, as files of IR version 3 have it."""
    model = ModelProto.FromString(data)
    for tensor in model.graph.initializer:
        model.graph.input.add().CopyFrom(
            helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        )
    return bytes(model.SerializeToString())


W, B, SHAPE64 = floats(4, 3), floats(3), np.array([0, 4], dtype=np.int64)
GEMM = make_node("Gemm", ["x", "w", "b"], ["y"], name="fc")

ACCEPTED = {
    "gemm": make_model([GEMM], {"w": W, "b": B}),
    "gemm without bias": make_model([make_node("Gemm", ["x", "w"], ["y"])], {"w": W}),
    "gemm with every attribute": make_model(
        [make_node("Gemm", ["x", "w", "b"], ["y"], transA=0, transB=1, alpha=0.5, beta=-2.0)],
        {"w": floats(3, 4), "b": B},
    ),
    "gemm with a scalar bias": make_model([GEMM], {"w": W, "b": floats()}),
    "gemm with a row bias": make_model([GEMM], {"w": W, "b": floats(1, 3)}),
    "matmul and add": make_model(
        [make_node("MatMul", ["x", "w"], ["m"]), make_node("Add", ["b", "m"], ["y"])], {"w": W, "b": B}
    ),
    "two adds": make_model(
        [
            make_node("MatMul", ["x", "w"], ["m"]),
            make_node("Add", ["m", "b"], ["n"]),
            make_node("Add", ["n", "b"], ["y"]),
        ],
        {"w": W, "b": B},
    ),
    "deep, with relu and identity": make_model(
        [
            make_node("Gemm", ["x", "w", "b"], ["h"]),
            make_node("Relu", ["h"], ["r"]),
            make_node("Identity", ["r"], ["i"]),
            make_node("MatMul", ["i", "v"], ["y"]),
        ],
        {"w": W, "b": B, "v": floats(3, 5)},
    ),
    "flatten": make_model(
        [make_node("Flatten", ["x"], ["f"]), make_node("Gemm", ["f", "w"], ["y"])],
        {"w": floats(12, 3)},
        ("batch", 2, 3, 2),
    ),
    "reshape by -1 and 0": make_model(
        [
            make_node("Reshape", ["x", "s"], ["f"]),
            make_node("Reshape", ["f", "t"], ["g"]),
            make_node("Gemm", ["g", "w"], ["y"]),
        ],
        {"s": np.array([0, 3, -1]), "t": np.array([-1, 12]), "w": floats(12, 3)},
        ("batch", 2, 3, 2),
    ),
    "a batch of one": make_model(
        [make_node("Reshape", ["x", "s"], ["f"]), make_node("Gemm", ["f", "w"], ["y"])],
        {"s": np.array([1, -1]), "w": W},
        (1, 2, 2),
    ),
    "a constant node": make_model(
        [
            make_node("Constant", [], ["w"], value=numpy_helper.from_array(W)),
            make_node("MatMul", ["x", "w"], ["y"]),
        ],
        {},
    ),
    "an old operator set": make_model([GEMM], {"w": W, "b": B}, opset=7),
    "an output in the middle": make_model(
        [make_node("Gemm", ["x", "w"], ["y"]), make_node("Relu", ["y"], ["z"])], {"w": W}
    ),
    "an add before the first layer": make_model(
        [make_node("Add", ["x", "c"], ["s"]), make_node("Gemm", ["s", "w"], ["y"])], {"w": W, "c": floats(4)}
    ),
    "a skip connection": make_model(
        [
            make_node("Gemm", ["x", "v"], ["h"]),
            make_node("Relu", ["h"], ["r"]),
            make_node("Add", ["r", "x"], ["y"]),
        ],
        {"v": floats(4, 4)},
    ),
    "a fork that leads nowhere": make_model(
        [make_node("Relu", ["x"], ["h"]), make_node("Gemm", ["x", "w"], ["y"])], {"w": W}
    ),
    "initialisers among the inputs": listed_inputs(make_model([GEMM], {"w": W, "b": B})),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_float_network_agrees_with_onnxruntime(name: str) -> None:
    session = onnxruntime.InferenceSession(ACCEPTED[name])
    graph = load_onnx(ACCEPTED[name])
    x = floats(1, *graph.input.shape)
    np.testing.assert_allclose(graph.run(x.astype(np.float64)), session.run(None, {"x": x})[0], atol=1e-5)


def test_the_digits_network_agrees_with_onnxruntime_on_every_held_out_image(digits: Digits) -> None:
    images = digits.images.astype(np.float32)
    expected = onnxruntime.InferenceSession(digits.onnx).run(None, {"image": images})[0]
    actual = digits.graph.run(images.astype(np.float64))
    np.testing.assert_allclose(actual, expected, atol=1e-4)
    assert (actual.argmax(axis=1) == expected.argmax(axis=1)).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_float_widths_are_read(dtype: type) -> None:
    graph = load_onnx(make_model([GEMM], {"w": W.astype(dtype), "b": B}))
    assert isinstance(graph.nodes[0], Dense)
    np.testing.assert_array_equal(graph.nodes[0].weight, W.astype(dtype).T.astype(np.float64))


@pytest.mark.parametrize(
    "tail",
    [
        [make_node("Softmax", ["l"], ["y"], axis=-1)],
        [make_node("LogSoftmax", ["l"], ["y"], axis=1)],
        [make_node("ArgMax", ["l"], ["y"], axis=1, keepdims=0)],
        [make_node("Softmax", ["l"], ["p"]), make_node("ArgMax", ["p"], ["y"], axis=-1)],
    ],
)
def test_a_tail_that_keeps_the_order_is_left_out(tail: list[NodeProto]) -> None:
    data = make_model([make_node("Gemm", ["x", "w", "b"], ["l"]), *tail], {"w": W, "b": B})
    plain = load_onnx(ACCEPTED["gemm"])
    assert [type(node) for node in load_onnx(data).nodes] == [type(node) for node in plain.nodes]
    x = floats(5, 4)
    model = ModelProto.FromString(data)
    kind = TensorProto.INT64 if tail[-1].op_type == "ArgMax" else TensorProto.FLOAT
    model.graph.output[0].type.tensor_type.elem_type = kind
    data = model.SerializeToString()
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    made = load_onnx(data, whole=True).run(x).reshape(expected.shape)
    np.testing.assert_allclose(made, expected, atol=1e-6)


def holed(value: float) -> np.ndarray:
    weight = W.copy()
    weight[2, 1] = value
    return weight


def external() -> bytes:
    model = ModelProto.FromString(ACCEPTED["gemm"])
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    return bytes(model.SerializeToString())


def edited(name: str, **changes: object) -> bytes:
    """An accepted model with fields of its first weight changed."""
    model = ModelProto.FromString(ACCEPTED[name])
    tensor = model.graph.initializer[0]
    for field, value in changes.items():
        if field == "dims":
            tensor.dims[:] = value
        else:
            setattr(tensor, field, value)
    return bytes(model.SerializeToString())


def several(field: str, name: str) -> bytes:
    model = ModelProto.FromString(ACCEPTED["gemm"])
    getattr(model.graph, field).append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4]))
    return bytes(model.SerializeToString())


def without_opset() -> bytes:
    model = ModelProto.FromString(ACCEPTED["gemm"])
    del model.opset_import[:]
    return bytes(model.SerializeToString())


def duplicated() -> bytes:
    model = ModelProto.FromString(ACCEPTED["gemm"])
    model.graph.initializer.append(model.graph.initializer[0])
    return bytes(model.SerializeToString())


def one(*nodes: NodeProto, shape: Sequence[int | str] = ("batch", 4), **weights: np.ndarray) -> bytes:
    return make_model(nodes, {"w": W, "b": B, **weights}, shape)


class _Loaded:
    """A pickle of it fails the test that loads it."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("it was unpickled",)


def _archive(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, pickle.dumps(_Loaded()))
    return file.getvalue()


_HEADER = b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
SAVED = {
    "a pickle": (pickle.dumps(_Loaded()), "a pickle"),
    "a compressed pickle, as joblib writes": (zlib.compress(pickle.dumps(_Loaded())), "a pickle"),
    "a checkpoint of PyTorch's": (_archive("archive/data.pkl"), "PyTorch"),
    "a model of Keras'": (_archive("config.json"), "Keras"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(64), "HDF5"),
    "safetensors": (len(_HEADER).to_bytes(8, "little") + _HEADER + bytes(4), "safetensors"),
}


@pytest.mark.parametrize("name", SAVED)
def test_what_python_saves_names_the_import_and_is_not_read(name: str) -> None:
    data, kind = SAVED[name]
    with refuses("model.not_onnx", match=rf"{kind}.*zenserve import"):
        load_onnx(data)


REFUSED = {
    "empty": (b"", "model.not_onnx", "the file is empty"),
    "text": (b"this is no model at all", "model.not_onnx", "ONNX"),
    "a cut model": (ACCEPTED["gemm"][:-9], "model.not_onnx", "ONNX"),
    "no operator set": (without_opset(), "model.opset", "version 7"),
    "an ancient operator set": (make_model([GEMM], {"w": W, "b": B}, opset=6), "model.opset", "version 7"),
    "a determinant": (
        one(make_node("Gemm", ["x", "w"], ["h"]), make_node("Det", ["h"], ["y"], name="squash")),
        "model.unsupported_operator",
        "Det, node 'squash'",
    ),
    "a foreign domain": (
        one(make_node("Relu", ["x"], ["y"], domain="com.example")),
        "model.unsupported_operator",
        "Relu",
    ),
    "NaN in a weight": (
        one(GEMM, w=holed(np.nan)),
        "model.not_finite",
        r"weight 'w' of node 'fc' \(Gemm\) has nan at index \(2, 1\)",
    ),
    "infinity in a weight": (one(GEMM, w=holed(-np.inf)), "model.not_finite", r"-inf at index \(2, 1\)"),
    "NaN in a bias": (
        one(GEMM, b=np.full(3, np.nan, np.float32)),
        "model.not_finite",
        r"'b' of node 'fc' \(Gemm\) has nan at index \(0,\)",
    ),
    "an infinite alpha": (
        one(make_node("Gemm", ["x", "w"], ["y"], alpha=float("inf"))),
        "model.not_finite",
        "times inf",
    ),
    "a NaN beta": (
        one(make_node("Gemm", ["x", "w", "b"], ["y"], beta=float("nan"))),
        "model.not_finite",
        "times nan",
    ),
    "a dynamic width": (one(GEMM, shape=("batch", "width")), "model.dynamic_shape", "dimension 1"),
    "no rows": (one(GEMM, shape=(4,)), "model.shape", "Flatten"),
    "a missing weight": (make_model([GEMM], {"b": B}), "model.missing_initialiser", "'w'"),
    "a missing tensor": (one(make_node("Relu", ["ghost"], ["y"])), "model.missing_initialiser", "'ghost'"),
    "two inputs": (several("input", "x"), "model.duplicate_name", "two inputs"),
    "two outputs": (several("output", "y"), "model.duplicate_name", "two outputs"),
    "no such output": (several("output", "extra"), "model.outputs", "'extra'"),
    "a wrong width": (one(GEMM, w=floats(5, 3)), "model.shape", "5 inputs but reads 4"),
    "a weight vector": (one(GEMM, w=floats(4)), "model.shape", "weight matrix"),
    "a wrong bias": (one(GEMM, b=floats(4)), "model.shape", "bias of shape"),
    "a tensor into gemm": (one(GEMM, shape=("batch", 2, 2)), "model.shape", "Flatten"),
    "a bad reshape": (
        one(make_node("Reshape", ["x", "s"], ["y"]), s=np.array([0, 5])),
        "model.shape",
        r"\[1, 4\] to \[1, 5\]",
    ),
    "a reshape with two unknowns": (
        one(make_node("Reshape", ["x", "s"], ["y"]), s=np.array([-1, -1])),
        "model.shape",
        r"\[1, 4\] to \[-1, -1\]",
    ),
    "a reshape to very many dimensions": (
        one(make_node("Reshape", ["x", "s"], ["y"]), s=np.ones(100, np.int64)),
        "model.shape",
        "100 numbers",
    ),
    "an input of very many dimensions": (
        one(GEMM, shape=("batch", *[1] * 9, 4)),
        "model.shape",
        "more than 8",
    ),
    "a reshape to nothing": (
        one(make_node("Reshape", ["x", "s"], ["y"]), s=np.array([0, 0, -1, 0])),
        "model.shape",
        "copies",
    ),
    "a transposed batch": (
        one(make_node("Gemm", ["x", "w"], ["y"], transA=1)),
        "model.unsupported_attribute",
        "transA",
    ),
    "an unknown attribute": (
        one(make_node("Relu", ["x"], ["y"], slope=2)),
        "model.unsupported_attribute",
        "'slope'",
    ),
    "an attribute of another type": (
        one(make_node("Gemm", ["x", "w"], ["y"], alpha=[1.0])),
        "model.unsupported_attribute",
        "'alpha'",
    ),
    "an argmax over the batch": (
        one(make_node("Gemm", ["x", "w"], ["l"]), make_node("ArgMax", ["l"], ["y"], axis=0)),
        "model.outputs",
        "'y'",
    ),
    "weights on the left of a vector": (
        one(make_node("MatMul", ["w", "x"], ["y"])),
        "model.shape",
        "multiplies",
    ),
    "a tensor written twice": (
        one(make_node("Relu", ["x"], ["x"])),
        "model.duplicate_name",
        "new tensor",
    ),
    "two weights of one name": (duplicated(), "model.duplicate_name", "the name 'w'"),
    "external data": (external(), "model.external_data", "'w' lives in another file"),
    "too little data": (edited("gemm", dims=[4, 300]), "model.bad_tensor", "'w'"),
    "a negative dimension": (edited("gemm", dims=[4, -1]), "model.bad_tensor", "'w'"),
    "a huge dimension": (edited("gemm", dims=[1 << 62, 3]), "model.bad_tensor", "'w'"),
    "a type that does not exist": (edited("gemm", data_type=99), "model.tensor_type", "'w'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_circuit_is_refused_by_code(name: str) -> None:
    data, code, words = REFUSED[name]
    with refuses(code, match=words):
        load_onnx(data)


@pytest.mark.parametrize("outputs", [1, 3000])
def test_a_network_may_end_in_any_number_of_outputs(outputs: int) -> None:
    graph = load_onnx(one(GEMM, w=floats(4, outputs), b=floats(outputs)))
    assert graph.run(np.ones((2, 4))).shape == (2, outputs)
    quantised = quantise(graph, np.random.default_rng(0).random((8, 4)))
    assert quantised.classes == outputs


@pytest.mark.parametrize(
    ("element", "values"), [("INT64", "integer"), ("UINT8", "integer"), ("BOOL", "boolean")]
)
def test_inputs_are_of_reals_integers_or_booleans(element: str, values: str) -> None:
    model = ModelProto.FromString(ACCEPTED["gemm"])
    model.graph.input[0].type.tensor_type.elem_type = getattr(TensorProto, element)
    assert load_onnx(model.SerializeToString()).input.values == values
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    with refuses("model.tensor_type"):
        load_onnx(model.SerializeToString())


def test_import_never_opens_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the importer opened a file")

    for module, name in ((builtins, "open"), (io, "open"), (os, "open")):
        monkeypatch.setattr(module, name, refuse)
    with pytest.raises(ModelError) as caught:
        load_onnx(external())
    code = caught.value.code
    load_onnx(ACCEPTED["gemm"])
    monkeypatch.undo()
    assert code == "model.external_data"


def test_mutated_files_give_a_graph_or_a_model_error(digits: Digits) -> None:
    rng = np.random.default_rng(11)
    sources = [*ACCEPTED.values(), digits.onnx]
    refused: list[ModelError] = []
    for _ in range(3000):
        data = bytearray(sources[rng.integers(len(sources))])
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(len(data))] = rng.integers(256)
        if rng.random() < 0.2:
            del data[rng.integers(len(data)) :]
        try:
            assert isinstance(load_onnx(bytes(data)), Graph)
        except ModelError as error:
            refused.append(error)
    assert len(refused) > 100
    assert all(error.code.startswith("model.") and len(error.message) < 500 for error in refused)
