"""Files without a name, in this host's memory and in no process's: what callers send in the clear waits in
them, however large it is, and never on a disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, Final

PIECE: Final = 1 << 18
"""Bytes of a file that a process holds at once."""


def spool() -> BinaryIO:
    """A fresh file. Its memory is given back when it is closed, or forgotten."""
    return os.fdopen(os.memfd_create("zenserve"), "w+b")


def pieces(file: IO[bytes], length: int | None = None) -> Iterator[bytes]:
    """The next ``length`` bytes, or all that follow. Raises ``EOFError`` where the file ends before."""
    while length is None or length > 0:
        piece = file.read(PIECE if length is None else min(PIECE, length))
        if not piece and length is None:
            return
        if not piece:
            raise EOFError(f"{length} bytes are missing")
        length = None if length is None else length - len(piece)
        yield piece


class FormFile(SpooledTemporaryFile[bytes]):
    """A file of a form: what is small is in this process, and all else in a ``spool``."""

    _rolled: bool

    def rollover(self) -> None:
        if self._rolled:
            return
        small, large = self._file, spool()
        at = small.tell()
        small.seek(0)
        large.write(small.read())
        large.seek(at)
        self._file, self._rolled = large, True
