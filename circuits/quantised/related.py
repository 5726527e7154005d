"""A network as relations between tensors of integers: what must hold, whoever proves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from relations.relation import Accumulation, Lookup, Relation, Tensor, Weighted


@dataclass(frozen=True, eq=False)
class Related:
    """The relations of a network, in the order of its nodes, from ``input`` [batch, *shape] to ``output``.

    ``tensors``: by the names that they have in the network.
    """

    input: Tensor
    output: Tensor
    relations: tuple[Relation, ...]
    tensors: Mapping[str, Tensor]

    @cached_property
    def lookups(self) -> dict[Tensor, Lookup]:
        """For sums that are looked up, the lookup: nothing else reads them."""
        return {relation.value: relation for relation in self.relations if isinstance(relation, Lookup)}

    @property
    def accumulations(self) -> list[Accumulation]:
        return [relation for relation in self.relations if isinstance(relation, Accumulation)]

    @property
    def weighted(self) -> list[Weighted]:
        return [relation for relation in self.relations if isinstance(relation, Weighted)]
