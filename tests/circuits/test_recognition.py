"""Recognition: near and far, at the threshold, and everything a prover could claim instead."""

from __future__ import annotations

import json
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.circuits.quantised import networks
from tests.circuits.support import PRIVACIES, R, answered, first_violation, prove
from tests.prover.statements import commitment_basis
from tests.refusals import refuses
from zenserve import kernels
from zenserve.circuits import QuantGraph, Recognition, compile_recognition, input_values
from zenserve.circuits.lowering import Level
from zenserve.prover import groth16
from zenserve.prover.groth16.reference import check
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy


def inputs(graph: QuantGraph, seed: int = 0) -> tuple[IntArray, IntArray]:
    q = networks.inputs(graph, 3, seed)[2]
    return q, np.random.default_rng(seed).integers(0, 16, 3)


@given(
    st.integers(0, 2**32), st.sampled_from(PRIVACIES), st.sampled_from(get_args(Level)), st.integers(-1, 1)
)
def test_the_match_is_the_distance_against_the_threshold(
    seed: int, privacy: tuple[Privacy, Privacy], level: Level, beside: int
) -> None:
    graph = networks.embedding(seed)
    circuit = compile_recognition(graph, input_privacy=privacy[0], weight_privacy=privacy[1], level=level)
    q, reference = inputs(graph, seed)
    distance = int(((graph.execute(q).logits - reference) ** 2).sum())
    threshold = max(0, distance + beside)
    z = circuit.assign(q, reference, threshold)
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    assert circuit.constraint_system.constraints == circuit.plan.rows
    public = circuit.public_inputs(q, reference, threshold)
    assert z[1 : 1 + circuit.constraint_system.public].tolist() == public
    assert public[-1] == int(distance <= threshold) == int(circuit.matches(q, reference, threshold))


@pytest.fixture(scope="module")
def circuit() -> Recognition:
    return compile_recognition(networks.embedding(1), weight_privacy="private", level=2)


def test_public_values_out_of_range_are_refused_by_the_circuit(circuit: Recognition) -> None:
    """A verifier may forget the check: a reference or threshold beyond its range has no proof."""
    q, reference = inputs(circuit.qgraph)
    layout = circuit.layout
    for name, index, value in (
        ("reference", 0, 16),
        ("reference", 2, R - 1),
        ("threshold", 0, 1 << circuit.most.bit_length()),
        ("threshold", 0, R - 1),
        ("match", 0, 2),
    ):
        z = circuit.assign(q, reference, 40).tolist()
        z[layout[name][index]] = value
        assert check(circuit.constraint_system, z) is not None


def test_bad_input_is_named(circuit: Recognition) -> None:
    q, reference = inputs(circuit.qgraph)
    for bad, field in (((q[:, 1:], reference, 1), "input"), ((q, reference[1:], 1), "reference")):
        with refuses("input.shape", field):
            circuit.witness(*bad)
    with refuses("input.out_of_range", "threshold"):
        circuit.witness(q, reference, circuit.most + 1)


def test_a_committed_reference_is_linked_and_no_other_passes() -> None:
    graph = networks.embedding(1)
    circuit = compile_recognition(graph, input_privacy="committed", reference_privacy="committed")
    q, reference = inputs(graph)
    assert circuit.commitments == ["input", "reference"]
    public = circuit.public_inputs(q, reference, 40, statement=9)
    assert set(circuit.values(q, reference, 40)) == {"threshold", "match"}
    values = input_values(graph, q)
    basis = commitment_basis(values.size)
    held, other = (
        [basis.commit(kernels.fr.from_int64(values)) for values in pair]
        for pair in ((values, reference), (values, reference[::-1].copy()))
    )
    key = groth16.setup(circuit.constraint_system, basis=basis)
    witness = circuit.witness(q, reference, 40, statement=9)
    proof = prove(circuit, key, witness, held)
    verify = groth16.verify
    assert verify(key.verifying_key, public, proof, [opening.commitment for opening in held]).valid
    assert not verify(key.verifying_key, public, proof, [opening.commitment for opening in other]).valid
    for place in range(len(public)):
        lie = list(public)
        lie[place] = 1 - lie[place] if place == 2 else lie[place] + 1
        assert not verify(key.verifying_key, lie, proof, [opening.commitment for opening in held]).valid


def test_sums_are_no_embedding() -> None:
    with refuses("statement.embedding"):
        compile_recognition(networks.of_kinds(1, "conv"))


def test_a_match_is_proven_and_its_contrary_is_not(circuit: Recognition) -> None:
    q, reference = inputs(circuit.qgraph)
    key = groth16.setup(circuit.constraint_system)
    proof = groth16.prove(key, circuit.constraint_system, circuit.witness(q, reference, circuit.most))
    public = circuit.public_inputs(q, reference, circuit.most)
    assert public[-1] == 1
    assert groth16.verify(key.verifying_key, public, proof).valid
    for place in (-1, -2, 0):
        lie = list(public)
        lie[place] = 1 - lie[place] if place == -1 else lie[place] + 1
        assert not groth16.verify(key.verifying_key, lie, proof).valid


def test_the_description_is_json_and_says_what_it_proves(circuit: Recognition) -> None:
    described = json.loads(json.dumps(circuit.describe()))
    assert described["scheme"] == "recognition"
    assert [group["name"] for group in described["public_inputs"]] == [
        "statement",
        "reference",
        "threshold",
        "match",
    ]
    assert sum(group["count"] for group in described["public_inputs"]) == circuit.constraint_system.public
    assert "embedding" in described["meaning"]
