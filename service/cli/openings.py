"""``zenserve openings``: how often commitments can still be opened, for operators (docs/operations.md)."""

from __future__ import annotations

from dataclasses import asdict

import typer

from zenserve.service.cli import deployment, terminal
from zenserve.service.cli.answers import Answer, answering

app = typer.Typer(
    help="Commitments that hold for a few proofs, after a backup was restored.", no_args_is_help=True
)


@app.command()
@answering
def show() -> Answer:
    """Say how many commitments there are whose openings are counted. Exit code 2 if the count is not known,
    because a backup was restored.
    """
    from zenserve.service import openings

    with deployment.opened() as runtime:
        facts = asdict(openings.counts(runtime))
    return Answer(facts, (terminal.table_of(facts),))


@app.command()
@answering
def retire() -> Answer:
    """After a backup was restored: have no commitment opened any more that is there now. Models of systems
    that count openings are to be registered anew, their inputs and datasets committed to anew.
    """
    from zenserve.service import openings

    with deployment.opened() as runtime:
        openings.retire(runtime)
        facts = asdict(openings.counts(runtime))
    return Answer(facts, (terminal.table_of(facts),))


@app.command()
@answering
def keep() -> Answer:
    """After the data directory was moved, and nothing goes on where it was: go on here. Of a backup this is
    wrong: what was opened since it was made would be opened once more, and so the values told.
    """
    from zenserve.service import openings

    with deployment.opened() as runtime:
        openings.keep(runtime)
        facts = asdict(openings.counts(runtime))
    return Answer(facts, (terminal.table_of(facts),))
