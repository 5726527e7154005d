"""What is foretold of setup and proofs, beside what they take, before any key is made.

    python -m bench.estimates [--json FILE] [--quick]

One thread, and processor seconds: other work on the machine does not count. The unit, a product in Fp within
a sum, is measured anew before each network, as a worker measures it when it first needs it.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

from base.progress import Progress
from bench import measure
from bench.report import machine
from circuits import Circuit, Inference, compile_inference, compile_registration, quantise, zoo
from prover import groth16
from prover.groth16 import CommitmentKey, ProvingKey, cost
from prover.groth16.cost import Size

T = TypeVar("T")
NETWORKS = ("shallownet", "lenet-small")
REGISTERED = ("shallownet",)


@dataclass
class Row:
    """One stage of one circuit: processor seconds that it was foretold to take, and that it took."""

    circuit: str
    constraints: int
    stage: str
    foretold: float
    taken: float


class Stages:
    """Processor seconds by stage, as progress is reported."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage, self._since = "", time.process_time()

    def __call__(self, stage: str, fraction: float) -> None:
        moment = time.process_time()
        # What comes before the first report belongs to it.
        name = self._stage or stage
        self.seconds[name] = self.seconds.get(name, 0.0) + moment - self._since
        self._stage, self._since = stage, moment


def rows(name: str, circuit: Circuit) -> list[Row]:
    """Setup, and the proof of an inference: the whole of each, then its stages."""
    size = Size.of(circuit.statement)
    speed = cost.speed(1, time.process_time)
    basis = CommitmentKey.generate(size.linked) if circuit.commitments else None
    key, taken = _taken(partial(_made, circuit, basis))
    found = _compared(name, circuit, "setup", cost.setup_stages(size, speed), taken)
    if isinstance(circuit, Inference):
        _, taken = _taken(partial(_proven, circuit, key))
        found += _compared(name, circuit, "proof", cost.proving_stages(size, speed), taken)
    return found


def _made(circuit: Circuit, basis: CommitmentKey | None, report: Progress) -> ProvingKey:
    key = groth16.setup(circuit.statement, basis=basis, progress=report)
    report("store", 0.0)
    with tempfile.NamedTemporaryFile() as file:
        key.save(Path(file.name))
        hashlib.file_digest(file, "sha256")
    return key


def _proven(circuit: Inference, key: ProvingKey, report: Progress) -> None:
    report("witness", 0.0)
    witness = circuit.witness(np.zeros(circuit.qgraph.input_shape, dtype=np.int64))
    groth16.prove(key, circuit.statement, witness, answer=circuit.program.answer, progress=report)


def _taken(work: Callable[[Progress], T]) -> tuple[T, dict[str, float]]:
    stages = Stages()
    result = work(stages)
    stages("end", 0.0)
    return result, stages.seconds


def _compared(
    name: str, circuit: Circuit, whole: str, foretold: dict[str, float], taken: dict[str, float]
) -> list[Row]:
    rows = circuit.statement.constraints
    total = Row(name, rows, whole, sum(foretold.values()), sum(taken.values()))
    return [total, *(Row(name, rows, stage, foretold[stage], taken[stage]) for stage in taken)]


def show(console: Console, measured: list[Row]) -> None:
    table = Table(title="estimates", title_justify="left")
    for heading in ("circuit", "constraints", "stage", "foretold s", "taken s", "ratio"):
        table.add_column(heading, justify="left" if heading in ("circuit", "stage") else "right")
    for row in measured:
        whole = row.stage in ("setup", "proof")
        cells = (f"{row.foretold:.3g}", f"{row.taken:.3g}", f"{row.foretold / row.taken:.2f}")
        stage = row.stage if whole else f"  {row.stage}"
        first = (row.circuit, f"{row.constraints:,}") if whole else ("", "")
        table.add_row(*first, stage, *cells, end_section=False)
    console.print(table)


def main() -> None:
    options = measure.arguments(__doc__)
    measured = []
    for net in NETWORKS[: 1 if options.quick else None]:
        qgraph = quantise(zoo.network(net), zoo.calibration(net))
        measured += rows(net, compile_inference(qgraph))
        if net in REGISTERED and not options.quick:
            measured += rows(f"{net}, registration", compile_registration(qgraph))
    console = Console(width=110)
    console.print(f"{machine()}, one thread, processor seconds", highlight=False)
    show(console, measured)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in measured], indent=1) + "\n")


if __name__ == "__main__":
    main()
