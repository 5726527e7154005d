"""What a service proves, end to end: registration, ZENinfer, ZENacc and recognition, on the papers' networks.

    python -m bench.schemes [--net NAME] [--scheme NAME] [--json FILE] [--quick]

Weights are committed in every scheme, inputs private; inferences show the label. Each row has two processes
of its own: one makes the keys, one loads them, proves and verifies; "peak MB" is the larger one's, and the
proving one's in brackets. A proof is timed from the integers of its images: witness and proof, the
commitments to model, dataset and reference being made before. A worker keeps constraints, and so does this.
Verification takes one thread. Images from $ZENSERVE_DATA or shared/data beside the checkout (docs/zoo.md).
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import circuits
import prover
from bench.measure import Timing, alone, machine, measure
from circuits import QuantGraph, load_onnx, parameters, quantise, zoo
from circuits.circuit import Circuit
from circuits.graph import Graph
from circuits.integers import IntArray
from circuits.papers.figures import ZEN, ZEN_COSTS
from examples.zoo.data import FOLDER, Split, cifar, faces, mnist
from examples.zoo.evaluate import CALIBRATION_IMAGES
from kernels import FrArray, fr
from prover import CommitmentBasis, Opening, ProvingKey

THREADS = os.cpu_count() or 1
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
# What issue "The schemes" aims at for a proof, seconds on two cores.
AIMS: Final = {
    ("shallownet", "inference"): 0.4,
    ("lenet-small", "inference"): 1.5,
    ("lenet-medium", "inference"): 6.0,
    ("lenet-face-small", "inference"): 5.0,
    ("shallownet", "accuracy-100"): 8.0,
}


@dataclass(frozen=True)
class Row:
    """One scheme on one network. ``key_mb``: the proving key's file, in 10^6 bytes as ``peak_mb`` is not."""

    net: str
    scheme: str
    constraints: int
    setup_s: float
    prove_s: float
    verify_s: float
    peak_mb: float
    key_mb: float
    proof_bytes: int


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

    def open(self, basis: CommitmentBasis) -> list[Opening]:
        values = (fr.from_int64(self.committed[name]) for name in self.circuit.commitments)
        return [basis.commit(part, threads=THREADS) for part in values]


def case(task: Task) -> Case:
    graph = QuantGraph.from_bytes(task.network)
    model = {"model": parameters(graph)}
    match task.scheme:
        case "registration":
            registration = circuits.compile_registration(graph)
            return Case(registration, model, registration.witness, registration.public_inputs)
        case "inference":
            inference, image = circuits.compile_inference(graph, weight_privacy="committed"), task.images[0]
            return Case(
                inference, model, lambda: inference.witness(image), lambda: inference.public_inputs(image)
            )
        case "recognition":
            return _recognition(graph, *task.images)
    images, labels = task.images, task.labels
    accuracy = circuits.compile_accuracy(graph, batch=len(images), weight_privacy="committed")
    shard = {
        "dataset": accuracy.dataset_values(images, labels),
        "correct": np.array([accuracy.count(images, labels)]),
    }
    return Case(accuracy, model | shard, lambda: accuracy.witness(images, labels), accuracy.public_inputs)


def _recognition(graph: QuantGraph, face: IntArray, other: IntArray) -> Case:
    circuit = circuits.compile_recognition(graph, weight_privacy="committed", reference_privacy="committed")
    reference, threshold = circuit.embed(other), int(zoo.report()[EMBEDDING]["threshold"])
    return Case(
        circuit,
        {"model": parameters(graph), "reference": reference},
        lambda: circuit.witness(face, reference, threshold),
        lambda: circuit.public_inputs(face, reference, threshold),
    )


@dataclass(frozen=True)
class Images:
    """A quantised network, its inputs int64[n, *shape] with their labels, and where they are from."""

    graph: QuantGraph
    integers: IntArray
    labels: NDArray[np.int64]
    source: str


def images_of(net: str) -> Images:
    """The quantised network, and images that no training saw; without any data the zoo's stand-ins."""
    graph, count = _network(net), max(BATCHES.get(net, 0), 2)
    if net == QUICK:
        held_out = np.load(DIGITS / "held_out.npz")
        calibration, real, labels = (
            np.load(DIGITS / "calibration.npy"),
            held_out["images"],
            held_out["labels"],
        )
        source = "digits"
    elif FOLDER.is_dir():
        split = NETS[net](FOLDER)
        calibration, real, labels = split.seen.pixels[:CALIBRATION_IMAGES] / 255, *split.held_out
        if net == EMBEDDING:
            same = split.seen.pixels[split.seen.labels == labels[0]]
            real = np.concatenate([real[:1], same[:1]])
        real, source = real[:count] / 255, NETS[net].__name__
    else:
        calibration = zoo.calibration(net)
        real, labels = np.resize(calibration, (count, *calibration.shape[1:])), np.zeros(count, np.int64)
        source = "stand-ins"
    quantised = quantise(graph, calibration)
    integers = quantised.input_type.quantise(real[:count])
    return Images(quantised, integers, labels[:count].astype(np.int64), source)


def _network(net: str) -> Graph:
    return load_onnx((DIGITS / "digits.onnx").read_bytes()) if net == QUICK else zoo.network(net)


def make_basis(count: int, path: Path) -> None:
    CommitmentBasis.generate(count, threads=THREADS).save(path)


