"""Receipts of registrations: whether their issuer signed them (Ed25519, RFC 8032)."""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import Field

from zenserve.verifier.documents import Receipt, Twin
from zenserve.verifier.expected import ExpectedReceipt
from zenserve.verifier.fields import Document, canonical
from zenserve.verifier.registry import SYSTEMS
from zenserve.verifier.verdict import OK, RefusedError, refuse

REASONS: Final = {
    "issuer_unsafe": "Anybody can sign under the issuer's key: it is of small order.",
    "signature_mismatch": "The signature is not the issuer's for this receipt.",
    "issuer_mismatch": "The receipt is another issuer's than the expected one.",
    "network_mismatch": "The receipt is for another network than the expected one.",
    "model_mismatch": "The receipt is not for the model of this commitment.",
    "time_mismatch": "The model was registered, as the issuer says, at another time than the expected one.",
}
"""Every reason that ``judge`` gives, with a sentence."""
_TIME_SEEN = "That is within the time that you expected."
_SATURATES = "The model takes numbers beyond the range of its calibration as the range's ends."
_ISSUER_UNSEEN = "That the issuer is one you trust: compare its key with one that you know."
_TWINS_UNSEEN = "That commitments under different systems hold the same weights: nothing proves that."
_TYPES_UNSEEN = "That the weights are of their types: the registration's proof says that."


def signed_bytes(receipt: Receipt) -> bytes:
    """Return the bytes that the signature is over: the canonical form of all other fields."""
    return canonical(receipt.model_dump(exclude={"signature"}))


# The encoded y of the points of order 1, 2, 4 and 8: the one of order 8, its negative, -1, 0 and 1. Under
# such a key one signature is for every text.
_FIELD: Final = (1 << 255) - 19
_Y8: Final = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER: Final = frozenset({0, 1, _FIELD - 1, _Y8, _FIELD - _Y8})


def is_safe(issuer: str) -> bool:
    """Return whether the key, in hex, is canonical and no weak key, under which anybody can sign."""
    y = int.from_bytes(bytes.fromhex(issuer), "little") & ((1 << 255) - 1)
    return y < _FIELD and y not in _SMALL_ORDER


def is_signed(receipt: Receipt) -> bool:
    """Return whether the signature is that of the receipt's ``issuer``, who need not be trustworthy."""
    if not is_safe(receipt.issuer):
        return False
    try:
        issuer = Ed25519PublicKey.from_public_bytes(bytes.fromhex(receipt.issuer))
        issuer.verify(bytes.fromhex(receipt.signature), signed_bytes(receipt))
    except (InvalidSignature, ValueError):
        return False
    return True


class ReceiptVerification(Document):
    """The verdict on a receipt: ``reason`` is ``ok`` or a key of ``REASONS``."""

    valid: bool = Field(description="Whether its issuer signed it, for what you expect.", examples=[True])
    reason: str = Field(description="Stable; `ok`, or why it does not convince.", examples=["ok"])
    detail: str = Field(
        description="The same for people.", examples=["The receipt is as its issuer signed it."]
    )
    verified: list[str] = Field(
        description="In sentences, what a reader may rely on; empty where it is not valid.",
        examples=[["That is within the time that you expected."]],
    )
    not_verified: list[str] = Field(
        description="In sentences, what a reader may not rely on.", examples=[[_ISSUER_UNSEEN]]
    )
    receipt: Receipt | None = Field(description="What was signed; null where it is not valid.")


def judge(receipt: Receipt, expected: ExpectedReceipt | None = None) -> ReceiptVerification:
    """Judge whether the receipt's issuer signed it, and whether it agrees with the ``expected`` values."""
    expected = expected or ExpectedReceipt()
    try:
        _check(receipt, expected)
    except RefusedError as refusal:
        detail = refusal.detail or REASONS[refusal.reason]
        return ReceiptVerification(
            valid=False, reason=refusal.reason, detail=detail, verified=[], not_verified=[], receipt=None
        )
    return ReceiptVerification(
        valid=True,
        reason=OK,
        detail="The receipt is as its issuer signed it.",
        verified=_verified(receipt, expected),
        not_verified=_not_verified(receipt, expected),
        receipt=receipt,
    )


def _check(receipt: Receipt, expected: ExpectedReceipt) -> None:
    """Raises ``RefusedError`` for the first thing that is wrong."""
    if not is_safe(receipt.issuer):
        refuse("issuer_unsafe")
    if not is_signed(receipt):
        refuse("signature_mismatch")
    if expected.issuer not in (None, receipt.issuer):
        refuse("issuer_mismatch")
    if expected.network not in (None, receipt.network):
        refuse("network_mismatch", f"The receipt is for the network {receipt.network}.")
    if expected.model not in (None, receipt.commitment):
        refuse("model_mismatch")
    if not expected.spans(receipt.registered_at):
        refuse("time_mismatch", f"The receipt says that the model was registered at {receipt.registered_at}.")


def _verified(receipt: Receipt, expected: ExpectedReceipt) -> list[str]:
    scheme, known = receipt.proof_system.commitments.id, ", as you expected"
    return [
        f"The issuer {receipt.issuer}{f'{known},' if expected.issuer else ''} signed that the model"
        f" {receipt.model_id} was registered at {receipt.registered_at}.",
        *([_TIME_SEEN] if expected.after or expected.before else []),
        "The network, or the architecture of hidden weights, has the SHA-256"
        f" {receipt.network}{known if expected.network else ''}.",
        *(
            [f"The model's commitment, {scheme}, is {receipt.commitment}{known if expected.model else ''}."]
            if receipt.commitment
            else []
        ),
        *([_SATURATES] if receipt.saturates else []),
        *map(_twin, receipt.twins or []),
    ]


def _twin(twin: Twin) -> str:
    scheme = SYSTEMS[twin.system].commitments.id
    commitment = f", its commitment, {scheme}, {twin.commitment}" if twin.commitment else ""
    return f"The issuer signed that {twin.model_id}, of {twin.system}, is the same network{commitment}."


def _not_verified(receipt: Receipt, expected: ExpectedReceipt) -> list[str]:
    return [
        *([] if expected.issuer else [_ISSUER_UNSEEN]),
        *([_TYPES_UNSEEN] * bool(receipt.commitment)),
        *([_TWINS_UNSEEN] * bool(receipt.twins and receipt.commitment)),
        "The network, the commitment, the time and the parent, by anything but the issuer's word.",
    ]
