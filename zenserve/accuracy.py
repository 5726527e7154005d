"""A proof of how many labels a network has right, and keeps near the samples, in one call
(docs/robustness.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from base.progress import Progress, silent
from circuits import Accuracy, compile_accuracy, parameters
from circuits.comparison import gaps
from circuits.comparison.differences import require_near
from circuits.comparison.integers import compare_integers
from circuits.quantised.typed import TypedGraph
from circuits.tuning import tune
from kernels import fr
from prover import registry
from prover.system import Opening, Renewable
from relations.integers import IntArray
from verifier.datasets import LabelledData
from verifier.description import InputType
from verifier.documents import Dataset, KeyFile, ProofDocument, Shard
from verifier.registry import FIRST
from verifier.schemes import Norm, Privacy
from zenerrors import StatementError
from zenserve import networks
from zenserve.certificate import steps
from zenserve.proof import Keyed, Proof, verify
from zenserve.proving import THREADS, Party


def certify_accuracy(
    network: Any,
    samples: Any,
    labels: Any,
    *,
    eps: float,
    norm: Norm = "inf",
    calibration: Any = None,
    bits: int | None = 8,
    weight_privacy: Privacy | None = None,
    shard_size: int | None = None,
    challenge: str | None = None,
    accept_difference: bool = False,
    system: str = FIRST,
    progress: Progress = silent,
) -> Proof:
    """A proof, verified, of how many of the ``samples`` [n, …] ``network`` gives their ``labels`` int[n], and
    every input near them, too: at least, for some that it does not count may be robust all the same.

    ``shard_size``: how many samples are in one proof, all of them unless said; the proofs' counts are added
    up, and not shown. Samples and labels are public: ``verify`` takes them as its ``dataset``. All else is as
    ``certify`` has it; scales are from ``calibration``, else from the samples. Raises as ``certify``, but
    for samples that are not certified, and ``ModelError`` (``model.memory``) where shards are too large.
    """
    progress("read", 0.0)
    samples = networks.array(samples)
    loaded = networks.load(network, samples[0])
    graph = loaded.graph
    given = networks.samples(graph, samples)
    typical = given if calibration is None else networks.samples(graph, calibration)
    compared = gaps.chosen(graph, given)
    differences = loaded.differences(compared, own=False, accept=accept_difference)
    qgraph = tune(graph, typical, bits=bits, weight_privacy=weight_privacy, progress=progress).qgraph
    weight_privacy = weight_privacy or TypedGraph.most_private(qgraph)
    differences += (compare_integers(graph, qgraph, compared, own=False),)
    if not accept_difference:
        require_near(differences)
    progress("compile", 0.0)
    (own,) = given.values()
    data, radius = LabelledData.of(own, networks.array(labels)), steps(eps, qgraph.input.type.scale)
    circuit = compile_accuracy(
        qgraph,
        batch=shard_size or data.size,
        weight_privacy=weight_privacy,
        measure="certified",
        norm=norm,
    )
    with TemporaryDirectory() as folder:
        party = Party(registry.find(system), Path(folder), progress)
        weights = {"model": parameters(qgraph)} if weight_privacy == "committed" else {}
        party.commit(weights, max(map(len, shard_values(circuit, data))))
        registration = party.register(qgraph) if weights else None
        shards = shards_of(party, circuit, data, radius)
        judged = prove_shards(party, circuit, party.key(circuit), data, shards, radius, challenge)
    progress("verify", 0.0)
    proof = Proof(judged.document, judged.key, registration, circuit=judged.circuit, differences=differences)
    if not (verdict := verify(proof, dataset=(data.samples, data.labels))).valid:
        raise RuntimeError(f"the fresh proof does not verify: {verdict.reason}")
    return proof


class Counted(NamedTuple):
    """A shard: the ``values`` that the commitment ``dataset`` is to, what the circuit takes of them
    (``given``), and what it counts: what ``correct`` is to."""

    values: IntArray
    given: tuple[IntArray, ...]
    counts: IntArray
    openings: Mapping[str, Opening]


def shards_of(party: Party, circuit: Accuracy, data: LabelledData, radius: int) -> list[Counted]:
    """All shards, counted and committed to. Raises ``StatementError`` (``statement.openings``) where their
    proofs would open the model's commitment more often than it hides the weights."""
    shards = []
    for values in shard_values(circuit, data):
        given = circuit.parts(values)
        counts = circuit.counts(*given, radius=radius)
        party.commit({"dataset": values, "correct": counts}, 0)
        shards.append(Counted(values, given, counts, dict(party.openings)))
    basis = party.basis
    if "model" in party.openings and isinstance(basis, Renewable) and len(shards) >= basis.openings:
        raise StatementError(
            "statement.openings",
            f"{len(shards)} shards open the model's commitment too often, which {basis.openings} proofs may,"
            " the one of its registration included: take a larger shard_size",
            field="shard_size",
        )
    return shards


def shard_values(circuit: Accuracy, data: LabelledData) -> Iterator[IntArray]:
    """What the shards' commitments are to, int64[n] each."""
    kind = InputType(shape=list(circuit.entry.shape), **vars(circuit.entry.type))
    for values in data.shard_values(kind, circuit.batch, circuit.measurement.outputs):
        yield np.array(values, dtype=np.int64)


def prove_shards(
    party: Party,
    circuit: Accuracy,
    key: KeyFile,
    data: LabelledData,
    shards: Sequence[Counted],
    radius: int,
    challenge: str | None = None,
) -> Keyed:
    """A proof of each, for one statement."""
    values = circuit.totals([shard.counts for shard in shards], data.size, radius=radius)
    dataset = _described(party, circuit, data, shards)
    statement = party.state(circuit, key, values, dataset=dataset, challenge=challenge)
    proofs = [
        party.made(
            circuit,
            partial(circuit.witness, *shard.given, radius=radius, statement=statement.scalar),
            shard.openings,
        )
        for shard in shards
    ]
    return Keyed(ProofDocument.of(statement, proofs), key, circuit=party.file_of(circuit, key))


def _described(party: Party, circuit: Accuracy, data: LabelledData, shards: Sequence[Counted]) -> Dataset:
    basis, model = party.basis, party.openings.get("model")
    assert basis is not None  # noqa: S101  datasets are committed to

    def described(shard: Counted) -> Shard:
        dataset, correct = shard.openings["dataset"], shard.openings["correct"]
        opened = basis.reveal(dataset, fr.from_int64(shard.values), threads=THREADS)
        return Shard(
            size=int((shard.given[1] < circuit.filler).sum()),
            dataset=dataset.commitment.hex(),
            correct=correct.commitment.hex(),
            opening=opened.to_json(),
        )

    counts, openings = zip(
        *((each.counts.tolist(), each.openings["correct"]) for each in shards), strict=True
    )
    return Dataset(
        sha256=data.sha256.hex(),
        size=data.size,
        picked_for=model.commitment.hex() if model else None,
        shards=[described(shard) for shard in shards],
        blinding=party.system.commitments.open_sum(basis, openings, counts).hex(),
    )
