"""Whole networks of every kind of node, at every level and privacy: honest provers pass, liars do not."""

from __future__ import annotations

import itertools
from typing import Final, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.circuits.quantised import networks, slow
from tests.circuits.quantised.networks import KINDS
from tests.circuits.support import (
    PRIVACIES,
    R,
    answered,
    completed,
    first_violation,
    forge,
    held,
    insisting,
    refused,
    spread,
    unnoticed,
)
from tests.refusals import refuses
from zenserve import kernels
from zenserve.circuits import Inference, QuantGraph, compile_inference
from zenserve.circuits.graphs.types import Affine
from zenserve.circuits.lowering import Level, Lowering, Plan, arithmetic
from zenserve.circuits.operators.activation import QuantActivation
from zenserve.circuits.quantised import Integers
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.schemes.inference import Bounds
from zenserve.prover.groth16.reference import check
from zenserve.relations.bounds import Bound
from zenserve.relations.relation import AtLeast, Relations, Tensor, Total
from zenserve.verifier.schemes import Privacy

LEVELS: tuple[Level, ...] = get_args(Level)
SETTINGS = list(itertools.product(PRIVACIES, LEVELS))
SMALL = (2, 3, 3)


def compiled(graph: QuantGraph, privacy: tuple[Privacy, Privacy], level: Level) -> Inference:
    return compile_inference(graph, input_privacy=privacy[0], weight_privacy=privacy[1], level=level)


@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
    st.sampled_from(SETTINGS),
    st.sampled_from([8, 12]),
    st.sampled_from([None, 1]),
)
def test_executor_and_constraints_agree_bit_for_bit(
    seed: int,
    kinds: list[str],
    setting: tuple[tuple[Privacy, Privacy], Level],
    most_bits: int,
    input_bits: int | None,
) -> None:
    graph = networks.of_kinds(seed, *kinds, most_bits=most_bits, input_bits=input_bits, shape=SMALL)
    circuit = compiled(graph, *setting)
    for q in networks.inputs(graph, 3, seed):
        expected = slow.tensors(graph, q)
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        assert z[circuit.layout["label"][0]] == slow.label(expected, graph.output)
        for tensor, values in held(circuit, z).items():
            if tensor.name in expected and tensor.bits:
                assert values[0].tolist() == expected[tensor.name].tolist(), tensor.name
        public = circuit.public_inputs(q)
        assert z[1 : 1 + circuit.constraint_system.public].tolist() == public
        expected_witness = kernels.fr.from_int64(z)
        circuit.program.derive(expected_witness)
        assert (circuit.witness(q) == expected_witness).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_slow_checker_agrees(kind: str) -> None:
    graph = networks.of_kinds(3, kind, shape=SMALL)
    q = networks.inputs(graph, 3)[2]
    for privacy in PRIVACIES:
        circuit = compiled(graph, privacy, 2)
        assert check(circuit.constraint_system, circuit.assign(q).tolist()) is None


# Where c = 0 the slack of a clamp is free: nothing reads it (zenserve.circuits.r1cs.gadgets.clamp).
FREE = ("/slack", "statement")
MUTATED = [
    ("conv", "sum"),
    ("max", "requantise"),
    ("add",),
    ("pad", "concat"),
    ("conv", "transpose"),
    ("bent",),
    ("tabulated",),
    ("product",),
]


@pytest.mark.parametrize("kinds", MUTATED)
@pytest.mark.parametrize("privacy", [("private", "public"), ("private", "private"), ("public", "private")])
def test_every_wire_that_lies_is_refused(kinds: tuple[str, ...], privacy: tuple[Privacy, Privacy]) -> None:
    """Each wire of a small network in turn: moved by one, and by r / 2; alone, all others as they were."""
    graph = networks.of_kinds(11, *kinds, most_bits=3, shape=SMALL)
    circuit = compiled(graph, privacy, 2)
    refuse_all_lies(circuit, networks.inputs(graph, 3, 5)[2])


