"""That a network keeps a label throughout a box, as relations (docs/robustness.md has the proofs).

Forwards, of every tensor the least and the largest integers that the box leaves of its entries. Backwards,
from the label's lead over each rival: the lead is at least the sum of ``2^exponent line · tensor`` over all
tensors that have a line, and of what has been paid. Through a rescaling a line is led by two lines that the
prover chooses and the circuit checks, after it was cut to ``_BITS`` bits, towards less.

Tensors of lines are [1, *shape, r] for r rivals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from circuits.r1cs.gadgets import require_fit
from circuits.schemes.lines import Rescaling
from relations.bounds import Bound
from relations.functions import Requantisation, Tabulation
from relations.integers import IntArray
from relations.planes import MOST_AXES, Sliding
from relations.relation import (
    Absolute,
    Convolution,
    Linear,
    Lookup,
    MatMul,
    MatrixProduct,
    Move,
    OneHot,
    Parameter,
    Product,
    Relation,
    Relations,
    Tabulated,
    Tensor,
    Term,
    WindowSum,
    Within,
)
from zenerrors import ModelError

_BITS: Final = 21
"""Of lines that are cut behind one rescaling, without the sign, whatever the weights."""
_ROOM: Final = 60
"""Bits of what lines are multiplied by and added up to."""
_MORE_BITS: Final = 6
"""For each rescaling more, as far as there is room: what lines could be exceeds what they are the more."""


class Lines(NamedTuple):
    """Of a rescaling: ``chosen`` are wires for what ``Rescaling.chosen`` finds, in its order; ``least`` and
    ``most`` are the ends of the sums, doubled."""

    rescaling: Rescaling
    chosen: tuple[Tensor, ...]
    least: Tensor
    most: Tensor


class View(NamedTuple):
    """A parameter on the wires of another: ``places`` says which of these each entry is; None are zeros."""

    of: Parameter | None
    places: IntArray


@dataclass(frozen=True, eq=False)
class Certificate:
    """``relations``: what is to hold. Given are the input, ``radius`` and ``label``, [1] each, what the
    prover ``chooses``, to be range-checked, and what is ``made``: on wires, and what a relation says.

    ``margins`` [1, 1, r], proven positive: the label's lead over each rival is ``2^exponent`` times that at
    least.
    """

    relations: Relations
    radius: Tensor
    label: Tensor
    chooses: tuple[Tensor, ...]
    made: tuple[Tensor, ...]
    views: Mapping[Parameter, View]
    lines: tuple[Lines, ...]
    margins: Tensor
    exponent: int


def certified(network: Relations) -> Certificate:
    """Of a network of one input and one output. Raises ``ModelError`` (``model.unsupported_operator``) for
    what there are no lines through, and ``StatementError`` (``statement.could_wrap``) where integers get too
    large."""
    maker = _Maker(network)
    radius = maker.box_of_input()
    for relation in network.relations:
        maker.bound(relation)
    label = maker.start()
    for relation in reversed(network.relations):
        maker.back(relation)
    margins, exponent = maker.margins()
    given = (network.input, radius, label, *maker.chooses, *maker.made)
    return Certificate(
        Relations(given, tuple(maker.relations), (margins,)),
        radius,
        label,
        tuple(maker.chooses),
        tuple(maker.made),
        maker.views,
        tuple(maker.lines.values()),
        margins,
        exponent,
    )


class _Box(NamedTuple):
    """The ends of a tensor's entries, their ``sum`` and how far they are apart."""

    least: Tensor
    most: Tensor
    sum: Tensor
    width: Tensor


class _Line(NamedTuple):
    """``2^exponent tensor``, integers within ``reach``; unless it was ``cut``, sums that nothing has read.
    ``depth``: how many rescalings it came through."""

    tensor: Tensor
    reach: int
    exponent: int
    cut: bool = False
    depth: int = 0


