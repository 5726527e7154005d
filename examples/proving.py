"""What the examples prove with: the service's steps without the service, its jobs and its vault.

One party has a circuit, its keys and the openings of its commitments; what it hands on are documents of
``zenserve.verifier.documents``, which ``zenserve.verifier.judging`` judges.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

from zenserve.base.processors import usable_cores
from zenserve.circuits import Accuracy, Inference, Recognition, Registration
from zenserve.circuits.quantised import Integers
from zenserve.circuits.schemes.accuracy import Parts
from zenserve.circuits.schemes.circuit import Circuit
from zenserve.kernels import FrArray, fr
from zenserve.prover import groth16
from zenserve.prover.groth16 import CommitmentKey, Opening, ProvingKey
from zenserve.relations.integers import IntArray
from zenserve.verifier import fields
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import (
    Dataset,
    KeyFile,
    OpeningFile,
    OpeningPart,
    ProofDocument,
    Shard,
    Statement,
    named,
)
from zenserve.verifier.fields import Values, canonical, timestamp
from zenserve.verifier.groth16.system import Groth16Verifier
from zenserve.verifier.keys import key_file
from zenserve.verifier.words import make_statement

THREADS = usable_cores()
CircuitKind = TypeVar("CircuitKind", bound=Circuit)


@dataclass(frozen=True)
class Scheme(Generic[CircuitKind]):
    """A circuit with its keys. A development setup: whoever runs it could forge proofs."""

    circuit: CircuitKind
    key: ProvingKey

    @classmethod
    def of(cls, circuit: CircuitKind, basis: CommitmentKey) -> Scheme[CircuitKind]:
        return cls(circuit, groth16.setup(circuit.constraint_system, basis=basis, threads=THREADS))

    @cached_property
    def key_file(self) -> KeyFile:
        """What verifiers need beside a proof."""
        circuit = json.loads(canonical(self.circuit.describe()))
        return key_file(Groth16Verifier(), self.key.verifying_key, circuit)

    def state(self, values: Values, openings: Mapping[str, Opening], **more: Any) -> Statement:
        """What a proof will say. ``openings``: of the model, and of input and reference if committed."""
        return make_statement(
            self.key_file,
            values=values,
            commitments={name: opening.commitment.hex() for name, opening in openings.items()},
            made_at=timestamp(datetime.now(UTC)),
            **more,
        )

    def document(
        self, statement: Statement, witness: FrArray, openings: Mapping[str, Opening]
    ) -> ProofDocument:
        return ProofDocument.of(statement, [self.prove(witness, openings)])

    def prove(self, witness: FrArray, openings: Mapping[str, Opening]) -> bytes:
        return groth16.prove(
            self.key,
            self.circuit.constraint_system,
            witness,
            openings=[openings[name] for name in self.circuit.commitments],
            post_challenge=partial(self.circuit.program.post_challenge, threads=THREADS),
            threads=THREADS,
        ).to_bytes()


def commit(basis: CommitmentKey, values: IntArray, *, hiding: bool = True) -> Opening:
    return basis.commit(fr.from_int64(values.ravel()), hiding=hiding, threads=THREADS)


def reveal(basis: CommitmentKey, opening: Opening, values: IntArray) -> fields.Opening:
    """What shows that the commitment is to the values, to those who know them."""
    shown = basis.reveal(opening, fr.from_int64(values.ravel()), threads=THREADS)
    return shown.to_json()


def opening_file(basis: CommitmentKey, kind: fields.Kind, opening: Opening, values: IntArray) -> OpeningFile:
    part = OpeningPart(commitment=opening.commitment.hex(), opening=reveal(basis, opening, values))
    return OpeningFile(**named(Groth16Verifier()), kind=kind, parts=[part])


def register(scheme: Scheme[Registration], model: Opening) -> ProofDocument:
    statement = scheme.state({}, {"model": model})
    witness = scheme.circuit.witness(statement=statement.scalar)
    return scheme.document(statement, witness, {"model": model})


def infer(
    scheme: Scheme[Inference], q: Integers, openings: Mapping[str, Opening], challenge: str | None = None
) -> ProofDocument:
    statement = scheme.state(scheme.circuit.values(q), openings, challenge=challenge)
    witness = scheme.circuit.witness(q, statement=statement.scalar)
    return scheme.document(statement, witness, openings)


def recognise(
    scheme: Scheme[Recognition],
    q: IntArray,
    reference: IntArray,
    threshold: int,
    openings: Mapping[str, Opening],
    challenge: str | None = None,
) -> ProofDocument:
    statement = scheme.state(scheme.circuit.values(q, reference, threshold), openings, challenge=challenge)
    witness = scheme.circuit.witness(q, reference, threshold, statement=statement.scalar)
    return scheme.document(statement, witness, openings)


@dataclass(frozen=True)
class Part:
    """A shard as its prover knows it: ``given``, samples and labels (and targets) of a whole batch, the last
    ones padding, and what they count."""

    given: Parts
    counts: IntArray
    dataset: Opening
    correct: Opening


def measure(
    scheme: Scheme[Accuracy],
    model: Opening,
    data: LabelledData,
    basis: CommitmentKey,
    challenge: str | None = None,
) -> ProofDocument:
    """What the circuit measures of a public dataset: one proof for each shard, and the totals."""
    circuit = scheme.circuit
    parts = _parts(circuit, data, basis)
    sizes = [int((part.given[1] < circuit.filler).sum()) for part in parts]
    shards = [
        Shard(
            size=size,
            dataset=part.dataset.commitment.hex(),
            correct=part.correct.commitment.hex(),
            opening=reveal(basis, part.dataset, circuit.dataset_values(*part.given)),
        )
        for part, size in zip(parts, sizes, strict=True)
    ]
    dataset = Dataset(
        sha256=data.sha256.hex(),
        size=data.size,
        picked_for=model.commitment.hex(),
        shards=shards,
        blinding=basis.open_sum(
            [part.correct for part in parts], [part.counts.tolist() for part in parts]
        ).hex(),
    )
    values = circuit.totals([part.counts for part in parts], data.size)
    statement = scheme.state(values, {"model": model}, dataset=dataset, challenge=challenge)
    proofs = [
        scheme.prove(
            circuit.witness(*part.given, statement=statement.scalar),
            {"model": model, "dataset": part.dataset, "correct": part.correct},
        )
        for part in parts
    ]
    return ProofDocument.of(statement, proofs)


def _parts(circuit: Accuracy, data: LabelledData, basis: CommitmentKey) -> list[Part]:
    parts = []
    for values in circuit.shard_values(data):
        given = circuit.parts(values)
        counts = circuit.counts(*given)
        # Anyone who has the dataset can compute its commitment: it hides nothing. The counts' does.
        dataset = commit(basis, values, hiding=False)
        parts.append(Part(given, counts, dataset, commit(basis, counts)))
    return parts
