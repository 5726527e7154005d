"""A topic of ``bench.gpu_bounds``: points within regions, none of which may have a margin below its bound.

Of sentences: every word of each may move, by forward bounds of networks of one to six layers, a norm each in
turn. Of images: of two networks, forwards and back. Points are drawn, half of them on the border, and made by
projected gradient descent; margins are computed in float64. Without a card, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.report import Row
from examples.digits.demo import HERE as DIGITS
from examples.robustness import network as robust
from examples.sentences.network import Reader
from zenserve import bounds
from zenserve.bounds import Ball, Bounds, Method, Network, Norm, attack
from zenserve.bounds.arrays import Namespace, host
from zenserve.circuits import load_onnx
from zenserve.circuits.graphs.types import FloatArray

NORMS: Final[tuple[Norm, ...]] = ("2", "inf", "1")
# Of each region are looked at so many times so many points, and as many that have gone down these steps.
TIMES: Final = 60
DRAWS: Final = 3
STEPS: Final = 3


class Tried:
    """How many points of how many regions, and by how much the least margin of any is above its bound."""

    def __init__(self) -> None:
        self.points = self.violations = self.regions = self.certified = 0
        self.least = np.inf

    def add(
        self, there: Network, region: Ball, labels: NDArray[np.int64], bound: FloatArray, rng: Any
    ) -> None:
        """Of ``region``'s samples, on the card, with ``bound`` [n] below their margins."""
        xp, which = bounds.arrays.namespace(region.centre), np.arange(TIMES * len(bound)) % len(bound)
        places = xp.asarray(which)
        where = region.where if region.where.ndim == 0 else region.where[places]
        many = replace(region, centre=region.centre[places], radius=region.radius[places], where=where)
        self.regions, self.certified = self.regions + len(bound), self.certified + int((bound > 0).sum())
        for draw in range(DRAWS + 1):
            at = many.drawn(rng) if draw else attack.projected(there, many, labels[which], rng, steps=STEPS)
            above = host(attack.margins(there, at, labels[which])) - bound[which]
            self.points, self.violations = self.points + len(at), self.violations + int((above < 0).sum())
            self.least = min(self.least, float(above.min()))

    def row(self, name: str) -> Row:
        more = {"violations": self.violations, "regions": self.regions, "certified": self.certified}
        return Row(name, self.points, self.least, unit="", more=more)


def sentences(
    reader: Reader, known: Sequence[FloatArray], most: float, xp: Namespace, seed: int
) -> Iterator[Row]:
    """``most``: about the largest radius in l_2 that a word may have."""
    rng, tried = xp.random.default_rng(seed), {norm: Tried() for norm in NORMS}
    for place, x in enumerate(known):
        norm, count = NORMS[place % len(NORMS)], x.shape[1]
        there = bounds.read(reader.network(count)).on(xp)
        label = int(host(there.run(xp.asarray(x[np.newaxis]))).argmax())
        radius = {"inf": 128**-0.5, "2": 1.0, "1": 2.0}[norm] * most / 2
        words = np.arange(count)
        region = Ball(
            np.repeat(x[np.newaxis], count, axis=0),
            radius * (1 + words % 4) / 4,
            norm,
            where=words == words[:, np.newaxis, np.newaxis],
        ).on(xp)
        lines = np.repeat(np.eye(2)[[[label]]] - np.eye(2)[[[1 - label]]], count, axis=0)
        bound = host(Bounds(there, region, "forward").least(xp.asarray(lines)))[:, 0]
        tried[norm].add(there, region, np.full(count, label), bound, rng)
    for norm in NORMS:
        yield tried[norm].row(f"{reader.layers} layers, l_{norm}")


def images(xp: Namespace) -> Iterator[Row]:
    """100 of each network."""
    pixels, labels = robust.held_out()
    held = np.load(DIGITS / "held_out.npz", allow_pickle=False)
    digits, read = held["images"][:100, np.newaxis].astype(np.float64), held["labels"][:100].astype(np.int64)
    for name, graph, x, truth, radii, domain in (
        ("MNIST", robust.network(), pixels, labels, (0.5, 8 / 255, 2.0), (0.0, 1.0)),
        ("digits", load_onnx(DIGITS / "digits.onnx"), digits, read, (2.0, 0.5, 4.0), (0.0, 16.0)),
    ):
        network, own, rng = bounds.read(graph), np.eye(10)[truth], xp.random.default_rng(2)
        x, there = x.reshape(len(x), *network.input_shape), network.on(xp)
        lines = xp.asarray(own[:, np.newaxis] - np.eye(10))
        for norm, radius in zip(NORMS, radii, strict=True):
            region = Ball(x, np.full(len(x), radius), norm, domain=domain).on(xp)
            tried = Tried()
            for method in _METHODS:
                margins = host(Bounds(there, region, method).least(lines))
                bound = np.where(own > 0, np.inf, margins).min(axis=1)
                tried.add(there, region, truth, bound, rng)
            yield tried.row(f"{name}, l_{norm}")


_METHODS: Final[tuple[Method, ...]] = ("crown", "forward")
