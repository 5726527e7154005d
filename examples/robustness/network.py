"""784-128-10 on MNIST as ``train`` made it, and images that no training saw; two convolutions and a dense
layer on MNIST and CIFAR-10 as ``train_images`` made them. Pixels are from 0 to 1."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from circuits.graphs.graph import Graph
from circuits.graphs.types import FloatArray
from circuits.networks.language import tensor

HERE: Final = Path(__file__).parent
EPSILON: Final = 8 / 255
"""What networks of MNIST are certified for."""

KERNEL, STRIDE, PADDING = 4, 2, 1
IMAGES: Final = {"mnist": (1, 28, 28), "cifar": (3, 32, 32)}


def network() -> Graph:
    """The float network."""
    with np.load(HERE / "weights.npz", allow_pickle=False) as file:
        weights = {name: file[name].astype(np.float64) for name in file.files}
    x = tensor("image", 1, 28, 28).flatten()
    x = x.dense(weights["fc1.weight"], weights["fc1.bias"]).relu()
    return x.dense(weights["fc2.weight"], weights["fc2.bias"]).graph()


def convolutional(name: Literal["mnist", "cifar"]) -> Graph:
    """The float network."""
    with np.load(HERE / f"{name}.npz", allow_pickle=False) as file:
        weights = {each: file[each].astype(np.float64) for each in file.files}
    x = tensor("image", *IMAGES[name])
    for layer in ("conv1", "conv2"):
        parameters = weights[f"{layer}.weight"], weights[f"{layer}.bias"]
        x = x.conv(*parameters, stride=STRIDE, padding=PADDING).relu()
    return x.flatten().dense(weights["dense.weight"], weights["dense.bias"]).graph()


def held_out() -> tuple[FloatArray, NDArray[np.int64]]:
    """The first 100 images of MNIST's test set, [100, 1, 28, 28], and their labels."""
    with np.load(HERE / "held_out.npz", allow_pickle=False) as file:
        return file["images"][:, np.newaxis] / 255, file["labels"].astype(np.int64)


def calibration() -> FloatArray:
    """Images of the training set, [24, 1, 28, 28]."""
    with np.load(HERE / "calibration.npz", allow_pickle=False) as file:
        return file["images"][:, np.newaxis] / 255  # type: ignore[no-any-return]
