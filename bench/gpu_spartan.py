"""Spartan on a card: its kernels beside their floors and ZERA's figures, and proofs in turn with Groth16's.

    python -m bench.gpu_spartan [--json FILE] [--sizes 20 22] [--device 1] [--quick]

Floors are as in bench.gpu: products and compressions at the rates that this card reaches in registers, bytes
at that of a copy, the longest. Sum-checks and proofs are timed by the host's clock, from arrays on the device
or the witness on the host to what they say; each round of a sum-check ends in a message of 64 or 96 bytes and
a challenge, on the device. Proofs come alone, one after the other, before Groth16's key is there, and then in
turn with Groth16's. Statements and witnesses are those of bench.gpu's proofs. ZERA's figures (Ma 2025) are
for an RTX 5080.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bench.elements import random_elements
from bench.gpu import ceilings
from bench.measure import in_turn, measure, seconds
from bench.report import Report, Row
from bench.roofline import Cost, Roofline, card_argument_parser, machine, on_device, profile, published
from bench.synthetic import PUBLIC, random_statement, random_witness
from zenserve.base.processors import usable_cores
from zenserve.gpu import hashing, modules, times
from zenserve.gpu.device import Array, Device
from zenserve.gpu.ntt import Domain, passes
from zenserve.gpu.sumcheck import CubicSumCheck, ProductSumCheck, R1csSumCheck, SumCheck
from zenserve.kernels import FrArray, fr
from zenserve.prover import backends, groth16
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.spartan import proving
from zenserve.prover.spartan.layout import SystemMatrices, best_code, sizes_of
from zenserve.prover.spartan.sessions.gpu import resident_systems
from zenserve.prover.spartan.sessions.workspace import voice
from zenserve.verifier.spartan import merkle
from zenserve.verifier.spartan.admission import shape_of
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.spartan.verification import verify

Sizes = Sequence[int]

ZERA = {"ntt_batch": 89e-3, "merkle": 4.5e-3, "sumcheck_cubic": 234e-3}
"""Seconds at the largest size of each: chapter 6 of the thesis."""

_DIGEST = 32


def compressions(bench: Roofline, sizes: Sizes) -> Iterator[Row]:
    """``sizes``: of the blocks, and of the rounds."""
    device, (blocks, rounds) = bench.device, (1 << each for each in sizes)
    chains, done = device.zeros((128 * blocks, _DIGEST), np.uint8), 128 * blocks * rounds
    kernels = modules.load(device, "ceilings")
    run = partial(kernels.launch, "compressions", blocks, 128, chains, np.int32(rounds))
    (row,) = bench.measure("compressions", done, on_device(device, run))
    bench.rates["hash"] = done / row.median
    yield replace(row, more={"per_s": bench.rates["hash"]})


def transforms(bench: Roofline, sizes: Sizes) -> Iterator[Row]:
    """``sizes``: of the batch, and of its rows."""
    log_rows, log_size = sizes
    domain, count = Domain(bench.device, log_size), 1 << (log_rows + log_size)
    values = _elements(bench.device, count).reshape(1 << log_rows, 1 << log_size, 4)
    cost = Cost(64 * count * len(passes(log_size)), "fr", count * log_size / 2)
    run = on_device(bench.device, partial(domain.ntt, values, order="to_bit_reversed"))
    yield from _with_zera(bench.measure("ntt_batch", count, run, cost=cost))


def trees(bench: Roofline, sizes: Sizes) -> Iterator[Row]:
    """``sizes``: of the leaves; of the rows and columns of a matrix."""
    device, (log_leaves, log_rows, log_columns) = bench.device, sizes
    leaves, key = 1 << log_leaves, device.upload(np.frombuffer(merkle.NODE_KEY, np.uint8))
    nodes = device.zeros((2 * leaves, _DIGEST), np.uint8)
    run = on_device(device, partial(hashing.tree, device, nodes, key))
    cost = Cost(3 * _DIGEST * leaves, "hash", leaves)
    yield from _with_zera(bench.measure("merkle", leaves, run, cost=cost))
    matrix = _elements(device, 1 << (log_rows + log_columns)).reshape(1 << log_rows, 1 << log_columns, 4)
    out = device.empty((1 << log_columns, _DIGEST), np.uint8)
    run = on_device(device, partial(hashing.columns, device, matrix, key, out))
    count = len(matrix) << log_columns
    cost = Cost(matrix.nbytes + out.nbytes, "hash", count / 2)
    yield from bench.measure("columns", count, run, cost=cost)


def sum_checks(bench: Roofline, sizes: Sizes) -> Iterator[Row]:
    """Over twelve tables of products of three, over the tables of an R1CS, over two of a product."""
    device, (log_size,) = bench.device, sizes
    size, point = 1 << log_size, fr.from_ints([0, *range(2, 2 + log_size)])
    tables = _elements(device, 12 * size).reshape(12, size, 4)
    voices, state = {count: voice(device, count) for count in (2, 3)}, bytes(_DIGEST)
    for name, count, products, folds, make in (
        ("cubic", 12, 4 * 6, 12, lambda: CubicSumCheck(device, tables, _kept)),
        ("r1cs", 3, 4, 3, lambda: R1csSumCheck(device, tables[:3], _kept, given=1 + log_size)),
        ("product", 2, 2, 2, lambda: ProductSumCheck(device, tables[:2], _kept)),
    ):

        def run(make: Callable[[], SumCheck] = make) -> None:
            check = make()
            check.bring(state, *([point] if isinstance(check, R1csSumCheck) else []))
            check.launch(voices[check.said])
            check.told()

        # Of a round's pairs: products of their values, and one to fold each table. Halves of halves add up.
        # All is read once, and each half is written and read.
        cost = Cost(3 * 32 * count * size, "fr", (products + folds) * size)
        timed = partial(seconds, run)
        (row,) = bench.measure(f"sumcheck_{name}", size, timed, cost=cost, tables=count)
        yield from _with_zera([replace(row, more={**row.more, "kernels": profile(run)})])


def proofs(bench: Roofline, sizes: Sizes) -> Iterator[Row]:
    for log_size in sizes:
        yield from _proofs_of(bench, log_size)


def _proofs_of(bench: Roofline, log_size: int) -> Iterator[Row]:
    """A network-like statement of 2^log_size rows: proofs alone, then one of each system in turn."""
    os.environ[backends.VARIABLE] = f"gpu:{bench.device.index}"
    device, system, threads = bench.device, random_statement(log_size), usable_cores()
    z, shape = random_witness(system, "network"), shape_of(sizes_of(system), best_code(system), [])
    size, free = 1 << log_size, device.free_bytes()
    system.survey  # noqa: B018  the digest, which a key has, is a part of no proof
    taken = seconds(lambda: resident_systems(device.index).load(system, shape, threads))
    memory = (free - device.free_bytes()) / 2**20
    yield Row("spartan_load", size, taken, more={"memory_mb": memory})
    proof = _prove(system, shape, z, Stages())
    assert verify(shape, SystemMatrices(system, threads), [1] * PUBLIC, [], proof).valid
    alone = measure(lambda: _prove(system, shape, z, Stages()), repetitions=bench.repetitions)
    yield Row.of("spartan_alone", size, alone)
    key = groth16.setup(system, threads=threads)
    groth16.prove(key, system, z)
    stages = [Stages() for _ in range(bench.repetitions + 1)]
    runs = iter(stages)
    contestants = {
        "spartan": lambda: seconds(lambda: _prove(system, shape, z, next(runs))),
        "groth16": lambda: seconds(lambda: groth16.prove(key, system, z)),
    }
    timings = in_turn(contestants, repetitions=bench.repetitions)
    row = Row.of("spartan_prove", size, timings["spartan"])
    median = sorted(stages[1:], key=lambda each: each.total)[bench.repetitions // 2]
    with times.measured() as kernels:
        _prove(system, shape, z, Stages())
    more = {
        "proof_bytes": len(proof),
        "memory_mb": memory,
        "device_mb": device.held_bytes() / 2**20,
        "stages": median.seconds(),
        "kernels": dict(kernels),
    }
    yield replace(row, more=more)
    yield Row.of("groth16_prove", size, timings["groth16"], peer="groth16")


def _prove(system: ConstraintSystem, shape: Shape, z: FrArray, stages: Stages) -> bytes:
    proof = proving.prove(system, shape, z, threads=usable_cores(), progress=stages)
    stages("end", 1.0)
    return proof


class Stages:
    """A ``Progress`` that keeps when each stage began."""

    def __init__(self) -> None:
        self._begun: list[tuple[str, float]] = []

    def __call__(self, stage: str, fraction: float) -> None:
        self._begun.append((stage, time.perf_counter()))

    @property
    def total(self) -> float:
        return self._begun[-1][1] - self._begun[0][1]

    def seconds(self) -> dict[str, float]:
        pairs = zip(self._begun, self._begun[1:], strict=False)
        return {stage: end - start for (stage, start), (_, end) in pairs}


def _elements(device: Device, count: int) -> Array:
    """Random ones over and over: to draw them all takes longer than to use them."""
    array = device.empty((count, 4), np.uint64)
    some = device.upload(random_elements(min(count, 1 << 16)))
    for start in range(0, count, len(some)):
        device.copy(some, array[start : start + len(some)])
    return array


def _kept(array: Array) -> Array:
    return array


def _with_zera(found: Sequence[Row]) -> Iterator[Row]:
    for row in found:
        yield row
        if row.name in ZERA:
            yield published(row, "zera", ZERA[row.name])


@dataclass(frozen=True)
class Case:
    """A topic at these sizes, in binary logarithms, and at the ``quick`` ones."""

    title: str
    run: Callable[[Roofline, Sizes], Iterator[Row]]
    sizes: Sizes
    quick: Sizes


CASES = (
    Case("Ceilings", lambda bench, sizes: ceilings(bench, sizes, ()), (11, 11, 30), (0, 1, 10)),
    Case("Compressions", compressions, (13, 9), (0, 1)),
    Case("Transforms of a batch", transforms, (9, 16), (1, 4)),
    Case("Hashes", trees, (21, 6, 16), (4, 1, 4)),
    Case("Sum-checks", sum_checks, (21,), (4,)),
)
PROOFS = Case("Proofs, network's witness", proofs, (20, 22), (5,))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = card_argument_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", help="log2 of the proofs' rows")
    options = parser.parse_args(arguments)
    device, repetitions = Device(options.device), 2 if options.quick else 9
    report = Report("gpu_spartan", f"median of {repetitions}", machine(device))
    bench = Roofline(device, repetitions, report)
    own = PROOFS if options.sizes is None else replace(PROOFS, sizes=options.sizes)
    for case in (*CASES, own):
        report.show(case.title, case.run(bench, case.quick if options.quick else case.sizes))
    report.write(options.json)


if __name__ == "__main__":
    main()
