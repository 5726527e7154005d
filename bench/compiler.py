"""The compiler: circuit computation against a gate-by-gate path, and every network of the zoo.

    python -m bench.compiler [--json FILE] [--quick] [--plot FILE]

"circuit" is what happens between a quantised network with an input and a proof: all constraints as sparse
matrices, and the value of every variable. Its peer, ``bench.scalar``, does it gate by gate. "compile" is
``zenserve compile`` from the shell, start of Python included; "cached" the same again. "execute" runs the
quantised network on one input, "witness" assigns all variables, those that depend on challenges too.
Sizes are constraints; "peak MB" is that of the command's process.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench import scalar
from bench.measure import Timing, alone, argument_parser, measure, seconds
from bench.report import Report, Row
from zenserve import kernels
from zenserve.base.processors import usable_cores
from zenserve.circuits import QuantGraph, compile_inference, quantise, zoo
from zenserve.circuits.graphs.node import QuantNode
from zenserve.circuits.graphs.types import Affine, Rescale, WeightType
from zenserve.circuits.operators.average_pool import WindowSum
from zenserve.circuits.operators.convolution import QuantConv
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.svg import line_chart
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy

PEER = "gate by gate"
THREADS = usable_cores()
# Output and input channels of ZEN's sweep over convolutions, 5×5 on 28×28; the path by gates takes minutes
# for the last.
SWEEP = ((8, 1), (16, 4), (32, 16), (64, 32))
ZOO = tuple(name.rpartition("-")[0] for name in zoo.NAMES)


def convolution(outputs: int, inputs: int) -> QuantGraph:
    """One layer and the average of each of its channels, whose argmax is the label."""
    rng = np.random.default_rng(0)
    kind = Affine(0.05, 0, 8)
    weight = rng.integers(0, 256, (outputs, inputs, 5, 5), dtype=np.uint8)
    rescale = Rescale(np.array([3]), (weight[0].size * 256).bit_length(), kind, 0, kind.top)
    nodes: tuple[QuantNode, ...] = (
        QuantConv(
            "conv",
            ("x",),
            weight,
            WeightType(np.array([0.01]), np.array([128]), 8),
            np.zeros(outputs, dtype=np.int64),
            rescale=rescale,
        ),
        WindowSum("average", ("conv",), (24, 24), (1, 1)),
        Reshape("logits", ("average",), (outputs,)),
    )
    return QuantGraph.of("x", (inputs, 28, 28), kind, nodes, "logits")


def some_input(qgraph: QuantGraph) -> IntArray:
    top = qgraph.input.type.top
    return np.random.default_rng(1).integers(0, top + 1, qgraph.input.shape)


def compute_circuit(qgraph: QuantGraph, q: IntArray) -> int:
    """All constraints and all values, as vectors and matrices: how many constraints."""
    circuit = compile_inference(qgraph, level=2)
    circuit.witness(q, threads=THREADS)
    for _ in circuit.constraint_system.matrices(threads=THREADS):
        pass
    return circuit.constraint_system.constraints


def compute_gates(qgraph: QuantGraph, q: IntArray) -> None:
    """The same, gate by gate. The collector only gets in the way of so many objects."""
    gc.disable()
    try:
        scalar.build(qgraph, q)
    finally:
        gc.enable()


def against_gates(name: str, qgraph: QuantGraph, repetitions: int, *, by_gates: bool = True) -> Row:
    q = some_input(qgraph)
    timing = measure(lambda: compute_circuit(qgraph, q), repetitions=repetitions)
    ratio = seconds(lambda: compute_gates(qgraph, q)) / timing.median if by_gates else None
    constraints = compile_inference(qgraph, level=2).constraint_system.constraints
    peer = PEER if by_gates else None
    timing = replace(timing, ratio=ratio)
    return Row.of(f"circuit_{name}", constraints, timing, threads=THREADS, peer=peer)


def sweep(shapes: tuple[tuple[int, int], ...], repetitions: int) -> tuple[list[Row], str]:
    """One convolution after another, and a plot of the times over the multiplications."""
    rows, lines = [], {"tensors": [], PEER: []}  # type: tuple[list[Row], dict[str, list[tuple[float, float]]]]
    for outputs, inputs in shapes:
        by_gates = (outputs, inputs) != SWEEP[-1]
        row = against_gates(
            f"conv_{inputs}_to_{outputs}", convolution(outputs, inputs), repetitions, by_gates=by_gates
        )
        multiplications = outputs * inputs * 25 * 24 * 24
        lines["tensors"].append((multiplications, row.median))
        if row.ratio is not None:
            lines[PEER].append((multiplications, row.median * row.ratio))
        rows.append(row)
    title = "Circuit computation of one convolution, 5×5 on 28×28"
    return rows, line_chart(title, "multiplications", "seconds", lines, logarithmic=True)


def zoo_rows(names: tuple[str, ...], weights: Privacy, cache: str, repetitions: int) -> Iterator[Row]:
    for name in names:
        label = name if weights == "public" else f"{name}_{weights}"
        first = seconds(lambda name=name: command(name, weights, cache))  # type: ignore[misc]
        report = command(name, weights, cache)
        again = measure(lambda name=name: command(name, weights, cache), repetitions=repetitions)  # type: ignore[misc]
        (execute, witness), _ = alone(_run, name, weights, repetitions)
        size, peak = report["constraints"], report["compiled"]["peak_memory"] / 1e6
        threads = report["seconds"]["threads"]
        yield Row(f"{label}_compile", size, first, threads=threads, peak_mb=peak)
        for what, timing, used in (
            ("cached", again, 1),
            ("execute", execute, 1),
            ("witness", witness, THREADS),
        ):
            yield Row.of(f"{label}_{what}", size, timing, threads=used)


def command(name: str, weights: str, cache: str, *options: str) -> Any:
    """``zenserve compile`` in a process of its own: what it reports."""
    shell = [sys.executable, "-c", "from zenserve.service.cli import main; main()", "compile", name, "--json"]
    answer = subprocess.run(  # noqa: S603
        [*shell, "--weight-privacy", weights, *options],
        env=os.environ | {"ZENSERVE_CACHE": cache},
        check=True,
        capture_output=True,
    )
    return json.loads(answer.stdout)


def _run(name: str, weights: Privacy, repetitions: int) -> tuple[Timing, Timing]:
    """Times of the executor, and of the witness on all threads, with all that depends on the challenges."""
    qgraph = quantise(zoo.network(name), zoo.calibration(name))
    circuit = compile_inference(qgraph, weight_privacy=weights)
    q = qgraph.quantise_input(zoo.calibration(name)[0])
    challenges = kernels.fr.from_ints(range(12345, 12345 + circuit.constraint_system.challenges))
    drawn = slice(1 + circuit.constraint_system.public, circuit.constraint_system.instance)

    def complete() -> None:
        z = circuit.witness(q, threads=THREADS)
        z[drawn] = challenges
        circuit.program.post_challenge(z, challenges, THREADS)

    execute = measure(lambda: circuit.execute(q), repetitions=repetitions)
    return execute, measure(complete, repetitions=repetitions)


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw the sweep, as SVG")
    options = parser.parse_args()
    repetitions = 1 if options.quick else 3
    report = Report("compiler", f"median of {repetitions}, gates once; size = constraints")

    name = "shallownet" if options.quick else "lenet-medium"
    qgraph = quantise(zoo.network(name), zoo.calibration(name))
    report.show(f"Circuit computation of {name}", [against_gates(name, qgraph, repetitions)])
    rows, plot = sweep(((2, 1), (4, 2)) if options.quick else SWEEP, repetitions)
    report.show("Circuit computation of one convolution, 5×5 on 28×28", rows)
    if options.plot is not None:
        options.plot.write_text(plot)

    cases: tuple[tuple[Privacy, tuple[str, ...]], ...] = (("public", ZOO), ("committed", ZOO))
    with tempfile.TemporaryDirectory() as cache:
        command(ZOO[0], "public", cache, "--bits", "7")  # measures the machine, once
        for weights, names in cases:
            rows = list(zoo_rows(names[:1] if options.quick else names, weights, cache, repetitions))
            report.show(f"The zoo, input private, weights {weights}", rows)
    report.write(options.json)


if __name__ == "__main__":
    main()
