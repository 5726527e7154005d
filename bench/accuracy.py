"""What quantisation costs in accuracy: the zoo's trained networks on images that no training saw.

    python -m bench.accuracy [--json FILE] [--quick]

The peer is onnxruntime on the same network in floats. Images from $ZENSERVE_DATA or shared/data beside the
checkout (docs/zoo.md); without them there is nothing to measure.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench import measure
from circuits import Graph, quantise, zoo
from circuits.graph import FloatArray
from circuits.onnx.write import to_onnx
from circuits.quantisation import METHODS, Method, report

FOLDER = Path(os.environ.get("ZENSERVE_DATA") or Path(__file__).parents[2] / "shared" / "data")
CALIBRATION_IMAGES = 100


@dataclass
class Row:
    """Accuracies from 0 to 1; ``worst_snr`` in dB, of the tensor ``weakest``."""

    net: str
    images: int
    bits: int
    weight_bits: int
    method: str
    per_channel: bool
    onnxruntime: float
    accuracy: float
    agreement: float
    weakest: str
    worst_snr: float


def mnist() -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    seen, held_out = _load("mnist_train"), _load("mnist_test")
    return _pixels(seen[0][:CALIBRATION_IMAGES, None]), _pixels(held_out[0][:, None]), held_out[1]


def cifar() -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    seen, held_out = _load("cifar10_train_b1"), _load("cifar10_test_first1000")
    first, images = (part[0].transpose(0, 3, 1, 2) for part in (seen, held_out))
    return _pixels(first[:CALIBRATION_IMAGES]), _pixels(images), held_out[1]


def faces() -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """All 400, 360 of which the network has seen: a comparison, and nothing about new faces."""
    images, labels = _load("orl_faces_112x92")
    small = _pixels(images[:, None, ::2, ::2])
    return small[:: len(small) // CALIBRATION_IMAGES], small, labels


DATA = {"shallownet-mnist": mnist, "lenet-small-cifar": cifar, "lenet-face-small-orl": faces}
# Bits, bits of weights, method, per channel.
SETTINGS: list[tuple[int, int, Method, bool]] = [
    *((8, 8, method, per_channel) for method in METHODS for per_channel in (False, True)),
    (6, 6, "mse", True),
    (4, 4, "mse", True),
    (8, 4, "mse", True),
]


def rows(net: str, settings: list[tuple[int, int, Method, bool]]) -> list[Row]:
    calibration, images, labels = DATA[net]()
    graph = zoo.network(net)
    exact = _onnxruntime(graph, images, labels)
    found = []
    for bits, weight_bits, method, per_channel in settings:
        qgraph = quantise(
            graph, calibration, bits, weight_bits=weight_bits, method=method, per_channel=per_channel
        )
        result = report(graph, qgraph, images, labels)
        weakest = min(result.tensors, key=lambda tensor: tensor.snr)
        found.append(
            Row(
                net,
                len(images),
                bits,
                weight_bits,
                method,
                per_channel,
                exact,
                result.accuracy,
                result.agreement,
                weakest.name,
                weakest.snr,
            )
        )
    return found


def main() -> None:
    options = measure.arguments(__doc__)
    if not FOLDER.is_dir():
        raise SystemExit(f"no images in {FOLDER}: set ZENSERVE_DATA (docs/zoo.md)")
    console, all_rows = Console(width=110), []
    for net in list(DATA)[: 1 if options.quick else None]:
        measured = rows(net, SETTINGS[:1] if options.quick else SETTINGS)
        title = f"{net}: {measured[0].images} images, onnxruntime in floats {measured[0].onnxruntime:.2%}"
        table = Table(title=title, title_justify="left")
        for heading in (
            "bits",
            "weights",
            "calibration",
            "scales",
            "accuracy",
            "agreement",
            "weakest tensor",
        ):
            table.add_column(heading)
        for row in measured:
            table.add_row(
                str(row.bits),
                str(row.weight_bits),
                row.method,
                "per channel" if row.per_channel else "per tensor",
                f"{row.accuracy:.2%}",
                f"{row.agreement:.2%}",
                f"{row.weakest}, {row.worst_snr:.0f} dB",
            )
        console.print(table)
        all_rows += measured
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in all_rows], indent=1) + "\n")


def _onnxruntime(graph: Graph, images: FloatArray, labels: NDArray[np.int64]) -> float:
    session = onnxruntime.InferenceSession(to_onnx(graph))
    (logits,) = session.run(None, {graph.input_name: images.astype(np.float32)})
    return float(np.mean(logits.argmax(axis=1) == labels))


def _load(name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as file:
        return file["images"], file["labels"]


def _pixels(images: NDArray[np.uint8]) -> FloatArray:
    return images.astype(np.float64) / 255


if __name__ == "__main__":
    main()
