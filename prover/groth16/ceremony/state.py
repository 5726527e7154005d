"""What contributors pass on: the key so far, and everybody's contribution to it."""

from __future__ import annotations

import hashlib
import itertools
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.base import container
from zenserve.base.container import Section
from zenserve.errors import FileFormatError
from zenserve.kernels import FrArray, WordArray, fr, g1, g2
from zenserve.prover.groth16.ceremony import chain
from zenserve.prover.groth16.ceremony.chain import Contribution
from zenserve.prover.groth16.commitment import blinding_point
from zenserve.prover.groth16.point_arrays import check_points
from zenserve.verifier.beacon import Beacon
from zenserve.verifier.groth16.setup_transcript import HEADER, MAX_NAME_BYTES, people_and_beacon
from zenserve.verifier.preamble import CEREMONY_STATE

_G1: Final = Section("<u8", g1.shape)
_G2: Final = Section("<u8", g2.shape)
_COLUMNS: Final = Section("<u4")
_HASH: Final = Section("|u1")

FIXED: Final = {
    "alpha_g1": _G1,
    "beta_g1": _G1,
    "beta_g2": _G2,
    "ic": _G1,
    "a_columns": _COLUMNS,
    "a": _G1,
    "b_columns": _COLUMNS,
    "b_g1": _G1,
    "b_g2": _G2,
    "segments": _G1,
    "basis": _G1,
    "first_private": _G1,
    "first_quotient": _G1,
}
"""The arrays that no contribution changes: all of the start is in them."""

CHANGING: Final = dict.fromkeys(("delta_g1", "private", "quotient", "knowledge", "links"), _G1)
"""The arrays that every contribution changes."""

_SECTIONS: Final = {
    "statement_digest": _HASH,
    "counts": Section("<u8"),
    "shapes": Section("<u4", (2,)),
    **FIXED,
    **CHANGING,
    "names": Section("|u1", (MAX_NAME_BYTES,)),
    "secrets_g2": _G2,
    "nonces": _G2,
    "responses": Section("<u8", (4,)),
}
_TAG: Final = b"zenserve ceremony 1"
_FINITE: Final = {*FIXED, "delta_g1", "quotient", "secrets_g2", "nonces"} - {"segments", "first_private"}


class Shape(NamedTuple):
    """Of a segment."""

    size: int
    linked: bool


class Link(NamedTuple):
    """The bases of a linked segment: k_1 times ``inside`` and k_2 times ``outside`` is its part of ``links``.

    Both uint64[size + 2, 2, 6]: K_i, K_blind, infinity; U_i, infinity, H.
    """

    part: slice
    inside: WordArray
    outside: WordArray


