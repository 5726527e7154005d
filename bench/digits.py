"""Setup, proof and verification of the digits network with a private input, each in a process of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import alone, measure
from bench.report import Report, Row
from zenserve import circuits
from zenserve.prover import groth16
from zenserve.verifier.schemes import Privacy

DIGITS = Path(__file__).parents[1] / "examples" / "digits"


def measure_digits(report: Report, repetitions: int, threads: Sequence[int]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for privacy in ("public", "private"):
            rows = digits_rows(privacy, Path(directory), repetitions, threads)
            report.show(f"Digits 64-32-10, private input, {privacy} weights; size = constraints", rows)


def digits_rows(
    weight_privacy: Privacy, directory: Path, repetitions: int, thread_counts: Sequence[int]
) -> list[Row]:
    rows = []
    path = directory / f"{weight_privacy}.key"
    label = f"digits_{weight_privacy}_weights"
    for threads in thread_counts:
        (constraints, median, spread), peak = alone(_setup, weight_privacy, path, threads, repetitions)
        rows.append(Row(f"{label}_setup", constraints, median, spread, threads=threads, peak_mb=peak))
        (median, spread), peak = alone(_prove, weight_privacy, path, threads, repetitions)
        rows.append(Row(f"{label}_prove", constraints, median, spread, threads=threads, peak_mb=peak))
    (median, spread), peak = alone(_verify, weight_privacy, path, repetitions)
    rows.append(Row(f"{label}_verify", constraints, median, spread, threads=1, peak_mb=peak))
    return rows


def quantised() -> circuits.QuantGraph:
    graph = circuits.load_onnx((DIGITS / "digits.onnx").read_bytes())
    return circuits.quantise(graph, np.load(DIGITS / "calibration.npy"))


def digits_circuit(weight_privacy: Privacy) -> circuits.Inference:
    return circuits.compile_inference(
        quantised(), input_privacy="private", weight_privacy=weight_privacy, level=2
    )


def image(circuit: circuits.Inference) -> Any:
    return circuit.quantise_input(np.load(DIGITS / "held_out.npz")["images"][0])


def _setup(weight_privacy: Privacy, path: Path, threads: int, repetitions: int) -> tuple[int, float, float]:
    circuit = digits_circuit(weight_privacy)
    timing = measure(
        lambda: groth16.setup(circuit.constraint_system, threads=threads), repetitions=repetitions
    )
    groth16.setup(circuit.constraint_system, threads=threads).save(path)
    return circuit.constraint_system.constraints, timing.median, timing.spread


def _prove(weight_privacy: Privacy, path: Path, threads: int, repetitions: int) -> tuple[float, float]:
    circuit, key = digits_circuit(weight_privacy), groth16.ProvingKey.load(path)
    q = image(circuit)
    timing = measure(
        lambda: groth16.prove(key, circuit.constraint_system, circuit.witness(q), threads=threads),
        repetitions=repetitions,
    )
    return timing.median, timing.spread


def _verify(weight_privacy: Privacy, path: Path, repetitions: int) -> tuple[float, float]:
    circuit, key = digits_circuit(weight_privacy), groth16.ProvingKey.load(path)
    q = image(circuit)
    proof = groth16.prove(key, circuit.constraint_system, circuit.witness(q)).to_bytes()
    inputs = circuit.public_inputs(q)
    verdict = groth16.verify(key.verifying_key, inputs, proof)
    assert verdict.valid, verdict
    timing = measure(lambda: groth16.verify(key.verifying_key, inputs, proof), repetitions=10 * repetitions)
    return timing.median, timing.spread
