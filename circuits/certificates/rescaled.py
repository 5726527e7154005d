"""Sums that are rescaled, between two lines of them."""

from __future__ import annotations

from dataclasses import dataclass

from zenserve.circuits.certificates.between import Between, Box, Line
from zenserve.circuits.certificates.draft import Draft
from zenserve.circuits.certificates.lines import Choice, Rescaling
from zenserve.circuits.certificates.parameters import top_of
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import Requantisation
from zenserve.relations.relation import Tensor, Term


@dataclass(frozen=True, eq=False)
class Rescaled(Between):
    """``chosen`` are wires for what ``Rescaling.chosen`` finds, in its order; ``least`` and ``most`` are the
    ends of the sums, doubled."""

    rescaling: Rescaling
    chosen: tuple[Tensor, ...]
    least: Tensor
    most: Tensor

    @classmethod
    def of(
        cls,
        draft: Draft,
        name: str,
        box: Box,
        zero_point: int,
        function: Requantisation,
        least: Tensor,
        most: Tensor,
    ) -> Rescaled:
        rescaling, shape, ends = Rescaling(function), box.least.shape, (least, most)
        reach, steepest = rescaling.reach, rescaling.most
        slope_bits = steepest.bit_length()
        rises, flat, slope, offset = chosen = tuple(
            draft.choose(
                Tensor(f"{name}/{part}", shape, Bound.of(low, high, "range")),
                ends,
                Choice(rescaling, part, shape),
            )
            for part, low, high in (
                ("rises", 0, 1),
                ("flat", 0, 1),
                ("slope", 0, (1 << slope_bits) - 1),
                ("offset", -reach, reach - 1),
            )
        )
        span, top = function.high - function.low, top_of(least)
        lifted = 1 << rescaling.coarse + 1
        # No more than the steepest.
        draft.within(f"{name}/slope/least", shape, slope_bits, Term(slope, -1), constant=rescaling.steepest)
        # What rises is not clamped above.
        room = Term(box.most, -1, function.high)
        rising = draft.product(f"{name}/rising", shape, span, Term(rises), room)
        draft.within(f"{name}/unclamped", shape, span.bit_length(), Term(rising), Term(rises, -1))
        # The line above: at the least sums, above what is lowest, or where it is flat, largest.
        raised = draft.product(f"{name}/raised", shape, span, Term(flat), Term(box.most, 1, function.low))
        high = steepest * top
        left = draft.product(f"{name}/left", shape, high, Term(slope), Term(least))
        draft.within(
            f"{name}/above/least",
            shape,
            (high + lifted * reach + (span + abs(function.low) << rescaling.scale + 1)).bit_length(),
            Term(left),
            Term(offset, lifted),
            Term(raised, -(1 << rescaling.scale + 1)),
            constant=-(function.low << rescaling.scale + 1),
        )
        # And at the largest, unless it is flat, above what is steepest.
        right = draft.product(f"{name}/right", shape, high, Term(slope), Term(most))
        over = 2 * high + lifted * reach + abs(2 * rescaling.above)
        beyond = draft.sum(
            f"{name}/beyond",
            shape,
            over,
            Term(right),
            Term(most, -rescaling.steepest),
            Term(offset, lifted),
            constant=-2 * rescaling.above,
        )
        bent = draft.product(f"{name}/bent", shape, over, Term(flat, -1, 1), Term(beyond))
        draft.within(f"{name}/above/most", shape, over.bit_length(), Term(bent))
        return cls(name, box, zero_point, rescaling, chosen, least, most)

    @property
    def scale(self) -> int:
        return self.rescaling.scale

    @property
    def fine(self) -> int:
        return self.rescaling.fine

    @property
    def steepest(self) -> int:
        return self.rescaling.most

    @property
    def reach(self) -> int:
        return self.rescaling.reach + (self.zero_point << self.fine)

    def lines(self, draft: Draft) -> tuple[Line, Line]:
        """The line below has the steepest slope, or is constant."""
        rises, _, slope, offset = self.chosen
        function, least = self.rescaling.function, self.box.least
        furthest = max(abs(function.low), abs(function.high)) << self.fine
        constant = draft.product(
            f"{self.name}/constant", least.shape, furthest, Term(rises, -1, 1), Term(least)
        )
        below = Term(rises, self.rescaling.below), Term(constant, 1 << self.fine)
        zero_point = self.zero_point << self.fine
        return (
            Line((Term(rises, self.rescaling.steepest),), below, 0, -zero_point),
            Line((Term(slope),), (Term(offset),), 0, -zero_point),
        )
