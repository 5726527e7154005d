"""Real images, where they are: in ``$ZENSERVE_DATA``, or ``shared/data`` beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from circuits.graph import FloatArray

FOLDER = Path(os.environ.get("ZENSERVE_DATA") or Path(__file__).parents[3] / "shared" / "data")


class Images(NamedTuple):
    """Images [n, channels, height, width] in [0, 1], as the zoo's networks take them, and their labels."""

    calibration: FloatArray
    images: FloatArray
    labels: NDArray[np.int64]


def of(name: str) -> Images:
    """Calibration images from the training set and held-out ones for a network of the zoo; else skip."""
    if not FOLDER.is_dir():
        pytest.skip(f"the datasets are not there: {FOLDER} (docs/zoo.md)")
    if name == "shallownet-mnist":
        seen, labels = _load("mnist_train")
        held_out, labels = _load("mnist_test")
        return Images(_pixels(seen[:100, None]), _pixels(held_out[:, None]), labels)
    if name == "lenet-small-cifar":
        seen, labels = _load("cifar10_train_b1")
        held_out, labels = _load("cifar10_test_first1000")
        return Images(
            _pixels(seen[:100].transpose(0, 3, 1, 2)), _pixels(held_out.transpose(0, 3, 1, 2)), labels
        )
    faces, labels = _load("orl_faces_112x92")
    small = _pixels(faces[:, None, ::2, ::2])
    return Images(small[::4], small, labels)


def _load(name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as file:
        return file["images"], file["labels"]


def _pixels(images: NDArray[np.uint8]) -> FloatArray:
    return images.astype(np.float64) / 255
