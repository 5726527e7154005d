"""What was wanted of low-bit and wide products, and what was reached: a table of docs/lowbit.md."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Final, NamedTuple

from bench.pages.gpu import CONVOLUTIONS, NETWORKS, PRODUCTS, SMALLER, WIDE, WITNESSES
from bench.pages.lowbit import LOWBIT
from bench.pages.performance import COMPILER
from bench.pages.tables import rows, table
from bench.report import Row, duration

SMALL: Final = "64 x 1024 x 1024"
LARGE: Final = "8192 x 8192 x 8192"


class Aim(NamedTuple):
    """``published``: what the paper has, of another card."""

    of: str
    wanted: str
    reached: str
    published: str = ""


def times(value: float) -> str:
    return f"{value:.2f}x"


def one(chosen: list[Row], name: str, **said: object) -> Row:
    """The only row of this name with these columns."""
    (found,) = (
        row
        for row in chosen
        if row.name == name and all(getattr(row, key, row.more.get(key)) == said[key] for key in said)
    )
    return found


def beside(chosen: list[Row], name: str) -> str:
    """The ratio of the only row of this name."""
    return times(one(chosen, name).ratio or 0)


def ratios(chosen: list[Row], peer: str) -> list[float]:
    return [row.ratio for row in chosen if row.peer == peer and row.ratio]


def best_and_median(found: list[float]) -> str:
    return f"{times(max(found))}, {times(statistics.median(found))}"


def products() -> Iterator[Aim]:
    small, large, every = rows(PRODUCTS, SMALL), rows(PRODUCTS, LARGE), rows(PRODUCTS, "")
    for widths, published in (("w1a2", "6.67"), ("w2a2", "7.15"), ("w1a4", "7.06")):
        reached = f"{duration(one(small, widths).median)}, {beside(small, f'cublaslt_{widths}')}"
        wanted = "3 µs, 1.5x cuBLASLt's bytes"
        yield Aim(f"{SMALL}, {widths}", wanted, reached, f"{published} µs, an RTX 3090")
    for widths, wanted in (("w1a1", "5x"), ("w1a2", "2.8x"), ("w2a2", "1.4x"), ("w1a4", "1.4x")):
        yield Aim(f"{LARGE}, {widths}", wanted, beside(large, f"cublaslt_{widths}"))
    least = min((row for row in every if row.peer == "cublaslt"), key=lambda row: row.ratio or 0)
    where = f"{times(least.ratio or 0)}: {least.topic}, {least.name.removeprefix('cublaslt_')}"
    yield Aim("all shapes and widths, the least", "0.97x", where)


def wide() -> Iterator[Aim]:
    shape = "4096 x 4096 x 4096"
    int16, int32, floats = (rows(WIDE, of) for of in (f"int16, {shape}", f"int32, {shape}", "float32"))
    tera = one(int32, "int32").more["operations"] / one(int32, "int32").median / 1e12
    yield Aim(f"int16, {shape}, beside float64's", "3.2x", beside(int16, "dgemm_int16"))
    yield Aim("the same beside CuPy's int64", "100x", beside(int16, "cupy_int16"))
    yield Aim(f"int32, {shape}, exact", "50 TOPS", f"{tera:.0f} TOPS")
    reached = times(min(ratios(floats, "sgemm")))
    yield Aim("floats beside cuBLAS', the least", "3x", reached, "3.13x, a T4")
    reached = beside(rows(WIDE, "r^T"), "rows_combine_weights_at_challenges")
    yield Aim("r^T W X beside the kernel of elements", "10x", reached)


def convolutions() -> Iterator[Aim]:
    kernels, fused, networks = (rows(CONVOLUTIONS, of) for of in ("kernels", "fused", "networks"))
    halves, bytes_made = (best_and_median(ratios(kernels, peer)) for peer in ("cudnn_half", "im2col"))
    yield Aim("convolutions beside cuDNN's halves, best and median", "3.8x, 2x", halves, "3.78x of int4")
    published = "3.08x of int8"
    yield Aim("beside bytes whose rows are made, best and median", "3.1x, 2x", bytes_made, published)
    yield Aim("fused beside its parts, the least", "1.9x", times(min(ratios(fused, "parts"))), "1.77x")
    eight = one(networks, "resnet18-imagenet-w1a2", size=8)
    rate = max(row.median for row in networks if row.name.endswith("_rate"))
    published = "0.64 ms, an RTX 3090"
    yield Aim("ResNet-18, w1a2, 224 x 224: 8 images", "0.4 ms", duration(eight.median), published)
    yield Aim("the same, images a second", "60,000", f"{rate:,.0f}", "17,000")


def proofs() -> Iterator[Aim]:
    outputs = rows(NETWORKS, "Outputs")
    made, smaller = (rows(file, "From an input") for file in (WITNESSES, SMALLER))
    network = "lenet-medium, public weights"
    reached = f"{duration(one(outputs, network).median)}, {beside(outputs, f'two_threads_{network}')}"
    yield Aim("outputs of 10,000 samples, lenet-medium", "50 ms, 100x two threads", reached)
    (several,) = ratios(rows(WITNESSES, "One after the other"), "two_threads")
    yield Aim("64 witnesses of resnet18-cifar beside two threads", "20x", times(several))
    for name, wanted in (
        ("lenet-face-large, committed weights", "200 ms"),
        ("resnet18-cifar, public weights", "100 ms"),
        ("lenet-face-small, committed weights", "40 ms"),
    ):
        reached, less = (duration(one(each, name, system="groth16").median) for each in (made, smaller))
        yield Aim(f"input to Groth16 proof, {name}", wanted, f"{reached}, an H100 {less}")
    for name, what, wanted in (
        ("resnet50_witness", "public", "530 ms"),
        ("resnet50_committed_witness", "committed", "1 s"),
    ):
        taken = duration(one(rows(COMPILER, "The zoo"), name).median)
        yield Aim(f"witness of resnet50 on two cores, {what} weights", wanted, taken)


def constraints() -> Iterator[Aim]:
    """Of the 8-bit network's."""
    for weights in ("public", "committed"):
        chosen = [row for row in rows(LOWBIT, "Constraints") if row.more["weights"] == weights]
        for bits in ("w1a2", "w2a2", "w4a4"):
            parts = [1 / row.ratio for row in chosen if row.name.endswith(bits) and row.ratio]
            reached = f"{min(parts):.2f} to {max(parts):.2f}"
            yield Aim(f"constraints of {bits}, {weights} weights, of w8a8's", "0.6", reached)


def aims() -> str:
    found = [*products(), *wide(), *convolutions(), *proofs(), *constraints()]
    return table([*found], ["", "wanted", "reached", "published"])
