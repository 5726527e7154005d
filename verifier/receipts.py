"""Receipts of registrations: whether their issuer signed them (Ed25519, RFC 8032)."""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from verifier.documents import Document, Receipt, canonical


def signed_bytes(receipt: Receipt) -> bytes:
    """What the signature is over: the canonical form of all else."""
    return canonical(receipt.model_dump(exclude={"signature"}))


# The encoded y of the points of order 1, 2, 4 and 8: the one of order 8, its negative, -1, 0 and 1. Under
# such a key one signature is for every text.
_FIELD: Final = (1 << 255) - 19
_Y8: Final = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER: Final = frozenset({0, 1, _FIELD - 1, _Y8, _FIELD - _Y8})


def is_safe(issuer: str) -> bool:
    """Whether the key, in hex, is canonical, and not one of those under which anybody can sign."""
    y = int.from_bytes(bytes.fromhex(issuer), "little") & ((1 << 255) - 1)
    return y < _FIELD and y not in _SMALL_ORDER


def is_signed(receipt: Receipt) -> bool:
    """Whether the signature is that of the receipt's ``issuer``. Whether to trust that one, it cannot say."""
    if not is_safe(receipt.issuer):
        return False
    try:
        issuer = Ed25519PublicKey.from_public_bytes(bytes.fromhex(receipt.issuer))
        issuer.verify(bytes.fromhex(receipt.signature), signed_bytes(receipt))
    except (InvalidSignature, ValueError):
        return False
    return True


class ReceiptVerification(Document):
    """The verdict on a receipt: ``reason`` is ``ok``, ``issuer_unsafe``, ``signature_mismatch`` or
    ``issuer_mismatch``.
    """

    valid: bool
    reason: str
    detail: str
    verified: list[str]
    not_verified: list[str]
    receipt: Receipt | None


def judge(receipt: Receipt, *, issuer: str | None = None) -> ReceiptVerification:
    """Whether the receipt's issuer signed it. ``issuer``: the key, in hex, of the one that you trust."""
    if not is_safe(receipt.issuer):
        return _refused("issuer_unsafe", "Anybody can sign under the issuer's key: it is of small order.")
    if not is_signed(receipt):
        return _refused("signature_mismatch", "The signature is not the issuer's for this receipt.")
    if issuer is not None and receipt.issuer != issuer:
        return _refused("issuer_mismatch", "The receipt is another issuer's than the expected one.")
    scheme = receipt.proof_system.commitments.id
    return ReceiptVerification(
        valid=True,
        reason="ok",
        detail="The receipt is as its issuer signed it.",
        verified=[
            f"The issuer {receipt.issuer}{', as you expected,' * bool(issuer)} signed that the model"
            f" {receipt.model_id} was registered at {receipt.registered_at}.",
            f"The network, or the architecture of hidden weights, has the SHA-256 {receipt.network}.",
            *([f"The model's commitment, {scheme}, is {receipt.commitment}."] if receipt.commitment else []),
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
            "The network, the commitment, the time and the parent, by anything but the issuer's word.",
        ],
        receipt=receipt,
    )


def _refused(reason: str, detail: str) -> ReceiptVerification:
    return ReceiptVerification(
        valid=False, reason=reason, detail=detail, verified=[], not_verified=[], receipt=None
    )
