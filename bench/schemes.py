"""What a service proves, end to end: registration, ZENinfer, ZENacc and recognition, on the papers' networks.

    python -m bench.schemes [--net NAME] [--scheme NAME] [--json FILE] [--quick]

Weights are committed in every scheme, inputs private; inferences show the label. Each row has two processes
of its own: one makes the keys, once; one loads them, proves and verifies. "peak MB" is the larger one's, in
brackets the proving one's. A proof is timed from the integers of its images: witness and proof, the
commitments to model, dataset and reference being made before. A worker keeps constraints, and so does this.
Verification takes one thread. Images from $ZENSERVE_DATA or shared/data beside the checkout (docs/zoo.md).
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.measure import Timing, alone, argument_parser, measure
from bench.report import Cells, Report, Row, more, number
from examples.zoo.data import FOLDER, Split, cifar, faces, mnist
from examples.zoo.evaluate import CALIBRATION_IMAGES
from zenserve import circuits
from zenserve.base.processors import usable_cores
from zenserve.circuits import QuantGraph, load_onnx, parameters, quantise, zoo
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.papers.figures import ZEN, ZEN_COSTS
from zenserve.circuits.schemes.circuit import Circuit
from zenserve.kernels import FrArray, fr
from zenserve.prover import groth16
from zenserve.prover.groth16 import CommitmentKey, Opening, ProvingKey
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy

THREADS = usable_cores()
KEPT_BYTES = 256 << 20
DIGITS = Path(__file__).parents[1] / "examples" / "digits"
QUICK = "digits"
EMBEDDING = zoo.EMBEDDING
NETS: Final[dict[str, Callable[[Path], Split]]] = {
    "shallownet": mnist,
    "lenet-small": cifar,
    "lenet-medium": cifar,
    "lenet-face-small": faces,
    EMBEDDING: faces,
}
SCHEMES: Final = ("registration", "inference", "accuracy", "recognition")
# Images in one proof: 100 for shallownet, else as many as fit 2^19 constraints.
BATCHES: Final = {QUICK: 10, "shallownet": 100, "lenet-small": 10, "lenet-medium": 2, "lenet-face-small": 3}
# What we aim at for a proof on two cores, in seconds.
AIMS: Final = {
    ("shallownet", "inference"): 0.4,
    ("lenet-small", "inference"): 1.5,
    ("lenet-medium", "inference"): 6.0,
    ("lenet-face-small", "inference"): 5.0,
    ("shallownet", "accuracy-100"): 8.0,
}
# Networks for which EZKL's proof takes minutes at most, and fits into memory.
EZKL: Final = ("shallownet",)


@dataclass(frozen=True)
class Task:
    """What a process is told. ``network``: its file; ``images`` int64[n, *shape], quantised, and their
    ``labels``; for recognition one face, and another of the same person. ``folder`` has basis and key."""

    scheme: str
    network: bytes
    images: IntArray
    labels: NDArray[np.int64]
    repetitions: int
    folder: Path


@dataclass(frozen=True)
class Case:
    """A circuit, what its commitments are to by name, and how a proof begins."""

    circuit: Circuit
    committed: dict[str, IntArray]
    witness: Callable[[], FrArray]
    public_inputs: Callable[[], list[int]]

    def open(self, basis: CommitmentKey) -> list[Opening]:
        values = (fr.from_int64(self.committed[name]) for name in self.circuit.commitments)
        return [basis.commit(part, threads=THREADS) for part in values]


def case(task: Task) -> Case:
    graph = QuantGraph.from_bytes(task.network)
    model = {"model": parameters(graph)}
    match task.scheme:
        case "registration":
            registration = circuits.compile_registration(graph)
            witness = partial(registration.witness, threads=THREADS)
            return Case(registration, model, witness, registration.public_inputs)
        case "inference" | "private":
            privacy: Privacy = "committed" if task.scheme == "inference" else "private"
            inference, image = circuits.compile_inference(graph, weight_privacy=privacy), task.images[0]
            witness = partial(inference.witness, image, threads=THREADS)
            return Case(inference, model, witness, lambda: inference.public_inputs(image))
        case "recognition":
            return _recognition(graph, *task.images)
    images, labels = task.images, task.labels
    accuracy = circuits.compile_accuracy(graph, batch=len(images), weight_privacy="committed")
    shard = {
        "dataset": accuracy.dataset_values(images, labels),
        "correct": accuracy.counts(images, labels),
    }
    return Case(
        accuracy,
        model | shard,
        lambda: accuracy.witness(images, labels, threads=THREADS),
        lambda: accuracy.public_inputs(labels),
    )


def _recognition(graph: QuantGraph, face: IntArray, other: IntArray) -> Case:
    circuit = circuits.compile_recognition(graph, weight_privacy="committed", reference_privacy="committed")
    reference, threshold = circuit.embed(other), int(zoo.report()[EMBEDDING]["threshold"])
    return Case(
        circuit,
        {"model": parameters(graph), "reference": reference},
        lambda: circuit.witness(face, reference, threshold, threads=THREADS),
        lambda: circuit.public_inputs(face, reference, threshold),
    )


class Images(NamedTuple):
    """What calibrates a network; inputs [n, *shape] that no training saw, and labels; where they are from."""

    calibration: FloatArray
    inputs: FloatArray
    labels: NDArray[np.int64]
    source: str


def images_of(net: str) -> Images:
    """Without any data the zoo's stand-ins."""
    if net == QUICK:
        held_out = np.load(DIGITS / "held_out.npz")
        images, labels = held_out["images"].astype(np.float64), held_out["labels"].astype(np.int64)
        return Images(np.load(DIGITS / "calibration.npy"), images, labels, "digits")
    if not FOLDER.is_dir():
        noise = zoo.calibration(net)
        count = max(BATCHES.get(net, 0), 2)
        return Images(
            noise, np.resize(noise, (count, *noise.shape[1:])), np.zeros(count, np.int64), "stand-ins"
        )
    seen, (pixels, labels) = NETS[net](FOLDER)
    if net == EMBEDDING:
        pixels = np.concatenate([pixels[:1], seen.pixels[seen.labels == labels[0]]])
    used = slice(BATCHES.get(net, 2))
    calibration = seen.pixels[:CALIBRATION_IMAGES] / 255
    return Images(calibration, pixels[used] / 255, labels[used], NETS[net].__name__)


