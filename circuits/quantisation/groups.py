"""Which tensors share a type: those that only move from one to another, and those that are joined."""

from __future__ import annotations

from circuits.graphs.graph import Graph
from circuits.graphs.types import Declared
from circuits.quantisation.plan import Step


class Groups:
    """The tensors of ``graph``, grouped. A group has at most one declared type."""

    def __init__(self, graph: Graph, steps: list[Step]) -> None:
        self._parent = {name: name for name in graph.shapes}
        self._declared = dict(graph.declared)
        for step in steps:
            if step.keeps_type:
                for name in step.node.inputs:
                    self._join(name, step.tensor)

    def of(self, tensor: str) -> str:
        """The name that stands for the tensor's group."""
        while self._parent[tensor] != tensor:
            tensor = self._parent[tensor]
        return tensor

    def declared(self, tensor: str) -> Declared | None:
        """The type that the file prescribes for the tensor's group."""
        return self._declared.get(self.of(tensor))

    def _join(self, one: str, other: str) -> None:
        first, second = self.of(one), self.of(other)
        kinds = self._declared.get(first), self._declared.get(second)
        if first == second or (kinds[0] and kinds[1] and not kinds[0].matches(kinds[1])):
            return
        self._parent[second] = first
        kind = kinds[0] or kinds[1]
        if kind:
            self._declared[first] = kind
