"""The contract of a key file, with what a proof under the key shows in its documentation."""

from __future__ import annotations

from collections.abc import Iterator

from zenserve.verifier.documents import KeyFile
from zenserve.verifier.groth16.system import groth16_key
from zenserve.verifier.keys import OpenedKey, opened
from zenserve.verifier.onchain.contract import solidity


def contract(key_file: KeyFile) -> str:
    """The Solidity source of the contract that verifies proofs under this key.

    Raises ``FileFormatError`` where the file is no key of Groth16, and as ``solidity``.
    """
    key = opened(key_file)
    return solidity(groth16_key(key.verifying), [*_words(key_file, key)])


def _words(key_file: KeyFile, key: OpenedKey) -> Iterator[str]:
    circuit = key.circuit
    yield f"Key file {key_file.id}, scheme {circuit.scheme}, network {key.described['network']}."
    yield "Public inputs: 0 is the statement, the SHA-256 of its canonical JSON without the last byte."
    at = 1
    for group in circuit.public_inputs:
        if group.name == "statement":
            continue
        places = f"{at}" if group.count == 1 else f"{at} to {at + group.count - 1}"
        yield f"  {places}: {group.name}, {group.minimum} to {group.maximum}"
        at += group.count
    for index, name in enumerate(circuit.commitments):
        yield f"Commitment {index}: {name}."
    yield f"Not proven: {key.system.setups[key_file.setup]}"
    yield "Not proven: the words of the statement. Rebuild its hash, or have it from somebody you trust."
