"""CPU figures: products, transforms, multi-scalar multiplications and whole proofs, beside peers.

    python -m bench.cpu [--proofs] [--peer NAME=PATH ...] [--sizes 16 18 20] [--json FILE] [--quick]

Every figure is given for one thread and for all. A peer is measured in turn with ours, on the same points
and scalars, and has a row of its own: "vs peer" there is its time over ours. py_arkworks_bls12381 is always
one, for one thread and up to 2^16 points; others are programs (bench/peers/README.md). "bytes" are scalars
below 256, as most of a witness is. "vs floor" is ours over the field products alone (docs/performance.md).
``--sizes`` are those of the proofs (bench/proofs.py); leave 20 out on small machines.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from py_arkworks_bls12381 import G1Point, G2Point, Scalar

from bench import digits, peers, proofs
from bench.elements import random_elements
from bench.measure import Contestants, argument_parser, in_turn, seconds, threads_to_measure
from bench.peers import Peer
from bench.report import Report, Row, rows_of
from zenserve.kernels import FrArray, Group, Kernels, PrimeField, WordArray, available_targets, load
from zenserve.prover.groth16.cost import msm_products

ARKWORKS = "py_arkworks_bls12381"
ARKWORKS_POINTS = 1 << 16
FEW_FROM = 14
CHAINS = 64
"""Of products that do not wait for each other: eight vectors of eight."""


def products(competitors: Sequence[Peer], repetitions: int) -> list[Row]:
    """Amortised times of one product, of every target; peers beside the fastest."""
    rows = []
    for target in available_targets():
        k = load(target)
        for field in (k.fp, k.fr):
            contestants: Contestants = {"": partial(product_seconds, field)}
            if target == available_targets()[0]:
                contestants |= {peer.name: partial(peer.product, field.name) for peer in competitors}
            figure = Row(f"{field.name}_product", 1, 0, threads=1)
            ours, *theirs = rows_of(figure, in_turn(contestants, repetitions=repetitions))
            rows += [replace(ours, name=f"{ours.name}_{target}"), *theirs]
    return rows


def product_seconds(field: PrimeField) -> float:
    values, rounds = field.from_ints(range(2, CHAINS + 3)), 20_000
    return seconds(lambda: field.multiply_repeatedly(values, rounds)) / (CHAINS * rounds)


@dataclass(frozen=True)
class Case:
    """A kernel over a field or a group, at these sizes, in binary logarithms; ``quick``: the smallest."""

    kernel: Literal["ntt", "msm"]
    field: Literal["fr", "g1", "g2"]
    sizes: tuple[int, ...]
    quick: int


CASES: Final = (
    Case("ntt", "fr", (16, 18, 20), 12),
    Case("msm", "g1", (14, 16, 18, 20), 8),
    Case("msm", "g2", (14, 16, 18), 8),
)


def transforms(
    k: Kernels, log_size: int, competitors: Sequence[Peer], repetitions: int, product_s: float
) -> list[Row]:
    domain = k.domain(log_size)
    values = random_elements(domain.size)
    rows = []
    for threads in threads_to_measure():
        ours = partial(domain.ntt, values, order="to_bit_reversed", threads=threads)
        contestants: Contestants = {"": partial(seconds, ours)}
        contestants |= {p.name: partial(p.ntt, log_size, threads) for p in competitors if p.has_ntt()}
        floor = domain.size // 2 * log_size * product_s / threads
        figure = Row("ntt", domain.size, 0, threads=threads, floor=floor)
        rows += rows_of(figure, in_turn(contestants, repetitions=repetitions))
    return rows


def msm_rows(
    k: Kernels, group: Group, log_size: int, competitors: Sequence[Peer], repetitions: int, product_s: float
) -> list[Row]:
    size = 1 << log_size
    bases = group.fixed_base(group.generator, random_elements(size), threads=threads_to_measure()[-1])
    rows = []
    for kind, bits, scalars in (
        ("random", 254, random_elements(size)),
        ("bytes", 8, k.fr.from_int64(np.random.default_rng(2).integers(0, 256, size))),
    ):
        expected = group.compress(group.msm(bases, scalars, threads=threads_to_measure()[-1]))
        load_peers(k, group, bases, scalars, competitors)
        for threads in threads_to_measure():
            ours = partial(group.msm, bases, scalars, threads=threads)
            contestants: Contestants = {"": partial(seconds, ours)}
            if threads == 1 and size <= ARKWORKS_POINTS:
                contestants[ARKWORKS] = arkworks_msm(k, group, bases, scalars, expected)
            contestants |= {p.name: partial(peer_msm, p, group, size, threads, expected) for p in competitors}
            floor = msm_products(group, size, bits) * product_s / threads
            name, scalars_of = f"msm_{group.name}", {"scalars": kind}
            figure = Row(name, size, 0, threads=threads, floor=floor, more=scalars_of)
            rows += rows_of(figure, in_turn(contestants, repetitions=repetitions))
    return rows


def load_peers(
    k: Kernels, group: Group, bases: WordArray, scalars: FrArray, competitors: Sequence[Peer]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        points_file, scalars_file = Path(directory) / "points", Path(directory) / "scalars"
        peers.write_points(k, bases, points_file)
        peers.write_scalars(k, scalars, scalars_file)
        for peer in competitors:
            peer.load_points(group, points_file)
            peer.load_scalars(scalars_file)


def peer_msm(peer: Peer, group: Group, size: int, threads: int, expected: bytes) -> float:
    taken, result = peer.msm(group, size, threads)
    assert result == expected, f"{peer.name} has another sum"
    return taken


def arkworks_msm(
    k: Kernels, group: Group, bases: WordArray, scalars: FrArray, expected: bytes
) -> Callable[[], float]:
    """The same points and scalars as the peer's objects; points from little-endian affine coordinates."""
    kind: Any = G1Point if group.name == "g1" else G2Point
    points = [kind.from_xy_bytes_unchecked_le(point.tobytes()) for point in k.fp.to_canonical(bases)]
    values = [Scalar.from_le_bytes(value.tobytes()) for value in k.fr.to_canonical(scalars)]
    assert bytes(kind.multiexp_unchecked(points, values).to_compressed_bytes()) == expected
    return partial(seconds, partial(kind.multiexp_unchecked, points, values))


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--peer", type=peers.option, action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--proofs", action="store_true", help="whole proofs alone")
    parser.add_argument("--sizes", type=int, nargs="*", default=[16, 18, 20], help="log2 of the proofs' rows")
    options = parser.parse_args()
    note = f"target {available_targets()[0]}; median of {1 if options.quick else 5}, 3 if it is long"
    report = Report("cpu", note)
    programs = dict(options.peer)
    if not options.proofs:
        with peers.started(programs) as competitors:
            measure_kernels(report, competitors, quick=options.quick)
    repetitions = 1 if options.quick else 3
    proofs.measure_proofs(report, [10] if options.quick else options.sizes, repetitions, programs)
    if not options.proofs:
        threads = threads_to_measure()
        digits.measure_digits(report, *((1, threads[-1:]) if options.quick else (5, threads)))
    report.write(options.json)


def measure_kernels(report: Report, competitors: Sequence[Peer], *, quick: bool) -> None:
    repetitions, k = 1 if quick else 5, load(available_targets()[0])
    rows = products(competitors, repetitions)
    report.show("Field products", rows)
    speed = {row.name: row.median for row in rows}
    fp_s, fr_s = (speed[f"{field}_product_{k.target}"] for field in ("fp", "fr"))
    for case in CASES:
        sizes = (case.quick,) if quick else case.sizes
        if case.kernel == "ntt":
            title = "NTT over Fr, natural to bit-reversed order"
            found = (transforms(k, size, competitors, repetitions, fr_s) for size in sizes)
        else:
            title, group = f"MSM over {case.field.upper()}", k.g1 if case.field == "g1" else k.g2
            found = (_sums(k, group, size, competitors, repetitions, fp_s) for size in sizes)
        report.show(title, chain.from_iterable(found))


def _sums(
    k: Kernels, group: Group, log_size: int, competitors: Sequence[Peer], repetitions: int, product_s: float
) -> list[Row]:
    fewer = min(repetitions, 3) if log_size > FEW_FROM else repetitions
    return msm_rows(k, group, log_size, competitors, fewer, product_s)


if __name__ == "__main__":
    main()
