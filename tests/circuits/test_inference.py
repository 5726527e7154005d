"""Whole circuits: honest provers always pass, and every kind of wire that lies is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.circuits.conftest import Digits
from tests.circuits.support import PRIVACIES, dense_layers, extremes, first_violation, forge, random_network
from tests.refusals import refuses
from zenserve import kernels
from zenserve.circuits import Inference, QuantGraph, compile_inference
from zenserve.circuits.graphs.types import Affine, Rescale, WeightType
from zenserve.circuits.lowering import Level
from zenserve.circuits.operators.dense import QuantDense
from zenserve.errors import ModelError
from zenserve.prover import groth16
from zenserve.verifier.schemes import Privacy


@pytest.mark.parametrize("privacy", PRIVACIES)
def test_executor_and_constraints_agree_on_every_held_out_digit(
    digits: Digits, privacy: tuple[Privacy, Privacy]
) -> None:
    """Of the digits each privacy takes its share."""
    circuit = digits.circuits[privacy]
    for image in digits.images[PRIVACIES.index(privacy) :: len(PRIVACIES)]:
        q = circuit.quantise_input(image)
        witness = circuit.witness(q)
        a, b, c = circuit.constraint_system.evaluate(witness)
        assert (kernels.fr.mul(a, b) == c).all()
        public = circuit.public_inputs(q)
        assert kernels.fr.to_ints(witness[1 : 1 + circuit.constraint_system.public]) == public
        hidden = dict(circuit.qgraph.tensors(q[np.newaxis]))["dense1"][0]
        assert circuit.assign(q)[circuit.layout["dense1/out"]].tolist() == hidden.tolist()


@given(st.integers(0, 2**32), st.sampled_from(PRIVACIES), st.integers(2, 8), st.booleans())
@settings(max_examples=40)
def test_honest_provers_never_fail(
    seed: int, privacy: tuple[Privacy, Privacy], bits: int, relu_last: bool
) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 7, rng.integers(2, 6))
    network = random_network(seed, sizes.tolist(), bits, relu_last, offset=rng.normal() * 2)
    circuit = compile_inference(network, input_privacy=privacy[0], weight_privacy=privacy[1], level=2)
    for q in extremes(network, rng):
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, z) is None
        assert z[circuit.layout["label"][0]] == circuit.execute(q).label


@given(
    st.integers(2, 8),
    st.integers(0, 61),
    st.integers(1, 63),
    st.integers(1, 61),
    st.sampled_from([-1, 1]),
    st.integers(1, 5),
    st.sampled_from(PRIVACIES),
)
@settings(max_examples=150)
def test_every_network_that_is_admitted_compiles_and_proves(
    bits: int,
    bias_bits: int,
    multiplier: int,
    shift: int,
    sign: int,
    inputs: int,
    privacy: tuple[Privacy, Privacy],
) -> None:
    """Biases out of all proportion, such as a unit that never fires: refused at the door or never."""
    top = (1 << bits) - 1
    kind, weights = Affine(1.0, top // 2, bits), WeightType(np.array([1.0]), np.array([top // 2]), bits)
    bias = np.array([sign * (1 << bias_bits), 0])
    rescale = Rescale(np.array([multiplier]), shift, kind, 0, top)
    weight = np.full((2, inputs), top, np.uint8)
    try:
        first = QuantDense("dense1", ("x",), weight, weights, bias, rescale=rescale)
        last = replace(dense_layers(random_network(1, (2, 2), bits))[0], name="dense2", inputs=("dense1",))
        network = QuantGraph.of("x", (inputs,), kind, (first, last), "dense2")
    except ModelError:
        return
    circuit = compile_inference(network, input_privacy=privacy[0], weight_privacy=privacy[1], level=2)
    for q in (np.zeros(inputs, np.int64), np.full(inputs, top)):
        assert first_violation(circuit.constraint_system, circuit.assign(q)) is None


@pytest.mark.parametrize("level", [0, 1, 2])
def test_no_maximum_explains_a_wrong_label_at_any_level(level: Level) -> None:
    """Also one so large that the margins' lower digits are those of another margin."""
    circuit = compile_inference(random_network(3), level=level)
    q = extremes(circuit.qgraph, np.random.default_rng(0))[-1]
    output, layout = circuit.execute(q), circuit.layout
    for label in set(range(len(output.logits))) - {output.label}:
        selector = {int(w): int(j == label) for j, w in enumerate(layout["output/argmax/selector"])}
        for above in (0, 1, *(1 << digit for digit in range(8, 62))):
            largest = {int(layout["output/argmax/max"][0]): int(output.logits[label]) + above}
            lie = {int(layout["label"][0]): label, **selector, **largest}
            violation = first_violation(circuit.constraint_system, forge(circuit, q, lie))
            assert violation is not None, (label, above)
            assert violation.startswith(("output/argmax_margin_sum", "output/argmax_attained"))


