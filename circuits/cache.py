"""A cache of compilation results, keyed by content: no result is computed twice.

An entry is a JSON document under the SHA-256 of all that it depends on. It holds counts, digests, timings
and reports on quantisation, never weights: those stay in the files and processes that need them. Needs the
standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

MOST_BYTES: Final = 64 << 20
"""All entries together; those unused for longest go first."""

_ROOT: Final = Path(__file__).parents[1]
# How a tensor of an ONNX model names its file: the entry "location" of its external data, in protobuf.
_LOCATION: Final = re.compile(rb"\x0a\x08location\x12([\x80-\xff]?)([\x00-\x7f])")


def directory() -> Path:
    """``$ZENSERVE_CACHE``, or ``~/.cache/zenserve``."""
    return Path(os.environ.get("ZENSERVE_CACHE") or Path.home() / ".cache" / "zenserve")


@cache
def fingerprint(*packages: str) -> bytes:
    """SHA-256 over all files of these packages: whatever changes in the compiler makes new entries."""
    hasher = hashlib.sha256()
    files = (path for package in packages for path in (_ROOT / package).rglob("*"))
    for path in sorted(path for path in files if path.is_file() and path.suffix != ".pyc"):
        content = path.read_bytes()
        hasher.update(f"{path.relative_to(_ROOT)}:{len(content)}:".encode() + content)
    return hasher.digest()


def model_parts(path: Path) -> Iterator[bytes]:
    """An ONNX file's content, and the digests of the files in its folder that hold tensors of it."""
    data = path.read_bytes()
    yield data
    folder = path.parent.resolve()
    for match in _LOCATION.finditer(data):
        length = sum((byte & 0x7F) << 7 * i for i, byte in enumerate(b"".join(match.groups())))
        location = data[match.end() : match.end() + length].decode(errors="replace")
        with suppress(OSError, ValueError):
            file = (folder / location).resolve()
            if file.is_relative_to(folder) and file.is_file():
                with file.open("rb") as content:
                    yield hashlib.file_digest(content, "sha256").digest()


def data_parts(path: Path) -> Iterator[bytes]:
    """A file's content; of a folder the names and contents of all files in it."""
    if path.is_file():
        yield path.read_bytes()
        return
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        yield str(file.relative_to(path)).encode()
        yield file.read_bytes()


def key_of(*parts: bytes) -> str:
    """The key of what follows from ``parts``: their SHA-256 in hex, lengths included."""
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).hexdigest()


def load(key: str) -> dict[str, Any] | None:
    """The document that was saved under ``key``; None where there is none, or it cannot be read whole."""
    path = _path(key)
    try:
        data = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    checksum, _, text = data.partition(b"\n")
    if checksum.decode("ascii", errors="replace") != hashlib.sha256(text).hexdigest():
        return None
    document: dict[str, Any] = json.loads(text)
    return document


def save(key: str, document: dict[str, Any]) -> None:
    """Keep ``document`` under ``key``, atomically. A cache that cannot be written to is no error."""
    text = json.dumps(document).encode()
    path = _path(key)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            temporary.write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _make_room(path.parent)


def _path(key: str) -> Path:
    return directory() / f"{key}.json"


def _make_room(folder: Path) -> None:
    """Delete entries, the one that was used longest ago first, until the rest is small enough."""
    entries = sorted(((path.stat(), path) for path in folder.glob("*.json")), key=lambda e: -e[0].st_mtime_ns)
    total = 0
    for status, path in entries:
        total += status.st_size
        if total > MOST_BYTES:
            path.unlink(missing_ok=True)
