"""``zenserve audit``: whether a verification key is for the circuit that its file describes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


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
) -> None:
    """Compile KEY's circuit again, from NETWORK, and compare: exit code 0 if it is the same, 2 if not.

    A key is points on a curve: without this, what it means is the word of whoever hands it out.
    """
    from circuits import QuantGraph
    from circuits.audit import audit
    from client.documents import KeyFile, read
    from client.keys import opened

    described = read(KeyFile, key_file.read_bytes())
    key = opened(described).verifying
    circuit = audit(QuantGraph.from_bytes(network.read_bytes()), described.circuit, key.statement_digest)
    print(
        f"The key {described.id} is for the {circuit.scheme} circuit of this network:"
        f" {circuit.statement.constraints:,} constraints, network {circuit.network.hex()}."
    )
