"""Gadgets: small groups of constraints, each with its bound, its cost and the reason why it is sound.

All work on n values at once. "Rows" and "wires" count constraints and new variables per value. Values are
integers whose absolute value an honest or dishonest prover cannot bring to ``INTEGER_LIMIT`` = 2^62: each
gadget takes the interval that its input is proven to lie in and refuses one that is wider. Both sides of
every row then stay below 2^125 < r/2, so that equality in Fr is equality of integers (DESIGN 5.4, rule 1).
"""

from __future__ import annotations

import numpy as np

from circuits.builder import Builder
from circuits.integers import INTEGER_LIMIT, IntArray, Interval
from circuits.linear import Linear
from circuits.quantlayer import Rescale, slack_factor
from zenerrors import StatementError


def range_check(builder: Builder, name: str, wires: IntArray, bits: int, lowest: int = 0) -> None:
    """``lowest <= z < lowest + 2^bits`` for each wire of wires[n].

    Rows: ``bits``. Wires: ``bits - 1``.
    Sound: with v = z - lowest, the low bits are boolean wires and the top bit is no wire but
    ``top = v - sum 2^i b_i``, whose row ``top (top - 2^(bits-1)) = 0`` leaves it the values 0 and 2^(bits-1).
    So v is a sum of distinct powers of two below 2^bits. The field is a domain: no other roots.
    """
    require_fit(name, (min(lowest, 0), abs(lowest) + (1 << bits)))
    low_bits = builder.private(f"{name}/bits", len(wires), bits - 1)
    value = Linear.wires(wires).shift(-lowest)
    top = value - Linear.digits(low_bits)
    builder.boolean(f"{name}_bits", low_bits)
    builder.multiply(f"{name}_range", top, top.shift(-(1 << (bits - 1))), Linear.empty(len(wires)))

    def fill(z: IntArray) -> None:
        z[low_bits] = _digits(value.evaluate(z), bits - 1)

    builder.fill(fill)


def decompose(builder: Builder, name: str, value: Linear, bits: int) -> IntArray:
    """The binary digits of each ``value``, proven to lie in [0, 2^bits): wires [n, bits], lowest first.

    Rows: ``bits + 1``. Wires: ``bits``.
    Sound: boolean digits, and one row says that they add up to the value. The caller's interval for the
    value and 2^bits are both below ``INTEGER_LIMIT``, so the equation holds over the integers and the
    digits are unique: v + r has no representation in so few bits.
    """
    require_fit(name, (0, (1 << bits) - 1))
    digits = builder.private(f"{name}/bits", value.rows, bits)
    builder.boolean(f"{name}_bits", digits)
    builder.zero(f"{name}_sum", value - Linear.digits(digits))

    def fill(z: IntArray) -> None:
        z[digits] = _digits(value.evaluate(z), bits)

    builder.fill(fill)
    return digits


def requantise(
    builder: Builder, layer: str, acc: Linear, bounds: Interval, rescale: Rescale, bits: int
) -> IntArray:
    """``clamp(floor((M acc + offset) / 2^k), 0, 2^bits - 1)`` of each accumulator: wires [n].

    ``bounds`` is a proven interval of the accumulators; it gives t = floor(T / 2^k) in [-2^m, 2^m).
    Rows: ``k + m + 4``. Wires: ``k + m + 3``.
    Sound: ``T + 2^(k+m)`` is decomposed into k + m + 1 digits. They are unique, the lowest k are the
    remainder in [0, 2^k), and the upper ones are t + 2^m, whose top digit is 1 exactly when t >= 0.
    """
    scale, shift = rescale.multiplier, rescale.shift
    scaled = (scale * bounds[0] + rescale.offset, scale * bounds[1] + rescale.offset)
    magnitude = max(_width(scaled[0] >> shift), _width(scaled[1] >> shift))
    lift = 1 << (shift + magnitude)
    require_fit(f"{layer}/requantise", (scaled[0], scaled[1] + lift))
    lifted = acc.scale(scale).shift(rescale.offset + lift)
    digits = decompose(builder, f"{layer}/requantise", lifted, shift + magnitude + 1)
    return clamp(builder, layer, digits[:, shift:-1], digits[:, -1], bits)