def _network(net: str) -> Graph:
    return load_onnx((DIGITS / "digits.onnx").read_bytes()) if net == QUICK else zoo.network(net)


def make_basis(count: int, path: Path) -> None:
    CommitmentKey.generate(count, threads=THREADS).save(path)


def make_key(task: Task) -> tuple[int, float]:
    """Constraints, and the time of a setup; the key goes into the folder."""
    system, basis = case(task).circuit.constraint_system, CommitmentKey.load(task.folder / "basis")
    start = time.perf_counter()
    key = groth16.setup(system, basis=basis, threads=THREADS)
    taken = time.perf_counter() - start
    key.save(task.folder / "key")
    return system.constraints, taken


class Worker:
    """Holds what a worker of the service holds, and proves one case again and again."""

    def __init__(self, task: Task) -> None:
        self.case, self.key = case(task), ProvingKey.load(task.folder / "key")
        self.openings = self.case.open(CommitmentKey.load(task.folder / "basis"))
        self.case.circuit.keep_matrices(KEPT_BYTES)

    def prove(self) -> bytes:
        circuit = self.case.circuit
        return groth16.prove(
            self.key,
            circuit.constraint_system,
            self.case.witness(),
            openings=self.openings,
            post_challenge=partial(circuit.program.post_challenge, threads=THREADS),
            threads=THREADS,
        ).to_bytes()


def prove(task: Task) -> tuple[Timing, Timing, int]:
    """The times of a proof and of its verification, and the proof's bytes."""
    worker = Worker(task)
    public, commitments = worker.case.public_inputs(), [opening.commitment for opening in worker.openings]
    proofs: list[bytes] = []
    proving = measure(lambda: proofs.append(worker.prove()), repetitions=task.repetitions)

    def verify() -> None:
        assert groth16.verify(worker.key.verifying_key, public, proofs[0], commitments)

    return proving, measure(verify, repetitions=10 * task.repetitions), len(proofs[0])


def in_turn(task: Task, peers: Path) -> Timing:
    """Our proof and EZKL's, from its files in ``peers``."""
    from bench import ezkl

    worker = Worker(task)
    with chdir(peers):
        return measure(worker.prove, ezkl.prove_committed, repetitions=task.repetitions)


def aim(row: Row) -> str:
    wanted = AIMS.get((row.more["net"], row.name))
    return f"{wanted:g}" if wanted else ""


CELLS: Final[Cells] = {
    "scheme": lambda row: row.name,
    "constraints": lambda row: number(row.size),
    "setup s": more("setup_s"),
    "prove s": lambda row: f"{row.median:.3g} ({row.spread:.0%})",
    "aim s": aim,
    "verify s": lambda row: f"{row.more['verify_s']:.4f}",
    "peak MB": lambda row: f"{row.peak_mb:,.0f} ({row.more['prove_mb']:,.0f})",
    "key MB": lambda row: f"{row.more['key_mb']:,.1f}",
    "bytes": more("proof_bytes"),
}


