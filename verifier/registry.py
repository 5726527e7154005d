"""The proof systems that are installed, by the ids that documents name them by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from verifier.groth16.system import Groth16Verifier
from verifier.system import VerifyingSystem

Systems = Mapping[str, VerifyingSystem]

SYSTEMS: Final[dict[str, VerifyingSystem]] = {Groth16Verifier.id: Groth16Verifier()}
FIRST: Final = Groth16Verifier.id
"""What documents are of that name no system: those from before there were others."""


def register(system: VerifyingSystem) -> None:
    """Have documents of this system judged from now on."""
    SYSTEMS[system.id] = system
