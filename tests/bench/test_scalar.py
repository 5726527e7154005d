"""The yardstick computes what the compiler proves, so that comparing their times means something."""

from __future__ import annotations

import pytest

from bench import scalar
from tests.circuits.quantised.networks import KINDS, inputs, of_kinds


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ("bent", "tabulated", "product", "matrices")]
)
@pytest.mark.parametrize("seed", range(3))
def test_the_scalar_circuit_agrees_with_the_executor(kind: str, seed: int) -> None:
    qgraph = of_kinds(seed, "conv", kind)
    for q in inputs(qgraph, 3, seed):
        circuit, label = scalar.build(qgraph, q)
        assert label == qgraph.execute(q).label
        assert circuit.first_unsatisfied() is None


def test_the_scalar_circuit_refuses_other_values() -> None:
    qgraph = of_kinds(1, "conv", "sum", most_bits=3, shape=(1, 3, 3))
    circuit, _ = scalar.build(qgraph, inputs(qgraph, 3)[2])
    accepted = 0
    for variable in range(1, len(circuit.values)):
        circuit.values[variable] += 1
        accepted += circuit.first_unsatisfied() is None
        circuit.values[variable] -= 1
    # The slack of a value that is in range is free, and nothing reads it.
    assert accepted <= 9
