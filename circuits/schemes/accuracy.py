"""ZENacc: how many samples of a labelled batch a network gets right.

The statement: of the samples and labels that the commitment ``dataset`` is to, as many as the commitment
``correct`` is to are labelled as the network labels them. Which ones stays hidden, and so does the count: the
counts of several batches add up in their commitments, and the sum alone is opened. How many samples there
are is public: a batch that is not full is filled up with samples whose label is no class.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from circuits.lowering import (
    Cost,
    Lowering,
    Plan,
    argmax,
    argmax_cost,
    arithmetic,
    best_plan,
)
from circuits.quantised import QuantGraph
from circuits.quantised.related import Related
from circuits.quantised.typed import Privacy, TypedGraph
from circuits.r1cs.builder import Builder
from circuits.r1cs.linear import Linear, Weighted
from circuits.r1cs.steps import Compare, Quotient, Sum
from circuits.schemes.circuit import Circuit, Values, checked_integers, public_group, require_known
from circuits.schemes.inputs import begin, committed_type, input_values, inputs_cost
from kernels import FrArray
from relations.integers import IntArray
from zenerrors import StatementError

DATASET, CORRECT = "dataset", "correct"
_LEVEL: Final = 5


class Accuracy(Circuit):
    """The circuit of one batch. Linked segments: "model" where it is committed, "dataset" and "correct"."""

    scheme = "accuracy"

    @property
    def claim(self) -> str:
        return (
            "The prover knows the committed samples and labels, and {network} gives as many of the samples "
            "their labels as is committed to. The size says how many samples there are: what else fills the "
            "batch up is never right."
        )

    @property
    def meaning(self) -> str:
        return self._says_network

    @property
    def batch(self) -> int:
        """How many samples the circuit takes."""
        return self.typed.batch

    @property
    def public_layout(self) -> list[dict[str, Any]]:
        return self._layout(public_group("size", (), 0, self.batch))

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"batch": self.batch, "classes": self.qgraph.classes}

    def dataset_values(self, samples: NDArray[np.integer[Any]], labels: NDArray[np.integer[Any]]) -> IntArray:
        """What the commitment to a batch is to: the samples' type, all samples row by row, then all labels
        (``circuits.schemes.inputs.input_values``), int64[n].

        ``samples``: integers [batch, *input_shape] of the input's type, ``labels``: [batch], each from 0 to
        the number of classes: with that number, a sample is never right and does not count. Raises
        ``TensorError``.
        """
        return input_values(self.qgraph, *self._checked(samples, labels))

    def _checked(
        self, samples: NDArray[np.integer[Any]], labels: NDArray[np.integer[Any]]
    ) -> tuple[IntArray, IntArray]:
        shape = (self.batch, *self.qgraph.input_shape)
        return (
            checked_integers(samples, shape, self.qgraph.input_type.top, "samples"),
            checked_integers(labels, (self.batch,), self.qgraph.classes, "labels"),
        )

    def count(self, samples: NDArray[np.integer[Any]], labels: NDArray[np.integer[Any]]) -> int:
        """How many of the samples the network gives their labels."""
        return int((self.qgraph.run(np.asarray(samples, np.int64)).argmax(axis=1) == labels).sum())

    def witness(
        self,
        samples: NDArray[np.integer[Any]],
        labels: NDArray[np.integer[Any]],
        *,
        statement: int = 0,
    ) -> FrArray:
        """The satisfying assignment, uint64[variables, 4], Montgomery. Raises as ``dataset_values``."""
        whole, own = self._checked(samples, labels)
        return self._witness({"samples": whole.ravel(), "labels": own}, statement)

    def values(self, labels: NDArray[np.integer[Any]]) -> Values:
        """What a proof shows, by the names of ``public_layout``."""
        return {"size": int((np.asarray(labels) != self.qgraph.classes).sum())}

    def public_inputs(self, labels: NDArray[np.integer[Any]], *, statement: int = 0) -> list[int]:
        """The statement's public inputs in order, as ``public_layout`` describes them."""
        return self._listed(self.values(labels), statement)


