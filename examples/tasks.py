"""What the examples prove about: real data where it is (docs/zoo.md), else the digits beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from examples.zoo.data import faces, mnist
from examples.zoo.evaluate import CALIBRATION_IMAGES
from zenserve.circuits import QuantGraph, load_onnx, quantise, zoo
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.operators.clip import Clip

DIGITS = Path(__file__).parent / "digits"
PERSON = 1


@dataclass(frozen=True)
class Classification:
    """A network, and images float64[n, *shape] with their labels that its training never saw."""

    name: str
    network: QuantGraph
    images: FloatArray
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class Recognition:
    """A network of embeddings. ``enrolled`` float64[n, *shape] and ``photo`` show one person, ``stranger``
    another; squared distances up to ``threshold`` are a match."""

    name: str
    network: QuantGraph
    enrolled: FloatArray
    photo: FloatArray
    stranger: FloatArray
    threshold: int


def classification(folder: Path) -> Classification:
    """Shallownet on MNIST, or the digits network."""
    if not (folder / "mnist_test.npz").is_file():
        graph, images, labels = _digits()
        return Classification("digits", quantise(graph, _calibration()), images, labels)
    seen, held_out = mnist(folder)
    network = quantise(zoo.network("shallownet"), seen.pixels[:CALIBRATION_IMAGES] / 255)
    return Classification("shallownet", network, held_out.pixels / 255, held_out.labels)


def recognition(folder: Path) -> Recognition:
    """ORL's faces; or, as if they were faces, digits, by what the digits network makes of them before its
    last layer."""
    if not (folder / "orl_faces_112x92.npz").is_file():
        graph, images, labels = _digits()
        zeros = images[labels == 0]
        network = quantise(_without_last_layer(graph), _calibration())
        return Recognition("digits", network, zeros[:9], zeros[9], images[labels != 0][0], 20_000)
    seen, held_out = faces(folder)
    network = quantise(zoo.network(zoo.EMBEDDING), seen.pixels[:CALIBRATION_IMAGES] / 255)
    enrolled = seen.pixels[seen.labels == PERSON] / 255
    photo, stranger = (held_out.pixels[held_out.labels == who][0] / 255 for who in (PERSON, PERSON + 1))
    threshold = int(zoo.report()[zoo.EMBEDDING]["threshold"])
    return Recognition(zoo.EMBEDDING, network, enrolled, photo, stranger, threshold)


def _digits() -> tuple[Graph, FloatArray, NDArray[np.int64]]:
    held_out = np.load(DIGITS / "held_out.npz", allow_pickle=False)
    graph = load_onnx((DIGITS / "digits.onnx").read_bytes())
    return graph, held_out["images"].astype(np.float64), held_out["labels"].astype(np.int64)


def _calibration() -> FloatArray:
    images: FloatArray = np.load(DIGITS / "calibration.npy", allow_pickle=False).astype(np.float64)
    return images


def _without_last_layer(graph: Graph) -> Graph:
    last = max(index for index, node in enumerate(graph.nodes) if isinstance(node, Clip))
    return replace(graph, nodes=graph.nodes[: last + 1], outputs={"embedding": graph.nodes[last].name})
