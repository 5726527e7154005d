"""Outputs of which a proof shows a commitment alone: opened, handed on to other models, and refused."""

from __future__ import annotations

from typing import Any

from client import Client, Model, Proof
from service.runtime import Runtime
from tests.service.support import work_on
from verifier.documents import KeyFile, OpeningFile, ProofDocument, checked
from verifier.judging import Known, judge

INPUT = [0.1, 0.2, 0.3, 0.4]


def proven(runtime: Runtime, api: Client, model: Model, **fields: Any) -> tuple[Proof, dict[str, Any]]:
    proof = api.create_proof(model.id, **fields)
    work_on(runtime, proof.id)
    proof = api.get_proof(proof.id)
    assert proof.state == "succeeded", proof.problem
    return proof, api.get_proof_document(proof.id)["statement"]


def test_an_output_is_committed_to_and_opened(api: Client, with_model: Runtime, model: Model) -> None:
    proof = api.create_proof(model.id, INPUT, reveal="commitment")
    assert proof.output_ids is None
    work_on(with_model, proof.id)
    proof = api.get_proof(proof.id)
    assert (proof.state, proof.values, proof.label) == ("succeeded", {}, None)
    assert proof.output_ids is not None
    held = api.get_commitment(proof.output_ids["output"])
    assert (held.kind, held.model_id) == ("output", model.id)
    document = api.get_proof_document(proof.id)
    assert document["statement"]["commitments"]["output"] == held.commitment
    opening = checked(OpeningFile, api.get_commitment_opening(held.id))
    key = checked(KeyFile, api.get_verification_key(str(proof.verification_key_id)))
    verdict = judge(checked(ProofDocument, document), key, known=Known(openings=opening))
    assert verdict.valid
    shown = api.create_proof(model.id, INPUT, reveal="values")
    work_on(with_model, shown.id)
    outputs = api.get_proof(shown.id).outputs
    assert outputs is not None
    assert any(f"opening shows: {outputs[0]:g}"[:20] in said for said in verdict.verified)