def compile_accuracy(qgraph: QuantGraph, *, batch: int, weight_privacy: Privacy = "public") -> Accuracy:
    """The circuit of ``batch`` samples. Deterministic; with committed weights it depends on types only.

    Rows beside the network's: four for each sample, and range checks of its label. Raises ``StatementError``
    as ``compile_inference``, and ``statement.batch`` for a batch of none.
    """
    typed = _typed(qgraph, batch, weight_privacy)
    network, builder = typed.related, Builder()
    plan = _plan(typed, network)
    begin(builder, typed)
    size = builder.public("size", 1)
    committed_type(builder, DATASET, qgraph)
    builder.segment(CORRECT, linked=True)
    tools = arithmetic(builder, _LEVEL)
    samples = builder.committed(DATASET, "samples", batch * math.prod(qgraph.input_shape))
    labels = builder.committed(DATASET, "labels", batch)
    tools.ranged("input/value", Weighted.wires(samples), qgraph.input_type.bits)
    for name, lowest in _label_ranges(qgraph.classes):
        tools.ranged(name, Weighted.wires(labels), qgraph.classes.bit_length(), lowest)
    lowering = Lowering(tools, network, _LEVEL, plan)
    lowering.hold(network.input, samples)
    lowering.lower(network.relations)
    values, bounds = lowering.values(network.output), network.output.bound.interval
    found = tools.chosen("output/label", batch)
    argmax(tools, "output/argmax", values, bounds, found[:, np.newaxis])
    right = _is_zero(builder, "output/right", Linear.wires(found) - Linear.wires(labels))
    filling = _is_zero(builder, "output/filling", Linear.wires(labels).shift(-qgraph.classes))
    count = builder.committed(CORRECT, "correct", 1)
    builder.zero("output/correct", Linear.ones(right[np.newaxis]) - Linear.wires(count))
    builder.zero("output/size", Linear.ones(filling[np.newaxis]).shift(-batch) + Linear.wires(size))
    builder.fill(Sum("correct", count, Weighted.ones(right[np.newaxis])))
    builder.fill(Sum("size", size, Weighted.ones(filling[np.newaxis]).scale(-1).shift(batch)))
    return Accuracy(typed, _LEVEL, builder.program(), plan)


def plan_accuracy(qgraph: QuantGraph, *, batch: int, weight_privacy: Privacy = "public") -> Plan:
    """How ``compile_accuracy`` would prove each node, and the rows in all, without building anything."""
    typed = _typed(qgraph, batch, weight_privacy)
    return _plan(typed, typed.related)


def _typed(qgraph: QuantGraph, batch: int, weight_privacy: Privacy) -> TypedGraph:
    require_known(_LEVEL, weight_privacy=weight_privacy)
    if batch < 1:
        raise StatementError("statement.batch", "a batch has at least one sample", field="batch")
    return TypedGraph(qgraph, "committed", weight_privacy, batch)


def _plan(typed: TypedGraph, network: Related) -> Plan:
    tools, graph = arithmetic(Builder(), _LEVEL), typed.qgraph
    argmaxes = argmax_cost(tools, typed.batch, graph.classes, 1, network.output.bound.interval)
    labels = Cost.range_checks(graph.classes.bit_length(), typed.batch * len(_label_ranges(graph.classes)))
    others = inputs_cost(typed) + labels + argmaxes + Cost(rows=4 * typed.batch + 2)
    return best_plan(tools, network, _LEVEL, others)


def _label_ranges(classes: int) -> list[tuple[str, int]]:
    """Names and lowest values of ranges of ``classes.bit_length()`` bits: what is in all of them is a class,
    or the label that none has."""
    beyond = 1 << classes.bit_length()
    least, most = ("output/least_label", 0), ("output/most_label", classes + 1 - beyond)
    return [least] if classes + 1 == beyond else [least, most]


def _is_zero(builder: Builder, name: str, value: Linear) -> IntArray:
    """Wires [n] for ``value == 0``, 1 or 0. Rows: two each.

    Sound: ``value inverse = 1 - zero`` lets ``zero`` be 1 alone where the value is 0, and ``value zero = 0``
    lets it be 0 alone where it is not.
    """
    zero, inverse = builder.private(name, value.rows), builder.private(f"{name}/inverse", value.rows)
    nonzero = Linear.wires(zero).scale(-1).shift(1)
    builder.multiply(f"{name}_if", value, Linear.wires(inverse), nonzero)
    builder.multiply(f"{name}_only_if", value, Linear.wires(zero), Linear.empty(value.rows))
    builder.fill(Compare(name, zero, value.compact, "zero"))
    builder.derive(Quotient(f"{name}/inverse", inverse, 1, value.compact))
    return zero
