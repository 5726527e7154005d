"""``zenserve export``, and ``zenserve proofs calldata``: contracts that verify, and what is sent to them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from zenserve.errors import naming
from zenserve.service.cli.answers import Answer, answering, written
from zenserve.service.cli.shared import Output

app = typer.Typer(help="Write keys in the forms that other programs verify with.", no_args_is_help=True)

_FILE: Final = {"exists": True, "dir_okay": False}


@app.command("solidity")
@answering
def export_solidity(
    key_file: Annotated[Path, typer.Argument(metavar="KEY", help="The verification key's file.", **_FILE)],
    output: Output = None,
) -> Any:
    """Write the contract that verifies proofs under KEY on Ethereum. No service is asked."""
    from zenserve.verifier.documents import KeyFile, read
    from zenserve.verifier.onchain.described import contract

    with naming(key_file):
        source = contract(read(KeyFile, key_file.read_bytes()))
    return written(source.encode(), output) if output else Answer({"source": source}, (source,))


@answering
def show_calldata(
    proof_file: Annotated[Path, typer.Argument(metavar="PROOF", help="The proof's file.", **_FILE)],
    key_file: Annotated[Path, typer.Option("--key", help="The verification key's file.", **_FILE)],
    *,
    log: Annotated[
        bool, typer.Option("--log", help="Call verifyAndLog, which reverts where the proof is not valid.")
    ] = False,
) -> Answer:
    """Print the call of the key's contract that verifies PROOF, and what gas it takes.

    A proof of several shards is one call for each.
    """
    from zenserve.verifier.documents import KeyFile, ProofDocument, read
    from zenserve.verifier.onchain.calldata import LOGGING_SELECTOR, SELECTOR, calls

    with naming(key_file):
        key = read(KeyFile, key_file.read_bytes())
    with naming(proof_file):
        made = calls(read(ProofDocument, proof_file.read_bytes()), key, LOGGING_SELECTOR if log else SELECTOR)
    return Answer({"calls": [call._asdict() for call in made]}, tuple(call.calldata for call in made))
