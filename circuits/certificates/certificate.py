"""A certificate: boxes forwards, leads backwards, and what is given to either."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from circuits.certificates.backwards import Backwards
from circuits.certificates.draft import Draft
from circuits.certificates.forwards import Forwards, Lines
from circuits.certificates.parameters import Parameters, View
from relations.bounds import Bound
from relations.relation import OneHot, Parameter, Relations, Tensor, Term


@dataclass(frozen=True, eq=False)
class Certificate:
    """``relations``: what is to hold. Given are the input, ``radius`` and ``label``, [1] each, what the
    prover has ``chosen``, to be range-checked, and what is ``made``: on wires, and what a relation says.

    ``margins`` [1, 1, r], proven positive: the label's lead over each rival is ``2^exponent`` times that at
    least.
    """

    relations: Relations
    radius: Tensor
    label: Tensor
    chosen: tuple[Tensor, ...]
    made: tuple[Tensor, ...]
    views: Mapping[Parameter, View]
    lines: tuple[Lines, ...]
    margins: Tensor
    exponent: int


def certified(network: Relations) -> Certificate:
    """Of a network of one input and one output. Raises ``ModelError`` (``model.unsupported_operator``) for
    what there are no lines through, and ``StatementError`` (``statement.could_wrap``) where integers get too
    large."""
    batch, classes = network.input.shape[0], math.prod(network.output.shape[1:])
    draft = Draft(batch)
    parameters = Parameters(draft)
    forwards = Forwards(network, draft, parameters)
    radius = forwards.box_of_input()
    for relation in network.relations:
        forwards.bound(relation)
    backwards = Backwards(network, draft, parameters, forwards)
    label = Tensor("label", (batch,), Bound.of(0, classes - 1))
    hot = Tensor("output/label", (batch, classes), Bound.of(0, 1), 1)
    draft.relations.append(OneHot("output/label", hot, label, closed=True))
    backwards.start(hot)
    for relation in reversed(network.relations):
        backwards.back(relation)
    margins, exponent = backwards.margins()
    bits = margins.bound.bits - 1
    draft.within("output/positive", margins.shape, bits, Term(margins), lowest=1)
    given = (network.input, radius, label, *draft.chosen, *draft.made)
    return Certificate(
        Relations(given, tuple(draft.relations), (margins,)),
        radius,
        label,
        tuple(draft.chosen),
        tuple(draft.made),
        parameters.views,
        tuple(forwards.lines.values()),
        margins,
        exponent,
    )
