"""What a verifier needs: a few points, the digest of the statement, and who made the setup."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from py_arkworks_bls12381 import GT, G1Point, G2Point

from prover.points import G1_BYTES, G2_BYTES, Fault, PointError, decode_g1, decode_g2
from prover.preamble import PREAMBLE_BYTES, VERIFYING_KEY, VERSION, check_preamble, preamble
from zenerrors import FileFormatError

DEVELOPMENT = "development"
"""The only kind of setup so far: one party drew the trapdoor and says that it was erased."""

_LABEL_BYTES = 16
_DIGEST_BYTES = 32
_POINTS = {"alpha_g1": G1_BYTES, "beta_g2": G2_BYTES, "gamma_g2": G2_BYTES, "delta_g2": G2_BYTES}
_FIELD_BYTES = (_LABEL_BYTES, _DIGEST_BYTES, *_POINTS.values())
_FIXED_BYTES = PREAMBLE_BYTES + sum(_FIELD_BYTES)
_JSON_FORMAT = "zenserve verifying key"

_FAULTS = {
    Fault.ENCODING: "its flag bits or its length are not those of a compressed point",
    Fault.NOT_CANONICAL: "a coordinate is not below the field modulus",
    Fault.NOT_ON_CURVE: "it is not on the curve",
    Fault.NOT_IN_SUBGROUP: "it is outside the subgroup of prime order",
    Fault.AT_INFINITY: "it is the point at infinity",
}

Point = TypeVar("Point", G1Point, G2Point)


class Prepared(NamedTuple):
    """Decoded points, ready for the pairing equation."""

    alpha_beta: GT
    gamma: G2Point
    delta: G2Point
    ic: list[G1Point]


@dataclass(frozen=True)
class VerifyingKey:
    """Checked on construction: every point canonical, on its curve, in its subgroup, finite, and γ, δ safe.

    ``alpha_g1`` 48 bytes, ``beta_g2``, ``gamma_g2``, ``delta_g2`` 96 bytes, ``ic`` 1 + public times 48
    bytes, all compressed; ``statement_digest`` 32 bytes, the ``Statement.digest`` that the key claims to be
    made for; ``setup``, the label of the setup. Raises ``FileFormatError``: ``file.point_*`` with the
    field's name, ``file.unsafe_key``, ``file.shape``.
    """

    setup: str
    statement_digest: bytes
    alpha_g1: bytes
    beta_g2: bytes
    gamma_g2: bytes
    delta_g2: bytes
    ic: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if self.setup != DEVELOPMENT:
            raise FileFormatError("file.setup_label", f"unknown setup {self.setup!r}", field="setup")
        if len(self.statement_digest) != _DIGEST_BYTES:
            raise FileFormatError(
                "file.shape", "the statement digest must have 32 bytes", field="statement_digest"
            )
        if not self.ic:
            raise FileFormatError("file.shape", "the key has no point for the constant one", field="ic")
        _refuse_known_exponents(self.prepared.gamma, self.prepared.delta)

    @property
    def public(self) -> int:
        """How many public inputs the statement has."""
        return len(self.ic) - 1

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of ``to_bytes()``: the key's identity. 32 bytes."""
        return hashlib.sha256(self.to_bytes()).digest()

    @cached_property
    def prepared(self) -> Prepared:
        alpha = _decoded(decode_g1, self.alpha_g1, "alpha_g1")
        beta = _decoded(decode_g2, self.beta_g2, "beta_g2")
        return Prepared(
            GT.pairing(alpha, beta),
            _decoded(decode_g2, self.gamma_g2, "gamma_g2"),
            _decoded(decode_g2, self.delta_g2, "delta_g2"),
            [_decoded(decode_g1, point, f"ic[{index}]") for index, point in enumerate(self.ic)],
        )

    def to_bytes(self) -> bytes:
        """The binary form of docs/formats.md: 400 + 48 · (1 + public) bytes."""
        return b"".join(
            (
                preamble(VERIFYING_KEY),
                self.setup.encode("ascii").ljust(_LABEL_BYTES, b"\0"),
                self.statement_digest,
                self.alpha_g1,
                self.beta_g2,
                self.gamma_g2,
                self.delta_g2,
                *self.ic,
            )
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> VerifyingKey:
        """The inverse of ``to_bytes``. Raises ``FileFormatError``."""
        check_preamble(data, VERIFYING_KEY)
        if len(data) < _FIXED_BYTES + G1_BYTES or (len(data) - _FIXED_BYTES) % G1_BYTES:
            raise FileFormatError("file.length", f"a verifying key cannot have {len(data)} bytes")
        fields, position = [], PREAMBLE_BYTES
        for length in _FIELD_BYTES:
            fields.append(data[position : position + length])
            position += length
        label, statement_digest, alpha, beta, gamma, delta = fields
        setup = label.rstrip(b"\0").decode("ascii", errors="replace")
        ic = tuple(data[start : start + G1_BYTES] for start in range(position, len(data), G1_BYTES))
        return cls(setup, statement_digest, alpha, beta, gamma, delta, ic)

    def to_json(self) -> dict[str, Any]:
        """A JSON-able form: compressed points and digests in lower-case hex."""
        return {
            "format": _JSON_FORMAT,
            "version": VERSION,
            "protocol": "groth16",
            "curve": "bls12381",
            "setup": self.setup,
            "statement_digest": self.statement_digest.hex(),
            **{name: getattr(self, name).hex() for name in _POINTS},
            "ic": [point.hex() for point in self.ic],
            "digest": self.digest.hex(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> VerifyingKey:
        """The inverse of ``to_json``; checks the digest too. Raises ``FileFormatError``."""
        expected = {"format": _JSON_FORMAT, "version": VERSION, "protocol": "groth16", "curve": "bls12381"}
        if not isinstance(document, Mapping):
            raise FileFormatError("file.json", "a verifying key must be a JSON object")
        for name, value in expected.items():
            if document.get(name) != value:
                raise FileFormatError("file.json", f"{name} must be {value!r}", field=name)
        ic = document.get("ic")
        if not isinstance(ic, list):
            raise FileFormatError("file.json", "ic must be a list of hex strings", field="ic")
        alpha, beta, gamma, delta = (_from_hex(document.get(name), name) for name in _POINTS)
        key = cls(
            str(document.get("setup")),
            _from_hex(document.get("statement_digest"), "statement_digest"),
            alpha,
            beta,
            gamma,
            delta,
            tuple(_from_hex(point, f"ic[{index}]") for index, point in enumerate(ic)),
        )
        if document.get("digest") != key.digest.hex():
            raise FileFormatError("file.hash", "the digest is not that of this key", field="digest")
        return key


def _refuse_known_exponents(gamma: G2Point, delta: G2Point) -> None:
    """Refuse γ and δ that a forger can relate.

    γ keeps the public inputs apart from what the prover may choose, C, which is paired with δ. If
    δ = ±γ, the proof A = α, B = β, C = ∓Σ x_i IC_i satisfies the equation for every x, without a witness:
    e(α, β) = e(α, β) · e(IC(x), γ) · e(∓IC(x), ±γ). That is the state of a ceremony file whose second phase
    nobody contributed to (γ = δ = generator), and it has been exploited. A generator in either place is a
    known exponent, which the argument for soundness does not allow: with δ = ±1 and the powers of a
    public first phase, C can be computed for every x. Our setup draws both at random.
    """
    generator = G2Point()
    known = (generator, -generator)
    if delta in (gamma, -gamma):
        raise FileFormatError("file.unsafe_key", "delta is plus or minus gamma: anyone could forge proofs")
    for name, point in (("gamma_g2", gamma), ("delta_g2", delta)):
        if point in known:
            raise FileFormatError(
                "file.unsafe_key", f"{name} is the generator, its exponent is known to anyone", field=name
            )


def _decoded(decode: Callable[[bytes], Point], data: bytes, field: str) -> Point:
    try:
        return decode(data)
    except PointError as error:
        raise FileFormatError(
            f"file.point_{error.fault}", f"{field}: {_FAULTS[error.fault]}", field=field
        ) from None


def _from_hex(text: Any, field: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except (TypeError, ValueError):
        raise FileFormatError("file.json", f"{field} must be a string of hex digits", field=field) from None
