"""Verification keys on pages, and who made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy.orm import Session

from zenserve.service.dashboard.visitors import Visitor
from zenserve.service.storage.repositories import Ceremonies
from zenserve.service.storage.repositories.browsing import Browsing
from zenserve.verifier.system import CEREMONY, DEVELOPMENT, IMPORTED, TRANSPARENT

WORDS: Final = {
    DEVELOPMENT: ("development", "one party made the keys, and could forge proofs"),
    CEREMONY: ("ceremony", "several parties made the keys: only all of them together could forge proofs"),
    IMPORTED: ("imported", "another program made the keys: how, the service does not know"),
    TRANSPARENT: ("none", "the proof system needs no setup: there is no secret to forge proofs with"),
}
"""Of each setup its name on pages, and what it means."""


@dataclass(frozen=True)
class Key:
    """``ceremony``: the id of the one that made the key here, if the visitor may see it."""

    id: str
    setup: str | None
    ceremony: str | None


def key_of(session: Session, visitor: Visitor, key_id: str) -> Key:
    sight = visitor.principal.sight
    return Key(key_id, Browsing(session, sight).setup(key_id), Ceremonies(session, sight).of_key(key_id))
