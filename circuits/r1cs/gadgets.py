"""Gadgets: small groups of constraints, each with its bound, its cost and the reason why it is sound.

All work on n values at once. "Rows" and "wires" count constraints and new variables per value. Values are
integers whose absolute value an honest or dishonest prover cannot bring to ``INTEGER_LIMIT`` = 2^62: each
gadget takes the interval that its input is proven to lie in and refuses one that is wider. Both sides of
every row then stay below 2^125 < r/2, so that equality in Fr is equality of integers.

``full`` asks for the decomposition of every value into all 254 digits that a field element can have, as
compilers without types have it (levels 0 and 1, ZEN 5.5), instead of as many as its interval has (level 2).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import ONE, Linear, LinearCombinations, Weighted
from zenserve.circuits.r1cs.sources import Source
from zenserve.circuits.r1cs.steps import Clip, Compare, Digits, Product, Quotient, Tabulate
from zenserve.errors import StatementError
from zenserve.relations.bounds import Capacity
from zenserve.relations.functions import Requantisation, Tabulation, slack_factor
from zenserve.relations.integers import INTEGER_LIMIT, IntArray, Interval

# (builder, name, value, bits) -> the digits of each value, proven to lie in [0, 2^bits): wires [n, bits].
Decompose = Callable[[Builder, str, LinearCombinations, int], IntArray]

_SIGNED_DIGITS = 63
_LIMB = 51


def range_check(builder: Builder, name: str, value: LinearCombinations, bits: int, lowest: int = 0) -> None:
    """``lowest <= value < lowest + 2^bits`` in each row.

    Rows: ``bits``. Wires: ``bits - 1``.
    Sound: with v = value - lowest, the low bits are boolean wires and the top bit is no wire but
    ``top = v - sum 2^i b_i``, whose row ``top (top - 2^(bits-1)) = 0`` leaves it the values 0 and 2^(bits-1).
    So v is a sum of distinct powers of two below 2^bits. The field is a domain: no other roots.
    """
    require_fit(name, (min(lowest, 0), abs(lowest) + (1 << bits)))
    low_bits = builder.private(f"{name}/bits", value.rows, bits - 1)
    lifted = value.shift(-lowest)
    top = lifted - Weighted.digits(low_bits)
    builder.boolean(f"{name}_bits", low_bits)
    builder.multiply(f"{name}_range", top, top.shift(-(1 << (bits - 1))), Linear.empty(value.rows))
    builder.fill(Digits.of(f"{name}/bits", low_bits, lifted))


def decompose(
    builder: Builder, name: str, value: LinearCombinations, bits: int, *, ahead: bool = False
) -> IntArray:
    """The binary digits of each ``value``, proven to lie in [0, 2^bits): wires [n, bits], lowest first.

    ``ahead``: they are fixed before the challenges, so that lookups may read what follows from them.
    Rows: ``bits + 1``. Wires: ``bits``.
    Sound: boolean digits, and one row says that they add up to the value. The caller's interval for the
    value and 2^bits are both below ``INTEGER_LIMIT``, so the equation holds over the integers and the
    digits are unique: v + r has no representation in so few bits.
    """
    digits = _new_digits(builder, name, value, bits, ahead=ahead)
    builder.zero(f"{name}_sum", value - Weighted.digits(digits))
    return digits


def _new_digits(
    builder: Builder, name: str, value: LinearCombinations, bits: int, *, ahead: bool = False
) -> IntArray:
    """Boolean wires [n, bits] and how they are filled in. Nothing ties them to the values yet."""
    require_fit(name, (0, (1 << bits) - 1))
    take = builder.auxiliary if ahead else builder.private
    digits = take(f"{name}/bits", value.rows, bits)
    builder.boolean(f"{name}_bits", digits)
    builder.fill(Digits.of(f"{name}/bits", digits, value))
    return digits


def decompose_cost(bits: int, full: Capacity | None) -> int:
    """The rows of ``decompose``, or in a field of that capacity those of ``decompose_fully``."""
    return bits + 1 if full is None else full.bits + len(range(0, full.bits, _LIMB))


def decompose_fully(builder: Builder, name: str, value: LinearCombinations, bits: int) -> IntArray:
    """The same by all 254 digits, as a compiler must that does not know how far a value reaches.

    Of a value that is proven to be an integer in [0, 2^bits) the higher digits can only be 0, and the digits
    below 2^bits are returned. Of any other they are no more than that: the value is in [0, 2^254), and the
    caller must not take its lower digits for it.
    Rows: 259. Wires: 258.
    Sound: 2^254 < r, so that a value has one such decomposition. It is made in limbs of 51 digits,
    ``v_i = limb_i + 2^51 v_(i+1)``, the last of which has 50 and no rest.
    """
    require_fit(name, (0, (1 << bits) - 1))
    count = builder.capacity.bits
    digits = builder.private(f"{name}/bits", value.rows, count)
    builder.boolean(f"{name}_bits", digits)
    starts = range(0, count, _LIMB)
    rests = builder.private(f"{name}/rests", value.rows, len(starts) - 1)
    rest: LinearCombinations = value
    for index, start in enumerate(starts):
        limb: LinearCombinations = Weighted.digits(digits[:, start : start + _LIMB])
        following: LinearCombinations | None = None
        if index < len(starts) - 1:
            following = Weighted.wires(rests[:, index])
            limb += following.scale(1 << _LIMB)
        builder.zero(f"{name}_sum", rest - limb)
        rest = following or rest
    # The others are 0.
    builder.fill(Digits.of(f"{name}/bits", digits[:, :_SIGNED_DIGITS], value))
    builder.fill(Digits.floor(f"{name}/rests", rests[:, 0], value, _LIMB))
    return digits[:, :bits]


def requantise(
    builder: Builder, layer: str, source: Source, rescale: Requantisation, *, full: bool = False
) -> IntArray:
    """``clamp(floor(T / 2^k), low, high)`` of each T = M acc + offset of ``source``: wires [n].

    Its interval gives t - low = floor(T / 2^k) - low in [-2^m, 2^m).
    Rows: ``k + m + 3``, those of ``Source.equate``, and a ``chosen`` more where high - low + 1 is no power of
    two. Wires: ``k + m + 3``. As ``divide`` where t cannot leave [low, high] and rows may read T.
    Sound: ``T - low 2^k + 2^(k+m)`` is decomposed into k + m + 1 digits. They are unique, the lowest k are
    the remainder in [0, 2^k), the upper ones are t - low + 2^m, whose top digit is 1 exactly when t >= low.
    """
    shift, low, high, total = rescale.shift, rescale.low, rescale.high, source.sums
    if not full and total is not None and _is_uncut(source.interval, rescale):
        return divide(builder, layer, total, shift, (low, high))
    scaled, name = source.interval, f"{layer}/requantise"
    bits, lift = _requantised_bits(scaled, rescale)
    require_fit(name, (min(scaled[0], 0), max(scaled[1], 0) + (1 << bits)))
    if full and total is not None:
        digits = decompose_fully(builder, name, total.shift(lift), bits)
    else:
        digits = _new_digits(builder, name, source.values.shift(lift), bits)
        source.equate(f"{name}_sum", Weighted.digits(digits).shift(-lift), _requantised(bits, lift))
    width = (high - low).bit_length()
    out = clamp(builder, layer, digits[:, shift:-1], digits[:, -1], width, low)
    if low + (1 << width) - 1 > high:
        cap = Linear.constant(np.full(source.rows, high))
        out = chosen(builder, f"{layer}/cap", Weighted.wires(out), cap, width, larger=False, full=full)
    return out


def requantise_cost(
    scaled: Interval, rescale: Requantisation, *, readable: bool, full: Capacity | None
) -> tuple[int, Interval | None]:
    """The rows of a ``requantise``, and the interval that it asks ``Source.equate`` for, whose rows come on
    top; None where it does not. ``readable``: rows may read T."""
    width = (rescale.high - rescale.low).bit_length()
    if readable and full is None and _is_uncut(scaled, rescale):
        return (rescale.shift + width if rescale.shift else 1), None
    capped = rescale.low + (1 << width) - 1 > rescale.high
    clamped = 2 + (decompose_cost(width + 1, full) + 1 if capped else 0)
    bits, lift = _requantised_bits(scaled, rescale)
    if full is not None:
        return decompose_cost(bits, full) + clamped, None
    return bits + clamped, _requantised(bits, lift)


def _is_uncut(scaled: Interval, rescale: Requantisation) -> bool:
    """Return whether the quotients of these T are within the clamp anyway."""
    return rescale.low <= scaled[0] >> rescale.shift and scaled[1] >> rescale.shift <= rescale.high


def _requantised_bits(scaled: Interval, rescale: Requantisation) -> tuple[int, int]:
    """Return the number of digits that ``requantise`` takes, and the constant that it adds to T first."""
    quotients = ((end >> rescale.shift) - rescale.low for end in scaled)
    magnitude = max(_width(quotient) for quotient in quotients)
    lift = (1 << (rescale.shift + magnitude)) - (rescale.low << rescale.shift)
    return rescale.shift + magnitude + 1, lift


def _requantised(bits: int, lift: int) -> Interval:
    return -lift, (1 << bits) - 1 - lift


def divide(builder: Builder, layer: str, total: LinearCombinations, shift: int, bounds: Interval) -> IntArray:
    """``floor(T / 2^k)`` of each ``total`` T, which is proven to lie in ``bounds``: wires [n].

    Rows: ``k + b`` for b the bits of the bounds' width, or 1 where k = 0. Wires: ``k + b - 1``, or 1.
    Sound: q is range-checked to b bits and ``T - 2^k q`` to k bits, which no other q satisfies.
    """
    out = builder.private(f"{layer}/out", total.rows)
    remainder = total - Weighted.wires(out).scale(1 << shift)
    builder.fill(Digits.floor(f"{layer}/out", out, total, shift))
    if shift == 0:
        builder.zero(f"{layer}/divide", remainder)
        return out
    require_fit(f"{layer}/divide", (bounds[0] << shift, (bounds[1] + 1) << shift))
    bits = max(1, (bounds[1] - bounds[0]).bit_length())
    range_check(builder, f"{layer}/quotient", Weighted.wires(out), bits, bounds[0])
    range_check(builder, f"{layer}/remainder", remainder, shift)
    return out


def tabulate(
    builder: Builder,
    layer: str,
    value: IntArray,
    function: Tabulation,
    *,
    full: bool = False,
    ahead: bool = False,
) -> IntArray:
    """``function`` of each ``value``, wires that are proven to hold one of its arguments: wires [n].

    ``ahead``: as for ``decompose``.
    Rows: those of ``decompose`` for b bits, and 2^l + 2^(h+1) - b - 3 for b = l + h, l = floor(b / 2): 46 for
    8 bits.
    Sound: the b digits are unique, and on digits the function is one sum of products of some of them, each
    times an integer. Grouped by the products of the upper h, ``sum_A upper_A · (sum_B c_AB lower_B)``.
    """
    bits, name = function.bits, f"{layer}/table"
    lifted = Weighted.wires(value).shift(-function.first)
    if full:
        digits = decompose_fully(builder, name, lifted, bits)
    else:
        digits = decompose(builder, name, lifted, bits, ahead=ahead)
    lower = _monomials(builder, f"{name}/lower", digits[:, : bits // 2])
    upper = _monomials(builder, f"{name}/upper", digits[:, bits // 2 :])
    coefficients = _coefficients(function).reshape(upper.shape[1], lower.shape[1])
    out = builder.private(f"{layer}/out", len(value))
    parts = builder.private(f"{name}/parts", len(value), upper.shape[1] - 2)
    builder.fill(Tabulate(f"{layer}/out", out, value, function))
    left: LinearCombinations = Weighted.wires(out) - Weighted(lower, coefficients[0])
    for part, factor, row in zip(parts.T, upper[:, 1:-1].T, coefficients[1:-1], strict=True):
        product, weighted = Weighted.wires(part), Weighted(lower, row)
        builder.multiply(f"{name}_parts", Weighted.wires(factor), weighted, product)
        builder.fill(Product(f"{name}/parts", part, factor, weighted))
        left -= product
    builder.multiply(f"{name}_sum", Weighted.wires(upper[:, -1]), Weighted(lower, coefficients[-1]), left)
    return out


def tabulate_cost(function: Tabulation, full: Capacity | None) -> int:
    """The rows of ``tabulate``."""
    bits = function.bits
    lower = bits // 2
    products = (1 << lower) + (2 << bits - lower) - bits - 3
    return decompose_cost(bits, full) + products


def _monomials(builder: Builder, name: str, digits: IntArray) -> IntArray:
    """The products of some digits each, wires [n, 2^k] for digits [n, k]: in column A of those that the
    number A has. Rows: one for each of two digits or more."""
    found = np.empty((len(digits), 1 << digits.shape[1]), dtype=np.int64)
    found[:, 0] = ONE
    for index, digit in enumerate(digits.T):
        before, column = 1 << index, found[:, : 2 << index]
        column[:, before] = digit
        if before > 1:
            products = builder.private(f"{name}{index}", len(digits), before - 1)
            left, right = column[:, 1:before].ravel(), np.repeat(digit, before - 1)
            builder.product(f"{name}_products", left, right, products.ravel())
            builder.fill(Product(f"{name}{index}", products.ravel(), left, right))
            column[:, before + 1 :] = products
    return found


def _coefficients(function: Tabulation) -> IntArray:
    """Of the products of digits, in the order of ``_monomials``: int64[2^bits]. What it has no entry for is
    never reached."""
    bits = function.bits
    values = function.apply(function.first + np.arange(1 << bits)).reshape((2,) * bits)
    for axis in range(bits):
        without, with_it = np.split(values, 2, axis)
        values = np.concatenate([without, with_it - without], axis)
    return values.ravel()


def clamp(
    builder: Builder, layer: str, quotient: IntArray, sign: IntArray, bits: int, low: int = 0
) -> IntArray:
    """``low + clamp(t, 0, Q)``, Q = 2^bits - 1, for t = sum 2^i quotient_i - (1 - sign) 2^m: wires [n].

    ``quotient``: [n, m] and ``sign``: [n], boolean wires. Rows: 2. Wires: 2.
    Let d be the integer of the lowest ``bits`` digits and c = (1 - sign) + the number of ones above them:
    c = 0 exactly when 0 <= t <= Q, and then t = d. With L the least common multiple of 1 .. max c,
        c (q - low - sign Q) = 0        out of range: q is low + Q when t > Q, and low when t < 0
        c w = L (q - low - d)           in range: q = low + d, since L is not 0 in Fr
    Out of range, honest provers have w = L (q - low - d) / c, an integer because c divides L. In range w is
    free, and nothing reads it. Bound: c <= m + 1, and L Q must stay below ``INTEGER_LIMIT``.
    """
    rows = len(sign)
    top = (1 << bits) - 1
    above = quotient[:, bits:]
    multiple = slack_factor(above.shape[1])
    require_fit(f"{layer}/clamp", (0, multiple * top))
    require_fit(f"{layer}/clamp", (low, low + top))
    out = builder.private(f"{layer}/out", rows)
    slack = builder.private(f"{layer}/slack", rows)
    outside = (Weighted.ones(above) - Weighted.wires(sign)).shift(1)
    digits = Weighted.digits(quotient[:, :bits])
    unclamped = Weighted.digits(quotient) + (Weighted.wires(sign).shift(-1)).scale(1 << quotient.shape[1])
    error = Weighted.wires(out).shift(-low) - digits
    excess = Weighted.wires(out).shift(-low) - Weighted.wires(sign).scale(top)
    builder.multiply(f"{layer}/clamp_outside", outside, excess, Linear.empty(rows))
    builder.multiply(f"{layer}/clamp_inside", outside, Weighted.wires(slack), error.scale(multiple))
    builder.fill(Clip(f"{layer}/out", out, unclamped.shift(low), 0, low, low + top))
    builder.fill(Quotient(f"{layer}/slack", slack, error.scale(multiple), outside))
    return out


def at_least(
    builder: Builder,
    name: str,
    left: LinearCombinations,
    right: LinearCombinations,
    bits: int,
    *,
    full: bool = False,
) -> IntArray:
    """1 where ``left >= right``, else 0, for values that are proven to differ by less than 2^bits: wires [n].

    Rows: ``bits + 2``. Wires: ``bits + 1``.
    Sound: ``left - right + 2^bits`` lies in [0, 2^(bits+1)); its top digit says whether it reaches 2^bits.
    """
    lifted = (left - right).shift(1 << bits)
    return _decomposer(full)(builder, name, lifted, bits + 1)[:, -1]


def is_zero(builder: Builder, name: str, value: Linear) -> IntArray:
    """Wires [n] for ``value == 0``, 1 or 0. Rows: two each.

    Sound: ``value inverse = 1 - zero`` lets ``zero`` be 1 alone where the value is 0, and ``value zero = 0``
    lets it be 0 alone where it is not.
    """
    zero, inverse = builder.private(name, value.rows), builder.private(f"{name}/inverse", value.rows)
    nonzero = Linear.wires(zero).scale(-1).shift(1)
    builder.multiply(f"{name}_if", value, Linear.wires(inverse), nonzero)
    builder.multiply(f"{name}_only_if", value, Linear.wires(zero), Linear.empty(value.rows))
    builder.fill(Compare(name, zero, value.compact, "zero"))
    builder.derive(Quotient(f"{name}/inverse", inverse, 1, value.compact))
    return zero


def chosen(
    builder: Builder,
    name: str,
    left: LinearCombinations,
    right: LinearCombinations,
    bits: int,
    *,
    larger: bool,
    full: bool = False,
) -> IntArray:
    """The larger of ``left`` and ``right``, which differ by less than 2^bits, or the lesser: wires [n].

    Rows: ``bits + 3``. Wires: ``bits + 2``.
    Sound: with s = [left >= right] from ``at_least``, ``s (left - right) = max - right`` has one solution,
    and so has ``s (left - right) = left - min``.
    """
    sign = at_least(builder, name, left, right, bits, full=full)
    out = builder.private(f"{name}/chosen", left.rows)
    wires = Weighted.wires(out)
    change = wires - right if larger else left - wires
    builder.multiply(f"{name}_choice", Weighted.wires(sign), left - right, change)
    one, other = (left, right) if larger else (right, left)
    builder.fill(Product(f"{name}/chosen", out, sign, one - other, other))
    return out


def _decomposer(full: bool) -> Decompose:
    return decompose_fully if full else decompose


def _width(value: int) -> int:
    """The least m with -2^m <= value < 2^m."""
    return value.bit_length() if value >= 0 else (-value - 1).bit_length()


def require_fit(name: str, interval: Interval) -> None:
    """Raises ``StatementError`` (``statement.could_wrap``) unless ``INTEGER_LIMIT`` bounds the interval."""
    if not -INTEGER_LIMIT < interval[0] <= interval[1] < INTEGER_LIMIT:
        raise StatementError(
            "statement.could_wrap",
            f"{name}: integers from {interval[0]} to {interval[1]} exceed the 62 bits in which equations "
            "are exact; use fewer bits or rescale the layer",
        )
