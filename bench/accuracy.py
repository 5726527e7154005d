"""What quantisation costs in accuracy: the zoo's trained networks on images that no training saw.

    python -m bench.accuracy [--json FILE] [--quick]

The peer is onnxruntime on the same network in floats. "tuned" rows are calibrated as by ``zenserve compile``,
"auto" ones have the bits of ``--bits auto --max-loss 0.5``, by the calibration's labels. Constraints are of a
private input and committed weights. Images from $ZENSERVE_DATA or shared/data beside the checkout
(docs/zoo.md); without them there is nothing to measure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from bench import measure
from bench.report import Report, Row
from examples.zoo.data import FOLDER, SPLITS
from examples.zoo.evaluate import CALIBRATION_IMAGES, reals
from zenserve.circuits import Graph, QuantGraph, plan_inference, quantise, tune, zoo
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.quantisation import METHODS, Method
from zenserve.circuits.quantisation import report as compared

MAX_LOSS = 0.5


class Setting(NamedTuple):
    """``bits`` None: auto. ``method`` None: tuned."""

    bits: int | None
    weight_bits: int | None = None
    method: Method | None = None
    per_channel: bool = False

    def quantised(
        self, graph: Graph, calibration: FloatArray, labels: NDArray[np.int64]
    ) -> tuple[QuantGraph, Method, bool]:
        """The network, its calibration, and whether weights have scales per channel."""
        if self.bits is None:
            given, most = labels, MAX_LOSS
            tuned = tune(
                graph, calibration, bits=None, labels=given, max_loss=most, weight_privacy="committed"
            )
        elif self.method is None:
            tuned = tune(graph, calibration, bits=self.bits, weight_privacy="committed")
        else:
            qgraph = quantise(
                graph,
                calibration,
                self.bits,
                weight_bits=self.weight_bits,
                method=self.method,
                per_channel=self.per_channel,
            )
            return qgraph, self.method, self.per_channel
        return tuned.qgraph, tuned.method, tuned.per_channel


SETTINGS = [
    *(Setting(8, None, method, per_channel) for method in METHODS for per_channel in (False, True)),
    *(each for bits in (6, 4) for each in (Setting(bits, None, "min-max"), Setting(bits, None, "mse", True))),
    Setting(8, 4, "mse", True),
    *(Setting(bits) for bits in (8, 6, 4)),
    Setting(None),
]


def rows(net: str, settings: list[Setting]) -> list[Row]:
    split = SPLITS[net](FOLDER)
    calibration, images = reals(split.seen)[:CALIBRATION_IMAGES], reals(split.held_out)
    known, labels = split.seen.labels[:CALIBRATION_IMAGES], split.held_out.labels
    graph = zoo.network(net)
    exact = _onnxruntime(graph, images, labels)
    found = []
    for setting in settings:
        qgraph, method, per_channel = setting.quantised(graph, calibration, known)
        result = compared(graph, qgraph, images, labels)
        weakest = min(result.tensors, key=lambda tensor: tensor.snr)
        settings_of = {
            "bits": setting.bits or "auto",
            "weights": setting.weight_bits or setting.bits or "auto",
            "calibration": method if setting.method else f"tuned: {method}",
            "scales": "per channel" if per_channel else "per tensor",
        }
        measured = {
            "agreement": result.agreement,
            "onnxruntime": exact,
            "constraints": plan_inference(qgraph, weight_privacy="committed").rows,
            "weakest": weakest.name,
            "weakest_db": weakest.snr,
        }
        more = settings_of | measured
        accuracy = result.accuracy or 0.0  # it has labels
        found.append(Row(net, len(images), accuracy, unit="accuracy", more=more))
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
