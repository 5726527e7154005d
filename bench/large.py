"""Networks of millions of weights and variables under Spartan, from the architecture to the verdict.

    python -m bench.large [--only NAME] [--json FILE] [--quick]

Weights are committed, images private. Each row has a process of its own, which does what a worker of the
service does: it compiles, commits to the weights, writes and loads the key, computes the witness, proves,
the last time with the commitment's code words that it kept, and verifies. Without Groth16: its setup alone
would take minutes for each. "proof MB" is what a proof takes beside the circuit, the witness and what is
kept, "first_mb" in the file what one takes that encodes the weights as it goes, where there is no room to
keep them, and "foretold" the estimate of that; the peak has all. Weights of the zoo, stand-ins for images:
what they show changes no cost.

Renewals hand a commitment's openings on to a fresh root (docs/spartan.md, "Renewals").
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.measure import alone, argument_parser, forget_peak, peak_mb, seconds, timed
from bench.report import Cells, Report, Row, more, number
from bench.schemes import KEPT_BYTES
from zenserve import circuits
from zenserve.base.memory import FREED, KEPT
from zenserve.base.processors import usable_cores
from zenserve.base.progress import silent
from zenserve.base.randomness import Secrets
from zenserve.circuits import parameters, quantise, zoo
from zenserve.kernels import fr
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.size import Size
from zenserve.prover.spartan.commitment import Linked, linked_to
from zenserve.prover.spartan.field import KERNEL_FR
from zenserve.prover.spartan.layout import rows_for
from zenserve.prover.spartan.system import CommitmentKey, Spartan
from zenserve.verifier.spartan import renewal
from zenserve.verifier.system import Claim

THREADS: Final = usable_cores()
NETS: Final = ("lenet-face-medium", "lenet-face-large", "vgg16", "resnet18", "resnet50")
QUICK: Final = "shallownet"
SCHEMES: Final = ("registration", "inference")
RENEWED: Final = (10**6, 10**7)
QUICK_RENEWED: Final = 10**4
MEGABYTE: Final = 1 << 20


def proven(net: str, scheme: str) -> tuple[int, float, float, dict[str, float]]:
    """Constraints, a proof's seconds, the peak until it is made, and what else is told."""
    FREED.hold()
    graph = quantise(zoo.network(net), zoo.calibration(net))
    image = graph.input.type.quantise(zoo.calibration(net)[:1])[0]
    circuit, compile_s = timed(partial(_compiled, graph, scheme))
    circuit.keep_matrices(KEPT_BYTES)
    constraint_system, system = circuit.constraint_system, Spartan()
    size = Size.of(constraint_system)
    weights = fr.from_int64(parameters(graph))
    basis = CommitmentKey(rows_for(len(weights)))
    opening, commit_s = timed(lambda: basis.commit(weights, threads=THREADS))

    def keyed() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "key"
            system.setup(constraint_system, file, basis=basis, threads=THREADS, progress=silent)
            return system.load_key(file)

    key, key_s = timed(keyed)
    arguments = () if scheme == "registration" else (image,)
    witness, witness_s = timed(lambda: circuit.witness(*arguments))
    proofs: list[bytes] = []

    def prove(of: ConstraintSystem = constraint_system) -> None:
        proofs[:] = [
            system.prove(
                key,
                of,
                witness,
                openings=[opening],
                post_challenge=partial(circuit.program.post_challenge, threads=THREADS),
                threads=THREADS,
                progress=silent,
            )
        ]

    keeping_none = replace(
        constraint_system,
        segments=tuple(replace(segment, lasting=False) for segment in constraint_system.segments),
    )
    FREED.give_back()
    made_mb, before_mb = peak_mb(), forget_peak()
    prove(keeping_none)
    FREED.give_back()
    first_mb = peak_mb()
    forget_peak()
    prove()
    prove_s, core_s = _with_cores(prove)
    proven_mb = peak_mb()
    claim = Claim(circuit.public_inputs(*arguments), proofs[0], [opening.commitment])
    verdict, verify_s = timed(lambda: system.verify(key.verifying_key, claim))
    assert verdict, verdict
    told = {
        "weights": len(weights),
        "compile_s": compile_s,
        "commit_s": commit_s,
        "key_s": key_s,
        "witness_s": witness_s,
        "core_s": core_s,
        "verify_s": verify_s,
        "proof_bytes": len(proofs[0]),
        "proof_mb": proven_mb - before_mb - KEPT.taken / MEGABYTE,
        "first_mb": first_mb - before_mb,
        "kept_mb": KEPT.taken / MEGABYTE,
        "foretold_mb": system.estimate(size, THREADS).proof_memory / MEGABYTE,
    }
    return constraint_system.constraints, prove_s, max(made_mb, first_mb, proven_mb), told


