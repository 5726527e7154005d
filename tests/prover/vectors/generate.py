"""Writes groth16.json, segments.json, folded.json, openings.json and transparent.json, for any verifier.

    python -m tests.prover.vectors.generate

Points come from known exponents and py_ecc alone: no code that the vectors are to judge takes part, but for
the bytes of the verifying key.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from py_ecc.optimized_bls12_381 import G1, add, curve_order, multiply

from tests.prover.vectors import folded, openings, transparent
from tests.prover.vectors.points import bad_encodings, encoded, first_x, g1, g2, second_generator
from zenserve.prover.blocks import Csr, ProductBlock, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.groth16 import Proof, SegmentKey, VerifyingKey
from zenserve.prover.groth16.reference import Trapdoor, key_exponents, proof_exponents
from zenserve.prover.groth16.reference.pairing import challenges

HERE = Path(__file__).parent
SEED = 20261121


def system() -> ConstraintSystem:
    """x³ + x + 5 = y and x + 1 = w. Variables: 1 | y, w | x, x², x³."""
    one, y, w, x, x2, x3 = range(6)
    products = ProductBlock("products", np.array([x, x2]), np.array([x, x]), np.array([x2, x3]))
    sums = SparseBlock(
        "sums",
        Csr.from_entries(
            2, np.array([0, 0, 0, 1, 1]), np.array([x3, x, one, x, one]), np.array([1, 1, 5, 1, 1])
        ),
        Csr.selection(np.array([one, one])),
        Csr.selection(np.array([y, w])),
    )
    return ConstraintSystem(2, 3, (products, sums))


def document() -> dict[str, Any]:
    draw = random.Random(SEED)
    tau, alpha, beta, gamma, delta = (draw.randrange(1, curve_order) for _ in range(5))
    trapdoor = Trapdoor(tau, alpha, beta, gamma, delta)
    exponents = key_exponents(system(), trapdoor)
    key = VerifyingKey(
        "development",
        system().digest,
        g1(trapdoor.alpha),
        g2(trapdoor.beta),
        g2(trapdoor.gamma),
        g2(trapdoor.delta),
        tuple(g1(exponent) for exponent in exponents["public"]),
    )
    a, b, c = proof_exponents(
        system(), trapdoor, [1, 35, 4, 3, 9, 27], draw.randrange(curve_order), draw.randrange(curve_order)
    )
    elements = {"a": g1(a), "b": g2(b), "c": g1(c)}
    honest = b"".join(elements.values())
    cases = [
        case("honest", [35, 4], honest, "ok"),
        case("rescaled", [35, 4], g1(7 * a) + g2(b * pow(7, -1, curve_order)) + g1(c), "ok"),
        case("first input plus one", [36, 4], honest, "pairing_mismatch"),
        case("second input minus one", [35, 3], honest, "pairing_mismatch"),
        case("inputs swapped", [4, 35], honest, "pairing_mismatch"),
        case("input plus r", [35 + curve_order, 4], honest, "public_input_not_canonical"),
        case("input minus r", [35 - curve_order, 4], honest, "public_input_not_canonical"),
        case("input equal to r", [35, curve_order], honest, "public_input_not_canonical"),
        case("one input too many", [35, 4, 0], honest, "public_input_count"),
        case("one input too few", [35], honest, "public_input_count"),
        case("empty proof", [35, 4], b"", "proof_length"),
        case("one byte short", [35, 4], honest[:-1], "proof_length"),
        case("one byte more", [35, 4], honest + b"\0", "proof_length"),
    ]
    for name, element in elements.items():
        generator = g2(1) if name == "b" else g1(1)
        changes = {"pairing_mismatch": generator, **bad_encodings(element)}
        for reason, data in changes.items():
            proof = b"".join({**elements, name: data}.values())
            prefix = "" if reason == "pairing_mismatch" else f"{name}_"
            cases.append(case(f"{name}: {reason}", [35, 4], proof, prefix + reason))
    return {
        "format": "zenserve groth16 vectors",
        "version": 1,
        "generator": f"tests/prover/vectors/generate.py, seed {SEED}",
        "verifying_key": key.to_json(),
        "verifying_key_bytes": key.to_bytes().hex(),
        "cases": cases,
    }


def segments_statement() -> ConstraintSystem:
    """w_0 x = p_0, w_1 x = p_1, p_0 + p_1 = y, the products at a challenge c: (w_0 + c w_1) x = p_0 + c p_1.

    Variables: 1 | y | c | model: w_0, w_1 | products: x, p_0, p_1 | c w_1, c p_1; a blinding variable after
    each segment. The model is linked.
    """
    one, y, c, w0, w1, _, x, p0, p1, _, cw1, cp1 = range(12)

    def rows(*entries: list[int]) -> Csr:
        row = np.array([i for i, columns in enumerate(entries) for _ in columns])
        column = np.array([column for columns in entries for column in columns])
        return Csr.from_entries(len(entries), row, column, np.ones(len(row), dtype=np.int64))

    block = SparseBlock(
        "all",
        rows([c], [c], [w0, cw1], [p0, p1]),
        rows([w1], [p1], [x], [one]),
        rows([cw1], [cp1], [p0, cp1], [y]),
    )
    return ConstraintSystem(1, 2, (block,), 1, (Segment("model", 2, linked=True), Segment("products", 3)))


def segments_document() -> dict[str, Any]:
    draw = random.Random(SEED + 1)

    def fresh() -> int:
        return draw.randrange(1, curve_order)

    relation = segments_statement()
    tau, alpha, beta, gamma, delta = (fresh() for _ in range(5))
    trapdoor = Trapdoor(tau, alpha, beta, gamma, delta, (fresh(), fresh()), ((fresh(), fresh()),))
    (k_1, k_2), basis_tau, rho, other_rho = trapdoor.links[0], fresh(), fresh(), fresh()
    exponents = key_exponents(relation, trapdoor)
    key = VerifyingKey(
        "development",
        relation.digest,
        g1(trapdoor.alpha),
        g2(trapdoor.beta),
        g2(trapdoor.gamma),
        g2(trapdoor.delta),
        tuple(g1(exponent) for exponent in exponents["public"]),
        1,
        (SegmentKey(2, g2(trapdoor.sigma[0]), (g2(k_1), g2(k_2))), SegmentKey(3, g2(trapdoor.sigma[1]))),
        g1(basis_tau),
    )
    h = second_generator()

    def commit(weights: tuple[int, int], blinding: int) -> Any:
        return add(multiply(G1, (weights[0] + weights[1] * basis_tau) % curve_order), multiply(h, blinding))

    z = [1, 56, 0, 3, 5, fresh(), 7, 21, 35, fresh(), 0, 0]
    bases = exponents["segments"]
    d = [
        sum(x * y for x, y in zip(z[3:6], bases[:3], strict=True)),
        sum(x * y for x, y in zip(z[6:10], bases[3:], strict=True)),
    ]
    segments = [g1(value % curve_order) for value in d]
    model = commit((3, 5), rho)
    (z[2],) = challenges(key, [56], segments, [encoded(model)])
    z[10:] = [z[2] * 5 % curve_order, z[2] * 35 % curve_order]
    a, b, c = proof_exponents(relation, trapdoor, z, fresh(), fresh())
    link = add(multiply(G1, d[0] * k_1 % curve_order), multiply(model, k_2))
    elements: dict[str, Any] = {
        "a": g1(a),
        "b": g2(b),
        "c": g1(c),
        "segment": segments,
        "knowledge": [
            g1(value * sigma % curve_order) for value, sigma in zip(d, trapdoor.sigma, strict=True)
        ],
        "link": [encoded(link)],
    }
    cm = encoded(model)

    def changed(**changes: Any) -> bytes:
        new = {**elements, **changes}
        return Proof(
            new["a"], new["b"], new["c"], *(tuple(new[name]) for name in ("segment", "knowledge", "link"))
        ).to_bytes()

    honest = changed()
    first, second = segments
    cases = [
        case("honest", [56], honest, "ok", [cm]),
        case("public input plus one", [57], honest, "pairing_mismatch", [cm]),
        case("input plus r", [56 + curve_order], honest, "public_input_not_canonical", [cm]),
        case(
            "another opening of the same model",
            [56],
            honest,
            "link_mismatch",
            [encoded(commit((3, 5), other_rho))],
        ),
        case("another model", [56], honest, "link_mismatch", [encoded(commit((4, 5), rho))]),
        case("no commitment", [56], honest, "commitment_count", []),
        case("a commitment too many", [56], honest, "commitment_count", [cm, cm]),
        case("segments swapped", [56], changed(segment=[second, first]), "knowledge_mismatch", [cm]),
        case(
            "knowledge swapped",
            [56],
            changed(knowledge=elements["knowledge"][::-1]),
            "knowledge_mismatch",
            [cm],
        ),
        case("without link", [56], changed(link=[]), "proof_shape", [cm]),
        case(
            "one segment",
            [56],
            changed(segment=[first], knowledge=elements["knowledge"][:1]),
            "proof_shape",
            [cm],
        ),
        case("without segments", [56], elements["a"] + elements["b"] + elements["c"], "proof_shape", [cm]),
        case("cut short", [56], honest[:-1], "proof_length", [cm]),
        case("one byte more", [56], honest + b"\0", "proof_length", [cm]),
        case("unknown version", [56], honest[:8] + b"\2" + honest[9:], "proof_format", [cm]),
        case("unknown kind", [56], honest[:12] + b"pr00" + honest[16:], "proof_format", [cm]),
    ]
    for name in ("segment", "knowledge", "link", "commitment"):
        point = cm if name == "commitment" else elements[name][0]
        mismatch = "link_mismatch" if name in ("link", "commitment") else "knowledge_mismatch"
        for reason, data in {mismatch: g1(1), **bad_encodings(point)}.items():
            full = reason if reason == mismatch else f"{name}_{reason}"
            if name == "commitment":
                cases.append(case(f"{name}: {reason}", [56], honest, full, [data]))
            else:
                proof = changed(**{name: [data, *elements[name][1:]]})
                cases.append(case(f"{name}: {reason}", [56], proof, full, [cm]))
    return {
        "format": "zenserve segment vectors",
        "version": 1,
        "generator": f"tests/prover/vectors/generate.py, seed {SEED + 1}",
        "verifying_key": key.to_json(),
        "verifying_key_bytes": key.to_bytes().hex(),
        "challenge": str(z[2]),
        "commitment": {
            "basis": [g1(1).hex(), g1(basis_tau).hex()],
            "tau_g2": g2(basis_tau).hex(),
            "h": encoded(h).hex(),
            "values": ["3", "5"],
            "blinding": str(rho),
            "commitment": cm.hex(),
        },
        "proof_json": Proof.split(honest).to_json(),
        "cases": cases,
        "keys": refused_keys(key),
    }


def refused_keys(key: VerifyingKey) -> list[dict[str, str]]:
    """Binary keys that a reader must refuse, each with one fault."""
    data = key.to_bytes()
    digest, counts, beta, gamma, delta = 32, 64, 128, 224, 320
    ic, first = 416, 416 + 48 * len(key.ic)
    sigma, second = first + 8, first + 8 + 3 * 96
    tail = len(data) - 48

    def at(offset: int, new: bytes) -> bytes:
        return data[:offset] + new + data[offset + len(new) :]

    def sign(point: bytes) -> bytes:
        return bytes([point[0] ^ 0x20]) + point[1:]

    one = g2(1)
    cases = {
        "cut short": (data[:-1], "file.length"),
        "one byte more": (data + b"\0", "file.length"),
        "another magic": (at(0, b"ZENSERVF"), "file.magic"),
        "another version": (at(8, b"\1"), "file.version"),
        "another kind": (at(12, b"pkey"), "file.kind"),
        "an unknown setup": (at(16, b"trusted".ljust(16, b"\0")), "file.setup_label"),
        "a ceremony without contributions": (at(16, b"ceremony".ljust(16, b"\0")), "file.shape"),
        "an absurd count of inputs": (at(counts, b"\xff" * 4), "file.length"),
        "linked twice": (at(first + 4, b"\2"), "file.shape"),
        "delta is gamma": (at(delta, data[gamma : gamma + 96]), "file.unsafe_key"),
        "delta is minus gamma": (at(delta, sign(data[gamma : gamma + 96])), "file.unsafe_key"),
        "delta is the generator": (at(delta, one), "file.unsafe_key"),
        "gamma is the generator, without a ceremony": (at(gamma, one), "file.unsafe_key"),
        "beta is the generator": (at(beta, one), "file.unsafe_key"),
        "sigma is the generator": (at(sigma, one), "file.unsafe_key"),
        "two equal sigmas": (at(second + 8, data[sigma : sigma + 96]), "file.unsafe_key"),
        "k_1 is k_2": (at(sigma + 192, data[sigma + 96 : sigma + 192]), "file.unsafe_key"),
        "two equal points for inputs": (at(ic + 96, data[ic + 48 : ic + 96]), "file.unsafe_key"),
        "tau of the basis is one": (at(tail, g1(1)), "file.unsafe_key"),
        "alpha at infinity": (at(counts + 16, b"\xc0" + bytes(47)), "file.point_at_infinity"),
        "a point off the curve": (at(ic, first_x(48, on_curve=False)), "file.point_not_on_curve"),
        "a point outside the subgroup": (at(sigma, first_x(96, on_curve=True)), "file.point_not_in_subgroup"),
    }
    assert data[digest : digest + 32] == key.statement_digest
    assert data[sigma : sigma + 96] == key.segments[0].knowledge_g2
    assert data[second + 8 : second + 104] == key.segments[1].knowledge_g2
    assert data[tail:] == key.basis
    return [{"name": name, "key": bytes_.hex(), "code": code} for name, (bytes_, code) in cases.items()]


def case(
    name: str, public_inputs: list[int], proof: bytes, reason: str, commitments: list[bytes] | None = None
) -> dict[str, Any]:
    outside = {} if commitments is None else {"commitments": [data.hex() for data in commitments]}
    return {
        "name": name,
        "public_inputs": [str(value) for value in public_inputs],
        **outside,
        "proof": proof.hex(),
        "reason": reason,
    }


def texts() -> dict[str, str]:
    """The files by name."""
    documents = {
        "groth16.json": document(),
        "segments.json": segments_document(),
        "openings.json": openings.document(SEED + 2),
        "transparent.json": transparent.document(SEED + 3),
        "folded.json": folded.document(SEED + 4),
    }
    return {name: json.dumps(content, indent=1) + "\n" for name, content in documents.items()}


if __name__ == "__main__":
    for name, text in texts().items():
        (HERE / name).write_text(text)
