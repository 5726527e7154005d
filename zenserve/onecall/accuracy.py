"""A proof of how well a network does on samples, or keeps its labels near them (docs/robustness.md), in one
call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from zenserve.base.progress import Progress, silent
from zenserve.circuits import Accuracy, compile_accuracy, parameters
from zenserve.circuits.comparison import gaps
from zenserve.circuits.comparison.differences import require_near
from zenserve.circuits.comparison.integers import compare_integers
from zenserve.circuits.quantisation.plan import input_names
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.schemes.accuracy import Parts, measured_output
from zenserve.circuits.tuning import tune
from zenserve.errors import StatementError
from zenserve.kernels import fr
from zenserve.onecall import networks
from zenserve.onecall.certificate import steps
from zenserve.onecall.proof import Keyed, Proof, verify
from zenserve.onecall.proving import THREADS, Party
from zenserve.prover import registry
from zenserve.prover.system import Opening, Renewable
from zenserve.relations.integers import IntArray
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import Dataset, KeyFile, ProofDocument, Shard
from zenserve.verifier.measures import takes_targets
from zenserve.verifier.registry import FIRST
from zenserve.verifier.schemes import Measure, Norm, Privacy, PublicOrPrivate


def accuracy(
    network: Any,
    samples: Any,
    labels: Any,
    *,
    measure: Measure = "accuracy",
    top: int = 1,
    output: str | None = None,
    data_privacy: PublicOrPrivate = "public",
    calibration: Any = None,
    bits: int | None = 8,
    weight_privacy: Privacy | None = None,
    shard_size: int | None = None,
    challenge: str | None = None,
    accept_difference: bool = False,
    system: str = FIRST,
    progress: Progress = silent,
) -> Proof:
    """A proof, verified, of how well ``network`` does on ``samples`` [n, …] with their ``labels``.

    ``samples``: as ``prove`` takes ``calibration``, rows of a table too; of several inputs a tuple, or of a
    file's a mapping from their names. ``labels``: int[n], or names of classes; of the measures ``mse``,
    ``mae`` and ``r2`` targets, float[n] or [n, outputs]. ``measure``, ``top``: what is counted
    (docs/schemes.md). ``output``: of which of several outputs the labels are; inputs that it is not computed
    from are not in the dataset.
    ``data_privacy``: the samples are never in the proof. ``public``: it opens to whoever has them, and
    ``verify`` takes them as its ``dataset``; ``private``: it opens to nobody. ``shard_size``: how many
    samples are in one proof, all of them unless said; the proofs' counts are added up, and not shown.

    All else is as ``prove`` has it; scales are from ``calibration``, else from the samples. Raises as
    ``prove``, and ``ModelError`` (``model.memory``) where shards are too large.
    """
    asked = _Asked(measure, top, output, data_privacy, shard_size, challenge)
    return _proven(
        _Given(network, samples, labels, calibration, bits, weight_privacy, accept_difference),
        asked,
        system,
        progress,
    )


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

    Samples and labels are public: ``verify`` takes them as its ``dataset``. All else is as ``certify`` and
    ``accuracy`` have it. Raises as ``certify``, but for samples that are not certified, and as ``accuracy``.
    """
    asked = _Asked("certified", 1, None, "public", shard_size, challenge, eps, norm)
    return _proven(
        _Given(network, samples, labels, calibration, bits, weight_privacy, accept_difference),
        asked,
        system,
        progress,
    )


class _Given(NamedTuple):
    """The model and samples of a proof, as the caller passes them."""

    network: Any
    samples: Any
    labels: Any
    calibration: Any
    bits: int | None
    weight_privacy: Privacy | None
    accept_difference: bool


class _Asked(NamedTuple):
    """The claim to be proven. ``eps``, ``norm``: of the measure ``certified``."""

    measure: Measure
    top: int
    output: str | None
    data_privacy: PublicOrPrivate
    shard_size: int | None
    challenge: str | None
    eps: float | None = None
    norm: Norm = "inf"


