"""Networks of integers that a GPU runs have the processor's integers, every tensor of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.lowbit import quantised
from tests.circuits.quantised import networks
from tests.circuits.quantised.networks import KINDS
from tests.gpu.emulator.place import EMULATED
from zenserve.base.randomness import Secrets
from zenserve.circuits.graphs.node import QuantNode
from zenserve.circuits.graphs.types import Affine, Rescale, WeightType
from zenserve.circuits.operators.add import QuantAdd
from zenserve.circuits.operators.average_pool import WindowSum
from zenserve.circuits.operators.convolution import QuantConv
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.operators.largest import QuantTopK
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.quantised import QuantGraph, QuantInput
from zenserve.circuits.quantised.few_bits import FewBits
from zenserve.circuits.quantised.resident import ResidentNetwork, run_all, runs
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.gpu.device import Device
from zenserve.gpu.layers import Combined, Ending, Sliding, Weighted
from zenserve.prover.backends import gpu
from zenserve.relations import planes
from zenserve.relations.functions import Requantisation, Tabulation

ON = gpu.backend(0)


@pytest.fixture(scope="module")
def device() -> Device:
    return Device()


def require_same(device: Device, graph: QuantGraph, count: int, at_once: int) -> None:
    q = networks.inputs(graph, count, seed=1)
    typed = TypedGraph(graph, "private", "public")
    assert runs(typed)
    expected = dict(graph.tensors(q))
    for names in ([*expected], [graph.output]):
        with ResidentNetwork(device, typed, names, at_once) as network:
            assert network.samples == at_once
            found = network.run({graph.input.name: q})
        for name in names:
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


@pytest.mark.parametrize("most_bits", [8, 16])
@pytest.mark.parametrize("seed", range(6))
def test_every_kind_of_node(device: Device, seed: int, most_bits: int) -> None:
    kinds = np.random.default_rng(seed).permutation(KINDS)[:4].tolist()
    graph = networks.of_kinds(seed, *kinds, most_bits=most_bits)
    require_same(device, graph, 5, 3)


@pytest.mark.parametrize(
    ("channels", "groups", "outputs", "kernel", "stride", "padding", "dilation"),
    [
        (
            16,
            1,
            70,
            (3, 3),
            (1, 1),
            (1, 1, 1, 1),
            (),
        ),  # pieces of 16 channels, eight tiles, two blocks of outputs
        (8, 2, 36, (3, 2), (2, 1), (0, 1, 2, 0), ()),  # of 4 channels, groups, four tiles
        (3, 1, 5, (5, 5), (1, 2), (0, 0, 0, 0), (1, 2)),  # of single ones
        (32, 1, 3, (7,), (3,), (2, 4), (2,)),
        (2, 1, 9, (2, 3, 2), (1, 1, 2), (0, 1, 0, 1, 0, 1), ()),
        (40, 1, 10, (1, 1), (1, 1), (0, 0, 0, 0), ()),
    ],
)
def test_weighted_sums_of_bytes_at_all_extremes(
    device: Device,
    channels: int,
    groups: int,
    outputs: int,
    kernel: planes.Sizes,
    stride: planes.Sizes,
    padding: planes.Sizes,
    dilation: planes.Sizes,
) -> None:
    """On tensor cores and without, of weights of any sign, below an offset of their output's own."""
    rng, image, samples = np.random.default_rng(channels), (9, 10, 7)[: len(kernel)], 3
    x = rng.integers(0, 256, (samples, channels, *image))
    x[0], x[1] = 255, 0
    lows = rng.integers(-255, 1, (outputs, 1))
    weight = (lows + rng.integers(0, 256, (outputs, channels // groups * int(np.prod(kernel))))).astype(
        np.int64
    )
    weight[0], weight[1], weight[2] = 255, -255, 1
    weight = weight.reshape(outputs, channels // groups, *kernel)
    bias = rng.integers(-(1 << 20), 1 << 20, outputs)
    zero = int(rng.integers(0, 256))
    expected = planes.convolve_integers(x - zero, weight, stride, padding, groups, dilation)
    expected += bias.reshape(-1, *(1 for _ in kernel))
    sliding = Sliding(
        image, kernel, expected.shape[2:], stride, padding[: len(kernel)], dilation or (1,) * len(kernel),
        channels, groups, outputs, zero,
    )  # fmt: skip
    given = np.ascontiguousarray(np.moveaxis(x, 1, -1)).astype(np.uint8)
    for narrow in (True, False):
        lie, kind = np.moveaxis(weight, 1, -1), np.dtype(np.uint8)
        layer = Weighted(device, sliding, kind, lie, bias, Secrets(), narrow=narrow)
        assert (layer.source == ("layers",)) != narrow
        out = device.empty((samples, sliding.entries), np.int32)
        layer(samples, [device.upload(given)], Ending(device, np.dtype(np.int32)), out)
        found = device.download(out).reshape(samples, *expected.shape[2:], outputs)
        np.testing.assert_array_equal(np.moveaxis(found, -1, 1), expected)


def test_what_sums_become(device: Device) -> None:
    """Multipliers of each channel, a clamp, and a table behind it, at both ends."""
    sums = np.array([[-(1 << 40), 5, -1, 1 << 40, 300, -300]])
    multiplier, table = np.array([3, 1]), np.array([7, 250, 9, 11])
    ending = Ending(device, np.dtype(np.uint8), multiplier, (4, 3, -2, 40), table, -1)
    copied, one = (
        Combined(device, [np.dtype(np.int64)], [np.ones(1, np.int64)], [np.zeros(1, np.int64)]),
        [sums],
    )
    out = device.empty(sums.shape, np.uint8)
    copied(1, [device.upload(each) for each in one], ending, out)
    requantised = Requantisation(np.array([3, 1, 3, 1, 3, 1]), 4, 3, -2, 40).apply(sums)
    np.testing.assert_array_equal(device.download(out), Tabulation(table, -1).apply(requantised))


def test_sums_of_many_terms(device: Device) -> None:
    kind, names = Affine(1.0, 3, 8), [f"x{i}" for i in range(11)]
    factors = tuple(int(each) for each in np.random.default_rng(1).integers(1, 99, len(names)))
    rescale = Rescale(np.array([3]), 7, Affine(1.0, 100, 8), 2, 250)
    total = QuantAdd("total", tuple(names), factors, rescale=rescale)
    graph = QuantGraph(tuple(QuantInput(name, (2, 3), kind) for name in names), (total,), {"output": "total"})
    q = {name: np.random.default_rng(i).integers(0, 256, (2, 2, 3)) for i, name in enumerate(names)}
    found = run_all(device, graph, q, ["total", "x3"])
    assert found is not None
    for name, expected in graph.run_all(q, ["total", "x3"]).items():
        np.testing.assert_array_equal(found[name], expected)


def test_what_has_no_kernel_the_processor_runs(device: Device) -> None:
    kind = Affine(1.0, 0, 3)
    graph = QuantGraph.of("x", (2, 5), kind, (QuantTopK("top", ("x",), 2, False, Affine(1.0, 0, 3)),), "top")
    q = networks.inputs(graph, 3)
    assert run_all(device, graph, {"x": q}, ["top"]) is None
    np.testing.assert_array_equal(graph.run_all(q, ["top"], on=ON)["top"], graph.run_all(q, ["top"])["top"])


def test_tensors_of_few_bits_are_planes(device: Device) -> None:
    """A pool, a residual and a mean between convolutions of weights of ±1 and of four bits."""
    rng, two, three = np.random.default_rng(3), Affine(1.0, 0, 2), Affine(1.0, 0, 3)
    signs, four = (WeightType(np.ones(1), np.array([zero]), bits) for zero, bits in ((0, 1), (8, 4)))
    weights = [
        rng.integers(0, top, shape, dtype=np.uint8) for top, shape in ((16, (9, 3, 3, 3)), (2, (9, 9, 3, 3)))
    ]
    none, around = np.zeros(9, np.int64), (1, 1, 1, 1)
    to_two, to_three = Rescale(np.array([1]), 3, two, 0, 3), Rescale(np.array([1]), 0, three, 0, 7)
    nodes: tuple[QuantNode, ...] = (
        QuantConv("a", ("x",), weights[0], four, none, (1, 1), around, rescale=replace(to_two, shift=9)),
        MaxPool("b", ("a",), (3, 3), (2, 2), around),
        QuantConv("c", ("b",), weights[1], signs, none, (1, 1), around, rescale=to_two),
        QuantAdd("d", ("c", "b"), (1, 1), rescale=to_three),
        QuantConv("e", ("d",), weights[1], signs, none, (1, 1), around, rescale=to_two),
        MaxPool("f", ("e",), (2, 2), (2, 2)),
        WindowSum("g", ("f",), (2, 2), (1, 1), rescale=replace(to_three, multiplier=np.array([2]))),
        Reshape("h", ("g",), (9,)),
        QuantDense("y", ("h",), weights[1][:4, :, 0, 0], signs, none[:4]),
    )
    graph = QuantGraph.of("x", (3, 9, 8), Affine(1.0, 0, 8), nodes, "y")
    require_same(device, graph, 3, 3)
    typed = TypedGraph(graph, "private", "public")
    few = FewBits(device, typed.relations, {typed.made["y"]}, 1, Secrets())
    fused = [few.convolution(each, {typed.made["b"]}) for each in typed.relations.relations]
    assert [[part.out.name for part in each.relations][-1] for each in fused if each] == ["a", "d", "f"]


@pytest.mark.large
@pytest.mark.parametrize("name", ["resnet18-cifar-w1a2", "alexnet-cifar-w1a2", "vgg-cifar-w1a2"])
def test_large_networks_of_few_bits(device: Device, name: str) -> None:
    require_same(device, quantised(name), 2, 2)


def test_networks_of_the_zoo(device: Device) -> None:
    """In batches, the last of which is not full."""
    graph = quantised("lenet-mnist-w1a2")
    require_same(device, graph, 3, 2)


@pytest.mark.skipif(not EMULATED, reason="looks into the emulated device's memory")
@pytest.mark.parametrize("room", [True, False])
def test_weights_are_erased(device: Device, monkeypatch: pytest.MonkeyPatch, room: bool) -> None:
    """Those of planes and of bytes: once a network has run, and where no room was left beside them."""
    two, none = Affine(1.0, 0, 2), np.zeros(8, np.int64)
    signs, eight = (WeightType(np.ones(1), np.array([0]), bits) for bits in (1, 8))
    ones, rescale = np.ones((8, 128, 1, 1), np.uint8), Rescale(np.array([1]), 6, two, 0, 3)
    nodes: tuple[QuantNode, ...] = (
        QuantConv("conv", ("x",), ones, signs, none, rescale=rescale),
        Reshape("flat", ("conv",), (128,)),
        QuantDense("y", ("flat",), np.full((8, 128), 201, np.uint8), eight, none),
    )
    graph = QuantGraph.of("x", (128, 4, 4), two, nodes, "y")
    arrays, seen, take, erase = list[Any](), list[bool](), device.empty, Secrets.erase

    def taken(*given: Any) -> Any:
        arrays.append(take(*given))
        return arrays[-1]

    def found() -> list[bool]:
        return [any(bytes([each] * 16) in array.tobytes() for array in arrays) for each in (255, 201)]

    def seen_before(secret: Secrets) -> None:
        seen.extend(found())
        erase(secret)

    monkeypatch.setattr(device, "empty", taken)
    monkeypatch.setattr(Secrets, "erase", seen_before)
    if not room:
        monkeypatch.setattr(device, "free_bytes", lambda: 0)
    made = run_all(device, graph, {"x": np.zeros((2, 128, 4, 4), np.int64)}, ["y"])
    assert (made is not None, seen, found()) == (room, [True, True], [False, False])
