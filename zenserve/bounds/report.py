"""A report on the robustness of a network on samples: the certified share, the result of an attack, and the
entries that matter.

In a network of integers radii are whole input steps; ``eps`` is the same radius in real units.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zenserve.bounds import attack
from zenserve.bounds.arrays import Array
from zenserve.bounds.ball import Ball, Norm
from zenserve.bounds.certify import certify, furthest
from zenserve.bounds.network import Network
from zenserve.bounds.propagation import Bounds, Method
from zenserve.bounds.reading import read
from zenserve.circuits import svg
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.quantisation.labels import right
from zenserve.circuits.quantised.graph import QuantGraph
from zenserve.errors import RequestError, TensorError

# How far radii are looked for, in eps, and in how many parts.
_BEYOND: Final = 2
_STEPS: Final = 64
_SHARES: Final = np.linspace(0, _BEYOND, 9)
# Samples whose entries are drawn.
_DRAWN: Final = 4
_SEED: Final = 0
_STYLE: Final = """
:root { color-scheme: light dark } svg { display: block; width: 100%; max-height: 20rem }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem }
figure { display: inline-block; margin: 1rem 1.5rem 0 0; max-width: 100%; vertical-align: top; width: 28rem }
figcaption { text-align: center }
"""


@dataclass(frozen=True, eq=False)
class Report:
    """Of n samples.

    ``right``: whether the network gives the label to the sample itself; ``robust``: whether it is right and
    certain to stay within ``eps``; ``attacked``: whether an attack within ``eps`` found another; ``margins``:
    by how much each label is ahead of the worst rival at least; ``radius``: the furthest that each is
    certified, in units of the input; ``courses`` [few, 9]: the margins of the first samples from radius 0 to
    twice ``eps``; ``weights`` [few, *shape]: by how much each entry may lower their margins. ``steps``:
    ``eps`` in steps of integers.
    """

    network: str
    integers: bool
    norm: Norm
    method: Method
    eps: float
    steps: int | None
    right: NDArray[np.bool_]
    robust: NDArray[np.bool_]
    attacked: NDArray[np.bool_]
    margins: Array = field(repr=False)
    radius: Array = field(repr=False)
    courses: Array = field(repr=False)
    weights: Array = field(repr=False)

    @property
    def certified(self) -> float:
        """The share of samples whose label is right and stays."""
        return float(self.robust.mean())

    @property
    def withstood(self) -> float:
        """The share of samples whose label is right, and that no attack changed."""
        return float((self.right & ~self.attacked).mean())

    def certified_at(self, eps: float) -> float:
        """The same for another radius, up to twice ``eps``."""
        return float((self.right & (self.radius >= eps * (1 - 1e-12))).mean())

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists."""
        return {
            "network": self.network,
            "integers": self.integers,
            "norm": self.norm,
            "method": self.method,
            "eps": self.eps,
            "steps": self.steps,
            "samples": len(self.right),
            "accuracy": float(self.right.mean()),
            "certified": self.certified,
            "withstood": self.withstood,
            "curve": [{"eps": eps, "certified": share} for eps, share in self._curve],
            "results": [
                {
                    "right": bool(right),
                    "robust": bool(robust),
                    "attacked": bool(hit),
                    "margin": margin,
                    "radius": far,
                }
                for right, robust, hit, margin, far in zip(
                    self.right,
                    self.robust,
                    self.attacked,
                    self.margins.tolist(),
                    self.radius.tolist(),
                    strict=True,
                )
            ],
        }

    def sentences(self) -> list[str]:
        """Return the results in words."""
        of = "the network of integers" if self.integers else "the float network"
        within = f"{self.eps:.4g} in ℓ_{_SAID[self.norm]}" + (
            f" ({self.steps} input steps)" if self.steps else ""
        )
        count = len(self.right)
        return [
            f"{count} samples of {self.network}, {of}: {self.right.mean():.1%} have the right label",
            f"{self.certified:.1%} are certain to keep it within {within}, by {self.method}",
            f"{self.withstood:.1%} keep it under an attack by gradient descent; the truth lies between",
            f"the median of the certified radii, looked for up to {_BEYOND * self.eps:.4g}, is "
            f"{np.median(self.radius):.4g}",
        ]

    def html(self) -> str:
        """A page of its own, with plots."""
        title = f"Robustness of {self.network}"
        head = [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>',
            f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>",
        ]
        words = [f"<p>{escape(sentence[:1].upper() + sentence[1:])}.</p>" for sentence in self.sentences()]
        plots = [
            f"<figure>{chart}<figcaption>{escape(said)}</figcaption></figure>"
            for _, said, chart in self.charts()
        ]
        return "\n".join([*head, *words, *plots, "</body></html>\n"])

    def charts(self) -> Iterator[tuple[str, str, str]]:
        """Names, what they show, and SVG."""
        beyond = [(eps, 100 * share) for eps, share in self._curve]
        lines = {
            "certified": beyond,
            "under attack": [(0.0, 100 * float(self.right.mean())), (self.eps, 100 * self.withstood)],
        }
        yield (
            "certified",
            "Certified accuracy by radius",
            svg.line_chart("Certified accuracy", "radius", "% of samples", lines),
        )
        finite = np.where(np.isfinite(self.margins), self.margins, np.nan)
        counts, edges = np.histogram(finite[~np.isnan(finite)], bins=12)
        names = [f"{(low + high) / 2:.3g}" for low, high in itertools.pairwise(edges)]
        yield (
            "margins",
            f"Margins over the worst rival within {self.eps:.4g}: above 0 is certified",
            svg.bar_chart("Margins", "samples", names, {"samples": counts.tolist()}),
        )
        yield (
            "courses",
            f"Least margin by radius of samples 0 to {len(self.courses) - 1}; {self.eps:.4g} is dashed",
            svg.descent("radius", "least margin", self._lines, self.eps),
        )
        for index, each in enumerate(self.weights):
            yield (
                f"entries-{index}",
                f"Sample {index}: by how much entries may lower the margin",
                _drawn(each),
            )

    @property
    def _curve(self) -> list[tuple[float, float]]:
        return [(eps, self.certified_at(eps)) for eps in (_SHARES * self.eps).tolist()]

    @property
    def _lines(self) -> list[list[tuple[float, float]]]:
        """The courses, as far as they are known."""
        return [
            [
                (eps, margin)
                for eps, margin in zip((_SHARES * self.eps).tolist(), each, strict=True)
                if math.isfinite(margin)
            ]
            for each in self.courses.tolist()
        ]