@dataclass(frozen=True, eq=False)
class State:
    """A proving key whose secrets so far are those of ``contributions``, γ = 1.

    The arrays are those of ``ProvingKey`` and of its verifying key, uncompressed; ``basis``: U_i = [τ^i]_1
    for the longest linked segment, empty without one; ``first_private``, ``first_quotient``: ``private`` and
    ``quotient`` before any contribution. ``powers_contributions``: how many shared in making the powers of
    tau; ``shapes``: the statement's segments; ``folded``: how many of its public inputs are folded.
    """

    statement_digest: bytes
    powers_contributions: int
    challenges: int
    shapes: tuple[Shape, ...]
    alpha_g1: WordArray
    beta_g1: WordArray
    beta_g2: WordArray
    ic: WordArray
    a_columns: NDArray[np.uint32]
    a: WordArray
    b_columns: NDArray[np.uint32]
    b_g1: WordArray
    b_g2: WordArray
    segments: WordArray
    basis: WordArray
    first_private: WordArray
    first_quotient: WordArray
    delta_g1: WordArray
    private: WordArray
    quotient: WordArray
    knowledge: WordArray
    links: WordArray
    contributions: tuple[Contribution, ...] = ()
    folded: int = 0

    @property
    def multiplied(self) -> int:
        """How many secrets are products of shares: δ and one σ for each segment."""
        return 1 + len(self.shapes)

    @property
    def added(self) -> int:
        """How many secrets are sums of shares: two for each link."""
        return 2 * sum(shape.linked for shape in self.shapes)

    @cached_property
    def origin(self) -> bytes:
        """SHA-256 of the start, which all proofs of shares are bound to: 32 bytes."""
        hasher = hashlib.sha256(_TAG)
        for name in START:
            if name != "folded" or self.folded:  # there were none when the first ceremonies began
                _absorb(hasher, getattr(self, name))
        return hasher.digest()

    def difference(self, other: State) -> str | None:
        """The first field in ``START`` that is not the same in ``other``; None if both started alike."""
        differ = (n for n in START if not np.array_equal(getattr(self, n), getattr(other, n)))
        return next(differ, None)

    @cached_property
    def chain(self) -> tuple[WordArray, tuple[bytes, ...]]:
        """[δ]_2, every [σ]_2, every [k_1]_2 and [k_2]_2; and the contributions' hashes.

        Raises ``CeremonyError`` where a contribution does not prove its shares.
        """
        return chain.follow(self.origin, self.multiplied, self.added, self.contributions)

    @property
    def people(self) -> int:
        """How many contributions are not a beacon's."""
        return people_and_beacon([each.name for each in self.contributions])[0]

    @property
    def beacon(self) -> Beacon | None:
        """The beacon that closed the ceremony: ``chain`` tells whether its contribution is."""
        return people_and_beacon([each.name for each in self.contributions])[1]

    @property
    def transcript(self) -> dict[str, Any]:
        """What shows, with the key alone, that these contributions made its secrets: JSON-able, for
        ``zenserve.verifier.groth16.setup_transcript``.
        """
        contributions = [contribution.shown.to_json() for contribution in self.contributions]
        return {**HEADER, "origin": self.origin.hex(), "contributions": contributions}

    @property
    def segment_ranges(self) -> list[slice]:
        """Where each segment is in ``segments`` and ``knowledge``."""
        ends = np.cumsum([0, *(shape.size + 1 for shape in self.shapes)]).tolist()
        return [slice(start, end) for start, end in itertools.pairwise(ends)]

    def iterate_links(self) -> Iterator[Link]:
        """The linked segments, in order."""
        infinity, end = np.zeros((1, *g1.shape), dtype=np.uint64), 0
        for shape, part in zip(self.shapes, self.segment_ranges, strict=True):
            if shape.linked:
                start, end = end, end + shape.size + 2
                inside = np.concatenate([self.segments[part], infinity])
                outside = np.concatenate([self.basis[: shape.size], infinity, blinding_point()])
                yield Link(slice(start, end), inside, outside)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to ``path``, atomically (docs/ceremony.md)."""
        container.write(path, CEREMONY_STATE, self._arrays())

    def _arrays(self) -> dict[str, NDArray[Any]]:
        names = [c.name.encode().ljust(MAX_NAME_BYTES, b"\0") for c in self.contributions]
        return {
            "statement_digest": np.frombuffer(self.statement_digest, np.uint8),
            "counts": np.array(
                [self.powers_contributions, self.challenges, *([self.folded] if self.folded else [])],
                np.uint64,
            ),
            "shapes": np.array(self.shapes, np.uint32).reshape(-1, 2),
            **{name: getattr(self, name) for name in (*FIXED, *CHANGING)},
            "names": np.frombuffer(b"".join(names), np.uint8).reshape(-1, MAX_NAME_BYTES),
            "secrets_g2": _joined([c.secrets_g2 for c in self.contributions], g2.shape),
            "nonces": _joined([c.nonces for c in self.contributions], g2.shape),
            "responses": _joined([c.responses for c in self.contributions], (4,)),
        }

    def file_bytes(self, contributions: int) -> int:
        """The length of the file of a state that started as this one did, after so many contributions."""
        counts = {name: len(array) for name, array in self._arrays().items()} | {"names": contributions}
        secrets = contributions * (self.multiplied + self.added)
        return container.file_bytes(
            _SECTIONS, counts | dict.fromkeys(("secrets_g2", "nonces", "responses"), secrets)
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int = 1) -> State:
        """The state in the file at ``path``: shapes fit, points are in the subgroup, proofs of shares hold.

        A contributor's shares multiply the file's points, and points outside the subgroup would betray
        them. Raises ``FileFormatError`` (``file.*``), ``CeremonyError`` (``ceremony.contribution``,
        ``ceremony.name``, ``ceremony.beacon``).
        """
        state = cls.read(path)
        state.examine(threads=threads)
        return state

    def examine(self, *, after: State | None = None, threads: int = 1) -> None:
        """Points and proofs of shares, of a state that was read. Points that are those of ``after``, a state
        that was loaded before, are not checked again. Raises as ``load``.
        """
        for name, array in self._arrays().items():
            group = {_G1: g1, _G2: g2}.get(_SECTIONS[name])
            known = after is not None and name in FIXED and np.array_equal(array, getattr(after, name))
            if group is not None and not known:
                check_points(array, group, name, finite=name in _FINITE, threads=threads)
        for contribution in self.contributions:
            _require("responses", bool(fr.is_canonical(contribution.responses).all()))
        self.chain  # noqa: B018 - raises where a proof is wrong

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> State:
        """The state in the file at ``path``, whose shapes fit. Nothing else is checked: for files that were
        loaded before, and kept. Raises ``FileFormatError`` (``file.*``).
        """
        arrays: dict[str, Any] = container.read(path, CEREMONY_STATE, _SECTIONS)
        _require("statement_digest", len(arrays["statement_digest"]) == 32)
        _require("counts", len(arrays["counts"]) == 2 or (len(arrays["counts"]) == 3 and arrays["counts"][2]))
        _require("shapes", bool((arrays["shapes"][:, 1] <= 1).all()))
        powers_contributions, challenges, *folded = arrays["counts"].tolist()
        state = cls(
            arrays["statement_digest"].tobytes(),
            powers_contributions,
            challenges,
            tuple(Shape(size, bool(linked)) for size, linked in arrays["shapes"].tolist()),
            **{name: arrays[name] for name in (*FIXED, *CHANGING)},
            contributions=tuple(_contributions(arrays)),
            folded=sum(folded),
        )
        state._check_shapes()
        return state

    @property
    def _folds_what_is_committed(self) -> bool:
        return any(not last.linked and last.size >= self.folded for last in self.shapes[-1:])

    def _check_shapes(self) -> None:
        longest = max((shape.size for shape in self.shapes if shape.linked), default=None)
        size = sum(shape.size + 1 for shape in self.shapes)
        secrets = self.multiplied + self.added
        fits = {
            **{
                name: len(getattr(self, name)) == 1 for name in ("alpha_g1", "beta_g1", "beta_g2", "delta_g1")
            },
            "ic": len(self.ic) > self.challenges,
            "folded": not self.folded or (self.challenges > 1 and self._folds_what_is_committed),
            "first_private": len(self.private) == len(self.first_private),
            "first_quotient": len(self.quotient) == len(self.first_quotient),
            "a": len(self.a) == len(self.a_columns),
            "b_g1": len(self.b_g1) == len(self.b_g2) == len(self.b_columns),
            "segments": len(self.segments) == size,
            "knowledge": len(self.knowledge) == size,
            "links": len(self.links) == sum(shape.size + 2 for shape in self.shapes if shape.linked),
            "basis": len(self.basis) == (0 if longest is None else max(longest, 2)),
            "secrets_g2": all(len(c.secrets_g2) == secrets for c in self.contributions),
        }
        for name, fit in fits.items():
            _require(name, fit)


START: Final = tuple(each.name for each in fields(State) if each.name not in (*CHANGING, "contributions"))
"""The fields of a state that no contribution changes: a ceremony is bound to every one of them."""


def _absorb(hasher: hashlib._Hash, value: bytes | int | tuple[Shape, ...] | NDArray[Any]) -> None:
    if isinstance(value, bytes):
        hasher.update(value)
    elif isinstance(value, int):
        hasher.update(struct.pack("<Q", value))
    else:
        array = np.ascontiguousarray(np.array(value, "<u8") if isinstance(value, tuple) else value)
        hasher.update(struct.pack("<Q", len(array)))
        hasher.update(array.data)


def _contributions(arrays: dict[str, NDArray[Any]]) -> Iterator[Contribution]:
    count = len(arrays["names"])
    secrets, rest = divmod(len(arrays["secrets_g2"]), count) if count else (0, len(arrays["secrets_g2"]))
    columns = [arrays[name] for name in ("secrets_g2", "nonces", "responses")]
    _require("names", rest == 0 and all(len(column) == count * secrets for column in columns))
    for index, name in enumerate(arrays["names"]):
        part = slice(index * secrets, (index + 1) * secrets)
        text = name.tobytes().rstrip(b"\0").decode(errors="replace")
        yield Contribution(text, *(column[part] for column in columns))


def _joined(parts: list[WordArray], item: tuple[int, ...]) -> FrArray:
    return np.concatenate([np.zeros((0, *item), dtype=np.uint64), *parts])


def _require(name: str, holds: bool) -> None:
    if not holds:
        raise FileFormatError("file.shape", f"{name} does not fit the rest of the state", field=name)
