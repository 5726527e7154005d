"""What must hold between the pads of a proof, so that its messages, less the pads, make two good sum-checks.

Every number that a prover says of its witness is one-time padded: what was said is the truth and a pad. What
a verifier would check is then a linear form in the pads, but for one product, of the claims a and b; the pads
of both are multiplied beforehand, and the product shown to be right by a random triple (Beaver 1991).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from verifier.spartan.field import Field
from verifier.spartan.shape import Pads


@dataclass(frozen=True)
class Form:
    """``constant`` and, by their places, the coefficients of pads, in the field ``over``."""

    over: Field
    constant: int
    pads: Mapping[int, int] = field(default_factory=dict)

    def __add__(self, other: Form) -> Form:
        pads = dict(self.pads)
        for place, coefficient in other.pads.items():
            pads[place] = (pads.get(place, 0) + coefficient) % self.over.modulus
        return Form(self.over, (self.constant + other.constant) % self.over.modulus, pads)

    def __sub__(self, other: Form) -> Form:
        return self + other * -1

    def __mul__(self, factor: int) -> Form:
        p = self.over.modulus
        scaled = {place: coefficient * factor % p for place, coefficient in self.pads.items()}
        return Form(self.over, self.constant * factor % p, scaled)


@dataclass(frozen=True)
class Said:
    """What the prover said, padded: the coefficients of X^0, X^2 and X^3 of the first sum-check's rounds, the
    claims a, b and c, the coefficients of X^0 and X^2 of the second one's, the mask's inner product, and the
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
    """What the verifier computes: the combined matrices at both points, the known variables' part of the
    witness at the second one, and the inner product of the combined row there.
    """

    matrices: int
    witness: int
    row: int


def forms(pads: Pads, said: Said, drawn: Drawn, known: Known) -> list[Form]:
    """What must be zero."""

    def number(value: int) -> Form:
        return Form(over, value % over.modulus)

    def pad(place: int) -> Form:
        return Form(over, 0, {place: 1})

    def told(value: int, place: int) -> Form:
        return number(value) - pad(place)

    over = pads.code.field
    claim = number(0)
    for index, (coefficients, r) in enumerate(zip(said.outer, drawn.outer, strict=True)):
        claim = _next(claim, [told(c, 3 * index + i) for i, c in enumerate(coefficients)], r)
    a, b, c = (told(value, pads.claims + i) for i, value in enumerate(said.claims))
    # (A - p)(B - q) = A B - A q - B p + p q, A and B what was said, p and q the pads.
    said_a, said_b, _ = said.claims
    product = (a * said_b) + pad(pads.claims + 1) * -said_a + pad(pads.product)
    first = claim - (product - c) * over.eq_at(drawn.zero, drawn.outer)

    claim = sum((each * r for each, r in zip((a, b, c), drawn.matrices, strict=True)), number(0))
    for index, (coefficients, r) in enumerate(zip(said.inner, drawn.inner, strict=True)):
        claim = _next(claim, [told(c, pads.inner + 2 * index + i) for i, c in enumerate(coefficients)], r)
    # The combined row's inner product is the mask's, and that of the witness's rows times the challenge.
    witness = number(known.row) - told(said.mask, pads.mask)
    second = (claim - number(known.matrices * known.witness)) * drawn.mask - witness * known.matrices

    x, y, xy = (pad(pads.triple + i) for i in range(3))
    left, right = said.opened
    return [
        first,
        second,
        number(left) - pad(pads.claims) * drawn.triple - x,
        number(right) - pad(pads.claims + 1) - y,
        # (left - x)(right - y) is the product of the pads, times the challenge.
        number(left * right) - y * left - x * right + xy - pad(pads.product) * drawn.triple,
    ]


def combined(forms: Sequence[Form], weights: Sequence[int], count: int) -> tuple[list[int], int]:
    """One equation for all: the coefficients of ``count`` pads, and what their sum must be."""
    first, *rest = (form * weight for form, weight in zip(forms, weights, strict=True))
    total = sum(rest, first)
    return [total.pads.get(place, 0) for place in range(count)], -total.constant % total.over.modulus


def _next(claim: Form, coefficients: Sequence[Form], r: int) -> Form:
    """A round polynomial at ``r``: of its coefficients all but that of X are given, and its values at 0 and 1
    add up to ``claim``."""
    constant, *higher = coefficients
    # The coefficient of X is claim - 2 constant - the others' sum.
    value, power = claim * r + constant * (1 - 2 * r), r
    for each in higher:
        power = power * r % claim.over.modulus
        value = value + each * (power - r)
    return value
