"""Groth16 on the device: setup, the key's way there, proofs one at a time and two at a time."""

from __future__ import annotations

import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from base.progress import silent
from bench.measure import seconds, usable_cores
from bench.roofline import Roofline, Row, duration, listed, profile
from bench.synthetic import PUBLIC, Stages, random_statement, random_witness
from kernels import FrArray
from prover import backends, groth16
from prover.constraint_system import ConstraintSystem
from prover.groth16 import ProvingKey
from prover.groth16.sessions.gpu import resident_keys

PIPELINED = 2


def measure_size(bench: Roofline, log_size: int) -> None:
    """A network-like statement of 2^log_size rows and its witness. Every proof is verified."""
    os.environ[backends.VARIABLE] = f"gpu:{bench.device.index}"
    statement, rows, threads = random_statement(log_size), 1 << log_size, usable_cores()
    start = time.perf_counter()
    key = groth16.setup(statement, threads=threads)
    bench.add(Row("groth16_setup", rows, time.perf_counter() - start, 0))
    free = bench.device.free_bytes()
    taken = seconds(lambda: resident_keys(bench.device.index).load(key, statement, threads, silent))
    resident_mb = (free - bench.device.free_bytes()) / 2**20
    bench.add(Row("groth16_load_key", rows, taken, 0, memory_mb=resident_mb))
    z = random_witness(statement, "network")
    _prove(key, statement, z)
    times, shares = zip(*(_prove(key, statement, z) for _ in range(bench.repetitions)), strict=True)
    median = statistics.median_low(times)
    row = Row(
        "groth16_prove",
        rows,
        median,
        (max(times) - min(times)) / median,
        "network",
        stages=shares[times.index(median)],
        kernels=profile(lambda: groth16.prove(key, statement, z)),
        memory_mb=resident_mb,
        peak_mb=bench.device.held_bytes() / 2**20,
    )
    bench.add(row)
    print(f"    {resident_mb:.0f} MB stay on the device, {row.peak_mb:.0f} MB at most")
    print("    " + ", ".join(f"{name} {share:.0%}" for name, share in (row.stages or {}).items()))
    print("    " + listed(row.kernels or {}))
    _pipelined(bench, rows, key, statement, z)


def _prove(key: ProvingKey, statement: ConstraintSystem, z: FrArray) -> tuple[float, dict[str, float]]:
    """Seconds, and the stages' shares as the host sees them: it waits in the first that reads a sum."""
    stages = Stages()
    proof = groth16.prove(key, statement, z, progress=stages)
    taken = stages.total()
    verdict = groth16.verify(key.verifying_key, [1] * PUBLIC, proof)
    assert verdict.valid, verdict
    return taken, stages.shares()


def _pipelined(bench: Roofline, rows: int, key: ProvingKey, statement: ConstraintSystem, z: FrArray) -> None:
    """The time of a proof where two threads have proofs made one after the other."""
    count = PIPELINED * bench.repetitions
    with ThreadPoolExecutor(PIPELINED) as pool:
        start = time.perf_counter()
        proofs = list(pool.map(lambda _: groth16.prove(key, statement, z), range(count)))
        each = (time.perf_counter() - start) / count
    for proof in proofs:
        verdict = groth16.verify(key.verifying_key, [1] * PUBLIC, proof)
        assert verdict.valid, verdict
    bench.add(Row("groth16_prove_pipelined", rows, each, 0, "network"))
    print(f"    {1 / each:.3g} proofs a second, {duration(each)} each")
