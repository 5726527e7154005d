"""``zenserve models``."""

from __future__ import annotations

from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zenserve.client.resources import Model
from zenserve.service.cli.answers import Answer, written
from zenserve.service.cli.precision import AcceptDifference, Bits, MaxLoss, Ranges, WeightBits
from zenserve.service.cli.samples import FILES, LabelColumn, LabelFile, Mean, Reading, Sizes, Std, taken_in
from zenserve.service.cli.shared import (
    Labels,
    Limit,
    ModelId,
    Name,
    OfLabels,
    OfName,
    OfState,
    Output,
    OutputFile,
    asking,
    deleted,
    finished,
)
from zenserve.service.submissions import labels, named
from zenserve.verifier.schemes import PublicOrCommitted

if TYPE_CHECKING:
    from zenserve.client import Client

app = typer.Typer(help="Register networks and look at them.", no_args_is_help=True)


@app.command("add")
@asking
def add_model(
    service: Client,
    model: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False)],
    calibration: Annotated[Path, typer.Option(exists=True, help=f"Typical inputs: {FILES}")],
    shape: Sizes = None,
    calibration_labels: LabelFile = None,
    label_column: LabelColumn = None,
    mean: Mean = None,
    std: Std = None,
    name: Name = None,
    system: Annotated[
        str | None, typer.Option(help="The proof system: groth16 unless said, or spartan, without a setup.")
    ] = None,
    weight_privacy: Annotated[
        PublicOrCommitted | None,
        typer.Option(
            help="committed hides the weights behind a commitment; public shows them to whoever has the key.",
            show_default="committed; public where there are no weights",
        ),
    ] = None,
    bits: Bits = 8,
    weight_bits: WeightBits = None,
    max_loss: MaxLoss = 1.0,
    range_: Ranges = None,
    parent_id: Annotated[
        str | None, typer.Option("--parent", help="The model that this is a new version of.")
    ] = None,
    input_from: Annotated[
        str | None,
        typer.Option(help="The model whose output is its input: mdl_…, of several outputs mdl_…/NAME."),
    ] = None,
    label: Labels = None,
    accept_difference: AcceptDifference = False,
    require_ceremony: Annotated[
        bool,
        typer.Option(
            "--require-ceremony", help="Refuse keys that a single party made: proofs take a ceremony's."
        ),
    ] = False,
    saturate: Annotated[
        bool,
        typer.Option(
            "--saturate", help="Clip inputs beyond the calibrated range to its ends. Default: refuse them."
        ),
    ] = False,
    wait: Annotated[bool, typer.Option(help="Wait until it is registered.")] = True,
) -> Model:
    """Register the network in an ONNX FILE: commit to its weights and make the keys of its proofs."""
    reading, given = Reading(label_column, mean, std), named.sizes(shape)
    made = service.create_model(
        model.read_bytes(),
        reading.sent(calibration, "calibration", partial(taken_in, model, given)),
        calibration_labels=calibration_labels.read_bytes() if calibration_labels else None,
        name=name or model.stem,
        system=system,
        weight_privacy=weight_privacy,
        bits=bits,
        weight_bits=weight_bits,
        max_loss=max_loss,
        ranges=named.ranges(range_),
        sizes=given,
        parent_id=parent_id,
        input_from=input_from,
        require_ceremony=require_ceremony or None,
        saturate=saturate or None,
        accept_difference=accept_difference or None,
        labels=labels.read(label),
    )
    return finished(made, "registering", service.follow(made), wait=wait)


@app.command("twin")
@asking
def add_twin(
    service: Client,
    model_id: ModelId,
    system: Annotated[str, typer.Option(help="The other proof system: groth16, or spartan.")],
    label: Labels = None,
    wait: Annotated[bool, typer.Option(help="Wait until it is registered.")] = True,
) -> Model:
    """Register the network of MODEL under another proof system, too: prove --system chooses then."""
    made = service.create_twin(model_id, system, labels=labels.read(label))
    return finished(made, "registering", service.follow(made), wait=wait)


@app.command("list")
@asking
def list_models(
    service: Client,
    state: OfState = None,
    name: OfName = None,
    label: OfLabels = None,
    limit: Limit = 20,
) -> list[Model]:
    """List your models. Models of one name are its versions."""
    chosen: Any = state
    return list(islice(service.models(state=chosen, name=name, labels=labels.read(label)), limit))


@app.command("show")
@asking
def show_model(service: Client, model_id: ModelId) -> Model:
    """Show a model."""
    return service.get_model(model_id)


@app.command("change")
@asking
def change_model(
    service: Client,
    model_id: ModelId,
    require_ceremony: Annotated[
        bool, typer.Option(help="Whether its proofs are made with keys of a ceremony alone.")
    ],
) -> Model:
    """Require ceremony keys for the proofs of a model, or stop requiring them."""
    return service.change_model(model_id, require_ceremony=require_ceremony)


@app.command("cancel")
@asking
def cancel_model(service: Client, model_id: ModelId) -> Model:
    """Stop the registration of a model."""
    return service.cancel_model(model_id)


@app.command("retry")
@asking
def retry_model(service: Client, model_id: ModelId) -> Model:
    """Retry a failed registration."""
    return service.retry_model(model_id)


@app.command("delete")
@asking
def delete_model(service: Client, model_id: ModelId) -> Answer:
    """Forget a network. Proofs of it that are done stay valid."""
    service.delete_model(model_id)
    return deleted(model_id)


@app.command("receipt")
@asking
def get_receipt(service: Client, model_id: ModelId, output: Output = None) -> Any:
    """Fetch the signed receipt of a model's registration."""
    return written(service.get_receipt(model_id), output)


@app.command("registration")
@asking
def get_registration(service: Client, model_id: ModelId, output: Output = None) -> Any:
    """Fetch the proof of a model's registration: what it commits to is a network of its architecture."""
    return written(service.get_registration(model_id), output)


@app.command("report")
@asking
def get_report(
    service: Client,
    model_id: ModelId,
    output: OutputFile,
) -> Any:
    """Fetch the report on a model's quantisation, with plots: one page of HTML."""
    return written(service.get_report(model_id), output)


@app.command("architecture")
@asking
def get_architecture(
    service: Client,
    model_id: ModelId,
    output: OutputFile,
) -> Any:
    """Fetch what a model's circuits are compiled from, for zenserve audit: committed weights are blanked."""
    return written(service.get_architecture(model_id), output)
