"""Where outputs lie, and nothing else of them: thresholds and ranges, against wrong witnesses."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from tests.circuits.quantised import networks
from tests.circuits.support import R, answered, challenged, first_violation
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_relations import agree
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from tests.vectors import several
from zenserve.circuits import QuantGraph, compile_inference
from zenserve.circuits.lowering import Level
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.schemes.audit import recompile
from zenserve.circuits.schemes.inference import Inference
from zenserve.circuits.schemes.intervals import integer_bounds
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Reveal

LEVELS: list[Level] = [0, 2, 3, 5]
BOUNDED: list[tuple[Reveal, int]] = [("threshold", 1), ("range", 1), ("range", 3)]


def network(classes: int = 1) -> tuple[QuantGraph, IntArray, list[int]]:
    """One output below 0, or three of a type; an input, and what it comes to."""
    graph = (
        networks.of_kinds(6, "conv", shape=(1, 3, 3), classes=1) if classes == 1 else networks.embedding(6)
    )
    q = networks.inputs(graph, 3, 1)[2]
    return graph, q, graph.execute(q).logits.tolist()


def holds(circuit: Inference, z: IntArray) -> bool:
    return first_violation(circuit.constraint_system, answered(circuit.program, z)) is None


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize(("reveal", "count"), BOUNDED)
def test_it_shows_how_many_bounds_are_reached(reveal: Reveal, count: int, classes: int, level: Level) -> None:
    graph, q, values = network(classes)
    circuit = compile_inference(graph, reveal=reveal, bounds=count, level=level)
    assert circuit.constraint_system.constraints == circuit.plan.rows
    low, high = circuit.typed.outputs["output"].bound.interval
    ends = sorted({low, low + 1, values[0] - 1, values[0], values[0] + 1, high, high + 1})
    name, found = ("threshold", "reached") if reveal == "threshold" else ("bounds", "interval")
    for bounds in list(itertools.combinations(ends, count))[:: 1 if count == 1 else 7]:
        given = {"output": list(bounds)}
        z = circuit.assign(q, given)
        assert holds(circuit, z)
        places = [sum(value >= bound for bound in bounds) for value in values]
        shown = {name: bounds[0] if reveal == "threshold" else [*bounds]}
        assert circuit.values(q, given) == shown | {found: places if classes > 1 else places[0]}
        public = [value % R for value in z[1 : 1 + circuit.constraint_system.public].tolist()]
        assert public == circuit.public_inputs(q, given)
    description = json.loads(json.dumps(circuit.describe()))
    again = recompile(graph, description).constraint_system
    assert again.digest == circuit.constraint_system.digest


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("reveal", "count"), BOUNDED)
def test_every_wire_is_bound(reveal: Reveal, count: int, level: Level) -> None:
    graph, q, (value,) = network()
    circuit = compile_inference(graph, reveal=reveal, bounds=count, level=level)
    given = {"output": [value - 1, value, value + 1][-count:]}
    refuse_all_lies(circuit, q, given)
    agree(circuit, circuit.assign(q, given))
    assert_unique(circuit.program, challenged(circuit.program, circuit.assign(q, given)))


@pytest.mark.parametrize("level", [2, 5])
@pytest.mark.parametrize(("reveal", "count"), BOUNDED)
def test_no_other_place_has_a_proof(reveal: Reveal, count: int, level: Level) -> None:
    """Just below, at, just above, at the ends: a prover who insists on the contrary, or on another bound."""
    graph, q, (value,) = network()
    circuit = compile_inference(graph, reveal=reveal, bounds=count, level=level)
    low, high = circuit.typed.outputs["output"].bound.interval
    name, found = circuit.public_layout[1]["name"], circuit.public_layout[2]["name"]
    for first in (low, value - 1, value, value + 1, high - 1):
        bounds = [first, *range(high + 3 - count, high + 2)][:count]
        honest = circuit.assign(q, {"output": bounds})
        place = int(circuit.layout[found].item())
        for lie in {*range(-1, count + 2)} - {int(honest[place])}:
            forged = honest.copy()
            forged[place] = lie
            assert not holds(circuit, forged)
        # Every later wire follows another bound, and what is shown does not.
        for end in (low, value, value + 1, high + 1):
            moved = circuit.assign(q, {"output": [end]}) if count == 1 else honest.copy()
            moved[circuit.layout[name].ravel()[0]] = end
            if moved[place] != honest[place] or count > 1:
                moved[place] = honest[place]
                reached = sum(value >= bound for bound in [end, *bounds[1:]])
                assert holds(circuit, moved) == (reached == honest[place] and end == bounds[0])


def test_bounds_beyond_what_the_circuit_compares_have_no_proof() -> None:
    """So far that a difference would wrap round to the other side."""
    graph, q, _ = network()
    circuit = compile_inference(graph, reveal="threshold")
    _, least, most = (circuit.public_layout[1][name] for name in ("name", "minimum", "maximum"))
    honest = circuit.assign(q, {"output": [0]})
    for beyond in (least - 1, most + 1, 1 << 40, -(1 << 40)):
        far = circuit.program.assign({"input": q.ravel(), "threshold": np.array([beyond])})
        for reached in (0, 1):
            far[circuit.layout["reached"]] = reached
            assert not holds(circuit, far)
    assert holds(circuit, honest)


def test_outputs_are_shown_by_their_names() -> None:
    graph = several.network()
    reveal: dict[str, Reveal] = {"all": "range", "last": "threshold"}
    circuit = compile_inference(graph, reveal=reveal, bounds=2)
    q = {"a": np.array([1, 15]), "b": np.array([0, 7]), "c.1": np.array([9, 2])}
    given = {"all": [2, 9], "last": [9]}
    assert circuit.values(q, given) == {
        "bounds/all": [2, 9], "interval/all": [0, 2, 0, 1, 2, 1], "threshold/last": 9, "reached/last": [1, 0],
    }  # fmt: skip
    assert holds(circuit, circuit.assign(q, given))
    refuse_all_lies(circuit, q, given)
    description = circuit.describe()
    assert (description["bounds"], description["reveal"]) == (2, reveal)


def test_bounds_that_are_none_are_refused() -> None:
    graph, q, (value,) = network()
    circuit = compile_inference(graph, reveal="range", bounds=2)
    low, high = circuit.typed.outputs["output"].bound.interval
    for bounds in ([value], [value, value], [value + 1, value], [low - 1, value], [value, high + 2]):
        with refuses("input.out_of_range", "bounds"):
            circuit.values(q, {"output": bounds})
    with refuses("input.out_of_range", "bounds"):
        circuit.values(q)
    for reveal, count in (("threshold", 2), ("label", 2), ("range", 0), ("range", 33)):
        with refuses("statement.reveal", "bounds"):
            compile_inference(network(3)[0], reveal=reveal, bounds=count)  # type: ignore[arg-type]


def test_real_numbers_become_the_first_integers_that_reach_them() -> None:
    graph = networks.embedding(6)
    typed, kind = TypedGraph(graph, "private", "public"), graph.types[graph.output]
    assert kind is not None
    scale, zero = kind.scale, kind.zero_point
    low, high = typed.outputs["output"].bound.interval
    threshold: dict[str, Reveal] = {"output": "threshold"}
    for q in range(low, high + 1):
        real = scale * (q - zero)
        assert integer_bounds(typed, threshold, at_least=real) == {"output": [q]}
        assert integer_bounds(typed, threshold, at_most=real) == {"output": [q + 1]}
        if q < high:
            between = real + scale / 3
            assert integer_bounds(typed, threshold, at_least=between) == {"output": [q + 1]}
            assert integer_bounds(typed, threshold, at_most=between) == {"output": [q + 1]}
    ends = [scale * (q - zero) for q in (low, low + 2, high)]
    shown: dict[str, Reveal] = {"output": "range"}
    assert integer_bounds(typed, shown, bounds=ends) == {"output": [low, low + 2, high]}
    assert integer_bounds(typed, shown, bounds={"output": ends}) == {"output": [low, low + 2, high]}
    assert integer_bounds(typed, {"output": "label"}) == {}


def test_numbers_that_no_output_is_compared_with_are_refused() -> None:
    graph = networks.embedding(6)
    typed = TypedGraph(graph, "private", "public")
    threshold: dict[str, Reveal] = {"output": "threshold"}
    for number in (1e9, -1e9, float("nan"), float("inf"), 1e308):
        with refuses("input.out_of_range", "at_least", match="lies from"):
            integer_bounds(typed, threshold, at_least=number)
    shown: dict[str, Reveal] = {"output": "range"}
    for bounds in ([0.0, 0.0], [0.1, 0.0]):
        with refuses("input.out_of_range", "bounds"):
            integer_bounds(typed, shown, bounds=bounds)
    with refuses("input.out_of_range", "bounds"):
        integer_bounds(typed, shown, bounds=[])
    with refuses("statement.reveal", "at_least", match="at_least or at_most"):
        integer_bounds(typed, threshold)
    with refuses("statement.reveal", "at_most", match="of each once"):
        integer_bounds(typed, threshold, at_least=0.0, at_most=0.0)
    with refuses("statement.reveal", "bounds", match="range"):
        integer_bounds(typed, threshold, bounds=[0.0])
    with refuses("statement.reveal", "at_least"):
        integer_bounds(typed, threshold, at_least={"other": 0.0})
    sums = networks.of_kinds(6, "conv", shape=(1, 3, 3))
    assert sums.output_scale is None
    with refuses("statement.reveal", "at_least", match="no one scale"):
        integer_bounds(TypedGraph(sums, "private", "public"), threshold, at_least=0.0)
