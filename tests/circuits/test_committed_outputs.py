"""Outputs of which only a commitment is published: what it is to, and wrong witnesses."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from tests.circuits.quantised import networks
from tests.circuits.support import answered, challenged, first_violation
from tests.circuits.test_intervals import network
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_relations import agree
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from tests.vectors import several
from zenserve.circuits import QuantGraph, compile_inference, input_values
from zenserve.circuits.graphs.types import Affine
from zenserve.circuits.lowering import Level
from zenserve.circuits.schemes.audit import recompile
from zenserve.circuits.schemes.inference import Inference
from zenserve.relations.integers import IntArray
from zenserve.verifier.description import Description
from zenserve.verifier.documents import checked
from zenserve.verifier.schemes import Privacy, Reveal

INPUTS = {"a": np.array([1, 15]), "b": np.array([0, 7]), "c.1": np.array([9, 2])}


def compiled(
    graph: QuantGraph, reveal: Reveal | dict[str, Reveal] = "commitment", weights: Privacy = "public"
) -> Inference:
    return compile_inference(graph, reveal=reveal, weight_privacy=weights)


def holds(circuit: Inference, z: IntArray) -> bool:
    return first_violation(circuit.constraint_system, answered(circuit.program, z)) is None


@pytest.mark.parametrize("weights", get_args(Privacy))
@pytest.mark.parametrize("classes", [1, 3])
def test_a_commitment_is_to_the_type_and_the_outputs(classes: int, weights: Privacy) -> None:
    """Sums, some below 0, and values of a type."""
    graph, q, values = network(classes)
    circuit = compiled(graph, weights=weights)
    assert circuit.constraint_system.constraints == circuit.plan.rows
    assert circuit.commitments[-1] == "output"
    assert circuit.values(q) == {}
    z = circuit.assign(q)
    assert holds(circuit, z)
    described = json.loads(json.dumps(circuit.describe()))
    kind = checked(Description, described).quantisation.output_types["output"]
    said = circuit.committed_values(q)["output"].tolist()
    (segment,) = (each for each in circuit.constraint_system.segments if each.name == "output")
    assert segment.linked
    assert said == kind.limbs + z[circuit.layout["committed"]].tolist()
    integers = said[len(kind.limbs) :]
    assert kind.holds(integers)
    scale, zero_point = graph.output_scale or (0, 0)
    assert [kind.scale * (each - kind.zero_point) for each in integers] == [
        scale * (each - zero_point) for each in values
    ]
    assert recompile(graph, described).constraint_system.digest == circuit.constraint_system.digest


@pytest.mark.parametrize("classes", [1, 3])
def test_every_wire_is_bound(classes: int) -> None:
    graph, q, _ = network(classes)
    circuit = compiled(graph)
    refuse_all_lies(circuit, q)
    agree(circuit, circuit.assign(q))
    assert_unique(circuit.program, challenged(circuit.program, circuit.assign(q)))


def test_no_other_output_or_type_has_a_proof() -> None:
    """Its neighbours, the ends, what is out of range, and another type's digest."""
    graph, q, _ = network()
    circuit = compiled(graph)
    (committed,) = circuit.committed.values()
    low, high = (end - committed.least for end in committed.value.bound.interval)
    honest, place = circuit.assign(q), int(circuit.layout["committed"].item())
    value = int(honest[place])
    for lie in {value - 1, value + 1, low, high, low - 1, high + 1, -1, 1 << 61} - {value}:
        forged = honest.copy()
        forged[place] = lie
        assert not holds(circuit, forged)
    for limb in circuit.layout["output_type"].ravel():
        forged = honest.copy()
        forged[limb] += 1
        assert not holds(circuit, forged)


def test_a_network_takes_what_another_commits_to() -> None:
    """The commitment to the one's output is to what one to the other's input is to."""
    graph, q, _ = network(3)
    circuit = compiled(graph)
    kind = graph.types[graph.output]
    assert kind is not None
    output = graph.execute(q).logits
    said = circuit.committed_values(q)["output"].tolist()

    def taken(shape: tuple[int, ...], kind: Affine) -> list[int]:
        values: list[int] = input_values(QuantGraph.of("x", shape, kind, (), "x"), output).tolist()
        return values

    assert said == taken((3,), kind)
    assert said != taken((3, 1), kind)
    assert said != taken((3,), replace(kind, scale=kind.scale * 2))
    assert said != taken((3,), replace(kind, zero_point=kind.zero_point + 1))
    assert said != taken((3,), replace(kind, bits=kind.bits + 1))


def test_outputs_are_committed_to_by_their_names() -> None:
    graph = several.network()
    circuit = compiled(graph, {"all": "commitment", "last": "threshold"})
    assert circuit.commitments == ["output/all"]
    given = {"last": [9]}
    assert circuit.values(INPUTS, given) == {"threshold/last": 9, "reached/last": [1, 0]}
    z = circuit.assign(INPUTS, given)
    assert holds(circuit, z)
    refuse_all_lies(circuit, INPUTS, given)
    both = compiled(graph, "commitment")
    assert both.commitments == ["output/all", "output/last"]
    said = both.committed_values(INPUTS)
    assert said["output/last"][5:].tolist() == INPUTS["c.1"].tolist()
    # The type has no name: whatever takes it may call it otherwise.
    names = [each["type"].get("name") for each in both.describe()["quantisation"]["outputs"]]
    assert names == [None, None]
    one = compiled(graph, {"last": "commitment"})
    assert (one.commitments, one.public_layout[1:]) == (["output/last"], [])
    checked(Description, json.loads(json.dumps(one.describe())))


@pytest.mark.parametrize("level", [each for each in get_args(Level) if each != 5])
def test_lower_levels_have_no_segments(level: Level) -> None:
    with refuses("statement.reveal", "reveal", match="level 5"):
        compile_inference(network()[0], reveal="commitment", level=level)


def test_what_has_no_type_is_not_committed_to() -> None:
    sums = networks.of_kinds(6, "conv", shape=(1, 3, 3))
    assert sums.output_scale is None
    with refuses("statement.reveal", "reveal", match="no one scale"):
        compiled(sums)
