"""Calls of a contract that an attacker could make of a good one, and what each must come to."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from py_arkworks_bls12381 import G1Point, G2Point, Scalar

from tests.prover.bad_points import bad_points
from zenserve.verifier.groth16.proof import Proof
from zenserve.verifier.groth16.verification import check_public_inputs, verify
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.onchain.calldata import Arguments
from zenserve.verifier.onchain.layout import G1_BYTES, G2_BYTES, encode
from zenserve.verifier.points import COORDINATE_BYTES, FIELD_MODULUS, SCALAR_MODULUS, decode_g1, uncompressed

FALSE: Final = ("pairing_mismatch", "knowledge_mismatch", "link_mismatch")
"""Reasons that the contract does not tell apart: all equations are one product."""
ERRORS: Final = {
    "public_input_not_canonical": "PublicInputNotCanonical",
    "public_input_count": "PublicInputCount",
    "proof_shape": "ProofLength",
    "commitment_count": "ProofLength",
}
_ENDS: Final = {
    "at_infinity": "PointAtInfinity",
    "not_canonical": "PointRefused",
    "not_on_curve": "PointRefused",
    "not_in_subgroup": "PointRefused",
}


class NotAPointError(ValueError):
    """No compressed encoding stands for these bytes."""


def outcome(reason: str) -> str:
    """What a contract says where ``zenserve-verify`` gives this reason: true, false, or an error's name."""
    if reason == "ok" or reason in FALSE:
        return str(reason == "ok").lower()
    return ERRORS.get(reason) or next(name for end, name in _ENDS.items() if reason.endswith(end))


def expected(key: VerifyingKey, call: Arguments) -> str:
    """The outcome that ``zenserve-verify`` gives the same proof in its own encoding. Of several faults it
    names the one that the contract names first."""
    refusal = check_public_inputs(key.public, list(call.inputs))
    if refusal is not None:
        return outcome(refusal.reason)
    segments, links = len(key.segments), len(key.linked_sizes)
    if len(call.proof) != 2 * G1_BYTES + G2_BYTES + 2 * G1_BYTES * (segments + links):
        return "ProofLength"
    points = [call.proof[start:end] for start, end in places(call.proof)]
    if not all(any(point) for point in points):
        return "PointAtInfinity"
    try:
        a, b, c, *others = map(compressed, points)
    except NotAPointError:
        return "PointRefused"
    parts, commitments = others[: 2 * segments + links], others[2 * segments + links :]
    proof = Proof(
        *(a, b, c),
        tuple(parts[:segments]),
        tuple(parts[segments : 2 * segments]),
        tuple(parts[2 * segments :]),
    )
    return outcome(verify(key, list(call.inputs), proof, commitments).reason)


def places(proof: bytes) -> list[tuple[int, int]]:
    """Start and end of each point: A, B, C and the others."""
    in_g1 = range(G1_BYTES + G2_BYTES, len(proof), G1_BYTES)
    return [
        (0, G1_BYTES),
        (G1_BYTES, G1_BYTES + G2_BYTES),
        *((start, min(start + G1_BYTES, len(proof))) for start in in_g1),
    ]


def compressed(point: bytes) -> bytes:
    """Raises ``NotAPointError`` for what is off the curve or no encoding; does not check the subgroup."""
    if len(point) not in (G1_BYTES, G2_BYTES):
        raise NotAPointError
    numbers = [
        int.from_bytes(point[start : start + COORDINATE_BYTES], "big")
        for start in range(0, len(point), COORDINATE_BYTES)
    ]
    half = len(numbers) // 2
    x, y = numbers[:half], numbers[half:]
    if max(numbers) >= FIELD_MODULUS or not _on_curve(x, y):
        raise NotAPointError
    largest = next((c for c in reversed(y) if c), 0) > (FIELD_MODULUS - 1) // 2
    data = bytearray(b"".join(c.to_bytes(48, "big") for c in reversed(x)))
    data[0] |= 0x80 | (0x20 if largest else 0)
    return bytes(data)


