"""Networks of one to four bits: ±1 weights, their range, and what low bits cost."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from tests.circuits.support import (
    PRIVACIES,
    Assignment,
    R,
    answered,
    first_violation,
    forced,
    slow_execute,
)
from tests.circuits.test_lowering import LEVELS, refuse_all_lies
from tests.refusals import refuses
from zenserve.circuits import Inference, QuantGraph, compile_inference, compile_registration, quantise, zoo
from zenserve.circuits.graphs.types import WeightType
from zenserve.circuits.lowering import Level, tables
from zenserve.circuits.lowering.clamps import Joined, clamps
from zenserve.circuits.lowering.joint import Joint, _largest_table, joints, rounds
from zenserve.circuits.lowering.optimiser import Way
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.operators.weighted import WeightedSum
from zenserve.circuits.schemes import inference
from zenserve.circuits.schemes.inference import plan_inference
from zenserve.kernels import fr
from zenserve.relations.functions import Requantisation
from zenserve.verifier.schemes import Privacy


def network(bits: int, weight_bits: int, *, per_channel: bool = False) -> QuantGraph:
    rng = np.random.default_rng(4)
    x = tensor("image", 1, 4, 4).conv(rng.normal(size=(2, 1, 2, 2)), rng.normal(size=2)).relu()
    graph = x.flatten().dense(rng.normal(size=(3, 18)), rng.normal(size=3)).graph()
    return quantise(
        graph, rng.normal(size=(8, 1, 4, 4)), bits, weight_bits=weight_bits, per_channel=per_channel
    )


def deep(bits: int, weight_bits: int) -> QuantGraph:
    """A short sum, a long one, and the outputs'."""
    rng = np.random.default_rng(5)
    x = tensor("image", 1, 4, 4).conv(rng.normal(size=(2, 1, 2, 2)), rng.normal(size=2)).relu()
    x = x.flatten().dense(rng.normal(size=(5, 18)), rng.normal(size=5)).relu()
    graph = x.dense(rng.normal(size=(3, 5))).graph()
    return quantise(graph, rng.normal(size=(8, 1, 4, 4)), bits, weight_bits=weight_bits)


def an_input(qgraph: QuantGraph) -> np.ndarray:
    kind = qgraph.input.type
    return np.random.default_rng(1).integers(0, kind.top + 1, size=qgraph.input.shape)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_weights_of_a_bit_are_signs(bits: int, per_channel: bool) -> None:
    qgraph = network(bits, 1, per_channel=per_channel)
    layers = [node for node in qgraph.nodes if isinstance(node, WeightedSum)]
    assert [{*np.unique(layer.centred_weight).tolist()} for layer in layers] == [{-1, 1}] * 2
    q = an_input(qgraph)
    found = qgraph.execute(q)
    assert (found.label, found.logits.tolist()) == slow_execute(qgraph, q)
    assert QuantGraph.from_bytes(qgraph.to_bytes()).digest == qgraph.digest


def test_signs_stand_for_the_mean_of_what_they_are_the_signs_of() -> None:
    weight = np.array([[0.5, -1.5, 0.25], [-0.1, 0.2, 0.3]])
    graph = tensor("x", 3).dense(weight).graph()
    (node,) = quantise(graph, np.ones((1, 3)), weight_bits=1).nodes
    real, _ = node.real([quantise(graph, np.ones((1, 3)), weight_bits=1).input.type], [(3,)])  # type: ignore[attr-defined]
    np.testing.assert_allclose(real, np.abs(weight).mean() * np.sign(weight))


def test_weights_that_are_all_zero_have_no_signs() -> None:
    graph = tensor("x", 3).dense(np.zeros((2, 3))).graph()
    with refuses("model.scale"):
        quantise(graph, np.ones((1, 3)), weight_bits=1)


def test_signs_have_no_zero_point() -> None:
    with refuses("model.quantised", match="zero point"):
        WeightType(np.ones(1), np.ones(1, np.int64), 1)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("privacies", PRIVACIES)
def test_every_lie_about_signs_is_refused(level: Level, privacies: tuple[Privacy, Privacy]) -> None:
    qgraph = network(2, 1)
    circuit = compile_inference(qgraph, input_privacy=privacies[0], weight_privacy=privacies[1], level=level)
    refuse_all_lies(circuit, an_input(qgraph))


@pytest.mark.parametrize("value", [-3, -2, 0, 2, 3, 1 << 30])
def test_no_weight_but_signs_is_registered(value: int) -> None:
    program = compile_registration(network(2, 1)).program
    honest = program.assign({})
    assert first_violation(program.constraint_system, answered(program, honest)) is None
    lie = honest.copy()
    lie[program.constraint_system.layout["conv1/weight"].ravel()[3]] = value
    assert first_violation(program.constraint_system, answered(program, lie)) is not None


def joined(qgraph: QuantGraph) -> dict[str, Way]:
    """Of each node that is rescaled the way that has the most outputs in a group."""
    found = dict[str, Way]()
    for name, ways in plan_inference(qgraph).explanation.items():
        groups = {way.clamp.joint.group: way for way, _ in ways if isinstance(way.clamp, Joined)}
        if groups:
            found[name] = groups[max(groups)]
    return found


