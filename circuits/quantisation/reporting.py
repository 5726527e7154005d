"""A report on the ranges of all tensors, and on the cost of quantisation: accuracy, errors, saturation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zenserve.circuits import svg
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.tensors import as_samples
from zenserve.circuits.graphs.types import Affine, FloatArray, Shape
from zenserve.circuits.quantisation.labels import Right, is_of_classes, right
from zenserve.circuits.quantisation.plan import input_names, output_names, plan, quantised_samples
from zenserve.circuits.quantised import QuantGraph
from zenserve.errors import TensorError
from zenserve.relations.integers import IntArray

# A larger drop in accuracy gets a warning.
WORST_DROP = 0.01
MOST_CLASSES = 32
"""Networks with more classes have no table of which are taken for which."""
BINS = 48
"""Of a histogram, at most."""
MOST_POINTS = 400
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
class Histogram:
    """The number of values in each of the bins of ``width`` from ``start`` on: of the float tensor, and of
    the real numbers that the integers represent. Bins hold whole steps of the type."""

    start: float
    width: float
    floats: tuple[int, ...]
    integers: tuple[int, ...]


@dataclass(frozen=True)
class TensorReport(TensorRange):
    """One tensor of integers beside the float network's.

    ``snr``: the float values' power over the error's, in dB; ``worst``: the largest error, in steps of the
    type; ``saturated``: the share of float values that lie beyond the type's ends.
    """

    snr: float
    worst: float
    saturated: float
    histogram: Histogram


@dataclass(frozen=True)
class Errors:
    """Mean squared and mean absolute error, and the share of the variance that is explained: None where there
    is none."""

    mse: float
    mae: float
    r2: float | None


@dataclass(frozen=True)
class OutputReport:
    """An output of ``size`` values. ``agreement``: how often the largest of them is the same one in floats
    and in integers, and ``confusion`` how often which was taken for which, a row for each class in floats:
    of outputs that are classes, and few. ``errors``: of the integers' values against the floats', and
    ``points`` some pairs of both: of outputs with one scale. Against targets, where there are any:
    ``float_loss`` and ``loss``.
    """

    name: str
    size: int
    agreement: float | None
    confusion: tuple[tuple[int, ...], ...] | None
    errors: Errors | None
    points: tuple[tuple[float, float], ...]
    float_loss: Errors | None
    loss: Errors | None


@dataclass(frozen=True)
class Report:
    """On so many ``images``, the samples: what both networks make of them. ``agreement``: how often they say
    the same class, where one output is of classes. ``accuracy`` is that of the integers, by labels.
    """

    images: int
    float_accuracy: float | None
    accuracy: float | None
    outputs: tuple[OutputReport, ...]
    tensors: tuple[TensorReport, ...]

    @property
    def agreement(self) -> float | None:
        said = [output.agreement for output in self.outputs if output.agreement is not None]
        return said[0] if len(said) == 1 else None

    @property
    def drop(self) -> float | None:
        if self.float_accuracy is None or self.accuracy is None:
            return None
        return self.float_accuracy - self.accuracy

    @property
    def warning(self) -> str | None:
        """The advice where accuracy drops by more than a percent or, without labels, more than a percent of
        the samples change their class; else None."""
        if self.drop is not None and self.drop > WORST_DROP:
            what = f"accuracy drops by {self.drop:.1%}, from {self.float_accuracy:.1%} to {self.accuracy:.1%}"
        elif self.drop is None and self.agreement is not None and 1 - self.agreement > WORST_DROP:
            what = f"integers give another class for {1 - self.agreement:.1%} of the samples"
        else:
            return None
        weakest = min(self.tensors, key=lambda tensor: tensor.snr)
        return (
            f"{what}: use more bits, per-channel weights, or another calibration; {weakest.name!r} loses "
            f"most ({weakest.snr:.0f} dB)"
        )

    def to_json(self) -> dict[str, Any]:
        """JSON-able."""
        return asdict(self) | {"agreement": self.agreement, "drop": self.drop, "warning": self.warning}

    def text(self) -> str:
        """Sentences on the outputs and a table of the tensors, with the warning if there is one."""
        heads = f"{'tensor':<14}{'operator':<12}{'bits':>4}{'SNR (dB)':>10}{'worst (steps)':>15}"
        lines = [*sentences(self.to_json()), f"{heads}{'saturated':>11}"]
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
        title = f"Quantisation: error by tensor, on {self.images} samples"
        return svg.bar_chart(title, "SNR (dB)", names, {"SNR": [max(0.0, t.snr) for t in self.tensors]})


def sentences(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sentences of a report, as JSON, about the outputs."""
    samples = "one sample" if report["images"] == 1 else f"{report['images']} samples"
    if report["accuracy"] is not None:
        yield (
            f"{samples}: accuracy {report['float_accuracy']:.2%} in floats, "
            f"{report['accuracy']:.2%} in integers"
        )
    for output in report.get("outputs", ()):
        of = f" of {output['name']!r}" if len(report["outputs"]) > 1 else ""
        if output["agreement"] is not None:
            yield f"{samples}: the same answer{of} in floats and integers for {output['agreement']:.2%}"
        for name, what in (
            ("errors", "integers beside floats"),
            ("float_loss", "floats beside the targets"),
            ("loss", "integers beside the targets"),
        ):
            if (errors := output[name]) is not None:
                r2 = "" if errors["r2"] is None else f", R² {errors['r2']:.4f}"
                yield f"Values{of}, {what}: MSE {errors['mse']:.4g}, MAE {errors['mae']:.4g}{r2}"


