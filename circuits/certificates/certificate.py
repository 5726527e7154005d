"""A certificate: boxes forwards, leads backwards, and what is given to either."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from zenserve.circuits.certificates.backwards import Backwards
from zenserve.circuits.certificates.between import Between
from zenserve.circuits.certificates.draft import Draft
from zenserve.circuits.certificates.forwards import Forwards
from zenserve.circuits.certificates.parameters import Parameters, View
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Equal, OneHot, Parameter, Relations, Tensor, Term, Total
from zenserve.verifier.schemes import Norm


@dataclass(frozen=True, eq=False)
class Certificate:
    """``relations``: what is to hold. Given are the input, ``radius``, of this ``norm``, and ``label``,
    [batch, 1] each, the radius being the same for all, what the prover has ``chosen``, and what is ``made``:
    on wires, and what a relation says.

    ``margins`` [batch, 1, r]: the label's lead over each rival is ``2^exponent`` times that at least.
    """

    norm: Norm
    relations: Relations
    radius: Tensor
    label: Tensor
    chosen: tuple[Tensor, ...]
    made: tuple[Tensor, ...]
    views: Mapping[Parameter, View]
    lines: tuple[Between, ...]
    margins: Tensor
    exponent: int

    @property
    def ranged(self) -> list[Tensor]:
        """Of what is chosen, what is to be range-checked."""
        return [each for each in self.chosen if each.bound.proof == "range"]


def certified(network: Relations, norm: Norm = "inf") -> Certificate:
    """Return a certificate that all margins of a network of one input and one output are positive. Raises
    ``ModelError`` (``model.unsupported_operator``) for operators that lines do not pass, and
    ``StatementError`` (``statement.could_wrap``) where integers get too large."""
    classes = math.prod(network.output.shape[1:])
    making = _Making(network, Tensor("label", (network.input.shape[0], 1), Bound.of(0, classes - 1)), norm)
    margins = making.margins
    making.draft.within("output/positive", margins.shape, margins.bound.bits - 1, Term(margins), lowest=1)
    return making.certificate()


def counted(
    network: Relations, labels: Tensor, fill: Equal, count: Tensor, norm: Norm = "inf"
) -> Certificate:
    """Return a certificate that ``count`` [1] is at most the number of samples with positive margins, padding
    samples excluded. A label is any class, or the one after the last; ``fill`` marks the padding samples.
    Raises as ``certified``."""
    making = _Making(network, labels, norm)
    draft, margins = making.draft, making.margins
    rule = _Positive(math.prod(margins.shape[1:]))
    draft.relations.append(fill)
    counts = Tensor("output/counted", fill.out.shape, Bound.of(0, 1, "range"))
    draft.choose(counts, (margins, fill.out), rule)
    # What fills up is not counted.
    draft.within("output/sample", counts.shape, 1, Term(fill.out, -1, 1), Term(counts, -1))
    # Where one counts, margins are 1 at least.
    each = draft.move("output/counted/each", margins.shape, counts, np.zeros(margins.shape[1:], np.int64))
    reach = int(margins.bound.reach.max()) + 1
    leads = draft.product("output/leading", margins.shape, reach, Term(each), Term(margins, 1, 1))
    draft.within("output/positive", margins.shape, reach.bit_length(), Term(leads))
    draft.relations.append(Total("output/count", count, counts))
    return making.certificate(count)


@dataclass(frozen=True)
class _Positive:
    """The rule that chooses 1 for a sample whose ``rivals`` margins are all positive and that is no padding,
    else 0."""

    rivals: int

    def choose(self, *values: IntArray) -> IntArray:
        margins, filling = values
        positive = (margins.reshape(-1, self.rivals) > 0).all(axis=1)
        counted: IntArray = (positive & (filling == 0)).astype(np.int64)
        return counted


class _Making:
    """The construction of a certificate up to ``margins``."""

    def __init__(self, network: Relations, label: Tensor, norm: Norm) -> None:
        batch, classes = network.input.shape[0], math.prod(network.output.shape[1:])
        self.network, self.label, self.draft = network, label, Draft(batch)
        self.parameters = Parameters(self.draft)
        self.forwards = Forwards(network, self.draft, self.parameters, norm)
        self.radius = self.forwards.box_of_input()
        for relation in network.relations:
            self.forwards.bound(relation)
        backwards = Backwards(network, self.draft, self.parameters, self.forwards)
        hot = Tensor("output/label", (batch, classes), Bound.of(0, 1), 1)
        closed = label.bound.interval[1] < classes
        self.draft.relations.append(OneHot("output/label", hot, label, closed=closed))
        backwards.start(hot)
        for relation in reversed(network.relations):
            backwards.back(relation)
        self.margins, self.exponent = backwards.margins()

    def certificate(self, *given: Tensor) -> Certificate:
        draft = self.draft
        known = (self.network.input, self.radius, self.label, *given, *draft.chosen, *draft.made)
        return Certificate(
            self.forwards.norm,
            Relations(known, tuple(draft.relations), (self.margins,)),
            self.radius,
            self.label,
            tuple(draft.chosen),
            tuple(draft.made),
            self.parameters.views,
            tuple(self.forwards.lines.values()),
            self.margins,
            self.exponent,
        )
