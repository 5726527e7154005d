"""``zenserve models``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from service.cli.shared import (
    Json,
    Limit,
    ModelId,
    Name,
    OfState,
    Output,
    asking,
    exit_unless_good,
    finish,
    say_written,
    show,
    show_list,
    write,
)

if TYPE_CHECKING:
    from client import Client

app = typer.Typer(help="Register networks and look at them.", no_args_is_help=True)


@app.command("add")
@asking
def add_model(
    service: Client,
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False)],
    calibration: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help="Typical inputs: .npy, or a JSON array.")
    ],
    name: Name = None,
    weight_privacy: Annotated[
        Literal["public", "committed"], typer.Option(help="Whether all may see the weights, or none.")
    ] = "public",
    bits: Annotated[int, typer.Option(min=2, max=8, help="Precision of the quantised network.")] = 8,
    parent: Annotated[str | None, typer.Option(help="The model that this is a new version of.")] = None,
    wait: Annotated[bool, typer.Option(help="Wait until it is registered.")] = True,
) -> None:
    """Register the network in an ONNX FILE: commit to it, if its weights are hidden, and make its keys."""
    model = service.create_model(
        file.read_bytes(),
        calibration.read_bytes(),
        name=name or file.stem,
        weight_privacy=weight_privacy,
        bits=bits,
        parent_id=parent,
    )
    model = finish(model, "registering", service.follow(model), wait=wait)
    exit_unless_good(model.state)


@app.command("list")
@asking
def list_models(service: Client, state: OfState = None, limit: Limit = 20, as_json: Json = False) -> None:
    """List your models."""
    chosen: Any = state
    show_list(service.models(state=chosen), limit, as_json=as_json)


@app.command("show")
@asking
def show_model(service: Client, model_id: ModelId, as_json: Json = False) -> None:
    """Show a model."""
    show(service.get_model(model_id), as_json=as_json)


@app.command("cancel")
@asking
def cancel_model(service: Client, model_id: ModelId) -> None:
    """Stop the registration of a model."""
    show(service.cancel_model(model_id))


@app.command("retry")
@asking
def retry_model(service: Client, model_id: ModelId) -> None:
    """Take up again a registration that failed."""
    show(service.retry_model(model_id))


@app.command("delete")
@asking
def delete_model(service: Client, model_id: ModelId) -> None:
    """Forget a network. Proofs of it that are done stay valid."""
    service.delete_model(model_id)


@app.command("receipt")
@asking
def get_receipt(service: Client, model_id: ModelId, output: Output = None) -> None:
    """Fetch the signed receipt of a model's registration."""
    write(service.get_receipt(model_id), output)


@app.command("registration")
@asking
def get_registration(service: Client, model_id: ModelId, output: Output = None) -> None:
    """Fetch the proof of a model's registration: what it commits to is a network of its architecture."""
    write(service.get_registration(model_id), output)


@app.command("architecture")
@asking
def get_architecture(
    service: Client,
    model_id: ModelId,
    output: Annotated[Path, typer.Option("--output", "-o", help="Write to this file.")],
) -> None:
    """Fetch what a model's circuits are compiled from, for zenserve audit: committed weights are blanked."""
    output.write_bytes(service.get_architecture(model_id))
    say_written(output)
