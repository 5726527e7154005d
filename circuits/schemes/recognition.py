"""Recognition: whether a network's embedding of the input is near a reference.

The statement: ``match`` is 1 exactly if the squared distance between the embedding e of the input and the
reference, ``sum_i (e_i - reference_i)^2`` in integers, is at most the public threshold. The network's output
is the embedding, so it must be a typed tensor, not sums. The reference is public, or committed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.types import Affine
from zenserve.circuits.lowering import Cost, Level, Lowering, arithmetic, best_plan
from zenserve.circuits.quantised import QuantGraph
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.r1cs.builder import FR, Builder
from zenserve.circuits.r1cs.gadgets import decompose_cost, require_fit
from zenserve.circuits.schemes.circuit import (
    Circuit,
    Values,
    checked_integers,
    public_group,
    require_few,
    require_known,
    require_one,
)
from zenserve.circuits.schemes.inputs import begin, given, input_wires, inputs_cost
from zenserve.errors import StatementError
from zenserve.kernels import FrArray
from zenserve.prover.backends import Backend
from zenserve.prover.backends.cpu import CPU
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import AtLeast, Linear, Relations, Square, Tensor, Term, Total
from zenserve.verifier.schemes import Privacy

_SAYS_REFERENCE = {
    "public": "the reference",
    "private": "a reference that the prover knows",
    "committed": "the reference that the commitment is to",
}


@dataclass(frozen=True, eq=False)
class Recognition(Circuit):
    """The circuit of one comparison."""

    reference_privacy: Privacy = "public"
    scheme = "recognition"

    @property
    def claim(self) -> str:
        return (
            "The prover knows an input of this type whose embedding by {network} is (match = 1) or is not "
            f"(match = 0) within the threshold of {_SAYS_REFERENCE[self.reference_privacy]}, by the square "
            "of the distance."
        )

    @property
    def privacy(self) -> dict[str, Privacy]:
        return super().privacy | {"reference": self.reference_privacy}

    @property
    def embedding(self) -> Affine:
        """The embedding's type."""
        return embedding_type(self.qgraph)

    @property
    def most(self) -> int:
        """The largest squared distance: thresholds from 0 to it make sense."""
        return self.qgraph.classes * self.embedding.top**2

    @property
    def public_layout(self) -> list[dict[str, Any]]:
        reference = public_group("reference", (self.qgraph.classes,), 0, self.embedding.top)
        # What the circuit proves: thresholds beyond ``most`` make no sense, and have proofs up to here.
        limit = (1 << self.most.bit_length()) - 1
        return self._layout(
            *([reference] if self.reference_privacy == "public" else []),
            public_group("threshold", (), 0, limit),
            public_group("match", (), 0, 1),
        )

    def embed(self, q: NDArray[np.integer[Any]]) -> IntArray:
        """The embedding of one input, int64[n]: what a reference is made of."""
        return self.qgraph.execute(self.checked(q)["input"]).logits

    def matches(self, q: NDArray[np.integer[Any]], reference: IntArray, threshold: int) -> bool:
        """Return whether the squared distance is at most the threshold."""
        return int(((self.embed(q) - reference) ** 2).sum()) <= threshold

    def values(self, q: NDArray[np.integer[Any]], reference: IntArray, threshold: int) -> Values:
        """Return the public values of a proof, by the names of ``public_layout``. Raises ``TensorError``."""
        given = self._given(q, reference, threshold)
        shown = self._shown_inputs(self.checked(q))
        if self.reference_privacy == "public":
            shown |= {"reference": given["reference"].tolist()}
        return shown | {"threshold": threshold, "match": int(self.matches(q, reference, threshold))}

    def witness(
        self,
        q: NDArray[np.integer[Any]],
        reference: IntArray,
        threshold: int,
        *,
        statement: int = 0,
        threads: int = 1,
        on: Backend = CPU,
    ) -> FrArray:
        """The satisfying assignment, uint64[variables, 4], Montgomery. Raises ``TensorError``."""
        return self._witness(self._given(q, reference, threshold), statement, threads, on)

    def assign(self, q: NDArray[np.integer[Any]], reference: IntArray, threshold: int) -> IntArray:
        """``witness`` as plain integers, int64[variables]."""
        return self.program.assign(self._given(q, reference, threshold))

    def public_inputs(
        self, q: NDArray[np.integer[Any]], reference: IntArray, threshold: int, *, statement: int = 0
    ) -> list[int]:
        """The statement's public inputs in order, as ``public_layout`` describes them."""
        return self._listed(self.values(q, reference, threshold), statement)

    def _given(self, q: NDArray[np.integer[Any]], reference: IntArray, threshold: int) -> dict[str, IntArray]:
        shape = (self.qgraph.classes,)
        return {
            "input": self.checked(q)["input"].ravel(),
            "reference": checked_integers(reference, shape, self.embedding.top, "reference"),
            "threshold": checked_integers(np.array([threshold]), (1,), self.most, "threshold"),
        }


