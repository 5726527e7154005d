"""Members of ``.npz`` files, by a grammar that has one reading (docs/formats.md, "Arrays of numbers").

A ZIP archive states most things two or three times, and readers differ in which statement they believe. Here
all statements must agree, and no bytes may lie between them. web/verifier/npz.ts refuses the same files with
the same words.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"PK"
_END: Final = struct.Struct("<4sHHHHIIH")
_ENTRY: Final = struct.Struct("<4sH10sIIIHHHHHII")
_LOCAL: Final = struct.Struct("<4s10sIIIHH")
_ZIP64_LOCATOR: Final = b"PK\x06\x07"
_ZIP64_LOCATOR_BYTES: Final = 20
_ZIP64_SIZES: Final = 1
_SIZES64: Final = struct.Struct("<QQ")
_UNREAD_EXTRA: Final = {0x000A, 0x5455, 0x7875}
"""Ids of fields with times and owners of a file."""
_MAX_U16: Final = 0xFFFF
_MAX_U32: Final = 0xFFFFFFFF
_MAX_VERSION: Final = 45
_DESCRIPTOR: Final = 0x0008
_UTF8: Final = 0x0800
_FLAGS: Final = _DESCRIPTOR | _UTF8 | 0x0006
"""The flags that a file may have; the last two are the compression level."""
_STORED, _DEFLATED = 0, 8
_UNUSUAL_NAME: Final = re.compile(r"[\x00-\x1f\x7f\\]")
_SUFFIX: Final = ".npy"
_DISAGREE: Final = "a file's header and its directory disagree"


@dataclass(frozen=True)
class _Entry:
    """A file in the directory. ``common``: the bytes that its local header repeats."""

    common: bytes
    checksum: int
    packed: int
    size: int
    name: bytes
    flags: int
    method: int


def read_members(data: bytes) -> dict[str, bytes]:
    """The files in an archive by their names, without ``.npy``. Raises ``ValueError``."""
    end = len(data) - _END.size
    if end < 0 or not data.startswith(b"PK\x05\x06", end):
        raise ValueError("it is no ZIP archive, it is cut short, or something follows its end record")
    _, disk, first_disk, here, count, size, start, comment = _END.unpack_from(data, end)
    if data.startswith(_ZIP64_LOCATOR, end - _ZIP64_LOCATOR_BYTES) or count == _MAX_U16 or start == _MAX_U32:
        raise ValueError("it is a ZIP64 archive")
    if disk or first_disk or comment or here != count or start + size != end:
        raise ValueError("its end record is not that of one whole ZIP archive without a comment")
    files: dict[str, bytes] = {}
    names: set[str] = set()
    place, at = 0, start
    for _ in range(count):
        entry, at = _read_entry(data, at, end, place)
        content, place = _read_local(data, place, start, entry)
        name = _name(entry)
        own = {name, name.removesuffix(_SUFFIX)}
        if names & own:
            raise ValueError("two files in it have one name")
        names |= own
        files[name.removesuffix(_SUFFIX)] = _unpack(content, entry)
    if at != end or place != start:
        raise ValueError("there are bytes that belong to no file in it")
    return files


def _read_entry(data: bytes, at: int, end: int, place: int) -> tuple[_Entry, int]:
    """The entry at ``at`` in the directory, whose file must lie at ``place``, and where the next one is."""
    if at + _ENTRY.size > end or not data.startswith(b"PK\x01\x02", at):
        raise ValueError("its directory does not list as many files as it says")
    _, _, common, checksum, packed, size, name_bytes, extra_bytes, comment, disk, _, _, offset = (
        _ENTRY.unpack_from(data, at)
    )
    version, flags, method = struct.unpack_from("<HHH", common)
    if flags & ~_FLAGS or version > _MAX_VERSION or method not in (_STORED, _DEFLATED):
        raise ValueError("it is packed in ways that numpy does not use")
    if disk or comment:
        raise ValueError("a file in it has a comment, or lies in another archive")
    if offset != place:
        raise ValueError("its files do not follow one another in the order of its directory")
    after = at + _ENTRY.size + name_bytes + extra_bytes
    if after > end:
        raise ValueError("its directory does not list as many files as it says")
    name = data[at + _ENTRY.size : after - extra_bytes]
    if any(True for _ in _extra_fields(data[after - extra_bytes : after])):
        raise ValueError("a file in it has fields that numpy does not write")
    return _Entry(common, checksum, packed, size, name, flags, method), after


def _read_local(data: bytes, place: int, start: int, entry: _Entry) -> tuple[bytes, int]:
    """The bytes of the file whose header is at ``place``, packed, and where the next one is."""
    if place + _LOCAL.size > start or not data.startswith(b"PK\x03\x04", place):
        raise ValueError("a file is not where its directory says")
    _, common, checksum, packed, size, name_bytes, extra_bytes = _LOCAL.unpack_from(data, place)
    begin = place + _LOCAL.size + name_bytes + extra_bytes
    after = begin + entry.packed
    if after > start:
        raise ValueError("a file in it is cut short")
    zip64 = list(_extra_fields(data[begin - extra_bytes : begin]))
    is_late = bool(entry.flags & _DESCRIPTOR)
    if zip64 and (len(zip64) > 1 or len(zip64[0]) != _SIZES64.size or (packed, size) != (_MAX_U32, _MAX_U32)):
        raise ValueError(_DISAGREE)
    if zip64:
        size, packed = _SIZES64.unpack(zip64[0])
    own = (entry.checksum, entry.packed, entry.size)
    if (
        common != entry.common
        or data[place + _LOCAL.size : begin - extra_bytes] != entry.name
        or any(
            stated != value and not (is_late and stated == 0)
            for stated, value in zip((checksum, packed, size), own, strict=True)
        )
    ):
        raise ValueError(_DISAGREE)
    descriptor = struct.pack("<4sIQQ" if zip64 else "<4sIII", b"PK\x07\x08", *own) if is_late else b""
    if not data.startswith(descriptor, after) or after + len(descriptor) > start:
        raise ValueError(_DISAGREE)
    return data[begin:after], after + len(descriptor)


def _extra_fields(data: bytes) -> Iterator[bytes]:
    """Yield the contents of the extra fields that hold 64-bit sizes. Raises ``ValueError`` for any other
    extra field than times and owners."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack("<HH", data[at : at + 4].ljust(4, b"\xff"))
        at += 4 + length
        if at > len(data) or kind not in {_ZIP64_SIZES, *_UNREAD_EXTRA}:
            raise ValueError("a file in it has fields that numpy does not write")
        if kind == _ZIP64_SIZES:
            yield data[at - length : at]


def _name(entry: _Entry) -> str:
    try:
        name = entry.name.decode("utf-8" if entry.flags & _UTF8 else "ascii")
    except UnicodeDecodeError:
        raise ValueError("a file's name in it is not in its alphabet") from None
    if _UNUSUAL_NAME.search(name):
        raise ValueError("a file's name in it has a backslash or a control character")
    return name


def _unpack(content: bytes, entry: _Entry) -> bytes:
    file = content if entry.method == _STORED else _inflate(content, entry.size)
    if len(file) != entry.size or zlib.crc32(file) != entry.checksum:
        raise ValueError("a file in it is damaged")
    return file


def _inflate(content: bytes, size: int) -> bytes:
    """Return what one whole stream unpacks to, ``size`` + 1 bytes at most. Raises ``ValueError``."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        file = stream.decompress(content, size + 1)
    except zlib.error:
        raise ValueError("a file in it is damaged") from None
    if not stream.eof or stream.unused_data:
        raise ValueError("a file in it is damaged")
    return file
