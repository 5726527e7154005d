"""What ZENO's frequency cache and its sharing of constraints (section 6.7) are worth in this design.

    python -m bench.sharing [--json FILE] [--quick]

Quantised weights take few values. "pool" is the frequency cache of coefficients, which this design has:
matrices name distinct ones, converted once a block. "apply" is A z, B z and C z with the matrices at hand,
"make" the same from the entries of the compiler, one thread each; blocks of plain products have no
coefficients and are left out. "sums" are those of a convolution as the witness computes them, a product of
matrices on one thread; its peer is the frequency cache of a path by gates, in numpy: for each output and each
distinct weight the inputs that meet it are added up, then multiplied once. How they are grouped is known.

"images" are 100 images whose circuit is compiled once, its digest and guards included, and whose witnesses
are assigned, challenges' part included; its peer compiles for each. "proved" adds a proof for each.
Both are extrapolated: each repetition times one compilation, one witness and one proof, and multiplies.
"build" are the matrices of all blocks that a proof makes as it reads them, one thread; "evaluate" is the
stage of a proof that reads them, "proof" the whole. Their peer has kept the matrices since the first proof,
"kept" has their bytes as its size. Circuits whose blocks are all kept from the start are left out.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from bench.compiler import convolution, some_input
from bench.measure import Timing, alone, arguments, measure, seconds
from bench.report import Report, Row
from zenserve import kernels
from zenserve.base.processors import usable_cores
from zenserve.circuits import Inference, QuantGraph, compile_inference, quantise, zoo
from zenserve.circuits.lowering import Level
from zenserve.circuits.operators.convolution import QuantConv
from zenserve.circuits.r1cs.convolved import Kernel
from zenserve.circuits.r1cs.tiles import Tile, held_bytes
from zenserve.kernels import FrArray, fr
from zenserve.prover import groth16
from zenserve.prover.blocks import Block, Csr, ProductBlock
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.relations import planes
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy

THREADS = usable_cores()
IMAGES = 100


@dataclass(frozen=True)
class Case:
    """``proved``: small enough to make keys and proofs for."""

    network: str
    weights: Privacy
    level: Level
    proved: bool = False

    @property
    def name(self) -> str:
        return f"{self.network}_{self.weights}{self.level}"

    @property
    def qgraph(self) -> QuantGraph:
        return NETWORKS[self.network]()

    def compile(self) -> Inference:
        return compile_inference(self.qgraph, weight_privacy=self.weights, level=self.level)


def of_zoo(name: str) -> QuantGraph:
    return quantise(zoo.network(name), zoo.calibration(name))


# "conv" is the largest of ZEN's sweep over convolutions.
NETWORKS: dict[str, Callable[[], QuantGraph]] = {
    "shallownet": lambda: of_zoo("shallownet"),
    "tiny": lambda: convolution(4, 2),
    "lenet": lambda: of_zoo("lenet-medium"),
    "conv": lambda: convolution(64, 32),
}
CASES = (
    Case("lenet", "public", 2),
    Case("lenet", "public", 5, proved=True),
    Case("lenet", "private", 2),
    Case("lenet", "private", 5),
    Case("conv", "public", 2),
    Case("conv", "public", 5, proved=True),
)
QUICK = (Case("shallownet", "public", 5, proved=True), Case("tiny", "private", 2))


def values_row(name: str, entries: int, distinct: int, grouped: int, pooled: int | None = None) -> Row:
    """How often values repeat: products that are left where what meets equal ones is added up first, a row's.

    ``entries``: coefficients of matrices, or weights of a kernel; ``pooled``: the distinct ones of each
    matrix added up. Only matrices have pools: 4 bytes for each entry and 32 for each coefficient, where
    "mb_single" has 32 for each entry.
    """
    more: dict[str, object] = {"distinct": distinct}
    if pooled is not None:
        of_pool = (4 * entries + 32 * pooled) / 1e6
        more |= {"pooled": pooled, "mb_pooled": of_pool, "mb_single": 32 * entries / 1e6}
    return Row(name, entries, grouped, unit="grouped", more=more)


class Entries(NamedTuple):
    """What the compiler makes a matrix from: the arguments of ``Csr.from_entries``."""

    rows: int
    row: IntArray
    column: IntArray
    value: IntArray
    exponent: IntArray | None

    @classmethod
    def of(cls, matrix: Csr) -> Entries:
        row = np.repeat(np.arange(matrix.rows), np.diff(matrix.offsets))
        exponents = [0] * len(matrix.pool)
        if any(abs(value) >> 63 for value in matrix.pool):
            exponents = [(value & -value).bit_length() - 1 for value in matrix.pool]
        pool = zip(matrix.pool, exponents, strict=True)
        odd = np.array([value >> power for value, power in pool], np.int64)
        exponent = np.array(exponents)[matrix.coefficients] if any(exponents) else None
        return cls(matrix.rows, row, matrix.columns.astype(np.int64), odd[matrix.coefficients], exponent)


class Single(NamedTuple):
    """A matrix with a coefficient of its own for each entry: the arguments of
    ``zenserve.kernels.csr_multiply``.
    """

    offsets: IntArray
    columns: np.ndarray[tuple[int], np.dtype[np.uint32]]
    coefficients: np.ndarray[tuple[int], np.dtype[np.uint32]]
    pool: FrArray

    @classmethod
    def of(cls, entries: Entries) -> Single:
        """Rows are in order: so the compiler makes them."""
        offsets = np.zeros(entries.rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(entries.row, minlength=entries.rows), out=offsets[1:])
        pool = fr.from_int64(entries.value)
        if entries.exponent is not None:
            powers = fr.from_ints([1 << power for power in range(int(entries.exponent.max()) + 1)])
            pool = fr.mul(pool, powers[entries.exponent])
        columns = entries.column.astype(np.uint32)
        return cls(offsets, columns, np.arange(len(columns), dtype=np.uint32), pool)


def matrices(system: ConstraintSystem) -> list[Csr]:
    """Those with coefficients."""
    blocks = (made for made in map(_made, system.blocks) if not isinstance(made, ProductBlock))
    return [matrix for block in blocks for matrix in block.matrices() if len(matrix.columns)]


def _made(block: Block) -> Block:
    return block.make() if isinstance(block, Tile) else block


def values_of(name: str, found: list[Csr]) -> Row:
    distinct = {value for matrix in found for value in matrix.pool}
    grouped = 0
    for matrix in found:
        row = np.repeat(np.arange(matrix.rows), np.diff(matrix.offsets))
        grouped += len(np.unique(row * len(matrix.pool) + matrix.coefficients))
    entries = sum(len(matrix.columns) for matrix in found)
    return values_row(name, entries, len(distinct), grouped, sum(len(matrix.pool) for matrix in found))


def pool_rows(case: Case, repetitions: int) -> tuple[list[Row], Row]:
    """The pool against a coefficient for each entry."""
    circuit = case.compile()
    z = circuit.witness(some_input(circuit.qgraph))
    pooled = matrices(circuit.constraint_system)
    entries = [Entries.of(matrix) for matrix in pooled]
    single = [Single.of(each) for each in entries]
    for matrix, alike in zip(pooled, single, strict=True):
        assert np.array_equal(matrix.multiply(z), kernels.csr_multiply(*alike, z))

    def apply_single() -> None:
        for matrix in single:
            kernels.csr_multiply(*matrix, z)

    def make_single() -> None:
        for each in entries:
            kernels.csr_multiply(*Single.of(each), z)

    def apply() -> None:
        for matrix in pooled:
            matrix.multiply(z)

    def make() -> None:
        for each in entries:
            Csr.from_entries(*each).multiply(z)

    values = values_of(case.name, pooled)
    rows = []
    for what, ours, peer in (("apply", apply, apply_single), ("make", make, make_single)):
        timing = measure(ours, peer, repetitions=repetitions)
        rows.append(_row(f"{case.name}_{what}", values.size, timing, "a coefficient for each entry"))
    return rows, values


def sums_rows(network: str, repetitions: int) -> tuple[list[Row], list[Row]]:
    """Each convolution of a network."""
    qgraph = NETWORKS[network]()
    rows, values = [], []
    for index, node in enumerate(node for node in qgraph.nodes if isinstance(node, QuantConv)):
        (shape,), (kind,) = qgraph.shapes_of(node), qgraph.types_of(node)
        assert kind is not None
        kernel = Kernel(node.sliding(shape), len(node.weight), kind.zero_point, kind.top)
        weight = node.centred_weight.reshape(kernel.outputs, -1)
        q = np.random.default_rng(1).integers(0, kind.top + 1, shape)
        name = f"{network}_conv{index + 1}"
        row, value = _sums_row(name, kernel, q, weight, node.bias, repetitions)
        rows.append(row)
        values.append(value)
    return rows, values


def _sums_row(
    name: str, kernel: Kernel, q: IntArray, weight: IntArray, bias: IntArray, repetitions: int
) -> tuple[Row, Row]:
    groups = [Group.of(row) for row in weight]
    assert np.array_equal(kernel.convolve(q, weight, bias), by_equal_weights(kernel, q, groups, bias))
    timing = measure(
        lambda: kernel.convolve(q, weight, bias),
        lambda: by_equal_weights(kernel, q, groups, bias),
        repetitions=repetitions,
    )
    grouped = sum(len(group.values) for group in groups)
    distinct = len(np.unique(weight))
    size = kernel.outputs * kernel.sliding.pairs
    row = _row(f"{name}_sums", size, timing, "inputs of equal weights added up first")
    return row, values_row(name, weight.size, distinct, grouped)


class Group(NamedTuple):
    """The taps of one output sorted by weight: ``values`` are the distinct ones, each from ``starts`` on."""

    taps: IntArray
    starts: IntArray
    values: np.ndarray[tuple[int], np.dtype[np.float64]]

    @classmethod
    def of(cls, weight: IntArray) -> Group:
        values, starts = np.unique(np.sort(weight), return_index=True)
        return cls(np.argsort(weight, kind="stable"), starts, values.astype(np.float64))


def by_equal_weights(kernel: Kernel, q: IntArray, groups: list[Group], bias: IntArray) -> IntArray:
    """``Kernel.convolve`` with one product for each distinct weight of an output and each position."""
    sliding = kernel.sliding
    centred = (q.reshape(1, *sliding.image) - kernel.zero_point).astype(np.float64)
    seen = planes.slide(centred, sliding.kernel, sliding.stride, sliding.padding, 0)[0]
    columns = seen.transpose(0, 3, 4, 1, 2).reshape(-1, sliding.out[0] * sliding.out[1])
    sums = [group.values @ np.add.reduceat(columns[group.taps], group.starts) for group in groups]
    flat: IntArray = (np.stack(sums).astype(np.int64) + bias[:, np.newaxis]).reshape(-1)
    return flat


class Times(NamedTuple):
    """Seconds for one image, in one repetition."""

    compile: float
    witness: float
    proof: float


def sharing_rows(case: Case, repetitions: int) -> tuple[list[Row], list[Row]]:
    """One circuit for all images against one for each; matrices made in each proof against kept ones."""
    circuit = case.compile()
    system, q = circuit.constraint_system, some_input(circuit.qgraph)
    z, prove = complete(circuit, q), (prover_of(circuit, q) if case.proved else None)

    def compile_anew() -> object:
        fresh = compile_inference(circuit.qgraph, weight_privacy=case.weights, level=case.level)
        return fresh.constraint_system.survey

    times = [
        Times(
            seconds(compile_anew),
            seconds(lambda: complete(circuit, q)),
            seconds(lambda: prove(system)) if prove is not None else 0.0,
        )
        for _ in range(repetitions)
    ]
    size, peer = system.constraints, "compiled for each image"
    images = [_row(f"{case.name}_images", size, _shared(times, proved=False), peer, THREADS)]
    if prove is not None:
        images.append(_row(f"{case.name}_proved", size, _shared(times, proved=True), peer, THREADS))
    return images, list(building_rows(case, system, z, prove, repetitions))


def _shared(times: list[Times], *, proved: bool) -> Timing:
    """Of all images, compiled for once."""
    each = [time.witness + (time.proof if proved else 0.0) for time in times]
    ours = [time.compile + IMAGES * image for time, image in zip(times, each, strict=True)]
    peer = [IMAGES * (time.compile + image) for time, image in zip(times, each, strict=True)]
    median = statistics.median(ours)
    ratio = statistics.median(theirs / mine for theirs, mine in zip(peer, ours, strict=True))
    return Timing(median, (max(ours) - min(ours)) / median, ratio)


def building_rows(
    case: Case, system: ConstraintSystem, z: FrArray, prove: Prove | None, repetitions: int
) -> Iterator[Row]:
    """None where nothing is made in a proof: where all blocks are kept from the start."""
    tiles = [block for block in system.blocks if isinstance(block, Tile)]
    if not tiles:
        return
    kept = replace(system, blocks=tuple(map(_made, system.blocks)))
    assert kept.digest == system.digest

    def build() -> None:
        for tile in tiles:
            tile.make()

    def row(what: str, ours: Callable[[], object], peer: Callable[[], object] | None, threads: int) -> Row:
        timing = measure(ours, peer, repetitions=repetitions)
        known = None if peer is None else "matrices kept"
        return _row(f"{case.name}_{what}", system.constraints, timing, known, threads)

    yield row("build", build, None, 1)
    evaluate, evaluate_kept = (partial(each.evaluate, z, THREADS) for each in (system, kept))
    yield row("evaluate", evaluate, evaluate_kept, THREADS)
    if prove is not None:
        yield row("proof", lambda: prove(system), lambda: prove(kept), THREADS)
    held = sum(held_bytes(block) for block in kept.blocks) - sum(
        held_bytes(block) for block in system.blocks if not isinstance(block, Tile)
    )
    timing = measure(evaluate_kept, repetitions=repetitions)
    yield _row(f"{case.name}_kept", held, timing, None, THREADS)


def complete(circuit: Inference, q: IntArray) -> FrArray:
    """The witness, what depends on the challenges included; these are chosen here."""
    z, system = circuit.witness(q), circuit.constraint_system
    challenges = fr.from_ints(range(12345, 12345 + system.challenges))
    z[1 + system.public : system.instance] = challenges
    circuit.program.post_challenge(z, challenges)
    return z


Prove = Callable[[ConstraintSystem], object]


def prover_of(circuit: Inference, q: IntArray) -> Prove:
    """Proves for a key made here, by the circuit's statement or one that has the same digest."""
    key = groth16.setup(circuit.constraint_system, threads=THREADS)
    witness, post_challenge = circuit.witness(q), circuit.program.post_challenge
    return lambda statement: groth16.prove(
        key, statement, witness, post_challenge=post_challenge, threads=THREADS
    )


