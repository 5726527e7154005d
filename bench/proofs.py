"""Proofs of random statements with a network's shape: time, stages, memory.

The statements are those of bench/synthetic.py; one key serves both of its witnesses. Each figure comes from a
fresh process; "peak MB" is its resident set at the most, "formula MB" what it held before the proof and what
``prover.groth16.memory`` foretells for it. The smallest size is proven on one thread, two
and all, the others on all.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from base.processors import usable_cores
from bench.measure import alone
from bench.report import Report, Row
from bench.synthetic import PUBLIC, Shape, Stages, random_statement, random_witness
from prover import groth16
from prover.groth16 import memory
from prover.size import Size


def measure_proofs(report: Report, sizes: list[int], repetitions: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for size in sizes:
            show_size(report, size, Path(directory) / f"{size}.key", repetitions, size == min(sizes))


def show_size(report: Report, log_size: int, path: Path, repetitions: int, few_threads: bool) -> None:
    every = usable_cores()
    setup_s, peak = alone(_setup, log_size, path, every)
    setup = Row("groth16_setup", 1 << log_size, setup_s, threads=every, peak_mb=peak)
    rows = []
    shapes: tuple[Shape, ...] = ("network", "dense")
    for shape in shapes:
        for threads in sorted({1, min(2, every), every}) if few_threads else (every,):
            row, peak = alone(_prove, log_size, shape, path, threads, repetitions)
            rows.append(replace(row, peak_mb=peak))
    report.show(f"Groth16, 2^{log_size} rows", [setup, *rows])


def _setup(log_size: int, path: Path, threads: int) -> float:
    system = random_statement(log_size)
    start = time.perf_counter()
    key = groth16.setup(system, threads=threads)
    taken = time.perf_counter() - start
    key.save(path)
    return taken


def _prove(log_size: int, shape: Shape, path: Path, threads: int, repetitions: int) -> Row:
    system = random_statement(log_size)
    formula = memory.proving(Size.of(system), threads)
    before = _forget_peak()
    key, z = groth16.ProvingKey.load(path), random_witness(system, shape)
    proof = groth16.prove(key, system, z, threads=threads)
    verdict = groth16.verify(key.verifying_key, [1] * PUBLIC, proof)
    assert verdict.valid, verdict
    times, shares = [], []
    for _ in range(repetitions):
        stages = Stages()
        groth16.prove(key, system, z, threads=threads, progress=stages)
        times.append(stages.total())
        shares.append(stages.shares())
    median = statistics.median_low(times)
    return Row(
        "groth16_prove",
        1 << log_size,
        median,
        (max(times) - min(times)) / median,
        threads=threads,
        more={
            "scalars": shape,
            "formula_mb": (before + formula) / 2**20,
            "stages": shares[times.index(median)],
        },
    )


def _forget_peak() -> int:
    """Bytes resident now, from which on the peak counts anew (proc_pid_clear_refs(5))."""
    Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
