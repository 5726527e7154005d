"""The token of ``zenserve serve``: an API key for whoever started it, made anew at each start, and good until
it stops.

It is kept in the data directory, for the owner alone. Other programs of the same user find it
(``zenserve.client.local``), other users of this host do not: to reach the port is not enough.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from zenserve.client import local
from zenserve.service import log
from zenserve.service.access import keys
from zenserve.service.access.principal import SCOPES
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.repositories.accounts import Keys, Logins


@contextmanager
def shown(runtime: Runtime, port: int) -> Iterator[str | None]:
    """A fresh token, where programs of this user find it; None if the service asks nobody for a key.

    Raises ``OSError`` where it cannot be kept.
    """
    if runtime.settings.auth == "off":
        yield None
        return
    token = _renew(runtime)
    file = (runtime.settings.data_dir / "token").resolve()
    _write(file, token)
    _link(local.link(port), file)
    try:
        yield token
    finally:
        file.unlink(missing_ok=True)
        _unlink(local.link(port), file)
        _revoke(runtime)


def _renew(runtime: Runtime) -> str:
    """Make and return a new token. The last token, and cookies for it, are no longer accepted."""
    with runtime.database.write() as session:
        row, token = keys.make_key(
            LOCAL_TENANT, "zenserve serve", list(SCOPES), moment=clock(session), number=keys.LOCAL_NUMBER
        )
        Logins(session).remove_of(row.id)
        Keys(session).replace(row)
    return token


def _revoke(runtime: Runtime) -> None:
    with runtime.database.write() as session:
        Keys(session).get(keys.LOCAL_KEY).revoked_at = clock(session)


def _write(file: Path, token: str) -> None:
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(token)


def _link(link: Path, file: Path) -> None:
    """Without it the service does its work, and its user shows the token by hand."""
    try:
        link.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(file)
    except OSError:
        log.event("token.not_linked", level=30, link=link, token=file)


def _unlink(link: Path, file: Path) -> None:
    with suppress(OSError):
        if link.readlink() == file:  # and not another's, who has the port now
            link.unlink()
