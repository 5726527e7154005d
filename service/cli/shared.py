"""Shared code of commands that call a service."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from zenserve import client
from zenserve.service.cli import terminal
from zenserve.service.cli.answers import Answer, RefusedError, answering, err, with_options

if TYPE_CHECKING:
    from zenserve.client import Client
    from zenserve.client.resources import JobKind

P = ParamSpec("P")

HERE = "http://127.0.0.1:8000"
PATIENCE_SECONDS = 3.0
"""Somebody is looking at the screen: a service that is not there is soon said to be so."""

Url = Annotated[
    str, typer.Option(envvar="ZENSERVE_URL", rich_help_panel="Service", help="Address of the service.")
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        envvar="ZENSERVE_API_KEY",
        rich_help_panel="Service",
        help="API key. Prefer ZENSERVE_API_KEY: command lines are visible to other processes.",
    ),
]


def in_a_folder(file: Path | None) -> Path | None:
    """Of an option for a file to write: found out before what is to be written is made."""
    if file is not None and not file.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {file.parent}")
    return file


_OUTPUT = typer.Option("--output", "-o", callback=in_a_folder, dir_okay=False, help="Write to this file.")
Output = Annotated[Path | None, _OUTPUT]
OutputFile = Annotated[Path, _OUTPUT]
Name = Annotated[str | None, typer.Option(help="What to call it.", show_default="the file's name")]
ModelId = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="Id of the model, mdl_…, or its name: credit, credit@2, credit@latest."
    ),
]
OfState = Annotated[
    str | None,
    typer.Option("--state", help="List one state only: queued, running, succeeded, failed or canceled."),
]
OfModel = Annotated[
    str | None,
    typer.Option("--model", help="List only what belongs to this model: mdl_…, NAME or NAME@VERSION."),
]
OfName = Annotated[str | None, typer.Option("--name", help="List only what has this name.")]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="NAME=VALUE",
        rich_help_panel="Job",
        help="Attach a label for filtering (repeatable).",
    ),
]
OfLabels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="NAME=VALUE", help="List only what has this label (repeatable)."),
]
Limit = Annotated[int, typer.Option(min=1, help="List at most so many, the newest first.")]


def asking(command: Callable[Concatenate[Client, P], Any]) -> Callable[..., None]:
    """A command that takes a client: it is given one of the service at ``--url``, with ``--api-key``."""

    def run(*, url: str, api_key: str | None, **given: Any) -> Any:
        with client.Client(url, api_key=api_key, retry_seconds=PATIENCE_SECONDS) as service:
            return command(service, **given)  # type: ignore[call-arg]

    return answering(with_options(run, command, {"url": (Url, HERE), "api_key": (ApiKey, None)}, given=1))


def complain(text: str) -> None:
    err.print(f"[red]error[/] {terminal.escape(text)}", highlight=False, soft_wrap=True)


def deleted(id_: str) -> Answer:
    return Answer({"id": id_, "deleted": True}, (f"[dim]deleted[/]  {terminal.escape(id_)}",))


def finished(job: JobKind, doing: str, changes: Iterator[JobKind], *, wait: bool) -> JobKind:
    """The job once it is over, its progress shown meanwhile; as it is, if nobody waits. Raises
    ``RefusedError`` for one that came to nothing.
    """
    if wait:
        with _going_on(job.id):
            job = terminal.show_progress(err, doing, changes)
    if job.state in ("failed", "canceled"):
        raise RefusedError(job)
    return job


@contextmanager
def _going_on(job_id: str) -> Iterator[None]:
    """Tell whoever stops waiting that the work has not stopped."""
    try:
        yield
    except KeyboardInterrupt:
        kinds = {
            "mdl": "models",
            "dst": "datasets",
            "str": "streams",
            "cer": "ceremonies",
            "ctb": "ceremonies",
        }
        kind = kinds.get(job_id[:3], "proofs")
        err.print(f"\n{job_id} goes on without you; zenserve {kind} cancel {job_id} stops it")
        sys.exit(130)
