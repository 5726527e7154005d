"""What a plan says of a circuit, beside the circuit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from zenserve.circuits import (
    Circuit,
    QuantGraph,
    compile_accuracy,
    compile_inference,
    compile_registration,
    quantise,
    zoo,
)
from zenserve.circuits.schemes import planned
from zenserve.circuits.schemes.planned import Planned
from zenserve.prover import groth16
from zenserve.prover.groth16 import memory
from zenserve.prover.size import Size

Pair = Callable[[QuantGraph], tuple[Planned, Circuit]]
PAIRS: dict[str, Pair] = {
    "registration": lambda net: (planned.registration(net), compile_registration(net)),
    "committed": lambda net: (
        planned.inference(net, "committed"),
        compile_inference(net, weight_privacy="committed"),
    ),
    "batch": lambda net: (
        planned.inference(net, "committed", 3),
        compile_inference(net, weight_privacy="committed", batch=3),
    ),
    "public": lambda net: (planned.inference(net, "public"), compile_inference(net)),
    "accuracy": lambda net: (
        planned.accuracy(net, "committed", 3, "f1"),
        compile_accuracy(net, batch=3, weight_privacy="committed", measure="f1"),
    ),
}


@pytest.fixture(scope="module", params=["shallownet", "lenet-small"])
def network(request: pytest.FixtureRequest) -> QuantGraph:
    return quantise(zoo.network(request.param), zoo.calibration(request.param))


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_a_plan_foretells_constraints_exactly_and_memory_from_above(network: QuantGraph, pair: Pair) -> None:
    plan, circuit = pair(network)
    assert plan.constraints == circuit.constraint_system.constraints
    built = Size.of(circuit.constraint_system)
    for taken in (memory.setup, memory.proving, lambda size, _threads: groth16.cost.proving_key_bytes(size)):
        assert 0.99 < taken(plan.size, 2) / taken(built, 2) < 1.25
