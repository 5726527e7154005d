"""Real proofs of small networks, as the service makes them, and as a dishonest prover could."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from zenserve.circuits import (
    Accuracy,
    Inference,
    QuantGraph,
    Recognition,
    Registration,
    Robustness,
    compile_accuracy,
    parameters,
)
from zenserve.circuits.graphs.types import Affine
from zenserve.circuits.quantised import Integers
from zenserve.circuits.schemes.accuracy import Parts
from zenserve.circuits.schemes.circuit import Circuit
from zenserve.circuits.schemes.inference import Bounds
from zenserve.kernels import FrArray, fr
from zenserve.prover import groth16
from zenserve.prover.groth16 import CommitmentKey, Opening, ProvingKey, proving
from zenserve.relations.integers import IntArray
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import (
    Dataset,
    KeyFile,
    OpeningFile,
    OpeningPart,
    ProofDocument,
    Shard,
    Statement,
    checked,
    named,
)
from zenserve.verifier.fields import Values
from zenserve.verifier.groth16.system import Groth16Verifier
from zenserve.verifier.keys import key_file
from zenserve.verifier.schemes import Measure, Norm
from zenserve.verifier.words import make_statement

MADE_AT = "2026-11-21T12:00:00Z"


@dataclass(frozen=True)
class Maker:
    """A circuit with its keys."""

    circuit: Circuit
    proving_key: ProvingKey
    basis: CommitmentKey

    @classmethod
    def of(cls, circuit: Circuit, basis: CommitmentKey) -> Maker:
        linked = basis if circuit.commitments else None
        return cls(circuit, groth16.setup(circuit.constraint_system, basis=linked), basis)

    @cached_property
    def key_file(self) -> KeyFile:
        description = json.loads(json.dumps(self.circuit.describe()))
        return key_file(Groth16Verifier(), self.proving_key.verifying_key, description)

    def commit(self, values: IntArray, *, hiding: bool = True) -> Opening:
        return self.basis.commit(fr.from_ints(values.tolist()), hiding=hiding)

    def state(self, values: Values, openings: Mapping[str, Opening], **more: Any) -> Statement:
        commitments = {name: opening.commitment.hex() for name, opening in openings.items()}
        fields = {"made_at": MADE_AT, "commitments": commitments} | more
        return make_statement(self.key_file, values=values, **fields)

    def prove(self, witness: FrArray, openings: Sequence[Opening]) -> bytes:
        """Also where an opening is not that of the witness: an honest prover would notice."""
        circuit = self.circuit
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(proving, "_check_links", lambda *_: None)
            return groth16.prove(
                self.proving_key,
                circuit.constraint_system,
                witness,
                openings=openings,
                post_challenge=circuit.program.post_challenge,
            ).to_bytes()


def registration(maker: Maker, model: Opening, **more: Any) -> ProofDocument:
    circuit = maker.circuit
    assert isinstance(circuit, Registration)
    statement = maker.state({}, {"model": model}, **more)
    return ProofDocument.of(statement, [maker.prove(circuit.witness(statement=statement.scalar), [model])])


def inference(
    maker: Maker,
    q: Integers,
    openings: Mapping[str, Opening],
    *,
    state: Statement | None = None,
    bounds: Bounds | None = None,
    **more: Any,
) -> ProofDocument:
    """``state``: what is claimed, where that is not the truth."""
    circuit = maker.circuit
    assert isinstance(circuit, Inference)
    statement = state or maker.state(circuit.values(q, bounds), openings, **more)
    witness = circuit.witness(q, bounds, statement=statement.scalar)
    return ProofDocument.of(statement, [maker.prove(witness, list(openings.values()))])


def recognition(
    maker: Maker, q: IntArray, reference: IntArray, threshold: int, openings: Mapping[str, Opening]
) -> ProofDocument:
    circuit = maker.circuit
    assert isinstance(circuit, Recognition)
    statement = maker.state(circuit.values(q, reference, threshold), openings)
    witness = circuit.witness(q, reference, threshold, statement=statement.scalar)
    return ProofDocument.of(statement, [maker.prove(witness, list(openings.values()))])


def robustness(
    maker: Maker,
    q: IntArray,
    radius: int,
    openings: Mapping[str, Opening],
    *,
    state: Statement | None = None,
) -> ProofDocument:
    """``state``: as of ``inference``."""
    circuit = maker.circuit
    assert isinstance(circuit, Robustness)
    statement = state or maker.state(circuit.values(q, radius), openings)
    witness = circuit.witness(q, radius, statement=statement.scalar)
    return ProofDocument.of(statement, [maker.prove(witness, list(openings.values()))])


@dataclass(frozen=True)
class Part:
    """A shard and what its prover knows of it."""

    samples: Any
    labels: IntArray
    size: int
    counts: list[int]
    dataset: Opening
    correct: Opening
    targets: IntArray | None = None

    @property
    def given(self) -> Parts:
        """As the circuit takes it."""
        parts = self.samples, self.labels
        return parts if self.targets is None else (*parts, self.targets)


class AccuracyMaker:
    """Proves a dataset shard by shard. ``model``: the opening of the network's commitment."""

    def __init__(
        self,
        graph: QuantGraph,
        basis: CommitmentKey,
        model: Opening,
        batch: int,
        measure: Measure = "accuracy",
        top: int = 1,
        radius: int | None = None,
        norm: Norm = "inf",
        output: str | None = None,
    ) -> None:
        self.radius = radius
        self.circuit: Accuracy = compile_accuracy(
            graph,
            batch=batch,
            weight_privacy="committed",
            measure=measure,
            top=top,
            norm=norm,
            output=output,
        )
        self.maker = Maker.of(self.circuit, basis)
        self.model = model

    def parts(self, data: LabelledData, *, hiding: bool = False) -> list[Part]:
        circuit, parts = self.circuit, list[Part]()
        for whole in circuit.shard_values(data):
            samples, labels, *targets = circuit.parts(whole)
            counts = circuit.counts(samples, labels, *targets, radius=self.radius)
            parts.append(
                Part(
                    samples,
                    labels,
                    int((labels < circuit.filler).sum()),
                    counts.tolist(),
                    self.maker.commit(whole, hiding=hiding),
                    self.maker.commit(counts),
                    *targets,
                )
            )
        return parts

    def shard(self, part: Part, *, public: bool = True) -> Shard:
        opening = self.reveal(part) if public else None
        return Shard(
            size=part.size,
            dataset=part.dataset.commitment.hex(),
            correct=part.correct.commitment.hex(),
            opening=opening,
        )

    def reveal(self, part: Part) -> dict[str, Any]:
        values = self.circuit.dataset_values(*part.given)
        return self.maker.basis.reveal(part.dataset, fr.from_ints(values.tolist())).to_json()

    def opening_file(self, parts: Sequence[Part]) -> OpeningFile:
        return OpeningFile(
            **named(Groth16Verifier()),
            kind="dataset",
            parts=[
                checked(
                    OpeningPart, {"commitment": part.dataset.commitment.hex(), "opening": self.reveal(part)}
                )
                for part in parts
            ],
        )

    def dataset(self, parts: Sequence[Part], sha256: bytes | None, **more: Any) -> Dataset:
        public = sha256 is not None
        fields = {
            "sha256": sha256.hex() if sha256 is not None else None,
            "size": sum(part.size for part in parts),
            "picked_for": self.model.commitment.hex(),
            "shards": [self.shard(part, public=public) for part in parts],
            "blinding": self.opened(parts).hex(),
        }
        return Dataset(**(fields | more))

    def opened(self, parts: Sequence[Part]) -> bytes:
        """What opens the sum of their counts."""
        return self.maker.basis.open_sum([part.correct for part in parts], [part.counts for part in parts])

    def totals(self, parts: Sequence[Part]) -> list[int]:
        return [sum(column) for column in zip(*(part.counts for part in parts), strict=True)]

    def state(self, dataset: Dataset, *totals: int, **more: Any) -> Statement:
        counts = [np.array(totals)]
        values = self.circuit.totals(counts, dataset.size, radius=self.radius)
        return self.maker.state(values, {"model": self.model}, dataset=dataset, **more)

    def prove(self, statement: Statement, parts: Sequence[Part]) -> ProofDocument:
        """Each part proven for ``statement``, whatever that says of them."""
        return ProofDocument.of(
            statement,
            [
                self.maker.prove(
                    self.circuit.witness(*part.given, radius=self.radius, statement=statement.scalar),
                    [self.model, part.dataset, part.correct],
                )
                for part in parts
            ],
        )

    def document(self, data: LabelledData, *, public: bool = True, **more: Any) -> ProofDocument:
        parts = self.parts(data, hiding=not public)
        dataset = self.dataset(parts, data.sha256 if public else None)
        return self.prove(self.state(dataset, *self.totals(parts), **more), parts)


def with_type(graph: QuantGraph, kind: Affine) -> QuantGraph:
    """``graph`` with an input of another type."""
    return replace(graph, inputs=(replace(graph.input, type=kind),))


def model_opening(graph: QuantGraph, basis: CommitmentKey) -> Opening:
    return basis.commit(fr.from_ints(parameters(graph).tolist()))


def rehashed(document: ProofDocument, **changes: Any) -> ProofDocument:
    """The document with a statement of other fields, and the hash of that: what a forger hands on."""
    fields = document.statement.model_dump() | changes
    statement = checked(Statement, fields)
    return document.model_copy(update={"statement": statement, "statement_sha256": statement.sha256.hex()})
