"""What a proof says, in words and in fields, and the judgement on a proof document.

Words and fields are always made from the circuit's description, which the service keeps with the
verification key, and the public inputs; they are never taken from whoever hands in a proof.
"""

from __future__ import annotations

from typing import Any

from prover import Verdict, VerifyingKey
from prover.verifying_key import CEREMONY, DEVELOPMENT, IMPORTED
from service import engine
from service.schemas import KeyReference, ProofDocument, Statement, Verification

_NOT_SAID = [
    "That the network is accurate, fair or fit for a purpose.",
    "Where the input came from, who chose it, or when.",
    "Who made the proof, or when: anyone who holds it can show it again.",
]
_SETUP_NOT_SAID = {
    DEVELOPMENT: "Anything, to someone who distrusts whoever made the keys: this is a development setup by a"
    " single party, and a party that kept its secret numbers can forge proofs.",
    CEREMONY: "Anything, if all contributors to one phase of the key's ceremony kept their secret numbers:"
    " they together can forge proofs. The key names their contributions.",
    IMPORTED: "Anything, to someone who does not know how the key was made: another program made it, and"
    " whoever kept its secret numbers can forge proofs.",
}
_INPUT_NOT_SAID = "Which input it was: only that the prover knows one with this label."
_WEIGHTS_NOT_SAID = (
    "Which weights were used: only that the prover knows some, of this architecture, that give this label."
    " They are not bound to a registered model."
)


def statement(circuit: dict[str, Any], public_inputs: list[int], setup: str) -> Statement:
    """The meaning of ``public_inputs``, canonical integers, for a circuit by its description.

    ``setup``: the label of the key under which it is proven.
    """
    fields = [_field(group, public_inputs) for group in circuit["public_inputs"]]
    label = next(field["value"] for field in fields if field["name"] == "label")
    not_said = [
        *([_WEIGHTS_NOT_SAID] if circuit["privacy"]["weights"] == "private" else []),
        *([_INPUT_NOT_SAID] if circuit["privacy"]["input"] == "private" else []),
        *_NOT_SAID,
        _SETUP_NOT_SAID[setup],
    ]
    return Statement(
        claim=f"The label is {label}. {circuit['meaning']}",
        fields=fields,
        circuit=circuit,
        does_not_say=not_said,
    )


def proof_document(
    proof: bytes, public_inputs: list[str], key: VerifyingKey, circuit: dict[str, Any]
) -> ProofDocument:
    """The portable form of a proof under ``key``."""
    return ProofDocument(
        format="zenserve proof",
        version=1,
        proof=proof.hex(),
        public_inputs=public_inputs,
        verification_key=_reference(key),
        statement=statement(circuit, [int(value) for value in public_inputs], key.setup),
    )


def judge(document: ProofDocument, key: VerifyingKey, circuit: dict[str, Any] | None) -> Verification:
    """Whether the document's proof is valid under ``key``, and proves what the document says.

    Without the circuit's description there is nothing to hold the document's words against: the answer
    then has no statement.
    """
    if document.verification_key != _reference(key):
        wrong_key = Verdict(
            False, "key_mismatch", "The document names another verification key than this one."
        )
        return _verification(wrong_key, key, None)
    public_inputs = [int(value) for value in document.public_inputs]
    verdict = engine.verify(key, public_inputs, bytes.fromhex(document.proof))
    if not verdict.valid or circuit is None:
        return _verification(verdict, key, None)
    proven = statement(circuit, public_inputs, key.setup)
    if document.statement != proven:
        verdict = Verdict(
            False,
            "statement_mismatch",
            "The proof is valid, but the document's words are not what it proves; see the statement here.",
        )
    return _verification(verdict, key, proven)


def _verification(verdict: Verdict, key: VerifyingKey, proven: Statement | None) -> Verification:
    return Verification(
        valid=verdict.valid,
        reason=verdict.reason,
        detail=verdict.detail,
        verification_key=_reference(key),
        statement=proven,
    )


def _reference(key: VerifyingKey) -> KeyReference:
    return KeyReference(id=key.digest.hex(), setup=key.setup)


def _field(group: dict[str, Any], public_inputs: list[int]) -> dict[str, Any]:
    """A group of public inputs with its value: a number if it has no shape, else a flat list."""
    values = public_inputs[group["first"] : group["first"] + group["count"]]
    return {**group, "value": values if group["shape"] else values[0]}
