"""Which networks of a suite load, compile, execute and prove (bench/stages.py).

    python -m bench.coverage --suite DIR... [--most STAGE] [--only NAME...] [--json FILE [--resume]]

What belongs to a suite says bench/suite.py; a listed file that is missing ends the command with 2. FILE is
written after each network: --resume keeps what it has of this commit and up to this stage. Each network has a
process of its own, with two cores' processor seconds of 10 minutes and 24 GB of address space:
one that takes more, or kills its process, is a row that says so. Times are processor seconds of that process.
"constant" are networks whose outputs no input changes; they count apart.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import subprocess
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from bench.measure import peak_mb
from bench.report import Cells, Report, Row, more, number, read
from bench.stages import STAGES, Findings, attempt
from bench.suite import members

_WORDS: Final = 300
"""Characters of a reason that are kept."""


@dataclass(frozen=True)
class Limits:
    """Of a process: ``seconds`` of processor, and of the ``clock``; ``size`` of its address space."""

    seconds: int = 2 * 600
    clock: int = 2 * 600
    size: int = 24 << 30


def row(suite: str, network: Path, made: Mapping[str, str], limits: Limits) -> Row:
    """How far the network comes. ``made``: "most", the stage to end with, and what else the row is to say."""
    said: dict[str, Any] = {"suite": suite, "model": network.parent.name}
    said |= dict.fromkeys(STAGES, False) | {"reason": "", "blockers": [], **made}
    said |= alone(attempt, network, made["most"], limits=limits)
    constraints, taken, peak = (said.pop(name, None) for name in ("constraints", "seconds", "peak_mb"))
    said["reason"] = said["reason"][:_WORDS]
    return Row(network.parent.name, constraints, taken or 0.0, peak_mb=peak, more=said)


def alone(work: Callable[..., Iterator[Findings]], *arguments: object, limits: Limits) -> Findings:
    """All that ``work`` yields in a process with these limits, with its "seconds" and "peak_mb" so far; where
    that ends before its time, "reason" and "blockers" say of what."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([attempt.__module__])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, limits, work, arguments))
    process.start()
    sender.close()
    found: Findings = {}
    end, ended = time.monotonic() + limits.clock, False
    while not ended and receiver.poll(end - time.monotonic()):
        try:
            found |= receiver.recv()
        except EOFError:
            ended = True
    if not ended:
        process.kill()
    process.join()
    if not ended or process.exitcode:
        found |= _killed(process.exitcode if ended else None, limits)
    return found


def _send(
    sender: Connection,
    limits: Limits,
    work: Callable[..., Iterator[Findings]],
    arguments: tuple[object, ...],
) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (limits.size, limits.size))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
    try:
        for found in work(*arguments):
            sender.send(found | {"seconds": time.process_time(), "peak_mb": peak_mb()})
    except MemoryError:
        sender.send(_starved(limits))
    except Exception as accident:
        sender.send({"reason": f"{type(accident).__name__}: {accident}", "blockers": ["an accident"]})


def _starved(limits: Limits) -> Findings:
    return {"reason": f"it takes more than {limits.size >> 20:,} MB", "blockers": ["memory"]}


def _killed(code: int | None, limits: Limits) -> Findings:
    if code == -signal.SIGXCPU:
        return {"reason": f"it takes more than {limits.seconds} processor seconds", "blockers": ["time"]}
    if code is None:
        return {"reason": f"it takes more than {limits.clock} seconds", "blockers": ["time"]}
    return {"reason": f"its process ended with {code}", "blockers": ["an accident"]}


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """How many networks there are, are constant, and of all others come to each stage."""
    rows = list(rows)
    others = [each for each in rows if not each.more.get("constant")]
    reached = {stage: sum(each.more[stage] for each in others) for stage in STAGES}
    return {"networks": len(rows), "constant": len(rows) - len(others), **reached}


def blockers(rows: Iterable[Row]) -> list[Row]:
    """What stands in the way of networks that are not constant: of how many, of how many of these "alone",
    and the first one's reason for an example."""
    named: dict[str, list[Row]] = {}
    for each in (each for each in rows if not each.more.get("constant")):
        for blocker in each.more["blockers"]:
            named.setdefault(blocker, []).append(each)
    found = []
    for name, blocked in named.items():
        alone = sum(len(each.more["blockers"]) == 1 for each in blocked)
        example = f"{blocked[0].name}: {blocked[0].more['reason']}"
        found.append(Row(name, len(blocked), 0.0, more={"alone": alone, "example": example}))
    return sorted(found, key=lambda row: -(row.size or 0))


def came(each: Row) -> str:
    """The last stage that it reached."""
    return next((stage for stage in reversed(STAGES) if each.more[stage]), "")


CELLS: Final[Cells] = {
    "network": lambda row: row.name,
    "came to": came,
    "constraints": lambda row: number(row.size),
    "s": lambda row: f"{row.median:.1f}",
    "peak MB": lambda row: number(row.peak_mb and round(row.peak_mb)),
    "reason": lambda row: "constant" if row.more.get("constant") else row.more["reason"],
}
BLOCKERS: Final[Cells] = {
    "what": lambda row: row.name,
    "networks": lambda row: number(row.size),
    "nothing else": more("alone"),
    "as": more("example"),
}


def commit() -> str:
    """Of the code that runs, with + where it has changed since."""
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"],  # noqa: S607  whichever made the checkout
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.strip()


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    several: dict[str, Any] = {"nargs": "+", "action": "extend"}
    parser.add_argument("--suite", type=Path, **several, required=True, metavar="DIR", help="its folder")
    parser.add_argument("--most", choices=STAGES, default=STAGES[-1], help="the stage to end with")
    parser.add_argument("--only", **several, metavar="NAME", help="these networks")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    parser.add_argument("--resume", action="store_true", help="keep the rows that FILE has of the same code")
    options = parser.parse_args()
    try:
        suites = {suite.name: members(suite) for suite in options.suite}
    except FileNotFoundError as error:
        parser.error(str(error))
    if unknown := set(options.only or ()) - {path.parent.name for all_ in suites.values() for path in all_}:
        parser.error(f"no suite has {', '.join(sorted(unknown))}")
    made = {"commit": commit(), "most": options.most}
    kept = {}
    if options.resume and options.json and options.json.exists():
        found = read(options.json)[1]
        kept = {(each.topic, each.name): each for each in found if made.items() <= each.more.items()}
    report = Report("coverage", f"up to {options.most}, {made['commit']}")
    for suite, networks in suites.items():
        rows = []
        for network in networks:
            name = network.parent.name
            if options.only and name not in options.only:
                continue
            done = kept.get((suite, name)) or row(suite, network, made, Limits())
            rows.append(done)
            report.say(f"{name}: {came(done)} {done.more['reason']}")
            report.write(options.json, [replace(each, topic=suite) for each in rows])
        report.show(suite, rows, CELLS)
        report.say(f"{suite}: " + ", ".join(f"{count} {name}" for name, count in counts(rows).items()))
        for blocker in blockers(rows):
            report.say(f"  {blocker.size} by {blocker.name}, {blocker.more['alone']} by nothing else")
        report.write(options.json)


if __name__ == "__main__":
    main()
