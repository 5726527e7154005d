"""The zoo's networks of few bits: their sizes, what they compute, and what their circuits cost and prove."""

from __future__ import annotations

import math
import re
from typing import get_args

import numpy as np
import pytest

from bench.lowbit import held_out, quantised
from bench.stages import prove, require_shown
from examples.zoo.data import FOLDER
from tests.circuits.support import R, answered, first_violation, forge
from tests.circuits.test_lowering import refuse_all_lies
from tests.refusals import refuses
from zenserve.circuits import QuantGraph, compile_inference, plan_inference, quantise, zoo
from zenserve.circuits.zoo import lowbit
from zenserve.circuits.zoo.lowbit import ARCHITECTURES, IMAGE, Integers, Layer, Network, called
from zenserve.kernels import fr
from zenserve.prover.registry import SYSTEMS
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy

# Weights of networks of 224 x 224 pixels: torchvision's ResNet-18 without its normalisations and biases, and
# the two that HWGQ has.
SIZES = {
    "alexnet-imagenet": 62_367_776,
    "vgg-imagenet": 138_024_736,
    "resnet18-imagenet": 11_678_912,
}


@pytest.mark.parametrize("name", SIZES)
def test_the_networks_are_the_papers(name: str) -> None:
    network = ARCHITECTURES[name]((1, 2))
    assert sum(math.prod(layer.shape) for layer in network.layers) == SIZES[name]
    assert network.shape == (3, 224, 224)
    first, *between, last = network.layers
    assert (first.weight_bits, last.weight_bits) == (4, 8)
    assert {(layer.weight_bits, layer.bits) for layer in between} == {(1, 2)}


def test_names_that_no_network_has_are_refused() -> None:
    assert zoo.resolve("vgg-cifar-w1a2") == "vgg-cifar-w1a2"
    for name in ("vgg-cifar-w9a2", "vgg-cifar-w0a2", "vgg-cifar", "inception-cifar-w1a2"):
        with refuses("model.unknown", match="alexnet-cifar"):
            zoo.network(name)


def blocks(bits: lowbit.Bits) -> Network:
    """A pool, two residuals, one of them of half the plane, and a mean."""
    weights, made = bits
    layers = (
        Layer("conv1", (4, 1, 3, 3), 4, made, padding=1, pool=(3, 2, 1)),
        Layer("1a", (4, 4, 3, 3), weights, made, padding=1),
        Layer("1b", (4, 4, 3, 3), weights, made, padding=1, adds="conv1"),
        Layer("short", (3, 4, 1, 1), weights, made, stride=2),
        Layer("2a", (3, 4, 3, 3), weights, made, stride=2, padding=1, reads="1b"),
        Layer("2b", (3, 3, 3, 3), weights, made, padding=1, adds="short"),
        Layer("fc1", (2, 3), 8, None, whole=True),
    )
    return Network((1, 6, 6), layers)


def integers_of(network: Network) -> dict[str, Integers]:
    """With biases."""
    rng = np.random.default_rng(2)
    made = lowbit.untrained(network, "blocks")
    return {
        name: Integers(layer.weight, rng.integers(-1, 2, len(layer.weight)) << layer.shift, layer.shift)
        for name, layer in made.items()
    }


def blocks_graph(bits: lowbit.Bits) -> QuantGraph:
    network = blocks(bits)
    return quantise(lowbit.graph_of(network, integers_of(network)), np.zeros((1, *network.shape)))


def by_hand(network: Network, integers: dict[str, Integers], image: IntArray) -> list[int]:
    """Value by value."""
    made = {IMAGE: image}
    for layer, read in lowbit.read_by(network):
        x, own = made[read], integers[layer.name]
        if layer.whole or x.ndim == 1:
            x = x.reshape(len(x), -1).sum(axis=1)
            sums = own.weight @ x + own.bias
        else:
            sums = convolved(x, own.weight, layer) + own.bias[:, np.newaxis, np.newaxis]
        if layer.bits is not None:
            half = 1 << own.shift >> 1
            sums = np.clip(sums + half >> own.shift, 0, (1 << layer.bits) - 1)
        if layer.pool is not None:
            sums = largest(sums, *layer.pool)
        made[layer.name] = sums + made[layer.adds] if layer.adds else sums
    return [int(each) for each in made[network.layers[-1].name]]


def convolved(x: IntArray, weight: IntArray, layer: Layer) -> IntArray:
    windows = seen(x, weight.shape[-1], layer.stride, layer.padding)
    return np.array([[[int((kernel * w).sum()) for w in row] for row in windows] for kernel in weight])