_SAID: Final = {"inf": "∞", "2": "2", "1": "1"}


def assess(
    graph: Graph | QuantGraph,
    x: FloatArray,
    labels: NDArray[np.int64] | None = None,
    *,
    eps: float,
    norm: Norm = "inf",
    method: Method = "crown",
    domain: tuple[float, float] = (-math.inf, math.inf),
    where: ArrayLike | None = None,
    name: str = "a network",
) -> Report:
    """A network's robustness on samples x, float64[n, *shape], within ``eps`` of each, in real units.

    ``labels``: int64[n], else those that the network itself gives. ``domain``: what entries can be; a network
    of integers knows. ``where``: booleans of the input's shape, the entries that may change, else all. Raises
    ``ModelError`` as ``read`` does, ``TensorError`` for a ``where`` of another shape, and ``RequestError``
    for an ``eps`` that is no step.
    """
    network, steps, integers = read(graph), None, isinstance(graph, QuantGraph)
    marked = _marked(where, x.shape[1:])
    centre, most, parts, unit = x, _BEYOND * eps, _STEPS, 1.0
    if isinstance(graph, QuantGraph):
        kind = graph.input.type
        unit, steps = kind.scale, math.floor(eps / kind.scale + 0.5)
        if steps < 1:
            raise RequestError(
                "request.invalid",
                f"eps: {eps:.4g} is less than half an input step, which is {kind.scale:.4g}: give more",
                field="eps",
            )
        q = np.stack([graph.quantise_input(each, saturate=True) for each in x])
        centre, domain = (
            (q - kind.zero_point).astype(np.float64),
            (float(kind.centred[0]), float(kind.centred[1])),
        )
        most, parts = float(_BEYOND * steps), _BEYOND * steps

    def around(radii: Array, samples: NDArray[np.int64]) -> Ball:
        return Ball(centre[samples], radii, norm, marked, domain=domain, whole=integers)

    known = network.run(centre).argmax(axis=1)
    labels = known if labels is None else labels
    own = np.arange(len(x))
    reach = float(steps) if steps else eps
    region = around(np.full(len(x), reach), own)
    certified = certify(network, region, labels, method)
    found = attack.projected(network, region, labels, np.random.default_rng(_SEED))
    correct = known == labels
    radius = furthest(network, around, labels, most, method, parts)
    return Report(
        name,
        integers,
        norm,
        method,
        eps,
        steps,
        correct,
        correct & certified.robust,
        correct & (attack.margins(network, found, labels) < 0),
        certified.least,
        radius * unit,
        _courses(
            network, around, labels[:_DRAWN], np.floor(_SHARES * reach) if steps else _SHARES * reach, method
        ),
        _weights(network, region.part(slice(_DRAWN)), labels[:_DRAWN], method),
    )


