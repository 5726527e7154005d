"""Spartan beside Groth16, in turn: random statements with a network's shape, inferences, an accuracy.

    python -m bench.spartan [--only NAME] [--keys FOLDER] [--json FILE] [--quick]

Both prove the same constraints of the same witness, with commitments that were made before, as a worker of
the service does that has proven about the model before: Spartan's code words of it are kept, and what the
last proof has freed is held for the next (`zenserve.base.memory.Freed`), of both. A proof is timed from the
image's integers, the witness included; "witness s" is its part, nothing for random statements, and "after"
the ratio without it. Verification is by the kernels; "plain s" in Python alone, by a circuit whose file was
read and hashed before, in "circuit s". Peaks are of processes that prove under one of the two alone.
Groth16's setup is in no figure: Spartan has none. Where that setup takes minutes Spartan is measured alone,
by bench.large. ``--keys`` keeps Groth16's keys for the next run.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from bench import schemes
from bench.measure import Timing, alone, argument_parser, in_turn, seconds, timed
from bench.report import Cells, Report, Row, more, number, ratio
from bench.schemes import CELLS as SCHEME_CELLS
from bench.schemes import KEPT_BYTES, QUICK, THREADS, Bench, Task
from bench.synthetic import PUBLIC, Shape, random_statement, random_witness
from zenserve.base.memory import FREED
from zenserve.base.progress import silent
from zenserve.kernels import FrArray, fr
from zenserve.prover import groth16
from zenserve.prover.constraint_file import save_statement
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import CommitmentKey, ProvingKey
from zenserve.prover.spartan import system as transparent
from zenserve.prover.spartan.field import KERNEL_FR
from zenserve.prover.spartan.layout import SystemMatrices, best_code, rows_for, sizes_of
from zenserve.verifier.spartan import chain, verification
from zenserve.verifier.spartan.circuit_file import read_circuit
from zenserve.verifier.spartan.field import FR, Field
from zenserve.verifier.spartan.key import SpartanKey
from zenserve.verifier.spartan.verification import Matrices

# ZENacc is of a hundred images of shallownet.
NETS: Final = (
    "shallownet",
    "lenet-small",
    "lenet-medium",
    "lenet-face-small",
)
LOG_SIZES: Final = (16, 18, 20)
QUICK_LOG_SIZE: Final = 10
# In plain Python more constraints take minutes.
PLAIN_ROWS: Final = 1 << 17


@dataclass(frozen=True)
class Random:
    """A statement of bench/synthetic.py."""

    log_size: int
    shape: Shape
    folder: Path


Subject = Random | Task


class Statement:
    """What both prove, and how a proof begins."""

    def __init__(self, subject: Subject) -> None:
        self.folder = subject.folder
        self.committed: list[FrArray] = []
        if isinstance(subject, Random):
            self.system: ConstraintSystem = random_statement(subject.log_size)
            z = random_witness(self.system, subject.shape)
            self.witness: Callable[[], FrArray] = lambda: z
            self.public = [1] * PUBLIC
            self.post_challenge: Callable[[FrArray, FrArray], None] = lambda z, challenges: None
        else:
            case = schemes.case(subject)
            circuit = case.circuit
            circuit.keep_matrices(KEPT_BYTES)
            self.system = circuit.constraint_system
            self.witness, self.public = case.witness, case.public_inputs()
            self.post_challenge = partial(circuit.program.post_challenge, threads=THREADS)
            self.committed = [fr.from_int64(case.committed[name]) for name in circuit.commitments]


class Spartan:
    """Proves one statement again and again, its commitments made before."""

    def __init__(self, statement: Statement) -> None:
        self._statement, system = statement, statement.system
        rows = rows_for(max(map(len, statement.committed), default=0))
        basis, links = transparent.CommitmentKey(rows), bool(statement.committed)
        self._openings = [basis.commit(values, threads=THREADS) for values in statement.committed]
        code, tail = (rows.code, rows.tail) if links else (best_code(system), None)
        self._key = SpartanKey(system.digest, sizes_of(system), code, tail)

    def prove(self) -> bytes:
        """As a worker of the service does."""
        statement = self._statement
        return transparent.Spartan().prove(
            transparent.ProvingKey(self._key),
            statement.system,
            statement.witness(),
            openings=self._openings,
            post_challenge=statement.post_challenge,
            threads=THREADS,
            progress=silent,
        )

    def verify(self, proof: bytes, matrices: Matrices, field: Field) -> None:
        roots, shape = [each.root for each in self._openings], self._key.shape
        shape = replace(shape, code=replace(shape.code, field=field))
        chains, own = chain.split(proof, len(roots))
        assert not any(chains)
        verdict = verification.verify(shape, matrices, self._statement.public, roots, own)
        assert verdict.valid, verdict


class Groth16:
    """The same by a key from the statement's folder."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._key = ProvingKey.load(statement.folder / "key")
        self._openings = []
        if statement.committed:
            basis = CommitmentKey.load(statement.folder / "basis")
            self._openings = [basis.commit(values, threads=THREADS) for values in statement.committed]

    def prove(self) -> bytes:
        statement = self._statement
        return groth16.prove(
            self._key,
            statement.system,
            statement.witness(),
            openings=self._openings,
            post_challenge=statement.post_challenge,
            threads=THREADS,
        ).to_bytes()

    def verify(self, proof: bytes) -> None:
        commitments = [opening.commitment for opening in self._openings]
        public, parsed = self._statement.public, groth16.Proof.from_bytes(proof)
        verdict = groth16.verify(self._key.verifying_key, public, parsed, commitments)
        assert verdict.valid, verdict


