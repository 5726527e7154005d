"""Rewrites that always pay: the same function with fewer nodes, each with an integer node."""

from __future__ import annotations

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.rewriting import without_dead_nodes
from zenserve.circuits.operators import PASSES


def fuse(graph: Graph) -> Graph:
    """``graph`` after every operator's passes."""
    for rewrite in (without_dead_nodes, *PASSES):
        graph = rewrite(graph)
    return graph
