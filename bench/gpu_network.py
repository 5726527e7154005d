"""A network of the zoo on the device: its weights committed, its input private, at the highest level."""

from __future__ import annotations

import os
import statistics
import time
from functools import partial

from base.progress import silent
from bench.measure import seconds, usable_cores
from bench.roofline import Roofline, Row
from bench.synthetic import Stages
from circuits import compile_inference, parameters, quantise, zoo
from kernels import fr
from prover import backends, groth16
from prover.groth16 import CommitmentKey, ProvingKey
from prover.groth16.sessions.gpu import resident_keys
from verifier.groth16 import verification


def measure_network(bench: Roofline, net: str) -> None:
    """Setup and proofs of ``net`` on stand-ins for images; both verifiers judge each proof."""
    os.environ[backends.VARIABLE] = f"gpu:{bench.device.index}"
    threads, calibration = usable_cores(), zoo.calibration(net)
    start = time.perf_counter()
    graph = quantise(zoo.network(net), calibration)
    circuit = compile_inference(graph, weight_privacy="committed")
    rows = circuit.statement.constraints
    bench.add(Row(f"{net}_compile", rows, time.perf_counter() - start, 0))
    weights = parameters(graph)
    start = time.perf_counter()
    basis = CommitmentKey.generate(weights.size, threads=threads)
    bench.add(Row(f"{net}_basis", weights.size, time.perf_counter() - start, 0))
    start = time.perf_counter()
    key = groth16.setup(circuit.statement, basis=basis, threads=threads)
    bench.add(Row(f"{net}_setup", rows, time.perf_counter() - start, 0))
    opening = basis.commit(fr.from_int64(weights), threads=threads)
    free = bench.device.free_bytes()
    taken = seconds(lambda: resident_keys(bench.device.index).load(key, circuit.statement, threads, silent))
    resident_mb = (free - bench.device.free_bytes()) / 2**20
    bench.add(Row(f"{net}_load_key", rows, taken, 0, memory_mb=resident_mb))
    image = graph.input_type.quantise(calibration[:1])[0]
    bench.add(Row(f"{net}_witness", rows, seconds(lambda: circuit.witness(image)), 0))
    z, public = circuit.witness(image), circuit.public_inputs(image)

    def prove() -> tuple[float, dict[str, float]]:
        stages = Stages()
        proof = groth16.prove(
            key,
            circuit.statement,
            z,
            openings=[opening],
            answer=partial(circuit.program.answer, threads=threads),
            threads=threads,
            progress=stages,
        )
        taken = stages.total()
        _require_valid(key, public, proof.to_bytes(), opening.commitment)
        return taken, stages.shares()

    prove()
    times, shares = zip(*(prove() for _ in range(bench.repetitions)), strict=True)
    median = statistics.median_low(times)
    spread = (max(times) - min(times)) / median
    chosen, peak_mb = shares[times.index(median)], bench.device.held_bytes() / 2**20
    bench.add(
        Row(f"{net}_prove", rows, median, spread, stages=chosen, memory_mb=resident_mb, peak_mb=peak_mb)
    )
    print(f"    {resident_mb:.0f} MB stay on the device, {peak_mb:.0f} MB at most")
    print("    " + ", ".join(f"{name} {share:.0%}" for name, share in chosen.items()))


def _require_valid(key: ProvingKey, public: list[int], proof: bytes, commitment: bytes) -> None:
    for verify in (groth16.verify, verification.verify):
        verdict = verify(key.verifying_key, public, proof, [commitment])
        assert verdict.valid, verdict
