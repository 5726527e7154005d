"""What a host remembers of the ledger of openings beside the database: no backup of that can take it back."""

from __future__ import annotations

import ctypes
import fcntl
import os
from pathlib import Path
from typing import Final

_DIGITS: Final = 20
_HERE: Final = -100
"""``AT_FDCWD``."""
_BIRTH: Final = 0x800
"""``STATX_BTIME``."""
_BIRTH_AT: Final = slice(80, 92)
"""In the kernel's ``struct statx``: seconds, 8 bytes, and nanoseconds, 4."""


class Witness:
    """A file of one number, the highest that anybody on this host has noted in an epoch. It is never
    replaced, only written over: so it is the same file for as long as nobody copies it.
    """

    def __init__(self, data_dir: Path, epoch: str) -> None:
        self._path = data_dir / "openings" / epoch

    def highest(self) -> int:
        """0 where nothing was noted here."""
        try:
            return int(self._path.read_text() or 0)
        except FileNotFoundError:
            return 0

    def note(self, number: int) -> None:
        """Keep it unless a higher one is there. Once this returns, it is safely on the disk."""
        if not self._path.exists():
            self._make()
        with self._path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if number >= int(file.read() or 0):
                file.seek(0)
                file.write(f"{number:0{_DIGITS}d}")
                file.flush()
                os.fsync(file.fileno())

    def place(self) -> str:
        """Which file it is: of a copy, even in its stead, it is another. Empty where there is none."""
        try:
            return f"{self._path.stat().st_ino}:{_born(self._path)}"
        except FileNotFoundError:
            return ""

    def _make(self) -> None:
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        folder = os.open(self._path.parent, os.O_RDONLY)
        os.fsync(folder)  # else its name may be lost, and with it the file
        os.close(folder)


def _born(path: Path) -> str:
    """When the file was made, which nobody can set; empty where the file system does not keep it."""
    answer = ctypes.create_string_buffer(256)
    library = ctypes.CDLL(None)
    if not hasattr(library, "statx") or library.statx(_HERE, os.fsencode(path), 0, _BIRTH, answer):
        return ""
    return answer.raw[_BIRTH_AT].hex()
