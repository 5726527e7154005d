"""The gadgets of level 5: wrong outputs, alone and with a second lie, and honest ones up to their bounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.circuits.quantised import networks
from tests.circuits.support import answered, first_violation, prove
from tests.refusals import refuses
from zenserve.circuits import compile_inference
from zenserve.circuits.graphs.types import Affine, Rescale
from zenserve.circuits.lowering.clamps import ByParts, Clamp, clamps
from zenserve.circuits.lowering.tables import Tables
from zenserve.circuits.r1cs import execution
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Linear
from zenserve.circuits.r1cs.program import Program
from zenserve.circuits.r1cs.sources import Known
from zenserve.kernels import FrArray, fr
from zenserve.prover import groth16
from zenserve.relations.functions import Requantisation
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy


def requantised(clamp: Clamp, count: int = 1, *, short: bool = True) -> tuple[Program, IntArray, IntArray]:
    """The program, and the wires of totals and outputs as the builder numbers them."""
    builder = Builder()
    total = builder.auxiliary("total", count)
    tools = Tables(builder)
    source = Known(builder, Linear.wires(total), clamp.scaled, knit=True, short=short)
    out = tools.requantise("test", source, clamp.rescale, clamp)
    return builder.program(), total, out


def rescaling(shift: int, bits: int, low: int = 0, high: int | None = None) -> Requantisation:
    kind = Affine(1.0, 0, bits)
    high = kind.top if high is None else high
    return Rescale(np.array([1]), shift, kind, low, high).function


def filled(program: Program, wires: IntArray, values: list[int], overrides: dict[int, int]) -> FrArray:
    """Honest but for ``overrides``, by the builder's numbers; challenges and their answers included."""
    z = np.zeros(len(program.order), dtype=np.int64)
    for step in program.steps.integer:
        z[0], z[wires] = 1, values
        for wire, value in overrides.items():
            z[wire] = value
        execution.fill([step], z)
    for wire, value in overrides.items():
        z[wire] = value
    z[0], z[wires] = 1, values
    assignment = np.zeros(program.constraint_system.variables, dtype=np.int64)
    assignment[program.order] = z
    return answered(program, assignment)


def read(program: Program, z: FrArray, wires: IntArray | int) -> list[int]:
    """The values of wires, by the builder's numbers."""
    return fr.to_ints(z[program.order[wires]])


NARROW = [
    (rescaling(2, 2), (-40, 60)),
    (rescaling(0, 2), (-5, 9)),
    (rescaling(1, 3, 2, 6), (-30, 40)),
    (rescaling(3, 2), (0, 31)),
]
WIDE = [
    (rescaling(2, 2), (-(1 << 14), 1 << 13)),
    (rescaling(2, 3, 1, 5), (-(1 << 14), 1 << 13)),
]


CLAMPS = [clamp for setting in [*NARROW, *WIDE] for clamp in clamps(*setting)]
SMALL = [clamp for setting in NARROW for clamp in clamps(*setting)]


def described(clamp: Clamp) -> str:
    rescale = clamp.rescale
    return f"{type(clamp).__name__}-{clamp.scaled}-{rescale.shift}-{rescale.low}-{rescale.high}"


def claims(rescale: Requantisation, value: int) -> set[int]:
    """Wrong outputs: the ends of the clamp, beyond them, and beside the right one."""
    low, high = rescale.low, rescale.high
    expected = min(max(value >> rescale.shift, low), high)
    return {low - 1, low, expected + 1, high, high + 1} - {expected}


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("clamp", CLAMPS, ids=described)
def test_only_the_right_output_has_a_witness(clamp: Clamp, short: bool) -> None:
    rescale, bounds = clamp.rescale, clamp.scaled
    program, total, out = requantised(clamp, short=short)
    for value in {bounds[0], 7, bounds[1]}:
        honest = filled(program, total, [value], {})
        assert first_violation(program.constraint_system, honest) is None
        assert read(program, honest, out)[0] not in claims(rescale, value)
        for claim in claims(rescale, value):
            assert first_violation(
                program.constraint_system, filled(program, total, [value], {int(out[0]): claim})
            )


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("clamp", SMALL, ids=described)
def test_no_second_lie_makes_a_wrong_output_right(clamp: Clamp, short: bool) -> None:
    rescale = clamp.rescale
    program, total, out = requantised(clamp, short=short)
    groups = [
        name
        for name in program.constraint_system.layout
        if name.startswith("test/") and "inverse" not in name
    ]
    variables = [int(v) for name in groups for v in program.constraint_system.layout[name].ravel()[:2]]
    wires = [int(np.flatnonzero(program.order == variable)[0]) for variable in variables]
    value = 7
    honest = filled(program, total, [value], {})
    for claim, wire, move in itertools.product(claims(rescale, value), wires, (1, -1)):
        lie = {int(out[0]): claim, wire: read(program, honest, wire)[0] + move}
        if wire != out[0] and abs(lie[wire]) < 1 << 62:
            assert (
                first_violation(program.constraint_system, filled(program, total, [value], lie)) is not None
            )


