"""Quotients of computed integers: a remainder between 0 and the divisor proves each."""

from __future__ import annotations

import math

from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.r1cs.gadgets import require_fit
from zenserve.circuits.r1cs.linear import Linear, Weighted
from zenserve.circuits.r1cs.steps import Product, Quotient
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Quotient as QuotientRelation


def divided(
    tools: Arithmetic, relation: QuotientRelation, value: Linear, divisor: IntArray, quotient: IntArray
) -> None:
    """The wires ``quotient`` [n] are what the relation says of ``value``, n rows, and of the wires
    ``divisor`` [n] of each. Rows: ``quotient_cost``, less those that hold the divisors.

    Sound: with D = 2^shift divisor, ``2 multiplier value + D = 2 D quotient + r``, and r and 2 D - 1 - r are
    shown to lie in [0, 2^b), which holds 2 D: so 0 <= r < 2 D, and there is one such quotient. It is
    range-checked itself, so that no product wraps. Of a divisor 0 there is none.
    """
    builder, name, scale = tools.builder, f"{relation.name}/division", 2 << relation.shift
    (bits, remainder_bits), (lowest, _) = _bits(relation), relation.out.bound.interval
    reach = (abs(lowest) + (1 << bits)) << remainder_bits
    require_fit(name, (-reach, reach))
    each = Linear.wires(divisor)
    whole, numerator = each.scale(scale), value.scale(2 * relation.multiplier) + each.scale(scale // 2)
    builder.fill(Quotient(name, quotient, numerator.compact, whole.compact))
    tools.ranged(f"{name}/quotient", Weighted.wires(quotient), bits, lowest)
    wires, product = Linear.wires(quotient), builder.private(f"{name}/product", value.rows)
    builder.multiply(f"{name}/product", each, wires, Linear.wires(product))
    builder.fill(Product(f"{name}/product", product, each.compact, wires.compact))
    remainder = numerator - Linear.wires(product).scale(scale)
    tools.ranged(f"{name}/remainder", remainder, remainder_bits)
    tools.ranged(f"{name}/lacking", (whole - remainder).shift(-1), remainder_bits)


def quotient_cost(relation: QuotientRelation) -> Cost:
    """Return the cost of the quotients, including the wires that hold divisors which are sums."""
    count = math.prod(relation.out.shape)
    bits, remainder_bits = _bits(relation)
    checks = Cost.range_checks(bits, count) + Cost.range_checks(remainder_bits, 2 * count)
    held = math.prod(relation.divisor.shape) if relation.divisor.bits is None else 0
    return Cost(rows=count + held) + checks


def _bits(relation: QuotientRelation) -> tuple[int, int]:
    """Of a quotient, and of its remainder."""
    largest = (2 << relation.shift) * relation.divisor.bound.interval[1]
    return relation.out.bound.bits, max(1, (largest - 1).bit_length())
