"""How far the values of every tensor reach, and what quantisation costs: accuracy, errors, saturation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from circuits import svg
from circuits.graphs.graph import Graph
from circuits.graphs.tensors import as_finite_tensor, as_samples
from circuits.graphs.types import Affine, FloatArray
from circuits.quantisation.plan import input_names, plan
from circuits.quantised import QuantGraph
from zenerrors import TensorError

# A larger drop in accuracy gets a warning.
WORST_DROP = 0.01
_AT_ONCE = 64


@dataclass(frozen=True)
class TensorRange:
    """``low``, ``high``: how far a tensor's float values reach; ``least``, ``greatest``: its integers.

    ``function``: what a table makes it by, and ``rounding`` how far the table is from that at most, in steps;
    None for all others.
    """

    name: str
    operator: str
    bits: int
    low: float
    high: float
    least: float
    greatest: float
    function: str | None
    rounding: float | None


@dataclass(frozen=True)
class TensorReport(TensorRange):
    """One tensor of integers beside the float network's.

    ``snr``: the float values' power over the error's, in dB; ``worst``: the largest error, in steps of the
    type; ``saturated``: the share of float values that lie beyond the type's ends.
    """

    snr: float
    worst: float
    saturated: float


@dataclass(frozen=True)
class Report:
    """``agreement``: how often both networks say the same. ``accuracy`` is that of the integers."""

    images: int
    float_accuracy: float
    accuracy: float
    agreement: float
    tensors: tuple[TensorReport, ...]

    @property
    def drop(self) -> float:
        return self.float_accuracy - self.accuracy

    @property
    def warning(self) -> str | None:
        """What to do where accuracy drops by more than a percent; None where it does not."""
        if self.drop <= WORST_DROP:
            return None
        weakest = min(self.tensors, key=lambda tensor: tensor.snr)
        return (
            f"accuracy drops by {self.drop:.1%}, from {self.float_accuracy:.1%} to {self.accuracy:.1%}: use "
            f"more bits, per-channel weights, or another calibration; {weakest.name!r} loses most "
            f"({weakest.snr:.0f} dB)"
        )

    def to_json(self) -> dict[str, Any]:
        """JSON-able."""
        return asdict(self) | {"drop": self.drop, "warning": self.warning}

    def text(self) -> str:
        """A table, with the warning if there is one."""
        heads = f"{'tensor':<14}{'operator':<12}{'bits':>4}{'SNR (dB)':>10}{'worst (steps)':>15}"
        lines = [
            f"{self.images} images: accuracy {self.float_accuracy:.2%} in floats, {self.accuracy:.2%} in "
            f"integers; the same answer for {self.agreement:.2%}",
            f"{heads}{'saturated':>11}",
        ]
        lines += [
            f"{t.name:<14}{t.operator:<12}{t.bits:>4}{t.snr:>10.1f}{t.worst:>15.1f}{t.saturated:>11.2%}"
            for t in self.tensors
        ]
        lines += [
            f"{t.name} is a table of {t.function}, to {t.rounding:.2f} steps"
            for t in self.tensors
            if t.function is not None
        ]
        return "\n".join([*lines, *([f"warning: {self.warning}"] if self.warning else [])])

    def plot(self) -> str:
        """The tensors' signal-to-noise ratios as an SVG chart."""
        names = [tensor.name for tensor in self.tensors]
        title = f"Quantisation: accuracy {self.float_accuracy:.1%} to {self.accuracy:.1%}"
        return svg.bar_chart(title, "SNR (dB)", names, {"SNR": [max(0.0, t.snr) for t in self.tensors]})