@pytest.mark.parametrize("kinds", MUTATED)
@pytest.mark.parametrize("privacy", [("private", "public"), ("private", "private"), ("public", "private")])
def test_every_wire_that_lies_is_refused_at_level_5(
    kinds: tuple[str, ...], privacy: tuple[Privacy, Privacy]
) -> None:
    """Told when the challenge is known already, and all that depends on it as it was."""
    graph = networks.of_kinds(11, *kinds, most_bits=3, shape=SMALL)
    refuse_all_lies(compiled(graph, privacy, 5), networks.inputs(graph, 3, 5)[2])


@pytest.mark.parametrize("level", [0, 1, 3, 4])
def test_every_wire_that_lies_is_refused_at_other_levels(level: Level) -> None:
    graph = networks.of_kinds(11, "conv", "max", most_bits=3, shape=(1, 2, 2))
    refuse_all_lies(compiled(graph, ("private", "private"), level), networks.inputs(graph, 3, 5)[2])


def refuse_all_lies(
    circuit: Inference, q: Integers, bounds: Bounds | None = None, linked: tuple[str, ...] = ()
) -> None:
    """``linked``: ends of names of wires that a commitment fixes, where they may meet zeros alone.

    Challenges are not the prover's to say: the verifier draws them. But all rows of a lookup read them, and a
    moved one is refused; only that which folds the columns of tables is not where these hold zeros alone, in
    which case what is looked up is in the table for every challenge.
    """
    z = completed(circuit, circuit.assign(q, bounds))
    unfolded = not any(
        z[wire]
        for name, group in circuit.layout.items()
        if name.endswith("/weighted")
        for wire in group.ravel().tolist()
    )
    linked += ("challenge1",) if unfolded else ()
    assert check(circuit.constraint_system, z) is None
    wires = [
        wire
        for name, group in circuit.layout.items()
        for wire in group.ravel().tolist()
        if not (name.endswith(FREE) and z[wire] == 0) and not name.endswith(linked)
    ]
    lies = [(wire, lie) for wire in wires for lie in (z[wire] + 1, (z[wire] + (R + 1) // 2) % R)]
    assert unnoticed(circuit.constraint_system, z, lies) == []
    blinding = len(circuit.constraint_system.segments)
    assert (
        sum(group.size for group in circuit.layout.values())
        == circuit.constraint_system.variables - 1 - blinding
    )


def test_a_challenge_that_folds_zeros_alone_is_free_and_what_is_looked_up_is_not() -> None:
    """(2, 0) is a row of the table whatever folds its columns. (2, 1) is none, for any but one challenge."""
    table = QuantActivation("t", ("x",), "x", np.array([3, 1, 0, 2]), Affine(1.0, 0, 2))
    network = QuantGraph.of("x", (1,), Affine(1.0, 0, 2), (table,), "t")
    circuit = compile_inference(network, reveal="values", level=5)
    q = np.array([2])
    z = completed(circuit, circuit.assign(q))
    (fold,) = circuit.layout["challenge1"].tolist()
    assert unnoticed(circuit.constraint_system, z, [(fold, z[fold] + 1)]) != []
    refuse_all_lies(circuit, q)
    for value in (1, 2, 3):
        lie = insisting(circuit, {"input": q}, {"t/out": np.array([value]), "values": np.array([value])})
        assert refused(circuit, lie)


# With public weights level 4 is level 3.
_WAYS: Final = (
    *((("private", "public"), level) for level in (2, 3, 5)),
    *((("private", "private"), level) for level in (2, 3, 4, 5)),
)


@pytest.mark.parametrize(("kinds", "privacy", "level"), spread(MUTATED, _WAYS))
def test_lies_that_all_later_wires_follow_are_refused(
    kinds: tuple[str, ...], privacy: tuple[Privacy, Privacy], level: Level
) -> None:
    """The prover insists on one wire and computes everything after it honestly.

    Inputs and, where they are private, weights and biases are the prover's own choice, within their ranges;
    so is a free slack. All other wires are determined.
    """
    graph = networks.of_kinds(11, *kinds, most_bits=3, shape=SMALL)
    circuit = compiled(graph, privacy, level)
    q = networks.inputs(graph, 3, 5)[2]
    z = circuit.assign(q)
    choices = ("input", "input/value/bits", "input/value/limbs", "challenge0", "challenge1")
    accepted = []
    for name, group in circuit.layout.items():
        chosen = name in choices or name.split("/")[1:2] in (["weight"], ["bias"])
        if chosen or name.endswith(FREE):
            continue
        for wire in group.ravel()[::3].tolist():
            for value in (int(z[wire]) + 1, 1 - int(z[wire])):
                if value != z[wire]:
                    lie = answered(circuit.program, forge(circuit, q, {wire: value}))
                    # What depends on challenges is computed from them, whatever the prover insists on.
                    told = kernels.fr.to_ints(lie[wire]) == [value % R]
                    if told and first_violation(circuit.constraint_system, lie) is None:
                        accepted.append((name, wire))
    assert accepted == []


def wires(circuit: Inference, name: str) -> list[int]:
    return [int(wire) for wire in circuit.layout[name].ravel()]


@pytest.mark.parametrize("privacy", PRIVACIES)
def test_values_beyond_their_types_are_refused_even_when_all_else_follows(
    privacy: tuple[Privacy, Privacy],
) -> None:
    graph = networks.of_kinds(2, "conv", shape=SMALL)
    circuit = compiled(graph, privacy, 2)
    q = networks.inputs(graph, 3)[2]
    (conv,) = (node for node in graph.nodes if node.name.startswith("conv"))
    kinds = TypedGraph(graph, *privacy)
    ranges = {"input": (0, graph.input.type.top)}
    if privacy[1] == "private":
        zeros = int(conv.weight_type.zero_point[0])  # type: ignore[attr-defined]
        ranges[f"{conv.name}/weight"] = (-zeros, kinds.weights[conv.name].high)
        ranges[f"{conv.name}/bias"] = (kinds.biases[conv.name].low, kinds.biases[conv.name].high)
        assert len(conv.weight_type.zero_point) == 1  # type: ignore[attr-defined]
    for name, (low, high) in ranges.items():
        wire = wires(circuit, name)[1]
        for value in (low, high):
            assert first_violation(circuit.constraint_system, forge(circuit, q, {wire: value})) is None
        for value in (low - 1, high + 1, high + (1 << 20)):
            violation = first_violation(circuit.constraint_system, forge(circuit, q, {wire: value}))
            assert violation is not None
            assert violation.startswith(name)


def test_a_maximum_that_is_no_input_is_refused() -> None:
    graph = networks.of_kinds(5, "max", shape=SMALL)
    circuit = compiled(graph, ("private", "public"), 2)
    q = networks.inputs(graph, 3)[2]
    z = circuit.assign(q)
    for name in [name for name in circuit.layout if name.endswith("/chosen")]:
        for wire in wires(circuit, name):
            for value in set(range(graph.input.type.top + 1)) - {int(z[wire])}:
                assert (
                    first_violation(circuit.constraint_system, forge(circuit, q, {wire: value})) is not None
                )


def test_a_sum_moved_by_the_modulus_is_refused() -> None:
    """T + r has the same residue as T: the digits of one cannot be those of the other."""
    graph = networks.of_kinds(2, "conv", shape=SMALL)
    circuit = compiled(graph, ("private", "public"), 2)
    z = circuit.assign(networks.inputs(graph, 3)[2]).tolist()
    for name in [
        name for name in circuit.layout if name.endswith("/bits") and circuit.layout[name].ndim == 2
    ]:
        group = circuit.layout[name]
        honest = sum(z[wire] << i for i, wire in enumerate(group[0]))
        for shift in (R, -R, 2 * R):
            lie = list(z)
            for i, wire in enumerate(group[0]):
                lie[wire] = ((honest + shift) >> i) & 1
            if lie != z:
                assert check(circuit.constraint_system, lie) is not None


def test_levels_cost_what_they_add() -> None:
    graph = networks.of_kinds(2, "conv", "sum", shape=SMALL)
    for privacy in PRIVACIES:
        counts = [compiled(graph, privacy, level).constraint_system.constraints for level in (0, 1, 2)]
        assert counts[0] > counts[1] > counts[2]
    conv = next(node for node in graph.nodes if node.name.startswith("conv"))
    by_gadget = compiled(graph, ("private", "private"), 0).describe()["constraints"]["by_gadget"]
    products = by_gadget[f"{conv.name}/product"]
    assert by_gadget[f"{conv.name}/term_sign_bits"] == products * (graph.input.type.bits + 1) or (
        by_gadget[f"{conv.name}/term_sign_bits"] == products * 254
    )


def test_private_weights_do_not_reach_the_statement() -> None:
    graph = networks.of_kinds(4, "conv", shape=SMALL)
    other = networks.of_kinds(4, "conv", shape=SMALL)
    for node in other.nodes:
        if hasattr(node, "weight"):
            node.weight[...] = node.weight[::-1].copy()
    digests = [
        [compiled(g, ("private", privacy), 2).constraint_system.digest for g in (graph, other)]
        for privacy in ("private", "public")
    ]
    assert digests[0][0] == digests[0][1]
    assert digests[1][0] != digests[1][1]


@pytest.mark.parametrize("level", [2, 5])
@pytest.mark.parametrize("limit", [0, 16])
def test_totals_and_comparisons_hold_wherever_their_bounds_lie(limit: int, level: Level) -> None:
    x, least = (
        Tensor("x", (1, 2), Bound.of(0, 3, "range")),
        Tensor("least", (1,), Bound.of(limit, limit + 1, "range")),
    )
    total, reached = Tensor("total", (1,), Bound.of(14, 20)), Tensor("reached", (1,), Bound.of(0, 1))
    parts = Total("total", total, x, -1, 20), AtLeast("reached", reached, total, least)
    builder = Builder()
    tools = arithmetic(builder, level)
    lowering = Lowering(tools, Relations((x, least, reached), parts, (reached,)), level, Plan({}, 0, {}))
    for tensor in lowering.relations.given:
        lowering.hold(tensor, tools.chosen(tensor.name, *tensor.shape))
    lowering.lower()
    program = builder.program()
    for *values, bound in itertools.product(range(4), range(4), (limit, limit + 1)):
        z = program.assign({"x": [values], "least": [bound]})
        assert first_violation(program.constraint_system, answered(program, z)) is None
        assert z[program.constraint_system.layout["reached"]] == [20 - sum(values) >= bound]


@pytest.mark.parametrize("level", [-1, 6, 2.5])
def test_unknown_levels_are_refused(level: float) -> None:
    with refuses("statement.level", "level"):
        compile_inference(networks.of_kinds(1), level=level)  # type: ignore[arg-type]


def test_the_typed_graph_reads_as_a_table() -> None:
    graph = networks.of_kinds(4, "conv", "max", shape=SMALL)
    text = str(TypedGraph(graph, "private", "public"))
    lines = text.splitlines()
    assert lines[0].startswith("x: private u")
    assert len(lines) == 1 + len(graph.nodes) + 2 * 2
    assert "public i" in next(line for line in lines if "weight:" in line)
    for node in graph.nodes:
        assert any(line.startswith(f"{node.name} = {node.operator()}(") for line in lines)


@given(st.integers(0, 2**32), st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
def test_types_hold_every_value(seed: int, kinds: list[str]) -> None:
    graph = networks.of_kinds(seed, *kinds)
    for weights in ("public", "private"):
        typed = TypedGraph(graph, "private", weights)
        for name, values in graph.tensors(networks.inputs(graph, 3, seed)):
            kind = typed.tensors[name]
            assert kind.shape == values.shape[1:]
            assert kind.low <= values.min() <= values.max() <= kind.high
            signed = kind.low < 0
            assert -(1 << (kind.bits - 1)) * signed <= kind.low
            assert kind.high < 1 << (kind.bits - signed)
