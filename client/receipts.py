"""Receipts of registrations: whether their issuer signed them (Ed25519, RFC 8032)."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from client.documents import Document, Receipt, canonical


def signed_bytes(receipt: Receipt) -> bytes:
    """What the signature is over: the canonical form of all else."""
    return canonical(receipt.model_dump(exclude={"signature"}))


def is_signed(receipt: Receipt) -> bool:
    """Whether the signature is that of the receipt's ``issuer``. Whether to trust that one, it cannot say."""
    try:
        issuer = Ed25519PublicKey.from_public_bytes(bytes.fromhex(receipt.issuer))
        issuer.verify(bytes.fromhex(receipt.signature), signed_bytes(receipt))
    except (InvalidSignature, ValueError):
        return False
    return True


class ReceiptVerification(Document):
    """The verdict on a receipt: ``reason`` is ``ok``, ``signature_mismatch`` or ``issuer_mismatch``."""

    valid: bool
    reason: str
    detail: str
    verified: list[str]
    not_verified: list[str]
    receipt: Receipt | None


def judge(receipt: Receipt, *, issuer: str | None = None) -> ReceiptVerification:
    """Whether the receipt's issuer signed it. ``issuer``: the key, in hex, of the one that you trust."""
    if not is_signed(receipt):
        return _refused("signature_mismatch", "The signature is not the issuer's for this receipt.")
    if issuer is not None and receipt.issuer != issuer:
        return _refused("issuer_mismatch", "The receipt is another issuer's than the expected one.")
    return ReceiptVerification(
        valid=True,
        reason="ok",
        detail="The receipt is as its issuer signed it.",
        verified=[
            f"The issuer {receipt.issuer}{', as you expected,' * bool(issuer)} signed that the model"
            f" {receipt.model_id} was registered at {receipt.registered_at}.",
            f"The network, or the architecture of hidden weights, has the SHA-256 {receipt.network}.",
            *([f"The model's commitment is {receipt.commitment}."] if receipt.commitment else []),
        ],
        not_verified=[
            *(
                []
                if issuer
                else ["That the issuer is one you trust: compare its key with one that you know."]
            ),
            *(
                ["That the weights are of their types: the registration's proof says that."]
                * bool(receipt.commitment)
            ),
            "The time, and the parent, by anything but the issuer's word.",
        ],
        receipt=receipt,
    )


def _refused(reason: str, detail: str) -> ReceiptVerification:
    return ReceiptVerification(
        valid=False, reason=reason, detail=detail, verified=[], not_verified=[], receipt=None
    )
