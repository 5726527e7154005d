"""Groth16 on the device: setup, the key's way there, proofs one at a time and two at a time."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from bench.measure import seconds
from bench.report import Row
from bench.roofline import Roofline, profile
from bench.synthetic import PUBLIC, Stages, random_statement, random_witness
from zenserve.base.processors import usable_cores
from zenserve.base.progress import silent
from zenserve.kernels import FrArray
from zenserve.prover import backends, groth16
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import ProvingKey
from zenserve.prover.groth16.sessions.gpu import resident_keys

PIPELINED = 2


def measure_size(bench: Roofline, log_size: int) -> Iterator[Row]:
    """A network-like statement of 2^log_size rows and its witness. Every proof is verified."""
    os.environ[backends.VARIABLE] = f"gpu:{bench.device.index}"
    system, rows, threads = random_statement(log_size), 1 << log_size, usable_cores()
    start = time.perf_counter()
    key = groth16.setup(system, threads=threads)
    yield Row("groth16_setup", rows, time.perf_counter() - start)
    loaded = load_key(bench, "groth16_load_key", rows, key, system)
    yield loaded
    z = random_witness(system, "network")
    _prove(key, system, z)
    proofs = [_prove(key, system, z) for _ in range(bench.repetitions)]
    row = median_row(bench, "groth16_prove", rows, proofs, loaded)
    yield replace(row, more={**row.more, "kernels": profile(lambda: groth16.prove(key, system, z))})
    yield _pipelined(bench, rows, key, system, z)


def load_key(bench: Roofline, name: str, size: int, key: ProvingKey, system: ConstraintSystem) -> Row:
    """The key's way to the device, and what stays there, with all that proofs with it need."""
    free, keys = bench.device.free_bytes(), resident_keys(bench.device.index)
    taken = seconds(lambda: keys.load(key, system, usable_cores(), silent))
    memory_mb = (free - bench.device.free_bytes()) / 2**20
    return Row(name, size, taken, more={"memory_mb": memory_mb})


def median_row(
    bench: Roofline, name: str, size: int, proofs: Sequence[tuple[float, dict[str, float]]], loaded: Row
) -> Row:
    """Of proofs' seconds and stages; the memory is the device's."""
    times, shares = zip(*proofs, strict=True)
    median = statistics.median_low(times)
    more = {
        "memory_mb": loaded.more["memory_mb"],
        "device_mb": bench.device.held_bytes() / 2**20,
        "stages": shares[times.index(median)],
    }
    return Row(name, size, median, (max(times) - min(times)) / median, more=more)


def _prove(key: ProvingKey, system: ConstraintSystem, z: FrArray) -> tuple[float, dict[str, float]]:
    """Seconds, and the stages' shares as the host sees them: it waits in the first that reads a sum."""
    stages = Stages()
    proof = groth16.prove(key, system, z, progress=stages)
    taken = stages.total()
    verdict = groth16.verify(key.verifying_key, [1] * PUBLIC, proof)
    assert verdict.valid, verdict
    return taken, stages.shares()


def _pipelined(bench: Roofline, rows: int, key: ProvingKey, system: ConstraintSystem, z: FrArray) -> Row:
    """The time of a proof where two threads have proofs made one after the other."""
    count = PIPELINED * bench.repetitions
    with ThreadPoolExecutor(PIPELINED) as pool:
        start = time.perf_counter()
        proofs = list(pool.map(lambda _: groth16.prove(key, system, z), range(count)))
        each = (time.perf_counter() - start) / count
    for proof in proofs:
        verdict = groth16.verify(key.verifying_key, [1] * PUBLIC, proof)
        assert verdict.valid, verdict
    return Row("groth16_prove_pipelined", rows, each)
