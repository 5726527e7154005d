"""Proofs of random statements with a network's shape: time, stages, memory.

The statement of n rows has 8 entries a row in each of its products, small weights as a network has.
One key serves two witnesses: "network" is 60 % bytes, 20 % bits and 20 % elements of the whole field;
"dense" fills the field throughout. Each figure comes from a fresh process; "peak MB" is its resident set at
the most, in brackets what it held before the proof and ``prover.cost`` foretells for it. The smallest size
is proven on one thread, two and all, the others on all.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import prover
from bench.measure import Report, Row, alone, usable_cores
from kernels import FrArray, fr
from prover import memory
from prover.cost import Size
from prover.statement import Csr, SparseBlock, Statement

PUBLIC = 10
ENTRIES = 8

Shape = Literal["network", "dense"]


def measure_proofs(report: Report, sizes: list[int], repetitions: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for size in sizes:
            show_size(report, size, Path(directory) / f"{size}.key", repetitions, size == min(sizes))


def show_size(report: Report, log_size: int, path: Path, repetitions: int, few_threads: bool) -> None:
    every = usable_cores()
    setup_s, peak = alone(_setup, log_size, path, every)
    setup = Row("groth16_setup", 1 << log_size, every, None, setup_s, 0, peak_mb=peak)
    rows = []
    shapes: tuple[Shape, ...] = ("network", "dense")
    for shape in shapes:
        for threads in sorted({1, min(2, every), every}) if few_threads else (every,):
            row, peak = alone(_prove, log_size, shape, path, threads, repetitions)
            rows.append(replace(row, peak_mb=peak))
    report.show(f"Groth16, 2^{log_size} rows", [setup, *rows])
    report.show_stages("Where their time goes", rows)


def random_statement(log_size: int) -> Statement:
    """2^log_size rows, those for the public inputs included.

    A fifth are products of two sums, which define the last fifth of the private variables. The others state
    that a sum is itself, on either side of the product, and so hold for every witness.
    """
    rows = (1 << log_size) - 1 - PUBLIC
    products, draw = rows // 5, np.random.default_rng(1)
    first = 1 + PUBLIC
    chosen = rows - products
    left, right = (_sums(products, first, chosen, draw) for _ in range(2))
    out = Csr.selection(np.arange(first + chosen, first + rows))
    blocks = [SparseBlock("products", left, right, out)]
    for name, count in (("left", chosen // 2), ("right", chosen - chosen // 2)):
        sums, one = _sums(count, first, rows, draw), Csr.selection(np.zeros(count, np.int64))
        blocks.append(SparseBlock(name, *((sums, one, sums) if name == "left" else (one, sums, sums))))
    return Statement(PUBLIC, rows, tuple(blocks))


def _sums(rows: int, first: int, variables: int, draw: np.random.Generator) -> Csr:
    """Rows of ENTRIES weights of 8 bits, on any of ``variables`` variables from ``first`` on."""
    columns = draw.integers(first, first + variables, rows * ENTRIES)
    weights = draw.integers(1, 128, rows * ENTRIES) * draw.choice([-1, 1], rows * ENTRIES)
    return Csr.from_entries(rows, np.repeat(np.arange(rows), ENTRIES), columns, weights)


def random_witness(statement: Statement, shape: Shape) -> FrArray:
    """Not of secrets: reproducible."""
    products = statement.blocks[0]
    assert isinstance(products, SparseBlock)
    draw = np.random.default_rng(2)
    z = np.zeros((statement.variables, 4), np.uint64)
    z[: 1 + PUBLIC] = fr.from_int64(np.ones(1 + PUBLIC, np.int64))
    chosen = z[1 + PUBLIC : statement.variables - products.rows]
    if shape == "dense":
        chosen[:] = draw.integers(0, 2**62, chosen.shape, dtype=np.uint64)
    else:
        chosen[:] = fr.from_int64(_bytes_and_bits(len(chosen), draw))
    z[statement.variables - products.rows :] = fr.mul(products.a.multiply(z), products.b.multiply(z))
    return z


def _bytes_and_bits(count: int, draw: np.random.Generator) -> NDArray[np.int64]:
    """Three bytes to a bit."""
    return draw.integers(0, np.where(np.arange(count) % 4 == 0, 2, 256))


def _setup(log_size: int, path: Path, threads: int) -> float:
    statement = random_statement(log_size)
    start = time.perf_counter()
    key = prover.setup(statement, threads=threads)
    taken = time.perf_counter() - start
    key.save(path)
    return taken


def _prove(log_size: int, shape: Shape, path: Path, threads: int, repetitions: int) -> Row:
    statement = random_statement(log_size)
    formula = memory.proving(Size.of(statement), threads)
    before = _forget_peak()
    key, z = prover.ProvingKey.load(path), random_witness(statement, shape)
    proof = prover.prove(key, statement, z, threads=threads)
    verdict = prover.verify(key.verifying_key, [1] * PUBLIC, proof)
    assert verdict.valid, verdict
    times, shares = [], []
    for _ in range(repetitions):
        stages = Stages()
        prover.prove(key, statement, z, threads=threads, progress=stages)
        times.append(stages.total())
        shares.append(stages.shares())
    median = statistics.median_low(times)
    return Row(
        "groth16_prove",
        1 << log_size,
        threads,
        shape,
        median,
        (max(times) - min(times)) / median,
        formula_mb=(before + formula) / 2**20,
        stages=shares[times.index(median)],
    )


class Stages:
    """A ``Progress`` that counts the time since the last report to the stage that reports."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._seconds: dict[str, float] = defaultdict(float)

    def __call__(self, stage: str, fraction: float) -> None:
        now = time.perf_counter()
        self._seconds[stage] += now - self._last
        self._last = now

    def total(self) -> float:
        """Seconds so far; what comes after the last report is "rest"."""
        self("rest", 1.0)
        return self._last - self._start

    def shares(self) -> dict[str, float]:
        whole = self._last - self._start
        return {stage: seconds / whole for stage, seconds in self._seconds.items()}


def _forget_peak() -> int:
    """Bytes resident now, from which on the peak counts anew (proc_pid_clear_refs(5))."""
    Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
