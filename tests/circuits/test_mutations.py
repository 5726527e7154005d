"""Every wire that is not the prover's choice has one value, at every level: lies that all later wires follow.

A wire that is held too loosely shows by another value that the rest of the circuit goes along with: one
digit further up than anybody looks, say. So wires are moved by powers of two up to the ends of the integers.
"""

from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest

import kernels
from circuits import compile_inference
from circuits.lowering import Level
from circuits.quantised.typed import Privacy
from tests.circuits.quantised import networks
from tests.circuits.support import R, answered, first_violation, forge

SETTINGS: list[tuple[str, Level, Privacy]] = [
    *((kind, 2, "private") for kind in ("conv", "sum", "max", "add", "requantise", "bent")),
    ("conv", 2, "public"),
    ("conv", 1, "private"),
    ("max", 1, "public"),
    ("requantise", 0, "public"),
    *((kind, 5, "private") for kind in ("conv", "sum", "max", "add", "bent")),
    ("requantise", 5, "public"),
    *((kind, level, "private") for kind in ("conv", "sum") for level in (3, 4)),
    ("conv", 4, "public"),
    ("conv", 5, "committed"),
]
# Where nothing is out of range, nothing reads the slack of a clamp (circuits.r1cs.gadgets.clamp).
CHOICES = (
    "/weight",
    "/weight/bits",
    "/weight/limbs",
    "/bias",
    "/bias/bits",
    "/bias/limbs",
    "/slack",
    "statement",
)


@pytest.mark.parametrize(("kind", "level", "weights"), SETTINGS)
def test_no_wire_has_a_second_value(kind: str, level: Level, weights: Privacy) -> None:
    graph = networks.of_kinds(7, kind, most_bits=4, shape=(1, 2, 2))
    circuit = compile_inference(graph, weight_privacy=weights, level=level)
    q = networks.inputs(graph, 3, 7)[2]
    z = circuit.assign(q)
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    rng = np.random.default_rng(level)
    for name, group in circuit.layout.items():
        if name in ("statement", "input", "input/value/bits", "input/value/limbs") or name.endswith(CHOICES):
            continue
        sampled = rng.choice(group.ravel(), min(group.size, 1), replace=False)
        # Only digits of 0 and 1 pass for digits; wires that hold a value are moved by every power of two.
        digits = name.endswith(("/bits", "/selector"))
        moves = [1] if digits else [sign << i for sign, i in itertools.product((1, -1), range(0, 61, 6))]
        for wire, move in itertools.product(sampled.tolist(), moves):
            value = 1 - int(z[wire]) if digits else int(z[wire]) + move
            lie = answered(circuit.program, forge(circuit, q, {wire: value}))
            # What depends on challenges is computed from them, whatever the prover insists on.
            if kernels.fr.to_ints(lie[wire]) == [value % R]:
                assert first_violation(circuit.constraint_system, lie) is not None, (name, value)


def test_the_largest_logit_has_no_second_value() -> None:
    """Not even one whose margins differ by powers of two that the lower digits do not show."""
    graph = networks.of_kinds(3, shape=(1, 2, 2))
    q = networks.inputs(graph, 3, 3)[2]
    for level in get_args(Level):
        circuit = compile_inference(graph, level=level)
        (largest,) = circuit.layout["output/argmax/max"].tolist()
        honest = int(circuit.assign(q)[largest])
        for i in range(62):
            lie = answered(circuit.program, forge(circuit, q, {largest: honest + (1 << i)}))
            assert first_violation(circuit.constraint_system, lie) is not None
