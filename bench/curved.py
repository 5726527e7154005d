"""Certificates of a hidden layer that is a table, beside bounds in floats; and which networks have any.

Topics of ``bench.robustness``: ``tables`` and ``networks``. 784-64-10 with tanh is trained on MNIST in numpy,
on the worst logits that intervals leave within 4/255 (Gowal et al. 2018). It takes ``$ZENSERVE_DATA``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.report import Row
from examples.camera import network as camera
from examples.zoo.data import FOLDER, SEED, mnist
from zenserve import bounds
from zenserve.bounds import Ball, Method
from zenserve.circuits import compile_robustness, zoo
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.networks.files import load_onnx
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.quantisation.quantiser import quantise
from zenserve.circuits.schemes.robustness import require_certificates
from zenserve.errors import InputError

HIDDEN, EPSILON, EPOCHS, BATCH, RATE = 64, 4 / 255, 10, 256, 2e-3
STEPS: Final = (6, 9, 12, 15)
EXPORTED: Final = Path(__file__).parents[1] / "tests" / "circuits" / "onnx_files"
METHODS: Final[tuple[Method, ...]] = ("ibp", "crown")

Parameters = list[NDArray[np.float32]]


def curved(quick: bool) -> Iterator[Row]:
    """How many of 100 images of the test set have a certificate, by radius in input steps."""
    split = mnist(FOLDER)
    few, epochs = (4, 1) if quick else (100, EPOCHS)
    weights = trained(split.seen.pixels.reshape(-1, 784) / 255, split.seen.labels.astype(np.int64), epochs)
    graph = network(weights)
    qgraph = quantise(graph, split.seen.pixels[:64] / 255)
    circuit = compile_robustness(qgraph)
    q = split.held_out.pixels[:few].astype(np.int64)
    pixels: FloatArray = q.astype(np.float64) / 255
    labels, floats = qgraph.run(q).argmax(axis=1), graph.run(pixels).argmax(axis=1)
    constraints = circuit.constraint_system.constraints
    for steps in STEPS[:1] if quick else STEPS:
        found = sum((circuit.margins(each, steps) > 0).all() for each in q)
        yield Row(
            "tanh-mnist",
            steps,
            100 * found / few,
            unit="%",
            more={"method": "circuit", "constraints": constraints},
        )
        radii: FloatArray = np.full(few, float(steps))
        whole = Ball(q.astype(np.float64), radii, domain=qgraph.input.type.centred, whole=True)
        around = Ball(pixels, radii / 255, domain=(0, 1))
        for method in METHODS:
            for kind, read, region, said in (
                ("integers", qgraph, whole, labels),
                ("floats", graph, around, floats),
            ):
                share = float(bounds.certify(bounds.read(read), region, said, method).robust.mean())
                yield Row("tanh-mnist", steps, 100 * share, unit="%", more={"method": f"{method}, {kind}"})


def network(weights: Parameters) -> Graph:
    first, middle, second, last = (each.astype(np.float64) for each in weights)
    x = tensor("image", 1, 28, 28).flatten().dense(first.T, middle).then(Activation, "tanh(x)")
    return x.dense(second.T, last).graph()


def trained(images: FloatArray, labels: NDArray[np.int64], epochs: int) -> Parameters:
    """Weights and biases of both layers. Adam (Kingma and Ba 2015), its rate falling to 0; the radius rises
    over half of the epochs."""
    rng, x = np.random.default_rng(SEED), images.astype(np.float32)
    sizes = ((784, HIDDEN), (HIDDEN,), (HIDDEN, 10), (10,))
    parameters = [
        (rng.normal(size=size) / np.sqrt(784 if i == 0 else HIDDEN)).astype(np.float32)
        for i, size in enumerate(sizes)
    ]
    mean, square = ([np.zeros_like(each) for each in parameters] for _ in range(2))
    step = 0
    for epoch in range(epochs):
        reach = EPSILON * min(1.0, 2 * epoch / epochs)
        for part in np.array_split(rng.permutation(len(x)), len(x) // BATCH):
            step += 1
            rate = RATE * (1 - epoch / epochs)
            for i, slope in enumerate(_slopes(parameters, x[part], labels[part], reach)):
                mean[i] = 0.9 * mean[i] + 0.1 * slope
                square[i] = 0.999 * square[i] + 0.001 * slope**2
                moved = mean[i] / (1 - 0.9**step) / (np.sqrt(square[i] / (1 - 0.999**step)) + 1e-8)
                parameters[i] = parameters[i] - rate * moved
    return parameters


def _slopes(
    parameters: Parameters, x: NDArray[np.float32], labels: NDArray[np.int64], reach: float
) -> Parameters:
    """Of the cross-entropy of the largest that each logit can get beyond the true one."""
    first, middle, second, last = parameters
    each = np.arange(len(x))
    low, high = np.clip(x - reach, 0, 1), np.clip(x + reach, 0, 1)
    centre, radius = (low + high) / 2, (high - low) / 2
    sums, around = centre @ first + middle, radius @ abs(first)
    least, most = np.tanh(sums - around), np.tanh(sums + around)
    inner, outer = (least + most) / 2, (most - least) / 2
    rivals = second.T[np.newaxis] - second.T[labels][:, np.newaxis]
    leads = (rivals * inner[:, np.newaxis] + abs(rivals) * outer[:, np.newaxis]).sum(axis=2)
    leads += last - last[labels][:, np.newaxis]
    shares = np.exp(leads - leads.max(axis=1, keepdims=True))
    wrong = shares / shares.sum(axis=1, keepdims=True)
    wrong[each, labels] -= 1
    wrong /= len(x)
    by_rival = wrong[:, :, np.newaxis] * (inner[:, np.newaxis] + np.sign(rivals) * outer[:, np.newaxis])
    of_second, of_last = by_rival.sum(axis=0), wrong.sum(axis=0)
    np.subtract.at(of_second, labels, by_rival.sum(axis=1))
    np.subtract.at(of_last, labels, wrong.sum(axis=1))
    of_inner = (wrong[:, :, np.newaxis] * rivals).sum(axis=1)
    of_outer = (wrong[:, :, np.newaxis] * abs(rivals)).sum(axis=1)
    down = (of_inner - of_outer) / 2 * (1 - least**2)
    up = (of_inner + of_outer) / 2 * (1 - most**2)
    of_first = centre.T @ (down + up) + np.sign(first) * (radius.T @ (up - down))
    return [of_first, (down + up).sum(axis=0), of_second.T, of_last]


def networks(quick: bool) -> Iterator[Row]:
    """Which networks have certificates, and why others have none."""
    for name, graph, samples in _networks(quick):
        said, reason = 1, ""
        try:
            require_certificates(quantise(graph, samples))
        except InputError as error:
            said, reason = 0, str(error)
        yield Row(name, None, said, unit="certificates", more={"reason": reason[:160]})


def _networks(quick: bool) -> Iterator[tuple[str, Graph, FloatArray]]:
    for name in zoo.NAMES[:1] if quick else zoo.NAMES:
        yield name, zoo.network(name), zoo.calibration(name)
    rng = np.random.default_rng(SEED)
    for bank in (camera.CIFAR, camera.FACES):
        for name in [*bank.networks][:1] if quick else bank.networks:
            yield f"{bank.name}, {name}", bank.network(name), rng.random((8, *bank.image))
    for path in sorted(EXPORTED.glob("*_ts.onnx")):
        graph = load_onnx(path)
        yield path.stem, graph, rng.random((8, *graph.input.shape))
