"""``zenserve secret``: the secret that everything at rest is sealed with, for operators."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict

import typer

from zenserve.service.cli import deployment
from zenserve.service.cli.answers import Answer, RefusedError, answering

app = typer.Typer(help="Rotate the secret that everything is sealed with.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """A group, though it has one command."""


@app.command("rotate")
@answering
def rotate() -> Answer:
    """Seal what ZENSERVE_PREVIOUS_SECRET_KEYS sealed with ZENSERVE_SECRET_KEY; where the data directory has
    the secret, and the service is stopped, with a fresh one.

    Interrupted, start it again: what is done is passed over. Exit code 1 if no secret opens something.
    """
    from zenserve.service import rotation, serve

    with deployment.opened() as runtime:
        settings = runtime.settings
        with nullcontext() if settings.secret_key else serve.only_one(settings.data_dir):
            outcome = rotation.rotate(runtime)
    text = [f"{outcome.resealed} sealed anew, {outcome.present} were already"]
    text += [f"no secret opens {place}" for place in outcome.lost]
    answer = Answer(asdict(outcome), tuple(text))
    if outcome.lost:
        raise RefusedError(answer)
    return answer
