"""Artifacts, named by the SHA-256 of their content and written atomically: files of this host, or a remote
store with copies here.

Copied is only what has to be a file to be used, proving keys and the basis; what was used longest ago goes
when copies take too much room. Sealed bytes are never copied: once deleted there, they are nowhere.
What is secret is sealed before it comes here, so that a name never tells anything about a secret.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from zenserve.errors import FileFormatError, ResourceError
from zenserve.service.settings import Settings
from zenserve.service.storage.remote import CLAIMS, NO_ROOM, Remote
from zenserve.verifier.recent import Recent

_GRACE_SECONDS = 60.0
"""Between asking for the path of a copy and opening it. An open copy may go: its bytes stay until closed."""
_REMEMBERED = 10_000
"""Files that each process knows to be intact."""
_UNFINISHED_SECONDS = 86_400.0
"""After which a file that nobody adopted is of a process that died."""


class Store:
    """Content-addressed files under one directory, which are all there is, or copies of those at ``url``."""

    def __init__(self, root: Path, url: str | None = None, cache_bytes: int = 32 << 30) -> None:
        self._root = root
        self._remote = Remote(url) if url else None
        self._cache_bytes = cache_bytes
        self._incoming = root / "incoming"
        self._incoming.mkdir(parents=True, exist_ok=True)
        self._intact = Recent[tuple[str | int, ...], str](_REMEMBERED)

    @classmethod
    def from_settings(cls, settings: Settings) -> Store:
        return cls(settings.data_dir / "artifacts", settings.store_url, settings.store_cache_bytes)

    def put(self, data: bytes) -> str:
        """Raises ``ResourceError`` (``resource.storage``), as all that write do."""
        if self._remote is not None:
            digest = hashlib.sha256(data).hexdigest()
            self._remote.write(digest, data)
            return digest
        with self.scratch() as path:
            path.write_bytes(data)
            return self.adopt(path)

    def put_file(self, path: Path) -> str:
        """``put`` a finished file of ``scratch``."""
        if self._remote is None:
            return self.adopt(path)
        digest = _sha256(path)
        self._remote.upload(path, digest)
        return digest

    def get(self, digest: str) -> bytes:
        """Raises ``FileFormatError`` (``file.missing``, ``file.corrupt``)."""
        try:
            data = self._place(digest).read_bytes() if self._remote is None else self._remote.read(digest)
        except FileNotFoundError as error:
            raise _missing(digest) from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise _corrupt(digest)
        return data

    @contextmanager
    def opened(self, digest: str) -> Iterator[BinaryIO]:
        """``get``, as a file. Raises as ``get``."""
        try:
            if self._remote is None:
                with self._place(digest).open("rb") as file:
                    yield _intact(file, digest)
                return
            with self.scratch() as path:
                self._remote.download(digest, path)
                with path.open("rb") as file:
                    yield _intact(file, digest)
        except FileNotFoundError as error:
            raise _missing(digest) from error

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A fresh path on the store's file system, for a file to be adopted. What is not, goes.

        Raises ``ResourceError`` (``resource.storage``) where the disk is full.
        """
        self._drop("incoming/*", older_than=time.time() - _UNFINISHED_SECONDS)
        path = self._incoming / secrets.token_hex(16)
        try:
            yield path
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise ResourceError(
                "resource.storage",
                f"no room is left in {self._root}: make some, or give ZENSERVE_DATA_DIR a larger disk",
            ) from error
        finally:
            path.unlink(missing_ok=True)

    def adopt(self, path: Path) -> str:
        """Take a finished file in under its digest."""
        digest = _sha256(path)
        _sync(path)
        if self._remote is not None:
            self._remote.upload(path, digest)
            self._make_room(path.stat().st_size)
        self._keep(path, digest)
        return digest

    def path(self, digest: str) -> Path:
        """The artifact as a file. Each process reads it against its digest once, and again once it changed.

        Raises ``FileFormatError`` (``file.missing``, ``file.corrupt``) where there is none to copy.
        """
        place = self._place(digest)
        if self._remote is None:
            self._require(place, digest)
            return place
        with suppress(FileFormatError):
            self._require(place, digest)
            os.utime(place)  # used now: it stays longer than others
            return place
        with self._alone(digest):
            try:
                self._require(place, digest)  # another process has brought it meanwhile
            except FileFormatError:
                self._download(self._remote, digest)
        return place

    def copy(self, digest: str, path: Path) -> None:
        """Copy the artifact there, and have it safely on the disk. Raises ``FileFormatError``
        (``file.missing``, ``file.corrupt``)."""
        try:
            if self._remote is not None:
                self._remote.download(digest, path)
            else:
                shutil.copyfile(self._place(digest), path)
        except FileNotFoundError as error:
            raise _missing(digest) from error
        if _sha256(path) != digest:
            raise _corrupt(digest)
        _sync(path)

    def missing(self, digests: Set[str]) -> set[str]:
        """Return those of these artifacts that are not there."""
        if self._remote is not None:
            return set(digests - self._remote.digests())
        return {digest for digest in digests if not self._place(digest).is_file()}

    def is_intact(self, digest: str) -> bool:
        """Read the artifact where it is kept, whoever read it before, and compare its digest."""
        if self._remote is not None:
            return self._remote.sha256(digest) == digest
        try:
            return _sha256(self._place(digest)) == digest
        except FileNotFoundError:
            return False

    def claim(self, root: str, left: int) -> bool:
        """Note that an opening of a commitment's root was spent, behind which so many are left. Return
        whether it was not spent before.
        """
        if self._remote is not None:
            return self._remote.claim(root, left)
        folder = self._root / CLAIMS / root
        folder.mkdir(parents=True, exist_ok=True)
        try:
            (folder / str(left)).touch(exist_ok=False)
        except FileExistsError:
            return False
        _sync(folder)
        return True

    def lowest_claims(self) -> dict[str, int]:
        """Of each root that was opened, how many openings are left behind the last one."""
        if self._remote is not None:
            claims = self._remote.claims()
        else:
            claims = ((file.parent.name, file.name) for file in (self._root / CLAIMS).glob("*/*"))
        lowest: dict[str, int] = {}
        for root, left in claims:
            lowest[root] = min(int(left), lowest.get(root, int(left)))
        return lowest

    def delete_others(self, digests: Set[str], age_seconds: float) -> int:
        """Delete all artifacts but these, unfinished ones too, that are older than this. How many."""
        oldest = self._clock() - age_seconds
        unfinished = self._drop("incoming/*", older_than=oldest)
        here = unfinished + self._drop("??/*", older_than=oldest, but=digests)
        return here if self._remote is None else self._remote.delete_others(digests, oldest)

    def free_bytes(self) -> int:
        """Room on the disk of the files here."""
        return shutil.disk_usage(self._root).free

    def sizes(self) -> list[int]:
        """Return the bytes of each artifact where it is kept."""
        if self._remote is not None:
            return self._remote.sizes()
        found = []
        for file in self._root.glob("??/*"):
            with suppress(FileNotFoundError):  # deleted meanwhile
                found.append(file.stat().st_size)
        return found

    def delete(self, digest: str) -> None:
        if self._remote is not None:
            self._remote.delete(digest)
        self._place(digest).unlink(missing_ok=True)

    def _clock(self) -> float:
        """The time by which files are dated: where hosts share a file system, it may not be this host's."""
        with self.scratch() as path:
            path.touch()
            return path.stat().st_mtime

    def _require(self, place: Path, digest: str) -> None:
        """Raises ``FileFormatError`` where the file is not what its name says."""
        try:
            mark = self._mark(place, digest)
            if not self._intact.get(mark):
                if _sha256(place) != digest:
                    raise _corrupt(digest)
                self._intact.keep(mark, digest)
        except FileNotFoundError as error:
            raise _missing(digest) from error

    def _mark(self, place: Path, digest: str) -> tuple[str | int, ...]:
        """Return a mark that changes with the file.

        Times do not count for copies of a remote store: each use touches the copy.
        """
        status = place.stat()
        return digest, status.st_ino, status.st_size, 0 if self._remote else status.st_mtime_ns

    def _place(self, digest: str) -> Path:
        return self._root / digest[:2] / digest

    def _keep(self, path: Path, digest: str) -> None:
        place = self._place(digest)
        place.parent.mkdir(exist_ok=True)
        path.replace(place)
        self._intact.keep(self._mark(place, digest), digest)

    def _download(self, remote: Remote, digest: str) -> None:
        with self.scratch() as path:
            try:
                self._make_room(remote.size(digest))
                remote.download(digest, path)
            except FileNotFoundError as error:
                raise _missing(digest) from error
            if _sha256(path) != digest:
                raise _corrupt(digest)
            _sync(path)
            self._keep(path, digest)

    def _make_room(self, size: int) -> None:
        copies = sorted(self._files("??/*"))
        excess = sum(taken for _, taken, _ in copies) + size - self._cache_bytes
        recent = time.time() - _GRACE_SECONDS
        for used, taken, file in copies:
            if excess <= 0 or used > recent:
                return
            file.unlink(missing_ok=True)
            excess -= taken

    def _drop(self, pattern: str, *, older_than: float, but: Set[str] = frozenset()) -> int:
        old = [file for used, _, file in self._files(pattern) if used < older_than and file.name not in but]
        for file in old:
            file.unlink(missing_ok=True)
        return len(old)

    def _files(self, pattern: str) -> Iterator[tuple[float, int, Path]]:
        """Yield each file's last use (seconds since 1970), size in bytes, and path.

        Other processes may delete files meanwhile.
        """
        for file in self._root.glob(pattern):
            with suppress(FileNotFoundError):
                status = file.stat()
                yield status.st_mtime, status.st_size, file

    @contextmanager
    def _alone(self, digest: str) -> Iterator[None]:
        """No other process or thread of this host is here for the same artifact."""
        with (self._incoming / f"{digest}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _intact(file: BufferedReader, digest: str) -> BinaryIO:
    """The file, at its beginning. Raises ``FileFormatError`` (``file.corrupt``)."""
    if hashlib.file_digest(file, "sha256").hexdigest() != digest:
        raise _corrupt(digest)
    file.seek(0)
    return file


def _sync(path: Path) -> None:
    """Have the file, or the names in the folder, safely on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _missing(digest: str) -> FileFormatError:
    return FileFormatError("file.missing", f"the artifact {digest} is not in the store")


def _corrupt(digest: str) -> FileFormatError:
    return FileFormatError("file.corrupt", f"the artifact {digest} has changed in the store")
