"""CPU figures: products, transforms, multi-scalar multiplications, and proofs of the digits network.

    python -m bench.cpu [--json FILE] [--quick]

The peer is py_arkworks_bls12381 (arkworks), on the same points and scalars, in turn with ours. It uses one
thread, so ratios are given for one thread. "bytes" are scalars below 256, as most of a witness is. "vs peer"
is the peer's time over ours, "vs floor" ours over the field products alone (docs/performance.md).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from py_arkworks_bls12381 import G1Point, G2Point, Scalar

import circuits
import prover
from bench.measure import Report, Row, alone, arguments, machine, measure
from circuits.typed import Privacy
from kernels import FrArray, Group, Kernels, PrimeField, WordArray, available_targets, load
from prover.cost import msm_products

PEER = "py_arkworks_bls12381"
THREADS = (1, 2)
DIGITS = Path(__file__).parents[1] / "examples" / "digits"


def products(field: PrimeField, target: str) -> Row:
    """Amortised time of one product, eight independent chains."""
    rounds = 100_000
    values = field.from_ints(range(2, 11))
    timing = measure(lambda: field.multiply_repeatedly(values, rounds))
    return Row(f"{field.name}_product_{target}", 1, 1, None, timing.median / (8 * rounds), timing.spread)


def transform(k: Kernels, log_size: int, threads: int, repetitions: int, product_s: float) -> Row:
    domain = k.domain(log_size)
    values = random_elements(k, domain.size)
    timing = measure(
        lambda: domain.ntt(values, order="to_bit_reversed", threads=threads), repetitions=repetitions
    )
    floor = domain.size // 2 * log_size * product_s / threads
    return Row("ntt", domain.size, threads, None, timing.median, timing.spread, floor_s=floor)


def random_elements(k: Kernels, count: int) -> FrArray:
    """Not for secrets: reproducible."""
    words = np.random.default_rng(1).integers(0, 2**64, (count, 4), dtype=np.uint64)
    words[:, 3] >>= np.uint64(2)
    return words


def msm_rows(k: Kernels, group: Group, log_size: int, repetitions: int, product_s: float) -> list[Row]:
    size = 1 << log_size
    bases = group.fixed_base(group.generator, random_elements(k, size), threads=max(THREADS))
    peer_bases = peer_points(k, group, bases)
    rows = []
    for kind, bits, scalars in (
        ("random", 254, random_elements(k, size)),
        ("bytes", 8, k.fr.from_int64(np.random.default_rng(2).integers(0, 256, size))),
    ):
        peer = peer_msm(group, peer_bases, k.fr.to_ints(scalars))
        for threads in THREADS:
            ours = partial(group.msm, bases, scalars, threads=threads)
            timing = measure(ours, peer if threads == 1 else None, repetitions=repetitions)
            rows.append(
                Row(
                    f"msm_{group.name}",
                    size,
                    threads,
                    kind,
                    timing.median,
                    timing.spread,
                    peer=PEER if threads == 1 else None,
                    ratio=timing.ratio,
                    floor_s=msm_products(group, size, bits) * product_s / threads,
                )
            )
        assert bytes(peer().to_compressed_bytes()) == group.compress(ours())
    return rows


def peer_points(k: Kernels, group: Group, points: WordArray) -> list[Any]:
    """The same points as the peer's objects, from little-endian affine coordinates."""
    parse = (G1Point if group.name == "g1" else G2Point).from_xy_bytes_unchecked_le
    return [parse(point.tobytes()) for point in k.fp.to_canon(points)]


def peer_msm(group: Group, points: list[Any], scalars: list[int]) -> Callable[[], Any]:
    multiexp = (G1Point if group.name == "g1" else G2Point).multiexp_unchecked
    values = [Scalar.from_le_bytes(value.to_bytes(32, "little")) for value in scalars]
    return lambda: multiexp(points, values)