def _with_cores(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds, and those of all processors together."""
    start = time.process_time()
    taken = seconds(work)
    return taken, time.process_time() - start


def _compiled(graph: circuits.QuantGraph, scheme: str) -> Any:
    if scheme == "registration":
        return circuits.compile_registration(graph)
    return circuits.compile_inference(graph, weight_privacy="committed")


def renewed(count: int) -> tuple[float, dict[str, float]]:
    """Seconds of a renewal of a commitment to so many weights of 8 bits, and what else is told. By a worker
    that has proven about it, and so keeps its code words, as far as there is room for them."""
    basis = CommitmentKey(rows_for(count))
    values = fr.from_int64(np.random.default_rng(1).integers(-128, 128, count))
    opening, commit_s = timed(lambda: basis.commit(values, threads=THREADS))
    linked, code, secret = Linked(*opening.current), basis.rows.code, Secrets()
    made: list[bytes] = []

    def prove() -> None:
        """As far as that concerns the commitment."""
        linked_to(values, code, basis.rows.tail, linked, beside=0, secret=secret, threads=THREADS)

    def renew() -> None:
        link = basis.renew(opening, values, threads=THREADS).renewals[0].link
        made[:] = [link.root, link.proof]

    prove()
    renew()  # what is new to a process takes longer
    prove()
    encoded = 1 if KEPT.taken else 2
    renew_s, core_s = _with_cores(renew)
    root, proof = made
    verify_s = seconds(lambda: _check(basis, count, opening.commitment, root, proof))
    matrix = renewal.row_count(basis.rows, count)
    told = {
        "commit_s": commit_s,
        "core_s": core_s,
        "verify_s": verify_s,
        "proof_bytes": len(proof),
        "products": encoded * matrix * (code.length // 2) * code.log_degree,
        "hashed_mb": encoded * matrix * code.length * 32 / MEGABYTE,
    }
    return renew_s, told


def _check(basis: CommitmentKey, count: int, old: bytes, new: bytes, proof: bytes) -> None:
    code = replace(basis.rows.code, field=KERNEL_FR)
    assert renewal.is_renewed(replace(basis.rows, code=code), count, old, new, proof)


CELLS: Final[Cells] = {
    "proof": lambda row: row.name,
    "weights": more("weights"),
    "rows": lambda row: number(row.size),
    "compile s": more("compile_s"),
    "commit s": more("commit_s"),
    "key s": more("key_s"),
    "witness s": more("witness_s"),
    "prove s": lambda row: f"{row.median:.3g}",
    "core s": more("core_s"),
    "verify s": more("verify_s"),
    "bytes": more("proof_bytes"),
    "proof MB": lambda row: f"{row.more['proof_mb']:,.0f}",
    "foretold": lambda row: f"{row.more['foretold_mb']:,.0f}",
    "peak MB": lambda row: f"{row.peak_mb:,.0f}",
}
RENEWAL_CELLS: Final[Cells] = {
    "values": lambda row: number(row.size),
    "commit s": more("commit_s"),
    "renew s": lambda row: f"{row.median:.3g}",
    "core s": more("core_s"),
    "verify s": more("verify_s"),
    "bytes": more("proof_bytes"),
    "products": more("products"),
    "hashed MB": lambda row: f"{row.more['hashed_mb']:,.0f}",
    "peak MB": lambda row: f"{row.peak_mb:,.0f}",
}


def subjects(quick: bool) -> Iterator[tuple[str, str, Cells, Callable[[], Row]]]:
    """Topic, name, columns, and how each is measured."""
    for net in (QUICK,) if quick else NETS:
        for scheme in SCHEMES:
            yield "Networks", f"{net}, {scheme}", CELLS, partial(_network_row, net, scheme)
    for count in (QUICK_RENEWED,) if quick else RENEWED:
        yield "Renewals", f"renewal of {count:,}", RENEWAL_CELLS, partial(_renewal_row, count)


def _network_row(net: str, scheme: str) -> Row:
    (constraints, prove_s, peak, told), _ = alone(proven, net, scheme)
    return Row(f"{net}, {scheme}", constraints, prove_s, threads=THREADS, peak_mb=peak, more=told)


def _renewal_row(count: int) -> Row:
    (renew_s, told), peak = alone(renewed, count)
    return Row("renewal", count, renew_s, threads=THREADS, peak_mb=peak, more=told)


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--only", metavar="NAME", action="append", help="rows whose names begin so, as often as wanted"
    )
    options = parser.parse_args()
    report = Report("large", f"{THREADS} threads; proofs: the third; renewals: the second")
    for topic, name, cells, measured in subjects(options.quick):
        if name.startswith(tuple(options.only or [""])):
            report.show(topic, [measured()], cells)
            report.write(options.json)


if __name__ == "__main__":
    main()
