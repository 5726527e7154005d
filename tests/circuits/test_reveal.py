"""What an inference shows: the label, all logits, or the first few labels, however its input is given."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.circuits.quantised import networks
from tests.circuits.support import R, answered, first_violation, forge, slow_execute
from tests.circuits.test_lowering import refuse_all_lies
from tests.refusals import refuses
from zenserve.circuits import QuantGraph, compile_accuracy, compile_inference, plan_inference
from zenserve.circuits.graphs.types import Affine, Rescale
from zenserve.circuits.lowering import Level
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.schemes.circuit import Values
from zenserve.errors import ModelError
from zenserve.verifier.schemes import Privacy, Reveal

SETTINGS: list[tuple[Reveal, int]] = [("label", 1), ("logits", 1), ("top", 1), ("top", 2), ("values", 1)]
INPUTS: list[tuple[Privacy, Level]] = [("public", 2), ("private", 3), ("public", 5), ("committed", 5)]


@given(st.integers(0, 2**32), st.sampled_from(SETTINGS), st.sampled_from(INPUTS))
def test_what_is_shown_is_what_the_slow_executor_finds(
    seed: int, shown: tuple[Reveal, int], given_as: tuple[Privacy, Level]
) -> None:
    (reveal, top), (privacy, level) = shown, given_as
    graph = networks.of_kinds(seed, "conv", shape=(1, 3, 3))
    circuit = compile_inference(graph, input_privacy=privacy, reveal=reveal, top=top, level=level)
    q = networks.inputs(graph, 3, seed)[2]
    z = circuit.assign(q)
    assert circuit.constraint_system.constraints == circuit.plan.rows
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    label, logits = slow_execute(graph, q)
    order = sorted(range(len(logits)), key=lambda index: (-logits[index], index))
    expected: dict[str, Values] = {
        "label": {"label": label},
        "logits": {"label": label, "logits": logits},
        "top": {"top": order[:top]},
        "values": {"values": logits},
    }
    shown_input: Values = {"input": q.ravel().tolist()} if privacy == "public" else {}
    assert circuit.values(q) == expected[reveal] | shown_input
    public = [value % R for value in z[1 : 1 + circuit.constraint_system.public].tolist()]
    assert public == circuit.public_inputs(q)
    assert circuit.public_inputs(q, statement=R - 1)[0] == R - 1
    groups = json.loads(json.dumps(circuit.describe()))["public_inputs"]
    assert [group["first"] for group in groups] == np.cumsum([0, *(g["count"] for g in groups)])[:-1].tolist()


@pytest.mark.parametrize(("reveal", "top"), SETTINGS[1:])
def test_no_other_logits_or_labels_have_a_proof(reveal: Reveal, top: int) -> None:
    graph = networks.of_kinds(11, "conv", most_bits=4, shape=(1, 2, 2))
    circuit = compile_inference(graph, reveal=reveal, top=top)
    q = networks.inputs(graph, 3, 1)[2]
    honest = circuit.assign(q)
    shown = [wire for name in ("label", "logits", "top", "values") for wire in circuit.layout.get(name, ())]
    for wire in map(int, shown):
        for value in {*range(graph.classes + 1), int(honest[wire]) + 1, int(honest[wire]) - 1}:
            if value != honest[wire]:
                alone = honest.copy()
                alone[wire] = value
                for lie in (alone, forge(circuit, q, {wire: value})):
                    assert (
                        first_violation(circuit.constraint_system, answered(circuit.program, lie)) is not None
                    )


def test_what_cannot_be_shown_is_refused() -> None:
    graph = networks.of_kinds(1, shape=(1, 2, 2))
    for reveal, top, field in (
        ("top", 0, "top"),
        ("top", graph.classes, "top"),
        ("all", 1, "reveal"),
        ("label", 2, "top"),
    ):
        with refuses("statement.reveal", field):
            compile_inference(graph, reveal=reveal, top=top)  # type: ignore[arg-type]
    for privacy in ("input_privacy", "weight_privacy"):
        with refuses("statement.privacy", privacy):
            compile_inference(graph, level=4, **{privacy: "committed"})  # type: ignore[arg-type]


def test_no_statement_holds_logits_beyond_53_bits() -> None:
    graph = networks.of_kinds(11, "conv", shape=(1, 2, 2))
    last = graph.nodes[-1]
    assert isinstance(last, QuantDense)
    wide = replace(graph, nodes=(*graph.nodes[:-1], replace(last, bias=last.bias + (1 << 53))))
    assert compile_inference(wide).constraint_system.constraints
    with refuses("statement.reveal", match="53 bits"):
        compile_inference(wide, reveal="logits")
    with refuses("statement.reveal", match="53 bits"):
        compile_inference(wide, reveal="values")


def test_outputs_that_are_no_classes_are_shown_as_values_alone() -> None:
    for classes in (1, 2049):
        graph = networks.of_kinds(4, shape=(1, 2, 2), classes=classes)
        circuit = compile_inference(graph)
        assert (circuit.reveal, circuit.constraint_system.public) == ({"output": "values"}, 1 + classes)
        q = networks.inputs(graph, 3, 1)[2]
        assert circuit.values(q) == {"values": slow_execute(graph, q)[1]}
        assert plan_inference(graph).rows == circuit.plan.rows == circuit.constraint_system.constraints
    shown: tuple[Reveal, ...] = ("label", "logits", "top")
    for reveal in shown:
        with refuses("statement.classes", "reveal", match="reveal the values"):
            compile_inference(networks.of_kinds(4, shape=(1, 2, 2), classes=1), reveal=reveal)
    with refuses("statement.classes", "scheme"):
        compile_accuracy(networks.of_kinds(4, shape=(1, 2, 2), classes=1), batch=2)
    wide = QuantGraph.of("x", (100_001,), Affine(1.0, 0, 8), (Reshape("y", ("x",), (100_001,)),), "y")
    with refuses("statement.reveal", "reveal", match="100,000 at most"):
        compile_inference(wide)
    with refuses("statement.reveal", "reveal", match="100,000 at most"):
        compile_inference(wide, reveal="logits")


def test_classes_may_be_very_many() -> None:
    graph = networks.of_kinds(4, shape=(1, 2, 2), classes=5000)
    q = networks.inputs(graph, 3, 1)[2]
    logits = slow_execute(graph, q)[1]
    circuit = compile_inference(graph, reveal="top", top=2)
    assert circuit.constraint_system.constraints == circuit.plan.rows
    assert circuit.values(q) == {"top": sorted(range(5000), key=lambda i: -logits[i])[:2]}
    assert first_violation(circuit.constraint_system, answered(circuit.program, circuit.assign(q))) is None


@pytest.mark.parametrize("level", [0, 2, 5])
def test_values_have_the_scale_of_their_type_or_of_the_exact_sums(level: Level) -> None:
    """Against the networks' own real numbers, for an embedding, and for sums that no rescaling rounds."""
    typed, sums = networks.embedding(6), networks.of_kinds(6, "conv", shape=(1, 3, 3), classes=1)
    for graph in (typed, sums):
        group = compile_inference(graph, reveal="values", level=level).public_layout[-1]
        assert (group["scale"], group["zero_point"]) == graph.output_scale
        assert group["shape"] == [graph.classes]
    assert sums.output_scale
    assert sums.output_scale[1] == 0
    assert sums.types[sums.output] is None


def test_a_network_without_weights_shows_its_values_and_has_nothing_to_commit_to() -> None:
    flat = QuantGraph.of("x", (2, 2), Affine(0.5, 3, 4), (Reshape("flat", ("x",), (4,)),), "flat")
    for level in (0, 2, 5):
        circuit = compile_inference(flat, reveal="values", level=level)
        q = np.array([[0, 15], [7, 3]])
        assert circuit.values(q) == {"values": [0, 15, 7, 3]}
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        refuse_all_lies(circuit, q)
        assert circuit.public_layout[-1] | {"scale": 0.5, "zero_point": 3} == circuit.public_layout[-1]
    with refuses("statement.no_weights", "weight_privacy", match="let them be public"):
        compile_inference(flat, weight_privacy="committed", reveal="values")


def test_no_description_holds_multipliers_beyond_53_bits() -> None:
    with pytest.raises(ModelError, match="53 bits"):
        Rescale(np.array([1 << 53]), 0, Affine(1.0, 0, 8), 0, 255)
