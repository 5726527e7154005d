"""The measures of accuracies, as relations: from a batch's outputs, and labels or targets, to counts.

Padding samples of a batch add nothing to any count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.lowering import Cost, argmax_cost
from zenserve.circuits.lowering.argmax import one_hot_cost
from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.quantised import QuantGraph
from zenserve.circuits.schemes.circuit import most_labels, require_classes
from zenserve.errors import StatementError
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray, Interval
from zenserve.relations.relation import (
    Absolute,
    Argmax,
    Equal,
    Linear,
    Move,
    OneHot,
    Product,
    Relation,
    Square,
    Tensor,
    Term,
    Total,
)
from zenserve.verifier.measures import MOST_STEP, Measurement, Targets, takes_targets
from zenserve.verifier.schemes import Measure

# Of outputs and targets, and their differences: squares keep within 62 bits.
_MOST_VALUE: Final = 1 << 30


class Samples(NamedTuple):
    """Tensors of a batch: ``output`` [batch, ..] and ``labels`` [batch, 1]; ``filling``, which says of each
    sample whether it only fills up; ``targets``, of the outputs' shape, where they are measured by."""

    output: Tensor
    labels: Tensor
    filling: Equal
    targets: Tensor | None


def measured(samples: Samples, measurement: Measurement, counts: Mapping[str, Tensor]) -> list[Relation]:
    """Return the relations that make ``counts``, tensors by the names of ``Measurement.counts``, those of the
    samples."""
    classes = measurement.outputs
    if samples.targets is not None:
        return _errors(samples, samples.targets, counts)
    if measurement.measure == "f1":
        return _of_classes(samples, counts, classes)
    return _right(samples, measurement.top, counts["correct"], classes)


def _right(samples: Samples, top: int, correct: Tensor, classes: int) -> list[Relation]:
    """Of the ``top`` likeliest labels, which are different ones, one at most is right."""
    batch = samples.labels.shape[0]
    found = Tensor("output/label", (batch, top), Bound.of(0, classes - 1))
    right = Tensor("output/right", (batch, top), Bound.of(0, 1))
    labels, spread = _spread("output/labels", samples.labels, found.shape)
    return [
        Argmax("output/argmax", found, samples.output),
        *spread,
        Equal("output/right", right, found, labels),
        samples.filling,
        Total("output/correct", correct, right),
    ]


def _of_classes(samples: Samples, counts: Mapping[str, Tensor], classes: int) -> list[Relation]:
    """Labels found and labels given, as ones in the places of their classes; of filling there are none."""
    batch = samples.labels.shape[0]

    def tensor(name: str, most: int, columns: int = 1) -> Tensor:
        return Tensor(name, (batch, columns), Bound.of(0, most))

    found, shift = tensor("output/label", classes - 1), tensor("output/shift", classes)
    seen = tensor("output/seen", classes)
    predicted, actual = (tensor(f"output/is_{name}", 1, classes) for name in ("predicted", "actual"))
    both = tensor("output/is_right", 1, classes)
    return [
        samples.filling,
        Argmax("output/argmax", found, samples.output),
        Product("output/shift", shift, Term(samples.filling.out), Term(found, -1, classes)),
        Linear("output/seen", seen, (Term(found), Term(shift))),
        OneHot("output/is_predicted", predicted, seen),
        OneHot("output/is_actual", actual, samples.labels),
        Product("output/is_right", both, Term(predicted), Term(actual)),
        Total("output/true_positives", counts["true_positives"], both),
        Total("output/predicted", counts["predicted"], predicted),
        Total("output/actual", counts["actual"], actual),
    ]


def _errors(samples: Samples, targets: Tensor, counts: Mapping[str, Tensor]) -> list[Relation]:
    """Sums over all samples that are no filling; ``real`` is 1 for those."""
    shape, output = samples.output.shape, samples.output
    (low, high), (least, most) = output.bound.interval, targets.bound.interval
    reach, far = max(high - least, most - low), max(-least, most)
    filling, spread = _spread("output/fillings", samples.filling.out, shape)
    real = Term(filling, -1, 1)
    difference = Tensor("output/difference", shape, Bound.of(low - most, high - least))
    error = Tensor("output/error", shape, Bound.of(-reach, reach))
    relations: list[Relation] = [
        samples.filling,
        *spread,
        Linear("output/difference", difference, (Term(output), Term(targets, -1))),
        Product("output/error", error, real, Term(difference)),
    ]
    if "absolute_error" in counts:
        absolute = Tensor("output/absolute", shape, Bound.of(0, reach))
        relations.append(Absolute("output/absolute", absolute, error))
        return [*relations, Total("output/absolute_error", counts["absolute_error"], absolute)]
    square = Tensor("output/square", shape, Bound.of(0, reach**2))
    relations.append(Square("output/square", square, error))
    relations.append(Total("output/squared_error", counts["squared_error"], square))
    if "target_sum" in counts:
        target = Tensor("output/target", shape, Bound.of(min(0, least), max(0, most)))
        squared = Tensor("output/target_squared", shape, Bound.of(0, far**2))
        relations += [
            Product("output/target", target, real, Term(targets)),
            Total("output/target_sum", counts["target_sum"], target),
            Square("output/target_squared", squared, target),
            Total("output/target_square", counts["target_square"], squared),
        ]
    return relations


