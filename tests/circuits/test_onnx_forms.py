"""Odd forms of every operator: attributes, shapes and constants drawn from its schema. A form that
onnxruntime runs is right here, or refused with a ``ModelError``; no form fails otherwise."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import defs, helper, numpy_helper

from zenserve.circuits import load_onnx
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.operators import ONNX
from zenserve.errors import ModelError, TensorError

_OPSET = 21
_KINDS = {"tensor(float)": 1, "tensor(int64)": 7, "tensor(bool)": 9, "tensor(int8)": 3, "tensor(uint8)": 2}
_STRINGS = {
    "auto_pad": ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
    "direction": ("forward", "reverse", "bidirectional", "LEFT", "RIGHT"),
    "mode": ("nearest", "linear", "cubic", "constant", "edge", "reflect", "wrap", "DCR", "CRD", "bilinear"),
    "reduction": ("none", "add", "mul", "max", "min"),
    "approximate": ("none", "tanh"),
    "padding_mode": ("zeros", "border", "reflection"),
    "coordinate_transformation_mode": ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"),
    "nearest_mode": ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"),
    "equation": ("ij,jk->ik", "ij->ji", "ii->i", "...i,...i->...", "ij,ij->", "bij,bjk->bik"),
}
_FLAGS = {
    *("align_corners", "allowzero", "antialias", "ceil_mode", "count_include_pad", "detect_negative"),
    *("detect_positive", "exclude_outside", "exclusive", "fmod", "input_forget", "interleaved", "is_causal"),
    *("keepdims", "largest", "layout", "linear_before_reset", "new_axis", "noop_with_empty_axes", "periodic"),
    *(
        "reverse",
        "saturate",
        "select_last_index",
        "sorted",
        "storage_order",
        "training_mode",
        "transA",
        "transB",
    ),
    "upper",
}
OPERATORS = sorted(
    name
    for domain, name in ONNX
    if domain == "" and not {"If", "Loop", "Scan", "SequenceMap"} & {name} and defs.has(name, _OPSET)
)
Rng = np.random.Generator
_OPTION = defs.OpSchema.FormalParameterOption


def _sizes(rng: Rng) -> list[int]:
    return [int(rng.choice([1, 2, 3, 4])) for _ in range(rng.integers(0, 5))]


def _integers(rng: Rng, name: str, rank: int) -> list[int]:
    """A list for an attribute: one for each spatial axis, twice as many of pads, or axes."""
    count = max(1, rank - 2)
    if name == "pads":
        return [int(rng.integers(0, 2)) for _ in range(2 * count)]
    if name == "perm":
        return [int(at) for at in rng.permutation(rank)]
    if name == "axes":
        return [int(at) for at in rng.permutation(max(1, rank))[: rng.integers(1, 3)]]
    return [int(rng.integers(1, 4)) for _ in range(count)]


def _attributes(rng: Rng, schema: Any, rank: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, attribute in schema.attributes.items():
        if not attribute.required and rng.random() < 0.6:
            continue
        kind = attribute.type.name
        if kind == "INT":
            made[name] = int(
                rng.integers(0, 2)
                if name in _FLAGS
                else rng.choice([1, 7])
                if name in ("to", "dtype", "output_datatype")
                else rng.integers(-2, 4)
            )
        elif kind == "FLOAT":
            made[name] = float(rng.choice([0.0, 0.5, 1.0, -1.0, 2.0]))
        elif kind == "INTS":
            made[name] = _integers(rng, name, rank)
        elif kind == "FLOATS":
            made[name] = [float(value) for value in rng.uniform(0.5, 2, rng.integers(1, 4))]
        elif kind == "STRING":
            made[name] = str(rng.choice(_STRINGS.get(name, ("none",))))
        elif kind == "TENSOR":
            made[name] = numpy_helper.from_array(rng.normal(size=1).astype(np.float32))
    return {name: value for name, value in made.items() if value != []}


def _array(rng: Rng, kind: int, shape: list[int]) -> NDArray[Any]:
    if kind == 1:
        return rng.normal(size=shape).astype(np.float32)
    if kind == 9:
        return rng.integers(0, 2, shape).astype(bool)
    dtype = {7: np.int64, 3: np.int8, 2: np.uint8}[kind]
    return rng.integers(0 if kind == 2 else -2, 5, shape).astype(dtype)


def _constant_shape(rng: Rng, shape: list[int]) -> list[int]:
    """Of a constant beside a tensor: alike, one that broadcasts, a vector of an axis, a number, or any."""
    choices = [
        shape,
        [size if rng.random() < 0.5 else 1 for size in shape],
        shape[-1:],
        shape[1:2],
        [max(1, len(shape))],
        [],
        _sizes(rng),
    ]
    return list(choices[rng.integers(len(choices))])


def drawn(name: str, rng: Rng) -> tuple[bytes, NDArray[Any]]:
    """A network of one node that reads x, and an x."""
    schema, shape = defs.get_schema(name, _OPSET), _sizes(rng)
    formal = list(schema.inputs)
    if formal and formal[-1].option == _OPTION.Variadic:
        formal += formal[-1:] * int(rng.integers(0, 3))
    while formal and formal[-1].option == _OPTION.Optional and rng.random() < 0.5:
        formal.pop()
    types: dict[str, int] = {}
    inputs, weights, x = list[str](), list[Any](), None
    for at, each in enumerate(formal):
        allowed = [_KINDS[kind] for kind in each.types if kind in _KINDS] or [1]
        kind = types.setdefault(
            each.type_str, 1 if 1 in allowed and rng.random() < 0.8 else int(rng.choice(allowed))
        )
        if x is None and (at == 0 or rng.random() < 0.3) and kind in (1, 7, 9):
            x = _array(rng, kind, shape)
            inputs.append("x")
        elif x is not None and rng.random() < 0.2 and kind == helper.np_dtype_to_tensor_dtype(x.dtype):
            inputs.append("x")
        else:
            weights.append(numpy_helper.from_array(_array(rng, kind, _constant_shape(rng, shape)), f"w{at}"))
            inputs.append(f"w{at}")
    x = rng.normal(size=shape).astype(np.float32) if x is None else x
    node = helper.make_node(name, inputs, ["y"], name="odd", **_attributes(rng, schema, len(shape)))
    info = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), shape)
    graph = helper.make_graph([node], "g", [info], [helper.make_empty_tensor_value_info("y")], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=10)
    return bytes(model.SerializeToString()), x


def _runtime(data: bytes, x: NDArray[Any]) -> NDArray[Any] | None:
    """What onnxruntime makes of it, None where it does not take the model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # It would hand out the input's memory where a node is dropped.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(data, options)
        (made,) = session.run(None, {each.name: x for each in session.get_inputs()})
    except Exception:  # onnxruntime raises kinds of its own, and those of pybind11
        return None
    return made if isinstance(made, np.ndarray) else None


