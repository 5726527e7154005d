"""The arguments of rules: a node of a float network or of one of integers, and the facts known around it.

In a network of integers a tensor's values are ``q - zero_point``, those of sums without a type the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zenserve.bounds.network import Operation
from zenserve.circuits.graphs.types import Affine, Shape


@dataclass(frozen=True)
class Given:
    """``name``, ``inputs``, ``shape``: of the node's tensor. ``shapes``, ``types``: of what it reads; types
    are None in float networks, which are not ``whole``. ``rescales``: sums, to a type."""

    name: str
    inputs: tuple[str, ...]
    shape: Shape
    shapes: tuple[Shape, ...]
    types: tuple[Affine | None, ...]
    whole: bool
    rescales: bool

    @property
    def sums(self) -> str:
        """The name of the node's sums."""
        return f"{self.name}/sums" if self.rescales else self.name


Rule = Callable[[Given, Any], list[Operation]]
"""The operations that do what a node does; the last one has its name."""

Rules = Mapping[type, Rule]
