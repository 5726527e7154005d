"""784-128-10 on MNIST as ``train`` made it, and images that no training saw: pixels from 0 to 1."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from circuits.graphs.graph import Graph
from circuits.graphs.types import FloatArray
from circuits.networks.language import tensor

HERE: Final = Path(__file__).parent
EPSILON: Final = 8 / 255
"""What it is certified for."""


def network() -> Graph:
    """The float network."""
    with np.load(HERE / "weights.npz", allow_pickle=False) as file:
        weights = {name: file[name].astype(np.float64) for name in file.files}
    x = tensor("image", 1, 28, 28).flatten()
    x = x.dense(weights["fc1.weight"], weights["fc1.bias"]).relu()
    return x.dense(weights["fc2.weight"], weights["fc2.bias"]).graph()


def held_out() -> tuple[FloatArray, NDArray[np.int64]]:
    """The first 100 images of MNIST's test set, [100, 1, 28, 28], and their labels."""
    with np.load(HERE / "held_out.npz", allow_pickle=False) as file:
        return file["images"][:, np.newaxis] / 255, file["labels"].astype(np.int64)


def calibration() -> FloatArray:
    """Images of the training set, [24, 1, 28, 28]."""
    with np.load(HERE / "calibration.npz", allow_pickle=False) as file:
        return file["images"][:, np.newaxis] / 255  # type: ignore[no-any-return]
