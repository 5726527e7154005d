"""Bounds of networks: what they certify, what they take, and auto_LiRPA's beside them.

    python -m bench.robustness [--topics bounds operators certificate balls accuracy tables images
                               image-proofs networks] [--lirpa PYTHON] [--sentences FOLDER] [--json FILE]

``bounds``: margins and certified radii of networks of the zoo and of ``examples.robustness`` in floats, by
all methods; with ``--lirpa``, the interpreter of an environment that has auto_LiRPA (bench/peers/README.md),
the same by it, in float64. Then the certified accuracy of the robust network's integers by radius.
``operators``: lines and the way back of single operations. ``certificate``: what proofs reach and take;
``balls``: the same within l2 balls; ``accuracy``: of certified accuracies; ``tables``: what certificates of a
tanh reach; ``images``: of faces, digits and CIFAR-10's images; ``image-proofs``: what some of them take.
``networks``: which have certificates.
``--sentences``, the folder that ``examples.sentences.train`` wrote to: of words (``bench.words``).
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.certificates import certificates, certified_accuracies, image_proofs, images
from bench.curved import curved, networks
from bench.measure import argument_parser, measure, seconds
from bench.report import Report, Row
from bench.words import WORDS, words
from examples.robustness import network as robust
from examples.zoo.data import FOLDER, SPLITS
from zenserve import bounds
from zenserve.bounds import Ball, Method
from zenserve.bounds.arrays import Interval, Sums
from zenserve.bounds.curves import Formula
from zenserve.bounds.elementwise import Clamp, Elementwise
from zenserve.bounds.linear import Linear
from zenserve.bounds.maps import Matrix
from zenserve.bounds.network import Operation
from zenserve.bounds.product import Product
from zenserve.circuits import zoo
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.operators.average_pool import AveragePool
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.quantisation.quantiser import quantise

PEER: Final = Path(__file__).parent / "peers" / "lirpa.py"
METHODS: Final[tuple[Method, ...]] = ("ibp", "crown-ibp", "crown")
ROUNDS: Final = 10
STEPS: Final = (1, 2, 4, 8, 12, 16)


class Case(NamedTuple):
    """``most``: no radius is looked for beyond it."""

    name: str
    graph: Graph
    x: FloatArray
    labels: NDArray[np.int64]
    radius: float
    most: float


def cases(quick: bool) -> Iterator[Case]:
    """On images that the network is right on."""
    images, labels = robust.held_out()
    few = 4 if quick else 100
    yield _right("robust-mnist", robust.network(), images, labels, few, 8 / 255, 0.2)
    for name, count in (("shallownet-mnist", 100), ("lenet-small-cifar", 2)):
        if not any(FOLDER.glob("mnist_test*")) or quick:
            continue
        held_out = SPLITS[name](FOLDER).held_out
        pixels, classes = held_out.pixels[:200] / 255, held_out.labels[:200].astype(np.int64)
        radius = {"shallownet-mnist": 2 / 255, "lenet-small-cifar": 0.25 / 255}[name]
        yield _right(name, zoo.network(name), pixels, classes, count, radius, 0.1)


def _right(
    name: str, graph: Graph, x: FloatArray, labels: NDArray[np.int64], few: int, radius: float, most: float
) -> Case:
    right = graph.run(x).argmax(axis=1) == labels
    return Case(name, graph, x[right][:few], labels[right][:few], radius, most)


def certified(case: Case, lirpa: str | None) -> Iterator[Row]:
    """Of one network. ``ratio``: the peer's seconds over ours; its margins and radii are beside ours."""
    network, peer = bounds.read(case.graph), _peer(case, lirpa) if lirpa else {}
    count = len(case.x)

    def around(radii: FloatArray, samples: NDArray[np.int64]) -> Ball:
        return Ball(case.x[samples], radii, domain=(0, 1))

    region = around(np.full(count, case.radius), np.arange(count))
    for method in METHODS:
        result = bounds.certify(network, region, case.labels, method)
        taken = seconds(lambda method=method: bounds.certify(network, region, case.labels, method))  # type: ignore[misc]
        radius = bounds.furthest(network, around, case.labels, case.most, method, 1 << ROUNDS)
        more: dict[str, Any] = {
            "certified": float(result.robust.mean()),
            "mean_margin": float(result.least.mean()),
            "mean_radius": float(radius.mean()),
        }
        if peer:
            theirs = peer[f"{method}-radius"]
            known = theirs > 4 * case.most / (1 << ROUNDS)
            more |= {
                "margin_difference": float(np.abs(result.least - peer[f"{method}-0"]).max()),
                "peer_mean_radius": float(theirs.mean()),
                "least_radius_ratio": float((radius[known] / theirs[known]).min()) if known.any() else None,
            }
        ratio = float(peer[f"{method}-seconds"]) / taken if peer else None
        yield Row(f"{case.name}, {method}", count, taken / count, unit="s/sample", ratio=ratio, more=more)


