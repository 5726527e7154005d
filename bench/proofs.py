"""Proofs of random statements with a network's shape: time, stages, memory.

The statements are those of bench/synthetic.py; one key serves both of its witnesses. Each figure comes from a
fresh process, which asks peers that prove (bench/peers/README.md) in turn, and a key without multiples of the
quotient's points; "peak MB" is its resident set at most, "formula MB" what it held before the proof and what
``zenserve.prover.groth16.memory`` foretells for it. The smallest size is proven on one thread, two and all,
the others on all.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench import peers
from bench.measure import Contestants, alone, in_turn
from bench.report import Report, Row, rows_of
from bench.synthetic import PUBLIC, Shape, Stages, random_statement, random_witness
from zenserve.base.processors import usable_cores
from zenserve.prover import groth16
from zenserve.prover.groth16 import memory
from zenserve.prover.size import Size


def measure_proofs(report: Report, sizes: list[int], repetitions: int, programs: dict[str, str]) -> None:
    """``programs``: names of peers and their paths."""
    with tempfile.TemporaryDirectory() as directory:
        for size in sizes:
            key = Path(directory) / f"{size}.key"
            show_size(report, size, key, repetitions, size == min(sizes), programs)


def show_size(
    report: Report, log_size: int, path: Path, repetitions: int, few_threads: bool, programs: dict[str, str]
) -> None:
    every = usable_cores()
    setup_s, peak = alone(_setup, log_size, path, every)
    setup = Row("groth16_setup", 1 << log_size, setup_s, threads=every, peak_mb=peak)
    rows = []
    shapes: tuple[Shape, ...] = ("network", "dense")
    for shape in shapes:
        for threads in sorted({1, min(2, every), every}) if few_threads else (every,):
            (ours, *theirs), peak = alone(_prove, log_size, shape, path, threads, repetitions, programs)
            rows += [replace(ours, peak_mb=peak), *theirs]
    report.show(f"Groth16, 2^{log_size} rows", [setup, *rows])


def _setup(log_size: int, path: Path, threads: int) -> float:
    system = random_statement(log_size)
    start = time.perf_counter()
    key = groth16.setup(system, threads=threads)
    taken = time.perf_counter() - start
    key.save(path)
    return taken


def _prove(
    log_size: int, shape: Shape, path: Path, threads: int, repetitions: int, programs: dict[str, str]
) -> list[Row]:
    """Our row, then the peers'."""
    system = random_statement(log_size)
    formula = memory.proving(Size.of(system), threads)
    before = _forget_peak()
    key, z = groth16.ProvingKey.load(path), random_witness(system, shape)
    proof = groth16.prove(key, system, z, threads=threads)
    verdict = groth16.verify(key.verifying_key, [1] * PUBLIC, proof)
    assert verdict.valid, verdict
    shares: dict[float, dict[str, float]] = {}

    def ours() -> float:
        stages = Stages()
        groth16.prove(key, system, z, threads=threads, progress=stages)
        taken = stages.total()
        shares[taken] = stages.shares()
        return taken

    bare = replace(key, quotient_multiples=key.quotient[:0])

    def without_multiples() -> float:
        start = time.perf_counter()
        groth16.prove(bare, system, z, threads=threads)
        return time.perf_counter() - start

    contestants: Contestants = {"": ours}
    if len(key.quotient_multiples):
        contestants["without_multiples"] = without_multiples
    with peers.started(programs) as competitors:
        contestants |= {
            peer.name: partial(peer.prove, shape, log_size, threads)
            for peer in competitors
            if peer.has_proofs()
        }
        timings = in_turn(contestants, repetitions=repetitions)
    figure = Row("groth16_prove", 1 << log_size, 0, threads=threads, more={"scalars": shape})
    median, *theirs = rows_of(figure, timings)
    nearest = min(shares, key=lambda taken: abs(taken - median.median))
    more = {"formula_mb": (before + formula) / 2**20, "stages": shares[nearest]}
    return [replace(median, more=figure.more | more), *theirs]


def _forget_peak() -> int:
    """Bytes resident now, from which on the peak counts anew (proc_pid_clear_refs(5))."""
    Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
