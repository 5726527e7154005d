"""Products of wide integers, of field elements and of floats on tensor cores, beside cuBLAS' and CuPy's.

    python -m bench.wide [--json FILE] [--device 1] [--quick]

Launches come from graphs, rivals are asked in turn in the same process, all data are on the device, and all
products are compared with those of wider numbers beforehand. "with_splitting" has the splitting of both sides
in its time, which rivals do not need; "error" is that of 64 rows, the root of the sum of squares over that of
the products of float64. "weights_at_challenges" is r^T W X: one row of elements, W of 4096 x 4096 bytes,
split beforehand, and 64 columns X of bytes; "rows_combine" is the kernel of elements that makes it otherwise,
"fr" what as many products of elements take at the rate of a card that does nothing else. Products of layers
are made in every way: "planned" is the one that the model chooses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.elements import random_elements
from bench.report import Report, Row
from bench.roofline import Roofline, captured, card_argument_parser, machine, published, replayed
from zenserve.gpu import modules, rows
from zenserve.gpu.device import Array, Device
from zenserve.gpu.wide import Card, Elements, Floats, Plan, Product, Range, plans
from zenserve.kernels import fr

BYTES: Final = (-(1 << 7), (1 << 7) - 1)
SHORTS: Final = (-(1 << 15), (1 << 15) - 1)
WORDS: Final = (-(1 << 24), 1 << 24)
"""Of four bytes, and sums of 2^13 products fit 64 bits."""

LAYERS: Final = (
    (64, 1024, 1024),
    (256, 1024, 1024),
    (64, 4096, 4096),
    (1024, 1024, 1024),
    (4096, 4096, 4096),
)
"""Rows, columns, depth."""


def integers(bench: Roofline, size: int, name: str, numbers: Range, kind: type) -> Iterator[Row]:
    """In turn with cuBLAS' float64, exact below 2^53, and with CuPy's int64."""
    device, depth = bench.device, size
    left, right = (_drawn(numbers, (size, depth), kind, seed) for seed in (1, 2))
    product = Product(device, size, size, depth, (numbers, numbers))
    given, out = (device.upload(left), device.upload(right)), device.empty((size, size), np.int64)
    sides = product.left(given[0]), product.right(given[1])
    count = _count(size)
    peers = {"dgemm": torch_product("float64", size, count)} if find_spec("torch") else {}
    run = replayed(device, partial(product.multiply, *sides, out), count)
    operations = 2 * size**3
    found = bench.measure(name, size, run, peers=peers, operations=operations, plan=said(product.plan))
    _check(left, right, device.download(out))
    yield from found

    def whole() -> None:
        product.multiply(product.left(given[0]), product.right(given[1]), out)

    yield from bench.measure(
        f"{name}_with_splitting", size, replayed(device, whole, count), operations=operations
    )
    if size == LARGEST_CUPY and find_spec("cupy"):
        seconds = cupy_product(given)
        yield published(found[0], "cupy", seconds)


LARGEST_CUPY: Final = 4096


def ways(bench: Roofline, layer: tuple[int, int, int], numbers: Range) -> Iterator[Row]:
    """All ways to make a product: the planned one's row, and the fastest's beside it. "foretold" is what the
    model says of the planned one."""
    device, (many, columns, depth) = bench.device, layer
    left, right = _drawn(numbers, (many, depth), np.int32, 1), _drawn(numbers, (columns, depth), np.int32, 2)
    chosen = Product(device, many, columns, depth, (numbers, numbers)).plan
    runs: dict[Plan, Callable[[], float]] = {}
    out = device.empty((many, columns), np.int64)
    results = []
    for each in plans(chosen.left, chosen.right):
        product = Product(device, many, columns, depth, (numbers, numbers), each)
        sides = product.left(device.upload(left)), product.right(device.upload(right))
        runs[each] = replayed(device, partial(product.multiply, *sides, out), 10)
        runs[each]()
        results.append(device.download(out))
    _check(left, right, results[0])
    if not all(np.array_equal(each, results[0]) for each in results):
        raise RuntimeError(f"not all products of {layer} are the same")
    seconds = {
        each: float(np.median([run() for _ in range(bench.repetitions)])) for each, run in runs.items()
    }
    fastest = min(seconds, key=lambda each: seconds[each])
    said_of = {"shape": " x ".join(map(str, layer)), "plan": said(chosen), "fastest": said(fastest)}
    foretold = chosen.seconds(Card.of(device), *layer)
    all_of_them = {said(each): took for each, took in seconds.items()}
    name = f"planned_{8 * chosen.left}_bits"
    more = said_of | {"foretold": foretold, "ways": all_of_them}
    ours = Row(name, math.prod(layer), seconds[chosen], more=more)
    yield from (ours, published(ours, "fastest", seconds[fastest]))


def floats(bench: Roofline, size: int) -> Iterator[Row]:
    """In turn with cuBLAS' float32, TF32 off."""
    device, draw = bench.device, np.random.default_rng(1)
    left, right = (draw.standard_normal((size, size), np.float32) for _ in range(2))
    product = Floats(device, size, size, size)
    given, out = (device.upload(left), device.upload(right)), device.empty((size, size), np.float32)
    sides = product.left(given[0]), product.right(given[1])
    count = _count(size)
    peers: dict[str, Callable[[], float]] = {}
    errors: dict[str, Any] = {}
    run = replayed(device, partial(product.multiply, *sides, out), count)
    if find_spec("torch"):
        peers["sgemm"] = torch_product("float32", size, count)
        errors["peer_error"] = _error(left, right, torch_result(left, right))
    product.multiply(*sides, out)
    errors["error"] = _error(left, right, device.download(out))
    operations = 2 * size**3
    yield from bench.measure("float32", size, run, peers=peers, operations=operations, **errors)

    def whole() -> None:
        product.multiply(product.left(given[0]), product.right(given[1]), out)

    yield from bench.measure(
        "float32_with_splitting", size, replayed(device, whole, count), operations=operations
    )


