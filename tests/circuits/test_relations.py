"""Rows and relations agree: on honest witnesses, and on every kind of lie.

The relations are judged by their definitions alone (``tests.circuits.relation_checker``). Whatever satisfies
all rows must satisfy them; and a lie about a tensor, which relations know, must be refused by both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np
import pytest

from tests.circuits.quantised import networks
from tests.circuits.quantised.networks import KINDS
from tests.circuits.relation_checker import broken
from tests.circuits.support import answered, first_violation, held
from zenserve.circuits import (
    Circuit,
    compile_accuracy,
    compile_inference,
    compile_recognition,
    compile_registration,
)
from zenserve.circuits.lowering import Level
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy

SETTINGS: list[tuple[str, Level, Privacy]] = [
    *((kind, 2, "private") for kind in KINDS),
    *((kind, 5, "private") for kind in KINDS),
    *(("conv", level, privacy) for level in (0, 1, 3, 4) for privacy in ("public", "private")),
    ("conv", 5, "public"),
    ("conv", 5, "committed"),
]
# What ``make test`` looks at: every kind at one level, every level and every privacy.
SAMPLED = [
    setting
    for setting in SETTINGS
    if setting[0] == "conv" or setting[1] == (5 if KINDS.index(setting[0]) % 2 else 2)
]


def lies(circuit: Circuit, z: IntArray) -> Iterator[tuple[bool, IntArray]]:
    """Witnesses with a wire moved, and whether it is one of a tensor: some of each group, in every direction
    that a gadget could be blind to."""
    of_tensors = {int(wire) for wires in circuit.wires.values() for wire in circuit.program.order[wires].flat}
    rng = np.random.default_rng(1)
    for name, group in circuit.layout.items():
        if name.startswith("challenge") or name == "statement":
            continue
        for variable in rng.choice(group.ravel(), min(group.size, 2), replace=False).tolist():
            for move in (1, -1, 1 << int(rng.integers(2, 20)), -(1 << 40)):
                lie = z.copy()
                lie[variable] += move
                yield variable in of_tensors, lie


def agree(circuit: Circuit, z: IntArray) -> None:
    assert broken(circuit.relations, held(circuit, z)) == []
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    refused = 0
    for of_a_tensor, lie in lies(circuit, z):
        by_rows = first_violation(circuit.constraint_system, answered(circuit.program, lie)) is not None
        by_relations = broken(circuit.relations, held(circuit, lie)) != []
        assert by_rows or not by_relations
        refused += of_a_tensor and by_relations
    assert refused


@pytest.mark.parametrize(
    ("kind", "level", "weights"),
    [pytest.param(*each, marks=() if each in SAMPLED else pytest.mark.large) for each in SETTINGS],
)
def test_what_rows_accept_the_relations_accept(kind: str, level: Level, weights: Privacy) -> None:
    graph = networks.of_kinds(11, kind, most_bits=4, shape=(1, 3, 2))
    for reveal in ("label", "logits"):
        circuit = compile_inference(graph, weight_privacy=weights, level=level, reveal=reveal)
        agree(circuit, circuit.assign(networks.inputs(graph, 3, 11)[2]))


@pytest.mark.parametrize("level", get_args(Level))
def test_so_do_those_of_a_recognition(level: Level) -> None:
    graph = networks.embedding(5)
    circuit = compile_recognition(graph, level=level)
    first, _, other = networks.inputs(graph, 3, 5)
    agree(circuit, circuit.assign(other, circuit.embed(first), 3))


def test_a_wire_of_every_tensor_is_missed_by_neither() -> None:
    """A relation that judged nothing would agree with everything."""
    graph = networks.of_kinds(11, *KINDS, most_bits=4, shape=(1, 3, 2))
    circuit = compile_inference(graph, weight_privacy="private", reveal="logits")
    z = circuit.assign(networks.inputs(graph, 3, 11)[2])
    for tensor, wires in circuit.wires.items():
        values = held(circuit, z)
        # The largest of its type and one more: what is free in its bound is not free to leave it.
        values[tensor].flat[0] = tensor.bound.interval[1] + 1
        assert broken(circuit.relations, values), tensor.name
        assert wires.shape == tensor.shape


def test_so_do_those_of_an_accuracy_and_a_registration() -> None:
    graph = networks.of_kinds(5, "conv", most_bits=3, shape=(1, 2, 2))
    accuracy = compile_accuracy(graph, batch=2)
    samples = networks.inputs(graph, 2, 5)
    labels = np.array([graph.execute(samples[0]).label, graph.classes])
    for circuit, z in (
        (accuracy, accuracy.witness(samples, labels)),
        (registration := compile_registration(graph), registration.witness()),
    ):
        values = held(circuit, z)
        assert broken(circuit.relations, values) == []
        for tensor in values:
            wrong = {other: value.copy() for other, value in values.items()}
            wrong[tensor].flat[-1] = tensor.bound.interval[1] + 1
            assert broken(circuit.relations, wrong)
