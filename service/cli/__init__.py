"""The ``zenserve`` command: one module per resource, and here where they and others' commands are mounted.

Commands import what is slow to load where they need it, so that each starts as fast as it can.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from zenserve.client.errors import ClientError
from zenserve.client.resources import Principal
from zenserve.errors import ZenError, in_words
from zenserve.service.cli import (
    audit,
    backup,
    banks,
    compile,  # noqa: A004
    datasets,
    doctor,
    importing,
    key,
    models,
    onchain,
    proofs,
    robustness,
    serving,
    streams,
    tables,
    webhooks,
)
from zenserve.service.cli.shared import asking, complain
from zenserve.service.cli.terminal import TROUBLE

if TYPE_CHECKING:
    from zenserve.client import Client

app = typer.Typer(
    help="Prove, in zero knowledge, what a neural network computed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line: 0 done, 1 a proof or job that is no good, 2 anything else."""
    try:
        app()
    except (ZenError, ClientError, OSError) as error:
        complain(_said(error))
        sys.exit(TROUBLE)
    except KeyboardInterrupt:
        sys.exit(130)


def _said(error: Exception) -> str:
    """In words, which name the field at fault once: as what was typed for it, where that is known."""
    field, text = getattr(error, "field", None), in_words(error)
    return text.replace(f": {field}: ", ": ", 1) if getattr(error, "__notes__", ()) else text


def _say_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # slow, and of use here only

        print(f"zenserve {version('zenserve')}")
        raise typer.Exit


@app.callback()
def options_of_all(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_say_version, help="Say which version it is.")
    ] = False,
) -> None:
    """Options that stand before any command."""


@asking
def whoami(service: Client) -> Principal:
    """Show whose key you have, and what it may do."""
    return service.whoami()


def verify(context: typer.Context) -> None:
    """Verify a proof or a receipt, here and now: no service is asked. Exit code 0 if valid, 1 if not."""
    from zenserve.verifier import command

    raise typer.Exit(command.main(context.args, prog="zenserve verify"))


def _later(module: str, attribute: str) -> type[TyperGroup]:
    """A group whose commands, and all that they import, are loaded when one of them is asked for."""

    class Later(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return self._loaded().list_commands(ctx)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            return self._loaded().get_command(ctx, cmd_name)

        def _loaded(self) -> TyperGroup:
            return typer.main.get_group(getattr(import_module(module), attribute))

    return Later


for name, command in (
    ("prove", proofs.prove),
    ("commit", proofs.commit),
    ("cancel", proofs.cancel),
    ("whoami", whoami),
    ("import", importing.import_model),
    ("compile", compile.compile_network),
    ("audit", audit.audit_key),
    ("tables", tables.make_tables),
    ("robustness", robustness.show_robustness),
    ("serve", serving.serve),
    ("token", serving.print_token),
    ("api", serving.serve_api),
    ("worker", serving.serve_worker),
    ("beat", serving.serve_beat),
    ("migrate", serving.migrate),
    ("doctor", doctor.doctor),
    ("backup", backup.backup),
    ("restore", backup.restore),
):
    app.command(name)(command)
app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True}, add_help_option=False
)(verify)

for name, room in (
    ("models", models.app),
    ("datasets", datasets.app),
    ("proofs", proofs.app),
    ("banks", banks.app),
    ("streams", streams.app),
    ("webhooks", webhooks.app),
    ("key", key.app),
    ("export", onchain.app),
):
    app.add_typer(room, name=name)
app.add_typer(proofs.app, name="proof", hidden=True)
proofs.app.command("calldata")(onchain.show_calldata)

for name, module, attribute, help_ in (
    (
        "ceremony",
        "zenserve.service.cli.ceremony",
        "app",
        "Make keys together, file by file: nobody can forge proofs.",
    ),
    (
        "ceremonies",
        "zenserve.service.cli.ceremonies",
        "app",
        "Hold ceremonies at a service, and contribute to them.",
    ),
    ("basis", "zenserve.service.cli.basis", "app", "The points that commitments are over."),
    ("secret", "zenserve.service.cli.secret", "app", "Rotate the secret that everything is sealed with."),
    ("openings", "zenserve.service.cli.openings", "app", "What is counted of commitments, after a restore."),
    ("tenants", "zenserve.service.cli.accounts", "tenants", "Add tenants and set their limits."),
    ("keys", "zenserve.service.cli.accounts", "keys", "Make and revoke API keys."),
):
    app.add_typer(typer.Typer(cls=_later(module, attribute), help=help_, no_args_is_help=True), name=name)
