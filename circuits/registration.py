"""The registration of a model: one proof that all parameters of a commitment are of their types.

Proofs with committed weights (``compile_inference``) link to that commitment entry by entry, and rest on
this: their own constraints take the ranges of the weights for granted.
"""

from __future__ import annotations

from circuits.builder import Builder
from circuits.lowering.parameters import MODEL, committed_parameters
from circuits.lowering.tables import Tables
from circuits.program import Program
from circuits.quantised import Conv, Dense, QuantGraph
from zenerrors import StatementError


def compile_registration(qgraph: QuantGraph) -> Program:
    """No public inputs; the linked segment holds the parameters in the order of every other circuit of
    ``qgraph``. It depends on their types only. ``Program.witness({})`` is its witness.

    Rows: the range checks of all weights and biases. Raises ``StatementError`` (``statement.no_weights``).
    """
    builder = Builder()
    builder.segment(MODEL, linked=True)
    tools = Tables(builder)
    nodes = [node for node in qgraph.nodes if isinstance(node, Conv | Dense)]
    if not nodes:
        raise StatementError("statement.no_weights", "the network has no weights to commit to")
    for node in nodes:
        committed_parameters(builder, node, tools)
    return builder.program()
