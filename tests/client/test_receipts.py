"""Receipts: signed by their issuer, and by nobody else."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from zenserve.verifier.documents import Parent, Receipt
from zenserve.verifier.expected import ExpectedReceipt
from zenserve.verifier.receipts import is_signed, judge, signed_bytes


def test_a_receipt_by_its_issuer(receipt: Receipt) -> None:
    verdict = judge(receipt)
    assert (verdict.valid, verdict.reason, verdict.receipt) == (True, "ok", receipt)
    assert any("issuer is one you trust" in sentence for sentence in verdict.not_verified)
    known = judge(receipt, ExpectedReceipt(issuer=receipt.issuer))
    assert not any("issuer is one you trust" in sentence for sentence in known.not_verified)
    assert any("as you expected" in sentence for sentence in known.verified)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "Another"},
        {"registered_at": "2026-11-20T12:00:00Z"},
        {"commitment": None},
        {"parent": Parent(model_id="mdl_0", commitment=None)},
        {"registration": "0" * 64},
        {"issuer": "2" + "0" * 63},
        {"signature": "0" * 128},
    ],
)
def test_a_receipt_that_was_changed(receipt: Receipt, changes: dict[str, object]) -> None:
    verdict = judge(receipt.model_copy(update=changes))
    assert (verdict.valid, verdict.reason, verdict.receipt) == (False, "signature_mismatch", None)
    assert verdict.verified == verdict.not_verified == []


def test_a_receipt_by_another(receipt: Receipt) -> None:
    other = Ed25519PrivateKey.generate()
    issuer = other.public_key().public_bytes_raw().hex()
    unsigned = receipt.model_copy(update={"issuer": issuer})
    theirs = unsigned.model_copy(update={"signature": other.sign(signed_bytes(unsigned)).hex()})
    assert judge(theirs).valid
    assert judge(theirs, ExpectedReceipt(issuer=receipt.issuer)).reason == "issuer_mismatch"


# The points of small order, both ways to write their sign, and what is beyond the field.
UNSAFE = (
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "f" * 64,
)


@pytest.mark.parametrize("key", UNSAFE)
def test_no_receipt_is_signed_under_a_key_that_anybody_can_sign_under(receipt: Receipt, key: str) -> None:
    """The point of order 1, as R, and 0: a signature of every text, by whoever reads this."""
    forged = receipt.model_copy(update={"issuer": key, "signature": f"01{'0' * 126}"})
    assert not is_signed(forged)
    assert judge(forged, ExpectedReceipt(issuer=key)).reason == "issuer_unsafe"