def compile_recognition(
    qgraph: QuantGraph,
    *,
    input_privacy: Privacy = "private",
    weight_privacy: Privacy = "public",
    reference_privacy: Privacy = "public",
    level: Level = 5,
) -> Recognition:
    """The circuit of ``qgraph``, whose output is an embedding.

    Linked segments: "model", "input" and "reference", where they are committed. Rows beside the network's:
    ``bits`` for each entry of the reference and one for its square, the bits of the largest distance for the
    threshold and about as many for the comparison.
    Raises ``StatementError`` as ``compile_inference``, and ``statement.embedding`` for sums as output.
    """
    require_known(
        level, input_privacy=input_privacy, weight_privacy=weight_privacy, reference_privacy=reference_privacy
    )
    require_one(qgraph, "a recognition")
    kind = embedding_type(qgraph)
    require_few(qgraph.classes, "scheme")
    typed, width = TypedGraph(qgraph, input_privacy, weight_privacy), qgraph.classes
    most = width * kind.top**2
    require_fit("output/distance", (0, 2 * most))
    others = Cost.sum(
        [
            inputs_cost(typed),
            Cost.range_checks(kind.bits, width),
            Cost.range_checks(most.bit_length(), 1),
            Cost(rows=width + decompose_cost(most.bit_length() + 1, FR if level < 2 else None) + 1),
        ]
    )
    network, builder = typed.relations, Builder()
    relations, tools = _relations(network, most), arithmetic(builder, level)
    plan = best_plan(tools, network, level, others)
    lowering = Lowering(tools, relations, level, plan)
    begin(builder, typed)
    _, reference, threshold, match = relations.given
    lowering.hold(network.input, input_wires(tools, typed, qgraph.input.name))
    lowering.hold(reference, given(tools, "reference", reference_privacy, width))
    lowering.hold(threshold, builder.public("threshold", 1))
    lowering.hold(match, builder.public("match", 1))
    for name, tensor in (("output/reference", reference), ("output/threshold", threshold)):
        tools.ranged(name, lowering.values(tensor), tensor.bound.bits)
    lowering.lower()
    proven = plan, relations, lowering.wires
    return Recognition(typed, level, builder.program(), *proven, reference_privacy)


def _relations(network: Relations, most: int) -> Relations:
    """Return the relations of ``network``, and those that decide whether its embedding is near the reference.
    ``most``: the largest distance."""
    embedding = network.output
    shape, (low, high) = embedding.shape, embedding.bound.interval
    top = (1 << (embedding.bits or 0)) - 1
    reference = Tensor("reference", shape, Bound.of(0, top, "range"))
    threshold = Tensor("threshold", (1,), Bound.of(0, (1 << most.bit_length()) - 1, "range"))
    match = Tensor("output/match", (1,), Bound.of(0, 1))
    difference = Tensor("output/difference", shape, Bound.of(low - top, high))
    square = Tensor("output/square", shape, Bound.of(0, top**2))
    distance = Tensor("output/distance", (1,), Bound.of(0, most))
    return network.extended(
        (reference, threshold, match),
        (
            Linear("output/difference", difference, (Term(embedding), Term(reference, -1))),
            Square("output/square", square, difference),
            Total("output/distance", distance, square),
            AtLeast("output/near", match, threshold, distance),
        ),
    )


def embedding_type(qgraph: QuantGraph) -> Affine:
    """The type of the output. Raises ``StatementError`` (``statement.embedding``) where it has none."""
    kind = qgraph.types[qgraph.output]
    if kind is None:
        raise StatementError(
            "statement.embedding",
            "recognition compares an embedding in a type of its own: end the network with a ReLU or a clamp",
        )
    return kind
