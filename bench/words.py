"""A topic of ``bench.robustness``: how far words of a sentence may move, by transformers of 1 to 6 layers.

Sentences of SST-2's test set that the network (``examples.sentences.train``) is right about, the first of 8
to 26 words. Of each word the largest of 1,024 parts of ``MOST`` is looked for within which its embedding may
move in l_2, all others as they are; seconds are a sentence's, all of its words. Beside them what Faith takes
(its paper, an A100: another card, other weights, ten halvings a word).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.report import Cells, Row
from examples.sentences.network import LAYERS, Reader, labelled
from examples.zoo.data import FOLDER
from zenserve import bounds
from zenserve.bounds import Ball, Method
from zenserve.circuits.graphs.types import FloatArray

METHODS: Final[tuple[Method, ...]] = ("crown-ibp", "forward")
SHORTEST, LONGEST = 8, 26
MOST: Final = 0.25
STEPS: Final = 1 << 10
FAITH: Final = (4.0, 7.2, 7.8, 10.9, 12.6, 15.4)
"""Seconds a sentence, by layers."""


def words(folder: Path, quick: bool) -> Iterator[Row]:
    for layers in LAYERS[:1] if quick else LAYERS:
        reader = Reader.load(folder / f"layers{layers}.npz")
        cases = [*islice(right(reader), 1 if quick else 3)]
        for method in METHODS[:1] if quick else METHODS:
            taken, radii, count = list[float](), list[FloatArray](), 0
            for x, label in cases:
                start = perf_counter()
                radii.append(furthest(reader, x, label, method))
                taken.append(perf_counter() - start)
                count += x.shape[1]
            median = float(np.median(taken))
            more = {
                "words": count,
                "radius": float(np.concatenate(radii).mean()),
                "faith_s": FAITH[layers - 1],
                "method": method,
            }
            spread = float((max(taken) - min(taken)) / median)
            yield Row(f"{layers} layers, {method}", len(cases), median, spread, unit="s/sentence", more=more)


def right(reader: Reader) -> Iterator[tuple[FloatArray, int]]:
    """Embedded sentences, [128, words], and their labels, which the network gives them, too."""
    for sentence, label in labelled(FOLDER / "sst2_test.tsv"):
        x = reader.embedded(sentence)
        count = x.shape[1]
        if SHORTEST <= count <= LONGEST and reader.network(count).run(x[np.newaxis]).argmax() == label:
            yield x, label


def furthest(reader: Reader, x: FloatArray, label: int, method: Method) -> FloatArray:
    """Of each word, float64[words]."""
    count = x.shape[1]
    network = bounds.read(reader.network(count))

    def around(radii: FloatArray, words: NDArray[np.int64]) -> Ball:
        where = np.arange(count) == words[:, np.newaxis, np.newaxis]
        return Ball(np.repeat(x[np.newaxis], len(words), axis=0), radii, "2", where=where)

    return bounds.furthest(network, around, np.full(count, label), MOST, method, STEPS)


WORDS: Final[Cells] = {
    "network": lambda row: row.name,
    "sentences": lambda row: str(row.size),
    "words": lambda row: str(row.more["words"]),
    "s a sentence": lambda row: f"{row.median:.2f} ({row.spread:.0%})",
    "mean radius": lambda row: f"{row.more['radius']:.4f}",
    "Faith, an A100, s": lambda row: f"{row.more['faith_s']:g}",
}