def _proven(given: _Given, asked: _Asked, system: str, progress: Progress) -> Proof:
    progress("read", 0.0)
    samples = given.samples
    loaded = networks.load(given.network, networks.first(samples), None, samples)
    graph = loaded.graph
    own = networks.samples(graph, loaded.encoded(samples, "samples"))
    typical = own
    if given.calibration is not None:
        typical = networks.samples(graph, loaded.encoded(given.calibration, "calibration"))
    compared = gaps.chosen(graph, own)
    differences = loaded.differences(compared, own=False, accept=given.accept_difference)
    qgraph = tune(
        graph,
        typical,
        bits=given.bits,
        ends=loaded.ends(typical),
        weight_privacy=given.weight_privacy,
        progress=progress,
    ).qgraph
    weight_privacy = given.weight_privacy or TypedGraph.most_private(qgraph)
    differences += (compare_integers(graph, qgraph, compared, own=False),)
    if not given.accept_difference:
        require_near(differences)
    progress("compile", 0.0)
    output = measured_output(qgraph, "targets" if takes_targets(asked.measure) else "labels", asked.output)
    quantised = {name: own[entry] for entry, name in input_names(graph).items()}
    read = [entry.name for entry in qgraph.inputs_of(output)]
    values = {name: quantised[name] for name in read} if len(read) > 1 else quantised[read[0]]
    truth = networks.array(loaded.labels(given.labels))
    data = LabelledData.compared(values, truth, asked.measure)
    circuit = compile_accuracy(
        qgraph,
        batch=asked.shard_size or data.size,
        weight_privacy=weight_privacy,
        measure=asked.measure,
        top=asked.top,
        output=output,
        norm=asked.norm,
    )
    radius = None if asked.eps is None else steps(asked.eps, qgraph.input.type.scale)
    with TemporaryDirectory() as folder:
        party = Party(registry.find(system), Path(folder), progress)
        weights = {"model": parameters(qgraph)} if weight_privacy == "committed" else {}
        party.commit(weights, max(map(len, circuit.shard_values(data))))
        registration = party.register(qgraph) if weights else None
        shards = shards_of(party, circuit, data, radius)
        is_public = asked.data_privacy == "public"
        judged = prove_shards(
            party,
            circuit,
            party.key(circuit),
            data,
            shards,
            radius,
            is_public=is_public,
            challenge=asked.challenge,
        )
    progress("verify", 0.0)
    proof = Proof(
        judged.document,
        judged.key,
        registration,
        circuit=judged.circuit,
        differences=differences,
        schema=loaded.schema,
    )
    known = None if asked.data_privacy == "private" else (values, truth)
    if not (verdict := verify(proof, dataset=known)).valid:
        raise RuntimeError(f"the fresh proof does not verify: {verdict.reason}")
    return proof


class Counted(NamedTuple):
    """A shard: the ``values`` that the commitment ``dataset`` is to, what the circuit takes of them
    (``given``), and what it counts: what ``correct`` is to."""

    values: IntArray
    given: Parts
    counts: IntArray
    openings: Mapping[str, Opening]


def shards_of(party: Party, circuit: Accuracy, data: LabelledData, radius: int | None) -> list[Counted]:
    """All shards, counted and committed to. Raises ``StatementError`` (``statement.openings``) where their
    proofs would open the model's commitment more often than it hides the weights."""
    shards = []
    for values in circuit.shard_values(data):
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


def prove_shards(
    party: Party,
    circuit: Accuracy,
    key: KeyFile,
    data: LabelledData,
    shards: Sequence[Counted],
    radius: int | None,
    *,
    is_public: bool = True,
    challenge: str | None = None,
) -> Keyed:
    """A proof of each, for one statement. ``is_public``: whether the samples are."""
    values = circuit.totals([shard.counts for shard in shards], data.size, radius=radius)
    dataset = _described(party, circuit, data, shards, is_public=is_public)
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


def _described(
    party: Party, circuit: Accuracy, data: LabelledData, shards: Sequence[Counted], *, is_public: bool
) -> Dataset:
    basis, model = party.basis, party.openings.get("model")
    assert basis is not None  # noqa: S101  datasets are committed to

    def described(shard: Counted) -> Shard:
        dataset, correct = shard.openings["dataset"], shard.openings["correct"]
        opened = None
        if is_public:
            opened = basis.reveal(dataset, fr.from_int64(shard.values), threads=THREADS).to_json()
        return Shard(
            size=int((shard.given[1] < circuit.filler).sum()),
            dataset=dataset.commitment.hex(),
            correct=correct.commitment.hex(),
            opening=opened,
        )

    counts, openings = zip(
        *((each.counts.tolist(), each.openings["correct"]) for each in shards), strict=True
    )
    return Dataset(
        sha256=data.sha256.hex() if is_public else None,
        size=data.size,
        picked_for=model.commitment.hex() if model else None,
        shards=[described(shard) for shard in shards],
        blinding=party.system.commitments.open_sum(basis, openings, counts).hex(),
    )
