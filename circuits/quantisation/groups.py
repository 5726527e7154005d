"""Groups of tensors that share a type: tensors that are only moved from one to another, joined, or tied."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Mover
from zenserve.circuits.graphs.types import Declared
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.quantisation.plan import Step


class Groups:
    """The tensors of ``graph``, grouped. A group has at most one declared type. ``integers``: computed ones
    that are exact. ``apart``: tensors that are joined of whole numbers and real ones, or of several declared
    types, whose type is their own. ``finer``: averages that a function reads, whose type is their own, too:
    they reach less far than what is averaged, and a function may be steep."""

    def __init__(self, graph: Graph, steps: list[Step], integers: Collection[str]) -> None:
        self._parent = {name: name for name in graph.shapes}
        self._declared = dict(graph.declared)
        self._exact = {entry.name for entry in graph.inputs if entry.values != "real"} | {*integers}
        self.apart: set[str] = set()
        self._steps = steps
        curved = _read_by_functions(steps)
        self.finer = {
            step.tensor
            for step in steps
            if step.keeps_type and step.tensor in curved and not isinstance(step.node, Mover)
        }
        for step in steps:
            exact = {self.exact(name) for name in step.node.inputs}
            if step.tensor in self.finer:
                continue
            if step.keeps_type and self._differ(step.node.inputs):
                self.apart.add(step.tensor)
            elif step.keeps_type and (exact == {False} or (exact == {True} and step.node.keeps_declared)):
                for name in step.node.inputs:
                    self._join(name, step.tensor)
            elif step.keeps_type:
                self.apart.add(step.tensor)
        for name, first in graph.tied.items():
            if name in self._parent and first in self._parent and self.exact(name) == self.exact(first):
                self._join(first, name)

    def of(self, tensor: str) -> str:
        """The name that stands for the tensor's group."""
        while self._parent[tensor] != tensor:
            tensor = self._parent[tensor]
        return tensor

    def exact(self, tensor: str) -> bool:
        """Return whether the tensor consists of whole numbers that stay unchanged."""
        return self.of(tensor) in self._exact

    def compared(self, tensor: str) -> bool:
        """Return whether the tensor consists of inputs that are compared and used for nothing else."""
        return self.of(tensor) in self._compared

    @cached_property
    def _compared(self) -> set[str]:
        read, other = set[str](), {self.of(name) for name in self._declared}
        for step in self._steps:
            groups = {self.of(name) for name in step.node.inputs}
            read |= groups
            if not self.keeps(step):
                other.add(self.of(step.tensor))
                other |= set() if step.node.compares else groups
        return read - other

    def origins(self, tensor: str) -> list[int]:
        """Return the numbers by which the readers shift whole numbers of inputs; empty if another node reads
        them."""
        group = self.of(tensor)
        readers = [
            step.node
            for step in self._steps
            if group in {self.of(name) for name in step.node.inputs} and not self.keeps(step)
        ]
        found = [node.origin for node in readers]
        return [each for each in found if each is not None] if None not in found else []

    def keeps(self, step: Step) -> bool:
        """Return whether the tensor has the type of the tensors that the node reads."""
        return step.keeps_type and step.tensor not in self.apart | self.finer

    def declared(self, tensor: str) -> Declared | None:
        """The type that the file prescribes for the tensor's group."""
        return self._declared.get(self.of(tensor))

    def _differ(self, tensors: Sequence[str]) -> bool:
        """Return whether the file gives types to any of the tensors, and not the same one to all of them."""
        first, *others = (self.declared(name) for name in tensors)
        return any(
            bool(first) != bool(each) or (first and each and not first.matches(each)) for each in others
        )

    def _join(self, one: str, other: str) -> None:
        first, second = self.of(one), self.of(other)
        kinds = self._declared.get(first), self._declared.get(second)
        if first == second or (kinds[0] and kinds[1] and not kinds[0].matches(kinds[1])):
            return
        self._parent[second] = first
        self._exact |= {first} if second in self._exact else set()
        kind = kinds[0] or kinds[1]
        if kind:
            self._declared[first] = kind


def _read_by_functions(steps: list[Step]) -> set[str]:
    """The tensors that an Activation reads, moved or not."""
    found = set[str]()
    for step in reversed(steps):
        if isinstance(step.node, Activation) or (isinstance(step.node, Mover) and step.tensor in found):
            found.update(step.node.inputs)
    return found
