"""Every answer that verification can give: a stable name and a sentence."""

from __future__ import annotations

from typing import Final

from zenserve.verifier.points import Fault
from zenserve.verifier.verdict import LINK_MISMATCH, OK, SUM_MISMATCH, Verdict

_ELEMENTS: Final = {
    "a": "A",
    "b": "B",
    "c": "C",
    "segment": "The proof's commitment to a segment",
    "knowledge": "The proof of knowledge for a segment",
    "link": "The proof of a link",
    "commitment": "A commitment",
    "basis": "U_1 of the basis that an opening is checked against",
    "tau": "The opening's [τ]_2",
    "quotient": "The opening's quotient",
}
_FAULTS: Final = {
    Fault.ENCODING: "does not have the length and flag bits of a compressed point",
    Fault.NOT_CANONICAL: "has a coordinate that is not below the field modulus",
    Fault.NOT_ON_CURVE: "is not on the curve",
    Fault.NOT_IN_SUBGROUP: "is on the curve, but outside the subgroup of prime order",
    Fault.AT_INFINITY: "is the point at infinity",
}

REASONS: Final[dict[str, str]] = {
    OK: "The proof is valid for these public inputs and commitments.",
    "proof_type": "The proof is neither bytes nor a Proof.",
    "proof_length": "The proof has neither 192 bytes nor the length that its header announces.",
    "proof_format": "The proof's header is of another kind or version than this program reads.",
    "proof_shape": "The proof has other segments or links than the key asks for.",
    "public_input_count": "There are more or fewer public inputs than the key takes.",
    "public_input_type": "A public input is not an integer.",
    "public_input_not_canonical": "A public input is negative, or not below the group order r.",
    "commitment_count": "There are more or fewer commitments than the key links to.",
    "commitment_type": "A commitment is not bytes.",
    **{
        f"{name}_{fault}": f"{element} {sentence}."
        for name, element in _ELEMENTS.items()
        for fault, sentence in _FAULTS.items()
        if (name, fault) != ("quotient", Fault.AT_INFINITY)  # what a single value has
    },
    "pairing_mismatch": (
        "The proof is well-formed, but it does not prove this statement for these public inputs and "
        "commitments."
    ),
    "knowledge_mismatch": (
        "Under this key, the proof's commitment to a segment and its proof of knowledge do not belong "
        "together."
    ),
    LINK_MISMATCH: "The proof does not show that one of the commitments is to the values of its segment.",
    "opening_type": "U_1 of the basis is not bytes, or the opening is none.",
    "opening_values": "The values are not a sequence of integers.",
    "opening_blinding": "The blinding factor is not 32 bytes of an integer below the group order r.",
    "opening_basis": "The opening's [τ]_2 belongs to another basis.",
    "opening_mismatch": "The opening is well-formed, but the commitment is to other values.",
    "sum_total": "The total is not an integer from 0 to r - 1.",
    SUM_MISMATCH: "The commitments do not add up to one to this total with this blinding factor.",
}


def verdict_of(reason: str, detail: str = "", index: int | None = None) -> Verdict:
    """``index``: the segment that has a ``knowledge_mismatch``, or as ``Verdict`` has it."""
    return Verdict(reason == OK, reason, detail or REASONS[reason], index)