class _Maker:
    def __init__(self, network: Relations) -> None:
        self.network = network
        self.relations: list[Relation] = []
        self.chooses: list[Tensor] = []
        self.made: list[Tensor] = []
        self.views: dict[Parameter, View] = {}
        self.lines: dict[Tensor, Lines] = {}
        self._boxes: dict[Tensor, _Box] = {}
        self._ends: dict[Tensor, tuple[Tensor, Tensor]] = {}
        self._absolutes: dict[Parameter, Parameter] = {}
        self._waiting: dict[Tensor, list[_Line]] = {}
        self._paid: list[_Line] = []
        self._lost: list[tuple[int, int]] = []
        self._rivals = math.prod(network.output.shape) - 1
        self._makers = {relation.out: relation for relation in network.relations}
        self._zero_points = _zero_points(network)

    # Forwards.

    def box_of_input(self) -> Tensor:
        """The radius."""
        x = self.network.input
        top = x.bound.interval[1]
        radius = Tensor("radius", (1,), Bound.of(0, top, "range"))
        around = self._move("box/around", x.shape, radius, np.zeros(x.shape[1:], np.int64))
        cut, ends = Requantisation(np.array([1]), 0, 0, 0, top), []
        for end, sign in (("least", -1), ("most", 1)):
            moved = self._sum(f"box/{end}", x.shape, 2 * top, Term(x), Term(around, sign))
            ends.append(Tensor(f"box/{end}", x.shape, x.bound, x.bits))
            self.relations.append(Lookup(ends[-1].name, ends[-1], moved, cut))
        self._boxes[x] = self._box("box", *ends)
        return radius

    def bound(self, relation: Relation) -> None:
        """Boxes of what ``relation`` makes; of sums that nothing rescales none are needed."""
        rescaled = relation.out in self.network.lookups
        match relation:
            case Linear() if not all(isinstance(term.factor, int) for term in relation.terms):
                raise _without_lines(relation)
            case MatMul() | Convolution() | WindowSum() | Linear() if not rescaled:
                pass
            case MatMul() | Convolution():
                self._bound_layer(relation)
            case WindowSum():
                self._bound_windows(relation)
            case Linear():
                terms = [(term, int(term.factor)) for term in relation.terms]
                boxes = [self._boxes[term.tensor] for term, _ in terms]
                pairs = list(zip(boxes, terms, strict=True))
                reach = sum(2 * abs(factor) * self._furthest(term.tensor) for term, factor in terms)
                widest = sum(abs(factor) * _top(box.width) for box, (_, factor) in pairs)
                centres = [Term(box.sum, factor, 2 * term.zero) for box, (term, factor) in pairs]
                widths = [Term(box.width, abs(factor)) for box, (_, factor) in pairs]
                self._bound_sums(relation.name, relation.out, centres, widths, reach + widest)
            case Lookup():
                self._bound_rescaled(relation)
            case Move() if _is_rearranged(relation):
                self._bound_moved(relation)
            case _:
                raise _without_lines(relation)

    def _bound_moved(self, relation: Move) -> None:
        (source,), out = relation.sources, relation.out
        if source in self._boxes:
            moved = [
                self._move(f"{out.name}/{part}", out.shape, tensor, relation.places, tensor.bits)
                for part, tensor in zip(_Box._fields, self._boxes[source], strict=True)
            ]
            self._boxes[out] = _Box(*moved)

    def _bound_windows(self, relation: WindowSum) -> None:
        name, out, box = relation.name, relation.out, self._boxes[relation.x.tensor]
        taps = math.prod(relation.sliding.kernel)
        reach, widest = taps * 2 * self._furthest(relation.x.tensor), taps * _top(box.width)
        centre = Tensor(f"{name}/centre", out.shape, Bound.of(-reach, reach))
        radius = Tensor(f"{name}/radius", out.shape, Bound.of(0, widest))
        for made, term in ((centre, Term(box.sum, 1, 2 * relation.x.zero)), (radius, Term(box.width))):
            self.relations.append(replace(relation, name=made.name, out=made, x=term))
        self._bound_sums(name, out, [Term(centre)], [Term(radius)], reach + widest)

    def _bound_layer(self, relation: MatMul | Convolution) -> None:
        name, out, weight = relation.name, relation.out, relation.weight
        box, zero_point = self._boxes[relation.x.tensor], relation.x.zero
        bias, added = self._doubled_bias(relation)
        reach = _most(weight, 2 * self._furthest(relation.x.tensor)) + 2 * _top_of(relation.bias)
        widest = _most(weight, _top(box.width))
        centre = Tensor(f"{name}/centre", out.shape, Bound.of(-reach, reach))
        radius = Tensor(f"{name}/radius", out.shape, Bound.of(0, widest))
        self.relations += [
            replace(relation, name=centre.name, out=centre, x=Term(box.sum, 1, 2 * zero_point), bias=bias),
            replace(
                relation,
                name=radius.name,
                out=radius,
                x=Term(box.width),
                weight=self._absolute(weight),
                bias=self._zeros(f"{radius.name}/bias", relation.bias.shape, weight),
            ),
        ]
        self._bound_sums(name, out, [Term(centre), *added], [Term(radius)], reach + widest)

    def _bound_sums(
        self, name: str, out: Tensor, centres: Sequence[Term], widths: Sequence[Term], reach: int
    ) -> None:
        """``centres`` less and plus ``widths``: the ends, doubled, on wires."""
        ends = []
        for end, sign in (("least", -1), ("most", 1)):
            tensor = Tensor(f"{name}/{end}/sums", out.shape, Bound.of(-reach, reach))
            turned = [term._replace(factor=sign * int(term.factor)) for term in widths]
            self._hold(Linear(tensor.name, tensor, (*centres, *turned)))
            ends.append(tensor)
        self._ends[out] = ends[0], ends[1]

    def _bound_rescaled(self, relation: Lookup) -> None:
        """The ends of what is rescaled, and the lines between them."""
        name, out, function = relation.name, relation.out, relation.function
        doubled = replace(function, offset=2 * function.offset, shift=function.shift + 1)
        ends = []
        for end, sums in zip(("least", "most"), self._ends[relation.value], strict=True):
            copy = self._sum(f"{name}/{end}", sums.shape, _top_of(sums), Term(sums))
            ends.append(Tensor(f"{name}/{end}", out.shape, out.bound, out.bits))
            self.relations.append(Lookup(ends[-1].name, ends[-1], copy, doubled))
        self._boxes[out] = self._box(name, *ends)
        self.lines[out] = self._chosen_lines(relation, Rescaling(function))

    def _chosen_lines(self, relation: Lookup, rescaling: Rescaling) -> Lines:
        """What the prover chooses, and the inequalities that make it valid."""
        name, out, function = relation.name, relation.out, relation.function
        (least, most), box = self._ends[relation.value], self._boxes[out]
        shape, reach, steepest = out.shape, rescaling.reach, rescaling.most
        slope_bits = steepest.bit_length()
        rises, flat, slope, offset = chosen = tuple(
            Tensor(f"{name}/{part}", shape, Bound.of(low, high, "range"))
            for part, low, high in (
                ("rises", 0, 1),
                ("flat", 0, 1),
                ("slope", 0, (1 << slope_bits) - 1),
                ("offset", -reach, reach - 1),
            )
        )
        self.chooses += chosen
        span, top = function.high - function.low, _top_of(least)
        lifted = 1 << rescaling.coarse + 1
        # No more than the steepest.
        self._within(f"{name}/slope/least", shape, slope_bits, Term(slope, -1), constant=rescaling.steepest)
        # What rises is not clamped above.
        room = Term(box.most, -1, function.high)
        rising = self._product(f"{name}/rising", shape, span, Term(rises), room)
        self._within(f"{name}/unclamped", shape, span.bit_length(), Term(rising), Term(rises, -1))
        # The line above: at the least sums, above what is lowest, or where it is flat, largest.
        raised = self._product(f"{name}/raised", shape, span, Term(flat), Term(box.most, 1, function.low))
        high = steepest * top
        left = self._product(f"{name}/left", shape, high, Term(slope), Term(least))
        self._within(
            f"{name}/above/least",
            shape,
            (high + lifted * reach + (span + abs(function.low) << rescaling.scale + 1)).bit_length(),
            Term(left),
            Term(offset, lifted),
            Term(raised, -(1 << rescaling.scale + 1)),
            constant=-(function.low << rescaling.scale + 1),
        )
        # And at the largest, unless it is flat, above what is steepest.
        right = self._product(f"{name}/right", shape, high, Term(slope), Term(most))
        over = 2 * high + lifted * reach + abs(2 * rescaling.above)
        beyond = self._sum(
            f"{name}/beyond",
            shape,
            over,
            Term(right),
            Term(most, -rescaling.steepest),
            Term(offset, lifted),
            constant=-2 * rescaling.above,
        )
        bent = self._product(f"{name}/bent", shape, over, Term(flat, -1, 1), Term(beyond))
        self._within(f"{name}/above/most", shape, over.bit_length(), Term(bent))
        return Lines(rescaling, chosen, least, most)

    # Backwards.

    def start(self) -> Tensor:
        """The label. Row k of the first lines is 1 for the label and -1 for the k-th of the others."""
        output, rivals = self.network.output, self._rivals
        classes = rivals + 1
        label = Tensor("label", (1,), Bound.of(0, rivals))
        hot = Tensor("output/label", (1, classes), Bound.of(0, 1), 1)
        self.relations.append(OneHot("output/label", hot, label, closed=True))
        output_, rival, place = np.indices((classes, rivals, classes))
        past = place <= rival
        weight = (output_ == place) * 1 + (output_ == rival) * past - (output_ == rival + 1) * past
        bias = -(output_[..., 0] == rival[..., 0]).astype(np.int64)
        leads = Tensor("output/leads", (1, classes * rivals), Bound.of(-1, 1))
        self.relations.append(
            MatMul(
                leads.name,
                leads,
                Term(hot),
                _public(f"{leads.name}/weight", weight.reshape(-1, classes)),
                _public(f"{leads.name}/bias", bias.ravel()),
            )
        )
        shape = (*output.shape, rivals)
        places = np.arange(classes * rivals).reshape(shape[1:])
        moved = self._move("output/leads/each", shape, leads, places, reach=1)
        self._arrive(output, _Line(self._sum("output/lines", shape, 1, Term(moved)), 1, 0))
        return label

    def back(self, relation: Relation) -> None:
        """The line of what ``relation`` makes becomes lines of what it reads."""
        if relation.out not in self._waiting:
            return
        line = self._arrived(relation.out)
        match relation:
            case Lookup():
                self._arrive(relation.value, self._through(relation, line))
            case MatMul() | Convolution():
                self._back_layer(relation, line)
            case WindowSum():
                self._back_windows(relation, line)
            case Linear():
                self._back_sum(relation, line)
            case Move(sources=(source,)):
                line = self._cut(relation.out, line)
                places = np.argsort(relation.places, axis=None)
                shape = (*source.shape, self._rivals)
                each = places[:, np.newaxis] * self._rivals + np.arange(self._rivals)
                moved = self._move(
                    f"{relation.name}/back",
                    shape,
                    line.tensor,
                    each.reshape(shape[1:]),
                    reach=line.reach,
                )
                self._arrive(source, line._replace(tensor=moved))
            case _:
                raise _without_lines(relation)

    def _arrive(self, tensor: Tensor, line: _Line) -> None:
        self._waiting.setdefault(tensor, []).append(line)

    def _arrived(self, tensor: Tensor) -> _Line:
        """All lines of ``tensor`` in one."""
        lines = self._waiting.pop(tensor)
        if len(lines) == 1:
            return lines[0]
        least = min(line.exponent for line in lines)
        reach = sum(line.reach << line.exponent - least for line in lines)
        terms = [Term(line.tensor, 1 << line.exponent - least) for line in lines]
        together = self._sum(f"{tensor.name}/together", lines[0].tensor.shape, reach, *terms)
        return _Line(together, reach, least, depth=max(line.depth for line in lines))

    def _cut(self, tensor: Tensor, line: _Line) -> _Line:
        """``2^w q`` is below ``line`` by less than 2^w in each entry: of ``tensor``, less its zero point, no
        more is lost than that times what is below zero."""
        if line.cut:
            return line
        name = f"{tensor.name}/line"
        wanted = _BITS + _MORE_BITS * max(0, line.depth - 1)
        bits = max(_BITS, min(wanted, _ROOM - self._room(tensor).bit_length()))
        shift = max(0, line.reach.bit_length() - bits)
        reach = -(-line.reach >> shift)
        cut = Tensor(name, line.tensor.shape, Bound.of(-reach, reach))
        function = Requantisation(np.array([1]), 0, shift, -reach, reach)
        self.relations.append(Lookup(line.tensor.name, cut, line.tensor, function))
        below = max(0, self._zero_points.get(tensor, 0) - tensor.bound.interval[0])
        if shift and below:
            self._lost.append((below * math.prod(tensor.shape), line.exponent + shift))
        return _Line(cut, reach, line.exponent + shift, True, line.depth)

    def _room(self, tensor: Tensor) -> int:
        """What a line of ``tensor`` is multiplied by at most before it is cut again."""
        relation, size = self._makers.get(tensor), math.prod(tensor.shape)
        if isinstance(relation, Move):
            return self._room(relation.sources[0])
        if not isinstance(relation, Lookup):
            return 2 * size * self._furthest(tensor)
        rescaling = Rescaling(relation.function)
        offsets = rescaling.reach + (self._zero_points.get(tensor, 0) << rescaling.fine)
        return max(2 * size * offsets, 2 * rescaling.most * self._growth(relation.value))

    def _growth(self, sums: Tensor) -> int:
        """How much larger the lines of what ``sums`` are made of are at most, or those times biases."""
        match self._makers[sums]:
            case MatMul(weight=weight, bias=bias) | Convolution(weight=weight, bias=bias):
                made = weight.values.size // weight.shape[1] * _top_of(weight)
                return max(made, math.prod(sums.shape) * _top_of(bias))
            case WindowSum(sliding=sliding):
                return math.prod(sliding.kernel)
            case Linear(terms=terms):
                return sum(abs(int(term.factor)) for term in terms)
        return 1

    def _halves(self, tensor: Tensor, line: _Line) -> tuple[_Line, Tensor, Tensor]:
        """A line that was cut, its absolute values, and both as matrices [1, n, r]."""
        cut = self._cut(tensor, line)
        absolute = Tensor(f"{cut.tensor.name}/absolute", cut.tensor.shape, Bound.of(0, cut.reach))
        self.relations.append(Absolute(absolute.name, absolute, cut.tensor))
        return cut, absolute, cut.tensor

    def _through(self, relation: Lookup, line: _Line) -> _Line:
        """Twice the line times what is rescaled is no less than its absolute values times the difference of
        the lines below and above, and itself times their sum."""
        name, out = relation.name, relation.out
        rescaling, (rises, _, slope, offset), *_ = self.lines[out]
        function, steepest, box = relation.function, rescaling.most, self._boxes[out]
        cut, absolute, signed = self._halves(out, line)
        most = max(abs(function.low), abs(function.high)) << rescaling.fine
        constant = self._product(f"{name}/constant", out.shape, most, Term(rises, -1, 1), Term(box.least))
        below = Term(rises, rescaling.below), Term(constant, 1 << rescaling.fine)
        zero_point = self._zero_points.get(out, 0) << rescaling.fine
        far = 2 * (rescaling.reach + zero_point)
        parts = []
        for part, sign, factor in (("apart", -1, absolute), ("between", 1, signed)):
            slopes = self._sum(
                f"{name}/slopes/{part}",
                out.shape,
                2 * steepest,
                Term(rises, rescaling.steepest),
                Term(slope, sign),
            )
            offsets = self._sum(
                f"{name}/offsets/{part}",
                (1, 1, 1, math.prod(out.shape)),
                far,
                Term(offset, sign),
                *below,
                constant=-2 * zero_point if sign > 0 else 0,
            )
            shape = factor.shape
            places = np.repeat(np.arange(math.prod(out.shape)), self._rivals).reshape(shape[1:])
            spread = self._move(f"{name}/slopes/{part}/each", shape, slopes, places)
            reach = 2 * steepest * cut.reach
            parts.append(self._product(f"{name}/{part}", shape, reach, Term(factor), Term(spread)))
            self._pay_product(
                f"{name}/paid/{part}",
                Term(offsets),
                factor,
                far * cut.reach,
                cut.exponent - 1 - rescaling.fine,
            )
        reach = 2 * cut.reach * steepest
        led = self._sum(f"{name}/back", cut.tensor.shape, reach, *map(Term, parts))
        return _Line(led, reach, cut.exponent - 1 - rescaling.scale, depth=cut.depth + 1)

    def _back_layer(self, relation: MatMul | Convolution, line: _Line) -> None:
        name, weight, x = relation.name, relation.weight, relation.x.tensor
        typed, places = self._typed(name, line), np.arange(weight.values.size).reshape(weight.shape)
        if isinstance(relation, MatMul):
            read, sliding = typed, Sliding((len(weight.values), self._rivals), (1,), (1,), (0, 0))
        else:
            places = np.flip(places, tuple(range(2, places.ndim)))
            read, sliding = self._transposed(relation, typed)
        turned = self._view(f"{weight.name}/turned", weight, places.swapaxes(0, 1)[..., np.newaxis])
        reach = _most(turned, line.reach)
        out = Tensor(f"{name}/back", (*x.shape, self._rivals), Bound.of(-reach, reach))
        self._convolve(out, read, turned, sliding, weight)
        self._arrive(x, _Line(out, reach, line.exponent, depth=line.depth))
        self._pay_bias(relation, line, typed)

    def _pay_bias(self, relation: MatMul | Convolution, line: _Line, typed: Term) -> None:
        """The line times the biases: a kernel of the size of what the layer makes."""
        bias, (channels, *sizes) = relation.bias, relation.out.shape[1:]
        if bias.privacy == "public" and not bias.values.any():
            return
        places = np.arange(channels).reshape(1, -1, *(1 for _ in sizes), 1)
        each = np.broadcast_to(places, (1, channels, *sizes, 1))
        added = self._view(f"{relation.name}/bias/turned", bias, each)
        axes, reach = len(sizes) + 1, _most(added, line.reach)
        sliding = Sliding((channels, *sizes, self._rivals), (*sizes, 1), (1,) * axes, (0,) * (2 * axes))
        shape = (1, 1, *(1 for _ in sizes), self._rivals)
        paid = Tensor(f"{relation.name}/paid", shape, Bound.of(-reach, reach))
        self._convolve(paid, typed, added, sliding, bias)
        self._pay(paid, reach, line.exponent)

    def _back_windows(self, relation: WindowSum, line: _Line) -> None:
        x, reach = relation.x.tensor, math.prod(relation.sliding.kernel) * line.reach
        read, sliding = self._transposed(relation, self._typed(relation.name, line))
        out = Tensor(f"{relation.name}/back", (*x.shape, self._rivals), Bound.of(-reach, reach))
        self.relations.append(WindowSum(out.name, out, read, sliding))
        self._arrive(x, _Line(out, reach, line.exponent, depth=line.depth))

    def _typed(self, name: str, line: _Line) -> Term:
        """The line on wires, of a type."""
        bits = line.reach.bit_length() + 1
        half = 1 << bits - 1
        bound = Bound.of(half - line.reach, half + line.reach)
        typed = Tensor(f"{name}/lines", line.tensor.shape, bound, bits)
        self._hold(Linear(typed.name, typed, (Term(line.tensor, 1, -half),)))
        return Term(typed, 1, half)

    def _transposed(self, relation: Convolution | WindowSum, line: Term) -> tuple[Term, Sliding]:
        """How a kernel that is turned round slides over lines, with zeros between them where it strode."""
        own, (channels, *sizes) = relation.sliding, relation.out.shape[1:]
        image, dilation = own.image[1:], own.dilation or (1,) * len(sizes)
        apart = tuple((size - 1) * by + 1 for size, by in zip(sizes, own.stride, strict=True))
        ends = own.padding[: len(sizes)]
        far = (step * (size - 1) for size, step in zip(own.kernel, dilation, strict=True))
        before = tuple(each - end for each, end in zip(far, ends, strict=True))
        behind = tuple(size + end - each for size, end, each in zip(image, ends, apart, strict=True))
        grouped = isinstance(relation, Convolution) and own.groups > 1
        if grouped or len(sizes) + 1 > MOST_AXES or min(*before, *behind) < 0:
            raise _without_lines(relation)
        if apart != tuple(sizes):
            shape = (channels, *apart, self._rivals)
            places, strides = np.full(shape, -1), (slice(None, None, by) for by in own.stride)
            size = math.prod(line.tensor.shape)
            places[(slice(None), *strides)] = np.arange(size).reshape(line.tensor.shape[1:])
            name = f"{relation.name}/lines/apart"
            spread = Tensor(name, (1, *shape), line.tensor.bound, line.tensor.bits)
            self.relations.append(Move(name, spread, (line.tensor,), places, line.zero))
            line = line._replace(tensor=spread)
        groups = channels if isinstance(relation, WindowSum) else 1
        strides_ = (1,) * (len(sizes) + 1)
        around = (*before, 0, *behind, 0)
        kernel, steps = (*own.kernel, 1), (*dilation, 1)
        return line, Sliding((channels, *apart, self._rivals), kernel, strides_, around, groups, steps)

    def _convolve(self, out: Tensor, x: Term, weight: Parameter, sliding: Sliding, beside: Parameter) -> None:
        require_fit(out.name, out.bound.interval)
        zeros = self._zeros(f"{out.name}/bias", (out.shape[1],), beside)
        self.relations.append(Convolution(out.name, out, x, weight, zeros, sliding))

    def _back_sum(self, relation: Linear, line: _Line) -> None:
        for index, term in enumerate(relation.terms):
            factor = int(term.factor)
            reach = abs(factor) * line.reach
            name = f"{relation.name}/back{index}"
            turned = self._sum(name, line.tensor.shape, reach, Term(line.tensor, factor))
            self._arrive(term.tensor, _Line(turned, reach, line.exponent, depth=line.depth))

    def margins(self) -> tuple[Tensor, int]:
        """The leads at least, over the input's box, proven positive; and their exponent."""
        x = self.network.input
        box = self._boxes[x]
        cut, absolute, signed = self._halves(x, self._arrived(x))
        size = math.prod(x.shape)
        far = 2 * self._furthest(x)
        zero_point = 2 * self._zero_points.get(x, 0)
        for part, sign, factor, ends, offset in (
            ("apart", -1, absolute, box.width, 0),
            ("between", 1, signed, box.sum, zero_point),
        ):
            row = self._move(f"box/{part}/row", (1, 1, 1, size), ends, np.arange(size).reshape(1, 1, size))
            self._pay_product(
                f"box/{part}", Term(row, sign, offset), factor, far * cut.reach, cut.exponent - 1
            )
        exponent = cut.exponent - 1
        terms, reach = [], 0
        for index, paid in enumerate(self._paid):
            tensor, far = paid.tensor, paid.reach
            if paid.exponent < exponent:
                tensor, far = self._floored(f"output/paid{index}", paid, exponent - paid.exponent)
            else:
                far <<= paid.exponent - exponent
            terms.append(Term(tensor, 1 << max(0, paid.exponent - exponent)))
            reach += far
        # The last has no factor.
        terms.reverse()
        lost = sum(_raised(count, each - exponent) for count, each in self._lost)
        reach += lost
        require_fit("output/margins", (-reach, reach))
        margins = Tensor("output/margins", (1, 1, self._rivals), Bound.of(-reach, reach))
        sums = self._sum("output/margins/sum", margins.shape, reach, *terms, constant=-lost)
        self._hold(Linear(margins.name, margins, (Term(sums),)))
        self._within("output/positive", margins.shape, reach.bit_length(), Term(margins), lowest=1)
        return margins, exponent

    def _floored(self, name: str, paid: _Line, shift: int) -> tuple[Tensor, int]:
        """Divided by 2^shift, rounded down."""
        reach = -(-paid.reach >> shift)
        out = Tensor(name, paid.tensor.shape, Bound.of(-reach, reach))
        copy = self._sum(name, out.shape, paid.reach, Term(paid.tensor))
        self.relations.append(Lookup(name, out, copy, Requantisation(np.array([1]), 0, shift, -reach, reach)))
        return out, reach

    def _pay(self, tensor: Tensor, reach: int, exponent: int) -> None:
        self._paid.append(_Line(tensor, reach, exponent))

    def _pay_product(self, name: str, left: Term, factor: Tensor, reach: int, exponent: int) -> None:
        """A row by a factor of lines, summed over all entries."""
        size = left.tensor.shape[-1]
        most = size * reach
        require_fit(name, (-most, most))
        shape = (1, 1, size, self._rivals)
        places = np.arange(size * self._rivals).reshape(shape[1:])
        matrix = self._move(f"{name}/matrix", shape, factor, places)
        out = Tensor(name, (1, 1, 1, self._rivals), Bound.of(-most, most))
        self.relations.append(MatrixProduct(name, out, left, Term(matrix)))
        self._pay(out, most, exponent)

    # What both ways are made with.

    def _box(self, name: str, least: Tensor, most: Tensor) -> _Box:
        low, high = least.bound.interval
        bits = least.bits or 0
        total = Tensor(f"{name}/sum", least.shape, Bound.of(2 * low, 2 * high), bits + 1)
        width = Tensor(f"{name}/width", least.shape, Bound.of(0, high - low), bits)
        for tensor, sign in ((total, 1), (width, -1)):
            self._hold(Linear(tensor.name, tensor, (Term(most), Term(least, sign))))
        return _Box(least, most, total, width)

    def _furthest(self, tensor: Tensor) -> int:
        """The largest absolute value of an entry less its zero point."""
        (low, high), zero_point = tensor.bound.interval, self._zero_points.get(tensor, 0)
        return max(abs(low - zero_point), abs(high - zero_point))

    def _hold(self, relation: Linear) -> None:
        """On wires of its own."""
        self.made.append(relation.out)
        self.relations.append(relation)

    def _sum(
        self, name: str, shape: tuple[int, ...], reach: int, *terms: Term, constant: int | IntArray = 0
    ) -> Tensor:
        require_fit(name, (-reach, reach))
        out = Tensor(name, shape, Bound.of(-reach, reach))
        first, *rest = terms
        if np.any(constant):
            assert first.factor in (1, -1)  # noqa: S101  so that a zero point makes any constant
            first = first._replace(zero_point=first.zero - first.factor * constant)
        self.relations.append(Linear(name, out, (first, *rest)))
        return out

    def _within(
        self,
        name: str,
        shape: tuple[int, ...],
        bits: int,
        *terms: Term,
        constant: int | IntArray = 0,
        lowest: int = 0,
    ) -> None:
        """A sum that is at least ``lowest``, and less than that and 2^bits."""
        require_fit(name, (0, 1 << bits))
        value = self._sum(f"{name}/value", shape, 1 << bits, *terms, constant=constant)
        out = Tensor(name, shape, Bound.of(lowest, lowest + (1 << bits) - 1, "range"))
        self.relations.append(Within(name, out, value))

    def _product(self, name: str, shape: tuple[int, ...], reach: int, left: Term, right: Term) -> Tensor:
        require_fit(name, (-reach, reach))
        out = Tensor(name, shape, Bound.of(-reach, reach))
        self.relations.append(Product(name, out, left, right))
        return out

    def _move(
        self,
        name: str,
        shape: tuple[int, ...],
        source: Tensor,
        places: IntArray,
        bits: int | None = None,
        reach: int | None = None,
    ) -> Tensor:
        bound = Bound.of(*source.bound.interval) if reach is None else Bound.of(-reach, reach)
        out = Tensor(name, shape, bound, bits)
        self.relations.append(Move(name, out, (source,), places))
        return out

    def _doubled_bias(self, relation: MatMul | Convolution) -> tuple[Parameter, list[Term]]:
        """As a bias where it is public; else as a term beside sums without any."""
        bias = relation.bias
        if bias.privacy == "public":
            return _public(f"{relation.name}/centre/bias", 2 * bias.values), []
        zeros = self._zeros(f"{relation.name}/centre/bias", bias.shape, bias)
        channels = np.arange(bias.values.size).reshape(-1, *(1 for _ in relation.out.shape[2:]))
        places = np.broadcast_to(channels, relation.out.shape)
        return zeros, [Term(self._view(f"{relation.name}/bias/each", bias, places), 2)]

    def _absolute(self, weight: Parameter) -> Parameter:
        if weight not in self._absolutes:
            low, high = weight.bound.interval
            values = np.abs(weight.values)
            made = replace(
                weight,
                name=f"{weight.name}/absolute",
                values=values,
                bound=Bound(np.zeros_like(weight.bound.low), weight.bound.reach),
            )
            if weight.privacy != "public":
                function = Tabulation(np.abs(np.arange(low, high + 1)), low)
                self.relations.append(Tabulated(made.name, made, weight, function))
            self._absolutes[weight] = made
        return self._absolutes[weight]

    def _view(self, name: str, of: Parameter, places: IntArray) -> Parameter:
        proof = "relation" if of.bound.proof == "range" else of.bound.proof
        low, high = of.bound.interval
        made = Parameter(
            name,
            places.shape,
            Bound.of(low, high, proof),
            values=of.values.ravel()[places],
            privacy=of.privacy,
        )
        self.views[made] = View(of, places)
        return made

    def _zeros(self, name: str, shape: tuple[int, ...], beside: Parameter) -> Parameter:
        made = Parameter(
            name, shape, Bound.of(0, 0), values=np.zeros(shape, np.int64), privacy=beside.privacy
        )
        self.views[made] = View(None, np.zeros(shape, np.int64))
        return made


