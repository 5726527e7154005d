"""Products of few-bit integers on tensor cores, beside cuBLASLt's of bytes and APNN-TC's figures.

    python -m bench.products [--json FILE] [--device 1] [--quick]

Each shape, rows x columns x depth, at several widths: right numbers of p bits and left ones of q, w{p}a{q};
"plan" is how the product is made. All are compared with products of whole numbers beforehand. Times are of
launches from a graph, one product after the other, and of cuBLASLt's (``torch._int_mm``) likewise, in turn,
where PyTorch is there. APNN-TC's (Feng et al. 2021, table 2) are for an RTX 3090.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.report import Report, Row
from bench.roofline import Roofline, captured, card_argument_parser, machine, published, replayed
from zenserve.gpu.device import HOPPER, Device
from zenserve.gpu.planes import STEP, Plan, Product

SHAPES: Final = ((64, 1024, 1024), (64, 4096, 4096), (4096, 4096, 4096), (8192, 8192, 8192))
WIDTHS: Final = ((1, 1), (1, 2), (2, 2), (1, 4), (4, 4), (8, 8))
"""Of right numbers and of left ones: weights and activations."""

APNN: Final = {(1, 2): 6.67e-6, (1, 4): 7.06e-6, (2, 2): 7.15e-6}
"""Seconds for the first shape."""


def products(bench: Roofline, rows: int, columns: int, depth: int) -> Iterator[Row]:
    device, rng = bench.device, np.random.default_rng(1)
    count = max(3, min(100, (1 << 36) // (rows * columns * depth)))
    rival = int_mm(rows, columns, depth, count) if find_spec("torch") else None
    for widths in WIDTHS:
        weight_bits, value_bits = widths
        left = rng.integers(0, 1 << value_bits, (rows, depth), np.uint8)
        right = rng.integers(0, 1 << weight_bits, (columns, depth), np.uint8)
        product = Product(device, rows, columns, depth, (value_bits, weight_bits))
        sides = product.left(device.upload(left)), product.right(device.upload(right))
        out = device.empty((rows, columns), np.int32)
        run = replayed(device, partial(product.multiply, *sides, out), count)
        peers = {} if rival is None else {"cublaslt": rival}
        shape, plan = f"{rows} x {columns} x {depth}", _said(product.plan)
        name, size = f"w{weight_bits}a{value_bits}", rows * columns * depth
        yield from (found := bench.measure(name, size, run, peers=peers, shape=shape, plan=plan))
        if (rows, columns, depth) == SHAPES[0] and widths in APNN:
            yield published(found[0], "apnn", APNN[widths])
        _check(left, right, device.download(out))


def ways(bench: Roofline, rows: int, columns: int, depth: int) -> Iterator[Row]:
    """All ways to make a product of bytes: the planned one's row, and the fastest's beside it."""
    device, rng = bench.device, np.random.default_rng(1)
    left, right = (rng.integers(0, 256, (each, depth), np.uint8) for each in (rows, columns))
    chosen = Product(device, rows, columns, depth, (8, 8)).plan
    plans = [Plan("direct", False, 1, 1, split) for split in (1, 2, 4)]  # the warps of a block
    if device.architecture() == HOPPER:
        splits = [split for split in (1, 2, 4, 8) if 4 * split * STEP <= depth]  # a block has four stages
        plans += [Plan("large", False, 1, 1, split, groups) for split in splits for groups in (1, 2, 3)]
    out, seconds = device.empty((rows, columns), np.int32), dict[Plan, float]()
    for each in plans:
        product = Product(device, rows, columns, depth, (8, 8), chosen=each)
        sides = product.left(device.upload(left)), product.right(device.upload(right))
        run = replayed(device, partial(product.multiply, *sides, out), 20)
        seconds[each] = float(np.median([run() for _ in range(bench.repetitions)]))
        _check(left, right, device.download(out))
    fastest = min(seconds, key=lambda each: seconds[each])
    took = {f"{_said(each)}, {each.groups} groups": second for each, second in seconds.items()}
    said = {"plan": _said(chosen), "fastest": _said(fastest), "ways": took}
    ours = Row("planned", math.prod((rows, columns, depth)), seconds[chosen], more=said)
    yield from (ours, published(ours, "fastest", seconds[fastest]))


def _check(left: NDArray[np.uint8], right: NDArray[np.uint8], found: NDArray[np.int32]) -> None:
    """Of 64 rows, by whole numbers below 2^53."""
    some = np.unique(np.linspace(0, len(left) - 1, 64, dtype=np.int64))
    if not np.array_equal(found[some], left[some].astype(np.float64) @ right.T.astype(np.float64)):
        raise RuntimeError(f"a product of {left.shape} and {right.shape} numbers is wrong")


def _said(plan: Plan) -> str:
    if not plan.bits:
        return f"{plan.kernel}, bytes, depth by {plan.split}"
    return f"{plan.kernel}, {plan.left} x {plan.right} planes, depth by {plan.split}"


def int_mm(rows: int, columns: int, depth: int, count: int) -> Callable[[], float]:
    """Seconds of cuBLASLt's product of signed bytes."""
    import torch

    left, right = (
        torch.randint(-128, 128, (each, depth), dtype=torch.int8, device="cuda") for each in (rows, columns)
    )
    return captured(partial(torch._int_mm, left, right.t()), count)


def main() -> None:
    options = card_argument_parser(__doc__).parse_args()
    device, repetitions = Device(options.device), 1 if options.quick else 15
    report = Report("products", f"median of {repetitions}", machine(device))
    bench = Roofline(device, repetitions, report)
    for shape in SHAPES[:1] if options.quick else SHAPES:
        report.show(" x ".join(map(str, shape)), products(bench, *shape))
    for shape in ((64, 128, 1024),) if options.quick else ((64, 4096, 4096), (256, 4096, 4096)):
        report.show(f"Ways, {' x '.join(map(str, shape))}", ways(bench, *shape))
    report.write(options.json)


if __name__ == "__main__":
    main()