class Bench:
    """Measures the schemes of one network. ``folder`` holds the basis, and the key of the last scheme."""

    def __init__(self, net: str, repetitions: int, folder: Path) -> None:
        self.net, self.images, self.repetitions, self.folder = net, images_of(net), repetitions, folder
        self.network = quantise(_network(net), self.images.calibration)

    def make_basis(self) -> None:
        shard = BATCHES.get(self.net, 0) * (self.images.inputs[0].size + 1)
        alone(make_basis, max(shard, parameters(self.network).size), self.folder / "basis")

    def task(self, scheme: str) -> Task:
        used = {"accuracy": BATCHES.get(self.net, 0), "recognition": 2}.get(scheme, 1)
        integers = self.network.input.type.quantise(self.images.inputs[:used])
        labels = self.images.labels[:used]
        return Task(scheme, self.network.to_bytes(), integers, labels, self.repetitions, self.folder)

    def scheme(self, scheme: str) -> Row:
        task = self.task(scheme)
        (constraints, setup), setup_mb = alone(make_key, task)
        (proving, verifying, size), prove_mb = alone(prove, task)
        name = f"accuracy-{len(task.images)}" if scheme == "accuracy" else scheme
        return self._row(name, constraints, proving, setup, verifying, (setup_mb, prove_mb), "key", size)

    def _row(
        self,
        name: str,
        constraints: int,
        proving: Timing,
        setup_s: float,
        verifying: Timing,
        peaks: tuple[float, float],
        key: str,
        size: int,
        peer: str | None = None,
    ) -> Row:
        """``peaks``: MB of setup and proof; ``key``: the file, below the folder."""
        more = {
            "net": self.net,
            "setup_s": setup_s,
            "verify_s": verifying.median,
            "prove_mb": peaks[1],
            "key_mb": (self.folder / key).stat().st_size / (1 << 20),
            "proof_bytes": size,
        }
        return Row.of(name, constraints, proving, threads=THREADS, peer=peer, peak_mb=max(peaks), more=more)

    def peer(self) -> Row:
        """EZKL on the same network and image, just after our inference, the ratio of both in turn.

        Raises ``ImportError``.
        """
        from bench import ezkl

        folder, tool = self.folder / "ezkl", f"ezkl-{version('ezkl')}"
        folder.mkdir()
        setup, setup_mb = alone(ezkl.make_keys, folder, to_onnx(_network(self.net)), self.images.inputs[0])
        (proving, verifying), prove_mb = alone(ezkl.prove_and_verify, folder, min(self.repetitions, 2))
        turns, _ = alone(in_turn, self.task("inference"), folder)
        settings, proof = (
            json.loads((folder / name).read_text()) for name in ("settings.json", "proof.json")
        )
        timing, size = replace(proving, ratio=turns.ratio), len(proof["proof"])
        peaks = setup_mb, prove_mb
        return self._row(
            tool, settings["num_rows"], timing, setup, verifying, peaks, "ezkl/pk", size, peer=tool
        )


def schemes_of(net: str) -> list[str]:
    return ["registration", "recognition"] if net == EMBEDDING else ["registration", "inference", "accuracy"]


def of_paper(net: str) -> Iterator[tuple[str, ...]]:
    """ZEN's own figures of the network."""
    name = zoo.resolve(net) if net in NETS else ""
    if name in ZEN:
        counts, cost = ZEN[name], ZEN_COSTS[name]
        times = f"{cost.setup_s:g}", f"{cost.prove_s:g}", "", f"{cost.verify_s:g}"
        yield "ZEN, inference", f"{counts.total:,}", *times, "", f"{1000 * cost.crs_gb:,.0f}", ""
        yield "ZEN, accuracy-100", f"{counts.accuracy:,}", *[""] * 7


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--net", choices=[*NETS, QUICK], help="this network only")
    parser.add_argument("--scheme", choices=SCHEMES, help="this scheme only")
    options = parser.parse_args()
    repetitions = 1 if options.quick else 3
    note = f"{THREADS} threads; median of {repetitions}, in brackets (max - min) / median; setups once"
    report = Report("schemes", note)
    if not (options.quick or FOLDER.is_dir()):
        report.say(f"No images in {FOLDER}: stand-ins from the zoo. Set ZENSERVE_DATA (docs/zoo.md).")
    for net in [options.net] if options.net else [QUICK] if options.quick else NETS:
        wanted = [name for name in schemes_of(net) if options.scheme in (None, name)]
        if wanted:
            bench(report, net, wanted, repetitions)
        report.write(options.json)
    if not report.rows:
        parser.error(f"{options.net} is measured by {', '.join(schemes_of(options.net))}")


def bench(report: Report, net: str, schemes: Sequence[str], repetitions: int) -> None:
    """Measure and print one network."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(net, repetitions, Path(folder))
        bench.make_basis()
        found = []
        for scheme in schemes:
            found.append(bench.scheme(scheme))
            if scheme == "inference" and net in EZKL:
                try:
                    found.append(bench.peer())
                except ImportError:
                    report.say("EZKL is not installed here: pip install '.[bench]'.")
    for row in found:
        if row.peer:
            report.say(f"{net}: in turn, EZKL's proof takes {row.ratio:.1f}x as long as our inference's.")
    report.show(f"{net}, {bench.images.source}", found, CELLS, list(of_paper(net)))


if __name__ == "__main__":
    main()
