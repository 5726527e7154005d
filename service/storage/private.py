"""The data directory and all that is in it are for their owner alone, whatever was there before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from zenserve.errors import RequestError

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def close_to_others() -> None:
    """From now on, what this process makes is for its user alone: SQLite's files and the broker's, too."""
    os.umask(_OTHERS)


def own(folder: Path) -> None:
    """Make the folder on first use. What is in it already, and others may read, is closed to them.

    Raises ``RequestError`` (``request.settings``) where that is not for this user to do.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in (folder, *_within(folder)):
        try:
            mode = path.lstat().st_mode
            if mode & _OTHERS and not stat.S_ISLNK(mode):
                path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
        except FileNotFoundError:  # of a process that goes on with its work meanwhile
            continue
        except PermissionError:
            raise RequestError(
                "request.settings",
                f"ZENSERVE_DATA_DIR: {path} belongs to another user, and is open to others: take a directory"
                f" of your own, or have it changed: chown -R {os.getuid()} {folder} && chmod -R go= {folder}",
                field="ZENSERVE_DATA_DIR",
            ) from None


def _within(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        yield from (Path(place, name) for name in (*folders, *files))