class _Tally:
    """Running extremes and sums over the samples for one tensor."""

    def __init__(self, kind: Affine, tabulated: tuple[str, float] | None) -> None:
        self.kind, self.tabulated = kind, tabulated
        self.low, self.high = math.inf, -math.inf
        self.signal = self.noise = self.worst = 0.0
        self.beyond = self.count = 0
        self.edges: FloatArray = np.zeros(0)
        self.floats = self.integers = np.zeros(0, dtype=np.int64)

    def see(self, exact: FloatArray) -> None:
        self.low, self.high = min(self.low, float(exact.min())), max(self.high, float(exact.max()))

    def bin(self) -> None:
        """Once all is seen: bins of whole steps, over all that floats or integers reach."""
        least, greatest = self.ends
        step = self.kind.scale
        below = max(0.0, math.floor((least - self.low) / step + 0.5))
        start = least - step * (below + 0.5)
        steps = math.ceil((max(self.high, greatest) - start) / step + 0.5)
        width = math.ceil(steps / BINS) * step
        self.edges = np.float64(start) + width * np.arange(math.ceil(steps * step / width) + 1.0)
        self.floats = self.integers = np.zeros(len(self.edges) - 1, dtype=np.int64)

    @property
    def ends(self) -> tuple[float, float]:
        least, greatest = (self.kind.scale * end for end in self.kind.centred)
        return least, greatest

    def compare(self, exact: FloatArray, real: FloatArray) -> None:
        error = np.abs(real - exact)
        low, high = self.kind.interval
        self.signal += float((exact**2).sum())
        self.noise += float((error**2).sum())
        self.worst = max(self.worst, float(error.max()) / self.kind.scale)
        self.beyond += int(((exact < low) | (exact > high)).sum())
        self.count += exact.size
        self.floats = self.floats + self._counted(exact)
        self.integers = self.integers + self._counted(real)

    def _counted(self, values: FloatArray) -> NDArray[np.int64]:
        places = ((values - self.edges[0]) / (self.edges[1] - self.edges[0])).astype(np.int64).ravel()
        return np.bincount(np.clip(places, 0, len(self.floats) - 1), minlength=len(self.floats))

    def report(self, name: str, operator: str) -> TensorReport:
        if self.noise == 0:
            snr = math.inf
        else:
            snr = 10 * math.log10(self.signal / self.noise) if self.signal else -math.inf
        # JSON has no infinity: 200 dB is beyond what any type of 16 bits can show.
        snr = min(max(snr, -200.0), 200.0)
        function, rounding = self.tabulated or (None, None)
        start, width = float(self.edges[0]), float(self.edges[1] - self.edges[0])
        counted = Histogram(start, width, tuple(self.floats.tolist()), tuple(self.integers.tolist()))
        return TensorReport(
            name,
            operator,
            self.kind.bits,
            self.low,
            self.high,
            *self.ends,
            function,
            rounding,
            snr=snr,
            worst=self.worst,
            saturated=self.beyond / self.count,
            histogram=counted,
        )


class _Loss:
    """Running sums of the differences of values [n, size] from what they should be."""

    def __init__(self) -> None:
        self.squares = self.absolutes = 0.0
        self.samples = self.count = 0
        self.sums: Any = 0.0
        self.powers: Any = 0.0

    def see(self, wanted: FloatArray, found: FloatArray) -> None:
        error = found - wanted
        self.squares += float((error**2).sum())
        self.absolutes += float(np.abs(error).sum())
        self.samples, self.count = self.samples + len(wanted), self.count + wanted.size
        self.sums, self.powers = self.sums + wanted.sum(axis=0), self.powers + (wanted**2).sum(axis=0)

    def errors(self) -> Errors | None:
        if not self.count:
            return None
        spread = float((self.powers - self.sums**2 / self.samples).sum())
        # What rounding leaves of the variance of a constant.
        varies = spread > 1e-12 * float(np.sum(self.powers))
        r2 = 1 - self.squares / spread if varies else None
        return Errors(self.squares / self.count, self.absolutes / self.count, r2)


