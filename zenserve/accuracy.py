"""A proof of how many labels a network has right, and keeps near the samples, in one call
(docs/robustness.md)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from base.progress import Progress, silent
from circuits import Accuracy, compile_accuracy, parameters
from circuits.tuning import tune
from kernels import fr
from prover import registry
from prover.system import Opening, Renewable
from relations.integers import IntArray
from verifier.datasets import LabelledData
from verifier.documents import Dataset, InputType, ProofDocument, Shard
from verifier.registry import FIRST
from verifier.schemes import Privacy
from zenerrors import StatementError
from zenserve import networks
from zenserve.certificate import steps
from zenserve.proof import Keyed, Proof, verify
from zenserve.proving import THREADS, Party, most_private


def certify_accuracy(
    network: Any,
    samples: Any,
    labels: Any,
    *,
    eps: float,
    calibration: Any = None,
    bits: int | None = 8,
    weight_privacy: Privacy | None = None,
    shard_size: int | None = None,
    challenge: str | None = None,
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
    graph = networks.read(network, samples[0])
    given = networks.samples(graph, samples)
    weight_privacy = weight_privacy or most_private(graph)
    typical = given if calibration is None else networks.samples(graph, calibration)
    qgraph = tune(graph, typical, bits=bits, weight_privacy=weight_privacy, progress=progress).qgraph
    progress("compile", 0.0)
    (own,) = given.values()
    data, radius = LabelledData.of(own, networks.array(labels)), steps(eps, qgraph.input.type.scale)
    circuit = compile_accuracy(
        qgraph, batch=shard_size or data.size, weight_privacy=weight_privacy, measure="certified"
    )
    with TemporaryDirectory() as folder:
        party = Party(registry.find(system), Path(folder), progress)
        weights = {"model": parameters(qgraph)} if weight_privacy == "committed" else {}
        party.commit(weights, max(map(len, _values(circuit, data))))
        registration = party.register(qgraph) if weights else None
        judged = _certified(party, circuit, data, radius, challenge)
    progress("verify", 0.0)
    proof = Proof(judged.document, judged.key, registration, circuit=judged.circuit)
    if not (verdict := verify(proof, dataset=(data.samples, data.labels))).valid:
        raise RuntimeError(f"the fresh proof does not verify: {verdict.reason}")
    return proof


def _require_openings(party: Party, shards: int) -> None:
    """That all shards and the registration may open the model's commitment: more would tell the weights."""
    if "model" not in party.openings or not isinstance(party.basis, Renewable):
        return
    if shards + 1 > (most := party.basis.openings):
        raise StatementError(
            "statement.openings",
            f"{shards} shards open the model's commitment too often, which {most} proofs may, the one of its"
            " registration included: take a larger shard_size",
            field="shard_size",
        )


class _Part(NamedTuple):
    """A shard: what it is committed to as, what the circuit takes of that, and what it counts."""

    values: IntArray
    given: tuple[IntArray, ...]
    counts: IntArray
    openings: dict[str, Opening]


def _certified(
    party: Party, circuit: Accuracy, data: LabelledData, radius: int, challenge: str | None
) -> Keyed:
    """A proof of each shard, for one statement."""
    parts = list(_parts(party, circuit, data, radius))
    _require_openings(party, len(parts))
    key, counts = party.key(circuit), [part.counts for part in parts]
    statement = party.state(
        circuit,
        key,
        circuit.totals(counts, data.size, radius=radius),
        dataset=_described(party, circuit, data, parts),
        challenge=challenge,
    )
    proofs = [
        party.made(
            circuit,
            partial(circuit.witness, *part.given, radius=radius, statement=statement.scalar),
            part.openings,
        )
        for part in parts
    ]
    return Keyed(ProofDocument.of(statement, proofs), key, circuit=party.file_of(circuit, key))


def _values(circuit: Accuracy, data: LabelledData) -> Iterator[IntArray]:
    kind = InputType(shape=list(circuit.entry.shape), **vars(circuit.entry.type))
    for values in data.shard_values(kind, circuit.batch, circuit.measurement.outputs):
        yield np.array(values, dtype=np.int64)


def _parts(party: Party, circuit: Accuracy, data: LabelledData, radius: int) -> Iterator[_Part]:
    for values in _values(circuit, data):
        given = circuit.parts(values)
        counts = circuit.counts(*given, radius=radius)
        party.commit({"dataset": values, "correct": counts}, 0)
        yield _Part(values, given, counts, dict(party.openings))


def _described(party: Party, circuit: Accuracy, data: LabelledData, parts: list[_Part]) -> Dataset:
    basis, model = party.basis, party.openings.get("model")
    assert basis is not None  # noqa: S101  datasets are committed to
    opened = party.system.commitments.open_sum(
        basis, [part.openings["correct"] for part in parts], [part.counts.tolist() for part in parts]
    )
    shards = [
        Shard(
            size=int((part.given[1] < circuit.filler).sum()),
            dataset=part.openings["dataset"].commitment.hex(),
            correct=part.openings["correct"].commitment.hex(),
            opening=basis.reveal(
                part.openings["dataset"], fr.from_int64(part.values), threads=THREADS
            ).to_json(),
        )
        for part in parts
    ]
    return Dataset(
        sha256=data.sha256.hex(),
        size=data.size,
        picked_for=model.commitment.hex() if model else None,
        shards=shards,
        blinding=opened.hex(),
    )
