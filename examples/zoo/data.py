"""The images that the zoo's networks are trained for, from the files that docs/zoo.md lists."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SEED = 7
FOLDER = Path(os.environ.get("ZENSERVE_DATA") or Path(__file__).parents[3] / "shared" / "data")
"""Where the files are, if they are there."""
SOURCES = {
    "mnist": "https://github.com/cvdfoundation/mnist",
    "cifar10": "https://www.cs.toronto.edu/~kriz/cifar.html",
    "orl_faces": "https://cam-orl.co.uk/facedatabase.html",
}
"""Who publishes what files of these names are made of."""


class Images(NamedTuple):
    """Pixels uint8[n, channels, height, width] and their labels int64[n]."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]


class Split(NamedTuple):
    """What is trained on, and what no training has seen."""

    seen: Images
    held_out: Images


def mnist(folder: Path) -> Split:
    return Split(_grey(folder / "mnist_train.npz"), _grey(folder / "mnist_test.npz"))


def cifar(folder: Path) -> Split:
    """The first two of the five batches, and the first 1,000 images of the test set."""
    first, second, held_out = (
        _load(folder / f"cifar10_{name}.npz") for name in ("train_b1", "train_b2", "test_first1000")
    )
    pixels = np.concatenate([first.pixels, second.pixels])
    seen = Images(pixels.transpose(0, 3, 1, 2), np.concatenate([first.labels, second.labels]))
    return Split(seen, Images(held_out.pixels.transpose(0, 3, 1, 2), held_out.labels))


def faces(folder: Path) -> Split:
    """Every second pixel; one of the ten shots of each person, drawn at random, is held out."""
    pixels, labels = _grey(folder / "orl_faces_112x92.npz")
    pixels = pixels[:, :, ::2, ::2]
    rng = np.random.default_rng(SEED)
    drawn = np.concatenate([rng.choice(np.flatnonzero(labels == person), 1) for person in range(40)])
    rest = np.setdiff1d(np.arange(len(labels)), drawn)
    return Split(Images(pixels[rest], labels[rest]), Images(pixels[drawn], labels[drawn]))


def persons(folder: Path) -> Split:
    """Every second pixel; of the ten shots of each person the first is seen, the last eight are held out."""
    return Split(_shots(folder, 0, 1), _shots(folder, 2, 10))


def second_shots(folder: Path) -> Images:
    """Those of ``persons`` by which networks are compared before anything is held against the last eight."""
    return _shots(folder, 1, 2)


def _shots(folder: Path, first: int, end: int) -> Images:
    pixels, labels = _grey(folder / "orl_faces_112x92.npz")
    shot = np.arange(len(labels)) % 10
    these = (first <= shot) & (shot < end)
    return Images(pixels[these, :, ::2, ::2], labels[these])


def _grey(path: Path) -> Images:
    pixels, labels = _load(path)
    return Images(pixels[:, None], labels)


def _load(path: Path) -> Images:
    """Raises ``FileNotFoundError``, which says where the images are published."""
    if not path.is_file():
        source = next(place for name, place in SOURCES.items() if path.name.startswith(name))
        raise FileNotFoundError(
            f"there is no {path}. Its images are published at {source}; docs/zoo.md#training says how the"
            " file is laid out. Set ZENSERVE_DATA to the folder that has it"
        )
    with np.load(path, allow_pickle=False) as file:
        return Images(file["images"], file["labels"])


SPLITS = {"shallownet-mnist": mnist, "lenet-small-cifar": cifar, "lenet-face-small-orl": faces}
