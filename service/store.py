"""Artifacts as local files, named by the SHA-256 of their content and written atomically.

What is secret is sealed before it comes here, so that a name never tells anything about a secret.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Set
from pathlib import Path

from zenerrors import FileFormatError


class Store:
    """Content-addressed files under one directory."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / "incoming"
        self._incoming.mkdir(parents=True, exist_ok=True)

    def put(self, data: bytes) -> str:
        path = self.scratch()
        path.write_bytes(data)
        return self.adopt(path)

    def get(self, digest: str) -> bytes:
        """Raises ``FileFormatError`` (``file.missing``, ``file.corrupt``)."""
        try:
            data = self.path(digest).read_bytes()
        except FileNotFoundError as error:
            raise FileFormatError("file.missing", f"the artifact {digest} is not in the store") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise FileFormatError("file.corrupt", f"the artifact {digest} has changed on disk")
        return data

    def scratch(self) -> Path:
        """A fresh path on the store's file system, for a file to be adopted."""
        return self._incoming / secrets.token_hex(16)

    def adopt(self, path: Path) -> str:
        """Take a finished file in under its digest."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
        target = self.path(digest)
        target.parent.mkdir(exist_ok=True)
        path.replace(target)
        return digest

    def path(self, digest: str) -> Path:
        return self._root / digest[:2] / digest

    def delete_others(self, digests: Set[str], age_seconds: float) -> int:
        """Delete all files but these, unfinished ones too, that are older than this. How many."""
        oldest = time.time() - age_seconds
        others = [file for file in self._root.glob("*/*") if file.name not in digests]
        old = [file for file in others if file.stat().st_mtime < oldest]
        for file in old:
            file.unlink()
        return len(old)

    def delete(self, digest: str) -> None:
        self.path(digest).unlink(missing_ok=True)
