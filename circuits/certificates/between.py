"""Tensors between two lines of what they are made of.

What the prover chooses of such lines, and what makes it valid, is another's business; docs/robustness.md has
the proofs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from zenserve.circuits.certificates.draft import Draft
from zenserve.relations.bounds import Bound
from zenserve.relations.relation import Linear, Tensor, Term


class Box(NamedTuple):
    """The ends of a tensor's entries, their ``sum`` and how far they are apart."""

    least: Tensor
    most: Tensor
    sum: Tensor
    width: Tensor


def boxed(draft: Draft, name: str, least: Tensor, most: Tensor) -> Box:
    low, high = least.bound.interval
    bits = least.bits or 0
    total = Tensor(f"{name}/sum", least.shape, Bound.of(2 * low, 2 * high), bits + 1)
    width = Tensor(f"{name}/width", least.shape, Bound.of(0, high - low), bits)
    for tensor, sign in ((total, 1), (width, -1)):
        draft.hold(Linear(tensor.name, tensor, (Term(most), Term(least, sign))))
    return Box(least, most, total, width)


class Line(NamedTuple):
    """``slope`` and ``offset`` of each entry: what terms add up to, and a constant."""

    slope: tuple[Term, ...]
    offset: tuple[Term, ...]
    steep: int = 0
    constant: int = 0


@dataclass(frozen=True, eq=False)
class Between(ABC):
    """``low <= 2^scale (q - zero_point) <= high`` for q within ``box`` and two lines of one entry of what
    is read, less its zero point. Slopes are within ``steepest``; offsets within ``reach``, in steps
    of 2^(scale - fine)."""

    name: str
    box: Box
    zero_point: int

    @property
    @abstractmethod
    def scale(self) -> int: ...

    @property
    @abstractmethod
    def fine(self) -> int: ...

    @property
    @abstractmethod
    def steepest(self) -> int: ...

    @property
    @abstractmethod
    def reach(self) -> int: ...

    @abstractmethod
    def lines(self, draft: Draft) -> tuple[Line, Line]:
        """``low`` and ``high``."""