class _Tally:
    """Running extremes and sums over the images for one tensor."""

    def __init__(self, kind: Affine, tabulated: tuple[str, float] | None) -> None:
        self.kind, self.tabulated = kind, tabulated
        self.low, self.high = math.inf, -math.inf
        self.signal = self.noise = self.worst = 0.0
        self.beyond = self.count = 0

    def see(self, exact: FloatArray) -> None:
        self.low, self.high = min(self.low, float(exact.min())), max(self.high, float(exact.max()))

    def compare(self, exact: FloatArray, real: FloatArray) -> None:
        error = np.abs(real - exact)
        low, high = self.kind.interval
        self.signal += float((exact**2).sum())
        self.noise += float((error**2).sum())
        self.worst = max(self.worst, float(error.max()) / self.kind.scale)
        self.beyond += int(((exact < low) | (exact > high)).sum())
        self.count += exact.size

    def range(self, name: str, operator: str) -> TensorRange:
        least, greatest = (self.kind.scale * end for end in self.kind.centred)
        made = self.tabulated or (None, None)
        return TensorRange(name, operator, self.kind.bits, self.low, self.high, least, greatest, *made)

    def report(self, name: str, operator: str) -> TensorReport:
        if self.noise == 0:
            snr = math.inf
        else:
            snr = 10 * math.log10(self.signal / self.noise) if self.signal else -math.inf
        # JSON has no infinity: 200 dB is beyond what any type of 8 bits can show.
        snr = min(max(snr, -200.0), 200.0)
        seen = asdict(self.range(name, operator))
        return TensorReport(**seen, snr=snr, worst=self.worst, saturated=self.beyond / self.count)


def report(graph: Graph, qgraph: QuantGraph, inputs: ArrayLike, labels: ArrayLike) -> Report:
    """Run both networks of one input and one output, ``qgraph`` being ``quantise(graph, ..)``, on
    inputs[n, *input shape].

    ``labels``: int[n]. Inputs beyond the calibrated range saturate. Raises ``TensorError``: ``input.*``.
    """
    x = as_finite_tensor(inputs, (None, *graph.input.shape), field="inputs")
    expected = np.asarray(labels)
    if expected.shape != (len(x),) or expected.dtype.kind not in "iu":
        raise TensorError(
            "input.shape", f"labels must be {len(x)} integers, one for each input", field="labels"
        )
    sources = _sources(graph)
    costs = _tallies(qgraph, sources)
    right = right_float = same = 0
    for start in range(0, len(x), _AT_ONCE):
        part, wanted = x[start : start + _AT_ONCE], expected[start : start + _AT_ONCE]
        floats = graph.run_all(part, {sources[name] for name in costs} | {graph.output})
        q = qgraph.input.type.quantise(part)
        for name, values in qgraph.tensors(q):
            if name in costs:
                costs[name].see(floats[sources[name]])
                costs[name].compare(floats[sources[name]], costs[name].kind.real(values))
            if name == qgraph.output:
                guess = values.reshape(len(part), -1).argmax(axis=1)
        guess_float = floats[graph.output].reshape(len(part), -1).argmax(axis=1)
        right += int((guess == wanted).sum())
        right_float += int((guess_float == wanted).sum())
        same += int((guess == guess_float).sum())
    operators = _operators(qgraph)
    tensors = tuple(cost.report(name, operators[name]) for name, cost in costs.items())
    return Report(len(x), right_float / len(x), right / len(x), same / len(x), tensors)


def ranges(
    graph: Graph, qgraph: QuantGraph, inputs: ArrayLike | Mapping[str, ArrayLike]
) -> tuple[TensorRange, ...]:
    """How far the tensors reach, by the float network alone, on inputs as for ``quantise``."""
    x = as_samples(inputs, graph.entries, field="inputs")
    sources, operators = _sources(graph), _operators(qgraph)
    costs = _tallies(qgraph, sources)
    for start in range(0, len(next(iter(x.values()))), _AT_ONCE):
        part = {name: values[start : start + _AT_ONCE] for name, values in x.items()}
        floats = graph.run_all(part, {sources[name] for name in costs})
        for name, cost in costs.items():
            cost.see(floats[sources[name]])
    return tuple(cost.range(name, operators[name]) for name, cost in costs.items())


def _sources(graph: Graph) -> dict[str, str]:
    """The float tensor that each node of integers stands for."""
    inputs = {called: name for name, called in input_names(graph).items()}
    return {step.name: step.tensor for step in plan(graph)} | inputs


def _tallies(qgraph: QuantGraph, sources: dict[str, str]) -> dict[str, _Tally]:
    tables = {
        node.name: node.tabulated([qgraph.types[name] for name in node.inputs]) for node in qgraph.nodes
    }
    return {
        name: _Tally(kind, tables.get(name))
        for name, kind in qgraph.types.items()
        if kind and name in sources
    }


def _operators(qgraph: QuantGraph) -> dict[str, str]:
    return {node.name: node.operator() for node in qgraph.nodes} | dict.fromkeys(qgraph.entries, "input")