def make_keys(subject: Subject) -> None:
    """Groth16's, where the folder has none."""
    folder = subject.folder
    folder.mkdir(exist_ok=True, parents=True)
    if (folder / "key").exists():
        return
    statement, basis = Statement(subject), None
    if statement.committed:
        basis = CommitmentKey.generate(max(map(len, statement.committed)), threads=THREADS)
        basis.save(folder / "basis")
    groth16.setup(statement.system, basis=basis, threads=THREADS).save(folder / "key")


def compare(
    subject: Subject, repetitions: int
) -> tuple[int, dict[str, Timing], dict[str, dict[str, float | None]]]:
    """Constraints; the times of both; and of each what else is told."""
    FREED.hold()
    statement = Statement(subject)
    ours, theirs = Spartan(statement), Groth16(statement)
    proofs: dict[str, bytes] = {}

    def proven(name: str, prove: Callable[[], bytes]) -> float:
        proofs[name], taken = timed(prove)
        return taken

    timings = in_turn(
        {
            "spartan": lambda: proven("spartan", ours.prove),
            "groth16": lambda: proven("groth16", theirs.prove),
        },
        repetitions=repetitions,
    )
    witness = statistics.median(seconds(statement.witness) for _ in range(repetitions))
    matrices = SystemMatrices(statement.system, THREADS)
    matrices.digest  # noqa: B018  known before proofs come
    verified = {
        "spartan": min(
            seconds(lambda: ours.verify(proofs["spartan"], matrices, KERNEL_FR)) for _ in range(repetitions)
        ),
        "groth16": min(seconds(lambda: theirs.verify(proofs["groth16"])) for _ in range(repetitions)),
    }
    plain: dict[str, float | None] = dict.fromkeys(proofs)
    read = plain.copy()
    if statement.system.constraints <= PLAIN_ROWS:
        circuit, read["spartan"] = _plain(statement.system)
        plain["spartan"] = seconds(lambda: ours.verify(proofs["spartan"], circuit, FR))
    after = (timings["groth16"].median - witness) / (timings["spartan"].median - witness)
    said = {
        name: {
            "witness_s": witness,
            "verify_s": verified[name],
            "plain_s": plain[name],
            "circuit_s": read[name],
            "proof_bytes": len(proof),
            "after": after if name == "groth16" else None,
        }
        for name, proof in proofs.items()
    }
    return statement.system.constraints, timings, said