@settings(max_examples=40)
@given(st.integers(2, 8), st.integers(0, 20), st.integers(4, 40), st.data())
def test_honest_totals_pass_up_to_their_bounds(
    bits: int, shift: int, reach: int, data: st.DataObject
) -> None:
    levels = st.integers(0, 2**bits - 1)
    low, high = sorted(data.draw(st.lists(levels, min_size=2, max_size=2, unique=True)))
    rescale = rescaling(shift, bits, low, high)
    limit = min(reach, shift + 15)
    ends = sorted(data.draw(st.lists(st.integers(-(2**limit), 2**limit), min_size=2, max_size=2)))
    values = [*ends, *data.draw(st.lists(st.integers(*ends), max_size=4))]
    expected = [min(max(value >> shift, low), high) for value in values]
    for clamp in clamps(rescale, (ends[0], ends[1]), (11,)):
        program, total, out = requantised(clamp, len(values), short=data.draw(st.booleans()))
        z = filled(program, total, values, {})
        assert first_violation(program.constraint_system, z) is None
        assert read(program, z, out) == expected


@pytest.mark.parametrize("width", [2, 3])
def test_the_largest_is_neither_less_nor_another(width: int) -> None:
    rows = list(itertools.product(range(4), repeat=width))
    builder = Builder()
    wires = builder.auxiliary("wires", len(rows), width)
    out = Tables(builder).largest("test", wires, 2)
    program = builder.program()
    values = np.array(rows).ravel().tolist()
    honest = filled(program, wires.ravel(), values, {})
    assert first_violation(program.constraint_system, honest) is None
    for index, row in enumerate(rows[:: width - 1]):
        wire = out[index * (width - 1)]
        assert read(program, honest, wire) == [max(row)]
        for claim in set(range(-1, 6)) - {max(row)}:
            lie = filled(program, wires.ravel(), values, {int(wire): claim})
            assert first_violation(program.constraint_system, lie) is not None


def test_the_largest_of_many_does_not_overflow() -> None:
    builder = Builder()
    wires = builder.auxiliary("wires", 1, 25)
    Tables(builder).largest("test", wires, 8)
    program = builder.program()
    values = [255, *range(24)]
    assert first_violation(program.constraint_system, filled(program, wires.ravel(), values, {})) is None


@pytest.mark.parametrize("weights", ["public", "private"])
def test_a_label_is_proven_and_no_other_verifies(weights: Privacy) -> None:
    graph = networks.of_kinds(5, "conv", "max", shape=(1, 3, 3))
    circuit = compile_inference(graph, weight_privacy=weights, level=5)
    q = networks.inputs(graph, 3)[2]
    key = groth16.setup(circuit.constraint_system)
    proof = prove(circuit, key, circuit.witness(q))
    public = circuit.public_inputs(q)
    assert groth16.verify(key.verifying_key, public, proof).valid
    for label in set(range(3)) - set(public):
        assert not groth16.verify(key.verifying_key, [label], proof).valid
    assert circuit.program.soundness_bits > 200


def test_totals_that_could_wrap_are_refused() -> None:
    with refuses("statement.could_wrap"):
        requantised(ByParts(rescaling(3, 8), (-(1 << 62), 1 << 20)))
