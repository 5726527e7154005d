"""Tiny networks, their keys, honest proofs about them, and proofs of statements that lie."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from py_arkworks_bls12381 import G1Point, Scalar

from tests.circuits.quantised import networks
from tests.client.makers import (
    AccuracyMaker,
    Maker,
    inference,
    model_opening,
    recognition,
    registration,
    rehashed,
)
from tests.prover.statements import commitment_basis
from zenserve.circuits import compile_inference, compile_recognition, compile_registration, input_values
from zenserve.kernels import fr
from zenserve.prover.groth16 import Opening
from zenserve.relations.integers import IntArray
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import (
    KeyFile,
    OpeningFile,
    OpeningPart,
    ProofDocument,
    checked,
    key_id,
    named,
)
from zenserve.verifier.groth16.proof import Proof
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.points import SCALAR_MODULUS, decode_g1, decode_g2
from zenserve.verifier.registry import FIRST, SYSTEMS

Json = Any
BATCH = 3
CHALLENGE = "Größe 7, or „8“?"


@dataclass(frozen=True)
class World:
    """Everything is made when it is first asked for: in the same order each time."""

    @cached_property
    def graph(self) -> Any:
        return networks.of_kinds(6, "conv", shape=(1, 3, 3))

    @cached_property
    def basis(self) -> Any:
        return commitment_basis(300)

    @cached_property
    def inputs(self) -> IntArray:
        return networks.inputs(self.graph, 4, 0)[2:]

    @cached_property
    def data(self) -> LabelledData:
        """Eight samples: the third shard is not full. One label is not the network's."""
        q = networks.inputs(self.graph, 8, 7)
        labels = self.graph.run(q).argmax(axis=1)
        labels[2] = (labels[2] + 1) % self.graph.classes
        return LabelledData.of(self.graph.input.type.real(q), labels)

    @cached_property
    def model(self) -> Opening:
        return model_opening(self.graph, self.basis)

    @cached_property
    def registrar(self) -> Maker:
        return Maker.of(compile_registration(self.graph), self.basis)

    @cached_property
    def committed(self) -> Maker:
        """Committed weights and input; label and logits."""
        privacy: dict[str, Any] = {"input_privacy": "committed", "weight_privacy": "committed"}
        return Maker.of(compile_inference(self.graph, reveal="logits", **privacy), self.basis)

    @cached_property
    def public(self) -> Maker:
        """Public weights and input; the two likeliest labels."""
        return Maker.of(
            compile_inference(self.graph, input_privacy="public", reveal="top", top=2), self.basis
        )

    @cached_property
    def plain(self) -> Maker:
        """Public weights, a private input, the label: a proof without segments, 192 bytes."""
        return Maker.of(compile_inference(self.graph, level=3), self.basis)

    @cached_property
    def recogniser(self) -> Maker:
        """Public weights, a private input and a committed reference."""
        return Maker.of(compile_recognition(networks.embedding(6), reference_privacy="committed"), self.basis)

    @cached_property
    def assessor(self) -> AccuracyMaker:
        return AccuracyMaker(self.graph, self.basis, self.model, BATCH)

    @cached_property
    def held(self) -> dict[str, Opening]:
        """Of the model, and of the committed input."""
        return {"model": self.model, "input": self.committed.commit(self.values(0))}

    @cached_property
    def registered(self) -> ProofDocument:
        return registration(self.registrar, self.model)

    @cached_property
    def inferred(self) -> ProofDocument:
        return inference(self.committed, self.inputs[0], self.held, challenge=CHALLENGE)

    @cached_property
    def shown(self) -> ProofDocument:
        return inference(self.public, self.inputs[1], {})

    @cached_property
    def bare(self) -> ProofDocument:
        return inference(self.plain, self.inputs[1], {})

    def recognised(self, threshold: int) -> ProofDocument:
        reference = np.array([1, 2, 3])
        held = {"reference": self.recogniser.commit(reference)}
        return recognition(self.recogniser, self.inputs[0], reference, threshold, held)

    def values(self, index: int) -> IntArray:
        """What a commitment to this input is to."""
        return input_values(self.graph, self.inputs[index])

    def real(self, index: int) -> Json:
        return self.graph.input.type.real(self.inputs[index]).tolist()

    def lie(self, **changes: Any) -> ProofDocument:
        """The committed inference, its proof made for a statement with these changes."""
        said = rehashed(self.inferred, **changes).statement
        return inference(self.committed, self.inputs[0], self.held, state=said)

    def bare_lie(self, **changes: Any) -> ProofDocument:
        return inference(self.plain, self.inputs[1], {}, state=rehashed(self.bare, **changes).statement)

    def opening(self, held: Opening, index: int, **changes: Any) -> OpeningFile:
        """Of a commitment to this input."""
        revealed = self.basis.reveal(held, fr.from_int64(self.values(index))).to_json()
        part = {"commitment": held.commitment.hex(), "opening": revealed} | changes
        names = named(SYSTEMS[FIRST])
        return OpeningFile(**names, kind="input", parts=[checked(OpeningPart, part)])


