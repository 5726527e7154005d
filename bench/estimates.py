"""What is foretold of setup and proofs, beside what they take, before any key is made.

    python -m bench.estimates [--json FILE] [--quick]

One thread, and processor seconds: other work on the machine does not count. The unit, a product in Fp within
a sum, is measured anew before each network, as a worker measures it when it first needs it.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from bench import measure
from bench.report import Report, Row
from zenserve.base.progress import Progress
from zenserve.circuits import Circuit, Inference, compile_inference, compile_registration, quantise, zoo
from zenserve.prover import groth16
from zenserve.prover.groth16 import CommitmentKey, ProvingKey, cost
from zenserve.prover.size import Size

T = TypeVar("T")
NETWORKS = ("shallownet", "lenet-small")
REGISTERED = ("shallownet",)


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
    size = Size.of(circuit.constraint_system)
    speed = cost.speed(1, time.process_time)
    basis = CommitmentKey.generate(size.linked) if circuit.commitments else None
    key, taken = _taken(partial(_made, circuit, basis))
    found = _compared(name, circuit, "setup", cost.setup_stages(size, speed), taken)
    if isinstance(circuit, Inference):
        _, taken = _taken(partial(_proven, circuit, key))
        found += _compared(name, circuit, "proof", cost.proving_stages(size, speed), taken)
    return found


def _made(circuit: Circuit, basis: CommitmentKey | None, report: Progress) -> ProvingKey:
    key = groth16.setup(circuit.constraint_system, basis=basis, progress=report)
    report("store", 0.0)
    with tempfile.NamedTemporaryFile() as file:
        key.save(Path(file.name))
        hashlib.file_digest(file, "sha256")
    return key


def _proven(circuit: Inference, key: ProvingKey, report: Progress) -> None:
    report("witness", 0.0)
    witness = circuit.witness(np.zeros(circuit.qgraph.input.shape, dtype=np.int64))
    groth16.prove(
        key,
        circuit.constraint_system,
        witness,
        post_challenge=circuit.program.post_challenge,
        progress=report,
    )


def _taken(work: Callable[[Progress], T]) -> tuple[T, dict[str, float]]:
    stages = Stages()
    result = work(stages)
    stages("end", 0.0)
    return result, stages.seconds


def _compared(
    name: str, circuit: Circuit, whole: str, foretold: dict[str, float], taken: dict[str, float]
) -> list[Row]:
    def row(stage: str, expected: float, seconds: float) -> Row:
        ratio = expected / seconds
        more = {"stage": stage, "foretold_s": expected}
        return Row(
            name, circuit.constraint_system.constraints, seconds, peer="foretold", ratio=ratio, more=more
        )

    total = row(whole, sum(foretold.values()), sum(taken.values()))
    return [total, *(row(stage, foretold[stage], taken[stage]) for stage in taken)]


def main() -> None:
    options = measure.arguments(__doc__)
    report = Report("estimates", "one thread, processor seconds")
    for net in NETWORKS[: 1 if options.quick else None]:
        qgraph = quantise(zoo.network(net), zoo.calibration(net))
        report.show(net, rows(net, compile_inference(qgraph)))
        if net in REGISTERED and not options.quick:
            name = f"{net}, registration"
            report.show(name, rows(name, compile_registration(qgraph)))
    report.write(options.json)


if __name__ == "__main__":
    main()
