"""Calibration and bits by what they cost: the fewest constraints that stay within a loss of accuracy.

A trial quantises, runs the integers on the samples and, where these are near enough, counts constraints. The
order of trials is fixed and their number bounded by the work that one takes: the same network and samples
have the same result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from zenserve.base.progress import Progress, silent
from zenserve.circuits.graphs.calibration import Method
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.site import Settings
from zenserve.circuits.graphs.tensors import as_samples
from zenserve.circuits.graphs.types import MOST_BITS, FloatArray
from zenserve.circuits.operators.weighted import Parametric, WeightedSum
from zenserve.circuits.quantisation.labels import right
from zenserve.circuits.quantisation.plan import input_names, output_names
from zenserve.circuits.quantisation.quantiser import Calibrated, Ranges, Slot, Widths
from zenserve.circuits.quantised import QuantGraph
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.schemes.inference import plan_inference, shown_by_default
from zenserve.errors import ModelError, StatementError, TensorError
from zenserve.verifier.schemes import Privacy

Measure = Literal["accuracy", "agreement", "values"]
MEASURES: Final[tuple[Measure, ...]] = get_args(Measure)
MAX_LOSS: Final = 1.0
"""In percent, where nothing else is asked for."""

# Method and scales per channel.
_CALIBRATIONS: Final[tuple[tuple[Method, bool], ...]] = (("min-max", False), ("min-max", True), ("mse", True))
# Codes of errors that say that so many bits make no network.
_NO_SUCH: Final = ("model.range_too_wide", "model.scale", "statement.could_wrap")
_GUARD: Final = 3
# The share of values that are to be as near as the loss says.
_SHARE: Final = 0.95
_SAMPLES: Final = 512
_FIRST: Final = 8
# Networks of single bits are trained, not found.
_LEAST_BITS: Final = 2
_TOO_MUCH: Final = "not tried: many samples, or a large network"
_LOWERINGS: Final = (4, 2, 1)
# Of all trials together, half a minute of a processor, in products of weights and inputs. Each takes some of
# its own, more for each node, whose proof it plans, less where that is one again, for each number that a node
# has, and for each value of a tensor. Bits that are enough may take as long again. So many samples are judged
# that there may be ``_FEWEST`` trials.
_MOST_WORK: Final = 1 << 34
_MOST_TO_FIND: Final = 2 * _MOST_WORK
_LEAST_WORK: Final = 1 << 25
_NODE_WORK: Final = 1 << 21
_AGAIN_WORK: Final = 1 << 18
_ENTRY_WORK: Final = 1 << 7
_VALUE_WORK: Final = 1 << 4
_FEWEST: Final = 16
# Of the calibration in floats, which takes as long again, and products of work of any kind in a second.
_MOST_FLOATS: Final = 1 << 37
_FLOATS_A_SECOND: Final = 1 << 32
_WORK_A_SECOND: Final = 1 << 29


class Judgement(NamedTuple):
    """``loss``: in percent. ``guarded``: where it is of labels the same with errors ``_GUARD`` times as
    large, as samples are few, and often those of the training. ``noise``: the power of the outputs' error,
    the outputs' being 1."""

    loss: float
    guarded: float
    noise: float


@dataclass(frozen=True)
class Layer:
    """``bits`` of a node's tensor, None where it has no type, and of its weights, None where it has none.
    ``why`` not fewer."""

    name: str
    operator: str
    bits: int | None
    weight_bits: int | None
    why: str


@dataclass(frozen=True)
class Tuned:
    """``loss``: of the integers on the samples, in percent. By ``measure``, accuracy: how much lower it is
    than in floats; agreement: on how many samples the label is another; values: how far 95 % of each
    sample's outputs are from those in floats at most, by the range of these.
    """

    qgraph: QuantGraph
    method: Method
    per_channel: bool
    measure: Measure
    loss: float
    max_loss: float | None
    constraints: int
    samples: int
    trials: int
    layers: tuple[Layer, ...]

    def to_json(self) -> dict[str, Any]:
        """All but the network, JSON-able."""
        shown = {name: value for name, value in vars(self).items() if name not in ("qgraph", "layers")}
        return shown | {"layers": [asdict(layer) for layer in self.layers]}


