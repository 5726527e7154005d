"""What quantisation costs in accuracy: the zoo's trained networks on images that no training saw.

    python -m bench.accuracy [--json FILE] [--quick]

The peer is onnxruntime on the same network in floats. Images from $ZENSERVE_DATA or shared/data beside the
checkout (docs/zoo.md); without them there is nothing to measure.
"""

from __future__ import annotations

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from bench import measure
from bench.report import Report, Row
from circuits import Graph, quantise, zoo
from circuits.graphs.types import FloatArray
from circuits.onnx.write import to_onnx
from circuits.quantisation import METHODS, Method
from circuits.quantisation import report as compared
from examples.zoo.data import FOLDER, SPLITS
from examples.zoo.evaluate import CALIBRATION_IMAGES, reals

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
        result = compared(graph, qgraph, images, labels)
        weakest = min(result.tensors, key=lambda tensor: tensor.snr)
        settings_of = {
            "bits": bits,
            "weights": weight_bits,
            "calibration": method,
            "scales": "per channel" if per_channel else "per tensor",
        }
        measured = {
            "agreement": result.agreement,
            "onnxruntime": exact,
            "weakest": weakest.name,
            "weakest_db": weakest.snr,
        }
        more = settings_of | measured
        found.append(Row(net, len(images), result.accuracy, unit="accuracy", more=more))
    return found


def main() -> None:
    options = measure.arguments(__doc__)
    if not FOLDER.is_dir():
        raise SystemExit(f"no images in {FOLDER}: set ZENSERVE_DATA (docs/zoo.md)")
    report = Report("accuracy", "size = images; accuracies from 0 to 1")
    for net in list(SPLITS)[: 1 if options.quick else None]:
        report.show(net, rows(net, SETTINGS[:1] if options.quick else SETTINGS))
    report.write(options.json)


def _onnxruntime(graph: Graph, images: FloatArray, labels: NDArray[np.int64]) -> float:
    session = onnxruntime.InferenceSession(to_onnx(graph))
    (logits,) = session.run(None, {graph.input.name: images.astype(np.float32)})
    return float(np.mean(logits.argmax(axis=1) == labels))


if __name__ == "__main__":
    main()
