"""``zenserve ceremony``: trusted setups by several parties, who pass files on (docs/ceremony.md)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final, Literal, NoReturn

import typer
from rich.console import Console

from circuits import QuantGraph, compile_inference
from prover import ceremony, powers_of_tau
from prover.ceremony import State
from prover.ceremony.initial import required_power
from prover.iden3.ptau import read_ptau, write_ptau
from prover.powers_of_tau import MAX_POWER, PowersOfTau
from prover.statement_file import load_statement, save_statement
from service import intake
from service.cli import terminal
from service.cli.terminal import REFUSED
from zenerrors import CeremonyError

app = typer.Typer()
powers_app = typer.Typer(help="The first phase: powers of tau, snarkjs' .ptau files.", no_args_is_help=True)
app.add_typer(powers_app, name="powers")

out, err = Console(), Console(stderr=True)
THREADS = os.cpu_count() or 1
# Ceremonies know no segments: their proofs are plain Groth16, which snarkjs and contracts verify, too.
_LEVEL: Final = 2


def _existing(metavar: str) -> object:
    return typer.Argument(metavar=metavar, exists=True, dir_okay=False)


StatementFile = Annotated[Path, _existing("STATEMENT")]
PowersFile = Annotated[Path, _existing("POWERS")]
StateFile = Annotated[Path, _existing("STATE")]
Out = Annotated[Path, typer.Argument(metavar="OUT", dir_okay=False, help="Write to this file.")]


@powers_app.command("new")
def new_powers(
    power: Annotated[int, typer.Argument(min=1, max=MAX_POWER, help="For statements of 2^POWER rows.")],
    output: Out,
) -> None:
    """Draw powers of tau alone. Keys made from them are for development only."""
    with terminal.show_stages(err, "powers") as progress:
        powers = powers_of_tau.generate(power, threads=THREADS, progress=progress)
    write_ptau(output, powers)
    _written(output)


@powers_app.command("verify")
def verify_powers(file: PowersFile) -> None:
    """Verify that all points in POWERS are powers of one secret. Exit code 0 if so, 1 if not."""
    powers = _read_powers(file)
    out.print(f"[bold green]valid[/]  for statements of up to 2^{powers.power} rows", highlight=False)
    out.print(f"[dim]contributors, as the file says[/]  {powers.contributions}", highlight=False)


@app.command()
def statement(
    model: Annotated[Path, _existing("MODEL.onnx")],
    output: Out,
    calibration: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help="Typical inputs: .npy, or a JSON array.")
    ],
    input_privacy: Annotated[
        Literal["private", "public"], typer.Option(help="Whether proofs show their input.")
    ] = "private",
    weight_privacy: Annotated[
        Literal["private", "public"], typer.Option(help="Whether the key gives the weights away.")
    ] = "public",
    bits: Annotated[int, typer.Option(min=2, max=8, help="Precision of the quantised network.")] = 8,
) -> None:
    """Write what a network's proofs prove, for a ceremony. Public weights are in it, for all to read."""
    quantised = intake.quantise(model.read_bytes(), calibration.read_bytes(), str(bits).encode())
    circuit = compile_inference(
        QuantGraph.from_bytes(quantised),
        input_privacy=input_privacy,
        weight_privacy=weight_privacy,
        level=_LEVEL,
    )
    save_statement(output, circuit.statement)
    out.print(f"[dim]digest[/]   {circuit.statement.digest.hex()}", highlight=False)
    out.print(f"[dim]powers[/]   2^{required_power(circuit.statement)} or more", highlight=False)
    _written(output)


@app.command()
def start(statement_file: StatementFile, powers_file: PowersFile, output: Out) -> None:
    """Start a ceremony for STATEMENT from POWERS."""
    statement = load_statement(statement_file)
    powers = _read_powers(powers_file).first(required_power(statement))
    with terminal.show_stages(err, "starting") as progress:
        state = ceremony.start(statement, powers, threads=THREADS, progress=progress)
    state.save(output)
    _print_chain(state)
    _written(output)


@app.command()
def contribute(
    state_file: StateFile,
    output: Out,
    name: Annotated[str, typer.Option(help="Who you are, for all to read.")],
) -> None:
    """Add your share of the secrets to STATE. Publish the hash that is printed."""
    state = State.load(state_file, threads=THREADS)
    with terminal.show_stages(err, "contributing") as progress:
        state = ceremony.contribute(state, name, threads=THREADS, progress=progress)
    state.save(output)
    _print_chain(state)
    _written(output)


@app.command()
def verify(state_file: StateFile, statement_file: StatementFile, powers_file: PowersFile) -> None:
    """Verify all contributions in STATE. Exit code 0 if valid, 1 if not."""
    statement = load_statement(statement_file)
    powers = _read_powers(powers_file)
    try:
        state = State.load(state_file, threads=THREADS)
        with terminal.show_stages(err, "verifying") as progress:
            ceremony.verify(state, statement, powers, threads=THREADS, progress=progress)
    except CeremonyError as error:
        _refuse(error)
    out.print("[bold green]valid[/]  The key is what these contributions make of the statement.")
    out.print(
        f"[dim]contributors to the powers, as their file says[/]  {powers.contributions}", highlight=False
    )
    _print_chain(state)


@app.command()
def finish(
    state_file: StateFile, statement_file: StatementFile, powers_file: PowersFile, output: Out
) -> None:
    """Verify STATE and write the proving key that it came to. Exit code 1 if it is not valid."""
    statement = load_statement(statement_file)
    powers = _read_powers(powers_file)
    try:
        state = State.load(state_file, threads=THREADS)
        with terminal.show_stages(err, "verifying") as progress:
            key = ceremony.finish(state, statement, powers, threads=THREADS, progress=progress)
    except CeremonyError as error:
        _refuse(error)
    key.save(output)
    out.print(f"[dim]setup[/]    {key.verifying_key.setup}", highlight=False)
    out.print(f"[dim]key[/]      {key.verifying_key.digest.hex()}", highlight=False)
    _written(output)


def _read_powers(file: Path) -> PowersOfTau:
    try:
        with terminal.show_stages(err, "verifying powers"):
            return read_ptau(file, threads=THREADS)
    except CeremonyError as error:
        _refuse(error)


def _refuse(error: CeremonyError) -> NoReturn:
    text = terminal.escape(f"{error.message} [{error.code}]")
    out.print(f"[bold red]NOT valid[/]  {text}", highlight=False, soft_wrap=True)
    raise typer.Exit(REFUSED)


def _print_chain(state: State) -> None:
    _, hashes = state.chain
    out.print(f"[dim]{'start':>8}[/]  {state.origin.hex()}", highlight=False, soft_wrap=True)
    for index, (contribution, hash_) in enumerate(zip(state.contributions, hashes, strict=True)):
        name = terminal.escape(contribution.name)
        out.print(f"[dim]{index + 1:>8}[/]  {hash_.hex()}  {name}", highlight=False, soft_wrap=True)


def _written(output: Path) -> None:
    err.print(f"[dim]written to[/] {terminal.escape(str(output))}", highlight=False, soft_wrap=True)
