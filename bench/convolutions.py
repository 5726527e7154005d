"""Convolutions of few bits on tensor cores, beside cuDNN's of halves and cuBLASLt's of bytes.

    python -m bench.convolutions [--topics kernels fused networks] [--json FILE] [--device 1] [--quick]

``kernels``: 3 x 3 places, images of 16 x 16, as many outputs as channels, w{p}a{q}: planes in, planes of two
bits out. Beside them cuDNN's of halves (channels last), cuBLASLt's product of signed bytes with the rows
that it multiplies made first ("im2col"), and that product alone. ``fused``: with ReLU, pool and rescaling,
beside a launch of each: sums of 32 bits, bytes, planes, the largest. ``networks``: ResNet-18 of w1a2, 224 x
224, from bytes to logits, which are compared with the network's; APNN-TC's (Feng et al. 2021) are for an RTX
3090. Launches come from graphs on both sides, in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.lowbit import quantised
from bench.report import Report, Row
from bench.roofline import Roofline, captured, card_argument_parser, machine, on_device, published, replayed
from zenserve.base.randomness import Secrets
from zenserve.circuits.quantised.resident import ResidentNetwork
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.gpu import convolutions
from zenserve.gpu.convolutions import Convolution, MaxPool, Rescaling, empty, pack, rescale
from zenserve.gpu.device import Array, Device

TOPICS: Final = ("kernels", "fused", "networks")
SIDE: Final = 16
CHANNELS: Final = (128, 256, 512, 1024)
IMAGES: Final = (1, 8, 64)
WIDTHS: Final = ((1, 1), (1, 2), (2, 2), (1, 4))
"""Of weights and of activations."""
NETWORK: Final = "resnet18-imagenet-w1a2"
BATCHES: Final = (1, 8, 64, 256, 512)
APNN: Final = {8: 0.64e-3, 512: 512 / 17_000}
"""Seconds of ResNet-18 of w1a2, the better of what the paper and the thesis say."""

_PADDING: Final = (1, 1, 1, 1)


def layer(
    device: Device, images: int, channels: int, widths: tuple[int, int], **more: Any
) -> tuple[Convolution, Array, NDArray[np.int64]]:
    """A convolution, planes for it, and the sums of the first image, [height, width, outputs]."""
    weight_bits, bits = widths
    rng = np.random.default_rng(channels)
    values = rng.integers(0, 1 << bits, (images, SIDE, SIDE, channels), np.uint8)
    shape = channels, channels, 3, 3
    weight = rng.integers(0, 1 << weight_bits, shape) - (1 << weight_bits - 1)
    if weight_bits == 1:
        weight = 2 * weight + 1
    zeros, size = np.zeros(channels, np.int64), (SIDE, SIDE)
    made = Convolution(device, weight, zeros, size, bits, Secrets(), 1, _PADDING, images=images, **more)
    x = empty(device, images, (channels, SIDE, SIDE), bits)
    pack(device, device.upload(values), x)
    first = np.pad(values[0].astype(np.float32), ((1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(first, (3, 3), axis=(0, 1))
    rows = windows.reshape(SIDE * SIDE, -1)  # sums below 2^24
    found = rows @ weight.reshape(channels, -1).astype(np.float32).T
    return made, x, found.astype(np.int64).reshape(SIDE, SIDE, channels)


def kernels(bench: Roofline, images: int, channels: int) -> Iterator[Row]:
    device = bench.device
    size = images * SIDE * SIDE * 9 * channels**2
    count = max(3, min(50, (1 << 38) // size))
    peers = rivals(images, channels, count) if find_spec("torch") else {}
    shift = Rescaling(1, 0, (9 * channels).bit_length() // 2, 2)
    for widths in WIDTHS:
        made, x, sums = layer(device, images, channels, widths, rescaling=shift)
        out = empty(device, images, made.shape, made.bits)
        run = replayed(device, partial(made.run, x, out), count)
        name, plan = (
            f"w{widths[0]}a{widths[1]}",
            f"{made.plan.groups} groups, {made.plan.columns} columns, split by {made.plan.split}",
        )
        yield from bench.measure(name, size, run, peers=peers, plan=plan)
        _check(device, out, np.clip(sums >> shift.shift, 0, 3))


def _check(device: Device, planes: Array, wanted: NDArray[np.int64]) -> None:
    found = device.empty((1, *wanted.shape), np.uint8)
    convolutions.unpack(device, planes[:1], found)
    if not np.array_equal(device.download(found)[0], wanted):
        raise RuntimeError(f"a convolution of {wanted.shape} outputs is wrong")


def rivals(images: int, channels: int, count: int) -> dict[str, Callable[[], float]]:
    import torch

    torch.backends.cudnn.benchmark = True
    like: dict[str, Any] = {"device": "cuda", "dtype": torch.half}
    x = torch.randn(images, channels, SIDE, SIDE, **like).to(memory_format=torch.channels_last)
    weight = torch.randn(channels, channels, 3, 3, **like).to(memory_format=torch.channels_last)
    padded = torch.randint(-128, 128, (images, SIDE + 2, SIDE + 2, channels), dtype=torch.int8, device="cuda")
    right = torch.randint(-128, 128, (channels, 9 * channels), dtype=torch.int8, device="cuda").t()

    def rows() -> Any:
        image, row, pixel, _ = padded.stride()
        windows = padded.as_strided((images, SIDE, SIDE, 3, 3, channels), (image, row, pixel, row, pixel, 1))
        return windows.reshape(images * SIDE * SIDE, 9 * channels)

    made = rows()
    return {
        "cudnn_half": captured(partial(torch.nn.functional.conv2d, x, weight, padding=1), count),
        "im2col": captured(lambda: torch._int_mm(rows(), right), count),
        "int8_product": captured(partial(torch._int_mm, made, right), count),
    }


def fused(bench: Roofline, images: int, channels: int) -> Iterator[Row]:
    """w1a2 with a pool of 2 x 2. ``ratio``: of its parts, launched one by one."""
    device, size = bench.device, images * SIDE * SIDE * 9 * channels**2
    count = max(3, min(50, (1 << 38) // size))
    shift = Rescaling(1, 0, (9 * channels).bit_length() // 2, 2)
    made, x, _ = layer(device, images, channels, (1, 2), rescaling=shift, pool=True)
    out = empty(device, images, made.shape, made.bits)
    alone, _, sums = layer(device, images, channels, (1, 2))
    plane = (images, SIDE, SIDE, channels)
    whole, numbers = device.empty(plane, np.int32), device.empty(plane, np.uint8)
    planes, added = empty(device, images, alone.shape, 2), device.zeros(channels, np.int32)
    pool, pooled = MaxPool(device, alone.shape, 2, 2, 2, 0), empty(device, images, made.shape, 2)

    def parts() -> None:
        alone.run(x, whole)
        rescale(device, whole, added, shift, numbers)
        pack(device, numbers, planes)
        pool.run(planes, pooled)

    peers = {"parts": replayed(device, parts, count)}
    run = replayed(device, partial(made.run, x, out), count)
    yield from bench.measure("w1a2", size, run, peers=peers)
    largest = np.clip(sums >> shift.shift, 0, 3).reshape(SIDE // 2, 2, SIDE // 2, 2, -1).max(axis=(1, 3))
    _check(device, out, largest)
    _check(device, pooled, largest)


def networks(bench: Roofline, batches: tuple[int, ...]) -> Iterator[Row]:
    device, qgraph = bench.device, quantised(NETWORK)
    typed, output = TypedGraph(qgraph, "private", "public"), qgraph.output
    shape = max(batches), *qgraph.input.shape
    pixels = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    wanted = qgraph.run(pixels[:1].astype(np.int64))
    for images in batches:
        with ResidentNetwork(device, typed, [output], images) as network:
            network.bring({qgraph.input.name: pixels[:images]})
            (row,) = bench.measure(NETWORK, images, on_device(device, network.launch))
            found = network.made(output)
        yield row
        yield Row(f"{NETWORK}_rate", images, images / row.median, unit="images/s")
        if images in APNN:
            yield published(row, "apnn", APNN[images])
        if not np.array_equal(found[:1], wanted):
            raise RuntimeError(f"{NETWORK} says something else on the card")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = card_argument_parser(__doc__)
    parser.add_argument("--topics", nargs="*", choices=TOPICS, default=TOPICS)
    options = parser.parse_args(arguments)
    device, repetitions = Device(options.device), 1 if options.quick else 15
    report = Report("convolutions", f"median of {repetitions}", machine(device))
    bench = Roofline(device, repetitions, report)
    sizes = [(1, 32)] if options.quick else [(images, each) for images in IMAGES for each in CHANNELS]
    for topic, rows in (("kernels", kernels), ("fused", fused)):
        for images, channels in sizes if topic in options.topics else ():
            report.show(f"{topic}: {images} x {channels} channels", rows(bench, images, channels))
    if "networks" in options.topics:
        report.show("networks", networks(bench, BATCHES[:1] if options.quick else BATCHES))
    report.write(options.json)


if __name__ == "__main__":
    main()
