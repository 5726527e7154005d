"""A host's record of the ledger of openings, by which an older database is noticed."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_DIGITS: Final = 20
_PENDING: Final = ".next"
_HERE: Final = -100
"""``AT_FDCWD``."""
_BIRTH: Final = 0x800
"""``STATX_BTIME``."""
_BIRTH_AT: Final = slice(80, 92)
"""In the kernel's ``struct statx``: seconds, 8 bytes, and nanoseconds, 4."""


class Witness:
    """An empty file for the highest count of an epoch that a process of this host has noted, named by it.

    A backup that is copied over the directory brings the file of its own count, and leaves that of a later
    one. Where the file of a later count goes, too, that of the backup's count comes back as another file than
    the one that the database was told of (``place``).
    """

    def __init__(self, data_dir: Path, epoch: str) -> None:
        self._folder, self._epoch = data_dir / "openings", epoch

    def highest(self) -> int:
        """0 where nothing was noted here."""
        return max([self._earlier(), *map(_number, self._notes())])

    def note(self, number: int) -> None:
        """Keep it unless a higher one is there. Once this returns, it is safely on the disk."""
        note = self._file(number)
        try:
            self._file(number, _PENDING).rename(note)
        except FileNotFoundError:  # none was prepared, or another process was first
            if number > self.highest() or not any(self._notes()):
                self._make(note)
        self._sync()
        highest = self.highest()
        for file in self._notes():
            if _number(file) < highest:
                file.unlink(missing_ok=True)

    def prepare(self, number: int) -> str:
        """Make the file that ``note`` keeps, before the database knows of the number. Return its place."""
        pending = self._file(number, _PENDING)
        pending.unlink(missing_ok=True)  # of a transaction that failed
        self._make(pending)
        self._sync()
        return _place(pending) or ""

    def is_place(self, place: str, number: int) -> bool:
        """Return whether the file of this number is the one that ``prepare`` made.

        Copies, even in its place, are others.
        """
        files = self._file(number, _PENDING), self._file(number), self._folder / self._epoch
        return place in map(_place, files)

    def _earlier(self) -> int:
        """Return the number that earlier versions noted: in one file, written over again and again."""
        try:
            return int((self._folder / self._epoch).read_text() or 0)
        except FileNotFoundError:
            return 0

    def _notes(self) -> Iterator[Path]:
        return (file for file in self._folder.glob(f"{self._epoch}.*") if file.suffix != _PENDING)

    def _file(self, number: int, suffix: str = "") -> Path:
        return self._folder / f"{self._epoch}.{number:0{_DIGITS}d}{suffix}"

    def _make(self, file: Path) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))

    def _sync(self) -> None:
        """Have the names safely on the disk, and with them the files."""
        folder = os.open(self._folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def _number(note: Path) -> int:
    return int(note.suffix[1:])


def _place(file: Path) -> str | None:
    try:
        return f"{file.stat().st_ino}:{_born(file)}"
    except FileNotFoundError:
        return None


def _born(path: Path) -> str:
    """Return the creation time of the file, in hex, which nobody can set.

    Empty where the file system does not keep it.
    """
    answer = ctypes.create_string_buffer(256)
    library = ctypes.CDLL(None)
    if not hasattr(library, "statx") or library.statx(_HERE, os.fsencode(path), 0, _BIRTH, answer):
        return ""
    return answer.raw[_BIRTH_AT].hex()