def challenges(bench: Roofline, size: int, inputs: int) -> Iterator[Row]:
    device = bench.device
    weights, values = _drawn(BYTES, (size, size), np.int8, 1), _drawn(BYTES, (inputs, size), np.int8, 2)
    r = device.upload(random_elements(size))
    row, out = device.empty((1, size, 4), np.uint64), device.empty((1, inputs, 4), np.uint64)
    first, second = Elements(device, 1, size, size, BYTES), Elements(device, 1, inputs, size, BYTES)
    turned, columns = first.right(device.upload(np.ascontiguousarray(weights.T))), device.upload(values)

    def ours() -> None:
        first.multiply(first.left(r), turned, row)
        second.multiply(second.left(row), second.right(columns), out)

    run = replayed(device, ours, 20)
    peers: dict[str, Callable[[], float]] = {}
    if device.free_bytes() > 40 * size * (size + inputs):
        matrices = [_elements(device, each) for each in (weights, np.ascontiguousarray(values.T))]
        combined, sums = device.zeros((size, 4), np.uint64), device.zeros((inputs, 4), np.uint64)

        def theirs() -> None:
            device.fill(combined, 0)
            device.fill(sums, 0)
            rows.combine(device, matrices[0], r, combined)
            rows.combine(device, matrices[1], combined, sums)

        peers["rows_combine"] = replayed(device, theirs, 1)
    found = bench.measure("weights_at_challenges", size, run, peers=peers, inputs=inputs)
    yield from found
    products = size * size + size * inputs
    yield published(found[0], "fr", products / element_rate(bench))
    run()
    result = device.download(out).reshape(-1, 4)
    if peers:
        peers["rows_combine"]()
        if not np.array_equal(result, device.download(sums)):
            raise RuntimeError("a product of elements is wrong")
    yield from bench.measure(
        "row_at_challenges", size, replayed(device, partial(first.multiply, first.left(r), turned, row), 20)
    )


def element_rate(bench: Roofline) -> float:
    """Products of elements a second in registers."""
    device, blocks, rounds = bench.device, 1 << 11, 1 << 11
    kernels = modules.load(device, "ceilings", "ZEN_CALL_PRODUCTS")
    values = device.upload(np.ones((2 * 256 * blocks, 4), np.uint64))
    milliseconds = device.milliseconds(
        partial(kernels.launch, "fr_products", blocks, 256, values, np.int32(rounds))
    )
    return 2 * 256 * blocks * rounds / milliseconds * 1000