# What others of the same operators are not right in yet.
_LEFT = {
    "QuantizeLinear": "shows what it stands for",
}


def _read(data: bytes) -> Graph | ModelError:
    try:
        return load_onnx(data, whole=True)
    except ModelError as error:
        return error


def _run(graph: Graph, x: NDArray[Any]) -> NDArray[np.float64] | None:
    """None for places that are none."""
    try:
        return graph.run(x.astype(np.float64).reshape(1, *graph.input.shape)).ravel()
    except TensorError:
        return None


def _compared(name: str, seeds: range) -> int:
    """How many forms were right."""
    right = 0
    for seed in seeds:
        data, x = drawn(name, np.random.default_rng((zlib.crc32(name.encode()), seed)))
        graph = _read(data)
        if isinstance(graph, ModelError):
            refused = (graph.code, name, seed, repr(graph.__cause__))
            assert graph.code != "model.unreadable", refused
            assert len(graph.message) < 500, refused
            continue
        expected = _runtime(data, x)
        made = _run(graph, x)
        if made is not None and expected is not None and name not in _LEFT:
            # Runtimes differ in 0 / 0 and in what integers make of numbers beyond theirs.
            told = np.isfinite(expected.ravel()) & (np.abs(made) < 100)
            known = expected.ravel()[told].astype(np.float64)
            np.testing.assert_allclose(made[told], known, atol=1e-3, rtol=1e-3, err_msg=f"{name} {seed}")
            right += 1
    return right


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 500), marks=pytest.mark.large)])
def test_an_odd_form_is_right_or_refused(name: str, seeds: range) -> None:
    _compared(name, seeds)


@pytest.mark.parametrize("name", ["Add", "Cast", "Clip", "Concat", "Mul", "Softmax"])
def test_many_forms_are_read(name: str) -> None:
    assert _compared(name, range(20)) > 2
