"""Backwards: the label's lead over each rival, led to the input's box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from zenserve.circuits.certificates.draft import Draft
from zenserve.circuits.certificates.forwards import Forwards, without_lines
from zenserve.circuits.certificates.largest import Largest
from zenserve.circuits.certificates.norms import Rooting, no_smaller, roots
from zenserve.circuits.certificates.parameters import Parameters, most, public, top_of
from zenserve.circuits.certificates.places import moved
from zenserve.circuits.certificates.pools import Windows
from zenserve.circuits.r1cs.gadgets import require_fit
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import Requantisation
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import MOST_AXES, Sliding
from zenserve.relations.relation import (
    Absolute,
    Convolution,
    Linear,
    Lookup,
    MatMul,
    MatrixProduct,
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

_BITS: Final = 21
"""Of lines that are cut behind one rescaling, without the sign, whatever the weights."""
_ROOM: Final = 60
"""Bits of what lines are multiplied by and added up to."""
_SQUARES: Final = 60
"""Bits of what squares are added up to."""
_MOST: Final = (1 << 61) - 1
"""The largest margin that is allowed: one more than a margin still fits into 61 bits."""
_MORE_BITS: Final = 6
"""For each rescaling more, as far as there is room: what lines could be exceeds what they are the more."""
_ENTRIES: Final = 10
"""Bits of how many entries there are, for each of which more another: what is cut off adds up over them."""


class _Line(NamedTuple):
    """``2^exponent tensor``, integers within ``reach``; unless it was ``cut``, sums that nothing has read.
    ``depth``: how many rescalings it came through."""

    tensor: Tensor
    reach: int
    exponent: int
    cut: bool = False
    depth: int = 0


class Backwards:
    def __init__(self, network: Relations, draft: Draft, parameters: Parameters, forwards: Forwards) -> None:
        self.network, self.draft, self.parameters, self.forwards = network, draft, parameters, forwards
        self._waiting: dict[Tensor, list[_Line]] = {}
        self._paid: list[_Line] = []
        self._lost: list[tuple[int, int]] = []
        self.batch = draft.batch
        self._rivals = math.prod(network.output.shape[1:]) - 1
        self._makers = {relation.out: relation for relation in network.relations}

    def start(self, hot: Tensor) -> None:
        """``hot`` [batch, classes]: the label. Row k of the first lines is 1 for it and -1 for the k-th of
        the others."""
        output, rivals = self.network.output, self._rivals
        classes = rivals + 1
        output_, rival, place = np.indices((classes, rivals, classes))
        past = place <= rival
        weight = (output_ == place) * 1 + (output_ == rival) * past - (output_ == rival + 1) * past
        bias = -(output_[..., 0] == rival[..., 0]).astype(np.int64)
        leads = Tensor("output/leads", (self.batch, classes * rivals), Bound.of(-1, 1))
        self.draft.relations.append(
            MatMul(
                leads.name,
                leads,
                Term(hot),
                public(f"{leads.name}/weight", weight.reshape(-1, classes)),
                public(f"{leads.name}/bias", bias.ravel()),
            )
        )
        shape = (*output.shape, rivals)
        places = np.arange(classes * rivals).reshape(shape[1:])
        moved = self.draft.move("output/leads/each", shape, leads, places, reach=1)
        self._arrive(output, _Line(self.draft.sum("output/lines", shape, 1, Term(moved)), 1, 0))

    def back(self, relation: Relation) -> None:
        """The line of what ``relation`` makes becomes lines of what it reads."""
        if relation.out not in self._waiting:
            return
        line = self._arrived(relation.out)
        match relation:
            case Lookup() | Tabulated():
                self._arrive(relation.value, self._through(relation.out, line))
            case Maximum():
                self._arrive(relation.value, self._spread(relation, self._through(relation.out, line)))
            case MatMul() | Convolution():
                self._back_layer(relation, line)
            case WindowSum():
                self._back_windows(relation, line)
            case Linear():
                self._back_sum(relation, line)
            case Move():
                self._back_moved(relation, self._cut(relation.out, line))
            case _:
                raise without_lines(relation)

    def _arrive(self, tensor: Tensor, line: _Line) -> None:
        self._waiting.setdefault(tensor, []).append(line)

    def _arrived(self, tensor: Tensor) -> _Line:
        """All lines of ``tensor`` in one: of those that are finer than there is room for, what is left."""
        lines = self._waiting.pop(tensor)
        if len(lines) == 1:
            return lines[0]
        least = _fitting(lines, min(line.exponent for line in lines), 1 << _ROOM)
        lines = [self._coarser(tensor, index, line, least) for index, line in enumerate(lines)]
        reach = sum(line.reach << line.exponent - least for line in lines)
        terms = [Term(line.tensor, 1 << line.exponent - least) for line in lines]
        together = self.draft.sum(f"{tensor.name}/together", lines[0].tensor.shape, reach, *terms)
        return _Line(together, reach, least, depth=max(line.depth for line in lines))

    def _coarser(self, tensor: Tensor, index: int, line: _Line, exponent: int) -> _Line:
        """At ``exponent``, or what it is already."""
        if line.exponent >= exponent:
            return line
        name = f"{tensor.name}/coarser{index}"
        copy = self.draft.sum(name, line.tensor.shape, line.reach, Term(line.tensor))
        return self._divided(tensor, name, line._replace(tensor=copy), exponent - line.exponent)

    def _cut(self, tensor: Tensor, line: _Line) -> _Line:
        """To so many bits as there is room for."""
        if line.cut:
            return line
        entries = math.prod(tensor.shape[1:])
        wanted = _BITS + _MORE_BITS * max(0, line.depth - 1) + max(0, entries.bit_length() - _ENTRIES)
        bits = max(_BITS, min(wanted, _ROOM - self._room(tensor).bit_length()))
        shift = max(0, line.reach.bit_length() - bits)
        return self._divided(tensor, f"{tensor.name}/line", line, shift)

    def _divided(self, tensor: Tensor, name: str, line: _Line, shift: int) -> _Line:
        """``2^shift q`` is below ``line`` by less than 2^shift in each entry: of ``tensor``, less its zero
        point, no more is lost than that times what is below zero."""
        made, reach = self._floored(name, line, shift)
        below = max(0, self.forwards.zero_points.get(tensor, 0) - tensor.bound.interval[0])
        if shift and below:
            self._lost.append((below * math.prod(tensor.shape[1:]), line.exponent + shift))
        return _Line(made, reach, line.exponent + shift, True, line.depth)

    def _floored(self, name: str, line: _Line, shift: int) -> tuple[Tensor, int]:
        """Sums that nothing has read, divided by 2^shift and rounded down; and how far they reach."""
        reach = -(-line.reach >> shift)
        out = Tensor(name, line.tensor.shape, Bound.of(-reach, reach))
        function = Requantisation(np.array([1]), 0, shift, -reach, reach)
        self.draft.relations.append(Lookup(line.tensor.name, out, line.tensor, function))
        return out, reach

    def _room(self, tensor: Tensor) -> int:
        """Return an upper bound of the factor by which a line of ``tensor`` is multiplied before it is cut
        again."""
        relation, size = self._makers.get(tensor), math.prod(tensor.shape[1:])
        if isinstance(relation, Move):
            often = int(np.bincount(relation.places.ravel() + 1)[1:].max(initial=1))
            rooms = [often * self._room(source) for source, _ in moved(relation)]
            return max(size * abs(self._padding(relation)), *rooms, 1)
        if tensor not in self.forwards.lines:
            return 2 * size * self.forwards.furthest(tensor)
        lines = self.forwards.lines[tensor]
        return max(2 * size * lines.reach, 2 * lines.steepest * self._growth(self._makers[tensor]))

    def _growth(self, relation: Relation) -> int:
        """Return the factor by which the next lines to be cut, or the terms that biases make of them, exceed
        the lines of the tensor that ``relation`` reads, at most."""
        if isinstance(relation, Maximum):
            return len(Windows(relation.sliding).readers)
        match self._makers[relation.value] if isinstance(relation, Lookup) else None:
            case MatMul() | Convolution() as layer:
                weight, groups = layer.weight, layer.sliding.groups
                made = weight.values.size // (weight.shape[1] * groups) * top_of(weight)
                return max(made, math.prod(layer.out.shape[1:]) * top_of(layer.bias))
            case WindowSum(sliding=sliding):
                return math.prod(sliding.kernel)
            case Linear(terms=terms):
                return sum(abs(int(term.factor)) for term in terms)
        return 1

    def _halves(self, tensor: Tensor, line: _Line) -> tuple[_Line, Tensor, Tensor]:
        """A line that was cut, its absolute values, and both as matrices [1, n, r]."""
        cut = self._cut(tensor, line)
        absolute = Tensor(f"{cut.tensor.name}/absolute", cut.tensor.shape, Bound.of(0, cut.reach))
        self.draft.relations.append(Absolute(absolute.name, absolute, cut.tensor))
        return cut, absolute, cut.tensor

    def _through(self, out: Tensor, line: _Line) -> _Line:
        """Twice the line times ``out`` is no less than its absolute values times the difference of the lines
        below and above, and itself times their sum."""
        between = self.forwards.lines[out]
        name, size = between.name, math.prod(out.shape[1:])
        cut, absolute, signed = self._halves(out, line)
        (low, high), parts = between.lines(self.draft), []
        steepest, far = 2 * between.steepest, 2 * between.reach
        for part, sign, factor in (("apart", -1, absolute), ("between", 1, signed)):
            slopes = self.draft.sum(
                f"{name}/slopes/{part}",
                out.shape,
                steepest,
                *low.slope,
                *_times(high.slope, sign),
                constant=low.steep + sign * high.steep,
            )
            offsets = self.draft.sum(
                f"{name}/offsets/{part}",
                (self.batch, 1, 1, size),
                far,
                *_times(high.offset, sign),
                *low.offset,
                constant=low.constant + sign * high.constant,
            )
            places = np.repeat(np.arange(size), self._rivals).reshape(factor.shape[1:])
            spread = self.draft.move(f"{name}/slopes/{part}/each", factor.shape, slopes, places)
            reach = steepest * cut.reach
            product = self.draft.product(f"{name}/{part}", factor.shape, reach, Term(factor), Term(spread))
            parts.append(Term(product))
            exponent = cut.exponent - 1 - between.fine
            self._pay_product(f"{name}/paid/{part}", Term(offsets), factor, far * cut.reach, exponent)
        reach = steepest * cut.reach
        led = self.draft.sum(f"{name}/back", cut.tensor.shape, reach, *parts)
        return _Line(led, reach, cut.exponent - 1 - between.scale, depth=cut.depth + 1)

    def _spread(self, relation: Maximum, line: _Line) -> _Line:
        """From the entries that were picked of each window to all entries."""
        name, x, between = relation.name, relation.value, self.forwards.lines[relation.out]
        assert isinstance(between, Largest)  # noqa: S101  of the largest there are no other lines
        size, shape = math.prod(relation.out.shape[1:]), line.tensor.shape
        places, products = np.repeat(np.arange(size), self._rivals).reshape(shape[1:]), []
        for tap, picked in enumerate(between.picked):
            each = self.draft.move(f"{name}/picked/{tap}/each", shape, picked, places)
            products.append(
                self.draft.product(f"{name}/back/{tap}", shape, line.reach, Term(each), Term(line.tensor))
            )
        parts = self._read(f"{name}/spread", x, tuple(products), between.windows.readers, line)
        reach = len(parts) * line.reach
        together = self.draft.sum(f"{name}/spread", (*x.shape, self._rivals), reach, *parts)
        return line._replace(tensor=together, reach=reach)

    def _back_moved(self, relation: Move, line: _Line) -> None:
        """A line of what was moved is one of each source, added up where entries are there several times;
        and a constant of what padding is beyond the zero point."""
        for index, (source, found) in enumerate(moved(relation)):
            name = f"{relation.name}/back{index}"
            parts = self._read(name, source, (line.tensor,), found, line)
            if len(parts) == 1:
                self._arrive(source, line._replace(tensor=parts[0].tensor))
                continue
            reach = len(parts) * line.reach
            together = self.draft.sum(name, parts[0].tensor.shape, reach, *parts)
            self._arrive(source, line._replace(tensor=together, reach=reach, cut=False))
        if padding := self._padding(relation):
            added = np.where(relation.places < 0, padding, 0)[np.newaxis, ..., np.newaxis]
            typed = self._typed(relation.name, line)
            self._pay_constants(relation.name, public(f"{relation.name}/padding", added), line, typed)

    def _padding(self, relation: Move) -> int:
        """Return the padding constant less the zero point of the output; 0 if ``relation`` does not pad."""
        padded, constant = (relation.places < 0).any(), relation.constant or 0
        return constant - self.forwards.zero_points.get(relation.out, 0) if padded else 0

    def _read(
        self, name: str, x: Tensor, sources: tuple[Tensor, ...], found: Sequence[IntArray], line: _Line
    ) -> list[Term]:
        """Lines of ``x``, each of what ``found`` says of those of all ``sources``, ``line`` being one."""
        parts = []
        for index, read in enumerate(found):
            rows = np.where(read < 0, -1, read * self._rivals)[:, np.newaxis]
            rows = np.where(rows < 0, -1, rows + np.arange(self._rivals))
            shape = (*x.shape, self._rivals)
            made = f"{name}/{index}", shape, sources, rows.reshape(shape[1:])
            parts.append(Term(self.draft.move(*made, reach=line.reach, constant=0)))
        return parts

    def _back_layer(self, relation: MatMul | Convolution, line: _Line) -> None:
        name, weight, x = relation.name, relation.weight, relation.x.tensor
        typed, places = self._typed(name, line), np.arange(weight.values.size).reshape(weight.shape)
        if isinstance(relation, MatMul):
            read, sliding = typed, Sliding((len(weight.values), self._rivals), (1,), (1,), (0, 0))
        else:
            places = np.flip(places, tuple(range(2, places.ndim)))
            read, sliding = self._transposed(relation, typed)
        grouped = places.reshape(sliding.groups, -1, *places.shape[1:]).swapaxes(1, 2)
        kernel = grouped.reshape(-1, *grouped.shape[2:])[..., np.newaxis]
        turned = self.parameters.view(f"{weight.name}/turned", weight, kernel)
        reach = most(turned, line.reach)
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
        added = self.parameters.view(f"{relation.name}/bias/turned", bias, each)
        self._pay_constants(relation.name, added, line, typed)

    def _pay_constants(self, name: str, added: Parameter, line: _Line, typed: Term) -> None:
        """The line times ``added`` [1, *shape, 1], a constant of each entry."""
        _, channels, *sizes, _ = added.shape
        axes, reach = len(sizes) + 1, most(added, line.reach)
        sliding = Sliding((channels, *sizes, self._rivals), (*sizes, 1), (1,) * axes, (0,) * (2 * axes))
        shape = (self.batch, 1, *(1 for _ in sizes), self._rivals)
        paid = Tensor(f"{name}/paid", shape, Bound.of(-reach, reach))
        self._convolve(paid, typed, added, sliding, added)
        self._pay(paid, reach, line.exponent)

    def _back_windows(self, relation: WindowSum, line: _Line) -> None:
        x, reach = relation.x.tensor, math.prod(relation.sliding.kernel) * line.reach
        read, sliding = self._transposed(relation, self._typed(relation.name, line))
        out = Tensor(f"{relation.name}/back", (*x.shape, self._rivals), Bound.of(-reach, reach))
        self.draft.relations.append(WindowSum(out.name, out, read, sliding))
        self._arrive(x, _Line(out, reach, line.exponent, depth=line.depth))

    def _typed(self, name: str, line: _Line) -> Term:
        """The line on wires, of a type."""
        bits = line.reach.bit_length() + 1
        half = 1 << bits - 1
        bound = Bound.of(half - line.reach, half + line.reach)
        typed = Tensor(f"{name}/lines", line.tensor.shape, bound, bits)
        self.draft.hold(Linear(typed.name, typed, (Term(line.tensor, 1, -half),)))
        return Term(typed, 1, half)

    def _transposed(self, relation: Convolution | WindowSum, line: Term) -> tuple[Term, Sliding]:
        """Return the line and the sliding of the transposed kernel over it. Zeros stand between the entries
        of the line where the kernel strode; entries whose windows saw nothing but padding are left out."""
        own, (channels, *sizes) = relation.sliding, relation.out.shape[1:]
        image, dilation = own.image[1:], own.dilation or (1,) * len(sizes)
        apart = tuple((size - 1) * by + 1 for size, by in zip(sizes, own.stride, strict=True))
        ends = own.padding[: len(sizes)]
        far = (step * (size - 1) for size, step in zip(own.kernel, dilation, strict=True))
        before = tuple(each - end for each, end in zip(far, ends, strict=True))
        behind = tuple(size + end - each for size, end, each in zip(image, ends, apart, strict=True))
        if len(sizes) + 1 > MOST_AXES:
            raise without_lines(relation)
        if apart != tuple(sizes) or min(*before, *behind) < 0:
            shape = (channels, *apart, self._rivals)
            places, strides = np.full(shape, -1), (slice(None, None, by) for by in own.stride)
            size = math.prod(line.tensor.shape[1:])
            places[(slice(None), *strides)] = np.arange(size).reshape(line.tensor.shape[1:])
            seen = zip(before, behind, apart, strict=True)
            kept = (slice(max(0, -first), size - max(0, -last)) for first, last, size in seen)
            places = places[(slice(None), *kept)]
            apart = places.shape[1:-1]
            before, behind = (tuple(max(0, each) for each in end) for end in (before, behind))
            spread = self.draft.move(
                f"{relation.name}/lines/apart",
                (self.batch, *places.shape),
                line.tensor,
                places,
                line.tensor.bits,
                constant=line.zero,
            )
            line = line._replace(tensor=spread)
        groups = channels if isinstance(relation, WindowSum) else own.groups
        strides_ = (1,) * (len(sizes) + 1)
        around = (*before, 0, *behind, 0)
        kernel, steps = (*own.kernel, 1), (*dilation, 1)
        return line, Sliding((channels, *apart, self._rivals), kernel, strides_, around, groups, steps)

    def _convolve(self, out: Tensor, x: Term, weight: Parameter, sliding: Sliding, beside: Parameter) -> None:
        require_fit(out.name, out.bound.interval)
        zeros = self.parameters.zeros(f"{out.name}/bias", (out.shape[1],), beside)
        self.draft.relations.append(Convolution(out.name, out, x, weight, zeros, sliding))

    def _back_sum(self, relation: Linear, line: _Line) -> None:
        for index, term in enumerate(relation.terms):
            factor = int(term.factor)
            reach = abs(factor) * line.reach
            name = f"{relation.name}/back{index}"
            turned = self.draft.sum(name, line.tensor.shape, reach, Term(line.tensor, factor))
            self._arrive(term.tensor, _Line(turned, reach, line.exponent, depth=line.depth))

    def margins(self) -> tuple[Tensor, int]:
        """The leads at least over the input's box, [batch, 1, r], and their exponent."""
        x = self.network.input
        finest = (self._pay_ball if self.forwards.norm == "2" else self._pay_box)(x)
        exponent = _fitting(self._paid, finest, _MOST, self._lost)
        terms, reach = [], 0
        for index, paid in enumerate(self._paid):
            tensor, far = paid.tensor, _raised(paid.reach, paid.exponent - exponent)
            if paid.exponent < exponent:
                name = f"output/paid{index}"
                copy = self.draft.sum(name, tensor.shape, paid.reach, Term(tensor))
                tensor, _ = self._floored(name, paid._replace(tensor=copy), exponent - paid.exponent)
            terms.append(Term(tensor, 1 << max(0, paid.exponent - exponent)))
            reach += far
        # The last has no factor.
        terms.reverse()
        lost = sum(_raised(count, each - exponent) for count, each in self._lost)
        reach += lost
        margins = Tensor("output/margins", (self.batch, 1, self._rivals), Bound.of(-reach, reach))
        sums = self.draft.sum("output/margins/sum", margins.shape, reach, *terms, constant=-lost)
        self.draft.hold(Linear(margins.name, margins, (Term(sums),)))
        return margins, exponent

    def _pay_box(self, x: Tensor) -> int:
        """The line of the input at least over its box. The exponent."""
        box, size = self.forwards.boxes[x], math.prod(x.shape[1:])
        cut, absolute, signed = self._halves(x, self._arrived(x))
        far = 2 * self.forwards.furthest(x)
        zero_point = 2 * self.forwards.zero_points.get(x, 0)
        for part, sign, factor, ends, offset in (
            ("apart", -1, absolute, box.width, 0),
            ("between", 1, signed, box.sum, zero_point),
        ):
            row = self.draft.move(
                f"box/{part}/row", (self.batch, 1, 1, size), ends, np.arange(size).reshape(1, 1, size)
            )
            self._pay_product(
                f"box/{part}", Term(row, sign, offset), factor, far * cut.reach, cut.exponent - 1
            )
        return cut.exponent - 1

    def _pay_ball(self, x: Tensor) -> int:
        """The line of the input at least over its ball: at the centre, less the radius times the line's
        norm. The exponent."""
        cut, size = self._cut(x, self._arrived(x)), math.prod(x.shape[1:])
        norm, more, exponent = self._norm(cut, size)
        radius = self.draft.move(
            "ball/radius", norm.shape, self.forwards.radius, np.zeros(self._rivals, np.int64)
        )
        reach = top_of(radius) * (top_of(norm) + more)
        away = self.draft.product("ball/away", norm.shape, reach, Term(radius, -1), Term(norm, 1, -more))
        self._pay(away, reach, exponent)
        zero_point = self.forwards.zero_points.get(x, 0)
        row = self.draft.move("ball/row", (self.batch, 1, 1, size), x, np.arange(size).reshape(1, 1, size))
        far = self.forwards.furthest(x) * cut.reach
        self._pay_product("ball/centre", Term(row, 1, zero_point), cut.tensor, far, cut.exponent)
        return cut.exponent

    def _norm(self, line: _Line, size: int) -> tuple[Tensor, int, int]:
        """Of each rival's line of so many entries: no more than the tensor and so much more, times two to an
        exponent. Of lines too fine to have their squares added up it is a coarser one's: each entry is off by
        less than a step, and all together by less than the root of how many there are."""
        rivals, bits = self._rivals, _SQUARES - size.bit_length() >> 1
        shift, tensor, reach, more = max(0, line.reach.bit_length() - bits), line.tensor, line.reach, 0
        if shift:
            copy = self.draft.sum("ball/line", tensor.shape, reach, Term(tensor))
            tensor, reach = self._floored("ball/coarse", line._replace(tensor=copy), shift)
            more = int(roots(np.array(size)))
        places = np.arange(size * rivals).reshape(size, rivals).T
        left, right = (
            self.draft.move(f"ball/{part}", (self.batch, *shape), tensor, places.reshape(shape))
            for part, shape in (("left", (rivals, 1, size)), ("right", (rivals, size, 1)))
        )
        most = size * reach**2
        squares = Tensor("ball/squares", (self.batch, rivals, 1, 1), Bound.of(0, most))
        require_fit(squares.name, (0, most))
        self.draft.relations.append(MatrixProduct(squares.name, squares, Term(left), Term(right)))
        top, rule = int(roots(np.array(most))), Rooting((self.batch, size, rivals))
        bound = Bound.of(0, (1 << top.bit_length()) - 1, "range")
        norm = self.draft.choose(Tensor("ball/norm", (self.batch, rivals), bound), (tensor,), rule)
        no_smaller(self.draft, norm, Term(squares))
        return norm, more, line.exponent + shift

    def _pay(self, tensor: Tensor, reach: int, exponent: int) -> None:
        self._paid.append(_Line(tensor, reach, exponent))

    def _pay_product(self, name: str, left: Term, factor: Tensor, reach: int, exponent: int) -> None:
        """A row by a factor of lines, summed over all entries."""
        size = left.tensor.shape[-1]
        most = size * reach
        require_fit(name, (-most, most))
        shape = (self.batch, 1, size, self._rivals)
        places = np.arange(size * self._rivals).reshape(shape[1:])
        matrix = self.draft.move(f"{name}/matrix", shape, factor, places)
        out = Tensor(name, (self.batch, 1, 1, self._rivals), Bound.of(-most, most))
        self.draft.relations.append(MatrixProduct(name, out, left, Term(matrix)))
        self._pay(out, most, exponent)


def _times(terms: Sequence[Term], sign: int) -> list[Term]:
    return [term._replace(factor=sign * term.factor) for term in terms]


def _fitting(lines: Sequence[_Line], exponent: int, most: int, lost: Sequence[tuple[int, int]] = ()) -> int:
    """The least from ``exponent`` on at which all of these together are less than ``most``."""
    reaches = [*((line.reach, line.exponent) for line in lines), *lost]
    while sum(_raised(reach, each - exponent) for reach, each in reaches) >= most:
        exponent += 1
    return exponent


def _raised(count: int, exponent: int) -> int:
    """``count · 2^exponent``, rounded up."""
    return count << exponent if exponent >= 0 else -(-count >> -exponent)
