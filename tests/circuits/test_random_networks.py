"""Random networks of all kinds of operators: in floats what onnxruntime has, and in 16 bits nearer than two
percent of what the outputs reach, or refused by a code that says why."""

from __future__ import annotations

import numpy as np
import pytest

from tests.circuits.operators.test_arithmetic import real
from tests.circuits.random_graphs import KINDS, Drawn, networks, session
from zenserve.circuits import load_onnx, quantise
from zenserve.errors import ModelError

SAMPLES = 24
FAR = 0.02
# What has no circuit, and what has no integers: numbers that reach too far, or overflow.
UNREAD = {"model.unsupported_operator", "model.unsupported_attribute", "model.outputs", "model.shape"}
UNQUANTISED = {"model.scale", "model.range_too_wide", "model.quantised"}


def far(drawn: Drawn) -> str | float:
    """How far integers are from onnxruntime's numbers, by what these reach, or the code of a refusal."""
    output = drawn.nodes[-1].output[0]
    data = drawn.model(output)
    x = drawn.rng.normal(size=(SAMPLES, 1, *drawn.shape)).astype(np.float32)
    runtime = session(data)
    expected = np.concatenate([runtime.run(None, {"x": each})[0].reshape(1, -1) for each in x])
    try:
        graph = load_onnx(data, whole=True)
    except ModelError as error:
        if error.code not in UNREAD:
            raise
        return error.code
    if not np.isfinite(expected).all():
        return "not finite"
    samples = x.astype(np.float64).reshape(SAMPLES, *graph.input.shape)
    floats = graph.run(samples).reshape(expected.shape)
    reach = max(float(np.ptp(expected)), 1e-2 * float(np.abs(expected).max()), 1e-3)
    assert (np.abs(floats - expected) <= 1e-3 * reach).mean() > 0.99
    try:
        network = quantise(graph, samples, 16)
    except ModelError as error:
        if error.code not in UNQUANTISED:
            raise
        return error.code
    got = real(network, network.input.type.quantise(samples)).reshape(expected.shape)
    return float(np.quantile(np.abs(got - floats) / reach, 0.99))


def judged(seed: int, count: int) -> dict[str, int]:
    """How often each code was met; no network is far off."""
    codes = dict[str, int]()
    for index, drawn in enumerate(networks(seed, count, KINDS)):
        found = far(drawn)
        said = found if isinstance(found, str) else "right"
        near = isinstance(found, str) or found < FAR
        assert near, (seed, index, found, [node.op_type for node in drawn.nodes])
        codes[said] = codes.get(said, 0) + 1
    return codes


def test_integers_are_near() -> None:
    codes = judged(20261129, 60)
    assert codes["right"] > 40, codes


@pytest.mark.large
@pytest.mark.parametrize("seed", range(20))
def test_integers_of_many_are_near(seed: int) -> None:
    codes = judged(seed, 50)
    assert codes["right"] > 30, codes