class _Answers:
    """Running counts and sums over the samples for one output, beside what is ``right``."""

    def __init__(
        self, name: str, shape: Shape, scale: tuple[float, int] | None, samples: int, right: Right | None
    ) -> None:
        self.name, self.size, self.scale, self.right = name, math.prod(shape), scale, right
        self.is_class = is_of_classes(shape)
        classes = self.size if self.is_class and self.size <= MOST_CLASSES else 0
        self.confusion = np.zeros((classes, classes), dtype=np.int64)
        self.seen = self.same = self.hits = self.float_hits = 0
        self.loss, self.against, self.against_float = _Loss(), _Loss(), _Loss()
        self.points: list[tuple[float, float]] = []
        self.each = max(1, MOST_POINTS // math.ceil(samples / _AT_ONCE))

    def compare(self, exact: FloatArray, integers: IntArray, place: slice) -> None:
        """[n, …] of both networks, of the samples in this place."""
        exact, integers = exact.reshape(len(exact), -1), integers.reshape(len(exact), -1)
        self.seen += len(exact)
        if self.is_class:
            said, meant = integers.argmax(axis=1), exact.argmax(axis=1)
            self.same += int((said == meant).sum())
            if len(self.confusion):
                np.add.at(self.confusion, (meant, said), 1)
            if self.right and self.right.classes is not None:
                self.hits += int((said == self.right.classes[place]).sum())
                self.float_hits += int((meant == self.right.classes[place]).sum())
        if self.scale is None:
            return
        scale, zero_point = self.scale
        real: FloatArray = scale * (integers - zero_point).astype(np.float64)
        self.loss.see(exact, real)
        if self.right and self.right.targets is not None:
            self.against.see(self.right.targets[place], real)
            self.against_float.see(self.right.targets[place], exact)
        places = np.linspace(0, exact.size - 1, min(self.each, exact.size)).astype(np.int64)
        pairs = zip(exact.ravel()[places].tolist(), real.ravel()[places].tolist(), strict=True)
        self.points += [(float(f"{x:.6g}"), float(f"{y:.6g}")) for x, y in pairs]

    def report(self) -> OutputReport:
        confusion = tuple(tuple(row) for row in self.confusion.tolist())
        return OutputReport(
            self.name,
            self.size,
            self.same / self.seen if self.is_class else None,
            confusion or None,
            self.loss.errors(),
            tuple(self.points),
            self.against_float.errors(),
            self.against.errors(),
        )


def report(
    graph: Graph,
    qgraph: QuantGraph,
    inputs: ArrayLike | Mapping[str, ArrayLike],
    labels: ArrayLike | None = None,
) -> Report:
    """Run both networks, ``qgraph`` being ``quantise(graph, ..)``, on inputs as for that.

    ``labels``: classes or targets, as ``zenserve.circuits.quantisation.labels`` has them.
    Inputs beyond the calibrated range saturate. Raises ``TensorError``: ``input.*``.
    """
    x = as_samples(inputs, graph.entries, field="inputs")
    count = len(next(iter(x.values())))
    sources, operators = _sources(graph), _operators(qgraph)
    judged = None if labels is None else right(graph, labels, count)
    tallies, answers = _tallies(qgraph, sources), _answers(graph, qgraph, count, judged)
    for _, part in _parts(x, count):
        floats = graph.run_all(part, {sources[name] for name in tallies})
        for name, tally in tallies.items():
            tally.see(floats[sources[name]])
    for tally in tallies.values():
        tally.bin()
    names = input_names(graph)
    for place, part in _parts(x, count):
        floats = graph.run_all(part, {*(sources[name] for name in tallies), *graph.outputs.values()})
        for name, values in qgraph.tensors(quantised_samples(qgraph, names, part)):
            if name in tallies:
                tallies[name].compare(floats[sources[name]], tallies[name].kind.real(values))
            for tensor, answer in answers.get(name, ()):
                answer.compare(floats[tensor], values, place)
    outputs = [answer for several in answers.values() for _, answer in several]
    scores = next((each for each in outputs if each.right and each.right.classes is not None), None)
    return Report(
        count,
        scores.float_hits / count if scores else None,
        scores.hits / count if scores else None,
        tuple(output.report() for output in outputs),
        tuple(tally.report(name, operators[name]) for name, tally in tallies.items()),
    )


def _parts(x: Mapping[str, FloatArray], count: int) -> Iterator[tuple[slice, dict[str, FloatArray]]]:
    for start in range(0, count, _AT_ONCE):
        place = slice(start, start + _AT_ONCE)
        yield place, {name: values[place] for name, values in x.items()}


def _answers(
    graph: Graph, qgraph: QuantGraph, count: int, judged: Right | None
) -> dict[str, list[tuple[str, _Answers]]]:
    """Of each tensor of integers that is an output, or several: the float tensors, and what is to be said."""
    called, made = output_names(graph), dict[str, list[tuple[str, _Answers]]]()
    for name, tensor in graph.outputs.items():
        integers = qgraph.outputs[called[name]]
        scale, own = qgraph.scale_of(integers), judged if judged and judged.output == name else None
        if own and own.targets is not None and scale is None:
            reason = "labels are targets, and the output's sums have no one scale to be compared by"
            raise TensorError("input.shape", reason, field="labels")
        answer = _Answers(name, qgraph.shapes[integers], scale, count, own)
        made.setdefault(integers, []).append((tensor, answer))
    return made


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
