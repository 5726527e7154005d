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

from circuits.lowering import Cost, Lowering, Plan, argmax_cost, arithmetic, best_plan
from circuits.quantised import QuantGraph
from circuits.quantised.typed import TypedGraph
from circuits.r1cs.builder import Builder
from circuits.schemes.circuit import (
    Circuit,
    Values,
    checked_integers,
    public_group,
    require_classes,
    require_known,
    require_one,
)
from circuits.schemes.inputs import begin, committed_type, input_values, inputs_cost
from kernels import FrArray
from relations.bounds import Bound, Proof
from relations.integers import IntArray
from relations.relation import Argmax, Equal, Relations, Tensor, Total
from verifier.schemes import Privacy
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
        shape = (self.batch, *self.qgraph.input.shape)
        return (
            checked_integers(samples, shape, self.qgraph.input.type.top, "samples"),
            checked_integers(labels, (self.batch,), self.qgraph.classes, "labels"),
        )

    def count(self, samples: NDArray[np.integer[Any]], labels: NDArray[np.integer[Any]]) -> int:
        """How many of the samples the network gives their labels."""
        return int((self.qgraph.run(np.asarray(samples, np.int64)).argmax(axis=1) == labels).sum())

    def witness(
        self, samples: NDArray[np.integer[Any]], labels: NDArray[np.integer[Any]], *, statement: int = 0
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
    network, builder = typed.relations, Builder()
    plan, relations = _plan(typed, network), _relations(network, qgraph.classes)
    begin(builder, typed)
    _, labels, correct, size = relations.given
    tools = arithmetic(builder, _LEVEL)
    lowering = Lowering(tools, relations, _LEVEL, plan)
    lowering.hold(size, builder.public("size", 1))
    committed_type(builder, DATASET, qgraph)
    builder.segment(CORRECT, linked=True)
    lowering.hold(network.input, builder.committed(DATASET, "samples", math.prod(network.input.shape)))
    lowering.hold(labels, builder.committed(DATASET, "labels", batch))
    lowering.hold(correct, builder.committed(CORRECT, "correct", 1))
    tools.ranged("input/value", lowering.values(network.input), qgraph.input.type.bits)
    for name, lowest in _label_ranges(qgraph.classes):
        tools.ranged(name, lowering.values(labels), qgraph.classes.bit_length(), lowest)
    lowering.lower()
    return Accuracy(typed, _LEVEL, builder.program(), plan, relations, lowering.wires)


def _relations(network: Relations, classes: int) -> Relations:
    """Those of ``network``, and how many of its labels are right."""
    batch = network.input.shape[0]

    def tensor(name: str, most: int, *shape: int, proof: Proof = "relation") -> Tensor:
        return Tensor(name, shape, Bound.of(0, most, proof))

    labels = tensor("labels", classes, batch, 1, proof="range")
    found = tensor("output/label", classes - 1, batch, 1)
    right, filling = tensor("output/right", 1, batch, 1), tensor("output/filling", 1, batch, 1)
    correct, size = tensor("output/correct", batch, 1), tensor("output/size", batch, 1)
    return network.extended(
        (labels, correct, size),
        (
            Argmax("output/argmax", found, network.output),
            Equal("output/right", right, found, labels),
            Equal("output/filling", filling, labels, classes),
            Total("output/correct", correct, right),
            Total("output/size", size, filling, -1, batch),
        ),
    )


def plan_accuracy(qgraph: QuantGraph, *, batch: int, weight_privacy: Privacy = "public") -> Plan:
    """How ``compile_accuracy`` would prove each node, and the rows in all, without building anything."""
    typed = _typed(qgraph, batch, weight_privacy)
    return _plan(typed, typed.relations)


def _typed(qgraph: QuantGraph, batch: int, weight_privacy: Privacy) -> TypedGraph:
    require_known(_LEVEL, weight_privacy=weight_privacy)
    if batch < 1:
        raise StatementError("statement.batch", "a batch has at least one sample", field="batch")
    require_one(qgraph, "an accuracy")
    require_classes(qgraph.classes, "scheme", "an accuracy is of labels")
    return TypedGraph(qgraph, "committed", weight_privacy, batch)


def _plan(typed: TypedGraph, network: Relations) -> Plan:
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
