"""The smaller networks that are tried, their costs, and the selection of those worth keeping."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.base.processors import usable_cores
from zenserve.circuits import banks
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.networks.files import load_onnx
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.priors import Member, with_prior
from zenserve.circuits.schemes import planned
from zenserve.circuits.shrinking.channels import narrower
from zenserve.circuits.shrinking.fitting import fitted
from zenserve.circuits.shrinking.smaller import coarser, shallower
from zenserve.circuits.tuning import tune
from zenserve.prover import backends, registry
from zenserve.relations.integers import IntArray
from zenserve.verifier.bank import PRIOR
from zenserve.verifier.registry import FIRST
from zenserve.verifier.stream import Rules
from zenserve.verifier.streams.skew import ONE, cautious, prior

_FACTORS: Final = (1, 2, 4)
_SHARES: Final = (1.0, 0.6, 0.35, 0.2)
BITS: Final = (8, 6)
_FRAMES: Final = 60
"""Of a run by whose prior pairs of classes are told apart."""
_APART: Final = 0.8
"""The largest cost of a bank's next model, as a share of the cost of the one before it."""
_LEAST_GAIN: Final = 0.002
MOST: Final = 2 * len(_FACTORS) * len(_SHARES) - 1
"""Cuts that are tried, at most."""


class Cut(NamedTuple):
    """The way in which a network was made smaller."""

    factor: int
    shallow: bool
    share: float

    def __str__(self) -> str:
        said = [
            f"images 1/{self.factor} as wide" if self.factor > 1 else "",
            "fewer layers" if self.shallow else "",
            f"{self.share:.0%} of the channels" if self.share < 1 else "",
        ]
        return ", ".join(each for each in said if each) or "as it is"


@dataclass(frozen=True, eq=False)
class Data:
    """Samples float[n, *shape] with labels int64[n]: ``seen``, which weights may be fitted to, and
    ``held_out``, by which networks are judged, of each class equally many."""

    seen: tuple[FloatArray, NDArray[np.int64]] = field(repr=False)
    held_out: tuple[FloatArray, NDArray[np.int64]] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Model:
    """A network of a bank. ``constraints`` of an inference with committed weights, which takes about
    ``seconds`` to prove here; ``accuracy``: of its integers on what was held out; ``pairs``: of two classes
    at a time, with their prior."""

    cut: Cut
    graph: Graph = field(repr=False)
    member: Member = field(repr=False)
    calibration: Mapping[str, FloatArray] = field(repr=False)
    bits: int
    constraints: int
    seconds: float
    accuracy: float
    pairs: float


def cuts(graph: Graph, larger: Mapping[str, FloatArray]) -> Iterator[tuple[Cut, Graph]]:
    """All that are tried, the largest first, with weights that are fitted. ``larger``: what the network makes
    of some samples, of all tensors, its input first."""
    x = larger[graph.input.name]
    for factor, shallow in itertools.product(_FACTORS, (False, True)):
        coarse = coarser(graph, factor) if factor > 1 else graph
        if coarse is None:
            continue
        whole = shallower(coarse) if shallow else coarse
        if shallow and len(whole.nodes) == len(coarse.nodes):
            continue
        names = {whole.input.name, *(node.name for node in whole.nodes)}
        values = whole.run_all(x[:_FRAMES], names)
        for share in _SHARES:
            narrow, kept = narrower(whole, share, values)
            cut = Cut(factor, shallow, share)
            if cut != (1, False, 1.0):
                yield cut, fitted(narrow, kept, x, larger)


def measured(cut: Cut, graph: Graph, bits: int, data: Data) -> Model:
    """As a service would register it. Raises ``ModelError``, ``StatementError`` where so many bits make no
    network."""
    typical = data.seen[0][:: max(1, len(data.seen[0]) // 64)][:64]
    member = with_prior(to_onnx(graph), typical, bits)
    images, labels = data.held_out
    classes = int(labels.max()) + 1
    calibration = {graph.input.name: typical, PRIOR: member.priors(classes, len(typical))}
    qgraph = tune(load_onnx(member.onnx), calibration, bits=bits).qgraph
    form = banks.form_of(qgraph)
    integers = qgraph.entries[form.input].type.quantise(images)
    outputs = banks.profile(qgraph, integers, backends.chosen())
    plan = planned.inference(qgraph, "committed")
    taken = registry.find(FIRST).estimate(plan.size, usable_cores())
    accuracy = float((outputs.argmax(axis=1) == labels).mean())
    told = _pairs(outputs, labels, form.bit)
    return Model(
        cut,
        graph,
        member,
        calibration,
        bits,
        plan.constraints,
        sum(taken.proof_seconds.values()),
        accuracy,
        told,
    )


def _pairs(outputs: IntArray, labels: NDArray[np.int64], bit: int) -> float:
    """The mean accuracy where frames are of two classes, as often the one as the other."""
    classes, right = outputs.shape[1], list[float]()
    for pair in itertools.combinations(range(classes), 2):
        shares = [ONE // 2 if each in pair else 0 for each in range(classes)]
        added = prior(cautious(shares, _FRAMES, Rules().caution), bit, banks.MARGIN)
        own = np.isin(labels, pair)
        right.append(float(((outputs[own] + added).argmax(axis=1) == labels[own]).mean()))
    return float(np.mean(right))


def by_octave(models: Sequence[Model]) -> list[Model]:
    """The most accurate of each half of an octave of costs."""
    best: dict[int, Model] = {}
    for model in models:
        octave = int(2 * math.log2(model.constraints))
        if octave not in best or model.accuracy > best[octave].accuracy:
            best[octave] = model
    return [best[octave] for octave in sorted(best, reverse=True)]


def front(full: Model, models: Sequence[Model]) -> list[Model]:
    """The full network, then those that no cheaper one is as accurate as, the dearest first."""
    found: list[Model] = []
    for model in sorted(models, key=lambda each: (each.constraints, -each.accuracy)):
        if not found or model.accuracy > found[-1].accuracy + _LEAST_GAIN:
            found.append(model)
    kept = [full]
    for model in reversed(found):
        if model.constraints <= _APART * kept[-1].constraints:
            kept.append(model)
    return kept