def largest(x: IntArray, kernel: int, stride: int, padding: int) -> IntArray:
    windows = seen(x, kernel, stride, padding)
    return np.array([[[int(w[c].max()) for w in row] for row in windows] for c in range(len(x))])


def seen(x: IntArray, kernel: int, stride: int, padding: int) -> list[list[IntArray]]:
    padded = np.pad(x, ((0, 0), (padding, padding), (padding, padding)))
    starts = range(0, padded.shape[1] - kernel + 1, stride)
    return [[padded[:, i : i + kernel, j : j + kernel] for j in starts] for i in starts]


@pytest.mark.parametrize("bits", [(1, 1), (1, 2), (2, 2), (4, 4)])
def test_executor_and_circuit_compute_what_is_trained(bits: lowbit.Bits) -> None:
    qgraph, network = blocks_graph(bits), blocks(bits)
    images = np.random.default_rng(3).integers(0, 256, size=(40, *network.shape))
    images[20:] //= 8
    expected = [by_hand(network, integers_of(network), image) for image in images]
    assert qgraph.run(images).tolist() == expected
    assert len(set(map(tuple, expected))) > 2
    require_shown(compile_inference(qgraph, reveal="values"), images[0])


@pytest.mark.parametrize("weights", ["public", "committed"])
def test_every_wire_of_residuals_and_pools_is_determined(weights: Privacy) -> None:
    qgraph = blocks_graph((1, 2))
    circuit = compile_inference(qgraph, weight_privacy=weights)
    image = np.random.default_rng(4).integers(0, 256, size=qgraph.input.shape)
    refuse_all_lies(circuit, image, linked=("/weight", "/bias"))


def test_lies_that_all_later_wires_follow_are_refused() -> None:
    """The prover insists on an output, a sum or a maximum, and computes everything after it honestly."""
    qgraph = blocks_graph((1, 2))
    circuit = compile_inference(qgraph)
    image = np.random.default_rng(4).integers(0, 256, size=qgraph.input.shape)
    honest = circuit.assign(image)
    lies = [
        (wire, int(honest[wire]) + step)
        for name, group in circuit.layout.items()
        if name.endswith(("/out", "/quotient", "/remainder")) or re.search(r"/round\d_\d$", name)
        for wire in group.ravel()[::19].tolist()
        for step in (1, -1)
    ]
    told = 0
    for wire, value in lies:
        lie = answered(circuit.program, forge(circuit, image, {wire: value}))
        # What depends on challenges is computed from them, whatever the prover insists on.
        if fr.to_ints(lie[wire]) == [value % R]:
            told += 1
            assert first_violation(circuit.constraint_system, lie) is not None
    assert told > 20


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("weights", get_args(Privacy))
def test_proofs_of_few_bits_are_taken(weights: Privacy, system: str) -> None:
    """``prove`` has zenserve-verify judge them."""
    qgraph = blocks_graph((1, 2))
    circuit = compile_inference(qgraph, weight_privacy=weights)
    image = np.random.default_rng(4).integers(0, 256, size=qgraph.input.shape)
    assert prove(circuit, image, system)["proof_bytes"] > 0


@pytest.mark.parametrize("architecture", lowbit.TRAINED_ARCHITECTURES)
def test_networks_of_few_bits_have_few_constraints(architecture: str) -> None:
    eight = plan_inference(quantised(called(architecture, (8, 8)))).rows
    for bits in ((1, 2), (2, 2)):
        assert plan_inference(quantised(called(architecture, bits))).rows <= 0.6 * eight


@pytest.mark.parametrize("name", lowbit.trained())
def test_trained_integers_are_of_their_bits(name: str) -> None:
    trained, network = lowbit.load(name), lowbit.network_of(name)
    assert [*trained] == [layer.name for layer in network.layers]
    for layer in network.layers:
        weight, reach = trained[layer.name].weight, 1 << layer.weight_bits - 1
        assert weight.shape == layer.shape
        if layer.weight_bits == 1:
            assert {*np.unique(weight).tolist()} == {-1, 1}
        assert -reach <= weight.min() <= weight.max() < reach + (layer.weight_bits == 1)
        assert len(np.unique(weight)) > 1


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "lenet-mnist-w1a2" else pytest.mark.large)
        for name in lowbit.trained()
    ],
)
def test_networks_are_as_good_as_their_training_said(name: str) -> None:
    if not FOLDER.is_dir():
        pytest.skip(f"the datasets are not there: {FOLDER} (docs/zoo.md)")
    architecture, _, bits = name.rpartition("-")
    images, labels = held_out(architecture, FOLDER)
    found = quantised(name).run(images[:200].astype(np.int64)).argmax(axis=1) == labels[:200]
    assert found.mean() == pytest.approx(lowbit.report()[architecture][bits], abs=0.08)
