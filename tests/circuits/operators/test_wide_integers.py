"""Whole numbers of more than 16 bits: vocabularies, timestamps and names of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnx.helper import make_node
from sklearn.linear_model import LogisticRegression

import zenserve
from tests.circuits.operators.files import Entry, expected, file, made
from tests.refusals import refuses
from zenserve.circuits.graphs.retyping import QuantRetype

RNG = np.random.default_rng(50)
THEN = 1_700_000_000
INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT
TIMES: Entry = ("x", INT64, [1, 2])


def seconds(reach: int = 200_000, unit: int = 1, count: int = 24) -> list[dict[str, Any]]:
    return [{"x": RNG.integers(THEN, THEN + reach, (1, 2)) * unit} for _ in range(count)]


@pytest.mark.parametrize("unit", [1, 1000])
@pytest.mark.parametrize("operator", ["Add", "Sub"])
def test_a_constant_may_be_subtracted_from_timestamps(operator: str, unit: int) -> None:
    taken = -THEN * unit if operator == "Add" else THEN * unit
    nodes = [
        make_node(operator, ["x", "t"], ["d"]),
        make_node("Cast", ["d"], ["c"], to=FLOAT),
        make_node("Mul", ["c", "k"], ["y"]),
    ]
    data = file(nodes, [TIMES], {"t": np.array([taken]), "k": np.float32(1 / 86400 / unit)})
    samples = seconds(unit=unit)
    result = made(data, samples)
    np.testing.assert_allclose(result.reals, expected(data, samples), atol=1e-5)
    shift, *_ = result.integers.nodes
    assert isinstance(shift, QuantRetype)
    kind = result.integers.input.type
    assert kind.real(np.array([0])) <= THEN * unit
    assert kind.bits < 32


def test_what_reads_timestamps_as_they_are_says_what_helps() -> None:
    data = file([make_node("Mod", ["x", "k"], ["y"])], [TIMES], {"k": np.array([86400])}, INT64)
    with refuses("model.quantised", match="subtract a constant near them"):
        made(data, seconds())
    data = file([make_node("Identity", ["x"], ["y"])], [TIMES], {}, INT64)
    with refuses("model.quantised", match="41 bits; tensors have 32 at most"):
        made(data, seconds(unit=1000))


def test_times_of_a_day_are_compared() -> None:
    nodes = [
        make_node("Sub", ["x", "t"], ["d"]),
        make_node("Greater", ["d", "k"], ["b"]),
        make_node("Cast", ["b"], ["y"], to=FLOAT),
    ]
    data = file(nodes, [TIMES], {"t": np.array([THEN]), "k": np.array([30_000])})
    samples = seconds(60_000)
    np.testing.assert_array_equal(made(data, samples).reals, expected(data, samples))


def test_sums_read_whole_numbers_of_many_bits() -> None:
    entry: Entry = ("x", INT64, [1, 3])
    weights = {"w": RNG.normal(size=(3, 2)).astype(np.float32), "b": np.zeros(2, np.float32)}
    nodes = [make_node("Cast", ["x"], ["c"], to=FLOAT), make_node("Gemm", ["c", "w", "b"], ["y"])]
    data = file(nodes, [entry], weights)
    samples = [{"x": RNG.integers(0, 5_000_000, (1, 3))} for _ in range(24)]
    wanted = expected(data, samples)
    assert np.abs(made(data, samples, bits=12).reals - wanted).max() < 1e-3 * np.ptp(wanted)


def test_functions_read_whole_numbers_of_many_bits_as_real_ones() -> None:
    entry: Entry = ("x", INT64, [1, 3])
    nodes = [make_node("Cast", ["x"], ["c"], to=FLOAT), make_node("Log", ["c"], ["y"])]
    data = file(nodes, [entry], {})
    samples = [{"x": RNG.integers(1000, 5_000_000, (1, 3))} for _ in range(24)]
    assert np.abs(made(data, samples, bits=16).reals - expected(data, samples)).max() < 0.05


def test_a_vocabulary_may_have_70_000_words() -> None:
    words: Entry = ("x", INT64, [1, 1])
    data = file(
        [make_node("Gather", ["e", "x"], ["y"])], [words], {"e": np.arange(70_000, dtype=np.float32) / 70_000}
    )
    samples = [{"x": np.array([[word]])} for word in (0, 255, 65_536, 69_999)]
    result = made(data, samples, bits=8)
    assert result.integers.input.type.bits == 17
    assert np.abs(result.reals - expected(data, samples)).max() < 1 / 128
    with refuses("input.out_of_range", match="70000 entries"):
        result.integers.quantise_input(np.array([70_000]))


def test_classes_may_have_names_of_many_bits() -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx")
    x = RNG.normal(size=(60, 3)).astype(np.float32)
    model = LogisticRegression().fit(x, (x[:, 0] > 0) * 100_000 + 7)
    proof = zenserve.prove(model, x[0], calibration=x, reveal={"output_label": "values"})
    assert zenserve.verify(proof).valid
    (shown,) = proof.shown.values()
    assert np.ravel(shown).tolist() == model.predict(x[:1]).tolist()
