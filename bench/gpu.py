"""GPU figures: kernels and whole proofs on one card, beside the card's limits and other libraries.

    python -m bench.gpu [--peer NAME=PATH ...] [--json FILE] [--topics TOPIC ...] [--sizes 20 22]
                        [--device 1] [--quick]

"floor" is what the products of the algorithm take at the rate that this card reaches in registers, or its
bytes at the rate of a copy on the device, whichever is longer. A peer
(bench/peers/README.md) is asked in turn with ours, for the same points and scalars; sums must agree. Data
lie on the device before the clock starts. Transforms of up to 2^16 elements and negacyclic ones are
replayed from CUDA graphs of 20 calls, all else is called from Python. Scalars: "random" fill the field,
"network" are 60 % bytes, 20 % bits and 20 % of the whole field, "equal" are one element. The ceilings are
always measured. ``--sizes`` are those of the proofs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from bench import peers
from bench.elements import equal_elements, network_elements, random_elements
from bench.peers import Peer
from bench.report import Report, Row
from bench.roofline import (
    Cost,
    Field,
    Roofline,
    card_argument_parser,
    machine,
    on_device,
    profile,
    published,
    replayed,
)
from zenserve.gpu import fixed_base, modules, negacyclic, ntt
from zenserve.gpu.device import Array, Device
from zenserve.gpu.msm import Bases, msm, window_count
from zenserve.gpu.sparse import Matrix
from zenserve.kernels import FrArray, Group, WordArray, available_targets, fp, fp2, fr, g1, g2, load

Sizes = Sequence[int]
NETWORK = "lenet-face-large-orl"
REPLAYED = 20
LARGEST_REPLAYED = 16

PUBLISHED = {
    14: {"V100": 11.5e-6, "A100": 13.3e-6},
    16: {"V100": 16.4e-6, "A100": 16.5e-6},
}
"""Seconds of one transform of 2^14 and 2^16 points for a prime of 62 bits: Shivdikar et al., "Accelerating
polynomial multiplication for homomorphic encryption on GPUs", 2022."""

PRIMES = {30: 2**30 - 2 * 2**17 + 1, 62: 2**62 - 12 * 2**17 + 1}
"""The largest of 30 and 62 bits that are 1 modulo 2^17."""

SCALARS = {"random": random_elements, "network": network_elements, "equal": equal_elements}

_LARGE = 1 << 17
"""From so many equal scalars on peers are not asked: sppark takes seconds, and more with each."""

PAIR_ADDITION, MIXED_ADDITION, ADDITION = 6, 10, 14
"""Products of a pair of affine points, of an affine point and an XYZZ sum, and of two sums (EFD: madd-2008-s,
add-2008-s)."""


def ceilings(bench: Roofline, sizes: Sizes, competitors: Sequence[Peer]) -> Iterator[Row]:
    """What the card does at most: products in registers, copies, uploads, launches.

    ``sizes``: of the blocks, of the rounds of products and of the bytes that are copied.
    """
    device, (blocks, rounds, size) = bench.device, (1 << each for each in sizes)
    kernels = modules.load(device, "ceilings")
    kinds: tuple[tuple[Field, int, int], ...] = (("fr", 4, 256), ("fp", 6, 256), ("fp2", 12, 128))
    for name, words, threads in kinds:
        values = device.upload(np.ones((2 * threads * blocks, words), np.uint64))
        products = 2 * threads * blocks * rounds
        run = partial(kernels.launch, f"{name}_products", blocks, threads, values, np.int32(rounds))
        row = _with_rate(bench, f"{name}_products", products, run, products)
        bench.rates[name] = row.more["per_s"]
        yield row
    source, target = (device.zeros(size, np.uint8) for _ in range(2))
    row = _with_rate(bench, "copy", size, partial(device.copy, source, target), 2 * size)
    bench.rates["copy"] = row.more["per_s"]
    yield row
    yield _with_rate(bench, "upload", size, partial(device.copy, np.ones(size, np.uint8), target), size)
    nothing = partial(kernels.launch, "fr_products", 1, 32, device.zeros((64, 4), np.uint64), np.int32(0))
    yield from bench.measure("launch", 1, on_device(device, nothing, count=1000))