def tune(
    graph: Graph,
    calibration: ArrayLike | Mapping[str, ArrayLike],
    *,
    bits: int | None = 8,
    weight_bits: int | None = None,
    max_loss: float = MAX_LOSS,
    measure: Measure | None = None,
    labels: ArrayLike | None = None,
    ranges: Ranges | None = None,
    ends: Mapping[str, FloatArray] | None = None,
    weight_privacy: Privacy | None = "public",
    progress: Progress = silent,
) -> Tuned:
    """Quantise ``graph`` by whichever calibration loses least, to ``bits``; where these are None to few bits
    for each tensor and each layer's weights, at a loss of up to ``max_loss`` percent.

    ``calibration``, ``ranges``: as for ``quantise``. ``labels``: of the samples, as
    ``zenserve.circuits.quantisation.labels`` has them; of targets nothing is made here.
    ``measure``: by default accuracy where these are classes, else agreement where there are as many outputs
    as classes, else values. ``ends``: further inputs by their names, [n, …], that types are to take, too, and
    by which nothing is judged. ``weight_privacy``: of the proof whose constraints are counted, None for
    ``TypedGraph.most_private``.

    Raises as ``quantise``, ``TensorError`` for labels that do not fit, and ``ModelError``
    (``model.precision``) where no number of bits loses so little.
    """
    x = as_samples(calibration, graph.entries, field="calibration")
    if bits is None:
        _require_affordable(graph, len(next(iter(x.values()))))
    judge = _Judge(graph, x, measure, labels)
    seen = x if ends is None else {name: np.concatenate([each, ends[name]]) for name, each in x.items()}
    trials = _Trials(Calibrated.by(graph, seen, ranges), judge, weight_privacy, progress)
    if bits is None:
        return _search(trials, weight_bits, max_loss)
    return trials.tuned(trials.best_of(bits, weight_bits), {}, None)


