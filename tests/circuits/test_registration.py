"""Proofs with committed weights, and the one that their ranges rest on."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from tests.circuits.quantised import networks
from tests.circuits.support import accepted_lies, answered, first_violation, prove
from tests.prover.statements import commitment_basis
from tests.refusals import refuses
from zenserve import kernels
from zenserve.circuits import QuantGraph, compile_inference, compile_registration, parameters
from zenserve.circuits.graphs.types import Affine
from zenserve.circuits.operators.convolution import QuantConv
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.operators.reshape import Reshape
from zenserve.errors import StatementError
from zenserve.prover import groth16
from zenserve.verifier.schemes import Privacy


@pytest.fixture(scope="module")
def network() -> QuantGraph:
    return networks.of_kinds(5, "conv", "sum", shape=(1, 3, 3))


def test_the_parameters_are_those_of_the_linked_segment(network: QuantGraph) -> None:
    q = networks.inputs(network, 3)[2]
    circuit = compile_inference(network, weight_privacy="committed")
    registration = compile_registration(network)
    for statement, z in (
        (circuit.constraint_system, circuit.assign(q)),
        (registration.constraint_system, registration.program.assign({})),
    ):
        (linked,) = (
            variables
            for segment, variables in zip(statement.segments, statement.segment_ranges, strict=True)
            if segment.linked
        )
        assert z[linked][:-1].tolist() == parameters(network).tolist()


def test_proofs_are_about_the_registered_model_and_no_other(network: QuantGraph) -> None:
    values = parameters(network)
    basis = commitment_basis(len(values))
    model, other = (basis.commit(kernels.fr.from_int64(each)) for each in (values, np.roll(values, 1)))
    registration = compile_registration(network)
    key = groth16.setup(registration.constraint_system, basis=basis)
    registered = prove(registration, key, registration.witness(statement=7), [model]).to_bytes()
    assert groth16.verify(key.verifying_key, [7], registered, [model.commitment]).valid
    assert not groth16.verify(key.verifying_key, [7], registered, [other.commitment]).valid
    assert not groth16.verify(key.verifying_key, [8], registered, [model.commitment]).valid

    circuit = compile_inference(network, weight_privacy="committed")
    key = groth16.setup(circuit.constraint_system, basis=basis)
    q = networks.inputs(network, 3)[2]
    public = circuit.public_inputs(q)
    witness = circuit.witness(q)
    proof = prove(circuit, key, witness, [model]).to_bytes()
    assert groth16.verify(key.verifying_key, public, proof, [model.commitment]).valid
    assert not groth16.verify(key.verifying_key, public, proof, [other.commitment]).valid
    for label in set(range(network.classes)) - {public[1]}:
        assert not groth16.verify(key.verifying_key, [0, label], proof, [model.commitment]).valid
    with pytest.raises(StatementError):
        prove(circuit, key, witness, [other])


def test_what_a_proof_says_leaves_the_types_to_the_registration(network: QuantGraph) -> None:
    meanings = {
        weights: compile_inference(network, weight_privacy=weights).meaning for weights in get_args(Privacy)
    }
    assert "registration" in meanings["committed"]
    assert not any("registration" in meanings[weights] for weights in ("public", "private"))


def test_no_parameter_outside_its_type_is_registered(network: QuantGraph) -> None:
    program = compile_registration(network).program
    honest = program.assign({})
    assert first_violation(program.constraint_system, answered(program, honest)) is None
    for node in network.nodes:
        if not isinstance(node, QuantConv | QuantDense):
            continue
        zero, top = int(node.weight_type.zero_point[0]), node.weight_type.top
        assert len(node.weight_type.zero_point) == 1
        reach = 1 << node.bias_bits
        for name, low, high in (("weight", -zero, top - zero), ("bias", -reach, reach - 1)):
            wire = program.constraint_system.layout[f"{node.name}/{name}"].ravel()[0]
            for value in (low - 1, high + 1, high + (1 << 30)):
                lie = honest.copy()
                lie[wire] = value
                assert first_violation(program.constraint_system, answered(program, lie)) is not None


def test_every_wire_of_a_registration_that_moves_is_noticed() -> None:
    network = networks.of_kinds(3, most_bits=3, shape=(1, 2, 2))
    program = compile_registration(network).program
    assert accepted_lies(program, program.assign({})) == []


def test_the_registration_depends_on_types_alone(network: QuantGraph) -> None:
    other = networks.of_kinds(5, "conv", "sum", shape=(1, 3, 3))
    for node in other.nodes:
        if isinstance(node, QuantConv | QuantDense):
            node.weight[...] = node.weight[::-1].copy()
    assert (
        compile_registration(network).constraint_system.digest
        == compile_registration(other).constraint_system.digest
    )


def test_a_network_without_weights_is_refused() -> None:
    network = QuantGraph.of("x", (2,), Affine(1.0, 0, 8), (Reshape("flat", ("x",), (2, 1)),), "flat")
    for refused in (parameters, compile_registration):
        with refuses("statement.no_weights"):
            refused(network)
