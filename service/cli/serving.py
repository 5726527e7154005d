"""The commands that run the service itself."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from zenserve.client.errors import ClientError
from zenserve.service.cli.answers import Answer, answering, err
from zenserve.service.cli.shared import HERE, Url


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", show_default="8000")] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Database, keys and artifacts.", show_default="zenserve-data")
    ] = None,
) -> None:
    """Run the service, for yourself: the API and a worker. Ctrl-C stops both."""
    from zenserve.service.serve import serve as serve_forever
    from zenserve.service.settings import Settings

    settings = Settings.read(host=host, port=port, data_dir=data_dir)
    serve_forever(settings, partial(_announce, settings.url))


def _announce(url: str, token: str | None) -> None:
    """Print the addresses of the service and of the dashboard.

    The token is shown on a terminal alone: other output may be a file that others read.
    """
    err.print(f"[bold]ZenServe[/] on {url}  (try /docs; Ctrl-C stops)")
    if token is None:
        err.print(f"Dashboard: {url}/admin", highlight=False)
    elif err.is_terminal:
        err.print(f"Dashboard: {url}/admin/login?token={token}", highlight=False, soft_wrap=True)
    else:
        err.print(f"Dashboard: {url}/admin, with what `zenserve token` prints", highlight=False)


@answering
def print_token(url: Url = HERE) -> Answer:
    """Print the token of your `zenserve serve`, for curl: -H "Authorization: Bearer $(zenserve token)"."""
    import httpx

    from zenserve.client import local

    token = local.token_of(httpx.URL(url))
    if token is None:
        raise ClientError(f"no `zenserve serve` of yours runs at {url}")
    return Answer({"url": url, "token": token}, (token,))


def serve_api(
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", show_default="8000")] = None,
    processes: Annotated[int | None, typer.Option(help="How many of it.", show_default="1")] = None,
) -> None:
    """Run the API alone, beside workers and a scheduler of their own. Settings: docs/operations.md."""
    from zenserve.service import serve
    from zenserve.service.settings import Settings

    serve.serve_api(Settings.read(host=host, port=port, processes=processes))


def serve_worker(
    queues: Annotated[
        str | None, typer.Option(help="Which queues to take from: cpu, gpu or both.", show_default="cpu,gpu")
    ] = None,
) -> None:
    """Run a worker alone."""
    from zenserve.service import serve
    from zenserve.service.settings import Settings

    serve.serve_worker(Settings.read(queues=queues))


def serve_beat() -> None:
    """Run what has to be done again and again: take jobs back from dead workers, delete what is old."""
    from zenserve.service import serve
    from zenserve.service.settings import Settings

    serve.serve_beat(Settings.read())


@answering
def migrate(revision: Annotated[str, typer.Argument(help="The schema's revision.")] = "head") -> Answer:
    """Bring the database's schema to this version's, or back to an older one's."""
    from zenserve.service.runtime import Runtime
    from zenserve.service.settings import Settings
    from zenserve.service.storage import private, schema

    private.close_to_others()
    with closing(Runtime.open(Settings.read())) as runtime:
        schema.migrate(runtime.database, revision)
        reached = schema.revision_of(runtime.database)
    return Answer({"revision": reached}, (f"the schema is at {reached}",))
