"""ZENacc: counts of right answers over batches, and everything a prover could count instead."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.circuits.quantised import networks, slow
from tests.circuits.quantised.networks import KINDS
from tests.circuits.support import R, answered, challenged, first_violation, forced, prove, slow_execute
from tests.prover.statements import commitment_basis
from tests.refusals import refuses
from zenserve import kernels
from zenserve.circuits import (
    Accuracy,
    QuantGraph,
    compile_accuracy,
    compile_inference,
    input_values,
    load_onnx,
    parameters,
    quantise,
)
from zenserve.circuits.banks import profile
from zenserve.circuits.graphs.types import Affine, Rescale, WeightType
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.operators.convolution import QuantConv
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.priors import with_prior
from zenserve.circuits.r1cs import execution
from zenserve.circuits.schemes import accuracy
from zenserve.errors import StatementError, TensorError
from zenserve.prover import groth16
from zenserve.relations.integers import IntArray
from zenserve.verifier.bank import ANSWER, PRIOR, SEEN
from zenserve.verifier.schemes import Privacy

PRIVATE: tuple[Privacy, ...] = ("public", "committed")


def batch_of(graph: QuantGraph, size: int, seed: int = 0) -> tuple[IntArray, IntArray]:
    """Samples, and labels of which some are right."""
    rng = np.random.default_rng(seed)
    samples = rng.integers(0, graph.input.type.top + 1, (size, *graph.input.shape))
    right = graph.run(samples).argmax(axis=1)
    return samples, np.where(rng.random(size) < 0.5, right, rng.integers(0, graph.classes + 1, size))


def assigned(circuit: Accuracy, samples: IntArray, labels: IntArray) -> IntArray:
    return circuit.program.assign({"samples": samples.ravel(), "labels": labels})


@settings(max_examples=40)
@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    st.integers(1, 4),
    st.sampled_from(PRIVATE),
)
def test_the_count_is_that_of_the_slow_executor_sample_by_sample(
    seed: int, kinds: list[str], batch: int, weights: Privacy
) -> None:
    graph = networks.of_kinds(seed, *kinds, shape=(2, 3, 3))
    circuit = compile_accuracy(graph, batch=batch, weight_privacy=weights)
    samples, labels = batch_of(graph, batch, seed)
    z = assigned(circuit, samples, labels)
    assert circuit.constraint_system.constraints == circuit.plan.rows
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    found = [slow_execute(graph, sample)[0] for sample in samples]
    assert z[circuit.layout["output/label"]].tolist() == found
    assert (
        z[circuit.layout["correct"]].tolist()
        == [np.sum(found == labels)]
        == [*circuit.counts(samples, labels)]
    )
    assert z[1 : 1 + circuit.constraint_system.public].tolist() == circuit.public_inputs(labels)
    assert circuit.values(labels) == {"size": np.sum(labels < graph.classes)}


@pytest.mark.parametrize("weights", PRIVATE)
def test_segments_hold_what_the_commitments_are_to(weights: Privacy) -> None:
    graph = networks.of_kinds(5, "conv", "sum", shape=(1, 3, 3))
    circuit = compile_accuracy(graph, batch=3, weight_privacy=weights)
    samples, labels = batch_of(graph, 3)
    z = assigned(circuit, samples, labels)
    held = {
        segment.name: z[variables][:-1].tolist()
        for segment, variables in zip(
            circuit.constraint_system.segments, circuit.constraint_system.segment_ranges, strict=True
        )
        if segment.linked
    }
    expected = {
        "dataset": circuit.dataset_values(samples, labels).tolist(),
        "correct": circuit.counts(samples, labels).tolist(),
    }
    if weights == "committed":
        expected = {"model": parameters(graph).tolist()} | expected
    assert held == expected
    assert list(held) == circuit.commitments


def layered(kind: str) -> QuantGraph:
    """A layer with multipliers by channel, then one of sums."""
    rng = np.random.default_rng(5)

    def weights(*shape: int) -> tuple[np.ndarray, WeightType, IntArray]:
        kind = WeightType(np.ones(shape[0]), rng.integers(0, 4, shape[0]), 2)
        return rng.integers(0, 4, shape, dtype=np.uint8), kind, rng.integers(-4, 4, shape[0])

    of_input, of_layer = Affine(1.0, 1, 2), Affine(1.0, 2, 3)
    multiplier, shape = np.array([3, 1, 2, 3]), (2, 3, 2)
    if kind == "dense":
        layer: QuantConv | QuantDense = QuantDense(
            "layer", ("flat",), *weights(4, 12), rescale=Rescale(multiplier, 5, of_layer, 1, 6)
        )
        first, flat, size = Reshape("flat", ("x",), (12,)), Reshape("again", ("layer",), (4,)), 4
    else:
        groups, rescale = 2 if kind == "groups" else 1, Rescale(multiplier[:, None, None], 3, of_layer, 1, 6)
        layer = QuantConv(
            "layer", ("first",), *weights(4, 2 // groups, 2, 2), (1, 2), (1, 0, 0, 1), groups, rescale=rescale
        )
        first, flat, size = Reshape("first", ("x",), shape), Reshape("flat", ("layer",), (12,)), 12
    logits = QuantDense("logits", (flat.name,), *weights(3, size))
    return QuantGraph.of("x", shape, of_input, (first, layer, flat, logits), "logits")


@pytest.fixture(scope="module")
def circuit() -> Accuracy:
    return compile_accuracy(networks.of_kinds(7, "conv", most_bits=3, shape=(1, 2, 2)), batch=2)


def forged(circuit: Accuracy, samples: IntArray, labels: IntArray, lies: dict[int, int]) -> list[int]:
    """What a prover computes who insists on some wires and follows from them."""
    order, z = circuit.program.order, assigned(circuit, samples, labels)
    for step in circuit.program.steps.integer:
        z[list(lies)] = list(lies.values())
        taken = z[order]
        execution.fill([step], taken)
        z[order] = taken
    z[list(lies)] = list(lies.values())
    return challenged(circuit.program, z)


def test_no_other_count_label_or_verdict_has_a_proof(circuit: Accuracy) -> None:
    samples, _ = batch_of(circuit.qgraph, 2, 3)
    right = circuit.qgraph.run(samples).argmax(axis=1)
    layout = circuit.layout
    for truth in (right, (right + 1) % circuit.qgraph.classes, np.array([right[0], circuit.qgraph.classes])):
        z = assigned(circuit, samples, truth)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        wires = [int(wire) for name in ("correct", "output/right", "output/label") for wire in layout[name]]
        for wire in wires:
            for value in {-1, 0, 1, 2, 3, int(z[wire]) + 1, int(z[wire]) - 1} - {int(z[wire])}:
                lie = forged(circuit, samples, truth, {wire: value})
                assert first_violation(circuit.constraint_system, lie) is not None, (wire, value)
    (inverse,) = layout["output/right/inverse"][:1]
    lie = forged(circuit, samples, right, {int(layout["output/right"][0]): 0, int(layout["correct"][0]): 1})
    for value in (0, 1, R - 1):
        lie[inverse] = value
        assert first_violation(circuit.constraint_system, lie) is not None


def test_classes_may_be_very_many() -> None:
    circuit = compile_accuracy(networks.of_kinds(7, shape=(1, 2, 2), classes=3000), batch=2)
    assert circuit.constraint_system.constraints == circuit.plan.rows
    samples, _ = batch_of(circuit.qgraph, 2, 3)
    right = circuit.qgraph.run(samples).argmax(axis=1)
    z = assigned(circuit, samples, (right + np.array([0, 1])) % 3000)
    assert z[circuit.layout["correct"]] == 1
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None


def test_no_filling_passes_for_a_sample_and_no_sample_for_filling(circuit: Accuracy) -> None:
    """Else whoever is right about half of a hidden dataset would say that it is half as large."""
    samples, _ = batch_of(circuit.qgraph, 2, 3)
    right = circuit.qgraph.run(samples).argmax(axis=1)
    layout, filler = circuit.layout, circuit.qgraph.classes
    (size,), filling, inverses = (
        layout[name].tolist() for name in ("size", "output/filling", "output/filling/inverse")
    )
    for labels in (right, np.array([right[0], filler]), np.array([filler, filler])):
        z = assigned(circuit, samples, labels)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        for value in {-1, 0, 1, 2, 3} - {int(z[size])}:
            assert first_violation(circuit.constraint_system, forged(circuit, samples, labels, {size: value}))
        for wire in filling:
            lies = {wire: 1 - int(z[wire]), size: int(z[size]) + 2 * int(z[wire]) - 1}
            lie = forged(circuit, samples, labels, lies)
            for inverse in (0, 1, R - 1, lie[inverses[filling.index(wire)]]):
                lie[inverses[filling.index(wire)]] = inverse
                assert first_violation(circuit.constraint_system, lie) is not None


@pytest.mark.parametrize("kind", ["channels", "groups", "dense"])
def test_every_encoding_keeps_samples_apart(kind: str) -> None:
    """Forced, and at its exact cost: outputs are those of the slow executor, and trading them between
    samples is noticed."""
    graph = layered(kind)
    samples, labels = batch_of(graph, 3, 1)
    best = compile_accuracy(graph, batch=3, weight_privacy="committed")
    tensors = [slow.tensors(graph, sample)["layer"] for sample in samples]
    # With its cheapest clamp each: those take values as they come.
    encodings = {
        (way.encoding, way.scaled): (way, rows) for way, rows in best.plan.explanation["layer"][::-1]
    }
    assert len(encodings) >= 4
    for way, rows in encodings.values():
        with forced(accuracy, {"layer": way}):
            circuit = compile_accuracy(graph, batch=3, weight_privacy="committed")
        assert circuit.constraint_system.constraints == rows
        z = assigned(circuit, samples, labels)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        name = "layer/cap/chosen" if "layer/cap/chosen" in circuit.layout else "layer/out"
        # Rows are output channels first, then samples, then positions.
        out = circuit.layout[name].reshape(len(tensors[0]), 3, -1)
        found = np.stack([tensor.reshape(len(tensor), -1) for tensor in tensors], axis=1).astype(np.int64)
        assert z[out].tolist() == found.tolist()
        channel, position = np.argwhere(z[out[:, 0]] != z[out[:, 2]])[0].tolist()
        first, last = out[channel, [0, 2], position].tolist()
        lie = forged(circuit, samples, labels, {first: int(z[last]), last: int(z[first])})
        assert first_violation(circuit.constraint_system, lie) is not None, way


def test_every_wire_that_moves_is_noticed(circuit: Accuracy) -> None:
    samples, labels = batch_of(circuit.qgraph, 2)
    honest, system = assigned(circuit, samples, labels), circuit.constraint_system
    # Samples and labels are what the commitment says; a wrong label is as wrong as the next.
    given_names = ("statement", "samples", "labels", "challenge0", "challenge1")
    derived = np.flatnonzero(honest[system.first_private :] == 0) + system.first_private
    for name, group in circuit.layout.items():
        for wire in group.ravel().tolist() if name not in given_names else ():
            lie = honest.copy()
            lie[wire] += 1
            z = challenged(circuit.program, lie)
            # What follows from challenges, or is derived, is computed anew whatever the prover insists on.
            if z[wire] != lie[wire]:
                assert wire in derived
                z[wire] = (z[wire] + 1) % R
            assert first_violation(system, z) is not None, name


def test_a_sample_beyond_its_type_is_refused(circuit: Accuracy) -> None:
    samples, labels = batch_of(circuit.qgraph, 2)
    top = circuit.qgraph.input.type.top
    for wire in circuit.layout["samples"].tolist():
        for value in (-1, top + 1, top + (1 << 20)):
            lie = forged(circuit, samples, labels, {wire: value})
            assert first_violation(circuit.constraint_system, lie) is not None


@pytest.mark.parametrize("classes", [3, 4, 7])
def test_a_label_beyond_the_classes_is_refused(classes: int) -> None:
    """It would be a sample that the network is wrong about, of a class that there is not."""
    weight, kind = np.arange(4 * classes, dtype=np.uint8).reshape(classes, 4) % 4, Affine(1.0, 1, 2)
    last = QuantDense(
        "logits", ("flat",), weight, WeightType(np.ones(1), np.array([1]), 2), np.arange(classes)
    )
    graph = QuantGraph.of("x", (1, 2, 2), kind, (Reshape("flat", ("x",), (4,)), last), "logits")
    circuit = compile_accuracy(graph, batch=2)
    samples, _ = batch_of(graph, 2)
    honest = [np.array([label, classes - label]) for label in range(classes + 1)]
    for labels in honest:
        z = answered(circuit.program, assigned(circuit, samples, labels))
        assert first_violation(circuit.constraint_system, z) is None
    for wire in circuit.layout["labels"].tolist():
        for value in (-1, classes + 1, 8, 1 << 20, -(1 << 20)):
            lie = forged(circuit, samples, honest[0], {wire: value})
            assert first_violation(circuit.constraint_system, lie) is not None


def test_bad_samples_and_labels_are_named(circuit: Accuracy) -> None:
    samples, labels = batch_of(circuit.qgraph, 2)
    top, classes = circuit.qgraph.input.type.top, circuit.qgraph.classes
    for bad, field in (
        ((samples[:1], labels), "samples"),
        ((samples, labels[:1]), "labels"),
        ((samples + top + 1, labels), "samples"),
        ((samples, labels + classes + 1), "labels"),
        ((samples, np.array([-1, 0])), "labels"),
        ((samples.astype(float), labels), "samples"),
    ):
        with pytest.raises(TensorError) as caught:
            circuit.witness(*bad)
        assert caught.value.field == field
    with refuses("statement.batch"):
        compile_accuracy(circuit.qgraph, batch=0)


def test_one_commitment_serves_inference_and_accuracy_and_nothing_else_passes() -> None:
    graph = networks.of_kinds(5, "conv", shape=(1, 3, 3))
    samples, labels = batch_of(graph, 2, 1)
    counting = compile_accuracy(graph, batch=2, weight_privacy="committed")
    inference = compile_inference(graph, input_privacy="committed", weight_privacy="committed")
    values = {
        "model": parameters(graph),
        "dataset": counting.dataset_values(samples, labels),
        "correct": counting.counts(samples, labels),
        "input": input_values(graph, samples[0]),
    }
    basis = commitment_basis(max(len(value) for value in values.values()))
    openings = {name: basis.commit(kernels.fr.from_int64(value)) for name, value in values.items()}
    other = {
        name: basis.commit(kernels.fr.from_int64(np.append(value[:-1], value[-1] + 1)))
        for name, value in values.items()
    }
    witnesses = (
        (
            counting,
            counting.witness(samples, labels, statement=5),
            counting.public_inputs(labels, statement=5),
        ),
        (
            inference,
            inference.witness(samples[0], statement=5),
            inference.public_inputs(samples[0], statement=5),
        ),
    )
    for circuit, witness, public in witnesses:
        key = groth16.setup(circuit.constraint_system, basis=basis)
        names = circuit.commitments
        proof = prove(circuit, key, witness, [openings[name] for name in names])
        commitments = [openings[name].commitment for name in names]
        assert groth16.verify(key.verifying_key, public, proof, commitments).valid
        for place in range(len(public)):
            wrong_public = [value + (index == place) for index, value in enumerate(public)]
            assert not groth16.verify(key.verifying_key, wrong_public, proof, commitments).valid
        for index, name in enumerate(names):
            wrong = [*commitments]
            wrong[index] = other[name].commitment
            assert not groth16.verify(key.verifying_key, public, proof, wrong).valid
            with pytest.raises(StatementError):
                prove(circuit, key, witness, [(other if each == name else openings)[each] for each in names])


def test_with_committed_weights_the_architecture_is_all_that_the_circuit_depends_on() -> None:
    graph = networks.of_kinds(5, "conv", "sum", shape=(1, 3, 3))
    blank = QuantGraph.from_bytes(graph.architecture.to_bytes())
    assert blank.digest == graph.architecture.digest == blank.architecture.digest
    first, second = (compile_accuracy(each, batch=2, weight_privacy="committed") for each in (graph, blank))
    assert first.constraint_system.digest == second.constraint_system.digest
    assert json.dumps(first.describe()) == json.dumps(second.describe())
    renamed = replace(
        graph,
        nodes=tuple(
            replace(node, inputs=("y", *node.inputs[1:])) if index == 0 else node
            for index, node in enumerate(graph.nodes)
        ),
        inputs=(replace(graph.input, name="y"),),
    )
    third = compile_accuracy(renamed, batch=2, weight_privacy="committed")
    assert third.constraint_system.digest != first.constraint_system.digest


def test_the_meaning_names_what_there_is() -> None:
    graph = networks.of_kinds(5, "conv", shape=(1, 3, 3))
    meaning = compile_accuracy(graph, batch=2).meaning
    assert "input" not in meaning
    assert "The input is" in compile_inference(graph, input_privacy="committed").meaning


def test_a_banks_model_is_measured_by_what_it_sees_whatever_its_prior() -> None:
    """Its samples are of one input of the two, as those of a network without a prior: the same words and
    commitments. No wire of the other is left to choose."""
    images = np.random.default_rng(0).normal(size=(8, 4))
    member = with_prior(to_onnx(tensor("x", 4).dense(np.eye(3, 4)).graph()), images)
    graph = quantise(load_onnx(member.onnx), {"x": images, PRIOR: member.priors(3, 8)})
    circuit = compile_accuracy(graph, batch=2, weight_privacy="committed")
    said, samples = circuit.describe(), graph.entries["x"].type.quantise(images[:2])
    assert (circuit.output, said["output"], [*said["privacy"]]) == (SEEN, SEEN, ["input", "weights"])
    assert circuit.constraint_system.constraints == circuit.plan.rows
    assert not any(PRIOR in name for name in circuit.layout)
    right = profile(graph, samples).argmax(axis=1)
    for labels in (right, (right + 1) % 3):
        z = assigned(circuit, samples, labels)
        assert (
            [*z[circuit.layout["correct"]]] == [*circuit.counts(samples, labels)] == [2 * (labels is right)]
        )
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        lie = forged(circuit, samples, labels, {int(circuit.layout["correct"][0]): 1})
        assert first_violation(circuit.constraint_system, lie) is not None
    type_alone = compile_accuracy(networks.of_kinds(7, shape=(1, 2, 2), classes=3), batch=2)
    assert [*said["quantisation"]["input"]] == [*type_alone.describe()["quantisation"]["input"]]
    assert circuit.dataset_values(samples, right)[-2:].tolist() == right.tolist()
    answering = compile_accuracy(graph, batch=2, output=ANSWER)  # it reads the prior, too
    assert [entry.name for entry in answering.inputs] == ["x", PRIOR]
    two = replace(graph.nodes[0], name="two")
    apart = QuantGraph(graph.inputs, (*graph.nodes, two), {SEEN: graph.outputs[SEEN], "two": "two"})
    with refuses("statement.several", "output"):
        compile_accuracy(apart, batch=2, output=SEEN)  # commitments are to weights that it does without
