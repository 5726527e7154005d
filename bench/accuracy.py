"""What quantisation costs in accuracy: the zoo's trained networks on images that no training saw.

    python -m bench.accuracy [--json FILE] [--quick]

The peer is onnxruntime on the same network in floats. Images from $ZENSERVE_DATA or shared/data beside the
checkout (docs/zoo.md); without them there is nothing to measure.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench import measure
from circuits import Graph, quantise, zoo
from circuits.graphs.types import FloatArray
from circuits.onnx.write import to_onnx
from circuits.quantisation import METHODS, Method, report
from examples.zoo.data import FOLDER, SPLITS
from examples.zoo.evaluate import CALIBRATION_IMAGES, reals


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


# Bits, bits of weights, method, per channel.
SETTINGS: list[tuple[int, int, Method, bool]] = [
    *((8, 8, method, per_channel) for method in METHODS for per_channel in (False, True)),
    (6, 6, "mse", True),
    (4, 4, "mse", True),
    (8, 4, "mse", True),
]


def rows(net: str, settings: list[tuple[int, int, Method, bool]]) -> list[Row]:
    split = SPLITS[net](FOLDER)
    calibration, images = reals(split.seen)[:CALIBRATION_IMAGES], reals(split.held_out)
    labels = split.held_out.labels
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
    for net in list(SPLITS)[: 1 if options.quick else None]:
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


if __name__ == "__main__":
    main()
