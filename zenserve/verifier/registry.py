"""The proof systems that are installed, by the ids that documents name them by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from zenserve.errors import FileFormatError
from zenserve.verifier.groth16.system import Groth16Verifier
from zenserve.verifier.spartan.system import SpartanVerifier
from zenserve.verifier.system import VerifyingSystem

Systems = Mapping[str, VerifyingSystem]

SYSTEMS: Final[dict[str, VerifyingSystem]] = {
    system.id: system for system in (Groth16Verifier(), SpartanVerifier())
}
FIRST: Final = Groth16Verifier.id
"""The system of documents that name none: they were made before there were other systems."""


def register(system: VerifyingSystem) -> None:
    """Have documents of this system judged from now on. Raises ``ValueError`` where its id is another's."""
    if SYSTEMS.setdefault(system.id, system) is not system:
        raise ValueError(f"there is a proof system {system.id} already")


def find(system: str) -> VerifyingSystem:
    """The system of this id. Raises ``FileFormatError`` (``file.system``) where it is not installed."""
    if system not in SYSTEMS:
        raise FileFormatError("file.system", f"no proof system {system!r} is installed here", field="system")
    return SYSTEMS[system]
