"""QONNX's quantisers, as its own executor has them (qonnx 1.0.0, custom_op/general), and Brevitas' QCDQ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto
from onnx.helper import make_node

from tests.circuits.operators.files import QONNX, Entry, expected, file, made
from tests.refusals import refuses
from zenserve.circuits import load_onnx
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.operators.dense import Dense

RNG = np.random.default_rng(48)
ENTRY: Entry = ("x", TensorProto.FLOAT, [1, 4])
SAMPLES = [{"x": RNG.normal(size=(1, 4)).astype(np.float32)} for _ in range(24)]
X = np.array([each["x"][0] for each in SAMPLES], np.float64)
ROUNDED: dict[str, Callable[[FloatArray], FloatArray]] = {
    "ROUND": np.round,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "ROUND_TO_ZERO": lambda x: np.sign(x) * np.floor(np.abs(x)),
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - 0.5),
}
CHANNELS = np.array([[0.1, 0.2, 0.3, 0.25]], np.float32)


def quantised(
    x: Any, scale: Any, zero: float, bits: float, signed: int, narrow: int, mode: str
) -> FloatArray:
    least = -(2 ** (bits - 1)) + narrow if signed else 0.0
    most = 2 ** (bits - 1) - 1 if signed else 2**bits - 1 - narrow
    if bits == 1 and signed:
        q = np.where(x / scale + zero >= 0, 1.0, -1.0)
    else:
        q = ROUNDED[mode](np.clip(x / scale + zero, least, most))
    real: FloatArray = (q - zero) * scale
    return real


@pytest.mark.parametrize("scale", [np.float32(0.3), CHANNELS], ids=["one", "channels"])
@pytest.mark.parametrize(
    ("bits", "signed", "narrow", "zero", "mode"),
    [
        (4.0, 1, 0, 0.0, "ROUND"),
        (4.0, 1, 1, 0.0, "ROUND"),
        (4.0, 0, 1, 1.0, "ROUND"),
        (8.0, 1, 0, 2.0, "ROUND"),
        (2.5, 1, 0, 0.0, "ROUND"),
        (1.5, 0, 0, 0.0, "ROUND"),
        (1.0, 1, 0, 0.0, "ROUND"),
        *((3.0, 1, 0, 1.0, mode) for mode in ROUNDED),
    ],
)
def test_it_quantises(scale: Any, bits: float, signed: int, narrow: int, zero: float, mode: str) -> None:
    said: dict[str, Any] = {"signed": signed, "narrow": narrow, "rounding_mode": mode}
    weights = {"s": scale, "z": np.float32(zero), "b": np.float32(bits)}
    nodes = [make_node("Quant", ["x", "s", "z", "b"], ["y"], domain=QONNX, **said)]
    result = made(file(nodes, [ENTRY], weights), SAMPLES, bits=12)
    wanted = quantised(X, np.float64(scale), zero, bits, signed, narrow, mode)
    np.testing.assert_allclose(result.floats, wanted, atol=1e-6)
    # What the input's own steps bring to the other side of an end is another integer.
    assert np.mean(np.abs(result.reals - wanted) > 1e-2) < 0.03

    weight = RNG.normal(size=(4, 3)).astype(np.float32)
    per_output = scale if scale.size == 1 else CHANNELS[:, :3]
    weights |= {"w": weight, "s": per_output}
    nodes = [
        make_node("IntQuant", ["w", "s", "z", "b"], ["v"], domain="onnx.brevitas", **said),
        make_node("MatMul", ["x", "v"], ["y"]),
    ]
    (node,) = load_onnx(file(nodes, [ENTRY], weights)).nodes
    assert isinstance(node, Dense)
    wanted = quantised(weight.astype(np.float64), np.float64(per_output), zero, bits, signed, narrow, mode)
    np.testing.assert_allclose(node.weight.T, wanted, atol=1e-6)
    assert node.declared_weight is not None
    assert node.declared_weight.bits <= np.ceil(bits) + 1


def test_bipolar_weights_have_one_bit() -> None:
    weights: dict[str, Any] = {"s": np.float32(0.3), "w": RNG.normal(size=(4, 3)).astype(np.float32)}
    nodes = [
        make_node("BipolarQuant", ["w", "s"], ["v"], domain=QONNX),
        make_node("MatMul", ["x", "v"], ["a"]),
        make_node("BipolarQuant", ["a", "s"], ["y"], domain="finn.custom_op.general"),
    ]
    result = made(file(nodes, [ENTRY], weights), SAMPLES, bits=12)
    (node, _) = result.graph.nodes
    assert isinstance(node, Dense)
    assert node.declared_weight is not None
    assert node.declared_weight.bits == 1
    signs = np.where(X @ np.where(weights["w"] >= 0, 0.3, -0.3) >= 0, 1, -1)
    np.testing.assert_allclose(result.floats, 0.3 * signs, atol=1e-6)
    assert np.mean(np.abs(result.reals - 0.3 * signs) > 1e-3) < 0.03


@pytest.mark.parametrize("mode", ["FLOOR", "ROUND", "CEIL"])
@pytest.mark.parametrize("newer", [False, True])
def test_it_truncates(mode: str, newer: bool) -> None:
    whole: FloatArray = np.round(30 * X)
    samples = [{"x": (0.25 * row[np.newaxis]).astype(np.float32)} for row in whole]
    weights = dict.fromkeys("sziop", np.float32(0)) | {"s": np.float32(0.25), "i": np.float32(8)}
    weights |= {"o": np.float32(4), "p": np.float32(4.0)}
    inputs = ["x", "s", "z", "i", *(["p"] if newer else []), "o"]
    said: dict[str, Any] = {"signed": 1, "narrow": 0} if newer else {}
    nodes = [make_node("Trunc", inputs, ["y"], domain=QONNX, rounding_mode=mode, **said)]
    result = made(file(nodes, [ENTRY], weights), samples, bits=12)
    q = ROUNDED[mode](whole / 16)
    wanted = np.clip(q, -8, 7) * 4.0 if newer else q * 0.25
    np.testing.assert_allclose(result.floats, wanted, atol=1e-6)
    assert np.mean(np.abs(result.reals - wanted) > 0.05) < 0.03


@pytest.mark.parametrize(
    ("said", "weights", "code", "words"),
    [
        ({"rounding_mode": "STOCHASTIC"}, {}, "unsupported_attribute", "STOCHASTIC"),
        ({}, {"s": np.float32(0)}, "quantisation", "not positive"),
        ({}, {"b": np.float32(0)}, "quantisation", "0.0 bits"),
    ],
)
def test_other_quantisers_are_refused(said: Any, weights: Any, code: str, words: str) -> None:
    there = {"s": np.float32(1), "z": np.float32(0), "b": np.float32(4), **weights}
    nodes = [make_node("Quant", ["x", "s", "z", "b"], ["y"], domain=QONNX, **said)]
    with refuses(f"model.{code}", match=words):
        load_onnx(file(nodes, [ENTRY], there))


def qcdq(*nodes: Any, **weights: NDArray[Any] | np.generic) -> bytes:
    there = {"s": np.float32(0.1), "z": np.int8(0), "lo": np.int8(-7), "hi": np.int8(7)}
    return file(nodes, [ENTRY], {**there, **weights})


def test_clipped_integers_have_the_bits_that_are_left() -> None:
    """Brevitas' QCDQ: integers of few bits are clipped between QuantizeLinear and DequantizeLinear."""
    weight = RNG.integers(-7, 8, (4, 3)).astype(np.int8)
    clip = make_node("Clip", ["q", "lo", "hi"], ["c"])
    multiply = make_node("MatMul", ["x", "d"], ["y"])
    data = qcdq(clip, make_node("DequantizeLinear", ["c", "s", "z"], ["d"]), multiply, q=weight)
    (node,) = load_onnx(data).nodes
    assert isinstance(node, Dense)
    assert node.declared_weight is not None
    assert (node.declared_weight.bits, node.declared_weight.signed) == (4, True)
    np.testing.assert_allclose(node.weight.T, weight * np.float32(0.1))

    quantise = make_node("QuantizeLinear", ["x", "s", "z"], ["q"])
    data = qcdq(quantise, clip, make_node("DequantizeLinear", ["c", "s", "z"], ["y"]))
    result = made(data, SAMPLES)
    np.testing.assert_allclose(result.floats, expected(data, SAMPLES), atol=1e-6)
    np.testing.assert_allclose(result.reals, expected(data, SAMPLES), atol=1e-6)
    kind = result.integers.types[result.integers.output]
    assert kind is not None
    assert kind.bits == 4
