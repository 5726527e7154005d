"""``zenserve ceremony``: trusted setups by several parties, who pass files on (docs/ceremony.md)."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from zenserve.base.processors import usable_cores
from zenserve.errors import CeremonyError, RequestError, naming
from zenserve.prover.constraint_file import load_description, load_statement, save_statement
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import ceremony, powers_of_tau
from zenserve.prover.groth16.ceremony import Beacon, State
from zenserve.prover.groth16.ceremony.initial import required_power
from zenserve.prover.groth16.iden3.ptau import read_contributors, read_ptau, write_ptau
from zenserve.prover.groth16.powers_of_tau import MAX_POWER, PowersOfTau
from zenserve.service.cli import terminal
from zenserve.service.cli.answers import (
    Answer,
    Development,
    RefusedError,
    answering,
    err,
    no_good,
    note_powers,
    said_written,
)
from zenserve.service.cli.by_name import InputPrivacy, privacies
from zenserve.service.cli.precision import Bits, MaxLoss, Ranges, WeightBits
from zenserve.service.cli.samples import FILES, LabelColumn, LabelFile, Mean, Reading, Sizes, Std, taken_in
from zenserve.service.submissions import named
from zenserve.verifier.beacon import MOST_ROUNDS
from zenserve.verifier.schemes import Privacy

if TYPE_CHECKING:
    from zenserve.circuits.lowering import Level

app = typer.Typer()
powers_app = typer.Typer(help="The first phase: powers of tau, snarkjs' .ptau files.", no_args_is_help=True)
app.add_typer(powers_app, name="powers")

THREADS = usable_cores()
_FOR_DEVELOPMENT: Final = (
    "For development: you alone drew these powers. snarkjs contributes to this file, and can never verify it."
)
_SECRECY: Final = (
    "Each contributor knew a share that changes all secrets. Whether it was kept secret, no file can show."
)


def _existing(metavar: str) -> object:
    return typer.Argument(metavar=metavar, exists=True, dir_okay=False)


StatementFile = Annotated[Path, _existing("STATEMENT")]
PowersFile = Annotated[Path, _existing("POWERS")]
StateFile = Annotated[Path, _existing("STATE")]
Out = Annotated[Path, typer.Argument(metavar="OUT", dir_okay=False, help="Write to this file.")]


@powers_app.command("new")
@answering
def new_powers(
    power: Annotated[int, typer.Argument(min=1, max=MAX_POWER, help="For statements of 2^POWER rows.")],
    output: Out,
) -> Answer:
    """Draw powers of tau alone. Keys made from them are for development only: `finish` refuses them without
    --development.

    OUT lists no contributions. snarkjs takes it and contributes to it, but `snarkjs powersoftau verify` then
    refuses the file: hold a ceremony of powers with snarkjs from its first file on.
    """
    with terminal.show_stages(err, "powers") as progress:
        powers = powers_of_tau.generate(power, threads=THREADS, progress=progress)
    write_ptau(output, powers)
    return said_written(output, f"[dim]{_FOR_DEVELOPMENT}[/]", power=powers.power)


@powers_app.command("verify")
@answering
def verify_powers(file: PowersFile) -> Answer:
    """Verify that all points in POWERS are powers of one secret, made by the contributors that it names.
    Exit code 0 if so, 1 if not.
    """
    powers, made = _read_powers(file), read_contributors(file)
    chain = [{"name": each.name, "hash": each.response.hex(), "beacon": each.is_beacon} for each in made]
    text = (
        f"[bold green]valid[/]  for statements of up to 2^{powers.power} rows",
        f"[dim]contributors, beacons not counted[/]  {powers.contributions}",
        *([f"[dim]{_SECRECY}[/]"] if chain else []),
        _listed(chain),
    )
    return Answer(_of_powers(powers) | {"power": powers.power, "contributions": chain}, text)


@app.command()
@answering
def statement(
    model: Annotated[Path, _existing("MODEL")],
    output: Out,
    key: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="A service's key, in whose place the ceremony's is to come. MODEL: its architecture.",
        ),
    ] = None,
    calibration: Annotated[Path | None, typer.Option(exists=True, help=f"Typical inputs: {FILES}")] = None,
    labels: LabelFile = None,
    label_column: LabelColumn = None,
    mean: Mean = None,
    std: Std = None,
    shape: Sizes = None,
    input_privacy: InputPrivacy = "private",
    weight_privacy: Annotated[
        Privacy,
        typer.Option(help="Whether the key gives the weights away, or proofs link to a commitment to them."),
    ] = "public",
    bits: Bits = 8,
    weight_bits: WeightBits = None,
    max_loss: MaxLoss = 1.0,
    range_: Ranges = None,
    level: Annotated[
        int,
        typer.Option(
            min=0,
            max=5,
            help="5 as the service's; 4 or less for plain Groth16, as snarkjs and contracts verify it.",
        ),
    ] = 5,
) -> Answer:
    """Write what proofs are to prove, for a ceremony. Public weights are in it, for all to read.

    With --key, what a service's proofs of any scheme prove. Else the labels, or the values where there are no
    classes, of an ONNX network with --calibration: quantised as the service does by the same options.
    """
    from zenserve.circuits import QuantGraph, compile_inference  # slow to import
    from zenserve.circuits.schemes.audit import audit, recompile, require_same
    from zenserve.service import intake
    from zenserve.service.submissions.requests import Precision
    from zenserve.verifier.documents import KeyFile, read
    from zenserve.verifier.groth16.system import groth16_key
    from zenserve.verifier.keys import opened

    if key is not None:
        with naming(key):
            described = read(KeyFile, key.read_bytes())
        circuit = recompile(QuantGraph.from_bytes(model.read_bytes()), described.circuit)
        require_same(audit(circuit, described.circuit, groth16_key(opened(described).verifying)))
    elif calibration is not None:
        sizes, reading = named.sizes(shape), Reading(label_column, mean, std)
        precision = Precision(
            bits=str(bits), weight_bits=weight_bits, max_loss=max_loss, ranges=named.ranges(range_)
        )
        quantised = intake.quantise(
            model.read_bytes(),
            reading.sent(calibration, "calibration", partial(taken_in, model, sizes)),
            precision.asked(weight_privacy),
            labels.read_bytes() if labels else b"",
            json.dumps(sizes).encode(),
        )
        circuit = compile_inference(
            QuantGraph.from_bytes(quantised),
            input_privacy=privacies(input_privacy),
            weight_privacy=weight_privacy,
            level=cast("Level", level),
        )
    else:
        raise RequestError("request.invalid", "give --key, or --calibration for an ONNX file", field="key")
    save_statement(output, circuit.constraint_system, circuit.describe())
    digest, power = circuit.constraint_system.digest.hex(), required_power(circuit.constraint_system)
    shown = {"digest": digest, "powers": f"2^{power} or more"}
    return said_written(output, terminal.table_of(shown), digest=digest, power=power)


@app.command()
@answering
def start(statement_file: StatementFile, powers_file: PowersFile, output: Out) -> Answer:
    """Start a ceremony for STATEMENT from POWERS."""
    statement = _read_statement(statement_file)
    powers = _read_powers(powers_file, required_power(statement))
    with terminal.show_stages(err, "starting") as progress:
        state = ceremony.start(statement, powers, threads=THREADS, progress=progress)
    state.save(output)
    return said_written(output, _shown(state), **_chain(state))


@app.command()
@answering
def contribute(
    state_file: StateFile,
    output: Out,
    name: Annotated[str, typer.Option(help="Who you are, for all to read.")],
) -> Answer:
    """Add your share of the secrets to STATE. Publish the hash that is printed."""
    state = _read_state(state_file)
    note_powers(state.powers_contributions)
    with terminal.show_stages(err, "contributing") as progress:
        state = ceremony.contribute(state, name, threads=THREADS, progress=progress)
    state.save(output)
    return said_written(output, _shown(state), **_chain(state))


@app.command()
@answering
def beacon(
    state_file: StateFile,
    output: Out,
    value: Annotated[str, typer.Option(help="32 public bytes in hex, which nobody knew before.")],
    rounds: Annotated[
        int, typer.Option(min=0, max=MOST_ROUNDS, help="Hash VALUE with SHA-256, 2^ROUNDS times.")
    ] = 10,
) -> Answer:
    """Close STATE with public randomness: everybody gets the same OUT, and nobody contributes after it."""
    try:
        drawn = Beacon(bytes.fromhex(value), rounds)
    except ValueError:
        raise RequestError("request.invalid", "the beacon's value must be hex", field="value") from None
    state = _read_state(state_file)
    note_powers(state.powers_contributions)
    with terminal.show_stages(err, "contributing") as progress:
        state = ceremony.add_beacon(state, drawn, threads=THREADS, progress=progress)
    state.save(output)
    return said_written(output, _shown(state), **_chain(state))


@app.command()
@answering
def verify(state_file: StateFile, statement_file: StatementFile, powers_file: PowersFile) -> Answer:
    """Verify all contributions in STATE. Exit code 0 if valid, 1 if not."""
    statement = _read_statement(statement_file)
    powers = _read_powers(powers_file, required_power(statement))
    try:
        state = _read_state(state_file)
        with terminal.show_stages(err, "verifying") as progress:
            ceremony.verify(state, statement, powers, threads=THREADS, progress=progress)
    except CeremonyError as error:
        raise _refused(error) from None
    text = (
        "[bold green]valid[/]  The key is what these contributions make of the statement.",
        f"[dim]contributors to the powers, beacons not counted[/]  {powers.contributions}",
        f"[dim]{_SECRECY}[/]",
        _shown(state),
    )
    return Answer(_of_powers(powers) | _chain(state), text)


@app.command()
@answering
def finish(
    state_file: StateFile,
    statement_file: StatementFile,
    powers_file: PowersFile,
    output: Out,
    development: Development = False,
) -> Answer:
    """Verify STATE and write the keys that it came to, the verification key as OUT.json.

    Exit code 1 if STATE is not valid, 2 if nobody contributed to POWERS and --development is not given.
    """
    statement, description = _read_statement(statement_file), load_description(statement_file)
    powers = _read_powers(powers_file, required_power(statement))
    ceremony.require_powers(powers.contributions, development=development)
    try:
        state = _read_state(state_file)
        with terminal.show_stages(err, "verifying") as progress:
            key = ceremony.finish(
                state, statement, powers, development=development, threads=THREADS, progress=progress
            )
    except CeremonyError as error:
        raise _refused(error) from None
    key.save(output)
    facts = {"setup": key.verifying_key.setup, "key": key.verifying_key.digest.hex()}
    if description is not None:
        from zenserve.verifier.groth16.system import Groth16Verifier  # slow to import
        from zenserve.verifier.keys import key_file

        file = key_file(Groth16Verifier(), key.verifying_key, description, state.transcript)
        output.with_name(f"{output.name}.json").write_text(file.model_dump_json(indent=2) + "\n")
        facts["id"] = file.id
    return said_written(output, terminal.table_of(facts), **facts)


def _read_statement(file: Path) -> ConstraintSystem:
    with naming(file):
        return load_statement(file)


def _read_state(file: Path) -> State:
    with naming(file):
        return State.load(file, threads=THREADS)


def _read_powers(file: Path, most: int = MAX_POWER) -> PowersOfTau:
    """Verified, and no more of them than for 2^most rows. Says so where nobody contributed to them."""
    try:
        with naming(file):
            note_powers(sum(not made.is_beacon for made in read_contributors(file)))
            with terminal.show_stages(err, "verifying powers"):
                return read_ptau(file, most=most, threads=THREADS)
    except CeremonyError as error:
        raise _refused(error) from None


def _refused(error: CeremonyError) -> RefusedError:
    return RefusedError(no_good(error, "valid", "NOT valid"))


def _chain(state: State) -> dict[str, Any]:
    """Return the ceremony's start, and each contribution with the hash that its contributor published."""
    _, hashes = state.chain
    each = enumerate(zip(state.contributions, hashes, strict=True))
    return {
        "start": state.origin.hex(),
        "contributors_to_powers": state.powers_contributions,
        "contributions": [
            {"name": made.name, "hash": hash_.hex(), "beacon": index >= state.people}
            for index, (made, hash_) in each
        ],
    }


def _of_powers(powers: PowersOfTau) -> dict[str, Any]:
    return {"valid": True, "contributors_to_powers": powers.contributions}


def _shown(state: State) -> str:
    chain = _chain(state)
    return f"{terminal.table_of({'start': chain['start']})}\n{_listed(chain['contributions'])}"


def _listed(contributions: list[dict[str, Any]]) -> str:
    """A numbered line for each, with the hash that is published, and the name."""
    lines = [
        f"{made['hash']}  {terminal.escape(made['name'])}{' (a beacon)' * made['beacon']}"
        for made in contributions
    ]
    return terminal.table_of({str(index): line for index, line in enumerate(lines, start=1)})
