"""``zenserve datasets``."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zenserve.client.resources import Dataset
from zenserve.service.cli.answers import Answer, written
from zenserve.service.cli.samples import FILES, LabelColumn, Mean, Reading, Std, taken_by
from zenserve.service.cli.shared import (
    Labels,
    Limit,
    ModelId,
    Name,
    OfLabels,
    OfModel,
    OfName,
    OfState,
    asking,
    deleted,
    finished,
)
from zenserve.service.submissions import labels as job_labels
from zenserve.verifier.schemes import Measure, PublicOrPrivate

if TYPE_CHECKING:
    from zenserve.client import Client

app = typer.Typer(help="Add labelled samples to prove accuracy on.", no_args_is_help=True)

DatasetId = Annotated[str, typer.Argument(metavar="DATASET", help="The dataset's id, dst_…")]


@app.command("add")
@asking
def add_dataset(
    service: Client,
    model_id: ModelId,
    samples: Annotated[Path, typer.Argument(metavar="SAMPLES", exists=True, help=FILES)],
    labels: Annotated[
        Path | None,
        typer.Argument(
            metavar="LABELS", exists=True, dir_okay=False, help="One class for each, where SAMPLES has none."
        ),
    ] = None,
    *,
    targets: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="In place of labels: what the network should say."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            help="Of which of several outputs labels or targets are.",
            show_default="the only one that can be meant",
        ),
    ] = None,
    privacy: Annotated[PublicOrPrivate, typer.Option(help="Whether proofs name it by its content's hash.")],
    label_column: LabelColumn = None,
    mean: Mean = None,
    std: Std = None,
    name: Name = None,
    measure: Annotated[
        Measure | None,
        typer.Option(help="What is to be measured: so many samples go into one proof as fit then."),
    ] = None,
    shard_size: Annotated[
        int | None,
        typer.Option(min=1, help="Samples in one proof.", show_default="what fits the service's memory"),
    ] = None,
    label: Labels = None,
    wait: Annotated[bool, typer.Option(help="Wait until it is committed.")] = True,
) -> Dataset:
    """Add samples with labels, or targets, for MODEL, which has to be registered first."""
    reading = Reading(label_column, mean, std)
    dataset = service.create_dataset(
        model_id,
        reading.sent(samples, "samples", taken_by(service, model_id)),
        labels.read_bytes() if labels else None,
        targets=targets.read_bytes() if targets else None,
        output=output,
        privacy=privacy,
        name=name or samples.stem,
        measure=measure,
        shard_size=shard_size,
        job_labels=job_labels.read(label),
    )
    return finished(dataset, "committing", service.follow(dataset), wait=wait)


@app.command("list")
@asking
def list_datasets(
    service: Client,
    state: OfState = None,
    model_id: OfModel = None,
    name: OfName = None,
    label: OfLabels = None,
    limit: Limit = 20,
) -> list[Dataset]:
    """List your datasets."""
    chosen: Any = state
    wanted = job_labels.read(label)
    return list(islice(service.datasets(state=chosen, model_id=model_id, name=name, labels=wanted), limit))


@app.command("show")
@asking
def show_dataset(
    service: Client,
    dataset_id: DatasetId,
    opening: Annotated[
        Path | None, typer.Option(help="Write to this file what opens its commitments. As secret as it is.")
    ] = None,
) -> Dataset:
    """Show a dataset."""
    dataset = service.get_dataset(dataset_id)
    if opening:
        written(service.get_dataset_opening(dataset_id), opening)
    return dataset


@app.command("cancel")
@asking
def cancel_dataset(service: Client, dataset_id: DatasetId) -> Dataset:
    """Stop committing to a dataset."""
    return service.cancel_dataset(dataset_id)


@app.command("retry")
@asking
def retry_dataset(service: Client, dataset_id: DatasetId) -> Dataset:
    """Take up again a dataset that failed."""
    return service.retry_dataset(dataset_id)


@app.command("delete")
@asking
def delete_dataset(service: Client, dataset_id: DatasetId) -> Answer:
    """Forget the samples and what opens their commitments."""
    service.delete_dataset(dataset_id)
    return deleted(dataset_id)
