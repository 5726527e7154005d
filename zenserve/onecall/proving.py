"""From a network and an input to a proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zenserve.base.processors import usable_cores
from zenserve.base.progress import Progress, silent
from zenserve.circuits import (
    Circuit,
    Graph,
    QuantGraph,
    compile_inference,
    compile_registration,
    parameters,
)
from zenserve.circuits.comparison import gaps
from zenserve.circuits.comparison.differences import require_near
from zenserve.circuits.comparison.integers import compare_integers, labels_shown
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.quantisation import report
from zenserve.circuits.quantisation.plan import input_names
from zenserve.circuits.quantisation.quantiser import Ranges
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.schemes import proving
from zenserve.circuits.schemes.inference import all_shown
from zenserve.circuits.schemes.intervals import Number, integer_bounds
from zenserve.circuits.schemes.outputs import taking
from zenserve.circuits.tuning import MAX_LOSS, tune
from zenserve.errors import StatementError
from zenserve.kernels import FrArray, fr
from zenserve.onecall import networks
from zenserve.onecall.committed import Committed
from zenserve.onecall.proof import Keyed, Proof, verify
from zenserve.prover import registry
from zenserve.prover.constraint_file import save_statement
from zenserve.prover.system import CommitmentKey, Opening, ProofSystem
from zenserve.relations.integers import IntArray
from zenserve.verifier.documents import KeyFile, ProofDocument, Statement
from zenserve.verifier.fields import Values, timestamp
from zenserve.verifier.registry import FIRST
from zenserve.verifier.schemes import INPUT, Privacy, PublicOrPrivate, Reveal
from zenserve.verifier.system import TRANSPARENT
from zenserve.verifier.table import TableSchema
from zenserve.verifier.words import make_statement

THREADS = usable_cores()


def prove(
    network: Any,
    x: Any,
    *,
    calibration: Any = None,
    labels: Any = None,
    ranges: Ranges | None = None,
    fixed: Mapping[str, int] | None = None,
    bits: int | None = 8,
    max_loss: float = MAX_LOSS,
    input_privacy: PublicOrPrivate | Mapping[str, PublicOrPrivate] = "private",
    weight_privacy: Privacy | None = None,
    reveal: Reveal | Mapping[str, Reveal] | None = None,
    top: int = 1,
    at_least: Number | None = None,
    at_most: Number | None = None,
    bounds: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    most_committed: int = 0,
    fold_inputs: bool = False,
    challenge: str | None = None,
    accept_difference: bool = False,
    system: str = FIRST,
    progress: Progress = silent,
) -> Proof:
    """A proof of what ``network`` makes of ``x``, verified: under keys of a development setup, or of a proof
    ``system`` that takes none.

    ``network``: a ``torch.nn.Module``, the path or the bytes of an ONNX file, or an ONNX model. ``x``: one
    input, an array or a tensor, with a batch of one around it or without; of several inputs a tuple, or of a
    file's a mapping from their names; or an output that an earlier proof committed to (``Proof.committed``),
    which this one then takes by its commitment, over the same basis. ``calibration``: typical inputs, [n, …]
    each, whose ranges become scales that everybody sees; without any they are from ``x`` and variations of
    it, and so tell how far it reaches. ``labels``: int[n], of these, for the proof's ``report``. ``ranges``:
    the least and the largest integer of inputs of integers, by their names, where that is more than these
    show. ``fixed``: what inputs of a single whole number are in every proof, such as a sampling rate, by
    their names; ``x`` has none of these. ``bits``: of each value; None for as few as lose at most
    ``max_loss`` percent (``zenserve.circuits.tuning``).

    ``weight_privacy``: "committed", hidden and bound by a commitment, unless said; "public" where there are
    none. ``reveal``: the label, or all values where there are no classes, unless said; ``top``: how many
    labels; ``at_least`` or ``at_most``: what a threshold is, ``bounds``: those of a range, in the outputs'
    own units (``zenserve.circuits.schemes.intervals.integer_bounds``). ``most_committed``: how many weights a
    network may have that is to take an output of this proof. ``fold_inputs``: have verifiers read all public
    inputs as one number, for contracts (docs/onchain.md). ``challenge``: a text of whoever asked, against old
    proofs. ``accept_difference``: prove although the model, its file and the integers differ beyond the
    tolerances of ``zenserve.circuits.comparison``; ``Proof.differences`` tells by how much. ``progress``:
    stages "read", those of ``tune``, "compile", those of the proof system, and "verify".

    Raises ``ModelError`` for a network that cannot be proven, ``TensorError`` for numbers that do not fit it,
    ``StatementError`` for what cannot be shown of it.
    """
    progress("read", 0.0)
    taken, x = x if isinstance(x, Committed) else None, networks.plain(x)
    loaded = networks.load(network, x, fixed, calibration)
    x, calibration = loaded.encoded(x, "input"), loaded.encoded(calibration, "calibration")
    graph = loaded.shown_by(reveal)
    own = networks.inputs(graph, x)
    if taken:
        graph = taking(graph, taken.output.described)
    samples = calibrated(graph, own, calibration, loaded.schema)
    compared = gaps.chosen(graph, samples, own)
    differences = loaded.differences(compared, own=True, accept=accept_difference)
    known = loaded.labels(labels)
    qgraph = tune(
        graph,
        samples,
        bits=bits,
        max_loss=max_loss,
        labels=known,
        ranges=ranges,
        ends=loaded.ends(samples),
        weight_privacy=weight_privacy,
        progress=progress,
    ).qgraph
    weight_privacy = weight_privacy or TypedGraph.most_private(qgraph)
    names = input_names(graph)
    given = {names[name]: value for name, value in own.items()}
    q = qgraph.quantise_inputs(given, columns=loaded.schema.entries if loaded.schema else ())
    made = None if known is None else report(graph, qgraph, samples, known)
    progress("compile", 0.0)
    shown = all_shown(qgraph, reveal)
    ranked = labels_shown(shown, top)
    differences += (compare_integers(graph, qgraph, compared, ranked, own=True),)
    if not accept_difference:
        require_near(differences)
    privacy: Privacy | Mapping[str, Privacy] = "committed" if taken else input_privacy
    typed = TypedGraph(qgraph, privacy, weight_privacy)
    ends = integer_bounds(typed, shown, at_least=at_least, at_most=at_most, bounds=bounds)
    circuit = compile_inference(
        qgraph,
        input_privacy=privacy,
        weight_privacy=weight_privacy,
        reveal=shown,
        top=top,
        bounds=max(map(len, ends.values()), default=1),
        fold_inputs=fold_inputs,
    )
    held = circuit.committed_values(q)
    with TemporaryDirectory() as folder:
        party = Party(registry.find(system), Path(folder), progress)
        if taken:
            party.take(taken)
        weights = {"model": parameters(qgraph)} if weight_privacy == "committed" else {}
        party.commit(weights | held, most_committed if held else 0)
        registration = party.register(qgraph) if weights else None
        judged = party.prove(circuit, circuit.values(q, ends), partial(circuit.witness, q, ends), challenge)
        committed = {
            name: Committed(each, held[each.name], party.openings[each.name], party.basis, party.system)
            for name, each in circuit.committed.items()
            if party.basis
        }
    progress("verify", 0.0)
    proof = Proof(
        judged.document,
        judged.key,
        registration,
        made,
        circuit=judged.circuit,
        committed=committed,
        differences=differences,
        schema=loaded.schema,
    )
    if not (verdict := verify(proof)).valid:
        raise RuntimeError(f"the fresh proof does not verify: {verdict.reason}")
    return proof


def calibrated(
    graph: Graph, own: Mapping[str, FloatArray], calibration: Any, schema: TableSchema | None = None
) -> dict[str, FloatArray]:
    """Return the calibration samples: ``calibration``, or without it samples derived from the input."""
    if calibration is None and schema is not None and schema.columns:
        return {name: networks.varied_rows(schema, row) for name, row in own.items()}
    if calibration is None:
        return {entry.name: networks.varied(own[entry.name], entry.values) for entry in graph.inputs}
    return networks.samples(graph, calibration)


@dataclass
class Party:
    """The prover, with a folder for keys and the openings of commitments."""

    system: ProofSystem
    folder: Path
    progress: Progress
    basis: CommitmentKey | None = None
    openings: dict[str, Opening] = field(default_factory=dict)

    def take(self, committed: Committed) -> None:
        """As the input, over its basis. Raises ``StatementError``: ``statement.system``, and
        ``statement.openings`` where it was taken as often as can be."""
        if committed.system.id != self.system.id:
            reason = f"the output was committed to with {committed.system.id}: prove what takes it so, too"
            raise StatementError("statement.system", reason, field="system")
        self.basis, self.openings[INPUT] = committed.basis, committed.spend()

    def commit(self, values: Mapping[str, IntArray], most: int) -> None:
        """By the names of segments; if there is no basis yet, over one of its own, for ``most`` values and
        these. Raises ``StatementError`` (``statement.basis_length``).
        """
        if not values:
            return
        most = max(most, *(each.size for each in values.values()))
        if self.basis is None:
            file, scheme = self.folder / "basis", self.system.commitments
            scheme.make_key(file, most, THREADS, self.progress)
            self.basis = scheme.load_key(file)
        if most > self.basis.length:
            raise StatementError(
                "statement.basis_length",
                f"commitments over the basis of the one that is taken are to {self.basis.length:,} values at"
                f" most, and this network takes {most:,}: give the earlier proof most_committed={most}",
                field="most_committed",
            )
        for name, each in values.items():
            self.openings[name] = self.basis.commit(fr.from_int64(each), threads=THREADS)

    def register(self, qgraph: QuantGraph) -> Keyed:
        """A proof that the weights of the model, which is committed to, are of their types."""
        circuit = compile_registration(qgraph)
        return self.prove(circuit, {}, circuit.witness)

    def prove(
        self, circuit: Circuit, values: Values, witness: Callable[..., FrArray], challenge: str | None = None
    ) -> Keyed:
        """``witness``: of the circuit, given the ``statement``'s hash."""
        key = self.key(circuit)
        statement = self.state(circuit, key, values, challenge=challenge)
        made = self.made(circuit, partial(witness, statement=statement.scalar), self.openings)
        return Keyed(ProofDocument.of(statement, [made]), key, circuit=self.file_of(circuit, key))

    def key(self, circuit: Circuit) -> KeyFile:
        """Of its own; the proving key stays in the folder, by the name of the circuit's scheme."""
        proving.require_memory(self.system, circuit, THREADS)
        file, basis = self.folder / circuit.scheme, self.basis if circuit.commitments else None
        return proving.setup(self.system, circuit, basis, file, THREADS, self.progress)

    def state(self, circuit: Circuit, key: KeyFile, values: Values, **more: Any) -> Statement:
        """Return the statement, made now, with the commitments. ``more`` describes those to datasets."""
        outside = [name for name in circuit.commitments if name not in ("dataset", "correct")]
        return make_statement(
            key,
            values=values,
            commitments={name: self.openings[name].commitment.hex() for name in outside},
            made_at=timestamp(datetime.now(UTC)),
            **more,
        )

    def made(
        self, circuit: Circuit, witness: Callable[..., FrArray], openings: Mapping[str, Opening]
    ) -> bytes:
        """By the key in the folder."""
        file = self.folder / circuit.scheme
        return proving.prove(self.system, circuit, file, witness, lambda _: openings, THREADS, self.progress)

    def file_of(self, circuit: Circuit, key: KeyFile) -> bytes | None:
        """Of a key without secrets: whoever verifies has no other way to the circuit but to compile it."""
        if key.setup != TRANSPARENT:
            return None
        file = self.folder / "circuit"
        save_statement(file, circuit.constraint_system, circuit.describe())
        return file.read_bytes()
