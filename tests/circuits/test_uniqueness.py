"""Circuits leave every wire one value, and the judge of that (``uniqueness``) finds holes that were planted.

Given are inputs and weights: the public output is among what has to follow.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.circuits.quantised import networks
from tests.circuits.quantised.networks import KINDS
from tests.circuits.support import challenged, random_network
from tests.circuits.test_certificates import certified
from tests.circuits.uniqueness import ONE, Uniqueness, rows_of
from tests.prover.statements import csr
from zenserve.circuits import (
    Accuracy,
    Robustness,
    compile_accuracy,
    compile_inference,
    compile_recognition,
    compile_registration,
)
from zenserve.circuits.graphs.types import Affine, Rescale
from zenserve.circuits.lowering import Level, argmax, arithmetic
from zenserve.circuits.lowering.clamps import Joined
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Linear
from zenserve.circuits.r1cs.program import Program
from zenserve.circuits.r1cs.sources import Known
from zenserve.prover.blocks import SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.relations.functions import Tabulation
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy, Reveal

LEVELS: tuple[Level, ...] = get_args(Level)
SETTINGS: list[tuple[Privacy, Level]] = [
    *(("public", level) for level in LEVELS),
    *(("private", level) for level in LEVELS),
    ("committed", 5),
]
# What is given, beside weights and biases.
GIVEN = ("statement", "input", "samples", "labels", "targets", "reference", "threshold", "bounds")
# Wires that nothing reads where a row's other factor is 0 (r1cs.gadgets.clamp, schemes.accuracy).
IDLE = ("/slack", "output/right/inverse", "output/filling/inverse")


def is_given(name: str) -> bool:
    """Of several inputs each is ``input/NAME``, or ``samples/NAME``."""
    one_of_several = name.startswith(("input/", "samples/")) and name.count("/") == 1
    return name in GIVEN or one_of_several or name.endswith(("/weight", "/bias"))


def judged(
    program: Program,
    z: Sequence[int],
    without: int | None = None,
    values: Mapping[int, int] = MappingProxyType({}),
) -> Uniqueness:
    """For the values that ``z`` has of what is given, and these, less one row."""
    layout = program.constraint_system.layout
    wires = [group for name, group in layout.items() if is_given(name)]
    own = {v: z[v] for group in wires for v in group.ravel().tolist()}
    system, rows = program.constraint_system, rows_of(program.constraint_system)
    return Uniqueness(system, {**own, **values}, [row for i, row in enumerate(rows) if i != without])


def free(program: Program, found: Uniqueness) -> set[str]:
    """The groups of the wires that may have several values, but those that nothing reads."""
    names = {program.constraint_system.variable_name(v).rpartition("[")[0] for v in found.free}
    return {name for name in names if not name.endswith(IDLE)}


def assert_unique(program: Program, z: Sequence[int]) -> None:
    found = judged(program, z)
    assert free(program, found) == set()
    assert all(z[v] == value for v, value in found.known.items())


def unnoticed(program: Program, assignments: Iterable[Sequence[int]]) -> set[str]:
    """The blocks with a row that leaves as much free when it is missing, whatever the assignment."""
    needless = set(range(program.constraint_system.constraints))
    for z in assignments:
        whole = judged(program, z).free
        needless = {row for row in needless if judged(program, z, row).free <= whole}
    return {program.constraint_system.row_name(row).rpartition("[")[0] for row in needless}


@settings(max_examples=12)
@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    st.sampled_from(SETTINGS),
    st.sampled_from([2, 4, 8]),
    st.integers(0, 2),
)
def test_an_inference_leaves_every_wire_one_value(
    seed: int, kinds: list[str], setting: tuple[Privacy, Level], most_bits: int, index: int
) -> None:
    weights, level = setting
    graph = networks.of_kinds(seed, *kinds, most_bits=most_bits, shape=(2, 3, 2))
    circuit = compile_inference(graph, weight_privacy=weights, level=level)
    q = networks.inputs(graph, 3, seed)[index]
    assert_unique(circuit.program, challenged(circuit.program, circuit.assign(q)))


@pytest.mark.parametrize("level", [2, 5])
@pytest.mark.parametrize(("reveal", "top"), [("logits", 1), ("top", 2), ("values", 1)])
def test_so_does_whatever_is_revealed(reveal: Reveal, top: int, level: Level) -> None:
    graph = networks.of_kinds(3, "conv", shape=(1, 2, 2))
    for privacy in ("private", "public"):
        circuit = compile_inference(graph, input_privacy=privacy, reveal=reveal, top=top, level=level)
        for q in networks.inputs(graph, 3):
            assert_unique(circuit.program, challenged(circuit.program, circuit.assign(q)))


@pytest.mark.parametrize(
    ("kind", "weights"),
    [
        ("silu", "public"),
        ("padded", "committed"),
        ("depthwise", "private"),
        pytest.param("residual", "private", marks=pytest.mark.large),
    ],
)
def test_so_do_certificates_but_for_the_lines_that_are_chosen(kind: str, weights: Privacy) -> None:
    """So whoever cheats has nothing but that choice, of which inequalities say what is valid."""
    circuit, q, radius = certified(kind, weights)
    _assert_certified(circuit, circuit.assign(q, radius))
    batch = 2
    samples, labels = np.stack([q, q]), np.array([circuit.qgraph.execute(q).label, 0])
    counting = compile_accuracy(circuit.qgraph, batch=batch, weight_privacy=weights, measure="certified")
    given = {"samples": samples.ravel(), "labels": labels, "radius": np.array([radius])}
    _assert_certified(counting, counting.program.assign(given))


def _assert_certified(circuit: Robustness | Accuracy, z: IntArray) -> None:
    certificate, layout = circuit.certificate, circuit.layout
    assert certificate is not None
    free = [each.name for each in certificate.ranged]
    free += [f"{lines.name}/place" for lines in certificate.lines if f"{lines.name}/place" in layout]
    whole, also = challenged(circuit.program, z), ("radius", "label", *free)
    values = {v: whole[v] for name in also if name in layout for v in layout[name].ravel().tolist()}
    found = judged(circuit.program, whole, values=values)
    assert {circuit.constraint_system.variable_name(v) for v in found.free} == set()
    assert all(whole[v] == value for v, value in found.known.items())


@pytest.mark.parametrize(("weights", "level"), SETTINGS)
def test_so_does_a_recognition(weights: Privacy, level: Level) -> None:
    graph = random_network(4, relu_last=True)
    circuit = compile_recognition(graph, weight_privacy=weights, level=level)
    q = networks.inputs(graph, 3)[2]
    reference = circuit.embed(q) ^ 1
    for threshold in (len(reference) - 1, len(reference)):
        assert_unique(circuit.program, challenged(circuit.program, circuit.assign(q, reference, threshold)))


@pytest.mark.parametrize("weights", get_args(Privacy))
def test_so_does_an_accuracy(weights: Privacy) -> None:
    graph = networks.of_kinds(5, "conv", "max", most_bits=4, shape=(1, 2, 2))
    circuit = compile_accuracy(graph, batch=3, weight_privacy=weights)
    samples = networks.inputs(graph, 3)
    right = graph.run(samples).argmax(axis=1)
    labels = np.array([right[0], (right[1] + 1) % graph.classes, graph.classes])
    assert_unique(circuit.program, challenged(circuit.program, circuit.witness(samples, labels)))


def test_so_does_a_registration() -> None:
    program = compile_registration(networks.of_kinds(6, "conv")).program
    assert_unique(program, challenged(program, program.assign({})))


@pytest.mark.parametrize("selected", [0, 2048])
def test_so_does_an_argmax_for_all_logits_and_needs_every_row(
    selected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(argmax.__globals__, "_MOST_SELECTED", selected)
    for level in (2, 5):
        builder = Builder()
        tools = arithmetic(builder, level)
        values, label = Linear.wires(tools.chosen("input", 3)), builder.public("label", 1, 1)
        argmax(tools, "argmax", values, (0, 2), label)
        program = builder.program()
        logits = itertools.product(range(3), repeat=3)
        honest = [challenged(program, program.assign({"input": each})) for each in logits]
        for z in honest:
            assert_unique(program, z)
        assert unnoticed(program, honest) == set()


@pytest.mark.parametrize(
    ("high", "level"), [(2, 2), (3, 2), *(pytest.param(high, 5, marks=pytest.mark.large) for high in (2, 3))]
)
def test_so_does_every_way_to_rescale_for_all_sums_and_needs_every_row(level: Level, high: int) -> None:
    rescale, scaled = Rescale(np.array([1]), 1, Affine(1.0, 0, 2), 0, high).function, (-9, 22)
    clamps = [
        clamp
        for clamp in arithmetic(Builder(), level).clamps(rescale, scaled, [5])
        if not isinstance(clamp, Joined) or clamp.joint.group == 2  # of more the tables alone are larger
    ]
    function = Tabulation(np.array([2, 0, 3, 3]))
    for clamp in clamps + [both for each in clamps if each and (both := each.including(function))]:
        builder = Builder()
        tools = arithmetic(builder, level)
        sums = Linear.wires(tools.chosen("input", 1))
        tools.requantise("layer", Known(builder, sums, scaled), rescale, clamp)
        program = builder.program()
        honest = [
            challenged(program, program.assign({"input": [t]})) for t in range(scaled[0], scaled[1] + 1)
        ]
        for z in honest:
            assert_unique(program, z)
        assert unnoticed(program, honest) == set()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "values",
    [
        (1, 0, 2),
        pytest.param((3, 0, 3, 1), marks=pytest.mark.large),
        pytest.param((2, 7, 0, 1, 1, 5, 4, 6), marks=pytest.mark.large),
    ],
)
def test_so_does_a_table_for_all_arguments_and_needs_every_row(values: Sequence[int], level: Level) -> None:
    builder, first = Builder(), -1
    tools = arithmetic(builder, level)
    argument = tools.chosen("input", 1)
    tools.tabulate("layer", argument, Tabulation(np.array(values), first))
    program = builder.program()
    honest = [challenged(program, program.assign({"input": [x]})) for x in range(first, first + len(values))]
    for z, value in zip(honest, values, strict=True):
        assert_unique(program, z)
        assert z[program.constraint_system.layout["layer/out"][0]] == value
    assert unnoticed(program, honest) == set()


@pytest.mark.parametrize(
    ("weights", "level"),
    [
        pytest.param(
            weights,
            level,
            marks=() if level == 5 or (weights == "public" and level > 1) else pytest.mark.large,
        )
        for weights, level in SETTINGS
    ],
)
def test_a_row_that_is_missing_is_noticed(weights: Privacy, level: Level) -> None:
    graph = networks.of_kinds(7, "conv", "max", most_bits=2, shape=(1, 2, 2))
    circuit = compile_inference(graph, weight_privacy=weights, level=level)
    inputs = networks.inputs(graph, 3, 7)
    honest = [challenged(circuit.program, circuit.assign(q)) for q in inputs]
    # These are needed for some logits, and for some sums: see above.
    excused = {"output/argmax_one_hot", "conv0/clamp_outside", "conv0/cap"}
    assert unnoticed(circuit.program, honest) <= excused


Row = tuple[dict[int, int], dict[int, int], dict[int, int]]


def bits(*wires: int) -> list[Row]:
    return [({wire: 1}, {wire: 1, ONE: -1}, {}) for wire in wires]


def freed(given: dict[int, int], rows: Sequence[Row]) -> set[int]:
    """The variables after those given that these rows leave free."""
    variables = max(wire for row in rows for part in row for wire in part)
    block = SparseBlock("rows", *(csr([row[part] for row in rows]) for part in range(3)))
    return Uniqueness(ConstraintSystem(0, variables, (block,)), given).free


@pytest.mark.parametrize(("digits", "unique"), [(3, True), (254, True), (255, False)])
def test_a_decomposition_with_room_for_another_multiple_of_r_is_a_hole(digits: int, unique: bool) -> None:
    wires = range(2, 2 + digits)
    rows = [*bits(*wires), ({}, {}, {1: -1} | {wire: 1 << i for i, wire in enumerate(wires)})]
    assert (freed({1: 5}, rows) == set()) == unique


@pytest.mark.parametrize(("width", "unique"), [(2, True), (1, False)])
def test_slots_that_a_carry_can_leave_are_a_hole(width: int, unique: bool) -> None:
    """y_0 + 2^w y_1 = 2, for values of two digits, in small slots."""
    rows = [*bits(2, 3, 4, 5), ({}, {}, {1: -1, 2: 1, 3: 2, 4: 1 << width, 5: 2 << width})]
    assert (freed({1: 2}, rows) == set()) == unique


@pytest.mark.parametrize(("remainder", "unique"), [(2, True), (3, False)])
def test_a_remainder_with_a_digit_too_many_is_a_hole(remainder: int, unique: bool) -> None:
    """T = 4 t + ρ for T = 6, t a wire of its own."""
    high, low = range(3, 6), range(6, 6 + remainder)
    digits = {wire: -1 << i for i, wire in enumerate(low)}
    quotient: Row = ({}, {}, {2: -1} | {wire: 1 << i for i, wire in enumerate(high)})
    rows = [*bits(*low, *high), quotient, ({}, {}, {1: 1, 2: -4} | digits)]
    assert (freed({1: 6}, rows) == set()) == unique


def test_a_quotient_that_is_no_integer_is_a_hole() -> None:
    """T = 4 t + ρ leaves a t in the field for every ρ, unless t is known to be an integer."""
    assert freed({1: 6}, [*bits(2, 3), ({}, {}, {1: 1, 4: -4, 2: -1, 3: -2})]) == {2, 3, 4}
