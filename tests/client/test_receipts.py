"""Receipts: signed by their issuer, and by nobody else."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client.documents import Parent, Receipt
from client.receipts import judge, signed_bytes


def test_a_receipt_by_its_issuer(receipt: Receipt) -> None:
    verdict = judge(receipt)
    assert (verdict.valid, verdict.reason, verdict.receipt) == (True, "ok", receipt)
    assert any("issuer is one you trust" in sentence for sentence in verdict.not_verified)
    known = judge(receipt, issuer=receipt.issuer)
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
        {"issuer": "0" * 64},
        {"issuer": "f" * 64},
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
    assert judge(theirs, issuer=receipt.issuer).reason == "issuer_mismatch"
