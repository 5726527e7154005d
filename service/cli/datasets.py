"""``zenserve datasets``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from service.cli.shared import (
    Json,
    Limit,
    ModelId,
    Name,
    OfModel,
    OfState,
    asking,
    exit_unless_good,
    finish,
    show,
    show_list,
    write,
)

if TYPE_CHECKING:
    from client import Client

app = typer.Typer(help="Add labelled samples to prove accuracy on.", no_args_is_help=True)

DatasetId = Annotated[str, typer.Argument(metavar="DATASET", help="The dataset's id, dst_…")]


@app.command("add")
@asking
def add_dataset(
    service: Client,
    model_id: ModelId,
    samples: Annotated[
        Path, typer.Argument(metavar="SAMPLES", exists=True, dir_okay=False, help=".npy, or a JSON array.")
    ],
    labels: Annotated[
        Path, typer.Argument(metavar="LABELS", exists=True, dir_okay=False, help="One class for each.")
    ],
    privacy: Annotated[
        Literal["public", "private"], typer.Option(help="Whether proofs name it by its content's hash.")
    ],
    name: Name = None,
    shard_size: Annotated[
        int | None,
        typer.Option(min=1, help="Samples in one proof.", show_default="what fits the service's memory"),
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait until it is committed.")] = True,
) -> None:
    """Add labelled samples for MODEL, which has to be registered first."""
    dataset = service.create_dataset(
        model_id,
        samples.read_bytes(),
        labels.read_bytes(),
        privacy=privacy,
        name=name or samples.stem,
        shard_size=shard_size,
    )
    dataset = finish(dataset, "committing", service.follow(dataset), wait=wait)
    exit_unless_good(dataset.state)


@app.command("list")
@asking
def list_datasets(
    service: Client,
    state: OfState = None,
    model: OfModel = None,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """List your datasets."""
    chosen: Any = state
    show_list(service.datasets(state=chosen, model_id=model), limit, as_json=as_json)


@app.command("show")
@asking
def show_dataset(
    service: Client,
    dataset_id: DatasetId,
    opening: Annotated[
        Path | None, typer.Option(help="Write to this file what opens its commitments. As secret as it is.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a dataset."""
    dataset = service.get_dataset(dataset_id)
    if opening:
        write(service.get_dataset_opening(dataset_id), opening)
    show(dataset, as_json=as_json)


@app.command("cancel")
@asking
def cancel_dataset(service: Client, dataset_id: DatasetId) -> None:
    """Stop committing to a dataset."""
    show(service.cancel_dataset(dataset_id))


@app.command("retry")
@asking
def retry_dataset(service: Client, dataset_id: DatasetId) -> None:
    """Take up again a dataset that failed."""
    show(service.retry_dataset(dataset_id))


@app.command("delete")
@asking
def delete_dataset(service: Client, dataset_id: DatasetId) -> None:
    """Forget the samples and what opens their commitments."""
    service.delete_dataset(dataset_id)
