"""Random networks of functions, movement, sums and constants, as onnxruntime has them: in floats, in integers
and in constraints."""

from __future__ import annotations

from typing import get_args

import numpy as np

from tests.circuits.random_graphs import networks
from tests.circuits.relation_checker import broken
from tests.circuits.support import answered, first_violation, held
from zenserve.circuits import compile_inference, load_onnx, quantise
from zenserve.circuits.lowering import Level
from zenserve.errors import ModelError
from zenserve.verifier.schemes import Privacy

LEVELS: tuple[Level, ...] = get_args(Level)
WEIGHTS: tuple[Privacy, ...] = ("public", "private")
# What a network may ask for that has no circuit.
NONE = {"model.unsupported_operator", "model.outputs"}


def test_they_agree_with_onnxruntime_and_are_proven() -> None:
    """Every sixth at each level; what has no circuit is refused by name."""
    refused = 0
    for index, drawn in enumerate(networks(20261123, 60)):
        output = drawn.nodes[-1].output[0]
        expected = drawn.values[output]
        try:
            graph = load_onnx(drawn.model(output))
        except ModelError as error:
            if error.code not in NONE and expected.size > 1:
                raise
            refused += 1
            continue
        x = drawn.x.astype(np.float64)
        np.testing.assert_allclose(graph.run(x).ravel(), expected.ravel(), atol=1e-3, rtol=1e-3)
        samples = drawn.rng.normal(size=(16, *graph.input.shape))
        try:
            network = quantise(graph, samples)
        except ModelError as error:
            if "divides by zero" not in str(error):
                raise
            refused += 1
            continue
        level, weights = LEVELS[index % 6], WEIGHTS[index // 6 % 2]
        circuit = compile_inference(network, weight_privacy=weights, level=level)
        assert circuit.constraint_system.constraints == circuit.plan.rows
        for q in network.input.type.quantise(samples[:2]):
            z = circuit.assign(q)
            assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
            if "label" in circuit.reveal.values():
                assert z[circuit.layout["label"][0]] == network.execute(q).label
            assert broken(circuit.relations, held(circuit, z)) == []
    assert refused < 30
