"""The registration of a model: one proof that all parameters of a commitment are of their types.

Proofs with committed weights (``compile_inference``) link to that commitment entry by entry, and rest on
this: their own constraints take the ranges of the weights for granted. The commitment begins with the digest
of the architecture, which every circuit holds against its own: so it is to a whole network, not to numbers
that another architecture could read otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from zenserve.circuits.lowering import Cost, Lowering, Plan
from zenserve.circuits.lowering.parameters import DIGEST_LIMBS, digest_limbs, hold, parameters_cost
from zenserve.circuits.lowering.tables import Tables
from zenserve.circuits.quantised import QuantGraph
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.schemes.circuit import Circuit
from zenserve.circuits.schemes.inputs import begin
from zenserve.kernels import FrArray
from zenserve.prover.backends import Backend
from zenserve.prover.backends.cpu import CPU
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Parameter, Relations
from zenserve.verifier.schemes import Privacy


class Registration(Circuit):
    """The circuit of a registration: no public inputs but the statement's, no secrets but the parameters."""

    scheme = "registration"

    @property
    def claim(self) -> str:
        return (
            "The prover knows what the model's commitment is to: a network of this architecture and these "
            "scales, every weight and bias of which is of its type."
        )

    @property
    def meaning(self) -> str:
        return self.claim

    @property
    def public_layout(self) -> list[dict[str, Any]]:
        return self._layout()

    @property
    def privacy(self) -> dict[str, Privacy]:
        return {"weights": "committed"}

    def witness(self, *, statement: int = 0, threads: int = 1, on: Backend = CPU) -> FrArray:
        """The satisfying assignment, uint64[variables, 4], Montgomery: it holds the weights."""
        return self._witness({}, statement, threads, on)

    def public_inputs(self, *, statement: int = 0) -> list[int]:
        """The statement's public inputs in order, as ``public_layout`` describes them."""
        return self._listed({}, statement)


def parameters(qgraph: QuantGraph) -> IntArray:
    """Return the values that a model's commitment commits to: the architecture's digest in limbs, then each
    node's parameters: ``q_w - z_w`` of a layer in row-major order, and its biases.

    int64[parameters], in the order of the linked segment of every circuit. Raises ``StatementError``
    (``statement.no_weights``) for a network without any.
    """
    values = [each.values.ravel() for each in _typed(qgraph).relations.parameters]
    return np.concatenate([digest_limbs(qgraph.architecture.digest), *values])


def compile_registration(qgraph: QuantGraph) -> Registration:
    """The circuit of the registration of ``qgraph``; it depends on its architecture only.

    Rows: the range checks of all weights and biases, and the architecture's limbs. Raises ``StatementError``
    as ``parameters``.
    """
    builder = Builder()
    typed, lowering = lower_registration(builder, qgraph)
    plan = plan_registration(qgraph)
    return Registration(typed, 5, builder.program(), plan, lowering.relations, lowering.wires)


def plan_registration(qgraph: QuantGraph) -> Plan:
    """The rows of ``compile_registration``, without building anything. Raises as it does."""
    checks = parameters_cost(*map(_to_prove, _typed(qgraph).relations.parameters))
    return Plan({}, (Cost(rows=DIGEST_LIMBS) + checks).total(by_digits=False), {})


def lower_registration(builder: Builder, qgraph: QuantGraph) -> tuple[TypedGraph, Lowering]:
    """Add the constraints of ``compile_registration`` to ``builder``, all but what that defers."""
    typed = _typed(qgraph)
    network = typed.relations
    registered = [_to_prove(parameter) for parameter in network.parameters]
    relations = Relations(tuple(registered), (), network.outputs)
    begin(builder, typed)
    tools = Tables(builder)
    lowering = Lowering(tools, relations, 5, Plan({}, 0, {}))
    for parameter in registered:
        lowering.hold(parameter, *hold(tools, parameter))
    return typed, lowering


def _to_prove(parameter: Parameter) -> Parameter:
    """Here its bound is proven, where all others take it for granted: they link to the same commitment."""
    return replace(parameter, bound=replace(parameter.bound, proof="range"))


def _typed(qgraph: QuantGraph) -> TypedGraph:
    return TypedGraph(qgraph, "private", "committed")
