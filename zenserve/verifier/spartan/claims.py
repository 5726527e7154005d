"""The relations between a proof's pads that make its messages, less the pads, two valid sum-checks.

Every number that a prover sends about its witness is one-time padded: the message is the true number plus a
pad. The verifier's checks are then linear forms in the pads, except for one product, of the claims a and b.
The prover multiplies the pads of both beforehand, and a random triple shows that the product is correct
(Beaver 1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from zenserve.verifier.spartan.field import Field
from zenserve.verifier.spartan.shape import Pads

FORMS: Final = 5  # how many must be zero


class Form:
    """``constant`` and, by their places, the coefficients of ``pads``, not reduced. It adds up."""

    def __init__(self, field: Field) -> None:
        self.field, self.constant, self.pads = field, 0, dict[int, int]()

    def number(self, value: int) -> None:
        self.constant += value

    def pad(self, place: int, factor: int) -> None:
        self.pads[place] = self.pads.get(place, 0) + factor

    def truth(self, said: int, place: int, factor: int) -> None:
        """``factor`` times what was said, less its pad."""
        factor = self.field.reduce(factor)
        self.constant += factor * said
        self.pads[place] = self.pads.get(place, 0) - factor

    def zero_rounds(
        self, said: Sequence[Sequence[int]], zero: Sequence[int], point: Sequence[int], place: int
    ) -> None:
        """The claim that rounds end with that show sum_x eq(zero, x) g(x) to be 0 and leave eq out (Gruen,
        ePrint 2024/108, section 3.2): of t = constant + linear X + square X^2, the last two are given. With w
        the coordinate, the claim before is (1 - w) t(0) + w t(1) = constant + w (linear + square).
        """
        for index, ((linear, square), w, r) in enumerate(zip(said, zero, point, strict=True)):
            self.truth(linear, place + 2 * index, r - w)
            self.truth(square, place + 2 * index + 1, r * r - w)

    def rounds(self, said: Sequence[Sequence[int]], point: Sequence[int], place: int, factor: int) -> int:
        """``factor`` times the claim that a sum-check's rounds end with; what the claim that they begin with
        is to be multiplied by.

        A round polynomial's coefficients are given but for that of X, which is claim - 2 constant - square:
        its values at 0 and 1 add up to the claim.
        """
        for index, (constant, square) in reversed(list(enumerate(said))):
            r = point[index]
            self.truth(constant, place + 2 * index, factor * (1 - 2 * r))
            self.truth(square, place + 2 * index + 1, factor * (r * r - r))
            factor = self.field.reduce(factor * r)
        return factor


@dataclass(frozen=True)
class Said:
    """The prover's padded messages: the coefficients of X and X^2 of the first sum-check's rounds, the claims
    a, b and c, the coefficients of X^0 and X^2 of the second one's rounds, the mask's inner product, and the
    openings of the triple.
    """

    outer: Sequence[Sequence[int]]
    claims: Sequence[int]
    inner: Sequence[Sequence[int]]
    mask: int
    opened: Sequence[int]


@dataclass(frozen=True)
class Drawn:
    """The challenges: ``zero`` the point at which the constraints' polynomial is to vanish, ``outer`` and
    ``inner`` the points of the sum-checks, ``matrices`` what A, B and C are combined by, ``mask`` what the
    rows are multiplied by beside the mask, ``triple`` what the product is checked at.
    """

    zero: Sequence[int]
    outer: Sequence[int]
    matrices: Sequence[int]
    inner: Sequence[int]
    mask: int
    triple: int


@dataclass(frozen=True)
class Known:
    """The numbers that the verifier computes: the combined matrices at both points, the known variables' part
    of the witness at the second one, and the inner product of the combined row there.
    """

    matrices: int
    witness: int
    row: int


def forms(pads: Pads, said: Said, drawn: Drawn, known: Known) -> list[Form]:
    """Return the forms that must be zero."""
    first, second, left, right, product = (Form(pads.code.field) for _ in range(FORMS))

    first.zero_rounds(said.outer, drawn.zero, drawn.outer, 0)
    # Less a b - c. (A - p)(B - q) = A B - A q - B p + p q, A and B what was said, p and q the pads.
    said_a, said_b, said_c = said.claims
    first.truth(said_a, pads.claims, -said_b)
    first.pad(pads.claims + 1, said_a)
    first.pad(pads.product, -1)
    first.truth(said_c, pads.claims + 2, 1)

    factor = second.rounds(said.inner, drawn.inner, pads.inner, drawn.mask)
    for i, (value, weight) in enumerate(zip(said.claims, drawn.matrices, strict=True)):
        second.truth(value, pads.claims + i, factor * weight)
    # The combined row's inner product is the mask's, and that of the witness's rows times the challenge.
    second.number(-known.matrices * (known.witness * drawn.mask + known.row))
    second.truth(said.mask, pads.mask, known.matrices)

    x, y, xy = (pads.triple + i for i in range(3))
    opened_left, opened_right = said.opened
    left.number(opened_left)
    left.pad(pads.claims, -drawn.triple)
    left.pad(x, -1)
    right.number(opened_right)
    right.pad(pads.claims + 1, -1)
    right.pad(y, -1)
    # (left - x)(right - y) is the product of the pads, times the challenge.
    product.number(opened_left * opened_right)
    product.pad(y, -opened_left)
    product.pad(x, -opened_right)
    product.pad(xy, 1)
    product.pad(pads.product, -drawn.triple)
    return [first, second, left, right, product]


def combined(forms: Sequence[Form], weights: Sequence[int], count: int) -> tuple[list[int], int]:
    """One equation for all: the coefficients of ``count`` pads, and what their sum must be."""
    coefficients, value, field = [0] * count, 0, forms[0].field
    for form, weight in zip(forms, weights, strict=True):
        value -= weight * field.reduce(form.constant)
        for place, coefficient in form.pads.items():
            coefficients[place] += weight * field.reduce(coefficient)
    return [field.reduce(each) for each in coefficients], field.reduce(value)