def _peer(case: Case, lirpa: str) -> Any:
    arrays: dict[str, Any] = {"x": case.x, "labels": case.labels, "radii": [case.radius], "most": case.most}
    layers = list[Any]()
    for node in case.graph.nodes:
        if isinstance(node, Dense | Conv):
            arrays |= {f"weight{len(layers)}": node.weight, f"bias{len(layers)}": node.bias}
            layers.append(["dense" if isinstance(node, Dense) else "conv", {}])
        elif isinstance(node, AveragePool):
            layers.append(["pool", {"size": node.kernel[0]}])
        else:
            layers.append(["relu" if isinstance(node, Clip) else "flatten", {}])
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder, "given.npz"), Path(folder, "answer.npz")
        np.savez(given, layers=json.dumps(layers), rounds=ROUNDS, **arrays)
        subprocess.run([lirpa, str(PEER), str(given), str(answer)], check=True)  # noqa: S603  ours
        with np.load(answer, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


def integers(quick: bool) -> Iterator[Row]:
    """Of the robust network's integers, on all of MNIST's test set where it is there: the share that is
    right and certified within so many input steps."""
    images, labels = robust.held_out()
    if not quick and (FOLDER / "mnist_test.npz").is_file():
        held_out = SPLITS["shallownet-mnist"](FOLDER).held_out
        images, labels = held_out.pixels / 255, held_out.labels.astype(np.int64)
    qgraph = quantise(robust.network(), robust.calibration())
    network, kind = bounds.read(qgraph), qgraph.input.type
    x = np.rint(images * 255)
    right = qgraph.run(x.astype(np.int64)).argmax(axis=1) == labels
    yield Row("robust-mnist, integers", 0, 100 * float(right.mean()), unit="%", more={"method": "executed"})
    for steps in STEPS[:1] if quick else STEPS:
        region = Ball(x, np.full(len(x), float(steps)), domain=kind.centred, whole=True)
        for method in METHODS:
            share = float((right & bounds.certify(network, region, labels, method).robust).mean())
            yield Row("robust-mnist, integers", steps, 100 * share, unit="%", more={"method": method})


def operators(quick: bool) -> Iterator[Row]:
    """Of 32 samples: intervals, lines, and 10 lines going back."""
    rng = np.random.default_rng(0)
    n, size = 2 if quick else 32, 128

    def bounded(*shape: int) -> Interval:
        low = rng.uniform(-1, 1, (n, *shape))
        return Interval(low, low + rng.uniform(0, 1, (n, *shape)))

    def made(operation: Operation, *read: Interval) -> Callable[[], object]:
        lines = rng.standard_normal((n, 10, *operation.shape))
        return lambda: (operation.image(*read), operation.relaxed(*read).back(lines, Sums(lines)))

    matrix = Matrix(rng.standard_normal((size, size)))
    wide: tuple[tuple[str, Operation, tuple[Interval, ...]], ...] = (
        ("dense", Linear("y", ("x",), (size,), False, (matrix,), np.zeros(size)), (bounded(size),)),
        ("relu", Elementwise("y", ("x",), (size,), False, Clamp(0, np.inf)), (bounded(size),)),
        ("tanh", Elementwise("y", ("x",), (size,), False, Formula("tanh(x)")), (bounded(size),)),
        (
            "dot product",
            Product("y", ("x", "w"), (4, 25, 25), False, True, 1.0, 32),
            (bounded(4, 25, 32), bounded(4, 32, 25)),
        ),
    )
    for name, operation, read in wide:
        yield Row.of(name, n, measure(made(operation, *read), repetitions=1 if quick else 5))


def main() -> None:
    parser = argument_parser(__doc__)
    topics = ["bounds", "operators", "certificate", "balls", "accuracy", "tables"]
    topics += ["images", "image-proofs", "networks"]
    parser.add_argument("--topics", nargs="*", choices=topics, default=topics)
    parser.add_argument("--lirpa", metavar="PYTHON", help="an interpreter that has auto_LiRPA")
    parser.add_argument("--sentences", type=Path, metavar="FOLDER", help="of trained transformers")
    options = parser.parse_args()
    report = Report("robustness")
    if "bounds" in options.topics:
        for case in cases(options.quick):
            report.show(f"Bounds of {case.name}", certified(case, options.lirpa))
        report.show("Certified accuracy of integers", integers(options.quick))
    if "operators" in options.topics:
        report.show("Operators", operators(options.quick))
    if "certificate" in options.topics:
        report.show("Certificates", certificates(options.quick))
    if "balls" in options.topics:
        report.show("Certificates within balls", certificates(options.quick, "2"))
    if "accuracy" in options.topics:
        report.show("Certified accuracies", certified_accuracies(options.quick))
    if "tables" in options.topics and FOLDER.is_dir():
        report.show("Certificates of a table", curved(options.quick))
    if "images" in options.topics and FOLDER.is_dir():
        report.show("Certificates of images", images(options.quick))
    if "image-proofs" in options.topics and FOLDER.is_dir():
        report.show("Proofs of images", image_proofs(options.quick))
    if "networks" in options.topics:
        report.show("Networks with certificates", networks(options.quick))
    if options.sentences:
        report.show("Words", words(options.sentences, options.quick), WORDS)
    report.write(options.json)


if __name__ == "__main__":
    main()
