"""Networks for CIFAR-10 and for ORL's faces, the dearest first: pixels from 0 to 1, logits. docs/streams.md
says how they were made. With committed weights a proof costs by what is computed, weights next to nothing: so
the cheaper ones look at large squares, far apart, and have most weights where little of the image is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.networks.language import tensor

HERE: Final = Path(__file__).parent


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


class Bank(NamedTuple):
    """Networks for images of this shape, each of which ends with a dense layer of all that is left."""

    name: str
    image: tuple[int, int, int]
    classes: int
    networks: dict[str, list[Layer]]

    def network(self, name: str) -> Graph:
        """One of them."""
        return _network(self, name)

    @property
    def weights(self) -> Path:
        return HERE / f"{self.name}.npz"


CIFAR: Final = Bank(
    "cifar",
    (3, 32, 32),
    10,
    {
        "full": [Conv(32), Pool(2), Conv(64), Residual(64), Pool(2), Conv(128), Residual(128), Pool(8)],
        "large": [Conv(16, 5, 2), Conv(48, 3, 2), Residual(48), Conv(96, 3, 2), Residual(96), Pool(4)],
        "medium": [Conv(24, 7, 4), Conv(48), Conv(64, 3, 2), Residual(64), Pool(4)],
        "small": [Conv(16, 7, 4), Conv(64, 3, 2), Residual(64), Pool(4)],
        "tiny": [Conv(16, 7, 4), Conv(64, 3, 2), Conv(64), Pool(4)],
    },
)
FACES: Final = Bank(
    "faces",
    (1, 56, 46),
    40,
    {
        "full": [Conv(16, 5, 2), Conv(32), Pool(2), Residual(32), Pool(2)],
        "large": [Conv(16, 7, 4), Conv(24, 3, 2)],
        "medium": [Conv(8, 7, 4), Conv(16, 3, 2)],
        "small": [Conv(12, 8, 8)],
        "tiny": [Conv(3, 14, 14)],
    },
)


def _network(bank: Bank, name: str) -> Graph:
    parameters = _parameters(bank, name)
    x = tensor("image", *bank.image)
    for layer in bank.networks[name]:
        match layer:
            case Conv(_, kernel, stride):
                x = x.conv(*next(parameters), stride=stride, padding=kernel // 2).relu()
            case Residual():
                inner = x.conv(*next(parameters), padding=1).relu()
                x = (inner.conv(*next(parameters), padding=1) + x).relu()
            case Pool(size):
                x = x.average_pool(size)
    return x.flatten().dense(*next(parameters)).graph()


def _parameters(bank: Bank, name: str) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Weights, as integers of 8 bits with a scale of each output channel, and biases, layer by layer."""
    with np.load(bank.weights, allow_pickle=False) as file:
        for layer in range(sum(each.startswith(f"{name}/") for each in file.files) // 3):
            weight, scale, bias = (file[f"{name}/{layer}/{part}"] for part in ("weight", "scale", "bias"))
            yield weight * scale.reshape(-1, *[1] * (weight.ndim - 1)), bias.astype(np.float64)
