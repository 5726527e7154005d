"""The benchmark of caching and sharing compares like with like, and writes the rows that others read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.compiler import some_input
from bench.report import read
from bench.sharing import QUICK, Entries, Group, Single, by_equal_weights, matrices
from zenserve import kernels
from zenserve.circuits.r1cs.convolved import Kernel
from zenserve.kernels import fr
from zenserve.prover.blocks import Csr
from zenserve.relations.planes import Sliding

ROOT = Path(__file__).parents[2]


def test_a_coefficient_for_each_entry_gives_the_same_products() -> None:
    circuit = QUICK[1].compile()
    z = circuit.witness(some_input(circuit.qgraph))
    found = matrices(circuit.constraint_system)
    assert sum(len(matrix.columns) for matrix in found) > 10 * sum(len(matrix.pool) for matrix in found)
    for matrix in found:
        assert np.array_equal(kernels.csr_multiply(*Single.of(Entries.of(matrix)), z), matrix.multiply(z))


def test_wide_coefficients_keep_their_value() -> None:
    pool = (-3 << 90, -1, 5, 7 << 120)
    columns, coefficients = np.array([[0, 1, 2, 1, 0], [3, 1, 0, 2, 0]], np.uint32)
    matrix = Csr(np.array([0, 3, 3, 5]), columns, coefficients, pool)
    z, entries = fr.from_ints([2, 3, 1 << 200]), Entries.of(matrix)
    for each in (kernels.csr_multiply(*Single.of(entries), z), Csr.from_entries(*entries).multiply(z)):
        assert np.array_equal(each, matrix.multiply(z))


def test_sums_by_equal_weights_are_those_of_the_witness() -> None:
    rng = np.random.default_rng(3)
    kernel = Kernel(Sliding((3, 7, 6), (3, 2), (2, 1), (1, 0, 1, 1)), 4, 5, 255)
    weight, bias = rng.integers(-4, 5, (4, 18)), rng.integers(-100, 100, 4)
    q = rng.integers(0, 256, (3, 7, 6))
    groups = [Group.of(row) for row in weight]
    assert max(len(group.values) for group in groups) <= 9
    assert np.array_equal(by_equal_weights(kernel, q, groups, bias), kernel.convolve(q, weight, bias))


@pytest.mark.large
def test_every_row_of_the_sharing_benchmark(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    command = [sys.executable, "-m", "bench.sharing", "--quick", "--json", str(output)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    _, rows = read(output)
    timed = {row.name: row for row in rows if row.unit == "s"}
    counted = {row.name: row for row in rows if row.unit == "grouped"}
    names = ("apply", "make", "images", "build", "evaluate", "kept")
    expected = {f"{case.name}_{what}" for case in QUICK for what in names}
    expected |= {f"{QUICK[0].name}_{what}" for what in ("proved", "proof")} | {"tiny_conv1_sums"}
    assert timed.keys() == expected
    assert all(row.median > 0 for row in timed.values())
    assert all((row.peer is None) == name.endswith(("build", "kept")) for name, row in timed.items())
    assert counted.keys() == {*(case.name for case in QUICK), "tiny_conv1"}
    assert all(row.more["distinct"] <= row.median <= (row.size or 0) for row in counted.values())
    # Compiling once for all is less work than for each, whatever else the machine does.
    assert all((row.ratio or 0) > 1 for name, row in timed.items() if name.endswith(("images", "proved")))
