"""The registration of a model: one proof that all parameters of a commitment are of their types.

Proofs with committed weights (``compile_inference``) link to that commitment entry by entry, and rest on
this: their own constraints take the ranges of the weights for granted.
"""

from __future__ import annotations

import numpy as np

from circuits.builder import Builder
from circuits.integers import IntArray
from circuits.lowering.parameters import MODEL, committed_parameters
from circuits.lowering.tables import Tables
from circuits.program import Program
from circuits.quantised import Conv, Dense, QuantGraph
from zenerrors import StatementError


def parameters(qgraph: QuantGraph) -> IntArray:
    """What a model's commitment is to: of each node ``q_w - z_w`` in row-major order, then the biases.

    int64[parameters], in the order of the linked segment of every circuit. Raises ``StatementError``
    (``statement.no_weights``) for a network without any.
    """
    parts = [part for node in _nodes(qgraph) for part in (node.centred_weight.ravel(), node.bias)]
    return np.concatenate(parts)


def compile_registration(qgraph: QuantGraph) -> Program:
    """The circuit of the registration: no public inputs, and no private ones but the parameters.

    It depends on their types only; ``Program.witness({})`` is the witness. Rows: the range checks of all
    weights and biases. Raises ``StatementError`` as ``parameters``.
    """
    builder = Builder()
    lower_registration(builder, qgraph)
    return builder.program()


def lower_registration(builder: Builder, qgraph: QuantGraph) -> None:
    """Add the constraints of ``compile_registration`` to ``builder``, all but what that defers."""
    builder.segment(MODEL, linked=True)
    tools = Tables(builder)
    for node in _nodes(qgraph):
        committed_parameters(builder, node, tools)


def _nodes(qgraph: QuantGraph) -> list[Conv | Dense]:
    nodes = [node for node in qgraph.nodes if isinstance(node, Conv | Dense)]
    if not nodes:
        raise StatementError("statement.no_weights", "the network has no weights to commit to")
    return nodes
