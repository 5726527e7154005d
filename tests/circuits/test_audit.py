"""Keys whose circuits are compiled again: right ones pass, and every other field, constraint or point is
refused.
"""

from __future__ import annotations

import json
from dataclasses import replace
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
from circuits.schemes.audit import audit, audit_points
from prover.groth16 import ceremony, powers_of_tau
from prover.groth16.ceremony.initial import required_power
from tests.circuits.quantised import networks
from tests.circuits.quantised.networks import embedding
from tests.prover.statements import forged_key
from tests.refusals import refuses
from verifier.system import CEREMONY
from zenerrors import CeremonyError, StatementError, ZenError


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
        again = audit(graph, described(circuit), forged_key(circuit.constraint_system))
        assert again.constraint_system.digest == circuit.constraint_system.digest


def test_every_field_that_is_changed_is_refused(network: QuantGraph) -> None:
    circuit = compile_accuracy(network, batch=2, weight_privacy="committed")
    honest, key = described(circuit), forged_key(circuit.constraint_system)
    for field in honest:
        others: tuple[Any, ...] = ("x", 1, None, [], {})
        for other in others:
            with pytest.raises(ZenError):
                audit(network.architecture, honest | {field: other}, key)
    for description in (honest | {"more": 1}, {**honest, "batch": 3}, {**honest, "level": 4}, {}):
        with pytest.raises(ZenError):
            audit(network.architecture, description, key)
    with refuses("file.json"):
        audit(network, {}, key)


def test_a_key_of_other_numbers_or_another_label_is_refused(network: QuantGraph) -> None:
    circuit = compile_accuracy(network, batch=2, weight_privacy="committed")
    key = forged_key(circuit.constraint_system)
    first, *others = key.segments
    for field, other in {
        "statement_digest": replace(key, statement_digest=bytes(32)),
        "ic": replace(key, ic=key.ic[:-1]),
        "challenges": replace(key, challenges=key.challenges - 1),
        "segments": replace(key, segments=(replace(first, size=first.size + 1), *others)),
    }.items():
        with refuses("statement.audit", field):
            audit(network.architecture, described(circuit), other)


def test_only_the_key_that_a_ceremony_made_passes_point_by_point(network: QuantGraph) -> None:
    circuit = compile_inference(network, weight_privacy="committed")
    system = circuit.constraint_system
    powers = replace(powers_of_tau.generate(required_power(system)), contributions=1)
    state = ceremony.contribute(ceremony.start(system, powers), "Ada")
    key = ceremony.verifying_key(state)
    assert key.setup == CEREMONY
    audit(network.architecture, described(circuit), key)
    audit_points(circuit, key, state, powers)
    forged = replace(forged_key(system, CEREMONY), contributions=key.contributions)
    later = ceremony.verifying_key(ceremony.contribute(state, "Emmy"))
    for other in (forged, replace(key, ic=(key.ic[1], key.ic[0], *key.ic[2:])), later):
        audit(network.architecture, described(circuit), other)  # which is why this alone says little
        with refuses("statement.audit", "key"):
            audit_points(circuit, other, state, powers)
    with pytest.raises(StatementError):
        audit_points(circuit, key, ceremony.start(system, powers), powers)
    with pytest.raises(CeremonyError):
        audit_points(circuit, key, state, powers_of_tau.generate(powers.power))


def test_another_network_is_refused(network: QuantGraph) -> None:
    circuit = compile_inference(network)
    other = networks.of_kinds(5, "conv", shape=(1, 3, 3))
    node = other.nodes[0]
    weight: np.ndarray = node.weight  # type: ignore[attr-defined]
    weight[...] = weight[::-1, ::-1].copy()
    weight.flat[0] ^= 1
    with pytest.raises(StatementError) as refused:
        audit(other, described(circuit), forged_key(circuit.constraint_system))
    assert refused.value.field == "network"
