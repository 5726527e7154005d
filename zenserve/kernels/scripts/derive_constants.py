"""Derive every constant of BLS12-381 that the kernels use from the curve's one parameter.

    python zenserve/kernels/scripts/derive_constants.py > zenserve/kernels/include/zen/constants.hpp

Source: Barreto, Lynn, Scott (2002) for the family; the generators follow the published procedure
(draft-irtf-cfrg-pairing-friendly-curves, section 4.2.1): the least valid x, the lesser y, times the cofactor.
Only Python integers are used, so that the kernels are not their own judge.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

Z = -0xD201000000010000
R = Z**4 - Z**2 + 1
P = (Z - 1) ** 2 * R // 3 + Z
G1_COFACTOR = (Z - 1) ** 2 // 3
G2_COFACTOR = (Z**8 - 4 * Z**7 + 5 * Z**6 - 4 * Z**4 + 6 * Z**3 - 4 * Z**2 - 4 * Z + 13) // 9
# The least quadratic non-residue: its odd part's power has the full 2-power order. snarkjs' files use it too.
FR_NONRESIDUE = 5
TWO_ADICITY = (R - 1 & 1 - R).bit_length() - 1

Fp2 = tuple[int, int]
Point = tuple[Fp2, Fp2] | None


def add(a: Fp2, b: Fp2) -> Fp2:
    return (a[0] + b[0]) % P, (a[1] + b[1]) % P


def sub(a: Fp2, b: Fp2) -> Fp2:
    return (a[0] - b[0]) % P, (a[1] - b[1]) % P


def mul(a: Fp2, b: Fp2) -> Fp2:
    return (a[0] * b[0] - a[1] * b[1]) % P, (a[0] * b[1] + a[1] * b[0]) % P


def inverse(a: Fp2) -> Fp2:
    norm = pow(a[0] * a[0] + a[1] * a[1], -1, P)
    return a[0] * norm % P, -a[1] * norm % P


def power(a: Fp2, exponent: int) -> Fp2:
    result = (1, 0)
    for bit in bin(exponent)[2:]:
        result = mul(result, result)
        if bit == "1":
            result = mul(result, a)
    return result


def sqrt(a: Fp2) -> Fp2 | None:
    """A square root for p = 3 mod 4 (Adj and Rodriguez-Henriquez, ePrint 2012/685, algorithm 9)."""
    a1 = power(a, (P - 3) // 4)
    alpha, x0 = mul(mul(a1, a1), a), mul(a1, a)
    root = mul((0, 1), x0) if alpha == (P - 1, 0) else mul(power(add((1, 0), alpha), (P - 1) // 2), x0)
    return root if mul(root, root) == a else None


def point_add(p: Point, q: Point) -> Point:
    if p is None:
        return q
    if q is None:
        return p
    (x1, y1), (x2, y2) = p, q
    if x1 == x2:
        if y1 != y2:
            return None
        slope = mul(mul((3, 0), mul(x1, x1)), inverse(add(y1, y1)))
    else:
        slope = mul(sub(y2, y1), inverse(sub(x2, x1)))
    x3 = sub(sub(mul(slope, slope), x1), x2)
    return x3, sub(mul(slope, sub(x1, x3)), y1)


def point_mul(p: Point, scalar: int) -> Point:
    result: Point = None
    for bit in bin(scalar)[2:]:
        result = point_add(result, result)
        if bit == "1":
            result = point_add(result, p)
    return result


def generator(b: Fp2, cofactor: int, in_base_field: bool) -> tuple[Fp2, Fp2]:
    """The standard generator of the curve y^2 = x^3 + b: G1 (coordinates in Fp) or G2 (in Fp2)."""
    for x in itertools.count():
        y = sqrt(add(mul(mul((x, 0), (x, 0)), (x, 0)), b))
        if y is None or (in_base_field and y[1] != 0):
            continue
        y = min(y, sub((0, 0), y), key=lambda value: (value[1], value[0]))
        point = point_mul(((x, 0), y), cofactor)
        if point is not None:
            return point
    raise AssertionError


def endomorphism(point: Point, eigenvalue: int, conjugate: bool) -> tuple[Fp2, Fp2]:
    """Constants (u, v) with (x u, y v) = eigenvalue * (x, y) for a point of the subgroup, x and y conjugated
    first for G2. Gallant, Lambert, Vanstone (2001); Galbraith, Lin, Scott (2009): such maps exist.
    """
    multiple = point_mul(point, eigenvalue)
    assert point is not None and multiple is not None  # noqa: S101, PT018

    def ratio(value: Fp2, of: Fp2) -> Fp2:
        return mul(value, inverse((of[0], -of[1] % P) if conjugate else of))

    return ratio(multiple[0], point[0]), ratio(multiple[1], point[1])


def limbs(value: int, count: int) -> str:
    words = (value >> 64 * i & 0xFFFFFFFFFFFFFFFF for i in range(count))
    return "{" + ", ".join(f"0x{word:016x}" for word in words) + "}"


def field(name: str, modulus: int, count: int) -> Iterator[str]:
    radix = 1 << 64 * count
    yield f"struct {name} {{"
    yield f"  static constexpr int words = {count};"
    yield f"  static constexpr int bits = {modulus.bit_length()};"
    for label, value in (
        ("modulus", modulus),
        ("one", radix % modulus),
        ("radix_squared", radix * radix % modulus),
        ("half", (modulus - 1) // 2),
    ):
        yield f"  static constexpr u64 {label}[{count}] = {limbs(value, count)};"
    yield f"  static constexpr u64 negative_inverse = 0x{-pow(modulus, -1, 1 << 64) % (1 << 64):016x};"
    yield "};"


def main() -> None:
    radix = 1 << 384
    root = pow(FR_NONRESIDUE, (R - 1) >> TWO_ADICITY, R) * (1 << 256) % R
    print("// Made by zenserve/kernels/scripts/derive_constants.py: change the script, not this file.")
    print("// Words are 64 bits, least significant first; field elements are in Montgomery form.")
    print("#pragma once\n\nnamespace zen {\n\nusing u64 = unsigned long long;\n")
    print("\n".join(field("FrParameters", R, 4)), "\n", sep="")
    print("\n".join(field("FpParameters", P, 6)), "\n", sep="")
    print(f"inline constexpr int two_adicity = {TWO_ADICITY};")
    print(f"// {FR_NONRESIDUE}^((r-1) / 2^{TWO_ADICITY})")
    print(f"inline constexpr u64 root_of_unity[4] = {limbs(root, 4)};\n")
    g1, g2 = generator((4, 0), G1_COFACTOR, True), generator((4, 4), G2_COFACTOR, False)
    for name, pair in (
        ("g1_generator", g1),
        ("g2_generator", g2),
        ("g1_endomorphism", endomorphism(g1, Z**2, conjugate=False)),
        ("g2_endomorphism", endomorphism(g2, -Z, conjugate=True)),
    ):
        for axis, value in zip("xy", pair, strict=True):
            parts = value[:1] if name.startswith("g1") else value
            words = ", ".join(limbs(part * radix % P, 6) for part in parts)
            print(f"inline constexpr u64 {name}_{axis}[{len(parts)}][6] = {{{words}}};")
    print(f"\n// |z|, z^2\ninline constexpr u64 z_magnitude[1] = {limbs(-Z, 1)};")
    print(f"inline constexpr u64 z_squared[2] = {limbs(Z**2, 2)};")
    print("\n// (1 + u)^(i (p - 1) / 6)")
    factors = (power((1, 1), i * (P - 1) // 6) for i in range(6))
    rows = ("{" + ", ".join(limbs(part * radix % P, 6) for part in factor) + "}" for factor in factors)
    print(f"inline constexpr u64 frobenius_factors[6][2][6] = {{{', '.join(rows)}}};")
    print("\n}  // namespace zen")


if __name__ == "__main__":
    main()
