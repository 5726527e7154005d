"""``zenserve banks``: banks made of one network, and registered with a service (docs/streams.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from zenserve.errors import RequestError, naming
from zenserve.service.cli import terminal
from zenserve.service.cli.answers import Answer, answering, err
from zenserve.service.cli.samples import FILES, LabelColumn, LabelFile, Mean, Reading, Std
from zenserve.service.cli.shared import asking, finished

if TYPE_CHECKING:
    from zenserve.circuits.shrinking.making import BankFolder, Entry
    from zenserve.client import Client
    from zenserve.verifier.datasets import LabelledData

app = typer.Typer(help="Make banks of networks for streams, and register them.", no_args_is_help=True)

Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", exists=True, file_okay=False, help="What make wrote.")
]


@app.command("make")
@answering
def make(
    network: Annotated[Path, typer.Argument(metavar="ONNX", exists=True, dir_okay=False)],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", file_okay=False, help="To be written.")],
    *,
    data: Annotated[Path, typer.Option(exists=True, help=f"Labelled samples: {FILES}")],
    labels: LabelFile = None,
    label_column: LabelColumn = None,
    mean: Mean = None,
    std: Std = None,
    epochs: Annotated[
        int,
        typer.Option(
            min=0, help="Train smaller networks for so long, by PyTorch. Of 0 they are fitted in closed form."
        ),
    ] = 0,
) -> Answer:
    """Make smaller networks of one, and keep those that cost less to prove for what they are worth."""
    from zenserve.circuits import load_onnx, samples
    from zenserve.circuits.shrinking.making import make_bank

    with naming(network):
        graph = load_onnx(network)
    given = Reading(label_column, mean, std).samples(data, "data", graph.entries)
    right = given.labels
    if labels is not None:
        right = samples.parse_labels(labels.read_bytes(), "labels", column=label_column)
    if right is None:
        raise RequestError("request.invalid", "data: the file has no labels; give --labels", field="data")
    with terminal.show_stages(err, "making") as progress:
        made = make_bank(graph, given.inputs[graph.input.name], right, epochs=epochs, progress=progress)
    made.save(folder)
    document = made.document
    return Answer(document.model_dump(mode="json"), (_table(document), f"{folder}: bank.json, report.html"))


@app.command("register")
@asking
def register(service: Client, folder: Folder) -> Answer:
    """Register a bank's networks with committed weights, and prove the accuracy of each, class by class."""
    from zenserve.circuits.shrinking.making import BANK, PROFILE, BankFolder
    from zenserve.verifier.claims import ClaimedModel, ClaimsFile
    from zenserve.verifier.datasets import by_class, load
    from zenserve.verifier.documents import checked, parse

    with naming(folder / BANK):
        bank = checked(BankFolder, parse((folder / BANK).read_bytes()))
    classes = by_class(load(folder / PROFILE))
    models, claimed, keys = list[str](), list[ClaimedModel](), set[str]()
    for entry in bank.models:
        model = _registered(service, folder, entry)
        proofs = [*_accuracies(service, model.id, entry, classes)]
        keys.update(proof.verification_key_id for proof in proofs)
        documents = [service.get_proof_document(proof.id) for proof in proofs]
        models.append(model.id)
        claimed.append(checked(ClaimedModel, {"commitment": model.commitment, "accuracies": documents}))
    (folder / "claims.json").write_text(ClaimsFile(models=claimed).model_dump_json() + "\n")
    (folder / "keys").mkdir(exist_ok=True)
    for key in keys:
        (folder / "keys" / f"{key}.json").write_text(json.dumps(service.get_verification_key(key)))
    stream = f"zenserve streams open {' '.join(models)} --profile {folder / 'profile.npz'}"
    said = f"{folder}: claims.json, keys. A stream: {stream}"
    return Answer({"models": models, "claims": str(folder / "claims.json")}, (said,))


def _registered(service: Client, folder: Path, entry: Entry) -> Any:
    model = service.create_model(
        (folder / f"{entry.name}.onnx").read_bytes(),
        (folder / f"{entry.name}.npz").read_bytes(),
        name=entry.name,
        weight_privacy="committed",
        bits=entry.bits,
        saturate=True,
    )
    return finished(model, f"registering {entry.name}", service.follow(model), wait=True)


def _accuracies(service: Client, model_id: str, entry: Entry, classes: list[LabelledData]) -> Iterator[Any]:
    """Of each class, in order."""
    from zenserve.circuits.samples import to_npy

    made = [
        service.create_dataset(
            model_id,
            to_npy(data.samples),
            to_npy(data.labels),
            privacy="public",
            name=f"class {own} for {entry.name}",
        )
        for own, data in enumerate(classes)
    ]
    for own, dataset in enumerate(made):
        finished(dataset, f"committing class {own} for {entry.name}", service.follow(dataset), wait=True)
    begun = [service.create_proof(model_id, scheme="accuracy", dataset_id=each.id) for each in made]
    for own, proof in enumerate(begun):
        yield finished(proof, f"proving class {own} of {entry.name}", service.follow(proof), wait=True)


def _table(document: BankFolder) -> Table:
    table = Table(title="Networks", title_justify="left")
    for name in ("name", "constraints", "s", "% right", "of two classes", "bits", "made"):
        table.add_column(name, justify="left" if name in ("name", "made") else "right")
    for each in document.models:
        shares = (f"{100 * share:.1f}" for share in (each.accuracy, each.pairs))
        table.add_row(
            each.name, f"{each.constraints:,}", f"{each.seconds:.2f}", *shares, str(each.bits), each.made
        )
    return table
