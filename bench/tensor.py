"""The tensor system's unit costs over BabyBear, beside what its design asks for.

    python -m bench.tensor [--topics units fractions] [--json FILE] [--quick]

``units``: nanoseconds of one thread's processor time, in the cache, on each of the kernels' targets: a
product of the base field and of the extension of degree five; an entry of int8 rows combined by weights of
the extension, and of their inner products; an entry of a code word of rate 1/4; a byte hashed of columns.
``wanted``: at most that much with AVX2, and ``least`` the least of all repetitions, which a busy machine
disturbs less than the median. ``fractions``: a leaf of a whole tree, made and gone down to its leaves, with
challenges that are no transcript's, and without pads.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import numpy as np

from bench.measure import argument_parser
from bench.report import Report, Row
from zenserve import kernels
from zenserve.kernels.babybear import DEGREE, MODULUS, BearArray

TOPICS: Final = ("units", "fractions")
WANTED: Final = {
    "base product": 0.2,
    "extension product": 3.0,
    "int8 rows combined": 0.4,
    "code word of 2^14": 1.8,
    "fraction tree of 2^22": 32.0,
}
"""Nanoseconds."""
_INNER: Final = 9
"""Variables of eq's inner factor."""


def units(target: str, *, quick: bool) -> Iterator[Row]:
    k, random = kernels.load(target), np.random.default_rng(1)
    count, rows, width = 1 << 11, 256, 1 << 12
    repetitions, rounds = (1, 2) if quick else (25, 64)
    words, row = partial(_words, random), partial(_row, target, repetitions)
    a, b, x, y = words(count), words(count), words(DEGREE, count), words(DEGREE, count)
    yield row("base product", count, lambda: k.bear.multiply_repeatedly(a, b, rounds), rounds * count)
    yield row("extension product", count, lambda: k.bear.multiply_repeatedly(x, y, rounds), rounds * count)
    small = random.integers(-128, 128, (rows, width), dtype=np.int8)
    by_row, by_place = words(DEGREE, rows), words(DEGREE, width)
    yield row("int8 rows combined", rows, lambda: k.bear5.combine_rows(small, by_row), rows * width)
    yield row("int8 rows' products", rows, lambda: k.bear5.row_products(small, by_place), rows * width)
    for log_length in (14,) if quick else (12, 14, 16, 18):
        domain = k.bear_domain(log_length)
        values = random.integers(-128, 128, (8, domain.length >> 2), dtype=np.int8)
        encoded = domain.encode(values)
        entries = encoded.size
        name = f"code word of 2^{log_length}"
        yield row(name, domain.length, lambda d=domain, v=values: d.encode(v), entries)  # type: ignore[misc]
    columns = words(64, 1 << 10, 8).view(np.uint64)
    key = bytes(32)
    yield row("byte hashed", 64 * 8, lambda: k.blake3.columns(columns, key), columns.nbytes)


def fractions(target: str, *, quick: bool) -> Iterator[Row]:
    k, random = kernels.load(target), np.random.default_rng(1)
    for log_leaves in (6,) if quick else (14, 18, 20, 22):
        count = 1 << log_leaves
        n, d = _words(random, count), _words(random, DEGREE, count)
        point = _words(random, DEGREE, log_leaves)
        repetitions = 1 if quick else 5
        yield _row(
            target,
            repetitions,
            f"fraction tree of 2^{log_leaves}",
            count,
            partial(_go_down, k, n, d, point),
            count,
        )


def _go_down(k: kernels.Kernels, n: BearArray, d: BearArray, point: BearArray) -> None:
    """A tree made, and all its layers, which end at one point."""
    tree = k.fraction_tree(n, d)
    r = np.ascontiguousarray(point[:, 0])
    for variables in range(tree.log_leaves):
        tree.begin(r)
        for left in reversed(range(variables)):
            split = min(left, _INNER)
            behind = np.ascontiguousarray(point[:, :left])
            outer, inner = (np.ascontiguousarray(part) for part in np.split(behind, [left - split], axis=1))
            first = left == variables - 1
            tree.round(None if first else r, k.bear5.eq(outer), k.bear5.eq(inner))
        tree.halves(r if variables else None)


def _words(random: np.random.Generator, *shape: int) -> BearArray:
    return random.integers(0, MODULUS, shape, dtype=np.uint32)


def _row(target: str, repetitions: int, name: str, size: int, call: Callable[[], object], terms: int) -> Row:
    """``terms``: how many of what is measured a call makes."""
    call()
    times = [_processor_time(call) * 1e9 / terms for _ in range(repetitions)]
    median, least = statistics.median(times), min(times)
    more = {"target": target, "least": round(least, 3), "wanted": WANTED.get(name)}
    return Row(name, size, median, (max(times) - least) / median, "ns", 1, more=more)


def _processor_time(call: Callable[[], object]) -> float:
    start = time.thread_time()
    call()
    return time.thread_time() - start


_TOPICS: Final = {"units": units, "fractions": fractions}


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--topics", nargs="+", choices=TOPICS, default=TOPICS)
    options = parser.parse_args()
    report = Report("tensor")
    for topic in options.topics:
        for target in kernels.available_targets():
            report.show(topic, _TOPICS[topic](target, quick=options.quick))
    report.write(options.json)


if __name__ == "__main__":
    main()
