from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from tests.prover.statements import Committed, Example, idle_statement
from tests.prover.vectors import folded
from zenserve.kernels import fr
from zenserve.prover import groth16
from zenserve.prover.blocks import Csr, ProductBlock, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import ProvingKey, cost, memory
from zenserve.prover.size import Size


@pytest.mark.parametrize("name", ["example", "committed", "empty", "idle", "folded"])
def test_key_sizes_are_exact(name: str, example: Example, committed: Committed, tmp_path: Path) -> None:
    cases: dict[str, tuple[ConstraintSystem, ProvingKey]] = {
        "example": (example.system, example.key),
        "committed": (committed.system, committed.key),
        "empty": (ConstraintSystem(1, 0, ()), groth16.setup(ConstraintSystem(1, 0, ()))),
        "idle": (idle_statement(), groth16.setup(idle_statement())),
        "folded": (folded.statement(), groth16.setup(folded.statement())),
    }
    system, key = cases[name]
    size = Size.of(system)
    key.save(tmp_path / "key")
    assert cost.proving_key_bytes(size) == (tmp_path / "key").stat().st_size
    assert cost.verifying_key_bytes(size) == len(key.verifying_key.to_bytes())


def test_a_survey_counts_entries_and_the_variables_that_a_and_b_read() -> None:
    row, column, value = (np.array(x) for x in ([0, 0, 1], [2, 3, 3], [5, 7, 1]))
    matrix = Csr.from_entries(2, row, column, value)
    system = ConstraintSystem(
        1,
        4,
        (
            SparseBlock("sparse", matrix, Csr.empty(2), matrix),
            ProductBlock("product", np.array([4]), np.array([2]), np.array([5])),
        ),
    )
    survey = system.survey
    assert survey.nonzeros.tolist() == [[3, 0, 3], [1, 1, 1]]
    # One and the public input have rows of their own in A.
    assert (survey.in_a, survey.in_b) == (5, 1)
    assert survey.absent.tolist() == []
    assert idle_statement().survey.absent.tolist() == [3, 6, 8]
    assert survey.digest == system.digest


def test_estimates_are_near_what_it_takes() -> None:
    rows = 1 << 14
    wires = np.arange(1, rows - 1)
    system = ConstraintSystem(0, rows, (ProductBlock("bits", wires, wires, wires),))
    witness = fr.from_int64(np.arange(rows + 1) % 2)
    witness[0] = fr.from_ints([1])
    # Seconds of this process alone: other work on the machine may slow down any of the three.
    clock = time.process_time
    speed, size = cost.speed(threads=1, clock=clock), Size.of(system)
    start = clock()
    key = groth16.setup(system)
    middle = clock()
    groth16.prove(key, system, witness)
    end = clock()
    assert 0.2 < cost.setup_seconds(size, speed) / (middle - start) < 5
    assert 0.2 < sum(cost.proving_stages(size, speed).values()) / (end - middle) < 5


def test_estimates_grow_with_the_statement() -> None:
    def size(rows: int) -> Size:
        wires = np.arange(1, rows + 1)
        return Size.of(ConstraintSystem(0, rows, (ProductBlock("bits", wires, wires, wires),)))

    speed = cost.Speed(1, 1e-8)
    small, large = size(1000), size(100_000)
    assert memory.setup(small, 1) < memory.setup(large, 1)
    assert memory.proving(small, 1) < memory.proving(large, 1) < memory.proving(large, 2)
    assert 10 < cost.setup_seconds(large, speed) / cost.setup_seconds(small, speed) < 200
    assert sum(cost.proving_stages(small, speed).values()) < sum(cost.proving_stages(large, speed).values())
