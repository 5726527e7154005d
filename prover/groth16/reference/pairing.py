"""Verification by py_ecc, with decoding of its own: one equation after the other, without weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from py_ecc.bls.point_compression import decompress_G1, decompress_G2
from py_ecc.bls.typing import G1Compressed, G2Compressed
from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12
from py_ecc.optimized_bls12_381.optimized_curve import (
    G2,
    Z1,
    add,
    curve_order,
    field_modulus,
    is_inf,
    multiply,
    neg,
    normalize,
)
from py_ecc.optimized_bls12_381.optimized_pairing import final_exponentiate, pairing

from zenserve.verifier.groth16.proof import Proof
from zenserve.verifier.groth16.verdict import verdict_of
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.verdict import OK, Verdict

_REMEMBERED: Final = 256
"""Points of keys, and equations of one segment, that many proofs share: py_ecc takes long over each."""


class _RefusedError(Exception):
    pass


def verify(
    verifying_key: VerifyingKey,
    public_inputs: Sequence[int],
    proof: bytes | Proof,
    commitments: Sequence[bytes] = (),
) -> Verdict:
    """As ``groth16.verify``, with the same reasons, several hundred times slower."""
    key = verifying_key
    try:
        _check_inputs(key, public_inputs)
        links = [segment.link_g2 for segment in key.segments]
        _check_commitments(commitments, sum(link is not None for link in links))
        encoded = _split(
            proof.to_bytes() if isinstance(proof, Proof) else proof, len(links), len(commitments)
        )
        names = ["a", "b", "c", *["segment"] * len(links), *["knowledge"] * len(links)]
        names += ["link"] * len(commitments)
        a, b, c, *others = (_point(data, name) for data, name in zip(encoded, names, strict=True))
        for data in commitments:
            _point(data, "commitment")
    except _RefusedError as refusal:
        return verdict_of(str(refusal))
    segments, knowledge, proofs = (
        encoded[3 : 3 + len(links)],
        encoded[3 + len(links) : 3 + 2 * len(links)],
        encoded[3 + 2 * len(links) :],
    )

    inputs = Z1
    drawn = challenges(key, public_inputs, segments, commitments)
    shown = public_inputs[: len(public_inputs) - key.folded]
    for value, point in zip([1, *shown, *drawn], key.ic, strict=True):
        inputs = add(inputs, multiply(_point(point, "ic"), value))
    for segment_point in others[: len(links)]:
        inputs = add(inputs, segment_point)
    alpha, beta = _point(key.alpha_g1, "alpha"), _point(key.beta_g2, "beta")
    gamma, delta = _point(key.gamma_g2, "gamma"), _point(key.delta_g2, "delta")
    for index, (segment, known) in enumerate(zip(segments, knowledge, strict=True)):
        if not _is_known(segment, known, key.segments[index].knowledge_g2):
            return verdict_of("knowledge_mismatch", index=index)
    linked = [(d, each.link_g2) for d, each in zip(segments, key.segments, strict=True) if each.link_g2]
    for index, ((segment, pair), link) in enumerate(zip(linked, proofs, strict=True)):
        if not _is_linked(segment, commitments[index], link, pair):
            return verdict_of("link_mismatch", index=index)
    groth16 = [(neg(a), b), (alpha, beta), (inputs, gamma), (c, delta)]
    return verdict_of(OK if _is_one(groth16) else "pairing_mismatch")


@lru_cache(_REMEMBERED)
def _is_known(segment: bytes, known: bytes, sigma: bytes) -> bool:
    return _is_one(
        [(neg(_point(known, "knowledge")), G2), (_point(segment, "segment"), _point(sigma, "sigma"))]
    )


@lru_cache(_REMEMBERED)
def _is_linked(segment: bytes, outside: bytes, link: bytes, pair: tuple[bytes, bytes]) -> bool:
    k_1, k_2 = (_point(point, "k") for point in pair)
    inside = (_point(segment, "segment"), k_1)
    return _is_one([(neg(_point(link, "link")), G2), inside, (_point(outside, "commitment"), k_2)])


def _is_one(pairs: Sequence[tuple[Any, Any]]) -> bool:
    product = FQ12.one()
    for p, q in pairs:
        product = product * pairing(q, p, final_exponentiate=False)
    return bool(final_exponentiate(product) == FQ12.one())


def challenges(
    key: VerifyingKey, public_inputs: Sequence[int], segments: Sequence[bytes], commitments: Sequence[bytes]
) -> list[int]:
    old = key.version == 2
    message = b"zenserve challenge 1" if old else b"zenserve challenge 2"
    message += hashlib.sha256(key.to_bytes()).digest()
    message += len(public_inputs).to_bytes(4, "big")
    for value in public_inputs:
        message += value.to_bytes(32, "big")
    for points in (segments, commitments):
        message += len(points).to_bytes(4, "big")
        for point in points:
            message += point if old else _uncompressed(point)
    messages = [message + j.to_bytes(4, "big") for j in range(key.challenges - (key.folded > 0))]
    digests = [hashlib.sha512(each).digest() if old else _two_hashes(each) for each in messages]
    drawn = [int.from_bytes(digest, "big") % curve_order for digest in digests]
    if key.folded:
        folded = enumerate(public_inputs[-key.folded :])
        drawn.append(sum(value * pow(drawn[0], i, curve_order) for i, value in folded) % curve_order)
    return drawn


def _uncompressed(data: bytes) -> bytes:
    x, y = normalize(_point(data, "challenge"))
    return int(x).to_bytes(64, "big") + int(y).to_bytes(64, "big")


def _two_hashes(message: bytes) -> bytes:
    return hashlib.sha256(message + b"\0").digest() + hashlib.sha256(message + b"\1").digest()


def _check_inputs(key: VerifyingKey, public_inputs: Sequence[int]) -> None:
    if not isinstance(public_inputs, list | tuple):
        raise _RefusedError("public_input_type")
    if len(public_inputs) != len(key.ic) - 1 - key.challenges + key.folded:
        raise _RefusedError("public_input_count")
    for value in public_inputs:
        if type(value) is not int:
            raise _RefusedError("public_input_type")
        if value < 0 or value >= curve_order:
            raise _RefusedError("public_input_not_canonical")


def _check_commitments(commitments: Sequence[bytes], links: int) -> None:
    if not isinstance(commitments, list | tuple) or any(type(data) is not bytes for data in commitments):
        raise _RefusedError("commitment_type")
    if len(commitments) != links:
        raise _RefusedError("commitment_count")
    if any(len(data) != 48 for data in commitments):
        raise _RefusedError("commitment_encoding")


def _split(data: bytes, segments: int, links: int) -> list[bytes]:
    """The encoded points of a proof: A, B, C, segments, knowledge, links."""
    if type(data) is not bytes:
        raise _RefusedError("proof_type")
    counts = (0, 0)
    if len(data) != 192:
        if data[:8] != b"ZENSERVE" or len(data) < 18:
            raise _RefusedError("proof_length")
        if data[8:16] != b"\x01\0\0\0prof":
            raise _RefusedError("proof_format")
        counts, data = (data[16], data[17]), data[18:]
        if counts[0] == 0 or len(data) != 192 + 96 * counts[0] + 48 * counts[1]:
            raise _RefusedError("proof_length")
    if counts != (segments, links):
        raise _RefusedError("proof_shape")
    return [data[:48], data[48:144], *(data[i : i + 48] for i in range(144, len(data), 48))]


@lru_cache(_REMEMBERED)
def _point(data: bytes, name: str) -> Any:
    """The finite subgroup point of ``data``: 48 bytes in G1, 96 in G2. Raises ``_RefusedError``."""
    words = [int.from_bytes(data[i : i + 48], "big") for i in range(0, len(data), 48)]
    flags, words[0] = words[0] >> 381, words[0] % 2**381
    if flags == 0b110 and not any(words):
        raise _RefusedError(f"{name}_at_infinity")
    if flags not in (0b100, 0b101):
        raise _RefusedError(f"{name}_encoding")
    if max(words) >= field_modulus:
        raise _RefusedError(f"{name}_not_canonical")
    words[0] += flags << 381
    point: Any
    try:
        if len(words) == 1:
            point = decompress_G1(G1Compressed(words[0]))
        else:
            point = decompress_G2(G2Compressed((words[0], words[1])))
    except ValueError:
        raise _RefusedError(f"{name}_not_on_curve") from None
    if not is_inf(multiply(point, curve_order)):
        raise _RefusedError(f"{name}_not_in_subgroup")
    return point
