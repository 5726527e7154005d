"""``zenserve ceremonies``: those that a service holds. With files alone it is ``zenserve ceremony``."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from zenserve.base.processors import usable_cores
from zenserve.client.resources import Ceremony, CircuitFields, Contribution
from zenserve.errors import CeremonyError, RequestError, naming
from zenserve.service.cli import terminal
from zenserve.service.cli.answers import Answer, Development, err, note_powers, said_written
from zenserve.service.cli.by_name import named
from zenserve.service.cli.shared import Limit, ModelId, asking, deleted, finished
from zenserve.verifier.beacon import MOST_ROUNDS

if TYPE_CHECKING:
    from zenserve.client import Client

app = typer.Typer(help="Hold ceremonies at a service, and contribute to them.", no_args_is_help=True)

CeremonyId = Annotated[str, typer.Argument(metavar="CEREMONY", help="The ceremony's id, cer_…")]
Wait = Annotated[bool, typer.Option(help="Wait until it is done.")]
_NUMBERS: Final = ("top", "bounds", "batch", "shard_size")
_KEY_DIGITS: Final = 64


@app.command("open")
@asking
def open_ceremony(
    service: Client,
    model_id: ModelId,
    circuits: Annotated[
        list[str],
        typer.Option(
            "--circuit",
            help="What its proofs prove: registration, inference, inference:reveal=logits,"
            " inference:input_privacy=image=public, of one of several, accuracy:shard_size=100,measure=f1;"
            " or the id of a key that it has. Once for each.",
        ),
    ],
    name: Annotated[str, typer.Option(help="What to call it.")] = "unnamed",
    wait: Wait = True,
) -> Ceremony:
    """Open a ceremony for keys of MODEL's circuits."""
    opened = service.open_ceremony(model_id, [_circuit(each) for each in circuits], name=name)
    finished(opened, "opening", service.follow(opened), wait=wait)
    held = service.get_ceremony(opened.id)
    note_powers(held.contributors_to_powers)
    return held


@app.command("list")
@asking
def list_ceremonies(service: Client, limit: Limit = 20) -> list[Ceremony]:
    """List the ceremonies."""
    return list(islice(service.ceremonies(), limit))


@app.command("show")
@asking
def show_ceremony(service: Client, ceremony_id: CeremonyId) -> Ceremony:
    """Show a ceremony: its circuits, and who contributed."""
    return service.get_ceremony(ceremony_id)


@app.command("join")
@asking
def join_ceremony(
    service: Client,
    ceremony_id: CeremonyId,
    name: Annotated[str, typer.Option(help="Who you are, for all to read.")],
    wait: Wait = True,
) -> Contribution:
    """Contribute: fetch the states, add your share of the secrets to each, here, and hand them in.

    Publish the hashes that are shown.
    """
    from zenserve.prover.groth16 import ceremony
    from zenserve.prover.groth16.ceremony import State

    held, threads = service.get_ceremony(ceremony_id), usable_cores()
    note_powers(held.contributors_to_powers)
    extends, states = [circuit["state"] for circuit in held.circuits or []], []
    with TemporaryDirectory() as folder, terminal.show_stages(err, "contributing") as progress:
        for circuit, sha256 in zip(held.circuits or [], extends, strict=True):
            progress(f"fetching {circuit['scheme']}", 0.0)
            file = Path(folder, sha256)
            file.write_bytes(service.get_ceremony_file(ceremony_id, sha256))
            with naming(circuit["scheme"]):
                state = State.load(file, threads=threads)
                _require_start(state, circuit)
                ceremony.contribute(state, name, threads=threads, progress=progress).save(file)
            states.append(file.read_bytes())
    made = service.create_contribution(ceremony_id, extends, states)
    return finished(made, "verifying", service.follow(made), wait=wait)


