"""Real images, where they are: in ``$ZENSERVE_DATA``, or ``shared/data`` beside the checkout."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from examples.zoo.data import FOLDER, SPLITS, Split
from examples.zoo.evaluate import CALIBRATION_IMAGES, reals
from zenserve.circuits.graphs.types import FloatArray


class Images(NamedTuple):
    """Images [n, channels, height, width] in [0, 1], as the zoo's networks take them, and their labels."""

    calibration: FloatArray
    images: FloatArray
    labels: NDArray[np.int64]


def split(name: str) -> Split:
    """What a network of the zoo was trained on and what was held out; else skip."""
    if not FOLDER.is_dir():
        pytest.skip(f"the datasets are not there: {FOLDER} (docs/zoo.md)")
    return SPLITS[name](FOLDER)


def of(name: str) -> Images:
    """Training images to calibrate a network of the zoo with, and held-out ones; else skip."""
    seen, held_out = split(name)
    return Images(reals(seen)[:CALIBRATION_IMAGES], reals(held_out), held_out.labels)