def make_key(task: Task) -> tuple[int, Timing]:
    """Constraints, and the time of a setup; the key goes into the folder."""
    statement, basis = case(task).circuit.statement, CommitmentBasis.load(task.folder / "basis")
    made: list[ProvingKey] = []

    def setup() -> None:
        made.clear()
        made.append(prover.setup(statement, basis=basis, threads=THREADS))

    timing = measure(setup, repetitions=min(task.repetitions, 2))
    made[0].save(task.folder / "key")
    return statement.constraints, timing


def prove(task: Task) -> tuple[Timing, Timing, int]:
    """The times of a proof and of its verification, and the proof's bytes."""
    this, key = case(task), ProvingKey.load(task.folder / "key")
    circuit = this.circuit
    circuit.keep_matrices(KEPT_BYTES)
    openings = this.open(CommitmentBasis.load(task.folder / "basis"))

    def make() -> bytes:
        return prover.prove(
            key,
            circuit.statement,
            this.witness(),
            openings=openings,
            answer=circuit.program.answer,
            threads=THREADS,
        ).to_bytes()

    public, commitments = this.public_inputs(), [opening.commitment for opening in openings]
    proof, vk = make(), key.verifying_key

    def verify() -> None:
        assert prover.verify(vk, public, proof, commitments)

    proving = measure(make, repetitions=task.repetitions)
    return proving, measure(verify, repetitions=4 * task.repetitions), len(proof)


@dataclass(frozen=True)
class Measured:
    """A row, and what else is printed of it."""

    row: Row
    setup: Timing
    prove: Timing
    prove_mb: float

    @property
    def line(self) -> tuple[str, ...]:
        row, aim = self.row, AIMS.get((self.row.net, self.row.scheme))
        return (
            row.scheme,
            f"{row.constraints:,}",
            f"{row.setup_s:.3g} ({self.setup.spread:.0%})",
            f"{row.prove_s:.3g} ({self.prove.spread:.0%})",
            f"{aim:g}" if aim else "",
            f"{row.verify_s:.4f}",
            f"{row.peak_mb:,.0f} ({self.prove_mb:,.0f})",
            f"{row.key_mb:,.1f}",
            f"{row.proof_bytes}",
        )


def measured(net: str, scheme: str, images: Images, repetitions: int, folder: Path) -> Measured:
    """One row. ``folder`` has the basis, and gets the key."""
    used = {"accuracy": BATCHES.get(net, 0), "recognition": 2}.get(scheme, 1)
    task = Task(
        scheme, images.graph.to_bytes(), images.integers[:used], images.labels[:used], repetitions, folder
    )
    (constraints, setup), setup_mb = alone(make_key, task)
    (proving, verifying, size), prove_mb = alone(prove, task)
    row = Row(
        net,
        f"accuracy-{used}" if scheme == "accuracy" else scheme,
        constraints,
        setup.median,
        proving.median,
        verifying.median,
        max(setup_mb, prove_mb),
        (folder / "key").stat().st_size / 1e6,
        size,
    )
    return Measured(row, setup, proving, prove_mb)


def schemes_of(net: str) -> tuple[str, ...]:
    return ("registration", "recognition" if net == EMBEDDING else "inference", "accuracy")[
        : 2 + (net in BATCHES)
    ]


def of_paper(net: str) -> Iterator[tuple[str, ...]]:
    """ZEN's own figures of the network."""
    name = zoo.resolve(net) if net in NETS else ""
    if name in ZEN:
        counts, cost = ZEN[name], ZEN_COSTS[name]
        times = f"{cost.setup_s:g}", f"{cost.prove_s:g}", "", f"{cost.verify_s:g}"
        yield "ZEN, inference", f"{counts.total:,}", *times, "", f"{1000 * cost.crs_gb:,.0f}", ""
        yield "ZENacc, 100 images", f"{counts.accuracy:,}", *[""] * 7


def show(net: str, images: Images, lines: Sequence[Sequence[str]]) -> None:
    table = Table(title=f"{net}, {images.source}", title_justify="left")
    for heading in (
        "scheme",
        "constraints",
        "setup s",
        "prove s",
        "aim s",
        "verify s",
        "peak MB",
        "key MB",
        "bytes",
    ):
        table.add_column(heading, justify="left" if heading == "scheme" else "right")
    for line in lines:
        table.add_row(*line)
    Console(width=110).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--net", choices=[*NETS, QUICK], help="this network only")
    parser.add_argument("--scheme", choices=SCHEMES, help="this scheme only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    parser.add_argument("--quick", action="store_true", help="the digits, one repetition: does it run?")
    options = parser.parse_args()
    repetitions = 1 if options.quick else 5
    print(f"{machine()}, {THREADS} threads; medians, in brackets (max - min) / median")
    if not FOLDER.is_dir():
        print(f"No images in {FOLDER}: stand-ins from the zoo. Set ZENSERVE_DATA (docs/zoo.md).")
    rows: list[Row] = []
    for net in [options.net] if options.net else [QUICK] if options.quick else NETS:
        wanted = [name for name in schemes_of(net) if options.scheme in (None, name)]
        if wanted:
            rows += bench(net, wanted, repetitions)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


def bench(net: str, schemes: Sequence[str], repetitions: int) -> list[Row]:
    """Measure and print one network."""
    images = images_of(net)
    count = max(BATCHES.get(net, 0) * (images.integers[0].size + 1), parameters(images.graph).size)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone(make_basis, count, folder / "basis")
        found = [measured(net, scheme, images, repetitions, folder) for scheme in schemes]
    show(net, images, [*(one.line for one in found), *of_paper(net)])
    return [one.row for one in found]


if __name__ == "__main__":
    main()