def _marked(where: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if where is None:
        return np.ones(shape, np.bool_)
    marked = np.asarray(where)
    if marked.dtype != np.bool_ or marked.shape != shape or not marked.any():
        reason = f"where: give booleans of the input's shape {[*shape]}, some of them true"
        raise TensorError("input.shape", reason, field="where")
    return marked


def classes(graph: Graph, labels: ArrayLike | None, count: int) -> NDArray[np.int64] | None:
    """The labels of so many samples, if there are any. Raises ``TensorError`` for what are no classes."""
    if labels is None:
        return None
    found = right(graph, labels, count).classes
    if found is None:
        raise TensorError("input.shape", "labels must be classes: one number for each sample", field="labels")
    return found


def _courses(
    network: Network,
    around: Callable[[Array, NDArray[np.int64]], Ball],
    labels: NDArray[np.int64],
    radii: Array,
    method: Method,
) -> Array:
    """The margin of each sample within each of the radii."""
    samples, shape = np.arange(len(labels)), (len(labels), len(radii))
    region = around(np.tile(radii, len(labels)), np.repeat(samples, len(radii)))
    return certify(network, region, np.repeat(labels, len(radii)), method).least.reshape(shape)


def _weights(network: Network, region: Ball, labels: NDArray[np.int64], method: Method) -> Array:
    """The line of the worst rival at the input, times what each entry may change; of intervals, which have no
    lines, those of crown-ibp."""
    bounds = Bounds(network, region, "crown-ibp" if method in ("ibp", "forward") else method)
    classes = math.prod(network.shapes[network.output])
    lines = np.eye(classes)[labels][:, np.newaxis] - np.eye(classes)
    least = np.where(np.eye(classes, dtype=bool)[labels], np.inf, bounds.least(lines))
    worst = lines[np.arange(len(labels)), least.argmin(axis=1)]
    steep: Array = np.abs(bounds.slopes(worst[:, np.newaxis])[:, 0]) * region.interval().radius
    return steep


def _drawn(weights: Array) -> str:
    """Images as they lie, others as bars of the largest."""
    if weights.ndim == 3 or (weights.ndim == 2 and min(weights.shape) > 1):
        return svg.heat(weights.reshape(-1, *weights.shape[-2:]).sum(axis=0).tolist())
    flat = weights.ravel()
    first = np.argsort(-flat)[:20]
    return svg.bar_chart("Entries", "margin", [str(at) for at in first], {"lowers by": flat[first].tolist()})
