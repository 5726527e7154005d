"""What the circuit tests share: small networks, a slow executor, and ways to judge and forge witnesses."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tests.circuits.quantised import slow
from tests.circuits.relation_checker import broken
from zenserve import kernels
from zenserve.circuits import Circuit, Graph, Inference, QuantGraph, quantise
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.lowering import best_plan
from zenserve.circuits.lowering.optimiser import Plan, Way
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.dense import Dense, QuantDense
from zenserve.circuits.quantised import Integers
from zenserve.circuits.r1cs import execution
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.program import Program
from zenserve.kernels import FrArray
from zenserve.prover import groth16
from zenserve.prover.blocks import Csr
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import Opening, Proof, ProvingKey
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Tensor
from zenserve.verifier.schemes import Privacy

R = kernels.fr.modulus
Assignment = Sequence[int] | IntArray | FrArray
PRIVACIES: list[tuple[Privacy, Privacy]] = [
    ("private", "public"),
    ("private", "private"),
    ("public", "public"),
    ("public", "private"),
]


def elements(z: Assignment) -> FrArray:
    """The assignment in the field, as it is where it is there already."""
    if not isinstance(z, np.ndarray):
        return kernels.fr.from_ints(z)
    return kernels.fr.from_int64(z.astype(np.int64)) if z.ndim == 1 else z.astype(np.uint64, copy=False)


def spread(rows: Iterable[object], columns: Iterable[tuple[object, ...]]) -> list[object]:
    """Parameters of a test: each row with each column. A third of them, in which every row and every column
    is, are for each run of the tests, the others large.
    """
    return [
        pytest.param(row, *column, marks=() if (i + j) % 3 == 0 else pytest.mark.large)
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]


def first_violation(system: ConstraintSystem, z: Assignment) -> str | None:
    """The first row that the assignment violates, by the blocks' own ``evaluate``; None if there is none."""
    a, b, c = system.evaluate(elements(z))
    bad = np.flatnonzero((kernels.fr.mul(a, b) != c).any(axis=1))
    return system.row_name(int(bad[0])) if len(bad) else None


def satisfied(system: ConstraintSystem, z: IntArray) -> NDArray[np.bool_]:
    """For many small assignments z[n, variables]: which satisfy every row, over the integers."""
    good = np.ones(len(z), dtype=bool)
    for block in system.blocks:
        a, b, c = (z @ _dense(matrix, z.shape[1]).T for matrix in block.matrices())
        good &= (a * b == c).all(axis=1)
    return good


def _dense(matrix: Csr, variables: int) -> IntArray:
    dense = np.zeros((matrix.rows, variables), dtype=np.int64)
    rows = np.repeat(np.arange(matrix.rows), np.diff(matrix.offsets))
    pool = np.array(matrix.pool or (0,), dtype=np.int64)
    np.add.at(dense, (rows, matrix.columns), pool[matrix.coefficients])
    return dense


def forge(circuit: Inference, q: Integers, overrides: Mapping[int, int]) -> IntArray:
    """The assignment of a prover who insists on some wires and computes all later ones honestly from them.

    The input is not checked.
    """
    order = circuit.program.order
    z = np.zeros(circuit.constraint_system.variables, dtype=np.int64)
    z[0] = 1
    given = {f"input/{name}": each for name, each in q.items()} if isinstance(q, Mapping) else {"input": q}
    for name, each in given.items():
        z[circuit.layout[name].ravel()] = each.ravel()
    wires, values = np.array(list(overrides)), np.array(list(overrides.values()))
    for step in circuit.program.steps.integer:
        z[wires] = values
        taken = z[order]
        execution.fill([step], taken)
        z[order] = taken
    z[wires] = values
    return z


def fill(builder: Builder, wires: IntArray, values: Sequence[int] | IntArray) -> IntArray:
    """The honest assignment of a gadget on its own, for these values of its input wires."""
    program = builder.program()
    z = np.zeros(len(program.order), dtype=np.int64)
    z[0] = 1
    z[wires] = values
    execution.fill(program.steps.integer, z)
    assignment = np.zeros(program.constraint_system.variables, dtype=np.int64)
    assignment[program.order] = z
    return assignment


