"""``zenserve basis``: what all commitments of a service are over."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from service.cli import terminal

if TYPE_CHECKING:
    from prover import CommitmentBasis

app = typer.Typer(help="The points that all commitments are over.", no_args_is_help=True)
out, err = Console(), Console(stderr=True)

_PTAU_MAGIC = b"ptau"


@app.command("import")
def import_file(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, help="Powers of tau (.ptau), or a basis of ZenServe."
        ),
    ],
) -> None:
    """Give the service the basis in FILE, before anything is committed: afterwards it cannot change.

    Powers of tau are verified, which takes a while. A basis of ZenServe is taken on trust.
    """
    from service import basis as bases
    from service.runtime import Runtime
    from service.settings import Settings

    runtime = Runtime.open(Settings.read())
    try:
        basis = _read(file)
        bases.import_basis(runtime, basis)
        _show(basis)
    finally:
        runtime.close()


@app.command()
def show() -> None:
    """Say which basis the service has. Exit code 1 if there is none yet."""
    from service import basis as bases
    from service.runtime import Runtime
    from service.settings import Settings

    runtime = Runtime.open(Settings.read())
    try:
        if bases.find_basis(runtime) is None:
            out.print("There is no basis yet: the first commitment makes one, for development.")
            raise typer.Exit(terminal.REFUSED)
        _show(bases.load_basis(runtime))
    finally:
        runtime.close()


def _read(file: Path) -> CommitmentBasis:
    from prover import CommitmentBasis
    from prover.iden3.ptau import read_ptau

    with file.open("rb") as opened:
        is_ptau = opened.read(len(_PTAU_MAGIC)) == _PTAU_MAGIC
    if not is_ptau:
        return CommitmentBasis.load(file)
    powers = read_ptau(file)
    with terminal.show_stages(err, "verifying") as progress:
        powers.verify(threads=os.cpu_count() or 1, progress=progress)
    return CommitmentBasis.of(powers)


def _show(basis: CommitmentBasis) -> None:
    out.print(f"[dim]points[/]    {len(basis.points)}", highlight=False)
    out.print(f"[dim]identity[/]  {basis.identity.hex()}", highlight=False, soft_wrap=True)
