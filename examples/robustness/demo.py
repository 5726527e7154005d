"""An attack that succeeds beyond a radius, and a proof that nothing can below it.

    python -m examples.robustness.demo [IMAGE]      an image of MNIST's test set, 0 to 99

The network is of integers, as it is proven. Prints the image, an image further away that has another label,
and the radius within which none has; proves that in zero knowledge, without a setup and with hidden weights,
and verifies it as anybody can. Writes a page on all 100 images, ``robustness.html``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import zenserve
from examples.robustness.network import EPSILON, calibration, held_out, network
from zenserve import bounds
from zenserve.bounds import attack
from zenserve.bounds.arrays import Array
from zenserve.bounds.report import assess
from zenserve.circuits import QuantGraph, compile_robustness
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.tuning import tune

SHADES = " .:-=+*#%@"
MOST_STEPS = 128

console = Console(highlight=False)


def main() -> int:
    index = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    images, labels = held_out()
    # As ``zenserve.certify`` quantises it.
    qgraph = tune(network(), {"image": calibration()}, bits=8, weight_privacy="committed").qgraph
    certified = attacked(qgraph, images[index], int(labels[index]))
    proven(qgraph, images[index], certified)
    report = assess(qgraph, images, labels, eps=EPSILON, name="784-128-10 on MNIST")
    for sentence in report.sentences():
        console.print(f"{sentence}.")
    Path("robustness.html").write_text(report.html())
    return 0


def attacked(qgraph: QuantGraph, image: FloatArray, label: int) -> int:
    """How many steps are certified, and the first beyond by which an attack succeeds."""
    integers, kind = bounds.read(qgraph), qgraph.input.type
    x = (qgraph.quantise_input(image)[np.newaxis] - kind.zero_point).astype(np.float64)
    own = integers.run(x).argmax(axis=1)

    def around(radii: Array, samples: NDArray[np.int64]) -> bounds.Ball:
        return bounds.Ball(x[samples], radii, domain=kind.centred, whole=True)

    certified = int(bounds.furthest(integers, around, own, MOST_STEPS, steps=MOST_STEPS)[0])
    console.print(f"The image shows a {label}, the network says {own[0]}:")
    show(x)
    console.print(f"No change of any pixels by up to {certified}/255 makes that another label.")
    rng = np.random.default_rng(0)
    for steps in range(certified + 1, MOST_STEPS):
        region = around(np.array([float(steps)]), np.zeros(1, np.int64))
        found = attack.projected(integers, region, own, rng)
        if attack.margins(integers, found, own)[0] < 0:
            other = qgraph.execute(found[0].astype(np.int64) + kind.zero_point).label
            console.print(f"A change by {steps}/255 does: now it says {other}.")
            show(found)
            break
    return certified


def proven(qgraph: QuantGraph, image: FloatArray, certified: int) -> None:
    """As far as a certificate reaches that knows no weights: as far as bounds do, or a step less."""
    circuit, q = compile_robustness(qgraph, weight_privacy="committed"), qgraph.quantise_input(image)
    steps = next((each for each in range(certified, 0, -1) if circuit.lead(q, each) > 0), 0)
    if not steps:
        console.print("No certificate of it reaches a single step.")
        return
    eps = steps * qgraph.input.type.scale
    proof = zenserve.certify(to_onnx(network()), image, eps=eps, calibration=calibration(), system="spartan")
    verdict = zenserve.verify(proof)
    console.print(f"Proven within {steps}/255, of hidden weights. {verdict.detail} {proof.statement.claim}")
    for sentence in verdict.not_verified:
        console.print(f"Not: {sentence}")


def show(x: Array) -> None:
    """Two rows of pixels in one of letters."""
    for row in x.reshape(14, 2, 28).mean(axis=1):
        console.print("".join(SHADES[min(9, int(value / 25.6))] for value in row), markup=False)


if __name__ == "__main__":
    sys.exit(main())