def slow_execute(qgraph: QuantGraph, q: IntArray) -> tuple[int, list[int]]:
    """Label and logits by the slow executor."""
    values = slow.tensors(qgraph, q)
    return slow.label(values, qgraph.output), values[qgraph.output].ravel().tolist()


def dense_layers(qgraph: QuantGraph) -> list[QuantDense]:
    return [node for node in qgraph.nodes if isinstance(node, QuantDense)]


def random_graph(rng: np.random.Generator, sizes: Sequence[int], relu_last: bool = False) -> Graph:
    """Dense layers of these sizes; ReLU after each but the last, and after every third none."""
    nodes: list[Node] = []
    for index in range(1, len(sizes)):
        weight = rng.normal(size=(sizes[index], sizes[index - 1]))
        read = nodes[-1].name if nodes else "x"
        nodes.append(Dense(f"fc{index}", (read,), weight, rng.normal(size=sizes[index])))
        last = index == len(sizes) - 1
        if (last and relu_last) or (not last and index % 3):
            nodes.append(Clip(f"relu{index}", (nodes[-1].name,)))
    return Graph.of("x", (sizes[0],), tuple(nodes), nodes[-1].name)


def random_network(
    seed: int, sizes: Sequence[int] = (6, 5, 4), bits: int = 8, relu_last: bool = False, offset: float = 0.0
) -> QuantGraph:
    """``offset`` moves the inputs, and with them the input's zero point."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, sizes, relu_last)
    return quantise(graph, rng.normal(size=(20, sizes[0])) + offset, bits)


def extremes(qgraph: QuantGraph, rng: np.random.Generator) -> list[IntArray]:
    """Inputs that drive the tensors to the ends of their ranges, and a random one."""
    shape, top = qgraph.input.shape, qgraph.input.type.top
    first = dense_layers(qgraph)[0].centred_weight
    return [
        np.zeros(shape, np.int64),
        np.full(shape, top),
        *(np.where(first[row].reshape(shape) > 0, top, 0) for row in (0, -1)),
        *(np.where(first[row].reshape(shape) > 0, 0, top) for row in (0, -1)),
        rng.integers(0, top + 1, shape),
    ]


def make_model(
    nodes: Sequence[NodeProto],
    weights: Mapping[str, NDArray[Any]],
    input_shape: Sequence[int | str | None] = ("batch", 4),
    output: str = "y",
    opset: int = 17,
) -> bytes:
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, input_shape)],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def answered(program: Program, z: Assignment, seed: int = 0) -> FrArray:
    """The assignment ``z`` with random challenges, where there are any, and all that follows from both."""
    system = program.constraint_system
    rng = random.Random(seed)
    drawn = kernels.fr.from_ints([rng.randrange(R) for _ in range(system.challenges)])
    assignment = elements(z).copy()
    program.derive(assignment)
    assignment[1 + system.public : system.instance] = drawn
    program.post_challenge(assignment, drawn)
    return assignment


@contextmanager
def forced(scheme: ModuleType, ways: dict[str, Way]) -> Iterator[None]:
    """Circuits of the scheme prove these nodes in these ways."""

    def plan(*args: Any) -> Plan:
        best = best_plan(*args)
        return replace(best, ways={**best.ways, **ways})

    with patch.object(scheme, "best_plan", plan):
        yield


def prove(circuit: Circuit, key: ProvingKey, witness: FrArray, openings: Sequence[Opening] = ()) -> Proof:
    system, post_challenge = circuit.constraint_system, circuit.program.post_challenge
    return groth16.prove(key, system, witness, openings=openings, post_challenge=post_challenge)


def held(circuit: Circuit, z: Assignment) -> dict[Tensor, NDArray[Any]]:
    """The integers of all tensors that have wires: field elements are read as the nearest to 0."""
    assignment = elements(z)
    found = {}
    for tensor, wires in circuit.wires.items():
        values = kernels.fr.to_ints(assignment[circuit.program.order[wires.ravel()]])
        integers = np.array([value - R if value > R // 2 else value for value in values], object)
        found[tensor] = integers.reshape(tensor.shape)
    return found


def insisting(circuit: Circuit, given: Mapping[str, IntArray], lies: Mapping[str, IntArray]) -> IntArray:
    """The assignment of a prover who insists on some groups of wires and computes all later ones from
    them."""
    order, layout = circuit.program.order, circuit.layout
    z = np.zeros(circuit.constraint_system.variables, dtype=np.int64)
    z[0] = 1

    def insist(on: Mapping[str, IntArray]) -> None:
        for name, values in on.items():
            z[layout[name].ravel()] = values.ravel()

    insist(given)
    for step in circuit.program.steps.integer:
        insist(lies)
        taken = z[order]
        execution.fill([step], taken)
        z[order] = taken
    insist(lies)
    return z


def refused(circuit: Circuit, z: Assignment) -> str | None:
    """The first row that does not hold."""
    return first_violation(circuit.constraint_system, answered(circuit.program, z))


def violation(circuit: Circuit, z: Assignment) -> str | None:
    """What the relations do not allow, where rows refuse it: rows and relations agree."""
    row, wrong = refused(circuit, z), broken(circuit.relations, held(circuit, z))
    assert row or not wrong
    return "; ".join(wrong) or row


def challenged(program: Program, z: Assignment, seed: int = 0) -> list[int]:
    """The same in integers."""
    return kernels.fr.to_ints(answered(program, z, seed))


def completed(circuit: Inference, z: Assignment, seed: int = 0) -> list[int]:
    """The same for a circuit."""
    return challenged(circuit.program, z, seed)


def accepted_lies(program: Program, z: Sequence[int] | IntArray) -> list[str]:
    """The variables that can be moved by one, alone or with all that depends on challenges, unnoticed."""
    system = program.constraint_system
    honest = answered(program, z)
    moved = kernels.fr.add(honest, kernels.fr.from_ints([1])[0])
    assert first_violation(system, honest) is None
    free = set(system.anchored[system.instance :].tolist())
    free |= set(system.layout.get("statement", np.zeros(0, np.int64)).tolist())
    accepted = []
    for variable in set(range(1, system.variables)) - free:
        alone = honest.copy()
        alone[variable] = moved[variable]
        lies = [alone]
        if variable < system.first_private and variable not in system.anchored[1 + system.public :]:
            lies.append(answered(program, alone))
        if any(first_violation(system, lie) is None for lie in lies):
            accepted.append(system.variable_name(variable))
    return accepted


def unnoticed(
    system: ConstraintSystem, z: Sequence[int], lies: Iterable[tuple[int, int]]
) -> list[tuple[str, int]]:
    """The lies (variable, value) that no row notices, told alone in the satisfying assignment z; but those
    about the hash of a document, which no row reads.

    Only the rows that hold the variable can notice: in Python integers, one by one.
    """
    parts: list[dict[int, list[tuple[int, int]]]] = [{}, {}, {}]
    sums: list[dict[int, int]] = [{}, {}, {}]
    for start, matrices in system.matrices():
        for part, total, matrix in zip(parts, sums, matrices, strict=True):
            row = start + np.repeat(np.arange(matrix.rows), np.diff(matrix.offsets))
            for r, c, k in zip(
                row.tolist(), matrix.columns.tolist(), matrix.coefficients.tolist(), strict=True
            ):
                part.setdefault(c, []).append((r, matrix.pool[k]))
                total[r] = total.get(r, 0) + matrix.pool[k] * z[c]
    found, hashes = [], system.layout.get("statement", ())
    for variable, value in lies:
        if variable in hashes:
            continue
        change = [dict.fromkeys((r for r, _ in part.get(variable, [])), 0) for part in parts]
        for moved, part in zip(change, parts, strict=True):
            for r, coefficient in part.get(variable, []):
                moved[r] += coefficient * (value - z[variable])
        rows = set().union(*change)
        a, b, c = (
            {r: total.get(r, 0) + moved.get(r, 0) for r in rows}
            for total, moved in zip(sums, change, strict=True)
        )
        if all((a[r] * b[r] - c[r]) % R == 0 for r in rows):
            found.append((system.variable_name(variable), value))
    return found