def _raised(count: int, exponent: int) -> int:
    """``count · 2^exponent``, rounded up."""
    return count << exponent if exponent >= 0 else -(-count >> -exponent)


def _public(name: str, values: IntArray) -> Parameter:
    """Constants."""
    return Parameter(
        name, values.shape, Bound.of(int(values.min()), int(values.max())), values=values, privacy="public"
    )


def _terms(relation: Relation) -> list[Term]:
    match relation:
        case Linear():
            return list(relation.terms)
        case MatMul() | Convolution() | WindowSum():
            return [relation.x]
    return []


def _zero_points(network: Relations) -> dict[Tensor, int]:
    """What lines are of tensors less: those of whoever reads them. Raises ``ModelError`` where two differ,
    whose lines would not be of one integer."""
    found: dict[Tensor, int] = {}
    for relation in reversed(network.relations):
        read = [(term.tensor, term.zero_point) for term in _terms(relation)]
        if isinstance(relation, Move):
            read = [(source, found.get(relation.out, 0)) for source in relation.sources]
        for tensor, zero_point in read:
            if not isinstance(zero_point, int) or found.setdefault(tensor, zero_point) != zero_point:
                raise _without_lines(relation)
    return found


def _is_rearranged(relation: Move) -> bool:
    """Whether it has each entry of its one source once, so that a line can be moved back."""
    (source, *others), places = relation.sources, np.sort(relation.places, axis=None)
    return not others and np.array_equal(places, np.arange(math.prod(source.shape)))


def _top(tensor: Tensor) -> int:
    return tensor.bound.interval[1]


def _top_of(tensor: Tensor) -> int:
    """The largest absolute value."""
    return int(tensor.bound.reach.max())


def _most(weight: Parameter, reach: int) -> int:
    """What an output's products add up to at most, of values within ``reach``."""
    if weight.privacy == "public":
        return int(np.abs(weight.values).reshape(len(weight.values), -1).sum(axis=1).max()) * reach
    return math.prod(weight.shape[1:]) * _top_of(weight) * reach


def _without_lines(relation: Relation) -> ModelError:
    return ModelError(
        "model.unsupported_operator",
        f"a certificate has no lines through {relation.name[:80]!r}: it takes dense layers, convolutions"
        " of one group, average pools, residual sums and ReLUs",
    )
