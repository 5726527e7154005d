"""Spartan beside Groth16, in turn: inferences of committed networks, inputs private, the label shown.

    python -m bench.spartan [--net NAME] [--json FILE] [--quick]

Both prove the same constraints of the same image, with a commitment to the model that was made before. A
proof is timed from the image's integers, the witness included; "witness s" is its part. Verification is in
plain Python but for the matrices, whose values the kernels compute. Peaks are of processes that prove
under one of the two alone. Groth16's setup is in no figure: Spartan has none.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from base.randomness import Secrets
from bench.measure import Timing, alone, argument_parser, in_turn, seconds, timed
from bench.report import Cells, Report, Row, more, number, ratio
from bench.schemes import CELLS as SCHEME_CELLS
from bench.schemes import KEPT_BYTES, QUICK, THREADS, Bench, Task, Worker, case, make_key
from kernels import fr
from prover.spartan import proving
from prover.spartan.commitment import commit
from prover.spartan.layout import SystemMatrices, best_code, sizes_of
from verifier.spartan import verification
from verifier.spartan.admission import shape_of
from verifier.spartan.commitment import SEED_BYTES

NETS: Final = ("shallownet", "lenet-small", "lenet-medium", "lenet-face-small", "lenet-face-medium")
# A commitment's tail has room for so many proofs, where it takes a quarter of the rows at most.
OPENINGS: Final = 16


class Spartan:
    """Proves one inference again and again, its model committed to once."""

    def __init__(self, task: Task) -> None:
        self.case = case(task)
        self.circuit = self.case.circuit
        self.system = self.circuit.constraint_system
        self.circuit.keep_matrices(KEPT_BYTES)
        code = best_code(self.system)
        tail = code.queries * max(1, min(OPENINGS, code.degree // (4 * code.queries)))
        self._secret = Secrets()
        self.linked = [
            commit(
                fr.from_int64(self.case.committed[name]),
                code,
                tail,
                secrets.token_bytes(SEED_BYTES),
                secret=self._secret,
                threads=THREADS,
            )
            for name in self.circuit.commitments
        ]
        self.shape = shape_of(sizes_of(self.system), code, [each.commitment for each in self.linked])

    def prove(self) -> bytes:
        return proving.prove(
            self.system,
            self.shape,
            self.case.witness(),
            linked=self.linked,
            post_challenge=partial(self.circuit.program.post_challenge, threads=THREADS),
            threads=THREADS,
        )

    def verify(self, proof: bytes) -> None:
        roots = [each.root for each in self.linked]
        matrices = SystemMatrices(self.system, THREADS)
        verdict = verification.verify(self.shape, matrices, self.case.public_inputs(), roots, proof)
        assert verdict.valid, verdict


def compare(task: Task) -> tuple[dict[str, Timing], float, float, int]:
    """The times of both, of a witness, of Spartan's verification, and its proof's bytes."""
    ours, theirs = Spartan(task), Worker(task)
    proofs: list[bytes] = []
    contestants: dict[str, Callable[[], float]] = {
        "spartan": lambda: seconds(lambda: proofs.append(ours.prove())),
        "groth16": lambda: seconds(theirs.prove),
    }
    timings = in_turn(contestants, repetitions=task.repetitions)
    witness = min(seconds(ours.case.witness) for _ in range(task.repetitions))
    _, verified = timed(lambda: ours.verify(proofs[0]))
    return timings, witness, verified, len(proofs[0])


def spartan_alone(task: Task) -> None:
    Spartan(task).prove()


def groth16_alone(task: Task) -> None:
    Worker(task).prove()


CELLS: Final[Cells] = {
    "network": lambda row: row.more["net"],
    "system": lambda row: row.name,
    "constraints": lambda row: number(row.size),
    "prove s": SCHEME_CELLS["prove s"],
    "beside": ratio,
    "witness s": more("witness_s"),
    "verify s": more("verify_s"),
    "peak MB": lambda row: f"{row.peak_mb:,.0f}",
    "bytes": more("proof_bytes"),
}


def rows(net: str, repetitions: int, folder: Path) -> Iterator[Row]:
    task = Bench(net, repetitions, folder).task("inference")
    (constraints, _), _ = alone(make_key, task)
    (timings, witness, verified, length), _ = alone(compare, task)
    peaks = {"spartan": alone(spartan_alone, task)[1], "groth16": alone(groth16_alone, task)[1]}
    said = {"spartan": {"witness_s": witness, "verify_s": verified, "proof_bytes": length}, "groth16": {}}
    for name, timing in timings.items():
        yield Row.of(
            name, constraints, timing, threads=THREADS, peak_mb=peaks[name], more={"net": net, **said[name]}
        )


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--net", choices=(*NETS, QUICK), help="this network alone")
    arguments = parser.parse_args()
    nets = (arguments.net,) if arguments.net else (QUICK,) if arguments.quick else NETS
    report = Report("spartan")
    with tempfile.TemporaryDirectory() as folder:
        for net in nets:
            found = rows(net, 1 if arguments.quick else 5, Path(folder))
            report.show("Inferences of committed networks", found, CELLS)
    report.write(arguments.json)


if __name__ == "__main__":
    main()
