"""What ZENacc measures beside right labels, and everything a prover could count instead."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.circuits.quantised import networks
from tests.circuits.relation_checker import broken
from tests.circuits.support import R, accepted_lies, answered, challenged, first_violation, held, slow_execute
from tests.circuits.test_accuracy import assigned as assigned_labels
from tests.circuits.test_accuracy import batch_of
from tests.circuits.test_relations import agree
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve.circuits import Accuracy, QuantGraph, compile_accuracy, plan_accuracy
from zenserve.circuits.operators.dense import QuantDense
from zenserve.errors import TensorError
from zenserve.relations.integers import IntArray
from zenserve.verifier.measures import takes_targets
from zenserve.verifier.schemes import Measure, Privacy

MEASURES: tuple[Measure, ...] = ("accuracy", "top-k", "f1", "mse", "mae", "r2")
OTHERS = MEASURES[1:]
BATCH = 3


def network(measure: Measure) -> QuantGraph:
    if takes_targets(measure):
        return networks.embedding(6)
    return networks.of_kinds(7, "conv", most_bits=3, shape=(1, 2, 2))


@cache
def compiled(measure: Measure, weights: Privacy = "public") -> Accuracy:
    top = 2 if measure == "top-k" else 1
    return compile_accuracy(network(measure), batch=BATCH, weight_privacy=weights, measure=measure, top=top)


def batch(circuit: Accuracy, seed: int = 0, filling: int = 1) -> tuple[IntArray, ...]:
    """Samples with labels or targets, the last ``filling`` of them being none."""
    graph, kind = circuit.qgraph, circuit.measurement.targets
    samples, labels = batch_of(graph, BATCH, seed)
    if kind is None:
        labels %= circuit.filler
        labels[BATCH - filling :] = circuit.filler
        return samples, labels
    rng = np.random.default_rng(seed)
    targets = rng.integers(kind.minimum, kind.maximum + 1, (BATCH, graph.classes))
    return samples, (np.arange(BATCH) >= BATCH - filling).astype(np.int64), targets


def assigned(circuit: Accuracy, *given: IntArray) -> IntArray:
    if len(given) == 2:
        return assigned_labels(circuit, *given)
    samples, labels, targets = given
    values = {"samples": samples.ravel(), "labels": labels, "targets": targets.ravel()}
    return circuit.program.assign(values)


def naive(
    circuit: Accuracy, samples: IntArray, labels: IntArray, targets: IntArray | None = None
) -> list[int]:
    """The counts by the slow executor, sample by sample."""
    measure, top, outputs, _ = circuit.measurement
    right, per = 0, [[0] * outputs for _ in range(3)]
    for index, sample in enumerate(samples):
        _, values = slow_execute(circuit.qgraph, sample)
        label = int(labels[index])
        if label == circuit.filler:
            continue
        ranked = sorted(range(outputs), key=lambda place: (-values[place], place))
        right += label in ranked[:top]
        for place in range(outputs):
            if targets is None:
                said, there = ranked[0] == place, label == place
                parts = (int(said and there), int(said), int(there))
            else:
                target = int(targets[index, place])
                error = values[place] - target
                parts = (abs(error) if measure == "mae" else error**2, target, target**2)
            for column, part in zip(per, parts, strict=True):
                column[place] += part
    if measure in ("accuracy", "top-k"):
        return [right]
    return [sum(per[0])] if measure in ("mse", "mae") else [*itertools.chain(*per)]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("weights", ["public", "committed"])
def test_counts_are_those_of_the_slow_executor_and_costs_those_of_the_plan(
    measure: Measure, weights: Privacy
) -> None:
    circuit = compiled(measure, weights)
    top = circuit.measurement.top
    plan = plan_accuracy(circuit.qgraph, batch=BATCH, weight_privacy=weights, measure=measure, top=top)
    assert circuit.constraint_system.constraints == circuit.plan.rows == plan.rows
    for seed, filling in ((0, 0), (1, 1), (2, BATCH)):
        given = batch(circuit, seed, filling)
        z = assigned(circuit, *given)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        found = [z[circuit.layout[count.name]].tolist() for count in circuit.measurement.counts]
        assert [*itertools.chain(*found)] == naive(circuit, *given) == circuit.counts(*given).tolist()
        assert (
            circuit.values(given[1])
            == {"size": BATCH - filling}
            == {"size": int(z[circuit.layout["size"]][0])}
        )
        (held_there,) = (
            z[variables][:-1].tolist()
            for each, variables in zip(
                circuit.constraint_system.segments, circuit.constraint_system.segment_ranges, strict=True
            )
            if each.name == "dataset"
        )
        assert held_there == circuit.dataset_values(*given).tolist()
        for count, total in zip(circuit.measurement.counts, found, strict=True):
            size = circuit.values(given[1])["size"]
            assert isinstance(size, int)
            assert all(size * count.least <= each <= size * count.most for each in total)


@pytest.mark.parametrize("measure", OTHERS)
def test_every_wire_that_moves_is_noticed(measure: Measure) -> None:
    circuit = compiled(measure)
    # Nothing reads an inverse of zero (tests.circuits.test_uniqueness.IDLE).
    free = ("statement", "samples", "labels", "targets", "output/filling/inverse", "output/right/inverse")
    moved = accepted_lies(circuit.program, assigned(circuit, *batch(circuit)))
    assert [name for name in moved if not name.startswith(free)] == []


@pytest.mark.parametrize(
    "measure",
    ["f1", "mae", *(pytest.param(each, marks=pytest.mark.large) for each in ("top-k", "mse", "r2"))],
)
def test_rows_and_relations_agree_and_leave_every_wire_one_value(measure: Measure) -> None:
    circuit = compiled(measure)
    z = assigned(circuit, *batch(circuit, 1))
    agree(circuit, z)
    # That judge does not tell which of the booleans that add up to 1 it is, where their place is given.
    if measure != "f1":
        assert_unique(circuit.program, challenged(circuit.program, z))


def refused(circuit: Accuracy, z: IntArray, lies: dict[int, int]) -> bool:
    lie = z.copy()
    lie[list(lies)] = list(lies.values())
    rows = first_violation(circuit.constraint_system, answered(circuit.program, lie)) is not None
    return rows and broken(circuit.relations, held(circuit, lie)) != []


@pytest.mark.parametrize("measure", OTHERS)
def test_no_other_count_has_a_proof(measure: Measure) -> None:
    circuit = compiled(measure)
    z = assigned(circuit, *batch(circuit))
    for count in circuit.measurement.counts:
        for wire in circuit.layout[count.name].tolist():
            for value in {0, -1, 1, -int(z[wire]), int(z[wire]) - 1, int(z[wire]) + 1} - {int(z[wire])}:
                assert refused(circuit, z, {wire: value}), (count, value)


@pytest.mark.parametrize("measure", OTHERS)
def test_filling_adds_nothing_and_no_sample_passes_for_filling(measure: Measure) -> None:
    circuit = compiled(measure)
    samples, labels, *targets = batch(circuit, 1, filling=1)
    other = samples.copy()
    other[-1] = circuit.qgraph.input.type.top - samples[-1]
    kind = circuit.measurement.targets
    far = kind.maximum if kind else 0
    moved = [np.where(labels[:, None] == 1, far, each) for each in targets]
    expected = circuit.counts(samples, labels, *targets).tolist()
    assert circuit.counts(other, labels, *moved).tolist() == expected
    z = assigned(circuit, other, labels, *moved)
    assert [
        *itertools.chain(*(z[circuit.layout[c.name]].tolist() for c in circuit.measurement.counts))
    ] == expected
    filling, (size,) = circuit.layout["output/filling"].tolist(), circuit.layout["size"].tolist()
    for wire in filling:
        assert refused(circuit, z, {wire: 1 - int(z[wire]), size: int(z[size]) + 2 * int(z[wire]) - 1})


def test_squares_and_absolute_values_have_no_other_sign() -> None:
    """The other root of a square is the negative of the absolute value, which its range refuses."""
    for measure, group, count in (
        ("mae", "output/absolute", "absolute_error"),
        ("mse", "output/square", "squared_error"),
    ):
        circuit = compiled(measure)
        z = assigned(circuit, *batch(circuit, 2))
        (total,) = circuit.layout[count].tolist()
        wires = [wire for wire in circuit.layout[group].ravel().tolist() if z[wire]]
        assert len(wires) > 2
        for wire in wires:
            value = int(z[wire])
            assert refused(circuit, z, {wire: -value, total: int(z[total]) - 2 * value})
    # A square that wraps around r: out = r - x is -x, and has the square of x, but no range.
    lie = challenged(circuit.program, z)
    lie[wires[0]] = (lie[wires[0]] + R - 1) % R
    lie[total] = (lie[total] + R - 1) % R
    assert first_violation(circuit.constraint_system, lie) is not None


def test_of_equal_outputs_the_first_is_likelier() -> None:
    """All outputs are the same: the ranks are the places, whatever else a prover says."""
    graph = network("top-k")
    last = graph.nodes[-1]
    assert isinstance(last, QuantDense)
    flat = replace(
        last, weight=np.zeros_like(last.weight), weight_type=last.weight_type, bias=np.zeros(3, np.int64)
    )
    kind = replace(last.weight_type, zero_point=np.zeros(1, np.int64), scale=np.ones(1))
    tied = replace(graph, nodes=(*graph.nodes[:-1], replace(flat, weight_type=kind)))
    circuit = compile_accuracy(tied, batch=BATCH, measure="top-k", top=2)
    samples, _ = batch_of(tied, BATCH)
    labels = np.arange(3)
    assert circuit.counts(samples, labels).tolist() == [2]
    z = assigned(circuit, samples, labels)
    found = circuit.layout["output/label"]
    assert z[found].reshape(BATCH, 2).tolist() == [[0, 1]] * BATCH
    (correct,) = circuit.layout["correct"].tolist()
    first, second = found.reshape(BATCH, 2)[2].tolist()
    right = circuit.layout["output/right"].reshape(BATCH, 2)[2].tolist()
    for lies in ({second: 2}, {first: 2}, {first: 1, second: 0}):
        assert refused(circuit, z, lies | {right[1 if second in lies else 0]: 1, correct: 3})


def test_a_count_of_one_class_is_none_of_another() -> None:
    circuit = compiled("f1")
    samples, labels = batch(circuit, 3, filling=0)
    z = assigned(circuit, samples, labels)
    for name in ("predicted", "actual"):
        wires, ones = circuit.layout[name].tolist(), circuit.layout[f"output/is_{name}/selector"]
        most = int(np.argmax(z[wires]))
        other = (most + 1) % len(wires)
        row = int(np.argmax(z[ones][:, most]))
        lies = {int(ones[row, most]): 0, int(ones[row, other]): 1}
        lies |= {wires[most]: int(z[wires[most]]) - 1, wires[other]: int(z[wires[other]]) + 1}
        assert refused(circuit, z, lies)
        # Of both at once, and of neither.
        assert refused(circuit, z, {int(ones[row, other]): 1, wires[other]: int(z[wires[other]]) + 1})
        assert refused(circuit, z, {int(ones[row, most]): 0, wires[most]: int(z[wires[most]]) - 1})


def test_targets_beyond_their_range_are_refused() -> None:
    for measure in ("mse", "mae", "r2"):
        circuit = compiled(measure)
        samples, labels, targets = batch(circuit)
        kind = circuit.measurement.targets
        assert kind is not None
        for value in (kind.minimum - 1, kind.maximum + 1, kind.maximum + (1 << 40)):
            with pytest.raises(TensorError) as caught:
                circuit.witness(samples, labels, np.full_like(targets, value))
            assert caught.value.field == "targets"
            far = targets.copy()
            far[0, 0] = value
            z = assigned(circuit, samples, labels, far)
            assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is not None
        with pytest.raises(TensorError):
            circuit.witness(samples, labels)


def test_what_cannot_be_measured_is_refused() -> None:
    values, classes = networks.embedding(6), network("f1")
    assert values.classes < 2 or values.output_scale
    one = networks.of_kinds(6, "conv", shape=(1, 3, 3), classes=1)
    for measure in MEASURES[:3]:
        with refuses("statement.classes"):
            compile_accuracy(one, batch=1, measure=measure)
    for top in (0, 3):
        with refuses("statement.measure", "top"):
            compile_accuracy(classes, batch=1, measure="top-k", top=top)
    for measure in (MEASURES[2], MEASURES[3]):
        with refuses("statement.measure", "top"):
            compile_accuracy(values, batch=1, measure=measure, top=2)
    with refuses("statement.measure", "measure"):
        compile_accuracy(classes, batch=1, measure="luck")  # type: ignore[arg-type]
    last = one.nodes[-1]
    assert isinstance(last, QuantDense)
    heavy = replace(last, bias=np.array([1 << 31]))
    with refuses("statement.measure", "measure"):
        compile_accuracy(replace(one, nodes=(*one.nodes[:-1], heavy)), batch=1, measure="mse")
    with refuses("statement.measure", "batch"):
        compile_accuracy(one, batch=1 << 45, measure="mse")


def test_targets_of_sums_and_of_single_outputs_are_measured() -> None:
    graph = networks.of_kinds(6, "conv", shape=(1, 3, 3), classes=1)
    circuit = compile_accuracy(graph, batch=2, measure="r2")
    kind = circuit.measurement.targets
    assert kind is not None
    samples = networks.inputs(graph, 2)
    targets = np.array([[kind.minimum], [kind.maximum]])
    z = assigned(circuit, samples, np.zeros(2, np.int64), targets)
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    found = [int(z[circuit.layout[c.name]][0]) for c in circuit.measurement.counts]
    outputs = [graph.execute(sample).logits[0] for sample in samples]
    assert found[0] == sum((y - t) ** 2 for y, (t,) in zip(outputs, targets.tolist(), strict=True))
    assert found[1:] == [kind.minimum + kind.maximum, kind.minimum**2 + kind.maximum**2]
