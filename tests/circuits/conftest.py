from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.circuits.support import PRIVACIES
from zenserve.circuits import Graph, Inference, QuantGraph, compile_inference, load_onnx, quantise
from zenserve.verifier.schemes import Privacy

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


class Digits(NamedTuple):
    onnx: bytes
    graph: Graph
    qgraph: QuantGraph
    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    circuits: dict[tuple[Privacy, Privacy], Inference]

    @property
    def circuit(self) -> Inference:
        """The demo's: private input, public weights."""
        return self.circuits["private", "public"]


@pytest.fixture(scope="session")
def digits() -> Digits:
    data = (DIGITS / "digits.onnx").read_bytes()
    graph = load_onnx(data)
    qgraph = quantise(graph, np.load(DIGITS / "calibration.npy"))
    with np.load(DIGITS / "held_out.npz") as held_out:
        images, labels = held_out["images"], held_out["labels"]
    circuits = {
        (x, w): compile_inference(qgraph, input_privacy=x, weight_privacy=w, level=2) for x, w in PRIVACIES
    }
    return Digits(data, graph, qgraph, images, labels, circuits)
