"""``zenserve audit``: whether a verification key is for the circuit that its file describes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from zenserve.base.processors import usable_cores
from zenserve.errors import RequestError, StatementError, naming
from zenserve.service.cli import terminal
from zenserve.service.cli.answers import Answer, RefusedError, answering, err, no_good

if TYPE_CHECKING:  # slow to import
    from zenserve.circuits import Circuit
    from zenserve.circuits.schemes.audit import Finding
    from zenserve.prover.groth16 import VerifyingKey
    from zenserve.verifier.documents import KeyFile
    from zenserve.verifier.spartan.key import SpartanKey

_SAME = "[bold green]the same[/]  All that the key {key} claims is what is made here."
_CLAIMS = "[bold yellow]claims[/]  Nothing that the key {key} claims is wrong. Not all of it is shown:"
_OTHER = "[bold red]NOT the same[/]  {detail} \\[statement.audit]"
_COLOURS = {"same": "green", "other": "bold red", "not shown": "yellow"}


@answering
def audit_key(
    key_file: Annotated[
        Path, typer.Argument(metavar="KEY", exists=True, dir_okay=False, help="The key's file.")
    ],
    network: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, help="The model's architecture, or its network if that is public."
        ),
    ],
    powers: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="The ceremony's powers of tau, .ptau.")
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Where the ceremony ended: less work for --powers, and provers' key is judged, too.",
        ),
    ] = None,
    circuit_file: Annotated[
        Path | None,
        typer.Option("--circuit", dir_okay=False, help="Write the circuit there, for zenserve verify."),
    ] = None,
) -> Answer:
    """Compile KEY's circuit again, from NETWORK, and judge every claim in KEY: exit code 1 if one is wrong.

    A ceremony's key is made again with --powers, point by point. A key without a setup has none. Nothing is
    asked of a service.
    """
    from zenserve.circuits import QuantGraph
    from zenserve.circuits.schemes.audit import Finding, Verdict, audit, does_not_show, recompile
    from zenserve.prover.constraint_file import save_statement
    from zenserve.verifier.documents import KeyFile, read
    from zenserve.verifier.keys import opened

    if state is not None and powers is None:
        raise RequestError("request.invalid", "--state shows something with --powers only", field="state")
    with naming(key_file):
        file = read(KeyFile, key_file.read_bytes())
        key = _auditable(opened(file).verifying, powers)
    with naming(network):
        graph = QuantGraph.from_bytes(network.read_bytes())
    seconds: dict[str, float] = {}
    try:
        with _timed(seconds, "compiling"):
            circuit = recompile(graph, file.circuit)
            label = audit(circuit, file.circuit, key)
    except StatementError as error:  # the description's settings are of no circuit
        raise RefusedError(no_good(error, "same", "NOT the same")) from None
    points, contributors = _audit_points(circuit, file, key, powers, state, seconds)
    if circuit_file is not None:
        save_statement(circuit_file, circuit.constraint_system)
    # That the file is what its id says was found when it was opened.
    findings = [Finding("id", Verdict.SAME), *label, *points]
    names = [each["name"] for each in (file.transcript or {}).get("contributions", [])]
    facts = {
        "key": file.id,
        "setup": key.setup,
        "scheme": circuit.scheme,
        "constraints": circuit.constraint_system.constraints,
        "network": circuit.network.hex(),
        "seconds": {stage: round(taken, 2) for stage, taken in seconds.items()},
        "contributors_to_powers": contributors,
        "contributions": [
            {"name": name, "hash": hash_.hex()}
            for name, hash_ in zip_longest(names, getattr(key, "contributions", ()))
        ],
        "does_not_show": does_not_show(circuit, key, points),
    }
    return _judged(facts, findings)


def _auditable(key: Any, powers: Path | None) -> VerifyingKey | SpartanKey:
    """Raises ``FileFormatError`` (``file.system``): others have nothing to audit, or no ceremony."""
    from zenserve.verifier.groth16.system import groth16_key
    from zenserve.verifier.spartan.key import SpartanKey

    return key if isinstance(key, SpartanKey) and powers is None else groth16_key(key)


def _audit_points(
    circuit: Circuit,
    file: KeyFile,
    key: VerifyingKey | SpartanKey,
    powers_file: Path | None,
    state_file: Path | None,
    seconds: dict[str, float],
) -> tuple[list[Finding], list[dict[str, str]]]:
    """Return the findings, and the contributors to the powers."""
    from zenserve.circuits.schemes.audit import Finding, Verdict, audit_points
    from zenserve.prover.groth16.ceremony import State
    from zenserve.prover.groth16.ceremony.initial import required_power
    from zenserve.prover.groth16.iden3.ptau import read_contributors, read_ptau
    from zenserve.verifier.spartan.key import SpartanKey

    if isinstance(key, SpartanKey):
        return [Finding("setup", Verdict.SAME)], []
    if powers_file is None:
        return audit_points(circuit, key, file.transcript), []
    threads, most = usable_cores(), required_power(circuit.constraint_system)
    with terminal.show_stages(err, "making the key again") as progress:
        with _timed(seconds, "reading powers"), naming(powers_file):
            powers = read_ptau(powers_file, most=most, threads=threads)
            contributors = read_contributors(powers_file)
        with _timed(seconds, "comparing points"):
            state = None if state_file is None else State.read(state_file)
            points = audit_points(
                circuit, key, file.transcript, powers, state, threads=threads, progress=progress
            )
    return points, [{"name": each.name, "hash": each.response.hex()} for each in contributors]


def _judged(facts: dict[str, Any], findings: Sequence[Finding]) -> Answer:
    """The answer of these findings. Raises ``RefusedError`` where a claim is another."""
    verdicts = [finding.verdict for finding in findings]
    claims = [finding._asdict() for finding in findings]
    answer = {"same": "other" not in verdicts, "all_shown": "not shown" not in verdicts, **facts}
    if answer["same"]:
        words = (_SAME if answer["all_shown"] else _CLAIMS).format(key=facts["key"])
        return Answer({**answer, "claims": claims}, _shown(words, facts, findings))
    first = findings[verdicts.index("other")]  # type: ignore[arg-type]
    reason = {"reason": "statement.audit", "detail": first.detail, "field": first.claim}
    words = _OTHER.format(detail=terminal.escape(first.detail))
    raise RefusedError(Answer({**answer, **reason, "claims": claims}, _shown(words, facts, findings)))


def _shown(words: str, facts: dict[str, Any], findings: Sequence[Finding]) -> tuple[RenderableType, ...]:
    seconds = ", ".join(f"{stage} {taken:g} s" for stage, taken in facts["seconds"].items())
    rows = {name: facts[name] for name in ("setup", "scheme", "constraints", "network")} | {"took": seconds}
    for of, claim in (("powers", "contributors_to_powers"), ("contribution", "contributions")):
        for index, each in enumerate(facts[claim], start=1):
            rows[f"{of} {index}"] = f"{each['hash']}  {terminal.escape(each['name'] or '')}"
    claims = [
        f"[{_COLOURS[verdict]}]{verdict:9}[/]  {terminal.escape(claim)}  [dim]{terminal.escape(detail)}[/]"
        for claim, verdict, detail in findings
    ]
    not_shown = [f"  {sentence}" for sentence in facts["does_not_show"]]
    return (words, terminal.table_of(rows), "", *claims, "", "[dim]What this does not show:[/]", *not_shown)


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = perf_counter()
    yield
    seconds[stage] = perf_counter() - start
