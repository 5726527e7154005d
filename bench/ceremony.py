"""A ceremony's commands, each from the start of its process to the end, with all processors.

    python -m bench.ceremony [--cases NAME ...] [--before ZENSERVE] [--json FILE] [--quick]

2^n: a random statement of so many rows (bench/synthetic.py); registration: shallownet's, whose weights are
committed; each with powers of tau that just suffice. powers-2^n: such a file of no contributors, verified.
2^18 and powers-2^20 take minutes, and run if named. A command runs three times, once if that takes over 20
seconds. With --before another checkout's program runs it once as well, on files of its own, after the first
of ours; the ratio is that of processor seconds, to which other work on the machine matters less.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from bench.measure import alone, argument_parser
from bench.report import Report, Row
from bench.synthetic import random_statement
from zenserve.base.processors import usable_cores
from zenserve.circuits import compile_registration, quantise, zoo
from zenserve.prover.constraint_file import save_statement
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import powers_of_tau
from zenserve.prover.groth16.ceremony.initial import required_power
from zenserve.prover.groth16.iden3.ptau import write_ptau

_NETWORK: Final = "shallownet"
_REGISTRATION: Final = "registration"
_POWERS: Final = "powers-2^"
USUAL: Final = ("2^14", "2^16", _REGISTRATION, f"{_POWERS}16")
LARGE: Final = ("2^18", f"{_POWERS}20")
QUICK: Final = ("2^8", f"{_POWERS}8")
OURS: Final = Path(sys.executable).with_name("zenserve")
COMMANDS: Final = {
    "start": "start s.stmt p.ptau 0.state",
    "contribute": "contribute 0.state 1.state --name Ada",
    "verify": "verify 1.state s.stmt p.ptau",
    "finish": "finish 1.state s.stmt p.ptau key --development",
}
VERIFY_POWERS: Final = {"powers verify": "powers verify p.ptau"}
_LONG: Final = 20.0
# In a process that is small itself: what waits for a program hands its own peak on to it.
_CLOCK: Final = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
seconds, usage = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))
"""


class Run(NamedTuple):
    """``cpu_s``: processor seconds of all threads."""

    seconds: float
    cpu_s: float
    peak_mb: float


def rows(case: str, before: Path | None, repetitions: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="zenserve-bench-") as folder:
        ours, theirs = Path(folder) / "ours", Path(folder) / "theirs"
        ours.mkdir()
        constraints, _ = alone(prepare, case, ours)
        theirs.mkdir()
        for file in ours.iterdir():
            (theirs / file.name).hardlink_to(file)
        for name, command in (VERIFY_POWERS if constraints is None else COMMANDS).items():
            runs = [run(OURS, command, ours)]
            other = None if before is None else run(before, command, theirs)
            again = repetitions - 1 if runs[0].seconds < _LONG else 0
            runs += [run(OURS, command, ours) for _ in range(again)]
            yield _row(case, constraints, name, runs, other)


def prepare(case: str, folder: Path) -> int | None:
    """Write the case's statement and powers to ``folder``; how many constraints it has, None for powers."""
    if case.startswith(_POWERS):
        constraints, power = None, int(case.removeprefix(_POWERS))
    else:
        system = _statement(case)
        save_statement(folder / "s.stmt", system)
        constraints, power = system.constraints, required_power(system)
    write_ptau(folder / "p.ptau", powers_of_tau.generate(power, threads=usable_cores()))
    return constraints


def _statement(case: str) -> ConstraintSystem:
    if case == _REGISTRATION:
        return compile_registration(
            quantise(zoo.network(_NETWORK), zoo.calibration(_NETWORK))
        ).constraint_system
    return random_statement(int(case.removeprefix("2^")))


def run(program: Path, command: str, folder: Path) -> Run:
    call = [sys.executable, "-c", _CLOCK, str(program), "ceremony", *command.split()]
    done = subprocess.run(call, cwd=folder, check=True, stdout=subprocess.PIPE)  # noqa: S603  our own
    return Run(*json.loads(done.stdout))


def _row(case: str, constraints: int | None, name: str, runs: list[Run], before: Run | None) -> Row:
    times = [each.seconds for each in runs]
    seconds, cpu = statistics.median(times), statistics.median(each.cpu_s for each in runs)
    more: dict[str, object] = {"case": case, "cpu_s": cpu}
    if before is not None:
        more |= {"before_s": before.seconds, "before_cpu_s": before.cpu_s, "before_mb": before.peak_mb}
    return Row(
        name,
        constraints,
        seconds,
        (max(times) - min(times)) / seconds,
        threads=usable_cores(),
        peer=before and "before, processor seconds",
        ratio=before and before.cpu_s / cpu,
        peak_mb=max(each.peak_mb for each in runs),
        more=more,
    )


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--cases", nargs="+", choices=(*USUAL, *LARGE), metavar="NAME", default=USUAL)
    parser.add_argument("--before", type=Path, metavar="ZENSERVE", help="another checkout's program")
    options = parser.parse_args()
    cases, repetitions = (QUICK, 1) if options.quick else (options.cases, 3)
    report = Report("ceremony", f"median of {repetitions}; size = constraints")
    for case in cases:
        report.show(case, rows(case, options.before, repetitions))
    report.write(options.json)


if __name__ == "__main__":
    main()