def _plain(system: ConstraintSystem) -> tuple[Matrices, float]:
    """The circuit as a stranger has it, and the seconds that it took to read its file and hash it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "circuit"
        save_statement(path, system)
        data = path.read_bytes()

    def read() -> Matrices:
        circuit = read_circuit(data)
        circuit.digest  # noqa: B018  is known once
        return circuit

    return timed(read)


def spartan_alone(subject: Subject) -> None:
    Spartan(Statement(subject)).prove()


def groth16_alone(subject: Subject) -> None:
    Groth16(Statement(subject)).prove()


CELLS: Final[Cells] = {
    "statement": lambda row: row.name,
    "system": more("system"),
    "rows": lambda row: number(row.size),
    "prove s": SCHEME_CELLS["prove s"],
    "ratio": ratio,
    "witness s": more("witness_s"),
    "after": lambda row: f"{row.more['after']:.2f}x" if "after" in row.more else "",
    "verify s": more("verify_s"),
    "plain s": more("plain_s"),
    "circuit s": more("circuit_s"),
    "peak MB": lambda row: f"{row.peak_mb:,.0f}",
    "bytes": more("proof_bytes"),
}


def rows(name: str, subject: Subject, repetitions: int) -> Iterator[Row]:
    """Of Spartan, then of Groth16, whose ``ratio`` is its time over Spartan's."""
    alone(make_keys, subject)
    (constraints, timings, said), _ = alone(compare, subject, repetitions)
    peaks = {"spartan": alone(spartan_alone, subject)[1], "groth16": alone(groth16_alone, subject)[1]}
    for system, timing in timings.items():
        told = {key: value for key, value in said[system].items() if value is not None}
        yield Row.of(
            name, constraints, timing, threads=THREADS, peak_mb=peaks[system], more={"system": system, **told}
        )


def subjects(quick: bool, keys: Path) -> Iterator[tuple[str, str, Callable[[], Subject]]]:
    """Topic, name, and how each is made; a folder below ``keys`` is of one constraint system."""
    shapes: tuple[Shape, ...] = ("network", "dense")
    for log_size in (QUICK_LOG_SIZE,) if quick else LOG_SIZES:
        for shape in shapes:
            made = partial(Random, log_size, shape, keys / f"random-{log_size}")
            yield "Random statements", f"{shape}-2^{log_size}", made
    for net in (QUICK,) if quick else NETS:
        for privacy in ("committed", "private"):
            folder = keys / f"{net}-{privacy}"
            scheme = "inference" if privacy == "committed" else "private"
            yield "Inferences", f"{net}, {privacy}", partial(_task, net, scheme, folder)
    net = QUICK if quick else "shallownet"
    yield (
        "Accuracies",
        f"{net}, {schemes.BATCHES[net]} images",
        partial(_task, net, "accuracy", keys / f"{net}-accuracy"),
    )


def _task(net: str, scheme: str, folder: Path) -> Task:
    return Bench(net, 1, folder).task(scheme)


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--only", metavar="NAME", action="append", help="statements whose names begin so, as often as wanted"
    )
    parser.add_argument("--keys", type=Path, metavar="FOLDER", help="where Groth16's keys stay")
    options = parser.parse_args()
    repetitions = 1 if options.quick else 3
    report = Report("spartan", f"{THREADS} threads; median of {repetitions}")
    with tempfile.TemporaryDirectory() as folder:
        for topic, name, made in subjects(options.quick, options.keys or Path(folder)):
            if name.startswith(tuple(options.only or [""])):
                report.show(topic, rows(name, made(), repetitions), CELLS)
                report.write(options.json)


if __name__ == "__main__":
    main()