def test_ties_go_to_the_first_class_and_to_no_other() -> None:
    network = random_network(4, (3, 2))
    layer = dense_layers(network)[0]
    twin = replace(layer, weight=layer.weight[[0, 0]], bias=layer.bias[[0, 0]])
    network = replace(network, nodes=(twin,))
    circuit = compile_inference(network, level=2)
    q = np.array([3, 200, 77])
    z = circuit.assign(q)
    assert first_violation(circuit.constraint_system, z) is None
    assert z[circuit.layout["label"][0]] == 0 == circuit.execute(q).label
    first, second = (int(wire) for wire in circuit.layout["output/argmax/selector"])
    for largest in (z[circuit.layout["output/argmax/max"][0]], z[circuit.layout["output/argmax/max"][0]] + 1):
        later = {int(circuit.layout["label"][0]): 1, first: 0, second: 1,
                 int(circuit.layout["output/argmax/max"][0]): int(largest)}  # fmt: skip
        assert first_violation(circuit.constraint_system, forge(circuit, q, later)) is not None


def test_an_unknown_privacy_is_refused(digits: Digits) -> None:
    with refuses("statement.privacy", "weight_privacy"):
        compile_inference(digits.qgraph, weight_privacy="secret")  # type: ignore[arg-type]


def test_weights_are_committed_at_level_5_alone(digits: Digits) -> None:
    with refuses("statement.privacy", "weight_privacy"):
        compile_inference(digits.qgraph, weight_privacy="committed", level=4)


def test_compilation_is_deterministic(digits: Digits) -> None:
    again = compile_inference(QuantGraph.from_bytes(digits.qgraph.to_bytes()), level=2)
    assert again.constraint_system.digest == digits.circuit.constraint_system.digest


@pytest.mark.parametrize("privacy", PRIVACIES)
def test_the_description_is_json_and_adds_up(digits: Digits, privacy: tuple[Privacy, Privacy]) -> None:
    circuit = digits.circuits[privacy]
    described = json.loads(json.dumps(circuit.describe()))
    counts = described["constraints"]
    assert counts["total"] == circuit.constraint_system.constraints
    assert sum(counts["by_layer"].values()) == sum(counts["by_gadget"].values()) == counts["total"]
    assert sum(group["count"] for group in described["public_inputs"]) == circuit.constraint_system.public
    assert ("Nothing binds the weights" in described["meaning"]) == (privacy[1] == "private")
    firsts = [group["first"] for group in described["public_inputs"]]
    assert firsts == ([0, 1, 65] if privacy[0] == "public" else [0, 1])


def prove_and_verify(circuit: Inference, image: np.ndarray) -> tuple[groth16.VerifyingKey, list[int], bytes]:
    key = groth16.setup(circuit.constraint_system)
    q = circuit.quantise_input(image)
    proof = groth16.prove(key, circuit.constraint_system, circuit.witness(q)).to_bytes()
    return key.verifying_key, circuit.public_inputs(q), proof


@pytest.mark.parametrize("input_privacy", ["private", "public"])
def test_a_digit_is_proven_and_no_other_label_verifies(digits: Digits, input_privacy: Privacy) -> None:
    circuit = digits.circuits[input_privacy, "public"]
    key, public, proof = prove_and_verify(circuit, digits.images[0])
    assert groth16.verify(key, public, proof).valid
    for label in set(range(11)) - {public[-1]}:
        assert not groth16.verify(key, [*public[:-1], label], proof).valid
    if input_privacy == "public":
        assert not groth16.verify(key, [public[0] + 1, *public[1:]], proof).valid