def renamed(key: KeyFile, /, **changes: Any) -> Json:
    """The key's file with these changes, its id made to fit."""
    fields = key.model_dump(mode="json") | changes
    return fields | {"id": key_id(FIRST, bytes.fromhex(fields["key"]["digest"]), fields["circuit"])}


def repointed(key: KeyFile, /, **changes: str) -> Json:
    """The key's file with other points, its digest and id made to fit."""
    raw = VerifyingKey.from_json(key.key).to_bytes()
    for name, point in changes.items():
        raw = raw.replace(bytes.fromhex(key.key[name]), bytes.fromhex(point))
    digest = {"digest": hashlib.sha256(raw).hexdigest()}
    return renamed(key, key=key.key | changes | digest)


def forged(document: ProofDocument, key: KeyFile, as_delta: Json) -> ProofDocument:
    """A proof of the plain circuit under a key whose δ is γ, made without witness or secret."""
    names = {"id": as_delta["id"], "setup": as_delta["setup"]}
    said = rehashed(document, verification_key=names)
    label = said.statement.values["label"]
    assert isinstance(label, int)
    inputs = [1, said.statement.scalar, label]
    points = [G1Point.from_compressed_bytes(bytes.fromhex(point)) for point in key.key["ic"]]
    scalars = [Scalar(value) for value in inputs]
    c = bytes((-G1Point.multiexp_unchecked(points, scalars)).to_compressed_bytes())
    proof = Proof(bytes.fromhex(key.key["alpha_g1"]), bytes.fromhex(key.key["beta_g2"]), c)
    return with_proof(said, proof.to_bytes())


def another_of(document: ProofDocument, rho: int = 7) -> ProofDocument:
    """A / ρ, ρ B, C: as good a proof as (A, B, C), which anybody can make."""
    proof = Proof.split(bytes.fromhex(document.proofs[0]))
    a = decode_g1(proof.a) * Scalar(pow(rho, -1, SCALAR_MODULUS))
    b = decode_g2(proof.b) * Scalar(rho)
    points = bytes(a.to_compressed_bytes()), bytes(b.to_compressed_bytes())
    return with_proof(document, replace(proof, a=points[0], b=points[1]).to_bytes())


def with_proof(document: ProofDocument, proof: bytes) -> ProofDocument:
    return document.model_copy(update={"proofs": [proof.hex()]})


def dumped(document: Any, **changes: Any) -> Json:
    return document.model_dump(mode="json") | changes


def stated(document: ProofDocument, **changes: Any) -> Json:
    """The document as JSON with a statement, of any form, that has these changes."""
    fields = dumped(document)
    return fields | {"statement": fields["statement"] | changes}


def without(fields: Mapping[str, Any], *names: str) -> Json:
    return {name: value for name, value in fields.items() if name not in names}


def as_text(fields: Json) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