def _require_affordable(graph: Graph, samples: int) -> None:
    """``ModelError`` (``model.too_large``) where floats alone take longer than all trials may."""
    of_sample = work_of(graph)
    if samples * of_sample > _MOST_FLOATS:
        seconds, fewer = samples * of_sample / _FLOATS_A_SECOND, max(1, _MOST_FLOATS // of_sample)
        raise ModelError(
            "model.too_large",
            f"to find bits by these {samples} samples takes {seconds:.0f} seconds of a processor in floats "
            f"alone; calibrate with {fewer}, or say how many bits",
            field="calibration",
        )


class _Judge:
    """Compares integers with the float network on up to ``_SAMPLES`` samples. ``work``: of a trial."""

    def __init__(
        self,
        graph: Graph,
        x: Mapping[str, FloatArray],
        measure: Measure | None,
        labels: ArrayLike | None,
    ) -> None:
        count, of_sample = len(next(iter(x.values()))), work_of(graph)
        self.samples = min(count, _SAMPLES, max(1, _MOST_WORK // (_FEWEST * of_sample)))
        again = sum(node.name in graph.tied for node in graph.nodes)
        nodes = _NODE_WORK * (len(graph.nodes) - again) + _AGAIN_WORK * again + _entries(graph) * _ENTRY_WORK
        self.work = _LEAST_WORK + nodes + self.samples * of_sample
        chosen = np.linspace(0, count - 1, self.samples).astype(np.int64)
        truth = None if labels is None else right(graph, labels, count)
        self._labels = None if truth is None or truth.classes is None else truth.classes[chosen]
        x = {name: values[chosen] for name, values in x.items()}
        floats = graph.run_all(x, {*graph.outputs.values()})
        self._x = {called: x[name] for name, called in input_names(graph).items()}
        self._exact = {
            called: floats[graph.outputs[name]].reshape(len(chosen), -1)
            for name, called in output_names(graph).items()
        }
        self._values = {called for name, called in output_names(graph).items() if name in graph.values}
        self.measure: Measure = measure or ("accuracy" if self._labels is not None else self._likely)
        if self.measure == "accuracy" and self._labels is None:
            raise TensorError("input.shape", "accuracy is of samples with labels of classes", field="labels")
        self._scores = output_names(graph)[truth.output] if truth else None

    @property
    def _likely(self) -> Measure:
        """Without classes."""
        shown = {
            shown_by_default(each.shape[1], values=name in self._values) for name, each in self._exact.items()
        }
        return "agreement" if shown == {"label"} else "values"

    def judge(self, qgraph: QuantGraph) -> Judgement:
        q = {name: qgraph.entries[name].type.quantise(values) for name, values in self._x.items()}
        made = qgraph.run_all(q, {*qgraph.outputs.values()})
        far = noise = 0.0
        lost = dict.fromkeys((1, _GUARD), 0.0)
        differ = {times: np.zeros(self.samples, np.bool_) for times in lost}
        for name, exact in self._exact.items():
            tensor = qgraph.outputs[name]
            integers, scales = made[tensor].reshape(exact.shape), qgraph.scale_of(tensor)
            # Sums without one scale have nothing but an order.
            error = None if scales is None else scales[0] * (integers - scales[1]) - exact
            expected = exact.argmax(axis=1)
            for times in lost:
                worse = integers if error is None or times == 1 else exact + times * error
                guess = worse.argmax(axis=1)
                differ[times] |= guess != expected
                if self._labels is not None and name == self._scores:
                    lost[times] += float(np.mean(expected == self._labels) - np.mean(guess == self._labels))
            if error is None:
                noise, far = noise + float(differ[1].mean()), max(far, float(differ[1].mean()))
                continue
            noise += float((error**2).sum() / ((exact**2).sum() or 1.0))
            far = max(far, _far(error, exact))
        loss, guarded = (
            100
            * {"accuracy": lost[times], "agreement": float(differ[times].mean()), "values": far}[self.measure]
            for times in lost
        )
        return Judgement(loss, guarded, noise)


def _far(error: FloatArray, exact: FloatArray) -> float:
    """Return the error of outputs as a share of the range of ``exact``. Where there is one whole number for
    each sample, it is a label: then return the share of the samples with another label."""
    if exact.shape[1] == 1 and not np.mod(exact, 1).any():
        return float((np.abs(error) > 0.5).mean())
    reach = np.quantile(np.abs(error), _SHARE, axis=1, method="higher").max()
    return float(reach) / _range(exact)


def _range(values: FloatArray) -> float:
    """Return the width of the range of the values; for a constant its distance to zero, or 1 for zero."""
    return float(np.ptp(values)) or float(np.abs(values).max()) or 1.0


@dataclass(frozen=True)
class _Trial:
    settings: Settings
    layers: Widths
    qgraph: QuantGraph
    judgement: Judgement
    weight_privacy: Privacy | None

    @cached_property
    def constraints(self) -> int:
        """Of the default proof, planned where somebody asks. Raises as ``plan_inference``."""
        privacy = self.weight_privacy or TypedGraph.most_private(self.qgraph)
        return plan_inference(self.qgraph, weight_privacy=privacy).rows


class _Trials:
    """Quantises and judges, so often as work is allowed for. ``spent``: of it, by what trials are made of and
    not by a clock, so that a network and its samples have one result."""

    def __init__(
        self, calibrated: Calibrated, judge: _Judge, weight_privacy: Privacy | None, progress: Progress
    ) -> None:
        self.calibrated, self.judge = calibrated, judge
        self._weight_privacy, self._progress = weight_privacy, progress
        self.done = self.spent = 0
        # What calibration takes by method and bits, the first time.
        self._fitted = set[tuple[int, int]]()

    @property
    def may_try(self) -> bool:
        return self.spent + self.judge.work <= _MOST_WORK

    @property
    def seconds(self) -> float:
        """Of a processor, that a trial takes at most."""
        return self.judge.work / _WORK_A_SECOND

    def of(self, settings: Settings, layers: Widths) -> _Trial:
        """Raises as ``quantise``."""
        self.done += 1
        self.spent += self.judge.work + self._fitting(settings)
        self._fitted |= {_widths(settings)} if settings.method == "mse" else set()
        self._progress("tune", min(1.0, self.spent / _MOST_WORK))
        qgraph = self.calibrated.quantised(settings, layers)
        return _Trial(settings, layers, qgraph, self.judge.judge(qgraph), self._weight_privacy)

    def best_of(self, bits: int, weight_bits: int | None) -> _Trial:
        """By the calibration that loses least, and of these has the least noise; by the first that makes a
        network where no work is left. Raises as ``of`` where none does."""
        found: list[_Trial] = []
        for index, each in enumerate(_CALIBRATIONS, 1):
            settings = Settings(bits, weight_bits or bits, *each)
            if found and self.spent + self.judge.work + self._fitting(settings) > _MOST_WORK:
                break
            try:
                found.append(self.of(settings, {}))
            except (ModelError, StatementError) as error:
                if error.code not in _NO_SUCH or not (found or index < len(_CALIBRATIONS)):
                    raise
        return min(found, key=lambda trial: trial.judgement[1:])

    def _fitting(self, settings: Settings) -> int:
        """The work of calibration by ``mse``, which looks at many intervals of each tensor and channel."""
        known = settings.method != "mse" or _widths(settings) in self._fitted
        return 0 if known else self.calibrated.fitting

    def tuned(self, trial: _Trial, why: Mapping[Slot, str], max_loss: float | None) -> Tuned:
        settings, judgement, qgraph = trial.settings, trial.judgement, trial.qgraph
        return Tuned(
            qgraph,
            *(settings.method, settings.per_channel, self.judge.measure, judgement.loss, max_loss),
            *(trial.constraints, self.judge.samples, self.done),
            tuple(_layers(qgraph, why)),
        )


def _widths(settings: Settings) -> tuple[int, int]:
    return settings.bits, settings.weight_bits


@contextmanager
def _none_such() -> Iterator[None]:
    """Leaves where bits make no network: their integers are too wide, or too few for a clamp."""
    try:
        yield
    except (ModelError, StatementError) as error:
        if error.code not in _NO_SUCH:
            raise


def _search(trials: _Trials, weight_bits: int | None, max_loss: float) -> Tuned:
    """The least bits that are enough for all, then fewer where that saves most by the noise that it makes."""
    found = _uniform(trials, weight_bits, max_loss)
    while found.settings.bits in range(_LEAST_BITS + 1, _FIRST + 1) and trials.may_try:
        fewer = _of_bits(trials, found.settings.bits - 1, weight_bits)
        if fewer is None or fewer.judgement.guarded > max_loss:
            break
        found = fewer
    slots = [slot for slot in trials.calibrated.slots if not (slot.weights and weight_bits)]
    why = dict.fromkeys(slots, _TOO_MUCH)
    for lowering in _LOWERINGS:
        found = _lowered(trials, found, slots, lowering, max_loss, why)
    return trials.tuned(found, why, max_loss)


def _uniform(trials: _Trials, weight_bits: int | None, max_loss: float) -> _Trial:
    """With the same bits for all, the fewest that are enough from ``_FIRST`` on."""
    least = math.inf
    for bits in range(_FIRST, MOST_BITS + 1):
        if bits > _FIRST and trials.spent + trials.judge.work > _MOST_TO_FIND:
            raise ModelError(
                "model.precision",
                f"with {bits - 1} bits the network loses {least:.3g} % ({trials.judge.measure}), and "
                f"max_loss is {max_loss:.3g}: more are not tried, which may take {trials.seconds:.0f} "
                "seconds of a processor each; say how many bits, or allow more loss",
                field="max_loss",
            )
        found = _of_bits(trials, bits, weight_bits)
        if found is not None and found.judgement.guarded <= max_loss:
            return found
        least = min(least, found.judgement.guarded if found else math.inf)
    if math.isinf(least):
        return trials.best_of(_FIRST, weight_bits)  # says why there is none
    raise ModelError(
        "model.precision",
        f"up to {MOST_BITS} bits the network loses {least:.3g} % ({trials.judge.measure}) or more, and "
        f"max_loss is {max_loss:.3g}: allow more, or calibrate with other samples",
        field="max_loss",
    )


def _of_bits(trials: _Trials, bits: int, weight_bits: int | None) -> _Trial | None:
    """None where so many make no network."""
    with _none_such():
        return trials.best_of(bits, weight_bits)
    return None


def _lowered(
    trials: _Trials, found: _Trial, slots: Sequence[Slot], by: int, max_loss: float, why: dict[Slot, str]
) -> _Trial:
    """With so many bits fewer for all slots in turn where that saves constraints, those first that save most
    by the noise that they make alone."""
    ranked = []
    for slot in slots:
        alone = _with_fewer(trials, found, slot, by, why)
        if alone is None:
            continue
        if alone.judgement.guarded > max_loss:
            why[slot] = f"{_bits(by)} less loses {alone.judgement.guarded:.3g} %"
        elif (saved := found.constraints - alone.constraints) <= 0:
            why[slot] = f"{_bits(by)} less saves nothing"
        else:
            ranked.append(((alone.judgement.noise - found.judgement.noise) / saved, slot))
    for _, slot in sorted(ranked, key=lambda entry: entry[0]):
        lower = _with_fewer(trials, found, slot, by, why)
        if lower is None:
            continue
        if lower.judgement.guarded > max_loss:
            why[slot] = f"{_bits(by)} less loses {lower.judgement.guarded:.3g} % with the others'"
        elif lower.constraints < found.constraints:
            found = lower
            why[slot] = "fewer are not tried"
    return found


def _with_fewer(trials: _Trials, found: _Trial, slot: Slot, by: int, why: dict[Slot, str]) -> _Trial | None:
    """None where there are too few already, no work is left, or so few make no network."""
    default = found.settings.bits, found.settings.weight_bits
    layers = dict(found.layers)
    for name in slot.names:
        bits, weight_bits = layers.get(name, default)
        layers[name] = (bits, weight_bits - by) if slot.weights else (bits - by, weight_bits)
    if min(map(min, layers.values())) < _LEAST_BITS:
        why[slot] = "there are no fewer" if by == 1 else why[slot]
        return None
    if not trials.may_try:
        return None
    with _none_such():
        return trials.of(found.settings, layers)
    why[slot] = f"{_bits(by)} less make no network"
    return None


def _bits(count: int) -> str:
    return "a bit" if count == 1 else f"{count} bits"


def _layers(qgraph: QuantGraph, why: Mapping[Slot, str]) -> Iterator[Layer]:
    """The input's first."""
    of_tensors = {name: reason for slot, reason in why.items() if not slot.weights for name in slot.names}
    of_weights = {slot.names[0]: reason for slot, reason in why.items() if slot.weights}
    operators = {node.name: node for node in qgraph.nodes}
    for name, kind in qgraph.types.items():
        node = operators.get(name)
        weight_bits = node.weight_type.bits if isinstance(node, WeightedSum) else None
        said = [of_tensors.get(name), f"weights: {of_weights[name]}" if name in of_weights else None]
        yield Layer(
            name,
            node.operator() if node else "input",
            kind.bits if kind else None,
            weight_bits,
            "; ".join(part for part in said if part),
        )


def _entries(graph: Graph) -> int:
    """Return the number of entries of nodes that are no layers, such as trees."""
    own = (vars(node).values() for node in graph.nodes if not isinstance(node, Parametric))
    return sum(value.size for values in own for value in values if isinstance(value, np.ndarray))


def work_of(graph: Graph) -> int:
    """Of one sample in floats: products of weights and inputs, and what its tensors' values take besides."""
    sizes = {name: math.prod(shape) for name, shape in graph.shapes.items()}
    products = sum(
        sizes[node.name] * math.prod(node.weight.shape[1:])
        for node in graph.nodes
        if isinstance(node, Parametric)
    )
    return products + _VALUE_WORK * sum(sizes.values())
