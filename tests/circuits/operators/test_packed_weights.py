"""Weights of a few bits in blocks, as onnxruntime multiplies by them and looks them up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.helper import make_node

from tests.circuits.operators.files import Entry, expected, file
from tests.refusals import refuses
from zenserve.circuits import load_onnx

RNG = np.random.default_rng(49)
MICROSOFT = "com.microsoft"
ROWS: Entry = ("x", TensorProto.FLOAT, [1, 3, 40])
WORDS: Entry = ("x", TensorProto.INT64, [1, 3])


def integers(*shape: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return RNG.integers(0, 256, shape).astype(np.uint8)


def agrees(data: bytes, entry: Entry) -> None:
    name, kind, shape = entry
    x = RNG.integers(0, 10, shape) if kind == TensorProto.INT64 else RNG.normal(size=shape).astype(np.float32)
    graph = load_onnx(data)
    wanted, got = expected(data, [{name: x}]), graph.run(x.astype(np.float64).reshape(1, *graph.input.shape))
    np.testing.assert_allclose(got.ravel(), wanted.ravel(), atol=1e-4 * np.ptp(wanted))


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("zero", ["packed", "floats", None])
def test_products_of_bits(bits: int, size: int, zero: str | None) -> None:
    if (bits, zero) == (8, "floats"):
        pytest.skip("onnxruntime has none on the CPU")
    outputs, blocks = 5, -(-40 // size)
    weights: dict[str, Any] = {
        "w": integers(outputs, blocks, size * bits // 8),
        "s": RNG.uniform(0.1, 0.2, (outputs, blocks)).astype(np.float32),
        "b": RNG.normal(size=outputs).astype(np.float32),
    }
    if zero == "packed":
        weights["z"] = integers(outputs, -(-blocks * bits // 8))
    elif zero:
        weights["z"] = RNG.uniform(0, 3, (outputs, blocks)).astype(np.float32)
    inputs = ["x", "w", "s", "z" if zero else "", "", "b"]
    said: dict[str, Any] = {"K": 40, "N": outputs, "bits": bits, "block_size": size}
    agrees(file([make_node("MatMulNBits", inputs, ["y"], domain=MICROSOFT, **said)], [ROWS], weights), ROWS)


@pytest.mark.parametrize("kind", [0, 1])
def test_products_of_the_types_of_bitsandbytes(kind: int) -> None:
    weights = {"w": integers(100), "s": RNG.uniform(0.1, 1, 13).astype(np.float32)}
    said: dict[str, Any] = {"K": 40, "N": 5, "block_size": 16, "quant_type": kind}
    agrees(
        file([make_node("MatMulBnb4", ["x", "w", "s"], ["y"], domain=MICROSOFT, **said)], [ROWS], weights),
        ROWS,
    )


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zero", [True, False])
def test_rows_of_bits_are_looked_up(bits: int, zero: bool) -> None:
    weights = {"w": integers(10, 4 * bits), "s": RNG.uniform(0.1, 1, (10, 2)).astype(np.float32)}
    weights |= {"z": integers(10, -(-2 * bits // 8))} if zero else {}
    said: dict[str, Any] = {"bits": bits, "block_size": 16, "quantize_axis": 1, "gather_axis": 0}
    inputs = ["w", "x", "s", "z"][: 3 + zero]
    agrees(
        file([make_node("GatherBlockQuantized", inputs, ["y"], domain=MICROSOFT, **said)], [WORDS], weights),
        WORDS,
    )


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["INT2", "UINT2", "INT4", "UINT4", "INT8", "INT16"])
def test_weights_in_blocks(kind: str, axis: int) -> None:
    element, bits = TensorProto.DataType.Value(kind), int(kind.strip("UINT"))
    least = 0 if kind.startswith("U") else -(1 << bits - 1)
    shape, blocks = (40, 4), (5, 4) if axis == 0 else (40, 1)
    weights = {
        "w": helper.make_tensor("w", element, shape, RNG.integers(least, least + (1 << bits), 160)),
        "z": helper.make_tensor("z", element, blocks, RNG.integers(least, least + 2, np.prod(blocks))),
        "s": RNG.uniform(0.1, 1, blocks).astype(np.float32),
    }
    nodes = [
        make_node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=axis, block_size=8 if axis == 0 else 4),
        make_node("MatMul", ["x", "d"], ["y"]),
    ]
    agrees(file(nodes, [ROWS], weights, opset=25), ROWS)


@pytest.mark.parametrize("kind", ["FLOAT8E4M3FN", "FLOAT8E5M2"])
def test_weights_of_small_floats(kind: str) -> None:
    values = RNG.normal(size=160)
    weights = {
        "w": helper.make_tensor("w", TensorProto.DataType.Value(kind), (40, 4), values),
        "s": np.float32(0.3),
    }
    nodes = [make_node("DequantizeLinear", ["w", "s"], ["d"]), make_node("MatMul", ["x", "d"], ["y"])]
    agrees(file(nodes, [ROWS], weights), ROWS)


@pytest.mark.parametrize(
    ("said", "scales", "code", "words"),
    [
        ({"bits": 3}, 10, "unsupported_attribute", "2, 4 and 8"),
        ({"weight_prepacked": 1}, 10, "unsupported_attribute", "weight_prepacked=0"),
        ({"K": 0}, 10, "shape", "sizes"),
        ({}, 9, "shape", "9 scales for 10 blocks"),
        ({"N": 6}, 12, "shape", "bytes"),
    ],
)
def test_what_does_not_fit_is_refused(said: dict[str, int], scales: int, code: str, words: str) -> None:
    given: dict[str, Any] = {"K": 40, "N": 5, "bits": 4, "block_size": 32, **said}
    weights = {"w": integers(5, 2, 16), "s": np.ones(scales, np.float32)}
    nodes = [make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain=MICROSOFT, **given)]
    with refuses(f"model.{code}", match=words):
        load_onnx(file(nodes, [ROWS], weights))
