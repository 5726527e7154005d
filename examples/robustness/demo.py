"""An attack that succeeds beyond a radius, and bounds that prove nothing can below it.

    python -m examples.robustness.demo [IMAGE]      an image of MNIST's test set, 0 to 99

The network is of integers, as it is proven. Prints the image, the radius that is certified and an image
further away that has another label, and writes a page on all 100 beside it, ``robustness.html``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import bounds
from bounds import attack
from bounds.arrays import Array
from bounds.report import assess
from circuits.quantisation.quantiser import quantise
from examples.robustness.network import EPSILON, calibration, held_out, network

SHADES = " .:-=+*#%@"
MOST_STEPS = 128

console = Console(highlight=False)


def main() -> int:
    index = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    images, labels = held_out()
    qgraph = quantise(network(), calibration())
    integers = bounds.read(qgraph)
    kind = qgraph.input.type
    x = (qgraph.quantise_input(images[index])[np.newaxis] - kind.zero_point).astype(np.float64)
    label = integers.run(x).argmax(axis=1)

    def around(radii: Array, samples: NDArray[np.int64]) -> bounds.Ball:
        return bounds.Ball(x[samples], radii, domain=kind.centred, whole=True)

    certified = int(bounds.furthest(integers, around, label, MOST_STEPS, steps=MOST_STEPS)[0])
    console.print(f"The image shows a {labels[index]}, the network says {label[0]}:")
    show(x)
    console.print(f"No change of any pixels by up to {certified}/255 makes that another label.")
    rng = np.random.default_rng(0)
    for steps in range(certified + 1, MOST_STEPS):
        region = around(np.array([float(steps)]), np.zeros(1, np.int64))
        found = attack.projected(integers, region, label, rng)
        if attack.margins(integers, found, label)[0] < 0:
            other = qgraph.execute(found[0].astype(np.int64) + kind.zero_point).label
            console.print(f"A change by {steps}/255 does: now it says {other}.")
            show(found)
            break
    report = assess(qgraph, images, labels, eps=EPSILON, name="784-128-10 on MNIST")
    for sentence in report.sentences():
        console.print(f"{sentence}.")
    Path("robustness.html").write_text(report.html())
    return 0


def show(x: Array) -> None:
    """Two rows of pixels in one of letters."""
    for row in x.reshape(14, 2, 28).mean(axis=1):
        console.print("".join(SHADES[min(9, int(value / 25.6))] for value in row), markup=False)


if __name__ == "__main__":
    sys.exit(main())
