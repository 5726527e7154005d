"""What a verifier needs: checked on every path by which it can come into being.

Needs Python and the pairing library only, like verification itself.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, NamedTuple, TypeVar

from py_arkworks_bls12381 import G1Point, G2Point

from zenserve.errors import FileFormatError
from zenserve.verifier.curve import ARKWORKS, G1, G2, Curve
from zenserve.verifier.document import as_list, check_header, from_hex, hex_list, natural
from zenserve.verifier.groth16.proof import MOST_SEGMENTS
from zenserve.verifier.points import FILE_CODES, G1_BYTES, G2_BYTES, Fault, PointError
from zenserve.verifier.preamble import (
    FOLDING_VERIFYING_KEY,
    OLD_VERIFYING_KEY,
    PREAMBLE_BYTES,
    VERIFYING_KEY,
    Kind,
    check_preamble,
    preamble,
)
from zenserve.verifier.system import CEREMONY, DEVELOPMENT, IMPORTED

_LABELS = (DEVELOPMENT, CEREMONY, IMPORTED)
_LABEL_BYTES = 16
_MOST_MULTIPLE: Final = 4
_HASH_BYTES = 32
_COUNTS = struct.Struct("<4I")
_FOLDED = struct.Struct("<I")
_SEGMENT = struct.Struct("<2I")
_POINTS = {"alpha_g1": G1_BYTES, "beta_g2": G2_BYTES, "gamma_g2": G2_BYTES, "delta_g2": G2_BYTES}
_KINDS: Final = {kind.version: kind for kind in (OLD_VERIFYING_KEY, VERIFYING_KEY, FOLDING_VERIFYING_KEY)}
_JSON_HEADER: Final[Mapping[str, str | int]] = {
    "format": "zenserve verifying key",
    "protocol": "groth16",
    "curve": "bls12381",
}

_FAULTS = {
    Fault.ENCODING: "its flag bits or its length are not those of a compressed point",
    Fault.NOT_CANONICAL: "a coordinate is not below the field modulus",
    Fault.NOT_ON_CURVE: "it is not on the curve",
    Fault.NOT_IN_SUBGROUP: "it is outside the subgroup of prime order",
    Fault.AT_INFINITY: "it is the point at infinity",
}

Point = TypeVar("Point")


@dataclass(frozen=True)
class SegmentKey:
    """What verifies a proof's commitment to one segment of ``size`` variables. Points compressed, 96 bytes.

    ``knowledge_g2`` = [σ]_2; ``link_g2`` = [k_1]_2, [k_2]_2 where the segment is linked to a commitment from
    outside, else None.
    """

    size: int
    knowledge_g2: bytes
    link_g2: tuple[bytes, bytes] | None = None

    def __post_init__(self) -> None:
        link = (b"", b"") if self.link_g2 is None else self.link_g2
        if not (
            type(self.size) is int
            and 0 <= self.size < 1 << 32
            and _are_bytes((self.knowledge_g2,))
            and _are_bytes(link)
            and len(link) == 2
        ):
            raise FileFormatError(
                "file.shape", "a segment's size or points are no such things", field="segments"
            )


class Prepared(NamedTuple, Generic[G1, G2]):
    """Decoded points, ready for the pairing equations."""

    alpha: G1
    beta: G2
    gamma: G2
    delta: G2
    ic: list[G1]
    knowledge: list[G2]
    links: list[tuple[int, G2, G2]]
    """For each linked segment its index, [k_1]_2 and [k_2]_2."""


@dataclass(frozen=True)
class VerifyingKey:
    """Checked on construction: every point canonical, on its curve, in its subgroup, finite; no two related.

    ``setup``: how the key was made, one of the labels above; ``statement_digest``: 32 bytes, the
    ``Statement.digest`` that the key claims to be made for; ``alpha_g1`` 48 bytes, ``beta_g2``, ``gamma_g2``,
    ``delta_g2`` 96 bytes, ``ic`` 1 + public + challenges times 48 bytes, all compressed; ``challenges``: how
    many of the inputs the proof itself determines; ``basis``: U_1 of the commitments that segments are linked
    to, 48 bytes, None where none is; ``contributions``: the hashes of a ceremony's second phase, in order;
    ``version``: 3, or 2 whose challenges are drawn otherwise; ``folded``: how many public inputs, the last
    ones, the equations read through their fold alone, the last of the challenges (docs/groth16.md, "Folded
    inputs"): ``ic`` has so many fewer.
    Raises ``FileFormatError``: ``file.point_*`` with the field's name, ``file.unsafe_key``,
    ``file.setup_label``, ``file.shape``.
    """

    setup: str
    statement_digest: bytes
    alpha_g1: bytes
    beta_g2: bytes
    gamma_g2: bytes
    delta_g2: bytes
    ic: tuple[bytes, ...]
    challenges: int = 0
    segments: tuple[SegmentKey, ...] = ()
    basis: bytes | None = None
    contributions: tuple[bytes, ...] = ()
    version: int = VERIFYING_KEY.version
    folded: int = 0

    def __post_init__(self) -> None:
        if self.setup not in _LABELS:
            raise FileFormatError("file.setup_label", f"unknown setup {self.setup!r}", field="setup")
        self._require(
            {
                **{name: _are_bytes((getattr(self, name),)) for name in ("statement_digest", *_POINTS)},
                "ic": _are_bytes(self.ic),
                "challenges": type(self.challenges) is int,
                "segments": isinstance(self.segments, tuple)
                and all(isinstance(segment, SegmentKey) for segment in self.segments),
                "basis": self.basis is None or _are_bytes((self.basis,)),
                "contributions": _are_bytes(self.contributions),
                "version": self.version in (VERIFYING_KEY.version, OLD_VERIFYING_KEY.version),
                "folded": type(self.folded) is int and self.folded >= 0,
            }
        )
        linked = any(segment.link_g2 is not None for segment in self.segments)
        self._require(
            {
                "statement_digest": len(self.statement_digest) == _HASH_BYTES,
                "ic": len(self.ic) > self.challenges >= 0,
                "challenges": (len(self.segments) > 0 if self.challenges else not linked),
                "segments": len(self.segments) <= MOST_SEGMENTS,
                "folded": not self.folded or self._folds_what_is_committed,
                "basis": (self.basis is not None) == linked,
                "contributions": all(len(hash_) == _HASH_BYTES for hash_ in self.contributions)
                and (len(self.contributions) > 0 or self.setup != CEREMONY),
            }
        )
        if self.basis is not None:
            _decoded(ARKWORKS.decode_g1, self.basis, "basis")
        # Decoding comes first: it gives every bad point its own name.
        self.prepared(ARKWORKS)
        self._refuse_related_points()
        self._refuse_multiples()

    def _require(self, fits: Mapping[str, bool]) -> None:
        for field, right in fits.items():
            if not right:
                raise FileFormatError("file.shape", f"{field} does not fit the rest of the key", field=field)

    def __reduce__(self) -> tuple[object, ...]:
        return VerifyingKey.from_bytes, (self.to_bytes(),)

    def _refuse_related_points(self) -> None:
        """Refuse keys in which one secret is plus or minus another, or known (docs/groth16.md).

        γ keeps the public inputs apart from what the prover chooses: with δ = ±γ anyone forges proofs, and
        with a known δ anyone who has the powers of a first phase. With two equal σ, values move from one
        segment to another; with a known σ or k, a commitment needs no opening. α = β = 1 is the state of a
        first phase that nobody contributed to. Only γ may be the generator, in keys from ceremonies: they fix
        it so (ePrint 2017/1050), and δ then is what keeps the two apart. With two equal points IC a proof for
        one reading of the public inputs serves another; with a basis of known τ anyone opens commitments.
        """
        encoded = {f"ic[{index}]": point for index, point in enumerate(self.ic)}
        if self.basis is not None:
            encoded["basis"] = self.basis
        encoded |= {"beta_g2": self.beta_g2, "gamma_g2": self.gamma_g2, "delta_g2": self.delta_g2}
        for index, segment in enumerate(self.segments):
            encoded[f"segments[{index}].knowledge_g2"] = segment.knowledge_g2
            for i, point in enumerate(segment.link_g2 or ()):
                encoded[f"segments[{index}].link_g2[{i}]"] = point
        generator_g1, generator_g2 = (bytes(g().to_compressed_bytes()) for g in (G1Point, G2Point))
        from_ceremony = self.setup == IMPORTED or len(self.contributions) > 0
        if from_ceremony and self.gamma_is_generator:
            del encoded["gamma_g2"]
        seen = {_without_sign(generator_g1): "the generator", _without_sign(generator_g2): "the generator"}
        for field, point in {"alpha_g1": self.alpha_g1, **encoded}.items():
            other = seen.setdefault(_without_sign(point), field)
            if other != field:
                raise FileFormatError(
                    "file.unsafe_key",
                    f"{field} is plus or minus {other}: anyone could forge proofs. A key whose ceremony "
                    "nobody has contributed to is like that",
                    field=field,
                )

    def _refuse_multiples(self) -> None:
        """Refuse points IC of which small multiples are equal up to sign: with IC_j = 2 IC_i, whatever is
        proven of x_i and x_j is proven of x_i + 2 and x_j - 1. Other ratios take a search, or the secrets:
        that nobody knows any is for whoever made the key to see to.
        """
        seen: dict[bytes, int] = {}
        for index, point in enumerate(self.prepared(ARKWORKS).ic):
            multiple = point
            for _ in range(_MOST_MULTIPLE):
                other = seen.setdefault(_without_sign(bytes(multiple.to_compressed_bytes())), index)
                if other != index:
                    raise FileFormatError(
                        "file.unsafe_key",
                        f"ic[{index}] and ic[{other}] are in proportion: one proof would serve several "
                        "readings of the public inputs",
                        field=f"ic[{index}]",
                    )
                multiple = multiple + point

    @property
    def _folds_what_is_committed(self) -> bool:
        """Whether the last segment can begin with the folded inputs, and there is a challenge to fold at;
        and whether the public inputs can be counted in 32 bits."""
        last = self.segments[-1:]
        committed = any(segment.link_g2 is None and segment.size >= self.folded for segment in last)
        is_folding = self.challenges > 1 and self._kind is FOLDING_VERIFYING_KEY
        return committed and is_folding and self.public < 1 << 32

    @property
    def public(self) -> int:
        """How many public inputs the statement has, challenges not counted."""
        return len(self.ic) - 1 - self.challenges + self.folded

    @property
    def _kind(self) -> Kind:
        is_old = self.version == OLD_VERIFYING_KEY.version
        return OLD_VERIFYING_KEY if is_old else FOLDING_VERIFYING_KEY if self.folded else VERIFYING_KEY

    @property
    def gamma_is_generator(self) -> bool:
        """As in keys of ceremonies: γ needs no pairing of its own then."""
        return self.gamma_g2 == bytes(G2Point().to_compressed_bytes())

    @property
    def linked_sizes(self) -> list[int]:
        """How many values each linked segment has, in order."""
        return [segment.size for segment in self.segments if segment.link_g2 is not None]

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of ``to_bytes()``: the key's identity. 32 bytes."""
        return hashlib.sha256(self.to_bytes()).digest()

    def prepared(self, curve: Curve[G1, G2]) -> Prepared[G1, G2]:
        """The key's points as ``curve`` has them, decoded once."""
        if curve not in self._prepared:
            self._prepared[curve] = self._prepare(curve)
        return self._prepared[curve]

    @cached_property
    def _prepared(self) -> dict[Curve[Any, Any], Prepared[Any, Any]]:
        return {}

    def _prepare(self, curve: Curve[G1, G2]) -> Prepared[G1, G2]:
        alpha = _decoded(curve.decode_g1, self.alpha_g1, "alpha_g1")
        beta, gamma, delta = (
            _decoded(curve.decode_g2, getattr(self, name), name)
            for name in ("beta_g2", "gamma_g2", "delta_g2")
        )
        ic = [_decoded(curve.decode_g1, point, f"ic[{index}]") for index, point in enumerate(self.ic)]
        knowledge, links = [], []
        for index, segment in enumerate(self.segments):
            name = f"segments[{index}]"
            knowledge.append(_decoded(curve.decode_g2, segment.knowledge_g2, f"{name}.knowledge_g2"))
            if segment.link_g2 is not None:
                first, second = (
                    _decoded(curve.decode_g2, point, f"{name}.link_g2[{i}]")
                    for i, point in enumerate(segment.link_g2)
                )
                links.append((index, first, second))
        return Prepared(alpha, beta, gamma, delta, ic, knowledge, links)

    def to_bytes(self) -> bytes:
        """The binary form of docs/formats.md."""
        parts = [
            preamble(self._kind),
            self.setup.encode("ascii").ljust(_LABEL_BYTES, b"\0"),
            self.statement_digest,
            _COUNTS.pack(self.public, self.challenges, len(self.segments), len(self.contributions)),
            _FOLDED.pack(self.folded) if self.folded else b"",
            *(getattr(self, name) for name in _POINTS),
            *self.ic,
        ]
        for segment in self.segments:
            link = segment.link_g2 or ()
            parts += [_SEGMENT.pack(segment.size, bool(link)), segment.knowledge_g2, *link]
        return b"".join([*parts, self.basis or b"", *self.contributions])

    @classmethod
    def from_bytes(cls, data: bytes) -> VerifyingKey:
        """The inverse of ``to_bytes``. Raises ``FileFormatError``."""
        data = bytes(data)
        kind = next((kind for kind in _KINDS.values() if data.startswith(preamble(kind))), VERIFYING_KEY)
        check_preamble(data, kind)
        reader = _Reader(data, PREAMBLE_BYTES)
        setup = reader.take(_LABEL_BYTES).rstrip(b"\0").decode("ascii", errors="replace")
        statement_digest = reader.take(_HASH_BYTES)
        public, challenges, segment_count, contribution_count = _COUNTS.unpack(reader.take(_COUNTS.size))
        folded = _FOLDED.unpack(reader.take(_FOLDED.size))[0] if kind is FOLDING_VERIFYING_KEY else 0
        _require_folded(kind, folded, public)
        alpha, beta, gamma, delta = (reader.take(length) for length in _POINTS.values())
        ic = tuple(reader.run(1 + public - folded + challenges, G1_BYTES))
        segments = tuple(_read_segment(reader) for _ in range(segment_count))
        linked = any(segment.link_g2 is not None for segment in segments)
        basis = reader.take(G1_BYTES) if linked else None
        contributions = tuple(reader.run(contribution_count, _HASH_BYTES))
        reader.finish()
        return cls(
            setup,
            statement_digest,
            alpha,
            beta,
            gamma,
            delta,
            ic,
            challenges,
            segments,
            basis,
            contributions,
            min(kind.version, VERIFYING_KEY.version),
            folded,
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON-able form: compressed points, hashes and digests in lower-case hex."""
        return {
            **_JSON_HEADER,
            "version": self._kind.version,
            "setup": self.setup,
            "statement_digest": self.statement_digest.hex(),
            **{name: getattr(self, name).hex() for name in _POINTS},
            "ic": [point.hex() for point in self.ic],
            "challenges": self.challenges,
            **({"folded": self.folded} if self.folded else {}),
            "segments": [
                {
                    "size": segment.size,
                    "knowledge_g2": segment.knowledge_g2.hex(),
                    "link_g2": [point.hex() for point in segment.link_g2] if segment.link_g2 else None,
                }
                for segment in self.segments
            ],
            "basis": self.basis.hex() if self.basis else None,
            "contributions": [hash_.hex() for hash_ in self.contributions],
            "digest": self.digest.hex(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> VerifyingKey:
        """The inverse of ``to_json``; checks the digest too. Raises ``FileFormatError``."""
        check_header(document, "a verifying key", _JSON_HEADER)
        version = document.get("version")
        if type(version) is not int or version not in _KINDS:
            raise FileFormatError("file.json", f"version must be one of {sorted(_KINDS)}", field="version")
        folded = natural(document.get("folded", 0), "folded")
        _require_folded(_KINDS[version], folded, folded)
        alpha, beta, gamma, delta = (from_hex(document.get(name), name) for name in _POINTS)
        basis = document.get("basis")
        key = cls(
            str(document.get("setup")),
            from_hex(document.get("statement_digest"), "statement_digest"),
            alpha,
            beta,
            gamma,
            delta,
            tuple(hex_list(document.get("ic"), "ic")),
            natural(document.get("challenges"), "challenges"),
            tuple(
                _segment_from_json(value, f"segments[{index}]")
                for index, value in enumerate(as_list(document.get("segments"), "segments"))
            ),
            None if basis is None else from_hex(basis, "basis"),
            tuple(hex_list(document.get("contributions"), "contributions")),
            min(version, VERIFYING_KEY.version),
            folded,
        )
        if document.get("digest") != key.digest.hex():
            raise FileFormatError("file.hash", "the digest is not that of this key", field="digest")
        return key


class _Reader:
    """Takes bytes from the front of ``data``. Raises ``FileFormatError`` (``file.length``)."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._position = position

    def take(self, length: int) -> bytes:
        start, self._position = self._position, self._position + length
        if self._position > len(self._data):
            raise FileFormatError(
                "file.length", f"a verifying key is cut short after {len(self._data)} bytes"
            )
        return self._data[start : self._position]

    def run(self, count: int, length: int) -> Iterator[bytes]:
        whole = self.take(count * length)
        return (whole[start : start + length] for start in range(0, len(whole), length))

    def finish(self) -> None:
        if self._position != len(self._data):
            extra = len(self._data) - self._position
            raise FileFormatError("file.length", f"{extra} bytes follow the end of a verifying key")


def development_key_bytes(inputs: int, segments: int, links: int, *, folds: bool = False) -> int:
    """The length of ``to_bytes()`` for a key by one party, its challenges among the ``inputs``."""
    fixed = PREAMBLE_BYTES + _LABEL_BYTES + _HASH_BYTES + _COUNTS.size + sum(_POINTS.values())
    fixed += _FOLDED.size if folds else 0
    linked = 2 * G2_BYTES * links + (G1_BYTES if links else 0)
    return fixed + (1 + inputs) * G1_BYTES + segments * (_SEGMENT.size + G2_BYTES) + linked


def _require_folded(kind: Kind, folded: int, public: int) -> None:
    """That keys of version 4, and no others, fold inputs."""
    if (folded > 0) != (kind is FOLDING_VERIFYING_KEY) or folded > public:
        raise FileFormatError(
            "file.shape", "the version and the count of folded inputs do not fit", field="folded"
        )


def _are_bytes(values: object) -> bool:
    """Whether it is a tuple of bytes, and of nothing that only passes for them."""
    return isinstance(values, tuple) and all(type(value) is bytes for value in values)


def _without_sign(point: bytes) -> bytes:
    """The x coordinate of a compressed point: what P and −P share."""
    return bytes([point[0] & 0x1F]) + point[1:]


def _read_segment(reader: _Reader) -> SegmentKey:
    size, linked = _SEGMENT.unpack(reader.take(_SEGMENT.size))
    if linked > 1:
        raise FileFormatError("file.shape", "a segment is either linked, 1, or not, 0", field="segments")
    knowledge = reader.take(G2_BYTES)
    return SegmentKey(size, knowledge, (reader.take(G2_BYTES), reader.take(G2_BYTES)) if linked else None)


def _segment_from_json(value: Any, field: str) -> SegmentKey:
    if not isinstance(value, Mapping):
        raise FileFormatError("file.json", f"{field} must be an object", field=field)
    link = value.get("link_g2")
    pair = None if link is None else tuple(hex_list(link, f"{field}.link_g2"))
    if pair is not None and len(pair) != 2:
        raise FileFormatError("file.json", f"{field}.link_g2 must be two points", field=f"{field}.link_g2")
    return SegmentKey(
        natural(value.get("size"), f"{field}.size"),
        from_hex(value.get("knowledge_g2"), f"{field}.knowledge_g2"),
        pair,
    )


def _decoded(decode: Callable[[bytes], Point], data: bytes, field: str) -> Point:
    try:
        return decode(data)
    except PointError as error:
        raise FileFormatError(
            FILE_CODES[error.fault], f"{field}: {_FAULTS[error.fault]}", field=field
        ) from None