def _with_rate(bench: Roofline, name: str, size: int, call: Callable[[], object], done: int) -> Row:
    (row,) = bench.measure(name, size, on_device(bench.device, call))
    return replace(row, more={"per_s": done / row.median})


def transforms(bench: Roofline, sizes: Sizes, competitors: Sequence[Peer]) -> Iterator[Row]:
    device, with_ntt = bench.device, [peer for peer in competitors if peer.has_ntt()]
    for log_size in sizes:
        domain, values = ntt.Domain(device, log_size), device.upload(random_elements(1 << log_size))
        yield from bench.measure(
            "ntt",
            domain.size,
            _timed(device, log_size, partial(domain.ntt, values, order="to_bit_reversed")),
            cost=transform_cost(log_size),
            peers={peer.name: partial(peer.ntt, log_size, 1) for peer in with_ntt},
        )


def _timed(device: Device, log_size: int, call: Callable[[], object]) -> Callable[[], float]:
    return replayed(device, call, REPLAYED) if log_size <= LARGEST_REPLAYED else on_device(device, call)


def transform_cost(log_size: int) -> Cost:
    """A product for each butterfly; each pass reads and writes all elements; twiddles are read once."""
    n = 1 << log_size
    return Cost(64 * n * len(ntt.passes(log_size)) + 16 * n, "fr", n * log_size / 2)


def quotients(bench: Roofline, sizes: Sizes, competitors: Sequence[Peer]) -> Iterator[Row]:
    device = bench.device
    for log_size in sizes:
        domain = ntt.Domain(device, log_size)
        a, b, c = (device.upload(random_elements(1 << log_size, seed)) for seed in range(3))
        call = partial(domain.quotient, a, b, c)
        timed, cost = _timed(device, log_size, call), quotient_cost(log_size)
        yield from bench.measure("quotient", domain.size, timed, cost=cost)


def quotient_cost(log_size: int) -> Cost:
    """Two transforms of three arrays, their middle passes one; the coset's factors; A B - C, pointwise."""
    n, passes = 1 << log_size, len(ntt.passes(log_size))
    return Cost(64 * n * 3 * (2 * passes - 1) + 128 * n, "fr", 6 * n * log_size / 2 + 4 * n)


def negacyclic_products(bench: Roofline, sizes: Sizes, competitors: Sequence[Peer]) -> Iterator[Row]:
    device = bench.device
    for (bits, prime), log_size in product(PRIMES.items(), sizes):
        ring = negacyclic.Ring(device, log_size, prime)
        a, b = (device.upload(np.arange(ring.size, dtype=ring.dtype)) for _ in range(2))
        transform = replayed(device, partial(ring.ntt, a), REPLAYED)
        name, cost = f"negacyclic_ntt_{bits}", Cost(4 * a.nbytes)  # two passes
        (row,) = bench.measure(name, ring.size, transform, cost=cost)
        yield row
        for card, seconds in PUBLISHED.get(log_size, {}).items() if bits == 62 else ():
            yield published(row, f"paper_{card}", seconds)
        both = replayed(device, partial(ring.product, a, b), REPLAYED)
        name, cost = f"negacyclic_product_{bits}", Cost(9 * a.nbytes)  # writes one of the two back
        yield from bench.measure(name, ring.size, both, cost=cost)


def msm_g1(bench: Roofline, sizes: Sizes, competitors: Sequence[Peer]) -> Iterator[Row]:
    return _msm(bench, g1, "fp", sizes, competitors)


def msm_g2(bench: Roofline, sizes: Sizes, competitors: Sequence[Peer]) -> Iterator[Row]:
    return _msm(bench, g2, "fp2", sizes, competitors)


