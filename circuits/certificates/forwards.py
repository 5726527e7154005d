"""Forwards: boxes of all tensors, and lines between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zenserve.circuits.certificates.between import Between, Box, boxed
from zenserve.circuits.certificates.draft import Draft
from zenserve.circuits.certificates.largest import Largest
from zenserve.circuits.certificates.looked import Looked
from zenserve.circuits.certificates.parameters import Parameters, most, top_of
from zenserve.circuits.certificates.places import moved
from zenserve.circuits.certificates.pools import Windows
from zenserve.circuits.certificates.rescaled import Rescaled
from zenserve.circuits.certificates.tables import Cells
from zenserve.errors import ModelError
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import Requantisation
from zenserve.relations.relation import (
    Convolution,
    Linear,
    Lookup,
    MatMul,
    Maximum,
    Move,
    Parameter,
    Relation,
    Relations,
    Tabulated,
    Tensor,
    Term,
    WindowSum,
)
from zenserve.verifier.schemes import Norm, furthest


class Forwards:
    """``lines``: of what is no sum. ``zero_points``: what lines are of tensors less. ``repeated``: within an
    l2 ball, of what entries of the input were moved to, how often one is there. Raises ``ModelError`` as
    ``certified``, and so do its methods."""

    def __init__(self, network: Relations, draft: Draft, parameters: Parameters, norm: Norm) -> None:
        self.network, self.draft, self.parameters, self.norm = network, draft, parameters, norm
        self.repeated: dict[Tensor, int] = {network.input: 1} if norm == "2" else {}
        self.boxes: dict[Tensor, Box] = {}
        self.lines: dict[Tensor, Between] = {}
        self.zero_points = _zero_points(network)
        self._ends: dict[Tensor, tuple[Tensor, Tensor]] = {}

    def box_of_input(self) -> Tensor:
        """The radius, [batch, 1]."""
        x = self.network.input
        top, bits = x.bound.interval[1], x.bits or 0
        far = furthest(self.norm, bits, math.prod(x.shape[1:]))
        self.radius = radius = Tensor(
            "radius", (self.draft.batch, 1), Bound.of(0, far, "range"), far.bit_length()
        )
        around = self.draft.move("box/around", x.shape, radius, np.zeros(x.shape[1:], np.int64))
        cut, ends = Requantisation(np.array([1]), 0, 0, 0, top), []
        for end, sign in (("least", -1), ("most", 1)):
            moved = self.draft.sum(f"box/{end}", x.shape, top + far, Term(x), Term(around, sign))
            ends.append(Tensor(f"box/{end}", x.shape, x.bound, x.bits))
            self.draft.relations.append(Lookup(ends[-1].name, ends[-1], moved, cut))
        self.boxes[x] = boxed(self.draft, "box", *ends)
        return radius

    def bound(self, relation: Relation) -> None:
        """Boxes of what ``relation`` makes; of sums that nothing rescales none are needed."""
        rescaled = relation.out in self.network.lookups
        match relation:
            case Linear() if not all(isinstance(term.factor, int) for term in relation.terms):
                raise without_lines(relation)
            case MatMul() | Convolution() | WindowSum() if relation.x.factor != 1:
                raise without_lines(relation)
            case Move():
                self._bound_moved(relation)
            case Lookup() if relation.value in self._ends:
                self._bound_rescaled(relation)
            case _ if not self._are_boxed(relation):
                raise without_lines(relation)
            case MatMul() | Convolution() | WindowSum() | Linear() if not rescaled:
                pass
            case MatMul() | Convolution() if relation.x.tensor in self.repeated:
                self._bound_first_layer(relation)
            case MatMul() | Convolution():
                self._bound_layer(relation)
            case WindowSum():
                self._bound_windows(relation)
            case Linear():
                terms = [(term, int(term.factor)) for term in relation.terms]
                boxes = [self.boxes[term.tensor] for term, _ in terms]
                pairs = list(zip(boxes, terms, strict=True))
                reach = sum(2 * abs(factor) * self.furthest(term.tensor) for term, factor in terms)
                widest = sum(abs(factor) * _top(box.width) for box, (_, factor) in pairs)
                centres = [Term(box.sum, factor, 2 * term.zero) for box, (term, factor) in pairs]
                widths = [Term(box.width, abs(factor)) for box, (_, factor) in pairs]
                self._bound_sums(relation.name, relation.out, centres, widths, reach + widest)
            case Tabulated():
                self._bound_table(relation)
            case Maximum():
                self._bound_largest(relation)
            case _:
                raise without_lines(relation)

    def _are_boxed(self, relation: Relation) -> bool:
        """Return whether every tensor that the relation reads has boxes. Sums that are not rescaled have
        none."""
        return all(each in self.boxes for each in relation.reads if not isinstance(each, Parameter))

    def _bound_moved(self, relation: Move) -> None:
        """Boxes of all entries, if there are any; constants are boxes of their own."""
        sources, out, constant = relation.sources, relation.out, relation.constant or 0
        if all(source in self.boxes for source in sources):
            boxes, parts = zip(*(self.boxes[source] for source in sources), strict=True), []
            for part, tensors, times in zip(Box._fields, boxes, (1, 1, 2, 0), strict=True):
                name, bits = f"{out.name}/{part}", max(each.bits or 0 for each in tensors)
                made = name, out.shape, tensors, relation.places, bits
                parts.append(self.draft.move(*made, constant=times * constant))
            self.boxes[out] = Box(*parts)
        if all(source in self.repeated for source in sources):
            self.draft.relations.append(relation)
            each = (self.repeated[source] * len(found) for source, found in moved(relation))
            self.repeated[out] = sum(each)

    def _bound_windows(self, relation: WindowSum) -> None:
        name, out, box = relation.name, relation.out, self.boxes[relation.x.tensor]
        taps = math.prod(relation.sliding.kernel)
        reach, widest = taps * 2 * self.furthest(relation.x.tensor), taps * _top(box.width)
        centre = Tensor(f"{name}/centre", out.shape, Bound.of(-reach, reach))
        radius = Tensor(f"{name}/radius", out.shape, Bound.of(0, widest))
        for made, term in ((centre, Term(box.sum, 1, 2 * relation.x.zero)), (radius, Term(box.width))):
            self.draft.relations.append(replace(relation, name=made.name, out=made, x=term))
        self._bound_sums(name, out, [Term(centre)], [Term(radius)], reach + widest)

    def _bound_layer(self, relation: MatMul | Convolution) -> None:
        name, out, weight = relation.name, relation.out, relation.weight
        box, zero_point = self.boxes[relation.x.tensor], relation.x.zero
        bias, added = self.parameters.doubled_bias(relation)
        reach = most(weight, 2 * self.furthest(relation.x.tensor)) + 2 * top_of(relation.bias)
        widest = most(weight, _top(box.width))
        centre = Tensor(f"{name}/centre", out.shape, Bound.of(-reach, reach))
        radius = Tensor(f"{name}/radius", out.shape, Bound.of(0, widest))
        self.draft.relations += [
            replace(relation, name=centre.name, out=centre, x=Term(box.sum, 1, 2 * zero_point), bias=bias),
            replace(
                relation,
                name=radius.name,
                out=radius,
                x=Term(box.width),
                weight=self.parameters.absolute(weight),
                bias=self.parameters.zeros(f"{radius.name}/bias", relation.bias.shape, weight),
            ),
        ]
        self._bound_sums(name, out, [Term(centre), *added], [Term(radius)], reach + widest)

    def _bound_first_layer(self, relation: MatMul | Convolution) -> None:
        """``|W d| <= ||W|| ||d||`` for each row W: within an l2 ball, and as far as any window sees of it."""
        name, out, channels = relation.name, relation.out, relation.out.shape[1]
        norms = self.parameters.doubled_norms(relation.weight, self.repeated[relation.x.tensor])
        widest, reach = top_of(norms) * top_of(self.radius), 2 * top_of(out)
        centre = Tensor(f"{name}/centre", out.shape, out.bound)
        radius = Tensor(f"{name}/radius", (self.draft.batch, channels), Bound.of(0, widest))
        zeros = self.parameters.zeros(f"{radius.name}/bias", (channels,), norms)
        self.draft.relations += [
            replace(relation, name=centre.name, out=centre),
            MatMul(radius.name, radius, Term(self.radius), norms, zeros),
        ]
        places = np.arange(channels).reshape(-1, *(1 for _ in out.shape[2:]))
        places = np.broadcast_to(places, out.shape[1:])
        each = self.draft.move(f"{radius.name}/each", out.shape, radius, places)
        self._bound_sums(name, out, [Term(centre, 2)], [Term(each)], reach + widest)

    def _bound_sums(
        self, name: str, out: Tensor, centres: Sequence[Term], widths: Sequence[Term], reach: int
    ) -> None:
        """``centres`` less and plus ``widths``: the ends, doubled, on wires."""
        ends = []
        for end, sign in (("least", -1), ("most", 1)):
            tensor = Tensor(f"{name}/{end}/sums", out.shape, Bound.of(-reach, reach))
            turned = [term._replace(factor=sign * int(term.factor)) for term in widths]
            self.draft.hold(Linear(tensor.name, tensor, (*centres, *turned)))
            ends.append(tensor)
        self._ends[out] = ends[0], ends[1]

    def _bound_rescaled(self, relation: Lookup) -> None:
        """The ends of what is rescaled, and the lines between them."""
        name, out, function = relation.name, relation.out, relation.function
        doubled = replace(function, offset=2 * function.offset, shift=function.shift + 1)
        ends = []
        for end, sums in zip(("least", "most"), self._ends[relation.value], strict=True):
            copy = self.draft.sum(f"{name}/{end}", sums.shape, top_of(sums), Term(sums))
            ends.append(Tensor(f"{name}/{end}", out.shape, out.bound, out.bits))
            self.draft.relations.append(Lookup(ends[-1].name, ends[-1], copy, doubled))
        box = boxed(self.draft, name, *ends)
        zero_point, (least, most) = self.zero_points.get(out, 0), self._ends[relation.value]
        self._lie(out, Rescaled.of(self.draft, name, box, zero_point, function, least, most))

    def _bound_table(self, relation: Tabulated) -> None:
        value, function = relation.value, relation.function.within(*relation.value.bound.interval)
        cells = Cells(function, (self.zero_points.get(value, 0), self.zero_points.get(relation.out, 0)))
        self._lie(relation.out, Looked.of(self.draft, relation.name, relation.out, self.boxes[value], cells))

    def _bound_largest(self, relation: Maximum) -> None:
        name, out, read = relation.name, relation.out, self.boxes[relation.value]
        ends = []
        for end, value in zip(("least", "most"), read, strict=False):
            ends.append(Tensor(f"{name}/{end}", out.shape, out.bound, out.bits))
            self.draft.relations.append(Maximum(ends[-1].name, ends[-1], value, relation.sliding))
        box, windows = boxed(self.draft, name, *ends), Windows(relation.sliding)
        zero_point = self.zero_points.get(out, 0)
        self._lie(out, Largest.of(self.draft, name, box, zero_point, read, windows))

    def _lie(self, out: Tensor, lines: Between) -> None:
        self.lines[out], self.boxes[out] = lines, lines.box

    def furthest(self, tensor: Tensor) -> int:
        """The largest absolute value of an entry less its zero point."""
        (low, high), zero_point = tensor.bound.interval, self.zero_points.get(tensor, 0)
        return max(abs(low - zero_point), abs(high - zero_point))


def _zero_points(network: Relations) -> dict[Tensor, int]:
    """Return the zero point that lines subtract from each tensor: the one with which its readers read it.
    Raises ``ModelError`` where two readers' zero points differ, since a line is of one integer."""
    found: dict[Tensor, int] = {}
    for relation in reversed(network.relations):
        read = [(term.tensor, term.zero_point) for term in _terms(relation)]
        if isinstance(relation, Move | Maximum):
            sources = (
                [source for source, _ in moved(relation)] if isinstance(relation, Move) else [relation.value]
            )
            read = [(source, found.get(relation.out, 0)) for source in sources]
        for tensor, zero_point in read:
            if not isinstance(zero_point, int) or found.setdefault(tensor, zero_point) != zero_point:
                raise without_lines(relation)
    return found


def _terms(relation: Relation) -> list[Term]:
    match relation:
        case Linear():
            return list(relation.terms)
        case MatMul() | Convolution() | WindowSum():
            return [relation.x]
    return []


def without_lines(relation: Relation) -> ModelError:
    return ModelError(
        "model.unsupported_operator",
        f"a certificate has no lines through {relation.name[:80]!r}: it takes dense layers, convolutions,"
        " pools, residual sums, functions of each entry alone and what moves entries",
    )


def _top(tensor: Tensor) -> int:
    return tensor.bound.interval[1]
