"""One small network, its keys for every scheme, and honest documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.circuits.quantised import networks
from tests.client.makers import MADE_AT, AccuracyMaker, Maker, inference, model_opening, registration
from tests.prover.statements import commitment_basis
from zenserve.circuits import (
    QuantGraph,
    compile_inference,
    compile_recognition,
    compile_registration,
    input_values,
)
from zenserve.circuits.graphs.types import Affine, Rescale
from zenserve.circuits.operators.dense import QuantDense
from zenserve.prover.groth16 import CommitmentKey, Opening
from zenserve.relations.integers import IntArray
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import ProofDocument, Receipt, checked
from zenserve.verifier.fields import canonical

BATCH = 3


@pytest.fixture(scope="session")
def graph() -> QuantGraph:
    return networks.of_kinds(6, "conv", shape=(1, 3, 3))


@pytest.fixture(scope="session")
def basis() -> CommitmentKey:
    return commitment_basis(300)


@pytest.fixture(scope="session")
def model(graph: QuantGraph, basis: CommitmentKey) -> Opening:
    return model_opening(graph, basis)


@pytest.fixture(scope="session")
def inputs(graph: QuantGraph) -> IntArray:
    return networks.inputs(graph, 10, 0)[2:]


@pytest.fixture(scope="session")
def registrar(graph: QuantGraph, basis: CommitmentKey) -> Maker:
    return Maker.of(compile_registration(graph), basis)


@pytest.fixture(scope="session")
def inferrer(graph: QuantGraph, basis: CommitmentKey) -> Maker:
    """Committed weights, a committed input, label and logits."""
    circuit = compile_inference(graph, input_privacy="committed", weight_privacy="committed", reveal="logits")
    return Maker.of(circuit, basis)


@pytest.fixture(scope="session")
def shower(graph: QuantGraph, basis: CommitmentKey) -> Maker:
    """Public weights, a public input and the two likeliest labels."""
    return Maker.of(compile_inference(graph, input_privacy="public", reveal="top", top=2), basis)


@pytest.fixture(scope="session")
def recogniser(graph: QuantGraph, basis: CommitmentKey) -> Maker:
    """Public weights, a private input and a committed reference."""
    last = graph.nodes[-1]
    assert isinstance(last, QuantDense)
    typed = replace(last, rescale=Rescale(np.array([3]), 10, Affine(0.1, 2, 4), 0, 15))
    network = replace(graph, nodes=(*graph.nodes[:-1], typed))
    return Maker.of(compile_recognition(network, reference_privacy="committed"), basis)


@pytest.fixture(scope="session")
def assessor(graph: QuantGraph, basis: CommitmentKey, model: Opening) -> AccuracyMaker:
    return AccuracyMaker(graph, basis, model, BATCH)


@pytest.fixture(scope="session")
def data(graph: QuantGraph) -> LabelledData:
    """Eight samples, so that the third shard is not full; most labels are the network's."""
    q = networks.inputs(graph, 8, 7)
    labels = graph.run(q).argmax(axis=1)
    labels[2] = (labels[2] + 1) % graph.classes
    return LabelledData.of(graph.input.type.real(q), labels)


@pytest.fixture(scope="session")
def registered(registrar: Maker, model: Opening) -> ProofDocument:
    return registration(registrar, model)


@pytest.fixture(scope="session")
def held_input(inferrer: Maker, inputs: IntArray) -> Opening:
    return inferrer.commit(input_values(inferrer.circuit.qgraph, inputs[0]))


@pytest.fixture(scope="session")
def inferred(inferrer: Maker, inputs: IntArray, model: Opening, held_input: Opening) -> ProofDocument:
    openings = {"model": model, "input": held_input}
    return inference(inferrer, inputs[0], openings, challenge="What is on image 7?")


@pytest.fixture(scope="session")
def shown(shower: Maker, inputs: IntArray) -> ProofDocument:
    return inference(shower, inputs[1], {})


@pytest.fixture(scope="session")
def assessed(assessor: AccuracyMaker, data: LabelledData) -> ProofDocument:
    return assessor.document(data)


@pytest.fixture(scope="session")
def issuer() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


@pytest.fixture(scope="session")
def receipt(issuer: Ed25519PrivateKey, registered: ProofDocument, model: Opening) -> Receipt:
    """As the service signs it."""
    fields = {
        "format": "zenserve receipt",
        "version": 1,
        "model_id": "mdl_1",
        "name": "Zehn Ziffern, größer",
        "commitment": model.commitment.hex(),
        "network": registered.statement.network,
        "parent": None,
        "registration": registered.statement_sha256,
        "registered_at": MADE_AT,
        "issuer": issuer.public_key().public_bytes_raw().hex(),
    }
    return checked(Receipt, fields | {"signature": issuer.sign(canonical(fields)).hex()})