def _on_curve(x: Sequence[int], y: Sequence[int]) -> bool:
    p = FIELD_MODULUS
    if len(x) == 1:
        return (y[0] * y[0] - x[0] ** 3 - 4) % p == 0

    def times(u: Sequence[int], v: Sequence[int]) -> tuple[int, int]:
        return (u[0] * v[0] - u[1] * v[1]) % p, (u[0] * v[1] + u[1] * v[0]) % p

    cube = times(times(x, x), x)
    return times(y, y) == ((cube[0] + 4) % p, (cube[1] + 4) % p)


class Good(NamedTuple):
    """A key, and a call with a proof that is valid under it."""

    key: VerifyingKey
    call: Arguments


def mutated(draw: random.Random, good: Good) -> Arguments:
    """A call made of the good one by one or two changes; some leave it valid."""
    call = good.call
    for _ in range(draw.choice((1, 1, 1, 2))):
        change = draw.choice(_CHANGES)
        try:
            call = change(draw, good.key, call)
        except ValueError:  # a change before this one left no point here, or no input
            continue
    return call


def _put(proof: bytes, place: tuple[int, int], data: bytes) -> bytes:
    return proof[: place[0]] + data + proof[place[1] :]


def _any_place(draw: random.Random, proof: bytes, *, in_g1: bool = False) -> tuple[int, int]:
    found = places(proof)
    return draw.choice([found[0], *found[2:]] if in_g1 else found)


def _point(proof: bytes, place: tuple[int, int]) -> G1Point:
    return decode_g1(compressed(proof[place[0] : place[1]]))


def _g2(data: bytes) -> G2Point:
    return G2Point.from_compressed_bytes_unchecked(compressed(data))


def _bit(draw: random.Random, _: VerifyingKey, call: Arguments) -> Arguments:
    proof, at = bytearray(call.proof), draw.randrange(len(call.proof))
    proof[at] ^= 1 << draw.randrange(8)
    return call._replace(proof=bytes(proof))