@pytest.mark.parametrize(("bits", "weight_bits"), [(1, 1), (2, 1), (2, 2), (3, 2)])
def test_outputs_that_are_looked_up_together_are_right(bits: int, weight_bits: int) -> None:
    qgraph = deep(bits, weight_bits)
    ways = joined(qgraph)
    assert [*ways] == ["conv1", "dense1"]
    rows = plan_inference(qgraph).rows
    with forced(inference, ways):
        circuit = compile_inference(qgraph)
    assert circuit.constraint_system.constraints >= rows
    q = an_input(qgraph)
    z = circuit.assign(q)
    assert z[circuit.layout["label"][0]] == slow_execute(qgraph, q)[0]
    refuse_all_lies(circuit, q)


def passing(joint: Joint, arguments: Sequence[int]) -> set[tuple[int, ...]]:
    """All values that both tables take for these arguments: of each entry of the first one what the value
    then would have to be, an element of the field, and of these tuples those that the second one has."""
    table, digits = joint._tables
    inverse, sums = pow(1 << joint.shift, -1, R), {int(each) for each in digits.columns[:, 0]}
    claims = [[(int(entry) - each) * inverse % R for entry in table.columns[:, 0]] for each in arguments]
    return {
        values
        for values in itertools.product(*claims)
        if sum(value << joint._slot * place for place, value in enumerate(values)) % R in sums
    }


@pytest.mark.parametrize(("bits", "group"), [(1, 2), (2, 2), (1, 3)])
@pytest.mark.parametrize("low", [0, -1])
def test_no_other_outputs_pass_both_tables(bits: int, group: int, low: int) -> None:
    rescale = Requantisation(np.array(1), 2, 2, low, low + (1 << bits) - 1)
    joint = next(
        clamp.joint
        for clamp in clamps(rescale, (-3, 9))
        if isinstance(clamp, Joined) and clamp.joint.group == group
    )
    for count in (group, group - 1):  # the last group has fewer
        for totals in itertools.product((-3, 0, 5, 9), repeat=count):
            right = [min(max(total >> 2, low), rescale.high) - low for total in totals]
            assert passing(joint, totals) == {tuple(right)}


def test_a_bit_less_between_outputs_lets_others_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on slots is tight."""
    rescale = Requantisation(np.array(1), 2, 2, 0, 1)
    joint = next(clamp.joint for clamp in clamps(rescale, (-3, 9)) if isinstance(clamp, Joined))
    monkeypatch.setattr(Joint, "_slot", joint.shift + joint.bits)
    assert len(passing(joint, (-3, -3))) == 1
    monkeypatch.setattr(Joint, "_slot", joint.shift + joint.bits - 1)
    assert len(passing(joint, (-3, -3))) > 1


def test_no_other_maxima_pass_both_tables() -> None:
    joint = next(each for each in joints(_largest_table(1, 3), 1, 3) if each.group == 3)
    for digits in itertools.product((0, 1, 5, 7), repeat=3):
        assert passing(joint, digits) == {tuple(min(each, 1) for each in digits)}


def violations(circuit: Inference, lie: Assignment) -> list[str]:
    """All rows that the assignment violates."""
    system = circuit.constraint_system
    a, b, c = system.evaluate(answered(circuit.program, lie))
    return [system.row_name(int(row)) for row in np.flatnonzero((fr.mul(a, b) != c).any(axis=1))]


def test_outputs_that_cancel_in_the_second_table_fail_in_the_first() -> None:
    """What one takes from the group's sum another adds."""
    qgraph = deep(2, 1)
    ways = joined(qgraph)
    with forced(inference, ways):
        circuit = compile_inference(qgraph)
    honest = circuit.assign(an_input(qgraph))
    for name, way in ways.items():
        assert isinstance(way.clamp, Joined)
        joint, outs = way.clamp.joint, circuit.layout[f"{name}/out"].ravel().tolist()
        for first, second in itertools.pairwise(outs[: joint.group]):
            for step in (1, -1, 3):
                lie = honest.astype(object)
                lie[first] += step << joint._slot
                lie[second] -= step
                found = violations(circuit, lie)
                assert any("joint" in row for row in found)
                assert not any("digits" in row for row in found)


@pytest.mark.parametrize(("bits", "weight_bits"), [(2, 1), (2, 2), (4, 4)])
@pytest.mark.parametrize("weights", ["public", "committed"])
def test_a_plan_of_few_bits_has_as_many_rows_as_its_circuit(
    bits: int, weight_bits: int, weights: Privacy
) -> None:
    qgraph = quantise(zoo.network("shallownet"), zoo.calibration("shallownet"), bits, weight_bits=weight_bits)
    circuit = compile_inference(qgraph, weight_privacy=weights)
    assert plan_inference(qgraph, weight_privacy=weights).rows == circuit.constraint_system.constraints
    circuit.program.check(circuit.witness(an_input(qgraph)))


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize(("size", "kernel", "stride"), [(4, 2, 2), (5, 3, 2), (3, 2, 1)])
def test_the_largest_of_few_bits_is_looked_up(
    monkeypatch: pytest.MonkeyPatch, bits: int, size: int, kernel: int, stride: int
) -> None:
    monkeypatch.setattr(tables, "_rounds", lambda *call: rounds(*call, 1 << 40))
    image = tensor("image", 1, size, size).quantised(1.0, 0, bits).max_pool(kernel, stride)
    qgraph = quantise(image.flatten().graph(), np.zeros((1, 1, size, size)))
    circuit = compile_inference(qgraph, reveal="values")
    assert any("round" in block.name for block in circuit.constraint_system.blocks)
    assert circuit.constraint_system.constraints == circuit.plan.rows
    q = an_input(qgraph)
    assert circuit.assign(q)[circuit.layout["values"]].tolist() == qgraph.run(q[np.newaxis])[0].tolist()
    refuse_all_lies(circuit, q)
