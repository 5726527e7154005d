"""What commands that ask a service have in common."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import wraps
from inspect import Parameter, signature
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, get_type_hints

import typer
from rich.console import Console

import client
from service.cli import terminal
from service.cli.terminal import REFUSED, TROUBLE

if TYPE_CHECKING:
    from client import Client
    from client.resources import JobKind

P = ParamSpec("P")

out, err = Console(), Console(stderr=True)

HERE = "http://127.0.0.1:8000"
PATIENCE_SECONDS = 3.0
"""Somebody is looking at the screen: a service that is not there is soon said to be so."""

Url = Annotated[str, typer.Option(envvar="ZENSERVE_URL", help="Where the service is.")]
ApiKey = Annotated[
    str | None,
    typer.Option(
        envvar="ZENSERVE_API_KEY",
        help="What the service knows you by. Better in the variable: others on this host see options.",
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]
InputFile = Annotated[
    Path, typer.Argument(metavar="INPUT", exists=True, dir_okay=False, help="One input: .npy or JSON.")
]
Name = Annotated[str | None, typer.Option(help="What to call it.", show_default="the file's name")]
ModelId = Annotated[str, typer.Argument(metavar="MODEL", help="The model's id, mdl_…")]
OfState = Annotated[
    str | None,
    typer.Option("--state", help="Only these: queued, running, succeeded, failed, canceled."),
]
OfModel = Annotated[str | None, typer.Option("--model", help="Only those of this model, mdl_…")]
Limit = Annotated[int, typer.Option(min=1, help="How many, the newest first.")]


def asking(command: Callable[Concatenate[Client, P], None]) -> Callable[..., None]:
    """A command that takes a client: it is given one of the service at ``--url``, with ``--api-key``."""
    hints = get_type_hints(command, localns={"Client": object}, include_extras=True)
    _, *own = signature(command).parameters.values()
    shared = {"url": (Url, HERE), "api_key": (ApiKey, None)}
    options = [each.replace(annotation=hints[each.name], kind=Parameter.KEYWORD_ONLY) for each in own] + [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in shared.items()
    ]

    @wraps(command)
    def run(*args: Any, url: str, api_key: str | None, **given: Any) -> None:
        with client.Client(url, api_key=api_key, retry_seconds=PATIENCE_SECONDS) as service:
            command(service, *args, **given)

    run.__annotations__ = {each.name: each.annotation for each in options} | {"return": None}
    run.__signature__ = signature(run).replace(parameters=options)  # type: ignore[attr-defined]
    return run


def numbers(file: Path) -> Any:
    try:
        if file.suffix == ".npy":
            import numpy as np

            return np.load(file, allow_pickle=False).tolist()
        return json.loads(file.read_bytes())
    except ValueError:
        complain(f"{file} is neither a .npy file nor JSON")
        raise typer.Exit(TROUBLE) from None


def complain(text: str) -> None:
    err.print(f"[red]error[/] {terminal.escape(text)}", highlight=False, soft_wrap=True)


def write(document: Any, output: Path | None = None) -> None:
    """As JSON, to the file or to standard output."""
    text = json.dumps(document, indent=2, default=datetime.isoformat)
    if output is None:
        print(text)
    else:
        output.write_text(text + "\n")
        say_written(output)


def say_written(output: Path) -> None:
    err.print(f"[dim]written to[/] {terminal.escape(str(output))}", highlight=False, soft_wrap=True)


def show(thing: Any, *, as_json: bool = False) -> None:
    """A resource, as a person reads it or as JSON."""
    if as_json:
        write(vars(thing))
    else:
        terminal.print_resource(out, thing)


def show_list(things: Iterable[Any], limit: int, *, as_json: bool = False) -> None:
    """The first of them. No more pages are asked for than these are on."""
    shown = list(islice(things, limit))
    if as_json:
        write([vars(thing) for thing in shown])
    else:
        terminal.print_list(out, shown)


def finish(job: JobKind, doing: str, changes: Iterator[JobKind], *, wait: bool) -> JobKind:
    """The job once it is over, its progress shown meanwhile; as it is, if nobody waits. Then it is shown."""
    if wait:
        with _going_on(job.id):
            job = terminal.show_progress(err, doing, changes)
    show(job)
    return job


def exit_unless_good(state: str) -> None:
    if state in ("failed", "canceled"):
        raise typer.Exit(REFUSED)


@contextmanager
def _going_on(job_id: str) -> Iterator[None]:
    """Tell whoever stops waiting that the work has not stopped."""
    try:
        yield
    except KeyboardInterrupt:
        kind = {"mdl": "models", "dst": "datasets"}.get(job_id[:3], "proofs")
        err.print(f"\n{job_id} goes on without you; zenserve {kind} cancel {job_id} stops it")
        sys.exit(130)
