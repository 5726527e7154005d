"""Another secret in the place of the one that all rests on.

While both are known, what is new is sealed with the new one and what is old opens with the old one.
``reseal`` seals all that is old anew, one thing after the other: interrupted, it is begun again, and passes
over what is done. Then the old secret can go.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from zenserve.errors import FileFormatError
from zenserve.service import log
from zenserve.service.runtime import Runtime
from zenserve.service.storage import vault
from zenserve.service.storage.database import clock
from zenserve.service.storage.repositories.secrets import SEALED, Column, Issuers, Sealed
from zenserve.service.storage.vault import Vault


@dataclass
class Outcome:
    """The result of a rotation.

    ``resealed``: values that were sealed anew. ``present``: values that the present secret had sealed
    already. ``lost``: the places of values that no secret opens or that are not there.
    """

    resealed: int = 0
    present: int = 0
    lost: list[str] = field(default_factory=list)


def rotate(runtime: Runtime) -> Outcome:
    """Seal all with the present secret; where that is kept in the data directory, with a fresh one, which
    stays there alone if all is well. No service may be using the directory then.
    """
    settings = runtime.settings
    if settings.secret_key is not None:
        return reseal(runtime)
    file = settings.data_dir / vault.KEY_FILE
    vault.add_key(file)
    runtime = replace(runtime, vault=Vault.from_settings(settings))
    outcome = reseal(runtime)
    if not outcome.lost:
        vault.drop_old_keys(file)
    return outcome


def reseal(runtime: Runtime) -> Outcome:
    """Seal with the present secret whatever is not. Old files stay in the store until they are swept: whoever
    reads one at this moment is not disturbed.
    """
    outcome = Outcome()
    with runtime.database.write() as session:
        for issuer in reversed(runtime.vault.issuers):
            Issuers(session).note(issuer.hex(), clock(session))
    for column in SEALED:
        with runtime.database.read() as session:
            rows = Sealed(session).of(column)
        for key, value in rows:
            _reseal(runtime, column, key, value, outcome)
    log.event("secret.resealed", resealed=outcome.resealed, lost=len(outcome.lost))
    return outcome


def _reseal(runtime: Runtime, column: Column, key: tuple[str, ...], value: Any, outcome: Outcome) -> None:
    place = column.place(key)
    try:
        old = runtime.store.get(value) if column.in_store else value
        fresh = runtime.vault.resealed(old, place)
    except FileFormatError:
        with runtime.database.read() as session:  # it may have been deleted meanwhile
            if (key, value) in Sealed(session).of(column):
                outcome.lost.append(place)
        return
    if fresh is None:
        outcome.present += 1
        return
    kept = runtime.store.put(fresh) if column.in_store else fresh
    with runtime.database.write() as session:
        replaced = Sealed(session).replace(column, key, value, kept)
    if replaced:
        outcome.resealed += 1
    elif isinstance(kept, str):
        runtime.store.delete(kept)
