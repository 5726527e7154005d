"""``zenserve key``: the keys of proofs, and of receipts. API keys are ``zenserve keys``."""

from __future__ import annotations

import math
import shutil
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from zenserve.client.resources import Issuer
from zenserve.errors import FileFormatError, naming
from zenserve.service.cli import deployment, terminal
from zenserve.service.cli.answers import Answer, answering, written
from zenserve.service.cli.shared import Limit, Output, OutputFile, asking

if TYPE_CHECKING:  # each is slow to import, and needed by some commands only
    from zenserve.client import Client
    from zenserve.service.runtime import Runtime
    from zenserve.verifier.documents import KeyFile
    from zenserve.verifier.keys import OpenedKey

_OWN_CHALLENGES: Final = "the statement's own challenges"

app = typer.Typer(help="The keys of proofs, and those of receipts.", no_args_is_help=True)


@app.command("get")
@asking
def get_key(
    service: Client,
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="The key's id, its SHA-256.")],
    output: Output = None,
) -> Any:
    """Fetch a verification key, and the description of what it proves."""
    return written(service.get_verification_key(key_id), output)


@app.command("architecture")
@asking
def get_architecture(
    service: Client,
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="The key's id, its SHA-256.")],
    output: OutputFile,
) -> Any:
    """Fetch what the circuit of a key of committed weights is compiled from, for zenserve audit."""
    return written(service.get_architecture_of_key(key_id), output)


@app.command("circuit")
@asking
def get_circuit(
    service: Client,
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="The key's id, its SHA-256.")],
    output: OutputFile,
) -> Any:
    """Fetch the circuit of a key without a setup, for zenserve verify --circuit."""
    return written(service.get_circuit_of_key(key_id), output)


@app.command("show")
@answering
def show_key(
    key_file: Annotated[
        Path, typer.Argument(metavar="KEY", exists=True, dir_okay=False, help="The key's file.")
    ],
    network: Annotated[
        Path | None,
        typer.Argument(
            exists=True,
            dir_okay=False,
            help="The model's architecture, or its network if that is public: its circuit says what its own"
            " challenges can miss.",
        ),
    ] = None,
) -> Answer:
    """Show what a key's file says, and how sure its proofs are, term by term. Nothing is asked of a service.

    Whether it is the key of the circuit that it describes, zenserve audit tells.
    """
    from zenserve.verifier.documents import KeyFile, read
    from zenserve.verifier.keys import opened

    with naming(key_file):
        file = read(KeyFile, key_file.read_bytes())
        key = opened(file)
    errors = [*key.system.errors(key.verifying)]
    if network is not None:
        errors.append((_OWN_CHALLENGES, _missed(file, key, network)))
    described = file.circuit
    facts = {
        "id": file.id,
        "system": key.system.id,
        "setup": file.setup,
        "scheme": described["scheme"],
        "meaning": described["meaning"],
        "network": described["network"],
        "constraints": described["constraints"]["total"],
    }
    total = -math.log2(sum(2.0**-bits for _, bits in errors)) if errors else None
    document = facts | {
        "errors": [{"term": term, "bits": round(bits, 1)} for term, bits in errors],
        "bits": None if total is None else round(total, 1),
        "does_not_show": key.system.setups[file.setup],
    }
    lines = [f"  2^-{bits:.1f}  {term}" for term, bits in errors]
    told: tuple[str, ...] = ()
    if total is not None:
        beside = "" if network else f", but for {_OWN_CHALLENGES}: name the architecture"
        lines.append(f"  2^-{total:.1f}  in sum{beside}")
        told = ("", "[dim]What can pass, each with a probability of at most:[/]", *lines)
    left = ("", "[dim]What this does not show:[/]", f"  {document['does_not_show']}")
    return Answer(document, (terminal.table_of(facts), *told, *left))


def _missed(file: KeyFile, key: OpenedKey, network: Path) -> float:
    """-log2 of what random challenges of the key's circuit miss: its identities' degrees, in sum, over r.

    Raises ``FileFormatError`` (``file.statement``) where the network's circuit is another.
    """
    from zenserve.circuits import QuantGraph
    from zenserve.circuits.schemes.audit import recompile

    with naming(network):
        circuit = recompile(QuantGraph.from_bytes(network.read_bytes()), file.circuit)
        if circuit.constraint_system.digest != key.verifying.statement_digest:
            raise FileFormatError("file.statement", "the key is of another circuit than this network's")
    return circuit.program.soundness_bits


@app.command("issuers")
@asking
def list_issuers(service: Client, limit: Limit = 20) -> list[Issuer]:
    """List the keys that the service signs receipts with, or did."""
    return list(islice(service.issuers(), limit))


@app.command("install")
@answering
def install_key(
    proving_key: Annotated[
        Path,
        typer.Argument(
            metavar="KEY",
            exists=True,
            dir_okay=False,
            help="What `zenserve ceremony finish` wrote: KEY, and beside it KEY.json.",
        ),
    ],
) -> Answer:
    """Have the service prove with KEY from now on, in place of the one that it made for the same circuit.

    Proofs under the earlier key stay what they were. Whether KEY is what its ceremony made, `zenserve audit`
    tells: here it is taken on trust.
    """
    from zenserve.verifier.documents import KeyFile, read

    described = proving_key.with_name(f"{proving_key.name}.json")
    with naming(described):
        key = read(KeyFile, described.read_bytes())
    with deployment.opened() as runtime, naming(proving_key):
        _install(runtime, proving_key, key)
    facts = {"id": key.id, "setup": key.setup, "scheme": key.circuit["scheme"]}
    return Answer(facts, (terminal.table_of(facts),))


def _install(runtime: Runtime, file: Path, key: KeyFile) -> None:
    from zenserve.prover import registry
    from zenserve.service import keys
    from zenserve.verifier.keys import opened

    read = opened(key)
    if registry.find(read.system.id).load_key(file).verifying_key != read.verifying:
        raise FileFormatError("file.hash", "the proving key is not that of the verification key")
    circuit = keys.circuit_of(runtime, key)
    with runtime.store.scratch() as scratch:
        shutil.copyfile(file, scratch)
        size, stored = scratch.stat().st_size, runtime.store.adopt(scratch)
    with runtime.database.write() as session:
        keys.install(session, circuit, stored, size, key)
