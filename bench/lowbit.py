"""Networks of few bits: what their circuits have, how good they are, their proofs, and APNN-TC's sizes.

    python -m bench.lowbit [--topics accuracy circuits ..] [--data FOLDER] [--json FILE] [--quick]

``accuracy``: of integers, as they are proven, on images that no training saw. ``circuits``: constraints with
public and with committed weights, beside 8-bit ones of the same layers, whose integers are of a fixed random
stream where nobody trained them. ``proofs``: under each proof system, judged by zenserve-verify.
``witnesses``: networks of 224 x 224 pixels executed and witnessed; every row of the circuit is checked.
Proofs and witnesses have a process each.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.measure import alone, argument_parser, seconds, timed
from bench.report import Report, Row
from bench.stages import prove, require_shown
from examples.zoo.data import FOLDER, Images, cifar, mnist
from zenserve.base.processors import usable_cores
from zenserve.circuits import QuantGraph, compile_inference, plan_inference, quantise, zoo
from zenserve.circuits.zoo import lowbit
from zenserve.circuits.zoo.lowbit import TRAINED_BITS, Bits, called
from zenserve.prover.registry import SYSTEMS
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy

TOPICS: Final = ("accuracy", "circuits", "proofs", "witnesses")
EIGHT: Final[Bits] = (8, 8)
# APNN-TC's.
FEW: Final[Bits] = (1, 2)
SMALL: Final = lowbit.TRAINED_ARCHITECTURES
WHOLE: Final = tuple(name for name in lowbit.ARCHITECTURES if name not in SMALL)
WEIGHTS: Final[tuple[Privacy, ...]] = ("public", "committed")


def quantised(name: str) -> QuantGraph:
    """The integers are the graph's own: nothing is calibrated."""
    graph = zoo.network(name)
    return quantise(graph, np.zeros((1, *graph.input.shape)))


def image(qgraph: QuantGraph) -> IntArray:
    """Pixels, the same each time."""
    return np.random.default_rng(1).integers(0, 256, size=qgraph.input.shape)


def circuits(architecture: str) -> Iterator[Row]:
    """``ratio``: the constraints of 8-bit networks to those of this one."""
    for weights in WEIGHTS:
        eight = _rows(called(architecture, EIGHT), weights)
        for bits in (*TRAINED_BITS, EIGHT):
            name = called(architecture, bits)
            rows = eight if bits == EIGHT else _rows(name, weights)
            said: dict[str, Any] = {} if bits == EIGHT else {"peer": "w8a8", "ratio": eight / rows}
            yield Row(name, rows, rows, unit="constraints", more={"weights": weights}, **said)


def _rows(name: str, weights: Privacy) -> int:
    return plan_inference(quantised(name), weight_privacy=weights).rows


def accuracy(architecture: str, data: Path) -> Iterator[Row]:
    """On the held-out images. ``ratio``: the float network's accuracy to it."""
    images, floats = held_out(architecture, data), lowbit.report()[architecture]["floats"]
    for name in lowbit.trained():
        if name.rpartition("-")[0] != architecture:
            continue
        labels = quantised(name).run(images.pixels.astype(np.int64)).argmax(axis=1)
        share = float(np.mean(labels == images.labels))
        more = {"floats": 100 * floats}
        yield Row(name, len(labels), 100 * share, unit="%", peer="floats", ratio=floats / share, more=more)


def held_out(architecture: str, data: Path) -> Images:
    return (mnist if architecture.endswith("mnist") else cifar)(data).held_out


def proofs(architecture: str) -> Iterator[Row]:
    """Of public weights and a private image."""
    name = called(architecture, FEW)
    for system in SYSTEMS:
        (constraints, prove_s, found), peak = alone(_proven, name, system)
        said = found | {"system": system}
        yield Row(name, constraints, prove_s, threads=usable_cores(), peak_mb=peak, more=said)


def _proven(name: str, system: str) -> tuple[int, float, dict[str, Any]]:
    qgraph = quantised(name)
    circuit, q = compile_inference(qgraph), image(qgraph)
    require_shown(circuit, q)
    found = prove(circuit, q, system)
    return circuit.constraint_system.constraints, found.pop("prove_s"), found


def witnesses(architecture: str) -> Iterator[Row]:
    name = called(architecture, FEW)
    (constraints, witness_s, found), peak = alone(_witnessed, name)
    yield Row(name, constraints, witness_s, threads=usable_cores(), peak_mb=peak, more=found)


def _witnessed(name: str) -> tuple[int, float, dict[str, Any]]:
    qgraph = quantised(name)
    q = image(qgraph)
    execute_s = seconds(lambda: qgraph.run(q[np.newaxis]))
    circuit, compile_s = timed(lambda: compile_inference(qgraph))
    require_shown(circuit, q)
    threads = usable_cores()
    witness, witness_s = timed(lambda: circuit.witness(q, threads=threads))
    check_s = seconds(lambda: circuit.program.check(witness, threads))
    found = {"execute_s": execute_s, "compile_s": compile_s, "check_s": check_s}
    return circuit.constraint_system.constraints, witness_s, found


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--topics", nargs="*", choices=TOPICS, default=TOPICS)
    parser.add_argument("--only", nargs="*", choices=(*SMALL, *WHOLE), help="these architectures")
    parser.add_argument("--data", type=Path, default=FOLDER, help="where the images are")
    options = parser.parse_args()
    report = Report("lowbit")
    known = SMALL[:1] if options.quick else (*SMALL, *WHOLE)
    small, whole = (
        [name for name in names if name in known and name in (options.only or known)]
        for names in (SMALL, WHOLE)
    )
    if "accuracy" in options.topics:
        report.show("Accuracy", (row for name in small for row in accuracy(name, options.data)))
    if "circuits" in options.topics:
        report.show("Constraints", (row for name in small for row in circuits(name)))
    if "proofs" in options.topics:
        report.show("Proofs", (row for name in small for row in proofs(name)))
    if "witnesses" in options.topics:
        report.show("At 224 x 224", (row for name in whole for row in witnesses(name)))
    report.write(options.json)


if __name__ == "__main__":
    main()