def _msm(
    bench: Roofline, group: Group, field: Field, sizes: Sizes, competitors: Sequence[Peer]
) -> Iterator[Row]:
    device = bench.device
    logarithms = random_elements(1 << max(sizes), seed=4)
    points = fixed_base.multiply_base(device, device.upload(group.generator), device.upload(logarithms))
    with tempfile.TemporaryDirectory() as directory:
        load_peers(device, group, points, Path(directory) / "points", competitors)
        for kind, make in SCALARS.items():
            elements = make(len(points))
            path = Path(directory) / "scalars"
            if competitors:
                peers.write_scalars(load(available_targets()[0]), elements, path)
            for peer in competitors:
                peer.load_scalars(path)
            scalars = device.upload(elements)
            for log_size in sizes:
                size = 1 << log_size
                bases = Bases(device, points[:size])
                call = partial(msm, bases, scalars[:size])
                result = affine(group, device.download(call()))
                if log_size == min(sizes):
                    check_sum(group, result, logarithms[:size], elements[:size])
                yield from bench.measure(
                    f"msm_{group.name}",
                    size,
                    on_device(device, call),
                    cost=msm_cost(bases, field, kind),
                    peers={
                        peer.name: partial(peer_msm, peer, group, size, group.compress(result))
                        for peer in (competitors if kind != "equal" or size < _LARGE else ())
                    },
                    scalars=kind,
                    kernels=profile(call),
                )


def load_peers(device: Device, group: Group, points: Array, path: Path, competitors: Sequence[Peer]) -> None:
    if competitors:
        peers.write_points(load(available_targets()[0]), device.download(points), path)
    for peer in competitors:
        peer.load_points(group, path)


def peer_msm(peer: Peer, group: Group, size: int, expected: bytes) -> float:
    taken, result = peer.msm(group, size, 1)
    assert result == expected, f"{peer.name} has another sum"
    return taken


def check_sum(group: Group, result: WordArray, logarithms: FrArray, scalars: FrArray) -> None:
    """The sum of scalars[i] logarithms[i] G must be one product of the generator."""
    logarithm = sum(fr.to_ints(fr.mul(logarithms, scalars))) % fr.modulus
    expected = group.fixed_base(group.generator, fr.from_ints([logarithm]))[0]
    assert np.array_equal(result, expected), f"a wrong sum over {group.name}"


def affine(group: Group, xyzz: WordArray) -> WordArray:
    """A sum that is not infinite: (x / zz, y / zzz)."""
    field = fp if group is g1 else fp2
    x, y, zz, zzz = xyzz
    return field.mul(np.stack([x, y]), field.inverse(np.stack([zz, zzz])))


def msm_cost(bases: Bases, field: Field, kind: str) -> Cost:
    """Of the buckets' method as we use it: an addition a digit but a bucket's first, and two a bucket.

    All but one of 2^levels are additions of pairs, in G2 a little cheaper than counted.

    Full scalars have a digit a window, bytes have one, and half of the bits have none; zeros count nothing. A
    digit takes 16 bytes in and out beside its point, a bucket's sum is written and read twice.
    """
    plan = bases.plan
    full = {"random": 1.0, "equal": 1.0, "network": 0.2}[kind]
    digits = plan.count * (full * plan.windows + (0.7 if kind == "network" else 0))
    addition = PAIR_ADDITION + (MIXED_ADDITION - PAIR_ADDITION) / 2**plan.levels
    products = addition * max(digits - plan.buckets, 0) + 2 * ADDITION * plan.buckets
    moved = digits * (plan.point_bytes + 16) + 64 * plan.count + 4 * 2 * plan.point_bytes * plan.buckets
    return Cost(moved, field, products)


def fixed_bases(bench: Roofline, sizes: Sizes, competitors: Sequence[Peer]) -> Iterator[Row]:
    device, kinds = bench.device, ((g1, "fp"), (g2, "fp2"))  # type: Device, tuple[tuple[Group, Field], ...]
    for log_size, (group, field) in product(sizes, kinds):
        scalars = device.upload(random_elements(1 << log_size))
        additions = window_count(fixed_base.choose_width(len(scalars))) - 1
        base = fixed_base.FixedBase(device, device.upload(group.generator), len(scalars))
        out = device.empty((len(scalars), *group.shape), np.uint64)
        cost = Cost(scalars.nbytes + out.nbytes, field, len(scalars) * MIXED_ADDITION * additions)
        call = on_device(device, partial(base.multiply, scalars, out))
        yield from bench.measure(f"fixed_base_{group.name}", len(scalars), call, cost=cost)


