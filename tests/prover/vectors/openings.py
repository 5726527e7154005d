"""openings.json: commitments opened in public and counted together, and refusals. Points by py_ecc alone."""

from __future__ import annotations

import random
from hashlib import sha512
from typing import Any

from py_ecc.optimized_bls12_381 import G1, add, curve_order, multiply

from tests.prover.vectors.points import bad_encodings, encoded, g1, g2, second_generator


def document(seed: int) -> dict[str, Any]:
    """Commitments to (3, -5, 7, 0) and to single values, over a basis of known τ."""
    draw = random.Random(seed)
    tau, rho, other = (draw.randrange(1, curve_order) for _ in range(3))
    values, identity, h = [3, -5, 7, 0], g1(tau), second_generator()

    def commit(values: list[int], blinding: int) -> bytes:
        plain = multiply(G1, polynomial(values, tau))
        return encoded(add(plain, multiply(h, blinding)) if blinding else plain)

    def opened(values: list[int], blinding: int, cm: bytes, at: list[int] | None = None) -> dict[str, str]:
        """What shows ``cm`` to be to ``values``; the point of evaluation can be that of others."""
        z = opening_point(identity, cm, blinding, values if at is None else at)
        shown = (polynomial(values, tau) - polynomial(values, z)) * pow(tau - z, -1, curve_order)
        return {
            "blinding": blinding.to_bytes(32, "big").hex(),
            "quotient": g1(shown % curve_order).hex(),
            "tau_g2": g2(tau).hex(),
        }

    cm, plain, single = commit(values, rho), commit(values, 0), commit([9], rho)
    honest = opened(values, rho, cm)
    cases = [
        opening_case("honest", identity, cm, values, honest, "ok"),
        opening_case("by their residues", identity, cm, [v % curve_order for v in values], honest, "ok"),
        opening_case("plus r", identity, cm, [v + curve_order for v in values], honest, "ok"),
        opening_case("without blinding", identity, plain, values, opened(values, 0, plain), "ok"),
        opening_case("a single value", identity, single, [9], opened([9], rho, single), "ok"),
        opening_case("shorter", identity, cm, values[:3], opened(values[:3], rho, cm), "ok"),
    ]
    refused = {
        "another value": ([4, *values[1:]], honest),
        "permuted": (values[::-1], honest),
        "without its last zero": (values[:3], honest),
        "a zero more": ([*values, 0], honest),
        "no values": ([], honest),
        "the quotient of another z": (values, opened(values, rho, cm, at=[1])),
        "the quotient of other values": (values, opened([3, -4, 7, 0], rho, cm, at=values)),
        "another blinding factor": (values, opened(values, other, cm)),
        "a quotient of zero": (values, {**honest, "quotient": (b"\xc0" + bytes(47)).hex()}),
    }
    cases += [
        opening_case(name, identity, cm, given, shown, "opening_mismatch")
        for name, (given, shown) in refused.items()
    ]
    for label, blinding in {"plus r": rho + curve_order, "r": curve_order, "all ones": 2**256 - 1}.items():
        shown = {**honest, "blinding": blinding.to_bytes(32, "big").hex()}
        cases.append(opening_case(f"blinding: {label}", identity, cm, values, shown, "opening_blinding"))
    for name, prefix, element in (("tau_g2", "tau", g2(tau)), ("quotient", "quotient", g1(1))):
        for reason, data in bad_encodings(element).items():
            if (name, reason) != ("quotient", "at_infinity"):
                shown, full = {**honest, name: data.hex()}, f"{prefix}_{reason}"
                cases.append(opening_case(full, identity, cm, values, shown, full))
    for reason, data in bad_encodings(cm).items():
        cases.append(opening_case(f"basis_{reason}", data, cm, values, honest, f"basis_{reason}"))
        full = f"commitment_{reason}"
        cases.append(opening_case(full, identity, data, values, honest, full))
    cases += [
        opening_case("another basis", g1(tau + 1), cm, values, honest, "opening_basis"),
        opening_case(
            "another tau", identity, cm, values, {**honest, "tau_g2": g2(tau + 1).hex()}, "opening_basis"
        ),
    ]
    counts = [commit([count], blinding) for count, blinding in ((4, rho), (0, other), (5, 7))]
    total = rho + other + 7
    sums = [
        sum_case("honest", counts, 9, total, "ok"),
        sum_case("none", [], 0, 0, "ok"),
        sum_case("a total too high", counts, 10, total, "sum_mismatch"),
        sum_case("another blinding factor", counts, 9, total + 1, "sum_mismatch"),
        sum_case("one left out", counts[1:], 9, total, "sum_mismatch"),
        sum_case("one counted twice", [*counts, counts[0]], 9, total, "sum_mismatch"),
        sum_case("a total plus r", counts, 9 + curve_order, total, "sum_total"),
        sum_case("a negative total", counts, -1, total, "sum_total"),
    ]
    return {
        "format": "zenserve opening vectors",
        "version": 1,
        "generator": f"tests/prover/vectors/generate.py, seed {seed}",
        "point": str(opening_point(identity, cm, rho, values)),
        "openings": cases,
        "sums": sums,
    }


def opening_point(identity: bytes, commitment: bytes, blinding: int, values: list[int]) -> int:
    message = b"zenserve opening 1" + identity + commitment + blinding.to_bytes(32, "big")
    message += len(values).to_bytes(8, "big")
    for value in values:
        message += (value % curve_order).to_bytes(32, "big")
    return int.from_bytes(sha512(message).digest(), "big") % curve_order


def polynomial(values: list[int], at: int) -> int:
    return sum(value * pow(at, power, curve_order) for power, value in enumerate(values)) % curve_order


def opening_case(
    name: str, identity: bytes, commitment: bytes, values: list[int], opening: dict[str, str], reason: str
) -> dict[str, Any]:
    return {
        "name": name,
        "identity": identity.hex(),
        "commitment": commitment.hex(),
        "values": [str(value) for value in values],
        "opening": {"format": "zenserve opening", "version": 1, "curve": "bls12381", **opening},
        "reason": reason,
    }


def sum_case(name: str, commitments: list[bytes], total: int, blinding: int, reason: str) -> dict[str, Any]:
    return {
        "name": name,
        "commitments": [data.hex() for data in commitments],
        "total": str(total),
        "blinding": (blinding % curve_order).to_bytes(32, "big").hex(),
        "reason": reason,
    }
