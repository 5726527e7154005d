"""Operators from files run on a GPU as on the processor: masked shares, quotients, means, largest entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.circuits.operators import test_arithmetic as arithmetic
from tests.circuits.operators.test_masks import CONSTANT
from tests.circuits.operators.test_moving import Case, floats
from tests.gpu.test_layers import require_same
from zenserve.circuits import banks, compile_accuracy, load_onnx, quantise
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.priors import with_prior
from zenserve.gpu.device import Device
from zenserve.prover.backends import gpu
from zenserve.prover.backends.cpu import CPU
from zenserve.verifier.bank import PRIOR

CASES: dict[str, Callable[[Any], Case]] = {
    "masks": lambda _: CONSTANT["added twice"],
    "whole quotients": arithmetic.computed_quotients("Mod"),
    **{each.__name__: each for each in (arithmetic.averages, arithmetic.global_max, arithmetic.quotient)},
}


@pytest.mark.parametrize("name", CASES)
def test_as_the_processor(name: str) -> None:
    rng = np.random.default_rng(2)
    case = CASES[name](rng)
    graph = quantise(load_onnx(arithmetic.model(case)), floats(rng, 32, *case[2]))
    require_same(Device(), graph, 4, 4)


def test_models_of_banks() -> None:
    """What they say of profiled samples, and what their accuracies count: of two inputs one is read."""
    on, images = gpu.backend(0), np.random.default_rng(0).normal(size=(8, 4))
    member = with_prior(to_onnx(tensor("x", 4).dense(np.eye(3, 4)).graph()), images)
    graph = quantise(load_onnx(member.onnx), {"x": images, PRIOR: member.priors(3, 8)})
    samples = graph.entries["x"].type.quantise(images)
    profiled = banks.profile(graph, samples)
    np.testing.assert_array_equal(banks.profile(graph, samples, on), profiled)
    circuit = compile_accuracy(graph, batch=4)
    labels = profiled.argmax(axis=1)
    labels[3] += 1
    batches = [(samples[part], labels[part]) for part in (slice(4), slice(4, 8))]
    made, own = ([*circuit.counts_of(batches, on=each)] for each in (on, CPU))
    np.testing.assert_array_equal(made, own)
    np.testing.assert_array_equal(np.ravel(own), [3, 4])
