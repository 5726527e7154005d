"""The container of iden3's files: magic, version, and sections {id, length, body} in any order.

All integers are little-endian. Bodies are handed out as views of a memory map; whoever reads one checks its
length against what it announces before anything is allocated.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Collection, Iterable
from typing import BinaryIO, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.errors import FileFormatError

Bytes = NDArray[np.uint8]

_HEADER = struct.Struct("<4sII")
_SECTION = struct.Struct("<IQ")
_MAX_SECTIONS = 64


class Format(NamedTuple):
    """A kind of file: four bytes of ASCII, and the one version of it that is read and written."""

    magic: bytes
    version: int


R1CS: Final = Format(b"r1cs", 1)
WTNS: Final = Format(b"wtns", 2)
ZKEY: Final = Format(b"zkey", 1)
PTAU: Final = Format(b"ptau", 1)


def read(path: str | os.PathLike[str], form: Format, required: Collection[int]) -> dict[int, Bytes]:
    """The sections of the file at ``path`` by their numbers, read-only; at least those ``required``.

    Raises ``FileFormatError``: ``file.length``, ``file.magic``, ``file.version``, ``file.section``;
    ``OSError`` where there is no readable file.
    """
    with open(path, "rb") as file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            raise FileFormatError("file.length", f"{len(header)} bytes are too few for any file of iden3's")
        mapped = np.asarray(np.memmap(file, dtype=np.uint8, mode="r"))
    magic, version, count = _HEADER.unpack(header)
    if magic != form.magic:
        raise FileFormatError("file.magic", f"the file begins with {magic!r}, not with {form.magic!r}")
    if version != form.version:
        raise FileFormatError(
            "file.version",
            f"the file has version {version} of {form.magic.decode()}, this program reads {form.version}",
        )
    sections = _sections(mapped, count)
    missing = sorted(set(required) - set(sections))
    if missing:
        raise FileFormatError("file.section", f"the file lacks section {missing[0]}")
    return sections


def _sections(mapped: Bytes, count: int) -> dict[int, Bytes]:
    if count > _MAX_SECTIONS:
        raise FileFormatError("file.section", f"{count} sections are not plausible")
    sections: dict[int, Bytes] = {}
    position = _HEADER.size
    for _ in range(count):
        prefix = mapped[position : position + _SECTION.size].tobytes()
        if len(prefix) < _SECTION.size:
            raise FileFormatError("file.length", f"the file is cut short after {len(mapped)} bytes")
        number, length = _SECTION.unpack(prefix)
        position += _SECTION.size
        if length > len(mapped) - position:
            raise FileFormatError(
                "file.length", f"section {number} announces {length} bytes, {len(mapped) - position} are left"
            )
        if number in sections:
            raise FileFormatError("file.section", f"the file has section {number} twice")
        sections[number] = mapped[position : position + length]
        position += length
    if position != len(mapped):
        raise FileFormatError("file.length", f"{len(mapped) - position} bytes follow the last section")
    return sections


def write_header(file: BinaryIO, form: Format, sections: int) -> None:
    """Open a file of so many ``sections``; each is to follow by ``write_section``."""
    file.write(_HEADER.pack(form.magic, form.version, sections))


def write_section(file: BinaryIO, number: int, chunks: Iterable[bytes | memoryview]) -> None:
    """Append a section whose body is the concatenation of ``chunks``, taken one at a time."""
    start = file.tell()
    file.write(_SECTION.pack(number, 0))
    length = sum(file.write(chunk) for chunk in chunks)
    file.seek(start)
    file.write(_SECTION.pack(number, length))
    file.seek(0, os.SEEK_END)


def modulus_header(modulus: int) -> bytes:
    """Return the field in iden3's headers: the bytes of an element (u32), then the modulus."""
    size = 8 * -(-modulus.bit_length() // 64)
    return struct.pack("<I", size) + modulus.to_bytes(size, "little")


class Reader:
    """Takes values from the front of a section. Raises ``FileFormatError`` (``file.length``)."""

    def __init__(self, body: Bytes, name: str) -> None:
        self._body = body
        self._name = name
        self._position = 0

    def take(self, length: int) -> Bytes:
        start, self._position = self._position, self._position + length
        if self._position > len(self._body):
            raise FileFormatError("file.length", f"{self._name} is cut short after {len(self._body)} bytes")
        return self._body[start : self._position]

    def u32(self) -> int:
        return int.from_bytes(self.take(4).tobytes(), "little")

    def modulus(self, expected: int) -> None:
        """Step over the modulus of a field. ``file.curve`` where it is not ``expected``."""
        header = modulus_header(expected)
        size = self.u32()
        if size != len(header) - 4 or self.take(size).tobytes() != header[4:]:
            raise FileFormatError(
                "file.curve", f"{self._name}: the file is not over bls12381, the only curve that is read"
            )

    def finish(self) -> None:
        if self._position != len(self._body):
            raise FileFormatError(
                "file.length", f"{len(self._body) - self._position} bytes follow the end of {self._name}"
            )
