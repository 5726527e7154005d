"""The proof systems that this installation proves with, by their ids."""

from __future__ import annotations

from typing import Final

from zenserve.errors import StatementError
from zenserve.prover.groth16.system import Groth16
from zenserve.prover.spartan.system import Spartan
from zenserve.prover.system import ProofSystem
from zenserve.verifier import registry

SYSTEMS: Final[dict[str, ProofSystem]] = {system.id: system for system in (Groth16(), Spartan())}


def register(system: ProofSystem) -> None:
    """Have this system prove what is asked of it by its id, and judge its own documents. Raises
    ``ValueError`` where its id is another's.
    """
    registry.register(system)
    SYSTEMS[system.id] = system


def find(system: str) -> ProofSystem:
    """The system of this id, or of its first part. Raises ``StatementError`` (``statement.system``) where it
    is not installed.
    """
    named = next((each for id_, each in SYSTEMS.items() if system in (id_, id_.partition("-")[0])), None)
    if named is None:
        raise StatementError(
            "statement.system",
            f"system: no proof system {system!r} is installed here; there is {', '.join(SYSTEMS)}",
            field="system",
        )
    return named
