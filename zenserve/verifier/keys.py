"""Verification keys from files, found to be what their ids say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from zenserve.errors import FileFormatError, ZenError
from zenserve.verifier.description import Description
from zenserve.verifier.documents import KeyFile, KeyReference, checked, key_id, named
from zenserve.verifier.fields import canonical
from zenserve.verifier.registry import SYSTEMS, Systems
from zenserve.verifier.system import CEREMONY, VerifyingKey, VerifyingSystem


class OpenedKey(NamedTuple):
    """A key file that was read, and is what its id says."""

    verifying: VerifyingKey
    circuit: Description
    reference: KeyReference
    shows_ceremony: bool
    """Whether the file shows that the key's secrets are of a ceremony, or only says so."""
    system: VerifyingSystem
    described: Mapping[str, Any]
    """The whole description of the circuit, of which ``circuit`` is what judging a proof reads."""


def key_file(
    system: VerifyingSystem,
    key: VerifyingKey,
    circuit: Mapping[str, Any],
    transcript: dict[str, Any] | None = None,
) -> KeyFile:
    """The file that hands on ``key``, what it means (``Circuit.describe``), and the ``transcript`` of its
    ceremony (``State.transcript``), if it has one.
    """
    return KeyFile(
        **named(system),
        id=key_id(system.id, key.digest, circuit),
        setup=key.setup,
        key=key.to_json(),
        circuit=dict(circuit),
        transcript=transcript,
    )


def opened(key_file: KeyFile, systems: Systems = SYSTEMS) -> OpenedKey:
    """The key, its circuit, and that of the ``systems`` which verifies with it. Raises ``FileFormatError``:
    ``file.hash`` where the id is another's, ``file.transcript`` where the transcript is another key's.
    """
    try:
        system = key_file.proof_system.id
        key_text, circuit = canonical(key_file.key), checked(Description, key_file.circuit)
        key = (_read_small_key if len(key_text) <= _SMALL_BYTES else _read_key)(system, key_text)
        right = key_file.id == key_id(system, key.digest, key_file.circuit)
    except (ValueError, RecursionError):
        raise FileFormatError("file.json", "the key file holds what canonical JSON has not") from None
    if not right:
        raise FileFormatError("file.hash", "the id is not that of this key and circuit", field="id")
    if key_file.setup != key.setup:
        raise FileFormatError("file.setup_label", "setup is not that of the key", field="setup")
    count = sum(group.count for group in circuit.public_inputs)
    linked = key.linked_sizes
    fits = len(linked) == len(circuit.commitments) and all(
        circuit.committed_values(name) in (None, size)
        for name, size in zip(circuit.commitments, linked, strict=True)
    )
    if count != key.public or not fits:
        raise FileFormatError("file.shape", "the circuit does not fit the key", field="circuit")
    if key_file.transcript is not None:
        _check(system, key_file.transcript, key)
    shown = key_file.transcript is not None and key.setup == CEREMONY
    verifies = systems.get(system, key_file.proof_system)
    return OpenedKey(key, circuit, key_file.reference, shown, verifies, key_file.circuit)


def _check(system: str, transcript: Mapping[str, Any], key: VerifyingKey) -> None:
    try:
        text = canonical(transcript)
        (_check_small if len(text) <= _SMALL_BYTES else _check_text)(system, text, key)
    except (ValueError, RecursionError, ZenError) as error:
        raise FileFormatError(
            "file.transcript", f"the transcript does not lead to this key: {error}", field="transcript"
        ) from None


def _check_text(system: str, text: bytes, key: VerifyingKey) -> None:
    SYSTEMS[system].check_transcript(json.loads(text), key)


def _read_key(system: str, text: bytes) -> VerifyingKey:
    key = SYSTEMS[system].read_key(json.loads(text))
    if canonical(key.to_json()) != text:
        raise FileFormatError("file.json", "the key has fields that mean nothing, or lacks one", field="key")
    return key


# To decode a key takes longer than to verify a proof, and so does following its transcript. Kept by all of
# its text, not by the digest that it claims, so that nobody can pass a key off as another; and only small
# ones, so that strangers' keys cannot fill a service's memory.
_SMALL_BYTES: Final = 1 << 16
_read_small_key = lru_cache(maxsize=64)(_read_key)
_check_small = lru_cache(maxsize=64)(_check_text)
