"""Measure the zoo's trained networks on images that no training saw.

    python -m examples.zoo.evaluate --data FOLDER      (docs/zoo.md)

Writes report.json beside the weights. Accuracies are shares of the held-out images: of the float network, of
its quantisation to 8 bits calibrated by 100 training images, and what ZEN reports for its own. Recognition
compares the embedding of each held-out face with the mean embedding of each person's other shots.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from examples.zoo.data import SPLITS, Images, Split, faces
from zenserve.circuits import QuantGraph, quantise, zoo
from zenserve.circuits.graphs.types import FloatArray
from zenserve.relations.integers import IntArray

CALIBRATION_IMAGES = 100
ZEN = {"shallownet-mnist": 0.9513, "lenet-small-cifar": 0.5576, "lenet-face-small-orl": 0.843}


def reals(images: Images) -> FloatArray:
    """What the networks read."""
    return images.pixels / 255


def quantised(name: str, split: Split) -> QuantGraph:
    return quantise(zoo.network(name), reals(split.seen)[:CALIBRATION_IMAGES])


def classification(name: str, split: Split) -> dict[str, float]:
    graph, qgraph, held_out = zoo.network(name), quantised(name, split), split.held_out
    integers = qgraph.input.type.quantise(reals(held_out))
    return {
        "train_images": len(split.seen.labels),
        "test_images": len(held_out.labels),
        "train_accuracy": share(graph.run(reals(split.seen)).argmax(axis=1) == split.seen.labels),
        "test_accuracy": share(graph.run(reals(held_out)).argmax(axis=1) == held_out.labels),
        "quantised_accuracy": share(qgraph.run(integers).argmax(axis=1) == held_out.labels),
        "zen_accuracy": ZEN[name],
    }


def recognition(split: Split) -> dict[str, float]:
    """The threshold is where training faces are told apart best: most accepted right plus refused right."""
    qgraph = quantised(zoo.EMBEDDING, split)
    seen, held_out = (qgraph.run(qgraph.input.type.quantise(reals(images))) for images in split)
    people = np.unique(split.seen.labels)
    references = np.array([seen[split.seen.labels == person].mean(axis=0).round() for person in people])
    references = references.astype(np.int64)
    known, distances = split.seen.labels[:, None] == people, squared_distances(seen, references)
    candidates = np.unique(distances[known])
    rates = [share(distances[known] <= most) + share(distances[~known] > most) for most in candidates]
    threshold = candidates[np.argmax(rates)]
    same, distances = split.held_out.labels[:, None] == people, squared_distances(held_out, references)
    return {
        "comparisons": distances.size,
        "threshold": int(threshold),
        "accepted_of_same": share(distances[same] <= threshold),
        "refused_of_others": share(distances[~same] > threshold),
    }


def squared_distances(faces: IntArray, references: IntArray) -> IntArray:
    """int64[faces, references], as the circuit has them."""
    distances: IntArray = ((faces[:, None] - references) ** 2).sum(axis=2)
    return distances


def share(right: NDArray[np.bool_]) -> float:
    return round(float(np.mean(right)), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    folder = parser.parse_args().data
    report = {name: classification(name, load(folder)) for name, load in SPLITS.items()}
    report[zoo.EMBEDDING] = recognition(faces(folder))
    text = json.dumps(report, indent=2)
    (zoo.TRAINED / "report.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
