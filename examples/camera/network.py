"""Networks for CIFAR-10 as ``train`` made them, the most accurate first: pixels from 0 to 1, logits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from circuits.graphs.graph import Graph
from circuits.graphs.types import FloatArray
from circuits.networks.language import tensor

HERE: Final = Path(__file__).parent
CLASSES: Final = 10


class Conv(NamedTuple):
    """With a ReLU behind it. Padded by half of its kernel, rounded down."""

    channels: int
    kernel: int = 3
    stride: int = 1


class Residual(NamedTuple):
    """Two convolutions of 3x3 around which the values also go, with a ReLU behind each."""

    channels: int


class Pool(NamedTuple):
    """Averages."""

    size: int


Layer = Conv | Residual | Pool
NETWORKS: Final[dict[str, list[Layer]]] = {
    "full": [Conv(32), Pool(2), Conv(64), Residual(64), Pool(2), Conv(128), Residual(128), Pool(8)],
    "large": [Conv(16), Pool(2), Conv(32), Conv(32), Pool(2), Conv(64), Conv(64), Pool(2), Conv(64), Pool(4)],
    "medium": [Conv(16, 3, 2), Conv(32), Pool(2), Conv(48), Pool(2), Conv(64), Pool(4)],
    "small": [Conv(12, 4, 2), Pool(2), Conv(24), Pool(2), Conv(32), Pool(4)],
    "tiny": [Conv(8, 4, 4), Conv(16), Pool(2), Conv(24), Pool(4)],
}
"""Each ends with a layer of all its channels."""


def network(name: str) -> Graph:
    """Of one of ``NETWORKS``."""
    parameters = _parameters(name)
    x = tensor("image", 3, 32, 32)
    for layer in NETWORKS[name]:
        match layer:
            case Conv(_, kernel, stride):
                x = x.conv(*next(parameters), stride=stride, padding=kernel // 2).relu()
            case Residual():
                inner = x.conv(*next(parameters), padding=1).relu()
                x = (inner.conv(*next(parameters), padding=1) + x).relu()
            case Pool(size):
                x = x.average_pool(size)
    return x.flatten().dense(*next(parameters)).graph()


def _parameters(name: str) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Weights, as integers of 8 bits with a scale of each output channel, and biases, layer by layer."""
    with np.load(HERE / "weights.npz", allow_pickle=False) as file:
        for layer in range(sum(each.startswith(f"{name}/") for each in file.files) // 3):
            weight, scale, bias = (file[f"{name}/{layer}/{part}"] for part in ("weight", "scale", "bias"))
            yield weight * scale.reshape(-1, *[1] * (weight.ndim - 1)), bias.astype(np.float64)
