"""What one sends to the contract of ``zenserve.verifier.onchain.contract``: ``verify(bytes,uint256[])``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from zenserve.errors import StatementError
from zenserve.verifier.documents import KeyFile, ProofDocument
from zenserve.verifier.groth16.proof import Proof
from zenserve.verifier.groth16.system import groth16_key
from zenserve.verifier.judging import REASONS, Case
from zenserve.verifier.keys import OpenedKey, opened
from zenserve.verifier.onchain.contract import require_contract
from zenserve.verifier.onchain.gas import estimated_gas
from zenserve.verifier.onchain.layout import encode_proof
from zenserve.verifier.system import Claim
from zenserve.verifier.verdict import RefusedError

SELECTOR: Final = bytes.fromhex("9649daae")
"""Of ``verify(bytes,uint256[])``."""
LOGGING_SELECTOR: Final = bytes.fromhex("fbbf3010")
"""Of ``verifyAndLog(bytes,uint256[])``."""
_WORD: Final = 32


class Arguments(NamedTuple):
    """``proof``: uncompressed (``layout.encode_proof``); ``inputs``: canonical integers."""

    proof: bytes
    inputs: Sequence[int]

    @classmethod
    def of(cls, claim: Claim) -> Arguments:
        """Raises ``ProofError``, ``PointError``."""
        proof = claim.proof if isinstance(claim.proof, Proof) else Proof.split(claim.proof)
        return cls(encode_proof(proof, claim.commitments), claim.public_inputs)

    def encode(self, selector: bytes = SELECTOR) -> bytes:
        """The call, as Solidity's ABI has it."""
        padded = self.proof.ljust(-(-len(self.proof) // _WORD) * _WORD, b"\0")
        words = [2 * _WORD, 3 * _WORD + len(padded), len(self.proof)]
        head = b"".join(_word(number) for number in words)
        return b"".join((selector, head, padded, _word(len(self.inputs)), *map(_word, self.inputs)))


class Call(NamedTuple):
    """JSON-able, bytes in hex behind 0x, ``inputs`` in decimal: numbers of JSON are too small. ``gas``: about
    what a transaction takes in all."""

    proof: str
    inputs: list[str]
    calldata: str
    gas: int


def calls(document: ProofDocument, key_file: KeyFile, selector: bytes = SELECTOR) -> list[Call]:
    """What is sent to the contract of the key, one call for each proof. Raises as ``arguments``, and
    ``StatementError`` (``statement.contract``) where the key has no contract."""
    key = opened(key_file)
    verifying = groth16_key(key.verifying)
    require_contract(verifying)
    made = []
    for given in _arguments(document, key):
        data = given.encode(selector)
        inputs = [str(value) for value in given.inputs]
        made.append(Call(f"0x{given.proof.hex()}", inputs, f"0x{data.hex()}", estimated_gas(verifying, data)))
    return made


def arguments(document: ProofDocument, key_file: KeyFile) -> list[Arguments]:
    """What the contract of the key takes, one for each proof of the document.

    Raises ``FileFormatError`` where the file is no key of Groth16, and ``StatementError``
    (``statement.contract``) where the document is not about this key, or its words and numbers are wrong: its
    proofs themselves are judged by the contract.
    """
    key = opened(key_file)
    groth16_key(key.verifying)
    return _arguments(document, key)


def _arguments(document: ProofDocument, key: OpenedKey) -> list[Arguments]:
    try:
        claims = Case(document, key).claims()
    except RefusedError as refusal:
        raise StatementError(
            "statement.contract",
            f"{refusal.reason}: {refusal.detail or REASONS[refusal.reason]}",
            field="proof",
        ) from None
    return [Arguments.of(claim) for claim in claims]


def _word(number: int) -> bytes:
    return number.to_bytes(_WORD, "big")