def sparse_products(bench: Roofline, sizes: Sizes, competitors: Sequence[Peer]) -> Iterator[Row]:
    device, entries, draw = bench.device, 8, np.random.default_rng(5)
    for rows in (1 << log_size for log_size in sizes):
        offsets = np.arange(0, entries * rows + 1, entries, dtype=np.int64)
        columns = draw.integers(0, rows, entries * rows, dtype=np.uint32)
        coefficients = draw.integers(0, 256, entries * rows, dtype=np.uint32)
        matrix = Matrix(device, offsets, columns, coefficients, fr.from_int64(np.arange(-128, 128)))
        z, out = device.upload(random_elements(rows)), device.empty((rows, 4), np.uint64)
        cost = Cost(rows * (entries * (4 + 4 + 32) + 4 + 64), "fr", entries * rows)
        call = on_device(device, partial(matrix.multiply, z, out))
        yield from bench.measure("sparse_product", rows, call, cost=cost)


def proofs(bench: Roofline, sizes: Sizes, competitors: Sequence[Peer]) -> Iterator[Row]:
    try:
        from bench import gpu_proofs
    except ImportError as error:
        bench.report.say(f"Proofs are left out, since the prover needs what is not installed: {error}")
        return
    for log_size in sizes:
        yield from gpu_proofs.measure_size(bench, log_size)


def network(bench: Roofline, sizes: Sizes, competitors: Sequence[Peer]) -> Iterator[Row]:
    """No ``sizes``: no network."""
    try:
        from bench import gpu_network
    except ImportError as error:
        bench.report.say(f"The network is left out, since the compiler needs what is not installed: {error}")
        return
    for _ in sizes:
        yield from gpu_network.measure_network(bench, NETWORK)


@dataclass(frozen=True)
class Case:
    """A topic: its kernels at these sizes, in binary logarithms, and at the ``quick`` ones."""

    title: str
    run: Callable[[Roofline, Sizes, Sequence[Peer]], Iterator[Row]]
    sizes: Sizes
    quick: Sizes


CEILINGS = Case("Ceilings", ceilings, (11, 11, 30), (0, 1, 10))
CASES = {
    "transforms": Case("Transforms over Fr, natural to bit-reversed order", transforms, range(10, 25), (4,)),
    "quotients": Case("The quotient, A B - C on the coset", quotients, range(16, 23), (4,)),
    "negacyclic": Case("Negacyclic transforms and products", negacyclic_products, range(11, 17), (11,)),
    "msm_g1": Case("Multi-scalar multiplication in G1", msm_g1, range(16, 23), (5,)),
    "msm_g2": Case("Multi-scalar multiplication in G2", msm_g2, range(16, 21), (4,)),
    "fixed_base": Case("Products of one base", fixed_bases, (20,), (5,)),
    "sparse": Case("Sparse matrix, 8 entries a row, times a vector", sparse_products, (20,), (5,)),
    "proofs": Case("Groth16, network's witness", proofs, (20, 22), (5,)),
    "network": Case(f"{NETWORK}, weights committed, input private", network, (1,), ()),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = card_argument_parser(__doc__)
    parser.add_argument("--peer", type=peers.option, action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--topics", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--sizes", type=int, nargs="*", help="log2 of the proofs' rows")
    options = parser.parse_args(arguments)
    device, repetitions = Device(options.device), 2 if options.quick else 7
    report = Report("gpu", f"median of {repetitions}", machine(device))
    bench = Roofline(device, repetitions, report)
    cases = CASES | {"proofs": replace(CASES["proofs"], sizes=options.sizes)} if options.sizes else CASES
    with peers.started(dict(options.peer)) as competitors:
        for case in (CEILINGS, *(cases[topic] for topic in options.topics)):
            report.show(case.title, case.run(bench, case.quick if options.quick else case.sizes, competitors))
    report.write(options.json)


if __name__ == "__main__":
    main()