def _coordinate(draw: random.Random, _: VerifyingKey, call: Arguments) -> Arguments:
    at = COORDINATE_BYTES * draw.randrange(len(call.proof) // COORDINATE_BYTES)
    old = int.from_bytes(call.proof[at : at + COORDINATE_BYTES], "big")
    others = (old + FIELD_MODULUS, FIELD_MODULUS - old, FIELD_MODULUS, draw.randrange(FIELD_MODULUS))
    new = draw.choice(others) % (1 << 512)
    return call._replace(proof=_put(call.proof, (at, at + COORDINATE_BYTES), new.to_bytes(64, "big")))


def _swapped(draw: random.Random, _: VerifyingKey, call: Arguments) -> Arguments:
    one, other = (_any_place(draw, call.proof, in_g1=True) for _ in range(2))
    first, second = (call.proof[place[0] : place[1]] for place in (one, other))
    return call._replace(proof=_put(_put(call.proof, one, second), other, first))


def _copied(draw: random.Random, _: VerifyingKey, call: Arguments) -> Arguments:
    one, other = (_any_place(draw, call.proof, in_g1=True) for _ in range(2))
    return call._replace(proof=_put(call.proof, one, call.proof[other[0] : other[1]]))


def _added(draw: random.Random, _: VerifyingKey, call: Arguments) -> Arguments:
    """One point has more and another less, so that their sum is the same."""
    one, other = (_any_place(draw, call.proof, in_g1=True) for _ in range(2))
    more = G1Point() * Scalar(draw.randrange(1, 1 << 64))
    proof = _put(call.proof, one, encode(_point(call.proof, one) + more))
    return call._replace(proof=_put(proof, other, encode(_point(proof, other) - more)))


def _multiplied(draw: random.Random, _: VerifyingKey, call: Arguments) -> Arguments:
    place = _any_place(draw, call.proof, in_g1=True)
    factor = Scalar(draw.choice((2, 3, SCALAR_MODULUS - 1, draw.randrange(1, SCALAR_MODULUS))))
    return call._replace(proof=_put(call.proof, place, encode(_point(call.proof, place) * factor)))


def _infinite(draw: random.Random, _: VerifyingKey, call: Arguments) -> Arguments:
    place = _any_place(draw, call.proof)
    return call._replace(proof=_put(call.proof, place, bytes(place[1] - place[0])))


def _outside(draw: random.Random, _: VerifyingKey, call: Arguments) -> Arguments:
    place = _any_place(draw, call.proof)
    return call._replace(proof=_put(call.proof, place, outside(place[1] - place[0])))


def outside(length: int) -> bytes:
    """A point of the curve that is not in the subgroup: of G1 128 bytes, of G2 256. ``NotAPointError`` for
    another length."""
    if length not in (G1_BYTES, G2_BYTES):
        raise NotAPointError
    group = G1Point if length == G1_BYTES else G2Point
    (point,) = bad_points(length * 3 // 8)["not_in_subgroup"]
    return uncompressed(bytes(group.from_compressed_bytes_unchecked(point).to_xy_bytes_be()))


def _length(draw: random.Random, _: VerifyingKey, call: Arguments) -> Arguments:
    many = draw.choice((1, 31, 32, 64, 128, 256))
    return call._replace(proof=draw.choice((call.proof[:-many], call.proof[many:], call.proof + bytes(many))))


def _inputs(draw: random.Random, _: VerifyingKey, call: Arguments) -> Arguments:
    inputs = list(call.inputs)
    at = draw.randrange(len(inputs))  # ``ValueError`` where there are none left
    match draw.randrange(5):
        case 0:
            inputs[at] += SCALAR_MODULUS
        case 1:
            inputs[at] = draw.choice((SCALAR_MODULUS, (1 << 256) - 1, SCALAR_MODULUS - 1, 0))
        case 2:
            inputs[at] = (inputs[at] + draw.choice((1, -1))) % SCALAR_MODULUS
        case 3:
            inputs.append(inputs[at])
        case 4:
            del inputs[at]
    return call._replace(inputs=inputs)


def _other_coordinates_first(_draw: random.Random, _: VerifyingKey, call: Arguments) -> Arguments:
    """B as compressed encodings have it, c1 before c0."""
    b = call.proof[G1_BYTES : G1_BYTES + G2_BYTES]
    parts = [b[i : i + 64] for i in (64, 0, 192, 128)]
    return call._replace(proof=_put(call.proof, places(call.proof)[1], b"".join(parts)))


def _again(draw: random.Random, key: VerifyingKey, call: Arguments) -> Arguments:
    """Another valid proof: A / ρ, ρ B + ρ η δ, C + η A (docs/groth16.md, "Proofs are malleable")."""
    rho, eta = (draw.randrange(1, SCALAR_MODULUS) for _ in range(2))
    a_place, b_place, c_place, *_ = places(call.proof)
    a, c = _point(call.proof, a_place), _point(call.proof, c_place)
    delta = G2Point.from_compressed_bytes_unchecked(key.delta_g2)
    b = _g2(call.proof[b_place[0] : b_place[1]]) * Scalar(rho) + delta * Scalar(rho * eta % SCALAR_MODULUS)
    proof = _put(call.proof, a_place, encode(a * Scalar(pow(rho, -1, SCALAR_MODULUS))))
    proof = _put(_put(proof, b_place, encode(b)), c_place, encode(c + a * Scalar(eta)))
    return call._replace(proof=proof)


_Change = Callable[[random.Random, VerifyingKey, Arguments], Arguments]
_CHANGES: Final[Sequence[_Change]] = (
    _bit,
    _coordinate,
    _swapped,
    _copied,
    _added,
    _multiplied,
    _infinite,
    _outside,
    _length,
    _inputs,
    _other_coordinates_first,
    _again,
)
