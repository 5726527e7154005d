"""784-128-10 on MNIST as ``train`` made it, and images that no training saw; two convolutions and a dense
layer on MNIST, CIFAR-10 and ORL's faces, and lenet-small on CIFAR-10, as ``train_images`` made them. Pixels
are from 0 to 1."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.zoo import networks

HERE: Final = Path(__file__).parent
EPSILON: Final = 8 / 255
"""What networks of MNIST are certified for."""

KERNEL, STRIDE, PADDING = 4, 2, 1
IMAGES: Final = {"mnist": (1, 28, 28), "cifar": (3, 32, 32), "faces": (1, 56, 46)}


def network() -> Graph:
    """The float network."""
    weights = _trained("weights")
    x = tensor("image", 1, 28, 28).flatten()
    x = x.dense(weights["fc1.weight"], weights["fc1.bias"]).relu()
    return x.dense(weights["fc2.weight"], weights["fc2.bias"]).graph()


def convolutional(name: Literal["mnist", "cifar", "faces"]) -> Graph:
    """The float network."""
    weights = _trained(name)
    x = tensor("image", *IMAGES[name])
    for layer in ("conv1", "conv2"):
        parameters = weights[f"{layer}.weight"], weights[f"{layer}.bias"]
        x = x.conv(*parameters, stride=STRIDE, padding=PADDING).relu()
    return x.flatten().dense(weights["dense.weight"], weights["dense.bias"]).graph()


def lenet() -> Graph:
    """The float network: the zoo's lenet-small-cifar with other weights."""
    weights = _trained("lenet")
    return networks.lenet(
        lambda layer, _: weights[f"{layer}.weight"],
        shape=IMAGES["cifar"],
        channels=(6, 16, 120),
        hidden=84,
        classes=10,
    )


def _trained(name: str) -> dict[str, FloatArray]:
    with np.load(HERE / f"{name}.npz", allow_pickle=False) as file:
        return {each: file[each].astype(np.float64) for each in file.files}


def held_out() -> tuple[FloatArray, NDArray[np.int64]]:
    """The first 100 images of MNIST's test set, [100, 1, 28, 28], and their labels."""
    with np.load(HERE / "held_out.npz", allow_pickle=False) as file:
        return file["images"][:, np.newaxis] / 255, file["labels"].astype(np.int64)


def calibration() -> FloatArray:
    """Images of the training set, [24, 1, 28, 28]."""
    with np.load(HERE / "calibration.npz", allow_pickle=False) as file:
        return file["images"][:, np.newaxis] / 255  # type: ignore[no-any-return]