def _row(name: str, size: int | None, timing: Timing, peer: str | None, threads: int = 1) -> Row:
    return Row.of(name, size, timing, threads=threads, peer=peer)


def main() -> None:
    options = arguments(__doc__)
    cases, repetitions = (QUICK, 1) if options.quick else (CASES, 3)
    report, values = Report("sharing", f"median of {repetitions}"), []

    rows = []
    for case in cases:
        (timed, value), _ = alone(pool_rows, case, repetitions)
        rows += timed
        values.append(value)
    report.show("Coefficients; size = entries", values)
    report.show("A z, B z, C z from a pool; size = entries", rows)

    # Read where a process loads numpy: those of ``alone``.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    rows, weights = [], []
    for network in dict.fromkeys(case.network for case in cases):
        (timed, found), _ = alone(sums_rows, network, repetitions)
        rows += timed
        weights += found
    del os.environ["OPENBLAS_NUM_THREADS"]
    report.show("Weights of convolutions; size = entries", weights)
    report.show("Sums of convolutions; size = multiplications", rows)

    shared, built = [], []
    for case in cases:
        (images, building), _ = alone(sharing_rows, case, repetitions)
        shared += images
        built += building
    report.show(f"{IMAGES} images, extrapolated; size = constraints", shared)
    report.show("Matrices made in each proof; size = constraints, of what is kept: bytes", built)
    report.write(options.json)


if __name__ == "__main__":
    main()
