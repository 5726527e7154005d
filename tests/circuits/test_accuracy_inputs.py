"""Accuracies over samples of several inputs: what is counted, what is committed to, and what a prover could
exchange instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from tests.circuits.support import R, answered, challenged, first_violation, prove
from tests.circuits.test_uniqueness import assert_unique
from tests.prover.statements import commitment_basis
from tests.refusals import refuses
from zenserve import kernels
from zenserve.circuits import Accuracy, QuantGraph, compile_accuracy, parameters, plan_accuracy
from zenserve.circuits.graphs.types import Affine, WeightType
from zenserve.circuits.operators.concat import Concat
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.quantised import QuantInput
from zenserve.circuits.schemes import planned
from zenserve.errors import StatementError
from zenserve.prover import groth16
from zenserve.relations.integers import IntArray
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.measures import takes_targets
from zenserve.verifier.schemes import Measure, Privacy

BATCH: Final = 3
KIND: Final = Affine(0.5, 1, 3)


def network(*, unread: bool = True) -> QuantGraph:
    """``scores``: of ``a`` and ``b``, which are of one type; ``same``: the third input."""
    rng, kind = np.random.default_rng(3), WeightType(np.ones(1), np.array([1]), 2)
    weight = rng.integers(0, 4, (3, 4), dtype=np.uint8)
    layer = QuantDense("layer", ("joined",), weight, kind, rng.integers(-4, 4, 3))
    inputs = [QuantInput(name, (2,), KIND) for name in ("a", "b")]
    outputs = {"scores": "layer"}
    if unread:
        inputs, outputs = [QuantInput("c", (2, 2), KIND), *inputs], outputs | {"same": "c"}
    return QuantGraph(tuple(inputs), (Concat("joined", ("a", "b"), 0), layer), outputs)


def samples(seed: int = 0) -> dict[str, IntArray]:
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, KIND.top + 1, (BATCH, 2)) for name in ("a", "b")}


def scores(graph: QuantGraph, given: Mapping[str, IntArray]) -> IntArray:
    others = {entry.name: np.zeros((BATCH, *entry.shape), np.int64) for entry in graph.inputs}
    return graph.run_all({**others, **given}, {"layer"})["layer"]


def assigned(circuit: Accuracy, given: Mapping[str, IntArray], labels: IntArray) -> IntArray:
    parts = {f"samples/{name}": each.ravel() for name, each in given.items()}
    return circuit.program.assign(parts | {"labels": labels})


@pytest.fixture(scope="module")
def circuit() -> Accuracy:
    return compile_accuracy(network(), batch=BATCH, output="scores", weight_privacy="committed")


@pytest.mark.parametrize("measure", ["accuracy", "top-k", "f1", "mse", "mae", "r2"])
@pytest.mark.parametrize("weights", ["public", "committed"])
def test_every_measure_counts_what_the_network_makes_of_both(measure: Measure, weights: Privacy) -> None:
    graph = network()
    circuit = compile_accuracy(
        graph, batch=BATCH, output="scores", measure=measure, top=1, weight_privacy=weights
    )
    plan = plan_accuracy(graph, batch=BATCH, output="scores", measure=measure, weight_privacy=weights)
    assert circuit.constraint_system.constraints == circuit.plan.rows == plan.rows
    assert planned.accuracy(graph, weights, BATCH, measure, output="scores").constraints == plan.rows
    given, found = samples(), scores(graph, samples())
    targets = found + 1 if takes_targets(measure) else None
    labels = np.array([0, 0, 1]) if targets is not None else np.array([found[0].argmax(), 0, 3])
    witness = circuit.witness(given, labels, targets)
    assert first_violation(circuit.constraint_system, answered(circuit.program, witness)) is None
    counted = circuit.counts(given, labels, targets)
    named = [each.name for each in circuit.constraint_system.segments]
    held = circuit.constraint_system.segment_ranges
    for name, values in (
        ("dataset", circuit.dataset_values(given, labels, targets)),
        ("correct", counted),
    ):
        wires = held[named.index(name)]
        found_there = kernels.fr.to_ints(witness[wires])
        assert found_there[:-1] == [int(each) % R for each in values]  # the last one blinds
    if measure == "accuracy":
        assert counted.tolist() == [sum(found.argmax(axis=1) == labels)]
    if measure == "mse":
        assert counted.tolist() == [2 * 3]  # the third only fills up
    (again,) = circuit.counts_of([circuit.parts(circuit.dataset_values(given, labels, targets))])
    assert again.tolist() == counted.tolist()


def test_a_verifier_that_has_the_dataset_finds_the_same_values(circuit: Accuracy) -> None:
    given = samples(1)
    real = {name: KIND.real(each) for name, each in given.items()}
    data = LabelledData.of({"b": real["b"][:2], "a": real["a"][:2]}, np.array([2, 0]))
    padded = {name: np.concatenate([each[:2], [[0, 0]]]) for name, each in given.items()}
    (values,) = circuit.shard_values(data)
    assert values.tolist() == circuit.dataset_values(padded, np.array([2, 0, 3])).tolist()
    found, labels = circuit.parts(values)
    assert {name: each.tolist() for name, each in found.items()} == {
        name: each.tolist() for name, each in padded.items()
    }
    assert labels.tolist() == [2, 0, 3]
    with refuses("input.names", "samples"):
        next(circuit.shard_values(LabelledData.of({"a": real["a"]}, np.zeros(BATCH, int))))


def test_inputs_that_the_output_does_without_are_no_part_of_it(circuit: Accuracy) -> None:
    said = circuit.describe()
    assert [kind["name"] for kind in said["quantisation"]["inputs"]] == ["a", "b"]
    assert said["privacy"] == {"input/a": "committed", "input/b": "committed", "weights": "committed"}
    assert (said["output"], said["commitments"]) == ("scores", ["model", "dataset", "correct"])
    assert not any("/c" in name for name in circuit.layout)
    with refuses("statement.several", "output"):
        compile_accuracy(network(), batch=BATCH, output="same")  # commitments are to all weights
    names = [f"x{place}" for place in range(17)]
    many = QuantGraph(
        tuple(QuantInput(name, (1,), KIND) for name in names), (Concat("all", tuple(names), 0),), {"y": "all"}
    )
    with refuses("statement.several", "output", match="at most 16 inputs"):
        compile_accuracy(many, batch=BATCH)
    alone = compile_accuracy(network(unread=False), batch=BATCH)
    assert alone.output == "scores"
    with refuses("statement.several", "scheme"):
        compile_accuracy(network(unread=False), batch=BATCH, measure="certified")


def test_it_leaves_every_wire_one_value(circuit: Accuracy) -> None:
    given = samples()
    labels = np.array([*scores(circuit.qgraph, given).argmax(axis=1)[:2], 3])
    assert_unique(circuit.program, challenged(circuit.program, circuit.witness(given, labels)))


def test_every_sample_is_of_its_type_and_every_wire_that_moves_is_noticed(circuit: Accuracy) -> None:
    given, system = samples(), circuit.constraint_system
    labels = (scores(circuit.qgraph, given).argmax(axis=1) + 1) % 3  # all wrong: each inverse is read
    honest = assigned(circuit, given, labels)
    assert first_violation(system, answered(circuit.program, honest)) is None
    for name in ("samples/a", "samples/b"):
        for wire in circuit.layout[name].tolist():
            for value in (-1, KIND.top + 1, 1 << 20):
                lie = honest.copy()
                lie[wire] = value
                assert first_violation(system, answered(circuit.program, lie)) is not None
    taken = {"statement", "samples/a", "samples/b", "labels", "challenge0", "challenge1"}
    for name in circuit.layout.keys() - taken:
        for wire in circuit.layout[name].ravel().tolist():
            lie = honest.copy()
            lie[wire] += 1
            z = challenged(circuit.program, lie)
            if z[wire] != lie[wire]:  # derived from the others, whatever the prover insists on
                z[wire] = (z[wire] + 1) % R
            assert first_violation(system, z) is not None, name


def test_no_input_passes_for_another(circuit: Accuracy) -> None:
    """A proof about samples whose inputs, or a row's parts, are exchanged is none about the commitment, and
    nor is one about the same numbers as inputs of other names."""
    graph, given, labels = circuit.qgraph, samples(2), np.array([0, 1, 2])
    swapped = {"a": given["b"], "b": given["a"]}
    a, b = given["a"].copy(), given["b"].copy()
    a[1], b[1] = given["b"][1], given["a"][1]
    called = {"a": "b", "b": "a", "c": "c"}
    inputs = tuple(replace(entry, name=called[entry.name]) for entry in graph.inputs)
    nodes = Concat("joined", ("b", "a"), 0), *graph.nodes[1:]
    other = QuantGraph(inputs, nodes, {"scores": "layer", "same": "c"})
    renamed = compile_accuracy(other, batch=BATCH, output="scores", weight_privacy="committed")
    values = {
        "honest": circuit.dataset_values(given, labels),
        "inputs exchanged": circuit.dataset_values(swapped, labels),
        "a row exchanged": circuit.dataset_values({"a": a, "b": b}, labels),
        "names exchanged": renamed.dataset_values(swapped, labels),
        "without types": np.append(np.zeros(5, int), circuit.dataset_values(given, labels)[5:]),
    }
    assert values["honest"][5:].tolist() == values["names exchanged"][5:].tolist()
    own = {"model": parameters(graph), "correct": circuit.counts(given, labels)}
    basis = commitment_basis(max(len(each) for each in (*own.values(), *values.values())))
    fixed = {name: basis.commit(kernels.fr.from_int64(each)) for name, each in own.items()}
    opened = {name: basis.commit(kernels.fr.from_int64(each)) for name, each in values.items()}
    key = groth16.setup(circuit.constraint_system, basis=basis)
    witness, public = circuit.witness(given, labels), circuit.public_inputs(labels)
    held = [fixed["model"], opened["honest"], fixed["correct"]]
    proof = prove(circuit, key, witness, held)
    for name, dataset in opened.items():
        commitments = [fixed["model"].commitment, dataset.commitment, fixed["correct"].commitment]
        assert groth16.verify(key.verifying_key, public, proof, commitments).valid == (name == "honest")
        if name != "honest":
            with pytest.raises(StatementError):
                prove(circuit, key, witness, [fixed["model"], dataset, fixed["correct"]])


def test_bad_samples_are_named(circuit: Accuracy) -> None:
    given, labels = samples(), np.array([0, 1, 2])
    for bad, code, field in (
        ({"a": given["a"]}, "input.names", "samples"),
        (given | {"c": given["a"]}, "input.names", "samples"),
        (given["a"], "input.names", "samples"),
        (given | {"b": given["b"][:1]}, "input.shape", "samples/b"),
        (given | {"b": given["b"] + KIND.top + 1}, "input.out_of_range", "samples/b"),
    ):
        with refuses(code, field):
            circuit.witness(bad, labels)
