"""The one container of ZenServe's binary files: named arrays behind a checked header (docs/formats.md).

Every file opens with a preamble of 16 bytes: magic, version, kind. A container goes on with the lengths of
header and file, a SHA-256 over everything but itself, a JSON header that lists the sections, and the
sections, each aligned to 64 bytes so that it can be used straight from a memory map.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import secrets
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.errors import FileFormatError
from zenserve.verifier.document import parse_json
from zenserve.verifier.preamble import Kind, check_preamble, preamble

_ALIGNMENT = 64
_PREFIX_BYTES = 64
_HASHED_PREFIX_BYTES = 32
_MAX_HEADER_BYTES = 1 << 20
_HASH_CHUNK = 1 << 24


class Section(NamedTuple):
    """The type of a section: ``dtype`` in numpy's notation, and the shape of one item.

    An ``optional`` section may be missing from a file, and is empty then.
    """

    dtype: str
    item: tuple[int, ...] = ()
    optional: bool = False

    @property
    def item_bytes(self) -> int:
        return int(np.prod(self.item, dtype=np.int64)) * np.dtype(self.dtype).itemsize


def write(path: str | os.PathLike[str], kind: Kind, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Save ``arrays`` in order, atomically: ``path`` holds the old file or the whole new one, never less."""
    flat = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    sizes = [array.nbytes for array in flat.values()]
    header, offsets, length = _layout({name: len(array) for name, array in flat.items()}, sizes)
    prefix = preamble(kind) + struct.pack("<QQ", len(header), length)
    hasher = hashlib.sha256(prefix)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            file.write(prefix + bytes(_PREFIX_BYTES - len(prefix)))
            _append(file, hasher, np.frombuffer(header, np.uint8))
            for array, offset in zip(flat.values(), offsets, strict=True):
                _append(file, hasher, np.zeros(offset - file.tell(), np.uint8))
                _append(file, hasher, array.reshape(-1).view(np.uint8))
            file.seek(_HASHED_PREFIX_BYTES)
            file.write(hasher.digest())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_directory(target.parent)


def read(
    path: str | os.PathLike[str], kind: Kind, sections: Mapping[str, Section], *, check_hash: bool = True
) -> dict[str, NDArray[Any]]:
    """The arrays of the file at ``path``, read-only views of one memory map, shaped as ``sections`` says.

    Checks magic, version, kind, length, hash and layout before any array is handed out.
    Raises ``FileFormatError``: ``file.magic``, ``file.version``, ``file.kind``, ``file.length``,
    ``file.hash``, ``file.header``; ``OSError`` where there is no readable file.
    """
    with open(path, "rb") as file:
        prefix = file.read(_PREFIX_BYTES)
        actual = os.fstat(file.fileno()).st_size
        check_preamble(prefix, kind)
        if len(prefix) < _PREFIX_BYTES:
            raise FileFormatError("file.length", f"the file is cut short after {actual} bytes")
        header_length, length = struct.unpack_from("<QQ", prefix, 16)
        if actual != length:
            raise FileFormatError("file.length", f"the file has {actual} bytes, its header says {length}")
        if header_length > min(_MAX_HEADER_BYTES, length - _PREFIX_BYTES):
            raise FileFormatError("file.header", f"a header of {header_length} bytes is not plausible")
        mapped = _map(file)
    if check_hash and _hash(mapped) != prefix[_HASHED_PREFIX_BYTES:]:
        raise FileFormatError("file.hash", "the file is corrupt: its SHA-256 does not match")
    header = mapped[_PREFIX_BYTES : _PREFIX_BYTES + header_length].tobytes()
    return _views(mapped, _PREFIX_BYTES + header_length, _parse(header), sections)


def file_bytes(sections: Mapping[str, Section], counts: Mapping[str, int]) -> int:
    """The length of a file that has ``counts[name]`` items in each of ``sections``."""
    sizes = [counts[name] * section.item_bytes for name, section in sections.items()]
    return _layout({name: counts[name] for name in sections}, sizes)[2]


def _layout(counts: Mapping[str, int], sizes: Sequence[int]) -> tuple[bytes, list[int], int]:
    """The header, each section's offset, and the length of the file. ``sizes``: of the sections, in bytes.

    Offsets depend on the header's length and it on them, so it lists counts only: a reader adds up.
    """
    header = json.dumps(counts).encode()
    offsets, end = [], _PREFIX_BYTES + len(header)
    for size in sizes:
        offsets.append(_aligned(end))
        end = offsets[-1] + size
    return header, offsets, end


def _parse(header: bytes) -> dict[str, int]:
    try:
        counts = parse_json(header)
    except ValueError:
        raise FileFormatError("file.header", "the header is not JSON") from None
    if not isinstance(counts, dict) or not all(type(n) is int and n >= 0 for n in counts.values()):
        raise FileFormatError("file.header", "the header does not map sections to counts")
    return counts


def _views(
    mapped: NDArray[np.uint8], end: int, counts: Mapping[str, int], sections: Mapping[str, Section]
) -> dict[str, NDArray[Any]]:
    expected = [name for name, section in sections.items() if name in counts or not section.optional]
    if list(counts) != expected:
        raise FileFormatError("file.header", f"the file has sections {list(counts)}, not {list(sections)}")
    views = {name: np.empty((0, *section.item), dtype=section.dtype) for name, section in sections.items()}
    for name, count in counts.items():
        section = sections[name]
        start = _aligned(end)
        end = start + count * section.item_bytes
        if end > len(mapped):
            raise FileFormatError("file.header", f"section {name} does not fit into the file", field=name)
        views[name] = mapped[start:end].view(section.dtype).reshape(count, *section.item)
    if end != len(mapped):
        raise FileFormatError("file.header", f"{len(mapped) - end} bytes follow the last section")
    return views


def _map(file: BinaryIO) -> NDArray[np.uint8]:
    """The file's bytes, on large pages where the file system has them: points are read at random, and the
    processor does not keep the addresses of so many small ones."""
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without them
            mapped.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(mapped, dtype=np.uint8)


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _append(file: Any, hasher: Any, data: NDArray[np.uint8]) -> None:
    hasher.update(data.data)
    file.write(data.data)


def _hash(mapped: NDArray[np.uint8]) -> bytes:
    hasher = hashlib.sha256(mapped[:_HASHED_PREFIX_BYTES].data)
    for start in range(_PREFIX_BYTES, len(mapped), _HASH_CHUNK):
        hasher.update(mapped[start : start + _HASH_CHUNK].data)
    return hasher.digest()


def _sync_directory(directory: Path) -> None:
    """Make the rename survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
