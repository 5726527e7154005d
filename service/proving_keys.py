"""Proving keys in the store: found, or told to be lost where the store has lost or changed them."""

from __future__ import annotations

from pathlib import Path

from zenserve.errors import FileFormatError
from zenserve.prover import registry
from zenserve.service import log
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.resources import Circuit
from zenserve.service.storage.repositories import Circuits
from zenserve.verifier.keys import OpenedKey
from zenserve.verifier.system import CEREMONY


def find(runtime: Runtime, circuit: Circuit) -> Path | None:
    """Return the file of the circuit's proving key, or None where the service has to make the key anew.

    Raises ``FileFormatError`` (``file.missing``, ``file.corrupt``) where the service cannot make the key:
    its secrets were those of a ceremony's contributors.
    """
    try:
        return runtime.store.path(circuit.proving_key)
    except FileFormatError as error:
        key = circuit.verification_key
        if key.document["setup"] == CEREMONY:
            raise FileFormatError(
                error.code,
                f"the proving key of the verification key {key.id}, which a ceremony made, was lost or"
                f" changed: {error.message}. Bring that artifact back from a backup of the store, or install"
                " the ceremony's key again (`zenserve key install`), then retry the job",
            ) from error
        log.event("proving_key.lost", level=30, key=key.id, artifact=circuit.proving_key)
        return None


def load_circuit(runtime: Runtime, key: OpenedKey) -> None:
    """Have a system that judges by circuits know the circuit of this key, if the service has it.

    Raises ``FileFormatError`` (``file.missing``, ``file.corrupt``).
    """
    system = key.system
    if not system.judges_by_circuits or system.circuit_bytes(key.verifying) is not None:
        return
    with runtime.database.read() as session:
        circuit = Circuits(session).of_key(key.reference.id)
    if circuit is not None:
        registry.find(system.id).load_key(runtime.store.path(circuit.proving_key))
