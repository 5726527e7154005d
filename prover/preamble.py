"""The 16 bytes that open every file of ZenServe: magic, version, kind."""

from __future__ import annotations

import struct
from typing import Final

from zenerrors import FileFormatError

MAGIC: Final = b"ZENSERVE"
VERSION: Final = 1
VERIFYING_KEY: Final = b"vkey"
PROVING_KEY: Final = b"pkey"

PREAMBLE_BYTES: Final = 16


def preamble(kind: bytes) -> bytes:
    """Magic (8 bytes), version (u32, little-endian) and kind (4 bytes)."""
    return struct.pack("<8sI4s", MAGIC, VERSION, kind)


def check_preamble(data: bytes, kind: bytes) -> None:
    """Raises ``FileFormatError``: ``file.length``, ``file.magic``, ``file.version``, ``file.kind``."""
    if len(data) < PREAMBLE_BYTES:
        raise FileFormatError("file.length", f"{len(data)} bytes are too few for any ZenServe file")
    magic, version, found = struct.unpack_from("<8sI4s", data)
    if magic != MAGIC:
        raise FileFormatError("file.magic", "this is not a ZenServe file")
    if version != VERSION:
        raise FileFormatError("file.version", f"the file has version {version}, this program reads {VERSION}")
    if found != kind:
        raise FileFormatError("file.kind", f"the file holds {found!r}, {kind!r} was expected")
