"""The papers' networks by name (docs/zoo.md), trained where somebody trained them.

Names are those of the papers' tables, ``shallownet-mnist``; short ones, ``shallownet``, stand for them. Those
of few bits, ``lenet-mnist-w1a2``, are in ``lowbit``, and stand for themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray, Shape
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.zoo import lowbit, networks
from zenserve.circuits.zoo.networks import Weights
from zenserve.circuits.zoo.weights import initial, uniform
from zenserve.errors import ModelError

_CIFAR, _ORL = (3, 32, 32), (1, 56, 46)
_BUILDERS: dict[str, Callable[[Weights], Graph]] = {
    "shallownet-mnist": networks.shallownet,
    "lenet-small-cifar": partial(networks.lenet, shape=_CIFAR, channels=(6, 16, 120), hidden=84, classes=10),
    "lenet-medium-cifar": partial(
        networks.lenet, shape=_CIFAR, channels=(32, 64, 256), hidden=128, classes=10
    ),
    "lenet-face-small-orl": partial(networks.lenet, shape=_ORL, channels=(6, 16, 120), hidden=84, classes=40),
    "lenet-face-medium-orl": partial(
        networks.lenet, shape=_ORL, channels=(32, 64, 256), hidden=128, classes=40
    ),
    "lenet-face-large-orl": partial(
        networks.lenet, shape=_ORL, channels=(64, 128, 512), hidden=256, classes=40
    ),
    "vgg16-cifar": networks.vgg16,
    "resnet18-cifar": networks.resnet18,
    "resnet50-cifar": networks.resnet50,
}
NAMES = tuple(_BUILDERS)
# Recognition: the trained lenet-face-small without its last layer.
EMBEDDING = "lenet-face-small-embedding"
# NAME.npz, float16 weights by layer, and report.json: written by examples/zoo.
TRAINED = Path(__file__).parent / "trained"
_SAMPLES = 8


def resolve(name: str) -> str:
    """The full name of a network. Raises ``ModelError`` (``model.unknown``)."""
    full = {known.rpartition("-")[0]: known for known in NAMES} | {known: known for known in NAMES}
    full[EMBEDDING] = EMBEDDING
    if lowbit.is_name(name):
        return name
    if name not in full:
        raise ModelError(
            "model.unknown",
            f"{name[:80]!r} is neither a file nor a network of the zoo: {', '.join([*NAMES, EMBEDDING])};"
            f" or, of few bits, {', '.join(lowbit.ARCHITECTURES)}, each with its bits behind it: -w1a2",
            field="network",
        )
    return full[name]


def network(name: str) -> Graph:
    """The network of this name, with trained weights where there are any, else ``initial``."""
    full = resolve(name)
    if full == EMBEDDING:
        weights = _trained("lenet-face-small-orl")
        return networks.lenet_embedding(weights, _ORL, (6, 16, 120), 84)
    if lowbit.is_name(full):
        return lowbit.graph(full)
    trained = (TRAINED / f"{full}.npz").is_file()
    return _BUILDERS[full](_trained(full) if trained else initial(full))


def onnx(name: str) -> bytes:
    """The same as an ONNX file."""
    return to_onnx(network(name))


def calibration(name: str) -> FloatArray:
    """Inputs in [0, 1) to calibrate the network with where no real ones are at hand: float64[8, *shape].

    Smooth noise, a little like images; the same on every machine.
    """
    full = resolve(name)
    shape = network(full).input.shape
    noise = uniform(f"calibration of {full}", (_SAMPLES, *shape))
    for axis in (2, 3):
        noise = (noise + np.roll(noise, 1, axis) + np.roll(noise, 2, axis)) / 3
    low, high = noise.min(axis=(1, 2, 3), keepdims=True), noise.max(axis=(1, 2, 3), keepdims=True)
    spread: FloatArray = (noise - low) / (high - low) * (1 - 2**-20)
    return spread


def report() -> dict[str, Any]:
    """Return the measurements of ``examples.zoo.evaluate`` on images outside the training set, by network."""
    found: dict[str, Any] = json.loads((TRAINED / "report.json").read_text())
    return found


def _trained(name: str) -> Weights:
    with np.load(TRAINED / f"{name}.npz", allow_pickle=False) as file:
        arrays = {layer: file[layer].astype(np.float64) for layer in file.files}

    def weights(layer: str, shape: Shape) -> FloatArray:
        array: FloatArray = arrays[layer].reshape(shape)
        return array

    return weights