def clamp(builder: Builder, layer: str, quotient: IntArray, sign: IntArray, bits: int) -> IntArray:
    """``clamp(t, 0, Q)``, Q = 2^bits - 1, for t = sum 2^i quotient_i - (1 - sign) 2^m: wires [n].

    ``quotient``: [n, m] and ``sign``: [n], boolean wires. Rows: 2. Wires: 2.
    Let low be the integer of the lowest ``bits`` digits and c = (1 - sign) + the number of ones above them:
    c = 0 exactly when 0 <= t <= Q, and then t = low. With L the least common multiple of 1 .. max c,
        c (q - sign Q) = 0        out of range: q is Q when t > Q, and 0 when t < 0
        c w = L (q - low)         in range: q = low, since L is not 0 in Fr
    Out of range, honest provers have w = L (q - low) / c, an integer because c divides L. In range w is
    free, and nothing reads it. Bound: c <= m + 1, and L Q must stay below ``INTEGER_LIMIT``.
    """
    rows = len(sign)
    top = (1 << bits) - 1
    above = quotient[:, bits:]
    multiple = slack_factor(above.shape[1])
    require_fit(f"{layer}/clamp", (0, multiple * top))
    out = builder.private(f"{layer}/out", rows)
    slack = builder.private(f"{layer}/slack", rows)
    outside = (Linear.ones(above) - Linear.wires(sign)).shift(1)
    low = Linear.digits(quotient[:, :bits])
    error = Linear.wires(out) - low
    excess = Linear.wires(out) - Linear.wires(sign).scale(top)
    builder.multiply(f"{layer}/clamp_outside", outside, excess, Linear.empty(rows))
    builder.multiply(f"{layer}/clamp_inside", outside, Linear.wires(slack), error.scale(multiple))

    def fill(z: IntArray) -> None:
        count = outside.evaluate(z)
        z[out] = np.where(count == 0, low.evaluate(z), z[sign] * top)
        z[slack] = multiple // np.maximum(count, 1) * error.evaluate(z)

    builder.fill(fill)
    return out


def argmax(builder: Builder, name: str, values: Linear, bounds: Interval, label: IntArray) -> None:
    """The wire ``label[1]`` is the first index of the largest of the n values.

    ``bounds`` is a proven interval of the values, D the bits of its width. Rows in all: n (D + 3) + 2;
    wires: n (D + 1) + 1.
    Sound: selectors e_j are boolean with sum 1 and sum j e_j = label, so e is one-hot at the label. A free
    wire ``max`` gives the margins ``d_j = max - v_j - [j < label]``, with [j < label] = sum_(i>j) e_i. Each
    margin is decomposed, hence 0 <= d_j < 2^D, and ``e_j d_j = 0`` makes max the value at the label. So
    v_label >= v_j for all j and v_label > v_j for j < label: numpy.argmax, ties included.
    """
    count = values.rows
    width = bounds[1] - bounds[0]
    require_fit(name, (bounds[0] - 1, max(bounds[1], 2 * width)))
    selector = builder.private(f"{name}/selector", count)
    largest = builder.private(f"{name}/max", 1)
    indices = np.arange(count)
    builder.boolean(f"{name}_one_hot", selector)
    builder.zero(f"{name}_one", Linear.weighted(selector, np.ones(count, dtype=np.int64)).shift(-1))
    builder.zero(f"{name}_label", Linear.weighted(selector, indices) - Linear.wires(label))

    def fill(z: IntArray) -> None:
        logits = values.evaluate(z)
        first = np.argmax(logits)
        z[label], z[largest], z[selector] = first, logits[first], indices == first

    builder.fill(fill)
    later = Linear.weighted(selector, np.triu(np.ones((count, count), dtype=np.int64), 1))
    margin = Linear.wires(np.repeat(largest, count)) - values - later
    digits = decompose(builder, f"{name}_margin", margin, max(1, width.bit_length()))
    builder.multiply(f"{name}_attained", Linear.wires(selector), Linear.digits(digits), Linear.empty(count))


def _digits(values: IntArray, bits: int) -> IntArray:
    """The ``bits`` lowest binary digits of each value: int64[n, bits]."""
    return (values[:, np.newaxis] >> np.arange(bits)) & 1


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
