"""A network of the zoo on the device: its weights committed, its input private, at the highest level."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial

from bench.gpu_proofs import load_key, median_row
from bench.measure import seconds
from bench.report import Row
from bench.roofline import Roofline
from bench.synthetic import Stages
from zenserve.base.processors import usable_cores
from zenserve.circuits import compile_inference, parameters, quantise, zoo
from zenserve.kernels import fr
from zenserve.prover import backends, groth16
from zenserve.prover.groth16 import CommitmentKey, ProvingKey
from zenserve.verifier.groth16 import verification


def measure_network(bench: Roofline, net: str) -> Iterator[Row]:
    """Setup and proofs of ``net`` on stand-ins for images; both verifiers judge each proof."""
    os.environ[backends.VARIABLE] = f"gpu:{bench.device.index}"
    threads, calibration = usable_cores(), zoo.calibration(net)
    start = time.perf_counter()
    graph = quantise(zoo.network(net), calibration)
    circuit = compile_inference(graph, weight_privacy="committed")
    rows = circuit.constraint_system.constraints
    yield Row(f"{net}_compile", rows, time.perf_counter() - start)
    weights = parameters(graph)
    start = time.perf_counter()
    basis = CommitmentKey.generate(weights.size, threads=threads)
    yield Row(f"{net}_basis", weights.size, time.perf_counter() - start)
    start = time.perf_counter()
    key = groth16.setup(circuit.constraint_system, basis=basis, threads=threads)
    yield Row(f"{net}_setup", rows, time.perf_counter() - start)
    opening = basis.commit(fr.from_int64(weights), threads=threads)
    loaded = load_key(bench, f"{net}_load_key", rows, key, circuit.constraint_system)
    yield loaded
    image = graph.input.type.quantise(calibration[:1])[0]
    yield Row(f"{net}_witness", rows, seconds(lambda: circuit.witness(image)))
    z, public = circuit.witness(image), circuit.public_inputs(image)

    def prove() -> tuple[float, dict[str, float]]:
        stages = Stages()
        proof = groth16.prove(
            key,
            circuit.constraint_system,
            z,
            openings=[opening],
            post_challenge=partial(circuit.program.post_challenge, threads=threads),
            threads=threads,
            progress=stages,
        )
        taken = stages.total()
        _require_valid(key, public, proof.to_bytes(), opening.commitment)
        return taken, stages.shares()

    prove()
    yield median_row(bench, f"{net}_prove", rows, [prove() for _ in range(bench.repetitions)], loaded)


def _require_valid(key: ProvingKey, public: list[int], proof: bytes, commitment: bytes) -> None:
    for verify in (groth16.verify, verification.verify):
        verdict = verify(key.verifying_key, public, proof, [commitment])
        assert verdict.valid, verdict
