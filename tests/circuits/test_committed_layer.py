"""All gadgets in one circuit, proven: a layer whose weights are bound to a commitment from outside."""

from __future__ import annotations

import numpy as np
import pytest

import kernels
from circuits.r1cs.builder import Builder
from circuits.r1cs.linear import Linear
from circuits.r1cs.lookups import Lookups
from circuits.r1cs.products import Products, product_interval
from circuits.r1cs.program import Program
from circuits.r1cs.ranges import RangeChecks
from circuits.r1cs.table import Table
from prover import groth16
from relations.integers import IntArray
from tests.circuits.support import accepted_lies, challenged, first_violation
from tests.prover.statements import commitment_basis

INPUTS, OUTPUTS, BATCH = 3, 4, 2
BASIS = commitment_basis(INPUTS * OUTPUTS)
WEIGHT = np.array([[3, -4, 0], [1, 1, 1], [-2, 3, -1], [-4, -4, 2]])
INPUT = np.array([[5, 0], [1, 7], [2, 3]])
RELU = np.array([[value, max(value, 0)] for value in range(-90, 90)])


def layer() -> Program:
    """y = relu(W x) for linked weights of 3 bits, public inputs of 3 bits, and a public y."""
    builder = Builder()
    builder.segment("model", linked=True)
    acc = builder.auxiliary("acc", OUTPUTS, BATCH)
    weight = builder.committed("model", "weight", OUTPUTS, INPUTS)
    x, y = builder.public("x", INPUTS, BATCH), builder.public("y", OUTPUTS, BATCH)
    lookups = Lookups(builder)
    ranges = RangeChecks(lookups)
    w, inputs, sums, outputs = (Linear.wires(wires.ravel()) for wires in (weight, x, acc, y))
    ranges.check("weight", w, 3, -4)
    ranges.check("x", inputs, 3)
    assert product_interval("dense", INPUTS, (4, 7)) == (-84, 84)
    Products(builder).matmul("dense", w, inputs, sums, (OUTPUTS, INPUTS, BATCH))
    lookups.look_up("relu", Table("relu", RELU), [sums, outputs])
    return builder.program()


def values(program: Program, weight: IntArray = WEIGHT) -> dict[str, IntArray]:
    acc = weight @ INPUT
    return {"weight": weight, "x": INPUT, "acc": acc, "y": np.maximum(acc, 0)}


def test_every_wire_that_moves_is_noticed() -> None:
    program = layer()
    assert accepted_lies(program, program.assign(values(program))) == []


@pytest.mark.parametrize(("index", "value"), [((0, 0), 4), ((3, 2), -5), ((1, 1), 1 << 20)])
def test_a_weight_out_of_range_is_refused(index: tuple[int, int], value: int) -> None:
    program = layer()
    weight = WEIGHT.copy()
    weight[index] = value
    z = challenged(program, program.assign(values(program, weight)))
    assert first_violation(program.constraint_system, z) is not None


def test_it_is_proven_for_the_committed_weights_and_no_others() -> None:
    program = layer()
    constraint_system = program.constraint_system
    key = groth16.setup(constraint_system, basis=BASIS)
    mine = BASIS.commit(kernels.fr.from_int64(WEIGHT.ravel()))
    other = BASIS.commit(kernels.fr.from_int64(np.roll(WEIGHT, 1).ravel()))
    witness = program.witness(values(program))
    proof = groth16.prove(
        key, constraint_system, witness, openings=[mine], post_challenge=program.post_challenge
    ).to_bytes()
    public = [*INPUT.ravel().tolist(), *np.maximum(WEIGHT @ INPUT, 0).ravel().tolist()]
    assert groth16.verify(key.verifying_key, public, proof, [mine.commitment]).valid
    assert not groth16.verify(key.verifying_key, public, proof, [other.commitment]).valid
    public[-1] += 1
    assert not groth16.verify(key.verifying_key, public, proof, [mine.commitment]).valid
