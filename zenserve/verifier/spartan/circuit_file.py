"""Circuits from files, as ``zenserve.prover.constraint_file`` writes them (docs/formats.md), without any
library.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from zenserve.errors import FileFormatError
from zenserve.verifier.document import parse_json
from zenserve.verifier.preamble import PREAMBLE_BYTES, STATEMENT, check_preamble
from zenserve.verifier.spartan.circuit import Circuit, Matrix
from zenserve.verifier.spartan.field import FR

_ALIGNMENT: Final = 64
_PREFIX: Final = 64
_HASHED: Final = 32
# Variables that no row reads take no bytes: not more than so many, or than there are entries.
_MOST_UNREAD: Final = 1 << 16
# Of each section the bytes of an item, and the numbers that it is made of, as ``memoryview.cast`` names them.
_SECTIONS: Final[Mapping[str, tuple[int, Literal["B", "I", "q", "Q"]]]] = {
    "counts": (8, "Q"),
    "segments": (8, "I"),
    "names": (1, "B"),
    "shapes": (24, "Q"),
    "offsets": (8, "q"),
    "columns": (4, "I"),
    "coefficients": (4, "I"),
    "pool": (FR.element_bytes, "B"),
    "description": (1, "B"),
}
Sections = Mapping[str, memoryview]


def read_circuit(data: bytes) -> Circuit:
    """The circuit that these bytes are the file of. Raises ``FileFormatError`` (``file.*``)."""
    sections = _sections(data)
    counts, segments = sections["counts"].tolist(), sections["segments"].tolist()
    _require(len(counts) == 3 and all(flag <= 1 for flag in segments[1::2]), "counts")
    public, challenges, private = counts
    pairs = tuple((size, bool(linked)) for size, linked in zip(segments[::2], segments[1::2], strict=True))
    matrices = _matrices(sections)
    _require(len(matrices) % 3 == 0, "shapes")
    blocks = tuple(zip(matrices[::3], matrices[1::3], matrices[2::3], strict=True))
    _require(all(a.rows == b.rows == c.rows for a, b, c in blocks), "shapes")
    variables = 1 + public + challenges + private + sum(size + 1 for size, _ in pairs)
    columns = sections["columns"]
    _require(variables <= _MOST_UNREAD + len(columns), "counts")
    _require(max(columns, default=0) < variables, "columns")
    instance = 1 + public + challenges
    blinding = {end - 1 for end in itertools.accumulate([instance, *(size + 1 for size, _ in pairs)])}
    _require((blinding - {instance - 1}).isdisjoint(columns), "columns")
    return Circuit(public, challenges, pairs, private, blocks)


def _sections(data: bytes) -> Sections:
    """By name, each as its numbers."""
    check_preamble(data, STATEMENT)
    if len(data) < _PREFIX:
        raise FileFormatError("file.length", f"the file is cut short after {len(data)} bytes")
    header_length, length = struct.unpack_from("<QQ", data, PREAMBLE_BYTES)
    if len(data) != length:
        raise FileFormatError("file.length", f"the file has {len(data)} bytes, its header says {length}")
    if hashlib.sha256(data[:_HASHED] + data[_PREFIX:]).digest() != data[_HASHED:_PREFIX]:
        raise FileFormatError("file.hash", "the file is corrupt: its SHA-256 does not match")
    end = _PREFIX + header_length
    counts = _counts(data[_PREFIX:end])
    found = {}
    for name, (width, kind) in _SECTIONS.items():
        start = -(-end // _ALIGNMENT) * _ALIGNMENT
        end = start + counts[name] * width
        if end > len(data):
            raise FileFormatError("file.header", f"section {name} does not fit into the file", field=name)
        found[name] = memoryview(data)[start:end].cast(kind)
    if end != len(data):
        raise FileFormatError("file.header", f"{len(data) - end} bytes follow the last section")
    return found


def _counts(header: bytes) -> Mapping[str, int]:
    try:
        counts = parse_json(header)
    except ValueError:
        counts = None
    right = isinstance(counts, dict) and list(counts) == list(_SECTIONS)
    if not right or not all(type(count) is int and count >= 0 for count in counts.values()):
        raise FileFormatError("file.header", "the header does not map the sections to counts")
    return counts  # type: ignore[no-any-return]


def _matrices(sections: Sections) -> list[Matrix]:
    shapes, pool = sections["shapes"].tolist(), FR.from_bytes(sections["pool"].tobytes())
    _require(all(value < FR.modulus for value in pool), "pool")
    _require(len(sections["coefficients"]) == len(sections["columns"]), "coefficients")
    found, at, entry, constant = [], 0, 0, 0
    for rows, entries, constants in zip(shapes[::3], shapes[1::3], shapes[2::3], strict=True):
        offsets = sections["offsets"][at : at + rows + 1]
        columns = sections["columns"][entry : entry + entries]
        coefficients = sections["coefficients"][entry : entry + entries]
        at, entry, constant = at + rows + 1, entry + entries, constant + constants
        _require(len(offsets) == rows + 1 and len(columns) == entries and constant <= len(pool), "shapes")
        _require(_are_offsets(offsets, entries), "offsets")
        _require(max(coefficients, default=-1) < constants, "coefficients")
        found.append(Matrix(offsets, columns, coefficients, pool[constant - constants : constant]))
    sizes = (len(sections["offsets"]), len(sections["columns"]), len(pool))
    _require((at, entry, constant) == sizes, "shapes")
    return found


def _are_offsets(offsets: Sequence[int], entries: int) -> bool:
    ordered = all(here <= following for here, following in itertools.pairwise(offsets))
    return offsets[0] == 0 and offsets[-1] == entries and ordered


def _require(holds: bool, section: str) -> None:
    if not holds:
        raise FileFormatError("file.shape", f"{section} does not fit the rest of the circuit", field=section)
