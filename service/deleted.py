"""Removal of deleted models from the caches of a process: weights are secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from zenserve.base import memory

if TYPE_CHECKING:
    from zenserve.service.runtime import Runtime

_opened: Final[set[str]] = set()
_remembering: Final[list[Callable[[], object]]] = []


def opened(model_id: str) -> None:
    """The network of this model is in this process's memory: it may be remembered."""
    _opened.add(model_id)


def forgets(forget: Callable[[], object]) -> None:
    """Register the function by which a module forgets all that it remembers of networks."""
    _remembering.append(forget)


def forget_deleted(runtime: Runtime) -> None:
    """Keep nothing about commitments that there are no more, such as the code words of a deleted model's
    weights, which are erased; and no network or circuit, if there is one of a deleted model. What is needed
    again, or is kept before its commitment is known, is made anew."""
    kept = {root.hex(): root for root in memory.kept_commitments()}
    if not kept and not _opened:
        return
    # Imported here: parsers, which remember networks, have no use for a database.
    from zenserve.service.storage.repositories import Models
    from zenserve.service.storage.repositories.openings import Roots

    with runtime.database.read() as session:
        gone = kept.keys() - Roots(session, "").known(kept.keys())
        deleted = _opened - Models(session).known(_opened)
    memory.forget({kept[root] for root in gone})
    if deleted:
        _opened.clear()
        for forget in _remembering:
            forget()
