"""The constraints of the zoo at every level, for a private input. ``python -m tests.circuits.test_counts``
writes the file that they are compared with: a rise is a failure, a fall an improvement to write down.

They are the counts of plans, which take no time; that circuits have exactly these is tested on small ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.circuits.quantised import networks
from tests.circuits.quantised.networks import KINDS
from zenserve.circuits import QuantGraph, compile_inference, plan_inference, quantise, zoo
from zenserve.circuits.lowering import Level
from zenserve.verifier.schemes import Privacy

PINNED = Path(__file__).parent / "constraint_counts.json"
_LONGEST = "resnet50-cifar"
"""Of the zoo: as long as all others."""
LEVELS: tuple[Level, ...] = get_args(Level)
SETTINGS: list[tuple[Privacy, Level]] = [
    *(("public", level) for level in LEVELS),
    *(("private", level) for level in LEVELS),
    ("committed", 5),
]


def quantised(name: str) -> QuantGraph:
    return quantise(zoo.network(name), zoo.calibration(name))


def counts(name: str) -> dict[str, dict[str, int]]:
    graph, found = quantised(name), dict[str, dict[str, int]]()
    for weights, level in SETTINGS:
        rows = plan_inference(graph, weight_privacy=weights, level=level).rows
        found.setdefault(f"{weights} weights", {})[f"level {level}"] = rows
    return found


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.large if name == _LONGEST else ()) for name in zoo.NAMES],
)
def test_constraint_counts_are_the_pinned_ones(name: str) -> None:
    assert counts(name) == json.loads(PINNED.read_text())[name]


@pytest.mark.parametrize(("weights", "level"), SETTINGS)
def test_a_circuit_has_the_constraints_of_its_plan(weights: Privacy, level: Level) -> None:
    circuit = compile_inference(quantised("shallownet"), weight_privacy=weights, level=level)
    assert circuit.constraint_system.constraints == circuit.plan.rows


@given(
    st.integers(0, 2**32), st.lists(st.sampled_from(KINDS), min_size=1, max_size=4), st.sampled_from(SETTINGS)
)
def test_circuits_of_every_kind_of_node_have_the_constraints_of_their_plans(
    seed: int, kinds: list[str], setting: tuple[Privacy, Level]
) -> None:
    weights, level = setting
    graph = networks.of_kinds(seed, *kinds, shape=(2, 3, 3))
    circuit = compile_inference(graph, weight_privacy=weights, level=level)
    assert circuit.constraint_system.constraints == circuit.plan.rows


@pytest.mark.parametrize("name", zoo.NAMES)
def test_no_level_costs_more_than_the_one_below(name: str) -> None:
    for by_level in json.loads(PINNED.read_text())[name].values():
        rows = list(by_level.values())
        assert rows == sorted(rows, reverse=True)


# Constraints with the model committed and bound, and with public weights: what was asked for.
MOST = {
    "shallownet-mnist": 20_000,
    "lenet-small-cifar": 130_000,
    "lenet-medium-cifar": 600_000,
    "lenet-face-small-orl": 400_000,
    "lenet-face-medium-orl": 1_500_000,
    "lenet-face-large-orl": 4_000_000,
}
MOST_PUBLIC = {"vgg16-cifar": 2_000_000, "resnet18-cifar": 3_000_000, "resnet50-cifar": 8_000_000}


def test_level_5_keeps_its_limits() -> None:
    pinned = json.loads(PINNED.read_text())
    for limits, weights in ((MOST, "committed weights"), (MOST_PUBLIC, "public weights")):
        for name, most in limits.items():
            assert pinned[name][weights]["level 5"] <= most


if __name__ == "__main__":
    PINNED.write_text(json.dumps({name: counts(name) for name in zoo.NAMES}, indent=2) + "\n")
