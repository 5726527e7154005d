"""How many labels are right and stay so, proven of a committed network; and what a seller may not claim.

    python -m examples.robustness.accuracy [IMAGES]      of MNIST's test set, 1 to 100

A buyer knows the images and their labels. The seller proves in shards of ten, without a setup, that the
network labels so many of them rightly, whatever is changed within 8/255; then gives the proof out for other
labels.
"""

from __future__ import annotations

import sys

from rich.console import Console

import zenserve
from examples.robustness.network import EPSILON, calibration, held_out, network
from zenserve.circuits.onnx.write import to_onnx

SHARD = 10

console = Console(highlight=False)


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else SHARD
    images, labels = (each[:count] for each in held_out())
    proof = zenserve.certify_accuracy(
        to_onnx(network()),
        images,
        labels,
        eps=EPSILON,
        calibration=calibration(),
        shard_size=min(SHARD, count),
        system="spartan",
    )
    seen = zenserve.verify(proof, dataset=(images, labels))
    console.print(f"{seen.detail} {proof.statement.claim}")
    for sentence in seen.not_verified:
        console.print(f"Not: {sentence}")
    others = (labels + 1) % 10
    console.print(f"Of other labels: {zenserve.verify(proof, dataset=(images, others)).detail}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
