"""The remote store of artifacts: objects under a URL, through fsspec.

They lie as the files of a local store do, ``ab/abcd…``: to move one there is to copy its files.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zenserve.errors import ResourceError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The error numbers of the system when this host's disk, or a part of it, is full."""
CLAIMS = "openings"
"""The folder of files that say what was opened, beside the artifacts, whose folders have two letters."""
_PARTS_AT_ONCE = 4
"""Of 50 MB each, while a large file goes up or down."""


class Remote:
    """All raise ``ResourceError`` (``resource.storage``) where the store does not do as it is asked, and
    those that read ``FileNotFoundError``.
    """

    def __init__(self, url: str) -> None:
        # Imported here: services that keep files do without it.
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]

        self._url = url
        self._objects: Any
        # Listings must be true: other hosts write, too.
        self._objects, self._root = url_to_fs(
            url, skip_instance_cache=True, use_listings_cache=False, max_concurrency=_PARTS_AT_ONCE
        )

    def write(self, digest: str, data: bytes) -> None:
        with self._asking():
            self._objects.pipe_file(self._place(digest), data)

    def upload(self, path: Path, digest: str) -> None:
        with self._asking():
            self._objects.put_file(str(path), self._place(digest))

    def read(self, digest: str) -> bytes:
        with self._asking(for_one=True):
            return bytes(self._objects.cat_file(self._place(digest)))

    def size(self, digest: str) -> int:
        with self._asking(for_one=True):
            return int(self._objects.info(self._place(digest))["size"])

    def download(self, digest: str, path: Path) -> None:
        with self._asking(for_one=True):
            self._objects.get_file(self._place(digest), str(path))

    def sha256(self, digest: str) -> str | None:
        """Of what is there, in hex; None where nothing is."""
        try:
            with self._asking(for_one=True), self._objects.open(self._place(digest), "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return None

    def digests(self) -> set[str]:
        """The names of all artifacts."""
        with self._asking():
            return {name.rpartition("/")[2] for name in self._objects.find(self._root)}

    def sizes(self) -> list[int]:
        """``Store.sizes``."""
        with self._asking():
            found = self._objects.find(self._root, detail=True)
        return [about["size"] for name, about in found.items() if not self._is_claim(name)]

    def claim(self, root: str, left: int) -> bool:
        """``Store.claim``. No two callers ask for the same at once: the database numbers openings."""
        place = f"{self._root}/{CLAIMS}/{root}/{left}"
        with self._asking():
            if self._objects.exists(place):
                return False
            self._objects.pipe_file(place, b"")
        return True

    def claims(self) -> Iterator[tuple[str, str]]:
        """The root of each, and what is left behind it."""
        with self._asking():
            found: list[str] = self._objects.find(f"{self._root}/{CLAIMS}")
        for name in found:
            root, _, left = name.rpartition("/")
            yield root.rpartition("/")[2], left

    def delete(self, digest: str) -> None:
        with self._asking():
            self._objects.rm_file(self._place(digest))

    def delete_others(self, digests: Set[str], oldest: float) -> int:
        """All but these that are older than this moment. How many.

        Times are the store's. They can be compared with this host's: S3 refuses callers whose clock is off
        by a quarter of an hour, and an orphan is older.
        """
        with self._asking():
            found = self._objects.find(self._root, detail=True)
            old = [
                name
                for name, about in found.items()
                if not self._is_claim(name)
                and name.rpartition("/")[2] not in digests
                and about["LastModified"].timestamp() < oldest
            ]
            if old:
                self._objects.rm(old)
        return len(old)

    def _is_claim(self, name: str) -> bool:
        return f"/{CLAIMS}/" in name[len(self._root) :]

    def _place(self, digest: str) -> str:
        return f"{self._root}/{digest[:2]}/{digest}"

    @contextmanager
    def _asking(self, *, for_one: bool = False) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # of five libraries, each with its own
            if isinstance(error, FileNotFoundError) and for_one:
                raise
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise
            raise ResourceError(
                "resource.storage",
                f"the store {self._url} did not do as it was asked ({type(error).__name__}):"
                " `zenserve doctor` says what is wrong with it",
            ) from error
