"""``zenserve basis``: what the commitments of a service are over."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zenserve.base.processors import usable_cores
from zenserve.errors import naming
from zenserve.service.cli import deployment, terminal
from zenserve.service.cli.answers import Answer, RefusedError, answering, err, note_powers

if TYPE_CHECKING:
    from zenserve.prover.system import CommitmentKey

app = typer.Typer(help="The points that commitments are over.", no_args_is_help=True)

_PTAU_MAGIC = b"ptau"
_NONE = "There is no basis yet: the first commitment makes one, for development."


@app.command("import")
@answering
def import_file(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, help="Powers of tau (.ptau), or a basis of ZenServe."
        ),
    ],
) -> Answer:
    """Give the service the basis in FILE: its first, before anything is committed, or one that is larger than
    all it has, for networks that do not fit these. It makes none itself from then on.

    Powers of tau are verified, which takes a while, and kept, so that ceremonies can start from them; give
    those again that the basis came from, if they are not. A basis of ZenServe is taken on trust.
    """
    from zenserve.prover.groth16 import CommitmentKey
    from zenserve.prover.groth16.iden3.ptau import read_ptau
    from zenserve.service import powers as powers_of_tau

    with deployment.opened() as runtime, naming(file):
        if not _is_ptau(file):
            basis = CommitmentKey.load(file)
            powers_of_tau.import_basis(runtime, basis)
        else:
            with terminal.show_stages(err, "verifying"):
                powers = read_ptau(file, threads=usable_cores())
            note_powers(powers.contributions)
            basis = powers_of_tau.import_powers(runtime, file, powers)
        facts = _facts(basis)
    return Answer(facts, (terminal.table_of(facts),))


@app.command()
@answering
def show() -> Answer:
    """Say which bases the service has, the smallest first. Exit code 1 if there is none yet."""
    from zenserve.prover import registry
    from zenserve.prover.groth16.system import Groth16
    from zenserve.service import basis as bases

    with deployment.opened() as runtime:
        found = [_facts(basis) for basis in bases.load_bases(runtime, registry.find(Groth16.id))]
    if not found:
        raise RefusedError(Answer(None, (_NONE,)))
    return Answer(found, tuple(map(terminal.table_of, found)))


def _is_ptau(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_PTAU_MAGIC)) == _PTAU_MAGIC


def _facts(basis: CommitmentKey) -> dict[str, object]:
    return {"points": basis.length, "identity": basis.identity.hex()}
