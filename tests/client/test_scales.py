"""Proofs' integers as real numbers: beside the float network that they came from."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.support import tiny_calibration, tiny_onnx
from zenserve import circuits
from zenserve.circuits.samples import parse
from zenserve.verifier.scales import real_logits


@pytest.mark.parametrize("embeds", [False, True], ids=["ends with sums", "ends with a type"])
def test_logits_are_those_of_the_float_network_up_to_what_quantisation_costs(embeds: bool) -> None:
    graph = circuits.load_onnx(tiny_onnx(hidden=16, embeds=embeds))
    samples = parse(tiny_calibration(), {"x": (4,)}, "samples").inputs["x"]
    quantised = circuits.quantise(graph, samples)
    circuit = circuits.compile_inference(quantised, reveal="logits")
    for sample in samples[:4]:
        logits = circuit.values(quantised.input.type.quantise(sample))["logits"]
        assert isinstance(logits, list)
        exact = graph.run(sample[None]).ravel()
        assert real_logits(circuit.describe(), logits) == pytest.approx(exact, abs=0.05)
        assert max(abs(exact)) > 0.2, "the outputs are too small to tell"


def test_sums_of_no_weights_have_no_scale_that_is_told() -> None:
    nodes: list[dict[str, Any]] = [{"name": "pool", "reads": ["x"]}]
    circuit = {
        "architecture": nodes,
        "quantisation": {"input": {"scale": 1.0}, "layers": [{"name": "pool"}]},
    }
    assert real_logits(circuit, [1, 2]) is None