@app.command("fetch")
@asking
def fetch_ceremony(
    service: Client,
    ceremony_id: CeremonyId,
    output: Annotated[Path, typer.Option("--output", "-o", file_okay=False, help="To this folder.")],
) -> Answer:
    """Fetch what `zenserve ceremony verify` and `finish` take: of each circuit N.state and N.stmt, and
    powers.ptau.
    """
    held = service.get_ceremony(ceremony_id)
    files = {"powers.ptau": held.powers}
    for index, circuit in enumerate(held.circuits or []):
        files |= {f"{index}.state": circuit["state"], f"{index}.stmt": circuit["statement"]}
    output.mkdir(parents=True, exist_ok=True)
    for name, sha256 in files.items():
        (output / name).write_bytes(service.get_ceremony_file(ceremony_id, sha256))
    return said_written(output, terminal.table_of(files), files=files)


@app.command("close")
@asking
def close_ceremony(
    service: Client,
    ceremony_id: CeremonyId,
    beacon: Annotated[
        str, typer.Option(help="Which public value will end it, in words: nobody may know it yet.")
    ],
    rounds: Annotated[int, typer.Option(min=0, max=MOST_ROUNDS, help="It is hashed 2^ROUNDS times.")] = 10,
) -> Ceremony:
    """Announce the public randomness that ends a ceremony, and take no more contributions."""
    note_powers(service.get_ceremony(ceremony_id).contributors_to_powers)
    return service.close_ceremony(ceremony_id, beacon, rounds=rounds)


@app.command("finish")
@asking
def finish_ceremony(
    service: Client,
    ceremony_id: CeremonyId,
    value: Annotated[str, typer.Option(help="The value that was announced, 32 bytes in hex.")],
    development: Development = False,
    wait: Wait = True,
) -> Contribution:
    """Give the value that was announced, and have proofs made with the ceremony's keys from now on."""
    note_powers(service.get_ceremony(ceremony_id).contributors_to_powers)
    made = service.finish_ceremony(ceremony_id, value, development=development)
    return finished(made, "finishing", service.follow(made), wait=wait)


@app.command("cancel")
@asking
def cancel(
    service: Client,
    job_id: Annotated[str, typer.Argument(metavar="ID", help="A ceremony, cer_…, or a contribution, ctb_…")],
) -> Any:
    """Stop the opening of a ceremony, or take back a contribution that is not verified yet."""
    is_contribution = job_id.startswith("ctb_")
    return (service.cancel_contribution if is_contribution else service.cancel_ceremony)(job_id)


@app.command("delete")
@asking
def delete_ceremony(service: Client, ceremony_id: CeremonyId) -> Answer:
    """Forget a ceremony. Keys that it made stay."""
    service.delete_ceremony(ceremony_id)
    return deleted(ceremony_id)


def _circuit(text: str) -> CircuitFields:
    """``SCHEME``, ``SCHEME:NAME=VALUE,…`` or a key's id; what is by inputs' or outputs' names
    ``NAME=INPUT=VALUE`` of each. What they may be, the service says."""
    if len(text) == _KEY_DIGITS:
        return {"verification_key_id": text}
    scheme, _, rest = text.partition(":")
    given: dict[str, list[str]] = {}
    for part in filter(None, rest.split(",")):
        name, equals, value = part.partition("=")
        if not equals or (name in _NUMBERS and not value.isdecimal()):
            raise RequestError("request.invalid", f"{part} is no NAME=VALUE of a circuit", field="circuits")
        given.setdefault(name, []).append(value)
    fields: dict[str, Any] = {"scheme": scheme}
    for name, values in given.items():
        text = ",".join(values)
        fields[name] = int(text) if name in _NUMBERS else named(name, text) if "=" in text else text
    if fields.get("fold_inputs") == "true":
        fields["fold_inputs"] = True
    return fields  # type: ignore[return-value]


def _require_start(state: Any, circuit: dict[str, Any]) -> None:
    """Check that the received state starts from the key that the ceremony publishes for this circuit.

    Raises ``CeremonyError`` (``ceremony.origin``).
    """
    if state.origin.hex() != circuit["start"]:
        raise CeremonyError(
            "ceremony.origin", "the state did not start where the ceremony says it did", field="start"
        )
