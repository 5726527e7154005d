"""Keys whose circuits are compiled again: right ones pass, and every other field or constraint is named."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from circuits import (
    Circuit,
    QuantGraph,
    compile_accuracy,
    compile_inference,
    compile_recognition,
    compile_registration,
)
from circuits.audit import audit
from tests.circuits.quantised import networks
from tests.circuits.test_recognition import embedding
from zenerrors import FileFormatError, StatementError, ZenError


@pytest.fixture(scope="module")
def network() -> QuantGraph:
    return networks.of_kinds(5, "conv", shape=(1, 3, 3))


def described(circuit: Circuit) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(circuit.describe()))
    return found


def test_every_scheme_passes_with_the_architecture_alone(network: QuantGraph) -> None:
    faces = embedding(1)
    for graph, circuit in (
        (network.architecture, compile_registration(network)),
        (network.architecture, compile_accuracy(network, batch=2, weight_privacy="committed")),
        (network, compile_accuracy(network, batch=3)),
        (network.architecture, compile_inference(network, weight_privacy="committed", reveal="top", top=2)),
        (network, compile_inference(network, input_privacy="public", reveal="logits", level=2)),
        (
            faces.architecture,
            compile_recognition(faces, weight_privacy="committed", reference_privacy="committed"),
        ),
    ):
        again = audit(graph, described(circuit), circuit.statement.digest)
        assert again.statement.digest == circuit.statement.digest


def test_every_field_that_is_changed_is_refused(network: QuantGraph) -> None:
    circuit = compile_accuracy(network, batch=2, weight_privacy="committed")
    honest, digest = described(circuit), circuit.statement.digest
    for field in honest:
        others: tuple[Any, ...] = ("x", 1, None, [], {})
        for other in others:
            with pytest.raises(ZenError):
                audit(network.architecture, honest | {field: other}, digest)
    for description in (honest | {"more": 1}, {**honest, "batch": 3}, {**honest, "level": 4}, {}):
        with pytest.raises(ZenError):
            audit(network.architecture, description, digest)
    with pytest.raises(FileFormatError) as no_description:
        audit(network, {}, digest)
    assert no_description.value.code == "file.json"
    with pytest.raises(StatementError) as refused:
        audit(network.architecture, honest, bytes(32))
    assert (refused.value.code, refused.value.field) == ("statement.audit", "statement_digest")


def test_another_network_is_refused(network: QuantGraph) -> None:
    circuit = compile_inference(network)
    other = networks.of_kinds(5, "conv", shape=(1, 3, 3))
    node = other.nodes[0]
    weight: np.ndarray = node.weight  # type: ignore[attr-defined]
    weight[...] = weight[::-1, ::-1].copy()
    weight.flat[0] ^= 1
    with pytest.raises(StatementError) as refused:
        audit(other, described(circuit), circuit.statement.digest)
    assert refused.value.field == "network"
