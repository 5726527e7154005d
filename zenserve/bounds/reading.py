"""From float networks and networks of integers to what is bounded.

What a float network computes is taken as real numbers: its weights are what they are, and bounds hold of
exact arithmetic. A network of integers computes integers, and bounds hold of these.
"""

from __future__ import annotations

from zenserve.bounds import activation, elementwise, linear, maximum, product, softmax
from zenserve.bounds.given import Given, Rules
from zenserve.bounds.network import Network, Operation
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.quantised.graph import QuantGraph
from zenserve.errors import ModelError

RULES: Rules = {
    **linear.RULES,
    **elementwise.RULES,
    **activation.RULES,
    **product.RULES,
    **maximum.RULES,
    **softmax.RULES,
}


def read(graph: Graph | QuantGraph) -> Network:
    """The network of one input and one output.

    Raises ``ModelError``: ``model.inputs``, ``model.outputs``, and ``model.unsupported_operator`` with all
    operators that have no bounds.
    """
    source, output = graph.input, graph.output
    without = sorted({node.operator() for node in graph.nodes if type(node) not in RULES})
    if without:
        raise ModelError(
            "model.unsupported_operator",
            f"robustness bounds are not implemented for {', '.join(without)}; bound the part of the network"
            " without these operators",
        )
    types = graph.types if isinstance(graph, QuantGraph) else {}
    operations = list[Operation]()
    for node in graph.nodes:
        given = Given(
            node.name,
            node.inputs,
            graph.shapes[node.name],
            tuple(graph.shapes[name] for name in node.inputs),
            tuple(types.get(name) for name in node.inputs),
            isinstance(graph, QuantGraph),
            getattr(node, "rescale", None) is not None,
        )
        operations += RULES[type(node)](given, node)
    summed = linear.chained(linear.merged(operations, output))
    return Network(source.name, source.shape, tuple(summed), output)