def _spread(name: str, column: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, list[Relation]]:
    """``column`` [batch, 1] in every place of ``shape`` [batch, ..]."""
    if shape == column.shape:
        return column, []
    out = Tensor(name, shape, column.bound)
    return out, [Move(name, out, (column,), np.zeros(shape[1:], np.int64))]


def counted(
    measurement: Measurement, outputs: IntArray, real: NDArray[np.bool_], labels: IntArray, targets: IntArray
) -> IntArray:
    """The counts in order, int64[n], of outputs [batch, n], labels [batch] and targets [batch, n]; ``real``
    [batch]: which samples are no filling."""
    classes = np.arange(measurement.outputs)
    match measurement.measure:
        case "accuracy" | "top-k":
            order = np.argsort(-outputs, axis=1, kind="stable")[:, : measurement.top]
            return np.array([(order == labels[:, None]).sum()])
        case "f1":
            predicted = (outputs.argmax(axis=1)[:, None] == classes) & real[:, None]
            actual = labels[:, None] == classes
            return np.concatenate([(predicted & actual).sum(0), predicted.sum(0), actual.sum(0)])
    errors, targets = (outputs - targets)[real], targets[real]
    match measurement.measure:
        case "mse":
            return np.array([(errors**2).sum()])
        case "mae":
            return np.array([np.abs(errors).sum()])
    return np.concatenate([(errors**2).sum(0), targets.sum(0), (targets**2).sum(0)])


def cost(tools: Arithmetic, relation: Relation) -> Cost:
    """Of a relation that ``measured`` makes, or of one like it."""
    entries = math.prod(relation.out.shape)
    match relation:
        case Argmax(out=out, value=value):
            batch, top = out.shape
            return argmax_cost(tools, batch, math.prod(value.shape[1:]), top, value.bound.interval)
        case Equal():
            return Cost(rows=2 * entries)
        case OneHot(place=place):
            return one_hot_cost(math.prod(place.shape), place.bound.interval[1])
        case Absolute(out=out):
            return Cost(rows=entries) + Cost.range_checks(out.bound.bits, entries)
        case Product() | Square() | Total():
            return Cost(rows=entries)
    return Cost()


def measurement(
    qgraph: QuantGraph, output: str, interval: Interval, measure: Measure, top: int
) -> Measurement:
    """Of the ``output`` of this name, whose values lie in ``interval``. Raises ``StatementError``:
    ``statement.classes``, ``statement.measure`` for outputs that cannot be measured so.
    """
    size = qgraph.size(output)
    if not takes_targets(measure):
        require_classes(size, "scheme", "measure their errors: mse, mae or r2")
    most = most_labels(size) if measure == "top-k" else 1
    known = measure in get_args(Measure)
    if not known or not 1 <= top <= most:
        raise StatementError(
            "statement.measure",
            f"a measure is one of {', '.join(get_args(Measure))}, top-k of the first 1 to"
            f" {most_labels(size)} labels",
            field="top" if known else "measure",
        )
    kind = targets(qgraph, output, interval) if takes_targets(measure) else None
    return Measurement(measure, top, size, kind)


def targets(qgraph: QuantGraph, output: str, interval: Interval) -> Targets:
    """Return the quantisation of targets: the outputs' steps, over a range that exceeds the outputs' interval
    by its own width on either side. Raises ``StatementError`` (``statement.measure``) where outputs have no
    single scale, or too many integers."""
    reads = qgraph.scale_of(qgraph.outputs[output])
    if reads is None:
        raise StatementError(
            "statement.measure",
            "the network's outputs have no one scale to measure errors by: quantise its last layer's weights"
            " with one scale, or end it with a ReLU or a clamp",
            field="measure",
        )
    (low, high), (scale, zero_point) = interval, reads
    least = low - max(1, high - low)
    most = least + (1 << (3 * max(1, high - low)).bit_length()) - 1
    error = max(high - least, most - low)
    if max(error, -least, most) >= _MOST_VALUE or not 0 < scale <= MOST_STEP:
        raise StatementError(
            "statement.measure",
            f"squares of errors up to {error} could exceed 62 bits: end the network with a ReLU or a clamp",
            field="measure",
        )
    return Targets(scale=scale, zero_point=zero_point, minimum=least, maximum=most, error=error)