def digits_rows(weight_privacy: Privacy, directory: Path, repetitions: int) -> list[Row]:
    """Setup, proof and verification of the digits network with a private input."""
    rows = []
    path = directory / f"{weight_privacy}.key"
    label = f"digits_{weight_privacy}_weights"
    for threads in THREADS:
        (constraints, median, spread), peak = alone(_setup, weight_privacy, path, threads, repetitions)
        rows.append(Row(f"{label}_setup", constraints, threads, None, median, spread, peak_mb=peak))
        (median, spread), peak = alone(_prove, weight_privacy, path, threads, repetitions)
        rows.append(Row(f"{label}_prove", constraints, threads, None, median, spread, peak_mb=peak))
    (median, spread), peak = alone(_verify, weight_privacy, path, repetitions)
    rows.append(Row(f"{label}_verify", constraints, 1, None, median, spread, peak_mb=peak))
    return rows


def digits_circuit(weight_privacy: Privacy) -> circuits.Inference:
    graph = circuits.load_onnx((DIGITS / "digits.onnx").read_bytes())
    quantised = circuits.quantise(graph, np.load(DIGITS / "calibration.npy"))
    return circuits.compile_inference(
        quantised, input_privacy="private", weight_privacy=weight_privacy, level=2
    )


def image(circuit: circuits.Inference) -> Any:
    return circuit.quantise_input(np.load(DIGITS / "held_out.npz")["images"][0])


def _setup(weight_privacy: Privacy, path: Path, threads: int, repetitions: int) -> tuple[int, float, float]:
    circuit = digits_circuit(weight_privacy)
    timing = measure(lambda: prover.setup(circuit.statement, threads=threads), repetitions=repetitions)
    prover.setup(circuit.statement, threads=threads).save(path)
    return circuit.statement.constraints, timing.median, timing.spread


def _prove(weight_privacy: Privacy, path: Path, threads: int, repetitions: int) -> tuple[float, float]:
    circuit, key = digits_circuit(weight_privacy), prover.ProvingKey.load(path)
    q = image(circuit)
    timing = measure(
        lambda: prover.prove(key, circuit.statement, circuit.witness(q), threads=threads),
        repetitions=repetitions,
    )
    return timing.median, timing.spread


def _verify(weight_privacy: Privacy, path: Path, repetitions: int) -> tuple[float, float]:
    circuit, key = digits_circuit(weight_privacy), prover.ProvingKey.load(path)
    q = image(circuit)
    proof = prover.prove(key, circuit.statement, circuit.witness(q)).to_bytes()
    inputs = circuit.public_inputs(q)
    verdict = prover.verify(key.verifying_key, inputs, proof)
    assert verdict.valid, verdict
    timing = measure(lambda: prover.verify(key.verifying_key, inputs, proof), repetitions=10 * repetitions)
    return timing.median, timing.spread


def main() -> None:
    options = arguments(__doc__)
    repetitions = 1 if options.quick else 5
    k = load(available_targets()[0])
    print(f"{machine()}; target {k.target}; median of {repetitions}, spread = (max - min) / median")
    report = Report()

    targets = [(load(target), target) for target in available_targets()]
    rows = [products(field, name) for each, name in targets for field in (each.fp, each.fr)]
    report.show("Field products", rows, unit=("ns", 1e9))
    fp_s, fr_s = rows[0].median_s, rows[1].median_s

    sizes = (12,) if options.quick else (16, 18, 20)
    rows = [transform(k, size, threads, repetitions, fr_s) for size in sizes for threads in THREADS]
    report.show("NTT over Fr, natural to bit-reversed order", rows)

    for group in (k.g1, k.g2):
        for size in (8,) if options.quick else (14, 16, 18):
            report.show(
                f"MSM over {group.name.upper()}, 2^{size} points",
                msm_rows(k, group, size, min(repetitions, 3) if size > 16 else repetitions, fp_s),
            )

    with tempfile.TemporaryDirectory() as directory:
        for privacy in ("public", "private"):
            rows = digits_rows(privacy, Path(directory), repetitions)
            report.show(f"Digits 64-32-10, private input, {privacy} weights; size = constraints", rows)
    report.write(options.json)


if __name__ == "__main__":
    main()
