"""``zenserve audit``: whether a verification key is for the circuit that its file describes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from base.processors import usable_cores
from service.cli import terminal
from service.cli.answers import Answer, RefusedError, answering, err, no_good
from zenerrors import CeremonyError, RequestError, StatementError, naming

if TYPE_CHECKING:  # slow to import
    from circuits import Circuit
    from prover.groth16 import VerifyingKey

_CLAIMS = """\
[bold yellow]claims[/]  The key {key} claims to be for this circuit, and its numbers fit.

That its points are of this circuit nobody can see: whoever made them alone can put others under its name.
"""
_FROM_CEREMONY = """\
It has contributions of a ceremony: give --state and --powers to make it again and compare every point.
"""
_ALONE = """\
It is no ceremony's key: take it from whom you trust.
"""
_IS = """\
[bold green]the same[/]  The key {key} is, point by point, what its ceremony made for this circuit.

One contributor to the powers and one to the second phase must have erased their shares: compare the hashes of
contributions with those that people you trust have published.
"""


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
    state: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Where the key's ceremony ended.")
    ] = None,
    powers: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="The ceremony's powers of tau, .ptau.")
    ] = None,
) -> Answer:
    """Compile KEY's circuit again, from NETWORK, and compare: exit code 1 if it is another.

    What the key says of itself is compared in any case. Its points are if --state and --powers are given.
    """
    from circuits import QuantGraph
    from circuits.schemes.audit import audit
    from verifier.documents import KeyFile, read
    from verifier.groth16.system import groth16_key
    from verifier.keys import opened

    if (state is None) != (powers is None):
        raise RequestError("request.invalid", "give --state and --powers together", field="state")
    with naming(key_file):
        described = read(KeyFile, key_file.read_bytes())
        key = groth16_key(opened(described).verifying)
    with naming(network):
        graph = QuantGraph.from_bytes(network.read_bytes())
    try:
        circuit = audit(graph, described.circuit, key)
        if state is not None and powers is not None:
            _audit_points(circuit, key, state, powers)
    except (StatementError, CeremonyError) as error:
        raise RefusedError(no_good(error, "same", "NOT the same")) from None
    words = _IS if state else _CLAIMS + (_FROM_CEREMONY if key.contributions else _ALONE)
    facts = {
        "scheme": circuit.scheme,
        "constraints": circuit.constraint_system.constraints,
        "network": circuit.network.hex(),
    }
    hashes = [hash_.hex() for hash_ in key.contributions]
    numbered = {f"contribution {index}": hash_ for index, hash_ in enumerate(hashes, start=1)}
    return Answer(
        {"same": True, "by_points": state is not None, "key": described.id, **facts, "contributions": hashes},
        (words.format(key=described.id), terminal.table_of(facts | numbered)),
    )


def _audit_points(circuit: Circuit, key: VerifyingKey, state_file: Path, powers_file: Path) -> None:
    from circuits.schemes.audit import audit_points
    from prover.groth16.ceremony import State
    from prover.groth16.ceremony.initial import required_power
    from prover.groth16.iden3.ptau import read_ptau

    threads = usable_cores()
    with terminal.show_stages(err, "making the key again") as progress:
        powers = read_ptau(powers_file, most=required_power(circuit.constraint_system), threads=threads)
        state = State.load(state_file, threads=threads)
        audit_points(circuit, key, state, powers, threads=threads, progress=progress)
