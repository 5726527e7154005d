"""The 16 bytes that open every file of ZenServe: magic, version, kind."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from zenserve.errors import FileFormatError


class Kind(NamedTuple):
    """The kind of a file: a code of 4 bytes, and the one version of that kind that this program reads."""

    code: bytes
    version: int


MAGIC: Final = b"ZENSERVE"
VERIFYING_KEY: Final = Kind(b"vkey", 3)
OLD_VERIFYING_KEY: Final = Kind(b"vkey", 2)
"""Its challenges are by SHA-512 (docs/formats.md, "Challenges"). No such key is made any more."""
FOLDING_VERIFYING_KEY: Final = Kind(b"vkey", 4)
"""Version 3 with public inputs that are folded (docs/formats.md, "Verifying key")."""
PROVING_KEY: Final = Kind(b"pkey", 3)
PROOF: Final = Kind(b"prof", 1)
COMMITMENT_BASIS: Final = Kind(b"base", 1)
STATEMENT: Final = Kind(b"stmt", 2)
CEREMONY_STATE: Final = Kind(b"phs2", 2)

PREAMBLE_BYTES: Final = 16


def preamble(kind: Kind) -> bytes:
    """Magic (8 bytes), version (u32, little-endian) and the kind's code (4 bytes)."""
    return struct.pack("<8sI4s", MAGIC, kind.version, kind.code)


def check_preamble(data: bytes, kind: Kind) -> None:
    """Raises ``FileFormatError``: ``file.length``, ``file.magic``, ``file.kind``, ``file.version``."""
    if len(data) < PREAMBLE_BYTES:
        raise FileFormatError("file.length", f"{len(data)} bytes are too few for any ZenServe file")
    magic, version, code = struct.unpack_from("<8sI4s", data)
    if magic != MAGIC:
        raise FileFormatError("file.magic", "this is not a ZenServe file")
    if code != kind.code:
        raise FileFormatError("file.kind", f"the file holds {code!r}, {kind.code!r} was expected")
    if version != kind.version:
        raise FileFormatError(
            "file.version", f"the file has version {version} of its kind, this program reads {kind.version}"
        )