def _elements(device: Device, integers: NDArray[Any]) -> Array:
    """Uploaded as elements, uint64[.., 4]."""
    table = fr.from_ints([each % fr.modulus for each in range(-128, 128)])
    return device.upload(table[integers.astype(np.int64) + 128])


def torch_product(kind: str, size: int, count: int) -> Callable[[], float]:
    """Seconds of cuBLAS' product of square matrices, from a graph."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    left, right = (torch.randn((size, size), dtype=getattr(torch, kind), device="cuda") for _ in range(2))
    out = torch.empty_like(left)
    return captured(partial(torch.matmul, left, right.t(), out=out), count)


def torch_result(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    a, b = (torch.from_numpy(each).cuda() for each in (left, right))
    found: NDArray[np.float32] = (a @ b.t()).cpu().numpy()
    return found


def cupy_product(given: tuple[Array, Array]) -> float:
    """Seconds of CuPy's product of int64, the second of two."""
    import cupy

    left, right = (cupy.asarray(each).astype(cupy.int64) for each in given)
    taken = 0.0
    for _ in range(2):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        cupy.matmul(left, right.T)
        stop.record()
        stop.synchronize()
        taken = float(cupy.cuda.get_elapsed_time(start, stop)) / 1000
    return taken


def said(chosen: Plan) -> str:
    kernel = f"{chosen.groups} groups" if chosen.kernel == "large" else "warps"
    return f"{kernel}, {chosen.left} x {chosen.right} bytes, depth by {chosen.split}"


def _drawn(numbers: Range, shape: tuple[int, int], kind: type, seed: int) -> NDArray[Any]:
    return np.random.default_rng(seed).integers(*numbers, shape, endpoint=True).astype(kind)


def _count(size: int) -> int:
    """Launches of a graph."""
    return max(1, min(20, (1 << 38) // size**3))


def _some(left: NDArray[Any]) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, len(left) - 1, 64, dtype=np.int64))


def _check(left: NDArray[Any], right: NDArray[Any], found: NDArray[np.int64]) -> None:
    """Of 64 rows, by products of halves of numbers, whose sums float64 has exactly."""
    some = _some(left)
    wide = left[some].astype(np.int64)
    lower = wide & 0xFFFF
    parts = ((wide - lower) >> 16, lower)
    upper, rest = ((each.astype(np.float64) @ right.T.astype(np.float64)).astype(np.int64) for each in parts)
    if not np.array_equal(found[some], (upper << 16) + rest):
        raise RuntimeError(f"a product of {left.shape} and {right.shape} numbers is wrong")


def _error(left: NDArray[np.float32], right: NDArray[np.float32], found: NDArray[np.float32]) -> float:
    some = _some(left)
    exact = left[some].astype(np.float64) @ right.T.astype(np.float64)
    return float(np.linalg.norm(found[some] - exact) / np.linalg.norm(exact))


def main() -> None:
    options = card_argument_parser(__doc__).parse_args()
    device, repetitions = Device(options.device), 1 if options.quick else 9
    report = Report("wide", f"median of {repetitions}", machine(device))
    bench = Roofline(device, repetitions, report)
    sizes, layers = ((128,), ((16, 64, 256),)) if options.quick else ((1024, 2048, 4096, 8192), LAYERS)
    kinds: tuple[tuple[str, Range, type], ...] = (("int16", SHORTS, np.int16), ("int32", WORDS, np.int32))
    for size in sizes:
        for name, numbers, kind in kinds:
            report.show(f"{name}, {size} x {size} x {size}", integers(bench, size, name, numbers, kind))
    report.show("r^T W X", challenges(bench, 256 if options.quick else 4096, 64))
    for size in (128,) if options.quick else (4096, 8192, 16384):
        report.show(f"float32, {size} x {size} x {size}", floats(bench, size))
    for layer in layers:
        for _, numbers, _ in kinds:
            report.show("Plans, " + " x ".join(map(str, layer)), ways(bench, layer, numbers))
    report.write(options.json)


if __name__ == "__main__":
    main()
