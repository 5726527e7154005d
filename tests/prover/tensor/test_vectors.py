"""The protocol's bytes are as they were: proofs of the slow prover, whose randomness is fixed."""

from __future__ import annotations

import pytest
from blake3 import blake3

from tests.prover.tensor import toy
from tests.prover.tensor.reference import prove
from tests.prover.tensor.toy import FIELDS

DIGESTS = {
    "12289": "94652fe8aae90017a75445f846259156",
    "12289^2": "ba705aaa9b1c33a60089b4d9e7e9b803",
    "bear": "4aa9560f24ac7923dbe65ddb2230b516",
}


@pytest.mark.parametrize("name", FIELDS)
def test_proofs_are_the_same_bytes(name: str) -> None:
    """A change of the protocol changes its version, ``zenserve tensor 1``, and these."""
    statement = toy.statement(FIELDS[name])
    proof = prove(statement, toy.values(statement))
    assert blake3(b"".join(proof.linked) + proof.data).hexdigest()[:32] == DIGESTS[name]
